/*
 * The approximate instructions of PTX as functions of bits. An H100's own tables are not public: results lie within the
 * ISA's error bounds and have its special values, but the last bits are those of the polynomials in approx.c, the same
 * on every machine. `mode`: BF_PTX_MODE_FTZ, or 0.
 */
#ifndef BELFRY_PTX_APPROX_H
#define BELFRY_PTX_APPROX_H

#include "models/ptx/float.h"

/* ex2, lg2, rcp, rsqrt, sqrt, sin, cos, tanh .approx.f32; tanh has no .ftz and takes no notice of it. */
uint32_t bf_ptx_ex2_f32(uint32_t a, unsigned mode);
uint32_t bf_ptx_lg2_f32(uint32_t a, unsigned mode);
uint32_t bf_ptx_rcp_approx_f32(uint32_t a, unsigned mode);
uint32_t bf_ptx_rsqrt_f32(uint32_t a, unsigned mode);
uint32_t bf_ptx_sqrt_approx_f32(uint32_t a, unsigned mode);
uint32_t bf_ptx_sin_f32(uint32_t a, unsigned mode);
uint32_t bf_ptx_cos_f32(uint32_t a, unsigned mode);
uint32_t bf_ptx_tanh_f32(uint32_t a, unsigned mode);

/* div.approx.f32 (0 or NaN for a divisor above 2^126), div.full.f32. */
uint32_t bf_ptx_div_approx_f32(uint32_t a, uint32_t b, unsigned mode);
uint32_t bf_ptx_div_full_f32(uint32_t a, uint32_t b, unsigned mode);

/* rcp.approx.ftz.f64, rsqrt.approx.ftz.f64 (the low word of the result is 0), rsqrt.approx.f64. */
uint64_t bf_ptx_rcp_approx_f64(uint64_t a);
uint64_t bf_ptx_rsqrt_f64(uint64_t a, unsigned mode);

/* ex2 and tanh .approx of BF_PTX_F16 or BF_PTX_BF16; pairs by bf_ptx_pair1(). */
uint16_t bf_ptx_half_ex2(enum bf_ptx_type format, uint16_t a, unsigned mode);
uint16_t bf_ptx_half_tanh(enum bf_ptx_type format, uint16_t a, unsigned mode);

#endif
