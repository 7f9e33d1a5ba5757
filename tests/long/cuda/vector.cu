// A fat binary with one kernel: __device__, __constant__ and __managed__ variables, printf.
#include <cstdio>
#include <cuda_runtime.h>
__device__ int counter;
__constant__ float scale;
__managed__ int m;
__global__ void add(const float *a, const float *b, float *c, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i < n) {
		c[i] = a[i] + b[i] * scale;
		atomicAdd(&counter, 1);
	}
	if (i == 0) {
		m = 7;
		printf("hello from %d\n", n);
	}
}
int main()
{
	int n = 1000;
	float *a, *b, *c;
	float h[1000];
	cudaMalloc(&a, n * 4);
	cudaMalloc(&b, n * 4);
	cudaMallocHost(&c, n * 4);
	for (int i = 0; i < n; i++)
		h[i] = i;
	cudaMemcpy(a, h, n * 4, cudaMemcpyHostToDevice);
	cudaMemcpy(b, h, n * 4, cudaMemcpyHostToDevice);
	float s = 2;
	cudaMemcpyToSymbol(scale, &s, 4);
	add<<<(n + 127) / 128, 128>>>(a, b, c, n);
	cudaError_t e = cudaDeviceSynchronize();
	int k;
	cudaMemcpyFromSymbol(&k, counter, 4);
	printf("%s %d %f %f m %d\n", cudaGetErrorString(e), k, c[1], c[999], m);
	return 0;
}
