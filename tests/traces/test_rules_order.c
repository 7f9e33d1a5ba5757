/* Rules about order and counts of SDMA rings, locks of NVMe queues and Hopper's lanes, on records made by hand. */
#include "traces/records/cluster.h"
#include "traces/records/nvme_driver.h"
#include "traces/records/sdma_driver.h"
#include "models/hopper/records.h"
#include "models/nvme/records.h"
#include "models/sdma/records.h"
#include "sim/bytes.h"
#include "sim/records_agent.h"
#include "sim/records_io.h"
#include "tests/traces/rules_story.h"

#define RING 0x10000010000ull
#define BYTES 4096u

/* ---- SDMA ---- */

struct ring {
	struct story s;
	uint32_t a, b, queue, dma;
};

static void begin_by(struct ring *r, struct bf_sink *(*sink)(struct bf_rules *rules))
{
	const uint8_t nothing[64] = { 0 };

	story_begin_by(&r->s, sink);
	r->a = story_actor(&r->s, "agent", "pe0.cpu0");
	r->b = story_actor(&r->s, "agent", "pe0.cpu1");
	r->queue = story_actor(&r->s, "queue", "sdma0.q0");
	r->dma = story_actor(&r->s, "device", "sdma0");
	STORY(&r->s, sdma_queue, r->queue, .ring = RING, .bytes = BYTES, .gen = 2);
	/* The first read tells where the ring lies. */
	STORY(&r->s, sdma_fetch, r->queue, .index = 0, .address = RING, .len = 64, .ring = 1);
	STORY_TAIL(&r->s, dma_read, r->dma, nothing, 64, .iova = RING, .va = RING, .len = 64, .done_ps = r->s.now);
}

static void begin(struct ring *r)
{
	begin_by(r, bf_rules_sink);
}

static void reserve(struct ring *r, uint32_t who, uint64_t from, uint64_t to)
{
	STORY(&r->s, sdma_reserve, who, .from = from, .to = to, .queue = 0);
}

/* A packet is stored behind the end of the ring (0), where it belongs (1), or by somebody else, too (2). */
START_TEST(a_ring_lies_elsewhere)
{
	const uint8_t packet[4] = { 1 };
	struct ring r;

	begin(&r);
	reserve(&r, r.a, 0, 64);
	STORY_TAIL(&r.s, store, r.a, packet, 4, .va = _i ? RING : RING + 0x8000, .seq = ++r.s.seq, .len = 4);
	if (_i == 2)
		STORY_TAIL(&r.s, store, r.b, packet, 4, .va = RING + 0x8000, .seq = ++r.s.seq, .len = 4);
	STORY(&r.s, sdma_publish, r.a, .from = 0, .to = 64, .queue = 0);
	STORY(&r.s, sdma_doorbell, r.queue, .value = 64, .published = 64, .wptr = 64, .len = 8);
	story_ends(&r.s, _i ? NULL : "SDMA-RING-VIEW", "stored its packet from 0x10000018000 on");
}
END_TEST

START_TEST(ring_bytes_are_reserved_twice)
{
	struct ring r;

	begin(&r);
	reserve(&r, r.a, 0, 128);
	reserve(&r, r.b, _i ? 128 : 64, _i ? 256 : 192);
	STORY(&r.s, sdma_publish, r.a, .from = 0, .to = 128, .queue = 0);
	STORY(&r.s, sdma_publish, r.b, .from = 128, .to = _i ? 256 : 192, .queue = 0);
	STORY(&r.s, sdma_doorbell, r.queue, .value = 256, .published = 256, .wptr = 256, .len = 8);
	STORY(&r.s, sdma_doorbell, r.queue, .value = 256, .published = 256, .wptr = 256, .len = 8);
	story_ends(&r.s, _i ? NULL : "SDMA-RESERVED-TWICE", "pe0.cpu1 reserved bytes 64 to 192");
}
END_TEST

/* The doorbell sets out before a packet (0) or the write pointer (1) can be seen, or behind both (2). */
START_TEST(a_doorbell_overtakes_the_ring)
{
	const uint32_t packet = 0;
	uint64_t seqs[2];
	uint8_t index[8];
	struct ring r;

	begin(&r);
	reserve(&r, r.a, 64, 128);
	bf_put_le64(index, 128);
	seqs[0] = ++r.s.seq;
	STORY_TAIL(&r.s, store, r.a, &packet, 4, .va = RING + 64, .seq = seqs[0], .len = 4);
	if (_i)
		STORY(&r.s, store_visible, r.a, .va = RING + 64, .seq = seqs[0], .len = 4);
	seqs[1] = ++r.s.seq;
	STORY_TAIL(&r.s, store, r.a, index, 8, .va = RING + 0x10000, .seq = seqs[1], .len = 8);
	if (_i == 2)
		STORY(&r.s, store_visible, r.a, .va = RING + 0x10000, .seq = seqs[1], .len = 8);
	STORY_TAIL(&r.s, mmio_store, r.a, index, 8, .va = 0x10000000000ull, .seq = ++r.s.seq, .len = 8);
	if (!_i)
		STORY(&r.s, store_visible, r.a, .va = RING + 64, .seq = seqs[0], .len = 4);
	if (_i < 2)
		STORY(&r.s, store_visible, r.a, .va = RING + 0x10000, .seq = seqs[1], .len = 8);
	STORY(&r.s, sdma_publish, r.a, .from = 64, .to = 128, .queue = 0);
	STORY(&r.s, sdma_doorbell, r.queue, .value = 128, .published = 128, .wptr = 128, .len = 8);
	story_ends(&r.s, _i == 2 ? NULL : "SDMA-UNFENCED", _i ? "store of the write pointer" : "store of a packet");
}
END_TEST

static void fetch(struct ring *r, uint64_t from)
{
	const uint8_t nothing[64] = { 0 };

	STORY(&r->s, sdma_doorbell, r->queue, .value = from + 64, .published = from + 64, .wptr = from + 64, .len = 8);
	STORY(&r->s, sdma_fetch, r->queue, .index = from, .address = RING + from, .len = 64, .ring = 1);
	STORY_TAIL(&r->s, dma_read, r->dma, nothing, 64, .iova = RING + from, .va = RING + from, .len = 64,
		   .done_ps = r->s.now);
}

/*
 * A thread stores into what it has reserved before the engine reads it (0, 1), or after (2, 3); for rules beside others
 * and alone. Its earlier submission, and another thread's, are as they should be.
 */
START_TEST(a_thread_stores_into_its_own)
{
	const uint32_t packet = 0;
	struct ring r;

	begin_by(&r, _i % 2 ? bf_rules_only_sink : bf_rules_sink);
	for (uint64_t from = 64; from <= 192; from += 64) {
		const uint32_t who = from == 128 ? r.b : r.a;
		const bool late = from == 192 && _i >= 2;

		reserve(&r, who, from, from + 64);
		if (late)
			fetch(&r, from);
		STORY_TAIL(&r.s, store, who, &packet, 4, .va = RING + from, .seq = ++r.s.seq, .len = 4);
		STORY(&r.s, store_visible, who, .va = RING + from, .seq = r.s.seq, .len = 4);
		if (!late)
			fetch(&r, from);
		STORY(&r.s, sdma_publish, who, .from = from, .to = from + 64, .queue = 0);
	}
	story_ends(&r.s, _i < 2 ? NULL : "SDMA-DOORBELL-FIRST", "the engine fetched ring byte 192 of sdma0.q0");
}
END_TEST

/* All doorbells arrived, and the last one had the index of the one before (0); or one was lost (1). */
START_TEST(a_doorbell_has_an_older_index)
{
	struct ring r;

	begin(&r);
	for (uint64_t n = 0; n < 2; n++) {
		reserve(&r, r.a, n * 64, n * 64 + 64);
		STORY(&r.s, sdma_publish, r.a, .from = n * 64, .to = n * 64 + 64, .queue = 0);
		if (!n || !_i)
			STORY(&r.s, sdma_doorbell, r.queue, .value = 64, .published = 64, .wptr = n * 64 + 64,
			      .len = 8);
	}
	story_ends(&r.s, _i ? "SDMA-DOORBELL-LOST" : "SDMA-NOT-RUNG",
		   _i ? "the last one that reached the engine" : "it had an older index");
}
END_TEST

static void atomic_packet(struct ring *r, uint64_t index, uint64_t va, uint64_t add)
{
	uint32_t dw[8] = { 0x5e00000a, (uint32_t)va, (uint32_t)(va >> 32), (uint32_t)add, (uint32_t)(add >> 32) };

	STORY_TAIL(&r->s, sdma_packet, r->queue, dw, sizeof(dw), .index = index, .bytes = 32, .dwords = 8, .op = 10);
}

/* Who waits sees -1, or a value that is still above 0. */
START_TEST(a_signal_is_counted_past_zero)
{
	struct ring r;

	begin(&r);
	atomic_packet(&r, 0, RING + 0x20000, ~1ull);
	STORY(&r.s, deadlock, r.a, .va = RING + 0x20000, .value = _i ? 1 : ~0ull, .what = "a signal");
	story_ends(&r.s, _i ? NULL : "SDMA-SIGNAL-VALUE", "past 0, to -1");
}
END_TEST

/*
 * A thread waits for the read pointer forever, and the engine has taken all: nothing was reserved (0). It has more to
 * take (1), or another word is waited for (2).
 */
START_TEST(room_in_an_empty_sdma_ring)
{
	uint32_t queue, thread;
	struct story s;

	story_begin(&s);
	thread = story_actor(&s, "agent", "pe0.cpu0");
	queue = story_actor(&s, "queue", "sdma0.q0");
	STORY(&s, sdma_queue, queue, .ring = 0x100000, .bytes = 4096, .gen = 2, .rptr = 0x9000);
	if (_i == 1)
		STORY(&s, sdma_reserve, thread, .from = 0, .to = 64, .queue = 0);
	STORY(&s, deadlock, thread, .va = _i == 2 ? 0xa000 : 0x9000, .what = "room in the ring");
	story_ends(&s,
		   _i == 0   ? "SDMA-ROOM"
		   : _i == 1 ? "SDMA-NOT-RUNG"
			     : "SDMA-SIGNAL-NOBODY",
		   _i ? "" : "waits for the read pointer of sdma0.q0 at 0x9000");
}
END_TEST

/*
 * A byte is not what it should be, and a copy wrote it: behind an update that paused nothing (0), behind one that did
 * and one that ended it (1), without any (2).
 */
START_TEST(an_update_that_does_not_pause)
{
	/* COPY_LINEAR of 64 bytes from 0x5000 to 0x6000. */
	const uint32_t packet[7] = { 1, 63, 0, 0x5000, 0, 0x6000, 0 };
	uint32_t queue, engine, thread;
	struct story s;

	story_begin(&s);
	thread = story_actor(&s, "agent", "pe0.cpu0");
	queue = story_actor(&s, "queue", "sdma0.q0");
	engine = story_actor(&s, "device", "sdma0.engine");
	STORY(&s, sdma_queue, queue, .ring = 0x100000, .bytes = 4096, .gen = 2);
	if (_i == 1)
		STORY(&s, sdma_queue, queue, .ring = 0x100000, .bytes = 4096, .gen = 2, .event = 1);
	if (_i < 2)
		STORY(&s, sdma_queue, queue, .ring = 0x100000, .bytes = 4096, .gen = 2, .event = 2);
	STORY_TAIL(&s, sdma_packet, queue, packet, sizeof(packet), .index = 0, .dwords = 7, .op = 1, .bytes = 64);
	STORY(&s, sdma_piece, engine, .src = 0x5000, .dst = 0x6000, .len = 64, .rows = 1, .job = 1);
	STORY(&s, sdma_copied, queue, .index = 0, .job = 1);
	STORY(&s, sdma_mismatch, thread, .va = 0x6010, .wanted = 1, .found = 2);
	story_ends(&s, _i ? "SDMA-WRONG-BYTES" : "SDMA-NOT-PAUSED",
		   _i ? "was last written by COPY_LINEAR at byte 0" : "only an update without a ring pauses");
}
END_TEST

/* ---- NVMe ---- */

/* All that is left waits for a lock (0); one of them waits for something else, which may be why (1). */
START_TEST(a_lock_is_never_given_back)
{
	uint32_t a, b, queue;
	struct story s;

	story_begin(&s);
	a = story_actor(&s, "agent", "pe0.w0.l0");
	b = story_actor(&s, "agent", "pe0.w0.l1");
	queue = story_actor(&s, "queue", "ssd0.sq1");
	STORY(&s, nvme_doorbell, queue, .qid = 1, .value = 1, .accepted = 1);
	STORY(&s, deadlock, a, .va = RING, .value = 1, .what = "the submission queue's lock");
	STORY(&s, deadlock, b, .va = _i ? RING + 64 : RING, .value = 1, .what = { _i ? 'c' : 'l', 'o', 'c', 'k' });
	story_ends(&s, _i ? NULL : "NVME-LOCK-HELD", "2 threads wait for the lock");
}
END_TEST

static void nvme_entry(struct story *s, uint32_t driver, uint32_t slot)
{
	STORY(s, nvm_build, driver, .q0 = 2, .va = RING + 64 * slot, .qid = 1, .slot = slot, .entries = 8);
}

/* The controller is told of two entries, and one was stored; or both. */
START_TEST(an_empty_slot_is_announced)
{
	const uint8_t entry[64] = { 2 };
	uint32_t driver, queue;
	struct story s;

	story_begin(&s);
	driver = story_actor(&s, "agent", "pe0.w0.l0");
	queue = story_actor(&s, "queue", "ssd0.sq1");
	nvme_entry(&s, driver, 0);
	if (_i)
		nvme_entry(&s, driver, 1);
	for (uint32_t slot = 0; slot < 2; slot++) {
		STORY_TAIL(&s, nvme_fetch, queue, entry, 64, .sqid = 1, .slot = (uint16_t)slot, .cid = 0);
	}
	story_ends(&s, _i ? NULL : "NVME-ENTRY-EARLY", "slot 1 of SQ 1, which was announced");
}
END_TEST

/* ---- Hopper ---- */

START_TEST(a_hazard_has_its_rule)
{
	static const struct {
		uint32_t event;
		const char *id, *text;
	} cases[] = {
		{ 6, "HOPPER-ASYNC-GROUP", "warp 3 lane 4 copies to by cp.async" },
		{ 7, "HOPPER-RELEASE-LANES", "lane 4 has touched shared memory since it met the others" },
	};
	uint32_t lane;
	struct story s;

	story_begin(&s);
	lane = story_actor(&s, "agent", "b0.w1.l0");
	STORY(&s, hopper_cta, story_actor(&s, "device", "gpu0.sm0"), .cta = 0, .bytes = 4096);
	STORY(&s, hopper_hazard, lane, .address = 64, .warp = 1, .by = 3 * 32 + 4, .event = cases[_i].event);
	story_ends(&s, cases[_i].id, cases[_i].text);
}
END_TEST

/* An access behind the end of the own block's shared memory (0); into a block that is gone (1). */
START_TEST(shared_memory_ends)
{
	uint32_t lane, sm;
	struct story s;

	story_begin(&s);
	lane = story_actor(&s, "agent", "b0.w1.l0");
	sm = story_actor(&s, "device", "gpu0.sm0");
	STORY(&s, hopper_cta, sm, .cta = 0, .bytes = 4096);
	if (_i)
		STORY(&s, hopper_cta, sm, .cta = 0, .bytes = 4096, .event = 1);
	STORY(&s, hopper_hazard, lane, .address = 4096, .warp = 1, .event = 4);
	story_ends(&s, _i ? "HOPPER-EXITED-BLOCK" : "HOPPER-SHARED-END",
		   _i ? "" : "byte 0x1000 of the shared memory of block 0");
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("rules on order and counts");
	TCase *tc = tcase_create("rules");
	SRunner *runner;
	int failed;

	tcase_add_loop_test(tc, room_in_an_empty_sdma_ring, 0, 3);
	tcase_add_loop_test(tc, an_update_that_does_not_pause, 0, 3);
	tcase_add_loop_test(tc, a_ring_lies_elsewhere, 0, 3);
	tcase_add_loop_test(tc, ring_bytes_are_reserved_twice, 0, 2);
	tcase_add_loop_test(tc, a_doorbell_overtakes_the_ring, 0, 3);
	tcase_add_loop_test(tc, a_thread_stores_into_its_own, 0, 4);
	tcase_add_loop_test(tc, a_doorbell_has_an_older_index, 0, 2);
	tcase_add_loop_test(tc, a_signal_is_counted_past_zero, 0, 2);
	tcase_add_loop_test(tc, a_lock_is_never_given_back, 0, 2);
	tcase_add_loop_test(tc, an_empty_slot_is_announced, 0, 2);
	tcase_add_loop_test(tc, a_hazard_has_its_rule, 0, 2);
	tcase_add_loop_test(tc, shared_memory_ends, 0, 2);
	suite_add_tcase(suite, tc);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? 1 : 0;
}
