/*
 * cvt of PTX as functions of bits. What the ISA (9.7.9.22) leaves open is as an H100 does it:
 * - float to integer clamps what is out of range, infinities too; NaN gives 0, but 1 << 63 for 64-bit integers, and
 * from f64 the highest bit of the type;
 * - NaN becomes the destination's canonical one (0x7fffffff, f16 and bf16 0x7fff, tf32 0x7fc00000, 8 bits 0x7f);
 * between f32 and f64 its top bits and sign are kept, and between f64 and f32 too;
 * - cvt.f32.bf16 is a plain shift, of signalling NaN too.
 */
#ifndef BELFRY_PTX_CONVERT_H
#define BELFRY_PTX_CONVERT_H

#include "models/ptx/float.h"

/*
 * cvt with one source, any pair of types: integers of 8 to 64 bits, F16, BF16, TF32, F32, F64; and of two packed
 * numbers at once, F16X2 to or from E4M3X2 and E5M2X2. `mode` has the rounding (rni as RN, and so on, with
 * BF_PTX_MODE_INTEGER between float types), FTZ, SAT, RELU, SATFINITE, RNA. `a` may have anything above the source
 * type's bits. The result is as wide as the type: an integer extended to 64 bits by its own sign, to be cut to the
 * register.
 */
uint64_t bf_ptx_cvt(enum bf_ptx_type to, enum bf_ptx_type from, unsigned mode, uint64_t a);

/* cvt of two f32 to F16X2, BF16X2, E4M3X2 or E5M2X2; `a` becomes the upper part. */
uint32_t bf_ptx_cvt_pair(enum bf_ptx_type to, unsigned mode, uint32_t a, uint32_t b);

/* cvt.pack.sat of .s32 or .u32 (`from_signed`) to U16, S16, U8, S8, U4, S4, U2 or S2: from above c's low bits (none
 * with 16 bits), a, b. */
uint32_t bf_ptx_cvt_pack(enum bf_ptx_type to, bool from_signed, uint32_t a, uint32_t b, uint32_t c);

/* The frequent ones, for loops over lanes: the same results as bf_ptx_cvt(). */
static BF_ALWAYS_INLINE uint32_t bf_ptx_cvt_f32_s32(uint32_t a)
{
	return bf_ptx_bits32((float)(int32_t)a);
}
static BF_ALWAYS_INLINE uint32_t bf_ptx_cvt_f32_u32(uint32_t a)
{
	return bf_ptx_bits32((float)a);
}
static BF_ALWAYS_INLINE uint64_t bf_ptx_cvt_f64_s32(uint32_t a)
{
	return bf_ptx_bits64((double)(int32_t)a);
}
static BF_ALWAYS_INLINE uint64_t bf_ptx_cvt_f64_u32(uint32_t a)
{
	return bf_ptx_bits64((double)a);
}
/* cvt.rzi.s32.f32; subnormals are 0 either way, so it serves .ftz too. */
static BF_ALWAYS_INLINE uint32_t bf_ptx_cvt_rzi_s32_f32(uint32_t a)
{
	const float x = bf_ptx_float(a);
	const bool inside = (x > -2147483648.0f) & (x < 2147483648.0f);
	const uint32_t edge = bf_ptx_is_nan_f32(a) ? 0 : 0x7fffffffu + (a >> 31);
	return inside ? (uint32_t)(int32_t)(inside ? x : 0.0f) : edge;
}
/* cvt.rzi.u32.f32, likewise. */
static BF_ALWAYS_INLINE uint32_t bf_ptx_cvt_rzi_u32_f32(uint32_t a)
{
	const float x = bf_ptx_float(a);
	const bool inside = (x > 0.0f) & (x < 4294967296.0f);
	const uint32_t edge = bf_ptx_is_nan_f32(a) || a >> 31 ? 0 : ~0u;
	return inside ? (uint32_t)(inside ? x : 0.0f) : x == 0.0f ? 0 : edge;
}
/* cvt.f64.f32 without .ftz. */
static BF_ALWAYS_INLINE uint64_t bf_ptx_cvt_f64_f32(uint32_t a)
{
	const uint64_t nan = (uint64_t)(a & 0x80000000u) << 32 | 0x7ff8000000000000ull | (uint64_t)(a & 0x7fffff) << 29;
	return bf_ptx_is_nan_f32(a) ? nan : bf_ptx_bits64((double)bf_ptx_float(a));
}
/* cvt.rn.f32.f64 without .ftz. */
static BF_ALWAYS_INLINE uint32_t bf_ptx_cvt_f32_f64(uint64_t a)
{
	const uint32_t nan = (uint32_t)(a >> 32 & 0x80000000u) | 0x7fc00000u | (uint32_t)(a >> 29 & 0x7fffff);
	return bf_ptx_is_nan_f64(a) ? nan : bf_ptx_bits32((float)bf_ptx_double(a));
}
/* cvt.f32.bf16 and cvt.f32.f16. */
static BF_ALWAYS_INLINE uint32_t bf_ptx_cvt_f32_bf16(uint16_t a)
{
	return (uint32_t)a << 16;
}
static BF_ALWAYS_INLINE uint32_t bf_ptx_cvt_f32_f16(uint16_t a)
{
	const uint32_t sign = (uint32_t)(a & 0x8000u) << 16, magnitude = a & 0x7fffu;
	/* The fraction and exponent in f32's places are the number times 2^-112: exact also for subnormals. */
	const uint32_t number = bf_ptx_bits32(bf_ptx_float(magnitude << 13) * 5192296858534827628530496329220096.0f);
	const uint32_t large = magnitude > 0x7c00u ? BF_PTX_NAN_F32 : 0x7f800000u | sign;
	return magnitude >= 0x7c00u ? large : number | sign;
}
/* cvt.rn.bf16.f32. */
static BF_ALWAYS_INLINE uint16_t bf_ptx_cvt_bf16_f32(uint32_t a)
{
	const uint32_t rounded = (a + 0x7fffu + (a >> 16 & 1)) >> 16;
	return (uint16_t)(bf_ptx_is_nan_f32(a) ? BF_PTX_NAN_F16 : rounded);
}
/* cvt.rn.f16.f32. */
static BF_ALWAYS_INLINE uint16_t bf_ptx_cvt_f16_f32(uint32_t a)
{
	const uint32_t sign = a >> 16 & 0x8000u, magnitude = a & 0x7fffffffu;
	/* Normal results round in their last 13 bits; smaller ones are added to 0.5, whose last place is 2^-24. */
	const uint32_t normal = (magnitude - 0x38000000u + 0xfffu + (magnitude >> 13 & 1)) >> 13;
	const uint32_t small = bf_ptx_bits32(bf_ptx_float(magnitude) + 0.5f) - 0x3f000000u;
	const uint32_t number = magnitude < 0x38800000u ? small : normal;
	const uint32_t bits = magnitude >= 0x477ff000u ? 0x7c00u : number;
	return (uint16_t)((int32_t)magnitude > 0x7f800000 ? BF_PTX_NAN_F16 : bits | sign);
}

#endif
