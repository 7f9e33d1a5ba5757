#include "models/ptx/float.h"

#include "models/ptx/convert.h"
#include "models/ptx/soft.h"

static struct bf_ptx_soft read32(uint32_t a, unsigned mode)
{
	return bf_ptx_soft_read(BF_PTX_F32, mode & BF_PTX_MODE_FTZ ? bf_ptx_flush_f32(a) : a);
}
static uint32_t round32(struct bf_ptx_soft a, unsigned mode)
{
	return (uint32_t)bf_ptx_soft_round(BF_PTX_F32, a, mode);
}

uint32_t bf_ptx_soft_add_f32(uint32_t a, uint32_t b, unsigned mode)
{
	return round32(bf_ptx_soft_add(read32(a, mode), read32(b, mode), mode), mode);
}

uint32_t bf_ptx_soft_mul_f32(uint32_t a, uint32_t b, unsigned mode)
{
	return round32(bf_ptx_soft_mul(read32(a, mode), read32(b, mode)), mode);
}

uint32_t bf_ptx_soft_fma_f32(uint32_t a, uint32_t b, uint32_t c, unsigned mode)
{
	const struct bf_ptx_soft product = bf_ptx_soft_mul(read32(a, mode), read32(b, mode));
	return round32(bf_ptx_soft_add(product, read32(c, mode), mode), mode);
}

uint32_t bf_ptx_soft_div_f32(uint32_t a, uint32_t b, unsigned mode)
{
	return round32(bf_ptx_soft_div(read32(a, mode), read32(b, mode)), mode);
}

uint32_t bf_ptx_sqrt_f32(uint32_t a, unsigned mode)
{
	return round32(bf_ptx_soft_sqrt(read32(a, mode)), mode);
}

static struct bf_ptx_soft read64(uint64_t a)
{
	return bf_ptx_soft_read(BF_PTX_F64, a);
}

/* `value` rounded, or the NaN that comes of operands: the first of them that is one. */
static uint64_t round64(struct bf_ptx_soft value, uint64_t first, uint64_t second, uint64_t third, unsigned mode)
{
	if (value.kind != BF_PTX_SOFT_NAN)
		return bf_ptx_soft_round(BF_PTX_F64, value, mode);
	if (bf_ptx_is_nan_f64(first))
		return first | BF_PTX_QUIET_F64;
	if (bf_ptx_is_nan_f64(second))
		return second | BF_PTX_QUIET_F64;
	return bf_ptx_is_nan_f64(third) ? third | BF_PTX_QUIET_F64 : BF_PTX_INVALID_F64;
}

uint64_t bf_ptx_soft_add_f64(uint64_t a, uint64_t b, unsigned mode)
{
	return round64(bf_ptx_soft_add(read64(a), read64(b), mode), b, a, a, mode);
}

uint64_t bf_ptx_soft_mul_f64(uint64_t a, uint64_t b, unsigned mode)
{
	return round64(bf_ptx_soft_mul(read64(a), read64(b)), b, a, a, mode);
}

uint64_t bf_ptx_soft_fma_f64(uint64_t a, uint64_t b, uint64_t c, unsigned mode)
{
	return round64(bf_ptx_soft_add(bf_ptx_soft_mul(read64(a), read64(b)), read64(c), mode), b, c, a, mode);
}

uint64_t bf_ptx_soft_div_f64(uint64_t a, uint64_t b, unsigned mode)
{
	return round64(bf_ptx_soft_div(read64(a), read64(b)), a, b, b, mode);
}

uint64_t bf_ptx_sqrt_f64(uint64_t a, unsigned mode)
{
	return round64(bf_ptx_soft_sqrt(read64(a)), a, a, a, mode);
}

static uint64_t pick_f64(uint64_t a, uint64_t b, bool first)
{
	if (bf_ptx_is_nan_f64(a))
		return bf_ptx_is_nan_f64(b) ? b | BF_PTX_QUIET_F64 : b;
	return bf_ptx_is_nan_f64(b) || first ? a : b;
}

uint64_t bf_ptx_min_f64(uint64_t a, uint64_t b)
{
	return pick_f64(a, b, bf_ptx_rank_f64(a) < bf_ptx_rank_f64(b));
}

uint64_t bf_ptx_max_f64(uint64_t a, uint64_t b)
{
	return pick_f64(a, b, bf_ptx_rank_f64(a) > bf_ptx_rank_f64(b));
}

bool bf_ptx_testp_f64(enum bf_ptx_sub what, uint64_t a)
{
	const uint64_t magnitude = a & ~(1ull << 63), inf = 0x7ff0000000000000ull;
	const bool subnormal = magnitude != 0 && magnitude < 1ull << 52;
	switch (what) {
	case BF_PTX_SUB_FINITE:
		return magnitude < inf;
	case BF_PTX_SUB_INFINITE:
		return magnitude == inf;
	case BF_PTX_SUB_NUMBER:
		return magnitude <= inf;
	case BF_PTX_SUB_NOTANUMBER:
		return magnitude > inf;
	case BF_PTX_SUB_NORMAL:
		return magnitude < inf && !subnormal;
	default:
		return subnormal;
	}
}

bool bf_ptx_testp_f32(enum bf_ptx_sub what, uint32_t a)
{
	const uint32_t magnitude = a & 0x7fffffffu;
	if (what == BF_PTX_SUB_SUBNORMAL || what == BF_PTX_SUB_NORMAL) {
		const bool subnormal = magnitude != 0 && magnitude < 0x800000u;
		return what == BF_PTX_SUB_SUBNORMAL ? subnormal : magnitude < 0x7f800000u && !subnormal;
	}
	return bf_ptx_testp_f64(what, bf_ptx_cvt_f64_f32(a));
}

/* f16 and bf16. */

static bool half_is_nan(enum bf_ptx_type format, uint16_t a)
{
	return format == BF_PTX_F16 ? bf_ptx_is_nan_f16(a) : bf_ptx_is_nan_bf16(a);
}

/* An operand: a subnormal of f16 flushed if .ftz. */
static uint16_t half_operand(enum bf_ptx_type format, uint16_t a, unsigned mode)
{
	return (mode & BF_PTX_MODE_FTZ) && format == BF_PTX_F16 && (a & 0x7c00) == 0 ? a & 0x8000 : a;
}

/* The number, exactly; NaN may come out as any NaN. */
static double half_number(enum bf_ptx_type format, uint16_t a, unsigned mode)
{
	const uint16_t x = half_operand(format, a, mode);
	return (double)bf_ptx_float(format == BF_PTX_F16 ? bf_ptx_cvt_f32_f16(x) : bf_ptx_cvt_f32_bf16(x));
}

static uint16_t half_round(enum bf_ptx_type format, double value, unsigned mode)
{
	return (uint16_t)bf_ptx_soft_round(format, bf_ptx_soft_read(BF_PTX_F64, bf_ptx_bits64(value)), mode);
}

uint16_t bf_ptx_half_add(enum bf_ptx_type format, uint16_t a, uint16_t b, unsigned mode)
{
	return half_round(format, bf_ptx_sum_odd(half_number(format, a, mode), half_number(format, b, mode)), mode);
}

uint16_t bf_ptx_half_sub(enum bf_ptx_type format, uint16_t a, uint16_t b, unsigned mode)
{
	return bf_ptx_half_add(format, a, b ^ 0x8000u, mode);
}

uint16_t bf_ptx_half_mul(enum bf_ptx_type format, uint16_t a, uint16_t b, unsigned mode)
{
	return half_round(format, half_number(format, a, mode) * half_number(format, b, mode), mode);
}

uint16_t bf_ptx_half_fma(enum bf_ptx_type format, uint16_t a, uint16_t b, uint16_t c, unsigned mode)
{
	const double product = half_number(format, a, mode) * half_number(format, b, mode);

	if ((mode & BF_PTX_MODE_OOB) && ((a & 0x7fff) == 0x7ff7 || (b & 0x7fff) == 0x7ff7))
		return 0;
	return half_round(format, bf_ptx_sum_odd(product, half_number(format, c, mode)), mode);
}

static uint16_t half_pick(enum bf_ptx_type format, uint16_t a, uint16_t b, unsigned mode, bool max)
{
	const uint16_t sign = mode & BF_PTX_MODE_XORSIGN ? (a ^ b) & 0x8000u : 0;
	const uint16_t keep = mode & BF_PTX_MODE_XORSIGN ? 0x7fffu : 0xffffu;
	const uint16_t x = half_operand(format, a, mode) & keep, y = half_operand(format, b, mode) & keep;
	const bool nan_x = half_is_nan(format, x), nan_y = half_is_nan(format, y);
	if (mode & BF_PTX_MODE_NAN ? nan_x || nan_y : nan_x && nan_y)
		return BF_PTX_NAN_F16;
	const int32_t rank_x = bf_ptx_rank_f32((uint32_t)x << 16), rank_y = bf_ptx_rank_f32((uint32_t)y << 16);
	const bool first = max ? rank_x > rank_y : rank_x < rank_y;
	return (nan_x ? y : nan_y || first ? x : y) | sign;
}

uint16_t bf_ptx_half_min(enum bf_ptx_type format, uint16_t a, uint16_t b, unsigned mode)
{
	return half_pick(format, a, b, mode, false);
}

uint16_t bf_ptx_half_max(enum bf_ptx_type format, uint16_t a, uint16_t b, unsigned mode)
{
	return half_pick(format, a, b, mode, true);
}

uint16_t bf_ptx_half_neg(enum bf_ptx_type format, uint16_t a, unsigned mode)
{
	return half_is_nan(format, a) ? BF_PTX_NAN_F16 : half_operand(format, a, mode) ^ 0x8000u;
}

uint16_t bf_ptx_half_abs(enum bf_ptx_type format, uint16_t a, unsigned mode)
{
	return half_is_nan(format, a) ? BF_PTX_NAN_F16 : half_operand(format, a, mode) & 0x7fffu;
}

bool bf_ptx_half_compare(enum bf_ptx_type format, enum bf_ptx_cmp compare, uint16_t a, uint16_t b, unsigned mode)
{
	return bf_ptx_compare_number(compare, half_number(format, a, mode), half_number(format, b, mode));
}
