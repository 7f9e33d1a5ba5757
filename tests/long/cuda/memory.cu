// printf, assert, pinned polling while kernel runs, symbols, constants, managed variable
#include <cstdio>
#include <unistd.h>
#include <cuda_runtime.h>
__managed__ int flag;
__constant__ int table[8];
__device__ float fv[4] = { 1, 2, 3, 4 };
__global__ void waiter(volatile int *go, int *done)
{
	if (threadIdx.x == 0) {
		while (*go == 0)
			;
		*done = *go + flag;
		__threadfence_system();
	}
}
__global__ void pr()
{
	printf("t %d %s %f %lld\n", threadIdx.x, "text", fv[threadIdx.x] * 0.5, (long long)table[threadIdx.x]);
}
__global__ void dyn(int *o, int n)
{
	extern __shared__ int s[];
	for (int i = threadIdx.x; i < n; i += blockDim.x)
		s[i] = i;
	__syncthreads();
	if (threadIdx.x == 0)
		*o = s[n - 1];
}
int main()
{
	int *go, *done;
	cudaHostAlloc(&go, 4, cudaHostAllocMapped);
	cudaHostAlloc(&done, 4, cudaHostAllocMapped);
	*go = 0;
	*done = 0;
	flag = 100;
	waiter<<<1, 32>>>(go, done);
	usleep(20000);
	printf("before %d\n", *(volatile int *)done);
	*(volatile int *)go = 5;
	cudaError_t e = cudaDeviceSynchronize();
	printf("%s %d\n", cudaGetErrorString(e), *done);
	int t[8] = { 9, 8, 7, 6, 5, 4, 3, 2 };
	cudaMemcpyToSymbol(table, t, sizeof t);
	pr<<<1, 4>>>();
	printf("after launch\n");
	cudaDeviceSynchronize();
	void *a;
	cudaGetSymbolAddress(&a, fv);
	float x = 42;
	cudaMemcpy((float *)a + 2, &x, 4, cudaMemcpyDefault);
	pr<<<1, 3>>>();
	cudaDeviceSynchronize();
	int *o;
	cudaMalloc(&o, 4);
	dyn<<<1, 64, 100 * 1024>>>(o, 25600);
	printf("dyn %s\n", cudaGetErrorString(cudaGetLastError()));
	cudaFuncSetAttribute(dyn, cudaFuncAttributeMaxDynamicSharedMemorySize, 100 * 1024);
	dyn<<<1, 64, 100 * 1024>>>(o, 25600);
	int r;
	cudaMemcpy(&r, o, 4, cudaMemcpyDeviceToHost);
	printf("dyn %d\n", r);
	cudaPointerAttributes pa;
	cudaPointerGetAttributes(&pa, o);
	printf("type %d dev %d\n", pa.type, pa.device);
	cudaPointerGetAttributes(&pa, &r);
	printf("type %d\n", pa.type);
	cudaPointerGetAttributes(&pa, go);
	printf("type %d\n", pa.type);
	return 0;
}
