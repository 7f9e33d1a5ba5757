/* Rings, doorbells and read pointers of the SDMA engine. */
#include <check.h>
#include <errno.h>
#include <sys/mman.h>

#include "sim/fault.h"
#include "tests/models/sdma_rig.h"

#define WORD(region, at) bf_get_le32((region)->bytes + (at))

static void write_word(struct rig *r, uint64_t va, uint32_t data)
{
	RIG_PACKET(r, BF_SDMA_OP_WRITE, RIG_LO(va), RIG_HI(va), 0, data);
}

START_TEST(runs_what_the_doorbell_says)
{
	struct rig r;
	struct bf_sdma_queue_info info;

	rig_open(&r, &(struct rig_opts){ 0 });
	write_word(&r, r.host->va, 0x11);
	rig_bell(&r);
	write_word(&r, r.host->va + 4, 0x22); /* in the ring, not published */
	bf_sim_run(r.sim, RIG_LIMIT);
	info = rig_info(&r);
	ck_assert_uint_eq(WORD(r.host, 0), 0x11);
	ck_assert_uint_eq(WORD(r.host, 4), 0);
	ck_assert_uint_eq(info.doorbell, 20);
	ck_assert_uint_eq(info.fetched, 20);
	ck_assert_uint_eq(info.retired, 20);
	ck_assert_uint_eq(info.packets, 1);
	ck_assert_uint_eq(info.bytes, 4);
	ck_assert_uint_eq(*r.rptr, 20);
	ck_assert_ptr_null(info.waits);
	info = rig_go(&r);
	ck_assert_uint_eq(WORD(r.host, 4), 0x22);
	ck_assert_uint_eq(*r.rptr, 40);
	rig_close(&r);
}
END_TEST

/* The engine reads up to the doorbell only, whatever the write pointer in memory says (rocm-systems#11544). */
START_TEST(memory_wptr_publishes_nothing)
{
	struct rig r;

	rig_open(&r, &(struct rig_opts){ 0 });
	write_word(&r, r.host->va, 1);
	write_word(&r, r.host->va + 4, 2);
	*r.wptr = 40;
	rig_ring_value(&r, r.q, 20);
	bf_sim_run(r.sim, RIG_LIMIT);
	ck_assert_uint_eq(WORD(r.host, 0), 1);
	ck_assert_uint_eq(WORD(r.host, 4), 0);
	ck_assert_uint_eq(rig_info(&r).fetched, 20);
	rig_close(&r);
}
END_TEST

/* The doorbell came before the ring bytes: the engine takes what is there. */
START_TEST(early_doorbell_reads_stale_dwords)
{
	struct rig r;

	rig_open(&r, &(struct rig_opts){ 0 });
	rig_ring_value(&r, r.q, 20);
	bf_sim_run(r.sim, RIG_LIMIT);
	write_word(&r, r.host->va, 1);
	bf_sim_run(r.sim, 2 * RIG_LIMIT);
	ck_assert_uint_eq(WORD(r.host, 0), 0);
	ck_assert_uint_eq(rig_info(&r).packets, 5); /* five zero dwords are five NOPs */
	rig_close(&r);
}
END_TEST

/* More than three times around, in packets that do not divide the ring, both kinds of index. */
static void wrap(bool wrapped, uint32_t rounds)
{
	struct rig r;
	uint32_t i;

	rig_open(&r, &(struct rig_opts){ .wrapped = wrapped, .ring = 1024 });
	for (i = 0; i < rounds; i++) {
		write_word(&r, r.host->va, i);
		rig_fence(&r, r.host->va + 8, ~i);
		RIG_PACKET(&r, BF_SDMA_OP_NOP | 5u << 16, 0xdead, 0xdead, 0xdead, 0xdead, 0xdead);
		ck_assert_uint_eq(rig_go(&r).fault.reason, 0);
		ck_assert_uint_eq(WORD(r.host, 0), i);
		ck_assert_uint_eq(WORD(r.host, 8), ~i);
		ck_assert_uint_eq((uint32_t)*r.rptr, (uint32_t)(wrapped ? r.index & 1023 : r.index));
		ck_assert_uint_eq(rig_info(&r).retired, r.index);
	}
	ck_assert_uint_gt(r.index, 3 * 1024);
	rig_close(&r);
}

START_TEST(monotonic_indices_wrap_the_ring)
{
	wrap(false, 100);
}
END_TEST

START_TEST(short_indices_wrap_with_the_ring)
{
	wrap(true, 100);
}
END_TEST

/* Monotonic indices are 64 bits wide: past 4 GiB of commands they go on. */
START_TEST(indices_pass_four_gib)
{
	const uint32_t dwords = 0x3fff + 1; /* the longest NOP: 64 KiB */
	struct rig r;

	rig_open(&r, &(struct rig_opts){ .ring = 16u << 20 });
	for (uint32_t at = 0; at < r.ring_bytes; at += dwords * 4)
		bf_put_le32(r.ring + at, BF_SDMA_OP_NOP | (dwords - 1) << 16);
	while (r.index <= 1ull << 32) {
		r.index += r.ring_bytes;
		*r.wptr = r.index;
		rig_ring_value(&r, r.q, r.index);
		bf_sim_run(r.sim, BF_NEVER);
		ck_assert_uint_eq(*r.rptr, r.index);
	}
	ck_assert_uint_eq(rig_info(&r).packets, r.index / 65536);
	rig_close(&r);
}
END_TEST

/* A packet that ends with the ring's last dword is legal (KFDTest does it; ROCr and tinygrad pad instead). */
START_TEST(packet_may_end_with_the_ring)
{
	struct rig r;

	rig_open(&r, &(struct rig_opts){ .ring = 1024 });
	while (r.index < 1024 - 16)
		rig_put(&r, (const uint32_t[]){ 0 }, 1);
	rig_fence(&r, r.host->va, 77);
	ck_assert_uint_eq(r.index, 1024);
	ck_assert_uint_eq(rig_go(&r).fault.reason, 0);
	ck_assert_uint_eq(WORD(r.host, 0), 77);
	ck_assert_uint_eq(*r.rptr, 1024);
	rig_close(&r);
}
END_TEST

START_TEST(packet_must_not_cross_the_end)
{
	struct rig r;
	struct bf_sdma_queue_info info;
	const uint32_t fence[4] = { BF_SDMA_OP_FENCE, 0x1000, 0, 1 };

	rig_open(&r, &(struct rig_opts){ .ring = 1024 });
	while (r.index < 1024 - 8)
		rig_put(&r, (const uint32_t[]){ 0 }, 1);
	rig_go(&r);
	rig_put(&r, fence, 4);
	info = rig_go(&r);
	ck_assert_int_eq(info.fault.reason, BF_SDMA_STRADDLES);
	ck_assert_uint_eq(info.fault.index, 1024 - 8);
	ck_assert_uint_eq(info.fault.dword, 2); /* the first one behind the end */
	rig_close(&r);
}
END_TEST

START_TEST(truncated_packet_stops)
{
	struct rig r;
	struct bf_sdma_queue_info info;

	rig_open(&r, &(struct rig_opts){ 0 });
	RIG_PACKET(&r, BF_SDMA_OP_WRITE, RIG_LO(r.host->va), RIG_HI(r.host->va), 7, 1, 2, 3);
	info = rig_go(&r);
	ck_assert_int_eq(info.fault.reason, BF_SDMA_TRUNCATED);
	ck_assert_uint_eq(info.fault.dword, 7);
	ck_assert_uint_eq(WORD(r.host, 0), 0);
	/* A stopped queue stays so; destroying it resets it (KFDNegativeTest.BasicSDMAReset). */
	rig_put(&r, (const uint32_t[]){ 4, 5, 6, 7, 8 }, 5);
	ck_assert_int_eq(rig_go(&r).fault.reason, BF_SDMA_TRUNCATED);
	rig_close(&r);
}
END_TEST

static void bad_bell(bool wrapped, uint64_t first, uint64_t second)
{
	struct rig r;

	rig_open(&r, &(struct rig_opts){ .wrapped = wrapped, .ring = 1024 });
	rig_ring_value(&r, r.q, first);
	bf_sim_run(r.sim, RIG_LIMIT);
	ck_assert_int_eq(rig_info(&r).fault.reason, BF_SDMA_RUNS);
	rig_ring_value(&r, r.q, second);
	bf_sim_run(r.sim, 2 * RIG_LIMIT);
	ck_assert_int_eq(rig_info(&r).fault.reason, BF_SDMA_DOORBELL_BACK);
	ck_assert_uint_eq(rig_info(&r).fault.value, (uint32_t)second);
	rig_close(&r);
}

START_TEST(doorbell_must_not_go_back)
{
	bad_bell(false, 512, 256);
	bad_bell(false, 512, 512 + 1024 + 4);
	bad_bell(true, 512, 1024); /* an index outside of the ring */
}
END_TEST

START_TEST(whole_ring_at_once_is_taken)
{
	struct rig r;

	rig_open(&r, &(struct rig_opts){ .ring = 1024 });
	rig_ring_value(&r, r.q, 1024);
	bf_sim_run(r.sim, RIG_LIMIT);
	ck_assert_int_eq(rig_info(&r).fault.reason, BF_SDMA_RUNS);
	ck_assert_uint_eq(rig_info(&r).packets, 256);
	rig_close(&r);
}
END_TEST

/* Stores of the wrong width are no doorbells of such a queue. */
START_TEST(doorbell_width)
{
	struct rig r;
	uint64_t offset;
	struct bf_region *bells;
	uint8_t four[8] = { 16 };

	rig_open(&r, &(struct rig_opts){ 0 });
	bells = bf_sdma_doorbell(r.q, &offset);
	ck_assert_uint_eq(offset, 0);
	bf_mmio_post(bells, offset, four, 4);
	bf_mmio_post(bells, offset + 4, four, 8);
	bf_sim_run(r.sim, RIG_LIMIT);
	ck_assert_uint_eq(rig_info(&r).doorbell, 0);
	bf_mmio_post(bells, offset, four, 8);
	bf_sim_run(r.sim, 2 * RIG_LIMIT);
	ck_assert_uint_eq(rig_info(&r).doorbell, 16);
	rig_close(&r);
}
END_TEST

/* The read pointer lags behind, and is never ahead. */
START_TEST(read_pointer_lags)
{
	struct rig r;
	bool behind = false;

	rig_open(&r, &(struct rig_opts){ 0 });
	for (int i = 0; i < 100; i++)
		write_word(&r, r.host->va, 1);
	rig_bell(&r);
	while (bf_sim_next(r.sim) != BF_NEVER) {
		bf_sim_run(r.sim, bf_sim_next(r.sim));
		ck_assert_uint_le(*r.rptr, rig_info(&r).retired);
		behind |= *r.rptr < rig_info(&r).retired;
	}
	ck_assert(behind);
	ck_assert_uint_eq(*r.rptr, 2000);
	rig_close(&r);
}
END_TEST

START_TEST(pause_and_resume)
{
	struct rig r;

	rig_open(&r, &(struct rig_opts){ 0 });
	write_word(&r, r.host->va, 1);
	rig_go(&r);
	ck_assert_int_eq(bf_sdma_queue_update(r.q, 0, 0), 0);
	ck_assert(rig_info(&r).paused);
	write_word(&r, r.host->va, 2);
	rig_go(&r); /* a doorbell meanwhile */
	ck_assert_uint_eq(WORD(r.host, 0), 1);
	ck_assert_int_eq(bf_sdma_queue_update(r.q, r.control->va + 1, 4096), -EINVAL);
	ck_assert_int_eq(bf_sdma_queue_update(r.q, r.control->va, 4096), 0);
	bf_sim_run(r.sim, BF_NEVER);
	ck_assert_uint_eq(WORD(r.host, 0), 2);
	rig_close(&r);
}
END_TEST

/* Paused at any moment: what was fetched ahead is read again, nothing runs twice, nothing is lost. */
START_TEST(pause_in_the_middle)
{
	for (uint64_t at = 0; at < 40; at++) {
		struct rig r;

		rig_open(&r, &(struct rig_opts){ 0 });
		for (uint32_t i = 0; i < 60; i++) {
			RIG_PACKET(&r, BF_SDMA_OP_ATOMIC | (uint32_t)BF_SDMA_ATOMIC_ADD << 25, RIG_LO(r.host->va),
				   RIG_HI(r.host->va), 1, 0, 0, 0, 0);
			rig_copy(&r, r.vram->va, r.host->va, 64);
			if (r.index > 3000)
				break;
		}
		rig_bell(&r);
		bf_sim_run(r.sim, at * 1500 * BF_NS);
		bf_sdma_queue_update(r.q, 0, 0);
		bf_sim_run(r.sim, BF_NEVER);
		bf_sdma_queue_update(r.q, r.control->va, r.ring_bytes);
		bf_sim_run(r.sim, BF_NEVER);
		ck_assert_uint_eq(rig_info(&r).retired, r.index);
		ck_assert_uint_eq(WORD(r.host, 0), (r.index + 59) / 60);
		ck_assert_uint_eq(rig_info(&r).fault.reason, 0);
		rig_close(&r);
	}
}
END_TEST

START_TEST(refuses_what_cannot_be)
{
	struct rig r;
	struct bf_sdma_queue *q;
	struct bf_sdma_queue_opts good, bad;

	rig_open(&r, &(struct rig_opts){ .no_queue = true });
	good = rig_queue_opts(&r);
	bad = good;
	bad.ring += 128;
	ck_assert_int_eq(bf_sdma_queue_create(r.dev, &bad, &q), -EINVAL);
	ck_assert_ptr_nonnull(strstr(r.sim->error.text, "ring"));
	bad = good;
	bad.bytes = 3072;
	ck_assert_int_eq(bf_sdma_queue_create(r.dev, &bad, &q), -EINVAL);
	bad.bytes = 512;
	ck_assert_int_eq(bf_sdma_queue_create(r.dev, &bad, &q), -EINVAL);
	ck_assert_ptr_nonnull(strstr(r.sim->error.text, "bytes"));
	bad = good;
	bad.rptr = 0;
	ck_assert_int_eq(bf_sdma_queue_create(r.dev, &bad, &q), -EINVAL);
	ck_assert_ptr_nonnull(strstr(r.sim->error.text, "rptr"));
	bad = good;
	bad.wptr += 4;
	ck_assert_int_eq(bf_sdma_queue_create(r.dev, &bad, &q), -EINVAL);
	ck_assert_ptr_nonnull(strstr(r.sim->error.text, "wptr"));
	for (uint32_t i = 0; i < r.profile.queues; i++)
		ck_assert_int_eq(bf_sdma_queue_create(r.dev, &good, &q), 0);
	ck_assert_int_eq(bf_sdma_queue_create(r.dev, &good, &r.q), -ENOSPC);
	bf_sdma_queue_destroy(q);
	ck_assert_int_eq(bf_sdma_queue_create(r.dev, &good, &q), 0);
	rig_close(&r);
}
END_TEST

/* A queue that hangs at a poll does not hold up another one of its engine; a reset is its destruction. */
START_TEST(queues_do_not_block_each_other)
{
	struct rig r;
	struct bf_sdma_queue *stuck;
	struct bf_sdma_queue_opts o;
	uint8_t *ring;

	rig_open(&r, &(struct rig_opts){ .ring = 1024, .mem = 1u << 20 });
	o = rig_queue_opts(&r);
	ring = r.host->bytes + 65536;
	o.ring = bf_va(r.host, ring);
	o.rptr += 16;
	o.wptr = 0;
	ck_assert_int_eq(bf_sdma_queue_create(r.dev, &o, &stuck), 0);
	for (uint32_t i = 0; i < 6; i++)
		bf_put_le32(ring + 4 * i, (const uint32_t[]){ 0xB0000008, RIG_LO(r.host->va + 64), RIG_HI(r.host->va),
							      1, ~0u, 0x0FFF0004 }[i]);
	rig_ring_value(&r, stuck, 24);
	write_word(&r, r.host->va, 5);
	rig_bell(&r);
	bf_sim_run(r.sim, BF_MS);
	ck_assert_uint_eq(WORD(r.host, 0), 5);
	{
		struct bf_sdma_queue_info info;

		bf_sdma_queue_info(stuck, &info);
		ck_assert_str_eq(info.waits, "POLL_REGMEM");
		ck_assert_uint_eq(info.retired, 0);
	}
	bf_sdma_queue_destroy(stuck); /* its poll's read may be on its way */
	write_word(&r, r.host->va, 6);
	rig_go(&r);
	ck_assert_uint_eq(WORD(r.host, 0), 6);
	rig_close(&r);
}
END_TEST

/* KFDTest GPUDoorbellWrite: a queue's WRITE packets store another queue's write pointer and doorbell. */
START_TEST(engine_rings_a_doorbell)
{
	struct rig r;
	struct bf_sdma_queue *other;
	struct bf_sdma_queue_opts o;
	struct bf_region *bells;
	uint64_t offset;
	uint8_t *ring;

	rig_open(&r, &(struct rig_opts){ 0 });
	o = rig_queue_opts(&r);
	ring = r.host->bytes + 65536;
	o.ring = bf_va(r.host, ring);
	o.rptr += 16;
	o.wptr += 16;
	ck_assert_int_eq(bf_sdma_queue_create(r.dev, &o, &other), 0);
	bells = bf_sdma_doorbell(other, &offset);
	ck_assert_int_eq(bf_ioas_map_region(&r.ioas, bells, BF_IOMMU_WRITE), 0);
	for (uint32_t i = 0; i < 4; i++)
		bf_put_le32(ring + 4 * i,
			    (const uint32_t[]){ BF_SDMA_OP_FENCE, RIG_LO(r.host->va), RIG_HI(r.host->va), 0x77 }[i]);
	RIG_PACKET(&r, BF_SDMA_OP_WRITE, RIG_LO(o.wptr), RIG_HI(o.wptr), 1, 16, 0);
	RIG_PACKET(&r, BF_SDMA_OP_WRITE, RIG_LO(bells->va + offset), RIG_HI(bells->va + offset), 1, 16, 0);
	ck_assert_int_eq(rig_go(&r).fault.reason, BF_SDMA_RUNS);
	ck_assert_uint_eq(WORD(r.host, 0), 0x77);
	ck_assert_int_eq(bf_ioas_unmap(&r.ioas, bells->va, bells->size), 0);
	rig_close(&r);
}
END_TEST

START_TEST(fetch_faults_name_the_page)
{
	struct rig r;
	struct bf_sdma_queue_opts o;

	rig_open(&r, &(struct rig_opts){ .no_queue = true });
	o = rig_queue_opts(&r);
	o.ring = 0x7000000;
	ck_assert_int_eq(bf_sdma_queue_create(r.dev, &o, &r.q), 0);
	rig_ring_value(&r, r.q, 16);
	bf_sim_run(r.sim, RIG_LIMIT);
	ck_assert_int_eq(rig_info(&r).fault.reason, BF_SDMA_MEMORY);
	ck_assert_uint_eq(rig_info(&r).fault.address, 0x7000000);
	rig_close(&r);
}
END_TEST

START_TEST(lost_doorbell_waits_for_the_next)
{
	struct rig r;

	rig_open(&r, &(struct rig_opts){ .faults = "lost-doorbell" });
	write_word(&r, r.host->va, 1);
	rig_go(&r);
	ck_assert_uint_eq(WORD(r.host, 0), 0);
	write_word(&r, r.host->va + 4, 2);
	rig_go(&r);
	ck_assert_uint_eq(WORD(r.host, 0), 1);
	ck_assert_uint_eq(WORD(r.host, 4), 2);
	rig_close(&r);
}
END_TEST

START_TEST(stall_delays)
{
	struct rig r;
	uint64_t took[2];

	for (int i = 0; i < 2; i++) {
		rig_open(&r, &(struct rig_opts){ .faults = i ? "device-stall on=sdma0 delay=30us" : NULL });
		write_word(&r, r.host->va, 1);
		rig_bell(&r);
		while (!WORD(r.host, 0) && bf_sim_next(r.sim) != BF_NEVER)
			bf_sim_run(r.sim, bf_sim_next(r.sim));
		took[i] = r.sim->now_ps;
		ck_assert_uint_eq(WORD(r.host, 0), 1);
		rig_close(&r);
	}
	ck_assert_uint_ge(took[1], took[0] + 29 * BF_US);
}
END_TEST

START_TEST(dma_fault_stops_the_queue)
{
	struct rig r;

	rig_open(&r, &(struct rig_opts){ .faults = "dma-fault on=sdma0.dma skip=1" });
	write_word(&r, r.host->va, 1); /* the fetch passes, the write does not */
	ck_assert_int_eq(rig_go(&r).fault.reason, BF_SDMA_MEMORY);
	ck_assert_uint_eq(rig_info(&r).fault.dword, 1);
	ck_assert_uint_eq(WORD(r.host, 0), 0);
	rig_close(&r);
}
END_TEST

/* The live loop's view: the doorbell is a cell in memory. */
START_TEST(doorbells_are_polled_in_live_mode)
{
	struct rig r;
	uint64_t offset;
	struct bf_region *bells;

	for (int wrapped = 0; wrapped < 2; wrapped++) {
		rig_open(&r, &(struct rig_opts){ .wrapped = wrapped });
		bells = bf_sdma_doorbell(r.q, &offset);
		ck_assert(!mprotect(bells->bytes, bells->size, PROT_READ | PROT_WRITE));
		write_word(&r, r.host->va, 9);
		ck_assert_int_eq(bf_sdma_poll_doorbells(r.dev), 0);
		if (wrapped)
			bf_put_le32(bells->bytes + offset, (uint32_t)r.index);
		else
			bf_put_le64(bells->bytes + offset, r.index);
		ck_assert_int_ne(bf_sdma_poll_doorbells(r.dev), 0);
		ck_assert_int_eq(bf_sdma_poll_doorbells(r.dev), 0);
		bf_sim_run(r.sim, RIG_LIMIT);
		ck_assert_uint_eq(WORD(r.host, 0), 9);
		rig_close(&r);
	}
}
END_TEST

/* Same seed, same records; recorded or not, same time. */
static uint64_t hash_of(uint64_t seed, bool record, uint64_t *end)
{
	struct rig r;
	uint64_t hash;

	rig_open(&r, &(struct rig_opts){ .seed = seed });
	if (record)
		bf_stream_open(&r.sim->rec, &r.sim->now_ps, BF_CLASS_ALL, NULL);
	for (uint32_t i = 0; i < 20; i++) {
		rig_copy(&r, r.vram->va + i * 128, r.host->va, 100 + i);
		if (i % 5 == 4)
			rig_fence(&r, r.host->va, i);
	}
	rig_go(&r);
	*end = r.sim->events;
	hash = bf_stream_hash(&r.sim->rec);
	rig_close(&r);
	return hash;
}

START_TEST(deterministic)
{
	uint64_t events[4];
	const uint64_t a = hash_of(7, true, &events[0]), b = hash_of(7, true, &events[1]);

	ck_assert_uint_eq(a, b);
	ck_assert_uint_eq(events[0], events[1]);
	ck_assert_uint_ne(a, hash_of(8, true, &events[2]));
	hash_of(7, false, &events[3]);
	ck_assert_uint_eq(events[0], events[3]);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("sdma queue");
	TCase *t = tcase_create("all");
	SRunner *runner;
	int failed;

	tcase_set_timeout(t, 60);
	tcase_add_test(t, runs_what_the_doorbell_says);
	tcase_add_test(t, memory_wptr_publishes_nothing);
	tcase_add_test(t, early_doorbell_reads_stale_dwords);
	tcase_add_test(t, monotonic_indices_wrap_the_ring);
	tcase_add_test(t, short_indices_wrap_with_the_ring);
	tcase_add_test(t, indices_pass_four_gib);
	tcase_add_test(t, packet_may_end_with_the_ring);
	tcase_add_test(t, packet_must_not_cross_the_end);
	tcase_add_test(t, truncated_packet_stops);
	tcase_add_test(t, doorbell_must_not_go_back);
	tcase_add_test(t, whole_ring_at_once_is_taken);
	tcase_add_test(t, doorbell_width);
	tcase_add_test(t, read_pointer_lags);
	tcase_add_test(t, pause_and_resume);
	tcase_add_test(t, pause_in_the_middle);
	tcase_add_test(t, refuses_what_cannot_be);
	tcase_add_test(t, queues_do_not_block_each_other);
	tcase_add_test(t, engine_rings_a_doorbell);
	tcase_add_test(t, fetch_faults_name_the_page);
	tcase_add_test(t, lost_doorbell_waits_for_the_next);
	tcase_add_test(t, stall_delays);
	tcase_add_test(t, dma_fault_stops_the_queue);
	tcase_add_test(t, doorbells_are_polled_in_live_mode);
	tcase_add_test(t, deterministic);
	suite_add_tcase(s, t);
	runner = srunner_create(s);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? 1 : 0;
}
