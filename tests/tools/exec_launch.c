/*
 * Launches that name what they wait for: programmatic dependent launch by attribute and by event, with the kernels'
 * own griddepcontrol; modules that load lazily, and how many blocks fit. It is linked with nothing; test_exec_cuda.sh
 * runs it under `belfry exec --gpu`. What it found wrong first ends it with exit code 1.
 */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/tools/need.h"

#define THREADS 64u
#define BLOCKS 40u

/* The first kernel lets the second begin before it has stored; the second reads all of it behind its wait. */
static const char ptx[] =
    ".version 8.0\n.target sm_90\n.address_size 64\n"
    ".visible .entry first(.param .u64 at, .param .u32 value)\n"
    "{\n	.reg .b32 %r<6>;\n	.reg .b64 %rd<4>;\n"
    "	ld.param.u64 %rd1, [at];\n	ld.param.u32 %r1, [value];\n"
    "	griddepcontrol.launch_dependents;\n"
    "	mov.u32 %r2, %ctaid.x;\n	mov.u32 %r3, %ntid.x;\n	mov.u32 %r4, %tid.x;\n"
    "	mad.lo.u32 %r5, %r2, %r3, %r4;\n	mul.wide.u32 %rd2, %r5, 4;\n	add.u64 %rd3, %rd1, %rd2;\n"
    "	st.global.u32 [%rd3], %r1;\n	ret;\n}\n"
    ".visible .entry second(.param .u64 at, .param .u64 sum, .param .u32 n)\n"
    "{\n	.reg .pred %p<2>;\n	.reg .b32 %r<6>;\n	.reg .b64 %rd<5>;\n"
    "	ld.param.u64 %rd1, [at];\n	ld.param.u64 %rd2, [sum];\n	ld.param.u32 %r1, [n];\n"
    "	griddepcontrol.wait;\n"
    "	mov.u32 %r2, 0;\n"
    "again:\n	ld.global.u32 %r3, [%rd1];\n	add.u32 %r2, %r2, %r3;\n	add.u64 %rd1, %rd1, 4;\n"
    "	sub.u32 %r1, %r1, 1;\n	setp.ne.u32 %p1, %r1, 0;\n	@%p1 bra again;\n"
    "	st.global.u32 [%rd2], %r2;\n	ret;\n}\n"
    ".visible .entry wide()\n.maxntid 1024, 1, 1\n{\n	.shared .align 4 .b8 all[40000];\n	.reg .b32 %r<2>;\n"
    "	mov.u32 %r1, %tid.x;\n	st.shared.u32 [all], %r1;\n	ret;\n}\n";

enum { SERIALIZE = 6, EVENT = 7, LAZY = 2, LOADED = 1, PER_BLOCK = 1 };

struct attribute {
	uint32_t id, unused;
	union {
		uint8_t bytes[64];
		int number;
		struct {
			void *event;
			int flags, at_block_start;
		} event;
	} value;
};

struct config {
	uint32_t grid[3], block[3], shared;
	void *stream;
	struct attribute *attributes;
	uint32_t count;
};

static struct {
	int (*init)(unsigned flags), (*retain)(void **context, int device), (*current)(void *context), (*wait)(void);
	int (*load)(void **module, const void *image), (*get)(void **f, void *module, const char *name);
	int (*managed)(uint64_t *at, size_t size, unsigned flags),
	    (*launch)(const struct config *, void *, void **, void **);
	int (*stream)(void **out, unsigned flags), (*event)(void **out, unsigned flags), (*destroy_event)(void *),
	    (*wait_event)(void *, void *, unsigned);
	int (*mode)(int *mode), (*is_loaded)(int *state, void *f), (*load_function)(void *f);
	int (*fit)(int *blocks, void *f, int threads, size_t shared);
	int (*best)(int *grid, int *threads, void *f, void *shared_of, size_t shared, int limit);
} cuda;

static void *library;

static void find(const char *name, void *to)
{
	void *at = dlsym(library, name);

	NEED(at, name);
	memcpy(to, &at, sizeof(at));
}

static void load(void)
{
	library = dlopen("libcuda.so.1", RTLD_NOW);
	NEED(library, "libcuda.so.1");
	find("cuInit", &cuda.init);
	find("cuDevicePrimaryCtxRetain", &cuda.retain);
	find("cuCtxSetCurrent", &cuda.current);
	find("cuCtxSynchronize", &cuda.wait);
	find("cuModuleLoadData", &cuda.load);
	find("cuModuleGetFunction", &cuda.get);
	find("cuMemAllocManaged", &cuda.managed);
	find("cuLaunchKernelEx", &cuda.launch);
	find("cuStreamCreate", &cuda.stream);
	find("cuEventCreate", &cuda.event);
	find("cuEventDestroy_v2", &cuda.destroy_event);
	find("cuStreamWaitEvent", &cuda.wait_event);
	find("cuModuleGetLoadingMode", &cuda.mode);
	find("cuFuncIsLoaded", &cuda.is_loaded);
	find("cuFuncLoad", &cuda.load_function);
	find("cuOccupancyMaxActiveBlocksPerMultiprocessor", &cuda.fit);
	find("cuOccupancyMaxPotentialBlockSize", &cuda.best);
}

static uint32_t *at, *sum;
static void *kernel[3];

static void launch_first(void *stream, uint32_t value, struct attribute *attribute)
{
	struct config c = { { BLOCKS, 1, 1 }, { THREADS, 1, 1 }, 0, stream, attribute, attribute != NULL };
	void *params[] = { &at, &value };

	NEED(!cuda.launch(&c, kernel[0], params, NULL), "the first kernel");
}

static void launch_second(void *stream, struct attribute *attribute)
{
	struct config c = { { 1, 1, 1 }, { 1, 1, 1 }, 0, stream, attribute, attribute != NULL };
	uint32_t n = BLOCKS * THREADS;
	void *params[] = { &at, &sum, &n };

	NEED(!cuda.launch(&c, kernel[1], params, NULL), "the second kernel");
}

static void test_dependent(void)
{
	struct attribute serialize = { .id = SERIALIZE, .value.number = 1 }, done = { .id = EVENT };
	void *stream[2], *event;

	NEED(!cuda.stream(&stream[0], 1) && !cuda.stream(&stream[1], 1) && !cuda.event(&event, 2), "streams");
	for (uint32_t value = 1; value < 20; value++) {
		launch_first(stream[0], value, NULL);
		launch_second(stream[0], &serialize);
		NEED(!cuda.wait() && *sum == value * BLOCKS * THREADS, "a dependent kernel ran ahead of its wait");
	}
	done.value.event.event = event;
	for (uint32_t value = 20; value < 40; value++) {
		launch_first(stream[0], value, &done);
		NEED(!cuda.wait_event(stream[1], event, 0), "wait for a programmatic event");
		launch_second(stream[1], NULL);
		NEED(!cuda.wait() && *sum == value * BLOCKS * THREADS, "a programmatic event came too early");
	}
	NEED(!cuda.destroy_event(event), "an event goes");
}

static void test_loading(void *module)
{
	int mode = 0, state = -1;
	void *wide;

	NEED(!cuda.mode(&mode) && mode == LAZY, "modules load lazily unless asked otherwise");
	NEED(!cuda.get(&wide, module, "wide") && !cuda.is_loaded(&state, wide), "whether a function is loaded");
	NEED(!cuda.load_function(wide) && !cuda.is_loaded(&state, wide) && state == LOADED, "a function is not loaded");
}

/* By the declared limits: 2048 threads and 228 KiB of shared memory an SM, 32 registers a thread. */
static void test_occupancy(void)
{
	int blocks = 0, grid = 0, threads = 0;

	NEED(!cuda.fit(&blocks, kernel[0], 1024, 0) && blocks == 2, "blocks of 1024 threads");
	NEED(!cuda.fit(&blocks, kernel[0], 32, 0) && blocks == 32, "blocks of 32 threads");
	NEED(!cuda.fit(&blocks, kernel[0], 32, 100000) && blocks == 2, "blocks of 100000 bytes");
	NEED(!cuda.fit(&blocks, kernel[2], 32, 0) && blocks == 5, "blocks of 40000 bytes that the kernel declares");
	NEED(!cuda.best(&grid, &threads, kernel[0], NULL, 0, 0) && threads == 1024 && grid == 264,
	     "the best size of blocks");
}

int main(void)
{
	void *context, *module;
	uint64_t memory;

	load();
	NEED(!cuda.init(0) && !cuda.retain(&context, 0) && !cuda.current(context), "a context");
	NEED(!cuda.load(&module, ptx), "a module");
	NEED(!cuda.get(&kernel[0], module, "first") && !cuda.get(&kernel[1], module, "second") &&
		 !cuda.get(&kernel[2], module, "wide"),
	     "functions");
	NEED(!cuda.managed(&memory, 65536, 1), "memory");
	at = (uint32_t *)(uintptr_t)memory;
	sum = at + BLOCKS * THREADS;
	test_dependent();
	test_loading(module);
	test_occupancy();
	puts("ok launch");
	return 0;
}
