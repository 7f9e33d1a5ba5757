/*
 * Copies of any size, from packets that hold only so much.
 */
#ifndef BELFRY_DRIVERS_SDMA_COPY_H
#define BELFRY_DRIVERS_SDMA_COPY_H

#include "drivers/sdma/build.h"

BF_FN uint32_t bf_sdma_drv_piece(uint64_t left, uint32_t most)
{
	return left < most ? (uint32_t)left : most;
}

/* Bytes of the longest copy, or fill. */
BF_FN uint32_t bf_sdma_drv_most(const struct bf_sdma_drv_body *b, uint32_t most)
{
	return b->bugs & BF_SDMA_DRV_BUG_COUNT_LIMIT ? 0x3ffffffc : most;
}

/* Cuts at caps->copy_max, whatever that does to alignment, as ROCr does. */
BF_FN void bf_sdma_drv_copy(struct bf_sdma_drv_body *b, uint64_t dst, uint64_t src, uint64_t bytes)
{
	if (b->bugs & BF_SDMA_DRV_BUG_COPY_TAIL)
		bytes &= ~63ull;
	for (uint64_t at = 0; at < bytes;) {
		const uint32_t n = bf_sdma_drv_piece(bytes - at, bf_sdma_drv_most(b, b->caps->copy_max));

		bf_sdma_drv_add_copy(b, dst + at, src + at, n);
		at += n;
	}
}

BF_FN void bf_sdma_drv_broadcast(struct bf_sdma_drv_body *b, uint64_t dst1, uint64_t dst2, uint64_t src, uint64_t bytes)
{
	for (uint64_t at = 0; at < bytes;) {
		const uint32_t n = bf_sdma_drv_piece(bytes - at, b->caps->copy_max);

		bf_sdma_drv_add_broadcast(b, dst1 + at, dst2 + at, src + at, n);
		at += n;
	}
}

BF_FN void bf_sdma_drv_fill(struct bf_sdma_drv_body *b, uint64_t dst, uint32_t value, uint64_t dwords)
{
	for (uint64_t at = 0; at < dwords;) {
		const uint32_t n = bf_sdma_drv_piece(dwords - at, bf_sdma_drv_most(b, b->caps->fill_max) / 4);

		bf_sdma_drv_add_fill(b, dst + at * 4, value, n);
		at += n;
	}
}

/*
 * What comes behind sees the copies before as done: the engine may run copies that follow one another at the same time,
 * and takes a NOP for a fence (Mesa src/amd/common/ac_cmdbuf_sdma.c).
 */
BF_FN void bf_sdma_drv_order(struct bf_sdma_drv_body *b)
{
	if (!(b->bugs & BF_SDMA_DRV_BUG_NO_COPY_ORDER))
		bf_sdma_drv_add_nop(b, 0);
}

/* Tiles of `r` as it stands: BuildCopyRectCommand. After an error the body is as before. */
BF_FN enum bf_sdma_drv_rect_error bf_sdma_drv_rect_tiles(struct bf_sdma_drv_body *b, const struct bf_sdma_drv_rect *r)
{
	struct bf_sdma_drv_caps caps = *b->caps;
	struct bf_sdma_drv_tiles it;
	struct bf_sdma_drv_tile tile;
	enum bf_sdma_drv_rect_error e;

	if (b->bugs & BF_SDMA_DRV_BUG_RECT_LIMIT)
		caps.xy_bits = 16;
	e = bf_sdma_drv_tiles_begin(&it, r, &caps);
	if (e != BF_SDMA_DRV_RECT_OK)
		return e;
	while (bf_sdma_drv_tiles_next(&it, &tile))
		bf_sdma_drv_add_tile(b, &tile);
	return BF_SDMA_DRV_RECT_OK;
}

/* The checks, the X-Z form where it is needed, the tiles: SubmitCopyRectCommand. */
BF_FN enum bf_sdma_drv_rect_error bf_sdma_drv_rect_copy(struct bf_sdma_drv_body *b, const struct bf_sdma_drv_rect *r)
{
	struct bf_sdma_drv_rect rect = *r;
	const enum bf_sdma_drv_rect_error e = bf_sdma_drv_rect_check(r);

	if (e != BF_SDMA_DRV_RECT_OK)
		return e;
	bf_sdma_drv_rect_xz(&rect, b->caps);
	return bf_sdma_drv_rect_tiles(b, &rect);
}

#endif
