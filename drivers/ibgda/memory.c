/*
 * IBGDA, host side: memory. The symmetric heap is reserved as a whole and registered piece by piece with every device;
 * what device code looks up is one entry a granule (and PE) that holds the key and where its registration ends: as an
 * address for local keys, as a heap offset for remote ones. The first BF_IBGDA_CONST_KEYS entries are in the state, the
 * rest in an array behind it, which has room for the whole heap, so that it never moves under a running kernel.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "drivers/ibgda/host_internal.h"

static uint64_t beyond_const(uint64_t entries)
{
	return entries > BF_IBGDA_CONST_KEYS ? entries - BF_IBGDA_CONST_KEYS : 0;
}

/* Where everybody's heap begins. */
static int show_heaps(struct bf_ibgda_transport *t)
{
	const uint64_t bytes = t->npes * sizeof(t->heap.va);
	const void *all;
	int rc;

	if (t->opts.bugs & BF_IBGDA_BUG_RADDR_ZERO)
		return bf_ibgda_alloc(t, BF_PLACE_GPU, bytes, "addresses of heaps", &t->heaps_mem);
	rc = bf_ibgda_gather(t, &t->heap.va, sizeof(t->heap.va), &all);
	return rc ? rc : bf_ibgda_alloc_table(t, all, bytes, "addresses of heaps", &t->common->heaps, &t->heaps_mem);
}

static int alloc_tables(struct bf_ibgda_transport *t)
{
	const uint64_t lkeys = beyond_const(t->granules * t->ndevs);
	int rc = show_heaps(t);

	if (!rc && lkeys)
		rc = bf_ibgda_alloc(t, BF_PLACE_GPU, lkeys * sizeof(struct bf_ibgda_lkey), "lkeys", &t->lkeys_mem);
	if (rc)
		return rc;
	t->state->globalmem.lkeys = t->lkeys_mem.ptr;
	t->state->globalmem.peer_heap_va = t->heaps_mem.ptr;
	return 0;
}

int bf_ibgda_open_heap(struct bf_ibgda_transport *t)
{
	const uint64_t granule = 1ull << t->opts.log2_granularity;
	int rc = bf_ibgda_precheck(t, BF_IBGDA_LACKS_PEER_MEMORY);

	if (rc)
		return rc;
	t->granules = (t->opts.heap_bytes + granule - 1) >> t->opts.log2_granularity;
	t->heap_tail = &t->heap_regions;
	rc = bf_ibgda_alloc(t, t->opts.cuda_heap ? BF_PLACE_CUDA : BF_PLACE_GPU, t->granules * granule, "heap",
			    &t->heap);
	if (!rc)
		rc = alloc_tables(t);
	if (rc)
		return rc;
	t->state->heap = bf_memory_of_gpu(&t->heap);
	t->state->heap_va = t->heap.va;
	t->state->log2_granularity = t->opts.log2_granularity;
	return 0;
}

/* ---- registrations ---- */

static void drop_region(struct bf_ibgda_transport *t, struct bf_ibgda_region *r)
{
	for (uint32_t d = 0; d < t->ndevs; d++)
		bf_ibgda_destroy_key(t, t->dev[d].nic, &r->key[d]);
	free(r);
}

/* With every device that is in use, as each has keys of its own. */
static int make_region(struct bf_ibgda_transport *t, uint64_t va, uint64_t bytes, struct bf_ibgda_region **out)
{
	struct bf_ibgda_region *r = calloc(1, sizeof(*r));
	int rc = 0;

	if (!r)
		return bf_fail(t->err, -ENOMEM, "PE %u: no memory for a registration", t->pe);
	r->va = va;
	r->bytes = bytes;
	memset(r->key, 0xff, sizeof(r->key));
	for (uint32_t d = 0; !rc && d < t->ndevs; d++)
		rc = bf_ibgda_create_key(t, t->dev[d].nic, va, bytes, &r->key[d]);
	if (rc)
		drop_region(t, r);
	else
		*out = r;
	return rc;
}

static struct bf_ibgda_lkey *lkey_at(struct bf_ibgda_transport *t, uint64_t i)
{
	return i < BF_IBGDA_CONST_KEYS ? &t->state->constmem.lkeys[i]
				       : (struct bf_ibgda_lkey *)t->lkeys_mem.ptr + (i - BF_IBGDA_CONST_KEYS);
}

static void fill_lkeys(struct bf_ibgda_transport *t, const struct bf_ibgda_region *r)
{
	const uint64_t first = (r->va - t->heap.va) >> t->opts.log2_granularity;
	const uint64_t end = r->va - t->heap.va + r->bytes;

	for (uint64_t g = first; g << t->opts.log2_granularity < end; g++)
		for (uint32_t d = 0; d < t->ndevs; d++)
			*lkey_at(t, g * t->ndevs + d) =
			    (struct bf_ibgda_lkey){ .key = bf_htobe32(r->key[d]), .end = t->heap.va + end };
}

/* The registration's entries among those of `part`, which are `from`..`to` - 1 of the whole table. */
static void fill_rkeys(const struct bf_ibgda_transport *t, const struct bf_ibgda_region *r, const uint32_t *keys,
		       struct bf_ibgda_rkey *part, uint64_t from, uint64_t to)
{
	const uint64_t row = (uint64_t)t->npes * t->ndevs, end = r->va - t->heap.va + r->bytes;
	const uint64_t granule = 1ull << t->opts.log2_granularity;
	const uint64_t first = (r->va - t->heap.va) / granule * row, last = (end + granule - 1) / granule * row;

	for (uint64_t i = from > first ? from : first; i < to && i < last; i++)
		part[i - from] = (struct bf_ibgda_rkey){ .key = bf_htobe32(keys[i % row]), .end = end };
}

/* What does not fit into the state: the first registration's is the same for all PEs of this process. */
static int fill_more_rkeys(struct bf_ibgda_transport *t, const struct bf_ibgda_region *r, const uint32_t *keys)
{
	struct bf_ibgda_common *c = t->common;
	const uint64_t all = t->granules * t->ndevs * t->npes, more = beyond_const(all);
	int rc;

	if (t->rkeys_mem.ptr)
		fill_rkeys(t, r, keys, t->rkeys_mem.ptr, BF_IBGDA_CONST_KEYS, all);
	if (t->rkeys_mem.ptr || !more)
		return 0;
	if (!c->rkeys) {
		c->rkeys = calloc(more, sizeof(*c->rkeys));
		if (!c->rkeys)
			return bf_fail(t->err, -ENOMEM, "PE %u: no memory for %" PRIu64 " keys", t->pe, more);
		fill_rkeys(t, r, keys, c->rkeys, BF_IBGDA_CONST_KEYS, all);
	}
	rc = bf_ibgda_alloc_table(t, c->rkeys, more * sizeof(*c->rkeys), "rkeys", &c->rkey_table, &t->rkeys_mem);
	t->state->globalmem.rkeys = t->rkeys_mem.ptr;
	return rc;
}

/* `keys`: of this piece, of every PE and device. */
static int fill_tables(struct bf_ibgda_transport *t, const struct bf_ibgda_region *r, const uint32_t *keys)
{
	fill_lkeys(t, r);
	fill_rkeys(t, r, keys, t->state->constmem.rkeys, 0, BF_IBGDA_CONST_KEYS);
	return fill_more_rkeys(t, r, keys);
}

static int register_piece(struct bf_ibgda_transport *t, uint64_t bytes)
{
	struct bf_ibgda_region *r = NULL;
	const void *keys;
	int rc = make_region(t, t->heap.va + t->registered, bytes, &r);

	if (!rc) {
		*t->heap_tail = r;
		t->heap_tail = &r->next;
		rc = bf_ibgda_gather(t, r->key, t->ndevs * sizeof(r->key[0]), &keys);
	}
	if (!rc)
		rc = fill_tables(t, r, keys);
	if (!rc)
		t->registered += bytes;
	return rc;
}

/* Takes back what a registration of several pieces has made before one of them failed, here or at another PE. */
static void undo_pieces(struct bf_ibgda_transport *t, struct bf_ibgda_region **tail, uint64_t registered)
{
	struct bf_error *err = t->err;
	struct bf_ibgda_region *r;

	t->err = NULL; /* the first failure is the one to tell */
	while ((r = *tail)) {
		*tail = r->next;
		drop_region(t, r);
	}
	t->heap_tail = tail;
	t->registered = registered;
	t->err = err;
}

int bf_ibgda_register_heap(struct bf_ibgda_transport *t, uint64_t bytes)
{
	const uint64_t granule = 1ull << t->opts.log2_granularity;
	const uint64_t piece = t->opts.granules_per_mr ? t->opts.granules_per_mr * granule : bytes;
	const uint64_t before = t->registered, goal = before + bytes;
	struct bf_ibgda_region **tail = t->heap_tail;
	int rc = 0;

	if (!bytes || bytes % granule)
		return bf_fail(t->err, -EINVAL, "PE %u: %" PRIu64 " bytes of heap: must be whole granules of %" PRIu64,
			       t->pe, bytes, granule);
	if (bytes > t->heap.size - t->registered)
		return bf_fail(t->err, -ENOSPC, "PE %u: %" PRIu64 " more bytes of heap: %" PRIu64 " are reserved",
			       t->pe, bytes, t->heap.size - t->registered);
	while (!rc && t->registered < goal)
		rc = register_piece(t, goal - t->registered < piece ? goal - t->registered : piece);
	/* Last: a kernel that sees the new size finds the keys. */
	if (rc)
		undo_pieces(t, tail, before);
	else
		__atomic_store_n(&t->state->heap_size, t->registered, __ATOMIC_RELEASE);
	return rc;
}

/* ---- memory outside of the heap ---- */

static void link_node(struct bf_ibgda_transport *t, struct bf_ibgda_region *r, const struct bf_memory *m, bool host)
{
	struct bf_ibgda_local_only *node = r->node.ptr;

	*node = (struct bf_ibgda_local_only){ .next = t->state->globalmem.local_only,
					      .first = m->ptr,
					      .last = (const uint8_t *)m->ptr + m->size - 1,
					      .va = m->va,
					      .sysmem = host };
	for (uint32_t d = 0; d < t->ndevs; d++)
		node->lkeys[d] = bf_htobe32(r->key[d]);
	__atomic_store_n(&t->state->globalmem.local_only, node, __ATOMIC_RELEASE);
}

int bf_ibgda_register_local(struct bf_ibgda_transport *t, const struct bf_memory *m, bool host)
{
	struct bf_ibgda_region *r;
	struct bf_memory node;
	int rc;

	if (!m->ptr || !m->size)
		return bf_fail(t->err, -EINVAL, "PE %u: a local buffer of %" PRIu64 " bytes", t->pe, m->size);
	rc = bf_ibgda_alloc(t, BF_PLACE_GPU, sizeof(struct bf_ibgda_local_only), "local-only buffer", &node);
	if (rc)
		return rc;
	rc = make_region(t, m->va, m->size, &r);
	if (rc) {
		bf_ibgda_release(t, &node);
		return rc;
	}
	r->node = node;
	r->next = t->local_regions;
	t->local_regions = r;
	t->live[BF_IBGDA_KIND_NODE]++;
	link_node(t, r, m, host);
	return 0;
}

static void drop_local(struct bf_ibgda_transport *t, struct bf_ibgda_region *r)
{
	bf_ibgda_release(t, &r->node);
	t->live[BF_IBGDA_KIND_NODE]--;
	drop_region(t, r);
}

/* Takes the node out of the list that device code walks; who stands on it still finds its way on. */
static void unlink_node(struct bf_ibgda_transport *t, const struct bf_ibgda_local_only *node)
{
	const struct bf_ibgda_local_only **link = &t->state->globalmem.local_only;

	while (*link != node)
		link = (const struct bf_ibgda_local_only **)(uintptr_t) & (*link)->next;
	__atomic_store_n(link, node->next, __ATOMIC_RELEASE);
}

int bf_ibgda_unregister_local(struct bf_ibgda_transport *t, const struct bf_memory *m)
{
	struct bf_ibgda_region *r;

	for (struct bf_ibgda_region **link = &t->local_regions; (r = *link); link = &r->next) {
		if (r->va != m->va || r->bytes != m->size)
			continue;
		*link = r->next;
		unlink_node(t, r->node.ptr);
		drop_local(t, r);
		return 0;
	}
	return bf_fail(t->err, -ENOENT, "PE %u: no buffer of %" PRIu64 " bytes at 0x%" PRIx64 " is registered", t->pe,
		       m->size, m->va);
}

void bf_ibgda_close_memory(struct bf_ibgda_transport *t)
{
	struct bf_ibgda_region *r;

	while ((r = t->local_regions)) {
		t->local_regions = r->next;
		drop_local(t, r);
	}
	while ((r = t->heap_regions)) {
		t->heap_regions = r->next;
		drop_region(t, r);
	}
	bf_ibgda_release(t, &t->lkeys_mem);
	bf_ibgda_release(t, &t->rkeys_mem);
	bf_ibgda_release(t, &t->heaps_mem);
	bf_ibgda_release(t, &t->heap);
}
