/*
 * How fast the PTX machine's core runs, in instructions times lanes for each second of CPU time, and how that compares
 * with the same source compiled for this CPU by the compiler that made this program, at -O2 without help of vectors by
 * hand. Three kernels of ptx_kernels.h: integer arithmetic (sha256), a tiled matrix product through shared memory
 * (matmul), and code of one lane that branches a lot (control). Memory is plain memory, as with ordering `sc` and no
 * records; tests/models/ptx_rig.h is the machine around the core.
 *
 *     bench_ptx [MODULE.ptx KERNEL GRID BLOCK N]     another kernel of (const u32 *in, u32 *out, u32 n), without a
 * ratio
 */
#include <stdint.h>
#include <time.h>

#include "tests/bench/limit.h"
#include "tests/bench/ptx_kernels.h"
#include "tests/models/ptx_rig.h"

#define BYTES (16u << 20)
#define IN RIG_GLOBAL
#define OUT (RIG_GLOBAL + BYTES / 2)
#define RUNS 5

static double cpu_seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

struct kernel {
	const char *name;
	uint32_t grid, n;
	bool floats;
	double goal; /* M lane-instructions a second on one core */
};

static void run_native(const struct kernel *k, const uint8_t *in, uint8_t *out)
{
	for (uint32_t block = 0; block < k->grid; block++) {
		if (strcmp(k->name, "sha256") == 0)
			sha256(block, (const u32 *)(const void *)in, (u32 *)(void *)out, k->n);
		else if (strcmp(k->name, "matmul") == 0)
			matmul(block, (const float *)(const void *)in, (float *)(void *)out, k->n);
		else
			control(block, (const u32 *)(const void *)in, (u32 *)(void *)out, k->n);
	}
}

static void fill(uint8_t *to, bool floats)
{
	uint32_t state = 1;

	for (uint32_t i = 0; i < BYTES / 8; i++) {
		state = state * 1664525 + 1013904223;
		const float value = (float)(state >> 20) / 64.0f;
		if (floats)
			memcpy(to + 4 * (size_t)i, &value, 4);
		else
			memcpy(to + 4 * (size_t)i, &state, 4);
	}
}

/* The fastest of some runs. False: it could not be run. */
static bool measure(struct rig *r, const char *name, uint32_t grid, uint32_t block, uint32_t n, double *seconds)
{
	const uint64_t in = IN, out = OUT;

	memcpy(r->params, &in, 8);
	memcpy(r->params + 8, &out, 8);
	memcpy(r->params + 16, &n, 4);
	*seconds = 1e30;
	for (uint32_t k = 0; k < RUNS; k++) {
		const double begin = cpu_seconds();
		r->lane_instructions = 0;
		if (!rig_run(r, name, grid, block, 20)) {
			fprintf(stderr, "%s: %s\n", name, r->text);
			return false;
		}
		const double took = cpu_seconds() - begin;
		*seconds = took < *seconds ? took : *seconds;
	}
	return true;
}

static bool open_file(struct rig *r, const char *path)
{
	FILE *f = fopen(path, "rb");

	if (f == NULL) {
		perror(path);
		return false;
	}
	char *text = malloc(BYTES);
	const size_t len = text != NULL ? fread(text, 1, BYTES, f) : 0;
	fclose(f);
	const bool ok = text != NULL && rig_open(r, path, text, len, BYTES);
	free(text);
	if (!ok)
		fprintf(stderr, "%s\n", r->text);
	return ok;
}

static int bench_other(char **argv)
{
	struct rig r;
	double seconds;

	if (!open_file(&r, argv[1]))
		return 1;
	fill(r.global, false);
	if (!measure(&r, argv[2], (uint32_t)atoi(argv[3]), (uint32_t)atoi(argv[4]), (uint32_t)atoi(argv[5]), &seconds))
		return 1;
	printf("%-10s %8.1f M lane-instructions/s\n", argv[2], 1e-6 * (double)r.lane_instructions / seconds);
	rig_close(&r);
	return 0;
}

int main(int argc, char **argv)
{
	static const struct kernel kernels[] = {
		{ "sha256", 256, 1u << 20, false, 1500 },
		{ "matmul", 256, 256, true, 300 },
		{ "control", 256, 1u << 18, false, 100 },
	};
	struct rig r;
	bool met = true;

	if (argc == 6)
		return bench_other(argv);
	if (!open_file(&r, BENCH_DIR "/bench_ptx.ptx"))
		return 1;
	uint8_t *out = malloc(BYTES / 2);
	for (uint32_t k = 0; out != NULL && k < BF_ARRAY_LEN(kernels); k++) {
		const struct kernel *x = &kernels[k];
		double seconds, native = 1e30;
		fill(r.global, x->floats);
		memset(r.global + BYTES / 2, 0, BYTES / 2);
		memset(out, 0, BYTES / 2);
		if (!measure(&r, x->name, x->grid, THREADS, x->n, &seconds))
			return 1;
		for (uint32_t n = 0; n < RUNS; n++) {
			const double begin = cpu_seconds();
			run_native(x, r.global, out);
			const double took = cpu_seconds() - begin;
			native = took < native ? took : native;
		}
		/* nvcc makes multiplications and additions of floats one operation each. */
		const bool same = x->floats || memcmp(out, r.global + BYTES / 2, BYTES / 2) == 0;
		printf("%-10s %8.1f M lane-instructions/s, %.1f times the time of the CPU's own code%s\n", x->name,
		       1e-6 * (double)r.lane_instructions / seconds, seconds / native, same ? "" : ": OTHER RESULTS");
		if (!same)
			return 1;
		met &= bench_at_least(x->name, 1e-6 * (double)r.lane_instructions / seconds, x->goal,
				      "M lane-instructions/s");
		/* Khairy and others, ISCA 2020, section II-E; cycle by cycle, which this machine does not do. */
		if (k == 0)
			bench_peer("warp instructions, sha256", 1e-3 * (double)r.lane_instructions / seconds / 32, 12.5,
				   "k/s", "Accel-Sim, cycle by cycle (its paper, not measured here)");
	}
	free(out);
	rig_close(&r);
	return met ? 0 : 1;
}
