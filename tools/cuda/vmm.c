/*
 * Virtual memory management: addresses and memory apart. Memory is a file of its own (memfd), which other processes can
 * be given; a mapping becomes the GPUs' when access to it is set.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tools/cuda/driver_internal.h"

#define HANDLE_MAGIC 0x6c646e68u
#define GRAIN (2ull << 20)

enum { ON_DEVICE = 1, ON_HOST = 2, ON_HOST_NODE = 3 };
enum { NO_HANDLE = 0, HANDLE_FD = 1 };

struct bf_cu_handle {
	uint32_t magic;
	int fd, device;
	uint64_t size;
	uint32_t refs; /* the program's, and of mappings */
	bool counted;  /* in its device's memory */
	struct bf_cu_allocation properties;
};

static struct bf_cu_handle *handle_of(uint64_t handle)
{
	struct bf_cu_handle *h = (struct bf_cu_handle *)(uintptr_t)handle;

	return h && h->magic == HANDLE_MAGIC ? h : NULL;
}

static void drop(struct bf_cu_handle *h)
{
	if (--h->refs)
		return;
	if (h->counted)
		bf_cu.device[h->device].in_use -= h->size;
	h->magic = 0;
	close(h->fd);
	free(h);
}

static void *reserve(uint64_t size, uint64_t align)
{
	uint8_t *p = mmap(NULL, size + align, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0), *at;

	if (p == MAP_FAILED)
		return NULL;
	at = (uint8_t *)(((uintptr_t)p + align - 1) & ~(uintptr_t)(align - 1));
	if (at > p)
		munmap(p, (size_t)(at - p));
	if (at < p + align)
		munmap(at + size, (size_t)(p + align - at));
	return at;
}

int cuMemGetAllocationGranularity(size_t *size, const struct bf_cu_allocation *properties, int option)
{
	if (!size || !properties || option < 0 || option > 1)
		return BF_CU_INVALID_VALUE;
	*size = GRAIN;
	return bf_cu_ready();
}

int cuMemAddressReserve(CUdeviceptr *out, size_t size, size_t align, CUdeviceptr wanted, unsigned long long flags)
{
	void *at;

	(void)wanted; /* a hint */
	if (!out || !size || size % GRAIN || flags || (align & (align - 1)))
		return BF_CU_INVALID_VALUE;
	at = reserve(size, align > GRAIN ? align : GRAIN);
	*out = (uintptr_t)at;
	return at ? BF_CU_OK : BF_CU_OUT_OF_MEMORY;
}

int cuMemAddressFree(CUdeviceptr at, size_t size)
{
	int rc = BF_CU_OK;

	if (!at || !size || at % GRAIN || size % GRAIN)
		return BF_CU_INVALID_VALUE;
	bf_cu_lock();
	for (uint64_t a = at; !rc && a < at + size; a += GRAIN)
		if (bf_cu_block_at(a)) /* still mapped */
			rc = BF_CU_INVALID_VALUE;
	if (!rc)
		munmap((void *)(uintptr_t)at, size);
	bf_cu_unlock();
	return rc;
}

static int make_handle(int fd, uint64_t size, const struct bf_cu_allocation *properties, uint64_t *out)
{
	struct bf_cu_handle *h = fd >= 0 ? calloc(1, sizeof(*h)) : NULL;

	if (!h) {
		if (fd >= 0)
			close(fd);
		return fd < 0 ? BF_CU_OPERATING_SYSTEM : BF_CU_OUT_OF_MEMORY;
	}
	*h = (struct bf_cu_handle){
		.magic = HANDLE_MAGIC, .fd = fd, .size = size, .refs = 1, .properties = *properties
	};
	if (properties->location.type == ON_DEVICE)
		h->device = properties->location.id;
	*out = (uintptr_t)h;
	return BF_CU_OK;
}

int cuMemCreate(uint64_t *out, size_t size, const struct bf_cu_allocation *p, unsigned long long flags)
{
	int rc = bf_cu_ready(), fd;

	if (rc || !out || !p || flags || !size || size % GRAIN || p->type != 1)
		return rc ? rc : BF_CU_INVALID_VALUE;
	if (p->handles != NO_HANDLE && p->handles != HANDLE_FD)
		return bf_cu_unsupported("cuMemCreate: handles other than file descriptors");
	if (p->location.type < ON_DEVICE || p->location.type > ON_HOST_NODE)
		return BF_CU_INVALID_VALUE;
	if (p->location.type == ON_DEVICE && (p->location.id < 0 || (uint32_t)p->location.id >= bf_cu.count))
		return BF_CU_INVALID_DEVICE;
	bf_cu_lock();
	if (p->location.type == ON_DEVICE && size > bf_cu.profile->memory - bf_cu.device[p->location.id].in_use) {
		bf_cu_unlock();
		return BF_CU_OUT_OF_MEMORY;
	}
	fd = memfd_create("belfry-gpu", MFD_CLOEXEC);
	if (fd >= 0 && ftruncate(fd, (off_t)size)) {
		close(fd);
		fd = -1;
	}
	rc = make_handle(fd, size, p, out);
	if (!rc && p->location.type == ON_DEVICE) {
		handle_of(*out)->counted = true;
		bf_cu.device[p->location.id].in_use += size;
	}
	bf_cu_unlock();
	return rc;
}

int cuMemRelease(uint64_t handle)
{
	struct bf_cu_handle *h = handle_of(handle);

	if (!h)
		return BF_CU_INVALID_VALUE;
	bf_cu_lock();
	drop(h);
	bf_cu_unlock();
	return BF_CU_OK;
}

int cuMemRetainAllocationHandle(uint64_t *out, void *at)
{
	const struct bf_cu_block *b;

	bf_cu_lock();
	b = bf_cu_block_at((uintptr_t)at);
	if (b && b->handle) {
		b->handle->refs++;
		*out = (uintptr_t)b->handle;
	}
	bf_cu_unlock();
	return b && b->handle ? BF_CU_OK : BF_CU_INVALID_VALUE;
}

int cuMemGetAllocationPropertiesFromHandle(struct bf_cu_allocation *out, uint64_t handle)
{
	const struct bf_cu_handle *h = handle_of(handle);

	if (!h || !out)
		return BF_CU_INVALID_VALUE;
	*out = h->properties;
	return BF_CU_OK;
}

int cuMemMap(CUdeviceptr at, size_t size, size_t offset, uint64_t handle, unsigned long long flags)
{
	struct bf_cu_handle *h = handle_of(handle);
	struct bf_cu_block b = { .at = at, .size = size, .first = at, .bytes = size, .kind = BF_CU_BLOCK_MAPPED };
	int rc = BF_CU_OK;

	if (!h || !at || at % GRAIN || !size || size % GRAIN || offset || flags || size > h->size)
		return BF_CU_INVALID_VALUE;
	b.handle = h;
	b.device = h->device;
	bf_cu_lock();
	if (bf_cu_block_at(at) || bf_cu_block_at(at + size - 1))
		rc = BF_CU_INVALID_VALUE;
	else if (mmap((void *)(uintptr_t)at, size, PROT_NONE, MAP_SHARED | MAP_FIXED | MAP_NORESERVE, h->fd, 0) ==
		 MAP_FAILED)
		rc = BF_CU_OUT_OF_MEMORY;
	else
		rc = bf_cu_block_add(&b, NULL);
	if (!rc)
		h->refs++;
	bf_cu_unlock();
	return rc;
}

/* The blocks of a range, one after the other; NULL at the end, or with *rc set when something else is there. */
static struct bf_cu_block *next_block(uint64_t *at, uint64_t end, int *rc)
{
	struct bf_cu_block *b = *at < end ? bf_cu_block_at(*at) : NULL;

	if (*at >= end)
		return NULL;
	if (!b || b->kind != BF_CU_BLOCK_MAPPED || b->at != *at || b->at + b->size > end) {
		*rc = BF_CU_INVALID_VALUE;
		return NULL;
	}
	*at += b->size;
	return b;
}

/* All of the devices reach what one of them does. */
static int set_access(struct bf_cu_block *b, bool on)
{
	void *p = (void *)(uintptr_t)b->at;

	if (mprotect(p, b->size, on ? PROT_READ | PROT_WRITE : PROT_NONE))
		return BF_CU_OPERATING_SYSTEM;
	if (on && !b->given && bf_cu.machine->give(p, b->size, BF_EXEC_GPU_DEVICE))
		return BF_CU_OUT_OF_MEMORY;
	if (!on && b->given)
		bf_cu.machine->take(p);
	b->given = on;
	return BF_CU_OK;
}

int cuMemSetAccess(CUdeviceptr at, size_t size, const struct bf_cu_access *access, size_t count)
{
	const uint64_t end = at + size;
	struct bf_cu_block *b;
	bool on = false;
	int rc = bf_cu_ready();

	if (rc || !access || !count)
		return rc ? rc : BF_CU_INVALID_VALUE;
	for (size_t i = 0; i < count; i++)
		on = on || access[i].flags;
	bf_cu_lock();
	while (!rc && (b = next_block(&at, end, &rc)))
		rc = set_access(b, on);
	bf_cu_unlock();
	return rc;
}

int cuMemGetAccess(unsigned long long *flags, const struct bf_cu_location *where, CUdeviceptr at)
{
	const struct bf_cu_block *b;

	if (!flags || !where)
		return BF_CU_INVALID_VALUE;
	bf_cu_lock();
	b = bf_cu_block_at(at);
	*flags = b && (b->kind != BF_CU_BLOCK_MAPPED || b->given) ? 3 : 0;
	bf_cu_unlock();
	return b ? BF_CU_OK : BF_CU_INVALID_VALUE;
}

int cuMemUnmap(CUdeviceptr at, size_t size)
{
	const uint64_t first = at, end = at + size;
	struct bf_cu_block *b;
	int rc = bf_cu_ready();

	if (rc)
		return rc;
	bf_cu_lock();
	while (!rc && (b = next_block(&at, end, &rc))) {
		if (b->given)
			bf_cu.machine->take((void *)(uintptr_t)b->at);
		drop(b->handle);
		bf_cu_block_remove(b);
	}
	if (!rc && mmap((void *)(uintptr_t)first, size, PROT_NONE,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0) == MAP_FAILED)
		rc = BF_CU_OPERATING_SYSTEM;
	bf_cu_unlock();
	return rc;
}

int cuMemExportToShareableHandle(void *out, uint64_t handle, int type, unsigned long long flags)
{
	const struct bf_cu_handle *h = handle_of(handle);
	int fd;

	if (!h || !out || flags)
		return BF_CU_INVALID_VALUE;
	if (type != HANDLE_FD || h->properties.handles != HANDLE_FD)
		return type == HANDLE_FD ? BF_CU_INVALID_VALUE : BF_CU_NOT_SUPPORTED;
	fd = fcntl(h->fd, F_DUPFD_CLOEXEC, 0);
	if (fd < 0)
		return BF_CU_OPERATING_SYSTEM;
	memcpy(out, &fd, sizeof(fd));
	return BF_CU_OK;
}

int cuMemImportFromShareableHandle(uint64_t *out, void *handle, int type)
{
	const struct bf_cu_allocation properties = { .type = 1, .handles = HANDLE_FD, .location = { ON_DEVICE, 0 } };
	struct stat st;
	int fd, rc = bf_cu_ready();

	if (rc || !out || type != HANDLE_FD)
		return rc ? rc : type != HANDLE_FD ? BF_CU_NOT_SUPPORTED : BF_CU_INVALID_VALUE;
	fd = fcntl((int)(uintptr_t)handle, F_DUPFD_CLOEXEC, 0);
	if (fd < 0 || fstat(fd, &st) || !st.st_size || (uint64_t)st.st_size % GRAIN) {
		if (fd >= 0)
			close(fd);
		return BF_CU_INVALID_VALUE;
	}
	bf_cu_lock();
	rc = make_handle(fd, (uint64_t)st.st_size, &properties, out);
	bf_cu_unlock();
	return rc;
}
