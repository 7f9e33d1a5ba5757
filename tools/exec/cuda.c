#include "tools/exec/cuda.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#define DEVICES_MAX 64

#define POINTER_MEMORY_TYPE 2  /* CU_POINTER_ATTRIBUTE_MEMORY_TYPE */
#define POINTER_MANAGED 8      /* CU_POINTER_ATTRIBUTE_IS_MANAGED */
#define POINTER_ORDINAL 9      /* CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL */
#define TYPE_DEVICE 2u         /* CU_MEMORYTYPE_DEVICE */
#define STREAM_NON_BLOCKING 1u /* CU_STREAM_NON_BLOCKING: waits for no other stream */
#define HOST_PORTABLE 1u       /* CU_MEMHOSTALLOC_PORTABLE */

/* Copies to and from pageable memory cost the driver a detour; these few go by memory that the GPU reaches. */
#define BOUNCE (64u << 10)

struct bf_cuda_device {
	struct bf_cuda *cuda;
	void *context, *stream, *bounce;
};

struct bf_cuda {
	void *library;
	int (*pointer)(void *value, int attribute, uint64_t address);
	int (*range)(uint64_t *base, size_t *size, uint64_t address);
	int (*retain)(void **context, int ordinal);
	int (*push)(void *context);
	int (*pop)(void **context);
	int (*stream)(void **stream, unsigned flags);
	int (*host)(void **memory, size_t size, unsigned flags);
	int (*down)(void *dst, uint64_t src, size_t len, void *stream);
	int (*up)(uint64_t dst, const void *src, size_t len, void *stream);
	int (*wait)(void *stream);
	struct bf_cuda_device device[DEVICES_MAX];
};

/* ISO C has no conversion from an object's address to a function's; POSIX says that dlsym()'s may be stored so. */
static bool look_up(struct bf_cuda *c)
{
	const struct {
		const char *name;
		void *to;
	} all[] = {
		{ "cuPointerGetAttribute", &c->pointer },
		{ "cuMemGetAddressRange_v2", &c->range },
		{ "cuDevicePrimaryCtxRetain", &c->retain },
		{ "cuCtxPushCurrent_v2", &c->push },
		{ "cuCtxPopCurrent_v2", &c->pop },
		{ "cuStreamCreate", &c->stream },
		{ "cuMemHostAlloc", &c->host },
		{ "cuMemcpyDtoHAsync_v2", &c->down },
		{ "cuMemcpyHtoDAsync_v2", &c->up },
		{ "cuStreamSynchronize", &c->wait },
	};
	bool good = true;

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		void *address = dlsym(c->library, all[i].name);

		good = good && address;
		memcpy(all[i].to, &address, sizeof(address));
	}
	return good;
}

struct bf_cuda *bf_cuda_find(void)
{
	void *library = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
	struct bf_cuda *c = library ? calloc(1, sizeof(*c)) : NULL;

	if (c) {
		c->library = library;
		if (look_up(c))
			return c;
	}
	free(c);
	if (library)
		dlclose(library);
	return NULL;
}

void bf_cuda_destroy(struct bf_cuda *c)
{
	if (c)
		dlclose(c->library);
	free(c);
}

/* Now, since later a kernel may run that never ends before its data are there, and allocations wait for kernels. */
static bool get_ready(struct bf_cuda *c, struct bf_cuda_device *d, int ordinal)
{
	void *context, *before;
	bool good;

	if (d->cuda)
		return true;
	if (c->retain(&context, ordinal) || c->push(context))
		return false;
	good = !c->stream(&d->stream, STREAM_NON_BLOCKING) && !c->host(&d->bounce, BOUNCE, HOST_PORTABLE);
	c->pop(&before);
	d->context = context;
	d->cuda = good ? c : NULL;
	return good;
}

struct bf_cuda_device *bf_cuda_device_at(struct bf_cuda *c, uint64_t address, uint64_t *end)
{
	unsigned type = 0, managed = 0;
	int ordinal = -1, rc;
	uint64_t base = 0;
	size_t size = 0;
	void *before;

	if (c->pointer(&type, POINTER_MEMORY_TYPE, address) || type != TYPE_DEVICE ||
	    c->pointer(&ordinal, POINTER_ORDINAL, address) || ordinal < 0 || ordinal >= DEVICES_MAX)
		return NULL;
	if (!c->pointer(&managed, POINTER_MANAGED, address) && (managed & 0xff))
		return NULL;
	/* The thread that registers memory need have no context. */
	if (!get_ready(c, &c->device[ordinal], ordinal) || c->push(c->device[ordinal].context))
		return NULL;
	rc = c->range(&base, &size, address);
	c->pop(&before);
	*end = base + size;
	return rc ? NULL : &c->device[ordinal];
}

static int copy(struct bf_cuda_device *d, uint64_t address, void *in, const void *out, uint32_t len)
{
	struct bf_cuda *c = d->cuda;
	void *before;
	int rc = c->push(d->context);

	if (rc)
		return -EFAULT;
	for (uint32_t at = 0; !rc && at < len; at += BOUNCE) {
		const uint32_t n = len - at < BOUNCE ? len - at : BOUNCE;

		if (out)
			memcpy(d->bounce, (const uint8_t *)out + at, n);
		rc =
		    out ? c->up(address + at, d->bounce, n, d->stream) : c->down(d->bounce, address + at, n, d->stream);
		rc = rc ? rc : c->wait(d->stream);
		if (in && !rc)
			memcpy((uint8_t *)in + at, d->bounce, n);
	}
	c->pop(&before);
	return rc ? -EFAULT : 0;
}

int bf_cuda_read(struct bf_cuda_device *d, void *dst, uint64_t address, uint32_t len)
{
	return copy(d, address, dst, NULL, len);
}

int bf_cuda_write(struct bf_cuda_device *d, uint64_t address, const void *src, uint32_t len)
{
	return copy(d, address, NULL, src, len);
}
