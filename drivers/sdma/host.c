#include "drivers/sdma/host.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "drivers/backend/sdma_world.h"
#include "sim/error.h"

#define QUEUES_MAX 64u

/* The kernel rounds user rings up to this (Linux kfd_chardev.c, set_queue_properties_from_user). */
#define RING_MIN 1024u

struct queue {
	struct bf_sdma_ring ring;
	struct bf_sdma_drv_writer *writer; /* in memory of the PE */
	bool created;
};

struct bf_sdma_drv_host {
	const struct bf_backend *backend;
	struct bf_world *world;
	struct bf_error *err;
	struct bf_sdma_drv_host_opts opts;
	struct bf_sdma_drv_caps caps;
	uint32_t npes;
	struct bf_memory *heap; /* [npes] */
	struct queue *queues;   /* [npes * opts.queues] */
};

static struct queue *queue_of(const struct bf_sdma_drv_host *h, uint32_t pe, uint32_t queue)
{
	return &h->queues[pe * h->opts.queues + queue];
}

static void fill_writer(const struct bf_sdma_drv_host *h, struct queue *q)
{
	*q->writer = (struct bf_sdma_drv_writer){
		.ring = q->ring.ring.ptr,
		.bytes = q->ring.ring.size,
		.rptr = q->ring.rptr.ptr,
		.rptr_va = q->ring.rptr.va,
		.wptr = q->ring.wptr.ptr,
		.doorbell = q->ring.doorbell,
		.id = q->ring.id,
		.bugs = h->opts.bugs,
		.wrapped = h->opts.wrapped,
		.exact_fit = h->opts.exact_fit,
		.wait_idle = h->opts.wait_idle,
		.caps = h->caps,
	};
}

static int create_queue(struct bf_sdma_drv_host *h, uint32_t pe, struct queue *q)
{
	int rc = bf_sdma_world(h->backend)->create(h->world, pe, &q->ring);

	if (rc)
		return rc;
	q->created = true;
	fill_writer(h, q);
	return 0;
}

/*
 * Read and write pointer lie on pages of their own: newer kernels want each in a mapping of exactly one page (Linux
 * kfd_queue.c).
 */
static int open_queue(struct bf_sdma_drv_host *h, uint32_t pe, uint32_t index)
{
	const struct bf_backend *be = h->backend;
	struct queue *q = queue_of(h, pe, index);
	struct bf_memory writer;
	char name[40];
	int rc;

	q->ring.wrapped = h->opts.wrapped;
	q->ring.strict = h->opts.strict;
	snprintf(name, sizeof(name), "sdma-ring.%u", index);
	rc = be->alloc(h->world, pe, BF_PLACE_HOST, h->opts.ring_bytes, name, &q->ring.ring);
	if (!rc) {
		q->ring.ring.size = h->opts.ring_bytes;
		snprintf(name, sizeof(name), "sdma-rptr.%u", index);
		rc = be->alloc(h->world, pe, BF_PLACE_HOST, 4096, name, &q->ring.rptr);
	}
	if (!rc) {
		snprintf(name, sizeof(name), "sdma-wptr.%u", index);
		rc = be->alloc(h->world, pe, BF_PLACE_HOST, 4096, name, &q->ring.wptr);
	}
	if (!rc) {
		snprintf(name, sizeof(name), "sdma-writer.%u", index);
		rc = be->alloc(h->world, pe, BF_PLACE_HOST, sizeof(*q->writer), name, &writer);
	}
	if (rc)
		return rc;
	q->writer = writer.ptr;
	return create_queue(h, pe, q);
}

static int check_opts(const struct bf_backend *backend, const struct bf_sdma_drv_host_opts *o, struct bf_error *err)
{
	if (!bf_sdma_world(backend))
		return bf_fail(err, -ENOTSUP, "backend %s has no copy engines", backend->name);
	if (!o->queues || o->queues > QUEUES_MAX)
		return bf_fail(err, -EINVAL, "%u queues: must be 1 to %u", o->queues, QUEUES_MAX);
	if (o->ring_bytes < RING_MIN || o->ring_bytes > 1u << 30 || (o->ring_bytes & (o->ring_bytes - 1)))
		return bf_fail(err, -EINVAL, "a ring of %llu bytes: must be a power of two from %u bytes to 1 GiB",
			       (unsigned long long)o->ring_bytes, RING_MIN);
	return 0;
}

int bf_sdma_drv_host_open(const struct bf_backend *backend, struct bf_world *world, uint32_t npes,
			  const struct bf_sdma_drv_host_opts *opts, struct bf_error *err, struct bf_sdma_drv_host **out)
{
	struct bf_sdma_drv_host *h;
	int rc = check_opts(backend, opts, err);

	*out = NULL;
	if (rc)
		return rc;
	h = calloc(1, sizeof(*h));
	if (!h)
		return bf_fail(err, -ENOMEM, "no memory for the SDMA host state");
	h->backend = backend;
	h->world = world;
	h->err = err;
	h->opts = *opts;
	h->caps = *opts->caps;
	h->npes = npes;
	h->heap = calloc(npes, sizeof(*h->heap));
	h->queues = calloc((size_t)npes * opts->queues, sizeof(*h->queues));
	if (!h->heap || !h->queues)
		rc = bf_fail(err, -ENOMEM, "no memory for %u queues", npes * opts->queues);
	for (uint32_t pe = 0; !rc && pe < npes; pe++) {
		rc = backend->alloc(world, pe, opts->place, opts->heap_bytes, "sdma-heap", &h->heap[pe]);
		for (uint32_t i = 0; !rc && i < opts->queues; i++)
			rc = open_queue(h, pe, i);
	}
	if (rc) {
		bf_sdma_drv_host_close(h);
		return rc;
	}
	*out = h;
	return 0;
}

void bf_sdma_drv_host_close(struct bf_sdma_drv_host *h)
{
	if (!h)
		return;
	for (uint32_t i = h->opts.bugs & BF_SDMA_DRV_BUG_LEAK ? 1 : 0; h->queues && i < h->npes * h->opts.queues; i++)
		if (h->queues[i].created)
			bf_sdma_world(h->backend)->destroy(h->world, i / h->opts.queues, h->queues[i].ring.id);
	free(h->queues);
	free(h->heap);
	free(h);
}

struct bf_sdma_drv_writer *bf_sdma_drv_host_writer(struct bf_sdma_drv_host *h, uint32_t pe, uint32_t queue)
{
	return queue_of(h, pe, queue)->writer;
}

const struct bf_sdma_ring *bf_sdma_drv_host_ring(const struct bf_sdma_drv_host *h, uint32_t pe, uint32_t queue)
{
	return &queue_of(h, pe, queue)->ring;
}

struct bf_memory bf_sdma_drv_host_heap(const struct bf_sdma_drv_host *h, uint32_t pe)
{
	return h->heap[pe];
}

int bf_sdma_drv_host_pause(struct bf_sdma_drv_host *h, uint32_t pe, uint32_t queue)
{
	const struct bf_memory none = { 0 };

	return bf_sdma_world(h->backend)->update(h->world, pe, queue_of(h, pe, queue)->ring.id, &none);
}

int bf_sdma_drv_host_resume(struct bf_sdma_drv_host *h, uint32_t pe, uint32_t queue)
{
	const struct queue *q = queue_of(h, pe, queue);

	return bf_sdma_world(h->backend)->update(h->world, pe, q->ring.id, &q->ring.ring);
}

int bf_sdma_drv_host_reset(struct bf_sdma_drv_host *h, uint32_t pe, uint32_t queue)
{
	struct queue *q = queue_of(h, pe, queue);
	int rc = bf_sdma_world(h->backend)->destroy(h->world, pe, q->ring.id);

	if (rc)
		return rc;
	q->created = false;
	memset(q->ring.ring.ptr, 0, q->ring.ring.size);
	memset(q->ring.rptr.ptr, 0, 8);
	memset(q->ring.wptr.ptr, 0, 8);
	return create_queue(h, pe, q);
}
