/*
 * The elementwise instructions: one list, from which the enumeration, the handlers (lanes.c) and the decoder's table
 * (select.c) come.
 *
 * X(NAME, destination, sources ..., expression). Rows: W 32 bits, H 16 bits in a row of 32, D 64 bits. Operands in the
 * expression are a, b, c, e; `mode` is the instruction's. Lists that end in _VECTOR are straight code which becomes
 * vector code; the others are computed for the lanes of the mask only.
 */
#ifndef BELFRY_MODELS_PTX_LANES_INTERNAL_H
#define BELFRY_MODELS_PTX_LANES_INTERNAL_H

#include <stdbool.h>
#include <stdint.h>

/* clang-format off */
#define BF_PTX_LANES_1_VECTOR(X)                                                                                       \
	X(MOV_32, W, W, a)                                                                                             \
	X(MOV_64, D, D, a)                                                                                             \
	X(EXTEND_U8, W, W, a & 0xff)                                                                                   \
	X(EXTEND_U16, W, W, a & 0xffff)                                                                                \
	X(EXTEND_S8, W, W, ((a & 0xff) ^ 0x80) - 0x80)                                                                   \
	X(EXTEND_S8_16, H, W, ((a & 0xff) ^ 0x80) - 0x80)                                                                \
	X(EXTEND_S16, W, W, ((a & 0xffff) ^ 0x8000) - 0x8000)                                                            \
	X(WIDEN_U32, D, W, a)                                                                                          \
	X(WIDEN_S32, D, W, (uint64_t)(int64_t)(int32_t)a)                                                              \
	X(LOW_32, W, D, (uint32_t)a)                                                                                   \
	X(HIGH_32, W, D, (uint32_t)(a >> 32))                                                                          \
	X(HIGH_16, W, W, a >> 16)                                                                                      \
	X(NOT_16, H, H, ~a)                                                                                            \
	X(NOT_32, W, W, ~a)                                                                                            \
	X(NOT_64, D, D, ~a)                                                                                            \
	X(ABS_S16, H, H, bf_ptx_abs_s16(a))                                                                            \
	X(ABS_S32, W, W, bf_ptx_abs_s32(a))                                                                            \
	X(ABS_S64, D, D, bf_ptx_abs_s64(a))                                                                            \
	X(NEG_S16, H, H, bf_ptx_neg_s16(a))                                                                            \
	X(NEG_S32, W, W, bf_ptx_neg_s32(a))                                                                            \
	X(NEG_S64, D, D, bf_ptx_neg_s64(a))                                                                            \
	X(CNOT_16, H, H, bf_ptx_cnot_b16(a))                                                                           \
	X(CNOT_32, W, W, bf_ptx_cnot_b32(a))                                                                           \
	X(CNOT_64, D, D, bf_ptx_cnot_b64(a))                                                                           \
	X(POPC_32, W, W, bf_ptx_popc_b32(a))                                                                           \
	X(POPC_64, W, D, bf_ptx_popc_b64(a))                                                                           \
	X(BREV_32, W, W, bf_ptx_brev_b32(a))                                                                           \
	X(BREV_64, D, D, bf_ptx_brev_b64(a))                                                                           \
	X(NEG_F32, W, W, bf_ptx_neg_f32(a, 0))                                                                         \
	X(ABS_F32, W, W, bf_ptx_abs_f32(a, 0))                                                                         \
	X(NEG_F64, D, D, bf_ptx_neg_f64(a))                                                                            \
	X(ABS_F64, D, D, bf_ptx_abs_f64(a))                                                                            \
	X(CVT_F32_S32, W, W, bf_ptx_cvt_f32_s32(a))                                                                    \
	X(CVT_F32_U32, W, W, bf_ptx_cvt_f32_u32(a))                                                                    \
	X(CVT_F32_BF16, W, H, bf_ptx_cvt_f32_bf16(a))                                                                  \
	X(CVT_F32_F16, W, H, bf_ptx_cvt_f32_f16(a))                                                                    \
	X(CVT_BF16_F32, H, W, bf_ptx_cvt_bf16_f32(a))                                                                  \
	X(CVT_F16_F32, H, W, bf_ptx_cvt_f16_f32(a))

#define BF_PTX_LANES_1(X)                                                                                              \
	X(CLZ_32, W, W, bf_ptx_clz_b32(a))                                                                             \
	X(CLZ_64, W, D, bf_ptx_clz_b64(a))                                                                             \
	X(BFIND_U32, W, W, mode ? bf_ptx_bfind_shiftamt(bf_ptx_bfind_u32(a), 32) : bf_ptx_bfind_u32(a))                \
	X(BFIND_S32, W, W, mode ? bf_ptx_bfind_shiftamt(bf_ptx_bfind_s32(a), 32) : bf_ptx_bfind_s32(a))                \
	X(BFIND_U64, W, D, mode ? bf_ptx_bfind_shiftamt(bf_ptx_bfind_u64(a), 64) : bf_ptx_bfind_u64(a))                \
	X(BFIND_S64, W, D, mode ? bf_ptx_bfind_shiftamt(bf_ptx_bfind_s64(a), 64) : bf_ptx_bfind_s64(a))                \
	X(NEG_F32_MODE, W, W, bf_ptx_neg_f32(a, mode))                                                                 \
	X(ABS_F32_MODE, W, W, bf_ptx_abs_f32(a, mode))                                                                 \
	X(RCP_F32, W, W, bf_ptx_rcp_f32(a, mode))                                                                      \
	X(RCP_F64, D, D, bf_ptx_rcp_f64(a, mode))                                                                      \
	X(SQRT_F32, W, W, bf_ptx_sqrt_f32(a, mode))                                                                    \
	X(SQRT_F64, D, D, bf_ptx_sqrt_f64(a, mode))                                                                    \
	X(EX2_F32, W, W, bf_ptx_ex2_f32(a, mode))                                                                      \
	X(LG2_F32, W, W, bf_ptx_lg2_f32(a, mode))                                                                      \
	X(RCP_APPROX_F32, W, W, bf_ptx_rcp_approx_f32(a, mode))                                                        \
	X(RSQRT_F32, W, W, bf_ptx_rsqrt_f32(a, mode))                                                                  \
	X(SQRT_APPROX_F32, W, W, bf_ptx_sqrt_approx_f32(a, mode))                                                      \
	X(SIN_F32, W, W, bf_ptx_sin_f32(a, mode))                                                                      \
	X(COS_F32, W, W, bf_ptx_cos_f32(a, mode))                                                                      \
	X(TANH_F32, W, W, bf_ptx_tanh_f32(a, mode))                                                                    \
	X(RCP_APPROX_F64, D, D, bf_ptx_rcp_approx_f64(a))                                                              \
	X(RSQRT_F64, D, D, bf_ptx_rsqrt_f64(a, mode))                                                                  \
	X(NEG_F16, H, H, bf_ptx_half_neg(BF_PTX_F16, a, mode))                                                         \
	X(NEG_BF16, H, H, bf_ptx_half_neg(BF_PTX_BF16, a, mode))                                                       \
	X(ABS_F16, H, H, bf_ptx_half_abs(BF_PTX_F16, a, mode))                                                         \
	X(ABS_BF16, H, H, bf_ptx_half_abs(BF_PTX_BF16, a, mode))                                                       \
	X(EX2_F16, H, H, bf_ptx_half_ex2(BF_PTX_F16, a, mode))                                                         \
	X(EX2_BF16, H, H, bf_ptx_half_ex2(BF_PTX_BF16, a, mode))                                                       \
	X(TANH_F16, H, H, bf_ptx_half_tanh(BF_PTX_F16, a, mode))                                                       \
	X(TANH_BF16, H, H, bf_ptx_half_tanh(BF_PTX_BF16, a, mode))                                                     \
	X(NEG_F16X2, W, W, bf_ptx_pair1(bf_ptx_half_neg, BF_PTX_F16, a, mode))                                         \
	X(NEG_BF16X2, W, W, bf_ptx_pair1(bf_ptx_half_neg, BF_PTX_BF16, a, mode))                                       \
	X(ABS_F16X2, W, W, bf_ptx_pair1(bf_ptx_half_abs, BF_PTX_F16, a, mode))                                         \
	X(ABS_BF16X2, W, W, bf_ptx_pair1(bf_ptx_half_abs, BF_PTX_BF16, a, mode))                                       \
	X(EX2_F16X2, W, W, bf_ptx_pair1(bf_ptx_half_ex2, BF_PTX_F16, a, mode))                                         \
	X(EX2_BF16X2, W, W, bf_ptx_pair1(bf_ptx_half_ex2, BF_PTX_BF16, a, mode))                                       \
	X(TANH_F16X2, W, W, bf_ptx_pair1(bf_ptx_half_tanh, BF_PTX_F16, a, mode))                                       \
	X(TANH_BF16X2, W, W, bf_ptx_pair1(bf_ptx_half_tanh, BF_PTX_BF16, a, mode))                                     \
	X(CVT_32_32, W, W, BF_PTX_CVT(mode, a))                                \
	X(CVT_32_64, W, D, BF_PTX_CVT(mode, a))                                \
	X(CVT_64_32, D, W, BF_PTX_CVT(mode, a))                                \
	X(CVT_64_64, D, D, BF_PTX_CVT(mode, a))

/* X(NAME, destination, a, b, expression) */
#define BF_PTX_LANES_2_VECTOR(X)                                                                                       \
	X(ADD_16, H, H, H, a + b)                                                                                      \
	X(ADD_32, W, W, W, a + b)                                                                                      \
	X(ADD_64, D, D, D, a + b)                                                                                      \
	X(SUB_16, H, H, H, a - b)                                                                                      \
	X(SUB_32, W, W, W, a - b)                                                                                      \
	X(SUB_64, D, D, D, a - b)                                                                                      \
	X(MUL_16, H, H, H, (uint32_t)a * b)                                                                            \
	X(MUL_32, W, W, W, (a) * (b))                                                                                       \
	X(MUL_64, D, D, D, (a) * (b))                                                                                       \
	X(ADD_SAT_S32, W, W, W, bf_ptx_add_sat_s32(a, b))                                                              \
	X(SUB_SAT_S32, W, W, W, bf_ptx_sub_sat_s32(a, b))                                                              \
	X(MUL_HI_U16, H, H, H, bf_ptx_mul_hi_u16(a, b))                                                                \
	X(MUL_HI_S16, H, H, H, bf_ptx_mul_hi_s16(a, b))                                                                \
	X(MUL_HI_U32, W, W, W, bf_ptx_mul_hi_u32(a, b))                                                                \
	X(MUL_HI_S32, W, W, W, bf_ptx_mul_hi_s32(a, b))                                                                \
	X(MUL_HI_U64, D, D, D, bf_ptx_mul_hi_u64(a, b))                                                                \
	X(MUL_HI_S64, D, D, D, bf_ptx_mul_hi_s64(a, b))                                                                \
	X(MUL_WIDE_U16, W, H, H, bf_ptx_mul_wide_u16(a, b))                                                            \
	X(MUL_WIDE_S16, W, H, H, bf_ptx_mul_wide_s16(a, b))                                                            \
	X(MUL_WIDE_U32, D, W, W, bf_ptx_mul_wide_u32(a, b))                                                            \
	X(MUL_WIDE_S32, D, W, W, bf_ptx_mul_wide_s32(a, b))                                                            \
	X(MUL24_LO_U32, W, W, W, bf_ptx_mul24_lo_u32(a, b))                                                            \
	X(MUL24_HI_U32, W, W, W, bf_ptx_mul24_hi_u32(a, b))                                                            \
	X(MUL24_LO_S32, W, W, W, bf_ptx_mul24_lo_s32(a, b))                                                            \
	X(MUL24_HI_S32, W, W, W, bf_ptx_mul24_hi_s32(a, b))                                                            \
	X(MIN_S16, H, H, H, bf_ptx_min_s16(a, b))                                                                      \
	X(MIN_S32, W, W, W, bf_ptx_min_s32(a, b))                                                                      \
	X(MIN_S64, D, D, D, bf_ptx_min_s64(a, b))                                                                      \
	X(MIN_U16, H, H, H, bf_ptx_min_u16(a, b))                                                                      \
	X(MIN_U32, W, W, W, bf_ptx_min_u32(a, b))                                                                      \
	X(MIN_U64, D, D, D, bf_ptx_min_u64(a, b))                                                                      \
	X(MAX_S16, H, H, H, bf_ptx_max_s16(a, b))                                                                      \
	X(MAX_S32, W, W, W, bf_ptx_max_s32(a, b))                                                                      \
	X(MAX_S64, D, D, D, bf_ptx_max_s64(a, b))                                                                      \
	X(MAX_U16, H, H, H, bf_ptx_max_u16(a, b))                                                                      \
	X(MAX_U32, W, W, W, bf_ptx_max_u32(a, b))                                                                      \
	X(MAX_U64, D, D, D, bf_ptx_max_u64(a, b))                                                                      \
	X(MIN_RELU_S32, W, W, W, bf_ptx_relu_s32(bf_ptx_min_s32(a, b)))                                                \
	X(MAX_RELU_S32, W, W, W, bf_ptx_relu_s32(bf_ptx_max_s32(a, b)))                                                \
	X(ADD_U16X2, W, W, W, bf_ptx_add_u16x2(a, b))                                                                  \
	X(MIN_U16X2, W, W, W, bf_ptx_min_u16x2(a, b))                                                                  \
	X(MAX_U16X2, W, W, W, bf_ptx_max_u16x2(a, b))                                                                  \
	X(MIN_S16X2, W, W, W, bf_ptx_min_s16x2(a, b))                                                                  \
	X(MAX_S16X2, W, W, W, bf_ptx_max_s16x2(a, b))                                                                  \
	X(MIN_RELU_S16X2, W, W, W, bf_ptx_relu_s16x2(bf_ptx_min_s16x2(a, b)))                                          \
	X(MAX_RELU_S16X2, W, W, W, bf_ptx_relu_s16x2(bf_ptx_max_s16x2(a, b)))                                          \
	X(AND_32, W, W, W, (a) & (b))                                                                                       \
	X(AND_64, D, D, D, (a) & (b))                                                                                       \
	X(OR_32, W, W, W, a | b)                                                                                       \
	X(OR_64, D, D, D, a | b)                                                                                       \
	X(XOR_32, W, W, W, a ^ b)                                                                                      \
	X(XOR_64, D, D, D, a ^ b)                                                                                      \
	X(SHL_16, H, H, W, bf_ptx_shl_b16(a, b))                                                                       \
	X(SHL_32, W, W, W, bf_ptx_shl_b32(a, b))                                                                       \
	X(SHL_64, D, D, W, bf_ptx_shl_b64(a, b))                                                                       \
	X(SHR_U16, H, H, W, bf_ptx_shr_u16(a, b))                                                                      \
	X(SHR_U32, W, W, W, bf_ptx_shr_u32(a, b))                                                                      \
	X(SHR_U64, D, D, W, bf_ptx_shr_u64(a, b))                                                                      \
	X(SHR_S16, H, H, W, bf_ptx_shr_s16(a, b))                                                                      \
	X(SHR_S32, W, W, W, bf_ptx_shr_s32(a, b))                                                                      \
	X(SHR_S64, D, D, W, bf_ptx_shr_s64(a, b))                                                                      \
	X(SZEXT_CLAMP_U32, W, W, W, bf_ptx_szext_clamp_u32(a, b))                                                      \
	X(SZEXT_CLAMP_S32, W, W, W, bf_ptx_szext_clamp_s32(a, b))                                                      \
	X(SZEXT_WRAP_U32, W, W, W, bf_ptx_szext_wrap_u32(a, b))                                                        \
	X(SZEXT_WRAP_S32, W, W, W, bf_ptx_szext_wrap_s32(a, b))                                                        \
	X(BMSK_CLAMP, W, W, W, bf_ptx_bmsk_clamp_b32(a, b))                                                            \
	X(BMSK_WRAP, W, W, W, bf_ptx_bmsk_wrap_b32(a, b))                                                              \
	X(PACK_64, D, W, W, a | (uint64_t)b << 32)                                                                     \
	X(PACK_32, W, H, H, a | (uint32_t)b << 16)                                                                     \
	X(PACK_16, W, W, W, (a & 0xff) | (b & 0xff) << 8)                                                              \
	X(ADD_F32, W, W, W, bf_ptx_add_f32(a, b, 0))                                                                   \
	X(SUB_F32, W, W, W, bf_ptx_sub_f32(a, b, 0))                                                                   \
	X(MUL_F32, W, W, W, bf_ptx_mul_f32(a, b, 0))                                                                   \
	X(MIN_F32, W, W, W, bf_ptx_min_f32(a, b, 0))                                                                   \
	X(MAX_F32, W, W, W, bf_ptx_max_f32(a, b, 0))                                                                   \
	X(ADD_FTZ_F32, W, W, W, bf_ptx_add_f32(a, b, BF_PTX_MODE_FTZ))                                                 \
	X(SUB_FTZ_F32, W, W, W, bf_ptx_sub_f32(a, b, BF_PTX_MODE_FTZ))                                                 \
	X(MUL_FTZ_F32, W, W, W, bf_ptx_mul_f32(a, b, BF_PTX_MODE_FTZ))                                                 \
	X(ADD_F64, D, D, D, bf_ptx_add_f64(a, b, 0))                                                                   \
	X(SUB_F64, D, D, D, bf_ptx_sub_f64(a, b, 0))                                                                   \
	X(MUL_F64, D, D, D, bf_ptx_mul_f64(a, b, 0))                                                                   \
	X(COPYSIGN_F32, W, W, W, bf_ptx_copysign_f32(a, b))                                                            \
	X(COPYSIGN_F64, D, D, D, bf_ptx_copysign_f64(a, b))

#define BF_PTX_LANES_2(X)                                                                                              \
	X(DIV_U16, H, H, H, bf_ptx_div_u16(a, b))                                                                      \
	X(DIV_S16, H, H, H, bf_ptx_div_s16(a, b))                                                                      \
	X(DIV_U32, W, W, W, bf_ptx_div_u32(a, b))                                                                      \
	X(DIV_S32, W, W, W, bf_ptx_div_s32(a, b))                                                                      \
	X(DIV_U64, D, D, D, bf_ptx_div_u64(a, b))                                                                      \
	X(DIV_S64, D, D, D, bf_ptx_div_s64(a, b))                                                                      \
	X(REM_U16, H, H, H, bf_ptx_rem_u16(a, b))                                                                      \
	X(REM_S16, H, H, H, bf_ptx_rem_s16(a, b))                                                                      \
	X(REM_U32, W, W, W, bf_ptx_rem_u32(a, b))                                                                      \
	X(REM_S32, W, W, W, bf_ptx_rem_s32(a, b))                                                                      \
	X(REM_U64, D, D, D, bf_ptx_rem_u64(a, b))                                                                      \
	X(REM_S64, D, D, D, bf_ptx_rem_s64(a, b))                                                                      \
	X(ADD_F32_MODE, W, W, W, bf_ptx_add_f32(a, b, mode))                                                           \
	X(SUB_F32_MODE, W, W, W, bf_ptx_sub_f32(a, b, mode))                                                           \
	X(MUL_F32_MODE, W, W, W, bf_ptx_mul_f32(a, b, mode))                                                           \
	X(DIV_F32, W, W, W, bf_ptx_div_f32(a, b, mode))                                                                \
	X(DIV_APPROX_F32, W, W, W, bf_ptx_div_approx_f32(a, b, mode))                                                  \
	X(DIV_FULL_F32, W, W, W, bf_ptx_div_full_f32(a, b, mode))                                                      \
	X(MIN_F32_MODE, W, W, W, bf_ptx_min_f32(a, b, mode))                                                           \
	X(MAX_F32_MODE, W, W, W, bf_ptx_max_f32(a, b, mode))                                                           \
	X(ADD_F64_MODE, D, D, D, bf_ptx_add_f64(a, b, mode))                                                           \
	X(SUB_F64_MODE, D, D, D, bf_ptx_sub_f64(a, b, mode))                                                           \
	X(MUL_F64_MODE, D, D, D, bf_ptx_mul_f64(a, b, mode))                                                           \
	X(DIV_F64, D, D, D, bf_ptx_div_f64(a, b, mode))                                                                \
	X(MIN_F64, D, D, D, bf_ptx_min_f64(a, b))                                                                      \
	X(MAX_F64, D, D, D, bf_ptx_max_f64(a, b))                                                                      \
	X(ADD_F16, H, H, H, bf_ptx_half_add(BF_PTX_F16, a, b, mode))                                                   \
	X(SUB_F16, H, H, H, bf_ptx_half_sub(BF_PTX_F16, a, b, mode))                                                   \
	X(MUL_F16, H, H, H, bf_ptx_half_mul(BF_PTX_F16, a, b, mode))                                                   \
	X(MIN_F16, H, H, H, bf_ptx_half_min(BF_PTX_F16, a, b, mode))                                                   \
	X(MAX_F16, H, H, H, bf_ptx_half_max(BF_PTX_F16, a, b, mode))                                                   \
	X(ADD_BF16, H, H, H, bf_ptx_half_add(BF_PTX_BF16, a, b, mode))                                                 \
	X(SUB_BF16, H, H, H, bf_ptx_half_sub(BF_PTX_BF16, a, b, mode))                                                 \
	X(MUL_BF16, H, H, H, bf_ptx_half_mul(BF_PTX_BF16, a, b, mode))                                                 \
	X(MIN_BF16, H, H, H, bf_ptx_half_min(BF_PTX_BF16, a, b, mode))                                                 \
	X(MAX_BF16, H, H, H, bf_ptx_half_max(BF_PTX_BF16, a, b, mode))                                                 \
	X(ADD_F16X2, W, W, W, bf_ptx_pair2(bf_ptx_half_add, BF_PTX_F16, a, b, mode))                                   \
	X(SUB_F16X2, W, W, W, bf_ptx_pair2(bf_ptx_half_sub, BF_PTX_F16, a, b, mode))                                   \
	X(MUL_F16X2, W, W, W, bf_ptx_pair2(bf_ptx_half_mul, BF_PTX_F16, a, b, mode))                                   \
	X(MIN_F16X2, W, W, W, bf_ptx_pair2(bf_ptx_half_min, BF_PTX_F16, a, b, mode))                                   \
	X(MAX_F16X2, W, W, W, bf_ptx_pair2(bf_ptx_half_max, BF_PTX_F16, a, b, mode))                                   \
	X(ADD_BF16X2, W, W, W, bf_ptx_pair2(bf_ptx_half_add, BF_PTX_BF16, a, b, mode))                                 \
	X(SUB_BF16X2, W, W, W, bf_ptx_pair2(bf_ptx_half_sub, BF_PTX_BF16, a, b, mode))                                 \
	X(MUL_BF16X2, W, W, W, bf_ptx_pair2(bf_ptx_half_mul, BF_PTX_BF16, a, b, mode))                                 \
	X(MIN_BF16X2, W, W, W, bf_ptx_pair2(bf_ptx_half_min, BF_PTX_BF16, a, b, mode))                                 \
	X(MAX_BF16X2, W, W, W, bf_ptx_pair2(bf_ptx_half_max, BF_PTX_BF16, a, b, mode))                                 \
	X(CVT_PAIR, W, W, W, bf_ptx_cvt_pair((enum bf_ptx_type)(mode >> 24), mode & 0xffff, a, b))

/* X(NAME, destination, a, b, c, expression) */
#define BF_PTX_LANES_3_VECTOR(X)                                                                                       \
	X(MAD_16, H, H, H, H, (uint32_t)a * (b) + c)                                                                      \
	X(MAD_32, W, W, W, W, (a) * (b) + c)                                                                                \
	X(MAD_64, D, D, D, D, (a) * (b) + c)                                                                                \
	X(MAD_HI_U16, H, H, H, H, bf_ptx_mul_hi_u16(a, b) + c)                                                         \
	X(MAD_HI_S16, H, H, H, H, bf_ptx_mul_hi_s16(a, b) + c)                                                         \
	X(MAD_HI_U32, W, W, W, W, bf_ptx_mul_hi_u32(a, b) + c)                                                         \
	X(MAD_HI_S32, W, W, W, W, bf_ptx_mul_hi_s32(a, b) + c)                                                         \
	X(MAD_HI_U64, D, D, D, D, bf_ptx_mul_hi_u64(a, b) + c)                                                         \
	X(MAD_HI_S64, D, D, D, D, bf_ptx_mul_hi_s64(a, b) + c)                                                         \
	X(MAD_HI_SAT_S32, W, W, W, W, bf_ptx_mad_hi_sat_s32(a, b, c))                                                  \
	X(MAD_WIDE_U16, W, H, H, W, bf_ptx_mul_wide_u16(a, b) + c)                                                     \
	X(MAD_WIDE_S16, W, H, H, W, bf_ptx_mul_wide_s16(a, b) + c)                                                     \
	X(MAD_WIDE_U32, D, W, W, D, bf_ptx_mul_wide_u32(a, b) + c)                                                     \
	X(MAD_WIDE_S32, D, W, W, D, bf_ptx_mul_wide_s32(a, b) + c)                                                     \
	X(MAD24_LO_U32, W, W, W, W, bf_ptx_mul24_lo_u32(a, b) + c)                                                     \
	X(MAD24_HI_U32, W, W, W, W, bf_ptx_mul24_hi_u32(a, b) + c)                                                     \
	X(MAD24_LO_S32, W, W, W, W, bf_ptx_mul24_lo_s32(a, b) + c)                                                     \
	X(MAD24_HI_S32, W, W, W, W, bf_ptx_mul24_hi_s32(a, b) + c)                                                     \
	X(MAD24_HI_SAT_S32, W, W, W, W, bf_ptx_mad24_hi_sat_s32(a, b, c))                                              \
	X(SAD_U16, H, H, H, H, bf_ptx_sad_u16(a, b, c))                                                                \
	X(SAD_S16, H, H, H, H, bf_ptx_sad_s16(a, b, c))                                                                \
	X(SAD_U32, W, W, W, W, bf_ptx_sad_u32(a, b, c))                                                                \
	X(SAD_S32, W, W, W, W, bf_ptx_sad_s32(a, b, c))                                                                \
	X(SAD_U64, D, D, D, D, bf_ptx_sad_u64(a, b, c))                                                                \
	X(SAD_S64, D, D, D, D, bf_ptx_sad_s64(a, b, c))                                                                \
	X(SHF_L_WRAP, W, W, W, W, bf_ptx_shf_l_wrap(a, b, c))                                                          \
	X(SHF_R_WRAP, W, W, W, W, bf_ptx_shf_r_wrap(a, b, c))                                                          \
	X(SHF_L_CLAMP, W, W, W, W, bf_ptx_shf_l_clamp(a, b, c))                                                        \
	X(SHF_R_CLAMP, W, W, W, W, bf_ptx_shf_r_clamp(a, b, c))                                                        \
	X(BFE_U32, W, W, W, W, bf_ptx_bfe_u32(a, b, c))                                                                \
	X(BFE_S32, W, W, W, W, bf_ptx_bfe_s32(a, b, c))                                                                \
	X(BFE_U64, D, D, W, W, bf_ptx_bfe_u64(a, b, c))                                                                \
	X(BFE_S64, D, D, W, W, bf_ptx_bfe_s64(a, b, c))                                                                \
	X(LOP3, W, W, W, W, bf_ptx_lop3_b32(a, b, c, mode))                                                            \
	X(LOP3_XOR, W, W, W, W, a ^ b ^ c)                                                                             \
	X(LOP3_SELECT, W, W, W, W, (a & b) | (~a & c))                                                                 \
	X(LOP3_MAJORITY, W, W, W, W, (a & b) | (c & (a | b)))                                                          \
	X(PRMT, W, W, W, W, bf_ptx_prmt_b32(a, b, c))                                                                  \
	X(FMA_F32, W, W, W, W, bf_ptx_fma_f32(a, b, c, 0))                                                             \
	X(FMA_FTZ_F32, W, W, W, W, bf_ptx_fma_f32(a, b, c, BF_PTX_MODE_FTZ))                                           \
	X(SLCT_32_S32, W, W, W, W, (int32_t)c >= 0 ? a : b)                                                            \
	X(SLCT_64_S32, D, D, D, W, (int32_t)c >= 0 ? a : b)

#define BF_PTX_LANES_3(X)                                                                                              \
	X(PRMT_MODE, W, W, W, W, bf_ptx_prmt_b32(a, b, bf_ptx_prmt_selector((enum bf_ptx_sub)mode, c)))          \
	X(DP4A, W, W, W, W, bf_ptx_dp4a(a, mode & 1, b, mode & 2, c))                                                  \
	X(DP2A, W, W, W, W, bf_ptx_dp2a(a, mode & 1, b, mode & 2, c, mode & 4))                                        \
	X(FNS, W, W, W, W, bf_ptx_fns_b32(a, b, c))                                                                    \
	X(VABSDIFF4, W, W, W, W, vabsdiff4(mode, a, b, c))                                                      \
	X(CVT_PACK, W, W, W, W, bf_ptx_cvt_pack((enum bf_ptx_type)(mode >> 24), mode & 1, a, b, c))    \
	X(FMA_F32_MODE, W, W, W, W, bf_ptx_fma_f32(a, b, c, mode))                                                     \
	X(FMA_F64, D, D, D, D, bf_ptx_fma_f64(a, b, c, mode))                                                          \
	X(FMA_F16, H, H, H, H, bf_ptx_half_fma(BF_PTX_F16, a, b, c, mode))                                             \
	X(FMA_BF16, H, H, H, H, bf_ptx_half_fma(BF_PTX_BF16, a, b, c, mode))                                           \
	X(FMA_F16X2, W, W, W, W, bf_ptx_pair_fma(BF_PTX_F16, a, b, c, mode))                                           \
	X(FMA_BF16X2, W, W, W, W, bf_ptx_pair_fma(BF_PTX_BF16, a, b, c, mode))                                         \
	X(SLCT_32_F32, W, W, W, W, bf_ptx_slct_f32(c, mode) ? a : b)                                                   \
	X(SLCT_64_F32, D, D, D, W, bf_ptx_slct_f32(c, mode) ? a : b)

/* X(NAME, destination, a, b, c, e, expression) */
#define BF_PTX_LANES_4_VECTOR(X)                                                                                       \
	X(BFI_32, W, W, W, W, W, bf_ptx_bfi_b32(a, b, c, e))                                                           \
	X(BFI_64, D, D, D, W, W, bf_ptx_bfi_b64(a, b, c, e))

/*
 * Comparisons: X(NAME, a, b, condition). They write predicate d, its complement to e unless that is NONE, each after
 * the Boolean operator of `mode` with predicate c.
 */
#define BF_PTX_LANES_COMPARE_VECTOR(X)                                                                                 \
	X(EQ_32, W, W, a == b)                                                                                         \
	X(NE_32, W, W, a != b)                                                                                         \
	X(LT_U32, W, W, a < b)                                                                                         \
	X(LE_U32, W, W, a <= b)                                                                                        \
	X(LT_S32, W, W, (int32_t)a < (int32_t)b)                                                                       \
	X(LE_S32, W, W, (int32_t)a <= (int32_t)b)                                                                      \
	X(LT_S16, H, H, (int16_t)a < (int16_t)b)                                                                       \
	X(LE_S16, H, H, (int16_t)a <= (int16_t)b)                                                                      \
	X(EQ_64, D, D, a == b)                                                                                         \
	X(NE_64, D, D, a != b)                                                                                         \
	X(LT_U64, D, D, a < b)                                                                                         \
	X(LE_U64, D, D, a <= b)                                                                                        \
	X(LT_S64, D, D, (int64_t)a < (int64_t)b)                                                                       \
	X(LE_S64, D, D, (int64_t)a <= (int64_t)b)                                                                      \
	X(EQ_F32, W, W, bf_ptx_compare_f32(BF_PTX_CMP_EQ, a, b, 0))                                                        \
	X(NE_F32, W, W, bf_ptx_compare_f32(BF_PTX_CMP_NE, a, b, 0))                                                        \
	X(LT_F32, W, W, bf_ptx_compare_f32(BF_PTX_CMP_LT, a, b, 0))                                                        \
	X(LE_F32, W, W, bf_ptx_compare_f32(BF_PTX_CMP_LE, a, b, 0))                                                        \
	X(GT_F32, W, W, bf_ptx_compare_f32(BF_PTX_CMP_GT, a, b, 0))                                                        \
	X(GE_F32, W, W, bf_ptx_compare_f32(BF_PTX_CMP_GE, a, b, 0))

/* Here `mode` >> 8 is the comparison, its low byte as above; bits 31:16 are modes of float.h. */
#define BF_PTX_LANES_COMPARE(X)                                                                                        \
	X(COMPARE_F32, W, W, bf_ptx_compare_f32((enum bf_ptx_cmp)(mode >> 8 & 0xff), a, b, mode >> 16))            \
	X(COMPARE_F64, D, D, bf_ptx_compare_f64((enum bf_ptx_cmp)(mode >> 8 & 0xff), a, b))                        \
	X(COMPARE_F16, H, H,                                                                                           \
	  bf_ptx_half_compare(BF_PTX_F16, (enum bf_ptx_cmp)(mode >> 8 & 0xff), a, b, mode >> 16))                  \
	X(COMPARE_BF16, H, H,                                                                                          \
	  bf_ptx_half_compare(BF_PTX_BF16, (enum bf_ptx_cmp)(mode >> 8 & 0xff), a, b, mode >> 16))                 \
	X(TESTP_F32, W, W, bf_ptx_testp_f32((enum bf_ptx_sub)(mode >> 8 & 0xff), a | (b & 0)))                       \
	X(TESTP_F64, D, D, bf_ptx_testp_f64((enum bf_ptx_sub)(mode >> 8 & 0xff), a | (b & 0)))

/* clang-format on */
/* The low byte of a comparison's mode. */
enum bf_ptx_combine {
	BF_PTX_COMBINE_NONE,
	BF_PTX_COMBINE_AND,
	BF_PTX_COMBINE_OR,
	BF_PTX_COMBINE_XOR,
	BF_PTX_COMBINE_INVERT = 4, /* the third operand is !c */
};

/* A row out of one or the other by a predicate: selp. X(NAME, row) */
#define BF_PTX_LANES_SELECT(X)                                                                                         \
	X(SELP_32, W)                                                                                                  \
	X(SELP_64, D)

/* clang-format off */
/* Extended precision: X(NAME, row, suffix, call) over a, b, c and `carry`. */
#define BF_PTX_LANES_CARRY(X)                                                                                          \
	X(ADDC_32, W, 32, bf_ptx_addc_b32(a, b, carry))                                                          \
	X(SUBC_32, W, 32, bf_ptx_subc_b32(a, b, carry))                                                          \
	X(MADC_LO_32, W, 32, bf_ptx_addc_b32((a) * (b), c, carry))                                                   \
	X(MADC_HI_U32, W, 32, bf_ptx_addc_b32(bf_ptx_mul_hi_u32(a, b), c, carry))                               \
	X(MADC_HI_S32, W, 32, bf_ptx_addc_b32(bf_ptx_mul_hi_s32(a, b), c, carry))                               \
	X(ADDC_64, D, 64, bf_ptx_addc_b64(a, b, carry))                                                          \
	X(SUBC_64, D, 64, bf_ptx_subc_b64(a, b, carry))                                                          \
	X(MADC_LO_64, D, 64, bf_ptx_addc_b64((a) * (b), c, carry))                                                   \
	X(MADC_HI_U64, D, 64, bf_ptx_addc_b64(bf_ptx_mul_hi_u64(a, b), c, carry))                               \
	X(MADC_HI_S64, D, 64, bf_ptx_addc_b64(bf_ptx_mul_hi_s64(a, b), c, carry))

/* clang-format on */
/* mode of these: where the carry in comes from, and whether it goes out. */
enum bf_ptx_carry_mode {
	BF_PTX_CARRY_ZERO,
	BF_PTX_CARRY_ONE,
	BF_PTX_CARRY_IN,
	BF_PTX_CARRY_OUT = 4,
};

enum bf_ptx_lane_op {
#define X(name, ...) BF_PTX_LANE_##name,
	BF_PTX_LANES_1_VECTOR(X) BF_PTX_LANES_1(X) BF_PTX_LANES_2_VECTOR(X) BF_PTX_LANES_2(X) BF_PTX_LANES_3_VECTOR(X)
	    BF_PTX_LANES_3(X) BF_PTX_LANES_4_VECTOR(X) BF_PTX_LANES_COMPARE_VECTOR(X) BF_PTX_LANES_COMPARE(X)
		BF_PTX_LANES_SELECT(X) BF_PTX_LANES_CARRY(X)
#undef X
		    BF_PTX_LANE_LOAD,
	BF_PTX_LANE_LOAD_QUICK, /* of what bf_ptx_lower_access() makes, those that quick_load() in decode.c takes */
	BF_PTX_LANE_STORE,
	BF_PTX_LANE_OPS
};

#endif
