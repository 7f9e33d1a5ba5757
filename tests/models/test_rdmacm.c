/* The connection manager: two machines connect, refuse, lose messages and part, in virtual time. */
#include <check.h>

#include "tests/models/rdmacm_rig.h"

#define PORT 7174u
#define UID_LISTENER 0x11u
#define UID_CLIENT 0x22u
#define UID_SERVER 0x33u
#define QPN_CLIENT 0x1234u
#define QPN_SERVER 0x4321u

/* rdma/rdma_cma.h enum rdma_cm_event_type. */
enum { ADDR_RESOLVED, ADDR_ERROR, ROUTE_RESOLVED, ROUTE_ERROR, CONNECT_REQUEST, CONNECT_RESPONSE, CONNECT_ERROR,
       UNREACHABLE, REJECTED, ESTABLISHED, DISCONNECTED, TIMEWAIT_EXIT = 15 };

static struct rdma_ucm_event_resp expect(struct cm_machine *m, uint32_t event, int status)
{
	struct rdma_ucm_event_resp e;

	ck_assert_int_eq(cm_event(m, &e), 0);
	ck_assert_uint_eq(e.event, event);
	ck_assert_int_eq((int)e.status, status);
	return e;
}

static void expect_none(struct cm_machine *m)
{
	struct rdma_ucm_event_resp e;

	ck_assert_int_eq(cm_event(m, &e), -EAGAIN);
}

static uint32_t listener(struct cm_machine *m, uint16_t ps)
{
	const uint32_t id = cm_id(m, UID_LISTENER, ps);

	ck_assert_int_eq(cm_bind(m, id, INADDR_ANY, PORT), 0);
	ck_assert_int_eq(cm_listen(m, id, 4), 0);
	return id;
}

/* An identifier with a route to `ipv4`. */
static uint32_t routed(struct cm_machine *m, uint16_t ps, uint32_t ipv4)
{
	const uint32_t id = cm_id(m, UID_CLIENT, ps);

	ck_assert_int_eq(cm_resolve_addr(m, id, ipv4, PORT), 0);
	ck_assert_uint_eq(expect(m, ADDR_RESOLVED, 0).uid, UID_CLIENT);
	ck_assert_int_eq(cm_resolve_route(m, id), 0);
	expect(m, ROUTE_RESOLVED, 0);
	return id;
}

struct pair {
	struct cm_rig *r;
	struct cm_machine *client, *server;
	uint32_t listener, c, s; /* identifiers */
};

/* Up to the request's arrival. */
static struct pair ask(struct cm_rig *r)
{
	struct pair p = { .r = r, .client = &r->machine[0], .server = &r->machine[1] };
	struct rdma_ucm_event_resp e;

	p.listener = listener(p.server, RDMA_PS_TCP);
	p.c = routed(p.client, RDMA_PS_TCP, p.server->ipv4);
	ck_assert_int_eq(cm_connect(p.client, p.c, QPN_CLIENT, "hello"), 0);
	cm_run(r, BF_MS);
	e = expect(p.server, CONNECT_REQUEST, 0);
	ck_assert_uint_eq(e.uid, UID_LISTENER);
	ck_assert_uint_eq(e.param.conn.qp_num, QPN_CLIENT);
	ck_assert_uint_eq(e.param.conn.private_data_len, 56);
	ck_assert_mem_eq(e.param.conn.private_data, "hello\0\0", 7);
	/* As the other side sees it. */
	ck_assert_uint_eq(e.param.conn.responder_resources, 5);
	ck_assert_uint_eq(e.param.conn.initiator_depth, 3);
	ck_assert_uint_eq(e.param.conn.retry_count, 7);
	ck_assert_uint_eq(e.param.conn.rnr_retry_count, 6);
	ck_assert_uint_eq(e.param.conn.flow_control, 1);
	p.s = e.id;
	return p;
}

static struct pair established(struct cm_rig *r)
{
	struct pair p = ask(r);
	struct rdma_ucm_event_resp e;

	ck_assert_int_eq(cm_accept(p.server, p.s, UID_SERVER, QPN_SERVER, "welcome"), 0);
	cm_run(r, BF_MS);
	e = expect(p.client, CONNECT_RESPONSE, 0);
	ck_assert_uint_eq(e.param.conn.qp_num, QPN_SERVER);
	ck_assert_mem_eq(e.param.conn.private_data, "welcome\0", 8);
	ck_assert_int_eq(cm_accept(p.client, p.c, 0, 0, ""), 0);
	cm_run(r, BF_MS);
	ck_assert_uint_eq(expect(p.server, ESTABLISHED, 0).uid, UID_SERVER);
	return p;
}

static void expect_clean(struct cm_machine *m)
{
	struct bf_rdmacm_counts n;

	bf_rdmacm_counts(m->cm, &n);
	ck_assert_uint_eq(n.ids, 0);
	ck_assert_uint_eq(n.events, 0);
	ck_assert_uint_eq(n.ports, 0);
}

static struct bf_rdmacm_counts counts(const struct cm_machine *m)
{
	struct bf_rdmacm_counts n;

	bf_rdmacm_counts(m->cm, &n);
	return n;
}

static void with_faults(struct cm_rig *r, const char *plan)
{
	ck_assert_int_eq(bf_fault_plan_parse(plan, 1, &r->sim->error, &r->faults), 0);
	r->sim->faults = r->faults;
}

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

/* ---- ports and addresses ---- */

START_TEST(ports)
{
	struct cm_rig *r = cm_open(true);
	struct cm_machine *m = &r->machine[0];
	const uint32_t a = cm_id(m, 1, RDMA_PS_TCP), b = cm_id(m, 2, RDMA_PS_TCP), u = cm_id(m, 3, RDMA_PS_UDP);
	int32_t on = 1;
	struct rdma_ucm_set_option reuse = { .optval = (uintptr_t)r->mem + 4096, .level = RDMA_OPTION_ID,
					     .optname = RDMA_OPTION_ID_REUSEADDR, .optlen = sizeof(on) };

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
	ck_assert_int_eq((int)cm_write_at(r, m->f, RDMA_USER_CM_CMD_JOIN_MCAST, bytes, 160, 160, 64), -ENOSYS);
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
	tcase_add_test(t, ports);
	tcase_add_test(t, queries);
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
