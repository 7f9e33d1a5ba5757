/* The barrier workloads on the model: right under every ordering, found out when wrong, the same when run again. */
#include <check.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "drivers/backend/cluster.h"
#include "drivers/mbarrier/host.h"
#include "drivers/mbarrier/kernels.h"

/* One run, from its job to what came out. */
struct run {
	struct bf_mbar_job job;
	uint32_t ranks, blocks;
	struct bf_cluster_result result;
	struct bf_mbar_verdict verdict;
	struct bf_mbar_note *notes;
};

static void run_job(struct run *r, enum bf_ordering ordering, uint64_t seed)
{
	const struct bf_cluster_opts opts = {
		.seed = seed, .ordering = ordering, .limit_ps = BF_S, .record_mask = BF_CLASS_QUEUE
	};
	struct bf_error err = { 0 };
	struct bf_cluster_world *w;
	struct bf_memory in, out, notes;
	struct bf_cluster_grid grid;
	size_t bytes;

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
		for (uint64_t seed = 1; seed <= 2; seed++) {
			struct run r = shapes[_i];

			run_job(&r, (enum bf_ordering)ordering, seed);
			ck_assert_msg(r.result.end == BF_CLUSTER_DONE, "%s %s", r.result.finding, r.result.report);
			ck_assert_msg(r.verdict.wrong == 0, "%s", r.verdict.text);
			ck_assert_str_eq(r.result.finding, "");
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

/* Words that the report of a bug must have, and how the run may end. */
static const struct {
	uint32_t bug, works;
	const char *cause;
} causes[] = {
	{ BF_MBAR_BUG_FIRST_PHASE, ~0u, "is waited for with parity 1 first" },
	{ BF_MBAR_BUG_EMPTY_COUNT, ~0u, "arrivals a phase, but its parties" },
	{ BF_MBAR_BUG_NO_INIT_SYNC, ~0u, "a block barrier belongs between init and use" },
	{ BF_MBAR_BUG_NO_PROXY_FENCE, ~0u, "fence.proxy.async" },
	{ BF_MBAR_BUG_TWO_BEHIND, ~0u, "parity" },
	{ BF_MBAR_BUG_TX_OVER, ~0u, "16 bytes that no copy brings" },
	{ BF_MBAR_BUG_TX_UNDER, ~0u, "16 bytes more" },
	{ BF_MBAR_BUG_EXPECT_ONLY, ~0u, "expect_tx without an arrival" },
	{ BF_MBAR_BUG_CLUSTER_COUNT, ~0u, "make 8: 2 blocks x 4 warps" },
	{ BF_MBAR_BUG_NO_WARP_SYNC, ~0u, "__syncwarp" },
	{ BF_MBAR_BUG_TRY_ONCE, ~0u, "belongs in a loop" },
	{ BF_MBAR_BUG_INIT_TWICE, ~0u, "and again by warp" },
	{ BF_MBAR_BUG_NO_INVAL, ~0u, "mbarrier.inval" },
	{ BF_MBAR_BUG_RELAXED_PEER, ~0u, ".release.cluster" },
	{ BF_MBAR_BUG_EARLY_EXIT, ~0u, "has exited" },
	{ BF_MBAR_BUG_LOCAL_ARRIVE, ~0u, "once more than its share" },
	{ BF_MBAR_BUG_NO_ENTRY_SYNC, ~0u, "before its init" },
	{ BF_MBAR_BUG_TRIPS, ~0u, "do not go round equally often" },
	{ BF_MBAR_BUG_EARLY_COMMIT, ~0u, "no group that was waited for" },
	{ BF_MBAR_BUG_ASYNC_INC, ~0u, ".noinc" },
	{ BF_MBAR_BUG_ORDER_PHASE, ~0u, "turn of group 1" },
	{ BF_MBAR_BUG_NO_EMPTY_WAIT, ~0u, "phase" },
	{ BF_MBAR_BUG_MULTICAST_BYTES, ~0u, "bytes more" },
};
#define CAUSES ((int)(sizeof(causes) / sizeof(causes[0])))

static uint32_t works_of(uint32_t bug)
{
	for (const struct bf_mbar_bug *b = bf_mbar_bugs; b->name; b++)
		if (b->bit == bug)
			return b->works;
	return 0;
}

/* Some seed shows it; that one names the cause. */
static void find_bug(uint32_t bug, uint32_t work, const char *cause)
{
	for (uint64_t seed = 1; seed <= 12; seed++) {
		struct run r = { .job = { .work = work, .bugs = bug } };

		run_job(&r, seed % 2 ? BF_ORDER_GPU : BF_ORDER_ADVERSARIAL, seed);
		free(r.notes);
		if (r.result.end == BF_CLUSTER_DONE && !r.verdict.wrong)
			continue;
		ck_assert_msg(r.result.end != BF_CLUSTER_LIMIT, "%s: not seen to hang", cause);
		ck_assert_msg(strstr(r.result.finding, cause), "bug 0x%x in workload %u: found \"%s\"", bug, work,
			      r.result.finding);
		if (r.result.end == BF_CLUSTER_HUNG)
			ck_assert_msg(strstr(r.result.report, "missing"), "%s", r.result.report);
		return;
	}
	ck_abort_msg("bug 0x%x in workload %u: no seed shows it", bug, work);
}

START_TEST(names_the_cause_of_each_bug)
{
	const uint32_t works = works_of(causes[_i].bug);

	ck_assert_uint_ne(works, 0);
	for (uint32_t work = 0; work < BF_MBAR_WORKS; work++)
		if (works >> work & 1 && causes[_i].works >> work & 1)
			find_bug(causes[_i].bug, work, causes[_i].cause);
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
