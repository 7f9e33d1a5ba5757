/* Start, devices, contexts, limits, and what is told at the end. */
#include <dlfcn.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tools/cuda/driver_internal.h"

#define CONTEXT_MAGIC 0x78746375u
#define COUNTED_MAX 256u

struct bf_cu bf_cu = { .lock = PTHREAD_MUTEX_INITIALIZER };

static _Thread_local struct bf_cu_context *current;

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
		struct bf_cu_device *d = &bf_cu.device[i];

		d->fd = -1;
		d->limit[0] = 1024;
		d->limit[1] = 1u << 20;
		d->limit[2] = 8u << 20;
		d->limit[3] = 2;
		d->limit[4] = 2048;
		d->limit[5] = 64;
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

/* ---- devices ---- */

static int check_device(int device)
{
	const int rc = bf_cu_ready();

	return rc ? rc : device >= 0 && (uint32_t)device < bf_cu.count ? BF_CU_OK : BF_CU_INVALID_DEVICE;
}

int cuDeviceGetCount(int *count)
{
	if (!count)
		return BF_CU_INVALID_VALUE;
	*count = (int)bf_cu.count;
	return bf_cu_ready();
}

int cuDeviceGet(int *device, int ordinal)
{
	const int rc = check_device(ordinal);

	if (!device)
		return BF_CU_INVALID_VALUE;
	if (!rc)
		*device = ordinal;
	return rc;
}

int cuDeviceGetName(char *name, int len, int device)
{
	const int rc = check_device(device);

	if (!rc && (!name || len < 1))
		return BF_CU_INVALID_VALUE;
	if (!rc)
		snprintf(name, (size_t)len, "%s", bf_cu.profile->title);
	return rc;
}

int cuDeviceTotalMem_v2(size_t *bytes, int device)
{
	const int rc = check_device(device);

	if (!rc && bytes)
		*bytes = bf_cu.profile->memory;
	return rc;
}

uint32_t bf_cu_pci_domain(void)
{
	return bf_cu.machine->rank() & 0xffff;
}

/* Different for each device and each of the processes that were launched together. */
int cuDeviceGetUuid_v2(struct bf_cu_uuid *uuid, int device)
{
	const int rc = check_device(device);

	if (rc || !uuid)
		return rc ? rc : BF_CU_INVALID_VALUE;
	memcpy(uuid->bytes, "Belfry GPU\0\0\0\0\0", 16);
	uuid->bytes[13] = (uint8_t)(bf_cu_pci_domain() >> 8);
	uuid->bytes[14] = (uint8_t)bf_cu_pci_domain();
	uuid->bytes[15] = (uint8_t)device;
	return BF_CU_OK;
}

int cuDeviceGetUuid(struct bf_cu_uuid *uuid, int device)
{
	return cuDeviceGetUuid_v2(uuid, device);
}

int cuDeviceGetPCIBusId(char *text, int len, int device)
{
	const int rc = check_device(device);

	if (!rc && (!text || len < 1))
		return BF_CU_INVALID_VALUE;
	if (!rc)
		snprintf(text, (size_t)len, "%04X:%02X:00.0", bf_cu_pci_domain(), 0x40 + device);
	return rc;
}

int cuDeviceGetByPCIBusId(int *device, const char *text)
{
	unsigned domain = 0, bus = 0, slot = 0, function = 0;
	const int rc = bf_cu_ready();

	if (rc || !device || !text)
		return rc ? rc : BF_CU_INVALID_VALUE;
	if (sscanf(text, "%x:%x:%x.%x", &domain, &bus, &slot, &function) < 3)
		return BF_CU_INVALID_VALUE;
	if (domain != bf_cu_pci_domain() || bus < 0x40 || bus - 0x40 >= bf_cu.count)
		return BF_CU_INVALID_DEVICE;
	*device = (int)bus - 0x40;
	return BF_CU_OK;
}

int cuDeviceComputeCapability(int *major, int *minor, int device)
{
	const int rc = check_device(device);

	if (!rc) {
		*major = (int)bf_cu.profile->major;
		*minor = (int)bf_cu.profile->minor;
	}
	return rc;
}

int cuDeviceCanAccessPeer(int *can, int device, int peer)
{
	int rc = check_device(device);

	rc = rc ? rc : check_device(peer);
	if (!rc)
		*can = device != peer;
	return rc;
}

int cuDeviceGetP2PAttribute(int *value, int attribute, int from, int to)
{
	int rc = check_device(from);

	rc = rc ? rc : check_device(to);
	if (rc || from == to || !value)
		return rc ? rc : BF_CU_INVALID_VALUE;
	switch (attribute) {
	case 1: /* performance rank */
		*value = 0;
		return BF_CU_OK;
	case 2: /* access */
	case 3: /* native atomics */
		*value = 1;
		return BF_CU_OK;
	case 4: /* arrays */
		*value = 0;
		return BF_CU_OK;
	default:
		return BF_CU_INVALID_VALUE;
	}
}

/* ---- contexts ---- */

bool bf_cu_is_context(const struct bf_cu_context *c)
{
	return c && c->magic == CONTEXT_MAGIC;
}

static struct bf_cu_context *make_context(int device, unsigned flags)
{
	struct bf_cu_context *c = calloc(1, sizeof(*c));

	if (!c)
		return NULL;
	c->magic = CONTEXT_MAGIC;
	c->device = device;
	c->flags = flags;
	c->legacy = bf_cu_stream_make(c, 0, 0);
	if (!c->legacy) {
		free(c);
		return NULL;
	}
	return c;
}

struct bf_cu_context *bf_cu_current(void)
{
	return current;
}

int bf_cu_enter(struct bf_cu_context **out)
{
	int rc = bf_cu_ready();

	*out = current;
	if (!rc && !current)
		rc = BF_CU_INVALID_CONTEXT;
	return rc ? rc : bf_cu_check(current->device);
}

int cuDevicePrimaryCtxRetain(CUcontext *out, int device)
{
	int rc = check_device(device);
	struct bf_cu_device *d;

	if (rc || !out)
		return rc ? rc : BF_CU_INVALID_VALUE;
	bf_cu_lock();
	d = &bf_cu.device[device];
	if (!d->primary) {
		d->primary = make_context(device, d->flags);
		if (d->primary)
			d->primary->primary = true;
	}
	if (d->primary)
		d->retained++;
	*out = d->primary;
	bf_cu_unlock();
	return *out ? BF_CU_OK : BF_CU_OUT_OF_MEMORY;
}

int cuDevicePrimaryCtxRelease_v2(int device)
{
	const int rc = check_device(device);

	if (rc)
		return rc;
	bf_cu_lock();
	if (bf_cu.device[device].retained)
		bf_cu.device[device].retained--;
	bf_cu_unlock();
	return BF_CU_OK;
}

/* A device that died stays dead: its machine cannot be made anew while others run. */
int cuDevicePrimaryCtxReset_v2(int device)
{
	int rc = check_device(device);

	if (rc)
		return rc;
	bf_cu_lock();
	rc = bf_cu_check(device);
	if (!rc && bf_cu.device[device].primary)
		rc = bf_cu_wait_all(bf_cu.device[device].primary);
	bf_cu_unlock();
	bf_cu_print();
	return rc;
}

int cuDevicePrimaryCtxGetState(int device, unsigned *flags, int *active)
{
	const int rc = check_device(device);

	if (rc)
		return rc;
	*flags = bf_cu.device[device].flags;
	*active = bf_cu.device[device].retained != 0;
	return BF_CU_OK;
}

int cuDevicePrimaryCtxSetFlags_v2(int device, unsigned flags)
{
	const int rc = check_device(device);

	if (rc)
		return rc;
	bf_cu.device[device].flags = flags;
	if (bf_cu.device[device].primary)
		bf_cu.device[device].primary->flags = flags;
	return BF_CU_OK;
}

int cuCtxCreate_v2(CUcontext *out, unsigned flags, int device)
{
	int rc = check_device(device);
	struct bf_cu_context *c;

	if (rc || !out)
		return rc ? rc : BF_CU_INVALID_VALUE;
	bf_cu_lock();
	c = make_context(device, flags);
	bf_cu_unlock();
	if (!c)
		return BF_CU_OUT_OF_MEMORY;
	c->below = current;
	current = *out = c;
	return BF_CU_OK;
}

int cuCtxCreate_v4(CUcontext *out, const void *params, unsigned flags, int device)
{
	/* CUctxCreateParams: affinity and how many of it, graphics. Zeros ask for nothing. */
	static const uint64_t nothing[3];

	if (params && memcmp(params, nothing, sizeof(nothing)) != 0)
		return bf_cu_unsupported("cuCtxCreate with parameters");
	return cuCtxCreate_v2(out, flags, device);
}

int cuCtxDestroy_v2(CUcontext c)
{
	int rc = bf_cu_ready();

	if (rc || !bf_cu_is_context(c) || c->primary)
		return rc ? rc : BF_CU_INVALID_CONTEXT;
	bf_cu_lock();
	rc = bf_cu_wait_all(c);
	bf_cu_unlock();
	bf_cu_print();
	if (current == c)
		current = c->below;
	c->magic = 0; /* its streams live on for those who still hold them */
	return rc;
}

int cuCtxGetCurrent(CUcontext *out)
{
	if (!out)
		return BF_CU_INVALID_VALUE;
	*out = current;
	return bf_cu_ready();
}

int cuCtxSetCurrent(CUcontext c)
{
	const int rc = bf_cu_ready();

	if (rc || (c && !bf_cu_is_context(c)))
		return rc ? rc : BF_CU_INVALID_CONTEXT;
	current = c;
	return BF_CU_OK;
}

int cuCtxPushCurrent_v2(CUcontext c)
{
	const int rc = bf_cu_ready();

	if (rc || !bf_cu_is_context(c))
		return rc ? rc : BF_CU_INVALID_CONTEXT;
	if (c != current)
		c->below = current;
	current = c;
	return BF_CU_OK;
}

int cuCtxPopCurrent_v2(CUcontext *out)
{
	struct bf_cu_context *c = current;

	if (!c)
		return BF_CU_INVALID_CONTEXT;
	if (out)
		*out = c;
	current = c->below;
	c->below = NULL;
	return BF_CU_OK;
}

int cuCtxGetDevice(int *device)
{
	if (!device)
		return BF_CU_INVALID_VALUE;
	if (bf_cu_ready() || !current)
		return bf_cu_ready() ? bf_cu_ready() : BF_CU_INVALID_CONTEXT;
	*device = current->device;
	return BF_CU_OK;
}

int cuCtxGetDevice_v2(int *device, CUcontext c)
{
	if (!c)
		return cuCtxGetDevice(device);
	if (!device || !bf_cu_is_context(c))
		return BF_CU_INVALID_VALUE;
	*device = c->device;
	return BF_CU_OK;
}

int cuCtxGetFlags(unsigned *flags)
{
	if (!current || !flags)
		return current ? BF_CU_INVALID_VALUE : BF_CU_INVALID_CONTEXT;
	*flags = current->flags;
	return BF_CU_OK;
}

int cuCtxSetFlags(unsigned flags)
{
	if (!current)
		return BF_CU_INVALID_CONTEXT;
	current->flags = flags;
	return BF_CU_OK;
}

int cuCtxGetApiVersion(CUcontext c, unsigned *version)
{
	(void)c;
	*version = 3020;
	return BF_CU_OK;
}

int cuCtxGetId(CUcontext c, unsigned long long *id)
{
	c = c ? c : current;
	if (!bf_cu_is_context(c) || !id)
		return BF_CU_INVALID_CONTEXT;
	*id = (uintptr_t)c;
	return BF_CU_OK;
}

int cuCtxSynchronize(void)
{
	struct bf_cu_context *c;
	int rc = bf_cu_enter(&c);

	if (rc) {
		bf_cu_print();
		return rc;
	}
	bf_cu_lock();
	rc = bf_cu_capture_context(c);
	rc = rc ? rc : bf_cu_wait_all(c);
	bf_cu_unlock();
	bf_cu_print();
	return rc;
}

int cuCtxSynchronize_v2(CUcontext c)
{
	struct bf_cu_context *before = current;
	int rc;

	if (c && !bf_cu_is_context(c))
		return BF_CU_INVALID_CONTEXT;
	current = c ? c : before;
	rc = cuCtxSynchronize();
	current = before;
	return rc;
}

int cuCtxGetStreamPriorityRange(int *least, int *greatest)
{
	if (least)
		*least = 0;
	if (greatest)
		*greatest = -5;
	return current ? BF_CU_OK : BF_CU_INVALID_CONTEXT;
}

int cuCtxGetLimit(size_t *value, int limit)
{
	if (!current)
		return BF_CU_INVALID_CONTEXT;
	if (!value || limit < 0 || limit > 8)
		return BF_CU_INVALID_VALUE;
	*value = bf_cu.device[current->device].limit[limit];
	return BF_CU_OK;
}

#define STACK_LEAST 16384u /* what the machine gives in any case */
#define STACK_MOST (512u << 10)

/* Stack and heap are the machine's; the others bound what it would take anyway. */
int cuCtxSetLimit(int limit, size_t value)
{
	if (!current)
		return BF_CU_INVALID_CONTEXT;
	if (limit < 0 || limit > 8)
		return BF_CU_INVALID_VALUE;
	if ((limit == 0 && value > STACK_MOST) || (limit == 2 && value > bf_cu.profile->memory))
		return BF_CU_INVALID_VALUE;
	if (limit == 0 &&
	    bf_cu.machine->limits((uint32_t)current->device, 0, value < STACK_LEAST ? STACK_LEAST : (uint32_t)value))
		return BF_CU_UNKNOWN;
	/* A kernel has used the heap: CUDA takes no other size then, either. */
	if (limit == 2 && bf_cu.machine->limits((uint32_t)current->device, value ? value : 1, 0))
		return BF_CU_INVALID_VALUE;
	bf_cu.device[current->device].limit[limit] = value;
	return BF_CU_OK;
}

int cuCtxGetCacheConfig(int *config)
{
	*config = 0;
	return BF_CU_OK;
}

/* A hint about caches that the machine does not have. */
int cuCtxSetCacheConfig(int config)
{
	(void)config;
	return BF_CU_OK;
}

/* Kernels reach the memory of all devices; who has asked for it is remembered, as programs expect. */
int cuCtxEnablePeerAccess(CUcontext peer, unsigned flags)
{
	uint32_t bit;
	int rc = BF_CU_OK;

	if (!current || !bf_cu_is_context(peer))
		return BF_CU_INVALID_CONTEXT;
	if (flags || peer->device == current->device)
		return flags ? BF_CU_INVALID_VALUE : BF_CU_INVALID_DEVICE;
	bit = 1u << peer->device;
	bf_cu_lock();
	if (bf_cu.device[current->device].peers & bit)
		rc = BF_CU_PEER_ENABLED;
	bf_cu.device[current->device].peers |= bit;
	bf_cu_unlock();
	return rc;
}

int cuCtxDisablePeerAccess(CUcontext peer)
{
	uint32_t bit;
	int rc = BF_CU_OK;

	if (!current || !bf_cu_is_context(peer))
		return BF_CU_INVALID_CONTEXT;
	bit = 1u << peer->device;
	bf_cu_lock();
	if (!(bf_cu.device[current->device].peers & bit))
		rc = BF_CU_PEER_NOT_ENABLED;
	bf_cu.device[current->device].peers &= ~bit;
	bf_cu_unlock();
	return rc;
}

/* Writes of the NIC are in memory when they have been done. */
int cuFlushGPUDirectRDMAWrites(int target, int scope)
{
	(void)target;
	(void)scope;
	return current ? BF_CU_OK : BF_CU_INVALID_CONTEXT;
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
