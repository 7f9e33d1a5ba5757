/*
 * What the sync unit's model costs: barrier operations a second of host time, beside the pure functions on words that
 * are at its bottom (the limit: nothing can be faster that keeps the words right), measured in the same run. And what a
 * workload makes of it, with its warps, copies and waits: mbarrier-pipeline in C, in processor time.
 *
 * Each line: million operations a second of the model and of the limit, and the ratio. The best of several rounds
 * counts. One thread, records off.
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "drivers/backend/cluster.h"
#include "drivers/mbarrier/host.h"
#include "drivers/mbarrier/kernels.h"
#include "models/hopper/hopper.h"
#include "tests/bench/limit.h"

#define ROUNDS 5
#define OPS 2000000u
#define BARRIERS 32u
#define TILES 5000u

static double clock_s(clockid_t id)
{
	struct timespec t;

	clock_gettime(id, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static double now_s(void)
{
	return clock_s(CLOCK_MONOTONIC);
}

static void must(bool good, const char *what)
{
	if (!good) {
		fprintf(stderr, "bench_hopper: %s\n", what);
		exit(1);
	}
}

/* What is measured: lanes of an instruction, barriers in use, whether somebody waits for each result. */
struct load {
	const char *name;
	enum bf_sync_op op;
	uint32_t lanes, barriers;
	bool results;
};

/* A warp that issues its next instruction when it has the result of the one before. */
struct issuer {
	struct bf_sync_instr in; /* first */
	struct bf_hopper_cta *cta;
	const struct load *load;
	uint32_t left, turn;
};

static void issue(struct issuer *w)
{
	const uint32_t address = w->turn++ % w->load->barriers * 8;

	for (uint32_t lane = 0; lane < w->load->lanes; lane++)
		w->in.address[lane] = address;
	bf_hopper_issue(w->cta, &w->in);
}

static void issue_next(struct bf_sync_instr *in)
{
	struct issuer *w = BF_CONTAINER_OF(in, struct issuer, in);

	if (--w->left)
		issue(w);
}

static struct bf_sync_instr prepare(const struct load *l)
{
	struct bf_sync_instr in = { .op = (uint8_t)l->op,
				    .active = l->lanes == 32 ? UINT32_MAX : (1u << l->lanes) - 1 };

	for (uint32_t lane = 0; lane < 32; lane++)
		in.count[lane] = l->op == BF_SYNC_ARRIVE;
	return in;
}

static double run_model(const struct load *l)
{
	const struct bf_hopper_launch launch = { .shared_bytes = 65536, .warps = 32 };
	struct bf_hopper_cta *cta;
	struct bf_hopper *gpu;
	struct bf_sim *sim;
	struct issuer w[16] = { { .left = 0 } };
	double start;

	must(bf_sim_create(1, &sim) == 0 &&
		 bf_hopper_create(sim, &(struct bf_hopper_opts){ .name = "gpu0" }, &gpu) == 0 &&
		 bf_hopper_launch(gpu, &launch, &cta) == 0,
	     "cannot make a GPU");
	for (uint32_t b = 0; b < l->barriers; b++) {
		struct bf_sync_instr init = { .op = BF_SYNC_INIT, .active = 1, .address = { b * 8 }, .count = { 64 } };

		bf_hopper_issue(cta, &init);
	}
	start = now_s();
	if (l->results) {
		for (uint32_t i = 0; i < 16; i++) {
			w[i] = (struct issuer){ .in = prepare(l), .cta = cta, .load = l, .left = OPS / l->lanes / 16 };
			w[i].in.warp = (uint8_t)i;
			w[i].in.done = issue_next;
			w[i].turn = i * 2;
			issue(&w[i]);
		}
		bf_sim_run(sim, BF_NEVER);
	} else {
		w[0] = (struct issuer){ .in = prepare(l), .cta = cta, .load = l };
		for (uint32_t n = 0; n < OPS / l->lanes; n++)
			issue(&w[0]);
	}
	start = now_s() - start;
	must(!bf_hopper_fault(gpu), "the load faults");
	must(bf_sync_counts(bf_hopper_cta_unit(cta))->ops >= OPS / l->lanes / 16 * 16 * l->lanes,
	     "operations are lost");
	bf_hopper_destroy(gpu);
	bf_sim_destroy(sim);
	return start;
}

static double run_limit(const struct load *l)
{
	uint64_t word[BARRIERS];
	volatile uint64_t sink = 0;
	bool over = false;
	double start;

	for (uint32_t b = 0; b < BARRIERS; b++)
		bf_mbar_init(&word[b], 64);
	start = now_s();
	for (uint32_t n = 0; n < OPS; n++) {
		if (l->op == BF_SYNC_ARRIVE)
			bf_mbar_arrive(&word[n % l->barriers], 1, false, 0, NULL);
		else
			bf_mbar_test_parity(word[n % l->barriers], n, &over);
		sink = sink + over;
	}
	start = now_s() - start;
	for (uint32_t b = 0; b < BARRIERS; b++)
		sink = sink + word[b];
	return start;
}

/* Barrier operations a second of processor time, without set-up and check. */
static double run_pipeline(void)
{
	struct bf_mbar_job job = { .work = BF_MBAR_PIPELINE, .iterations = TILES };
	struct bf_cluster_opts opts = { .seed = 1, .ordering = BF_ORDER_SC, .limit_ps = BF_S };
	struct bf_cluster_grid grid = { .kernel = bf_mbar_kernel(BF_PLATFORM_SIM), .arg = &job };
	struct bf_cluster_world *world;
	struct bf_memory in, out, notes;
	struct bf_cluster_result r;
	struct bf_mbar_verdict v;
	struct bf_error err = { 0 };
	uint32_t ranks = 0, blocks = 0;
	uint64_t bytes;
	double start;

	bf_mbar_defaults(&job, &ranks, &blocks);
	bytes = bf_mbar_data_bytes(&job, blocks);
	must(bf_cluster_open(&opts, &err, &world) == 0 && bf_cluster_alloc(world, bytes, "input", &in) == 0 &&
		 bf_cluster_alloc(world, bytes, "output", &out) == 0 &&
		 bf_cluster_alloc(world, (uint64_t)bf_mbar_notes(&job) * blocks * sizeof(*job.notes), "notes",
				  &notes) == 0,
	     err.text);
	job.in = in.ptr;
	job.out = out.ptr;
	job.notes = notes.ptr;
	bf_mbar_fill(&job, blocks, in.ptr);
	grid.clusters = blocks / ranks;
	grid.ctas = ranks;
	grid.warps = bf_mbar_warps(&job);
	grid.shared_bytes = bf_mbar_shared_bytes(&job);
	start = clock_s(CLOCK_PROCESS_CPUTIME_ID);
	must(bf_cluster_run(world, &grid, &r) == 0, err.text);
	start = clock_s(CLOCK_PROCESS_CPUTIME_ID) - start;
	bf_mbar_verify(&job, ranks, blocks, in.ptr, out.ptr, notes.ptr, &v);
	must(r.end == BF_CLUSTER_DONE && !v.wrong, "the pipeline went wrong");
	bf_cluster_close(world);
	return (double)r.barrier_ops / start;
}

int main(void)
{
	static const struct load loads[] = {
		{ "arrive, one lane, no result used", BF_SYNC_ARRIVE, 1, 1, false },
		{ "arrive, one lane, 32 barriers, no result used", BF_SYNC_ARRIVE, 1, 32, false },
		{ "arrive, one lane, 16 warps wait for results", BF_SYNC_ARRIVE, 1, 32, true },
		{ "test_wait, one lane, 16 warps wait for results", BF_SYNC_TEST_PARITY, 1, 32, true },
		{ "arrive, 32 lanes on one barrier, 16 warps wait", BF_SYNC_ARRIVE, 32, 32, true },
	};

	double slowest = 1e12, pipeline = 0;
	bool met;

	for (size_t i = 0; i < BF_ARRAY_LEN(loads); i++) {
		double model = 1e9, limit = 1e9;

		for (uint32_t r = 0; r < ROUNDS; r++) {
			const double m = run_model(&loads[i]), p = run_limit(&loads[i]);

			model = m < model ? m : model;
			limit = p < limit ? p : limit;
		}
		printf("%-48s %7.1f M ops/s, words alone %7.1f M ops/s, ratio %.2f\n", loads[i].name, OPS / model / 1e6,
		       OPS / limit / 1e6, limit / model);
		slowest = OPS / model < slowest ? OPS / model : slowest;
	}
	for (uint32_t r = 0; r < ROUNDS; r++) {
		const double rate = run_pipeline();

		pipeline = rate > pipeline ? rate : pipeline;
	}
	met = bench_at_least("barrier operations, the slowest of these", slowest / 1e6, 20, "M/s");
	met &= bench_at_least("barrier operations of mbarrier-pipeline in C", pipeline / 1e6, 5, "M/s");
	return met ? 0 : 1;
}
