/*
 * A program that uses CUDA as compiled programs do: by the runtime library, with a fat binary that it registers. It
 * knows nothing of Belfry and is linked with nothing; the fat binary is put together here, of PTX as text and packed.
 * test_exec_cuda.sh runs it under `belfry exec --gpu`. What it found wrong first ends it with exit code 1.
 */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/tools/need.h"

#define N 1000

#define PTX(arch) ".version 8.0\n.target sm_" arch "\n.address_size 64\n"

/* out[i] = in[i] * factor + i, and counts its threads. */
static const char scale_ptx[] =
    PTX("90") ".visible .const .align 4 .u32 factor = 2;\n"
	      ".visible .global .align 4 .u32 threads;\n"
	      ".visible .entry scale(.param .u64 out, .param .u64 in, .param .u32 n)\n"
	      "{\n"
	      "	.reg .pred %p<2>;\n	.reg .b32 %r<9>;\n	.reg .b64 %rd<7>;\n"
	      "	ld.param.u64 %rd1, [out];\n	ld.param.u64 %rd2, [in];\n	ld.param.u32 %r1, [n];\n"
	      "	mov.u32 %r2, %ctaid.x;\n	mov.u32 %r3, %ntid.x;\n	mov.u32 %r4, %tid.x;\n"
	      "	mad.lo.s32 %r5, %r2, %r3, %r4;\n"
	      "	setp.ge.u32 %p1, %r5, %r1;\n	@%p1 ret;\n"
	      "	mul.wide.u32 %rd3, %r5, 4;\n	add.s64 %rd4, %rd2, %rd3;\n	add.s64 %rd5, %rd1, %rd3;\n"
	      "	ld.global.u32 %r6, [%rd4];\n	ld.const.u32 %r7, [factor];\n"
	      "	mad.lo.s32 %r8, %r6, %r7, %r5;\n	st.global.u32 [%rd5], %r8;\n"
	      "	mov.u64 %rd6, threads;\n	red.global.add.u32 [%rd6], 1;\n"
	      "	ret;\n}\n";

/* What no device of ours would choose: it has no kernel at all. */
static const char newer_ptx[] = PTX("130") ".visible .global .u32 nothing;\n";

struct dim3 {
	unsigned x, y, z;
};

static struct {
	void **(*reg)(void *wrapper);
	void (*reg_end)(void **handle);
	void (*unreg)(void **handle);
	void (*function)(void **handle, const char *host, char *device, const char *name, int threads, void *, void *,
			 void *, void *, int *);
	void (*variable)(void **handle, char *host, char *device, const char *name, int ext, size_t size, int constant,
			 int global);
	int (*launch)(const void *stub, struct dim3 grid, struct dim3 block, void **args, size_t shared, void *stream);
	int (*allocate)(void **p, size_t size);
	int (*release)(void *p);
	int (*copy)(void *to, const void *from, size_t size, int kind);
	int (*copy_async)(void *to, const void *from, size_t size, int kind, void *stream);
	int (*to_symbol)(const void *symbol, const void *from, size_t size, size_t offset, int kind);
	int (*from_symbol)(void *to, const void *symbol, size_t size, size_t offset, int kind);
	int (*fill)(void *p, int value, size_t size);
	int (*synchronize)(void);
	int (*stream)(void **out);
	int (*stream_wait)(void *stream);
	int (*event)(void **out);
	int (*record)(void *event, void *stream);
	int (*wait_event)(void *stream, void *event, unsigned flags);
	int (*event_gone)(void *event);
	int (*host_function)(void *stream, void (*fn)(void *arg), void *arg);
	int (*last)(void);
	const char *(*text)(int error);
	int (*array)(void *, void *, size_t, size_t, unsigned);
	void *library;
} cuda;

static void load(const char *version)
{
	const struct {
		const char *name;
		void *to;
	} wanted[] = {
		{ "__cudaRegisterFatBinary", &cuda.reg },
		{ "__cudaRegisterFatBinaryEnd", &cuda.reg_end },
		{ "__cudaUnregisterFatBinary", &cuda.unreg },
		{ "__cudaRegisterFunction", &cuda.function },
		{ "__cudaRegisterVar", &cuda.variable },
		{ "cudaLaunchKernel", &cuda.launch },
		{ "cudaMalloc", &cuda.allocate },
		{ "cudaFree", &cuda.release },
		{ "cudaMemcpy", &cuda.copy },
		{ "cudaMemcpyAsync", &cuda.copy_async },
		{ "cudaMemcpyToSymbol", &cuda.to_symbol },
		{ "cudaMemcpyFromSymbol", &cuda.from_symbol },
		{ "cudaMemset", &cuda.fill },
		{ "cudaDeviceSynchronize", &cuda.synchronize },
		{ "cudaStreamCreate", &cuda.stream },
		{ "cudaStreamSynchronize", &cuda.stream_wait },
		{ "cudaEventCreate", &cuda.event },
		{ "cudaEventRecord", &cuda.record },
		{ "cudaStreamWaitEvent", &cuda.wait_event },
		{ "cudaEventDestroy", &cuda.event_gone },
		{ "cudaLaunchHostFunc", &cuda.host_function },
		{ "cudaGetLastError", &cuda.last },
		{ "cudaGetErrorString", &cuda.text },
		{ "cudaMallocArray", &cuda.array },
	};
	char name[32];
	void *library;

	snprintf(name, sizeof(name), "libcudart.so.%s", version);
	library = dlopen(name, RTLD_NOW);
	NEED(library, dlerror());
	NEED(dlvsym(library, "cudaMalloc", name), "the version of symbols");
	cuda.library = library;
	for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++) {
		void *found = dlsym(library, wanted[i].name);

		NEED(found, wanted[i].name);
		memcpy(wanted[i].to, &found, sizeof(found));
	}
}

/* ---- a fat binary ---- */

enum { PTX_TEXT = 1, CUBIN = 2, LZ4 = 0x2000 };

struct fat {
	uint64_t bytes[2048];
	size_t len;
};

/* An entry: header of 64 bytes, payload padded to 8. */
static void add(struct fat *f, unsigned kind, unsigned arch, unsigned packed, const void *payload, size_t len,
		size_t full)
{
	uint8_t *p = (uint8_t *)f->bytes + f->len;
	const uint32_t header = 64, architecture = arch, small = packed ? (uint32_t)len : 0;
	const uint16_t type = (uint16_t)kind, version = 0x101;
	const uint64_t size = (len + 7) & ~7ull, flags = 0x11 | packed, whole = full;

	NEED(f->len + header + size <= sizeof(f->bytes), "room in the fat binary");
	memcpy(p, &type, 2);
	memcpy(p + 2, &version, 2);
	memcpy(p + 4, &header, 4);
	memcpy(p + 8, &size, 8);
	memcpy(p + 16, &small, 4);
	memcpy(p + 28, &architecture, 4);
	memcpy(p + 40, &flags, 8);
	memcpy(p + 56, &whole, 8);
	memcpy(p + header, payload, len);
	f->len += header + size;
}

static void begin(struct fat *f)
{
	memset(f, 0, sizeof(*f));
	f->len = 16;
}

static void end(struct fat *f)
{
	const uint32_t magic = 0xba55ed50, version = 0x00100001;
	const uint64_t size = f->len - 16;

	memcpy(f->bytes, &magic, 4);
	memcpy((uint8_t *)f->bytes + 4, &version, 4);
	memcpy((uint8_t *)f->bytes + 8, &size, 8);
}

/* As LZ4 block: literals in front of a run that repeats itself, then literals to the end. */
static size_t pack(const char *text, size_t len, uint8_t *out)
{
	size_t n = 0, left = len - 15;

	out[n++] = 0xf0;
	for (; left >= 255; left -= 255)
		out[n++] = 255;
	out[n++] = (uint8_t)left;
	memcpy(out + n, text, len);
	return n + len;
}

struct wrapper {
	uint32_t magic, version;
	const void *data, *more;
};

static char scale_stub, factor, threads; /* their addresses stand for the device's */

static void **make(struct fat *f, struct wrapper *w, int packed)
{
	static uint8_t small[sizeof(scale_ptx) + 64];
	void **handle;

	begin(f);
	add(f, CUBIN, 90, 0, "not looked at", 13, 0);
	if (packed)
		add(f, PTX_TEXT, 90, LZ4, small, pack(scale_ptx, sizeof(scale_ptx), small), sizeof(scale_ptx));
	else
		add(f, PTX_TEXT, 90, 0, scale_ptx, sizeof(scale_ptx), 0);
	add(f, PTX_TEXT, 130, 0, newer_ptx, sizeof(newer_ptx), 0);
	end(f);
	*w = (struct wrapper){ 0x466243b1, 1, f->bytes, NULL };
	handle = cuda.reg(w);
	cuda.function(handle, &scale_stub, "scale", "scale", -1, NULL, NULL, NULL, NULL, NULL);
	cuda.variable(handle, &factor, "factor", "factor", 0, 4, 1, 0);
	cuda.variable(handle, &threads, "threads", "threads", 0, 4, 0, 1);
	cuda.reg_end(handle);
	return handle;
}

/* ---- what programs do ---- */

static int called;

static void call(void *arg)
{
	called += *(int *)arg;
}

static int scale(void *out, void *in, int n, unsigned block, void *stream)
{
	void *args[] = { &out, &in, &n };
	const struct dim3 blocks = { (unsigned)(n + 127) / 128, 1, 1 }, sides = { block, 1, 1 };

	return cuda.launch(&scale_stub, blocks, sides, args, 0, stream);
}

static void test_kernel(int packed)
{
	static struct fat fat;
	static struct wrapper wrapper;
	void **handle = make(&fat, &wrapper, packed);
	uint32_t host[N], count = 0, three = 3;
	void *in, *out;

	for (uint32_t i = 0; i < N; i++)
		host[i] = i * 10;
	NEED(!cuda.allocate(&in, sizeof(host)) && !cuda.allocate(&out, sizeof(host)), "cudaMalloc");
	NEED(!cuda.copy(in, host, sizeof(host), 1) && !cuda.fill(out, 0xff, sizeof(host)), "copies");
	NEED(!scale(out, in, N, 128, NULL) && !cuda.copy(host, out, sizeof(host), 2), "a launch");
	for (uint32_t i = 0; i < N; i++)
		NEED(host[i] == i * 21, "the kernel's results");
	NEED(!cuda.to_symbol(&factor, &three, 4, 0, 1) && !scale(in, out, N, 128, NULL), "a constant");
	NEED(!cuda.synchronize() && !cuda.copy(host, in, sizeof(host), 2), "synchronisation");
	for (uint32_t i = 0; i < N; i++)
		NEED(host[i] == i * 64, "results with another constant");
	NEED(!cuda.from_symbol(&count, &threads, 4, 0, 2) && count == 2 * N, "a variable of the device");
	NEED(cuda.from_symbol(&count, &threads, 4, 4, 2) == 1 && cuda.last() == 1, "beyond a variable");
	NEED(cuda.from_symbol(&count, &scale_stub, 4, 0, 2) == 13 && cuda.last() == 13, "no variable");
	NEED(scale(out, in, N, 2048, NULL) == 1 && cuda.last() == 1 && cuda.last() == 0, "too many threads");
	NEED(!cuda.release(in) && !cuda.release(out) && cuda.release(&host) == 1 && cuda.last() == 1, "cudaFree");
	cuda.unreg(handle);
}

/* Kernels of one stream wait for each other, another stream waits for an event, and then the program is called. */
static void test_streams(void)
{
	static struct fat fat;
	static struct wrapper wrapper;
	void **handle = make(&fat, &wrapper, 0);
	uint32_t host[N], want[N];
	void *a, *b, *one, *two, *event;
	int five = 5;

	NEED(!cuda.allocate(&a, sizeof(host)) && !cuda.allocate(&b, sizeof(host)), "cudaMalloc");
	NEED(!cuda.stream(&one) && !cuda.stream(&two) && !cuda.event(&event), "streams");
	memset(want, 0, sizeof(want));
	NEED(!cuda.fill(a, 0, sizeof(host)), "cudaMemset");
	for (int round = 0; round < 20; round++) {
		NEED(!scale(round % 2 ? a : b, round % 2 ? b : a, N, 128, one), "a launch");
		for (uint32_t i = 0; i < N; i++)
			want[i] = want[i] * 2 + i;
	}
	NEED(!cuda.record(event, one) && !cuda.wait_event(two, event, 0), "an event");
	NEED(!cuda.copy_async(host, a, sizeof(host), 2, two) && !cuda.host_function(two, call, &five), "a function");
	NEED(!cuda.stream_wait(two) && called == 5, "the function was not called");
	NEED(!memcmp(host, want, sizeof(want)), "twenty kernels, one after the other");
	NEED(!cuda.event_gone(event), "cudaEventDestroy");
	NEED(!cuda.release(a) && !cuda.release(b), "cudaFree");
	cuda.unreg(handle);
}

/* Structures that differ between versions of the runtime: what is where in them, and that nothing behind is touched. */
static void test_layouts(int version)
{
	const struct {
		const char *name;
		size_t size, processors, cluster, pointer;
	} is = version == 12 ? (__typeof__(is)){ "cudaGetDeviceProperties_v2", 1032, 388, 772, 24 }
			     : (__typeof__(is)){ "cudaGetDeviceProperties", 1008, 384, 748, 88 };
	int (*properties)(void *, int), (*attributes)(void *, const void *), (*number)(int *), (*get)(int *, int, int);
	int value, processors = 0;
	void *found = dlsym(cuda.library, is.name), *p;
	uint8_t bytes[1100];

	NEED(found, is.name);
	memcpy(&properties, &found, sizeof(found));
	found = dlsym(cuda.library, "cudaPointerGetAttributes");
	memcpy(&attributes, &found, sizeof(found));
	found = dlsym(cuda.library, "cudaRuntimeGetVersion");
	memcpy(&number, &found, sizeof(found));
	found = dlsym(cuda.library, "cudaDeviceGetAttribute");
	memcpy(&get, &found, sizeof(found));
	NEED(!get(&processors, 16, 0) && processors > 0, "cudaDeviceGetAttribute");
	NEED(!number(&value) && value / 1000 == version, "cudaRuntimeGetVersion");
	memset(bytes, 0x5a, sizeof(bytes));
	NEED(!properties(bytes, 0) && !strncmp((char *)bytes, "Belfry", 6), "the name");
	memcpy(&value, bytes + is.processors, sizeof(value));
	NEED(value == processors, "multiProcessorCount");
	memcpy(&value, bytes + is.cluster, sizeof(value));
	NEED(value == 1 && !bytes[is.size - 1] && bytes[is.size] == 0x5a, "clusterLaunch, and the end");
	NEED(!cuda.allocate(&p, 64), "cudaMalloc");
	memset(bytes, 0x5a, sizeof(bytes));
	NEED(!attributes(bytes, p) && !memcmp(bytes + 8, &p, sizeof(p)), "cudaPointerGetAttributes");
	memcpy(&value, bytes, sizeof(value));
	NEED(value == 2 && bytes[is.pointer] == 0x5a, "memory of a device, and the end");
	NEED(!cuda.release(p), "cudaFree");
}

/* ---- addresses and memory apart, by the driver ---- */

struct properties {
	unsigned type, handles;
	struct {
		unsigned type;
		int id;
	} where;
	void *windows;
	unsigned char flags[8];
};

struct access {
	struct {
		unsigned type;
		int id;
	} where;
	unsigned flags;
};

#define SIZE (4u << 20)

/* The same memory at two addresses, the second by a descriptor as another process would get it. */
static void test_mappings(void)
{
	static struct fat fat;
	static struct wrapper wrapper;
	const struct properties what = { .type = 1, .handles = 1, .where = { 1, 0 } };
	const struct access both = { { 1, 0 }, 3 };
	void **handle = make(&fat, &wrapper, 0);
	int (*reserve)(uint64_t *, size_t, size_t, uint64_t, unsigned long long);
	int (*create)(uint64_t *, size_t, const struct properties *, unsigned long long);
	int (*map)(uint64_t, size_t, size_t, uint64_t, unsigned long long), (*unmap)(uint64_t, size_t);
	int (*access)(uint64_t, size_t, const struct access *, size_t), (*give_up)(uint64_t),
	    (*unreserve)(uint64_t, size_t);
	int (*send)(void *, uint64_t, int, unsigned long long), (*receive)(uint64_t *, void *, int);
	const struct {
		const char *name;
		void *to;
	} wanted[] = {
		{ "cuMemAddressReserve", &reserve },
		{ "cuMemCreate", &create },
		{ "cuMemMap", &map },
		{ "cuMemUnmap", &unmap },
		{ "cuMemSetAccess", &access },
		{ "cuMemRelease", &give_up },
		{ "cuMemAddressFree", &unreserve },
		{ "cuMemExportToShareableHandle", &send },
		{ "cuMemImportFromShareableHandle", &receive },
	};
	void *library = dlopen("libcuda.so.1", RTLD_NOW);
	uint64_t at, memory, again;
	uint32_t host[N];
	int fd;

	for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++) {
		void *found = dlsym(library, wanted[i].name);

		NEED(found, wanted[i].name);
		memcpy(wanted[i].to, &found, sizeof(found));
	}
	NEED(!reserve(&at, 1ull << 38, 0, 0, 0) && !create(&memory, SIZE, &what, 0), "256 GiB of addresses");
	NEED(!map(at, SIZE, 0, memory, 0) && !access(at, SIZE, &both, 1), "a mapping");
	NEED(!send(&fd, memory, 1, 0) && !receive(&again, (void *)(uintptr_t)fd, 1), "a descriptor");
	NEED(!map(at + SIZE, SIZE, 0, again, 0) && !access(at + SIZE, SIZE, &both, 1), "a second mapping");
	NEED(map(at, SIZE, 0, memory, 0) == 1, "a mapping over another");
	NEED(!cuda.fill((void *)(uintptr_t)at, 0, SIZE), "cudaMemset");
	NEED(!scale((void *)(uintptr_t)at, (void *)(uintptr_t)(at + SIZE - 4096), N, 128, NULL), "a launch");
	NEED(!cuda.copy(host, (void *)(uintptr_t)(at + SIZE), sizeof(host), 2), "cudaMemcpy");
	for (uint32_t i = 0; i < N; i++)
		NEED(host[i] == i, "what the kernel stored, at the other address");
	NEED(unreserve(at, 1ull << 38) == 1, "addresses in use are freed");
	NEED(!unmap(at, 2 * SIZE) && !give_up(memory) && !give_up(again) && !unreserve(at, 1ull << 38), "release");
	cuda.unreg(handle);
}

/* Two texts that need each other, by the driver's linker. */
static void test_linker(void)
{
	static const char kernel[] =
	    PTX("90") ".extern .global .u32 value;\n.visible .entry read(.param .u64 out)\n{\n	.reg .b32 %r<2>;\n"
		      "	.reg .b64 %rd<3>;\n	ld.param.u64 %rd1, [out];\n	mov.u64 %rd2, value;\n"
		      "	ld.global.u32 %r1, [%rd2];\n	st.global.u32 [%rd1], %r1;\n	ret;\n}\n";
	static const char variable[] = PTX("90") ".visible .global .u32 value = 4711;\n";
	int (*create)(unsigned, int *, void **, void **), (*complete)(void *, void **, size_t *), (*destroy)(void *);
	int (*add_data)(void *, int, void *, size_t, const char *, unsigned, int *, void **);
	int (*load_data)(void **, const void *), (*get)(void **, void *, const char *);
	int (*start)(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *, void **,
		     void **);
	const struct {
		const char *name;
		void *to;
	} wanted[] = {
		{ "cuLinkCreate_v2", &create }, { "cuLinkAddData_v2", &add_data },  { "cuLinkComplete", &complete },
		{ "cuLinkDestroy", &destroy },  { "cuModuleLoadData", &load_data }, { "cuModuleGetFunction", &get },
		{ "cuLaunchKernel", &start },
	};
	void *library = dlopen("libcuda.so.1", RTLD_NOW), *link, *image, *module, *read, *out;
	void *params[] = { &out };
	size_t size;
	int value = 0;

	for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++) {
		void *found = dlsym(library, wanted[i].name);

		NEED(found, wanted[i].name);
		memcpy(wanted[i].to, &found, sizeof(found));
	}
	NEED(!cuda.allocate(&out, 4), "cudaMalloc");
	NEED(!create(0, NULL, NULL, &link) && complete(link, &image, &size) == 200, "a link of nothing");
	NEED(!add_data(link, 1, (void *)(uintptr_t)kernel, sizeof(kernel), "kernel", 0, NULL, NULL), "PTX");
	NEED(!add_data(link, 1, (void *)(uintptr_t)variable, sizeof(variable), "variable", 0, NULL, NULL), "PTX");
	NEED(!complete(link, &image, &size) && !load_data(&module, image) && !destroy(link), "the linked image");
	NEED(!get(&read, module, "read") && get(&link, module, "write") == 500, "kernels of the image");
	NEED(!start(read, 1, 1, 1, 1, 1, 1, 0, NULL, params, NULL), "a launch");
	NEED(!cuda.copy(&value, out, 4, 2) && value == 4711, "the other text's variable");
	NEED(!cuda.release(out), "cudaFree");
}

/* Only machine code: the launch fails, and says why. */
static void test_no_ptx(void)
{
	static struct fat fat;
	static struct wrapper wrapper;
	void **handle;

	begin(&fat);
	add(&fat, CUBIN, 90, 0, "not looked at", 13, 0);
	end(&fat);
	wrapper = (struct wrapper){ 0x466243b1, 1, fat.bytes, NULL };
	handle = cuda.reg(&wrapper);
	cuda.function(handle, &scale_stub, "scale", "scale", -1, NULL, NULL, NULL, NULL, NULL);
	cuda.reg_end(handle);
	NEED(scale(NULL, NULL, N, 128, NULL) == 209 && cuda.last() == 209, "a kernel without PTX");
	cuda.unreg(handle);
}

/* An illegal address ends the context. */
static void test_fault(void)
{
	static struct fat fat;
	static struct wrapper wrapper;
	void *p;
	int error;

	make(&fat, &wrapper, 0);
	NEED(!scale((void *)64, (void *)64, 1, 32, NULL), "a launch");
	error = cuda.synchronize();
	NEED(error == 700 && cuda.synchronize() == 700 && cuda.allocate(&p, 4) == 700, "an illegal address");
	puts(cuda.text(error));
}

/* What tells a GPU from those of other processes. */
static void show_addresses(void)
{
	void *driver = dlopen("libcuda.so.1", RTLD_NOW);
	int (*start)(unsigned flags), (*attribute)(int *value, int which, int device);
	int (*address)(char *text, int size, int device), (*find)(int *device, const char *text);
	int (*uuid)(unsigned char *bytes, int device);

	NEED(driver, dlerror());
	*(void **)&start = dlsym(driver, "cuInit");
	*(void **)&attribute = dlsym(driver, "cuDeviceGetAttribute");
	*(void **)&address = dlsym(driver, "cuDeviceGetPCIBusId");
	*(void **)&find = dlsym(driver, "cuDeviceGetByPCIBusId");
	*(void **)&uuid = dlsym(driver, "cuDeviceGetUuid_v2");
	NEED(start && attribute && address && find && uuid && !start(0), "the driver");
	for (int i = 0; i < 2; i++) {
		unsigned char id[16];
		int domain = -1, same = -1;
		char text[16];

		NEED(!address(text, sizeof(text), i) && !find(&same, text) && same == i, "the PCI address");
		NEED(!attribute(&domain, 50, i) && !uuid(id, i), "domain and UUID");
		printf("%s domain %d uuid %d%d\n", text, domain, id[14], id[15]);
		text[3] ^= 1;
		NEED(find(&same, text) == 101, "the address of another process's GPU");
	}
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "all";

	if (!strcmp(what, "address")) {
		show_addresses();
		return 0;
	}
	load(argc > 2 ? argv[2] : "13");
	if (!strcmp(what, "fault")) {
		test_fault();
		return 0;
	}
	NEED(cuda.array(NULL, NULL, 0, 0, 0) == 801 && cuda.last() == 801, "a call that is not there");
	test_layouts(argc > 2 ? atoi(argv[2]) : 13);
	test_kernel(0);
	test_kernel(1);
	test_streams();
	test_mappings();
	test_linker();
	test_no_ptx();
	puts("ok cuda");
	return 0;
}
