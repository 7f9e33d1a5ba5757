/*
 * Words that a kernel and a thread of the program change by atomic operations at the same time: none of the changes is
 * lost. In managed and in pinned memory, of each width, by operations that the processor has and by others. It is
 * linked with nothing; test_exec_cuda.sh runs it under `belfry exec --gpu`. What it found wrong first ends it with exit
 * code 1.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/tools/need.h"

#define THREADS 64u
#define ROUNDS 100u

/* Each thread, `rounds` times: one more in each word, once more in a loop of compare-and-swap of 16 bits. */
static const char ptx[] = ".version 8.0\n.target sm_90\n.address_size 64\n"
			  ".visible .entry words(.param .u64 at, .param .u32 rounds)\n"
			  "{\n"
			  "	.reg .pred %p<3>;\n	.reg .b16 %h<4>;\n	.reg .b32 %r<4>;\n	.reg .b64 "
			  "%rd<3>;\n	.reg .f32 %f<2>;\n"
			  "	ld.param.u64 %rd1, [at];\n	ld.param.u32 %r1, [rounds];\n"
			  "again:\n"
			  "	atom.global.sys.add.u32 %r2, [%rd1], 1;\n"
			  "	red.global.sys.add.u64 [%rd1+8], 4294967297;\n"
			  "	atom.global.sys.inc.u32 %r2, [%rd1+16], 0xffffffff;\n"
			  "	atom.global.sys.add.f32 %f1, [%rd1+20], 0f3f800000;\n"
			  "retry:\n"
			  "	ld.relaxed.sys.global.u16 %h1, [%rd1+24];\n	add.u16 %h2, %h1, 1;\n"
			  "	atom.global.sys.cas.b16 %h3, [%rd1+24], %h1, %h2;\n"
			  "	setp.ne.u16 %p1, %h3, %h1;\n	@%p1 bra retry;\n"
			  "	sub.u32 %r1, %r1, 1;\n	setp.ne.u32 %p2, %r1, 0;\n	@%p2 bra again;\n"
			  "	ret;\n}\n";

struct words {
	uint32_t u32, unused;
	uint64_t u64;
	uint32_t inc;
	float f32;
	uint16_t u16;
};

static struct {
	int (*init)(unsigned flags), (*retain)(void **context, int device), (*current)(void *context), (*wait)(void);
	int (*load)(void **module, const void *image), (*get)(void **f, void *module, const char *name);
	int (*managed)(uint64_t *at, size_t size, unsigned flags), (*pinned)(void **at, size_t size, unsigned flags);
	int (*launch)(void *f, unsigned gx, unsigned gy, unsigned gz, unsigned x, unsigned y, unsigned z,
		      unsigned shared, void *stream, void **params, void **extra);
} cuda;

static void find(void *library, const char *name, void *to)
{
	void *at = dlsym(library, name);

	NEED(at, name);
	memcpy(to, &at, sizeof(at));
}

static void load(void)
{
	void *library = dlopen("libcuda.so.1", RTLD_NOW);

	NEED(library, "libcuda.so.1");
	find(library, "cuInit", &cuda.init);
	find(library, "cuDevicePrimaryCtxRetain", &cuda.retain);
	find(library, "cuCtxSetCurrent", &cuda.current);
	find(library, "cuCtxSynchronize", &cuda.wait);
	find(library, "cuModuleLoadData", &cuda.load);
	find(library, "cuModuleGetFunction", &cuda.get);
	find(library, "cuMemAllocManaged", &cuda.managed);
	find(library, "cuMemHostAlloc", &cuda.pinned);
	find(library, "cuLaunchKernel", &cuda.launch);
}

struct side {
	struct words *at;
	int started, stop;
	uint32_t rounds;
};

static void add_float(uint32_t *at)
{
	uint32_t is = __atomic_load_n(at, __ATOMIC_RELAXED), to;
	float f;

	do {
		memcpy(&f, &is, sizeof(f));
		f += 1;
		memcpy(&to, &f, sizeof(to));
	} while (!__atomic_compare_exchange_n(at, &is, to, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED));
}

/* The same by the processor, until the kernel has ended; no more often than a float counts exactly. */
static void *beside(void *arg)
{
	struct side *s = arg;

	__atomic_store_n(&s->started, 1, __ATOMIC_RELEASE);
	while (!__atomic_load_n(&s->stop, __ATOMIC_ACQUIRE) && s->rounds < 8000000) {
		__atomic_fetch_add(&s->at->u32, 1, __ATOMIC_RELAXED);
		__atomic_fetch_add(&s->at->u64, 0x100000001, __ATOMIC_RELAXED);
		__atomic_fetch_add(&s->at->inc, 1, __ATOMIC_RELAXED);
		__atomic_fetch_add(&s->at->u16, 1, __ATOMIC_RELAXED);
		add_float((uint32_t *)(void *)&s->at->f32);
		s->rounds++;
	}
	return NULL;
}

static void run(void *kernel, struct words *at, const char *memory)
{
	struct side s = { .at = at };
	uint64_t address = (uintptr_t)at;
	uint32_t rounds = ROUNDS, all;
	void *params[] = { &address, &rounds };
	pthread_t thread;

	memset(at, 0, sizeof(*at));
	NEED(!pthread_create(&thread, NULL, beside, &s), "a thread");
	while (!__atomic_load_n(&s.started, __ATOMIC_ACQUIRE))
		;
	NEED(!cuda.launch(kernel, 2, 1, 1, THREADS / 2, 1, 1, 0, NULL, params, NULL), "launch");
	NEED(!cuda.wait(), "a kernel");
	__atomic_store_n(&s.stop, 1, __ATOMIC_RELEASE);
	NEED(!pthread_join(thread, NULL), "a thread");
	all = s.rounds + THREADS * ROUNDS;
	printf("%s memory: %u changes by the program, %u by the kernel\n", memory, s.rounds, THREADS * ROUNDS);
	NEED(at->u32 == all && at->inc == all, "words of 4 bytes lost changes");
	NEED(at->u64 == all * 0x100000001ull, "a word of 8 bytes lost changes");
	NEED(at->u16 == (uint16_t)all, "a word of 2 bytes lost changes");
	NEED(at->f32 == (float)all, "a float lost changes");
}

int main(void)
{
	void *context, *module, *kernel, *pinned;
	uint64_t managed;

	load();
	NEED(!cuda.init(0) && !cuda.retain(&context, 0) && !cuda.current(context), "a context");
	NEED(!cuda.load(&module, ptx) && !cuda.get(&kernel, module, "words"), "a module");
	NEED(!cuda.managed(&managed, 4096, 1) && !cuda.pinned(&pinned, 4096, 0), "memory");
	run(kernel, (struct words *)(uintptr_t)managed, "managed");
	run(kernel, pinned, "pinned");
	puts("ok words");
	return 0;
}
