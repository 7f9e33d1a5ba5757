// graphs: by hand and by capture, their order, changes of what was instantiated, clones
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
#define N 4096
__global__ void add(int *p, int v)
{
	p[blockIdx.x * blockDim.x + threadIdx.x] += v;
}
__global__ void mul(int *p, int v)
{
	p[blockIdx.x * blockDim.x + threadIdx.x] *= v;
}
__global__ void join(int *to, const int *a, const int *b)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	to[i] = a[i] - b[i];
}
struct note {
	int calls, last;
	int *host;
};
static void look(void *arg)
{
	note *n = (note *)arg;
	n->calls++;
	n->last = n->host[7];
}
static long sum(const int *p)
{
	long s = 0;
	for (int i = 0; i < N; i++)
		s += (long)p[i] * (i % 5 + 1);
	return s;
}
static int *a, *b, *c, *host;

static int by_hand(cudaStream_t s)
{
	cudaGraph_t g, copy;
	cudaGraphNode_t fill_a, fill_b, add_a, mul_a, add_b, both, down, call, empty;
	int three = 3, four = 4, nine = 9;
	void *a3[] = { &a, &three }, *a4[] = { &a, &four }, *b9[] = { &b, &nine }, *all[] = { &c, &a, &b };
	note n = { 0, 0, host };
	CK(cudaGraphCreate(&g, 0));
	cudaMemsetParams m = {};
	m.dst = a;
	m.elementSize = 4;
	m.value = 5;
	m.width = N;
	m.height = 1;
	CK(cudaGraphAddMemsetNode(&fill_a, g, nullptr, 0, &m));
	m.dst = b;
	m.value = 1;
	CK(cudaGraphAddMemsetNode(&fill_b, g, nullptr, 0, &m));
	cudaKernelNodeParams k = {};
	k.func = (void *)add;
	k.gridDim = dim3(N / 256);
	k.blockDim = dim3(256);
	k.kernelParams = a3;
	CK(cudaGraphAddKernelNode(&add_a, g, &fill_a, 1, &k));
	k.func = (void *)mul;
	k.kernelParams = a4;
	CK(cudaGraphAddKernelNode(&mul_a, g, nullptr, 0, &k));
	CK(cudaGraphAddDependencies(g, &add_a, &mul_a, nullptr, 1));
	k.func = (void *)add;
	k.kernelParams = b9;
	CK(cudaGraphAddKernelNode(&add_b, g, &fill_b, 1, &k));
	cudaGraphNode_t two[] = { mul_a, add_b };
	CK(cudaGraphAddEmptyNode(&empty, g, two, 2));
	k.func = (void *)join;
	k.kernelParams = all;
	CK(cudaGraphAddKernelNode(&both, g, &empty, 1, &k));
	CK(cudaGraphAddMemcpyNode1D(&down, g, &both, 1, host, c, N * sizeof(int), cudaMemcpyDeviceToHost));
	cudaHostNodeParams h = { look, &n };
	CK(cudaGraphAddHostNode(&call, g, &down, 1, &h));

	size_t nodes = 0, edges = 0, roots = 0, of = 0, to = 0;
	CK(cudaGraphGetNodes(g, nullptr, &nodes));
	CK(cudaGraphGetEdges(g, nullptr, nullptr, nullptr, &edges));
	CK(cudaGraphGetRootNodes(g, nullptr, &roots));
	CK(cudaGraphNodeGetDependencies(empty, nullptr, nullptr, &of));
	CK(cudaGraphNodeGetDependentNodes(add_a, nullptr, nullptr, &to));
	printf("nodes %zu edges %zu roots %zu, empty waits for %zu, add has %zu\n", nodes, edges, roots, of, to);
	cudaGraphNodeType type;
	CK(cudaGraphNodeGetType(down, &type));
	cudaKernelNodeParams is;
	CK(cudaGraphKernelNodeGetParams(add_b, &is));
	printf("type %d, kernel is add: %d, grid %u, argument %d\n", (int)type, is.func == (void *)add, is.gridDim.x,
	       *(int *)is.kernelParams[1]);

	cudaGraphExec_t e;
	CK(cudaGraphInstantiate(&e, g, 0));
	for (int i = 0; i < 3; i++)
		CK(cudaGraphLaunch(e, s));
	CK(cudaStreamSynchronize(s));
	printf("sum %ld, called %d, saw %d\n", sum(host), n.calls, n.last);

	// What is instantiated changes alone
	int ten = 10;
	void *a10[] = { &a, &ten };
	k.func = (void *)add;
	k.kernelParams = a10;
	CK(cudaGraphExecKernelNodeSetParams(e, mul_a, &k));
	m.dst = b;
	m.value = 2;
	CK(cudaGraphExecMemsetNodeSetParams(e, fill_b, &m));
	CK(cudaGraphLaunch(e, s));
	CK(cudaStreamSynchronize(s));
	printf("sum %ld, saw %d\n", sum(host), n.last);
	CK(cudaGraphNodeSetEnabled(e, add_b, 0));
	CK(cudaGraphLaunch(e, s));
	CK(cudaStreamSynchronize(s));
	printf("without add: saw %d\n", n.last);

	// and is changed back by the graph
	CK(cudaGraphNodeSetEnabled(e, add_b, 1));
	cudaGraphExecUpdateResultInfo info;
	CK(cudaGraphExecUpdate(e, g, &info));
	CK(cudaGraphLaunch(e, s));
	CK(cudaStreamSynchronize(s));
	printf("update %d: saw %d\n", (int)info.result, n.last);
	CK(cudaGraphClone(&copy, g));
	cudaGraphNode_t there;
	CK(cudaGraphNodeFindInClone(&there, mul_a, copy));
	CK(cudaGraphDestroyNode(there));
	CK(cudaGraphGetNodes(copy, nullptr, &nodes));
	CK(cudaGraphGetEdges(copy, nullptr, nullptr, nullptr, &edges));
	printf("clone: nodes %zu edges %zu\n", nodes, edges);
	cudaError_t rc = cudaGraphExecUpdate(e, copy, &info);
	printf("update with another shape: %s, result %d\n", cudaGetErrorName(rc), (int)info.result);
	(void)cudaGetLastError();

	// a graph in a graph
	cudaGraph_t outer;
	cudaGraphNode_t child, after;
	cudaGraphExec_t f;
	CK(cudaGraphCreate(&outer, 0));
	CK(cudaGraphAddChildGraphNode(&child, outer, nullptr, 0, g));
	int *pc = c;
	void *c3[] = { &pc, &three };
	k.func = (void *)mul;
	k.kernelParams = c3;
	CK(cudaGraphAddKernelNode(&after, outer, &child, 1, &k));
	CK(cudaGraphInstantiate(&f, outer, 0));
	CK(cudaGraphLaunch(f, s));
	CK(cudaMemcpyAsync(host, c, N * sizeof(int), cudaMemcpyDeviceToHost, s));
	CK(cudaStreamSynchronize(s));
	printf("in another: sum %ld, called %d, saw %d\n", sum(host), n.calls, n.last);
	CK(cudaGraphExecDestroy(e));
	CK(cudaGraphExecDestroy(f));
	CK(cudaGraphDestroy(outer));
	CK(cudaGraphDestroy(copy));
	CK(cudaGraphDestroy(g));
	return 0;
}

// Two streams, forked and joined by events, as a program captures what it does anyway.
static int by_capture(cudaStream_t s, cudaStream_t t)
{
	cudaEvent_t fork, joined, outside;
	cudaGraph_t g;
	cudaGraphExec_t e;
	note n = { 0, 0, host };
	CK(cudaEventCreateWithFlags(&fork, cudaEventDisableTiming));
	CK(cudaEventCreateWithFlags(&joined, cudaEventDisableTiming));
	CK(cudaEventCreateWithFlags(&outside, cudaEventDisableTiming));
	CK(cudaMemset(c, 0x11, N * sizeof(int)));
	CK(cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal));
	CK(cudaMemsetAsync(a, 0, N * sizeof(int), s));
	CK(cudaEventRecord(fork, s));
	CK(cudaStreamWaitEvent(t, fork, 0));
	cudaStreamCaptureStatus status;
	CK(cudaStreamIsCapturing(t, &status));
	for (int i = 1; i <= 4; i++) {
		add<<<N / 256, 256, 0, s>>>(a, i);
		mul<<<N / 256, 256, 0, s>>>(a, 2);
	}
	CK(cudaMemsetAsync(b, 0, N * sizeof(int), t));
	add<<<N / 256, 256, 0, t>>>(b, 7);
	CK(cudaEventRecord(joined, t));
	CK(cudaStreamWaitEvent(s, joined, 0));
	join<<<N / 256, 256, 0, s>>>(c, a, b);
	CK(cudaMemcpyAsync(host, c, N * sizeof(int), cudaMemcpyDeviceToHost, s));
	CK(cudaLaunchHostFunc(s, look, &n));
	CK(cudaEventRecordWithFlags(outside, s, cudaEventRecordExternal));
	CK(cudaStreamEndCapture(s, &g));
	size_t nodes = 0, edges = 0;
	CK(cudaGraphGetNodes(g, nullptr, &nodes));
	CK(cudaGraphGetEdges(g, nullptr, nullptr, nullptr, &edges));
	int first;
	CK(cudaMemcpy(&first, c, 4, cudaMemcpyDeviceToHost));
	printf("captured: forked %d, nodes %zu edges %zu, nothing done yet: %d\n", (int)status, nodes, edges,
	       first == 0x11111111 && n.calls == 0);
	CK(cudaGraphInstantiate(&e, g, 0));
	for (int i = 0; i < 5; i++)
		CK(cudaGraphLaunch(e, i % 2 ? t : s));
	CK(cudaEventSynchronize(outside));
	CK(cudaDeviceSynchronize());
	printf("sum %ld, called %d, saw %d\n", sum(host), n.calls, n.last);
	CK(cudaGraphExecDestroy(e));
	CK(cudaGraphDestroy(g));
	return 0;
}

int main()
{
	cudaStream_t s, t;
	CK(cudaMalloc(&a, N * sizeof(int)));
	CK(cudaMalloc(&b, N * sizeof(int)));
	CK(cudaMalloc(&c, N * sizeof(int)));
	CK(cudaMallocHost(&host, N * sizeof(int)));
	CK(cudaStreamCreate(&s));
	CK(cudaStreamCreateWithFlags(&t, cudaStreamNonBlocking));
	return by_hand(s) || by_capture(s, t);
}
