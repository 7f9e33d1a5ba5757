/* Links and DMA ports: what arrives when and in which order, and that bytes are never wrong. */
#include <errno.h>
#include <pthread.h>

#include "sim/fault.h"
#include "sim/rng.h"
#include "tests/sim/pcie_rig.h"

START_TEST(a_read_takes_the_round_trip)
{
	struct noted n;
	uint8_t got[600];

	memset(ram->bytes, 0x5a, 1000);
	read_into(&n, IOVA, got, 64);
	ck_assert_int_eq(bf_sim_run(sim, BF_NEVER), BF_RUN_IDLE);
	ck_assert_int_eq(n.op.status, 0);
	ck_assert_mem_eq(got, ram->bytes, 64);
	/* request of one header, latency, memory, completion of header and 64 bytes, latency */
	ck_assert_uint_eq(n.done_ps, 20 + 100000 + 50000 + 84 + 100000);
	read_into(&n, IOVA, got, 600);
	bf_sim_run(sim, BF_NEVER);
	/* two requests, three completions */
	ck_assert_uint_eq(n.done_ps, 250104 + 40 + 100000 + 50000 + 600 + 60 + 100000);
	ck_assert_uint_eq(link_.up_bytes, 20 + 40);
	ck_assert_uint_eq(link_.down_bytes, 84 + 660);
}
END_TEST

START_TEST(bandwidth_is_rounded_up_for_each_transfer)
{
	struct bf_link_profile p = profile;
	uint8_t data[1000] = { 1 };
	uint64_t each;

	teardown();
	p.ps_per_kib = 16250;
	start(&p);
	ck_assert_int_eq(bf_ioas_map(&ioas, IOVA, ram, 0, RAM_PAGES * BF_PAGE, 3), 0);
	each = ((1000 + 4 * 20) * 16250 + 1023) / 1024;
	for (int i = 0; i < 50; i++)
		ck_assert_int_eq(bf_dma_write(&port, IOVA, data, 1000, 0), 0);
	bf_sim_run(sim, BF_NEVER);
	ck_assert_uint_eq(sim->now_ps, 50 * each + p.latency_ps);
}
END_TEST

START_TEST(a_write_lands_when_it_arrives)
{
	uint32_t one = 1;

	ck_assert_int_eq(bf_dma_write(&port, IOVA + 4, &one, 4, 0), 0);
	one = 2;
	ck_assert_int_eq(bf_sim_run(sim, 100023), BF_RUN_LIMIT);
	ck_assert_uint_eq(bf_get_le32(ram->bytes + 4), 0);
	ck_assert_int_eq(bf_sim_run(sim, 100024), BF_RUN_IDLE);
	ck_assert_uint_eq(bf_get_le32(ram->bytes + 4), 1);
}
END_TEST

/* Lent bytes are read when the write lands, among copied ones in their order. */
START_TEST(lent_bytes_are_read_when_they_land)
{
	uint8_t lent[300], copied[300], want[300];

	memset(lent, 1, sizeof(lent));
	memset(copied, 2, sizeof(copied));
	memset(want, 3, sizeof(want));
	for (uint32_t i = 0; i < 60; i++)
		ck_assert_int_eq(
		    bf_dma_write(&port, IOVA + i * 300, i % 3 ? copied : lent, 300, i % 3 ? 0 : BF_DMA_LENT), 0);
	memset(lent, 3, sizeof(lent));
	memset(copied, 4, sizeof(copied));
	ck_assert_int_eq(bf_sim_run(sim, BF_NEVER), BF_RUN_IDLE);
	memset(copied, 2, sizeof(copied));
	for (uint32_t i = 0; i < 60; i++)
		ck_assert(!memcmp(ram->bytes + i * 300, i % 3 ? copied : want, 300));
}
END_TEST

START_TEST(a_read_samples_at_the_memory)
{
	struct noted n;
	uint32_t got = 0;

	read_into(&n, IOVA, &got, 4);
	bf_sim_run(sim, 150019);
	bf_put_le32(ram->bytes, 7);
	bf_sim_run(sim, 150020);
	bf_put_le32(ram->bytes, 8);
	bf_sim_run(sim, BF_NEVER);
	ck_assert_uint_eq(got, 7);
}
END_TEST

START_TEST(a_read_does_not_pass_a_posted_write)
{
	struct bf_rng rng;
	uint64_t got[100];
	struct bf_link_profile p = profile;
	struct noted n[100];

	teardown();
	p.mem_ps = 0; /* so that nothing but the rule holds a read back */
	start(&p);
	ck_assert_int_eq(bf_ioas_map_region(&ioas, ram, 3), 0);
	bf_rng_init(&rng, 3, "test");
	for (uint64_t i = 0; i < 100; i++) {
		uint64_t value = i + 1;
		uint32_t flags = bf_rng_chance(&rng, 700000) ? BF_DMA_RELAXED : 0;

		ck_assert_int_eq(bf_dma_write(&port, ram->va + 8 * i, &value, 8, flags), 0);
		read_into(&n[i], ram->va + 8 * i, &got[i], 8);
	}
	bf_sim_run(sim, BF_NEVER);
	for (uint64_t i = 0; i < 100; i++) {
		ck_assert_uint_eq(got[i], i + 1);
		ck_assert_int_eq(n[i].op.status, 0);
		ck_assert(i == 0 || n[i].order == n[i - 1].order + 1);
	}
}
END_TEST

/* Watches, at each picosecond where something can land, which of the flags written in order are visible. */
static uint32_t count_inversions(uint32_t flags_of(uint32_t i), bool strict_only)
{
	uint32_t inversions = 0;
	bool seen[200] = { false };

	for (uint32_t i = 0; i < 200; i++) {
		uint8_t one = 1;

		ck_assert_int_eq(bf_dma_write(&port, IOVA + i, &one, 1, flags_of(i)), 0);
	}
	for (uint64_t t = 100000; t < 200000; t += 3) {
		bf_sim_run(sim, t);
		for (uint32_t i = 0; i < 200; i++) {
			if (!ram->bytes[i] || seen[i])
				continue;
			seen[i] = true;
			for (uint32_t k = 0; k < i; k++)
				inversions += !ram->bytes[k] && !(strict_only && flags_of(i));
		}
	}
	for (uint32_t i = 0; i < 200; i++)
		ck_assert(seen[i]);
	memset(ram->bytes, 0, 200);
	return inversions;
}

static uint32_t never_relaxed(uint32_t i)
{
	(void)i;
	return 0;
}

static uint32_t always_relaxed(uint32_t i)
{
	(void)i;
	return BF_DMA_RELAXED;
}

static uint32_t mostly_relaxed(uint32_t i)
{
	return i % 7 ? BF_DMA_RELAXED : 0;
}

START_TEST(strict_writes_land_in_order)
{
	ck_assert_uint_eq(count_inversions(never_relaxed, false), 0);
}
END_TEST

START_TEST(relaxed_writes_may_pass)
{
	ck_assert_uint_gt(count_inversions(always_relaxed, false), 0);
}
END_TEST

START_TEST(strict_writes_do_not_pass_relaxed_ones)
{
	ck_assert_uint_eq(count_inversions(mostly_relaxed, true), 0);
}
END_TEST

/* Scatters IOVA pages over the RAM so that operations cross discontinuous runs, then compares with plain memcpy. */
START_TEST(random_transfers_match_memcpy)
{
	struct bf_link_profile p = profile;
	static uint8_t model[RAM_PAGES * BF_PAGE], want[400][9000], got[400][9000], data[9000];
	static struct noted n[400];
	uint32_t reads = 0;
	struct bf_rng rng;

	teardown();
	p.mem_ps = 0; /* so that a later write cannot overtake a read on its way */
	start(&p);
	bf_rng_init(&rng, (uint64_t)_i, "pcie test");
	for (uint64_t i = 0; i < RAM_PAGES; i++)
		ck_assert_int_eq(bf_ioas_map(&ioas, IOVA + i * BF_PAGE, ram, (i ^ (i >> 2 & 3)) * BF_PAGE, BF_PAGE, 3),
				 0);
	memset(model, 0, sizeof(model));
	for (int step = 0; step < 2000 && reads < 400; step++) {
		uint32_t len = (uint32_t)bf_rng_below(&rng, bf_rng_chance(&rng, 500000) ? 100 : 9000);
		uint64_t at = bf_rng_below(&rng, RAM_PAGES * BF_PAGE - len);

		if (bf_rng_chance(&rng, 600000)) {
			for (uint32_t i = 0; i < len; i++)
				data[i] = (uint8_t)bf_rng_next(&rng);
			ck_assert_int_eq(bf_dma_write(&port, IOVA + at, data, len, 0), 0);
			memcpy(model + at, data, len);
		} else {
			memcpy(want[reads], model + at, len);
			read_into(&n[reads], IOVA + at, got[reads], len);
			reads++;
		}
		if (bf_rng_chance(&rng, 100000))
			bf_sim_run(sim, sim->now_ps + bf_rng_below(&rng, 500000));
	}
	bf_sim_run(sim, BF_NEVER);
	for (uint32_t i = 0; i < reads; i++) {
		ck_assert_uint_eq(n[i].runs, 1);
		ck_assert_int_eq(n[i].op.status, 0);
		ck_assert_mem_eq(got[i], want[i], n[i].op.len);
	}
	for (uint64_t at = 0; at < sizeof(model); at += BF_PAGE) {
		struct bf_region *region;
		void *host;

		ck_assert_int_eq(bf_ioas_translate(&ioas, IOVA + at, BF_PAGE, 1, 0, &host, &region), BF_PAGE);
		ck_assert_mem_eq(host, model + at, BF_PAGE);
	}
}
END_TEST

START_TEST(failed_translations)
{
	static uint8_t data[2 * BF_PAGE], zero[2 * BF_PAGE];
	struct noted n;

	memset(data, 0xee, sizeof(data));
	ck_assert_int_eq(bf_ioas_unmap(&ioas, IOVA + BF_PAGE, BF_PAGE), 0);
	ck_assert_int_eq(bf_dma_write(&port, IOVA + BF_PAGE, data, 4, 0), -EFAULT);
	ck_assert_int_eq(bf_dma_write(&port, IOVA + 100, data, BF_PAGE, 0), -EFAULT);
	ck_assert_uint_eq(ioas.last_fault.iova, IOVA + BF_PAGE);
	read_into(&n, IOVA + 100, data, BF_PAGE);
	bf_sim_run(sim, BF_NEVER);
	ck_assert_int_eq(n.op.status, -EFAULT);
	/* one header each way, for 4096 bytes of request: 8 headers up */
	ck_assert_uint_eq(n.done_ps, 160 + 100000 + 50000 + 20 + 100000);
	ck_assert_uint_eq(data[0], 0xee);
	ck_assert_mem_eq(ram->bytes, zero, 2 * BF_PAGE);
	ck_assert_uint_eq(ioas.faults, 3);
	ck_assert_uint_eq(ioas.last_fault.actor, port.actor);
}
END_TEST

START_TEST(an_unmap_overtakes_a_write)
{
	uint64_t value = 5;

	ck_assert_int_eq(bf_dma_write(&port, IOVA, &value, 8, 0), 0);
	ck_assert_int_eq(bf_dma_write(&port, IOVA + BF_PAGE, &value, 8, 0), 0);
	ck_assert_int_eq(bf_ioas_unmap(&ioas, IOVA, BF_PAGE), 0);
	ck_assert_int_eq(bf_ioas_unmap(&ioas, IOVA + BF_PAGE, BF_PAGE), 0);
	ck_assert_int_eq(bf_ioas_map(&ioas, IOVA + BF_PAGE, ram, 9 * BF_PAGE, BF_PAGE, 3), 0);
	bf_sim_run(sim, BF_NEVER);
	ck_assert_uint_eq(bf_get_le64(ram->bytes), 0);
	ck_assert_uint_eq(bf_get_le64(ram->bytes + BF_PAGE), 0);
	ck_assert_uint_eq(bf_get_le64(ram->bytes + 9 * BF_PAGE), 5);
	ck_assert_uint_eq(ioas.faults, 1);
}
END_TEST

static void add_three(struct bf_dma_op *op, void *bytes)
{
	ck_assert_uint_eq(op->len, 8);
	bf_put_le64(bytes, bf_get_le64(bytes) + 3);
}

START_TEST(atomics_act_at_the_memory)
{
	struct noted n[3] = { 0 };
	uint64_t old[3] = { 0 };

	bf_put_le64(ram->bytes + 8, 100);
	for (int i = 0; i < 3; i++) {
		n[i].op =
		    (struct bf_dma_op){ .iova = IOVA + 8, .len = 8, .dst = &old[i], .done = note, .modify = add_three };
		bf_dma_read(&port, &n[i].op);
	}
	bf_sim_run(sim, 150000);
	ck_assert_uint_eq(bf_get_le64(ram->bytes + 8), 100);
	bf_sim_run(sim, 150028);
	ck_assert_uint_eq(bf_get_le64(ram->bytes + 8), 103);
	bf_sim_run(sim, BF_NEVER);
	ck_assert_uint_eq(old[0], 100);
	ck_assert_uint_eq(old[2], 106);
	n[0].op.iova = IOVA + 12;
	bf_dma_read(&port, &n[0].op);
	bf_sim_run(sim, BF_NEVER);
	ck_assert_int_eq(n[0].op.status, -EFAULT);
	ck_assert_int_eq(bf_ioas_unmap(&ioas, IOVA, BF_PAGE), 0);
	ck_assert_int_eq(bf_ioas_map(&ioas, IOVA, ram, 0, BF_PAGE, BF_IOMMU_READ), 0);
	n[0].op.iova = IOVA + 8;
	bf_dma_read(&port, &n[0].op);
	bf_sim_run(sim, BF_NEVER);
	ck_assert_int_eq(n[0].op.status, -EFAULT);
	ck_assert_uint_eq(bf_get_le64(ram->bytes + 8), 109);
}
END_TEST

START_TEST(nothing_is_transferred_too)
{
	struct noted n;
	uint64_t value = 1;

	ck_assert_int_eq(bf_dma_write(&port, 0xdead0000, &value, 0, 0), 0);
	read_into(&n, 0xdead0000, NULL, 0);
	bf_sim_run(sim, BF_NEVER);
	ck_assert_int_eq(n.op.status, 0);
	ck_assert_uint_eq(n.done_ps, 40 + 100000 + 50000 + 20 + 100000);
	ck_assert_uint_eq(ioas.faults, 0);
}
END_TEST

/* Each read that returns starts two more until enough were made: rings grow while they are being worked on. */
static struct noted chain[3000];
static uint32_t chained;
static uint8_t chain_bytes[3000];

static void chain_on(struct bf_dma_op *op)
{
	note(op);
	for (int i = 0; i < 2 && chained < 3000; i++, chained++) {
		uint8_t value = (uint8_t)chained;

		ck_assert_int_eq(bf_dma_write(&port, IOVA + chained, &value, 1, 0), 0);
		read_into(&chain[chained], IOVA + chained, &chain_bytes[chained], 1);
		chain[chained].op.done = chain_on;
	}
}

START_TEST(callbacks_start_operations)
{
	chained = 1;
	noted_count = 0;
	read_into(&chain[0], IOVA, chain_bytes, 1);
	chain[0].op.done = chain_on;
	ck_assert_int_eq(bf_sim_run(sim, BF_NEVER), BF_RUN_IDLE);
	ck_assert_uint_eq(noted_count, 3000);
	for (uint32_t i = 1; i < 3000; i++) {
		ck_assert_uint_eq(chain[i].runs, 1);
		ck_assert_uint_eq(chain_bytes[i], (uint8_t)i);
	}
}
END_TEST

/* The same work, run in one go or in slices that force every step through the queue, is the same stream. */
static uint64_t hash_of_run(uint64_t slice)
{
	static uint8_t got[64][600];
	static struct noted n[64];
	struct bf_rng rng;
	uint64_t hash;

	start(&profile);
	ck_assert_int_eq(bf_ioas_map(&ioas, IOVA, ram, 0, RAM_PAGES * BF_PAGE, 3), 0);
	ck_assert_int_eq(bf_stream_open(&sim->rec, &sim->now_ps, BF_CLASS_ALL, NULL), 0);
	bf_rng_init(&rng, 5, "test");
	for (uint32_t i = 0; i < 64; i++) {
		uint64_t at = bf_rng_below(&rng, 3000);

		bf_dma_write(&port, IOVA + at, &at, 8, (uint32_t)bf_rng_below(&rng, 2));
		read_into(&n[i], IOVA + bf_rng_below(&rng, 3000), got[i], 1 + (uint32_t)bf_rng_below(&rng, 599));
	}
	while (bf_sim_run(sim, slice ? sim->now_ps + slice : BF_NEVER) == BF_RUN_LIMIT)
		;
	hash = bf_stream_hash(&sim->rec);
	ck_assert_uint_ge(sim->rec.count, 128);
	bf_stream_close(&sim->rec);
	teardown();
	return hash;
}

START_TEST(slicing_a_run_changes_nothing)
{
	uint64_t whole;

	teardown();
	whole = hash_of_run(0);

	ck_assert_uint_eq(hash_of_run(1), whole);
	ck_assert_uint_eq(hash_of_run(777), whole);
	start(&profile);
}
END_TEST

/* What a driver thread does in live mode: posts a doorbell record, polls a completion, then reads the payload. */
static void *poll_completion(void *arg)
{
	uint64_t *bad = arg;
	uint8_t *bytes = ram->bytes;

	for (uint64_t round = 1; round <= 200; round++) {
		__atomic_store_n((uint32_t *)(void *)(bytes + BF_PAGE), (uint32_t)round, __ATOMIC_RELEASE);
		while (__atomic_load_n((uint64_t *)(void *)(bytes + 56), __ATOMIC_ACQUIRE) != round)
			;
		for (uint32_t i = 0; i < 1000; i++)
			*bad += bytes[2 * BF_PAGE + i] != (uint8_t)round;
	}
	return NULL;
}

START_TEST(another_thread_may_post_and_poll)
{
	uint64_t bad = 0, cqe[8] = { 0 };
	uint32_t record = 0;
	uint8_t data[1000];
	struct noted n;
	pthread_t thread;

	ck_assert_int_eq(pthread_create(&thread, NULL, poll_completion, &bad), 0);
	for (uint64_t round = 1; round <= 200; round++) {
		while (record != round) {
			read_into(&n, IOVA + BF_PAGE, &record, 4);
			bf_sim_run(sim, BF_NEVER);
		}
		memset(data, (int)round, sizeof(data));
		cqe[7] = round;
		ck_assert_int_eq(bf_dma_write(&port, IOVA + 2 * BF_PAGE, data, sizeof(data), 0), 0);
		ck_assert_int_eq(bf_dma_write(&port, IOVA, cqe, sizeof(cqe), 0), 0);
		bf_sim_run(sim, BF_NEVER);
	}
	pthread_join(thread, NULL);
	ck_assert_uint_eq(bad, 0);
}
END_TEST

START_TEST(profiles_are_checked)
{
	struct bf_link_profile p = profile;
	struct bf_link l;

	p.max_payload = 0;
	ck_assert_int_eq(bf_link_init(&l, sim, "bad", &p), -EINVAL);
	ck_assert_int_eq(bf_link_init(&l, sim, "gen5", &bf_link_profile_gen5_x16), 0);
	bf_link_fini(&l);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("pcie");
	TCase *t = tcase_create("pcie");
	SRunner *runner = srunner_create(s);
	int failed;

	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_test(t, a_read_takes_the_round_trip);
	tcase_add_test(t, bandwidth_is_rounded_up_for_each_transfer);
	tcase_add_test(t, a_write_lands_when_it_arrives);
	tcase_add_test(t, lent_bytes_are_read_when_they_land);
	tcase_add_test(t, a_read_samples_at_the_memory);
	tcase_add_test(t, a_read_does_not_pass_a_posted_write);
	tcase_add_test(t, strict_writes_land_in_order);
	tcase_add_test(t, relaxed_writes_may_pass);
	tcase_add_test(t, strict_writes_do_not_pass_relaxed_ones);
	tcase_add_loop_test(t, random_transfers_match_memcpy, 0, 6);
	tcase_add_test(t, failed_translations);
	tcase_add_test(t, an_unmap_overtakes_a_write);
	tcase_add_test(t, atomics_act_at_the_memory);
	tcase_add_test(t, nothing_is_transferred_too);
	tcase_add_test(t, callbacks_start_operations);
	tcase_add_test(t, slicing_a_run_changes_nothing);
	tcase_add_test(t, another_thread_may_post_and_poll);
	tcase_add_test(t, profiles_are_checked);
	tcase_set_timeout(t, 60);
	suite_add_tcase(s, t);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed != 0;
}
