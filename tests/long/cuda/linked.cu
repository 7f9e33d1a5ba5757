// Relocatable device code: variables, functions and a table of functions of another object (linked_more.cu).
#include <cstdio>
extern __device__ int shared_counter;
extern __device__ int helper(int);
typedef int (*fn)(int);
extern __device__ fn table[2];
__global__ void k(int *o)
{
	o[threadIdx.x] = helper(threadIdx.x) + table[threadIdx.x & 1](3);
	atomicAdd(&shared_counter, 1);
}
extern int host_counter();
int main()
{
	int *o;
	cudaMallocManaged(&o, 4 * 64);
	k<<<1, 64>>>(o);
	printf("%s %d %d %d\n", cudaGetErrorString(cudaDeviceSynchronize()), o[0], o[63], host_counter());
}
