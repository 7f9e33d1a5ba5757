/*
 * The packets that a user queue takes, as dwords.
 *
 * A body is a run of packets in an array of the caller's. As with snprintf(), `n` counts what is needed even where the
 * array ends before: a body without an array measures. Layouts: models/sdma/prm.h.
 */
#ifndef BELFRY_DRIVERS_SDMA_BUILD_H
#define BELFRY_DRIVERS_SDMA_BUILD_H

#include "drivers/sdma/rect.h"
#include "drivers/sdma/sdma.h"

struct bf_sdma_drv_body {
	const struct bf_sdma_drv_caps *caps;
	uint64_t bugs; /* BF_SDMA_BUG_* */
	uint32_t *dw;
	uint32_t n, cap; /* dwords */
};

BF_FN void bf_sdma_drv_body_begin(struct bf_sdma_drv_body *b, const struct bf_sdma_drv_caps *caps, uint64_t bugs,
				  uint32_t *dw, uint32_t cap)
{
	b->caps = caps;
	b->bugs = bugs;
	b->dw = dw;
	b->n = 0;
	b->cap = cap;
}

BF_FN void bf_sdma_drv_body_add(struct bf_sdma_drv_body *b, const uint32_t *dw, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		if (b->n + i < b->cap)
			b->dw[b->n + i] = dw[i];
	b->n += n;
}

BF_FN uint32_t bf_sdma_drv_header(enum bf_sdma_op op, uint32_t sub_op)
{
	return (uint32_t)(BF_FIELD_PREP(BF_SDMA_HDR_OP, op) | BF_FIELD_PREP(BF_SDMA_HDR_SUB_OP, sub_op));
}

/* One NOP that skips `payload` dwords of zeros behind it. */
BF_FN void bf_sdma_drv_add_nop(struct bf_sdma_drv_body *b, uint32_t payload)
{
	const uint32_t zero = 0, more = b->bugs & BF_SDMA_DRV_BUG_NOP_COUNT ? 1 : 0,
		       header = bf_sdma_drv_header(BF_SDMA_OP_NOP, 0) |
				(uint32_t)BF_FIELD_PREP(BF_SDMA_NOP_COUNT, payload + more);

	bf_sdma_drv_body_add(b, &header, 1);
	for (uint32_t i = 0; i < payload; i++)
		bf_sdma_drv_body_add(b, &zero, 1);
}

/* A copy of 1 to caps->copy_max bytes. */
BF_FN void bf_sdma_drv_add_copy(struct bf_sdma_drv_body *b, uint64_t dst, uint64_t src, uint32_t bytes)
{
	const uint32_t count = b->bugs & BF_SDMA_DRV_BUG_COPY_COUNT ? bytes : bytes - 1;
	const uint32_t dw[BF_SDMA_COPY_LINEAR_DWORDS] = {
		bf_sdma_drv_header(BF_SDMA_OP_COPY, BF_SDMA_COPY_LINEAR) |
		    (b->bugs & BF_SDMA_DRV_BUG_CPV_SHORT ? (uint32_t)BF_SDMA_COPY_CPV : 0),
		count,
		0,
		(uint32_t)src,
		(uint32_t)(src >> 32),
		(uint32_t)dst,
		b->bugs & BF_SDMA_DRV_BUG_SHORT_ADDRESS ? 0 : (uint32_t)(dst >> 32),
	};

	bf_sdma_drv_body_add(b, dw, BF_SDMA_COPY_LINEAR_DWORDS);
}

BF_FN void bf_sdma_drv_add_broadcast(struct bf_sdma_drv_body *b, uint64_t dst1, uint64_t dst2, uint64_t src,
				     uint32_t bytes)
{
	const uint32_t dw[BF_SDMA_COPY_BROADCAST_DWORDS] = {
		bf_sdma_drv_header(BF_SDMA_OP_COPY, BF_SDMA_COPY_LINEAR) |
		    (b->bugs & BF_SDMA_DRV_BUG_CAST_BIT ? 1u << 28 : (uint32_t)BF_SDMA_COPY_BROADCAST),
		bytes - 1,
		0,
		(uint32_t)src,
		(uint32_t)(src >> 32),
		(uint32_t)dst1,
		(uint32_t)(dst1 >> 32),
		(uint32_t)dst2,
		(uint32_t)(dst2 >> 32),
	};

	bf_sdma_drv_body_add(b, dw, BF_SDMA_COPY_BROADCAST_DWORDS);
}

/* One tile of a rectangle, its fields as they stand. */
BF_FN void bf_sdma_drv_add_tile(struct bf_sdma_drv_body *b, const struct bf_sdma_drv_tile *tile)
{
	const uint32_t more = b->bugs & BF_SDMA_DRV_BUG_RECT_PITCH ? 1 : 0;
	const uint32_t x = b->bugs & BF_SDMA_DRV_BUG_RECT_BYTES ? ((tile->x + 1) << tile->element) - 1 : tile->x;
	const uint64_t sp = tile->src_pitch + more, dp = tile->dst_pitch + more;
	const int wide = !b->caps->wide_rect == !!(b->bugs & BF_SDMA_DRV_BUG_RECT_LAYOUT);
	uint64_t dw[BF_SDMA_RECT_DWORDS] = {
		bf_sdma_drv_header(BF_SDMA_OP_COPY, BF_SDMA_COPY_RECT) |
		    BF_FIELD_PREP(BF_SDMA_RECT_ELEMENT, tile->element),
		tile->sbase,
		tile->sbase >> 32,
		0,
		0,
		0,
		tile->dbase,
		tile->dbase >> 32,
	};
	uint32_t out[BF_SDMA_RECT_DWORDS];

	if (wide) {
		dw[3] =
		    BF_FIELD_PREP(BF_SDMA_RECT_WIDE_X, tile->soff) | BF_FIELD_PREP(BF_SDMA_RECT_WIDE_Y, tile->src_y);
		dw[4] = BF_FIELD_PREP(BF_SDMA_RECT_WIDE_PITCH, sp) | BF_FIELD_PREP(BF_SDMA_RECT_WIDE_Z, tile->src_z);
		dw[5] = BF_FIELD_PREP(BF_SDMA_RECT_WIDE_SLICE, tile->src_slice);
		dw[8] =
		    BF_FIELD_PREP(BF_SDMA_RECT_WIDE_X, tile->doff) | BF_FIELD_PREP(BF_SDMA_RECT_WIDE_Y, tile->dst_y);
		dw[9] = BF_FIELD_PREP(BF_SDMA_RECT_WIDE_PITCH, dp) | BF_FIELD_PREP(BF_SDMA_RECT_WIDE_Z, tile->dst_z);
		dw[10] = BF_FIELD_PREP(BF_SDMA_RECT_WIDE_SLICE, tile->dst_slice);
		dw[11] = BF_FIELD_PREP(BF_SDMA_RECT_WIDE_X, x) | BF_FIELD_PREP(BF_SDMA_RECT_WIDE_Y, tile->y);
		dw[12] = BF_FIELD_PREP(BF_SDMA_RECT_WIDE_Z, tile->z);
	} else {
		dw[3] = BF_FIELD_PREP(BF_SDMA_RECT_X, tile->soff) | BF_FIELD_PREP(BF_SDMA_RECT_Y, tile->src_y);
		dw[4] = BF_FIELD_PREP(BF_SDMA_RECT_PITCH, sp) | BF_FIELD_PREP(BF_SDMA_RECT_Z_V4, tile->src_z);
		dw[5] = BF_FIELD_PREP(BF_SDMA_RECT_SLICE, tile->src_slice);
		dw[8] = BF_FIELD_PREP(BF_SDMA_RECT_X, tile->doff) | BF_FIELD_PREP(BF_SDMA_RECT_Y, tile->dst_y);
		dw[9] = BF_FIELD_PREP(BF_SDMA_RECT_PITCH, dp) | BF_FIELD_PREP(BF_SDMA_RECT_Z_V4, tile->dst_z);
		dw[10] = BF_FIELD_PREP(BF_SDMA_RECT_SLICE, tile->dst_slice);
		dw[11] = BF_FIELD_PREP(BF_SDMA_RECT_X, x) | BF_FIELD_PREP(BF_SDMA_RECT_Y, tile->y);
		dw[12] = BF_FIELD_PREP(BF_SDMA_RECT_Z_V4, tile->z);
	}
	if (b->bugs & BF_SDMA_DRV_BUG_RECT_LIMIT) /* shifted, not masked */
		dw[11] = x | (uint64_t)tile->y << 16;
	if (b->bugs & BF_SDMA_DRV_BUG_RECT_BASE && !wide) {
		dw[1] += (uint64_t)tile->soff << tile->element;
		dw[3] -= tile->soff;
	}
	for (uint32_t i = 0; i < BF_SDMA_RECT_DWORDS; i++)
		out[i] = (uint32_t)dw[i];
	bf_sdma_drv_body_add(b, out, BF_SDMA_RECT_DWORDS);
}

/* `n` dwords of data, 1 to 2^20. */
BF_FN void bf_sdma_drv_add_write(struct bf_sdma_drv_body *b, uint64_t dst, const uint32_t *data, uint32_t n)
{
	const uint32_t dw[BF_SDMA_WRITE_DWORDS] = {
		bf_sdma_drv_header(BF_SDMA_OP_WRITE, BF_SDMA_WRITE_LINEAR),
		(uint32_t)dst,
		(uint32_t)(dst >> 32),
		b->bugs & BF_SDMA_DRV_BUG_WRITE_COUNT ? n : n - 1,
	};

	bf_sdma_drv_body_add(b, dw, BF_SDMA_WRITE_DWORDS);
	bf_sdma_drv_body_add(b, data, n);
}

/* ROCr's count: (dwords - 1) * 4, of which the engine ignores the low two bits. */
BF_FN void bf_sdma_drv_add_fill(struct bf_sdma_drv_body *b, uint64_t dst, uint32_t value, uint32_t dwords)
{
	const uint32_t dw[BF_SDMA_FILL_DWORDS] = {
		bf_sdma_drv_header(BF_SDMA_OP_CONST_FILL, 0) |
		    (uint32_t)BF_FIELD_PREP(BF_SDMA_FILL_SIZE, BF_SDMA_FILL_WORDS),
		(uint32_t)dst,
		(uint32_t)(dst >> 32),
		value,
		b->bugs & BF_SDMA_DRV_BUG_FILL_COUNT  ? dwords - 1
		: b->bugs & BF_SDMA_DRV_BUG_FILL_OVER ? dwords * 4
						      : (dwords - 1) * 4,
	};

	bf_sdma_drv_body_add(b, dw, BF_SDMA_FILL_DWORDS);
}

BF_FN void bf_sdma_drv_add_fence(struct bf_sdma_drv_body *b, uint64_t va, uint32_t value)
{
	const uint32_t dw[BF_SDMA_FENCE_DWORDS] = {
		bf_sdma_drv_header(BF_SDMA_OP_FENCE, BF_SDMA_FENCE_32) |
		    (uint32_t)BF_FIELD_PREP(BF_SDMA_FENCE_MTYPE,
					    b->caps->uncached || b->bugs & BF_SDMA_DRV_BUG_FENCE_MTYPE ? 3 : 0),
		(uint32_t)va,
		(uint32_t)(va >> 32),
		value,
	};

	bf_sdma_drv_body_add(b, dw, BF_SDMA_FENCE_DWORDS);
}

/* Waits for ever until the 32-bit word at `va` is `value`: ROCr's interval of 4, all bits compared. */
BF_FN void bf_sdma_drv_add_poll(struct bf_sdma_drv_body *b, uint64_t va, uint32_t value)
{
	const uint32_t retries = b->bugs & BF_SDMA_DRV_BUG_POLL_RETRIES ? 10 : BF_SDMA_POLL_FOREVER;
	const uint32_t dw[BF_SDMA_POLL_DWORDS] = {
		bf_sdma_drv_header(BF_SDMA_OP_POLL_REGMEM, BF_SDMA_POLL_REGMEM) |
		    (b->bugs & BF_SDMA_DRV_BUG_POLL_REGISTER ? 0 : (uint32_t)BF_SDMA_POLL_MEM) |
		    (uint32_t)BF_FIELD_PREP(BF_SDMA_POLL_FUNC, BF_SDMA_EQ),
		(uint32_t)va,
		(uint32_t)(va >> 32),
		b->bugs & BF_SDMA_DRV_BUG_POLL_VALUE ? value + 1 : value,
		b->bugs & BF_SDMA_DRV_BUG_POLL_MASK ? 0 : 0xffffffffu,
		(uint32_t)(BF_FIELD_PREP(BF_SDMA_POLL_RETRIES, retries) | BF_FIELD_PREP(BF_SDMA_POLL_INTERVAL, 4)),
	};

	for (uint32_t i = 0; i < (b->bugs & BF_SDMA_DRV_BUG_POLL_ONCE ? 1u : b->caps->polls); i++)
		bf_sdma_drv_body_add(b, dw, BF_SDMA_POLL_DWORDS);
}

/* A 64-bit addition with return, as signals are decremented. */
BF_FN void bf_sdma_drv_add_atomic_add(struct bf_sdma_drv_body *b, uint64_t va, uint64_t value)
{
	const uint32_t dw[BF_SDMA_ATOMIC_DWORDS] = {
		bf_sdma_drv_header(BF_SDMA_OP_ATOMIC, 0) |
		    (uint32_t)BF_FIELD_PREP(BF_SDMA_ATOMIC_OPERATION,
					    b->bugs & BF_SDMA_DRV_BUG_ATOMIC_OP ? 1 : BF_SDMA_ATOMIC_ADD64),
		(uint32_t)va,
		(uint32_t)(va >> 32),
		(uint32_t)value,
		(uint32_t)(value >> 32),
	};

	bf_sdma_drv_body_add(b, dw, BF_SDMA_ATOMIC_DWORDS);
}

/* Stores the global clock, 64 bits, at `va` (32-byte aligned, as ROCr and KFDTest do). */
BF_FN void bf_sdma_drv_add_timestamp(struct bf_sdma_drv_body *b, uint64_t va)
{
	const uint32_t dw[BF_SDMA_TIMESTAMP_DWORDS] = {
		bf_sdma_drv_header(BF_SDMA_OP_TIMESTAMP, BF_SDMA_TIMESTAMP_GET_GLOBAL),
		(uint32_t)va,
		(uint32_t)(va >> 32),
	};

	bf_sdma_drv_body_add(b, dw, BF_SDMA_TIMESTAMP_DWORDS);
}

BF_FN void bf_sdma_drv_add_trap(struct bf_sdma_drv_body *b, uint32_t event)
{
	const uint32_t dw[BF_SDMA_TRAP_DWORDS] = {
		bf_sdma_drv_header(BF_SDMA_OP_TRAP, 0),
		(uint32_t)BF_FIELD_PREP(BF_SDMA_TRAP_CONTEXT, event),
	};

	bf_sdma_drv_body_add(b, dw, BF_SDMA_TRAP_DWORDS);
}

/* Caches, the whole address space; `dw2` is BF_SDMA_GCR_DW2_*. */
BF_FN void bf_sdma_drv_add_gcr(struct bf_sdma_drv_body *b, uint32_t dw2)
{
	const uint32_t header = bf_sdma_drv_header(BF_SDMA_OP_GCR_REQ, BF_SDMA_GCR_USER);
	const uint32_t dw[BF_SDMA_GCR_DWORDS] = { header, 0, dw2 };
	const uint32_t wide[BF_SDMA_GCR_DWORDS_V7_1] = { header, 0, 0, dw2 >> 16 };

	if (b->caps->gen == BF_SDMA_V7_1)
		bf_sdma_drv_body_add(b, wide, BF_SDMA_GCR_DWORDS_V7_1);
	else
		bf_sdma_drv_body_add(b, dw, BF_SDMA_GCR_DWORDS);
}

/* A poll of an impossible address, which microcode takes for a flush of the host data path. */
BF_FN void bf_sdma_drv_add_hdp_flush(struct bf_sdma_drv_body *b)
{
	const uint32_t dw[BF_SDMA_POLL_DWORDS] = { bf_sdma_drv_header(BF_SDMA_OP_POLL_REGMEM, 0), 0,
						   BF_SDMA_HDP_FLUSH_DW2 };

	bf_sdma_drv_body_add(b, dw, BF_SDMA_POLL_DWORDS);
}

#endif
