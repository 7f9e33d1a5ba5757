/*
 * PTX's arithmetic: corners as an H100 gave them, software against the host's own arithmetic in every rounding, the
 * inlined short cuts against the general functions, and the bounds of the approximations (PTX ISA 9.2, section 9.7.3).
 */
#include <check.h>
#include <fenv.h>
#include <math.h>
#include <stdlib.h>

#include "models/ptx/approx.h"
#include "models/ptx/convert.h"
#include "sim/rng.h"

static const int host_round[4] = { FE_TONEAREST, FE_TOWARDZERO, FE_DOWNWARD, FE_UPWARD };

/* Bits with many zeros, ones, special exponents and numbers near each other. */
static uint32_t some32(struct bf_rng *rng)
{
	static const uint32_t special[8] = { 0, 1, 0x800000, 0x7fffff, 0x7f800000, 0x3f800000, 0x7f7fffff, 0x7fc00000 };
	const uint32_t sign = (uint32_t)bf_rng_next(rng) & 0x80000000u, bits = (uint32_t)bf_rng_next(rng);

	switch (bf_rng_next(rng) & 3) {
	case 0:
		return bits;
	case 1:
		return (bits & 0x807fffffu) | (120 + (uint32_t)(bf_rng_next(rng) & 15)) << 23;
	case 2:
		return special[bits & 7] | sign;
	default:
		return (bits & (uint32_t)bf_rng_next(rng) & 0x807fffffu) | (bits >> 8 & 31) << 23;
	}
}

static uint64_t some64(struct bf_rng *rng)
{
	static const uint64_t special[8] = { 0,
					     1,
					     1ull << 52,
					     (1ull << 52) - 1,
					     0x7ff0ull << 48,
					     0x3ff0ull << 48,
					     0x7fefffffffffffffull,
					     0x7ff8ull << 48 };
	const uint64_t sign = bf_rng_next(rng) & 1ull << 63, bits = bf_rng_next(rng);

	switch (bf_rng_next(rng) & 3) {
	case 0:
		return bits;
	case 1:
		return (bits & 0x800fffffffffffffull) | (1015 + (bf_rng_next(rng) & 15)) << 52;
	case 2:
		return special[bits & 7] | sign;
	default:
		return (bits & bf_rng_next(rng) & 0x800fffffffffffffull) | (bits >> 8 & 63) << 52;
	}
}

static uint32_t host32(float value)
{
	const uint32_t bits = bf_ptx_bits32(value);

	return bf_ptx_is_nan_f32(bits) ? BF_PTX_NAN_F32 : bits;
}

/* All NaNs of f64 as one: which one it is has a test of its own. */
static uint64_t one_nan(uint64_t bits)
{
	return bf_ptx_is_nan_f64(bits) ? 1 : bits;
}

START_TEST(software_is_the_hosts_arithmetic_in_every_rounding)
{
	struct bf_rng rng;

	bf_rng_init(&rng, 1, "f32");
	for (int i = 0; i < 10000; i++) {
		const unsigned mode = (unsigned)i & 3;
		const uint32_t x = some32(&rng), y = some32(&rng), z = some32(&rng);
		volatile float a = bf_ptx_float(x), b = bf_ptx_float(y), c = bf_ptx_float(z);
		volatile float sum, product, quotient, fused, root, whole;

		fesetround(host_round[mode]);
		sum = a + b;
		product = a * b;
		quotient = a / b;
		fused = fmaf(a, b, c);
		root = sqrtf(a);
		fesetround(FE_TONEAREST);
		whole = mode == 0 ? rintf(a) : mode == 1 ? truncf(a) : mode == 2 ? floorf(a) : ceilf(a);
		ck_assert_uint_eq(bf_ptx_soft_add_f32(x, y, mode), host32(sum));
		ck_assert_uint_eq(bf_ptx_soft_mul_f32(x, y, mode), host32(product));
		ck_assert_uint_eq(bf_ptx_soft_div_f32(x, y, mode), host32(quotient));
		ck_assert_uint_eq(bf_ptx_soft_fma_f32(x, y, z, mode), host32(fused));
		ck_assert_uint_eq(bf_ptx_sqrt_f32(x, mode), host32(root));
		if (!bf_ptx_is_nan_f32(x))
			ck_assert_uint_eq(bf_ptx_cvt(BF_PTX_F32, BF_PTX_F32, mode | BF_PTX_MODE_INTEGER, x),
					  host32(whole));
	}
}
END_TEST

START_TEST(software_is_the_hosts_double_arithmetic_in_every_rounding)
{
	struct bf_rng rng;

	bf_rng_init(&rng, 1, "f64");
	for (int i = 0; i < 10000; i++) {
		const unsigned mode = (unsigned)i & 3;
		const uint64_t x = some64(&rng), y = some64(&rng), z = some64(&rng);
		volatile double a = bf_ptx_double(x), b = bf_ptx_double(y), c = bf_ptx_double(z);
		volatile double sum, product, quotient, fused, root, of_integer;
		volatile float narrow, narrow_of_integer;
		volatile uint64_t integer = x;

		fesetround(host_round[mode]);
		sum = a + b;
		product = a * b;
		quotient = a / b;
		fused = fma(a, b, c);
		root = sqrt(a);
		narrow = (float)a;
		of_integer = (double)(int64_t)integer;
		narrow_of_integer = (float)integer;
		fesetround(FE_TONEAREST);
		ck_assert_uint_eq(one_nan(bf_ptx_soft_add_f64(x, y, mode)), one_nan(bf_ptx_bits64(sum)));
		ck_assert_uint_eq(one_nan(bf_ptx_soft_mul_f64(x, y, mode)), one_nan(bf_ptx_bits64(product)));
		ck_assert_uint_eq(one_nan(bf_ptx_soft_div_f64(x, y, mode)), one_nan(bf_ptx_bits64(quotient)));
		ck_assert_uint_eq(one_nan(bf_ptx_soft_fma_f64(x, y, z, mode)), one_nan(bf_ptx_bits64(fused)));
		ck_assert_uint_eq(one_nan(bf_ptx_sqrt_f64(x, mode)), one_nan(bf_ptx_bits64(root)));
		ck_assert_uint_eq(bf_ptx_cvt(BF_PTX_F64, BF_PTX_S64, mode, x), bf_ptx_bits64(of_integer));
		ck_assert_uint_eq(bf_ptx_cvt(BF_PTX_F32, BF_PTX_U64, mode, x), bf_ptx_bits32(narrow_of_integer));
		if (!bf_ptx_is_nan_f64(x))
			ck_assert_uint_eq(bf_ptx_cvt(BF_PTX_F32, BF_PTX_F64, mode, x), bf_ptx_bits32(narrow));
	}
}
END_TEST

START_TEST(short_cuts_are_the_general_functions)
{
	struct bf_rng rng;

	bf_rng_init(&rng, 2, "short");
	for (int i = 0; i < 12000; i++) {
		const uint32_t a = some32(&rng), b = some32(&rng), c = some32(&rng);
		const uint64_t wide = some64(&rng);
		const unsigned mode = (i & 1 ? BF_PTX_MODE_FTZ : 0u) | (i & 2 ? BF_PTX_MODE_SAT : 0u);

		ck_assert_uint_eq(bf_ptx_add_f32(a, b, mode), bf_ptx_soft_add_f32(a, b, mode));
		ck_assert_uint_eq(bf_ptx_mul_f32(a, b, mode), bf_ptx_soft_mul_f32(a, b, mode));
		ck_assert_uint_eq(bf_ptx_fma_f32(a, b, c, mode), bf_ptx_soft_fma_f32(a, b, c, mode));
		ck_assert_uint_eq(bf_ptx_cvt_rzi_s32_f32(a),
				  (uint32_t)bf_ptx_cvt(BF_PTX_S32, BF_PTX_F32, BF_PTX_MODE_RZ, a));
		ck_assert_uint_eq(bf_ptx_cvt_rzi_u32_f32(a),
				  (uint32_t)bf_ptx_cvt(BF_PTX_U32, BF_PTX_F32, BF_PTX_MODE_RZ, a));
		ck_assert_uint_eq(bf_ptx_cvt_f16_f32(a), bf_ptx_cvt(BF_PTX_F16, BF_PTX_F32, 0, a));
		ck_assert_uint_eq(bf_ptx_cvt_bf16_f32(a), bf_ptx_cvt(BF_PTX_BF16, BF_PTX_F32, 0, a));
		ck_assert_uint_eq(bf_ptx_cvt_f64_f32(a), bf_ptx_cvt(BF_PTX_F64, BF_PTX_F32, 0, a));
		ck_assert_uint_eq(bf_ptx_cvt_f32_f64(wide), bf_ptx_cvt(BF_PTX_F32, BF_PTX_F64, 0, wide));
		ck_assert_uint_eq(bf_ptx_cvt_f32_s32(a), bf_ptx_cvt(BF_PTX_F32, BF_PTX_S32, 0, a));
		ck_assert_uint_eq(bf_ptx_cvt_f32_u32(a), bf_ptx_cvt(BF_PTX_F32, BF_PTX_U32, 0, a));
		ck_assert_uint_eq(bf_ptx_cvt_f64_s32(a), bf_ptx_cvt(BF_PTX_F64, BF_PTX_S32, 0, a));
		ck_assert_uint_eq(bf_ptx_cvt_f64_u32(a), bf_ptx_cvt(BF_PTX_F64, BF_PTX_U32, 0, a));
	}
	for (uint32_t a = 0; a < 65536; a += 3) {
		ck_assert_uint_eq(bf_ptx_cvt_f32_f16((uint16_t)a), bf_ptx_cvt(BF_PTX_F32, BF_PTX_F16, 0, a));
		ck_assert_uint_eq(bf_ptx_cvt_f32_bf16((uint16_t)a), bf_ptx_cvt(BF_PTX_F32, BF_PTX_BF16, 0, a));
	}
}
END_TEST

/* Small formats have every number tried: up and down again is the number. */
START_TEST(small_numbers_come_back)
{
	for (uint32_t a = 0; a < 65536; a++) {
		const uint32_t f16 = bf_ptx_cvt_f32_f16((uint16_t)a), bf16 = bf_ptx_cvt_f32_bf16((uint16_t)a);

		ck_assert_uint_eq(bf_ptx_cvt_f16_f32(f16), bf_ptx_is_nan_f16((uint16_t)a) ? BF_PTX_NAN_F16 : a);
		ck_assert_uint_eq(bf_ptx_cvt_bf16_f32(bf16), bf_ptx_is_nan_bf16((uint16_t)a) ? BF_PTX_NAN_F16 : a);
	}
	for (uint32_t a = 0; a < 65536; a++) {
		const uint32_t pair = (uint32_t)bf_ptx_cvt(BF_PTX_F16X2, BF_PTX_E4M3X2, 0, a);
		const bool nan = (a & 0x7f) == 0x7f || (a >> 8 & 0x7f) == 0x7f;

		if (!nan)
			ck_assert_uint_eq(bf_ptx_cvt(BF_PTX_E4M3X2, BF_PTX_F16X2, BF_PTX_MODE_SATFINITE, pair), a);
	}
}
END_TEST

/* One bit pattern after another, as an H100 (driver 580, CUDA 13.0) gave them. */
START_TEST(corners_of_integers)
{
	struct bf_ptx_carry32 borrow = bf_ptx_subc_b32(5, 7, 1);

	ck_assert_uint_eq(bf_ptx_addc_b32(0, 0, borrow.carry).value, 0);
	borrow = bf_ptx_subc_b32(7, 5, 1);
	ck_assert_uint_eq(bf_ptx_addc_b32(0, 0, borrow.carry).value, 1);
	ck_assert_uint_eq(bf_ptx_div_s32(0x80000000, 0xffffffff), 0x80000000);
	ck_assert_uint_eq(bf_ptx_rem_s64(1ull << 63, ~0ull), 0);
	ck_assert_uint_eq(bf_ptx_div_u16(5, 0), 0xffff);
	ck_assert_uint_eq(bf_ptx_rem_s16(5, 0), 0xffff);
	ck_assert_uint_eq(bf_ptx_shl_b16(1, 16), 0);
	ck_assert_uint_eq(bf_ptx_shr_s32(0x80000000, ~0u), ~0u);
	ck_assert_uint_eq(bf_ptx_shf_l_clamp(1, 2, 33), 1);
	ck_assert_uint_eq(bf_ptx_shf_r_wrap(1, 2, 32), 1);
	ck_assert_uint_eq(bf_ptx_bfe_s32(0x80000000, 31, 5), ~0u);
	ck_assert_uint_eq(bf_ptx_bfe_u32(0xff, 256, 4), 0xf);
	ck_assert_uint_eq(bf_ptx_bfe_u64(0xff, 256, 4), 0);
	ck_assert_uint_eq(bf_ptx_bfi_b32(~0u, 5, 32, 4), 5);
	ck_assert_uint_eq(bf_ptx_bfind_s32(~0u), ~0u);
	ck_assert_uint_eq(bf_ptx_bfind_shiftamt(bf_ptx_bfind_u64(1), 64), 63);
	ck_assert_uint_eq(bf_ptx_fns_b32(0xb0, 4, 2), 5);
	ck_assert_uint_eq(bf_ptx_fns_b32(0xb0, 32, 1), ~0u);
	ck_assert_uint_eq(bf_ptx_fns_b32(0xb0, 40, 1u << 31), 0);
	ck_assert_uint_eq(bf_ptx_bmsk_clamp_b32(32, 4), 0);
	ck_assert_uint_eq(bf_ptx_szext_wrap_s32(0xff, 32), 0);
	ck_assert_uint_eq(bf_ptx_prmt_b32(0x03020180, 0x07060504, 0x7608), 0x070680ff);
	ck_assert_uint_eq(bf_ptx_prmt_b32(1, 0x02000000, bf_ptx_prmt_selector(BF_PTX_SUB_B4E, 0)), 0x00000201);
	ck_assert_uint_eq(bf_ptx_mul24_hi_s32(0x00800000, 2), 0xffffff00u);
	ck_assert_uint_eq(bf_ptx_cvt(BF_PTX_S8, BF_PTX_U32, 0, 0x1ff), ~0ull);
	ck_assert_uint_eq(bf_ptx_cvt(BF_PTX_U32, BF_PTX_S32, BF_PTX_MODE_SAT, 0xfffffffb), 0);
	ck_assert_uint_eq(bf_ptx_cvt(BF_PTX_S32, BF_PTX_U32, BF_PTX_MODE_SAT, 0xfffffffb), 0x7fffffff);
	ck_assert_uint_eq(bf_ptx_cvt_pack(BF_PTX_S8, true, 300, 0xffffff00, 0x1234), 0x12347f80);
}
END_TEST

START_TEST(corners_of_video_instructions)
{
	struct bf_ptx_video form = {
		.op = BF_PTX_VADD, .lanes = 4, .mask = 15, .a_select = 0x3210, .b_select = 0x7654
	};

	ck_assert_uint_eq(bf_ptx_video(&form, ~0u, 1, 0), 0xffffff00);
	form.add = true;
	ck_assert_uint_eq(bf_ptx_video(&form, ~0u, 1, 0), 0x3fd);
	form = (struct bf_ptx_video){ .op = BF_PTX_VAVRG, .lanes = 2, .mask = 3, .a_select = 0x10, .b_select = 0x32 };
	form.a_signed = form.b_signed = true;
	ck_assert_uint_eq(bf_ptx_video(&form, ~0u, 0, 0), ~0u);
	ck_assert_uint_eq(bf_ptx_video(&form, 0x7fffffff, 0, 0), 0x4000ffff);
	form = (struct bf_ptx_video){ .op = BF_PTX_VSET,
				      .compare = BF_PTX_CMP_EQ,
				      .lanes = 4,
				      .mask = 15,
				      .a_select = 0x3210,
				      .b_select = 0x7654 };
	ck_assert_uint_eq(bf_ptx_video(&form, 0x01020304, 0x01000300, 0), 0x01000100);
}
END_TEST

START_TEST(corners_of_floats)
{
	const uint64_t nan1 = 0x7ff8000000001234ull, nan2 = 0xfff0000000005678ull, quiet2 = 0xfff8000000005678ull;

	ck_assert_uint_eq(bf_ptx_neg_f32(0x7fc00000, 0), BF_PTX_NAN_F32);
	ck_assert_uint_eq(bf_ptx_min_f32(0, 0x80000000, 0), 0x80000000);
	ck_assert_uint_eq(bf_ptx_min_f32(0x7fc00000, 0x3f800000, 0), 0x3f800000);
	ck_assert_uint_eq(bf_ptx_min_f32(0x7fc00000, 0x3f800000, BF_PTX_MODE_NAN), BF_PTX_NAN_F32);
	ck_assert_uint_eq(bf_ptx_add_f32(0x80000000, 0x80000000, BF_PTX_MODE_SAT), 0);
	ck_assert_uint_eq(bf_ptx_add_f32(0x7fc00000, 0, BF_PTX_MODE_SAT), 0);
	/* A subnormal that would round up to the least normal number is flushed. */
	ck_assert_uint_eq(bf_ptx_mul_f32(0x3f7fffff, 0x00800000, BF_PTX_MODE_FTZ), 0);
	ck_assert_uint_eq(bf_ptx_mul_f32(0x3f7fffff, 0x00800000, 0), 0x00800000);
	ck_assert_uint_eq(bf_ptx_half_mul(BF_PTX_F16, 0x3bff, 0x0400, BF_PTX_MODE_FTZ), 0);
	ck_assert_uint_eq(bf_ptx_add_f64(nan1, nan2, 0), quiet2);
	ck_assert_uint_eq(bf_ptx_add_f64(nan1, nan2, BF_PTX_MODE_RZ), quiet2);
	ck_assert_uint_eq(bf_ptx_div_f64(nan1, nan2, 0), nan1);
	ck_assert_uint_eq(bf_ptx_div_f64(nan1, nan2, BF_PTX_MODE_RM), nan1);
	ck_assert_uint_eq(bf_ptx_fma_f64(0, nan2, nan1, 0), quiet2);
	ck_assert_uint_eq(bf_ptx_fma_f64(nan1, 0, nan2, 0), quiet2);
	ck_assert_uint_eq(bf_ptx_sub_f64(0x7ff0ull << 48, 0x7ff0ull << 48, 0), BF_PTX_INVALID_F64);
	ck_assert_uint_eq(bf_ptx_neg_f64(nan2), quiet2);
	ck_assert_uint_eq(bf_ptx_abs_f64(nan2), quiet2);
	ck_assert(bf_ptx_testp_f32(BF_PTX_SUB_NORMAL, 0));
	ck_assert(bf_ptx_slct_f32(0x80000000, 0));
	ck_assert(!bf_ptx_slct_f32(0x7fc00000, 0));
	ck_assert_uint_eq(bf_ptx_half_fma(BF_PTX_F16, 0xbc00, 0x3c00, 0, BF_PTX_MODE_RELU), 0);
}
END_TEST

START_TEST(corners_of_conversions)
{
	ck_assert_uint_eq(bf_ptx_cvt(BF_PTX_S32, BF_PTX_F32, 0, 0x7fc00000), 0);
	ck_assert_uint_eq(bf_ptx_cvt(BF_PTX_S64, BF_PTX_F32, 0, 0x7fc00000), 1ull << 63);
	ck_assert_uint_eq((uint32_t)bf_ptx_cvt(BF_PTX_S8, BF_PTX_F64, 0, 0x7ff8ull << 48), 0xffffff80u);
	ck_assert_uint_eq(bf_ptx_cvt(BF_PTX_U32, BF_PTX_F64, 0, 0x7ff8ull << 48), 0x80000000u);
	ck_assert_uint_eq(bf_ptx_cvt(BF_PTX_F16, BF_PTX_F64, 0, 0x7ffb28a6152bcf88ull), 0x7eca);
	ck_assert_uint_eq(bf_ptx_cvt(BF_PTX_BF16, BF_PTX_F64, 0, 0x7ffb28a6152bcf88ull), 0x7fd9);
	ck_assert_uint_eq(bf_ptx_cvt(BF_PTX_F64, BF_PTX_F16, 0, 0x7c03), 0x7ff80c0000000000ull);
	ck_assert_uint_eq(bf_ptx_cvt(BF_PTX_F64, BF_PTX_F32, BF_PTX_MODE_FTZ, 0xff812345), 0x7fffffffe0000000ull);
	ck_assert_uint_eq(bf_ptx_cvt(BF_PTX_F32, BF_PTX_BF16, 0, 0x7f86), 0x7f860000);
	ck_assert_uint_eq(bf_ptx_cvt(BF_PTX_F32, BF_PTX_BF16, BF_PTX_MODE_FTZ, 0x7f86), BF_PTX_NAN_F32);
	ck_assert_uint_eq(bf_ptx_cvt(BF_PTX_F16, BF_PTX_F32, BF_PTX_MODE_FTZ | BF_PTX_MODE_RP, 1), 1);
	ck_assert_uint_eq(bf_ptx_cvt(BF_PTX_TF32, BF_PTX_F32, BF_PTX_MODE_RNA, 0x7f7fffff), 0x7f800000);
	ck_assert_uint_eq(bf_ptx_cvt(BF_PTX_TF32, BF_PTX_F32, 0, 0x7fc00000), 0x7fffe000);
	ck_assert_uint_eq(bf_ptx_cvt_pair(BF_PTX_E4M3X2, BF_PTX_MODE_SATFINITE, 0x7f800000, 0xffc00000), 0x7e7f);
	ck_assert_uint_eq(bf_ptx_cvt_pair(BF_PTX_E5M2X2, BF_PTX_MODE_SATFINITE, 0xff800000, 0x3f800000), 0xfb3c);
	ck_assert_uint_eq(bf_ptx_cvt_pair(BF_PTX_F16X2, 0, 0x3f800000, 0x47800000), 0x3c007c00);
}
END_TEST

/* The largest error relative to `scale` times the right value, or absolute where `scale` is 0. */
struct worst {
	double error;
};
static void account(struct worst *w, uint32_t got, double right, bool relative)
{
	const double error = fabs((double)bf_ptx_float(got) - right) / (relative ? fabs(right) : 1.0);

	if (error > w->error)
		w->error = error;
}

START_TEST(approximations_are_within_their_bounds)
{
	struct worst ex2 = { 0 }, lg2 = { 0 }, lg2_near = { 0 }, rcp = { 0 }, rsqrt = { 0 }, root = { 0 }, sine = { 0 },
		     cosine = { 0 }, tangent = { 0 };
	struct bf_rng rng;

	bf_rng_init(&rng, 3, "approx");
	for (int i = 0; i < 30000; i++) {
		const uint32_t a = some32(&rng) & 0x7fffffffu, sign = (uint32_t)i << 31;
		const double x = (double)bf_ptx_float(a);

		if (a < 0x00800000u || a >= 0x7e000000u)
			continue;
		if (x < 120)
			account(&ex2, bf_ptx_ex2_f32(a | sign, 0), exp2(i & 1 ? -x : x), true);
		if (x > 0.5 && x < 2.0)
			account(&lg2_near, bf_ptx_lg2_f32(a, 0), log2(x), false);
		else
			account(&lg2, bf_ptx_lg2_f32(a, 0), log2(x), true);
		account(&rcp, bf_ptx_rcp_approx_f32(a, 0), 1.0 / x, true);
		account(&rsqrt, bf_ptx_rsqrt_f32(a, 0), 1.0 / sqrt(x), true);
		account(&root, bf_ptx_sqrt_approx_f32(a, 0), sqrt(x), true);
		account(&tangent, bf_ptx_tanh_f32(a, 0), tanh(x), true);
		if (x < 314.0) {
			account(&sine, bf_ptx_sin_f32(a, 0), sin(x), false);
			account(&cosine, bf_ptx_cos_f32(a, 0), cos(x), false);
		}
	}
	ck_assert_double_lt(ex2.error, 0x1p-22);
	ck_assert_double_lt(lg2.error, 0x1p-22);
	ck_assert_double_lt(lg2_near.error, 0x1p-22);
	ck_assert_double_lt(rcp.error, 0x1p-23);
	ck_assert_double_lt(rsqrt.error, 0x1p-22);
	ck_assert_double_lt(root.error, 0x1p-23);
	ck_assert_double_lt(sine.error, 0x1p-20);
	ck_assert_double_lt(cosine.error, 0x1p-20);
	ck_assert_double_lt(tangent.error, 0x1p-11);
}
END_TEST

START_TEST(approximations_have_their_special_values)
{
	ck_assert_uint_eq(bf_ptx_ex2_f32(0x80000001, 0), 0x3f800000);
	ck_assert_uint_eq(bf_ptx_ex2_f32(0x43000000, 0), 0x7f800000);
	ck_assert_uint_eq(bf_ptx_ex2_f32(0xc2fc0000, 0), 0x00800000);
	ck_assert_uint_eq(bf_ptx_lg2_f32(0x80000000, 0), 0xff800000);
	ck_assert_uint_eq(bf_ptx_lg2_f32(0x80000001, BF_PTX_MODE_FTZ), 0xff800000);
	ck_assert_uint_eq(bf_ptx_lg2_f32(0xbf800000, 0), BF_PTX_NAN_F32);
	ck_assert_uint_eq(bf_ptx_lg2_f32(1, 0), 0xc3150000);
	ck_assert_uint_eq(bf_ptx_rsqrt_f32(0x80000000, 0), 0xff800000);
	ck_assert_uint_eq(bf_ptx_rsqrt_f32(0x80000001, 0), BF_PTX_NAN_F32);
	ck_assert_uint_eq(bf_ptx_sqrt_approx_f32(0x80000000, 0), 0x80000000);
	ck_assert_uint_eq(bf_ptx_sin_f32(0x7f800000, 0), BF_PTX_NAN_F32);
	ck_assert_uint_eq(bf_ptx_sin_f32(0x80000001, 0), 0x80000000);
	ck_assert_uint_eq(bf_ptx_cos_f32(0x7f7fffff, 0), 0x3f800000);
	ck_assert_uint_eq(bf_ptx_tanh_f32(1, 0), 1);
	ck_assert_uint_eq(bf_ptx_div_approx_f32(0x3f800000, 0x7f000000, 0), 0);
	ck_assert_uint_eq(bf_ptx_div_approx_f32(0x7f800000, 0x7f000000, 0), BF_PTX_NAN_F32);
	ck_assert_uint_eq(bf_ptx_rcp_approx_f64(0x7ff8ull << 48), 0x7fffffff00000000ull);
	ck_assert_uint_eq(bf_ptx_rsqrt_f64(0xbff0ull << 48, BF_PTX_MODE_FTZ), 0x7fffffff00000000ull);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("ptx arithmetic");
	TCase *tc = tcase_create("all");

	tcase_set_timeout(tc, 120);
	tcase_add_test(tc, software_is_the_hosts_arithmetic_in_every_rounding);
	tcase_add_test(tc, software_is_the_hosts_double_arithmetic_in_every_rounding);
	tcase_add_test(tc, short_cuts_are_the_general_functions);
	tcase_add_test(tc, small_numbers_come_back);
	tcase_add_test(tc, corners_of_integers);
	tcase_add_test(tc, corners_of_video_instructions);
	tcase_add_test(tc, corners_of_floats);
	tcase_add_test(tc, corners_of_conversions);
	tcase_add_test(tc, approximations_are_within_their_bounds);
	tcase_add_test(tc, approximations_have_their_special_values);
	suite_add_tcase(suite, tc);
	SRunner *runner = srunner_create(suite);

	srunner_run_all(runner, CK_NORMAL);
	const int failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
