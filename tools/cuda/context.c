/* Contexts: a device's primary one and others, which of them is a thread's, its limits and peers. */
#include <stdlib.h>
#include <string.h>

#include "tools/cuda/driver_internal.h"

#define CONTEXT_MAGIC 0x78746375u

#define STACK_MAX 128u

/* A thread's contexts: the last is the current one, and none is below the first. */
static _Thread_local struct {
	struct bf_cu_context *context[STACK_MAX];
	uint32_t below; /* the current one */
} stack;

#define current (stack.context[stack.below])

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
	int rc = bf_cu_check_device(device);
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
	const int rc = bf_cu_check_device(device);

	if (rc)
		return rc;
	bf_cu_lock();
	if (bf_cu.device[device].retained)
		bf_cu.device[device].retained--;
	bf_cu_unlock();
	return BF_CU_OK;
}

/* After an error of a kernel no context of it can be made any more in the process, as on an H100. */
int cuDevicePrimaryCtxReset_v2(int device)
{
	int rc = bf_cu_check_device(device);
	struct bf_cu_context *c;

	if (rc)
		return rc;
	bf_cu_lock();
	c = bf_cu.device[device].primary;
	if (c)
		bf_cu_wait_all(c);
	if (bf_cu_check(device)) {
		bf_cu.device[device].fault = BF_CU_UNAVAILABLE;
	} else if (c) {
		bf_cu_streams_drop(c);
		bf_cu_release_all(device);
		bf_cu_modules_renew(device);
		bf_cu_limits(&bf_cu.device[device]);
		bf_cu.device[device].peers = 0;
	}
	bf_cu_unlock();
	bf_cu_print();
	return rc;
}

int cuDevicePrimaryCtxGetState(int device, unsigned *flags, int *active)
{
	const int rc = bf_cu_check_device(device);

	if (rc)
		return rc;
	*flags = bf_cu.device[device].flags;
	*active = bf_cu.device[device].retained != 0;
	return BF_CU_OK;
}

int cuDevicePrimaryCtxSetFlags_v2(int device, unsigned flags)
{
	const int rc = bf_cu_check_device(device);

	if (rc)
		return rc;
	bf_cu.device[device].flags = flags;
	if (bf_cu.device[device].primary)
		bf_cu.device[device].primary->flags = flags;
	return BF_CU_OK;
}

/* Also the one that is current already: as often as it is popped. */
static int push(struct bf_cu_context *c)
{
	if (current && stack.below == STACK_MAX - 1)
		return BF_CU_OUT_OF_MEMORY;
	stack.below += current != NULL;
	current = c;
	return BF_CU_OK;
}

static void pop(void)
{
	current = NULL;
	stack.below -= stack.below != 0;
}

int cuCtxCreate_v2(CUcontext *out, unsigned flags, int device)
{
	int rc = bf_cu_check_device(device);
	struct bf_cu_context *c;

	if (rc || !out)
		return rc ? rc : BF_CU_INVALID_VALUE;
	bf_cu_lock();
	c = make_context(device, flags);
	bf_cu_unlock();
	if (!c)
		return BF_CU_OUT_OF_MEMORY;
	*out = c;
	return push(c);
}

int cuCtxCreate_v4(CUcontext *out, const void *params, unsigned flags, int device)
{
	/* CUctxCreateParams: affinity and how many of it, graphics. Zeros ask for nothing. */
	static const uint64_t nothing[3];

	if (params && memcmp(params, nothing, sizeof(nothing)) != 0)
		return bf_cu_unsupported("cuCtxCreate with parameters");
	return cuCtxCreate_v2(out, flags, device);
}

/* With an affinity: to a number of SMs, which no GPU but some of MPS has. */
int cuCtxCreate_v3(CUcontext *out, const void *affinities, int count, unsigned flags, int device)
{
	if (affinities || count)
		return bf_cu_unsupported("cuCtxCreate with affinities");
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
		pop();
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
	return push(c);
}

int cuCtxPopCurrent_v2(CUcontext *out)
{
	struct bf_cu_context *c = current;

	if (!c)
		return BF_CU_INVALID_CONTEXT;
	if (out)
		*out = c;
	pop();
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

/* ---- limits, and the memory of other devices ---- */

int cuCtxGetStreamPriorityRange(int *least, int *greatest)
{
	if (least)
		*least = 0;
	if (greatest)
		*greatest = -5;
	return current ? BF_CU_OK : BF_CU_INVALID_CONTEXT;
}

#define DEPTH 3 /* of launches by kernels that wait for each other: none of compute capability 9.0 has it */

int cuCtxGetLimit(size_t *value, int limit)
{
	if (!current)
		return BF_CU_INVALID_CONTEXT;
	if (!value || limit < 0 || limit > 8)
		return BF_CU_INVALID_VALUE;
	if (limit == DEPTH)
		return BF_CU_UNSUPPORTED_LIMIT;
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
	if (limit == DEPTH)
		return BF_CU_UNSUPPORTED_LIMIT;
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
		return flags ? BF_CU_INVALID_VALUE : BF_CU_PEER_UNSUPPORTED;
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
