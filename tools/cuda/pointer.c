/* What is known of memory: how much there is, what an address belongs to, and advice about it. */
#include <string.h>

#include "tools/cuda/driver_internal.h"

int cuMemGetInfo_v2(size_t *unused, size_t *total)
{
	struct bf_cu_context *c;
	const int rc = bf_cu_enter(&c);

	if (rc)
		return rc;
	if (unused)
		*unused = bf_cu.profile->memory - bf_cu.device[c->device].in_use;
	if (total)
		*total = bf_cu.profile->memory;
	return BF_CU_OK;
}

int cuMemGetAddressRange_v2(CUdeviceptr *base, size_t *size, CUdeviceptr at)
{
	const struct bf_cu_block *b;

	bf_cu_lock();
	b = bf_cu_block_at(at);
	if (b && base)
		*base = b->at;
	if (b && size)
		*size = b->size;
	bf_cu_unlock();
	return b ? BF_CU_OK : BF_CU_NOT_FOUND;
}

/* Attributes of pointers, CUpointer_attribute. */
enum {
	POINTER_CONTEXT = 1,
	POINTER_TYPE,
	POINTER_DEVICE,
	POINTER_HOST,
	POINTER_P2P,
	POINTER_SYNC,
	POINTER_ID,
	POINTER_MANAGED,
	POINTER_ORDINAL,
	POINTER_LEGACY_IPC,
	POINTER_START,
	POINTER_SIZE,
	POINTER_MAPPED,
	POINTER_HANDLES,
	POINTER_RDMA,
	POINTER_ACCESS,
	POINTER_POOL,
	POINTER_MAP_SIZE,
	POINTER_MAP_BASE,
	POINTER_BLOCK_ID,
};

static void put32(void *out, uint32_t v)
{
	memcpy(out, &v, sizeof(v));
}

static void put64(void *out, uint64_t v)
{
	memcpy(out, &v, sizeof(v));
}

static int pointer_attribute(void *out, int attribute, const struct bf_cu_block *b, uint64_t at)
{
	switch (attribute) {
	case POINTER_CONTEXT:
		put64(out, (uintptr_t)bf_cu.device[b->device].primary);
		return BF_CU_OK;
	case POINTER_TYPE:
		put32(out, bf_cu_in_device(b) || b->kind == BF_CU_BLOCK_MANAGED ? BF_CU_DEVICE : BF_CU_HOST);
		return BF_CU_OK;
	case POINTER_DEVICE:
		put64(out, at);
		return BF_CU_OK;
	case POINTER_HOST:
		put64(out, bf_cu_in_device(b) ? 0 : at);
		return bf_cu_in_device(b) ? BF_CU_INVALID_VALUE : BF_CU_OK;
	case POINTER_SYNC:
		*(uint8_t *)out = b->sync;
		return BF_CU_OK;
	case POINTER_ID:
	case POINTER_BLOCK_ID:
		put64(out, b->id);
		return BF_CU_OK;
	case POINTER_MANAGED:
		*(uint8_t *)out = b->kind == BF_CU_BLOCK_MANAGED;
		return BF_CU_OK;
	case POINTER_ORDINAL:
		put32(out, (uint32_t)b->device);
		return BF_CU_OK;
	case POINTER_LEGACY_IPC:
		*(uint8_t *)out = b->kind == BF_CU_BLOCK_DEVICE;
		return BF_CU_OK;
	case POINTER_START:
	case POINTER_MAP_BASE:
		put64(out, b->at);
		return BF_CU_OK;
	case POINTER_SIZE:
	case POINTER_MAP_SIZE:
		put64(out, b->size);
		return BF_CU_OK;
	case POINTER_MAPPED:
		*(uint8_t *)out = 1;
		return BF_CU_OK;
	case POINTER_HANDLES:
		put64(out, b->handle ? 1 : 0);
		return BF_CU_OK;
	case POINTER_RDMA:
		*(uint8_t *)out = bf_cu_in_device(b);
		return BF_CU_OK;
	case POINTER_ACCESS:
		put32(out, 3);
		return BF_CU_OK;
	case POINTER_POOL:
		put64(out, (uintptr_t)b->pool);
		return BF_CU_OK;
	default:
		return BF_CU_INVALID_VALUE;
	}
}

int cuPointerGetAttribute(void *out, int attribute, CUdeviceptr at)
{
	const struct bf_cu_block *b;
	int rc = bf_cu_ready();

	if (rc || !out)
		return rc ? rc : BF_CU_INVALID_VALUE;
	bf_cu_lock();
	b = bf_cu_block_at(at);
	rc = b ? pointer_attribute(out, attribute, b, at) : BF_CU_INVALID_VALUE;
	bf_cu_unlock();
	return rc;
}

/* For addresses that are nobody's, zeros; the ordinal then is -2 (cuda.h). */
int cuPointerGetAttributes(unsigned count, int *attributes, void **out, CUdeviceptr at)
{
	const struct bf_cu_block *b;
	const int rc = bf_cu_ready();

	if (rc || !attributes || !out)
		return rc ? rc : BF_CU_INVALID_VALUE;
	bf_cu_lock();
	b = bf_cu_block_at(at);
	for (unsigned i = 0; i < count; i++) {
		const int a = attributes[i];
		const bool byte = a == POINTER_SYNC || a == POINTER_MANAGED || a == POINTER_LEGACY_IPC ||
				  a == POINTER_MAPPED || a == POINTER_RDMA;
		const bool word = a == POINTER_TYPE || a == POINTER_ORDINAL || a == POINTER_ACCESS;

		if (!out[i])
			continue;
		if (b)
			pointer_attribute(out[i], a, b, at);
		else if (byte)
			*(uint8_t *)out[i] = 0;
		else if (word)
			put32(out[i], a == POINTER_ORDINAL ? (uint32_t)-2 : 0);
		else
			put64(out[i], 0);
	}
	bf_cu_unlock();
	return BF_CU_OK;
}

int cuPointerSetAttribute(const void *value, int attribute, CUdeviceptr at)
{
	struct bf_cu_block *b;

	if (!value || attribute != POINTER_SYNC)
		return BF_CU_INVALID_VALUE;
	bf_cu_lock();
	b = bf_cu_block_at(at);
	if (b)
		b->sync = *(const uint32_t *)value != 0; /* copies are synchronous for memory anyway */
	bf_cu_unlock();
	return b ? BF_CU_OK : BF_CU_INVALID_VALUE;
}

/* Hints: the memory does not move. */
int cuMemAdvise(CUdeviceptr at, size_t size, int advice, int device)
{
	(void)at;
	(void)size;
	(void)advice;
	(void)device;
	return bf_cu_ready();
}

int cuMemAdvise_v2(CUdeviceptr at, size_t size, int advice, struct bf_cu_location where)
{
	return cuMemAdvise(at, size, advice, where.id);
}

static int prefetch(CUdeviceptr at, size_t size)
{
	const struct bf_cu_block *b;

	bf_cu_lock();
	b = bf_cu_block_at(at);
	bf_cu_unlock();
	return b && b->kind == BF_CU_BLOCK_MANAGED && at + size <= b->at + b->size ? BF_CU_OK : BF_CU_INVALID_VALUE;
}

int cuMemPrefetchAsync(CUdeviceptr at, size_t size, int device, CUstream stream)
{
	(void)device;
	(void)stream;
	return prefetch(at, size);
}

int cuMemPrefetchAsync_v2(CUdeviceptr at, size_t size, struct bf_cu_location where, unsigned flags, CUstream stream)
{
	(void)where;
	(void)stream;
	return flags ? BF_CU_INVALID_VALUE : prefetch(at, size);
}
