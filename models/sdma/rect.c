/* The geometry of copies: where rows begin, whether they stay in their surface, whether two boxes meet. */
#include "models/sdma/engine_internal.h"

void bf_sdma_box_of(const struct bf_sdma_packet *p, struct bf_sdma_box *box)
{
	const uint64_t e = p->element;

	if (p->kind != BF_SDMA_KIND_RECT) {
		*box = (struct bf_sdma_box){ .src = p->src,
					     .dst = p->dst,
					     .dst2 = p->dst2,
					     .bytes = bf_sdma_packet_bytes(p),
					     .rows = 1,
					     .slices = 1 };
		return;
	}
	*box = (struct bf_sdma_box){
		.bytes = (p->x + 1) << e,
		.rows = p->y + 1,
		.slices = p->z + 1,
		.src_pitch = (p->src_pitch + 1) << e,
		.dst_pitch = (p->dst_pitch + 1) << e,
		.src_slice = (p->src_slice + 1) << e,
		.dst_slice = (p->dst_slice + 1) << e,
	};
	box->src = p->src + (p->src_x << e) + p->src_y * box->src_pitch + p->src_z * box->src_slice;
	box->dst = p->dst + (p->dst_x << e) + p->dst_y * box->dst_pitch + p->dst_z * box->dst_slice;
}

/*
 * With more than one row, a row must end before the next begins; with more than one slice, likewise for slices. A
 * single row says nothing of its pitch: ROCr's X-Z copies have one there that no row has.
 */
static bool side_leaves(uint64_t off_x, uint64_t off_y, uint64_t pitch, uint64_t slice, const struct bf_sdma_packet *p)
{
	bf_u128 last;

	if (p->y && off_x + p->x + 1 > pitch + 1)
		return true;
	last = (bf_u128)(off_y + p->y) * (p->y || off_y ? pitch + 1 : 0) + off_x + p->x + 1;
	return p->z && last > slice + 1;
}

bool bf_sdma_leaves_surface(const struct bf_sdma_packet *p, uint32_t *dword)
{
	const bool large = p->dwords == BF_SDMA_RECT_LARGE_DWORDS;

	if (p->kind != BF_SDMA_KIND_RECT)
		return false;
	if (side_leaves(p->src_x, p->src_y, p->src_pitch, p->src_slice, p)) {
		*dword = large ? 6 : 4;
		return true;
	}
	*dword = large ? 14 : 9;
	return side_leaves(p->dst_x, p->dst_y, p->dst_pitch, p->dst_slice, p);
}

static bf_u128 span_of(const struct bf_sdma_box *b, uint64_t pitch, uint64_t slice)
{
	return (bf_u128)(b->rows - 1) * pitch + (bf_u128)(b->slices - 1) * slice + b->bytes;
}

static bool in_order(const struct bf_sdma_box *b, uint64_t pitch, uint64_t slice)
{
	return b->slices == 1 || (bf_u128)(b->rows - 1) * pitch + b->bytes <= slice;
}

__extension__ typedef __int128 bf_i128;

/* Whether some row of both boxes meets when rows lie `d` + k * pitch apart, |k| < rows. */
static bool row_meets(const struct bf_sdma_box *b, bf_i128 d)
{
	const bf_i128 pitch = b->src_pitch, most = (bf_i128)b->rows - 1;

	for (bf_i128 k = -d / pitch - 1, last = k + 2; k <= last; k++) {
		const bf_i128 apart = d + k * pitch;

		if (k >= -most && k <= most && apart < (bf_i128)b->bytes && -apart < (bf_i128)b->bytes)
			return true;
	}
	return false;
}

/* Both boxes lie in surfaces of one shape: only slices and rows next to each other can meet. */
static bool same_shape_meets(const struct bf_sdma_box *b, uint64_t dst)
{
	const bf_i128 d = (bf_i128)dst - (bf_i128)b->src, most = (bf_i128)b->slices - 1;
	bf_i128 m = 0, last = 0;

	if (b->slices > 1) {
		m = -d / (bf_i128)b->src_slice - 1;
		last = m + 2;
	}
	for (; m <= last; m++)
		if (m >= -most && m <= most && row_meets(b, d + m * (bf_i128)b->src_slice))
			return true;
	return false;
}

/* A walk over the rows of one side, in order of address. */
struct walk {
	bf_u128 at;
	uint64_t row, slice;
};

static void walk_on(struct walk *w, const struct bf_sdma_box *b, uint64_t base, uint64_t pitch, uint64_t slice)
{
	if (++w->row == b->rows) {
		w->row = 0;
		w->slice++;
	}
	w->at = base + (bf_u128)w->row * pitch + (bf_u128)w->slice * slice;
}

/*
 * Two lists of intervals of one length, each in order: a sweep finds whether any two meet. After SWEEP_MAX rows it says
 * that they do, which nearly all boxes of that size whose spans meet do.
 */
#define SWEEP_MAX (1u << 20)
static bool rows_meet(const struct bf_sdma_box *b, uint64_t dst)
{
	struct walk s = { .at = b->src }, d = { .at = dst };

	for (uint32_t i = 0; i < SWEEP_MAX; i++) {
		if (s.slice == b->slices || d.slice == b->slices)
			return false;
		if (s.at + b->bytes <= d.at)
			walk_on(&s, b, b->src, b->src_pitch, b->src_slice);
		else if (d.at + b->bytes <= s.at)
			walk_on(&d, b, dst, b->dst_pitch, b->dst_slice);
		else
			return true;
	}
	return true;
}

static bool overlaps(const struct bf_sdma_box *b, uint64_t dst)
{
	const bf_u128 src_end = b->src + span_of(b, b->src_pitch, b->src_slice);
	const bf_u128 dst_end = dst + span_of(b, b->dst_pitch, b->dst_slice);

	if (src_end <= dst || dst_end <= b->src)
		return false;
	if (b->rows == 1 && b->slices == 1)
		return true;
	if (!in_order(b, b->src_pitch, b->src_slice) || !in_order(b, b->dst_pitch, b->dst_slice))
		return true;
	if (b->src_pitch == b->dst_pitch && (b->slices == 1 || b->src_slice == b->dst_slice))
		return same_shape_meets(b, dst);
	return rows_meet(b, dst);
}

bool bf_sdma_box_overlaps(const struct bf_sdma_box *box)
{
	return overlaps(box, box->dst) || (box->dst2 && overlaps(box, box->dst2));
}

void bf_sdma_box_merge(struct bf_sdma_box *b)
{
	if (b->rows == 1 && b->slices > 1) {
		b->rows = b->slices;
		b->slices = 1;
		b->src_pitch = b->src_slice;
		b->dst_pitch = b->dst_slice;
	}
	if (b->slices > 1 && b->src_slice == b->rows * b->src_pitch && b->dst_slice == b->rows * b->dst_pitch) {
		b->rows *= b->slices;
		b->slices = 1;
	}
	if (b->slices == 1 && b->src_pitch == b->bytes && b->dst_pitch == b->bytes) {
		b->bytes *= b->rows;
		b->rows = 1;
	}
}
