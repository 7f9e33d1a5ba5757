/*
 * Rules about drivers that say nothing of what they do, on records made by hand: completions that are taken for those
 * of entries of the same number, errors that are passed over, slots that were given twice. Each is shown with its
 * mistake and, silent, with what only looks like it.
 */
#include <stdio.h>

#include "models/mlx5/prm.h"
#include "models/mlx5/records.h"
#include "sim/bytes.h"
#include "sim/records_agent.h"
#include "sim/records_io.h"
#include "tests/traces/rules_story.h"

#define QPN 0x101u
#define DEPTH 16u
#define SQ 0x10000ull
#define CQ 0x30000ull

struct rig {
	struct story s;
	uint32_t nic, qp, cq, thread[2];
};

static void begin(struct rig *r)
{
	static const char *const names[] = { "pe0.b0.w0.l0", "pe0.b1.w0.l0" };

	story_begin(&r->s);
	r->nic = story_actor(&r->s, "device", "nic0");
	r->qp = story_actor(&r->s, "queue", "nic0.qp0x101");
	r->cq = story_actor(&r->s, "queue", "nic0.cq0x41");
	for (int i = 0; i < 2; i++) {
		r->thread[i] = story_actor(&r->s, "agent", names[i]);
		STORY(&r->s, agent_start, r->thread[i], .stack = 0);
	}
	STORY(&r->s, cq_config, r->cq, .cqn = 0x41, .cqes = 16, .cqe_size = 64, .overrun_ignore = 1);
	STORY(&r->s, qp_config, r->qp, .qpn = QPN, .sq_wqebbs = DEPTH, .sq = SQ, .send_cqn = 0x41);
}

static void lay(struct rig *r, int thread, uint16_t index)
{
	uint8_t ctrl[16] = { 0 };

	bf_put_be16(ctrl + 1, index);
	bf_put_be24(ctrl + 4, QPN);
	STORY_TAIL(&r->s, store, r->thread[thread], ctrl, 16, .va = SQ + index % DEPTH * 64ull, .seq = ++r->s.seq,
		   .len = 16);
}

static void execute(struct rig *r, uint16_t index, bool signalled)
{
	STORY(&r->s, wqe_fetch, r->qp, .qpn = QPN, .index = index, .ctrl_index = index, .ctrl_qpn = QPN, .wqebbs = 1,
	      .ds = 4);
	STORY(&r->s, wqe_done, r->qp, .qpn = QPN, .index = index, .next = (uint16_t)(index + 1), .opcode = 8,
	      .signalled = signalled);
}

static void complete(struct rig *r, uint32_t count, uint16_t index, uint8_t syndrome)
{
	STORY(&r->s, cqe, r->cq, .qpn = QPN, .cqn = 0x41, .iova = CQ + count % 16 * 64, .count = count,
	      .slot = count % 16, .index = index, .opcode = syndrome ? BF_MLX5_CQE_REQ_ERR : 0, .syndrome = syndrome);
}

/* A look at the last four bytes of completion `n`. */
static void look(struct rig *r, uint32_t n, uint16_t index, bool error)
{
	const uint8_t own = (uint8_t)((error ? BF_MLX5_CQE_REQ_ERR << 4 : 0) | (n / 16 & 1));

	STORY(&r->s, load, r->thread[0], .va = CQ + n % 16 * 64 + 60, .len = 4,
	      .value = (uint64_t)own << 24 | (uint64_t)(index & 0xff) << 8 | index >> 8);
}

static void waits(struct rig *r, uint64_t va)
{
	STORY(&r->s, agent_wait, r->thread[0], .va = va, .lines = 1, .timeout = UINT64_MAX,
	      .what = "memory that it polls");
	STORY(&r->s, deadlock, r->thread[0], .va = va, .what = "memory that it polls");
}

static void ends(struct rig *r, const char *id, const char *text)
{
	for (int i = 0; i < 2; i++)
		STORY(&r->s, agent_end, r->thread[i], .ahead = 0);
	story_ends(&r->s, id, text);
}

/*
 * Entries 0 to 3, of which 1 asked for no completion. The poller looks at completion 2 alone, which is entry 3's (0);
 * at 2 and then at those before it, as who loads the last one of a line first (1); at each in turn (2). Or each asked
 * (3).
 */
START_TEST(a_completion_is_taken_for_its_entrys)
{
	struct rig r;
	uint32_t n = 0;

	begin(&r);
	for (uint16_t i = 0; i < 4; i++) {
		const bool asks = i != 1 || _i == 3;

		lay(&r, 0, i);
		execute(&r, i, asks);
		if (asks)
			complete(&r, n++, i, 0);
	}
	for (uint32_t i = _i == 2 ? 0 : 2; i < 3; i++)
		look(&r, i, 3, false);
	for (uint32_t i = 0; _i == 1 && i < 2; i++)
		look(&r, i, (uint16_t)(i * 2), false);
	ends(&r, _i ? NULL : "MLX5-CQE-INDEX", "took completion 2 of CQ 0x41 and left out the 2 before it");
}
END_TEST

/* All four are executed and half of them asked. It waits for completion 3 (0), or the run is cut while entry 4 runs
 * (1). */
START_TEST(a_completion_that_never_comes)
{
	struct rig r;

	begin(&r);
	for (uint16_t i = 0; i < 4; i++) {
		lay(&r, 0, i);
		execute(&r, i, i & 1);
		if (i & 1)
			complete(&r, i / 2, i, 0);
	}
	if (_i)
		STORY(&r.s, wqe_fetch, r.qp, .qpn = QPN, .index = 4, .ctrl_index = 4, .ctrl_qpn = QPN, .wqebbs = 1,
		      .ds = 4);
	waits(&r, CQ + 3 * 64 + 60);
	story_ends(&r.s, _i ? "MACHINE-STUCK" : "MLX5-CQE-INDEX", _i ? "" : "waits for completion 3 of CQ 0x41");
}
END_TEST

/*
 * Completion 0 is an error. The thread reads it and posts on (0); posts on without having looked (1); stops (2); or
 * another thread posts (3).
 */
START_TEST(an_error_is_passed_over)
{
	struct rig r;

	begin(&r);
	lay(&r, 0, 0);
	execute(&r, 0, true);
	complete(&r, 0, 0, 0x13);
	if (_i != 1)
		look(&r, 0, 0, true);
	if (_i != 2)
		lay(&r, _i == 3, 1);
	if (_i == 0)
		ends(&r, "MLX5-ERROR-IGNORED", "read the completion of WQE 0 of QP 0x101 on PE 0, which is an error");
	else
		ends(&r, "MLX5-ERROR-COMPLETION", "");
}
END_TEST

/* Two threads lay entry 0 (0); one lays it twice (1); the other lays entry 1 (2), or 16 when 0 is done (3). */
START_TEST(a_slot_is_given_twice)
{
	struct rig r;

	begin(&r);
	lay(&r, 0, 0);
	if (_i == 3) {
		execute(&r, 0, true);
		complete(&r, 0, 0, 0);
		look(&r, 0, 0, false);
	}
	lay(&r, _i != 1, _i == 2 ? 1 : _i == 3 ? 16 : 0);
	ends(&r, _i ? NULL : "MLX5-SLOT-SHARED", "both were given the slot");
}
END_TEST

/*
 * Two blocks post to the queue and take slots at one word by atomics of block scope (0), of the GPU's (1), each at its
 * own word (2); or the second one does not post (3).
 */
START_TEST(atomics_of_two_blocks)
{
	struct rig r;

	begin(&r);
	for (int i = 0; i < 2; i++) {
		STORY(&r.s, atomic, r.thread[i], .va = 0x50000 + (_i == 2 ? (uint64_t)i * 64 : 0), .operand = 1,
		      .len = 8, .scope = _i == 1);
		if (!i || _i != 3)
			lay(&r, i, (uint16_t)i);
	}
	ends(&r, _i ? NULL : "MLX5-SHARING-MODE", "of two blocks: the mode is cta");
}
END_TEST

/* The ring is full and nobody rang (0); one slot is free (1); the first entry was fetched (2); all is over (3). */
START_TEST(a_ring_that_is_full_and_not_rung)
{
	struct rig r;

	begin(&r);
	for (uint16_t i = 0; i < (_i == 1 ? DEPTH - 1 : DEPTH); i++)
		lay(&r, 0, i);
	if (_i == 2)
		execute(&r, 0, true);
	if (_i == 3) {
		ends(&r, NULL, NULL);
		return;
	}
	waits(&r, 0x50000);
	story_ends(&r.s, _i ? "MLX5-NOT-RUNG" : "MLX5-RING-UNRUNG", _i ? "" : "all 16 slots of QP 0x101 on PE 0");
}
END_TEST

/* INIT2RTR is refused for the GID (0), for another field (1); another command is (2). */
START_TEST(a_connection_without_a_gid)
{
	const char *why = _i == 1 ? "mtu 7 is none" : "rgid_rip of the primary path is 0";
	struct rig r;

	begin(&r);
	STORY_TAIL(&r.s, cmd_refused, r.nic, (const uint8_t *)why, (uint32_t)strlen(why),
		   .opcode = _i == 2 ? BF_MLX5_CMD_RTR2RTS_QP : BF_MLX5_CMD_INIT2RTR_QP, .status = 3);
	ends(&r, _i ? "MLX5-COMMAND-REFUSED" : "MLX5-NO-GRH", _i ? "" : "has no GID");
}
END_TEST

int main(void)
{
	Suite *s = suite_create("rules_foreign");
	TCase *t = tcase_create("all");
	SRunner *sr;
	int failed;

	tcase_add_loop_test(t, a_completion_is_taken_for_its_entrys, 0, 4);
	tcase_add_loop_test(t, a_completion_that_never_comes, 0, 2);
	tcase_add_loop_test(t, an_error_is_passed_over, 0, 4);
	tcase_add_loop_test(t, a_slot_is_given_twice, 0, 4);
	tcase_add_loop_test(t, atomics_of_two_blocks, 0, 4);
	tcase_add_loop_test(t, a_ring_that_is_full_and_not_rung, 0, 4);
	tcase_add_loop_test(t, a_connection_without_a_gid, 0, 3);
	suite_add_tcase(s, t);
	sr = srunner_create(s);
	srunner_run_all(sr, CK_NORMAL);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed != 0;
}
