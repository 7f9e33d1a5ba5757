/*
 * calibrate: measures this machine's Hopper GPU with the probes behind the shipped profile, and writes a profile for
 * `belfry run mbarrier-... --profile FILE.json`.
 *
 * Sizes (cache entries, bytes of one, entries of the try-wait buffer) are read off directly. A time of the profile is
 * not what a probe sees: instructions around the operation add to it. So a field becomes what the shipped profile has,
 * plus the difference between this GPU's figure and the one that the same probe gave on the H200 that the shipped
 * profile was made from (`reference`): on such an H200 the profile comes out as shipped, within the noise of the
 * probes.
 */
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "drivers/platform/platform_mbarrier_cuda.h"
#include "models/hopper/profile.h"

#define CUDA(call)                                                                                                     \
	do {                                                                                                           \
		const cudaError_t e_ = (call);                                                                         \
		if (e_ != cudaSuccess) {                                                                               \
			fprintf(stderr, "calibrate: %s: %s\n", #call, cudaGetErrorString(e_));                         \
			exit(e_ == cudaErrorNoDevice || e_ == cudaErrorInsufficientDriver ? 77 : 1);                   \
		}                                                                                                      \
	} while (0)

#define OPS 512u
#define BIG 1000000u /* an expected count that no probe reaches */

static __device__ __forceinline__ uint64_t now(void)
{
	uint64_t c;

	asm volatile("mov.u64 %0, %%clock64;" : "=l"(c)::"memory");
	return c;
}

/* One thread: OPS operations in a row, each at an address that depends on the result before (`zero` is 0). */
enum { CHAIN_ARRIVE, CHAIN_TEST, CHAIN_LOAD, CHAIN_ADD };

template <int what> static __device__ __forceinline__ uint32_t chain_step(struct bf_thread *t, uint32_t at)
{
	uint64_t old;

	switch (what) {
	case CHAIN_ARRIVE:
		return (uint32_t)(bf_bar_arrive_token(t, at, 1) >> 32);
	case CHAIN_TEST:
		return (uint32_t)bf_bar_test(t, at, 0);
	case CHAIN_LOAD:
		return (uint32_t)bf_shared_ld64(t, at);
	default:
		asm volatile("atom.shared.add.u64 %0, [%1], %2;" : "=l"(old) : "r"(at), "l"(1ull) : "memory");
		return (uint32_t)old;
	}
}

template <int what> __global__ void chain(uint32_t barriers, uint32_t stride, uint32_t zero, uint64_t *cycles)
{
	struct bf_thread t;
	const uint32_t base = bf_shared_base(&t);
	const uint32_t end = base + stride * barriers;
	uint32_t at = base;
	uint64_t began = 0;

	for (uint32_t i = 0; i < barriers && (what == CHAIN_ARRIVE || what == CHAIN_TEST); i++)
		bf_bar_init(&t, base + stride * i, BIG);
	for (uint32_t lap = 0; lap < 2; lap++) { /* the first warms caches of code and barriers */
		began = now();
#pragma unroll 8
		for (uint32_t i = 0; i < OPS; i++) {
			at += stride + (chain_step<what>(&t, at) & zero);
			at = at == end ? base : at;
		}
		*cycles = now() - began + (at & zero);
	}
}

/* Init and a dependent test. */
__global__ void init_test(uint32_t zero, uint64_t *cycles)
{
	struct bf_thread t;
	uint32_t at = bf_shared_base(&t);

	for (uint32_t lap = 0; lap < 3; lap++) {
		const uint64_t began = now();

		for (uint32_t i = 0; i < 64; i++) {
			bf_bar_init(&t, at, 5);
			at += (uint32_t)bf_bar_test(&t, at, 0) & zero;
		}
		*cycles = now() - began;
	}
}

/* Every warp's lanes look at `barriers` barriers in turn, again and again; all warps begin together. */
__global__ void waits(uint32_t barriers, uint32_t zero, uint64_t *cycles)
{
	struct bf_thread t;
	const uint32_t base = bf_shared_base(&t);
	uint32_t at = base + bf_lane(&t) % barriers * 8;
	uint64_t began;

	if (threadIdx.x == 0)
		for (uint32_t i = 0; i < barriers; i++)
			bf_bar_init(&t, base + i * 8, BIG);
	for (uint32_t lap = 0; lap < 2; lap++) {
		__syncthreads();
		began = now();
		for (uint32_t i = 0; i < 16; i++)
			at += (uint32_t)bf_bar_test(&t, at, 0) & zero;
		if (bf_lane(&t) == 0)
			cycles[bf_warp(&t)] = now() - began + (at & zero);
	}
}

/*
 * Every warp asks for `barriers` barriers in a loop that branches on the answer; how long its first try is, the branch
 * included. The first lap's code is cold.
 */
__global__ void asks(uint32_t barriers, uint64_t *cycles)
{
	struct bf_thread t;
	const uint32_t base = bf_shared_base(&t), bar = base + bf_lane(&t) % barriers * 8;

	if (threadIdx.x == 0)
		for (uint32_t i = 0; i < barriers; i++)
			bf_bar_init(&t, base + i * 8, BIG);
	for (uint32_t lap = 0; lap < 2; lap++) {
		__syncthreads();
#pragma unroll 1
		for (uint32_t i = 0; i < 4; i++) {
			const uint64_t began = now();

			if (bf_bar_try(&t, bar, 0)) /* never */
				return;
			if (i == 0 && bf_lane(&t) == 0)
				cycles[lap * 32 + bf_warp(&t)] = now() - began;
		}
	}
}

/* A warp waits for a phase that never ends: how long until it is told so. */
__global__ void limit(uint32_t tries, uint64_t *cycles)
{
	struct bf_thread t;
	const uint32_t bar = bf_shared_base(&t);

	if (bf_lane(&t) == 0)
		bf_bar_init(&t, bar, BIG);
	__syncwarp();
	for (uint32_t i = 0; i < tries; i++) {
		const uint64_t began = now();

		if (bf_bar_try(&t, bar, 0)) /* never; that it is asked keeps the clock behind the wait */
			return;
		if (bf_lane(&t) == 0)
			cycles[i] = now() - began;
		__syncwarp();
	}
}

/* Every warp of blocks that fill an SM waits once: how many entries there are is how many waits last. */
__global__ void pool(uint32_t *sm, uint64_t *cycles)
{
	struct bf_thread t;
	const uint32_t bar = bf_shared_base(&t), self = blockIdx.x * (blockDim.x / 32) + bf_warp(&t);
	uint64_t began;
	uint32_t id;

	if (threadIdx.x == 0)
		bf_bar_init(&t, bar, BIG);
	__syncthreads();
	asm("mov.u32 %0, %%smid;" : "=r"(id));
	began = now() + 200000 - now() % 100000; /* blocks of an SM start together */
	while (now() < began)
		;
	if (bf_bar_try(&t, bar, 0))
		return;
	if (bf_lane(&t) == 0) {
		sm[self] = id;
		cycles[self] = now() - began;
	}
}

/* Warps 1.. park; warp 0 completes the phase; when each resumes, in the last of four rounds (the code is warm then). */
__global__ void wake(uint64_t *resumed)
{
	struct bf_thread t;
	const uint32_t bar = bf_shared_base(&t);
	__shared__ volatile uint64_t arrived;

	if (threadIdx.x == 0)
		bf_bar_init(&t, bar, 1);
	__syncthreads();
	for (uint32_t round = 0; round < 4; round++) {
		if (bf_warp(&t) == 0) {
			const uint64_t at = now() + 3000;

			while (now() < at)
				;
			if (bf_lane(&t) == 0) {
				arrived = now();
				bf_bar_arrive(&t, bar, 1);
			}
		} else {
			while (!bf_bar_try(&t, bar, round & 1))
				;
			const uint64_t at = now();
			__syncwarp();
			if (bf_lane(&t) == 0)
				resumed[bf_warp(&t)] = at;
		}
		__syncthreads();
		if (bf_warp(&t) && bf_lane(&t) == 0)
			resumed[bf_warp(&t)] -= arrived;
		__syncthreads();
	}
}

/* Two blocks of a cluster call each other: half a round trip. */
__global__ void __cluster_dims__(2) remote(int release, uint32_t laps, uint64_t *cycles)
{
	struct bf_thread t;
	const uint32_t bar = bf_shared_base(&t), peer = bf_shared_map(&t, bar, bf_rank(&t) ^ 1);
	uint64_t began = 0;

	if (bf_lane(&t) == 0) {
		bf_bar_init(&t, bar, 1);
		bf_bar_init_fence(&t);
	}
	bf_cluster_sync(&t);
	for (uint32_t i = 0; i < laps; i++) {
		if (i == laps / 2)
			began = now();
		if (bf_rank(&t) == 1)
			while (!bf_bar_try(&t, bar, i & 1))
				;
		if (bf_lane(&t) == 0 && release)
			bf_bar_arrive_cluster(&t, peer, 1);
		else if (bf_lane(&t) == 0)
			bf_bar_arrive_relaxed(&t, peer, 1);
		__syncwarp();
		if (bf_rank(&t) == 0)
			while (!bf_bar_try(&t, bar, i & 1))
				;
	}
	if (bf_rank(&t) == 0 && bf_lane(&t) == 0)
		*cycles = (now() - began) / (laps - laps / 2) / 2;
	bf_cluster_sync(&t);
}

/* A copy from global memory that L2 holds, to its completion seen. */
__global__ void bulk(const uint8_t *from, uint32_t bytes, uint64_t *cycles)
{
	struct bf_thread t;
	const uint32_t bar = bf_shared_base(&t);

	if (bf_lane(&t) == 0)
		bf_bar_init(&t, bar, 1);
	__syncwarp();
	for (uint32_t i = 0; i < 16; i++) {
		const uint64_t began = now();

		if (bf_lane(&t) == 0) {
			bf_bar_arrive_tx(&t, bar, bytes);
			bf_tma_load(&t, bar + 1024, from, bytes, bar);
		}
		__syncwarp();
		while (!bf_bar_try(&t, bar, i & 1))
			;
		if (bf_lane(&t) == 0)
			cycles[i] = now() - began;
		__syncwarp();
	}
}

/* ---- host ---- */

static uint64_t *device_cycles;
static std::vector<uint64_t> cycles(4096);

static uint64_t fetch(uint32_t n)
{
	CUDA(cudaDeviceSynchronize());
	CUDA(cudaMemcpy(cycles.data(), device_cycles, n * sizeof(uint64_t), cudaMemcpyDeviceToHost));
	return cycles[0];
}

/* Milli-cycles of one operation: the least of several runs. */
template <int what> static uint32_t chain_mc(uint32_t barriers, uint32_t stride)
{
	uint64_t least = UINT64_MAX;

	CUDA(cudaFuncSetAttribute(chain<what>, cudaFuncAttributeMaxDynamicSharedMemorySize, 65536));
	for (int i = 0; i < 5; i++) {
		chain<what><<<1, 1, 65536>>>(barriers, stride, 0, device_cycles);
		least = std::min(least, fetch(1));
	}
	return (uint32_t)(least * 1000 / OPS);
}

static uint32_t median(std::vector<uint64_t> v)
{
	std::sort(v.begin(), v.end());
	return (uint32_t)v[v.size() / 2];
}

struct figures {
	uint32_t arrive, miss, test, init, load, atomic, limit, wake, wake_next, relaxed, release, bulk_small,
	    bulk_large, look, look_all, ask[2]; /* ... cold and warm */
	uint32_t lines, line_bytes, pool;
};

/*
 * What these probes gave on NVIDIA H200s at 1980 MHz, in milli-cycles: the same in every run but for bulk copies, whose
 * 64 KiB took 966 to 1019 cycles on different cards.
 */
static const struct figures reference = { 62390, 9000,   62390,  90312,  40761,  126326, 7764000, 96000,
					  2000,  191000, 445000, 328000, 992000, 13000,  4000,    { 426000, 551000 },
					  16,    16,     32 };

static void measure_sizes(struct figures *f)
{
	const uint32_t hit = chain_mc<CHAIN_ARRIVE>(1, 16);
	uint32_t pairs = 1, barriers = 1;

	while (pairs < 64 && chain_mc<CHAIN_ARRIVE>(pairs + 1, 64) < hit + 4000)
		pairs++;
	while (barriers < 512 && chain_mc<CHAIN_ARRIVE>(barriers + 1, 8) < hit + 4000)
		barriers++;
	f->lines = pairs;
	f->line_bytes = 8 * barriers / pairs;
}

static void measure_pool(struct figures *f, int sms)
{
	const uint32_t warps = 64u * (uint32_t)sms;
	std::vector<uint32_t> sm(warps), parked((size_t)sms, 0);
	std::vector<uint64_t> took(warps), counts;
	uint32_t *device_sm;
	uint64_t *device_took;

	CUDA(cudaMalloc(&device_sm, warps * sizeof(uint32_t)));
	CUDA(cudaMalloc(&device_took, warps * sizeof(uint64_t)));
	pool<<<2 * sms, 1024, 4096>>>(device_sm, device_took);
	CUDA(cudaDeviceSynchronize());
	CUDA(cudaMemcpy(sm.data(), device_sm, warps * sizeof(uint32_t), cudaMemcpyDeviceToHost));
	CUDA(cudaMemcpy(took.data(), device_took, warps * sizeof(uint64_t), cudaMemcpyDeviceToHost));
	for (uint32_t i = 0; i < warps; i++)
		if (sm[i] < (uint32_t)sms && took[i] > 4000)
			parked[sm[i]]++;
	for (uint32_t n : parked)
		counts.push_back(n);
	f->pool = median(counts);
	CUDA(cudaFree(device_sm));
	CUDA(cudaFree(device_took));
}

/* Between two looks of one warp, and of 16 warps of four sub-partitions, at 16 barriers each. */
static void measure_looks(struct figures *f)
{
	uint64_t one, sixteen;

	waits<<<1, 32, 4096>>>(1, 0, device_cycles);
	one = fetch(1);
	waits<<<1, 32, 4096>>>(16, 0, device_cycles);
	sixteen = fetch(1);
	f->look = (uint32_t)((sixteen - one) * 1000 / (16 * 15));
	waits<<<1, 16 * 32, 4096>>>(16, 0, device_cycles);
	fetch(16);
	f->look_all = median(std::vector<uint64_t>(cycles.begin(), cycles.begin() + 16)) * 1000 / (16 * 16 * 16);
	asks<<<1, 16 * 32, 4096>>>(8, device_cycles);
	fetch(48);
	for (uint32_t lap = 0; lap < 2; lap++)
		f->ask[lap] =
		    median(std::vector<uint64_t>(cycles.begin() + lap * 32, cycles.begin() + lap * 32 + 16)) * 1000;
}

static void measure_waits(struct figures *f)
{
	limit<<<1, 32, 4096>>>(16, device_cycles);
	fetch(16);
	f->limit = median(std::vector<uint64_t>(cycles.begin() + 1, cycles.begin() + 16)) * 1000;
	wake<<<1, 9 * 32, 4096>>>(device_cycles);
	fetch(9);
	std::sort(cycles.begin() + 1, cycles.begin() + 9);
	f->wake = (uint32_t)cycles[1] * 1000;
	f->wake_next = (uint32_t)(cycles[8] - cycles[1]) * 1000 / 7;
	remote<<<2, 32, 4096>>>(0, 400, device_cycles);
	f->relaxed = (uint32_t)fetch(1) * 1000;
	remote<<<2, 32, 4096>>>(1, 400, device_cycles);
	f->release = (uint32_t)fetch(1) * 1000;
}

static void measure_bulk(struct figures *f)
{
	uint8_t *from;

	CUDA(cudaMalloc(&from, 65536));
	CUDA(cudaMemset(from, 1, 65536));
	CUDA(cudaFuncSetAttribute(bulk, cudaFuncAttributeMaxDynamicSharedMemorySize, 70000));
	bulk<<<1, 32, 70000>>>(from, 64, device_cycles);
	fetch(16);
	f->bulk_small = median(std::vector<uint64_t>(cycles.begin() + 4, cycles.begin() + 16)) * 1000;
	bulk<<<1, 32, 70000>>>(from, 65536, device_cycles);
	fetch(16);
	f->bulk_large = median(std::vector<uint64_t>(cycles.begin() + 4, cycles.begin() + 16)) * 1000;
	CUDA(cudaFree(from));
}

static void measure(struct figures *f, int sms)
{
	f->arrive = chain_mc<CHAIN_ARRIVE>(1, 16);
	f->miss = chain_mc<CHAIN_ARRIVE>(40, 64) - f->arrive;
	f->test = chain_mc<CHAIN_TEST>(1, 16);
	f->load = chain_mc<CHAIN_LOAD>(1, 16);
	f->atomic = chain_mc<CHAIN_ADD>(1, 16);
	init_test<<<1, 1, 4096>>>(0, device_cycles);
	f->init = (uint32_t)(fetch(1) * 1000 / 64);
	measure_sizes(f);
	measure_pool(f, sms);
	measure_waits(f);
	measure_looks(f);
	measure_bulk(f);
}

static void print_figures(const struct figures *f)
{
	fprintf(stderr,
		"arrive %u, miss +%u, test %u, init and test %u, load %u, atomic %u\n"
		"time limit %u, wake %u, next %u, remote relaxed %u, release %u\n"
		"bulk of 64 B %u, of 64 KiB %u, looks at several barriers %u, of 16 warps %u\n"
		"a branch on 8 looks of 16 warps %u, the first time %u (milli-cycles)\n"
		"cache: %u entries of %u bytes; try-wait buffer: %u entries\n",
		f->arrive, f->miss, f->test, f->init, f->load, f->atomic, f->limit, f->wake, f->wake_next, f->relaxed,
		f->release, f->bulk_small, f->bulk_large, f->look, f->look_all, f->ask[1], f->ask[0], f->lines,
		f->line_bytes, f->pool);
}

static void field(FILE *out, const char *name, long long base, long long here, long long there)
{
	const long long value = std::max(0ll, base + here - there);

	fprintf(out, ",\n  \"%s\": %lld", name, value);
	fprintf(stderr, "%-18s %9lld, shipped %9lld\n", name, value, base);
}

/* The fields that probes speak of; the base has the others. */
static void write_profile(FILE *out, const struct figures *f, const cudaDeviceProp &prop, int khz)
{
	const struct bf_hopper_profile *b = &bf_hopper_h200;
	const struct figures *r = &reference;
	/* 64 KiB less 64 B are 511.5 lines of 128 bytes. */
	const long long line = ((long long)f->bulk_large - f->bulk_small) * 2 / 1023;
	const long long line_there = ((long long)r->bulk_large - r->bulk_small) * 2 / 1023;

	fprintf(out, "{\n  \"profile\": \"%s\",\n  \"base\": \"h200\"", prop.name);
	fprintf(out, ",\n  \"cycle_ps\": %u",
		khz ? (unsigned)((1000000000ull + (unsigned)khz / 2) / (unsigned)khz) : b->cycle_ps);
	fprintf(out, ",\n  \"sms\": %d", prop.multiProcessorCount);
	fprintf(out, ",\n  \"cache_lines\": %u,\n  \"cache_line_bytes\": %u,\n  \"pool_entries\": %u", f->lines,
		f->line_bytes, f->pool);
	field(out, "arrive_mc", b->arrive_mc, f->arrive, r->arrive);
	field(out, "expect_mc", b->expect_mc, f->arrive, r->arrive);
	field(out, "miss_mc", b->miss_mc, f->miss, r->miss);
	field(out, "test_mc", b->test_mc, f->test, r->test);
	field(out, "init_mc", b->init_mc, (long long)f->init - f->test, (long long)r->init - r->test);
	field(out, "load_mc", b->load_mc, f->load, r->load);
	field(out, "atomic_mc", b->atomic_mc, f->atomic, r->atomic);
	field(out, "limit_mc", b->limit_mc, f->limit, r->limit);
	field(out, "wake_mc", b->wake_mc, f->wake, r->wake);
	field(out, "wake_next_mc", b->wake_next_mc, f->wake_next, r->wake_next);
	field(out, "remote_mc", b->remote_mc, (long long)f->relaxed - f->wake, (long long)r->relaxed - r->wake);
	field(out, "remote_release_mc", b->remote_release_mc, (long long)f->release - f->relaxed,
	      (long long)r->release - r->relaxed);
	field(out, "lane_test_mc", b->lane_test_mc, f->look, r->look);
	field(out, "test_op_mc", b->test_op_mc, f->look_all, r->look_all);
	field(out, "bulk_latency_mc", b->bulk_latency_mc, f->bulk_small, r->bulk_small);
	field(out, "bulk_line_mc", b->bulk_line_mc, line, line_there);
	fprintf(out, "\n}\n");
}

int main(int argc, char **argv)
{
	struct figures f = {};
	cudaDeviceProp prop;
	int khz = 0;
	FILE *out = stdout;

	if (argc > 2 || (argc == 2 && argv[1][0] == '-')) {
		fprintf(
		    stderr,
		    "usage: calibrate [FILE.json]\nMeasures GPU 0 and writes a profile for `belfry run --profile`.\n");
		return 2;
	}
	CUDA(cudaGetDeviceProperties(&prop, 0));
	CUDA(cudaDeviceGetAttribute(&khz, cudaDevAttrClockRate, 0));
	if (prop.major != 9) {
		fprintf(stderr, "calibrate: %s is no Hopper (sm_90)\n", prop.name);
		return 77;
	}
	CUDA(cudaMalloc(&device_cycles, cycles.size() * sizeof(uint64_t)));
	fprintf(stderr, "%s, %d SMs, %d kHz\n", prop.name, prop.multiProcessorCount, khz);
	measure(&f, prop.multiProcessorCount);
	print_figures(&f);
	if (argc == 2)
		out = fopen(argv[1], "w");
	if (!out) {
		perror(argv[1]);
		return 1;
	}
	write_profile(out, &f, prop, khz);
	return fclose(out) ? 1 : 0;
}
