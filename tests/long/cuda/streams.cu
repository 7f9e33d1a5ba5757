// streams, events, host functions, waits between streams
#include <cstdio>
#include <cuda_runtime.h>
#define CK(x)                                                                                                          \
	do {                                                                                                           \
		cudaError_t e_ = (x);                                                                                  \
		if (e_ != cudaSuccess) {                                                                               \
			printf("line %d: %s\n", __LINE__, cudaGetErrorString(e_));                                     \
			return 1;                                                                                      \
		}                                                                                                      \
	} while (0)
__global__ void inc(int *p, int n, int v)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i < n)
		p[i] += v;
}
__global__ void mul(int *p, int n, int v)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i < n)
		p[i] *= v;
}
static int called = 0;
static void host(void *a)
{
	called += *(int *)a;
}
int main()
{
	int n = 1 << 14;
	int *d;
	int *h;
	CK(cudaMalloc(&d, n * 4));
	CK(cudaMallocHost(&h, n * 4));
	cudaStream_t a, b;
	CK(cudaStreamCreateWithFlags(&a, cudaStreamNonBlocking));
	CK(cudaStreamCreate(&b));
	cudaEvent_t e0, e1, e2;
	CK(cudaEventCreate(&e0));
	CK(cudaEventCreate(&e1));
	CK(cudaEventCreate(&e2));
	CK(cudaMemsetAsync(d, 0, n * 4, a));
	CK(cudaEventRecord(e0, a));
	for (int i = 0; i < 10; i++)
		inc<<<n / 256, 256, 0, a>>>(d, n, i);
	CK(cudaEventRecord(e1, a));
	CK(cudaStreamWaitEvent(b, e1, 0));
	mul<<<n / 256, 256, 0, b>>>(d, n, 3);
	int add = 5;
	CK(cudaLaunchHostFunc(b, host, &add));
	CK(cudaMemcpyAsync(h, d, n * 4, cudaMemcpyDeviceToHost, b));
	CK(cudaEventRecord(e2, b));
	CK(cudaStreamSynchronize(b));
	long s = 0;
	for (int i = 0; i < n; i++)
		s += h[i];
	float ms;
	CK(cudaEventElapsedTime(&ms, e0, e2));
	printf("sum %ld called %d query %s elapsed %s\n", s, called, cudaGetErrorName(cudaStreamQuery(a)),
	       ms >= 0 ? "ok" : "bad");
	inc<<<1, 2048>>>(d, n, 1);
	printf("bad launch: %s\n", cudaGetErrorString(cudaGetLastError()));
	printf("then %s\n", cudaGetErrorString(cudaGetLastError()));
	inc<<<1, 32>>>(0, 1, 1);
	cudaError_t e = cudaDeviceSynchronize();
	printf("null: %s; again %s; last %s\n", cudaGetErrorName(e), cudaGetErrorName(cudaDeviceSynchronize()),
	       cudaGetErrorName(cudaGetLastError()));
	void *q;
	printf("malloc %s\n", cudaGetErrorName(cudaMalloc(&q, 4)));
	return 0;
}
