/* Sums in shared memory: static and dynamic, block barriers, shuffles, atomics, votes. */
#include <cuda_runtime.h>

#include "sum.h"

template <int WARPS> __device__ float block_sum(float v)
{
	__shared__ __align__(16) float part[WARPS];

	for (int d = 16; d; d /= 2)
		v += __shfl_down_sync(0xffffffffu, v, d);
	if (threadIdx.x % 32 == 0)
		part[threadIdx.x / 32] = v;
#ifndef NO_SYNC
	__syncthreads();
#endif
	v = 0;
	for (int i = 0; i < WARPS; i++)
		v += part[i];
	__syncthreads();
	return v;
}

__global__ void __launch_bounds__(128) sum(const float *in, int n, float *out, unsigned *blocks, int *positive)
{
	extern __shared__ float line[];
	__shared__ int most;
	float v = 0;

	if (threadIdx.x == 0)
		most = 0;
	for (int i = threadIdx.x; i < n; i += blockDim.x)
		line[i] = in[blockIdx.x * n + i];
	__syncthreads();
	for (int i = (threadIdx.x + 1) % blockDim.x; i < n; i += blockDim.x)
		v += line[i];
	atomicMax(&most, static_cast<int>(v));
	v = block_sum<4>(v);
	const int count = __syncthreads_count(line[threadIdx.x] > 0);
	if (threadIdx.x == 0) {
		out[blockIdx.x] = v;
		positive[blockIdx.x] = count;
		if (most > v)
			printf("block %u: %d is more than all\n", blockIdx.x, most);
		__threadfence();
		if (atomicInc(blocks, gridDim.x - 1) == gridDim.x - 1)
			for (unsigned i = 1; i < gridDim.x; i++)
				out[0] += __ldcg(&out[i]);
	}
}

void start(const float *in, int n, float *out, unsigned *blocks, int *positive, int nblocks)
{
	sum<<<nblocks, 128, n * sizeof(float)>>>(in, n, out, blocks, positive);
}
