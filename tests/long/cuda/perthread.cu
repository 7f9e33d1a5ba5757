// Compiled with -default-stream per-thread: stream 0 is each thread's own, in all calls of the runtime and the driver's.
#include <atomic>
#include <cstdio>
#include <cstring>
#include <cuda.h>
#include <cuda_runtime.h>
#include <thread>

#define OK(call)                                                                                                       \
	do {                                                                                                           \
		const int error_ = (int)(call);                                                                            \
		if (error_)                                                                                            \
			printf("line %d: %s\n", __LINE__, cudaGetErrorName((cudaError_t)error_));                      \
	} while (0)

__device__ int global_word;

__global__ void until(volatile int *flag)
{
	while (!*flag)
		;
}

__global__ void fill(int *p, int v, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < n)
		p[i] = v + i;
}

__global__ void read_global(int *out)
{
	*out = global_word;
}

static void host(void *arg)
{
	*(std::atomic<int> *)arg += 1;
}

// Works while another thread's stream 0 spins, by every call that has a variant of its own.
static void work(int id, int *result)
{
	const int n = 1000;
	int *p, *q, out[8][16];
	std::atomic<int> called(0);
	cudaEvent_t a, b;
	unsigned long long own, other;
	size_t pitch;

	OK(cudaMalloc(&p, n * sizeof(int)));
	OK(cudaMallocPitch(&q, &pitch, 64, 8));
	fill<<<(n + 127) / 128, 128>>>(p, id, n);
	OK(cudaMemcpy(out[0], p, 16 * sizeof(int), cudaMemcpyDeviceToHost));
	*result = out[0][3];
	OK(cudaMemset(p, 1, 64));
	OK(cudaMemcpy2D(q, pitch, p, 16, 16, 4, cudaMemcpyDeviceToDevice));
	OK(cudaMemcpy2D(out, 64, q, pitch, 16, 4, cudaMemcpyDeviceToHost));
	*result += out[3][3] == 0x01010101 ? 1000 : 0;
	OK(cudaMemset2D(q, pitch, 2, 8, 8));
	OK(cudaMemset3D(make_cudaPitchedPtr(q, pitch, 64, 8), 3, make_cudaExtent(4, 2, 1)));
	cudaMemcpy3DParms v = {};
	v.srcPtr = make_cudaPitchedPtr(q, pitch, 64, 8);
	v.dstPtr = make_cudaPitchedPtr(out, 64, 64, 8);
	v.extent = make_cudaExtent(8, 8, 1);
	v.kind = cudaMemcpyDeviceToHost;
	OK(cudaMemcpy3D(&v));
	*result += out[1][0] == 0x03030303 && out[1][1] == 0x02020202 && out[7][0] == 0x02020202 ? 10000 : 0;
	OK(cudaMemcpyToSymbol(global_word, &id, sizeof(id)));
	OK(cudaMemcpyToSymbolAsync(global_word, &id, sizeof(id)));
	read_global<<<1, 1>>>(p);
	OK(cudaMemcpyFromSymbol(&out[0][0], global_word, sizeof(int)));
	OK(cudaMemcpyAsync(&out[0][1], p, sizeof(int), cudaMemcpyDeviceToHost));
	OK(cudaEventCreate(&a));
	OK(cudaEventCreate(&b));
	OK(cudaEventRecord(a));
	OK(cudaLaunchHostFunc(0, host, &called));
	OK(cudaEventRecord(b));
	OK(cudaEventSynchronize(b));
	*result += called == 1 && out[0][0] == id && out[0][1] == id ? 100000 : 0;
	OK(cudaStreamGetId(0, &own));
	OK(cudaStreamGetId(cudaStreamLegacy, &other));
	*result += own != other ? 1000000 : 0;
	OK(cudaStreamSynchronize(0));
	OK(cudaEventDestroy(a));
	OK(cudaEventDestroy(b));
	// The memory is left: freeing waits for all that runs.
}

static void capture()
{
	cudaGraph_t g;
	cudaGraphExec_t e;
	size_t nodes = 0;
	int *p, out = 0;
	cudaStreamCaptureStatus is;

	OK(cudaMalloc(&p, 64));
	OK(cudaStreamBeginCapture(0, cudaStreamCaptureModeThreadLocal));
	fill<<<1, 1>>>(p, 5, 1);
	OK(cudaMemsetAsync(p + 1, 0, 4));
	OK(cudaStreamIsCapturing(0, &is));
	OK(cudaStreamEndCapture(0, &g));
	OK(cudaGraphGetNodes(g, nullptr, &nodes));
	OK(cudaGraphInstantiate(&e, g, 0));
	OK(cudaGraphLaunch(e, 0));
	OK(cudaMemcpy(&out, p, 4, cudaMemcpyDeviceToHost));
	printf("capture: status %d, %zu nodes, %d\n", (int)is, nodes, out);
	printf("legacy: %s\n", cudaGetErrorName(cudaStreamBeginCapture(cudaStreamLegacy, cudaStreamCaptureModeGlobal)));
	(void)cudaGetLastError();
	OK(cudaGraphExecDestroy(e));
	OK(cudaGraphDestroy(g));
}

// The driver's calls: compiled as cuX_ptsz, and asked for by name.
static void driver()
{
	CUdeviceptr p;
	unsigned long long own = 0, asked = 1, legacy = 0;
	unsigned out[4] = {};
	void *fn = nullptr, *plain = nullptr;
	cudaDriverEntryPointQueryResult found;

	OK(cuMemAlloc(&p, 64));
	OK(cuMemsetD32(p, 7, 4));
	OK(cuMemsetD16Async(p, 1, 2, 0));
	OK(cuMemcpyDtoH(out, p, sizeof(out)));
	OK(cuStreamWriteValue32(0, p, 9, 0));
	OK(cuStreamWaitValue32(0, p, 9, CU_STREAM_WAIT_VALUE_EQ));
	OK(cuMemcpyDtoHAsync(out + 2, p, 4, 0));
	OK(cuStreamSynchronize(0));
	printf("driver: %x %x %x %x\n", out[0], out[1], out[2], out[3]);
	OK(cuStreamGetId(0, &own));
	OK(cudaGetDriverEntryPointByVersion("cuStreamGetId", &fn, 12000, cudaEnableDefault, &found));
	OK(((CUresult(*)(CUstream, unsigned long long *))fn)(0, &asked));
	OK(cudaGetDriverEntryPointByVersion("cuStreamGetId", &plain, 12000, cudaEnableLegacyStream, &found));
	OK(((CUresult(*)(CUstream, unsigned long long *))plain)(0, &legacy));
	printf("driver: own by name %d, legacy by name %d\n", own == asked, own == legacy);
	OK(cuMemFree(p));
}

int main()
{
	int *flag, results[3] = {};

	OK(cudaFree(0));
	OK(cudaMallocHost(&flag, sizeof(int)));
	*flag = 1;
	// All is loaded before a kernel spins.
	until<<<1, 1>>>(flag);
	work(1, &results[0]);
	*flag = 0;
	until<<<1, 1>>>(flag);
	printf("main spins: %s\n", cudaGetErrorName(cudaStreamQuery(0)));
	std::thread(work, 10, &results[0]).join();
	std::thread(work, 20, &results[1]).join();
	std::thread(work, 30, &results[2]).join();
	printf("threads: %d %d %d\n", results[0], results[1], results[2]);
	printf("main spins: %s\n", cudaGetErrorName(cudaStreamQuery(0)));
	*(volatile int *)flag = 1;
	OK(cudaStreamSynchronize(0));
	(void)cudaGetLastError();
	capture();
	driver();
	printf("end: %s\n", cudaGetErrorName(cudaDeviceSynchronize()));
	return 0;
}
