/* Start, and what is told at the end. */
#include <dlfcn.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "tools/cuda/driver_internal.h"

#define COUNTED_MAX 256u

struct bf_cu bf_cu = { .lock = PTHREAD_MUTEX_INITIALIZER };

/* Calls that were not there, by name. */
static struct {
	pthread_mutex_t lock;
	struct {
		const char *name;
		uint64_t count;
	} call[COUNTED_MAX];
	uint32_t n;
} counted = { .lock = PTHREAD_MUTEX_INITIALIZER };

/* ---- what is said ---- */

void bf_cu_say(const char *fmt, ...)
{
	char text[2048];
	va_list args;

	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	fflush(stdout);
	fprintf(stderr, "belfry exec: GPU: %s\n", text);
}

const char *bf_cu_caller(const void *address)
{
	Dl_info info;

	return dladdr(address, &info) && info.dli_fname ? info.dli_fname : "the program";
}

int bf_cu_unsupported(const char *name)
{
	uint32_t i = 0;

	pthread_mutex_lock(&counted.lock);
	while (i < counted.n && strcmp(counted.call[i].name, name) != 0)
		i++;
	if (i == counted.n && i < COUNTED_MAX)
		counted.call[counted.n++].name = name;
	if (i < COUNTED_MAX)
		counted.call[i].count++;
	pthread_mutex_unlock(&counted.lock);
	return BF_CU_NOT_SUPPORTED;
}

void bf_cu_print(void)
{
	char text[4096];
	size_t n;

	while (bf_cu.machine && (n = bf_cu.machine->printed(text, sizeof(text))) > 0)
		fwrite(text, 1, n, stdout);
}

__attribute__((destructor)) static void leave(void)
{
	if (!bf_cu.machine)
		return;
	bf_cu_streams_end();
	bf_cu_print();
	for (uint32_t i = 0; i < counted.n; i++)
		bf_cu_say("%s is not there: called %llu times, answered \"not supported\"", counted.call[i].name,
			  (unsigned long long)counted.call[i].count);
}

/* ---- start ---- */

void bf_cu_lock(void)
{
	pthread_mutex_lock(&bf_cu.lock);
}

void bf_cu_unlock(void)
{
	pthread_mutex_unlock(&bf_cu.lock);
}

static const struct bf_exec_gpu_calls *find_machine(void)
{
	union {
		void *object;
		const struct bf_exec_gpu_calls *(*function)(void);
	} found = { .object = dlsym(RTLD_DEFAULT, "belfry_exec_gpu") };
	const struct bf_exec_gpu_calls *calls = found.object ? found.function() : NULL;

	return calls && calls->version == BF_EXEC_GPU_CALLS ? calls : NULL;
}

/* An H100's: 64 KiB of printf's ring for each SM. */
void bf_cu_limits(struct bf_cu_device *d)
{
	d->limit[0] = 1024;
	d->limit[1] = (size_t)bf_cu.profile->sms << 16;
	d->limit[2] = 8u << 20;
	d->limit[4] = 2048;
	d->limit[5] = 64;
	d->limit[6] = 9830400;
	d->limit[7] = bf_cu.profile->shared_block;
}

static int start(void)
{
	const struct bf_exec_gpu_calls *m = find_machine();

	if (!m)
		return BF_CU_NO_DEVICE;
	if (m->start())
		return BF_CU_UNKNOWN;
	bf_cu.profile = m->profile();
	bf_cu.count = m->count();
	for (uint32_t i = 0; i < bf_cu.count; i++) {
		bf_cu.device[i].fd = -1;
		bf_cu_limits(&bf_cu.device[i]);
	}
	__atomic_store_n(&bf_cu.machine, m, __ATOMIC_RELEASE);
	return BF_CU_OK;
}

int cuInit(unsigned flags)
{
	int rc = BF_CU_OK;

	if (flags)
		return BF_CU_INVALID_VALUE;
	bf_cu_lock();
	if (!bf_cu.machine)
		rc = start();
	bf_cu_unlock();
	return rc;
}

int bf_cu_ready(void)
{
	if (!__atomic_load_n(&bf_cu.machine, __ATOMIC_ACQUIRE))
		return BF_CU_NOT_INITIALIZED;
	return bf_cu.ended ? BF_CU_DEINITIALIZED : BF_CU_OK;
}

int cuDriverGetVersion(int *version)
{
	if (!version)
		return BF_CU_INVALID_VALUE;
	*version = BF_CU_VERSION;
	return BF_CU_OK;
}

int cuModuleGetLoadingMode(int *mode)
{
	*mode = 2; /* lazy */
	return BF_CU_OK;
}

int cuProfilerStart(void)
{
	return BF_CU_OK;
}

int cuProfilerStop(void)
{
	return BF_CU_OK;
}
