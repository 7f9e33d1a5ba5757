/*
 * DeepEP's low-latency exchange at its published shape: how much faster or slower than real time the simulation is, and
 * how its simulated times stand to the published ones. 8 PEs, 128 tokens, hidden 7168, top-8 of 256 experts, FP8
 * dispatch, BF16 combine; ordering sc, no records, no ICRC.
 *
 *	bench_ll [ROUNDS]
 *
 * Published for H800 and CX7 with RDMA alone: 163 us and 318 us (deepseek-ai/DeepEP README.md, first commit).
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "drivers/backend/backend.h"
#include "drivers/ibgda/host.h"
#include "drivers/ibgda/ll.h"
#include "models/mlx5/mlx5.h"

#define PES 8u

static const uint64_t published_ns[BF_LL_WORKS] = { 163000, 318000 };

struct bench {
	const struct bf_backend *be;
	struct bf_world *world;
	struct bf_ibgda_host *host;
	struct bf_ll_job job[PES];
	uint8_t *tensors[PES];
	struct bf_error err;
};

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

static int open_all(struct bench *b, const struct bf_ll_shape *s)
{
	struct bf_mlx5_profile profile = bf_mlx5_cx7;
	const struct bf_world_opts world = { .seed = 1, .npes = PES, .limit_ps = BF_S, .profile = &profile };
	struct bf_ibgda_host_opts host = { .flavour = BF_IBGDA_DEEPEP, .num_rc_per_pe = 32, .qp_depth = 512 };
	struct bf_ll_heap heap;
	int rc;

	profile.icrc = false;
	bf_ll_heap_layout(s, PES, &heap);
	host.heap_bytes = heap.end;
	b->be = bf_backend_find("sim");
	rc = b->be->open(&world, &b->err, &b->world);
	if (!rc)
		rc = bf_ibgda_host_open(b->be, b->world, PES, &host, &b->err, &b->host);
	for (uint32_t pe = 0; !rc && pe < PES; pe++) {
		struct bf_memory m;

		b->job[pe] = (struct bf_ll_job){ .state = bf_ibgda_host_state(b->host, pe), .shape = *s, .heap = heap };
		bf_ll_tensor_layout(s, PES, &b->job[pe].at);
		rc = b->be->alloc(b->world, pe, BF_PLACE_GPU, b->job[pe].at.end, "tensors", &m);
		if (rc)
			break;
		b->job[pe].tensors = b->tensors[pe] = m.ptr;
		rc = bf_ll_prepare(s, PES, pe, m.ptr, &b->err);
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

	for (uint32_t pe = 0; pe < PES; pe++)
		for (uint32_t round = 0; round < s->rounds; round++) {
			const struct bf_ll_tensors *at = &b->job[pe].at;
			const uint8_t *t = b->tensors[pe] + round * at->out_step + at->times + which * 16ull;

			sum += bf_get_le64(t + 8) - bf_get_le64(t);
		}
	return sum / (PES * s->rounds);
}

static void report(const struct bench *b, const struct bf_ll_shape *s, const struct bf_world_result *r, uint64_t wall)
{
	static const char *const names[] = { "dispatch", "combine" };
	uint64_t simulated = 0;

	for (uint32_t k = 0; k < BF_LL_WORKS; k++) {
		const uint64_t ns = mean(b, s, k);

		simulated += ns;
		printf("%-9s simulated %6.1f us, published %6.1f us: ratio %.2f\n", names[k], (double)ns / 1e3,
		       (double)published_ns[k] / 1e3, (double)ns / (double)published_ns[k]);
	}
	printf("wall clock %.1f ms a round, %.0f times the simulated kernels; %.0f messages/s, %.2f M events/s\n",
	       (double)wall / 1e6 / s->rounds, (double)wall / (double)(simulated * s->rounds),
	       2.0 * PES * s->tokens * s->topk * s->rounds * 1e9 / (double)wall, (double)r->events * 1e3 / (double)wall);
}

int main(int argc, char **argv)
{
	const struct bf_ll_shape s = {
		.tokens = 128,
		.hidden = 7168,
		.topk = 8,
		.experts = 256,
		.seed = 1,
		.rounds = argc > 1 ? (uint32_t)strtoul(argv[1], NULL, 10) : 1,
		.blocks = 8,
		.groups = 2,
		.group_warps = 5,
	};
	struct bf_ibgda_mismatch bad;
	struct bf_ll_checked checked;
	struct bench b = { 0 };
	struct bf_world_result r;
	uint64_t start;
	int rc = bf_ll_shape_check(&s, PES, 32, 512, &b.err);

	if (!rc)
		rc = open_all(&b, &s);
	start = now_ns();
	if (!rc)
		rc = b.be->run(b.world, &r);
	if (!rc)
		report(&b, &s, &r, now_ns() - start);
	if (!rc && bf_ll_verify(BF_LL_COMBINE, &s, PES, b.tensors, &bad, &checked) != 0)
		rc = bf_fail(&b.err, -1, "wrong: %s", bad.text);
	if (rc)
		fprintf(stderr, "bench_ll: %s\n", b.err.text);
	bf_ibgda_host_close(b.host);
	if (b.world)
		b.be->close(b.world);
	return rc != 0;
}
