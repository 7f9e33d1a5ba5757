/*
 * As much of a CUDA driver as test_exec.sh and test_backends.sh need on machines without one: a GPU whose memory no
 * processor reaches. Copies happen when their stream is waited for, and only for who has the context. What libcuda.so.1
 * answered on an H200 (driver 580, 2026): I/O memory is refused with error 1 where there is only memory.
 *
 * FAKE_CUDA=nodmabuf is a GPU without DMA-BUF, FAKE_CUDA=none a driver without a GPU, FAKE_CUDA=full one without
 * memory, FAKE_CUDA=alone one whose memory is not for others.
 */
#include <dlfcn.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define ALLOCATIONS 64
#define GUARD 65536 /* addresses behind an allocation that are nobody's */
#define INVALID 1
#define IO_MEMORY 4u

static struct {
	uint64_t at;
	size_t size;
	uint8_t *bytes;
	int fd; /* of the bytes, which a DMA-BUF leads to */
} allocation[ALLOCATIONS];

/* Of the thread's copies. */
static __thread struct {
	void *dst;
	const void *src;
	size_t len;
} pending;

static __thread int depth; /* of pushed contexts */
static int context, stream;

static uint8_t *bytes_at(uint64_t at, size_t len)
{
	for (int i = 0; i < ALLOCATIONS; i++)
		if (allocation[i].size && at - allocation[i].at < allocation[i].size &&
		    len <= allocation[i].size - (at - allocation[i].at))
			return allocation[i].bytes + (at - allocation[i].at);
	return NULL;
}

static bool told(const char *what)
{
	const char *as = getenv("FAKE_CUDA");

	return as && !strcmp(as, what);
}

int cuInit(unsigned flags)
{
	return flags ? INVALID : told("none") ? 100 : 0;
}

int cuDeviceGet(int *device, int ordinal)
{
	*device = ordinal;
	return ordinal ? 101 : 0;
}

int cuDeviceGetName(char *name, int len, int device)
{
	snprintf(name, (size_t)len, "a GPU of thought");
	return device ? 101 : 0;
}

int cuDeviceGetAttribute(int *value, int attribute, int device)
{
	*value = !told("nodmabuf");
	return device ? 101 : attribute == 124 ? 0 : INVALID;
}

int cuMemAlloc_v2(uint64_t *at, size_t size)
{
	if (told("full"))
		return 2;
	for (int i = 0; i < ALLOCATIONS; i++) {
		if (allocation[i].size)
			continue;
		allocation[i].at = (uintptr_t)mmap(NULL, size + GUARD, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		allocation[i].fd = memfd_create("gpu", MFD_CLOEXEC);
		if (ftruncate(allocation[i].fd, (off_t)size))
			return 2;
		allocation[i].bytes = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, allocation[i].fd, 0);
		memset(allocation[i].bytes, 0xa5, size < 4096 ? size : 4096); /* somebody else's past */
		allocation[i].size = size;
		*at = allocation[i].at;
		return 0;
	}
	return 2;
}

int cuMemFree_v2(uint64_t at)
{
	for (int i = 0; i < ALLOCATIONS; i++) {
		if (!allocation[i].size || allocation[i].at != at)
			continue;
		munmap((void *)(uintptr_t)at, allocation[i].size);
		munmap(allocation[i].bytes, allocation[i].size);
		close(allocation[i].fd);
		allocation[i].size = 0;
		return 0;
	}
	return INVALID;
}

int cuPointerGetAttribute(void *value, int attribute, uint64_t at)
{
	if (told("alone") || !bytes_at(at, 1))
		return INVALID;
	if (attribute == 8)
		*(bool *)value = false;
	else
		*(unsigned *)value = attribute == 2 ? 2 : 0;
	return 0;
}

int cuMemGetAddressRange_v2(uint64_t *base, size_t *size, uint64_t at)
{
	if (!depth)
		return 201; /* CUDA_ERROR_INVALID_CONTEXT */
	for (int i = 0; i < ALLOCATIONS; i++) {
		if (!allocation[i].size || at - allocation[i].at >= allocation[i].size)
			continue;
		*base = allocation[i].at;
		*size = allocation[i].size;
		return 0;
	}
	return INVALID;
}

int cuDevicePrimaryCtxRetain(void **out, int device)
{
	*out = &context;
	return device ? 101 : 0;
}

int cuDevicePrimaryCtxRelease_v2(int device)
{
	return device ? 101 : 0;
}

int cuPointerSetAttribute(const void *value, int attribute, uint64_t at)
{
	return depth && attribute == 6 && *(const unsigned *)value == 1 && bytes_at(at, 1) ? 0 : INVALID;
}

/* Whole pages, the first of an allocation. */
int cuMemGetHandleForAddressRange(void *handle, uint64_t at, size_t size, int type, unsigned long long flags)
{
	for (int i = 0; i < ALLOCATIONS; i++) {
		if (!allocation[i].size || allocation[i].at != at || allocation[i].size < size)
			continue;
		if (!depth || type != 1 || flags || size % 4096 || told("nodmabuf"))
			return INVALID;
		*(int *)handle = dup(allocation[i].fd);
		return 0;
	}
	return INVALID;
}

int cuCtxPushCurrent_v2(void *what)
{
	depth++;
	return what == &context ? 0 : INVALID;
}

int cuCtxPopCurrent_v2(void **out)
{
	*out = &context;
	return --depth < 0 ? INVALID : 0;
}

int cuStreamCreate(void **out, unsigned flags)
{
	*out = &stream;
	return depth && flags == 1 ? 0 : INVALID;
}

int cuStreamDestroy_v2(void *what)
{
	return depth && what == &stream ? 0 : INVALID;
}

int cuMemsetD8Async(uint64_t at, unsigned char value, size_t len, void *on)
{
	uint8_t *bytes = bytes_at(at, len);

	if (!depth || on != &stream || !bytes)
		return INVALID;
	memset(bytes, value, len);
	return 0;
}

int cuMemHostAlloc(void **out, size_t size, unsigned flags)
{
	(void)flags;
	*out = malloc(size);
	return depth ? 0 : INVALID;
}

static int later(void *dst, const void *src, size_t len, const void *on)
{
	if (!depth || !dst || !src || on != &stream || pending.len)
		return INVALID;
	pending.dst = dst;
	pending.src = src;
	pending.len = len;
	return 0;
}

int cuMemcpyDtoHAsync_v2(void *dst, uint64_t src, size_t len, void *on)
{
	return later(dst, bytes_at(src, len), len, on);
}

int cuMemcpyHtoDAsync_v2(uint64_t dst, const void *src, size_t len, void *on)
{
	return later(bytes_at(dst, len), src, len, on);
}

int cuStreamSynchronize(void *on)
{
	if (!depth || on != &stream)
		return INVALID;
	if (pending.len)
		memcpy(pending.dst, pending.src, pending.len);
	pending.len = 0;
	return 0;
}

/* The program's own copies, at once. */
int cuMemcpyDtoH_v2(void *dst, uint64_t src, size_t len)
{
	const uint8_t *from = bytes_at(src, len);

	if (from)
		memcpy(dst, from, len);
	return from ? 0 : INVALID;
}

int cuMemcpyHtoD_v2(uint64_t dst, const void *src, size_t len)
{
	uint8_t *to = bytes_at(dst, len);

	if (to)
		memcpy(to, src, len);
	return to ? 0 : INVALID;
}

int cuMemHostRegister_v2(void *p, size_t len, unsigned flags)
{
	(void)p, (void)len;
	return flags & IO_MEMORY ? INVALID : 0;
}

int cuGetProcAddress_v2(const char *name, void **fn, int version, uint64_t flags, void *status)
{
	char full[64] = "";

	(void)version, (void)flags, (void)status;
	strncat(full, name, sizeof(full) - 8);
	*fn = dlsym(RTLD_DEFAULT, full);
	if (!*fn)
		*fn = dlsym(dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD), strcat(full, "_v2"));
	return *fn ? 0 : 500;
}
