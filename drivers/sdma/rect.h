/*
 * A rectangle of rows and slices, cut into tiles that a sub-window packet can describe.
 *
 * A packet counts pitch, slice and width in elements of 1 to 16 bytes; larger elements are faster and reach further.
 * The rule is ROCr's to the bit, truncations included: ROCR-Runtime amd_blit_sdma.cpp, SubmitCopyRectCommand (checks,
 * X-Z form) and BuildCopyRectCommand (tiles).
 */
#ifndef BELFRY_DRIVERS_SDMA_RECT_H
#define BELFRY_DRIVERS_SDMA_RECT_H

#include "drivers/sdma/sdma.h"

/* hsa_pitched_ptr_t and hsa_dim3_t. Pitch, slice and x in bytes, y in rows, z in slices. */
struct bf_sdma_drv_pitched {
	uint64_t base, pitch, slice;
};
struct bf_sdma_drv_dim3 {
	uint32_t x, y, z;
};

struct bf_sdma_drv_rect {
	struct bf_sdma_drv_pitched src, dst;
	struct bf_sdma_drv_dim3 src_off, dst_off, range;
};

enum bf_sdma_drv_rect_error {
	BF_SDMA_DRV_RECT_OK,
	BF_SDMA_DRV_RECT_BASE_ALIGN,
	BF_SDMA_DRV_RECT_PITCH_ALIGN,
	BF_SDMA_DRV_RECT_SLICE_ALIGN,
	BF_SDMA_DRV_RECT_WIDTH_RANGE,
	BF_SDMA_DRV_RECT_HEIGHT_RANGE,
	BF_SDMA_DRV_RECT_SLICE_NEEDED,
	BF_SDMA_DRV_RECT_PITCH_LIMIT,
	BF_SDMA_DRV_RECT_SLICE_LIMIT,
	BF_SDMA_DRV_RECT_ERRORS
};
/* "base_align" and so on; "ok". */
const char *bf_sdma_drv_rect_error_name(enum bf_sdma_drv_rect_error e);

/* One packet: raw field values as encoded, minus one and truncated already. */
struct bf_sdma_drv_tile {
	uint64_t sbase, dbase; /* dword aligned */
	uint32_t element;      /* log2 of bytes */
	uint32_t soff, doff;   /* x offsets, elements */
	/* Offsets in rows and slices; cutting folds them into the bases and leaves these 0. */
	uint32_t src_y, src_z, dst_y, dst_z;
	uint32_t src_pitch, src_slice, dst_pitch, dst_slice;
	uint32_t x, y, z;
};

/* log2 of the largest element that divides `v`; 0 is divided by all. */
BF_FN uint32_t bf_sdma_drv_rect_align(uint64_t v)
{
	uint32_t e = 0;

	while (e < 4 && !(v >> e & 1))
		e++;
	return e;
}

BF_FN uint32_t bf_sdma_drv_rect_min(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

BF_FN int bf_sdma_drv_rect_too_high(const struct bf_sdma_drv_pitched *p, const struct bf_sdma_drv_dim3 *off,
				    uint32_t rows)
{
	return p->slice && (!p->pitch || (uint64_t)off->y + rows > p->slice / p->pitch);
}

/* The checks before anything else. Overlap and the range along z are not among them. */
BF_FN enum bf_sdma_drv_rect_error bf_sdma_drv_rect_check(const struct bf_sdma_drv_rect *r)
{
	const struct bf_sdma_drv_pitched *s = &r->src, *d = &r->dst;

	if (s->base % 4 || d->base % 4)
		return BF_SDMA_DRV_RECT_BASE_ALIGN;
	if (s->pitch % 4 || d->pitch % 4)
		return BF_SDMA_DRV_RECT_PITCH_ALIGN;
	if (s->slice % 4 || d->slice % 4)
		return BF_SDMA_DRV_RECT_SLICE_ALIGN;
	if ((uint64_t)r->src_off.x + r->range.x > s->pitch || (uint64_t)r->dst_off.x + r->range.x > d->pitch)
		return BF_SDMA_DRV_RECT_WIDTH_RANGE;
	if (bf_sdma_drv_rect_too_high(s, &r->src_off, r->range.y) ||
	    bf_sdma_drv_rect_too_high(d, &r->dst_off, r->range.y))
		return BF_SDMA_DRV_RECT_HEIGHT_RANGE;
	if (r->range.z > 1 && (!s->slice || !d->slice))
		return BF_SDMA_DRV_RECT_SLICE_NEEDED;
	return BF_SDMA_DRV_RECT_OK;
}

BF_FN void bf_sdma_drv_rect_side_xz(struct bf_sdma_drv_pitched *p, struct bf_sdma_drv_dim3 *off)
{
	p->base += off->y * p->pitch + off->z * p->slice;
	p->slice = p->pitch;
	p->pitch = 0;
	off->y = off->z = 0;
}

/*
 * Rows too far apart for a pitch are copied as slices of one row each. The test is on bytes: a large element might have
 * made the pitch fit.
 */
BF_FN void bf_sdma_drv_rect_xz(struct bf_sdma_drv_rect *r, const struct bf_sdma_drv_caps *caps)
{
	const uint64_t most = 1ull << caps->pitch_bits;

	if (r->range.z != 1 || (r->src.pitch <= most && r->dst.pitch <= most))
		return;
	bf_sdma_drv_rect_side_xz(&r->src, &r->src_off);
	bf_sdma_drv_rect_side_xz(&r->dst, &r->dst_off);
	r->range.z = r->range.y;
	r->range.y = 1;
}

/* Where the cutting stands: the next tile starts at (x, y, z) of the range. */
struct bf_sdma_drv_tiles {
	const struct bf_sdma_drv_rect *rect;
	const struct bf_sdma_drv_caps *caps;
	uint32_t cap; /* largest element in which pitches and slices are whole */
	uint32_t x;
	uint64_t y, z;
};

/* Starts cutting. The limits are tested with the smallest element that any tile may need, over the whole width. */
BF_FN enum bf_sdma_drv_rect_error bf_sdma_drv_tiles_begin(struct bf_sdma_drv_tiles *it,
							  const struct bf_sdma_drv_rect *r,
							  const struct bf_sdma_drv_caps *caps)
{
	uint32_t cap = bf_sdma_drv_rect_min(bf_sdma_drv_rect_align(r->src.pitch), bf_sdma_drv_rect_align(r->dst.pitch)),
		 worst;

	if (r->range.z != 1)
		cap = bf_sdma_drv_rect_min(cap, bf_sdma_drv_rect_min(bf_sdma_drv_rect_align(r->src.slice),
								     bf_sdma_drv_rect_align(r->dst.slice)));
	worst = bf_sdma_drv_rect_min(cap, bf_sdma_drv_rect_align(r->range.x));
	worst = bf_sdma_drv_rect_min(worst, bf_sdma_drv_rect_align(r->src_off.x % 4));
	worst = bf_sdma_drv_rect_min(worst, bf_sdma_drv_rect_align(r->dst_off.x % 4));
	it->rect = r;
	it->caps = caps;
	it->cap = cap;
	it->x = 0;
	it->y = it->z = 0;
	if (r->src.pitch >> worst > 1ull << caps->pitch_bits || r->dst.pitch >> worst > 1ull << caps->pitch_bits)
		return BF_SDMA_DRV_RECT_PITCH_LIMIT;
	if (r->range.z != 1 &&
	    (r->src.slice >> worst > 1ull << caps->slice_bits || r->dst.slice >> worst > 1ull << caps->slice_bits))
		return BF_SDMA_DRV_RECT_SLICE_LIMIT;
	return BF_SDMA_DRV_RECT_OK;
}

/* Low `bits` bits of `v` units of 2^element bytes, less one. */
BF_FN uint32_t bf_sdma_drv_tile_less_one(uint64_t v, uint32_t element, uint32_t bits)
{
	return (uint32_t)(((v >> element) - 1) & ((1ull << bits) - 1));
}

BF_FN uint64_t bf_sdma_drv_tile_address(const struct bf_sdma_drv_pitched *p, const struct bf_sdma_drv_dim3 *off,
					const struct bf_sdma_drv_tiles *it)
{
	/* Rows and slices are added in 32 bits. */
	return p->base + off->x + it->x + (uint64_t)(uint32_t)(off->y + it->y) * p->pitch +
	       (uint64_t)(uint32_t)(off->z + it->z) * p->slice;
}

/* The next tile: x first, then y, then z. Returns 0 at the end. */
BF_FN int bf_sdma_drv_tiles_next(struct bf_sdma_drv_tiles *it, struct bf_sdma_drv_tile *out)
{
	const struct bf_sdma_drv_rect *r = it->rect;
	const struct bf_sdma_drv_caps *caps = it->caps;
	const uint32_t most_xy = 1u << caps->xy_bits, most_z = 1u << caps->z_bits;
	uint32_t left, start, element, count;
	uint64_t sbase, dbase;

	if (!r->range.x || it->y >= r->range.y || it->z >= r->range.z)
		return 0;
	left = r->range.x - it->x;
	start = bf_sdma_drv_rect_min(bf_sdma_drv_rect_align((r->src_off.x + it->x) % 4),
				     bf_sdma_drv_rect_align((r->dst_off.x + it->x) % 4));
	start = bf_sdma_drv_rect_min(start, it->cap);
	element = bf_sdma_drv_rect_min(bf_sdma_drv_rect_align(left), start);
	count = left >> element;
	if (count > most_xy) { /* it will be clipped anyway, so the rest need not fit this element */
		element = start;
		count = bf_sdma_drv_rect_min(left >> element, most_xy);
	}
	sbase = bf_sdma_drv_tile_address(&r->src, &r->src_off, it);
	dbase = bf_sdma_drv_tile_address(&r->dst, &r->dst_off, it);
	out->src_y = out->src_z = out->dst_y = out->dst_z = 0;
	out->element = element;
	out->sbase = sbase & ~3ull;
	out->dbase = dbase & ~3ull;
	out->soff = (uint32_t)(sbase % 4) >> element;
	out->doff = (uint32_t)(dbase % 4) >> element;
	out->src_pitch = bf_sdma_drv_tile_less_one(r->src.pitch, element, caps->pitch_bits);
	out->dst_pitch = bf_sdma_drv_tile_less_one(r->dst.pitch, element, caps->pitch_bits);
	out->src_slice = r->range.z == 1 ? 0 : bf_sdma_drv_tile_less_one(r->src.slice, element, caps->slice_bits);
	out->dst_slice = r->range.z == 1 ? 0 : bf_sdma_drv_tile_less_one(r->dst.slice, element, caps->slice_bits);
	out->x = count - 1;
	out->y = bf_sdma_drv_rect_min((uint32_t)(r->range.y - it->y), most_xy) - 1;
	out->z = bf_sdma_drv_rect_min((uint32_t)(r->range.z - it->z), most_z) - 1;
	it->x += count << element;
	if (it->x >= r->range.x) {
		it->x = 0;
		it->y += most_xy;
		if (it->y >= r->range.y) {
			it->y = 0;
			it->z += most_z;
		}
	}
	return 1;
}

#endif
