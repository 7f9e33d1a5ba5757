#include "models/ptx/soft.h"

#define UNIT 125 /* the place of a significand's highest bit */

/* A format's shape: bits of its fraction, its least exponent of normal numbers, the patterns of its infinity (of E4M3,
 * which has none, what lies above its largest number) and NaN. */
struct shape {
	uint32_t width;
	uint32_t fraction;
	int32_t least;
	uint64_t above;
	uint64_t nan;
};

static struct shape shape_of(enum bf_ptx_type format)
{
	switch (format) {
	case BF_PTX_F16:
		return (struct shape){ 16, 10, -14, 0x7c00, BF_PTX_NAN_F16 };
	case BF_PTX_BF16:
		return (struct shape){ 16, 7, -126, 0x7f80, BF_PTX_NAN_F16 };
	case BF_PTX_TF32:
		return (struct shape){ 19, 10, -126, 0x3fc00, 0x3fe00 };
	case BF_PTX_F64:
		return (struct shape){ 64, 52, -1022, 0x7ff0000000000000ull, BF_PTX_INVALID_F64 };
	case BF_PTX_E4M3:
		return (struct shape){ 8, 3, -6, 0x7f, 0x7f };
	case BF_PTX_E5M2:
		return (struct shape){ 8, 2, -14, 0x7c, 0x7f };
	default:
		return (struct shape){ 32, 23, -126, 0x7f800000, BF_PTX_NAN_F32 };
	}
}

static uint32_t width_of(bf_u128 value)
{
	const uint64_t high = (uint64_t)(value >> 64);
	return high != 0 ? 128 - bf_ptx_clz_b64(high) : 64 - bf_ptx_clz_b64((uint64_t)value);
}

/* value >> amount with a last bit that is set if anything was lost. */
static bf_u128 shift_right(bf_u128 value, uint32_t amount)
{
	if (amount == 0)
		return value;
	if (amount >= 127)
		return value != 0;
	return value >> amount | ((value & (((bf_u128)1 << amount) - 1)) != 0);
}

/* The number value * 2^exponent. */
static struct bf_ptx_soft normal(bool sign, bf_u128 value, int32_t exponent)
{
	if (value == 0)
		return (struct bf_ptx_soft){ .kind = BF_PTX_SOFT_ZERO, .sign = sign };
	const int32_t up = UNIT + 1 - (int32_t)width_of(value);
	return (struct bf_ptx_soft){ .kind = BF_PTX_SOFT_FINITE,
				     .sign = sign,
				     .exponent = exponent + UNIT - up,
				     .significand = up >= 0 ? value << up : shift_right(value, (uint32_t)-up) };
}

struct bf_ptx_soft bf_ptx_soft_read(enum bf_ptx_type format, uint64_t bits)
{
	const struct shape s = shape_of(format == BF_PTX_TF32 ? BF_PTX_F32 : format);
	const bool sign = bits >> (s.width - 1) & 1;
	const uint64_t magnitude = bits & ((1ull << (s.width - 1)) - 1);
	if (magnitude >= s.above) {
		const bool inf = magnitude == s.above && format != BF_PTX_E4M3;
		return (struct bf_ptx_soft){ .kind = inf ? BF_PTX_SOFT_INF : BF_PTX_SOFT_NAN, .sign = sign };
	}
	const uint64_t exponent = magnitude >> s.fraction;
	const uint64_t fraction = magnitude & ((1ull << s.fraction) - 1);
	if (exponent == 0)
		return normal(sign, fraction, s.least - (int32_t)s.fraction);
	return normal(sign, fraction | 1ull << s.fraction, s.least - (int32_t)s.fraction + (int32_t)exponent - 1);
}

struct bf_ptx_soft bf_ptx_soft_from_integer(bool sign, uint64_t magnitude)
{
	return normal(sign, magnitude, 0);
}

static struct bf_ptx_soft special(enum bf_ptx_soft_kind kind, bool sign)
{
	return (struct bf_ptx_soft){ .kind = kind, .sign = sign };
}

struct bf_ptx_soft bf_ptx_soft_add(struct bf_ptx_soft a, struct bf_ptx_soft b, unsigned mode)
{
	if (a.kind == BF_PTX_SOFT_NAN || b.kind == BF_PTX_SOFT_NAN)
		return special(BF_PTX_SOFT_NAN, false);
	if (a.kind == BF_PTX_SOFT_INF || b.kind == BF_PTX_SOFT_INF) {
		if (a.kind == b.kind && a.sign != b.sign)
			return special(BF_PTX_SOFT_NAN, false);
		return a.kind == BF_PTX_SOFT_INF ? a : b;
	}
	const bool zero_sign = (mode & BF_PTX_MODE_ROUND) == BF_PTX_MODE_RM;
	if (a.kind == BF_PTX_SOFT_ZERO && b.kind == BF_PTX_SOFT_ZERO)
		return special(BF_PTX_SOFT_ZERO, a.sign == b.sign ? a.sign : zero_sign);
	if (a.kind == BF_PTX_SOFT_ZERO)
		return b;
	if (b.kind == BF_PTX_SOFT_ZERO)
		return a;
	if (a.exponent < b.exponent) {
		const struct bf_ptx_soft swap = a;
		a = b;
		b = swap;
	}
	/* What the shift loses is below 20 bits that are zero in any product of two numbers: it takes a difference of
	 * exponents above 1, and then at most one bit cancels. */
	const bf_u128 other = shift_right(b.significand, (uint32_t)(a.exponent - b.exponent));
	if (a.sign == b.sign)
		return normal(a.sign, a.significand + other, a.exponent - UNIT);
	if (a.significand == other)
		return special(BF_PTX_SOFT_ZERO, zero_sign);
	const bool swap = a.significand < other;
	return normal(a.sign != swap, swap ? other - a.significand : a.significand - other, a.exponent - UNIT);
}

struct bf_ptx_soft bf_ptx_soft_mul(struct bf_ptx_soft a, struct bf_ptx_soft b)
{
	const bool sign = a.sign != b.sign;
	if (a.kind == BF_PTX_SOFT_NAN || b.kind == BF_PTX_SOFT_NAN)
		return special(BF_PTX_SOFT_NAN, false);
	if (a.kind == BF_PTX_SOFT_INF || b.kind == BF_PTX_SOFT_INF) {
		const bool zero = a.kind == BF_PTX_SOFT_ZERO || b.kind == BF_PTX_SOFT_ZERO;
		return special(zero ? BF_PTX_SOFT_NAN : BF_PTX_SOFT_INF, sign);
	}
	if (a.kind == BF_PTX_SOFT_ZERO || b.kind == BF_PTX_SOFT_ZERO)
		return special(BF_PTX_SOFT_ZERO, sign);
	/* Operands are as wide as a format's significand, 53 bits at most: the upper 64 bits have all of it. */
	const bf_u128 product = (bf_u128)(uint64_t)(a.significand >> 62) * (uint64_t)(b.significand >> 62);
	return normal(sign, product, a.exponent + b.exponent - 2 * (UNIT - 62));
}

struct bf_ptx_soft bf_ptx_soft_div(struct bf_ptx_soft a, struct bf_ptx_soft b)
{
	const bool sign = a.sign != b.sign;
	if (a.kind == BF_PTX_SOFT_NAN || b.kind == BF_PTX_SOFT_NAN)
		return special(BF_PTX_SOFT_NAN, false);
	if (a.kind == b.kind && (a.kind == BF_PTX_SOFT_INF || a.kind == BF_PTX_SOFT_ZERO))
		return special(BF_PTX_SOFT_NAN, false);
	if (a.kind == BF_PTX_SOFT_INF || b.kind == BF_PTX_SOFT_ZERO)
		return special(BF_PTX_SOFT_INF, sign);
	if (a.kind == BF_PTX_SOFT_ZERO || b.kind == BF_PTX_SOFT_INF)
		return special(BF_PTX_SOFT_ZERO, sign);
	const uint64_t divisor = (uint64_t)(b.significand >> 62);
	const bf_u128 quotient = a.significand / divisor;
	const bool rest = a.significand % divisor != 0;
	return normal(sign, quotient << 1 | rest, a.exponent - UNIT - (b.exponent - (UNIT - 62)) - 1);
}

struct bf_ptx_soft bf_ptx_soft_sqrt(struct bf_ptx_soft a)
{
	if (a.kind == BF_PTX_SOFT_NAN || a.kind == BF_PTX_SOFT_ZERO)
		return a;
	if (a.sign)
		return special(BF_PTX_SOFT_NAN, false);
	if (a.kind == BF_PTX_SOFT_INF)
		return a;
	/* The exponent of the radicand as a whole number has to be even. */
	const bool odd = ((a.exponent - UNIT) & 1) != 0;
	const bf_u128 radicand = odd ? a.significand << 1 : a.significand;
	const int32_t exponent = (a.exponent - UNIT - odd) / 2;
	uint64_t root = 0;
	bf_u128 rest = radicand;
	for (int32_t place = 63; place >= 0; place--) {
		/* (root + 2^place)^2 - root^2 */
		const bf_u128 step = ((bf_u128)root << (place + 1)) + ((bf_u128)1 << 2 * place);
		if (rest >= step) {
			rest -= step;
			root |= 1ull << place;
		}
	}
	return normal(false, (bf_u128)root << 1 | (rest != 0), exponent - 1);
}

/* Whether a significand whose last `lost` bits go is rounded away from zero. */
static bool rounds_up(bf_u128 significand, uint32_t lost, bool sign, unsigned mode)
{
	const bf_u128 half = (bf_u128)1 << (lost - 1);
	const bf_u128 rest = significand & ((half << 1) - 1);
	if (rest == 0)
		return false;
	if (mode & BF_PTX_MODE_RNA)
		return rest >= half;
	switch (mode & BF_PTX_MODE_ROUND) {
	case BF_PTX_MODE_RN:
		return rest > half || (rest == half && (significand >> lost & 1) != 0);
	case BF_PTX_MODE_RZ:
		return false;
	case BF_PTX_MODE_RM:
		return sign;
	default:
		return !sign;
	}
}

/* What a result too large becomes: infinity, or the largest number. */
static uint64_t overflow(const struct shape *s, bool saturates, bool sign, unsigned mode)
{
	const unsigned round = mode & BF_PTX_MODE_ROUND;
	const bool largest = saturates || round == BF_PTX_MODE_RZ || (round == BF_PTX_MODE_RM && !sign) ||
			     (round == BF_PTX_MODE_RP && sign);
	return s->above - largest;
}

/* A number below the least normal one is flushed, unless it is rounded up to that with the places that a normal number
 * has. */
static uint64_t flushed_magnitude(const struct shape *s, const struct bf_ptx_soft *a, unsigned mode)
{
	const uint32_t lost = UNIT - s->fraction;
	const uint64_t places = (uint64_t)(a->significand >> lost) + rounds_up(a->significand, lost, a->sign, mode);

	return a->exponent == s->least - 1 && places >> (s->fraction + 1) != 0 ? 1ull << s->fraction : 0;
}

static uint64_t magnitude_of(const struct shape *s, const struct bf_ptx_soft *a, unsigned mode, bool saturates)
{
	if (a->kind == BF_PTX_SOFT_INF)
		return s->above - saturates;
	if (a->kind == BF_PTX_SOFT_ZERO)
		return 0;
	const bool subnormal = a->exponent < s->least;
	if (subnormal && (mode & BF_PTX_MODE_FTZ))
		return flushed_magnitude(s, a, mode);
	if (a->exponent > 2048)
		return overflow(s, saturates, a->sign, mode);
	uint32_t lost = UNIT - s->fraction;
	if (subnormal)
		lost += (uint32_t)(s->least - a->exponent);
	/* All but the fact that something is there lies below the last place. */
	const bf_u128 significand = lost > 126 ? 1 : a->significand;
	if (lost > 126)
		lost = 126;
	uint64_t bits = (uint64_t)(significand >> lost);
	bits += rounds_up(significand, lost, a->sign, mode);
	if (!subnormal)
		bits += (uint64_t)(a->exponent - s->least) << s->fraction;
	if (bits >= s->above)
		return overflow(s, saturates, a->sign, mode);
	return bits;
}

uint64_t bf_ptx_soft_round(enum bf_ptx_type format, struct bf_ptx_soft a, unsigned mode)
{
	const struct shape s = shape_of(format);
	const uint64_t sign = 1ull << (s.width - 1);
	const uint32_t up = format == BF_PTX_TF32 ? 13 : 0;
	if (mode & BF_PTX_MODE_SAT) {
		const bool one = a.kind == BF_PTX_SOFT_INF || (a.kind == BF_PTX_SOFT_FINITE && a.exponent >= 0);
		if (a.kind == BF_PTX_SOFT_NAN || a.sign)
			return 0;
		if (one)
			a = bf_ptx_soft_from_integer(false, 1);
	}
	if (a.kind == BF_PTX_SOFT_NAN)
		return s.nan << up;
	if ((mode & BF_PTX_MODE_RELU) && a.sign)
		return 0;
	const bool small = format == BF_PTX_E4M3 || format == BF_PTX_E5M2;
	const uint64_t magnitude = magnitude_of(&s, &a, mode, small || (mode & BF_PTX_MODE_SATFINITE));
	return (magnitude | (a.sign ? sign : 0)) << up;
}

struct bf_ptx_soft bf_ptx_soft_to_whole(struct bf_ptx_soft a, unsigned mode)
{
	if (a.kind != BF_PTX_SOFT_FINITE || a.exponent >= UNIT)
		return a;
	uint32_t lost = (uint32_t)(UNIT - a.exponent);
	const bf_u128 significand = lost > 126 ? 1 : a.significand;
	if (lost > 126)
		lost = 126;
	const bf_u128 whole = (significand >> lost) + rounds_up(significand, lost, a.sign, mode);
	return normal(a.sign, whole, 0);
}

uint64_t bf_ptx_soft_to_integer(struct bf_ptx_soft a, uint32_t bits, bool is_signed, unsigned mode)
{
	const uint64_t top = ~0ull >> (64 - bits + is_signed);
	const uint64_t bottom = is_signed ? ~top : 0;
	if (a.kind == BF_PTX_SOFT_NAN)
		return 0;
	const struct bf_ptx_soft whole = bf_ptx_soft_to_whole(a, mode);
	if (whole.kind == BF_PTX_SOFT_ZERO)
		return 0;
	if (whole.kind == BF_PTX_SOFT_INF || whole.exponent > 63)
		return whole.sign ? bottom : top;
	const uint64_t magnitude = (uint64_t)(whole.significand >> (UNIT - whole.exponent));
	if (whole.sign)
		return !is_signed ? 0 : magnitude > top ? bottom : 0 - magnitude;
	return magnitude > top ? top : magnitude;
}
