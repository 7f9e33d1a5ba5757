// How fast: start-up, launches, instructions, copies.
#include <cstdio>
#include <chrono>
#include <cuda_runtime.h>
__global__ void empty()
{
}
__global__ void work(float *a, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	float x = a[i];
	for (int k = 0; k < n; k++)
		x = x * 1.0001f + 0.5f;
	a[i] = x;
}
static double now()
{
	return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}
int main()
{
	double t0 = now();
	cudaFree(0);
	double t1 = now();
	empty<<<1, 32>>>();
	cudaDeviceSynchronize();
	double t2 = now();
	printf("init %.1f ms, first kernel %.1f ms\n", (t1 - t0) * 1e3, (t2 - t1) * 1e3);
	int n = 20000;
	t0 = now();
	for (int i = 0; i < n; i++)
		empty<<<1, 32>>>();
	cudaDeviceSynchronize();
	t1 = now();
	printf("launches back to back %.0f /s\n", n / (t1 - t0));
	n = 3000;
	t0 = now();
	for (int i = 0; i < n; i++) {
		empty<<<1, 32>>>();
		cudaDeviceSynchronize();
	}
	t1 = now();
	printf("launch+sync %.0f /s\n", n / (t1 - t0));
	float *a;
	cudaMalloc(&a, 4 * 132 * 256);
	cudaMemset(a, 0, 4 * 132 * 256);
	t0 = now();
	work<<<132, 256>>>(a, 1000);
	cudaDeviceSynchronize();
	t1 = now();
	printf("work %.2f s, %.0f M fma/s\n", t1 - t0, 132 * 256 * 1000.0 / (t1 - t0) / 1e6);
	char *h = new char[64 << 20];
	void *d;
	cudaMalloc(&d, 64 << 20);
	cudaMemcpy(d, h, 64 << 20, cudaMemcpyHostToDevice);
	t0 = now();
	cudaMemcpy(d, h, 64 << 20, cudaMemcpyHostToDevice);
	t1 = now();
	printf("copy %.1f GB/s\n", (64 << 20) / (t1 - t0) / 1e9);
}
