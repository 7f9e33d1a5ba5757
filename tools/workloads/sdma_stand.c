#include "tools/workloads/sdma_stand.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define RING_BYTES (1u << 20)

/* More than this is compared packet by packet and not run. */
#define SURFACE_MAX (1ull << 37) /* address space */
#define MOVED_MAX (320ull << 20)

struct stand {
	struct bf_sim *sim;
	struct bf_space space;
	struct bf_ioas ioas;
	struct bf_sdma *engine;
	struct bf_sdma_queue *queue;
	struct bf_region *ring, *pointers, *src, *dst;
	uint8_t *src_bytes, *dst_bytes, *should; /* sparse; `should` is what the destination must be */
	uint64_t src_size, dst_size;
	bool has_space, has_ioas;
};

/* ---- surfaces ---- */

/* Bytes from the base on that the request touches on one side. */
static uint64_t reach(const struct bf_sdma_drv_pitched *p, const struct bf_sdma_drv_dim3 *off,
		      const struct bf_sdma_drv_dim3 *range)
{
	return off->x + (uint64_t)range->x + (off->y + (uint64_t)range->y - 1) * p->pitch +
	       (off->z + (uint64_t)range->z - 1) * p->slice;
}

/* Every product fits 64 bits: pitches and slices of vectors may be anything. */
static bool side_fits(const struct bf_sdma_drv_pitched *p, const struct bf_sdma_drv_dim3 *off,
		      const struct bf_sdma_drv_dim3 *range)
{
	const bf_u128 end = off->x + (bf_u128)range->x + (bf_u128)(off->y + (uint64_t)range->y - 1) * p->pitch +
			    (bf_u128)(off->z + (uint64_t)range->z - 1) * p->slice;

	return end <= SURFACE_MAX && p->base <= UINT64_MAX - SURFACE_MAX - BF_PAGE;
}

static bool too_large(const struct bf_sdma_drv_rect *r)
{
	const uint64_t rows = (uint64_t)r->range.y * r->range.z;

	return rows > MOVED_MAX || rows * r->range.x > MOVED_MAX || !side_fits(&r->src, &r->src_off, &r->range) ||
	       !side_fits(&r->dst, &r->dst_off, &r->range);
}

/* Zeros that take memory page by page as they are written: no huge pages, no promise of memory for all of it. */
static uint8_t *reserve(uint64_t size)
{
	void *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (p == MAP_FAILED)
		return NULL;
	madvise(p, size, MADV_NOHUGEPAGE);
	return p;
}

static int add_region(struct stand *s, const char *name, uint64_t va, uint64_t bytes, void *memory,
		      struct bf_region **out)
{
	const struct bf_region_opts opts = { .name = name, .va = va, .size = bytes, .bytes = memory };
	int rc = bf_region_create(&s->space, &opts, out);

	return rc ? rc : bf_ioas_map_region(&s->ioas, *out, BF_IOMMU_READ | BF_IOMMU_WRITE);
}

static uint64_t page_of(const struct bf_sdma_drv_pitched *p)
{
	return p->base & ~(uint64_t)(BF_PAGE - 1);
}

/* A surface from the page of its first byte to that of its last. */
static uint64_t surface_size(const struct bf_sdma_drv_pitched *p, const struct bf_sdma_drv_dim3 *off,
			     const struct bf_sdma_drv_dim3 *range)
{
	return (p->base - page_of(p) + reach(p, off, range) + 4 + BF_PAGE - 1) & ~(uint64_t)(BF_PAGE - 1);
}

static int add_surfaces(struct stand *s, const struct bf_sdma_drv_rect *r)
{
	int rc;

	s->src_size = surface_size(&r->src, &r->src_off, &r->range);
	s->dst_size = surface_size(&r->dst, &r->dst_off, &r->range);
	s->src_bytes = reserve(s->src_size);
	s->dst_bytes = reserve(s->dst_size);
	s->should = reserve(s->dst_size);
	if (!s->src_bytes || !s->dst_bytes || !s->should)
		return -ENOMEM;
	rc = add_region(s, "source", page_of(&r->src), s->src_size, s->src_bytes, &s->src);
	return rc ? rc : add_region(s, "destination", page_of(&r->dst), s->dst_size, s->dst_bytes, &s->dst);
}

/* ---- the stand ---- */

static int open_stand(struct stand *s, const struct bf_sdma_drv_rect *r, const struct bf_sdma_profile *profile)
{
	struct bf_sdma_opts opts = { .name = "sdma0", .profile = profile };
	struct bf_sdma_queue_opts queue = { .bytes = RING_BYTES };
	int rc = bf_sim_create(1, &s->sim);

	if (!rc)
		rc = bf_space_init(&s->space, s->sim, "check", 0);
	s->has_space = !rc;
	if (!rc)
		rc = bf_ioas_init(&s->ioas, s->sim, "check", BF_PAGE);
	s->has_ioas = s->has_space && !rc;
	if (!rc)
		rc = add_surfaces(s, r);
	if (!rc)
		rc = add_region(s, "ring", 0, RING_BYTES, NULL, &s->ring);
	if (!rc)
		rc = add_region(s, "pointers", 0, BF_PAGE, NULL, &s->pointers);
	opts.space = &s->space;
	opts.ioas = &s->ioas;
	if (!rc)
		rc = bf_sdma_create(s->sim, &opts, &s->engine);
	if (rc)
		return rc;
	queue.ring = s->ring->va;
	queue.rptr = s->pointers->va;
	queue.wptr = s->pointers->va + 64;
	return bf_sdma_queue_create(s->engine, &queue, &s->queue);
}

static void close_stand(struct stand *s)
{
	if (s->engine)
		bf_sdma_destroy(s->engine);
	if (s->has_ioas)
		bf_ioas_fini(&s->ioas);
	if (s->has_space)
		bf_space_fini(&s->space);
	if (s->sim)
		bf_sim_destroy(s->sim);
	if (s->src_bytes)
		munmap(s->src_bytes, s->src_size);
	if (s->dst_bytes)
		munmap(s->dst_bytes, s->dst_size);
	if (s->should)
		munmap(s->should, s->dst_size);
}

/* ---- the request, row by row ---- */

/* Where a row begins, from the start of its surface. */
static uint64_t row_at(const struct bf_sdma_drv_pitched *p, const struct bf_sdma_drv_dim3 *off, uint64_t y, uint64_t z)
{
	return p->base - page_of(p) + off->x + (off->y + y) * p->pitch + (off->z + z) * p->slice;
}

/*
 * Bytes that are not zero and differ from their neighbours on every page that lies within a line of a row or of the row
 * behind it: an engine that reads too far brings something that shows.
 */
static void fill_source(struct stand *s, const struct bf_sdma_drv_rect *r)
{
	for (uint64_t z = 0; z < r->range.z; z++)
		for (uint64_t y = 0; y <= r->range.y; y++) {
			const uint64_t row = row_at(&r->src, &r->src_off, y, z);
			uint64_t page = (row - (row < 64 ? row : 64)) & ~(uint64_t)(BF_PAGE - 1);

			for (; page < row + r->range.x + 64 && page < s->src_size; page += BF_PAGE)
				for (uint64_t i = page; !s->src_bytes[page + BF_PAGE - 1] && i < page + BF_PAGE; i++)
					s->src_bytes[i] = (uint8_t)(i * 0x9e3779b97f4a7c15ull >> 56 | 1);
		}
}

static void plain_copy(struct stand *s, const struct bf_sdma_drv_rect *r)
{
	for (uint64_t z = 0; z < r->range.z; z++)
		for (uint64_t y = 0; y < r->range.y; y++)
			memcpy(s->should + row_at(&r->dst, &r->dst_off, y, z),
			       s->src_bytes + row_at(&r->src, &r->src_off, y, z), r->range.x);
}

static enum bf_stand_result compare_rows(const struct stand *s, const struct bf_sdma_drv_rect *r, char *wrong,
					 size_t cap)
{
	for (uint64_t z = 0; z < r->range.z; z++)
		for (uint64_t y = 0; y < r->range.y; y++) {
			uint64_t at = row_at(&r->dst, &r->dst_off, y, z);

			if (memcmp(s->dst_bytes + at, s->should + at, r->range.x) == 0)
				continue;
			while (s->dst_bytes[at] == s->should[at])
				at++;
			snprintf(wrong, cap,
				 "run on the model, the byte at 0x%" PRIx64 " is 0x%02x, a plain loop has 0x%02x",
				 s->dst->va + at, s->dst_bytes[at], s->should[at]);
			return BF_STAND_DIFFERS;
		}
	return BF_STAND_SAME;
}

/* What is left then was written outside of the request. */
static void clear_rows(struct stand *s, const struct bf_sdma_drv_rect *r)
{
	for (uint64_t z = 0; z < r->range.z; z++)
		for (uint64_t y = 0; y < r->range.y; y++)
			memset(s->dst_bytes + row_at(&r->dst, &r->dst_off, y, z), 0, r->range.x);
}

/* Pages that nobody wrote take no memory and need no look. */
static enum bf_stand_result compare_rest(const struct stand *s, char *wrong, size_t cap)
{
	static const uint8_t zeros[BF_PAGE];
	unsigned char here[4096];

	for (uint64_t at = 0; at < s->dst_size; at += sizeof(here) * BF_PAGE) {
		const uint64_t left = (s->dst_size - at) / BF_PAGE, n = left < sizeof(here) ? left : sizeof(here);

		if (mincore(s->dst_bytes + at, n * BF_PAGE, here))
			memset(here, 1, sizeof(here));
		for (uint64_t i = 0; i < n; i++) {
			const uint8_t *page = s->dst_bytes + at + i * BF_PAGE;
			uint64_t k = 0;

			if (!(here[i] & 1) || memcmp(page, zeros, BF_PAGE) == 0)
				continue;
			while (!page[k])
				k++;
			snprintf(wrong, cap,
				 "run on the model, the byte at 0x%" PRIx64
				 ", which the request does not touch, is 0x%02x",
				 s->dst->va + at + i * BF_PAGE + k, page[k]);
			return BF_STAND_DIFFERS;
		}
	}
	return BF_STAND_SAME;
}

static enum bf_stand_result run_on(struct stand *s, const struct bf_sdma_drv_rect *r, const uint32_t *dw, uint32_t n,
				   char *wrong, size_t cap)
{
	struct bf_sdma_queue_info info;
	enum bf_stand_result result;
	struct bf_region *bell;
	uint64_t offset;
	uint8_t index[8];

	fill_source(s, r);
	plain_copy(s, r);
	for (uint32_t i = 0; i < n; i++)
		bf_put_le32(s->ring->bytes + i * 4ull, dw[i]);
	bf_put_le64(index, n * 4ull);
	bell = bf_sdma_doorbell(s->queue, &offset);
	bf_mmio_post(bell, offset, index, 8);
	bf_sim_run(s->sim, BF_NEVER);
	bf_sdma_queue_info(s->queue, &info);
	if (info.fault.reason || info.retired != n * 4ull) {
		snprintf(wrong, cap, "the model stopped at byte %" PRIu64 " of the packets, reason %u, dword %" PRIu32,
			 info.fault.index, (unsigned)info.fault.reason, info.fault.dword);
		return BF_STAND_DIFFERS;
	}
	result = compare_rows(s, r, wrong, cap);
	if (result != BF_STAND_SAME)
		return result;
	clear_rows(s, r);
	return compare_rest(s, wrong, cap);
}

int bf_sdma_work_stand_run(const struct bf_sdma_drv_rect *r, const struct bf_sdma_profile *profile, const uint32_t *dw,
			   uint32_t n, enum bf_stand_result *result, char *wrong, size_t cap)
{
	struct stand s = { 0 };
	int rc;

	*result = BF_STAND_TOO_LARGE;
	if (too_large(r) || n * 4ull >= RING_BYTES)
		return 0;
	rc = open_stand(&s, r, profile);
	if (!rc)
		*result = run_on(&s, r, dw, n, wrong, cap);
	else if (rc == -EEXIST || rc == -EINVAL)
		rc = 0; /* the surfaces lie where a machine of ours has no room for them */
	close_stand(&s);
	return rc;
}
