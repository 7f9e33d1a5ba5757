/* What the kernels of kinds.cu and more_kinds.cu share. */
#ifndef BELFRY_TESTS_MODELS_PTX_KINDS_CUH
#define BELFRY_TESTS_MODELS_PTX_KINDS_CUH

#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>
#include <cuda/atomic>
#include <cuda/barrier>
#include <cuda/pipeline>
#include <cuda/semaphore>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>
#include <stdint.h>

namespace cg = cooperative_groups;
typedef uint32_t u32;
typedef uint64_t u64;
#define KERNEL extern "C" __global__ void

__device__ static u32 mix(u32 x)
{
	x ^= x >> 16;
	x *= 0x7feb352du;
	x ^= x >> 15;
	x *= 0x846ca68bu;
	return x ^ x >> 16;
}

__device__ static u32 me(void)
{
	return blockIdx.x * blockDim.x + threadIdx.x;
}
__device__ static u32 sh(const void *p)
{
	return (u32)__cvta_generic_to_shared(p);
}

#endif
