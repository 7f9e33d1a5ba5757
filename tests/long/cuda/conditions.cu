// Conditional nodes of graphs: if, else, while, switch, one in another, values at the start, and what is not allowed.
#include <cstdio>
#include <cuda_runtime.h>

#define OK(call)                                                                                                       \
	do {                                                                                                           \
		const cudaError_t is = (call);                                                                         \
		if (is != cudaSuccess)                                                                                 \
			printf("line %d: %s\n", __LINE__, cudaGetErrorName(is));                                       \
	} while (0)
#define SAY(call) printf("%s: %s\n", #call, cudaGetErrorName(call))

__global__ void set_from(cudaGraphConditionalHandle h, const int *p)
{
	cudaGraphSetConditional(h, *p);
}

__global__ void count_down(cudaGraphConditionalHandle h, int *p)
{
	*p -= 1;
	cudaGraphSetConditional(h, *p > 0);
}

__global__ void add(int *p, int v)
{
	*p += v;
}

static int *word;

static cudaGraphNode_t kernel(cudaGraph_t g, cudaGraphNode_t *after, void *fn, void **args)
{
	cudaKernelNodeParams k = {};
	cudaGraphNode_t n;

	k.func = fn;
	k.gridDim = k.blockDim = dim3(1);
	k.kernelParams = args;
	OK(cudaGraphAddKernelNode(&n, g, after, after ? 1 : 0, &k));
	return n;
}

static cudaGraph_t *condition(cudaGraph_t g, cudaGraphNode_t *after, cudaGraphConditionalHandle h,
			      cudaGraphConditionalNodeType type, unsigned size, cudaGraphNode_t *out = nullptr)
{
	cudaGraphNodeParams p = {};
	cudaGraphNode_t n;

	p.type = cudaGraphNodeTypeConditional;
	p.conditional.handle = h;
	p.conditional.type = type;
	p.conditional.size = size;
	OK(cudaGraphAddNode(&n, g, after, nullptr, after ? 1 : 0, &p));
	if (out)
		*out = n;
	return p.conditional.phGraph_out;
}

static void run(cudaGraphExec_t e, int start0, int start1)
{
	int now[2] = { start0, start1 };

	OK(cudaMemcpy(word, now, sizeof(now), cudaMemcpyHostToDevice));
	OK(cudaGraphLaunch(e, 0));
	OK(cudaDeviceSynchronize());
	OK(cudaMemcpy(now, word, sizeof(now), cudaMemcpyDeviceToHost));
	printf("from %d, %d to %d, %d\n", start0, start1, now[0], now[1]);
}

static cudaGraph_t made()
{
	cudaGraph_t g;

	OK(cudaGraphCreate(&g, 0));
	return g;
}

static cudaGraphConditionalHandle handle(cudaGraph_t g, unsigned value, unsigned flags)
{
	cudaGraphConditionalHandle h;

	OK(cudaGraphConditionalHandleCreate(&h, g, value, flags));
	return h;
}

static cudaGraphExec_t ready(cudaGraph_t g)
{
	cudaGraphExec_t e = nullptr;

	OK(cudaGraphInstantiate(&e, g, 0));
	return e;
}

// word[1] += v in a graph.
static cudaGraphNode_t adds(cudaGraph_t g, int v, cudaGraphNode_t *after = nullptr)
{
	int *at = word + 1;
	void *args[] = { &at, &v };

	return kernel(g, after, (void *)add, args);
}

static void ifs()
{
	cudaGraph_t g = made();
	cudaGraphConditionalHandle h = handle(g, 0, 0);
	void *args[] = { &h, &word };
	cudaGraphNode_t set = kernel(g, nullptr, (void *)set_from, args), node;
	cudaGraph_t *body = condition(g, &set, h, cudaGraphCondTypeIf, 2, &node);
	cudaGraphNodeType type;
	size_t count = 0;

	adds(body[0], 10);
	adds(body[1], 100);
	adds(g, 1000, &node);
	OK(cudaGraphNodeGetType(node, &type));
	OK(cudaGraphGetNodes(body[0], nullptr, &count));
	printf("if: type %d, %zu inside\n", (int)type, count);
	cudaGraphExec_t e = ready(g);
	run(e, 1, 0);
	run(e, 0, 0);
	run(e, 7, 5);
	OK(cudaGraphExecDestroy(e));
	OK(cudaGraphDestroy(g));
}

static void whiles()
{
	cudaGraph_t g = made();
	cudaGraphConditionalHandle h = handle(g, 1, cudaGraphCondAssignDefault);
	cudaGraph_t *body = condition(g, nullptr, h, cudaGraphCondTypeWhile, 1);
	void *args[] = { &h, &word };
	cudaGraphNode_t n = adds(body[0], 3);

	kernel(body[0], &n, (void *)count_down, args);
	printf("while\n");
	cudaGraphExec_t e = ready(g);
	run(e, 4, 0);
	run(e, 1, 0);
	run(e, 200, 0);
	OK(cudaGraphLaunch(e, 0));
	OK(cudaGraphLaunch(e, 0));
	OK(cudaGraphExecDestroy(e));
	OK(cudaDeviceSynchronize());
	OK(cudaGraphDestroy(g));
}

static void switches()
{
	cudaGraph_t g = made();
	cudaGraphConditionalHandle h = handle(g, 9, cudaGraphCondAssignDefault);
	void *args[] = { &h, &word };
	cudaGraphNode_t set = kernel(g, nullptr, (void *)set_from, args);
	cudaGraph_t *body = condition(g, &set, h, cudaGraphCondTypeSwitch, 3);

	for (int i = 0; i < 3; i++)
		adds(body[i], i + 1);
	printf("switch\n");
	cudaGraphExec_t e = ready(g);
	for (int i = 0; i < 5; i++)
		run(e, i, 0);
	OK(cudaGraphExecDestroy(e));
	OK(cudaGraphDestroy(g));
}

// A while whose body has an if that captures what a stream is given.
static void nested()
{
	cudaGraph_t g = made();
	cudaGraphConditionalHandle again = handle(g, 1, cudaGraphCondAssignDefault);
	cudaGraph_t *loop = condition(g, nullptr, again, cudaGraphCondTypeWhile, 1);
	cudaGraphConditionalHandle inner = handle(loop[0], 1, cudaGraphCondAssignDefault);
	void *args[] = { &again, &word };
	cudaGraphNode_t node, n = kernel(loop[0], nullptr, (void *)count_down, args);
	cudaGraph_t *choice = condition(loop[0], &n, inner, cudaGraphCondTypeIf, 1, &node);
	cudaStream_t s;

	OK(cudaStreamCreate(&s));
	OK(cudaStreamBeginCaptureToGraph(s, choice[0], nullptr, nullptr, 0, cudaStreamCaptureModeRelaxed));
	add<<<1, 1, 0, s>>>(word + 1, 2);
	add<<<1, 1, 0, s>>>(word + 1, 3);
	OK(cudaStreamEndCapture(s, nullptr));
	void *off[] = { &inner, &word };
	kernel(loop[0], &node, (void *)set_from, off);
	printf("nested\n");
	cudaGraphExec_t e = ready(g);
	run(e, 5, 0);
	run(e, 2, 0);
	OK(cudaGraphExecDestroy(e));
	OK(cudaGraphDestroy(g));
	OK(cudaStreamDestroy(s));
}

static void host(void *)
{
}

static void refused()
{
	cudaGraph_t g = made(), copy = nullptr;
	cudaGraphConditionalHandle h = handle(g, 0, 0);
	cudaGraphNodeParams p = {};
	cudaHostNodeParams call = { host, nullptr };
	cudaGraphNode_t n;
	cudaGraphExec_t e;

	p.type = cudaGraphNodeTypeConditional;
	p.conditional.handle = h;
	p.conditional.type = cudaGraphCondTypeWhile;
	p.conditional.size = 1;
	SAY(cudaGraphAddNode(&n, g, nullptr, nullptr, 0, &p));
	p.conditional.size = 2;
	SAY(cudaGraphAddNode(&n, g, nullptr, nullptr, 0, &p));
	p.conditional.size = 1;
	SAY(cudaGraphInstantiate(&e, g, 0));
	SAY(cudaGraphAddNode(&n, g, nullptr, nullptr, 0, &p));
	cudaGraph_t body = p.conditional.phGraph_out[0];
	SAY(cudaGraphAddNode(&n, g, nullptr, nullptr, 0, &p));
	SAY(cudaGraphDestroy(body));
	SAY(cudaGraphClone(&copy, g));
	SAY(cudaGraphAddHostNode(&n, body, nullptr, 0, &call));
	SAY(cudaGraphInstantiate(&e, g, 0));
	(void)cudaGetLastError();
	OK(cudaGraphDestroy(g));
}

// A changed body, taken over by what was instantiated.
static void updates()
{
	cudaGraphExec_t e;
	cudaGraphExecUpdateResultInfo info;
	cudaGraph_t g = made();
	cudaGraphConditionalHandle h = handle(g, 1, cudaGraphCondAssignDefault);
	cudaGraph_t *body = condition(g, nullptr, h, cudaGraphCondTypeIf, 1);
	cudaGraphNode_t n = adds(body[0], 5);
	cudaKernelNodeParams k = {};

	e = ready(g);
	run(e, 0, 0);
	int *at = word + 1, v = 6;
	void *args[] = { &at, &v };
	k.func = (void *)add;
	k.gridDim = k.blockDim = dim3(1);
	k.kernelParams = args;
	OK(cudaGraphKernelNodeSetParams(n, &k));
	run(e, 0, 0);
	const cudaError_t is = cudaGraphExecUpdate(e, g, &info);
	printf("update: %s, %d\n", cudaGetErrorName(is), (int)info.result);
	run(e, 0, 0);
	OK(cudaGraphExecDestroy(e));
	OK(cudaGraphDestroy(g));
}

int main()
{
	OK(cudaMalloc(&word, 2 * sizeof(int)));
	ifs();
	whiles();
	switches();
	nested();
	updates();
	refused();
	printf("end: %s\n", cudaGetErrorName(cudaDeviceSynchronize()));
	return 0;
}
