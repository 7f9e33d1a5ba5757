/*
 * DeepEP's low-latency exchange at its published shape: the processor time that it takes, and how its
 * simulated times stand to the published ones. 8 PEs, 128 tokens, hidden 7168, top-8 of 256 experts, FP8 dispatch, BF16
 * combine; ordering sc, no records, no ICRC. The first round touches most memory for the first time.
 *
 *	bench_ll [ROUNDS]
 *	bench_ll --pes N [--tokens N] [--blocks N] [--groups N] [--warps N] [--zero-copy]
 *
 * With --pes, one round of a larger world with fewer SMs (--blocks) and warps on each (--groups of --warps): a lane
 * that runs by itself has a stack with a guard page (before Linux 6.13 two of the 65530 mappings of a process). And
 * with fewer tokens, where time is short, or with DeepEP's zero copy, where memory is: the experts' answers are kept
 * once, not twice. Such times are not DeepEP's, which has a group of warps for each expert; the row says what it was
 * run with.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "drivers/backend/backend.h"
#include "drivers/ibgda/host.h"
#include "drivers/ibgda/ll.h"
#include "models/mlx5/mlx5.h"
#include "tests/bench/limit.h"

#define PES_MAX 256u
#define EXPERTS 256u
#define QP_DEPTH 512u

/*
 * For H800 and CX7 with 128 tokens: by RDMA alone (deepseek-ai/DeepEP README.md, first commit), and with NVLink among
 * the PEs of a host (deepseek-ai/DeepEP docs/legacy.md).
 */
static const struct published {
	uint32_t pes;
	uint64_t rdma_us[BF_LL_WORKS], nvlink_us[BF_LL_WORKS];
} published[] = {
	{ 8, { 163, 318 }, { 77, 114 } },   { 16, { 173, 329 }, { 118, 195 } },  { 32, { 182, 350 }, { 155, 273 } },
	{ 64, { 186, 353 }, { 173, 314 } }, { 128, { 192, 369 }, { 192, 369 } }, { 256, { 194, 360 }, { 194, 360 } },
};

struct bench {
	const struct bf_backend *be;
	struct bf_world *world;
	struct bf_ibgda_host *host;
	uint32_t pes;
	struct bf_ll_job job[PES_MAX];
	uint8_t *tensors[PES_MAX];
	struct bf_error err;
};

static uint64_t processor_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

static int open_all(struct bench *b, const struct bf_ll_shape *s)
{
	struct bf_mlx5_profile profile = bf_mlx5_cx7;
	const struct bf_world_opts world = {
		.seed = 1, .npes = b->pes, .limit_ps = BF_S, .device_opts[BF_DEVICE_AT_MLX5] = &profile
	};
	struct bf_ibgda_host_opts host = { .flavour = BF_IBGDA_DEEPEP,
					   .num_rc_per_pe = EXPERTS / b->pes, /* as DeepEP wants them */
					   .qp_depth = QP_DEPTH };
	struct bf_ll_heap heap;
	int rc;

	profile.icrc = false;
	bf_ll_heap_layout(s, b->pes, &heap);
	host.heap_bytes = heap.end;
	b->be = bf_backend_find("sim");
	rc = b->be->open(&world, &b->err, &b->world);
	if (!rc)
		rc = bf_ibgda_host_open(b->be, b->world, b->pes, &host, &b->err, &b->host);
	for (uint32_t pe = 0; !rc && pe < b->pes; pe++) {
		struct bf_memory m;

		b->job[pe] = (struct bf_ll_job){ .state = bf_ibgda_host_state(b->host, pe), .shape = *s, .heap = heap };
		bf_ll_tensor_layout(s, b->pes, &b->job[pe].at);
		rc = b->be->alloc(b->world, pe, BF_PLACE_GPU, b->job[pe].at.end, "tensors", &m);
		if (rc)
			break;
		b->job[pe].tensors = b->tensors[pe] = m.ptr;
		rc = bf_ll_prepare(s, b->pes, pe, m.ptr, &b->err);
		if (!rc)
			rc = b->be->launch(b->world, pe, s->blocks, s->groups * s->group_warps,
					   bf_ll_kernels(BF_PLATFORM_SIM)->run[BF_LL_COMBINE], &b->job[pe]);
	}
	return rc;
}

/* Mean over PEs and rounds of one kernel, ns. */
static uint64_t mean(const struct bench *b, const struct bf_ll_shape *s, uint32_t which)
{
	uint64_t sum = 0;

	for (uint32_t pe = 0; pe < b->pes; pe++)
		for (uint32_t round = 0; round < s->rounds; round++) {
			const struct bf_ll_tensors *at = &b->job[pe].at;
			const uint8_t *t = b->tensors[pe] + round * at->out_step + at->times + which * 16ull;

			sum += bf_get_le64(t + 8) - bf_get_le64(t);
		}
	return sum / ((uint64_t)b->pes * s->rounds);
}

static uint64_t micros(struct timeval t)
{
	return (uint64_t)t.tv_sec * 1000000u + (uint64_t)t.tv_usec;
}

/* False when it misses its limit. */
static bool report(const struct bench *b, const struct bf_ll_shape *s, const struct bf_world_result *r, uint64_t spent,
		   const struct rusage *before)
{
	static const char *const names[] = { "dispatch", "combine" };
	const struct published *p = published;
	uint64_t simulated = 0;
	struct rusage now;

	getrusage(RUSAGE_SELF, &now);
	while (p->pes < b->pes)
		p++;
	printf("EP%" PRIu32 ": %" PRIu32 " tokens, %" PRIu32 " blocks of %" PRIu32 " groups of %" PRIu32 " warps%s\n",
	       b->pes, s->tokens, s->blocks, s->groups, s->group_warps, s->zero_copy ? ", zero copy" : "");
	for (uint32_t k = 0; k < BF_LL_WORKS; k++) {
		const uint64_t ns = mean(b, s, k);

		simulated += ns;
		printf("%-9s simulated %6.1f us, published %" PRIu64 " us by RDMA alone (ratio %.2f), %" PRIu64
		       " us with NVLink\n",
		       names[k], (double)ns / 1e3, p->rdma_us[k], (double)ns / 1e3 / (double)p->rdma_us[k],
		       p->nvlink_us[k]);
	}
	printf("%.0f times the simulated kernels; %.0f messages/s, %.2f M events/s; %ld MiB\n",
	       (double)spent / (double)(simulated * s->rounds),
	       2.0 * b->pes * s->tokens * s->topk * s->rounds * 1e9 / (double)spent,
	       (double)r->events * 1e3 / (double)spent, now.ru_maxrss >> 10);
	printf("processor time %.0f ms a round, of which the kernel %.0f ms for %ld faults of pages\n",
	       (double)spent / 1e6 / s->rounds,
	       (double)(micros(now.ru_stime) - micros(before->ru_stime)) / 1e3 / s->rounds,
	       (now.ru_minflt - before->ru_minflt) / (long)s->rounds);
	return b->pes != 8 || s->tokens != 128 ||
	       bench_at_most("a round of DeepEP's EP8 exchange, processor time", (double)spent / 1e6 / s->rounds, 400,
			     "ms");
}

/* `--name N` anywhere; `otherwise` without it. */
static uint32_t option(int argc, char **argv, const char *name, uint32_t otherwise)
{
	for (int i = 1; i + 1 < argc; i++)
		if (!strcmp(argv[i], name))
			return (uint32_t)strtoul(argv[i + 1], NULL, 10);
	return otherwise;
}

static bool flag(int argc, char **argv, const char *name)
{
	for (int i = 1; i < argc; i++)
		if (!strcmp(argv[i], name))
			return true;
	return false;
}

static bool is_published(uint32_t pes)
{
	for (size_t i = 0; i < BF_ARRAY_LEN(published); i++)
		if (published[i].pes == pes)
			return true;
	return false;
}

int main(int argc, char **argv)
{
	const struct bf_ll_shape s = {
		.tokens = option(argc, argv, "--tokens", 128),
		.hidden = 7168,
		.topk = 8,
		.experts = EXPERTS,
		.seed = 1,
		.rounds = argc > 1 && argv[1][0] != '-' ? (uint32_t)strtoul(argv[1], NULL, 10) : 1,
		.blocks = option(argc, argv, "--blocks", 8),
		.groups = option(argc, argv, "--groups", 2),
		.group_warps = option(argc, argv, "--warps", 5),
		.zero_copy = flag(argc, argv, "--zero-copy"),
	};
	struct bf_ibgda_mismatch bad;
	struct bf_ll_checked checked;
	static struct bench b;
	struct bf_world_result r;
	struct rusage before;
	bool met = true;
	uint64_t start;
	int rc;

	b.pes = option(argc, argv, "--pes", 8);
	if (is_published(b.pes))
		rc = bf_ll_shape_check(&s, b.pes, EXPERTS / b.pes, QP_DEPTH, &b.err);
	else
		rc = bf_fail(&b.err, -EINVAL, "--pes: 8, 16, 32, 64, 128 or 256");
	if (!rc)
		rc = open_all(&b, &s);
	getrusage(RUSAGE_SELF, &before);
	start = processor_ns();
	if (!rc)
		rc = b.be->run(b.world, &r);
	if (!rc)
		met = report(&b, &s, &r, processor_ns() - start, &before);
	if (!rc && bf_ll_verify(BF_LL_COMBINE, &s, b.pes, b.tensors, &bad, &checked) != 0)
		rc = bf_fail(&b.err, -1, "wrong: %s", bad.text);
	if (rc)
		fprintf(stderr, "bench_ll: %s\n", b.err.text);
	bf_ibgda_host_close(b.host);
	if (b.world)
		b.be->close(b.world);
	return rc != 0 || !met;
}
