/*
 * Memory: what there is, by address, and what kernels are given of it.
 *
 * Memory of a device is a piece of that device's file (memfd) mapped into the process, so that a pointer means the same
 * to the program, to kernels and to the NIC, and other processes can map the same piece. Pieces are not used again:
 * their pages go back with a hole, and a file has room for ever.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "sim/grow.h"
#include "tools/cuda/graph.h"

#define PAGE 4096u
#define LARGE (2u << 20)
#define FILE_BYTES (1ull << 52)

/* Flags of cuMemHostRegister(). */
#define IO_MEMORY 4u
#define READ_ONLY 8u

static struct {
	struct bf_cu_block **by_at; /* sorted by address */
	uint32_t count, cap;
	uint64_t ids;
} blocks;

/* ---- the table ---- */

static uint32_t first_above(uint64_t address)
{
	uint32_t low = 0, high = blocks.count;

	while (low < high) {
		const uint32_t middle = low + (high - low) / 2;
		const struct bf_cu_block *b = blocks.by_at[middle];

		if (b->at + b->size <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

struct bf_cu_block *bf_cu_block_at(uint64_t address)
{
	const uint32_t i = first_above(address);

	return i < blocks.count && blocks.by_at[i]->at <= address ? blocks.by_at[i] : NULL;
}

int bf_cu_block_add(const struct bf_cu_block *like, struct bf_cu_block **out)
{
	struct bf_cu_block *b = malloc(sizeof(*b));
	const uint32_t i = first_above(like->at);

	if (!b || BF_GROW(blocks.by_at, blocks.cap, blocks.count + 1)) {
		free(b);
		return BF_CU_OUT_OF_MEMORY;
	}
	*b = *like;
	b->id = ++blocks.ids;
	memmove(&blocks.by_at[i + 1], &blocks.by_at[i], (blocks.count - i) * sizeof(struct bf_cu_block *));
	blocks.by_at[i] = b;
	blocks.count++;
	if (out)
		*out = b;
	return BF_CU_OK;
}

void bf_cu_block_remove(struct bf_cu_block *b)
{
	const uint32_t i = first_above(b->at);

	blocks.count--;
	memmove(&blocks.by_at[i], &blocks.by_at[i + 1], (blocks.count - i) * sizeof(struct bf_cu_block *));
	free(b);
}

/* ---- memory of a device ---- */

/* Addresses for `bytes`, at a multiple of 2 MiB where they are many, with an inaccessible page behind. */
static uint8_t *reserve(uint64_t bytes)
{
	const uint64_t align = bytes >= LARGE ? LARGE : PAGE, all = bytes + align + PAGE;
	uint8_t *p = mmap(NULL, all, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0), *at;

	if (p == MAP_FAILED)
		return NULL;
	at = (uint8_t *)(((uintptr_t)p + align - 1) & ~(uintptr_t)(align - 1));
	if (at > p)
		munmap(p, (size_t)(at - p));
	if (p + all > at + bytes + PAGE)
		munmap(at + bytes + PAGE, (size_t)(p + all - (at + bytes + PAGE)));
	return at;
}

int bf_cu_file_of(int device)
{
	struct bf_cu_device *d = &bf_cu.device[device];
	char name[32];

	if (d->fd >= 0)
		return d->fd;
	snprintf(name, sizeof(name), "belfry-gpu%d", device);
	d->fd = memfd_create(name, MFD_CLOEXEC);
	if (d->fd >= 0 && ftruncate(d->fd, (off_t)FILE_BYTES)) {
		close(d->fd);
		d->fd = -1;
	}
	return d->fd;
}

static int give(void *at, uint64_t bytes, enum bf_exec_gpu_memory kind)
{
	const int rc = bf_cu.machine->give(at, bytes, kind);

	return !rc ? BF_CU_OK : rc == -EEXIST ? BF_CU_REGISTERED : BF_CU_OUT_OF_MEMORY;
}

int bf_cu_allocate(int device, uint64_t size, struct bf_cu_block **out)
{
	struct bf_cu_device *d = &bf_cu.device[device];
	const uint64_t bytes = (size + PAGE - 1) & ~(uint64_t)(PAGE - 1);
	struct bf_cu_block b = { .size = size, .bytes = bytes, .kind = BF_CU_BLOCK_DEVICE, .device = device };
	uint8_t *at;
	int rc;

	if (!size)
		return BF_CU_INVALID_VALUE;
	if (size > bf_cu.profile->memory - d->in_use || bf_cu_file_of(device) < 0)
		return BF_CU_OUT_OF_MEMORY;
	at = reserve(bytes);
	if (!at)
		return BF_CU_OUT_OF_MEMORY;
	b.offset = d->next_offset;
	if (mmap(at, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED | MAP_NORESERVE, d->fd, (off_t)b.offset) ==
	    MAP_FAILED) {
		munmap(at, bytes + PAGE);
		return BF_CU_OUT_OF_MEMORY;
	}
	b.at = b.first = (uintptr_t)at;
	rc = give(at, bytes, BF_EXEC_GPU_DEVICE);
	if (!rc) {
		rc = bf_cu_block_add(&b, out);
		if (rc)
			bf_cu.machine->take(at);
	}
	if (rc) {
		munmap(at, bytes + PAGE);
		return rc;
	}
	d->next_offset += bytes >= LARGE ? (bytes + LARGE - 1) & ~(uint64_t)(LARGE - 1) : bytes;
	d->in_use += bytes;
	return BF_CU_OK;
}

int bf_cu_release(uint64_t at)
{
	struct bf_cu_block *b = bf_cu_block_at(at);

	if (!b || b->at != at)
		return BF_CU_INVALID_VALUE;
	bf_cu.machine->take((void *)(uintptr_t)b->first);
	munmap((void *)(uintptr_t)b->first, b->bytes + PAGE);
	if (b->kind == BF_CU_BLOCK_DEVICE) {
		fallocate(bf_cu.device[b->device].fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)b->offset,
			  (off_t)b->bytes);
		bf_cu.device[b->device].in_use -= b->bytes;
	}
	bf_cu_pool_freed(b);
	bf_cu_block_remove(b);
	return BF_CU_OK;
}

void bf_cu_release_all(int device)
{
	uint32_t i = 0;

	while (i < blocks.count) {
		struct bf_cu_block *b = blocks.by_at[i];

		if (b->device != device) {
			i++;
		} else if (b->kind == BF_CU_BLOCK_REGISTERED) {
			bf_cu.machine->take((void *)(uintptr_t)b->first);
			bf_cu_block_remove(b);
		} else if (b->kind == BF_CU_BLOCK_PINNED || b->kind == BF_CU_BLOCK_MANAGED ||
			   (b->kind == BF_CU_BLOCK_DEVICE && !b->graph)) {
			bf_cu_release(b->at);
		} else {
			i++;
		}
	}
}

int bf_cu_give_back(uint64_t at)
{
	struct bf_cu_block *b = bf_cu_block_at(at);

	if (!b || b->at != at || !b->graph)
		return bf_cu_release(at);
	b->graph->live = false;
	return BF_CU_OK;
}

int cuMemAlloc_v2(CUdeviceptr *out, size_t size)
{
	struct bf_cu_context *c;
	struct bf_cu_block *b = NULL;
	int rc = bf_cu_capture_unsafe();

	rc = rc ? rc : bf_cu_enter(&c);
	if (rc || !out)
		return rc ? rc : BF_CU_INVALID_VALUE;
	bf_cu_lock();
	rc = bf_cu_allocate(c->device, size, &b);
	if (!rc)
		*out = b->at;
	bf_cu_unlock();
	return rc;
}

int cuMemAllocPitch_v2(CUdeviceptr *out, size_t *pitch, size_t width, size_t height, unsigned element)
{
	if (!pitch || !width || !height || (element != 4 && element != 8 && element != 16))
		return BF_CU_INVALID_VALUE;
	*pitch = (width + 511) & ~(size_t)511;
	return cuMemAlloc_v2(out, *pitch * height);
}

/* Frees what all streams of the context have done with: cudaFree() waits, as on a GPU. */
static int free_block(uint64_t at, bool device)
{
	struct bf_cu_context *c;
	struct bf_cu_block *b;
	int rc = bf_cu_capture_unsafe();

	rc = rc ? rc : bf_cu_enter(&c);
	if (rc || !at)
		return rc;
	bf_cu_lock();
	b = bf_cu_block_at(at);
	if (!b || b->at != at ||
	    (device ? b->kind != BF_CU_BLOCK_DEVICE && b->kind != BF_CU_BLOCK_MANAGED : b->kind != BF_CU_BLOCK_PINNED))
		rc = BF_CU_INVALID_VALUE;
	else
		rc = bf_cu_wait_all(c);
	if (!rc)
		rc = bf_cu_give_back(at);
	bf_cu_unlock();
	return rc;
}

int cuMemFree_v2(CUdeviceptr at)
{
	return free_block(at, true);
}

/* ---- memory of the host ---- */

static int allocate_host(uint64_t size, enum bf_cu_block_kind kind, unsigned flags, uint64_t *out)
{
	const uint64_t bytes = (size + PAGE - 1) & ~(uint64_t)(PAGE - 1);
	struct bf_cu_block b = { .size = size, .bytes = bytes, .kind = kind, .flags = flags };
	struct bf_cu_context *c;
	uint8_t *at;
	int rc = bf_cu_capture_unsafe();

	rc = rc ? rc : bf_cu_enter(&c);
	if (rc || !size)
		return rc ? rc : BF_CU_INVALID_VALUE;
	at = size < 1ull << 46 ? reserve(bytes) : NULL;
	if (!at || mprotect(at, bytes, PROT_READ | PROT_WRITE))
		return BF_CU_OUT_OF_MEMORY;
	b.at = b.first = (uintptr_t)at;
	b.device = c->device;
	bf_cu_lock();
	rc = give(at, bytes, BF_EXEC_GPU_HOST);
	if (!rc)
		rc = bf_cu_block_add(&b, NULL);
	bf_cu_unlock();
	*out = b.at;
	return rc;
}

int cuMemHostAlloc(void **out, size_t size, unsigned flags)
{
	uint64_t at = 0;
	int rc;

	if (!out || flags & ~7u)
		return BF_CU_INVALID_VALUE;
	rc = allocate_host(size, BF_CU_BLOCK_PINNED, flags, &at);
	if (!rc)
		*out = (void *)(uintptr_t)at;
	return rc;
}

int cuMemAllocHost_v2(void **out, size_t size)
{
	return cuMemHostAlloc(out, size, 0);
}

int cuMemFreeHost(void *at)
{
	return free_block((uintptr_t)at, false);
}

int cuMemAllocManaged(CUdeviceptr *out, size_t size, unsigned flags)
{
	if (!out || (flags != 1 && flags != 2))
		return BF_CU_INVALID_VALUE;
	return allocate_host(size, BF_CU_BLOCK_MANAGED, flags, out);
}

int cuMemHostGetDevicePointer_v2(CUdeviceptr *out, void *at, unsigned flags)
{
	const struct bf_cu_block *b;

	if (!out || flags)
		return BF_CU_INVALID_VALUE;
	bf_cu_lock();
	b = bf_cu_block_at((uintptr_t)at);
	bf_cu_unlock();
	if (!b)
		return BF_CU_INVALID_VALUE;
	*out = (uintptr_t)at;
	return BF_CU_OK;
}

int cuMemHostGetFlags(unsigned *flags, void *at)
{
	const struct bf_cu_block *b;

	bf_cu_lock();
	b = bf_cu_block_at((uintptr_t)at);
	bf_cu_unlock();
	if (!flags || !b)
		return BF_CU_INVALID_VALUE;
	*flags = b->flags;
	return BF_CU_OK;
}

/*
 * Another registration of the same pages, NULL: none. Small ranges share pages: a NIC's library has two doorbell
 * registers on one, and a program registers each.
 */
static const struct bf_cu_block *registered_beside(const struct bf_cu_block *b)
{
	for (uint32_t i = first_above(b->first); i < blocks.count && blocks.by_at[i]->at < b->first + b->bytes; i++) {
		const struct bf_cu_block *other = blocks.by_at[i];

		if (other->at != b->at && other->first == b->first && other->bytes == b->bytes &&
		    (other->kind == BF_CU_BLOCK_REGISTERED || other->kind == BF_CU_BLOCK_DOORBELL))
			return other;
	}
	return NULL;
}

/*
 * The pages of the range become the GPUs'. A doorbell page of the NIC is one only by name: what kernels store there
 * goes to it, whatever the flags say of I/O memory.
 */
static int give_pages(struct bf_cu_block *b)
{
	const struct bf_cu_block *beside = registered_beside(b);
	int rc;

	if (beside) {
		b->kind = beside->kind;
		return b->flags & IO_MEMORY && b->kind != BF_CU_BLOCK_DOORBELL ? BF_CU_INVALID_VALUE : BF_CU_OK;
	}
	rc = bf_cu.machine->give_doorbell((void *)(uintptr_t)b->first, b->bytes);
	b->kind = rc == -ENOENT ? BF_CU_BLOCK_REGISTERED : BF_CU_BLOCK_DOORBELL;
	if (rc == -ENOENT && b->flags & IO_MEMORY)
		return BF_CU_INVALID_VALUE; /* no registers of a device */
	if (rc == -ENOENT)
		return give((void *)(uintptr_t)b->first, b->bytes, BF_EXEC_GPU_HOST);
	if (rc)
		return rc == -EEXIST ? BF_CU_REGISTERED : BF_CU_UNKNOWN;
	return BF_CU_OK;
}

int cuMemHostRegister_v2(void *p, size_t size, unsigned flags)
{
	const uint64_t at = (uintptr_t)p, first = at & ~(uint64_t)(PAGE - 1);
	struct bf_cu_block b = { .at = at, .size = size, .first = first, .flags = flags };
	struct bf_cu_context *c;
	int rc = bf_cu_enter(&c);

	if (rc || !p || !size || flags & ~15u)
		return rc ? rc : BF_CU_INVALID_VALUE;
	b.bytes = ((at + size + PAGE - 1) & ~(uint64_t)(PAGE - 1)) - first;
	b.device = c->device;
	b.read_only = flags & READ_ONLY;
	bf_cu_lock();
	if (bf_cu_block_at(at) || bf_cu_block_at(at + size - 1))
		rc = BF_CU_REGISTERED;
	if (!rc)
		rc = give_pages(&b);
	if (!rc)
		rc = bf_cu_block_add(&b, NULL);
	bf_cu_unlock();
	return rc;
}

int cuMemHostUnregister(void *p)
{
	struct bf_cu_context *c;
	struct bf_cu_block *b;
	int rc = bf_cu_enter(&c);

	if (rc)
		return rc;
	bf_cu_lock();
	b = bf_cu_block_at((uintptr_t)p);
	if (!b || b->at != (uintptr_t)p || (b->kind != BF_CU_BLOCK_REGISTERED && b->kind != BF_CU_BLOCK_DOORBELL)) {
		rc = b && b->kind == BF_CU_BLOCK_PINNED ? BF_CU_INVALID_VALUE : BF_CU_NOT_REGISTERED;
	} else {
		rc = bf_cu_wait_all(c);
		if (!registered_beside(b))
			bf_cu.machine->take((void *)(uintptr_t)b->first);
		bf_cu_block_remove(b);
	}
	bf_cu_unlock();
	return rc;
}

/* ---- shared with the NIC and with other processes ---- */

/* The descriptor is a token: the NIC of this process knows by it which memory is meant. */
int cuMemGetHandleForAddressRange(void *handle, CUdeviceptr at, size_t size, int type, unsigned long long flags)
{
	const struct bf_cu_block *b;
	int fd;

	if (!handle || !size || flags & ~1ull)
		return BF_CU_INVALID_VALUE;
	if (type != 1)
		return BF_CU_NOT_SUPPORTED;
	bf_cu_lock();
	b = bf_cu_block_at(at);
	if (!b || at + size > b->first + b->bytes || at % PAGE || !bf_cu_in_device(b)) {
		bf_cu_unlock();
		return BF_CU_INVALID_VALUE;
	}
	bf_cu_unlock();
	fd = memfd_create("belfry-dmabuf", MFD_CLOEXEC);
	if (fd < 0)
		return BF_CU_OPERATING_SYSTEM;
	bf_cu.machine->note_dmabuf(fd, at, size);
	memcpy(handle, &fd, sizeof(fd));
	return BF_CU_OK;
}

/* What a handle's bytes are. */
struct ipc {
	uint32_t magic, pid;
	int32_t fd, device;
	uint64_t offset, bytes, size;
};
#define IPC_MAGIC 0x63706962u

int cuIpcGetMemHandle(struct bf_cu_ipc *out, CUdeviceptr at)
{
	struct ipc ipc = { .magic = IPC_MAGIC, .pid = (uint32_t)getpid() };
	const struct bf_cu_block *b;
	int rc = bf_cu_ready();

	if (rc || !out)
		return rc ? rc : BF_CU_INVALID_VALUE;
	bf_cu_lock();
	b = bf_cu_block_at(at);
	if (!b || b->kind != BF_CU_BLOCK_DEVICE) {
		rc = BF_CU_INVALID_VALUE;
	} else {
		ipc.fd = bf_cu.device[b->device].fd;
		ipc.device = b->device;
		ipc.offset = b->offset;
		ipc.bytes = b->bytes;
		ipc.size = b->size;
		memset(out, 0, sizeof(*out));
		memcpy(out->bytes, &ipc, sizeof(ipc));
	}
	bf_cu_unlock();
	return rc;
}

int bf_cu_ipc_open(uint32_t pid, int fd, int *out)
{
	char path[64];

	if (pid == (uint32_t)getpid())
		return BF_CU_INVALID_CONTEXT; /* a process does not open its own */
	snprintf(path, sizeof(path), "/proc/%u/fd/%d", pid, fd);
	*out = open(path, O_RDWR | O_CLOEXEC);
	return *out < 0 ? BF_CU_INVALID_HANDLE : BF_CU_OK;
}

/* The piece of another process's file that a handle means, mapped. */
int bf_cu_map_peer(const struct bf_cu_ipc *handle, int fd, CUdeviceptr *out)
{
	struct bf_cu_block b = { .kind = BF_CU_BLOCK_PEER };
	struct bf_cu_context *c;
	struct ipc ipc;
	uint8_t *at;
	int rc = bf_cu_enter(&c);

	memcpy(&ipc, handle->bytes, sizeof(ipc));
	if (rc || !out || ipc.magic != IPC_MAGIC)
		return rc ? rc : BF_CU_INVALID_VALUE;
	at = reserve(ipc.bytes);
	if (!at || mmap(at, ipc.bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED | MAP_NORESERVE, fd,
			(off_t)ipc.offset) == MAP_FAILED)
		return BF_CU_OUT_OF_MEMORY;
	b.at = b.first = (uintptr_t)at;
	b.size = ipc.size;
	b.bytes = ipc.bytes;
	b.device = c->device;
	bf_cu_lock();
	rc = give(at, b.bytes, BF_EXEC_GPU_DEVICE);
	if (!rc)
		rc = bf_cu_block_add(&b, NULL);
	bf_cu_unlock();
	*out = b.at;
	return rc;
}

int cuIpcOpenMemHandle_v2(CUdeviceptr *out, struct bf_cu_ipc handle, unsigned flags)
{
	struct bf_cu_context *c;
	struct ipc ipc;
	int fd, rc = bf_cu_enter(&c);

	(void)flags;
	memcpy(&ipc, handle.bytes, sizeof(ipc));
	if (rc || !out || ipc.magic != IPC_MAGIC)
		return rc ? rc : BF_CU_INVALID_VALUE;
	rc = bf_cu_ipc_open(ipc.pid, ipc.fd, &fd);
	if (rc)
		return rc;
	rc = bf_cu_map_peer(&handle, fd, out);
	close(fd);
	return rc;
}

int cuIpcCloseMemHandle(CUdeviceptr at)
{
	struct bf_cu_context *c;
	const struct bf_cu_block *b;
	int rc = bf_cu_enter(&c);

	if (rc)
		return rc;
	bf_cu_lock();
	b = bf_cu_block_at(at);
	rc = !b || b->at != at || b->kind != BF_CU_BLOCK_PEER ? BF_CU_INVALID_VALUE : bf_cu_wait_all(c);
	if (!rc)
		rc = bf_cu_release(at);
	bf_cu_unlock();
	return rc;
}
