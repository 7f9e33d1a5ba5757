/*
 * One simulation on several cores: PEs whose warps put 64 bytes to the next PE, ordering sc, no records, no ICRC.
 *
 *	bench_cores [--pes N] [--messages N]
 *
 * Prints how much work lies in a window between two meetings of the threads, what a meeting costs, how much faster the
 * run is on 2, 4, ... threads, up to the processors of this machine, and what 2, 16 and 64 processors would give by
 *these figures: the time of one core, shared by events of the busiest thread, and a meeting a window, whose cost grows
 *with threads since each looks at every other. Wall clock, the best of several runs in turns: other load shows.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "drivers/backend/backend.h"
#include "drivers/bootstrap/bootstrap.h"
#include "drivers/ibgda/host.h"
#include "drivers/ibgda/kernels.h"
#include "drivers/ibgda/launch.h"
#include "models/mlx5/mlx5.h"
#include "sim/clock.h"
#include "tests/bench/limit.h"

#define WARPS 8u
#define WINDOW 64u
#define REPEATS 3
#define MEETINGS 20000u
#define THREADS_MAX 64u
#define TWICE_LIMIT 1.6

struct bench {
	struct bf_ibgda_shape shape;
	uint32_t pes;
	uint64_t wall_ns[THREADS_MAX];
	struct bf_world_result result; /* of the first thread: it has that of all */
	struct bf_error err;
};

static int launch(const struct bench *b, const struct bf_world_opts *wo, struct bf_world *w, struct bf_ibgda_host *h,
		  struct bf_ibgda_job *jobs)
{
	const struct bf_backend *be = bf_backend_find("sim");
	const struct bf_ibgda_grid grid = { b->shape.blocks, b->shape.warps, 0 };
	void **heaps = calloc(b->pes, sizeof(*heaps));
	int rc = heaps ? 0 : -1;

	for (uint32_t pe = 0; !rc && pe < b->pes; pe++) {
		if (bf_ranks_of(b->pes, wo->ranks->npes, pe) != wo->ranks->pe)
			continue;
		jobs[pe].state = bf_ibgda_host_state(h, pe);
		jobs[pe].shape = b->shape;
		heaps[pe] = bf_ibgda_host_heap(h, pe).ptr;
		rc = bf_ibgda_launch(be, w, h, pe, &grid, bf_ibgda_kernels(BF_PLATFORM_SIM)->run[BF_IBGDA_PUT],
				     &jobs[pe]);
	}
	if (!rc)
		bf_ibgda_prepare(BF_IBGDA_PUT, &b->shape, b->pes, heaps);
	free(heaps);
	return rc;
}

/* A thread's part of the PEs. */
static int run_part(struct bf_boot *boot, void *arg)
{
	struct bench *b = arg;
	const struct bf_backend *be = bf_backend_find("sim");
	struct bf_mlx5_profile profile = bf_mlx5_cx7;
	struct bf_error err = { 0 };
	const struct bf_world_opts wo = { .seed = 1,
					  .npes = b->pes,
					  .limit_ps = 100 * BF_S,
					  .device_opts[BF_DEVICE_AT_MLX5] = &profile,
					  .ranks = boot };
	struct bf_ibgda_host_opts ho = { .num_rc_per_pe = 1, .qp_depth = 1024, .batch = 32, .ranks = boot };
	struct bf_ibgda_job *jobs = calloc(b->pes, sizeof(*jobs));
	struct bf_ibgda_layout layout;
	struct bf_ibgda_host *h = NULL;
	struct bf_world_result result;
	struct bf_world *w = NULL;
	uint64_t began;
	int rc = jobs ? 0 : -1;

	profile.icrc = false;
	bf_ibgda_layout(&b->shape, b->pes, &layout);
	ho.heap_bytes = layout.end;
	if (!rc)
		rc = be->open(&wo, &err, &w);
	if (!rc)
		rc = bf_ibgda_host_open(be, w, b->pes, &ho, &err, &h);
	if (!rc)
		rc = launch(b, &wo, w, h, jobs);
	if (!rc)
		rc = boot->barrier(boot);
	began = bf_monotonic_ns();
	if (!rc)
		rc = be->run(w, &result);
	b->wall_ns[boot->pe] = bf_monotonic_ns() - began;
	if (!rc && result.end != BF_END_DONE)
		rc = -1;
	if (!rc && boot->pe == 0)
		b->result = result;
	if (rc)
		fprintf(stderr, "bench_cores: %s\n", err.text);
	if (h)
		bf_ibgda_host_close(h);
	if (w)
		be->close(w);
	free(jobs);
	return rc;
}

/* Seconds of the slowest thread. */
static double run_on(struct bench *b, uint32_t threads)
{
	uint64_t most = 0;

	if (bf_boot_threads_run(threads, run_part, b, &b->err)) {
		fprintf(stderr, "bench_cores: %s\n", b->err.text);
		exit(2);
	}
	for (uint32_t i = 0; i < threads; i++)
		most = b->wall_ns[i] > most ? b->wall_ns[i] : most;
	return 1e-9 * (double)most;
}

/* Threads that have nothing to do but to meet. */
static int meet(struct bf_boot *boot, void *arg)
{
	const char word[64] = { 0 };
	struct bf_boot_part out[THREADS_MAX];
	struct bf_boot_buf in[THREADS_MAX] = { 0 };
	uint64_t *ns = arg, began;
	int rc;

	for (uint32_t i = 0; i < boot->npes; i++)
		out[i] = (struct bf_boot_part){ word, sizeof(word) };
	rc = boot->barrier(boot);
	began = bf_monotonic_ns();
	for (uint32_t i = 0; !rc && i < MEETINGS; i++)
		rc = bf_boot_exchange(boot, out, in);
	if (boot->pe == 0)
		*ns = bf_monotonic_ns() - began;
	for (uint32_t i = 0; i < boot->npes; i++)
		free(in[i].data);
	return rc;
}

static double meeting_s(uint32_t threads)
{
	struct bf_error err;
	uint64_t ns, best = UINT64_MAX;

	for (int i = 0; i < REPEATS; i++) {
		if (bf_boot_threads_run(threads, meet, &ns, &err))
			exit(2);
		best = ns < best ? ns : best;
	}
	return 1e-9 * (double)best / MEETINGS;
}

static uint32_t option(int argc, char **argv, const char *name, uint32_t otherwise)
{
	for (int i = 1; i + 1 < argc; i++)
		if (!strcmp(argv[i], name))
			return (uint32_t)strtoul(argv[i + 1], NULL, 10);
	return otherwise;
}

/* By the figures of two threads. */
static void predict(const struct bench *b, double one_s, double meet_s)
{
	static const uint32_t cores[] = { 2, 16, 64 };
	const double window_s = one_s / (double)b->result.windows;

	for (size_t i = 0; i < sizeof(cores) / sizeof(cores[0]); i++) {
		const uint32_t n = cores[i] < b->pes ? cores[i] : b->pes;
		/* PEs are all alike, so the busiest thread has the most PEs. */
		const double share = (double)((b->pes + n - 1) / n) / b->pes, met_s = meet_s * n / 2;

		printf("%2u cores would give %5.1f: %.2f us of work and %.2f us of meeting a window\n", cores[i],
		       window_s / (window_s * share + met_s), 1e6 * window_s * share, 1e6 * met_s);
	}
}

int main(int argc, char **argv)
{
	struct bench b = { .pes = option(argc, argv, "--pes", 8), .shape = bf_ibgda_shape_default };
	const long processors = sysconf(_SC_NPROCESSORS_ONLN);
	double best[THREADS_MAX + 1] = { 0 }, meet_s;
	bool good = true;

	b.shape.warps = WARPS;
	b.shape.messages = option(argc, argv, "--messages", 100000 / b.pes);
	b.shape.window = WINDOW;
	b.shape.blocks = 1;
	b.shape.bytes = 64;
	if (b.pes < 2 || bf_ibgda_shape_check(&b.shape, BF_IBGDA_PUT, b.pes, BF_IBGDA_NVSHMEM, 1, 1024, &b.err)) {
		fprintf(stderr, "bench_cores: %s\n", b.pes < 2 ? "--pes: at least 2" : b.err.text);
		return 2;
	}
	for (int i = 0; i < REPEATS; i++)
		for (uint32_t n = 1; n <= THREADS_MAX && n <= b.pes && n <= processors; n *= 2) {
			const double s = run_on(&b, n);

			best[n] = best[n] > 0 && best[n] < s ? best[n] : s;
		}
	meet_s = meeting_s(2);
	printf("%u PEs of %u warps: %" PRIu64 " windows of %" PRIu64 " events, %.2f us of one core's; a meeting of two "
	       "threads %.2f us\n",
	       b.pes, WARPS, b.result.windows, b.result.events / b.result.windows,
	       1e6 * best[1] / (double)b.result.windows, 1e6 * meet_s);
	for (uint32_t n = 2; n <= THREADS_MAX && best[n] > 0; n *= 2)
		printf("%2u threads: %.3f s, %.2f times as fast as one\n", n, best[n], best[1] / best[n]);
	predict(&b, best[1], meet_s);
	if (best[2] > 0)
		good = bench_at_least("one simulation on two cores", best[1] / best[2], TWICE_LIMIT, "of one");
	return good ? 0 : 1;
}
