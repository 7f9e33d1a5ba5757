// The other object of linked.cu.
__device__ int shared_counter = 10;
__device__ int helper(int i)
{
	return i * i;
}
__device__ int f0(int a)
{
	return a + 1000;
}
__device__ int f1(int a)
{
	return a * 1000;
}
typedef int (*fn)(int);
__device__ fn table[2] = { f0, f1 };
int host_counter()
{
	int v;
	cudaMemcpyFromSymbol(&v, shared_counter, 4);
	return v;
}
