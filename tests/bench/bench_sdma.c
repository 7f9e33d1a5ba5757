/*
 * What the SDMA model costs, beside what it stands for: a memcpy of the same bytes in the same run.
 *
 * Each line: bytes a second of the model and of the peer, and the ratio; then small packets a second. The best of
 * several rounds counts, of the model and of the peer in turn. `bench_sdma ROUNDS RECTS` also compares that many random
 * sub-windows with a plain loop.
 */
#include <time.h>

#include "tests/bench/limit.h"
#include "tests/models/sdma_rects.h"

#define MIB (1u << 20)

static double now_s(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* A surface, and how much of it one packet copies. */
struct shape {
	const char *name;
	uint32_t row, rows, pitch, element;
	uint32_t packets;
	double limit; /* times memcpy's speed; 0: none */
};

static void rect_packet(struct rig *r, const struct shape *s)
{
	const uint64_t src = r->host->va, dst = r->vram->va;
	const uint32_t pitch = ((s->pitch >> s->element) - 1) << 13;

	RIG_PACKET(r, BF_SDMA_OP_COPY | BF_SDMA_COPY_RECT << 8 | s->element << 29, RIG_LO(src), RIG_HI(src), 0, pitch,
		   0, RIG_LO(dst), RIG_HI(dst), 0, pitch, 0, ((s->row >> s->element) - 1) | (s->rows - 1) << 16, 0);
}

/* Seconds that the packets of one submission take. */
static double run_model(struct rig *r, const struct shape *s)
{
	double start;

	for (uint32_t i = 0; i < s->packets; i++) {
		if (s->rows == 1)
			rig_copy(r, r->vram->va, r->host->va, s->row);
		else
			rect_packet(r, s);
	}
	rig_fence(r, r->control->va + r->ring_bytes + 128, 1);
	start = now_s();
	rig_bell(r);
	bf_sim_run(r->sim, BF_NEVER);
	start = now_s() - start;
	RIG_MUST(!rig_info(r).fault.reason && rig_info(r).retired == r->index);
	return start;
}

static double run_memcpy(struct rig *r, const struct shape *s)
{
	double start = now_s();

	for (uint32_t k = 0; k < s->packets; k++) {
		for (uint32_t i = 0; i < s->rows; i++) {
			memcpy(r->vram->bytes + (uint64_t)i * s->pitch, r->host->bytes + (uint64_t)i * s->pitch,
			       s->row);
			__asm__ volatile("" : : : "memory");
		}
	}
	return now_s() - start;
}

static bool measure_copy(const struct shape *s, uint32_t rounds)
{
	const double bytes = (double)s->row * s->rows * s->packets;
	double model = 1e9, peer = 1e9;
	struct rig r;

	rig_open(&r, &(struct rig_opts){ .mem = 64 * MIB, .ring = 65536 });
	memset(r.host->bytes, 7, r.host->size);
	memset(r.vram->bytes, 8, r.vram->size);
	for (uint32_t i = 0; i < rounds; i++) {
		double t = run_model(&r, s), m;

		model = t < model ? t : model;
		m = run_memcpy(&r, s);
		peer = m < peer ? m : peer;
	}
	printf("%-34s %10.2f GB/s %10.2f GB/s %8.2f\n", s->name, bytes / model / 1e9, bytes / peer / 1e9, peer / model);
	rig_close(&r);
	return s->limit <= 0 || bench_at_least(s->name, peer / model, s->limit, "of memcpy");
}

/* A full ring of FENCE, NOP and WRITE of one dword, again and again. */
static bool measure_packets(uint32_t rounds)
{
	double best = 1e9;
	uint64_t packets = 0;
	struct rig r;

	rig_open(&r, &(struct rig_opts){ .ring = 1u << 20 });
	for (uint32_t i = 0; i < rounds; i++) {
		const uint64_t before = rig_info(&r).packets, end = r.index + r.ring_bytes;
		double t;

		for (uint32_t k = 0; r.index + 40 <= end; k++) {
			const uint64_t va = r.host->va + k * 8 % 65536;

			RIG_PACKET(&r, BF_SDMA_OP_WRITE, RIG_LO(va), RIG_HI(va), 0, k);
			RIG_PACKET(&r, BF_SDMA_OP_NOP);
			rig_fence(&r, va + 4, k);
		}
		while (r.index < end)
			rig_put(&r, (const uint32_t[]){ 0 }, 1);
		t = now_s();
		rig_bell(&r);
		bf_sim_run(r.sim, BF_NEVER);
		t = now_s() - t;
		best = t < best ? t : best;
		packets = rig_info(&r).packets - before;
		RIG_MUST(rig_info(&r).retired == r.index);
	}
	printf("%-34s %10.2f M/s\n", "small packets", (double)packets / best / 1e6);
	rig_close(&r);
	return bench_at_least("small packets", (double)packets / best / 1e6, 8, "M/s");
}

/* Random sub-windows of each generation's layout against a plain loop. */
static bool compare_rects(uint64_t count)
{
	static const struct bf_sdma_profile *const profiles[] = { &bf_sdma_v4, &bf_sdma_v5, &bf_sdma_v6, &bf_sdma_v7,
								  &bf_sdma_v7_1 };
	bool good = true;

	for (size_t i = 0; i < BF_ARRAY_LEN(profiles); i++) {
		const uint64_t n = count / BF_ARRAY_LEN(profiles), right = rects_run(profiles[i], 101 + i, n);

		printf("%-4s %llu of %llu random sub-windows right\n", profiles[i]->name, (unsigned long long)right,
		       (unsigned long long)n);
		good &= right == n;
	}
	return good;
}

int main(int argc, char **argv)
{
	static const struct shape shapes[] = {
		{ "linear 16 MiB", 16 * MIB, 1, 16 * MIB, 0, 1, 0.9 },
		{ "rect, rows of 4 KiB, pitch 8 KiB", 4096, 4096, 8192, 4, 1, 0.9 },
		{ "rect, rows of 64 B, pitch 8 KiB", 64, 8192, 8192, 4, 4, 0.8 },
		{ "rect, rows of 1 KiB, pitch 1028", 1024, 8192, 1028, 2, 4, 0 },
	};
	const uint32_t rounds = argc > 1 ? (uint32_t)strtoul(argv[1], NULL, 0) : 20;
	bool met = true;

	printf("%-34s %15s %15s %8s\n", "copy", "model", "memcpy", "ratio");
	for (size_t i = 0; i < BF_ARRAY_LEN(shapes); i++)
		met &= measure_copy(&shapes[i], rounds);
	met &= measure_packets(rounds);
	if (argc > 2)
		met &= compare_rects(strtoull(argv[2], NULL, 0));
	return met ? 0 : 1;
}
