/* Rules of NVMe and SDMA queues that no command of belfry can show, on records made by hand. */
#include "traces/records/nvme_driver.h"
#include "traces/records/sdma_driver.h"
#include "models/nvme/records.h"
#include "models/sdma/records.h"
#include "sim/bytes.h"
#include "sim/records_agent.h"
#include "sim/records_io.h"
#include "tests/traces/rules_story.h"

struct rig {
	struct story s;
	uint32_t driver, device;
};

static void begin(struct rig *r)
{
	story_begin(&r->s);
	r->driver = story_actor(&r->s, "agent", "pe0.cpu0");
	r->device = story_actor(&r->s, "queue", "ssd0.sq1");
}

static void fetch(struct rig *r, uint16_t slot, uint16_t cid, uint64_t data)
{
	uint8_t entry[64] = { 2 };

	bf_put_le16(entry + 2, cid);
	bf_put_le64(entry + 24, data);
	STORY_TAIL(&r->s, nvme_fetch, r->device, entry, 64, .sqid = 1, .slot = slot, .cid = cid, .opcode = 2);
}

START_TEST(entry_that_came_after_its_doorbell)
{
	struct rig r;

	begin(&r);
	fetch(&r, 3, 0, 0x1000);
	r.s.now += 2500;
	STORY(&r.s, nvm_build, r.driver, .q0 = 2, .q3 = 0x1000, .va = 0x10000 + 3 * 64, .qid = 1, .slot = 3,
	      .entries = 8);
	story_ends(&r.s, "NVME-ENTRY-EARLY",
		   "fetched slot 3 of SQ 1 2.501 ns before pe0.cpu0 had stored an entry there");
}
END_TEST

START_TEST(what_the_controller_complains_of)
{
	static const struct {
		uint32_t wrong;
		const char *id, *text;
	} cases[] = { { 1, "NVME-TAIL-OVERRUN", "tail 5 on SQ 1 runs over" },
		      { 2, "NVME-HEAD-PAST-TAIL", "head 5 on CQ 1 gives back" },
		      { 0, "NVME-WRITE-IGNORED", "wrote 0x5" },
		      { 9, "NVME-CID-IN-USE", "identifier 0x5 was used again" } };
	struct rig r;

	begin(&r);
	STORY(&r.s, nvme_driver_error, r.device, .value = 5, .qid = 1, .wrong = cases[_i].wrong);
	story_ends(&r.s, cases[_i].id, cases[_i].text);
}
END_TEST

START_TEST(giving_up)
{
	static const char *const ids[] = { "NVME-COMPLETION-UNSEEN", "NVME-NO-ANSWER", "NVME-DOORBELL-LOST",
					   "NVME-NOT-RUNG" };
	struct rig r;

	begin(&r);
	if (_i == 0)
		STORY(&r.s, nvme_completion, r.device, .sqid = 1, .cqid = 1, .cqslot = 0, .phase = 1);
	if (_i == 1)
		STORY(&r.s, nvme_doorbell, r.device, .qid = 1, .value = 2);
	STORY(&r.s, nvm_timeout, r.driver, .qid = 1, .sq_tail = _i == 3 ? 4 : 2, .sq_rung = 2, .inflight = 2,
	      .cq_phase = 1, .seen = 1u << 16);
	story_ends(&r.s, ids[_i], "1");
}
END_TEST

/* What a driver believes to have announced is one thing, its entries and the doorbells that it rang are another. */
START_TEST(giving_up_on_what_was_not_announced)
{
	static const struct {
		uint16_t built, fetched;
		const char *id, *text;
	} cases[] = { { 3, 2, "NVME-NOT-RUNG", "3 entries were built in SQ 1, of which it has fetched 2" },
		      { 4, 0, "NVME-TAIL-OVERRUN", "all 4 slots of SQ 1 hold entries that were never announced" },
		      { 2, 2, "NVME-COMPLETION-UNSEEN", "has posted nothing there yet" } };
	const uint16_t built = cases[_i].built, fetched = cases[_i].fetched;
	struct rig r;

	begin(&r);
	for (uint16_t i = 0; i < built; i++)
		STORY(&r.s, nvm_build, r.driver, .q0 = 2 | (uint64_t)i << 16, .q3 = 0x1000u * (i + 1u),
		      .va = 0x10000 + i * 64u, .qid = 1, .slot = i, .entries = 4);
	if (fetched) {
		STORY(&r.s, nvm_ring, r.driver, .qid = 1, .to = fetched, .mmio = 1, .entries = 4);
		STORY(&r.s, nvme_doorbell, r.device, .qid = 1, .value = fetched, .accepted = 1);
	}
	for (uint16_t i = 0; i < fetched; i++)
		fetch(&r, i, i, 0x1000u * (i + 1u));
	for (uint16_t i = 0; i < fetched; i++)
		STORY(&r.s, nvme_completion, r.device, .sqid = 1, .cqid = 1, .cqslot = i, .cid = i, .phase = 1);
	STORY(&r.s, nvm_timeout, r.driver, .qid = 1, .sq_tail = built % 4, .sq_rung = built % 4, .inflight = 1,
	      .cq_head = fetched, .cq_phase = 1);
	story_ends(&r.s, cases[_i].id, cases[_i].text);
}
END_TEST

START_TEST(buffer_of_two_commands)
{
	struct rig r;

	begin(&r);
	fetch(&r, 0, 10, 0x1000);
	if (_i == 1) /* done before: no harm in using it again */
		STORY(&r.s, nvme_completion, r.device, .sqid = 1, .cqid = 1, .cid = 10);
	fetch(&r, 1, 11, 0x1000);
	if (_i != 2)
		STORY(&r.s, nvm_mismatch, r.driver, .qid = 1, .wanted = 1, .found = 2);
	story_ends(&r.s,
		   _i == 1   ? "NVME-WRONG-DATA"
		   : _i == 0 ? "NVME-BUFFER-SHARED"
			     : "NVME-READ-OVERLAP",
		   _i == 0   ? "slots 0 and 1 of SQ 1 were in flight together"
		   : _i == 1 ? "no command wrote that block"
			     : "both deliver to 0x1000");
}
END_TEST

/* Queues of one PE have one memory, those of two have not. */
START_TEST(buffer_of_two_queues)
{
	const uint8_t entry[64] = { 2, [25] = 0x10 };
	struct rig r;

	begin(&r);
	fetch(&r, 0, 0, 0x1000);
	STORY_TAIL(&r.s, nvme_fetch, _i ? story_actor(&r.s, "queue", "ssd1.sq2") : r.device, entry, 64, .sqid = 2);
	STORY(&r.s, nvm_mismatch, r.driver, .qid = 1, .wanted = 1, .found = 2);
	story_ends(&r.s, _i ? "NVME-WRONG-DATA" : "NVME-BUFFER-SHARED",
		   _i ? "no command wrote that block" : "slot 0 of SQ 1 and slot 0 of SQ 2");
}
END_TEST

/* One lap later it is an old entry; before that it is the same one. */
START_TEST(completion_that_two_take)
{
	uint32_t other;
	struct rig r;

	begin(&r);
	other = story_actor(&r.s, "agent", "pe0.cpu1");
	STORY(&r.s, nvme_queue, r.device, .queue = 1, .qid = 1, .cqid = 1, .size = 2, .flags = 1);
	for (uint16_t i = 0; i < 2; i++) {
		STORY(&r.s, nvme_completion, r.device, .sqid = 1, .cqid = 1, .cqslot = i, .cid = i, .phase = 1);
		if (_i)
			STORY(&r.s, nvm_completion, r.driver, .qid = 1, .slot = i, .cid = i, .phase = 1);
	}
	if (!_i)
		STORY(&r.s, nvm_completion, r.driver, .qid = 1, .slot = 0, .cid = 0, .phase = 1);
	STORY(&r.s, nvm_completion, other, .qid = 1, .slot = 0, .cid = 0, .phase = 1);
	story_ends(&r.s, _i ? "NVME-PHASE-WRAP" : "NVME-TAKEN-TWICE",
		   _i ? "from the lap before"
		      : "pe0.cpu1 took the completion of command 0 in slot 0 of CQ 1, which pe0.cpu0");
}
END_TEST

/* A slot is free once its entry is fetched: which command an answer is for, the identifier tells. */
START_TEST(slot_that_is_used_again_before_the_answer)
{
	struct rig r;

	begin(&r);
	for (uint16_t cid = 10; cid < 14; cid++)
		fetch(&r, cid % 2, cid, 0x1000 * cid);
	for (uint16_t cid = 13; cid >= 10; cid--) {
		r.s.now += 1000000;
		STORY(&r.s, nvme_completion, r.device, .sqid = 1, .cqid = 1, .cqslot = 13 - cid, .sqslot = cid % 2,
		      .cid = cid, .phase = 1, .status = _i == 0 && cid == 10 ? 0x080 : 0);
	}
	STORY(&r.s, nvm_timeout, r.driver, .qid = 1, .sq_tail = 2, .sq_rung = 2, .inflight = 4, .cq_head = 4,
	      .cq_phase = 1);
	if (_i == 0)
		story_ends(&r.s, "NVME-LBA-RANGE", "asked for block 0");
	else
		story_ends(&r.s, "NVME-COMPLETION-UNSEEN", "completed all that it was told of");
}
END_TEST

static void store_word(struct rig *r, uint64_t va)
{
	static const uint8_t word[8];

	STORY_TAIL(&r->s, store, r->driver, word, 8, .va = va, .len = 8);
}

/* A list whose first word nobody stored; in the second story so long ago that nobody can know. */
START_TEST(list_that_begins_elsewhere)
{
	const uint64_t list = 0x40000;
	uint8_t entry[64] = { 2 };
	struct rig r;

	begin(&r);
	STORY(&r.s, nvme_doorbell, r.device, .qid = 1, .value = 1, .accepted = 1);
	if (_i)
		store_word(&r, list);
	for (uint64_t i = 0; _i && i < 1 << 16; i++)
		store_word(&r, 0x10000000 + i * 8);
	for (uint64_t i = 1; i < 8; i++)
		store_word(&r, list + i * 8);
	bf_put_le64(entry + 24, 0x1000);
	bf_put_le64(entry + 32, list);
	bf_put_le16(entry + 48, 31);
	STORY_TAIL(&r.s, nvme_fetch, r.device, entry, 64, .sqid = 1, .opcode = 2);
	story_ends(&r.s, _i ? NULL : "NVME-PRP-OFFSET", "the list begins 8 bytes into that page");
}
END_TEST

static uint32_t sdma_begin(struct rig *r)
{
	uint32_t queue;

	begin(r);
	queue = story_actor(&r->s, "queue", "sdma0.q0");
	STORY(&r->s, sdma_queue, queue, .ring = 0x100000, .bytes = 4096, .gen = 2);
	STORY(&r->s, sdma_reserve, r->driver, .from = 0, .to = 64, .queue = 0);
	return queue;
}

START_TEST(packet_that_stops_the_queue)
{
	struct rig r;
	uint32_t queue = sdma_begin(&r);

	STORY(&r.s, sdma_fault, queue, .index = 12, .dword = 2, .value = 0xabc, .reason = 3);
	story_ends(&r.s, "SDMA-PACKET", "submitted by pe0.cpu0: misaligned");
}
END_TEST

/* Bytes 0 to 63 are reserved and unpublished: whoever has the turn at 0 may be slow, at 60 there is nobody. */
START_TEST(turn_that_nobody_has)
{
	struct rig r;

	sdma_begin(&r);
	STORY(&r.s, sdma_reserve, r.driver, .from = 64, .to = 128, .queue = 0);
	STORY(&r.s, deadlock, r.driver, .va = 0x9000, .value = _i ? 60 : 0, .what = "earlier submissions of the queu");
	story_ends(&r.s, "SDMA-NOT-RUNG",
		   _i ? "the word at 0x9000 gives it to a submission at 60, and there is none" : "and nobody rang");
}
END_TEST

START_TEST(data_that_was_late)
{
	/* COPY_LINEAR of 64 bytes from 0x5000 to 0x6000. */
	const uint32_t packet[7] = { 1, 63, 0, 0x5000, 0, 0x6000, 0 };
	const uint8_t bytes[8] = { 1 };
	struct rig r;
	uint32_t queue = sdma_begin(&r), engine = story_actor(&r.s, "device", "sdma0.engine");

	STORY_TAIL(&r.s, store, r.driver, bytes, 8, .va = 0x5010, .seq = 1, .len = 8);
	STORY_TAIL(&r.s, sdma_packet, queue, packet, sizeof(packet), .index = 0, .dwords = 7, .op = 1, .bytes = 64);
	STORY(&r.s, sdma_piece, engine, .src = 0x5000, .dst = 0x6000, .len = 64, .rows = 1, .job = 1);
	STORY(&r.s, sdma_copied, queue, .index = 0, .bytes = 64, .rows = 1, .job = 1);
	if (_i == 0)
		r.s.now += 1000;
	STORY(&r.s, store_visible, r.driver, .va = 0x5010, .seq = 1, .len = 8);
	story_ends(&r.s, "SDMA-DATA-ORDER",
		   "at byte 0 of sdma0.q0 read 0x5010 before a store there by pe0.cpu0 was visible");
}
END_TEST

int main(void)
{
	Suite *s = suite_create("rules_nvme");
	TCase *t = tcase_create("rules");
	SRunner *sr;
	int failed;

	tcase_add_test(t, entry_that_came_after_its_doorbell);
	tcase_add_loop_test(t, what_the_controller_complains_of, 0, 4);
	tcase_add_loop_test(t, giving_up, 0, 4);
	tcase_add_loop_test(t, giving_up_on_what_was_not_announced, 0, 3);
	tcase_add_loop_test(t, buffer_of_two_commands, 0, 3);
	tcase_add_loop_test(t, buffer_of_two_queues, 0, 2);
	tcase_add_loop_test(t, completion_that_two_take, 0, 2);
	tcase_add_loop_test(t, slot_that_is_used_again_before_the_answer, 0, 2);
	tcase_add_loop_test(t, list_that_begins_elsewhere, 0, 2);
	tcase_add_test(t, packet_that_stops_the_queue);
	tcase_add_loop_test(t, turn_that_nobody_has, 0, 2);
	tcase_add_test(t, data_that_was_late);
	suite_add_tcase(s, t);
	sr = srunner_create(s);
	srunner_run_all(sr, CK_NORMAL);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed != 0;
}
