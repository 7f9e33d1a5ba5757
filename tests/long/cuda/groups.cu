// cooperative groups grid sync, clusters with distributed shared memory, occupancy
#include <cstdio>
#include <cooperative_groups.h>
#include <cuda_runtime.h>
namespace cg = cooperative_groups;
#define CK(x)                                                                                                          \
	do {                                                                                                           \
		cudaError_t e_ = (x);                                                                                  \
		if (e_ != cudaSuccess) {                                                                               \
			printf("line %d: %s\n", __LINE__, cudaGetErrorString(e_));                                     \
			return 1;                                                                                      \
		}                                                                                                      \
	} while (0)
__global__ void coop(int *a, int *out)
{
	cg::grid_group g = cg::this_grid();
	int i = g.thread_rank();
	a[i] = i;
	g.sync();
	int n = g.size();
	int s = 0;
	for (int k = 0; k < 4; k++)
		s += a[(i + k * 37) % n];
	g.sync();
	a[i] = s;
	g.sync();
	if (i == 0) {
		int t = 0;
		for (int k = 0; k < n; k++)
			t += a[k];
		*out = t;
	}
}
__global__ void __cluster_dims__(4, 1, 1) clus(int *out)
{
	__shared__ int v[32];
	cg::cluster_group c = cg::this_cluster();
	v[threadIdx.x] = c.block_rank() * 100 + threadIdx.x;
	c.sync();
	int *r = c.map_shared_rank(v, (c.block_rank() + 1) % 4);
	out[blockIdx.x * 32 + threadIdx.x] = r[threadIdx.x];
	c.sync();
}
__global__ void clus2(int *out)
{
	extern __shared__ int v[];
	cg::cluster_group c = cg::this_cluster();
	v[threadIdx.x] = c.block_rank();
	c.sync();
	out[blockIdx.x * 32 + threadIdx.x] = *c.map_shared_rank(&v[threadIdx.x], c.num_blocks() - 1 - c.block_rank());
	c.sync();
}
int main()
{
	int *a, *o;
	CK(cudaMalloc(&a, 1 << 20));
	CK(cudaMallocManaged(&o, 1 << 16));
	int nb;
	CK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&nb, coop, 128, 0));
	void *args[] = { &a, &o };
	CK(cudaLaunchCooperativeKernel((void *)coop, dim3(16), dim3(128), args, 0, 0));
	CK(cudaDeviceSynchronize());
	printf("coop %d\n", *o);
	printf("too large: %s\n",
	       cudaGetErrorName(cudaLaunchCooperativeKernel((void *)coop, dim3(1000000), dim3(1024), args, 0, 0)));
	cudaGetLastError();
	clus<<<8, 32>>>(o);
	CK(cudaDeviceSynchronize());
	printf("clus %d %d %d\n", o[0], o[33], o[7 * 32 + 5]);
	cudaLaunchConfig_t c = {};
	c.gridDim = dim3(16);
	c.blockDim = dim3(32);
	c.dynamicSmemBytes = 1024;
	cudaLaunchAttribute at[1];
	at[0].id = cudaLaunchAttributeClusterDimension;
	at[0].val.clusterDim.x = 8;
	at[0].val.clusterDim.y = 1;
	at[0].val.clusterDim.z = 1;
	c.attrs = at;
	c.numAttrs = 1;
	CK(cudaLaunchKernelEx(&c, clus2, o));
	CK(cudaDeviceSynchronize());
	printf("clus2 %d %d\n", o[0], o[9 * 32]);
	at[0].val.clusterDim.x = 16;
	printf("16: %s\n", cudaGetErrorName(cudaLaunchKernelEx(&c, clus2, o)));
	cudaGetLastError();
	CK(cudaFuncSetAttribute(clus2, cudaFuncAttributeNonPortableClusterSizeAllowed, 1));
	CK(cudaLaunchKernelEx(&c, clus2, o));
	CK(cudaDeviceSynchronize());
	printf("clus16 %d %d\n", o[0], o[9 * 32]);
	cudaFuncAttributes fa;
	CK(cudaFuncGetAttributes(&fa, clus));
	printf("shared %zu cluster %d %d\n", fa.sharedSizeBytes, fa.clusterDimMustBeSet, fa.requiredClusterWidth);
	cudaDeviceProp p;
	CK(cudaGetDeviceProperties(&p, 0));
	printf("cc %d.%d sms %d warp %d shared %zu optin %zu coop %d\n", p.major, p.minor, p.multiProcessorCount,
	       p.warpSize, p.sharedMemPerBlock, p.sharedMemPerBlockOptin, p.cooperativeLaunch);
	return 0;
}
