/* The heap of a device: what malloc() and free() of kernels give. Blocks lie in one region; what is known of them does
 * not. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "models/ptx/machine_internal.h"

#define GRAIN 16u
#define HEAP_BYTES (8ull << 20)

/* Pieces of the heap in order of address, all of it. */
struct piece {
	struct piece *next;
	uint64_t offset, size;
	bool used;
};

struct bf_ptx_heap {
	struct bf_region *region;
	struct piece *first;
};

static struct bf_ptx_heap *heap_of(struct bf_ptx_device *d)
{
	const struct bf_region_opts opts = { .name = "ptx.heap",
					     .kind = BF_MEM_VRAM,
					     .size = d->opts.heap_bytes ? d->opts.heap_bytes : HEAP_BYTES };
	struct bf_ptx_heap *h = d->heap;

	if (h)
		return h;
	h = calloc(1, sizeof(*h));
	if (h)
		h->first = calloc(1, sizeof(*h->first));
	if (!h || !h->first || bf_region_create(d->opts.space, &opts, &h->region)) {
		bf_ptx_heap_destroy(h);
		return NULL;
	}
	h->first->size = h->region->size;
	d->heap = h;
	return h;
}

int bf_ptx_device_set_heap(struct bf_ptx_device *d, uint64_t bytes)
{
	if (d->heap)
		return d->heap->region->size == bytes ? 0 : -EBUSY;
	d->opts.heap_bytes = bytes;
	return 0;
}

void bf_ptx_device_set_stack(struct bf_ptx_device *d, uint32_t bytes)
{
	d->opts.stack_bytes = bytes;
}

uint64_t bf_ptx_malloc(struct bf_ptx_device *d, uint64_t bytes)
{
	struct bf_ptx_heap *h = heap_of(d);
	struct piece *p, *rest;

	if (!h || !bytes || bytes > h->region->size)
		return 0;
	bytes = (bytes + GRAIN - 1) / GRAIN * GRAIN;
	for (p = h->first; p && (p->used || p->size < bytes); p = p->next)
		;
	if (!p)
		return 0;
	if (p->size > bytes) {
		rest = calloc(1, sizeof(*rest));
		if (!rest)
			return 0;
		*rest = (struct piece){ .next = p->next, .offset = p->offset + bytes, .size = p->size - bytes };
		p->next = rest;
		p->size = bytes;
	}
	p->used = true;
	return h->region->va + p->offset;
}

/* Joins a free piece with those behind it that are free. */
static void join(struct piece *p)
{
	while (p && !p->used && p->next && !p->next->used) {
		struct piece *gone = p->next;

		p->size += gone->size;
		p->next = gone->next;
		free(gone);
	}
}

bool bf_ptx_free(struct bf_ptx_device *d, uint64_t va)
{
	struct bf_ptx_heap *h = d->heap;
	struct piece *before = NULL, *p = h ? h->first : NULL;

	if (!va)
		return true;
	while (p && (!p->used || h->region->va + p->offset != va)) {
		before = p;
		p = p->next;
	}
	if (!p)
		return false;
	p->used = false;
	join(p);
	join(before);
	return true;
}

void bf_ptx_heap_destroy(struct bf_ptx_heap *h)
{
	if (!h)
		return;
	while (h->first) {
		struct piece *p = h->first;

		h->first = p->next;
		free(p);
	}
	free(h);
}
