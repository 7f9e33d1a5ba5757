/*
 * Video memory for other devices: the DMA-BUF exporter, and what its importers do with the addresses that they hold.
 *
 * An address that was given to an importer is a window: it leads to whoever owns the address at the time, so that a
 * buffer that moves away leaves the importer writing into its successor, or into the aperture's own bytes when there is
 * none.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "models/gpu/gpu_internal.h"

/* Makes the window lead to the owners of its addresses; its range of I/O addresses is free. All of it or nothing. */
static int wire(struct bf_gpu *gpu, struct bf_gpu_window *w)
{
	uint64_t done = 0;
	int rc = 0;

	gpu->nstray -= w->stray;
	w->stray = false;
	while (!rc && done < w->len) {
		const uint64_t at = w->start + done, left = w->len - done;
		const uint32_t i = bf_gpu_block_above(gpu, at);
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
		done += rc ? 0 : n;
	}
	if (rc && done)
		bf_ioas_unmap(w->as, w->iova, done);
	gpu->nstray += w->stray;
	return rc;
}

void bf_gpu_rewire(struct bf_gpu *gpu, const struct bf_gpu_extent *extents, uint32_t n)
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

/* The exporter. */
static int export_pin(struct bf_dmabuf *buf)
{
	bf_gpu_bo_pin(buf->owner);
	return 0;
}

static void export_unpin(struct bf_dmabuf *buf)
{
	bf_gpu_bo_unpin(buf->owner);
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
					bo->region->name, a->importer->name)
			      : bf_gpu_bo_move(bo, BF_GPU_IN_GTT);
	if (!rc)
		rc = list_addresses(bo, ranges, count);
	if (!rc && pal_pins(a))
		bf_gpu_bo_pin(bo);
	return rc;
}

static void export_unmap(struct bf_dmabuf_attach *a)
{
	if (pal_pins(a))
		bf_gpu_bo_unpin(a->buf->owner);
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
	*w = (struct bf_gpu_window){ .next = gpu->windows,
				     .meant = bo,
				     .as = as,
				     .iova = iova,
				     .start = addr - gpu->aperture->va,
				     .len = len,
				     .perm = perm };
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
	*s = (struct bf_gpu_stray){
		.time_ps = gpu->sim->now_ps, .iova = r->iova, .paddr = r->paddr, .len = r->len, .by = r->by, .count = 1
	};
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
		strncpy(r.meant, w->meant->region->name, sizeof(r.meant) - 1);
		if (owned)
			strncpy(r.owner, bo->region->name, sizeof(r.owner) - 1);
		note_stray(gpu, w, bo, &r);
		if (bf_probe(gpu->sim, BF_CLASS_FAULT))
			BF_EMIT_MADE(gpu->sim, gpu->actor, gpu_stray_write, r, NULL, 0);
		return;
	}
}
