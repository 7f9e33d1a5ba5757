/* Connections that were asked for: which of them never came about, and what is said of each. */
#include <check.h>

#include "models/mlx5/records.h"
#include "models/rdmacm/mad.h"
#include "models/rdmacm/records.h"
#include "tests/traces/tape.h"
#include "traces/records/capture.h"
#include "traces/life/stuck.h"

#define TCP_7174 (0x0106ull << 16 | 7174)
#define UDP_7174 (0x0111ull << 16 | 7174)
#define PEER 0x7f000001u
#define OTHER 0x7f000002u

enum { SENT, SENT_AGAIN, RECEIVED, MALFORMED, GIVEN_UP };

/* One message; numbers are the sender's and the receiver's. */
struct said {
	uint16_t what, kind;
	uint32_t local_id, remote_id;
	uint64_t service;
	uint16_t reason;
	uint32_t peer; /* 0: PEER */
};

#define FROM(what_, id, peer_)                                                                                         \
	{                                                                                                              \
		.what = what_, .kind = BF_CM_REQ, .local_id = id, .service = TCP_7174, .peer = peer_                   \
	}
#define REQ(what_, id) FROM(what_, id, PEER)
#define SIDR(what_, id)                                                                                                \
	{                                                                                                              \
		.what = what_, .kind = BF_CM_SIDR_REQ, .local_id = id, .service = UDP_7174                             \
	}
#define WITH(what_, kind_, from, to, peer_, why)                                                                       \
	{                                                                                                              \
		.what = what_, .kind = BF_CM_##kind_, .local_id = from, .remote_id = to, .peer = peer_, .reason = why  \
	}
#define MSG(what_, kind_, from, to) WITH(what_, kind_, from, to, PEER, 0)

static const struct {
	struct said said[8];
	const char *kind, *missing; /* NULL: nothing is stuck */
	uint64_t count;
	const char *text;
} cases[] = {
	/* refused */
	{ { REQ(SENT, 1), WITH(RECEIVED, REJ, 0, 1, PEER, BF_CM_REJ_INVALID_SERVICE) },
	  "connection request",
	  "acceptance",
	  1,
	  "REQ for TCP port 7174 of 127.0.0.1 was refused: nobody listens there (reason 8)" },
	{ { REQ(SENT, 1), WITH(RECEIVED, REJ, 9, 1, PEER, BF_CM_REJ_CONSUMER) },
	  "connection request",
	  "acceptance",
	  1,
	  "the peer's program did not want it (rdma_reject())" },
	{ { REQ(SENT, 1), WITH(RECEIVED, REJ, 9, 1, PEER, BF_CM_REJ_STALE) },
	  "connection request",
	  "acceptance",
	  1,
	  "still has a connection of this queue pair (reason 10)" },
	{ { REQ(SENT, 1), WITH(RECEIVED, REJ, 9, 1, PEER, 77) },
	  "connection request",
	  "acceptance",
	  1,
	  "was refused: reason 77" },
	{ { SIDR(SENT, 1), WITH(RECEIVED, SIDR_REP, 1, 0, PEER, BF_CM_SIDR_UNSUPPORTED) },
	  "service request",
	  "acceptance",
	  1,
	  "SIDR_REQ for UDP port 7174 of 127.0.0.1 was refused: nobody listens there (status 1)" },
	/* the same twice is told once; another peer's is another */
	{ { REQ(SENT, 1), WITH(RECEIVED, REJ, 0, 1, PEER, 8), REQ(SENT, 2), WITH(RECEIVED, REJ, 0, 2, PEER, 8) },
	  "connection request",
	  "acceptance",
	  2,
	  "nobody listens" },
	/* not answered */
	{ { REQ(SENT, 1), REQ(SENT_AGAIN, 1), REQ(SENT_AGAIN, 1) },
	  "connection request",
	  "answer",
	  1,
	  "of 127.0.0.1 was sent 3 times and not answered: lost, or nobody has the address" },
	{ { REQ(SENT, 1), REQ(GIVEN_UP, 1) },
	  "connection request",
	  "answer",
	  1,
	  "was sent 1 time and not answered: lost, or nobody has the address; it has been given up" },
	{ { REQ(SENT, 1), MSG(RECEIVED, MRA, 9, 1) }, "connection request", "answer", 1, "asked for more time (MRA)" },
	{ { REQ(SENT, 1), MSG(RECEIVED, REP, 9, 1) }, "connection request", "RTU", 1, "the program has not gone on" },
	/* of others */
	{ { REQ(RECEIVED, 9) },
	  "connection request",
	  "accept",
	  1,
	  "REQ for TCP port 7174 from 127.0.0.1 came, and the program has neither accepted nor refused it" },
	{ { REQ(RECEIVED, 9), REQ(RECEIVED, 9) }, "connection request", "accept", 1, "came" },
	{ { REQ(RECEIVED, 9), MSG(SENT, REP, 1, 9), MSG(SENT_AGAIN, REP, 1, 9), MSG(GIVEN_UP, REP, 1, 9) },
	  "connection request",
	  "RTU",
	  1,
	  "its peer has not confirmed (RTU); it has been given up" },
	/* one of another machine has the same number */
	{ { REQ(RECEIVED, 9), FROM(RECEIVED, 9, OTHER), WITH(SENT, REP, 1, 9, OTHER, 0),
	    WITH(RECEIVED, RTU, 9, 1, OTHER, 0) },
	  "connection request",
	  "accept",
	  1,
	  "from 127.0.0.1" },
	/* nothing is wrong */
	{ { REQ(SENT, 1), MSG(RECEIVED, REP, 9, 1), MSG(SENT, RTU, 1, 9) }, .count = 0 },
	{ { REQ(RECEIVED, 9), MSG(SENT, REP, 1, 9), MSG(RECEIVED, RTU, 9, 1) }, .count = 0 },
	{ { REQ(RECEIVED, 9), WITH(SENT, REJ, 0, 9, PEER, 8) }, .count = 0 },
	{ { REQ(RECEIVED, 9), WITH(RECEIVED, REJ, 9, 0, PEER, BF_CM_REJ_TIMEOUT) }, .count = 0 },
	{ { REQ(SENT, 1), WITH(SENT, REJ, 1, 0, PEER, BF_CM_REJ_TIMEOUT) }, .count = 0 },
	{ { SIDR(SENT, 1), MSG(RECEIVED, SIDR_REP, 1, 0) }, .count = 0 },
	{ { SIDR(RECEIVED, 9), MSG(SENT, SIDR_REP, 9, 0) }, .count = 0 },
	{ { REQ(RECEIVED, 9), MSG(SENT, REP, 1, 9), MSG(RECEIVED, DREQ, 9, 1) }, .count = 0 },
	{ { REQ(MALFORMED, 9) }, .count = 0 },
	{ { MSG(RECEIVED, REP, 9, 1), WITH(RECEIVED, REJ, 9, 5, PEER, 8), MSG(SENT, RTU, 1, 9) }, .count = 0 },
	/* too early, and then not any more */
	{ { REQ(SENT, 1), WITH(RECEIVED, REJ, 0, 1, PEER, 8), REQ(SENT, 2), MSG(RECEIVED, REP, 9, 2),
	    MSG(SENT, RTU, 2, 9) },
	  .count = 0 },
	/* the other way round it is the last one that counts */
	{ { REQ(SENT, 2), MSG(RECEIVED, REP, 9, 2), MSG(SENT, RTU, 2, 9), REQ(SENT, 1),
	    WITH(RECEIVED, REJ, 0, 1, PEER, 8) },
	  "connection request",
	  "acceptance",
	  1,
	  "nobody listens" },
	/* to itself */
	{ { REQ(SENT, 1), REQ(RECEIVED, 1), WITH(SENT, REJ, 0, 1, PEER, 8), WITH(RECEIVED, REJ, 0, 1, PEER, 8) },
	  "connection request",
	  "acceptance",
	  1,
	  "nobody listens" },
};

START_TEST(what_is_said)
{
	const struct bf_stuck_group *g;
	struct bf_stuck *s;
	struct tape p;

	tape_open(&p);
	for (size_t i = 0; i < BF_ARRAY_LEN(cases[_i].said) && cases[_i].said[i].kind; i++) {
		const struct said *m = &cases[_i].said[i];

		PUT(&p, cm_message, "kernel", "rdma_cm", .service = m->service, .peer = m->peer ? m->peer : PEER,
		    .local_id = m->local_id, .remote_id = m->remote_id, .kind = m->kind, .reason = m->reason,
		    .what = m->what);
	}
	ck_assert(!bf_stuck_read(tape_read(&p), &s, &p.err));
	ck_assert_uint_eq(bf_stuck_count(s), cases[_i].kind != NULL);
	g = bf_stuck_group(s, 0);
	if (g) {
		ck_assert_str_eq(g->where, "rdma_cm");
		ck_assert_str_eq(g->kind, cases[_i].kind);
		ck_assert_str_eq(g->missing, cases[_i].missing);
		ck_assert_uint_eq(g->count, cases[_i].count);
		ck_assert_msg(strstr(g->text, cases[_i].text) != NULL, "%s", g->text);
		ck_assert(!g->explained);
	}
	bf_stuck_free(s);
	tape_close(&p);
}
END_TEST

/* Messages in any order, of few numbers: nothing but sentences comes of them, each of which names a step. */
START_TEST(wild_messages)
{
	static const uint64_t services[] = { TCP_7174, UDP_7174, 0x013full << 16, 0 };
	uint64_t x = (uint64_t)_i + 1;
	struct bf_stuck *s;
	struct tape p;

	tape_open(&p);
	for (uint32_t i = 0; i < 400; i++) {
		x = x * 6364136223846793005u + 1442695040888963407u;
		PUT(&p, cm_message, "kernel", x >> 60 & 1 ? "rdma_cm" : "other", .service = services[x >> 58 & 3],
		    .peer = PEER + (x >> 57 & 1), .local_id = x >> 54 & 7, .remote_id = x >> 51 & 7,
		    .kind = (uint16_t)(15 + (x >> 40 & 15)), .reason = x >> 36 & 15, .what = x >> 32 & 7);
	}
	ck_assert(!bf_stuck_read(tape_read(&p), &s, &p.err));
	ck_assert_uint_gt(bf_stuck_count(s), 0);
	for (uint32_t i = 0; i < bf_stuck_count(s); i++) {
		ck_assert_ptr_nonnull(bf_stuck_group(s, i)->missing);
		ck_assert_uint_lt(strlen(bf_stuck_group(s, i)->text), sizeof(bf_stuck_group(s, i)->text) - 1);
	}
	bf_stuck_free(s);
	tape_close(&p);
}
END_TEST

/* A connection that ends while an entry is under way: in the entry's life, by whoever ends it. */
START_TEST(an_entry_whose_connection_ends)
{
	static const char *const lines[] = { "the peer ends the connection of QP 0x100 (DREQ)",
					     "the program ends the connection with QP 0x200 (DREQ)" };
	struct bf_explain_target t;
	const struct bf_explain_step *step;
	struct bf_explain *l;
	struct tape p;
	size_t n, told[2] = { 0 };

	ck_assert(bf_explain_parse("nic0.qp0x100:0", &t));
	tape_open(&p);
	PUT(&p, capture_qp, "capture", "capture", .qpn = 0x100, .dest_qpn = 0x200);
	PUT(&p, cm_message, "kernel", "rdma_cm", .kind = BF_CM_DREQ, .what = RECEIVED, .qpn = 0x100);
	PUT(&p, wqe_fetch, "queue", "nic0.qp0x100", .qpn = 0x100, .index = 0, .wqebbs = 1);
	PUT(&p, cm_message, "kernel", "rdma_cm", .kind = BF_CM_DREQ, .what = RECEIVED, .qpn = 0x300);
	PUT(&p, cm_message, "kernel", "rdma_cm", .kind = BF_CM_DREQ, .what = GIVEN_UP, .qpn = 0x200);
	PUT(&p, cm_message, "kernel", "rdma_cm", .kind = BF_CM_DREP, .what = RECEIVED);
	PUT(&p, cm_message, "kernel", "rdma_cm", .kind = BF_CM_DREQ, .what = _i ? SENT : RECEIVED,
	    .qpn = _i ? 0x200 : 0x100);
	ck_assert(!bf_explain_trace(&t, tape_read(&p), &l, &p.err));
	step = bf_explain_steps(l, &n);
	for (size_t i = 0; i < n; i++)
		for (size_t k = 0; k < 2; k++)
			told[k] += strcmp(step[i].text, lines[k]) == 0;
	ck_assert_uint_eq(told[_i], 1);
	ck_assert_uint_eq(told[!_i], 0);
	bf_explain_free(l);
	tape_close(&p);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("explain_cm");
	TCase *tc = tcase_create("stuck");
	SRunner *sr;
	int failed;

	tcase_add_loop_test(tc, what_is_said, 0, BF_ARRAY_LEN(cases));
	tcase_add_loop_test(tc, wild_messages, 0, 20);
	tcase_add_loop_test(tc, an_entry_whose_connection_ends, 0, 2);
	suite_add_tcase(s, tc);
	sr = srunner_create(s);
	srunner_run_all(sr, CK_NORMAL);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed != 0;
}
