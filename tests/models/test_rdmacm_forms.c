/* The connection manager: ports and addresses, its messages byte by byte, its commands at every length. */
#include "tests/models/rdmacm_talk.h"

/* ---- ports and addresses ---- */

START_TEST(ports)
{
	struct cm_rig *r = cm_open(true);
	struct cm_machine *m = &r->machine[0];
	const uint32_t a = cm_id(m, 1, RDMA_PS_TCP), b = cm_id(m, 2, RDMA_PS_TCP), u = cm_id(m, 3, RDMA_PS_UDP);
	int32_t on = 1;
	struct rdma_ucm_set_option reuse = { .optval = (uintptr_t)r->mem + 4096,
					     .level = RDMA_OPTION_ID,
					     .optname = RDMA_OPTION_ID_REUSEADDR,
					     .optlen = sizeof(on) };

	ck_assert_int_eq(cm_bind(m, a, CM_IPV4, PORT), 0);
	ck_assert_int_eq(cm_bind(m, a, CM_IPV4, PORT), -EINVAL);
	ck_assert_int_eq(cm_bind(m, b, CM_IPV4, PORT), -EADDRINUSE);
	ck_assert_int_eq(cm_bind(m, b, INADDR_ANY, PORT), -EADDRNOTAVAIL);
	ck_assert_int_eq(cm_bind(m, b, 0x0a090909, PORT), -ENODEV);
	ck_assert_int_eq(cm_bind(m, b, INADDR_LOOPBACK, PORT), 0);
	ck_assert_int_eq(cm_bind(m, u, CM_IPV4, PORT), 0); /* another space */
	ck_assert_int_ge(cm_destroy(m, b), 0);
	ck_assert_int_ge(cm_destroy(m, a), 0);
	memcpy(r->mem + 4096, &on, sizeof(on));
	for (int i = 0; i < 2; i++) {
		reuse.id = cm_id(m, 4, RDMA_PS_TCP);
		ck_assert_int_eq(cm_write(m, RDMA_USER_CM_CMD_SET_OPTION, &reuse, sizeof(reuse)), 0);
		ck_assert_int_eq(cm_bind(m, reuse.id, CM_IPV4, PORT), 0);
	}
	ck_assert_int_eq(cm_listen(m, reuse.id, 1), -EADDRINUSE);
	reuse.optlen = 3;
	ck_assert_int_eq(cm_write(m, RDMA_USER_CM_CMD_SET_OPTION, &reuse, sizeof(reuse)), -EINVAL);
	reuse.optlen = 4;
	reuse.optval = 16;
	ck_assert_int_eq(cm_write(m, RDMA_USER_CM_CMD_SET_OPTION, &reuse, sizeof(reuse)), -EFAULT);
	cm_close(r);
}
END_TEST

START_TEST(queries)
{
	struct cm_rig *r = cm_open(true);
	struct cm_machine *m = &r->machine[0];
	struct rdma_ucm_query q = { .response = CM_RESPONSE(r), .option = RDMA_USER_CM_QUERY_ADDR };
	struct rdma_ucm_query_addr_resp a;
	struct rdma_ucm_query_route_resp route;
	struct sockaddr_in in;
	uint8_t bytes[80];

	q.id = routed(m, RDMA_PS_TCP, CM_IPV4 + 1);
	ck_assert_int_eq(cm_write(m, RDMA_USER_CM_CMD_QUERY, &q, sizeof(q)), 0);
	memcpy(&a, cm_out(r), sizeof(a));
	ck_assert_uint_eq(a.node_guid, bf_htobe64(0x1234000000000000ull));
	ck_assert_uint_eq(a.port_num, 1);
	ck_assert_uint_eq(a.src_size, sizeof(in));
	memcpy(&in, &a.src_addr, sizeof(in));
	ck_assert_uint_eq(ntohl(in.sin_addr.s_addr), CM_IPV4);
	ck_assert_uint_ge(ntohs(in.sin_port), 32768);
	memcpy(&in, &a.dst_addr, sizeof(in));
	ck_assert_uint_eq(ntohl(in.sin_addr.s_addr), CM_IPV4 + 1);
	ck_assert_uint_eq(ntohs(in.sin_port), PORT);
	q.option = RDMA_USER_CM_QUERY_GID;
	ck_assert_int_eq(cm_write(m, RDMA_USER_CM_CMD_QUERY, &q, sizeof(q)), 0);
	memcpy(&a, cm_out(r), sizeof(a));
	ck_assert_mem_eq((uint8_t *)&a.dst_addr + 8, "\0\0\0\0\0\0\0\0\0\0\xff\xff\x0a\0\0\x02", 16);
	ck_assert_mem_eq((uint8_t *)&a.dst_addr + 24, "\0\0\0\0\x01\x06\x1c\x06", 8); /* the service */
	q.option = RDMA_USER_CM_QUERY_PATH;
	ck_assert_int_eq(cm_write(m, RDMA_USER_CM_CMD_QUERY, &q, sizeof(q)), 0);
	memcpy(bytes, cm_out(r), sizeof(bytes));
	ck_assert_uint_eq(bytes[0], 1);
	ck_assert_uint_eq(bytes[16 + 8 + 15], 2); /* the path's destination */
	ck_assert_uint_eq(bytes[16 + 54], 0x84);
	q.option = 3;
	ck_assert_int_eq(cm_write(m, RDMA_USER_CM_CMD_QUERY, &q, sizeof(q)), -ENOSYS);
	ck_assert_int_eq(cm_write(m, RDMA_USER_CM_CMD_QUERY_ROUTE, &q, sizeof(q)), 0);
	memcpy(&route, cm_out(r), sizeof(route));
	ck_assert_uint_eq(route.num_paths, 1);
	ck_assert_uint_eq(route.ib_route[0].mtu, 4);
	ck_assert_uint_eq(route.ib_route[0].pkey, 0xffff);
	ck_assert_uint_eq(route.ib_route[0].dgid[15], 2);
	cm_close(r);
}
END_TEST

/* What a subnet administrator would say, and what a queue pair is set to: LIDs, and no global route header. */
START_TEST(infiniband)
{
	struct cm_rig *r = cm_open_link(true, true);
	struct pair p = established(r);
	struct rdma_ucm_query q = { .response = CM_RESPONSE(r), .id = p.c, .option = RDMA_USER_CM_QUERY_PATH };
	struct rdma_ucm_init_qp_attr a = { .response = CM_RESPONSE(r), .id = p.c, .qp_state = 2 };
	struct rdma_ucm_query_route_resp route;
	struct ib_uverbs_qp_attr attr;
	uint8_t bytes[128];

	ck_assert_int_eq(cm_write(p.client, RDMA_USER_CM_CMD_QUERY, &q, sizeof(q)), 0);
	memcpy(bytes, cm_out(r), sizeof(bytes));
	ck_assert_mem_eq(bytes + 16 + 8, "\xfe\x80\0\0\0\0\0\0\0\0\x0a\xff\xfe\0\0\x02", 16);
	ck_assert_mem_eq(bytes + 16 + 40, "\0\x02\0\x01", 4); /* to LID 2 from LID 1 */
	ck_assert_mem_eq(bytes + 16 + 44, "\0\0\0\0", 4);     /* no hop beyond the subnet */
	ck_assert_int_eq(cm_write(p.client, RDMA_USER_CM_CMD_QUERY_ROUTE, &q, sizeof(q)), 0);
	memcpy(&route, cm_out(r), sizeof(route));
	ck_assert_uint_eq(ntohs(route.ib_route[0].dlid), 2);
	ck_assert_uint_eq(ntohs(route.ib_route[0].slid), 1);
	ck_assert_int_eq(cm_write(p.client, RDMA_USER_CM_CMD_INIT_QP_ATTR, &a, sizeof(a)), 0);
	memcpy(&attr, cm_out(r), sizeof(attr));
	ck_assert_uint_eq(attr.ah_attr.is_global, 0);
	ck_assert_uint_eq(attr.ah_attr.dlid, 2);
	cm_close(r);
}
END_TEST

static struct ib_uverbs_qp_attr attributes_for(struct cm_machine *m, uint32_t id, uint32_t state)
{
	struct rdma_ucm_init_qp_attr a = { .response = CM_RESPONSE(m->rig), .id = id, .qp_state = state };
	struct ib_uverbs_qp_attr attr;

	ck_assert_int_eq(cm_write(m, RDMA_USER_CM_CMD_INIT_QP_ATTR, &a, sizeof(a)), 0);
	memcpy(&attr, cm_out(m->rig), sizeof(attr));
	return attr;
}

/* XRC: the half that sends asks the half that receives; what one half does not have, is not set. */
START_TEST(extended_connection)
{
	enum { RETRIES = 1u << 10 | 1u << 11 | 1u << 13, TIMEOUT = 1u << 9, DEST_READS = 1u << 17 | 1u << 15 };
	struct cm_rig *r = cm_open(true);
	struct cm_machine *client = &r->machine[0], *server = &r->machine[1];
	uint32_t c, s;

	client->qp_type = IB_UVERBS_QPT_XRC_INI;
	server->qp_type = IB_UVERBS_QPT_XRC_TGT;
	listener(server, RDMA_PS_IB);
	c = routed(client, RDMA_PS_IB, server->ipv4);
	ck_assert_int_eq(cm_connect(client, c, QPN_CLIENT, "hello"), 0);
	cm_run(r, BF_MS);
	s = expect(server, CONNECT_REQUEST, 0).id;
	ck_assert_int_eq(cm_accept(server, s, UID_SERVER, QPN_SERVER, "welcome"), 0);
	cm_run(r, BF_MS);
	ck_assert_uint_eq(expect(client, CONNECT_RESPONSE, 0).param.conn.qp_num, QPN_SERVER);
	ck_assert_uint_eq(attributes_for(client, c, 2).qp_attr_mask & DEST_READS, 0);
	ck_assert_uint_eq(attributes_for(client, c, 3).qp_attr_mask & (RETRIES | TIMEOUT), RETRIES | TIMEOUT);
	ck_assert_uint_eq(attributes_for(server, s, 2).qp_attr_mask & DEST_READS, DEST_READS);
	ck_assert_uint_eq(attributes_for(server, s, 3).qp_attr_mask & (RETRIES | TIMEOUT), TIMEOUT);
	ck_assert_uint_eq(attributes_for(client, c, 2).dest_qp_num, QPN_SERVER);
	/* Another kind of queue pair is not what listens there. */
	client->qp_type = IB_UVERBS_QPT_RC;
	c = routed(client, RDMA_PS_IB, server->ipv4);
	ck_assert_int_eq(cm_connect(client, c, QPN_CLIENT + 1, "hello"), 0);
	cm_run(r, BF_MS);
	expect(client, REJECTED, 28);
	cm_close(r);
}
END_TEST

/* ---- the wire, as others see it ---- */

static uint32_t be(const uint8_t *m, uint32_t at, uint32_t bytes)
{
	uint32_t v = 0;

	while (bytes--)
		v = v << 8 | m[at++];
	return v;
}

/* Offsets as IBA vol. 1 chapter 12 has them, behind the header of 24 bytes; annex A11 for the private data. */
START_TEST(request_bytes)
{
	struct cm_rig *r = cm_open(false);
	struct cm_machine *client = &r->machine[0], *alien = &r->machine[1];
	const uint32_t c = routed(client, RDMA_PS_TCP, alien->ipv4);
	const uint8_t *m = alien->mad[0];
	uint8_t answer[BF_UVERBS_MAD];

	ck_assert_int_eq(cm_connect(client, c, QPN_CLIENT, "hi"), 0);
	cm_run(r, BF_MS);
	ck_assert_uint_eq(alien->mads, 1);
	ck_assert_uint_eq(be(m, 0, 4), 0x01070203);
	ck_assert_uint_eq(be(m, 16, 2), 0x10);
	ck_assert_uint_ne(be(m, 24, 4), 0);
	ck_assert_uint_eq(be(m, 24 + 8, 4), 0);
	ck_assert_uint_eq(be(m, 24 + 12, 4), 0x01060000 | PORT);
	ck_assert_uint_eq(be(m, 24 + 16, 4), 0x12340000);
	ck_assert_uint_eq(be(m, 24 + 32, 3), QPN_CLIENT);
	ck_assert_uint_eq(m[24 + 35], 3);
	ck_assert_uint_eq(m[24 + 39], 5);
	ck_assert_uint_eq(m[24 + 43], 20 << 3 | 1);
	ck_assert_uint_eq(m[24 + 47], 20 << 3 | 7);
	ck_assert_uint_eq(be(m, 24 + 48, 2), 0xffff);
	ck_assert_uint_eq(m[24 + 50], 4 << 4 | 6);
	ck_assert_uint_eq(m[24 + 51], 15 << 4);
	ck_assert_uint_eq(be(m, 24 + 52, 4), 0xffffffff);
	ck_assert_uint_eq(be(m, 24 + 56 + 12, 4), CM_IPV4);
	ck_assert_uint_eq(be(m, 24 + 72 + 12, 4), CM_IPV4 + 1);
	ck_assert_uint_eq(m[24 + 93], 64);
	ck_assert_uint_eq(m[24 + 95], 18 << 3);
	ck_assert_uint_eq(be(m, 24 + 140, 2), 0x0040);
	ck_assert_uint_ge(be(m, 24 + 142, 2), 32768);
	ck_assert_uint_eq(be(m, 24 + 144 + 12, 4), CM_IPV4);
	ck_assert_uint_eq(be(m, 24 + 160 + 12, 4), CM_IPV4 + 1);
	ck_assert_mem_eq(m + 24 + 176, "hi\0", 3);
	/* An alien's answer, byte by byte. */
	memset(answer, 0, sizeof(answer));
	memcpy(answer, m, 16);
	answer[17] = 0x13;
	memcpy(answer + 24, "\0\xab\xcd\xef", 4);
	memcpy(answer + 28, m + 24, 4);
	memcpy(answer + 24 + 12, "\0\x77\x88", 3);
	memcpy(answer + 24 + 20, "\x01\x02\x03", 3);
	answer[24 + 24] = 9;
	answer[24 + 25] = 8;
	answer[24 + 26] = 16 << 3;
	answer[24 + 27] = 4 << 5;
	memcpy(answer + 24 + 36, "fine", 4);
	ck_assert_int_eq(bf_uverbs_mad_send(alien->uverbs, client->ipv4, answer), 0);
	cm_run(r, BF_MS);
	{
		const struct rdma_ucm_event_resp e = expect(client, CONNECT_RESPONSE, 0);
		struct ib_uverbs_qp_attr a;

		ck_assert_uint_eq(e.param.conn.qp_num, 0x7788);
		ck_assert_uint_eq(e.param.conn.initiator_depth, 9);
		ck_assert_uint_eq(e.param.conn.responder_resources, 8);
		ck_assert_uint_eq(e.param.conn.rnr_retry_count, 4);
		ck_assert_mem_eq(e.param.conn.private_data, "fine\0", 5);
		ck_assert_int_eq(cm_attributes(client, c, 3, &a), 0);
		ck_assert_uint_eq(a.sq_psn, 0x010203);
	}
	ck_assert_int_eq(cm_accept(client, c, 0, 0, ""), 0);
	cm_run(r, BF_MS);
	ck_assert_uint_eq(alien->mads, 2);
	ck_assert_uint_eq(be(alien->mad[1], 16, 2), 0x14);
	ck_assert_uint_eq(be(alien->mad[1], 28, 4), 0x00abcdef);
	ck_assert_int_eq(cm_disconnect(client, c), 0);
	cm_run(r, BF_MS);
	ck_assert_uint_eq(be(alien->mad[2], 16, 2), 0x15);
	ck_assert_uint_eq(be(alien->mad[2], 32, 3), 0x7788);
	cm_close(r);
}
END_TEST

/* Whatever comes, nothing breaks, and a request still gets through afterwards. */
START_TEST(noise_on_the_wire)
{
	struct cm_rig *r = cm_open(false);
	struct cm_machine *m = &r->machine[0], *alien = &r->machine[1];
	uint8_t mad[BF_UVERBS_MAD];
	struct bf_rng rng;

	bf_rng_init(&rng, 7, "noise");
	listener(m, RDMA_PS_TCP);
	listener(m, RDMA_PS_UDP);
	for (uint32_t i = 0; i < 3000; i++) {
		struct rdma_ucm_event_resp e;

		for (uint32_t b = 0; b < sizeof(mad); b++)
			mad[b] = (uint8_t)bf_rng_next(&rng);
		memcpy(mad, "\x01\x07\x02\x03", i % 16 ? 4 : 0);
		bf_put_be16(mad + 16, (uint16_t)(0x10 + bf_rng_below(&rng, 12)));
		bf_put_be32(mad + 28, (uint32_t)bf_rng_below(&rng, 8));
		bf_put_be64(mad + 32, (i & 1 ? 0x1060000ull : 0x1110000ull) + PORT);
		memcpy(mad + (i & 1 ? 164 : 40), i % 3 ? "\0\x40" : "\0\x60", 2);
		bf_uverbs_mad_send(alien->uverbs, m->ipv4, mad);
		cm_run(r, BF_MS);
		while (!cm_event(m, &e) && e.event == CONNECT_REQUEST)
			if (i % 5)
				cm_destroy(m, e.id);
			else
				cm_accept(m, e.id, 1, 2, "");
		alien->mads = 0;
	}
	ck_assert_uint_gt(counts(m).malformed, 100);
	cm_run(r, 200 * BF_S);
	cm_close(r);
}
END_TEST

/* ---- the ABI ---- */

/* Every command with every length up to its own: refused, or taken with zeros behind; never more than is there. */
START_TEST(every_command_cut_short)
{
	struct cm_rig *r = cm_open(true);
	struct cm_machine *m = &r->machine[0];
	uint8_t bytes[600] = { 0 };

	for (uint32_t cmd = 0; cmd < 26; cmd++)
		for (uint16_t len = 0; len < 400; len = (uint16_t)(len + (len < 32 ? 1 : 13))) {
			int64_t n;

			memset(bytes, (int)len * 7, sizeof(bytes));
			n = cm_write_at(r, m->f, cmd, bytes, len, len, 2048);
			ck_assert(n < 0 || n == len + 8);
			n = cm_write_at(r, m->f, cmd, bytes, len, len, 0);
			ck_assert(n < 0 || n == len + 8);
			ck_assert_int_eq((int)cm_write_at(r, m->f, cmd, bytes, len, (uint16_t)(len + 1), 0), -EINVAL);
		}
	ck_assert_int_eq((int)bf_rdmacm_write(m->f, (uintptr_t)r->mem, 7), -EINVAL);
	ck_assert_int_eq((int)bf_rdmacm_write(m->f, 16, 64), -EFAULT);
	ck_assert_int_eq((int)cm_write_at(r, m->f, RDMA_USER_CM_CMD_GET_OPTION, bytes, 64, 64, 64), -ENOSYS);
	ck_assert_int_eq((int)cm_write_at(r, m->f, RDMA_USER_CM_CMD_CREATE_ID, bytes, 24, 24, 3), -ENOSPC);
	cm_close(r);
}
END_TEST

START_TEST(answers_that_cannot_be_written)
{
	struct cm_rig *r = cm_open(true);
	struct cm_machine *m = &r->machine[0];
	struct rdma_ucm_create_id create = { .uid = 1, .response = 16, .ps = RDMA_PS_TCP };
	struct rdma_ucm_get_event get = { .response = 16 };
	struct rdma_ucm_event_resp e;
	uint32_t id;

	ck_assert_int_eq(cm_write(m, RDMA_USER_CM_CMD_CREATE_ID, &create, sizeof(create)), -EFAULT);
	expect_clean(m);
	create.ps = 77;
	ck_assert_int_eq(cm_write(m, RDMA_USER_CM_CMD_CREATE_ID, &create, sizeof(create)), -EINVAL);
	id = cm_id(m, 1, RDMA_PS_TCP);
	ck_assert_int_eq(cm_resolve_addr(m, id, CM_IPV4 + 1, PORT), 0);
	ck_assert_int_eq(cm_write(m, RDMA_USER_CM_CMD_GET_EVENT, &get, sizeof(get)), -EFAULT);
	ck_assert_int_eq(cm_event(m, &e), 0); /* it is still there */
	ck_assert_int_eq(cm_resolve_route(m, id + 1), -ENOENT);
	cm_close(r);
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("rdmacm_forms");
	TCase *t = tcase_create("rdmacm_forms");

	tcase_set_timeout(t, 60);
	tcase_add_test(t, ports);
	tcase_add_test(t, queries);
	tcase_add_test(t, infiniband);
	tcase_add_test(t, extended_connection);
	tcase_add_test(t, request_bytes);
	tcase_add_test(t, noise_on_the_wire);
	tcase_add_test(t, every_command_cut_short);
	tcase_add_test(t, answers_that_cannot_be_written);
	suite_add_tcase(s, t);
	return s;
}

int main(void)
{
	SRunner *sr = srunner_create(suite());
	int failed;

	srunner_run_all(sr, CK_NORMAL);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed != 0;
}
