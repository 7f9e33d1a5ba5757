/* The connection manager: two machines connect, refuse, lose messages and part, in virtual time. */
#include "tests/models/rdmacm_talk.h"

/* ---- connections ---- */

START_TEST(connect_and_part)
{
	struct cm_rig *r = cm_open(true);
	struct pair p = established(r);

	ck_assert_int_eq(cm_disconnect(p.client, p.c), 0);
	cm_run(r, BF_MS);
	expect(p.server, DISCONNECTED, 0);
	expect_none(p.client); /* the other one has not said yes */
	ck_assert_int_eq(cm_disconnect(p.server, p.s), 0);
	cm_run(r, BF_MS);
	expect(p.client, DISCONNECTED, 0);
	cm_run(r, 3 * BF_S);
	expect(p.server, TIMEWAIT_EXIT, 0);
	expect(p.client, TIMEWAIT_EXIT, 0);
	ck_assert_int_eq(cm_destroy(p.client, p.c), 5);
	ck_assert_int_eq(cm_destroy(p.server, p.s), 3);
	ck_assert_int_eq(cm_destroy(p.server, p.listener), 1);
	expect_clean(p.client);
	expect_clean(p.server);
	ck_assert_uint_eq(counts(p.client).resent, 0);
	cm_close(r);
}
END_TEST

/* What each side is told to set its queue pair to is what the other one said. */
START_TEST(attributes)
{
	struct cm_rig *r = cm_open(true);
	struct ib_uverbs_qp_attr c, s;
	struct pair p;
	uint32_t id;

	id = routed(&r->machine[0], RDMA_PS_TCP, CM_IPV4);
	ck_assert_int_eq(cm_attributes(&r->machine[0], id, 1, &c), 0);
	ck_assert_uint_eq(c.qp_attr_mask, 0x39);
	ck_assert_uint_eq(c.qp_access_flags, 0);
	ck_assert_int_ge(cm_destroy(&r->machine[0], id), 0);
	p = ask(r);
	ck_assert_int_eq(cm_attributes(p.client, p.c, 2, &c), -EINVAL); /* it has heard nothing yet */
	ck_assert_int_eq(cm_accept(p.server, p.s, UID_SERVER, QPN_SERVER, ""), 0);
	cm_run(r, BF_MS);
	expect(p.client, CONNECT_RESPONSE, 0);
	ck_assert_int_eq(cm_attributes(p.client, p.c, 1, &c), 0);
	ck_assert_uint_eq(c.qp_access_flags, 0xe);
	ck_assert_int_eq(cm_attributes(p.client, p.c, 2, &c), 0);
	ck_assert_int_eq(cm_attributes(p.server, p.s, 2, &s), 0);
	ck_assert_uint_eq(c.qp_attr_mask, 0x129181);
	ck_assert_uint_eq(c.dest_qp_num, QPN_SERVER);
	ck_assert_uint_eq(s.dest_qp_num, QPN_CLIENT);
	ck_assert_uint_eq(c.path_mtu, 4); /* the port's 2048 */
	ck_assert_uint_eq(c.ah_attr.grh.sgid_index, 3);
	ck_assert_mem_eq(c.ah_attr.grh.dgid, "\0\0\0\0\0\0\0\0\0\0\xff\xff\x0a\0\0\x02", 16);
	ck_assert_mem_eq(s.ah_attr.grh.dgid, "\0\0\0\0\0\0\0\0\0\0\xff\xff\x0a\0\0\x01", 16);
	ck_assert_uint_eq(c.ah_attr.is_global, 1);
	{
		const uint32_t c_rq = c.rq_psn, s_rq = s.rq_psn;

		ck_assert_int_eq(cm_attributes(p.client, p.c, 3, &c), 0);
		ck_assert_int_eq(cm_attributes(p.server, p.s, 3, &s), 0);
		ck_assert_uint_eq(c.qp_attr_mask, 0x12e01);
		ck_assert_uint_eq(c.sq_psn, s_rq);
		ck_assert_uint_eq(s.sq_psn, c_rq);
		ck_assert_uint_ne(c_rq, s_rq);
	}
	ck_assert_uint_eq(c.retry_cnt, 7);
	ck_assert_uint_eq(c.rnr_retry, 6);
	ck_assert_uint_eq(c.timeout, 18);
	ck_assert_int_eq(cm_attributes(p.client, p.c, 7, &c), -EINVAL);
	cm_close(r);
}
END_TEST

START_TEST(nobody_listens)
{
	struct cm_rig *r = cm_open(true);
	struct cm_machine *client = &r->machine[0];
	const uint32_t id = routed(client, RDMA_PS_TCP, CM_IPV4 + 1);

	ck_assert_int_eq(cm_connect(client, id, QPN_CLIENT, ""), 0);
	cm_run(r, BF_MS);
	expect(client, REJECTED, 8);
	cm_close(r);
}
END_TEST

START_TEST(wrong_address)
{
	struct cm_rig *r = cm_open(true);
	struct cm_machine *client = &r->machine[0], *server = &r->machine[1];
	const uint32_t l = cm_id(server, UID_LISTENER, RDMA_PS_TCP), id = routed(client, RDMA_PS_TCP, CM_IPV4 + 1);

	ck_assert_int_eq(cm_bind(server, l, INADDR_LOOPBACK, PORT), 0);
	ck_assert_int_eq(cm_listen(server, l, 1), 0);
	ck_assert_int_eq(cm_connect(client, id, QPN_CLIENT, ""), 0);
	cm_run(r, BF_MS);
	expect(client, REJECTED, 8);
	expect_none(server);
	cm_close(r);
}
END_TEST

START_TEST(refused)
{
	struct cm_rig *r = cm_open(true);
	struct pair p = ask(r);
	struct rdma_ucm_event_resp e;

	ck_assert_int_eq(cm_reject(p.server, p.s, "no"), 0);
	ck_assert_int_eq(cm_reject(p.server, p.s, "no"), -EINVAL);
	cm_run(r, BF_MS);
	e = expect(p.client, REJECTED, 28);
	ck_assert_uint_eq(e.param.conn.private_data_len, 148);
	ck_assert_mem_eq(e.param.conn.private_data, "no\0", 3);
	expect_none(p.server);
	cm_close(r);
}
END_TEST

START_TEST(both_on_one_machine)
{
	struct cm_rig *r = cm_open(true);
	struct cm_machine *m = &r->machine[0];
	const uint32_t l = listener(m, RDMA_PS_TCP), c = routed(m, RDMA_PS_TCP, INADDR_LOOPBACK);
	struct rdma_ucm_event_resp e;

	ck_assert_int_eq(cm_connect(m, c, QPN_CLIENT, ""), 0);
	cm_run(r, BF_MS);
	e = expect(m, CONNECT_REQUEST, 0);
	ck_assert_int_eq(cm_accept(m, e.id, UID_SERVER, QPN_SERVER, ""), 0);
	cm_run(r, BF_MS);
	expect(m, CONNECT_RESPONSE, 0);
	ck_assert_int_eq(cm_accept(m, c, 0, 0, ""), 0);
	cm_run(r, BF_MS);
	ck_assert_uint_eq(expect(m, ESTABLISHED, 0).uid, UID_SERVER);
	ck_assert_int_eq(cm_destroy(m, l), 1);
	cm_close(r);
}
END_TEST

/* More requests than may wait are not answered, and come again. */
START_TEST(backlog)
{
	struct cm_rig *r = cm_open(true);
	struct cm_machine *client = &r->machine[0], *server = &r->machine[1];
	const uint32_t l = cm_id(server, UID_LISTENER, RDMA_PS_TCP);

	ck_assert_int_eq(cm_bind(server, l, INADDR_ANY, PORT), 0);
	ck_assert_int_eq(cm_listen(server, l, 1), 0);
	for (uint32_t i = 0; i < 2; i++)
		ck_assert_int_eq(cm_connect(client, routed(client, RDMA_PS_TCP, CM_IPV4 + 1), QPN_CLIENT + i, ""), 0);
	cm_run(r, BF_MS);
	expect(server, CONNECT_REQUEST, 0);
	expect_none(server);
	cm_run(r, 6 * BF_S);
	expect(server, CONNECT_REQUEST, 0);
	expect_none(client);
	cm_close(r);
}
END_TEST

/* ---- losses ---- */

/* Whichever message is lost, the connection comes about, a little later. */
START_TEST(any_message_is_lost)
{
	struct cm_rig *r = cm_open(true);
	struct cm_machine *client = &r->machine[0], *server = &r->machine[1];
	struct rdma_ucm_event_resp e;
	uint32_t c, s;

	listener(server, RDMA_PS_TCP);
	c = routed(client, RDMA_PS_TCP, server->ipv4);
	bf_port_set_link(bf_fabric_find(r->fabric, server->ipv4), false); /* REQ */
	ck_assert_int_eq(cm_connect(client, c, QPN_CLIENT, ""), 0);
	cm_run(r, BF_S);
	bf_port_set_link(bf_fabric_find(r->fabric, server->ipv4), true);
	expect_none(server);
	cm_run(r, 4 * BF_S);
	s = expect(server, CONNECT_REQUEST, 0).id;
	ck_assert_uint_eq(counts(client).resent, 1);
	bf_port_set_link(bf_fabric_find(r->fabric, client->ipv4), false); /* REP */
	ck_assert_int_eq(cm_accept(server, s, UID_SERVER, QPN_SERVER, ""), 0);
	cm_run(r, BF_S);
	bf_port_set_link(bf_fabric_find(r->fabric, client->ipv4), true);
	expect_none(client);
	cm_run(r, 5 * BF_S);
	expect(client, CONNECT_RESPONSE, 0);
	bf_port_set_link(bf_fabric_find(r->fabric, server->ipv4), false); /* RTU */
	ck_assert_int_eq(cm_accept(client, c, 0, 0, ""), 0);
	cm_run(r, BF_MS);
	bf_port_set_link(bf_fabric_find(r->fabric, server->ipv4), true);
	expect_none(server);
	cm_run(r, 6 * BF_S);
	expect(server, ESTABLISHED, 0);
	bf_port_set_link(bf_fabric_find(r->fabric, server->ipv4), false); /* DREQ */
	ck_assert_int_eq(cm_disconnect(client, c), 0);
	cm_run(r, BF_MS);
	bf_port_set_link(bf_fabric_find(r->fabric, server->ipv4), true);
	cm_run(r, 5 * BF_S);
	expect(server, DISCONNECTED, 0);
	bf_port_set_link(bf_fabric_find(r->fabric, client->ipv4), false); /* DREP */
	ck_assert_int_eq(cm_disconnect(server, s), 0);
	cm_run(r, BF_MS);
	bf_port_set_link(bf_fabric_find(r->fabric, client->ipv4), true);
	ck_assert_int_eq(cm_event(client, &e), -EAGAIN);
	cm_run(r, 6 * BF_S);
	expect(client, DISCONNECTED, 0);
	cm_close(r);
}
END_TEST

/* The answer to the end is lost, and who gave it goes: what it says again on the way out is heard. */
START_TEST(last_words)
{
	struct cm_rig *r = cm_open(true);
	struct pair p = established(r);

	ck_assert_int_eq(cm_disconnect(p.server, p.s), 0);
	cm_run(r, BF_MS);
	expect(p.client, DISCONNECTED, 0);
	bf_port_set_link(bf_fabric_find(r->fabric, p.server->ipv4), false);
	ck_assert_int_eq(cm_disconnect(p.client, p.c), 0);
	cm_run(r, BF_MS);
	bf_port_set_link(bf_fabric_find(r->fabric, p.server->ipv4), true);
	bf_rdmacm_close_all(p.client->cm);
	cm_run(r, BF_MS);
	expect_none(p.server);
	bf_rdmacm_say_again(p.client->cm);
	cm_run(r, BF_MS);
	expect(p.server, DISCONNECTED, 0);
	bf_rdmacm_say_again(p.client->cm); /* what comes twice is nothing */
	ck_assert_uint_eq(counts(p.client).resent, 2);
	cm_run(r, 70 * BF_S);
	expect(p.server, TIMEWAIT_EXIT, 0);
	expect_none(p.server);
	r->sim->now_ps += 70 * BF_S;       /* nothing is due any more */
	bf_rdmacm_say_again(p.client->cm); /* and nobody asks any more */
	ck_assert_uint_eq(counts(p.client).resent, 2);
	cm_close(r);
}
END_TEST

START_TEST(nobody_answers)
{
	struct cm_rig *r = cm_open(true);
	struct cm_machine *client = &r->machine[0];
	const uint32_t c = routed(client, RDMA_PS_TCP, CM_IPV4 + 1);
	const uint32_t u = routed(client, RDMA_PS_UDP, CM_IPV4 + 1);

	with_faults(r, "drop count=inf");
	ck_assert_int_eq(cm_connect(client, c, QPN_CLIENT, ""), 0);
	ck_assert_int_eq(cm_connect(client, u, QPN_CLIENT, ""), 0);
	cm_run(r, 70 * BF_S);
	expect_none(client);
	cm_run(r, 10 * BF_S);
	expect(client, UNREACHABLE, -ETIMEDOUT);
	expect(client, UNREACHABLE, -ETIMEDOUT);
	ck_assert_uint_eq(counts(client).resent, 30);
	ck_assert_uint_eq(counts(client).unanswered, 2);
	cm_close(r);
}
END_TEST

/* A program that thinks for long is not taken for dead. */
START_TEST(slow_program)
{
	struct cm_rig *r = cm_open(true);
	struct pair p = ask(r);

	cm_run(r, 100 * BF_S);
	expect_none(p.client);
	ck_assert_uint_ge(counts(p.server).sent, 2); /* MRA */
	ck_assert_uint_le(counts(p.client).resent, 4);
	ck_assert_int_eq(cm_accept(p.server, p.s, UID_SERVER, QPN_SERVER, ""), 0);
	cm_run(r, BF_MS);
	expect(p.client, CONNECT_RESPONSE, 0);
	cm_close(r);
}
END_TEST

/* The peer's data may come before its RTU. */
START_TEST(data_first)
{
	struct cm_rig *r = cm_open(true);
	struct pair p = ask(r);
	struct rdma_ucm_notify n = { .id = p.s, .event = 4 };

	ck_assert_int_eq(cm_write(p.server, RDMA_USER_CM_CMD_NOTIFY, &n, sizeof(n)), -EINVAL);
	ck_assert_int_eq(cm_accept(p.server, p.s, UID_SERVER, QPN_SERVER, ""), 0);
	ck_assert_int_eq(cm_write(p.server, RDMA_USER_CM_CMD_NOTIFY, &n, sizeof(n)), 0);
	expect(p.server, ESTABLISHED, 0);
	ck_assert_int_eq(cm_write(p.server, RDMA_USER_CM_CMD_NOTIFY, &n, sizeof(n)), -EISCONN);
	cm_run(r, BF_MS);
	expect(p.client, CONNECT_RESPONSE, 0);
	ck_assert_int_eq(cm_accept(p.client, p.c, 0, 0, ""), 0);
	cm_run(r, BF_MS);
	expect_none(p.server);
	cm_close(r);
}
END_TEST

/* ---- who goes, and when ---- */

START_TEST(asker_goes)
{
	struct cm_rig *r = cm_open(true);
	struct pair p = ask(r);

	ck_assert_int_ge(cm_destroy(p.client, p.c), 0);
	cm_run(r, BF_MS);
	expect_none(p.server); /* the program has not accepted, and will fail to */
	ck_assert_int_eq(cm_accept(p.server, p.s, UID_SERVER, QPN_SERVER, ""), -EINVAL);
	expect_clean(p.client);
	cm_close(r);
}
END_TEST

START_TEST(listener_goes)
{
	struct cm_rig *r = cm_open(true);
	struct cm_machine *client = &r->machine[0], *server = &r->machine[1];
	const uint32_t l = listener(server, RDMA_PS_TCP), c = routed(client, RDMA_PS_TCP, CM_IPV4 + 1);

	ck_assert_int_eq(cm_connect(client, c, QPN_CLIENT, ""), 0);
	cm_run(r, BF_MS);
	ck_assert_int_eq(cm_destroy(server, l), 0); /* with a request that it has not read */
	cm_run(r, BF_MS);
	expect(client, REJECTED, 28);
	expect_none(server);
	expect_clean(server);
	cm_close(r);
}
END_TEST

/* The program destroys what it has not been told of. */
START_TEST(guessed_number)
{
	struct cm_rig *r = cm_open(true);
	struct cm_machine *client = &r->machine[0], *server = &r->machine[1];
	const uint32_t l = listener(server, RDMA_PS_TCP), c = routed(client, RDMA_PS_TCP, CM_IPV4 + 1);

	ck_assert_int_eq(cm_connect(client, c, QPN_CLIENT, ""), 0);
	cm_run(r, BF_MS);
	ck_assert_int_eq(cm_destroy(server, l + 1), 0);
	cm_run(r, BF_MS);
	expect(client, REJECTED, 28);
	ck_assert_uint_eq(expect(server, CONNECT_REQUEST, 0).id, l + 1);
	ck_assert_int_eq(cm_accept(server, l + 1, UID_SERVER, QPN_SERVER, ""), -ENOENT);
	ck_assert_int_eq(cm_destroy(server, l), 1);
	expect_clean(server);
	cm_close(r);
}
END_TEST

START_TEST(file_goes)
{
	struct cm_rig *r = cm_open(true);
	struct pair p = established(r);

	bf_rdmacm_close(p.client->f);
	expect_clean(p.client);
	cm_run(r, BF_MS);
	expect(p.server, DISCONNECTED, 0);
	ck_assert_int_eq(bf_rdmacm_open(p.client->cm, &p.client->f, &p.client->fd), 0);
	cm_close(r);
}
END_TEST

/* A queue pair that asks anew has lost its old connection. */
START_TEST(stale)
{
	struct cm_rig *r = cm_open(true);
	struct pair p = established(r);
	const uint32_t again = routed(p.client, RDMA_PS_TCP, p.server->ipv4);

	ck_assert_int_eq(cm_connect(p.client, again, QPN_CLIENT, ""), 0);
	cm_run(r, BF_MS);
	expect(p.client, DISCONNECTED, 0); /* the old one, as far as the server is concerned */
	expect(p.server, CONNECT_REQUEST, 0);
	cm_close(r);
}
END_TEST

START_TEST(migrated)
{
	struct cm_rig *r = cm_open(true);
	struct cm_machine *m = &r->machine[0];
	struct bf_rdmacm_file *old = m->f;
	struct rdma_ucm_migrate_id cmd = { .response = CM_RESPONSE(r), .fd = (uint32_t)m->fd };
	const uint32_t other = cm_id(m, 0x77, RDMA_PS_TCP);
	uint32_t reported;

	cmd.id = cm_id(m, UID_CLIENT, RDMA_PS_TCP);
	ck_assert_int_eq(cm_resolve_addr(m, cmd.id, CM_IPV4 + 1, PORT), 0);
	ck_assert_int_eq(cm_resolve_addr(m, other, CM_IPV4 + 1, PORT), 0);
	ck_assert_int_eq(bf_rdmacm_open(m->cm, &m->f, &m->fd), 0);
	ck_assert_int_eq(cm_write(m, RDMA_USER_CM_CMD_MIGRATE_ID, &cmd, sizeof(cmd)), 0);
	memcpy(&reported, cm_out(r), sizeof(reported));
	ck_assert_uint_eq(reported, 0);
	ck_assert_uint_eq(expect(m, ADDR_RESOLVED, 0).uid, UID_CLIENT);
	expect_none(m);
	ck_assert_int_eq(cm_resolve_route(m, other), -EINVAL); /* it stayed */
	cmd.fd = 9999;
	ck_assert_int_eq(cm_write(m, RDMA_USER_CM_CMD_MIGRATE_ID, &cmd, sizeof(cmd)), -ENOENT);
	bf_rdmacm_close(old);
	ck_assert_int_eq(cm_resolve_route(m, cmd.id), 0);
	cm_close(r);
}
END_TEST

/* ---- datagrams ---- */

START_TEST(datagrams)
{
	struct cm_rig *r = cm_open(true);
	struct cm_machine *client = &r->machine[0], *server = &r->machine[1];
	struct rdma_ucm_event_resp e;
	struct ib_uverbs_qp_attr a;
	uint32_t c, l;

	l = listener(server, RDMA_PS_UDP);
	c = routed(client, RDMA_PS_UDP, server->ipv4);
	ck_assert_int_eq(cm_connect(client, c, QPN_CLIENT, "who"), 0);
	cm_run(r, BF_MS);
	e = expect(server, CONNECT_REQUEST, 0);
	ck_assert_uint_eq(e.param.ud.private_data_len, 180);
	ck_assert_mem_eq(e.param.ud.private_data, "who\0", 4);
	ck_assert_int_eq(cm_attributes(server, e.id, 1, &a), 0);
	ck_assert_uint_eq(a.qp_attr_mask, 0x71);
	ck_assert_uint_eq(a.qkey, 0x01234567);
	ck_assert_int_eq(cm_accept(server, e.id, UID_SERVER, QPN_SERVER, "me"), 0);
	cm_run(r, BF_MS);
	e = expect(client, ESTABLISHED, 0);
	ck_assert_uint_eq(e.param.ud.qp_num, QPN_SERVER);
	ck_assert_uint_eq(e.param.ud.qkey, 0x01234567);
	ck_assert_mem_eq(e.param.ud.private_data, "me\0", 3);
	ck_assert_uint_eq(e.param.ud.ah_attr.grh.dgid[15], 2);
	c = routed(client, RDMA_PS_UDP, server->ipv4);
	ck_assert_int_eq(cm_connect(client, c, QPN_CLIENT, ""), 0);
	cm_run(r, BF_MS);
	e = expect(server, CONNECT_REQUEST, 0);
	ck_assert_int_eq(cm_reject(server, e.id, ""), 0);
	cm_run(r, BF_MS);
	expect(client, UNREACHABLE, 2);
	ck_assert_int_ge(cm_destroy(server, l), 0);
	c = routed(client, RDMA_PS_UDP, server->ipv4);
	ck_assert_int_eq(cm_connect(client, c, QPN_CLIENT, ""), 0);
	cm_run(r, BF_MS);
	expect(client, UNREACHABLE, 1);
	cm_close(r);
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("rdmacm");
	TCase *t = tcase_create("rdmacm");

	tcase_set_timeout(t, 60);
	tcase_add_test(t, connect_and_part);
	tcase_add_test(t, attributes);
	tcase_add_test(t, nobody_listens);
	tcase_add_test(t, wrong_address);
	tcase_add_test(t, refused);
	tcase_add_test(t, both_on_one_machine);
	tcase_add_test(t, backlog);
	tcase_add_test(t, any_message_is_lost);
	tcase_add_test(t, last_words);
	tcase_add_test(t, nobody_answers);
	tcase_add_test(t, slow_program);
	tcase_add_test(t, data_first);
	tcase_add_test(t, asker_goes);
	tcase_add_test(t, listener_goes);
	tcase_add_test(t, guessed_number);
	tcase_add_test(t, file_goes);
	tcase_add_test(t, stale);
	tcase_add_test(t, migrated);
	tcase_add_test(t, datagrams);
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
