/* NVMe rules about what no driver here does: PCI set-up, outstanding admin commands. On records made by hand. */
#include "traces/records/nvme_driver.h"
#include "models/nvme/prm.h"
#include "models/nvme/records.h"
#include "sim/bytes.h"
#include "sim/records_agent.h"
#include "tests/traces/rules_story.h"

#define ABORT 0x08
#define ASYNC_EVENT_REQUEST 0x0c
#define BUS_MASTER 9

struct rig {
	struct story s;
	uint32_t driver, controller, queue;
};

static void begin(struct rig *r)
{
	story_begin(&r->s);
	r->driver = story_actor(&r->s, "agent", "pe0.cpu0");
	r->controller = story_actor(&r->s, "device", "ssd0");
	r->queue = story_actor(&r->s, "queue", "ssd0.sq0");
}

/* For a listener that says what it wants. */
static void begin_choosy(struct rig *r)
{
	const struct bf_rules_opts nvme = { .families = "nvme" };

	r->s = (struct story){ 0 };
	ck_assert_int_eq(bf_rules_create(&nvme, &r->s.rules, NULL), 0);
	ck_assert_int_eq(bf_stream_open(&r->s.st, &r->s.now, BF_CLASS_ALL, bf_rules_only_sink(r->s.rules)), 0);
	r->driver = story_actor(&r->s, "agent", "pe0.cpu0");
	r->controller = story_actor(&r->s, "device", "ssd0");
	r->queue = story_actor(&r->s, "queue", "ssd0.sq0");
}

static void admin_command(struct rig *r, uint8_t opcode, uint16_t slot, uint16_t status)
{
	uint8_t entry[64] = { opcode };

	bf_put_le16(entry + 2, slot);
	STORY_TAIL(&r->s, nvme_fetch, r->queue, entry, 64, .slot = slot, .cid = slot, .opcode = opcode);
	if (status != 0xffff)
		STORY(&r->s, nvme_completion, r->queue, .cid = slot, .cqslot = slot, .sqslot = slot, .status = status,
		      .opcode = opcode, .phase = 1);
}

/* A read brought something else; the block was written (0) or was not (1); all is as it should be (2). */
START_TEST(a_read_brings_something_else)
{
	uint8_t entry[64] = { 1 };
	struct rig r;
	uint32_t sq;

	begin(&r);
	sq = story_actor(&r.s, "queue", "ssd0.sq1");
	bf_put_le64(entry + 40, _i == 1 ? 99 : 8);
	bf_put_le16(entry + 48, 7);
	STORY_TAIL(&r.s, nvme_fetch, sq, entry, 64, .sqid = 1, .slot = 0, .cid = 5, .opcode = 1);
	STORY(&r.s, nvme_completion, sq, .sqid = 1, .cid = 5, .cqslot = 0, .sqslot = 0, .opcode = 1, .phase = 1);
	if (_i < 2)
		STORY(&r.s, nvm_mismatch, r.driver, .block = 10, .wanted = 1, .found = 2, .va = 0x8000, .qid = 1);
	story_ends(&r.s, _i == 2 ? NULL : "NVME-WRONG-DATA",
		   _i ? "no command wrote that block"
		      : "the last that wrote it is command 0x5 of SQ 1, 8 blocks from 8");
}
END_TEST

/* The driver waits while the bit is clear; in the second story it was set again before. */
START_TEST(bus_master_is_off)
{
	struct rig r;

	begin(&r);
	STORY(&r.s, nvme_state, r.controller, .state = BUS_MASTER, .value = 0);
	if (_i)
		STORY(&r.s, nvme_state, r.controller, .state = BUS_MASTER, .value = 1);
	STORY(&r.s, nvme_doorbell, r.queue, .value = 1, .accepted = 1);
	r.s.now += 1000000;
	STORY(&r.s, nvm_timeout, r.driver, .sq_tail = 1, .sq_rung = 1, .inflight = 1, .cq_phase = 1);
	story_ends(&r.s, _i ? "NVME-NO-ANSWER" : "NVME-BUS-MASTER", _i ? "did not complete 1" : "no bus master for 1");
}
END_TEST

START_TEST(too_many_outstanding)
{
	static const struct {
		uint8_t opcode;
		uint16_t status;
		const char *id, *text;
	} cases[] = {
		{ ABORT, 0x103, "NVME-REQUEST-LIMIT", "Abort was refused" },
		{ ASYNC_EVENT_REQUEST, 0x4105, "NVME-REQUEST-LIMIT", "Asynchronous Event Request was refused" },
		{ ABORT, 0x002, "NVME-ERROR-STATUS", "status 0x002" },
		{ ASYNC_EVENT_REQUEST, 0xffff, NULL, "" },
	};
	struct rig r;

	begin(&r);
	for (uint16_t i = 0; i < 4; i++)
		admin_command(&r, cases[_i].opcode, i, 0xffff);
	admin_command(&r, cases[_i].opcode, 4, cases[_i].status);
	story_ends(&r.s, cases[_i].id, cases[_i].text);
}
END_TEST

/* What was posted and is not in memory is lost; what is there and is not taken was overlooked. */
START_TEST(completion_that_is_not_taken)
{
	struct rig r;

	begin(&r);
	admin_command(&r, ABORT, 0, 0);
	STORY(&r.s, nvm_timeout, r.driver, .sq_tail = 1, .sq_rung = 1, .inflight = 1, .cq_phase = 1,
	      .seen = _i ? 1u << 16 : 0);
	story_ends(&r.s, _i ? "NVME-COMPLETION-UNSEEN" : "NVME-COMPLETION-LOST", "slot 0 of CQ 0");
}
END_TEST

/* The driver sleeps: other vectors fire, its own does not, or only for what came before. */
START_TEST(interrupt_that_did_not_come)
{
	struct rig r;
	uint32_t cq;

	begin(&r);
	cq = story_actor(&r.s, "queue", "ssd0.cq0");
	STORY(&r.s, nvme_queue, cq, .size = 16, .vector = 3, .queue = 1, .flags = _i == 2 ? 1 : 3);
	STORY(&r.s, nvme_interrupt, r.controller, .vector = 3, .completions = 1);
	admin_command(&r, ABORT, 0, 0);
	STORY(&r.s, nvme_interrupt, r.controller, .vector = _i == 1 ? 3 : 0, .completions = 1);
	STORY(&r.s, nvm_timeout, r.driver, .sq_tail = 1, .sq_rung = 1, .inflight = 1, .cq_phase = 1, .seen = 1u << 16);
	story_ends(&r.s, _i ? "NVME-COMPLETION-UNSEEN" : "NVME-NO-INTERRUPT",
		   _i ? "does not take it" : "vector 3 did not fire");
}
END_TEST

START_TEST(nobody_keeps_it_alive)
{
	struct rig r;

	begin(&r);
	STORY(&r.s, nvme_fetch, r.queue, .slot = 0);
	STORY(&r.s, nvme_state, r.controller, .state = 4, .reason = 10, .csts = 3);
	STORY(&r.s, nvm_timeout, r.driver, .sq_tail = 1, .sq_rung = 1, .inflight = 1, .cq_phase = 1);
	story_ends(&r.s, "NVME-KEEP-ALIVE", "CSTS 0x3");
}
END_TEST

#define WEAK 0
#define ACQUIRE 2

static void poll_tag(struct rig *r, uint32_t thread, uint16_t sem)
{
	if (bf_stream_wants(&r->s.st, BF_REC_ID_load))
		STORY(&r->s, load, thread, .va = 0x100c, .len = 4, .sem = sem);
}

/* Loads are looked at until each thread that runs has polled; from the second story on one takes without. */
START_TEST(loads_of_threads_that_have_not_polled)
{
	struct rig r;
	uint32_t late, idle;

	begin_choosy(&r);
	late = story_actor(&r.s, "agent", "pe0.cpu1");
	idle = story_actor(&r.s, "agent", "pe0.cpu2");
	STORY(&r.s, agent_start, r.driver, .stack = 1);
	admin_command(&r, ABORT, 0, 0);
	admin_command(&r, ABORT, 1, 0);
	poll_tag(&r, r.driver, WEAK);
	ck_assert(bf_stream_wants(&r.s.st, BF_REC_ID_load));
	poll_tag(&r, r.driver, ACQUIRE);
	ck_assert(!bf_stream_wants(&r.s.st, BF_REC_ID_load));
	STORY(&r.s, agent_start, idle, .stack = 1);
	STORY(&r.s, agent_start, late, .stack = 1);
	poll_tag(&r, late, _i ? WEAK : ACQUIRE);
	STORY(&r.s, agent_end, late, .ahead = 0);
	ck_assert(bf_stream_wants(&r.s.st, BF_REC_ID_load));
	STORY(&r.s, agent_end, idle, .ahead = 0);
	ck_assert(!bf_stream_wants(&r.s.st, BF_REC_ID_load));
	STORY(&r.s, nvm_completion, r.driver, .phase = 1);
	STORY(&r.s, nvm_completion, late, .slot = 1, .cid = 1, .phase = 1);
	story_ends(&r.s, _i ? "NVME-PLAIN-POLL" : NULL, "pe0.cpu1 took a completion from CQ 0");
}
END_TEST

/* A register and how it was written. */
START_TEST(doorbell_of_eight_bytes)
{
	static const struct {
		uint32_t wrong;
		uint64_t at, limit;
		const char *id, *text;
	} cases[] = { { BF_NVME_WRONG_ACCESS, 0x1008, 8, "NVME-DOORBELL-WIDTH", "8 bytes hit the doorbell at 0x1008" },
		      { BF_NVME_WRONG_ACCESS, 0x100c, 8, "NVME-DOORBELL-WIDTH", "8 bytes hit the doorbell at 0x100c" },
		      { BF_NVME_WRONG_ACCESS, 0x1c, 8, "NVME-WRITE-IGNORED", "8 bytes to register 0x1c" },
		      { BF_NVME_WRONG_STRIDE, 0x100c, 8, "NVME-DOORBELL-STRIDE", "they lie 8 bytes apart" } };
	struct rig r;

	begin_choosy(&r);
	STORY(&r.s, nvme_doorbell, r.queue, .value = 1, .accepted = 1);
	STORY(&r.s, mmio_store, r.driver, .va = 0x1008, .len = 8);
	ck_assert(!bf_stream_wants(&r.s.st, BF_REC_ID_mmio_store));
	STORY(&r.s, nvme_driver_error, r.controller, .value = cases[_i].at, .limit = cases[_i].limit, .qid = 0xffff,
	      .wrong = cases[_i].wrong);
	story_ends(&r.s, cases[_i].id, cases[_i].text);
}
END_TEST

/* Two submission queues and one completion queue are asked for: SQ 2 (0), CQ 2 (1), SQ 3 (2). */
START_TEST(more_queues_than_were_asked_for)
{
	uint8_t entry[64] = { BF_NVME_ADM_SET_FEATURES };
	struct rig r;

	begin(&r);
	entry[40] = 7;
	entry[44] = 1;
	STORY_TAIL(&r.s, nvme_fetch, r.queue, entry, 64, .opcode = BF_NVME_ADM_SET_FEATURES);
	STORY(&r.s, nvme_queue, r.queue, .qid = _i == 2 ? 3 : 2, .queue = _i == 1, .what = BF_NVME_QUEUE_CREATED);
	story_ends(&r.s, _i ? "NVME-QUEUE-COUNT" : NULL, _i == 1 ? "had asked for 1" : "had asked for 2");
}
END_TEST

/*
 * Queues that are left (0), all is shut down (1), a shutdown that is waited for and was not asked for (2), a driver
 * that says nothing of its steps (3).
 */
START_TEST(a_controller_that_stays_on)
{
	struct rig r;

	begin(&r);
	STORY(&r.s, agent_start, r.driver, .stack = 1);
	if (_i != 3)
		STORY(&r.s, nvm_step, r.driver, .step = 4);
	STORY(&r.s, nvme_state, r.controller, .cc = 0x460001, .csts = 1, .state = BF_NVME_ON);
	STORY(&r.s, nvme_queue, r.queue, .qid = 1, .queue = 1, .what = BF_NVME_QUEUE_CREATED);
	if (_i == 1)
		STORY(&r.s, nvme_queue, r.queue, .qid = 1, .queue = 1, .what = BF_NVME_QUEUE_DELETED);
	if (_i == 1 || _i == 2)
		STORY(&r.s, nvm_step, r.driver, .step = 15);
	if (_i == 1)
		STORY(&r.s, nvme_state, r.controller, .state = BF_NVME_SHUT_DOWN);
	if (_i == 2) { /* it looks again and again, and the run ends long after anything was stored */
		r.s.now += 1000000000000;
		STORY(&r.s, nvm_step, r.driver, .step = 15, .failure = -1);
	} else {
		STORY(&r.s, agent_end, r.driver, .ahead = 0);
	}
	story_ends(&r.s, _i == 0 || _i == 2 ? "NVME-LEFT-ON" : NULL,
		   _i == 2 ? "with 0 in SHN" : "is still enabled (CC 0x460001) with 1 I/O queues");
}
END_TEST

int main(void)
{
	Suite *s = suite_create("rules_nvme_more");
	TCase *t = tcase_create("rules");
	SRunner *sr;
	int failed;

	tcase_add_loop_test(t, a_read_brings_something_else, 0, 3);
	tcase_add_loop_test(t, bus_master_is_off, 0, 2);
	tcase_add_loop_test(t, too_many_outstanding, 0, 4);
	tcase_add_loop_test(t, completion_that_is_not_taken, 0, 2);
	tcase_add_loop_test(t, interrupt_that_did_not_come, 0, 3);
	tcase_add_test(t, nobody_keeps_it_alive);
	tcase_add_loop_test(t, loads_of_threads_that_have_not_polled, 0, 2);
	tcase_add_loop_test(t, doorbell_of_eight_bytes, 0, 4);
	tcase_add_loop_test(t, a_controller_that_stays_on, 0, 4);
	tcase_add_loop_test(t, more_queues_than_were_asked_for, 0, 3);
	suite_add_tcase(s, t);
	sr = srunner_create(s);
	srunner_run_all(sr, CK_NORMAL);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed != 0;
}
