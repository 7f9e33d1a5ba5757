// what a program may not do while a stream is captured, and what becomes of the capture then
#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>
#include <functional>
#include <thread>
__global__ void add(int *p, int v)
{
	p[threadIdx.x] += v;
}
static int *p, *host;
static cudaStream_t s, t, other;
static cudaEvent_t event, before;
static const char *name(cudaError_t e)
{
	(void)cudaGetLastError();
	return cudaGetErrorName(e);
}
// Captures a kernel, does what is given, and ends it: prints what each gave.
static void during(const char *what, cudaStreamCaptureMode mode, cudaStream_t in, std::function<cudaError_t()> f)
{
	cudaGraph_t g = nullptr;
	cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
	size_t nodes = 0;
	cudaError_t begun = cudaStreamBeginCapture(in, mode);
	add<<<1, 32, 0, in>>>(p, 1);
	cudaError_t launched = cudaGetLastError();
	cudaError_t rc = f();
	(void)cudaGetLastError();
	cudaStreamIsCapturing(in, &status);
	add<<<1, 32, 0, in>>>(p, 1);
	cudaError_t again = cudaGetLastError();
	cudaError_t ended = cudaStreamEndCapture(in, &g);
	if (g)
		cudaGraphGetNodes(g, nullptr, &nodes);
	printf("%s: begin %s launch %s this %s status %d launch %s end %s nodes %zu", what, name(begun), name(launched),
	       name(rc), (int)status, name(again), name(ended), nodes);
	cudaStreamIsCapturing(in, &status);
	printf(" after %d sync %s\n", (int)status, name(cudaDeviceSynchronize()));
	if (g)
		cudaGraphDestroy(g);
}
static cudaError_t in_thread(std::function<cudaError_t()> f)
{
	cudaError_t rc;
	std::thread([&] { rc = f(); }).join();
	return rc;
}
static void nothing(void *)
{
}
int main()
{
	cudaStreamCaptureMode global = cudaStreamCaptureModeGlobal, local = cudaStreamCaptureModeThreadLocal,
			      relaxed = cudaStreamCaptureModeRelaxed;
	void *q;
	cudaGraph_t g = nullptr;
	unsigned long long id = 0;
	cudaMalloc(&p, 4096);
	cudaMallocHost(&host, 4096);
	cudaStreamCreate(&s);
	cudaStreamCreateWithFlags(&t, cudaStreamNonBlocking);
	cudaStreamCreate(&other);
	cudaEventCreate(&event);
	cudaEventCreate(&before);
	cudaEventRecord(before, other);
	cudaDeviceSynchronize();
	during("nothing", global, s, [&] { return cudaSuccess; });
	during("malloc", global, s, [&] { return cudaMalloc(&q, 64); });
	during("malloc, thread local", local, s, [&] { return cudaMalloc(&q, 64); });
	during("malloc, relaxed", relaxed, s, [&] { return cudaMalloc(&q, 64); });
	during("malloc of another thread", global, s, [&] { return in_thread([&] { return cudaMalloc(&q, 64); }); });
	during("malloc of another thread, thread local", local, s,
	       [&] { return in_thread([&] { return cudaMalloc(&q, 64); }); });
	during("malloc of a relaxed thread", global, s, [&] {
		cudaStreamCaptureMode mode = cudaStreamCaptureModeRelaxed;
		cudaThreadExchangeStreamCaptureMode(&mode);
		cudaError_t rc = cudaMalloc(&q, 64);
		cudaThreadExchangeStreamCaptureMode(&mode);
		return rc;
	});
	during("pinned malloc", global, s, [&] { return cudaMallocHost(&q, 64); });
	during("free", global, s, [&] { return cudaFree(q); });
	during("query of another event", global, s, [&] { return cudaEventQuery(before); });
	during("query of another event, relaxed", relaxed, s, [&] { return cudaEventQuery(before); });
	during("wait for another event", global, s, [&] { return cudaEventSynchronize(before); });
	during("stream synchronize", global, s, [&] { return cudaStreamSynchronize(s); });
	during("stream synchronize, relaxed", relaxed, s, [&] { return cudaStreamSynchronize(s); });
	during("stream query", global, s, [&] { return cudaStreamQuery(s); });
	during("synchronize another stream", global, s, [&] { return cudaStreamSynchronize(other); });
	during("query of another stream", global, s, [&] { return cudaStreamQuery(other); });
	during("synchronize another stream, relaxed", relaxed, s, [&] { return cudaStreamSynchronize(other); });
	during("device synchronize", global, s, [&] { return cudaDeviceSynchronize(); });
	during("device synchronize, relaxed", relaxed, s, [&] { return cudaDeviceSynchronize(); });
	during("memcpy", global, s, [&] { return cudaMemcpy(p, host, 64, cudaMemcpyHostToDevice); });
	during("memcpy, relaxed", relaxed, s, [&] { return cudaMemcpy(p, host, 64, cudaMemcpyHostToDevice); });
	during("memcpy, relaxed, non-blocking", relaxed, t,
	       [&] { return cudaMemcpy(p, host, 64, cudaMemcpyHostToDevice); });
	during("memset", relaxed, s, [&] { return cudaMemset(p, 0, 64); });
	during("launch into the legacy stream", relaxed, s, [&] {
		add<<<1, 32>>>(p, 1);
		return cudaGetLastError();
	});
	during("launch into the legacy stream, non-blocking", global, t, [&] {
		add<<<1, 32>>>(p, 1);
		return cudaGetLastError();
	});
	during("launch into another stream", global, s, [&] {
		add<<<1, 32, 0, other>>>(p, 1);
		return cudaGetLastError();
	});
	during("stream create", global, s, [&] {
		cudaStream_t n;
		return cudaStreamCreate(&n);
	});
	during("event create", global, s, [&] {
		cudaEvent_t n;
		return cudaEventCreate(&n);
	});
	during("fork", global, s, [&] {
		cudaEventRecord(event, s);
		return cudaStreamWaitEvent(other, event, 0);
	});
	during("fork and work, not joined", global, s, [&] {
		cudaEventRecord(event, s);
		cudaStreamWaitEvent(other, event, 0);
		add<<<1, 32, 0, other>>>(p, 1);
		return cudaGetLastError();
	});
	during("fork and join", global, s, [&] {
		cudaEventRecord(event, s);
		cudaStreamWaitEvent(other, event, 0);
		add<<<1, 32, 0, other>>>(p, 1);
		cudaEventRecord(event, other);
		return cudaStreamWaitEvent(s, event, 0);
	});
	during("query of a captured event", relaxed, s, [&] {
		cudaEventRecord(event, s);
		return cudaEventQuery(event);
	});
	during("wait for a captured event", relaxed, s, [&] {
		cudaEventRecord(event, s);
		return cudaEventSynchronize(event);
	});
	printf("after the capture: query %s\n", name(cudaEventQuery(event)));
	printf("after the capture: wait in a stream %s\n", name(cudaStreamWaitEvent(t, event, 0)));
	during("an event of before", global, s, [&] { return cudaStreamWaitEvent(s, before, 0); });
	during("an event of before, external", global, s,
	       [&] { return cudaStreamWaitEvent(s, before, cudaEventWaitExternal); });
	during("the legacy stream waits", global, s, [&] {
		cudaEventRecord(event, s);
		return cudaStreamWaitEvent(nullptr, event, 0);
	});
	during("begin again", global, s, [&] { return cudaStreamBeginCapture(s, global); });
	during("another capture merges", global, s, [&] {
		cudaGraph_t h = nullptr;
		cudaStreamBeginCapture(t, global);
		cudaEventRecord(event, s);
		cudaError_t rc = cudaStreamWaitEvent(t, event, 0);
		(void)cudaGetLastError();
		printf("[the other's end %s] ", name(cudaStreamEndCapture(t, &h)));
		return rc;
	});
	during("end of a forked stream", global, s, [&] {
		cudaGraph_t h = nullptr;
		cudaEventRecord(event, s);
		cudaStreamWaitEvent(other, event, 0);
		return cudaStreamEndCapture(other, &h);
	});
	during("end by another thread", global, s, [&] {
		return in_thread([&] {
			cudaGraph_t h = nullptr;
			return cudaStreamEndCapture(s, &h);
		});
	});
	during("end by another thread, relaxed", relaxed, s, [&] {
		return in_thread([&] {
			cudaGraph_t h = nullptr;
			return cudaStreamEndCapture(s, &h);
		});
	});
	during("callback", global, s, [&] {
		return cudaStreamAddCallback(
		    s, [](cudaStream_t, cudaError_t, void *) {}, nullptr, 0);
	});
	during("host function", global, s, [&] { return cudaLaunchHostFunc(s, nothing, nullptr); });
	during("pageable copy", global, s, [&] {
		static int pageable[16];
		return cudaMemcpyAsync(p, pageable, 64, cudaMemcpyHostToDevice, s);
	});
	during("stream destroy", global, t, [&] {
		cudaStream_t n;
		cudaStreamCreateWithFlags(&n, cudaStreamNonBlocking);
		cudaEventRecord(event, t);
		cudaStreamWaitEvent(n, event, 0);
		return cudaStreamDestroy(n);
	});
	printf("begin in the legacy stream: %s\n", name(cudaStreamBeginCapture(nullptr, global)));
	printf("begin in the thread's: %s", name(cudaStreamBeginCapture(cudaStreamPerThread, global)));
	printf(" end %s\n", name(cudaStreamEndCapture(cudaStreamPerThread, &g)));
	printf("end without begin: %s, graph is null %d\n", name(cudaStreamEndCapture(s, &g)), g == nullptr);
	cudaStreamBeginCapture(s, global);
	cudaStreamCaptureStatus status;
	const cudaGraphNode_t *nodes;
	size_t count = 99;
	printf("info %s", name(cudaStreamGetCaptureInfo(s, &status, &id, &g, &nodes, nullptr, &count)));
	printf(" status %d count %zu", (int)status, count);
	add<<<1, 32, 0, s>>>(p, 1);
	cudaStreamGetCaptureInfo(s, &status, nullptr, nullptr, &nodes, nullptr, &count);
	printf(" then %zu", count);
	cudaGraphNode_t node;
	cudaGraphAddEmptyNode(&node, g, nodes, count);
	printf(" update %s", name(cudaStreamUpdateCaptureDependencies(s, &node, nullptr, 1, 0)));
	cudaStreamGetCaptureInfo(s, &status, nullptr, nullptr, &nodes, nullptr, &count);
	printf(" then %zu", count);
	printf(" set %s", name(cudaStreamUpdateCaptureDependencies(s, &node, nullptr, 1, 1)));
	cudaStreamGetCaptureInfo(s, &status, nullptr, nullptr, &nodes, nullptr, &count);
	printf(" then %zu end %s\n", count, name(cudaStreamEndCapture(s, &g)));
	cudaDeviceSynchronize();
	printf("end %s\n", cudaGetErrorName(cudaGetLastError()));
	return 0;
}
