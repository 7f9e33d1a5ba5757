/* What tests of the connection manager say to each other: a listener, a client, a connection between two machines. */
#ifndef BELFRY_TESTS_RDMACM_TALK_H
#define BELFRY_TESTS_RDMACM_TALK_H

#include <check.h>

#include "tests/models/rdmacm_rig.h"

#define PORT 7174u
#define UID_LISTENER 0x11u
#define UID_CLIENT 0x22u
#define UID_SERVER 0x33u
#define QPN_CLIENT 0x1234u
#define QPN_SERVER 0x4321u

/* rdma/rdma_cma.h enum rdma_cm_event_type. */
enum {
	ADDR_RESOLVED,
	ADDR_ERROR,
	ROUTE_RESOLVED,
	ROUTE_ERROR,
	CONNECT_REQUEST,
	CONNECT_RESPONSE,
	CONNECT_ERROR,
	UNREACHABLE,
	REJECTED,
	ESTABLISHED,
	DISCONNECTED,
	MULTICAST_JOIN = 12,
	TIMEWAIT_EXIT = 15
};

static inline struct rdma_ucm_event_resp expect(struct cm_machine *m, uint32_t event, int status)
{
	struct rdma_ucm_event_resp e;

	ck_assert_int_eq(cm_event(m, &e), 0);
	ck_assert_uint_eq(e.event, event);
	ck_assert_int_eq((int)e.status, status);
	return e;
}

static inline void expect_none(struct cm_machine *m)
{
	struct rdma_ucm_event_resp e;

	ck_assert_int_eq(cm_event(m, &e), -EAGAIN);
}

static inline uint32_t listener(struct cm_machine *m, uint16_t ps)
{
	const uint32_t id = cm_id(m, UID_LISTENER, ps);

	ck_assert_int_eq(cm_bind(m, id, INADDR_ANY, PORT), 0);
	ck_assert_int_eq(cm_listen(m, id, 4), 0);
	return id;
}

/* An identifier with a route to `ipv4`. */
static inline uint32_t routed(struct cm_machine *m, uint16_t ps, uint32_t ipv4)
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
static inline struct pair ask(struct cm_rig *r)
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

static inline struct pair established(struct cm_rig *r)
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

static inline void expect_clean(struct cm_machine *m)
{
	struct bf_rdmacm_counts n;

	bf_rdmacm_counts(m->cm, &n);
	ck_assert_uint_eq(n.ids, 0);
	ck_assert_uint_eq(n.events, 0);
	ck_assert_uint_eq(n.ports, 0);
}

static inline struct bf_rdmacm_counts counts(const struct cm_machine *m)
{
	struct bf_rdmacm_counts n;

	bf_rdmacm_counts(m->cm, &n);
	return n;
}

static inline void with_faults(struct cm_rig *r, const char *plan)
{
	ck_assert_int_eq(bf_fault_plan_parse(plan, 1, &r->sim->error, &r->faults), 0);
	r->sim->faults = r->faults;
}

#endif
