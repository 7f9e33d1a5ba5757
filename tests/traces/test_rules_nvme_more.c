/* NVMe rules about what no driver here does: PCI set-up, outstanding admin commands. On records made by hand. */
#include "drivers/nvme/records.h"
#include "models/nvme/records.h"
#include "sim/bytes.h"
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

static void admin_command(struct rig *r, uint8_t opcode, uint16_t slot, uint16_t status)
{
	uint8_t entry[64] = { opcode };

	bf_put_le16(entry + 2, slot);
	STORY_TAIL(&r->s, nvme_fetch, r->queue, entry, 64, .slot = slot, .cid = slot, .opcode = opcode);
	if (status != 0xffff)
		STORY(&r->s, nvme_completion, r->queue, .cid = slot, .cqslot = slot, .sqslot = slot, .status = status,
		      .opcode = opcode, .phase = 1);
}

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

int main(void)
{
	Suite *s = suite_create("rules_nvme_more");
	TCase *t = tcase_create("rules");
	SRunner *sr;
	int failed;

	tcase_add_loop_test(t, bus_master_is_off, 0, 2);
	tcase_add_loop_test(t, too_many_outstanding, 0, 4);
	tcase_add_loop_test(t, completion_that_is_not_taken, 0, 2);
	tcase_add_loop_test(t, interrupt_that_did_not_come, 0, 3);
	tcase_add_test(t, nobody_keeps_it_alive);
	suite_add_tcase(s, t);
	sr = srunner_create(s);
	srunner_run_all(sr, CK_NORMAL);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed != 0;
}
