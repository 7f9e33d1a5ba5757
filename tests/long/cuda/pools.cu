// memory in the order of streams: pools, and what they say
#include <cstdint>
#include <cstdio>
#include <cuda_runtime.h>
#define CK(x)                                                                                                          \
	do {                                                                                                           \
		cudaError_t e_ = (x);                                                                                  \
		if (e_ != cudaSuccess) {                                                                               \
			printf("line %d: %s\n", __LINE__, cudaGetErrorName(e_));                                       \
			return 1;                                                                                      \
		}                                                                                                      \
	} while (0)
__global__ void fill(int *p, int n, int v)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i < n)
		p[i] = v + i;
}
int main()
{
	const int n = 1 << 16;
	cudaMemPool_t pool, own, current;
	cudaStream_t s;
	int *a, *b, *host, supported;
	uint64_t threshold = 0, used = 0, high = 0, reserved = 0;
	CK(cudaDeviceGetAttribute(&supported, cudaDevAttrMemoryPoolsSupported, 0));
	CK(cudaStreamCreate(&s));
	CK(cudaMallocHost(&host, n * sizeof(int)));
	CK(cudaDeviceGetDefaultMemPool(&pool, 0));
	CK(cudaDeviceGetMemPool(&current, 0));
	CK(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &threshold));
	printf("supported %d, current is default %d, threshold %llu\n", supported, current == pool,
	       (unsigned long long)threshold);
	CK(cudaMallocAsync(&a, n * sizeof(int), s));
	fill<<<n / 256, 256, 0, s>>>(a, n, 3);
	CK(cudaMemcpyAsync(host, a, n * sizeof(int), cudaMemcpyDeviceToHost, s));
	CK(cudaStreamSynchronize(s));
	CK(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrUsedMemCurrent, &used));
	CK(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrReservedMemCurrent, &reserved));
	printf("value %d, used %llu, reserved is more %d\n", host[100], (unsigned long long)used, reserved >= used);
	cudaPointerAttributes is;
	CK(cudaPointerGetAttributes(&is, a));
	printf("type %d device %d\n", (int)is.type, is.device);
	CK(cudaFreeAsync(a, s));
	CK(cudaStreamSynchronize(s));
	CK(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrUsedMemCurrent, &used));
	CK(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrUsedMemHigh, &high));
	printf("used %llu high %llu\n", (unsigned long long)used, (unsigned long long)high);
	high = 0;
	CK(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrUsedMemHigh, &high));
	CK(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrUsedMemHigh, &high));
	printf("high %llu\n", (unsigned long long)high);

	cudaMemPoolProps props = {};
	props.allocType = cudaMemAllocationTypePinned;
	props.handleTypes = cudaMemHandleTypeNone;
	props.location.type = cudaMemLocationTypeDevice;
	props.location.id = 0;
	CK(cudaMemPoolCreate(&own, &props));
	threshold = UINT64_MAX;
	CK(cudaMemPoolSetAttribute(own, cudaMemPoolAttrReleaseThreshold, &threshold));
	threshold = 0;
	CK(cudaMemPoolGetAttribute(own, cudaMemPoolAttrReleaseThreshold, &threshold));
	printf("threshold %llu\n", (unsigned long long)threshold);
	CK(cudaMallocFromPoolAsync(&a, n * sizeof(int), own, s));
	CK(cudaMallocFromPoolAsync(&b, 100, own, s));
	fill<<<n / 256, 256, 0, s>>>(a, n, 5);
	CK(cudaMemcpyAsync(host, a, n * sizeof(int), cudaMemcpyDeviceToHost, s));
	CK(cudaFreeAsync(a, s));
	CK(cudaFreeAsync(b, s));
	CK(cudaStreamSynchronize(s));
	CK(cudaMemPoolGetAttribute(own, cudaMemPoolAttrUsedMemCurrent, &used));
	CK(cudaMemPoolGetAttribute(own, cudaMemPoolAttrUsedMemHigh, &high));
	printf("value %d, used %llu high %llu\n", host[100], (unsigned long long)used, (unsigned long long)high);
	CK(cudaMemPoolTrimTo(own, 0));
	CK(cudaMemPoolGetAttribute(own, cudaMemPoolAttrReservedMemCurrent, &reserved));
	printf("reserved %llu\n", (unsigned long long)reserved);
	CK(cudaDeviceSetMemPool(0, own));
	CK(cudaDeviceGetMemPool(&current, 0));
	CK(cudaMallocAsync(&a, 64, s));
	CK(cudaMemPoolGetAttribute(own, cudaMemPoolAttrUsedMemCurrent, &used));
	printf("current is own %d, used %llu\n", current == own, (unsigned long long)used);
	CK(cudaFree(a));
	cudaMemAccessFlags flags;
	cudaMemLocation here = props.location;
	CK(cudaMemPoolGetAccess(&flags, own, &here));
	printf("access %d\n", (int)flags);
	CK(cudaDeviceSetMemPool(0, pool));
	CK(cudaMemPoolDestroy(own));
	printf("destroy default: %s\n", cudaGetErrorName(cudaMemPoolDestroy(pool)));
	printf("nothing: %s\n", cudaGetErrorName(cudaMallocAsync(&a, 0, s)));
	(void)cudaGetLastError();

	// Memory of a graph
	cudaGraph_t g;
	cudaGraphExec_t e;
	CK(cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal));
	CK(cudaMallocAsync(&a, n * sizeof(int), s));
	fill<<<n / 256, 256, 0, s>>>(a, n, 9);
	CK(cudaMemcpyAsync(host, a, n * sizeof(int), cudaMemcpyDeviceToHost, s));
	CK(cudaFreeAsync(a, s));
	CK(cudaStreamEndCapture(s, &g));
	size_t nodes = 0;
	CK(cudaGraphGetNodes(g, nullptr, &nodes));
	CK(cudaGraphInstantiate(&e, g, 0));
	CK(cudaGraphLaunch(e, s));
	CK(cudaGraphLaunch(e, s));
	CK(cudaStreamSynchronize(s));
	printf("graph: nodes %zu, value %d\n", nodes, host[100]);
	CK(cudaGraphExecDestroy(e));
	CK(cudaGraphDestroy(g));
	return 0;
}
