/*
 * Memory in the order of streams, and the pools that it comes from.
 *
 * Memory is there at once, and goes when its stream has come to that. A pool keeps nothing back: what is freed goes to
 * the device, so that it has reserved what is used, whatever its threshold says. In a captured stream, memory belongs
 * to the graph: it stays at its address while the graph or what was instantiated of it is there.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tools/cuda/graph.h"

#define POOL_MAGIC 0x6c6f6f70u

enum { REUSE_EVENTS = 1, REUSE_OPPORTUNISTIC, REUSE_INTERNAL, THRESHOLD, RESERVED, RESERVED_HIGH, USED, USED_HIGH };

struct bf_cu_pool {
	uint32_t magic;
	int device;
	bool usual; /* the device's own */
	bool gone;  /* destroyed, while memory is still in use */
	int reuse[3];
	uint64_t threshold, used, used_high, reserved_high;
	uint32_t access; /* devices besides its own */
	bool shared;     /* other processes may have it */
	int fd;          /* of a pool of another process: the file of its device; -1 */
};

#define BY_DESCRIPTOR 1 /* CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR */

/* The device's own pool, and the one that cuMemAllocAsync() takes. */
static struct {
	struct bf_cu_pool own;
	struct bf_cu_pool *now;
} pools[BF_EXEC_GPUS_MAX];

static struct bf_cu_pool *own_of(int device)
{
	struct bf_cu_pool *p = &pools[device].own;

	if (!p->magic)
		*p = (struct bf_cu_pool){
			.magic = POOL_MAGIC, .device = device, .usual = true, .reuse = { 1, 1, 1 }, .fd = -1
		};
	if (!pools[device].now)
		pools[device].now = p;
	return p;
}

static bool is_pool(const struct bf_cu_pool *p)
{
	return p && p->magic == POOL_MAGIC && !p->gone;
}

/* ---- pools ---- */

int cuDeviceGetDefaultMemPool(CUmemoryPool *out, int device)
{
	const int rc = bf_cu_check_device(device);

	if (rc || !out)
		return rc ? rc : BF_CU_INVALID_VALUE;
	*out = own_of(device);
	return BF_CU_OK;
}

int cuDeviceGetMemPool(CUmemoryPool *out, int device)
{
	const int rc = bf_cu_check_device(device);

	if (rc || !out)
		return rc ? rc : BF_CU_INVALID_VALUE;
	own_of(device);
	*out = pools[device].now;
	return BF_CU_OK;
}

int cuDeviceSetMemPool(int device, CUmemoryPool p)
{
	const int rc = bf_cu_check_device(device);

	if (rc || !is_pool(p) || p->device != device)
		return rc ? rc : BF_CU_INVALID_VALUE;
	own_of(device);
	pools[device].now = p;
	return BF_CU_OK;
}

/* The same of CUDA 13, where the host has pools, too: here it has none. */
static int device_of(const struct bf_cu_location *where, int type)
{
	if (!where || type != 1)
		return -1;
	if (where->type != 1)
		bf_cu_unsupported("pools of the host's memory");
	return where->type == 1 ? where->id : -1;
}

int cuMemGetDefaultMemPool(CUmemoryPool *out, const struct bf_cu_location *where, int type)
{
	const int device = device_of(where, type);

	return device < 0 ? BF_CU_NOT_SUPPORTED : cuDeviceGetDefaultMemPool(out, device);
}

int cuMemGetMemPool(CUmemoryPool *out, const struct bf_cu_location *where, int type)
{
	const int device = device_of(where, type);

	return device < 0 ? BF_CU_NOT_SUPPORTED : cuDeviceGetMemPool(out, device);
}

int cuMemSetMemPool(const struct bf_cu_location *where, int type, CUmemoryPool p)
{
	const int device = device_of(where, type);

	return device < 0 ? BF_CU_NOT_SUPPORTED : cuDeviceSetMemPool(device, p);
}

int cuMemPoolCreate(CUmemoryPool *out, const struct bf_cu_pool_properties *is)
{
	int rc = bf_cu_ready();
	struct bf_cu_pool *p;

	if (rc || !out || !is || is->type != 1)
		return rc ? rc : BF_CU_INVALID_VALUE;
	if (is->location.type != 1)
		return bf_cu_unsupported("cuMemPoolCreate: pools of the host's memory");
	if (is->handles & ~(uint32_t)BY_DESCRIPTOR)
		return bf_cu_unsupported("cuMemPoolCreate: handles other than file descriptors");
	rc = bf_cu_check_device(is->location.id);
	if (rc)
		return rc;
	p = calloc(1, sizeof(*p));
	if (!p)
		return BF_CU_OUT_OF_MEMORY;
	*p = (struct bf_cu_pool){
		.magic = POOL_MAGIC, .device = is->location.id, .reuse = { 1, 1, 1 }, .shared = is->handles, .fd = -1
	};
	*out = p;
	return BF_CU_OK;
}

static void drop(struct bf_cu_pool *p)
{
	if (!p->gone || p->used)
		return;
	if (p->fd >= 0)
		close(p->fd);
	free(p);
}

int cuMemPoolDestroy(CUmemoryPool p)
{
	if (!is_pool(p) || p->usual)
		return BF_CU_INVALID_VALUE;
	bf_cu_lock();
	if (pools[p->device].now == p)
		pools[p->device].now = own_of(p->device);
	p->gone = true;
	drop(p);
	bf_cu_unlock();
	return BF_CU_OK;
}

int cuMemPoolTrimTo(CUmemoryPool p, size_t keep)
{
	(void)keep; /* nothing is kept back */
	return is_pool(p) ? BF_CU_OK : BF_CU_INVALID_VALUE;
}

int cuMemPoolGetAttribute(CUmemoryPool p, int attribute, void *value)
{
	const uint64_t *at;

	if (!is_pool(p) || !value)
		return BF_CU_INVALID_VALUE;
	if (attribute >= REUSE_EVENTS && attribute <= REUSE_INTERNAL) {
		memcpy(value, &p->reuse[attribute - REUSE_EVENTS], sizeof(int));
		return BF_CU_OK;
	}
	at = attribute == THRESHOLD                       ? &p->threshold
	     : attribute == RESERVED || attribute == USED ? &p->used
	     : attribute == RESERVED_HIGH                 ? &p->reserved_high
	     : attribute == USED_HIGH                     ? &p->used_high
							  : NULL;
	if (at)
		memcpy(value, at, sizeof(*at));
	return at ? BF_CU_OK : BF_CU_INVALID_VALUE;
}

/* The most that was in use may be set to zero, from which it is what is in use now. */
int cuMemPoolSetAttribute(CUmemoryPool p, int attribute, void *value)
{
	uint64_t to = 0;

	if (!is_pool(p) || !value)
		return BF_CU_INVALID_VALUE;
	if (attribute >= REUSE_EVENTS && attribute <= REUSE_INTERNAL) {
		memcpy(&p->reuse[attribute - REUSE_EVENTS], value, sizeof(int));
		return BF_CU_OK;
	}
	memcpy(&to, value, sizeof(to));
	if (attribute == THRESHOLD)
		p->threshold = to;
	else if (attribute == RESERVED_HIGH && !to)
		p->reserved_high = p->used;
	else if (attribute == USED_HIGH && !to)
		p->used_high = p->used;
	else
		return BF_CU_INVALID_VALUE;
	return BF_CU_OK;
}

/* Kernels of all devices reach all memory; what was asked for is remembered. */
int cuMemPoolSetAccess(CUmemoryPool p, const struct bf_cu_access *access, size_t count)
{
	if (!is_pool(p) || (count && !access))
		return BF_CU_INVALID_VALUE;
	for (size_t i = 0; i < count; i++) {
		const int device = access[i].location.id;
		const uint32_t bit = 1u << device;

		if (access[i].location.type != 1 || bf_cu_check_device(device))
			return BF_CU_INVALID_DEVICE;
		if (device == p->device && access[i].flags != 3)
			return BF_CU_INVALID_VALUE;
		p->access = access[i].flags ? p->access | bit : p->access & ~bit;
	}
	return BF_CU_OK;
}

int cuMemPoolGetAccess(int *flags, CUmemoryPool p, const struct bf_cu_location *where)
{
	if (!flags || !is_pool(p) || !where || where->type != 1 || bf_cu_check_device(where->id))
		return BF_CU_INVALID_VALUE;
	*flags = where->id == p->device || p->access >> where->id & 1 ? 3 : 0;
	return BF_CU_OK;
}

/* ---- pools of other processes: the handle is the device's file, a piece of which a pointer's data names ---- */

int cuMemPoolExportToShareableHandle(void *out, CUmemoryPool p, int type, unsigned long long flags)
{
	int fd;

	if (!out || !is_pool(p) || !p->shared || type != BY_DESCRIPTOR || flags)
		return BF_CU_INVALID_VALUE;
	bf_cu_lock();
	fd = bf_cu_file_of(p->device);
	fd = fd < 0 ? fd : fcntl(fd, F_DUPFD_CLOEXEC, 0);
	bf_cu_unlock();
	memcpy(out, &fd, sizeof(fd));
	return fd < 0 ? BF_CU_OPERATING_SYSTEM : BF_CU_OK;
}

int cuMemPoolImportFromShareableHandle(CUmemoryPool *out, void *handle, int type, unsigned long long flags)
{
	const int fd = (int)(intptr_t)handle;
	struct bf_cu_context *c;
	struct bf_cu_pool *p;
	int rc = bf_cu_enter(&c);

	if (rc || !out || type != BY_DESCRIPTOR || flags)
		return rc ? rc : BF_CU_INVALID_VALUE;
	p = calloc(1, sizeof(*p));
	if (!p)
		return BF_CU_OUT_OF_MEMORY;
	*p = (struct bf_cu_pool){ .magic = POOL_MAGIC, .device = c->device, .reuse = { 1, 1, 1 } };
	p->fd = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	if (p->fd < 0) {
		free(p);
		return BF_CU_INVALID_VALUE;
	}
	*out = p;
	return BF_CU_OK;
}

int cuMemPoolExportPointer(struct bf_cu_ipc *out, CUdeviceptr at)
{
	const struct bf_cu_block *b;
	bool shared;

	bf_cu_lock();
	b = bf_cu_block_at(at);
	shared = b && b->at == at && b->pool && b->pool->shared;
	bf_cu_unlock();
	return shared ? cuIpcGetMemHandle(out, at) : BF_CU_INVALID_VALUE;
}

int cuMemPoolImportPointer(CUdeviceptr *out, CUmemoryPool p, struct bf_cu_ipc *data)
{
	if (!out || !data || !is_pool(p) || p->fd < 0)
		return BF_CU_INVALID_VALUE;
	return bf_cu_map_peer(data, p->fd, out);
}

/* ---- memory ---- */

void bf_cu_pool_freed(struct bf_cu_block *b)
{
	if (!b->pool)
		return;
	b->pool->used -= b->size;
	drop(b->pool);
}

static int allocate(struct bf_cu_pool *p, size_t size, CUdeviceptr *out)
{
	struct bf_cu_block *b = NULL;
	const int rc = bf_cu_allocate(p->device, size, &b);

	if (rc)
		return rc;
	b->pool = p;
	p->used += size;
	p->used_high = p->used > p->used_high ? p->used : p->used_high;
	p->reserved_high = p->used > p->reserved_high ? p->used : p->reserved_high;
	*out = b->at;
	return BF_CU_OK;
}

static int allocate_in_graph(struct bf_cu_stream *s, size_t size, CUdeviceptr *out)
{
	struct bf_cu_node *n;
	const int rc =
	    bf_cu_graph_allocate(s->capture->graph, s->context->device, size, s->captured, s->captured_count, &n);

	if (rc)
		return rc;
	*out = n->memory->at;
	return bf_cu_capture_node(s, n);
}

static int allocate_async(struct bf_cu_pool *p, size_t size, CUstream handle, CUdeviceptr *out)
{
	struct bf_cu_stream *s;
	int rc;

	if (!out || !size)
		return BF_CU_INVALID_VALUE;
	rc = bf_cu_enter_stream(handle, &s);
	if (rc)
		return rc;
	own_of(s->context->device);
	if (s->capture)
		rc = s->capture->invalid ? BF_CU_CAPTURE_INVALIDATED : allocate_in_graph(s, size, out);
	else
		rc = allocate(p ? p : pools[s->context->device].now, size, out);
	bf_cu_unlock();
	return rc;
}

int cuMemAllocAsync(CUdeviceptr *out, size_t size, CUstream stream)
{
	return allocate_async(NULL, size, stream, out);
}

int cuMemAllocFromPoolAsync(CUdeviceptr *out, size_t size, CUmemoryPool p, CUstream stream)
{
	return is_pool(p) && p->fd < 0 ? allocate_async(p, size, stream, out) : BF_CU_INVALID_VALUE;
}

/* Memory of graphs stays theirs: that it may be allocated again is all that freeing means. */
static int free_of_graph(struct bf_cu_stream *s, struct bf_cu_graph_memory *m)
{
	struct bf_cu_node *n;
	int rc;

	if (!s->capture) {
		bf_cu_graph_memory_live(m, false);
		return BF_CU_OK;
	}
	if (s->capture->invalid)
		return BF_CU_CAPTURE_INVALIDATED;
	rc = bf_cu_graph_release(s->capture->graph, m, s->captured, s->captured_count, &n);
	return rc ? rc : bf_cu_capture_node(s, n);
}

int cuMemFreeAsync(CUdeviceptr at, CUstream handle)
{
	struct bf_cu_stream *s;
	const struct bf_cu_block *b;
	struct bf_cu_op *op;
	int rc = bf_cu_enter_stream(handle, &s);

	if (rc)
		return rc;
	b = bf_cu_block_at(at);
	if (!b || b->at != at || (b->kind != BF_CU_BLOCK_DEVICE && b->kind != BF_CU_BLOCK_PEER)) {
		rc = at ? BF_CU_INVALID_VALUE : BF_CU_OK;
	} else if (b->graph) {
		rc = free_of_graph(s, b->graph);
	} else if (s->capture) {
		s->capture->invalid = true; /* each launch would free it once more */
		rc = BF_CU_INVALID_VALUE;
	} else {
		op = bf_cu_op_make(BF_CU_OP_FREE, 0);
		rc = op ? BF_CU_OK : BF_CU_OUT_OF_MEMORY;
		if (op) {
			op->free = at;
			rc = bf_cu_enqueue(s, op);
		}
	}
	bf_cu_unlock();
	return rc;
}
