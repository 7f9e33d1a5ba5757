#include "drivers/backend/gpu_memory_internal.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/compiler.h"

#define LIBRARY "libcuda.so.1"

#define OUT_OF_MEMORY 2        /* CUDA_ERROR_OUT_OF_MEMORY */
#define NO_DEVICE 100          /* CUDA_ERROR_NO_DEVICE */
#define DMABUF_SUPPORTED 124   /* CU_DEVICE_ATTRIBUTE_DMA_BUF_SUPPORTED */
#define POINTER_SYNC_MEMOPS 6  /* CU_POINTER_ATTRIBUTE_SYNC_MEMOPS */
#define RANGE_DMABUF 1         /* CU_MEM_RANGE_HANDLE_TYPE_DMA_BUF_FD */
#define STREAM_NON_BLOCKING 1u /* CU_STREAM_NON_BLOCKING */

struct bf_gpu_memory {
	void *library, *context, *stream;
	int device;
	int (*init)(unsigned flags);
	int (*get)(int *device, int ordinal);
	int (*name)(char *name, int len, int device);
	int (*attribute)(int *value, int attribute, int device);
	int (*retain)(void **context, int device);
	int (*release)(int device);
	int (*push)(void *context);
	int (*pop)(void **context);
	int (*stream_create)(void **stream, unsigned flags);
	int (*stream_destroy)(void *stream);
	int (*wait)(void *stream);
	int (*alloc)(uint64_t *va, size_t bytes);
	int (*release_memory)(uint64_t va);
	int (*clear)(uint64_t va, unsigned char value, size_t n, void *stream);
	int (*up)(uint64_t to, const void *from, size_t bytes, void *stream);
	int (*down)(void *to, uint64_t from, size_t bytes, void *stream);
	int (*set)(const void *value, int attribute, uint64_t va);
	/* NULL before CUDA 11.7. */
	int (*range)(void *handle, uint64_t va, size_t bytes, int type, unsigned long long flags);
};

/* ISO C has no conversion from an object's address to a function's; POSIX says that dlsym()'s may be stored so. */
static const char *look_up(struct bf_gpu_memory *g)
{
	const struct {
		const char *name;
		void *to;
	} all[] = {
		{ "cuInit", &g->init },
		{ "cuDeviceGet", &g->get },
		{ "cuDeviceGetName", &g->name },
		{ "cuDeviceGetAttribute", &g->attribute },
		{ "cuDevicePrimaryCtxRetain", &g->retain },
		{ "cuDevicePrimaryCtxRelease_v2", &g->release },
		{ "cuCtxPushCurrent_v2", &g->push },
		{ "cuCtxPopCurrent_v2", &g->pop },
		{ "cuStreamCreate", &g->stream_create },
		{ "cuStreamDestroy_v2", &g->stream_destroy },
		{ "cuStreamSynchronize", &g->wait },
		{ "cuMemAlloc_v2", &g->alloc },
		{ "cuMemFree_v2", &g->release_memory },
		{ "cuMemsetD8Async", &g->clear },
		{ "cuMemcpyHtoDAsync_v2", &g->up },
		{ "cuMemcpyDtoHAsync_v2", &g->down },
		{ "cuPointerSetAttribute", &g->set },
	};
	void *range = dlsym(g->library, "cuMemGetHandleForAddressRange");

	memcpy(&g->range, &range, sizeof(range));
	for (size_t i = 0; i < BF_ARRAY_LEN(all); i++) {
		void *address = dlsym(g->library, all[i].name);

		if (!address)
			return all[i].name;
		memcpy(all[i].to, &address, sizeof(address));
	}
	return NULL;
}

static int to_errno(int e)
{
	return !e ? 0 : e == OUT_OF_MEMORY ? -ENOMEM : e == NO_DEVICE ? -ENODEV : -EIO;
}

/* Of the calling thread, for one call. */
static int enter(struct bf_gpu_memory *g)
{
	return to_errno(g->push(g->context));
}

static void leave(struct bf_gpu_memory *g)
{
	void *before;

	g->pop(&before);
}

/* The stream that copies take: it waits for no other one, and so for no grid that waits for the NIC. */
static int open_stream(struct bf_gpu_memory *g)
{
	int rc = enter(g);

	if (rc)
		return rc;
	rc = to_errno(g->stream_create(&g->stream, STREAM_NON_BLOCKING));
	leave(g);
	return rc;
}

int bf_gpu_memory_open(struct bf_gpu_memory **out, char *why, size_t cap)
{
	struct bf_gpu_memory *g = calloc(1, sizeof(*g));
	const char *missing;
	int rc;

	*out = NULL;
	if (!g)
		return -ENOMEM;
	g->library = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);
	if (!g->library) {
		snprintf(why, cap, "no NVIDIA driver (" LIBRARY ")");
		free(g);
		return -ENODEV;
	}
	missing = look_up(g);
	if (missing) {
		snprintf(why, cap, LIBRARY " has no %s: it is older than what this needs", missing);
		rc = -ENOTSUP;
	} else if ((rc = g->init(0)) || (rc = g->get(&g->device, 0)) || (rc = g->retain(&g->context, g->device))) {
		snprintf(why, cap, "no usable NVIDIA GPU (the driver says %d)", rc);
		rc = -ENODEV;
	} else if ((rc = open_stream(g))) {
		snprintf(why, cap, "the GPU gives no stream: %s", strerror(-rc));
	} else if (g->name(why, cap < 128 ? (int)cap : 128, g->device)) {
		snprintf(why, cap, "an NVIDIA GPU");
	}
	if (rc)
		bf_gpu_memory_close(g);
	else
		*out = g;
	return rc;
}

void bf_gpu_memory_close(struct bf_gpu_memory *g)
{
	if (!g)
		return;
	if (g->stream && !enter(g)) {
		g->stream_destroy(g->stream);
		leave(g);
	}
	if (g->context)
		g->release(g->device);
	/* The library stays: threads of the driver run in it. */
	free(g);
}

int bf_gpu_memory_alloc(struct bf_gpu_memory *g, uint64_t bytes, uint64_t *va)
{
	const unsigned yes = 1;
	int rc = enter(g);

	if (rc)
		return rc;
	*va = 0;
	bytes = (bytes + BF_GPU_PAGE - 1) & ~(BF_GPU_PAGE - 1);
	rc = to_errno(g->alloc(va, bytes));
	/* What the driver does by itself with memory that a NIC reaches is done when it returns (GPUDirect RDMA). */
	if (!rc)
		rc = to_errno(g->set(&yes, POINTER_SYNC_MEMOPS, *va));
	if (!rc)
		rc = to_errno(g->clear(*va, 0, bytes, g->stream));
	if (!rc)
		rc = to_errno(g->wait(g->stream));
	if (rc && *va)
		g->release_memory(*va);
	leave(g);
	return rc;
}

void bf_gpu_memory_free(struct bf_gpu_memory *g, uint64_t va)
{
	if (enter(g))
		return;
	g->release_memory(va);
	leave(g);
}

int bf_gpu_memory_write(struct bf_gpu_memory *g, uint64_t va, const void *from, uint64_t bytes)
{
	int rc = enter(g);

	if (rc)
		return rc;
	rc = to_errno(g->up(va, from, bytes, g->stream));
	if (!rc)
		rc = to_errno(g->wait(g->stream));
	leave(g);
	return rc;
}

int bf_gpu_memory_read(struct bf_gpu_memory *g, void *to, uint64_t va, uint64_t bytes)
{
	int rc = enter(g);

	if (rc)
		return rc;
	rc = to_errno(g->down(to, va, bytes, g->stream));
	if (!rc)
		rc = to_errno(g->wait(g->stream));
	leave(g);
	return rc;
}

int bf_gpu_memory_dmabuf(struct bf_gpu_memory *g, uint64_t va, uint64_t bytes, int *fd)
{
	int rc, supported = 0;

	if (!g->range)
		return -EOPNOTSUPP;
	rc = enter(g);
	if (rc)
		return rc;
	*fd = -1;
	if (g->attribute(&supported, DMABUF_SUPPORTED, g->device) || !supported)
		rc = -EOPNOTSUPP;
	else if (g->range(fd, va, bytes, RANGE_DMABUF, 0) || *fd < 0)
		rc = -EOPNOTSUPP;
	leave(g);
	return rc;
}
