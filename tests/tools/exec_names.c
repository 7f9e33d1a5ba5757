/*
 * Names of the driver API: older ones, those where stream 0 is the thread's own, those by version, those that are not
 * there; and calls that came with them. It is linked with nothing; test_exec_cuda.sh runs it under `belfry exec --gpu`.
 * What it found wrong first ends it with exit code 1.
 */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/tools/need.h"

enum {
	INVALID_VALUE = 1,
	UNAVAILABLE = 46,
	INVALID_HANDLE = 400,
	LAUNCH_FAILED = 719,
	UNSUPPORTED = 801,
	CAPTURE_UNSUPPORTED = 900,
	PER_THREAD = 2
};

static void *driver, *runtime;

/* Into a pointer to a function, of whatever kind. */
static void get(void *from, const char *name, void *to)
{
	void *at = dlsym(from, name);

	NEED(at, name);
	memcpy(to, &at, sizeof(at));
}

static int (*entry)(const char *, void **, int, uint64_t, int *);

static void *named(const char *name, int version, uint64_t flags, int status)
{
	void *at = NULL;
	int is = -1;

	entry(name, &at, version, flags, &is);
	NEED(is == status && !at == (status != 0), name);
	return at;
}

static void look_up(void)
{
	static const struct {
		const char *name, *symbol;
		int version, flags;
	} wanted[] = {
		{ "cuLaunchKernel", "cuLaunchKernel", 12000, 0 },
		{ "cuLaunchKernel", "cuLaunchKernel_ptsz", 12000, PER_THREAD },
		{ "cuMemcpyDtoH", "cuMemcpyDtoH_v2_ptds", 13000, PER_THREAD },
		{ "cuMemAlloc", "cuMemAlloc_v2", 12000, PER_THREAD },
		{ "cuMemAlloc", "cuMemAlloc", 2000, 0 },
		{ "cuCtxCreate", "cuCtxCreate_v3", 12000, 0 },
		{ "cuCtxGetDevice", "cuCtxGetDevice", 12090, 0 },
		{ "cuCtxGetDevice", "cuCtxGetDevice_v2", 13000, 0 },
		{ "cuStreamWriteValue32", "cuStreamWriteValue32", 9000, 0 },
		{ "cuStreamWriteValue32", "cuStreamWriteValue32_ptsz", 9000, PER_THREAD },
		{ "cuStreamGetCaptureInfo", "cuStreamGetCaptureInfo_v2_ptsz", 12020, PER_THREAD },
		{ "cuMemcpyBatchAsync", "cuMemcpyBatchAsync", 12080, 0 },
		{ "cuMemcpyBatchAsync", "cuMemcpyBatchAsync_v2_ptsz", 13000, PER_THREAD },
		{ "cuTexObjectCreate", "cuTexObjectCreate", 12000, 0 },
	};

	get(driver, "cuGetProcAddress_v2", &entry);
	for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++)
		NEED(named(wanted[i].name, wanted[i].version, (uint64_t)wanted[i].flags, 0) ==
			 dlsym(driver, wanted[i].symbol),
		     wanted[i].symbol);
	named("cuNothing", 13000, 0, 1);
	named("cuMemcpyBatchAsync", 12000, 0, 2);
}

/* *p = *p + 1, by each of its threads, one after the other in an order of their own. */
static const char count_ptx[] = ".version 8.0\n.target sm_90\n.address_size 64\n"
				".visible .entry count(.param .u64 p)\n{\n	.reg .b64 %rd<2>;\n"
				"	ld.param.u64 %rd1, [p];\n	red.global.add.u32 [%rd1], 1;\n	ret;\n}\n";

static void own_stream(uint64_t at)
{
	int (*load)(void **, const void *), (*function)(void **, void *, const char *);
	int (*launch)(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *, void **,
		      void **);
	int (*fill)(uint64_t, unsigned, size_t), (*read)(void *, uint64_t, size_t), (*id)(void *, unsigned long long *);
	int (*begin)(void *, int), (*end)(void *, void **), (*legacy_id)(void *, unsigned long long *);
	int (*legacy_begin)(void *, int), (*destroy)(void *);
	unsigned long long own, legacy;
	void *module, *fn, *graph, *params[] = { &at };
	unsigned value = 0;

	get(driver, "cuModuleLoadData", &load);
	get(driver, "cuModuleGetFunction", &function);
	get(driver, "cuLaunchKernel_ptsz", &launch);
	get(driver, "cuMemsetD32_v2_ptds", &fill);
	get(driver, "cuMemcpyDtoH_v2_ptds", &read);
	get(driver, "cuStreamGetId_ptsz", &id);
	get(driver, "cuStreamGetId", &legacy_id);
	get(driver, "cuStreamBeginCapture_v2_ptsz", &begin);
	get(driver, "cuStreamBeginCapture_v2", &legacy_begin);
	get(driver, "cuStreamEndCapture_ptsz", &end);
	get(driver, "cuGraphDestroy", &destroy);
	NEED(!id(NULL, &own) && !legacy_id(NULL, &legacy) && own != legacy, "stream 0 by both names");
	NEED(!legacy_id((void *)2, &legacy) && own == legacy, "stream 0 is the thread's own");
	NEED(legacy_begin(NULL, 0) == CAPTURE_UNSUPPORTED, "the legacy stream is captured");
	NEED(!begin(NULL, 0) && !end(NULL, &graph) && graph && !destroy(graph),
	     "the thread's own stream is not captured");
	NEED(!load(&module, count_ptx) && !function(&fn, module, "count"), "the kernel");
	NEED(!fill(at, 5, 1) && !launch(fn, 2, 1, 1, 33, 1, 1, 0, NULL, params, NULL), "a launch");
	NEED(!read(&value, at, sizeof(value)) && value == 5 + 66, "what the kernel counted");
}

/* CUmemcpyAttributes: of the stream, hints, flags. */
struct batch {
	unsigned order, from[2], to[2], flags;
};

static void batches(uint64_t at)
{
	int (*batch)(uint64_t *, uint64_t *, size_t *, size_t, struct batch *, size_t *, size_t, void *);
	int (*old)(uint64_t *, uint64_t *, size_t *, size_t, struct batch *, size_t *, size_t, size_t *, void *);
	int (*wait)(void *);
	unsigned values[3] = { 7, 8, 9 }, out[3] = { 0 };
	uint64_t to[3] = { at, at + 4, (uintptr_t)out }, from[3] = { (uintptr_t)values, (uintptr_t)&values[2], at };
	size_t sizes[3] = { 4, 4, 8 }, first[1] = { 0 }, failed = 0;
	struct batch is = { .order = 1 };

	get(driver, "cuMemcpyBatchAsync_v2", &batch);
	get(driver, "cuMemcpyBatchAsync", &old);
	get(driver, "cuStreamSynchronize", &wait);
	NEED(batch(to, from, sizes, 3, &is, first, 1, NULL) == INVALID_VALUE, "a batch in the legacy stream");
	NEED(!batch(to, from, sizes, 3, &is, first, 1, (void *)2) && !wait((void *)2), "a batch");
	NEED(out[0] == 7 && out[1] == 9 && !out[2], "what the batch copied");
	sizes[1] = 0;
	NEED(old(to, from, sizes, 3, &is, first, 1, &failed, (void *)2) == INVALID_VALUE && failed == SIZE_MAX,
	     "a batch with nothing in it");
}

static void attributes(void)
{
	int (*set)(void *, int, const void *), (*ask)(void *, int, void *), (*make)(void **, unsigned);
	int (*copy)(void *, void *), (*priority)(void *, int *);
	unsigned value[16] = { 2 }, is[16] = { 0 };
	void *a, *b;
	int low = -3, got = 1;

	get(driver, "cuStreamSetAttribute", &set);
	get(driver, "cuStreamGetAttribute", &ask);
	get(driver, "cuStreamCopyAttributes", &copy);
	get(driver, "cuStreamCreate", &make);
	get(driver, "cuStreamGetPriority", &priority);
	NEED(!make(&a, 0) && !make(&b, 0), "two streams");
	NEED(!set(a, 3, value) && set(a, 4, value) == INVALID_VALUE, "attributes of a stream");
	memcpy(value, &low, sizeof(low));
	NEED(!set(a, 8, value) && !copy(b, a) && !ask(b, 3, is) && is[0] == 2, "attributes of another stream");
	NEED(!priority(b, &got) && got == low, "its priority");
}

static size_t shared_of(int block)
{
	return (size_t)block * 100;
}

static void volumes(void)
{
	struct {
		void *at;
		size_t pitch, x, y;
	} p = { .pitch = 16, .x = 8, .y = 3 };
	struct {
		size_t width, height, depth;
	} extent = { 8, 2, 2 };
	int (*fill)(__typeof__(p), int, __typeof__(extent)), (*allocate)(void **, size_t), (*all)(void);
	unsigned char *bytes;

	get(runtime, "cudaMemset3D_ptds", &fill);
	get(runtime, "cudaMallocManaged", &allocate);
	get(runtime, "cudaDeviceSynchronize", &all);
	{
		int (*managed)(void **, size_t, unsigned);

		memcpy(&managed, &allocate, sizeof(managed));
		NEED(!managed(&p.at, 96, 1), "managed memory");
	}
	bytes = p.at;
	memset(bytes, 1, 96);
	NEED(!fill(p, 5, extent) && !all(), "a volume");
	for (size_t i = 0; i < 96; i++)
		NEED(bytes[i] == (i % 16 < 8 && i / 16 % 3 < 2 ? 5 : 1), "bytes of a volume");
}

/* Two texts, of which one calls the other, by the linker that programs bring along. */
static void linker(uint64_t at)
{
	static const char caller[] =
	    ".version 8.0\n.target sm_90\n.address_size 64\n.extern .func (.param .b32 r) twice(.param .b32 x);\n"
	    ".visible .entry run(.param .u64 p)\n{\n	.reg .b32 %r<3>;\n	.reg .b64 %rd<2>;\n"
	    "	ld.param.u64 %rd1, [p];\n	ld.global.u32 %r1, [%rd1];\n	{\n	.param .b32 i;\n"
	    "	.param .b32 o;\n	st.param.b32 [i], %r1;\n	call.uni (o), twice, (i);\n"
	    "	ld.param.b32 %r2, [o];\n	}\n	st.global.u32 [%rd1], %r2;\n	ret;\n}\n";
	static const char called[] =
	    ".version 8.0\n.target sm_90\n.address_size 64\n.visible .func (.param .b32 r) twice(.param .b32 x)\n{\n"
	    "	.reg .b32 %r<3>;\n	ld.param.b32 %r1, [x];\n	add.s32 %r2, %r1, %r1;\n"
	    "	st.param.b32 [r], %r2;\n	ret;\n}\n";
	const char *options[] = { "-arch=sm_90", "-lto" };
	void *library = dlopen("libnvJitLink.so.13", RTLD_NOW), *link, *module, *fn, *params[] = { &at };
	int (*create)(void **, unsigned, const char *const *), (*add)(void *, int, const void *, size_t, const char *);
	int (*complete)(void *), (*size)(void *, size_t *), (*take)(void *, void *), (*destroy)(void **);
	int (*load)(void **, const void *), (*function)(void **, void *, const char *),
	    (*read)(void *, uint64_t, size_t);
	int (*launch)(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *, void **,
		      void **);
	int (*fill)(uint64_t, unsigned, size_t), (*log)(void *, char *);
	unsigned value = 0;
	char *image, text[256];
	size_t bytes = 0;

	NEED(library, "libnvJitLink.so.13");
	get(library, "__nvJitLinkCreate_13_0", &create);
	get(library, "__nvJitLinkAddData_13_0", &add);
	get(library, "__nvJitLinkComplete_13_0", &complete);
	get(library, "__nvJitLinkGetLinkedCubinSize_13_0", &size);
	get(library, "__nvJitLinkGetLinkedCubin_13_0", &take);
	get(library, "__nvJitLinkGetErrorLog_13_0", &log);
	get(library, "__nvJitLinkDestroy_13_0", &destroy);
	get(driver, "cuModuleLoadData", &load);
	get(driver, "cuModuleGetFunction", &function);
	get(driver, "cuLaunchKernel", &launch);
	get(driver, "cuMemsetD32_v2", &fill);
	get(driver, "cuMemcpyDtoH_v2", &read);
	NEED(create(&link, 0, options) == 2 && create(&link, 2, options) == 1,
	     "a linker without architecture, or with LTO");
	NEED(!create(&link, 1, options) && !add(link, 2, caller, sizeof(caller), "caller"), "a linker");
	NEED(add(link, 3, called, sizeof(called), "called") && !log(link, text) && strstr(text, "called: "), "LTO");
	NEED(!add(link, 2, called, sizeof(called), "called") && !complete(link) && !size(link, &bytes), "an image");
	image = malloc(bytes);
	NEED(image && !take(link, image) && !destroy(&link), "the image");
	NEED(!load(&module, image) && !function(&fn, module, "run") && !fill(at, 21, 1), "what was linked");
	free(image);
	NEED(!launch(fn, 1, 1, 1, 1, 1, 1, 0, NULL, params, NULL) && !read(&value, at, 4) && value == 42, "its kernel");
}

static void absent(void)
{
	int (*texture)(void), (*multicast)(void);

	get(driver, "cuTexObjectCreate", &texture);
	get(driver, "cuMulticastCreate", &multicast);
	NEED(texture() == UNSUPPORTED && multicast() == UNSUPPORTED, "what is not there");
}

static void occupancy(void)
{
	int (*load)(void **, const void *), (*function)(void **, void *, const char *);
	int (*best)(int *, int *, void *, size_t (*)(int), size_t, int);
	int grid, block;
	void *module, *fn;

	get(driver, "cuModuleLoadData", &load);
	get(driver, "cuModuleGetFunction", &function);
	get(driver, "cuOccupancyMaxPotentialBlockSize", &best);
	NEED(!load(&module, count_ptx) && !function(&fn, module, "count"), "the kernel");
	NEED(!best(&grid, &block, fn, NULL, 0, 0) && block == 1024 && grid % 2 == 0, "the best block");
	NEED(!best(&grid, &block, fn, shared_of, 0, 200) && block == 128 && grid % 16 == 0, "the best small block");
}

/* A variable, and a kernel that ends the device. */
static const char word_ptx[] = ".version 8.0\n.target sm_90\n.address_size 64\n"
			       ".visible .global .align 4 .b8 word[65536] = { 3 };\n"
			       ".visible .entry end()\n{\n	trap;\n}\n";

/* A module that goes takes its memory along; a reset gives first values, and none after a kernel's error. */
static void ends(uint64_t at)
{
	int (*load)(void **, const void *), (*unload)(void *), (*variable)(uint64_t *, size_t *, void *, const char *);
	int (*function)(void **, void *, const char *), (*read)(void *, uint64_t, size_t), (*all)(void);
	int (*write)(uint64_t, const void *, size_t), (*reset)(int), (*release)(uint64_t),
	    (*allocate)(uint64_t *, size_t);
	int (*launch)(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *, void **,
		      void **);
	void *module, *other, *fn;
	uint64_t word, second;
	unsigned value = 9;

	get(driver, "cuModuleLoadData", &load);
	get(driver, "cuModuleUnload", &unload);
	get(driver, "cuModuleGetGlobal_v2", &variable);
	get(driver, "cuModuleGetFunction", &function);
	get(driver, "cuMemcpyDtoH_v2", &read);
	get(driver, "cuMemcpyHtoD_v2", &write);
	get(driver, "cuDevicePrimaryCtxReset_v2", &reset);
	get(driver, "cuMemFree_v2", &release);
	get(driver, "cuMemAlloc_v2", &allocate);
	get(driver, "cuCtxSynchronize", &all);
	get(driver, "cuLaunchKernel", &launch);
	NEED(!load(&module, word_ptx) && !load(&other, word_ptx), "modules");
	NEED(!variable(&word, NULL, module, "word") && !variable(&second, NULL, other, "word"), "variables");
	NEED(!read(&value, word, sizeof(value)) && value == 3, "a first value");
	NEED(!unload(module) && unload(module) == INVALID_HANDLE, "a module unloaded once, and again");
	NEED(read(&value, word, sizeof(value)) == INVALID_VALUE, "what a module had is still there");
	NEED(function(&fn, module, "end") == INVALID_HANDLE, "a module that is not there any more");
	value = 7;
	NEED(!write(second, &value, sizeof(value)) && !reset(0), "a reset");
	NEED(!read(&value, second, sizeof(value)) && value == 3, "a first value again");
	NEED(release(at) == INVALID_VALUE && !allocate(&at, 64), "memory of before the reset");
	NEED(!function(&fn, other, "end") && !launch(fn, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL), "the end");
	NEED(all() == LAUNCH_FAILED && allocate(&at, 64) == LAUNCH_FAILED, "an error that stays");
	NEED(!reset(0) && allocate(&at, 64) == UNAVAILABLE && !reset(0) && all() == UNAVAILABLE,
	     "a device that is gone");
}

int main(void)
{
	int (*init)(unsigned), (*retain)(void **, int), (*set)(void *), (*allocate)(uint64_t *, size_t), (*all)(void);
	void *context;
	uint64_t at;

	driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_GLOBAL);
	runtime = dlopen("libcudart.so.13", RTLD_NOW);
	NEED(driver && runtime, "the libraries");
	get(driver, "cuInit", &init);
	get(driver, "cuDevicePrimaryCtxRetain", &retain);
	get(driver, "cuCtxSetCurrent", &set);
	get(driver, "cuMemAlloc_v2", &allocate);
	get(driver, "cuCtxSynchronize", &all);
	NEED(!init(0) && !retain(&context, 0) && !set(context) && !allocate(&at, 4096), "a start");
	look_up();
	own_stream(at);
	batches(at);
	attributes();
	occupancy();
	volumes();
	linker(at);
	absent();
	NEED(!all(), "the end");
	ends(at);
	printf("ok names\n");
	return 0;
}
