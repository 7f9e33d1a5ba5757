/* The barrier workloads on the model: right under every ordering, found out when wrong, the same when run again. */
#include <check.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "drivers/backend/cluster.h"
#include "drivers/mbarrier/host.h"
#include "drivers/mbarrier/kernels.h"
#include "traces/rules/rules.h"

/* One run, from its job to what came out. */
struct run {
	struct bf_mbar_job job;
	uint32_t ranks, blocks;
	struct bf_cluster_result result;
	struct bf_mbar_verdict verdict;
	struct bf_mbar_note *notes;
	char cause[48]; /* id of the rule that names the root cause; "" when nothing is wrong */
	uint32_t problems;
};

static void take_cause(struct run *r, struct bf_rules *rules)
{
	const struct bf_found *root;

	bf_rules_finish(rules, true);
	root = bf_rules_root(rules);
	if (root)
		strcpy(r->cause, root->rule->id);
	r->problems = bf_rules_problems(rules);
	bf_rules_destroy(rules);
}

static void run_job(struct run *r, enum bf_ordering ordering, uint64_t seed)
{
	struct bf_cluster_opts opts = { .seed = seed, .ordering = ordering, .limit_ps = 3000 * BF_US };
	struct bf_error err = { 0 };
	struct bf_rules *rules;
	struct bf_cluster_world *w;
	struct bf_memory in, out, notes;
	struct bf_cluster_grid grid;
	size_t bytes;

	ck_assert_int_eq(bf_rules_create(NULL, &rules, NULL), 0);
	opts.record_mask = bf_rules_classes(rules);
	opts.sink = bf_rules_sink(rules);
	r->job.seed = (uint32_t)seed;
	bf_mbar_defaults(&r->job, &r->ranks, &r->blocks);
	ck_assert_msg(bf_mbar_check(&r->job, r->ranks, r->blocks, &err) == 0, "%s", err.text);
	ck_assert_msg(bf_cluster_open(&opts, &err, &w) == 0, "%s", err.text);
	bytes = bf_mbar_data_bytes(&r->job, r->blocks);
	ck_assert_int_eq(bf_cluster_alloc(w, bytes, "input", &in), 0);
	ck_assert_int_eq(bf_cluster_alloc(w, bytes, "output", &out), 0);
	bytes = (size_t)bf_mbar_notes(&r->job) * r->blocks * sizeof(*r->notes);
	ck_assert_int_eq(bf_cluster_alloc(w, bytes, "notes", &notes), 0);
	r->job.in = in.ptr;
	r->job.out = out.ptr;
	r->job.notes = notes.ptr;
	bf_mbar_fill(&r->job, r->blocks, in.ptr);
	grid = (struct bf_cluster_grid){ .clusters = r->blocks / r->ranks,
					 .ctas = r->ranks,
					 .warps = bf_mbar_warps(&r->job),
					 .shared_bytes = bf_mbar_shared_bytes(&r->job),
					 .kernel = bf_mbar_kernel(BF_PLATFORM_SIM),
					 .arg = &r->job };
	ck_assert_msg(bf_cluster_run(w, &grid, &r->result) == 0, "%s", err.text);
	if (r->result.end == BF_CLUSTER_DONE)
		bf_mbar_verify(&r->job, r->ranks, r->blocks, in.ptr, out.ptr, notes.ptr, &r->verdict);
	r->notes = malloc(bytes);
	ck_assert_ptr_nonnull(r->notes);
	memcpy(r->notes, notes.ptr, bytes);
	bf_cluster_close(w);
	take_cause(r, rules);
}

/* Jobs that cover each workload's forms; small. */
static const struct run shapes[] = {
	{ .job = { .work = BF_MBAR_PIPELINE, .iterations = 9 } },
	{ .job = { .work = BF_MBAR_PIPELINE, .iterations = 6, .stages = 2, .lane_waits = 1, .bytes = 2048 },
	  .blocks = 2 },
	{ .job = { .work = BF_MBAR_PIPELINE, .style = BF_MBAR_STYLE_GUIDE, .iterations = 5 } },
	{ .job = { .work = BF_MBAR_PIPELINE, .iterations = 2, .pace_ns = 9000 } }, /* waits that run into their limit */
	{ .job = { .work = BF_MBAR_RING, .iterations = 9, .bytes = 2048, .lag = 3 } },
	{ .job = { .work = BF_MBAR_RING,
		   .iterations = 5,
		   .bytes = 1024,
		   .stages = 1,
		   .producers = 1,
		   .consumers = 1 } },
	{ .job = { .work = BF_MBAR_PINGPONG, .iterations = 9 } },
	{ .job = { .work = BF_MBAR_PINGPONG, .iterations = 8, .stages = 3 } },
	{ .job = { .work = BF_MBAR_CLUSTER, .iterations = 6 } },
	{ .job = { .work = BF_MBAR_CLUSTER, .iterations = 5, .stages = 2, .consumers = 2 }, .ranks = 4 },
	{ .job = { .work = BF_MBAR_AMPERE, .iterations = 8 } },
	{ .job = { .work = BF_MBAR_AMPERE, .iterations = 8, .by_barrier = 1 } },
	{ .job = { .work = BF_MBAR_STRESS, .iterations = 3, .barriers = 20 } },
};
#define SHAPES ((int)(sizeof(shapes) / sizeof(shapes[0])))

START_TEST(runs_right_under_every_ordering)
{
	for (int ordering = BF_ORDER_SC; ordering <= BF_ORDER_ADVERSARIAL; ordering++)
		for (uint64_t seed = 1; seed <= (BELFRY_WIDE ? 2 : 1); seed++) {
			struct run r = shapes[_i];

			run_job(&r, (enum bf_ordering)ordering, seed);
			ck_assert_msg(r.result.end == BF_CLUSTER_DONE, "%s %s", r.cause, r.result.report);
			ck_assert_msg(r.verdict.wrong == 0, "%s", r.verdict.text);
			ck_assert_str_eq(r.cause, "");
			ck_assert_uint_eq(r.problems, 0);
			ck_assert_uint_gt(r.verdict.words, 0);
			free(r.notes);
		}
}
END_TEST

START_TEST(repeats_itself)
{
	struct run a = shapes[_i], b = shapes[_i], c = shapes[_i];
	struct bf_mbar_verdict v;

	run_job(&a, BF_ORDER_ADVERSARIAL, 7);
	run_job(&b, BF_ORDER_ADVERSARIAL, 7);
	run_job(&c, BF_ORDER_SC, 7);
	ck_assert_uint_eq(a.result.hash, b.result.hash);
	ck_assert_uint_eq(a.result.time_ps, b.result.time_ps);
	/* What is compared between a GPU and the model must not depend on the order of things. */
	ck_assert_msg(bf_mbar_compare(&a.job, a.blocks, a.notes, c.notes, &v) == 0, "%s", v.text);
	ck_assert_uint_gt(v.words, 0);
	a.notes[0].word ^= 1;
	ck_assert_uint_eq(bf_mbar_compare(&a.job, a.blocks, a.notes, c.notes, &v), 1);
	free(a.notes);
	free(b.notes);
	free(c.notes);
}
END_TEST

/* The rule that names a bug, and whether the run may come out right all the same. */
static const struct {
	uint64_t bug;
	const char *cause;
	bool lucky;
} causes[] = {
	{ BF_MBAR_BUG_FIRST_PHASE, "HOPPER-FIRST-PARITY", false },
	{ BF_MBAR_BUG_EMPTY_COUNT, "HOPPER-ARRIVE-COUNT", false },
	{ BF_MBAR_BUG_NO_INIT_SYNC, "HOPPER-INIT-SYNC", false },
	{ BF_MBAR_BUG_NO_PROXY_FENCE, "HOPPER-PROXY-FENCE", false },
	{ BF_MBAR_BUG_TWO_BEHIND, "HOPPER-PARITY", false },
	{ BF_MBAR_BUG_TX_OVER, "HOPPER-EXPECT-MORE", false },
	{ BF_MBAR_BUG_TX_UNDER, "HOPPER-EXPECT-LESS", false },
	{ BF_MBAR_BUG_EXPECT_ONLY, "HOPPER-EXPECT-ALONE", false },
	{ BF_MBAR_BUG_CLUSTER_COUNT, "HOPPER-ARRIVE-COUNT", false },
	{ BF_MBAR_BUG_NO_WARP_SYNC, "HOPPER-RELEASE-LANES", false },
	{ BF_MBAR_BUG_TRY_ONCE, "HOPPER-TRY-ONCE", false },
	{ BF_MBAR_BUG_INIT_TWICE, "HOPPER-INIT-TWICE", false },
	{ BF_MBAR_BUG_NO_INVAL, "HOPPER-LIVE-STORE", false },
	{ BF_MBAR_BUG_RELAXED_PEER, "HOPPER-RELEASE-SCOPE", false },
	{ BF_MBAR_BUG_EARLY_EXIT, "HOPPER-EXITED-BLOCK", false },
	{ BF_MBAR_BUG_LOCAL_ARRIVE, "HOPPER-LOCAL-ARRIVE", false },
	{ BF_MBAR_BUG_NO_ENTRY_SYNC, "HOPPER-ENTRY-SYNC", false },
	{ BF_MBAR_BUG_TRIPS, "HOPPER-TRIPS", false },
	{ BF_MBAR_BUG_EARLY_COMMIT, "HOPPER-EARLY-COMMIT", false },
	{ BF_MBAR_BUG_ASYNC_INC, "HOPPER-COUNTED-ARRIVE", false },
	{ BF_MBAR_BUG_GROUP_LESS, "HOPPER-ASYNC-GROUP", false },
	{ BF_MBAR_BUG_ORDER_PHASE, "HOPPER-PARITY", false },
	{ BF_MBAR_BUG_NO_EMPTY_WAIT, "HOPPER-PHASE-UNSEEN", false },
	{ BF_MBAR_BUG_MULTICAST_BYTES, "HOPPER-EXPECT-LESS", false },
	{ BF_MBAR_BUG_NO_INIT_FENCE, "HOPPER-INIT-FENCE", true },
	{ BF_MBAR_BUG_NO_INIT, "HOPPER-NOT-INITIALISED", false },
	{ BF_MBAR_BUG_NO_EXPECT, "HOPPER-EXPECT-MISSING", false },
	{ BF_MBAR_BUG_LATE_EXPECT, "HOPPER-EXPECT-LATE", false },
	{ BF_MBAR_BUG_TX_RANKS, "HOPPER-EXPECT-MORE", false },
	{ BF_MBAR_BUG_TX_RANGE, "HOPPER-TX-RANGE", false },
	{ BF_MBAR_BUG_COMPLETE_MORE, "HOPPER-COMPLETE-TX", false },
	{ BF_MBAR_BUG_SHORT_TILE, "HOPPER-SHORT-TILE", false },
	{ BF_MBAR_BUG_DOUBLE_WAIT, "HOPPER-DOUBLE-WAIT", false },
	{ BF_MBAR_BUG_WRONG_WAIT, "HOPPER-WRONG-WAIT", false },
	{ BF_MBAR_BUG_ELECTED_WAIT, "HOPPER-ELECTED", false },
	{ BF_MBAR_BUG_PEEK_WORD, "HOPPER-STALE-WORD", false },
	{ BF_MBAR_BUG_SKIP_ARRIVE, "HOPPER-SKIPPED-ARRIVAL", false },
	{ BF_MBAR_BUG_EXTRA_ARRIVE, "HOPPER-EXTRA-ARRIVAL", false },
	{ BF_MBAR_BUG_LANES_ARRIVE, "HOPPER-EXTRA-ARRIVAL", false },
	{ BF_MBAR_BUG_COUNT_ARRIVE, "HOPPER-OVER-ARRIVAL", false },
	{ BF_MBAR_BUG_EARLY_INVAL, "HOPPER-INVAL-EARLY", false },
	{ BF_MBAR_BUG_NO_STORE_WAIT, "HOPPER-STORE-WAIT", true },
	{ BF_MBAR_BUG_NO_COMMIT, "HOPPER-NO-COMMIT", true },
	{ BF_MBAR_BUG_ODD_SIZE, "HOPPER-BULK-SIZE", false },
	{ BF_MBAR_BUG_ODD_ADDRESS, "HOPPER-BULK-ALIGN", false },
	{ BF_MBAR_BUG_FAR_STAGE, "HOPPER-BULK-ADDRESS", false },
	{ BF_MBAR_BUG_STAGES_MEET, "HOPPER-COPY-OVERLAP", false },
	{ BF_MBAR_BUG_READ_AGAIN, "HOPPER-LOAD-FENCE", true },
	{ BF_MBAR_BUG_SPLIT_ARRIVE, "", true },
	{ BF_MBAR_BUG_SPIN, "", true },
};
#define CAUSES ((int)(sizeof(causes) / sizeof(causes[0])))

static uint32_t works_of(uint64_t bug)
{
	for (const struct bf_mbar_bug *b = bf_mbar_bugs; b->name; b++)
		if (b->bit == bug)
			return b->works;
	return 0;
}

/* Some seed shows it; that one names the cause, as does every one that fails. */
static void find_bug(uint64_t bug, uint32_t work, const char *cause, bool lucky)
{
	bool seen = false;

	for (uint64_t seed = 1; seed <= 12 && !seen; seed++) {
		struct run r = { .job = { .work = work, .bugs = bug } };

		if (bug == BF_MBAR_BUG_NO_STORE_WAIT) {
			r.job.bytes = 65536;
			r.job.stages = 2;
			r.job.consumers = 1;
		}
		run_job(&r, seed % 2 ? BF_ORDER_GPU : BF_ORDER_ADVERSARIAL, seed);
		free(r.notes);
		if (r.result.end == BF_CLUSTER_DONE && !r.verdict.wrong && !lucky)
			continue;
		ck_assert_msg(strcmp(r.cause, cause) == 0, "bug 0x%llx in workload %u: found \"%s\", not \"%s\"",
			      (unsigned long long)bug, work, r.cause, cause);
		if (r.result.end == BF_CLUSTER_HUNG)
			ck_assert_msg(strstr(r.result.report, "missing"), "%s", r.result.report);
		seen = true;
	}
	ck_assert_msg(seen, "bug 0x%llx in workload %u: no seed shows it", (unsigned long long)bug, work);
}

START_TEST(names_the_cause_of_each_bug)
{
	const uint32_t works = works_of(causes[_i].bug);

	ck_assert_uint_ne(works, 0);
	for (uint32_t work = 0; work < BF_MBAR_WORKS; work++)
		if (works >> work & 1)
			find_bug(causes[_i].bug, work, causes[_i].cause, causes[_i].lucky);
}
END_TEST

/*
 * A lane waits or loads for its warp while the others stand at a warp's or a block's barrier: whatever is wrong then,
 * they have neither ended early nor waited twice.
 */
START_TEST(lanes_that_wait_while_one_works)
{
	static const struct bf_mbar_job jobs[] = {
		{ .work = BF_MBAR_PIPELINE, .stages = 3, .consumers = 2, .iterations = 6, .lane_waits = 1 },
		{ .work = BF_MBAR_PIPELINE, .style = BF_MBAR_STYLE_GUIDE, .iterations = 4 },
		{ .work = BF_MBAR_RING, .stages = 2, .iterations = 6, .lane_waits = 1 },
	};
	const uint64_t bug = causes[_i].bug;

	for (size_t k = 0; k < sizeof(jobs) / sizeof(jobs[0]); k++) {
		struct run r = { .job = jobs[k] };

		if (!(works_of(bug) >> r.job.work & 1))
			continue;
		r.job.bugs = bug;
		bf_mbar_defaults(&r.job, &r.ranks, &r.blocks);
		if (bf_mbar_check(&r.job, r.ranks, r.blocks, NULL) != 0) /* some need stages that a style has not */
			continue;
		run_job(&r, BF_ORDER_GPU, 1);
		free(r.notes);
		ck_assert_msg(strcmp(r.cause, "HOPPER-TRIPS") != 0 || bug == BF_MBAR_BUG_TRIPS,
			      "bug 0x%llx, job %zu: trips", (unsigned long long)bug, k);
		ck_assert_msg(strcmp(r.cause, "HOPPER-DOUBLE-WAIT") != 0 || bug == BF_MBAR_BUG_DOUBLE_WAIT,
			      "bug 0x%llx, job %zu: double wait", (unsigned long long)bug, k);
	}
}
END_TEST

START_TEST(reports_who_should_have_come)
{
	struct run r = { .job = { .work = BF_MBAR_CLUSTER, .bugs = BF_MBAR_BUG_TRIPS } };

	run_job(&r, BF_ORDER_GPU, 1);
	ck_assert_int_eq(r.result.end, BF_CLUSTER_HUNG);
	ck_assert_ptr_nonnull(strstr(r.result.report, "empty[3] of block 0, phase 3 (parity 1): 8 of 8 arrivals"));
	ck_assert_ptr_nonnull(strstr(r.result.report, "consumers, warp 1 of block 1, has arrived 3 of 4 times"));
	ck_assert_ptr_nonnull(strstr(r.result.report, "waits: warp 0 (for the phase of parity 1"));
	free(r.notes);
}
END_TEST

START_TEST(every_bug_has_a_cause)
{
	for (const struct bf_mbar_bug *b = bf_mbar_bugs; b->name; b++) {
		bool known = false;

		for (int i = 0; i < CAUSES; i++)
			known |= causes[i].bug == b->bit;
		ck_assert_msg(known, "%s", b->name);
	}
}
END_TEST

START_TEST(refuses_jobs_that_do_not_fit)
{
	static const struct run bad[] = {
		{ .job = { .work = BF_MBAR_PIPELINE, .stages = 17 } },
		{ .job = { .work = BF_MBAR_PIPELINE, .stages = 16, .bytes = 16384 } },
		{ .job = { .work = BF_MBAR_PIPELINE, .bytes = 1000 } },
		{ .job = { .work = BF_MBAR_RING, .consumers = 31 } },
		{ .job = { .work = BF_MBAR_RING }, .ranks = 2 },
		{ .job = { .work = BF_MBAR_CLUSTER }, .ranks = 4, .blocks = 6 },
		{ .job = { .work = BF_MBAR_AMPERE, .stages = 1 } },
		{ .job = { .work = BF_MBAR_STRESS, .barriers = 200 } },
	};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct run r = bad[i];
		struct bf_error err = { 0 };

		bf_mbar_defaults(&r.job, &r.ranks, &r.blocks);
		ck_assert_msg(bf_mbar_check(&r.job, r.ranks, r.blocks, &err) == -EINVAL, "job %zu", i);
		ck_assert_str_ne(err.text, "");
	}
}
END_TEST

int main(void)
{
	Suite *s = suite_create("mbarrier");
	TCase *c = tcase_create("run");
	SRunner *r;
	int failed;

	tcase_set_timeout(c, 120);
	tcase_add_loop_test(c, runs_right_under_every_ordering, 0, SHAPES);
	tcase_add_loop_test(c, repeats_itself, 0, SHAPES);
	tcase_add_loop_test(c, names_the_cause_of_each_bug, 0, CAUSES);
	tcase_add_loop_test(c, lanes_that_wait_while_one_works, 0, CAUSES);
	tcase_add_test(c, reports_who_should_have_come);
	tcase_add_test(c, every_bug_has_a_cause);
	tcase_add_test(c, refuses_jobs_that_do_not_fit);
	suite_add_tcase(s, c);
	r = srunner_create(s);
	srunner_run_all(r, CK_ENV);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed != 0;
}
