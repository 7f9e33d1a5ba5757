/*
 * Video memory: buffers, the physical addresses under them, and what others do with those.
 *
 * A buffer's region is its mapping in the GPU's page tables and never moves. Physical VRAM is a list of owned runs. An
 * address that was given to an importer is a window: it leads to whoever owns the address at the time, so that a buffer
 * that moves away leaves the importer writing into its successor, or into the aperture's own bytes when there is none.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "models/gpu/gpu_internal.h"

/* Values of the field `what` of record gpu_bo. */
enum bo_event { BO_ALLOC, BO_MOVE, BO_FREE, BO_PIN, BO_UNPIN, BO_MOVE_REFUSED };

static void record(const struct bf_gpu_bo *bo, enum bo_event what)
{
	struct bf_gpu *gpu = bo->gpu;
	struct bf_rec_gpu_bo r = {
		.va = bo->region->va,
		.size = bo->region->size,
		.paddr = bf_gpu_bo_paddr(bo, 0),
		.region = bo->region->id,
		.line = gpu->profile.line,
		.pins = bo->pins,
		.mtype = (uint16_t)bo->mtype,
		.place = (uint8_t)bf_gpu_bo_place(bo),
		.what = (uint8_t)what,
	};

	if (!bf_probe(gpu->sim, BF_CLASS_META))
		return;
	memcpy(r.name, bo->region->name, sizeof(r.name) - 1);
	bf_record(&gpu->sim->rec, &bf_rec_gpu_bo_schema, gpu->actor, &r, NULL, 0);
}

/* Index of the first block that ends above `at`. */
static uint32_t first_above(const struct bf_gpu *gpu, uint64_t at)
{
	uint32_t lo = 0, hi = gpu->nblocks;

	while (lo < hi) {
		const uint32_t mid = (lo + hi) / 2;

		if (gpu->blocks[mid].start + gpu->blocks[mid].len <= at)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

static int own(struct bf_gpu *gpu, const struct bf_gpu_block *block)
{
	const uint32_t at = first_above(gpu, block->start);

	if (gpu->nblocks == gpu->blocks_cap) {
		const uint32_t cap = gpu->blocks_cap ? 2 * gpu->blocks_cap : 16;
		struct bf_gpu_block *grown = realloc(gpu->blocks, cap * sizeof(*grown));

		if (!grown)
			return -ENOMEM;
		gpu->blocks = grown;
		gpu->blocks_cap = cap;
	}
	memmove(&gpu->blocks[at + 1], &gpu->blocks[at], (gpu->nblocks - at) * sizeof(*block));
	gpu->blocks[at] = *block;
	gpu->nblocks++;
	return 0;
}

static void disown(struct bf_gpu *gpu, const struct bf_gpu_extent *extents, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		const uint32_t at = first_above(gpu, extents[i].start);

		memmove(&gpu->blocks[at], &gpu->blocks[at + 1], (gpu->nblocks - at - 1) * sizeof(*gpu->blocks));
		gpu->nblocks--;
	}
}

static int add_extent(struct bf_gpu_extent **list, uint32_t *n, uint64_t start, uint64_t len)
{
	struct bf_gpu_extent *grown = realloc(*list, (*n + 1) * sizeof(*grown));

	if (!grown)
		return -ENOMEM;
	grown[(*n)++] = (struct bf_gpu_extent){ start, len };
	*list = grown;
	return 0;
}

/* Gathers `size` bytes of free VRAM from its start on, in as many runs as it takes. The caller owns the list. */
static int find_free(struct bf_gpu *gpu, uint64_t size, struct bf_gpu_extent **out, uint32_t *count)
{
	uint64_t at = 0, found = 0;
	int rc = 0;

	*out = NULL;
	*count = 0;
	for (uint32_t i = 0; !rc && found < size && i <= gpu->nblocks; i++) {
		const uint64_t end = i < gpu->nblocks ? gpu->blocks[i].start : gpu->profile.vram_bytes;
		const uint64_t n = end - at < size - found ? end - at : size - found;

		if (n)
			rc = add_extent(out, count, at, n);
		found += n;
		if (i < gpu->nblocks)
			at = end + gpu->blocks[i].len;
	}
	if (!rc && found == size)
		return 0;
	free(*out);
	*out = NULL;
	return bf_fail(&gpu->sim->error, -ENOMEM, "GPU '%s': VRAM has no %llu bytes left", gpu->name,
		       (unsigned long long)size);
}

/* Makes the window lead to the owners of its addresses, which its range of I/O addresses is free for. */
static int wire(struct bf_gpu *gpu, struct bf_gpu_window *w)
{
	uint64_t done = 0;
	int rc = 0;

	gpu->nstray -= w->stray;
	w->stray = false;
	while (!rc && done < w->len) {
		const uint64_t at = w->start + done, left = w->len - done;
		const uint32_t i = first_above(gpu, at);
		const struct bf_gpu_block *b = i < gpu->nblocks ? &gpu->blocks[i] : NULL;
		uint64_t n;

		if (b && b->start <= at) {
			n = b->start + b->len - at < left ? b->start + b->len - at : left;
			rc = bf_ioas_map(w->as, w->iova + done, b->bo->region, b->offset + (at - b->start), n, w->perm);
			w->stray |= b->bo != w->meant;
		} else {
			n = b && b->start - at < left ? b->start - at : left;
			rc = bf_ioas_map(w->as, w->iova + done, gpu->aperture, at, n, w->perm);
			w->stray = true;
		}
		done += n;
	}
	gpu->nstray += w->stray;
	return rc;
}

/* Runs of VRAM changed hands. */
static void rewire(struct bf_gpu *gpu, const struct bf_gpu_extent *extents, uint32_t n)
{
	for (struct bf_gpu_window *w = gpu->windows; w; w = w->next) {
		bool touched = false;

		for (uint32_t i = 0; i < n; i++)
			touched |= w->start < extents[i].start + extents[i].len && extents[i].start < w->start + w->len;
		if (!touched)
			continue;
		bf_ioas_unmap(w->as, w->iova, w->len);
		wire(gpu, w);
	}
}

/* Gives `bo` physical memory. */
static int place(struct bf_gpu_bo *bo)
{
	struct bf_gpu *gpu = bo->gpu;
	struct bf_gpu_extent *extents;
	uint64_t offset = 0;
	uint32_t n;
	int rc = find_free(gpu, bo->region->size, &extents, &n);

	for (uint32_t i = 0; !rc && i < n; i++) {
		const struct bf_gpu_block block = { extents[i].start, extents[i].len, offset, bo };

		rc = own(gpu, &block);
		if (rc) {
			disown(gpu, extents, i);
			free(extents);
			return bf_fail(&gpu->sim->error, rc, "GPU '%s': no memory for a block", gpu->name);
		}
		offset += extents[i].len;
	}
	if (rc)
		return rc;
	bo->extents = extents;
	bo->nextents = n;
	bo->region->kind = BF_MEM_VRAM;
	rewire(gpu, extents, n);
	return 0;
}

/* Takes it away; what was there stays there. */
static void displace(struct bf_gpu *gpu, struct bf_gpu_extent *extents, uint32_t n, const uint8_t *bytes)
{
	uint64_t offset = 0;

	disown(gpu, extents, n);
	for (uint32_t i = 0; bytes && i < n; offset += extents[i++].len)
		memcpy(gpu->aperture->bytes + extents[i].start, bytes + offset, extents[i].len);
	rewire(gpu, extents, n);
	free(extents);
}

static void free_bo(struct bf_gpu_bo *bo)
{
	if (bo->region)
		bf_region_destroy(bo->region);
	free(bo->held);
	free(bo->l2);
	free(bo);
}

int bf_gpu_vram_init(struct bf_gpu *gpu)
{
	gpu->free_memory = calloc(1, sizeof(*gpu->free_memory));
	if (!gpu->free_memory)
		return bf_fail(&gpu->sim->error, -ENOMEM, "no memory for its memory");
	gpu->free_memory->gpu = gpu;
	gpu->free_memory->region = gpu->aperture;
	gpu->aperture->owner = gpu->free_memory;
	bf_region_set_cache(gpu->aperture, &gpu->cache);
	return 0;
}

void bf_gpu_vram_fini(struct bf_gpu *gpu)
{
	while (gpu->windows) {
		struct bf_gpu_window *w = gpu->windows;

		gpu->windows = w->next;
		free(w);
	}
	while (gpu->bos) {
		struct bf_gpu_bo *bo = gpu->bos;

		gpu->bos = bo->next;
		free(bo->extents);
		free_bo(bo);
	}
	free(gpu->blocks);
	free(gpu->free_memory);
}

int bf_gpu_vram_alloc(struct bf_gpu *gpu, const char *name, uint64_t size, enum bf_gpu_mtype mtype,
		      struct bf_gpu_bo **out)
{
	struct bf_region_opts opts = { .name = name, .kind = BF_MEM_VRAM, .size = size };
	struct bf_gpu_bo *bo = calloc(1, sizeof(*bo));
	uint64_t lines;
	int rc;

	*out = NULL;
	if (!bo)
		return bf_fail(&gpu->sim->error, -ENOMEM, "GPU '%s': no memory for a buffer", gpu->name);
	opts.owner = bo;
	bo->gpu = gpu;
	bo->mtype = mtype;
	rc = bf_region_create(gpu->space, &opts, &bo->region);
	lines = rc ? 0 : bo->region->size / gpu->profile.line;
	if (!rc) {
		bo->held = calloc(lines, sizeof(*bo->held));
		bo->l2 = calloc(lines, sizeof(*bo->l2));
		rc = bo->held && bo->l2 ? place(bo) :
					  bf_fail(&gpu->sim->error, -ENOMEM, "GPU '%s': no memory for %llu lines",
						  gpu->name, (unsigned long long)lines);
	}
	if (rc) {
		free_bo(bo);
		return rc;
	}
	bf_region_set_cache(bo->region, &gpu->cache);
	*gpu->bos_tail = bo;
	gpu->bos_tail = &bo->next;
	record(bo, BO_ALLOC);
	*out = bo;
	return 0;
}

int bf_gpu_vram_free(struct bf_gpu_bo *bo)
{
	struct bf_gpu *gpu = bo->gpu;
	struct bf_gpu_bo **at = &gpu->bos;

	if (bo->buf)
		return bf_fail(&gpu->sim->error, -EBUSY, "GPU '%s': a DMA-BUF of buffer '%s' is in use", gpu->name,
			       bo->region->name);
	bf_gpu_cache_forget(bo);
	record(bo, BO_FREE);
	while (*at != bo)
		at = &(*at)->next;
	*at = bo->next;
	if (gpu->bos_tail == &bo->next)
		gpu->bos_tail = at;
	displace(gpu, bo->extents, bo->nextents, bo->region->bytes);
	free_bo(bo);
	return 0;
}

struct bf_region *bf_gpu_bo_region(const struct bf_gpu_bo *bo)
{
	return bo->region;
}

enum bf_gpu_place bf_gpu_bo_place(const struct bf_gpu_bo *bo)
{
	return bo->nextents ? BF_GPU_IN_VRAM : BF_GPU_IN_GTT;
}

uint64_t bf_gpu_bo_paddr(const struct bf_gpu_bo *bo, uint64_t offset)
{
	for (uint32_t i = 0; i < bo->nextents; offset -= bo->extents[i++].len)
		if (offset < bo->extents[i].len)
			return bo->gpu->aperture->va + bo->extents[i].start + offset;
	return 0;
}

struct bf_gpu_bo *bf_gpu_owner(struct bf_gpu *gpu, uint64_t paddr)
{
	const uint64_t at = paddr - gpu->aperture->va;
	const uint32_t i = first_above(gpu, at);

	return paddr >= gpu->aperture->va && i < gpu->nblocks && gpu->blocks[i].start <= at ? gpu->blocks[i].bo : NULL;
}

int bf_gpu_bo_move(struct bf_gpu_bo *bo, enum bf_gpu_place to)
{
	struct bf_gpu *gpu = bo->gpu;
	struct bf_gpu_extent *old = bo->extents;
	const uint32_t n = bo->nextents;
	int rc = 0;

	if (bo->pins) {
		record(bo, BO_MOVE_REFUSED);
		return bf_fail(&gpu->sim->error, -EBUSY, "GPU '%s': buffer '%s' is pinned", gpu->name,
			       bo->region->name);
	}
	if (bo->buf)
		bf_dmabuf_moving(bo->buf);
	bf_gpu_cache_forget(bo);
	if (to == BF_GPU_IN_VRAM) {
		rc = place(bo);
	} else {
		bo->extents = NULL;
		bo->nextents = 0;
		bo->region->kind = BF_MEM_DRAM;
	}
	if (rc)
		return rc;
	if (n)
		displace(gpu, old, n, bo->region->bytes);
	record(bo, BO_MOVE);
	return 0;
}

/* The exporter. */
static int pin(struct bf_gpu_bo *bo)
{
	bo->pins++;
	record(bo, BO_PIN);
	return 0;
}

static void unpin(struct bf_gpu_bo *bo)
{
	bo->pins--;
	record(bo, BO_UNPIN);
}

static int export_pin(struct bf_dmabuf *buf)
{
	return pin(buf->owner);
}

static void export_unpin(struct bf_dmabuf *buf)
{
	unpin(buf->owner);
}

static uint32_t export_types(struct bf_dmabuf *buf, enum bf_dmabuf_type out[BF_DMABUF_TYPES])
{
	const struct bf_gpu_bo *bo = buf->owner;
	uint32_t n = 0;

	if (!bo->gpu->no_pal)
		out[n++] = BF_DMABUF_PAL;
	out[n++] = BF_DMABUF_SGT_P2P;
	out[n++] = BF_DMABUF_SGT;
	return n;
}

/* Where the buffer is now. */
static int list_addresses(const struct bf_gpu_bo *bo, struct bf_dma_range **ranges, uint32_t *count)
{
	const uint32_t n = bo->nextents ? bo->nextents : 1;
	struct bf_dma_range *list = calloc(n, sizeof(*list));

	if (!list)
		return bf_fail(&bo->gpu->sim->error, -ENOMEM, "GPU '%s': no memory for addresses", bo->gpu->name);
	list[0] = (struct bf_dma_range){ bo->region->va, bo->region->size };
	for (uint32_t i = 0; i < bo->nextents; i++)
		list[i] = (struct bf_dma_range){ bo->gpu->aperture->va + bo->extents[i].start, bo->extents[i].len };
	*ranges = list;
	*count = n;
	return 0;
}

/* Does an unmap of this attachment take a pin back? */
static bool pal_pins(const struct bf_dmabuf_attach *a)
{
	const struct bf_gpu_bo *bo = a->buf->owner;

	return a->type == BF_DMABUF_PAL && !bo->gpu->pal_without_pin;
}

static int export_map(struct bf_dmabuf_attach *a, struct bf_dma_range **ranges, uint32_t *count)
{
	struct bf_gpu_bo *bo = a->buf->owner;
	struct bf_error *err = &bo->gpu->sim->error;
	const bool in_vram = bo->nextents != 0;
	int rc = 0;

	if (a->type == BF_DMABUF_PAL && !in_vram)
		return bf_fail(err, -EINVAL, "buffer '%s' is in host memory: it has no address to give",
			       bo->region->name);
	if (a->type == BF_DMABUF_SGT && in_vram)
		rc = bo->pins ? bf_fail(err, -EINVAL, "buffer '%s' is pinned where '%s' cannot reach it",
					bo->region->name, a->importer->name) :
				bf_gpu_bo_move(bo, BF_GPU_IN_GTT);
	if (!rc)
		rc = list_addresses(bo, ranges, count);
	if (!rc && pal_pins(a))
		rc = pin(bo);
	return rc;
}

static void export_unmap(struct bf_dmabuf_attach *a)
{
	if (pal_pins(a))
		unpin(a->buf->owner);
}

static int export_enter(struct bf_dmabuf_attach *a, struct bf_ioas *as, uint64_t iova, uint64_t addr, uint64_t len,
			uint32_t perm)
{
	struct bf_gpu_bo *bo = a->buf->owner;
	struct bf_gpu *gpu = bo->gpu;
	struct bf_gpu_window *w;
	int rc;

	if (addr - gpu->aperture->va >= gpu->profile.vram_bytes)
		return bf_ioas_map(as, iova, bo->region, addr - bo->region->va, len, perm);
	w = malloc(sizeof(*w));
	if (!w)
		return bf_fail(&gpu->sim->error, -ENOMEM, "GPU '%s': no memory for a mapping", gpu->name);
	*w = (struct bf_gpu_window){ .next = gpu->windows, .meant = bo, .as = as, .iova = iova,
				     .start = addr - gpu->aperture->va, .len = len, .perm = perm };
	gpu->windows = w;
	rc = wire(gpu, w);
	if (rc) {
		gpu->nstray -= w->stray;
		gpu->windows = w->next;
		free(w);
		return rc;
	}
	return 0;
}

static void export_leave(struct bf_dmabuf_attach *a, struct bf_ioas *as, uint64_t iova, uint64_t len)
{
	struct bf_gpu_bo *bo = a->buf->owner;
	struct bf_gpu_window **at = &bo->gpu->windows, *w;

	while ((w = *at)) {
		if (w->as != as || w->iova - iova >= len) {
			at = &w->next;
			continue;
		}
		bo->gpu->nstray -= w->stray;
		*at = w->next;
		free(w);
	}
	bf_ioas_unmap(as, iova, len);
}

static void export_release(struct bf_dmabuf *buf)
{
	struct bf_gpu_bo *bo = buf->owner;

	bo->buf = NULL;
	free(buf);
}

static const struct bf_dmabuf_ops export_ops = {
	.types = export_types,
	.pin = export_pin,
	.unpin = export_unpin,
	.map = export_map,
	.unmap = export_unmap,
	.enter = export_enter,
	.leave = export_leave,
	.release = export_release,
};

int bf_gpu_bo_export(struct bf_gpu_bo *bo, struct bf_dmabuf **out)
{
	*out = bo->buf;
	if (bo->buf) {
		bf_dmabuf_get(bo->buf);
		return 0;
	}
	bo->buf = malloc(sizeof(*bo->buf));
	if (!bo->buf)
		return bf_fail(&bo->gpu->sim->error, -ENOMEM, "GPU '%s': no memory for a DMA-BUF", bo->gpu->name);
	bf_dmabuf_init(bo->buf, bo->gpu->sim, bo->region->name, bo->region->size, &export_ops, bo);
	*out = bo->buf;
	return 0;
}

/* Keeps the first writes of each window that went astray, for the report. */
static void note_stray(struct bf_gpu *gpu, const struct bf_gpu_window *w, const struct bf_gpu_bo *owner,
		       const struct bf_rec_gpu_stray_write *r)
{
	struct bf_gpu_stray *s = NULL;

	gpu->stats.stray_writes++;
	for (uint32_t i = 0; !s && i < gpu->strays; i++)
		if (gpu->stray[i].by == r->by && r->iova - gpu->stray[i].iova < w->len &&
		    !strcmp(gpu->stray[i].owner, r->owner))
			s = &gpu->stray[i];
	if (s) {
		s->count++;
		return;
	}
	if (gpu->strays == BF_GPU_STRAYS)
		return;
	s = &gpu->stray[gpu->strays++];
	*s = (struct bf_gpu_stray){ .time_ps = gpu->sim->now_ps, .iova = r->iova, .paddr = r->paddr, .len = r->len,
				    .by = r->by, .count = 1 };
	snprintf(s->meant, sizeof(s->meant), "%.31s", w->meant->region->name);
	snprintf(s->owner, sizeof(s->owner), "%.31s", owner == gpu->free_memory ? "" : owner->region->name);
}

void bf_gpu_check_stray(struct bf_gpu_bo *bo, uint64_t offset, uint64_t len, const struct bf_visitor *by)
{
	struct bf_gpu *gpu = bo->gpu;
	const bool owned = bo != gpu->free_memory;

	for (const struct bf_gpu_window *w = gpu->windows; by->ioas && w; w = w->next) {
		struct bf_rec_gpu_stray_write r = { .iova = by->iova, .len = (uint32_t)len, .by = by->actor };

		if (!w->stray || w->as != by->ioas || by->iova - w->iova >= w->len || bo == w->meant)
			continue;
		r.paddr = gpu->aperture->va + w->start + (by->iova - w->iova);
		r.va = owned ? bo->region->va + offset : 0;
		memcpy(r.meant, w->meant->region->name, sizeof(r.meant) - 1);
		if (owned)
			memcpy(r.owner, bo->region->name, sizeof(r.owner) - 1);
		note_stray(gpu, w, bo, &r);
		if (bf_probe(gpu->sim, BF_CLASS_FAULT))
			bf_record(&gpu->sim->rec, &bf_rec_gpu_stray_write_schema, gpu->actor, &r, NULL, 0);
		return;
	}
}
