/*
 * Floating point in software, with every rounding: one number form for all formats of PTX, and arithmetic that keeps
 * what was lost below as a last bit that is set, so that one rounding at the end is right. It knows numbers; which NaN
 * an instruction gives is for float.c and convert.c to say.
 */
#ifndef BELFRY_PTX_SOFT_H
#define BELFRY_PTX_SOFT_H

#include "models/ptx/float.h"

enum bf_ptx_soft_kind {
	BF_PTX_SOFT_ZERO,
	BF_PTX_SOFT_FINITE,
	BF_PTX_SOFT_INF,
	BF_PTX_SOFT_NAN,
};

/* A number: for FINITE it is significand * 2^(exponent - 125), and 2^125 <= significand < 2^126. */
struct bf_ptx_soft {
	enum bf_ptx_soft_kind kind;
	bool sign;
	int32_t exponent;
	bf_u128 significand;
};

/* Reads bits of BF_PTX_F16, BF16, TF32 (as f32), F32, F64, E4M3 or E5M2. */
struct bf_ptx_soft bf_ptx_soft_read(enum bf_ptx_type format, uint64_t bits);

/* A whole number, sign and absolute value. */
struct bf_ptx_soft bf_ptx_soft_from_integer(bool sign, uint64_t magnitude);

/*
 * Arithmetic. NaN in or an invalid operation (inf - inf, 0 * inf, 0 / 0, inf / inf, root of a negative) is NAN out. An
 * exact sum of zero has the sign that `mode`'s rounding gives it.
 */
struct bf_ptx_soft bf_ptx_soft_add(struct bf_ptx_soft a, struct bf_ptx_soft b, unsigned mode);
struct bf_ptx_soft bf_ptx_soft_mul(struct bf_ptx_soft a, struct bf_ptx_soft b);
struct bf_ptx_soft bf_ptx_soft_div(struct bf_ptx_soft a, struct bf_ptx_soft b);
struct bf_ptx_soft bf_ptx_soft_sqrt(struct bf_ptx_soft a);

/*
 * Rounds to `format` under `mode`: roundings, .ftz, .sat, .relu, .satfinite. E4M3 and E5M2 always saturate. NAN gives
 * the format's canonical NaN, of f64 the invalid one; inf saturates with .satfinite.
 */
uint64_t bf_ptx_soft_round(enum bf_ptx_type format, struct bf_ptx_soft a, unsigned mode);

/* Rounds to an integer of `bits` bits (8 to 64), signed or not, clamped; the result extended to 64 bits by its sign.
 * NAN gives 0. */
uint64_t bf_ptx_soft_to_integer(struct bf_ptx_soft a, uint32_t bits, bool is_signed, unsigned mode);

/* Rounds to a whole number, the sign kept when that is zero. */
struct bf_ptx_soft bf_ptx_soft_to_whole(struct bf_ptx_soft a, unsigned mode);

#endif
