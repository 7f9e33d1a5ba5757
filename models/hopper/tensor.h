/*
 * Tensor maps: what a bulk tensor copy knows of the tensor in global memory, and how a box of it is cut into rows.
 *
 * The fields are those of CUDA's CUtensorMap in tiled mode without interleaving (CUDA driver API,
 * cuTensorMapEncodeTiled; PTX ISA 9.0, section 5.5 "Tensors"), as plain numbers: the 128 opaque bytes of the real
 * object are not modelled. Dimension 0 is the innermost one and contiguous. Pure functions; thread-safe.
 */
#ifndef BELFRY_MODELS_HOPPER_TENSOR_H
#define BELFRY_MODELS_HOPPER_TENSOR_H

#include <stdbool.h>
#include <stdint.h>

#include "sim/error.h"

#define BF_TENSOR_RANK_MAX 5u
#define BF_TENSOR_BOX_MAX 256u /* elements of a box in each dimension */

/* Element types by what matters to a copy: their size, and the value of a NaN. */
enum bf_tensor_type {
	BF_TENSOR_U8,
	BF_TENSOR_U16,
	BF_TENSOR_U32,
	BF_TENSOR_U64,
	BF_TENSOR_F16,
	BF_TENSOR_BF16,
	BF_TENSOR_F32,
	BF_TENSOR_F64,
	BF_TENSOR_TYPES
};

/*
 * How 16-byte chunks are permuted in shared memory, by address: chunk bits are exclusive-ored with the bits of the
 * 128-byte row (32: bit 4 with 7; 64: bits 5:4 with 8:7; 128: bits 6:4 with 9:7).
 */
enum bf_tensor_swizzle { BF_TENSOR_SWIZZLE_NONE, BF_TENSOR_SWIZZLE_32, BF_TENSOR_SWIZZLE_64, BF_TENSOR_SWIZZLE_128 };

struct bf_tensor_map {
	uint64_t base;                               /* global address of element 0: a multiple of 16 */
	uint64_t dim[BF_TENSOR_RANK_MAX];            /* elements, 1..2^32 */
	uint64_t stride[BF_TENSOR_RANK_MAX];         /* bytes, a multiple of 16 below 2^40; [0] is ignored */
	uint32_t box[BF_TENSOR_RANK_MAX];            /* elements, 1..256; a row of it a multiple of 16 bytes */
	uint32_t element_stride[BF_TENSOR_RANK_MAX]; /* every so manieth element, 1..8; [0] is ignored */
	uint32_t rank;                               /* 1..5 */
	enum bf_tensor_type type;
	enum bf_tensor_swizzle swizzle; /* a row of the box may not be longer than its span */
	bool fill_nan;                  /* elements outside the tensor read as NaN, not as zero: floating types only */
};

/* Bytes of an element. */
uint32_t bf_tensor_element(enum bf_tensor_type type);

/* 0, or -EINVAL with the field that is wrong. */
int bf_tensor_map_check(const struct bf_tensor_map *map, struct bf_error *err);

/* Bytes that a box fills in shared memory, those outside the tensor included; for a map that is right. */
uint32_t bf_tensor_box_bytes(const struct bf_tensor_map *map);

/* Where the byte at `address` of shared memory is kept. */
static inline uint32_t bf_tensor_swizzled(enum bf_tensor_swizzle swizzle, uint32_t address)
{
	const uint32_t mask = ((1u << swizzle) - 1) << 4;

	return address ^ (address >> 3 & mask);
}

/* What one element outside the tensor reads as, little-endian in the first bf_tensor_element() bytes. */
uint64_t bf_tensor_fill(const struct bf_tensor_map *map);

/* A run of bytes of a box, contiguous in global and in (unswizzled) shared memory. */
struct bf_tensor_run {
	uint64_t global;
	uint32_t shared; /* from the start of the box */
	uint32_t bytes;
	bool outside; /* of the tensor: `global` means nothing */
};

/* Goes through a box, row by row. Start with bf_tensor_walk_start(). */
struct bf_tensor_walk {
	const struct bf_tensor_map *map;
	int64_t at[BF_TENSOR_RANK_MAX];     /* corner of the box, in elements; may be outside */
	uint32_t index[BF_TENSOR_RANK_MAX]; /* row: which element of the box, from dimension 1 up */
	uint32_t in_row;                    /* elements of this row that are done */
	uint32_t shared;
	bool end;
};
void bf_tensor_walk_start(struct bf_tensor_walk *w, const struct bf_tensor_map *map, const int32_t *at);

/* The next run; false when the box is done. */
bool bf_tensor_walk_next(struct bf_tensor_walk *w, struct bf_tensor_run *run);

#endif
