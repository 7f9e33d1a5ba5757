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

/* ---- advice about managed memory, which does not move: it is remembered, to be told again ---- */

enum { SET_MOSTLY = 1, UNSET_MOSTLY, SET_PLACE, UNSET_PLACE, SET_ACCESSED, UNSET_ACCESSED };
enum { READ_MOSTLY = 1, PLACE, ACCESSED, LAST, PLACE_TYPE, PLACE_ID, LAST_TYPE, LAST_ID };

#define OF_HOST (-1)
#define OF_NONE (-2)
#define HOST_BIT 31

/* The managed block that a range is of, which is advised as a whole; NULL: it is of none. Under the lock. */
static struct bf_cu_block *managed_at(CUdeviceptr at, size_t size)
{
	struct bf_cu_block *b = bf_cu_block_at(at);

	return b && b->kind == BF_CU_BLOCK_MANAGED && size && size <= b->at + b->size - at ? b : NULL;
}

static int device_of(const struct bf_cu_location *where)
{
	return where->type == 1 ? where->id : OF_HOST;
}

static void advise(struct bf_cu_advice *a, int advice, struct bf_cu_location where)
{
	const uint32_t bit = 1u << (device_of(&where) < 0 ? HOST_BIT : device_of(&where));

	if (advice == SET_MOSTLY || advice == UNSET_MOSTLY)
		a->read_mostly = advice == SET_MOSTLY;
	else if (advice == SET_ACCESSED || advice == UNSET_ACCESSED)
		a->accessed = advice == SET_ACCESSED ? a->accessed | bit : a->accessed & ~bit;
	else
		a->preferred = advice == SET_PLACE;
	if (advice == SET_PLACE)
		a->place = where;
}

int cuMemAdvise_v2(CUdeviceptr at, size_t size, int advice, struct bf_cu_location where)
{
	struct bf_cu_block *b;
	const int rc = bf_cu_ready();

	if (rc || advice < SET_MOSTLY || advice > UNSET_ACCESSED ||
	    (where.type == 1 && bf_cu_check_device(where.id) && advice != UNSET_PLACE && advice > UNSET_MOSTLY))
		return rc ? rc : BF_CU_INVALID_VALUE;
	bf_cu_lock();
	b = managed_at(at, size);
	if (b)
		advise(&b->advice, advice, where);
	bf_cu_unlock();
	return b ? BF_CU_OK : BF_CU_INVALID_VALUE;
}

static struct bf_cu_location of_number(int device)
{
	return (struct bf_cu_location){ .type = device < 0 ? 2 : 1, .id = device < 0 ? 0 : device };
}

int cuMemAdvise(CUdeviceptr at, size_t size, int advice, int device)
{
	return cuMemAdvise_v2(at, size, advice, of_number(device));
}

int cuMemPrefetchAsync_v2(CUdeviceptr at, size_t size, struct bf_cu_location where, unsigned flags, CUstream stream)
{
	struct bf_cu_block *b;
	const int rc = bf_cu_ready();

	(void)stream;
	if (rc || flags)
		return rc ? rc : BF_CU_INVALID_VALUE;
	bf_cu_lock();
	b = managed_at(at, size);
	if (b) {
		b->advice.prefetched = true;
		b->advice.last = where;
	}
	bf_cu_unlock();
	return b ? BF_CU_OK : BF_CU_INVALID_VALUE;
}

int cuMemPrefetchAsync(CUdeviceptr at, size_t size, int device, CUstream stream)
{
	return cuMemPrefetchAsync_v2(at, size, of_number(device), 0, stream);
}

static int range_value(const struct bf_cu_advice *a, int attribute)
{
	switch (attribute) {
	case READ_MOSTLY:
		return a->read_mostly;
	case PLACE:
		return a->preferred ? device_of(&a->place) : OF_NONE;
	case LAST:
		return a->prefetched ? device_of(&a->last) : OF_NONE;
	case PLACE_TYPE:
		return a->preferred ? (int)a->place.type : 0;
	case PLACE_ID:
		return a->preferred ? a->place.id : 0;
	case LAST_TYPE:
		return a->prefetched ? (int)a->last.type : 0;
	default:
		return a->prefetched ? a->last.id : 0;
	}
}

int cuMemRangeGetAttribute(void *out, size_t size, int attribute, CUdeviceptr at, size_t len)
{
	const struct bf_cu_block *b;
	size_t n = 0;
	int value;

	if (!out || attribute < READ_MOSTLY || attribute > LAST_ID || size % sizeof(int) ||
	    (attribute == ACCESSED ? !size : size != sizeof(int)))
		return BF_CU_INVALID_VALUE;
	bf_cu_lock();
	b = managed_at(at, len);
	if (b && attribute != ACCESSED) {
		value = range_value(&b->advice, attribute);
		memcpy(out, &value, sizeof(value));
	} else if (b) {
		for (int i = 0; i <= HOST_BIT && n < size / sizeof(int); i++)
			if (b->advice.accessed >> i & 1)
				((int *)out)[n++] = i == HOST_BIT ? OF_HOST : i;
		while (n < size / sizeof(int))
			((int *)out)[n++] = OF_NONE;
	}
	bf_cu_unlock();
	return b ? BF_CU_OK : BF_CU_INVALID_VALUE;
}

int cuMemRangeGetAttributes(void **out, size_t *sizes, int *attributes, size_t count, CUdeviceptr at, size_t len)
{
	int rc = out && sizes && attributes && count ? BF_CU_OK : BF_CU_INVALID_VALUE;

	for (size_t i = 0; !rc && i < count; i++)
		rc = cuMemRangeGetAttribute(out[i], sizes[i], attributes[i], at, len);
	return rc;
}
