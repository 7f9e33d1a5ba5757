#include "models/hopper/tensor.h"

#include <errno.h>
#include <inttypes.h>

#include "sim/compiler.h"

/* What a tensor copy fills with is assumed to be the NaN that the arithmetic units make (PTX ISA: "canonical NaN"). */
static const struct {
	uint32_t bytes;
	uint64_t nan; /* 0: the type has none */
} types[BF_TENSOR_TYPES] = {
	[BF_TENSOR_U8] = { 1, 0 },           [BF_TENSOR_U16] = { 2, 0 },
	[BF_TENSOR_U32] = { 4, 0 },          [BF_TENSOR_U64] = { 8, 0 },
	[BF_TENSOR_F16] = { 2, 0x7fff },     [BF_TENSOR_BF16] = { 2, 0x7fff },
	[BF_TENSOR_F32] = { 4, 0x7fffffff }, [BF_TENSOR_F64] = { 8, 0xfff8000000000000ull },
};

uint32_t bf_tensor_element(enum bf_tensor_type type)
{
	return types[type].bytes;
}

uint64_t bf_tensor_fill(const struct bf_tensor_map *map)
{
	return map->fill_nan ? types[map->type].nan : 0;
}

/* Elements of the box in a dimension. The innermost one has no stride of its own in tiled mode. */
static uint32_t box_count(const struct bf_tensor_map *map, uint32_t d)
{
	return d == 0 ? map->box[0] : (map->box[d] + map->element_stride[d] - 1) / map->element_stride[d];
}

static int check_dimension(const struct bf_tensor_map *m, uint32_t d, struct bf_error *err)
{
	if (m->dim[d] == 0 || m->dim[d] > 1ull << 32)
		return bf_fail(err, -EINVAL,
			       "tensor map: dimension %" PRIu32 " has %" PRIu64 " elements, must be 1..2^32", d,
			       m->dim[d]);
	if (m->box[d] == 0 || m->box[d] > BF_TENSOR_BOX_MAX)
		return bf_fail(err, -EINVAL,
			       "tensor map: box of %" PRIu32 " elements in dimension %" PRIu32 ", must be 1..%u",
			       m->box[d], d, BF_TENSOR_BOX_MAX);
	if (d == 0)
		return 0;
	if (m->stride[d] % 16 || m->stride[d] >= 1ull << 40)
		return bf_fail(err, -EINVAL,
			       "tensor map: stride of %" PRIu64 " bytes in dimension %" PRIu32
			       ", must be a multiple of 16 below 2^40",
			       m->stride[d], d);
	if (m->element_stride[d] == 0 || m->element_stride[d] > 8)
		return bf_fail(err, -EINVAL,
			       "tensor map: element stride %" PRIu32 " in dimension %" PRIu32 ", must be 1..8",
			       m->element_stride[d], d);
	return 0;
}

int bf_tensor_map_check(const struct bf_tensor_map *m, struct bf_error *err)
{
	uint32_t row;
	int rc = 0;

	if (m->rank == 0 || m->rank > BF_TENSOR_RANK_MAX)
		return bf_fail(err, -EINVAL, "tensor map: rank %" PRIu32 ", must be 1..%u", m->rank,
			       BF_TENSOR_RANK_MAX);
	if ((unsigned)m->type >= BF_TENSOR_TYPES || (unsigned)m->swizzle > BF_TENSOR_SWIZZLE_128)
		return bf_fail(err, -EINVAL, "tensor map: no such element type or swizzle mode");
	if (m->base % 16)
		return bf_fail(err, -EINVAL, "tensor map: base 0x%" PRIx64 " is not a multiple of 16", m->base);
	for (uint32_t d = 0; !rc && d < m->rank; d++)
		rc = check_dimension(m, d, err);
	if (rc)
		return rc;
	row = m->box[0] * types[m->type].bytes;
	if (row % 16)
		return bf_fail(err, -EINVAL, "tensor map: rows of the box have %" PRIu32 " bytes, not a multiple of 16",
			       row);
	if (m->swizzle && row > 16u << m->swizzle)
		return bf_fail(err, -EINVAL, "tensor map: rows of %" PRIu32 " bytes do not fit a swizzle span of %u",
			       row, 16u << m->swizzle);
	if (m->fill_nan && !types[m->type].nan)
		return bf_fail(err, -EINVAL, "tensor map: elements of this type have no NaN to fill with");
	return 0;
}

uint32_t bf_tensor_box_bytes(const struct bf_tensor_map *map)
{
	uint64_t n = types[map->type].bytes;

	for (uint32_t d = 0; d < map->rank; d++)
		n *= box_count(map, d);
	return n > UINT32_MAX ? UINT32_MAX : (uint32_t)n;
}

void bf_tensor_walk_start(struct bf_tensor_walk *w, const struct bf_tensor_map *map, const int32_t *at)
{
	*w = (struct bf_tensor_walk){ .map = map };
	for (uint32_t d = 0; d < map->rank; d++)
		w->at[d] = at[d];
}

/* The next row, like an odometer. */
static void next_row(struct bf_tensor_walk *w)
{
	uint32_t d = 1;

	w->in_row = 0;
	while (d < w->map->rank && ++w->index[d] == box_count(w->map, d))
		w->index[d++] = 0;
	w->end = d >= w->map->rank;
}

/* Where the current row begins, as an offset from the base; false: all of it lies outside the tensor. */
static bool row_offset(const struct bf_tensor_walk *w, uint64_t *offset)
{
	const struct bf_tensor_map *m = w->map;

	*offset = 0;
	for (uint32_t d = 1; d < m->rank; d++) {
		const int64_t c = w->at[d] + (int64_t)w->index[d] * m->element_stride[d];

		if (c < 0 || (uint64_t)c >= m->dim[d])
			return false;
		*offset += (uint64_t)c * m->stride[d];
	}
	return true;
}

/* The next run of the row that the walk is in. */
static void take_run(struct bf_tensor_walk *w, struct bf_tensor_run *run)
{
	const struct bf_tensor_map *m = w->map;
	const uint32_t size = types[m->type].bytes;
	const int64_t c = w->at[0] + w->in_row, dim = (int64_t)m->dim[0];
	uint32_t n = m->box[0] - w->in_row;
	uint64_t offset;

	run->outside = !row_offset(w, &offset) || c < 0 || c >= dim;
	if (c < 0 && -c < n)
		n = (uint32_t)-c;
	else if (c >= 0 && c < dim && dim - c < n)
		n = (uint32_t)(dim - c);
	run->global = run->outside ? 0 : m->base + offset + (uint64_t)c * size;
	run->shared = w->shared;
	run->bytes = n * size;
	w->in_row += n;
}

bool bf_tensor_walk_next(struct bf_tensor_walk *w, struct bf_tensor_run *run)
{
	if (w->end)
		return false;
	take_run(w, run);
	w->shared += run->bytes;
	if (w->in_row == w->map->box[0])
		next_row(w);
	return true;
}
