/*
 * Graphs and capture by the driver API, with a kernel that is here as PTX: order by edges, changes of what was
 * instantiated, graphs in graphs, objects that live as long, memory of graphs, and what may not be done while a stream
 * is captured. It is linked with nothing; test_exec_cuda.sh runs it under `belfry exec --gpu`. What it found wrong
 * first ends it with exit code 1.
 */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/tools/need.h"

/* *p = *p * factor + add, by one thread. */
static const char step_ptx[] =
    ".version 8.0\n.target sm_90\n.address_size 64\n"
    ".visible .entry step(.param .u64 p, .param .u32 factor, .param .u32 add)\n{\n"
    "	.reg .b32 %r<5>;\n	.reg .b64 %rd<2>;\n"
    "	ld.param.u64 %rd1, [p];\n	ld.param.u32 %r1, [factor];\n"
    "	ld.param.u32 %r2, [add];\n	ld.global.u32 %r3, [%rd1];\n"
    "	mad.lo.u32 %r4, %r3, %r1, %r2;\n	st.global.u32 [%rd1], %r4;\n	ret;\n}\n";

/* *p -= 1, *total += 2, and the condition is whether *p is above 0. */
static const char turn_ptx[] =
    ".version 8.0\n.target sm_90\n.address_size 64\n"
    ".extern .func cudaGraphSetConditional(.param .b64 h, .param .b32 v);\n"
    ".visible .entry turn(.param .u64 handle, .param .u64 p, .param .u64 total)\n{\n"
    "	.reg .b32 %r<4>;\n	.reg .b64 %rd<4>;\n	.reg .pred %p<2>;\n"
    "	ld.param.u64 %rd1, [handle];\n	ld.param.u64 %rd2, [p];\n	ld.param.u64 %rd3, [total];\n"
    "	ld.global.u32 %r1, [%rd2];\n	sub.s32 %r1, %r1, 1;\n	st.global.u32 [%rd2], %r1;\n"
    "	red.global.add.u32 [%rd3], 2;\n	setp.gt.s32 %p1, %r1, 0;\n	selp.u32 %r2, 1, 0, %p1;\n"
    "	{\n	.param .b64 a;\n	.param .b32 b;\n	st.param.b64 [a], %rd1;\n	st.param.b32 [b], "
    "%r2;\n"
    "	call.uni cudaGraphSetConditional, (a, b);\n	}\n	ret;\n}\n";

struct kernel {
	void *fn;
	unsigned grid[3], block[3], shared;
	void **params, **extra;
	void *kernel, *context;
};

struct fill {
	uint64_t at;
	size_t pitch;
	unsigned value, size;
	size_t width, height;
};

struct handle {
	unsigned char bytes[64];
};

/* CUDA_MEM_ALLOC_NODE_PARAMS, CUDA_BATCH_MEM_OP_NODE_PARAMS, CUstreamBatchMemOpParams */
struct alloc {
	int type, handles, where, device;
	void *windows;
	size_t most;
	unsigned char rest[56];
	const void *access;
	size_t access_count, size;
	uint64_t at;
};

struct word_op {
	uint64_t what, at, value, flags, rest[2];
};

struct words {
	void *context;
	unsigned count;
	const struct word_op *ops;
	unsigned flags;
};

static struct {
	int (*init)(unsigned), (*retain)(void **, int), (*set)(void *);
	int (*push)(void *), (*pop)(void **), (*current)(void **);
	int (*load)(void **, const void *), (*get)(void **, void *, const char *);
	int (*allocate)(uint64_t *, size_t), (*allocate_async)(uint64_t *, size_t, void *),
	    (*free_async)(uint64_t, void *);
	int (*read)(void *, uint64_t, size_t), (*read_async)(void *, uint64_t, size_t, void *);
	int (*fill)(uint64_t, unsigned, size_t, void *);
	int (*stream)(void **, unsigned), (*wait)(void *), (*all)(void);
	int (*event)(void **, unsigned), (*record)(void *, void *), (*wait_event)(void *, void *, unsigned);
	int (*query)(void *), (*event_gone)(void *);
	int (*launch)(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *, void **,
		      void **);
	int (*call)(void *, void (*)(void *), void *);
	int (*graph)(void **, unsigned), (*graph_gone)(void *), (*clone)(void **, void *);
	int (*add_kernel)(void **, void *, void *const *, size_t, const struct kernel *);
	int (*add_fill)(void **, void *, void *const *, size_t, const struct fill *, void *);
	int (*add_child)(void **, void *, void *const *, size_t, void *);
	int (*add_alloc)(void **, void *, void *const *, size_t, struct alloc *);
	int (*add_free)(void **, void *, void *const *, size_t, uint64_t);
	int (*add_words)(void **, void *, void *const *, size_t, const struct words *);
	int (*memory)(int, int, void *), (*set_memory)(int, int, const void *);
	int (*depend)(void *, void *const *, void *const *, size_t), (*nodes)(void *, void **, size_t *);
	int (*instantiate)(void **, void *, unsigned long long), (*start)(void *, void *), (*exec_gone)(void *);
	int (*set_kernel)(void *, void *, const struct kernel *), (*update)(void *, void *, void *);
	int (*enable)(void *, void *, unsigned);
	int (*begin)(void *, int), (*end)(void *, void **), (*capturing)(void *, int *), (*mode)(int *);
	int (*object)(void **, void *, void (*)(void *), unsigned, unsigned);
	int (*give)(void *, void *, unsigned, unsigned);
	int (*ipc_get)(void *, void *), (*ipc_open)(void **, struct handle), (*synchronize)(void *);
	int (*wait_value)(void *, uint64_t, unsigned, unsigned), (*write_value)(void *, uint64_t, unsigned, unsigned);
	int (*add_node)(void **, void *, void *const *, const void *, size_t, void *);
	int (*handle)(uint64_t *, void *, void *, unsigned, unsigned), (*write)(uint64_t, const void *, size_t);
	int (*limit)(int, size_t), (*get_limit)(size_t *, int), (*attribute)(int *, int, void *);
} cu;

static void load(void)
{
	const struct {
		const char *name;
		void *to;
	} wanted[] = {
		{ "cuInit", &cu.init },
		{ "cuDevicePrimaryCtxRetain", &cu.retain },
		{ "cuCtxSetCurrent", &cu.set },
		{ "cuCtxPushCurrent_v2", &cu.push },
		{ "cuCtxPopCurrent_v2", &cu.pop },
		{ "cuCtxGetCurrent", &cu.current },
		{ "cuModuleLoadData", &cu.load },
		{ "cuModuleGetFunction", &cu.get },
		{ "cuMemAlloc_v2", &cu.allocate },
		{ "cuMemAllocAsync", &cu.allocate_async },
		{ "cuMemFreeAsync", &cu.free_async },
		{ "cuGraphAddNode_v2", &cu.add_node },
		{ "cuGraphConditionalHandleCreate", &cu.handle },
		{ "cuMemcpyHtoD_v2", &cu.write },
		{ "cuMemcpyDtoH_v2", &cu.read },
		{ "cuMemcpyDtoHAsync_v2", &cu.read_async },
		{ "cuMemsetD32Async", &cu.fill },
		{ "cuStreamCreate", &cu.stream },
		{ "cuStreamSynchronize", &cu.wait },
		{ "cuCtxSynchronize", &cu.all },
		{ "cuEventCreate", &cu.event },
		{ "cuEventRecord", &cu.record },
		{ "cuStreamWaitEvent", &cu.wait_event },
		{ "cuEventQuery", &cu.query },
		{ "cuEventDestroy_v2", &cu.event_gone },
		{ "cuLaunchKernel", &cu.launch },
		{ "cuLaunchHostFunc", &cu.call },
		{ "cuGraphCreate", &cu.graph },
		{ "cuGraphDestroy", &cu.graph_gone },
		{ "cuGraphClone", &cu.clone },
		{ "cuGraphAddKernelNode_v2", &cu.add_kernel },
		{ "cuGraphAddMemsetNode", &cu.add_fill },
		{ "cuGraphAddChildGraphNode", &cu.add_child },
		{ "cuGraphAddMemAllocNode", &cu.add_alloc },
		{ "cuGraphAddMemFreeNode", &cu.add_free },
		{ "cuGraphAddBatchMemOpNode", &cu.add_words },
		{ "cuDeviceGetGraphMemAttribute", &cu.memory },
		{ "cuDeviceSetGraphMemAttribute", &cu.set_memory },
		{ "cuGraphAddDependencies", &cu.depend },
		{ "cuGraphGetNodes", &cu.nodes },
		{ "cuGraphInstantiateWithFlags", &cu.instantiate },
		{ "cuGraphLaunch", &cu.start },
		{ "cuGraphExecDestroy", &cu.exec_gone },
		{ "cuGraphExecKernelNodeSetParams_v2", &cu.set_kernel },
		{ "cuGraphExecUpdate_v2", &cu.update },
		{ "cuGraphNodeSetEnabled", &cu.enable },
		{ "cuStreamBeginCapture_v2", &cu.begin },
		{ "cuStreamEndCapture", &cu.end },
		{ "cuStreamIsCapturing", &cu.capturing },
		{ "cuThreadExchangeStreamCaptureMode", &cu.mode },
		{ "cuUserObjectCreate", &cu.object },
		{ "cuGraphRetainUserObject", &cu.give },
		{ "cuIpcGetEventHandle", &cu.ipc_get },
		{ "cuIpcOpenEventHandle", &cu.ipc_open },
		{ "cuEventSynchronize", &cu.synchronize },
		{ "cuStreamWaitValue32_v2", &cu.wait_value },
		{ "cuStreamWriteValue32_v2", &cu.write_value },
		{ "cuCtxSetLimit", &cu.limit },
		{ "cuCtxGetLimit", &cu.get_limit },
		{ "cuFuncGetAttribute", &cu.attribute },
	};
	void *library = dlopen("libcuda.so.1", RTLD_NOW), *context;

	NEED(library, dlerror());
	for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++) {
		void *found = dlsym(library, wanted[i].name);

		NEED(found, wanted[i].name);
		memcpy(wanted[i].to, &found, sizeof(found));
	}
	NEED(!cu.init(0) && !cu.retain(&context, 0) && !cu.set(context), "a context");
}

static void *step, *one, *two;
static uint64_t word, other;

static uint32_t value(uint64_t at)
{
	uint32_t v = 0;

	NEED(!cu.read(&v, at, 4), "cuMemcpyDtoH");
	return v;
}

/* A node of *at = *at * factor + add. */
static void *add(void *graph, uint64_t at, unsigned factor, unsigned plus, void *const *from, size_t count)
{
	void *args[] = { &at, &factor, &plus }, *node;
	const struct kernel k = { .fn = step, .grid = { 1, 1, 1 }, .block = { 1, 1, 1 }, .params = args };

	NEED(!cu.add_kernel(&node, graph, from, count, &k), "cuGraphAddKernelNode");
	return node;
}

static int put(void *stream, uint64_t at, unsigned factor, unsigned plus)
{
	void *args[] = { &at, &factor, &plus };

	return cu.launch(step, 1, 1, 1, 1, 1, 1, 0, stream, args, NULL);
}

/* A diamond whose nodes are made against their order, and one beside it. */
static void test_edges(void)
{
	const struct fill zero = { .at = word, .size = 4, .width = 1, .height = 1 };
	void *graph, *exec, *a, *b, *c, *d, *e, *from[4], *to[4];

	NEED(!cu.graph(&graph, 0), "cuGraphCreate");
	d = add(graph, word, 10, 4, NULL, 0);
	c = add(graph, word, 10, 3, NULL, 0);
	b = add(graph, other, 10, 2, NULL, 0);
	NEED(!cu.add_fill(&a, graph, NULL, 0, &zero, NULL), "cuGraphAddMemsetNode");
	e = add(graph, word, 1, 1000, &d, 1);
	memcpy(from, (void *[]){ a, a, b, c }, sizeof(from));
	memcpy(to, (void *[]){ b, c, d, d }, sizeof(to));
	NEED(!cu.depend(graph, from, to, 4) && cu.depend(graph, from, to, 1) == 1, "edges");
	NEED(!cu.instantiate(&exec, graph, 0), "cuGraphInstantiate");
	for (int i = 0; i < 10; i++)
		NEED(!cu.start(exec, i % 3 ? one : two), "cuGraphLaunch");
	NEED(!cu.all() && value(word) == 1034, "the order of the edges");
	NEED(!cu.enable(exec, c, 0) && !cu.start(exec, one) && !cu.wait(one) && value(word) == 1004, "a node left out");
	NEED(!cu.exec_gone(exec), "cuGraphExecDestroy");
	NEED(!cu.depend(graph, &e, &a, 1), "an edge back");
	NEED(cu.instantiate(&exec, graph, 0) == 1, "a graph in a circle is instantiated");
	NEED(!cu.graph_gone(graph), "cuGraphDestroy");
}

static void add_one(void *count)
{
	++*(int *)count;
}

/* Chains of chains; what is instantiated keeps its own arguments, and its objects. */
static void test_changes(void)
{
	unsigned factor = 1, plus = 700;
	void *args[] = { &word, &factor, &plus };
	const struct kernel k = { .fn = step, .grid = { 1, 1, 1 }, .block = { 1, 1, 1 }, .params = args };
	void *inner, *outer, *exec, *first, *last, *child, *object, *clone, *info[3];
	int gone = 0;

	NEED(!cu.graph(&inner, 0) && !cu.graph(&outer, 0), "cuGraphCreate");
	first = add(inner, word, 0, 1, NULL, 0);
	add(inner, word, 3, 0, &first, 1);
	NEED(!cu.add_child(&child, outer, NULL, 0, inner), "cuGraphAddChildGraphNode");
	last = add(outer, word, 100, 0, &child, 1);
	NEED(!cu.object(&object, &gone, add_one, 1, 1) && !cu.give(outer, object, 1, 1), "an object");
	NEED(!cu.instantiate(&exec, outer, 0) && !cu.clone(&clone, outer), "copies");
	NEED(!cu.start(exec, one) && !cu.wait(one) && value(word) == 300, "a graph in a graph");
	NEED(!cu.set_kernel(exec, last, &k) && !cu.start(exec, one) && !cu.wait(one) && value(word) == 703, "a change");
	NEED(!cu.update(exec, clone, info) && !cu.start(exec, one) && !cu.wait(one) && value(word) == 300, "an update");
	NEED(cu.update(exec, inner, info) == 910, "an update by another shape");
	NEED(!cu.graph_gone(outer) && !cu.graph_gone(inner) && !cu.graph_gone(clone) && !gone, "an object of the rest");
	NEED(!cu.start(exec, one) && !cu.exec_gone(exec) && !cu.all(), "the last launch");
	for (int i = 0; i < 1000 && !*(volatile int *)&gone; i++)
		cu.wait(one);
	NEED(gone == 1 && value(word) == 300, "an object that nobody needs");
}

/* What two streams do becomes a graph; nothing is done before that is launched. */
static void test_capture(void)
{
	void *graph, *exec, *fork, *join;
	uint64_t own;
	uint32_t host = 0;
	int calls = 0, status;
	size_t count = 0;

	NEED(!cu.event(&fork, 2) && !cu.event(&join, 2), "cuEventCreate");
	NEED(!cu.begin(one, 0) && !cu.fill(word, 5, 1, one) && !cu.allocate_async(&own, 4, one), "a capture");
	NEED(!cu.record(fork, one) && !cu.wait_event(two, fork, 0) && !cu.capturing(two, &status) && status == 1,
	     "a fork");
	NEED(!cu.fill(own, 2, 1, two) && !put(two, own, 10, 1) && !put(one, word, 2, 0), "both streams");
	NEED(!cu.record(join, two) && !cu.wait_event(one, join, 0), "a join");
	NEED(!cu.read_async(&host, own, 4, one) && !cu.free_async(own, one) && !cu.call(one, add_one, &calls),
	     "the end");
	NEED(!cu.end(one, &graph) && !cu.nodes(graph, NULL, &count) && count == 8, "nodes");
	NEED(!cu.all() && !calls && !host, "captured work is done");
	NEED(!cu.instantiate(&exec, graph, 0) && !cu.start(exec, one) && !cu.start(exec, two) && !cu.all(), "launches");
	NEED(calls == 2 && host == 21 && value(word) == 10, "what was captured");
	NEED(!cu.exec_gone(exec) && !cu.graph_gone(graph) && !cu.event_gone(fork) && !cu.event_gone(join), "the end");
}

/* Errors are those of an H100 (tests/long/cuda/capture.txt). */
static void test_errors(void)
{
	void *graph = &graph, *event, *before;
	uint64_t p;
	int relaxed = 2, status;

	NEED(!cu.event(&event, 2) && !cu.event(&before, 2) && !cu.record(before, two) && !cu.all(), "events");
	NEED(cu.begin(NULL, 0) == 900 && cu.end(one, &graph) == 401, "the legacy stream, and none");
	NEED(!cu.begin(one, 0) && cu.begin(one, 0) == 401, "a capture in a capture");
	NEED(cu.allocate(&p, 4) == 900 && put(one, word, 1, 1) == 901 && cu.end(one, &graph) == 901 && !graph,
	     "memory while a stream is captured");
	NEED(!cu.begin(one, 0) && !cu.mode(&relaxed) && !cu.allocate(&p, 4) && !cu.mode(&relaxed) &&
		 !cu.end(one, &graph) && !cu.graph_gone(graph),
	     "memory for a thread that says it is safe");
	NEED(!cu.begin(one, 2) && cu.wait(one) == 900 && cu.end(one, &graph) == 901, "a wait for it");
	NEED(!cu.begin(one, 2) && cu.all() == 900 && cu.end(one, &graph) == 901, "a wait for all");
	NEED(!cu.begin(one, 2) && put(NULL, word, 1, 1) == 906 && cu.end(one, &graph) == 901, "the legacy stream");
	NEED(!cu.begin(one, 2) && !cu.record(event, one) && cu.query(event) == 907 && cu.end(one, &graph) == 901 &&
		 cu.query(event) == 1,
	     "a captured event");
	NEED(!cu.begin(one, 2) && cu.wait_event(one, before, 0) == 905 && cu.end(one, &graph) == 901,
	     "an event of before");
	NEED(!cu.begin(one, 2) && !put(one, word, 1, 1) && !cu.record(event, one) && !cu.wait_event(two, event, 0) &&
		 !put(two, word, 1, 1) && cu.end(two, &graph) == 903 && cu.end(one, &graph) == 901,
	     "the end of another stream");
	NEED(!cu.begin(one, 2) && !put(one, word, 1, 1) && !cu.record(event, one) && !cu.wait_event(two, event, 0) &&
		 !put(two, word, 1, 1) && cu.end(one, &graph) == 904,
	     "a stream that was not joined");
	NEED(!cu.capturing(two, &status) && !status && !put(two, word, 1, 1) && !cu.all(), "afterwards");
	NEED(!cu.event_gone(event) && !cu.event_gone(before), "events");
}

/* A kernel that can reach what the machine does not run: its launch says so, and harms nothing else. */
static void test_refused(void)
{
	static const char ptx[] = ".version 8.0\n.target sm_90a\n.address_size 64\n"
				  ".visible .entry refused()\n{\n	wgmma.fence.sync.aligned;\n	ret;\n}\n"
				  ".visible .entry good()\n{\n	ret;\n}\n";
	void *module, *refused, *good, *graph, *node;
	struct kernel k = { .grid = { 1, 1, 1 }, .block = { 32, 1, 1 } };

	NEED(!cu.load(&module, ptx) && !cu.get(&refused, module, "refused") && !cu.get(&good, module, "good"),
	     "kernels");
	NEED(cu.launch(refused, 1, 1, 1, 32, 1, 1, 0, one, NULL, NULL) == 801, "its launch");
	k.fn = refused;
	NEED(!cu.graph(&graph, 0) && cu.add_kernel(&node, graph, NULL, 0, &k) == 801 && !cu.graph_gone(graph),
	     "its node");
	NEED(!cu.launch(good, 1, 1, 1, 32, 1, 1, 0, one, NULL, NULL) && !cu.all(), "another kernel of the module");
}

/* A heap of more than the usual 8 MiB, and what a kernel has of local memory. */
static void test_limits(void)
{
	static const char ptx[] =
	    ".version 8.0\n.target sm_90\n.address_size 64\n"
	    ".extern .func (.param .b64 at) malloc(.param .b64 size);\n"
	    ".visible .entry take(.param .u64 out, .param .u64 bytes)\n{\n"
	    "	.local .align 8 .b8 mine[200];\n	.reg .b64 %rd<6>;\n"
	    "	ld.param.u64 %rd1, [out];\n	ld.param.u64 %rd2, [bytes];\n"
	    "	mov.u64 %rd4, mine;\n	st.local.u64 [%rd4], %rd2;\n	ld.local.u64 %rd5, [%rd4];\n"
	    "	{\n	.param .b64 size;\n	st.param.b64 [size], %rd5;\n	.param .b64 at;\n"
	    "	call.uni (at), malloc, (size);\n	ld.param.b64 %rd3, [at];\n	}\n"
	    "	st.global.u64 [%rd1], %rd3;\n	ret;\n}\n";
	uint64_t bytes = 32u << 20, at = 0;
	void *args[] = { &word, &bytes }, *module, *take;
	size_t size;
	int local;

	NEED(!cu.limit(2, 64u << 20) && !cu.get_limit(&size, 2) && size == 64u << 20, "the heap's limit");
	NEED(!cu.load(&module, ptx) && !cu.get(&take, module, "take"), "the kernel");
	NEED(!cu.attribute(&local, 3, take) && local >= 200, "local bytes");
	NEED(!cu.launch(take, 1, 1, 1, 1, 1, 1, 0, one, args, NULL) && !cu.wait(one) && !cu.read(&at, word, 8) && at,
	     "memory of the heap");
	bytes = 40u << 20;
	NEED(!cu.launch(take, 1, 1, 1, 1, 1, 1, 0, one, args, NULL) && !cu.wait(one) && !cu.read(&at, word, 8) && !at,
	     "more than the heap has");
	NEED(cu.limit(2, 128u << 20) == 1 && !cu.limit(0, 65536), "limits afterwards");
}

/* The other process: it gets the event as text, says that it has not been reached, and waits for it. */
static void be_peer(const char *text)
{
	struct handle h;
	void *event;

	for (size_t i = 0; i < sizeof(h.bytes); i++) {
		unsigned byte;

		NEED(sscanf(text + 2 * i, "%2x", &byte) == 1, "the handle");
		h.bytes[i] = (unsigned char)byte;
	}
	NEED(!cu.ipc_open(&event, h) && cu.query(event) == 600, "an event that was not reached");
	NEED(!cu.stream(&one, 1) && !cu.wait_event(one, event, 0), "a stream that waits for it");
	puts("waiting");
	fflush(stdout);
	NEED(!cu.wait(one) && !cu.synchronize(event) && !cu.query(event) && !cu.event_gone(event), "the event");
	puts("reached");
}

/* Two processes have an event: one records it behind a word that it waits for, the other waits for the event. */
static void test_processes(const char *program)
{
	struct handle h;
	char command[600], line[64] = "";
	size_t n = (size_t)snprintf(command, 400, "'%s' peer ", program);
	void *event, *opened;
	FILE *peer;

	NEED(!cu.fill(word, 0, 1, one) && !cu.wait(one), "the word");
	NEED(!cu.event(&event, 6) && cu.event(&opened, 4) == 1 && !cu.ipc_get(&h, event), "an event for processes");
	NEED(cu.ipc_open(&opened, h) == 201, "an event that the process has already");
	NEED(!cu.wait_value(one, word, 7, 1) && !cu.record(event, one) && cu.query(event) == 600, "a wait");
	for (size_t i = 0; i < sizeof(h.bytes); i++)
		n += (size_t)snprintf(command + n, sizeof(command) - n, "%02x", h.bytes[i]);
	peer = popen(command, "r");
	NEED(peer && fgets(line, sizeof(line), peer) && !strcmp(line, "waiting\n"), "the other process");
	NEED(!cu.write_value(two, word, 7, 0), "the word");
	NEED(fgets(line, sizeof(line), peer) && !strcmp(line, "reached\n") && !pclose(peer), "what it waited for");
	NEED(!cu.synchronize(event) && !cu.query(event) && !cu.event_gone(event), "the event");
}

/* A context is on a thread's stack as often as it was pushed. */
static void test_contexts(void)
{
	void *context, *now;

	NEED(!cu.current(&context) && !cu.push(context) && !cu.push(context), "cuCtxPushCurrent");
	for (int i = 0; i < 2; i++)
		NEED(!cu.pop(&now) && now == context && !cu.current(&now) && now == context, "cuCtxPopCurrent");
	NEED(!cu.pop(&now) && now == context && !cu.current(&now) && !now, "the last one");
	NEED(cu.pop(&now) == 201, "cuCtxPopCurrent of nothing");
	NEED(!cu.push(context) && !cu.current(&now) && now == context, "the first one");
}

/* Bytes of graphs' memory: allocated, at most so, there, at most so. */
static void memory_is(uint64_t used, uint64_t used_high, uint64_t there, uint64_t there_high)
{
	const uint64_t want[] = { used, used_high, there, there_high };
	uint64_t v;

	for (int i = 0; i < 4; i++)
		NEED(!cu.memory(0, i, &v) && v == want[i], "what graphs have of memory");
}

/* Memory by nodes made by hand: with a node that frees it, and freed by the program. */
static void test_memory(void)
{
	struct alloc a = { .type = 1, .where = 1, .size = 65536 }, refused = { .type = 1, .where = 2, .size = 4 };
	struct fill forty = { .value = 40, .size = 4, .width = 1, .height = 1 };
	const uint64_t zero = 0;
	void *graph, *exec, *at, *filled, *used, *gone;

	NEED(!cu.set_memory(0, 1, &zero) && !cu.set_memory(0, 3, &zero), "the highest values");
	NEED(!cu.graph(&graph, 0) && cu.add_alloc(&at, graph, NULL, 0, &refused), "memory that is no device's");
	NEED(!cu.add_alloc(&at, graph, NULL, 0, &a) && a.at, "cuGraphAddMemAllocNode");
	memory_is(0, 0, 65536, 65536);
	forty.at = a.at;
	NEED(!cu.add_fill(&filled, graph, &at, 1, &forty, NULL), "cuGraphAddMemsetNode");
	used = add(graph, a.at, 1, 2, &filled, 1);
	NEED(!cu.instantiate(&exec, graph, 0) && !cu.start(exec, one) && !cu.wait(one), "the first launch");
	NEED(value(a.at) == 42, "memory of a graph");
	memory_is(65536, 65536, 65536, 65536);
	NEED(cu.start(exec, one) == 1, "a launch while its memory is there");
	NEED(!cu.free_async(a.at, one) && !cu.start(exec, one) && !cu.wait(one), "a launch after it was freed");
	NEED(!cu.free_async(a.at, one) && !cu.exec_gone(exec), "the end of it");
	NEED(cu.add_free(&gone, graph, &used, 1, word) == 1, "a node that frees what is no graph's");
	NEED(!cu.add_free(&gone, graph, &used, 1, a.at) && cu.add_free(&gone, graph, &used, 1, a.at) == 1,
	     "freed twice");
	NEED(!cu.instantiate(&exec, graph, 0), "cuGraphInstantiate");
	for (int i = 0; i < 3; i++)
		NEED(!cu.start(exec, one) && !cu.wait(one), "launches of a graph that frees");
	memory_is(0, 65536, 65536, 65536);
	NEED(!cu.exec_gone(exec) && !cu.graph_gone(graph) && !cu.all(), "the end");
	memory_is(0, 65536, 0, 65536);
}

/* A batch of words as one node: written, waited for, and then a kernel. */
static void test_words(void)
{
	const struct word_op ops[] = {
		{ .what = 2, .at = word, .value = 5 },
		{ .what = 6 },
		{ .what = 1, .at = word, .value = 5 },
	};
	const struct word_op odd = { .what = 9, .at = word };
	struct words words = { .count = 1, .ops = &odd };
	void *graph, *exec, *written;

	NEED(!cu.graph(&graph, 0) && cu.add_words(&written, graph, NULL, 0, &words) == 1, "an operation that is none");
	words = (struct words){ .count = 3, .ops = ops };
	NEED(!cu.add_words(&written, graph, NULL, 0, &words), "cuGraphAddBatchMemOpNode");
	add(graph, word, 10, 2, &written, 1);
	NEED(!cu.instantiate(&exec, graph, 0) && !cu.start(exec, one) && !cu.wait(one) && value(word) == 52, "words");
	NEED(!cu.exec_gone(exec) && !cu.graph_gone(graph), "cuGraphDestroy");
}

/* CUgraphNodeParams of a condition. */
struct condition {
	int type, reserved[3];
	uint64_t handle;
	int kind;
	unsigned size;
	void **bodies, *context;
	uint64_t rest[26];
};

enum { CONDITION = 13, IF = 0, WHILE = 1 };

/* A loop whose body counts down, then an else. */
static void test_conditions(void)
{
	struct condition loop = { .type = CONDITION, .kind = WHILE, .size = 1 };
	struct condition choice = { .type = CONDITION, .kind = IF, .size = 2 };
	void *module, *turn, *graph, *exec, *node, *inside;
	uint64_t loop_word, choice_word, total = word + 4;
	void *args[] = { &loop_word, &word, &total };
	struct kernel k = { .grid = { 1, 1, 1 }, .block = { 1, 1, 1 }, .params = args };
	const struct fill f = { .at = total, .value = 100, .size = 4, .width = 1, .height = 1 };
	unsigned values[2] = { 7, 0 };

	NEED(!cu.load(&module, turn_ptx) && !cu.get(&turn, module, "turn"), "a kernel that sets a condition");
	k.fn = turn;
	NEED(!cu.graph(&graph, 0) && !cu.handle(&loop_word, graph, NULL, 1, 1) &&
		 !cu.handle(&choice_word, graph, NULL, 0, 1),
	     "handles of conditions");
	loop.handle = loop_word;
	choice.handle = choice_word;
	NEED(!cu.add_node(&node, graph, NULL, NULL, 0, &loop), "a while");
	NEED(cu.add_node(&inside, graph, NULL, NULL, 0, &loop) == 1, "a second node by one handle");
	NEED(!cu.add_kernel(&inside, loop.bodies[0], NULL, 0, &k), "its body");
	NEED(!cu.add_node(&node, graph, &node, NULL, 1, &choice), "an if behind it");
	NEED(!cu.add_kernel(&inside, choice.bodies[0], NULL, 0, &k), "what is not run");
	NEED(!cu.instantiate(&exec, graph, 0), "conditions");
	NEED(!cu.write(word, values, sizeof(values)) && !cu.start(exec, one) && !cu.wait(one), "a launch");
	NEED(value(word) == 0 && value(total) == 14, "a loop of seven");
	NEED(!cu.add_fill(&inside, choice.bodies[1], NULL, 0, &f, NULL), "an else");
	NEED(!cu.exec_gone(exec) && !cu.instantiate(&exec, graph, 0), "the else");
	NEED(!cu.write(word, values, sizeof(values)) && !cu.start(exec, one) && !cu.start(exec, two) && !cu.wait(two),
	     "two launches");
	NEED((int)value(word) == -1 && value(total) == 100, "a loop of one, and the else");
	NEED(!cu.exec_gone(exec) && !cu.graph_gone(graph), "the end of conditions");
}

int main(int argc, char **argv)
{
	void *module;

	load();
	if (argc > 2) {
		be_peer(argv[2]);
		return 0;
	}
	NEED(!cu.load(&module, step_ptx) && !cu.get(&step, module, "step"), "the kernel");
	NEED(!cu.allocate(&word, 8) && !cu.allocate(&other, 4), "memory");
	NEED(!cu.stream(&one, 0) && !cu.stream(&two, 1), "streams");
	test_edges();
	test_changes();
	test_capture();
	test_errors();
	test_refused();
	test_contexts();
	test_memory();
	test_words();
	test_conditions();
	test_limits();
	test_processes(argv[0]);
	puts("ok graphs");
	return 0;
}
