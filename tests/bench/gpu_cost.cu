/*
 * What memory primitives cost one GPU thread: the source of bf_cost_gpu in sim/view_cost.c.
 *
 *   nvcc -O2 -arch=sm_90 -o gpu_cost gpu_cost.cu && ./gpu_cost
 *
 * One thread on an idle GPU runs each primitive in a chain (loads and atomics feed their own addresses) and reads the
 * clock around it. Printed in nanoseconds for one operation; the smallest of several runs.
 */
#include <cstdint>
#include <cstdio>

#include <cuda/atomic>

#define ROUNDS 2000
#define RUNS 5

enum { LOAD_L2, LOAD_ACQUIRE_SYS, LOAD_HOST, STORE, ATOMIC_BLOCK, ATOMIC_GPU, ATOMIC_SYS, FENCE_BLOCK, FENCE_GPU,
       FENCE_SYS, FENCE_SYS_HOST, STORE_HOST, KINDS };

static const char *const names[KINDS] = { "relaxed load, L2 hit", "acquire.sys load, L2 hit", "relaxed load, host memory",
	"store", "atomic add, block scope", "atomic add, gpu scope", "atomic add, sys scope", "store + fence block",
	"store + fence gpu", "store + fence sys", "host store + fence sys", "host store (a doorbell's issue)" };

static __device__ uint64_t now()
{
	uint64_t t;

	asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(t));
	return t;
}

/* `vram` and `host` hold zeros; so every load returns an offset of 0 and depends on the one before. */
static __device__ uint64_t one(int kind, uint64_t *vram, uint64_t *host, uint64_t x, int i)
{
	uint64_t v = 0;

	switch (kind) {
	case LOAD_L2:
		asm volatile("ld.relaxed.gpu.u64 %0, [%1];" : "=l"(v) : "l"(vram + x) : "memory");
		return v;
	case LOAD_ACQUIRE_SYS:
		asm volatile("ld.acquire.sys.u64 %0, [%1];" : "=l"(v) : "l"(vram + x) : "memory");
		return v;
	case LOAD_HOST:
		asm volatile("ld.relaxed.sys.u64 %0, [%1];" : "=l"(v) : "l"(host + x) : "memory");
		return v;
	case STORE:
		asm volatile("st.relaxed.gpu.u64 [%0], %1;" ::"l"(vram + (i & 63) * 16), "l"(x) : "memory");
		return 0;
	case ATOMIC_BLOCK:
		asm volatile("atom.relaxed.cta.add.u64 %0, [%1], 0;" : "=l"(v) : "l"(vram + x) : "memory");
		return v;
	case ATOMIC_GPU:
		asm volatile("atom.relaxed.gpu.add.u64 %0, [%1], 0;" : "=l"(v) : "l"(vram + x) : "memory");
		return v;
	case ATOMIC_SYS:
		asm volatile("atom.relaxed.sys.add.u64 %0, [%1], 0;" : "=l"(v) : "l"(vram + x) : "memory");
		return v;
	case FENCE_BLOCK:
		asm volatile("st.u64 [%0], %1;" ::"l"(vram + (i & 63) * 16), "l"(x) : "memory");
		__threadfence_block();
		return 0;
	case FENCE_GPU:
		asm volatile("st.u64 [%0], %1;" ::"l"(vram + (i & 63) * 16), "l"(x) : "memory");
		__threadfence();
		return 0;
	case FENCE_SYS:
		asm volatile("st.u64 [%0], %1;" ::"l"(vram + (i & 63) * 16), "l"(x) : "memory");
		__threadfence_system();
		return 0;
	case FENCE_SYS_HOST:
		asm volatile("st.u64 [%0], %1;" ::"l"(host + (i & 63) * 16), "l"(x) : "memory");
		__threadfence_system();
		return 0;
	default:
		asm volatile("st.relaxed.sys.u64 [%0], %1;" ::"l"(host + (i & 63) * 16), "l"(x) : "memory");
		return 0;
	}
}

template <int kind> static __global__ void measure(uint64_t *vram, uint64_t *host, uint64_t *ns)
{
	uint64_t x = 0, begin;

	for (int i = 0; i < 100; i++)
		x += one(kind, vram, host, x, i);
	begin = now();
#pragma unroll 4
	for (int i = 0; i < ROUNDS; i++)
		x += one(kind, vram, host, x, i);
	ns[1] = x;
	ns[0] = now() - begin;
}

template <int kind> static void run(uint64_t *vram, uint64_t *host, uint64_t *ns)
{
	uint64_t best = UINT64_MAX;

	for (int i = 0; i < RUNS; i++) {
		cudaMemset(vram, 0, 16384);
		measure<kind><<<1, 1>>>(vram, host, ns);
		cudaDeviceSynchronize();
		best = ns[0] < best ? ns[0] : best;
	}
	printf("%-34s %9.1f ns\n", names[kind], (double)best / ROUNDS);
	if constexpr (kind + 1 < KINDS)
		run<kind + 1>(vram, host, ns);
}

int main()
{
	cudaDeviceProp prop;
	uint64_t *vram, *host, *ns;

	if (cudaGetDeviceProperties(&prop, 0) != cudaSuccess) {
		printf("no CUDA device\n");
		return 77;
	}
	printf("%s\n", prop.name);
	cudaMalloc(&vram, 16384);
	cudaMallocHost(&host, 16384);
	cudaMallocHost(&ns, 16);
	for (int i = 0; i < 2048; i++)
		host[i] = 0;
	run<0>(vram, host, ns);
	return cudaGetLastError() == cudaSuccess ? 0 : 1;
}
