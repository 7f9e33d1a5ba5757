#include "models/ptx/convert.h"

#include "models/ptx/soft.h"

/* Integers. */

static bool is_float(enum bf_ptx_type type)
{
	const char letter = bf_ptx_type_letter(type);
	return letter == 'f' || letter == 'm';
}

static uint64_t extended(uint64_t a, uint32_t bits, bool is_signed)
{
	const uint32_t above = 64 - bits;
	return is_signed ? (uint64_t)((int64_t)(a << above) >> above) : a << above >> above;
}

/* `a`, a number of 64 bits with or without sign, clamped to what the type can hold. */
static uint64_t clamped(uint64_t a, bool a_signed, uint32_t bits, bool is_signed)
{
	const uint64_t top = ~0ull >> (64 - bits + is_signed);
	if (a_signed && (int64_t)a < 0) {
		if (!is_signed)
			return 0;
		return (int64_t)a < (int64_t)~top ? ~top : a;
	}
	return a > top ? top : a;
}

static uint64_t integer_to_integer(enum bf_ptx_type to, enum bf_ptx_type from, unsigned mode, uint64_t a)
{
	const bool from_signed = bf_ptx_type_letter(from) == 's', to_signed = bf_ptx_type_letter(to) == 's';
	const uint64_t value = extended(a, bf_ptx_type_bits(from), from_signed);
	if (mode & BF_PTX_MODE_SAT)
		return clamped(value, from_signed, bf_ptx_type_bits(to), to_signed);
	return extended(value, bf_ptx_type_bits(to), to_signed);
}

/* Between integers and floats. */

/* The number that `a` is, a subnormal of f32 (and with it f16's, which .ftz of f16 sources does not touch) flushed. */
static struct bf_ptx_soft source(enum bf_ptx_type from, unsigned mode, uint64_t a)
{
	if (from == BF_PTX_F32 && (mode & BF_PTX_MODE_FTZ))
		a = bf_ptx_flush_f32((uint32_t)a);
	return bf_ptx_soft_read(from, a);
}

static uint64_t float_to_integer(enum bf_ptx_type to, enum bf_ptx_type from, unsigned mode, uint64_t a)
{
	const uint32_t bits = bf_ptx_type_bits(to);
	const bool is_signed = bf_ptx_type_letter(to) == 's';
	const struct bf_ptx_soft value = source(from, mode, a);
	if (value.kind == BF_PTX_SOFT_NAN) {
		const bool highest = bits == 64 || from == BF_PTX_F64;
		return highest ? extended(1ull << (bits - 1), bits, is_signed) : 0;
	}
	return bf_ptx_soft_to_integer(value, bits, is_signed, mode);
}

static uint64_t integer_to_float(enum bf_ptx_type to, enum bf_ptx_type from, unsigned mode, uint64_t a)
{
	const bool is_signed = bf_ptx_type_letter(from) == 's';
	const uint64_t value = extended(a, bf_ptx_type_bits(from), is_signed);
	const bool negative = is_signed && (int64_t)value < 0;
	return bf_ptx_soft_round(to, bf_ptx_soft_from_integer(negative, negative ? 0 - value : value), mode);
}

/* Between floats. */

/* .rn and .rz have a canonical NaN; .rna cuts its bits, and .satfinite takes it for a number that is too large. */
static uint32_t nan_to_tf32(uint32_t a, unsigned mode)
{
	if ((mode & BF_PTX_MODE_RNA) == 0)
		return 0x7fffe000;
	return (a & ~0x1fffu) - (mode & BF_PTX_MODE_SATFINITE ? 0x2000u : 0u);
}

/* A NaN: of f64, and to f64, its top bits go on, unless .ftz makes f32's canonical one of it. */
static uint64_t nan_to_float(enum bf_ptx_type to, enum bf_ptx_type from, unsigned mode, uint64_t a)
{
	const uint32_t half = from == BF_PTX_BF16
				  ? (uint32_t)a << 16
				  : (uint32_t)(a & 0x8000) << 16 | 0x7f800000u | (uint32_t)(a & 0x3ff) << 13;
	if (to == BF_PTX_TF32)
		return nan_to_tf32((uint32_t)a, mode);
	if (from == BF_PTX_BF16 && to == BF_PTX_F32 && (mode & BF_PTX_MODE_FTZ) == 0)
		return half;
	if (to == BF_PTX_F64 && from == BF_PTX_F32)
		return bf_ptx_cvt_f64_f32(mode & BF_PTX_MODE_FTZ ? BF_PTX_NAN_F32 : (uint32_t)a);
	if (to == BF_PTX_F64 && from != BF_PTX_F64)
		return bf_ptx_cvt_f64_f32(half);
	if (from == BF_PTX_F64 && to == BF_PTX_F64)
		return a | BF_PTX_QUIET_F64;
	if (from == BF_PTX_F64 && to == BF_PTX_F32)
		return bf_ptx_cvt_f32_f64(a);
	if (from == BF_PTX_F64 && to == BF_PTX_F16)
		return (a >> 48 & 0x8000) | 0x7e00 | (a >> 42 & 0x3ff);
	if (from == BF_PTX_F64 && to == BF_PTX_BF16)
		return (a >> 48 & 0x8000) | 0x7fc0 | (a >> 45 & 0x7f);
	return bf_ptx_soft_round(to, (struct bf_ptx_soft){ .kind = BF_PTX_SOFT_NAN }, 0);
}

static uint64_t float_to_float(enum bf_ptx_type to, enum bf_ptx_type from, unsigned mode, uint64_t a)
{
	struct bf_ptx_soft value;
	if (to == BF_PTX_F16)
		mode &= ~(unsigned)BF_PTX_MODE_FTZ; /* changes nothing */
	if (to == from && mode == 0 && (to == BF_PTX_F32 || to == BF_PTX_F64))
		return a;
	value = source(from, mode, a);
	if (value.kind == BF_PTX_SOFT_NAN && (mode & BF_PTX_MODE_SAT) == 0)
		return nan_to_float(to, from, mode, a);
	if (mode & BF_PTX_MODE_INTEGER)
		value = bf_ptx_soft_to_whole(value, mode);
	return bf_ptx_soft_round(to, value, mode);
}

/* The type of one number of a packed type, or NONE. */
static enum bf_ptx_type part_of(enum bf_ptx_type type)
{
	switch (type) {
	case BF_PTX_F16X2:
		return BF_PTX_F16;
	case BF_PTX_BF16X2:
		return BF_PTX_BF16;
	case BF_PTX_E4M3X2:
		return BF_PTX_E4M3;
	case BF_PTX_E5M2X2:
		return BF_PTX_E5M2;
	default:
		return BF_PTX_TYPE_NONE;
	}
}

uint64_t bf_ptx_cvt(enum bf_ptx_type to, enum bf_ptx_type from, unsigned mode, uint64_t a)
{
	const enum bf_ptx_type to_part = part_of(to), from_part = part_of(from);
	if (to_part != BF_PTX_TYPE_NONE) {
		const uint32_t to_bits = bf_ptx_type_bits(to) / 2, from_bits = bf_ptx_type_bits(from) / 2;
		const uint64_t low = a & ((1u << from_bits) - 1), high = a >> from_bits & ((1u << from_bits) - 1);
		return float_to_float(to_part, from_part, mode, low) | float_to_float(to_part, from_part, mode, high)
									   << to_bits;
	}
	if (is_float(to))
		return is_float(from) ? float_to_float(to, from, mode, a) : integer_to_float(to, from, mode, a);
	return is_float(from) ? float_to_integer(to, from, mode, a) : integer_to_integer(to, from, mode, a);
}

uint32_t bf_ptx_cvt_pair(enum bf_ptx_type to, unsigned mode, uint32_t a, uint32_t b)
{
	const enum bf_ptx_type part = part_of(to);
	const uint64_t high = float_to_float(part, BF_PTX_F32, mode, a),
		       low = float_to_float(part, BF_PTX_F32, mode, b);
	return (uint32_t)(high << bf_ptx_type_bits(to) / 2 | low);
}

uint32_t bf_ptx_cvt_pack(enum bf_ptx_type to, bool from_signed, uint32_t a, uint32_t b, uint32_t c)
{
	const uint32_t bits = bf_ptx_type_bits(to);
	const bool is_signed = bf_ptx_type_letter(to) == 's' || to == BF_PTX_S4 || to == BF_PTX_S2;
	const uint64_t mask = (1ull << bits) - 1;
	const uint64_t high = clamped(extended(a, 32, from_signed), from_signed, bits, is_signed) & mask;
	const uint64_t low = clamped(extended(b, 32, from_signed), from_signed, bits, is_signed) & mask;
	return (uint32_t)((uint64_t)c << 2 * bits | high << bits | low);
}
