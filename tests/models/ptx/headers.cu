// NVIDIA's headers: libcu++ barriers and atomics, cooperative groups, half, bfloat16, fp8.
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cuda/barrier>
#include <cuda/atomic>
#include <cuda_fp16.h>
#include <cuda_bf16.h>
#include <cuda_fp8.h>
namespace cg = cooperative_groups;
__global__ void barriers(int *out, const int *in) {
	__shared__ cuda::barrier<cuda::thread_scope_block> b;
	__shared__ int tile[256];
	if (!threadIdx.x) init(&b, blockDim.x);
	__syncthreads();
	cuda::memcpy_async(tile + threadIdx.x, in + threadIdx.x, 4, b);
	b.arrive_and_wait();
	out[threadIdx.x] = tile[threadIdx.x ^ 1];
}
__global__ void atomics(int *p) { cuda::atomic_ref<int, cuda::thread_scope_system> a(*p); a.fetch_add(3, cuda::memory_order_acq_rel); while (a.load(cuda::memory_order_acquire) < 5) ; }
__global__ void groups(int *p) {
	cg::grid_group g = cg::this_grid(); g.sync();
	cg::thread_block_tile<8> t = cg::tiled_partition<8>(cg::this_thread_block());
	p[threadIdx.x] = cg::reduce(t, p[threadIdx.x], cg::plus<int>()) + t.shfl_xor(p[1], 3);
	cg::coalesced_group c = cg::coalesced_threads(); if (c.thread_rank() == 0) atomicAdd(p, c.size());
}
__global__ void halfs(__half *h, __nv_bfloat16 *b, __half2 *h2) { h[1] = __hfma(h[0], h[2], h[3]); b[1] = __hadd(b[0], b[2]); h2[1] = h2exp(h2[0]); h[4] = htanh(h[5]); h[6] = __float2half_rn(1.5f * __bfloat162float(b[3])); }
__global__ void fp8(__nv_fp8_e4m3 *q, float *f) { q[threadIdx.x] = __nv_fp8_e4m3(f[threadIdx.x]); f[threadIdx.x] = float(q[threadIdx.x + 1]); }
__global__ void maths(float *f, double *d) { f[0] = sinf(f[1]) + expf(f[2]) / sqrtf(f[3]); d[0] = pow(d[1], d[2]) + log(d[3]); }
