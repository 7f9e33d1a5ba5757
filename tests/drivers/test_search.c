/*
 * Search and shrinking by themselves: runs are a function of the choices here, so that the right answer is known.
 */
#include <check.h>
#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "drivers/trial/search.h"
#include "tools/workloads/ibgda.h"

/* What "fails" in a test: set before the search starts, read by all its threads. */
static bool (*fails)(const struct bf_workload *w);
static enum bf_verdict verdict;
static atomic_uint runs_made;

static int run(const void *choice, struct bf_sink *sink, void *result, struct bf_error *err)
{
	const struct bf_workload *w = choice;
	struct bf_run_result *out = result;

	(void)sink;
	atomic_fetch_add(&runs_made, 1);
	*out = (struct bf_run_result){ .base.verdict = BF_VERDICT_GOOD };
	if (w->messages == 666)
		return bf_fail(err, -ENODEV, "seed %llu cannot start", (unsigned long long)w->seed);
	if (fails(w))
		out->base.verdict = verdict;
	return 0;
}

static int check(const void *choice, struct bf_error *err)
{
	const struct bf_workload *w = choice;

	return w->pes == 3 ? bf_fail(err, -EINVAL, "three PEs do not fit") : 0;
}

static uint32_t verdict_of(const void *result)
{
	return ((const struct bf_run_result *)result)->base.verdict;
}

#define PART(member, least)                                                                                            \
	{                                                                                                              \
		BF_MEMBER(struct bf_workload, member), least                                                           \
	}

static const struct bf_search_part parts[] = {
	PART(messages, 1), PART(blocks, 1), PART(warps, 1),    PART(pes, 2),
	PART(qps, 1),      PART(size, 1),   PART(counters, 1),
};

static const struct bf_search_family family = {
	.choice_bytes = sizeof(struct bf_workload),
	.result_bytes = sizeof(struct bf_run_result),
	.seed = PART(seed, 0),
	.ordering = PART(ordering, 0),
	.parts = parts,
	.nparts = BF_ARRAY_LEN(parts),
	.check = check,
	.run = run,
	.verdict = verdict_of,
};

static void progress(void *owner, uint64_t done, uint64_t total)
{
	(void)owner;
	ck_assert_uint_le(done, total);
}

static const struct bf_workload base = {
	.seed = 5, .messages = 100, .blocks = 3, .warps = 8, .pes = 6, .qps = 4, .size = 4096, .counters = 9
};

static struct bf_search search(uint32_t jobs)
{
	return (struct bf_search){
		.family = &family,
		.seeds = 40,
		.orders = { BF_ORDER_SC, BF_ORDER_GPU, BF_ORDER_ADVERSARIAL },
		.norders = 3,
		.jobs = jobs,
		.progress = progress,
	};
}

static bool never(const struct bf_workload *w)
{
	(void)w;
	return false;
}

/* Seeds 17 (adversarial only), 18 and 30. */
static bool some_seeds(const struct bf_workload *w)
{
	return (w->seed == 17 && w->ordering == BF_ORDER_ADVERSARIAL) || w->seed == 18 || w->seed == 30;
}

START_TEST(nothing_found_after_every_run)
{
	struct bf_search s = search(4);
	struct bf_workload found;
	struct bf_run_result r;
	struct bf_error err = { 0 };
	uint64_t runs = 0;

	fails = never;
	atomic_store(&runs_made, 0);
	ck_assert_int_eq(bf_search_run(&s, &base, &found, &r, &runs, &err), 0);
	ck_assert_uint_eq(runs, 120);
	ck_assert_uint_eq(atomic_load(&runs_made), 120);
}
END_TEST

START_TEST(first_failure_is_the_lowest_with_any_number_of_threads)
{
	fails = some_seeds;
	verdict = BF_VERDICT_DEADLOCK;
	for (uint32_t jobs = 1; jobs <= 16; jobs++) {
		struct bf_search s = search(jobs);
		struct bf_workload found;
		struct bf_run_result r;
		struct bf_error err = { 0 };
		uint64_t runs = 0;

		atomic_store(&runs_made, 0);
		ck_assert_int_eq(bf_search_run(&s, &base, &found, &r, &runs, &err), 1);
		if (jobs == 1) /* nothing runs behind the failure; other threads may have been ahead of it */
			ck_assert_uint_eq(atomic_load(&runs_made), (17 - 5) * 3 + 3);
		ck_assert_uint_eq(found.seed, 17);
		ck_assert_int_eq(found.ordering, BF_ORDER_ADVERSARIAL);
		ck_assert_int_eq(r.base.verdict, BF_VERDICT_DEADLOCK);
		ck_assert_uint_eq(runs, (17 - 5) * 3 + 3);
	}
}
END_TEST

START_TEST(only_the_wanted_failure_counts)
{
	struct bf_search s = search(2);
	struct bf_workload found;
	struct bf_run_result r;
	struct bf_error err = { 0 };
	uint64_t runs = 0;

	fails = some_seeds;
	verdict = BF_VERDICT_DEADLOCK;
	s.want = BF_VERDICT_WRONG_DATA;
	ck_assert_int_eq(bf_search_run(&s, &base, &found, &r, &runs, &err), 0);
	s.want = BF_VERDICT_DEADLOCK;
	ck_assert_int_eq(bf_search_run(&s, &base, &found, &r, &runs, &err), 1);
}
END_TEST

START_TEST(a_run_that_cannot_start_ends_the_search)
{
	struct bf_search s = search(3);
	struct bf_workload w = base, found;
	struct bf_run_result r;
	struct bf_error err = { 0 };
	uint64_t runs = 0;

	fails = never;
	w.messages = 666;
	ck_assert_int_eq(bf_search_run(&s, &w, &found, &r, &runs, &err), -ENODEV);
	ck_assert_str_eq(err.text, "seed 5 cannot start");
}
END_TEST

/* Needs at least 5 messages, 2 warps, 4 PEs (3 do not fit, 2 do not fail), and a seed that is a multiple of 8. */
static bool needs_much(const struct bf_workload *w)
{
	return w->messages >= 5 && w->warps >= 2 && w->pes >= 3 && w->seed % 8 == 0 && w->ordering >= BF_ORDER_GPU;
}

START_TEST(shrinks_every_dimension)
{
	struct bf_search s = search(2);
	struct bf_workload w = base;
	struct bf_run_result r = { .base.verdict = BF_VERDICT_WRONG_DATA };
	struct bf_error err = { 0 };
	uint64_t runs = 0;

	fails = needs_much;
	verdict = BF_VERDICT_WRONG_DATA;
	w.seed = 24;
	w.ordering = BF_ORDER_ADVERSARIAL;
	ck_assert_int_eq(bf_search_shrink(&s, 5, &w, &r, &runs, &err), 0);
	ck_assert(fails(&w));
	ck_assert_int_eq(w.ordering, BF_ORDER_GPU);
	ck_assert_uint_eq(w.messages, 6);
	ck_assert_uint_eq(w.blocks, 1);
	ck_assert_uint_eq(w.warps, 2);
	ck_assert_uint_eq(w.pes, 4);
	ck_assert_uint_eq(w.qps, 1);
	ck_assert_uint_eq(w.size, 1);
	ck_assert_uint_eq(w.counters, 1);
	ck_assert_uint_eq(w.seed, 8);
	ck_assert_int_eq(r.base.verdict, BF_VERDICT_WRONG_DATA);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("search");
	TCase *tc = tcase_create("search");
	SRunner *sr;
	int failed;

	tcase_add_test(tc, nothing_found_after_every_run);
	tcase_add_test(tc, first_failure_is_the_lowest_with_any_number_of_threads);
	tcase_add_test(tc, only_the_wanted_failure_counts);
	tcase_add_test(tc, a_run_that_cannot_start_ends_the_search);
	tcase_add_test(tc, shrinks_every_dimension);
	suite_add_tcase(s, tc);
	sr = srunner_create(s);
	srunner_run_all(sr, CK_NORMAL);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed != 0;
}
