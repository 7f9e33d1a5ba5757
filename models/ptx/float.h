/*
 * The floating-point instructions of PTX as functions of bits, bit for bit with an H100, NaNs too:
 * - f32: every NaN result is 0x7fffffff; f16 and bf16: 0x7fff.
 * - f64: a NaN operand goes through, made quiet, and invalid operations give 0xfff8000000000000. Of two NaNs it is the
 *   second; of div's the first; of fma's the second factor, else the summand, else the first factor. neg and abs leave
 * a NaN's sign.
 * - .ftz, of f32 and f16 alone: subnormal inputs become zeros of their sign, and so do results that are subnormal
 * before they are rounded.
 * - .sat clamps to [0, 1]; NaN and -0 give +0. .relu makes negative results +0 and keeps NaN.
 *
 * `mode` is a set of the instruction's modifiers. The f32 functions are inlined so that a mode known to the compiler
 * leaves straight code that vectorises; every rounding but to nearest even goes to software (soft.h). No function asks
 * the host's libm: f32 fma without a CPU's own (__FMA__, Arm) is two double operations and a correction, about 8
 * instructions a lane in vector code; f64 fma without it is software, some 30 ns.
 */
#ifndef BELFRY_PTX_FLOAT_H
#define BELFRY_PTX_FLOAT_H

#include "models/ptx/int.h"

#include <string.h>

#if defined(__clang__)
#pragma STDC FP_CONTRACT OFF
#endif

/* Modifiers of instructions on floats. The first two bits are the rounding. */
enum bf_ptx_mode {
	BF_PTX_MODE_RN = 0,
	BF_PTX_MODE_RZ = 1,
	BF_PTX_MODE_RM = 2,
	BF_PTX_MODE_RP = 3,
	BF_PTX_MODE_ROUND = 3,
	BF_PTX_MODE_FTZ = 1 << 2,
	BF_PTX_MODE_SAT = 1 << 3,
	BF_PTX_MODE_RELU = 1 << 4,
	BF_PTX_MODE_SATFINITE = 1 << 5,
	BF_PTX_MODE_NAN = 1 << 6,      /* .NaN of min and max */
	BF_PTX_MODE_XORSIGN = 1 << 7,  /* .xorsign.abs */
	BF_PTX_MODE_OOB = 1 << 8,      /* .oob of fma: 0 if a factor is the NaN 0x7ff7 of either sign */
	BF_PTX_MODE_RNA = 1 << 9,      /* cvt to tf32: ties away from zero */
	BF_PTX_MODE_INTEGER = 1 << 10, /* cvt between equal float types with rni, rzi, rmi, rpi: to a whole number */
};

#define BF_PTX_NAN_F16 0x7fffu
#define BF_PTX_NAN_F32 0x7fffffffu
#define BF_PTX_INVALID_F64 0xfff8000000000000ull
#define BF_PTX_QUIET_F64 0x0008000000000000ull

/* Bits to number and back. */
static BF_ALWAYS_INLINE float bf_ptx_float(uint32_t bits)
{
	float value;
	memcpy(&value, &bits, sizeof(value));
	return value;
}
static BF_ALWAYS_INLINE uint32_t bf_ptx_bits32(float value)
{
	uint32_t bits;
	memcpy(&bits, &value, sizeof(bits));
	return bits;
}
static BF_ALWAYS_INLINE double bf_ptx_double(uint64_t bits)
{
	double value;
	memcpy(&value, &bits, sizeof(value));
	return value;
}
static BF_ALWAYS_INLINE uint64_t bf_ptx_bits64(double value)
{
	uint64_t bits;
	memcpy(&bits, &value, sizeof(bits));
	return bits;
}

static BF_ALWAYS_INLINE bool bf_ptx_is_nan_f32(uint32_t a)
{
	return (int32_t)(a & 0x7fffffffu) > 0x7f800000;
}
static BF_ALWAYS_INLINE bool bf_ptx_is_nan_f64(uint64_t a)
{
	return (int64_t)(a & ~(1ull << 63)) > 0x7ff0000000000000ll;
}
static BF_ALWAYS_INLINE bool bf_ptx_is_nan_f16(uint16_t a)
{
	return (a & 0x7fffu) > 0x7c00u;
}
static BF_ALWAYS_INLINE bool bf_ptx_is_nan_bf16(uint16_t a)
{
	return (a & 0x7fffu) > 0x7f80u;
}

/* A subnormal as zero of its sign. */
static BF_ALWAYS_INLINE uint32_t bf_ptx_flush_f32(uint32_t a)
{
	return (a & 0x7f800000u) == 0 ? a & 0x80000000u : a;
}

/* An f32 operand under `mode`, and what becomes of a result that the host computed. */
static BF_ALWAYS_INLINE float bf_ptx_operand_f32(uint32_t a, unsigned mode)
{
	return bf_ptx_float(mode & BF_PTX_MODE_FTZ ? bf_ptx_flush_f32(a) : a);
}
static BF_ALWAYS_INLINE uint32_t bf_ptx_result_f32(float value, unsigned mode)
{
	if (mode & BF_PTX_MODE_SAT) {
		value = value > 0.0f ? value : 0.0f;
		value = value < 1.0f ? value : 1.0f;
	}
	uint32_t bits = bf_ptx_bits32(value);
	if (mode & BF_PTX_MODE_FTZ)
		bits = bf_ptx_flush_f32(bits);
	return bf_ptx_is_nan_f32(bits) ? BF_PTX_NAN_F32 : bits;
}
/* The same of a number that is exact, or rounded to odd, and so can be told subnormal before it is rounded. */
static BF_ALWAYS_INLINE uint32_t bf_ptx_round_f32(double value, unsigned mode)
{
	const float rounded = (float)value;
	/* From half a place below the least normal number on, 24 bits round up to it. */
	const bool flush = (mode & BF_PTX_MODE_FTZ) && (value < 0x1.ffffffp-127) & (value > -0x1.ffffffp-127);
	return bf_ptx_result_f32(flush ? bf_ptx_float(bf_ptx_bits32(rounded) & 0x80000000u) : rounded, mode);
}

/* The same in software, for any rounding. */
uint32_t bf_ptx_soft_add_f32(uint32_t a, uint32_t b, unsigned mode);
uint32_t bf_ptx_soft_mul_f32(uint32_t a, uint32_t b, unsigned mode);
uint32_t bf_ptx_soft_fma_f32(uint32_t a, uint32_t b, uint32_t c, unsigned mode);
uint32_t bf_ptx_soft_div_f32(uint32_t a, uint32_t b, unsigned mode);
uint64_t bf_ptx_soft_add_f64(uint64_t a, uint64_t b, unsigned mode);
uint64_t bf_ptx_soft_mul_f64(uint64_t a, uint64_t b, unsigned mode);
uint64_t bf_ptx_soft_fma_f64(uint64_t a, uint64_t b, uint64_t c, unsigned mode);
uint64_t bf_ptx_soft_div_f64(uint64_t a, uint64_t b, unsigned mode);

/* add, sub, mul, div, rcp of f32: roundings, .ftz, .sat. */
static BF_ALWAYS_INLINE uint32_t bf_ptx_add_f32(uint32_t a, uint32_t b, unsigned mode)
{
	if (mode & BF_PTX_MODE_ROUND)
		return bf_ptx_soft_add_f32(a, b, mode);
	return bf_ptx_result_f32(bf_ptx_operand_f32(a, mode) + bf_ptx_operand_f32(b, mode), mode);
}
static BF_ALWAYS_INLINE uint32_t bf_ptx_sub_f32(uint32_t a, uint32_t b, unsigned mode)
{
	return bf_ptx_add_f32(a, b ^ 0x80000000u, mode);
}
static BF_ALWAYS_INLINE uint32_t bf_ptx_mul_f32(uint32_t a, uint32_t b, unsigned mode)
{
	if (mode & BF_PTX_MODE_ROUND)
		return bf_ptx_soft_mul_f32(a, b, mode);
	const float x = bf_ptx_operand_f32(a, mode), y = bf_ptx_operand_f32(b, mode);
	return mode & BF_PTX_MODE_FTZ ? bf_ptx_round_f32((double)x * (double)y, mode) : bf_ptx_result_f32(x * y, mode);
}
static BF_ALWAYS_INLINE uint32_t bf_ptx_div_f32(uint32_t a, uint32_t b, unsigned mode)
{
	if (mode & BF_PTX_MODE_ROUND)
		return bf_ptx_soft_div_f32(a, b, mode);
	return bf_ptx_result_f32(bf_ptx_operand_f32(a, mode) / bf_ptx_operand_f32(b, mode), mode);
}
static BF_ALWAYS_INLINE uint32_t bf_ptx_rcp_f32(uint32_t a, unsigned mode)
{
	return bf_ptx_div_f32(0x3f800000u, a, mode);
}

/* p + c rounded to odd: a result that was not exact ends in an odd bit, so that rounding it again to at least two bits
 * less is the same as rounding once. */
static BF_ALWAYS_INLINE double bf_ptx_sum_odd(double p, double c)
{
	const double sum = p + c, part = sum - p;
	const double error = (p - (sum - part)) + (c - part);
	const uint64_t bits = bf_ptx_bits64(sum);
	const bool inexact = (error < 0.0) | (error > 0.0);
	const bool even = (bits & 1) == 0;
	const uint64_t step = (error > 0.0) == (sum > 0.0) ? 1 : ~0ull;
	return bf_ptx_double((inexact & even) ? bits + step : bits);
}

/* fma and mad of f32, which are one instruction on what PTX calls sm_20 and later. */
static BF_ALWAYS_INLINE uint32_t bf_ptx_fma_f32(uint32_t a, uint32_t b, uint32_t c, unsigned mode)
{
	if (mode & BF_PTX_MODE_ROUND)
		return bf_ptx_soft_fma_f32(a, b, c, mode);
	const float x = bf_ptx_operand_f32(a, mode), y = bf_ptx_operand_f32(b, mode), z = bf_ptx_operand_f32(c, mode);
#if defined(__FMA__) || defined(__ARM_FEATURE_FMA)
	if ((mode & BF_PTX_MODE_FTZ) == 0)
		return bf_ptx_result_f32(__builtin_fmaf(x, y, z), mode);
#endif
	return bf_ptx_round_f32(bf_ptx_sum_odd((double)x * (double)y, (double)z), mode);
}

/* sqrt of f32. */
uint32_t bf_ptx_sqrt_f32(uint32_t a, unsigned mode);

/* neg, abs, copysign (the sign of a on the value of b). */
static BF_ALWAYS_INLINE uint32_t bf_ptx_neg_f32(uint32_t a, unsigned mode)
{
	const uint32_t x = mode & BF_PTX_MODE_FTZ ? bf_ptx_flush_f32(a) : a;
	return bf_ptx_is_nan_f32(a) ? BF_PTX_NAN_F32 : x ^ 0x80000000u;
}
static BF_ALWAYS_INLINE uint32_t bf_ptx_abs_f32(uint32_t a, unsigned mode)
{
	const uint32_t x = mode & BF_PTX_MODE_FTZ ? bf_ptx_flush_f32(a) : a;
	return bf_ptx_is_nan_f32(a) ? BF_PTX_NAN_F32 : x & 0x7fffffffu;
}
static inline uint32_t bf_ptx_copysign_f32(uint32_t a, uint32_t b)
{
	return (a & 0x80000000u) | (b & 0x7fffffffu);
}
static inline uint64_t bf_ptx_copysign_f64(uint64_t a, uint64_t b)
{
	return (a & 1ull << 63) | (b & ~(1ull << 63));
}
static BF_ALWAYS_INLINE uint64_t bf_ptx_neg_f64(uint64_t a)
{
	return bf_ptx_is_nan_f64(a) ? a | BF_PTX_QUIET_F64 : a ^ 1ull << 63;
}
static BF_ALWAYS_INLINE uint64_t bf_ptx_abs_f64(uint64_t a)
{
	return bf_ptx_is_nan_f64(a) ? a | BF_PTX_QUIET_F64 : a & ~(1ull << 63);
}

/* A number that orders as the float does, -0 below +0. */
static BF_ALWAYS_INLINE int32_t bf_ptx_rank_f32(uint32_t a)
{
	return (int32_t)(a ^ ((uint32_t)((int32_t)a >> 31) & 0x7fffffffu));
}
static BF_ALWAYS_INLINE int64_t bf_ptx_rank_f64(uint64_t a)
{
	return (int64_t)(a ^ ((uint64_t)((int64_t)a >> 63) & ~(1ull << 63)));
}

/* min and max of f32: .ftz, .NaN, .xorsign.abs. One NaN is dropped, unless .NaN. */
static BF_ALWAYS_INLINE uint32_t bf_ptx_pick_f32(uint32_t a, uint32_t b, unsigned mode, bool max)
{
	const uint32_t sign = mode & BF_PTX_MODE_XORSIGN ? (a ^ b) & 0x80000000u : 0;
	const uint32_t keep = mode & BF_PTX_MODE_XORSIGN ? 0x7fffffffu : ~0u;
	const uint32_t x = (mode & BF_PTX_MODE_FTZ ? bf_ptx_flush_f32(a) : a) & keep;
	const uint32_t y = (mode & BF_PTX_MODE_FTZ ? bf_ptx_flush_f32(b) : b) & keep;
	const bool first = max ? bf_ptx_rank_f32(x) > bf_ptx_rank_f32(y) : bf_ptx_rank_f32(x) < bf_ptx_rank_f32(y);
	const bool nan_x = bf_ptx_is_nan_f32(x), nan_y = bf_ptx_is_nan_f32(y);
	const uint32_t picked = (nan_x ? y : nan_y ? x : first ? x : y) | sign;
	const bool nan = mode & BF_PTX_MODE_NAN ? nan_x | nan_y : nan_x & nan_y;
	return nan ? BF_PTX_NAN_F32 : picked;
}
static BF_ALWAYS_INLINE uint32_t bf_ptx_min_f32(uint32_t a, uint32_t b, unsigned mode)
{
	return bf_ptx_pick_f32(a, b, mode, false);
}
static BF_ALWAYS_INLINE uint32_t bf_ptx_max_f32(uint32_t a, uint32_t b, unsigned mode)
{
	return bf_ptx_pick_f32(a, b, mode, true);
}

/* min and max of f64; of two NaN the second, quiet. */
uint64_t bf_ptx_min_f64(uint64_t a, uint64_t b);
uint64_t bf_ptx_max_f64(uint64_t a, uint64_t b);

/* An f64 result of the host's, with the NaN that an H100 gives: of the last NaN among the operands, or the invalid one.
 */
static BF_ALWAYS_INLINE uint64_t bf_ptx_result_f64(double value, uint64_t a, uint64_t b)
{
	const uint64_t bits = bf_ptx_bits64(value);
	const uint64_t from_a = bf_ptx_is_nan_f64(a) ? a | BF_PTX_QUIET_F64 : BF_PTX_INVALID_F64;
	const uint64_t from_b = bf_ptx_is_nan_f64(b) ? b | BF_PTX_QUIET_F64 : from_a;
	return bf_ptx_is_nan_f64(bits) ? from_b : bits;
}

/* add, sub, mul, fma, div, rcp, sqrt of f64: roundings. */
static BF_ALWAYS_INLINE uint64_t bf_ptx_add_f64(uint64_t a, uint64_t b, unsigned mode)
{
	if (mode & BF_PTX_MODE_ROUND)
		return bf_ptx_soft_add_f64(a, b, mode);
	return bf_ptx_result_f64(bf_ptx_double(a) + bf_ptx_double(b), a, b);
}
static BF_ALWAYS_INLINE uint64_t bf_ptx_sub_f64(uint64_t a, uint64_t b, unsigned mode)
{
	/* A NaN keeps its sign. */
	return bf_ptx_add_f64(a, bf_ptx_is_nan_f64(b) ? b : b ^ 1ull << 63, mode);
}
static BF_ALWAYS_INLINE uint64_t bf_ptx_mul_f64(uint64_t a, uint64_t b, unsigned mode)
{
	if (mode & BF_PTX_MODE_ROUND)
		return bf_ptx_soft_mul_f64(a, b, mode);
	return bf_ptx_result_f64(bf_ptx_double(a) * bf_ptx_double(b), a, b);
}
static BF_ALWAYS_INLINE uint64_t bf_ptx_div_f64(uint64_t a, uint64_t b, unsigned mode)
{
	if (mode & BF_PTX_MODE_ROUND)
		return bf_ptx_soft_div_f64(a, b, mode);
	return bf_ptx_result_f64(bf_ptx_double(a) / bf_ptx_double(b), b, a);
}
static BF_ALWAYS_INLINE uint64_t bf_ptx_rcp_f64(uint64_t a, unsigned mode)
{
	return bf_ptx_div_f64(0x3ff0000000000000ull, a, mode);
}
static BF_ALWAYS_INLINE uint64_t bf_ptx_fma_f64(uint64_t a, uint64_t b, uint64_t c, unsigned mode)
{
#if defined(__FMA__) || defined(__ARM_FEATURE_FMA)
	if ((mode & BF_PTX_MODE_ROUND) == 0) {
		const uint64_t bits =
		    bf_ptx_bits64(__builtin_fma(bf_ptx_double(a), bf_ptx_double(b), bf_ptx_double(c)));
		if (BF_LIKELY(!bf_ptx_is_nan_f64(bits)))
			return bits;
	}
#endif
	return bf_ptx_soft_fma_f64(a, b, c, mode);
}
uint64_t bf_ptx_sqrt_f64(uint64_t a, unsigned mode);

/* testp: `what` is BF_PTX_SUB_FINITE to _SUBNORMAL. Zero counts as normal. */
bool bf_ptx_testp_f32(enum bf_ptx_sub what, uint32_t a);
bool bf_ptx_testp_f64(enum bf_ptx_sub what, uint64_t a);

/* A comparison of numbers: those without U are false where a NaN is, those with it true. */
static BF_ALWAYS_INLINE bool bf_ptx_compare_number(enum bf_ptx_cmp compare, double a, double b)
{
	switch (compare) {
	case BF_PTX_CMP_EQ:
		return a == b;
	case BF_PTX_CMP_NE:
		return (a < b) | (a > b);
	case BF_PTX_CMP_LT:
		return a < b;
	case BF_PTX_CMP_LE:
		return a <= b;
	case BF_PTX_CMP_GT:
		return a > b;
	case BF_PTX_CMP_GE:
		return a >= b;
	case BF_PTX_CMP_EQU:
		return !((a < b) | (a > b));
	case BF_PTX_CMP_NEU:
		return a != b;
	case BF_PTX_CMP_LTU:
		return !(a >= b);
	case BF_PTX_CMP_LEU:
		return !(a > b);
	case BF_PTX_CMP_GTU:
		return !(a <= b);
	case BF_PTX_CMP_GEU:
		return !(a < b);
	case BF_PTX_CMP_NUM:
		return (a == a) & (b == b);
	case BF_PTX_CMP_NAN:
		return (a != a) | (b != b);
	default:
		return false;
	}
}
static BF_ALWAYS_INLINE bool bf_ptx_compare_f32(enum bf_ptx_cmp compare, uint32_t a, uint32_t b, unsigned mode)
{
	return bf_ptx_compare_number(compare, (double)bf_ptx_operand_f32(a, mode), (double)bf_ptx_operand_f32(b, mode));
}
static BF_ALWAYS_INLINE bool bf_ptx_compare_f64(enum bf_ptx_cmp compare, uint64_t a, uint64_t b)
{
	return bf_ptx_compare_number(compare, bf_ptx_double(a), bf_ptx_double(b));
}

/* slct: whether c selects a, which is if c >= 0; -0 does, NaN does not. Integers: the sign of c. */
static inline bool bf_ptx_slct_f32(uint32_t c, unsigned mode)
{
	return bf_ptx_compare_f32(BF_PTX_CMP_GE, c, 0, mode);
}

/* add, sub, mul (.rn; .ftz and .sat of f16), fma (.ftz, .sat, .relu, .oob), min and max (.ftz, .NaN, .xorsign.abs),
 * neg and abs (.ftz), and comparisons (.ftz) of f16 and bf16: `format` is BF_PTX_F16 or BF_PTX_BF16. */
uint16_t bf_ptx_half_add(enum bf_ptx_type format, uint16_t a, uint16_t b, unsigned mode);
uint16_t bf_ptx_half_sub(enum bf_ptx_type format, uint16_t a, uint16_t b, unsigned mode);
uint16_t bf_ptx_half_mul(enum bf_ptx_type format, uint16_t a, uint16_t b, unsigned mode);
uint16_t bf_ptx_half_fma(enum bf_ptx_type format, uint16_t a, uint16_t b, uint16_t c, unsigned mode);
uint16_t bf_ptx_half_min(enum bf_ptx_type format, uint16_t a, uint16_t b, unsigned mode);
uint16_t bf_ptx_half_max(enum bf_ptx_type format, uint16_t a, uint16_t b, unsigned mode);
uint16_t bf_ptx_half_neg(enum bf_ptx_type format, uint16_t a, unsigned mode);
uint16_t bf_ptx_half_abs(enum bf_ptx_type format, uint16_t a, unsigned mode);
bool bf_ptx_half_compare(enum bf_ptx_type format, enum bf_ptx_cmp compare, uint16_t a, uint16_t b, unsigned mode);

/* The same for packed pairs (.f16x2, .bf16x2): `one` is one of the functions above, or of approx.h. */
static inline uint32_t bf_ptx_pair1(uint16_t (*one)(enum bf_ptx_type, uint16_t, unsigned), enum bf_ptx_type format,
				    uint32_t a, unsigned mode)
{
	return bf_ptx_pack16(one(format, (uint16_t)a, mode), one(format, (uint16_t)(a >> 16), mode));
}
static inline uint32_t bf_ptx_pair2(uint16_t (*one)(enum bf_ptx_type, uint16_t, uint16_t, unsigned),
				    enum bf_ptx_type format, uint32_t a, uint32_t b, unsigned mode)
{
	return bf_ptx_pack16(one(format, (uint16_t)a, (uint16_t)b, mode),
			     one(format, (uint16_t)(a >> 16), (uint16_t)(b >> 16), mode));
}
static inline uint32_t bf_ptx_pair_fma(enum bf_ptx_type format, uint32_t a, uint32_t b, uint32_t c, unsigned mode)
{
	return bf_ptx_pack16(
	    bf_ptx_half_fma(format, (uint16_t)a, (uint16_t)b, (uint16_t)c, mode),
	    bf_ptx_half_fma(format, (uint16_t)(a >> 16), (uint16_t)(b >> 16), (uint16_t)(c >> 16), mode));
}

#endif
