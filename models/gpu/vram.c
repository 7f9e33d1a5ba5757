/*
 * Video memory: buffers and the physical addresses under them.
 *
 * A buffer's region is its mapping in the GPU's page tables and never moves. Physical VRAM is a list of owned runs.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "models/gpu/gpu_internal.h"
#include "sim/grow.h"

static void record(const struct bf_gpu_bo *bo, enum bf_gpu_bo_event what)
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
	strncpy(r.name, bo->region->name, sizeof(r.name) - 1);
	BF_EMIT_MADE(gpu->sim, gpu->actor, gpu_bo, r, NULL, 0);
}

uint32_t bf_gpu_block_above(const struct bf_gpu *gpu, uint64_t at)
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
	const uint32_t at = bf_gpu_block_above(gpu, block->start);

	if (BF_GROW(gpu->blocks, gpu->blocks_cap, gpu->nblocks + 1))
		return -ENOMEM;
	memmove(&gpu->blocks[at + 1], &gpu->blocks[at], (gpu->nblocks - at) * sizeof(*block));
	gpu->blocks[at] = *block;
	gpu->nblocks++;
	return 0;
}

static void disown(struct bf_gpu *gpu, const struct bf_gpu_extent *extents, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		const uint32_t at = bf_gpu_block_above(gpu, extents[i].start);

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
	bf_gpu_rewire(gpu, extents, n);
	return 0;
}

/* Takes it away; what was there stays there. */
static void displace(struct bf_gpu *gpu, struct bf_gpu_extent *extents, uint32_t n, const uint8_t *bytes)
{
	uint64_t offset = 0;

	disown(gpu, extents, n);
	for (uint32_t i = 0; bytes && i < n; offset += extents[i++].len)
		memcpy(gpu->aperture->bytes + extents[i].start, bytes + offset, extents[i].len);
	bf_gpu_rewire(gpu, extents, n);
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
		rc = bo->held && bo->l2 ? place(bo)
					: bf_fail(&gpu->sim->error, -ENOMEM, "GPU '%s': no memory for %llu lines",
						  gpu->name, (unsigned long long)lines);
	}
	if (rc) {
		free_bo(bo);
		return rc;
	}
	bf_region_set_cache(bo->region, &gpu->cache);
	*gpu->bos_tail = bo;
	gpu->bos_tail = &bo->next;
	record(bo, BF_GPU_BO_ALLOC);
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
	record(bo, BF_GPU_BO_FREE);
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
	const uint32_t i = bf_gpu_block_above(gpu, at);

	return paddr >= gpu->aperture->va && i < gpu->nblocks && gpu->blocks[i].start <= at ? gpu->blocks[i].bo : NULL;
}

int bf_gpu_bo_move(struct bf_gpu_bo *bo, enum bf_gpu_place to)
{
	struct bf_gpu *gpu = bo->gpu;
	struct bf_gpu_extent *old = bo->extents;
	const uint32_t n = bo->nextents;
	int rc = 0;

	if (bo->pins) {
		record(bo, BF_GPU_BO_MOVE_REFUSED);
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
	record(bo, BF_GPU_BO_MOVE);
	return 0;
}

void bf_gpu_bo_pin(struct bf_gpu_bo *bo)
{
	bo->pins++;
	record(bo, BF_GPU_BO_PIN);
}

void bf_gpu_bo_unpin(struct bf_gpu_bo *bo)
{
	bo->pins--;
	record(bo, BF_GPU_BO_UNPIN);
}
