/*
 * CUDA programs under `belfry exec --gpu 1`: start-up, launches, instructions and memory, each beside something that
 * the same machine does in the same run.
 *
 *   bench_exec_gpu BELFRY
 *
 * It starts itself under BELFRY. All times are processor time. Start-up is that of the whole child, as against a
 * program that does nothing under `belfry exec`; launches as against a word handed to another thread and back;
 * instructions (of single lanes) as against the same loop in C at -O2; memory is the most that was resident.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tests/bench/limit.h"
#include "tests/bench/must.h"

#define BLOCKS 132u
#define THREADS 256u
#define ROUNDS 2000u
#define PER_ROUND 4u /* instructions of the loop */
#define LAUNCHES 5000
#define HANDOVERS 5000
#define STARTS 5

static const char ptx[] =
    ".version 8.0\n.target sm_90\n.address_size 64\n"
    ".visible .entry empty()\n{\n	ret;\n}\n"
    ".visible .entry work(.param .u64 out, .param .u32 rounds)\n{\n"
    "	.reg .pred %p<2>;\n	.reg .b32 %r<8>;\n	.reg .b64 %rd<4>;\n"
    "	ld.param.u64 %rd1, [out];\n	ld.param.u32 %r1, [rounds];\n"
    "	mov.u32 %r2, %ctaid.x;\n	mov.u32 %r3, %ntid.x;\n	mov.u32 %r4, %tid.x;\n"
    "	mad.lo.s32 %r5, %r2, %r3, %r4;\n	mov.u32 %r6, %r5;\n"
    "again:\n	mad.lo.u32 %r6, %r6, 1664525, 1013904223;\n	sub.u32 %r1, %r1, 1;\n"
    "	setp.ne.u32 %p1, %r1, 0;\n	@%p1 bra again;\n"
    "	mul.wide.u32 %rd2, %r5, 4;\n	add.s64 %rd3, %rd1, %rd2;\n	st.global.u32 [%rd3], %r6;\n"
    "	ret;\n}\n";

/* Of this process, all of its threads: others that use the machine do not count. */
static double now_s(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* ---- the child: what the driver API does ---- */

static void get(void *library, const char *name, void *to)
{
	void *at = dlsym(library, name);

	MUST(at);
	memcpy(to, &at, sizeof(at));
}

static void run_child(bool only_start)
{
	int (*init)(unsigned), (*retain)(void **, int), (*set)(void *), (*all)(void), (*load)(void **, const void *);
	int (*function)(void **, void *, const char *), (*allocate)(uint64_t *, size_t),
	    (*read)(void *, uint64_t, size_t);
	int (*launch)(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *, void **,
		      void **);
	void *library = dlopen("libcuda.so.1", RTLD_NOW), *context, *module, *empty, *work;
	uint32_t rounds = ROUNDS, first;
	uint64_t out;
	void *args[] = { &out, &rounds };
	double begin, queued, each;

	MUST(library);
	get(library, "cuInit", &init);
	get(library, "cuDevicePrimaryCtxRetain", &retain);
	get(library, "cuCtxSetCurrent", &set);
	get(library, "cuCtxSynchronize", &all);
	get(library, "cuModuleLoadData", &load);
	get(library, "cuModuleGetFunction", &function);
	get(library, "cuMemAlloc_v2", &allocate);
	get(library, "cuMemcpyDtoH_v2", &read);
	get(library, "cuLaunchKernel", &launch);
	MUST(!init(0) && !retain(&context, 0) && !set(context) && !load(&module, ptx));
	MUST(!function(&empty, module, "empty") && !function(&work, module, "work"));
	MUST(!allocate(&out, BLOCKS * THREADS * sizeof(uint32_t)));
	MUST(!launch(empty, 1, 1, 1, 32, 1, 1, 0, NULL, NULL, NULL) && !all());
	if (only_start)
		return;
	begin = now_s();
	for (int i = 0; i < LAUNCHES; i++)
		MUST(!launch(empty, 1, 1, 1, 32, 1, 1, 0, NULL, NULL, NULL));
	MUST(!all());
	queued = LAUNCHES / (now_s() - begin);
	begin = now_s();
	for (int i = 0; i < LAUNCHES; i++)
		MUST(!launch(empty, 1, 1, 1, 32, 1, 1, 0, NULL, NULL, NULL) && !all());
	each = LAUNCHES / (now_s() - begin);
	begin = now_s();
	MUST(!launch(work, BLOCKS, 1, 1, THREADS, 1, 1, 0, NULL, args, NULL) && !all());
	MUST(!read(&first, out, sizeof(first)));
	printf("%f %f %f %u\n", queued, each, (double)BLOCKS * THREADS * ROUNDS * PER_ROUND / (now_s() - begin), first);
}

/* ---- the parent: children, and what they stand beside ---- */

struct cost {
	double cpu_s;
	long resident_kib;
	char said[256];
};

static struct cost start(char *const argv[])
{
	struct cost c = { 0 };
	struct rusage use;
	int ends[2], status;
	ssize_t n;
	pid_t child;

	MUST(!pipe(ends));
	child = fork();
	MUST(child >= 0);
	if (!child) {
		dup2(ends[1], STDOUT_FILENO);
		dup2(ends[1], STDERR_FILENO);
		execv(argv[0], argv);
		_exit(127);
	}
	close(ends[1]);
	for (size_t got = 0; (n = read(ends[0], c.said + got, sizeof(c.said) - 1 - got)) > 0;)
		got += (size_t)n;
	close(ends[0]);
	MUST(wait4(child, &status, 0, &use) == child);
	if (status)
		fprintf(stderr, "%s: %s\n", argv[0], c.said);
	MUST(!status);
	c.cpu_s = (double)(use.ru_utime.tv_sec + use.ru_stime.tv_sec) +
		  (double)(use.ru_utime.tv_usec + use.ru_stime.tv_usec) * 1e-6;
	c.resident_kib = use.ru_maxrss;
	return c;
}

/* The least of several. */
static struct cost start_often(char *const argv[])
{
	struct cost best = start(argv);

	for (int i = 1; i < STARTS; i++) {
		const struct cost c = start(argv);

		if (c.cpu_s < best.cpu_s)
			best = c;
	}
	return best;
}

static struct {
	pthread_mutex_t lock;
	pthread_cond_t turned;
	int turn;
} word = { .lock = PTHREAD_MUTEX_INITIALIZER, .turned = PTHREAD_COND_INITIALIZER };

static void hand_over(int mine)
{
	pthread_mutex_lock(&word.lock);
	for (int i = 0; i < HANDOVERS; i++) {
		while (word.turn != mine)
			pthread_cond_wait(&word.turned, &word.lock);
		word.turn = !mine;
		pthread_cond_signal(&word.turned);
	}
	pthread_mutex_unlock(&word.lock);
}

static void *other(void *arg)
{
	(void)arg;
	hand_over(1);
	return NULL;
}

static double handovers_per_s(void)
{
	const double begin = now_s();
	pthread_t thread;

	MUST(!pthread_create(&thread, NULL, other, NULL));
	hand_over(0);
	pthread_join(thread, NULL);
	return HANDOVERS / (now_s() - begin);
}

/* What one thread of the kernel computes. */
static uint32_t in_c(uint32_t x)
{
	for (uint32_t i = ROUNDS; i; i--) {
		x = x * 1664525 + 1013904223;
		__asm__ volatile("" : "+r"(x)); /* each round is done */
	}
	return x;
}

static double c_per_s(uint32_t first)
{
	const double begin = now_s();
	uint32_t sum = 0;

	for (uint32_t i = 0; i < BLOCKS * THREADS; i++)
		sum += in_c(i);
	MUST(in_c(0) == first && sum);
	return (double)BLOCKS * THREADS * ROUNDS * PER_ROUND / (now_s() - begin);
}

int main(int argc, char **argv)
{
	char self[4096], nothing[] = "/bin/true";
	ssize_t n;
	double queued, each, instructions, handed, c;
	struct cost idle, started, busy;
	uint32_t first;
	bool met;

	if (argc == 2 && (!strcmp(argv[1], "child") || !strcmp(argv[1], "start"))) {
		run_child(!strcmp(argv[1], "start"));
		return 0;
	}
	if (argc != 2) {
		fprintf(stderr, "usage: bench_exec_gpu BELFRY\n");
		return 2;
	}
	n = readlink("/proc/self/exe", self, sizeof(self) - 1);
	MUST(n > 0);
	self[n] = '\0';
	idle = start_often((char *[]){ argv[1], "exec", "--", nothing, NULL });
	started = start_often((char *[]){ argv[1], "exec", "--gpu", "1", "--", self, "start", NULL });
	busy = start((char *[]){ argv[1], "exec", "--gpu", "1", "--", self, "child", NULL });
	MUST(sscanf(busy.said, "%lf %lf %lf %u", &queued, &each, &instructions, &first) == 4);
	handed = handovers_per_s();
	c = c_per_s(first);
	printf("a program that does nothing under exec: %.1f ms of processor, %.1f MiB\n", idle.cpu_s * 1e3,
	       (double)idle.resident_kib / 1024);
	printf("start-up with a GPU to the end of a first kernel: %.1f ms of processor, %.1f times that\n",
	       started.cpu_s * 1e3, started.cpu_s / idle.cpu_s);
	printf("launches back to back: %.0f a second, %.2f of a word handed to a thread and back (%.0f a second)\n",
	       queued, queued / handed, handed);
	printf("launches waited for one by one: %.0f a second, %.2f of that\n", each, each / handed);
	printf("instructions of lanes: %.0f M a second, %.2f of the same loop in C (%.0f M)\n", instructions / 1e6,
	       instructions / c, c / 1e6);
	printf("memory: %.1f MiB, %.1f times what nothing takes\n", (double)busy.resident_kib / 1024,
	       (double)busy.resident_kib / (double)idle.resident_kib);
	met = bench_at_most("start-up with a GPU, of start-up without", started.cpu_s / idle.cpu_s, 4, "times");
	met = bench_at_least("launches, of words handed to a thread and back", queued / handed, 0.4, "times") && met;
	met = bench_at_least("instructions of lanes, of the same loop in C", instructions / c, 0.8, "times") && met;
	met = bench_at_most("memory of a program with a GPU", (double)busy.resident_kib / 1024, 96, "MiB") && met;
	return met ? 0 : 1;
}
