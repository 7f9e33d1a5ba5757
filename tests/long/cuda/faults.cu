// What a fault of a kernel leaves: errors of later calls, and what cudaDeviceReset() brings back. A process for each.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <cuda_runtime.h>
#include <string>
#include <sys/wait.h>
#include <unistd.h>

#define SAY(call) printf("  %s: %s\n", #call, cudaGetErrorName(call))

__device__ int word = 3;

__global__ void bad_address(int *p)
{
	p[threadIdx.x] = 1;
}

__global__ void misaligned(char *p)
{
	*(int *)(p + 1) = 1;
}

__global__ void trap()
{
	asm volatile("trap;");
}

__global__ void good(int *p)
{
	*p = word + 1;
}

static int value;

static int works()
{
	int *p = nullptr, out = 0;
	cudaError_t is = cudaMalloc(&p, 4);

	if (is)
		return printf("  cudaMalloc: %s\n", cudaGetErrorName(is)), 0;
	good<<<1, 1>>>(p);
	printf("  launch: %s\n", cudaGetErrorName(cudaGetLastError()));
	is = cudaMemcpy(&out, p, 4, cudaMemcpyDeviceToHost);
	printf("  read: %s, %d\n", cudaGetErrorName(is), out);
	return is == cudaSuccess;
}

static void fault(const std::string &kind)
{
	char *p, *q;

	SAY(cudaMalloc(&p, 64));
	SAY(cudaMalloc(&q, 64));
	if (kind == "address")
		bad_address<<<1, 32>>>((int *)0x100);
	else if (kind == "misaligned")
		misaligned<<<1, 1>>>(p);
	else if (kind == "trap")
		trap<<<1, 1>>>();
	else if (kind == "shape")
		good<<<1, 2048>>>((int *)p);
	else
		good<<<1, 1>>>((int *)p);
	printf("  launch: %s\n", cudaGetErrorName(cudaPeekAtLastError()));
	SAY(cudaDeviceSynchronize());
	SAY(cudaPeekAtLastError());
	SAY(cudaGetLastError());
	SAY(cudaGetLastError());
	SAY(cudaMemcpy(&value, p, 4, cudaMemcpyDeviceToHost));
	cudaStream_t s;
	cudaEvent_t e;
	int n, device;
	void *h;
	SAY(cudaStreamCreate(&s));
	SAY(cudaEventCreate(&e));
	SAY(cudaMallocHost(&h, 64));
	SAY(cudaFree(q));
	SAY(cudaStreamQuery(0));
	SAY(cudaGetDeviceCount(&n));
	SAY(cudaGetDevice(&device));
	SAY(cudaSetDevice(0));
	SAY(cudaDeviceGetAttribute(&n, cudaDevAttrWarpSize, 0));
	good<<<1, 1>>>((int *)p);
	SAY(cudaGetLastError());
	SAY(cudaDeviceReset());
	SAY(cudaGetLastError());
	SAY(cudaDeviceSynchronize());
	if (works())
		works();
	SAY(cudaDeviceReset());
	works();
}

// What of the state before a reset is there after it, where nothing was wrong.
static void again()
{
	int *p, seven = 7, out = 0;
	cudaStream_t s;

	SAY(cudaMalloc(&p, 4));
	SAY(cudaStreamCreate(&s));
	SAY(cudaMemcpyToSymbol(word, &seven, 4));
	SAY(cudaDeviceSetLimit(cudaLimitPrintfFifoSize, 2 << 20));
	SAY(cudaDeviceReset());
	SAY(cudaMemcpyFromSymbol(&out, word, 4));
	printf("  the variable: %d\n", out);
	SAY(cudaFree(p));
	SAY(cudaGetLastError());
	size_t limit = 0;
	SAY(cudaDeviceGetLimit(&limit, cudaLimitPrintfFifoSize));
	printf("  the limit: %zu\n", limit);
	works();
	SAY(cudaGetLastError());
}

int main()
{
	for (const char *kind : { "none", "address", "misaligned", "trap", "shape", "reset" }) {
		printf("%s\n", kind);
		fflush(stdout);
		if (!fork()) {
			if (!strcmp(kind, "reset"))
				again();
			else
				fault(kind);
			fflush(stdout);
			_exit(0);
		}
		wait(nullptr);
	}
	return 0;
}
