/*
 * The ring: producers that race for room, padding, both kinds of indices, refusals; and that each mistake that can be
 * switched on does harm under some seed, while the right code under the same seeds never does.
 */
#include <check.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "drivers/backend/sdma_world.h"
#include "drivers/sdma/copy.h"
#include "drivers/sdma/host.h"
#include "drivers/sdma/kernels.h"
#include "models/sdma/sdma.h"
#include "sim/rng.h"

#define PRODUCERS_MAX 8u
#define SUBMISSIONS_MAX 200u
#define SLOT 2048u /* bytes that one submission may write */
#define SEEDS 20

/* A run: `producers` threads share one ring; each submission copies along two slots and counts down a signal. */
struct race {
	const char *backend;
	enum bf_ordering ordering;
	uint64_t seed;
	uint64_t bugs;
	uint32_t producers, submissions;
	uint64_t ring_bytes;
	enum bf_sdma_gen gen;
	bool wrapped, exact_fit, wait_idle, fences, one_size, no_wait;
	uint16_t min_dwords;
	/* What comes of it. */
	struct bf_world_result result;
	struct bf_sdma_standing standing;
	uint64_t published;
	bool good;
};

struct field {
	struct bf_sdma_drv_submission sub[PRODUCERS_MAX][SUBMISSIONS_MAX];
	struct bf_sdma_drv_step steps[PRODUCERS_MAX][SUBMISSIONS_MAX * 3];
	uint32_t dw[PRODUCERS_MAX][SUBMISSIONS_MAX][64];
	struct bf_sdma_drv_thread threads[PRODUCERS_MAX];
	struct bf_sdma_drv_job job;
};

static uint64_t slot_at(const struct race *r, uint32_t p, uint32_t i, uint32_t which)
{
	return 4096 + ((uint64_t)(p * r->submissions + i) * 3 + which) * SLOT;
}

static uint64_t signal_at(const struct race *r, uint32_t p, uint32_t i)
{
	return 4096 + (uint64_t)r->producers * r->submissions * 3 * SLOT + (uint64_t)(p * r->submissions + i) * 64;
}

static uint64_t heap_bytes(const struct race *r)
{
	return signal_at(r, r->producers, 0);
}

static uint64_t *word(const struct bf_memory *heap, uint64_t at)
{
	return (uint64_t *)(void *)((uint8_t *)heap->ptr + at);
}

static void plan_one(const struct race *r, struct field *f, struct bf_sdma_drv_writer *w, const struct bf_memory *heap,
		     struct bf_rng *g, uint32_t p, uint32_t i)
{
	struct bf_sdma_drv_submission *sub = &f->sub[p][i];
	struct bf_sdma_drv_step *steps = &f->steps[p][i * 3];
	const uint32_t bytes = r->one_size ? 1024 : 8 * (1 + (uint32_t)bf_rng_below(g, SLOT / 8));
	const uint32_t words = r->one_size ? 2 : 2 * (1 + (uint32_t)bf_rng_below(g, 8));
	const uint64_t signal = signal_at(r, p, i), src = slot_at(r, p, i, 0), mid = slot_at(r, p, i, 1),
		       dst = slot_at(r, p, i, 2);
	uint32_t data[16];
	struct bf_sdma_drv_body b;

	for (uint32_t k = 0; k < bytes / 4; k++)
		bf_put_le32((uint8_t *)heap->ptr + src + k * 4, (uint32_t)bf_rng_next(g));
	for (uint32_t k = 0; k < words; k++)
		data[k] = bf_get_le32((uint8_t *)heap->ptr + src + k * 4 % bytes);
	bf_sdma_drv_body_begin(&b, &w->caps, r->bugs, f->dw[p][i], 64);
	bf_sdma_drv_copy(&b, heap->va + mid, heap->va + src, bytes);
	bf_sdma_drv_order(&b);
	bf_sdma_drv_copy(&b, heap->va + dst, heap->va + mid, bytes);
	if (!r->one_size && words * 4 <= bytes) {
		bf_sdma_drv_order(&b);
		bf_sdma_drv_add_write(&b, heap->va + dst, data, words);
	}
	ck_assert_uint_le(b.n, 64);
	bf_put_le64(word(heap, signal), 1);
	*sub = (struct bf_sdma_drv_submission){ .body = b.dw, .dwords = b.n, .plain = (uint8_t)(i & 1) };
	sub->done = (struct bf_sdma_drv_signal){ .va = heap->va + signal, .value = word(heap, signal) };
	steps[0] = (struct bf_sdma_drv_step){ .kind = BF_SDMA_DRV_STEP_SUBMIT, .writer = w, .submission = sub };
	/* Every fourth is awaited at once, so that data are looked at while others are on their way. */
	steps[1] = (struct bf_sdma_drv_step){ .kind = i % 4 ? BF_SDMA_DRV_STEP_DELAY : BF_SDMA_DRV_STEP_WAIT,
					      .at = word(heap, signal) };
	steps[2] =
	    (struct bf_sdma_drv_step){ .kind = i % 4 ? BF_SDMA_DRV_STEP_DELAY : BF_SDMA_DRV_STEP_CHECK,
				       .at = word(heap, dst + bytes - 8),
				       .value = i % 4 ? 0 : bf_get_le64((uint8_t *)heap->ptr + src + bytes - 8) };
	/* The last one waits for all before it, too: the ring keeps their order. */
	if (i + 1 == r->submissions)
		steps[1].kind = BF_SDMA_DRV_STEP_WAIT;
}

static bool data_right(const struct race *r, const struct field *f, const struct bf_memory *heap)
{
	for (uint32_t p = 0; p < r->producers; p++) {
		if (bf_get_le64(f->threads[p].status) != BF_SDMA_DRV_THREAD_DONE)
			return false;
		for (uint32_t i = 0; i < r->submissions; i++) {
			const uint8_t *base = heap->ptr;

			/* Nothing but the source's bytes may stand in either copy, and the signal went down once. */
			if (memcmp(base + slot_at(r, p, i, 0), base + slot_at(r, p, i, 1), SLOT) != 0 ||
			    memcmp(base + slot_at(r, p, i, 0), base + slot_at(r, p, i, 2), SLOT) != 0 ||
			    bf_get_le64(base + signal_at(r, p, i)) != 0)
				return false;
		}
	}
	return true;
}

static void run_race(struct race *r)
{
	const struct bf_backend *be = bf_backend_find(r->backend ? r->backend : "sim");
	struct field *f = calloc(1, sizeof(*f));
	struct bf_error err = { 0 };
	struct bf_sdma_drv_caps caps = *bf_sdma_drv_caps_of(r->gen);
	const struct bf_sdma_profile *const profiles[] = { &bf_sdma_v4, &bf_sdma_v5, &bf_sdma_v6, &bf_sdma_v7,
							   &bf_sdma_v7_1 };
	const struct bf_world_opts world = { .seed = r->seed,
					     .ordering = r->ordering,
					     .devices = BF_DEVICE_SDMA,
					     .device_opts[BF_DEVICE_AT_SDMA] = profiles[r->gen],
					     .npes = 1,
					     .limit_ps = (r->backend ? 20 : 1) * BF_S };
	struct bf_sdma_drv_host_opts host = { .caps = &caps,
					      .bugs = r->bugs,
					      .queues = 1,
					      .ring_bytes = r->ring_bytes,
					      .heap_bytes = heap_bytes(r),
					      .wrapped = r->wrapped,
					      .exact_fit = r->exact_fit,
					      .wait_idle = r->wait_idle };
	struct bf_sdma_drv_writer *w;
	struct bf_sdma_drv_host *h;
	struct bf_memory heap;
	struct bf_world *wd;
	struct bf_rng g;

	caps.atomics = !r->fences;
	caps.min_dwords = r->min_dwords;
	ck_assert_msg(!be->open(&world, &err, &wd), "%s", err.text);
	ck_assert_msg(!bf_sdma_drv_host_open(be, wd, 1, &host, &err, &h), "%s", err.text);
	heap = bf_sdma_drv_host_heap(h, 0);
	w = bf_sdma_drv_host_writer(h, 0, 0);
	bf_rng_init(&g, r->seed, "race");
	for (uint32_t p = 0; p < r->producers; p++) {
		for (uint32_t i = 0; i < r->submissions; i++)
			plan_one(r, f, w, &heap, &g, p, i);
		f->threads[p] = (struct bf_sdma_drv_thread){ f->steps[p], r->no_wait ? 1 : r->submissions * 3,
							     word(&heap, p * 64) };
	}
	f->job = (struct bf_sdma_drv_job){ f->threads, r->producers };
	ck_assert_int_eq(be->launch_cpu(wd, 0, r->producers, bf_sdma_drv_kernel(be->platform), &f->job), 0);
	ck_assert_msg(!be->run(wd, &r->result), "%s", err.text);
	ck_assert_int_eq(bf_sdma_world(be)->standing(wd, 0, w->id, &r->standing), 0);
	r->published = w->commit;
	r->good = r->result.end == BF_END_DONE && !r->standing.stopped[0] && data_right(r, f, &heap) &&
		  w->reserve == w->commit && r->standing.retired == w->commit;
	bf_sdma_drv_host_close(h);
	be->close(wd);
	free(f);
}

static struct race crowded(uint64_t bugs, uint64_t seed)
{
	return (struct race){ .ordering = BF_ORDER_ADVERSARIAL,
			      .seed = seed,
			      .bugs = bugs,
			      .producers = 4,
			      .submissions = 24,
			      .ring_bytes = 2048,
			      .gen = BF_SDMA_V4 };
}

#define GOOD(r)                                                                                                        \
	do {                                                                                                           \
		run_race(&(r));                                                                                        \
		ck_assert_msg((r).good, "seed %d: end %d, published %lu, retired %lu, %s\n%.800s", (int)(r).seed,      \
			      (int)(r).result.end, (unsigned long)(r).published, (unsigned long)(r).standing.retired,  \
			      (r).standing.stopped, (r).result.report);                                                \
	} while (0)

START_TEST(right_code_does_no_harm)
{
	for (uint32_t o = BF_ORDER_SC; o <= BF_ORDER_ADVERSARIAL; o++) {
		for (uint64_t seed = 1; seed <= 4; seed++) {
			struct race r = crowded(0, seed);

			r.ordering = (enum bf_ordering)o;
			GOOD(r);
			r.wrapped = true;
			GOOD(r);
			r.exact_fit = true;
			GOOD(r);
			r.wait_idle = true;
			GOOD(r);
		}
	}
}
END_TEST

START_TEST(every_generation)
{
	for (uint32_t gen = 0; gen < BF_SDMA_GENS; gen++) {
		struct race r = crowded(0, 5);

		r.gen = (enum bf_sdma_gen)gen;
		GOOD(r);
		r.fences = true;
		GOOD(r);
		r.min_dwords = 64;
		GOOD(r);
	}
}
END_TEST

START_TEST(least_size_is_filled_with_nops)
{
	struct race r = crowded(0, 1);

	r.producers = r.submissions = 1;
	r.one_size = true;
	r.min_dwords = 64;
	GOOD(r);
	ck_assert_uint_eq(r.published, 256);
}
END_TEST

/* A request of the ring's size or more can never be met; one dword less can. */
START_TEST(too_large_is_refused)
{
	struct race r = crowded(0, 1);

	r.producers = r.submissions = 1;
	r.ring_bytes = 1024;
	r.min_dwords = 256;
	run_race(&r);
	ck_assert(!r.good);
	ck_assert_int_eq(r.result.end, BF_END_DONE);
	ck_assert_uint_eq(r.published, 0);
	r.min_dwords = 255;
	GOOD(r);
	ck_assert_uint_eq(r.published, 1020);
}
END_TEST

START_TEST(real_threads)
{
	for (uint64_t seed = 1; seed <= 3; seed++) {
		struct race r = crowded(0, seed);

		r.backend = "live";
		r.producers = 3;
		GOOD(r);
		r.wrapped = true;
		GOOD(r);
	}
}
END_TEST

static struct race long_copies(uint64_t bugs, uint64_t seed)
{
	struct race r = crowded(bugs, seed);

	r.one_size = true;
	return r;
}

static struct race many_laps(uint64_t bugs, uint64_t seed)
{
	struct race r = crowded(bugs, seed);

	r.producers = 1;
	r.submissions = 100;
	r.ordering = BF_ORDER_SC;
	return r;
}

static const struct {
	uint64_t bit;
	struct race (*make)(uint64_t bugs, uint64_t seed);
} cases[] = {
	{ BF_SDMA_DRV_BUG_DOORBELL_FIRST, crowded },    { BF_SDMA_DRV_BUG_NO_FENCE, crowded },
	{ BF_SDMA_DRV_BUG_NO_FULL_CHECK, crowded },     { BF_SDMA_DRV_BUG_COMMIT_ORDER, crowded },
	{ BF_SDMA_DRV_BUG_STRADDLE, many_laps },        { BF_SDMA_DRV_BUG_NO_NOPS, many_laps },
	{ BF_SDMA_DRV_BUG_WRAP_INDEX, many_laps },      { BF_SDMA_DRV_BUG_COPY_COUNT, many_laps },
	{ BF_SDMA_DRV_BUG_NO_COPY_ORDER, long_copies }, { BF_SDMA_DRV_BUG_SIGNAL_FIRST, long_copies },
	{ BF_SDMA_DRV_BUG_SIGNAL_WRITE, long_copies },
};

START_TEST(each_does_harm)
{
	for (uint64_t seed = 1; seed <= SEEDS; seed++) {
		struct race r = cases[_i].make(cases[_i].bit, seed);

		run_race(&r);
		if (!r.good)
			return;
	}
	ck_abort_msg("0x%" PRIx64 " did no harm in %d seeds", cases[_i].bit, SEEDS);
}
END_TEST

START_TEST(their_twins_do_none)
{
	for (uint64_t seed = 1; seed <= SEEDS; seed += 5) {
		struct race a = crowded(0, seed), b = many_laps(0, seed), c = long_copies(0, seed);

		GOOD(a);
		GOOD(b);
		GOOD(c);
	}
}
END_TEST

/* A thread rings and ends at once, maybe before the loop's thread has begun: the run ends when the engine has done it.
 */
START_TEST(nobody_waits)
{
	for (uint64_t seed = 1; seed <= 20; seed++) {
		struct race r = crowded(0, seed);

		r.producers = r.submissions = 1;
		r.no_wait = true;
		GOOD(r);
		r.backend = "live";
		GOOD(r);
	}
}
END_TEST

START_TEST(every_bit_has_a_name)
{
	uint64_t all = 0;

	for (const struct bf_sdma_drv_bug *b = bf_sdma_drv_bugs; b->name; b++) {
		ck_assert_uint_eq(all & b->bit, 0);
		ck_assert_ptr_nonnull(b->summary);
		all |= b->bit;
	}
	ck_assert_uint_eq(all, BF_SDMA_DRV_BUG_SIGNAL_STEP * 2 - 1);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("sdma_ring");
	TCase *tc = tcase_create("sdma_ring");
	SRunner *sr;
	int failed;

	tcase_add_test(tc, right_code_does_no_harm);
	tcase_add_test(tc, every_generation);
	tcase_add_test(tc, least_size_is_filled_with_nops);
	tcase_add_test(tc, too_large_is_refused);
	tcase_add_test(tc, real_threads);
	tcase_add_test(tc, nobody_waits);
	tcase_add_loop_test(tc, each_does_harm, 0, BF_ARRAY_LEN(cases));
	tcase_add_test(tc, their_twins_do_none);
	tcase_add_test(tc, every_bit_has_a_name);
	tcase_set_timeout(tc, 120);
	suite_add_tcase(s, tc);
	sr = srunner_create(s);
	srunner_run_all(sr, CK_NORMAL);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed != 0;
}
