#include "models/ptx/approx.h"

#include "models/ptx/convert.h"
#include "models/ptx/soft.h"

#define F32_ONE 0x3f800000u
#define F32_INF 0x7f800000u
#define SIGN 0x80000000u

static uint32_t operand(uint32_t a, unsigned mode)
{
	return mode & BF_PTX_MODE_FTZ ? bf_ptx_flush_f32(a) : a;
}

/* 2^n as a double, for n from -1022 to 1023. */
static double power(int32_t n)
{
	return bf_ptx_double((uint64_t)(1023 + n) << 52);
}

/* 2^x for |x| <= 1200, to about 40 bits: the nearest whole number apart, e^(f ln 2) by its series. */
static double exp2_of(double x)
{
	const int32_t whole = (int32_t)(x + (x < 0.0 ? -0.5 : 0.5));
	const double t = (x - (double)whole) * 0.6931471805599453;
	double sum = 1.0;
	for (int32_t n = 14; n >= 1; n--)
		sum = 1.0 + sum * t / (double)n;
	return whole < -1000 ? sum * power(whole + 500) * power(-500) : sum * power(whole);
}

uint32_t bf_ptx_ex2_f32(uint32_t a, unsigned mode)
{
	const float x = bf_ptx_float(operand(a, mode));
	if (bf_ptx_is_nan_f32(a))
		return BF_PTX_NAN_F32;
	if (x >= 128.0f)
		return F32_INF;
	if (x < -160.0f)
		return 0;
	return bf_ptx_result_f32((float)exp2_of((double)x), mode);
}

/* The exponent of a positive double and its fraction scaled to [1/sqrt 2, sqrt 2). */
static double log2_of(double x)
{
	const uint64_t bits = bf_ptx_bits64(x);
	int32_t exponent = (int32_t)(bits >> 52) - 1023;
	double m = bf_ptx_double((bits & 0xfffffffffffffull) | 1023ull << 52);
	if (m > 1.4142135623730951) {
		m *= 0.5;
		exponent++;
	}
	/* ln m = 2 atanh((m - 1) / (m + 1)), and that argument is below 0.172. */
	const double s = (m - 1.0) / (m + 1.0), square = s * s;
	double sum = 0.0;
	for (int32_t n = 21; n >= 1; n -= 2)
		sum = sum * square + 1.0 / (double)n;
	return (double)exponent + sum * s * 2.8853900817779268;
}

uint32_t bf_ptx_lg2_f32(uint32_t a, unsigned mode)
{
	const uint32_t x = operand(a, mode);
	if ((x & ~SIGN) == 0)
		return F32_INF | SIGN;
	if (bf_ptx_is_nan_f32(x) || x >> 31)
		return BF_PTX_NAN_F32;
	if (x == F32_INF)
		return x;
	return bf_ptx_result_f32((float)log2_of((double)bf_ptx_float(x)), mode);
}

uint32_t bf_ptx_rcp_approx_f32(uint32_t a, unsigned mode)
{
	return bf_ptx_rcp_f32(a, mode);
}

uint32_t bf_ptx_rsqrt_f32(uint32_t a, unsigned mode)
{
	const uint32_t x = operand(a, mode);
	if ((x & ~SIGN) == 0)
		return F32_INF | (x & SIGN);
	if (bf_ptx_is_nan_f32(x) || x >> 31)
		return BF_PTX_NAN_F32;
	if (x == F32_INF)
		return 0;
	/* The root of twice the width, and its reciprocal: two roundings in double, one to f32. */
	const double root = bf_ptx_double(bf_ptx_sqrt_f64(bf_ptx_bits64((double)bf_ptx_float(x)), 0));
	return bf_ptx_result_f32((float)(1.0 / root), mode);
}

uint32_t bf_ptx_sqrt_approx_f32(uint32_t a, unsigned mode)
{
	return bf_ptx_sqrt_f32(a, mode);
}

uint32_t bf_ptx_div_approx_f32(uint32_t a, uint32_t b, unsigned mode)
{
	const uint32_t divisor = b & ~SIGN;
	const bool huge = divisor > 0x7e800000u && divisor < F32_INF;
	if (huge && !bf_ptx_is_nan_f32(a))
		return (a & ~SIGN) == F32_INF ? BF_PTX_NAN_F32 : (a ^ b) & SIGN;
	return bf_ptx_div_f32(a, b, mode);
}

uint32_t bf_ptx_div_full_f32(uint32_t a, uint32_t b, unsigned mode)
{
	return bf_ptx_div_f32(a, b, mode);
}

/*
 * Sine and cosine: x less the nearest multiple of pi/2, kept in three parts of 33 bits (fdlibm's split of the
 * constant), and the Taylor series there. What is beyond 2^32 gives sin 0 and cos 1, as an H100 gives for the largest
 * numbers.
 */
static double sine_of(double x, uint32_t turn)
{
	const double ax = x < 0.0 ? -x : x;
	if (ax >= 4294967296.0)
		return turn ? 1.0 : 0.0;
	const int64_t quarter = (int64_t)(x * 0.6366197723675814 + (x < 0.0 ? -0.5 : 0.5));
	const double q = (double)quarter;
	double t = x - q * 1.57079632673412561417e+00;
	t -= q * 6.07710050630396597660e-11;
	t -= q * 2.02226624879595063154e-21;
	const uint64_t part = (uint64_t)quarter + turn;
	const double square = t * t;
	double sum = 1.0;
	if (part & 1) {
		for (int32_t n = 16; n >= 2; n -= 2)
			sum = 1.0 - sum * square / (double)(n * (n - 1));
	} else {
		for (int32_t n = 17; n >= 3; n -= 2)
			sum = 1.0 - sum * square / (double)(n * (n - 1));
		sum *= t;
	}
	return part & 2 ? -sum : sum;
}

static uint32_t circular(uint32_t a, uint32_t turn, unsigned mode)
{
	const uint32_t x = operand(a, mode);
	if ((x & ~SIGN) >= F32_INF)
		return BF_PTX_NAN_F32;
	if (turn == 0 && (x & ~SIGN) <= 0x00800000u)
		return x & SIGN;
	return bf_ptx_result_f32((float)sine_of((double)bf_ptx_float(x), turn), mode);
}

uint32_t bf_ptx_sin_f32(uint32_t a, unsigned mode)
{
	return circular(a, 0, mode);
}

uint32_t bf_ptx_cos_f32(uint32_t a, unsigned mode)
{
	return circular(a, 1, mode);
}

static double tanh_of(double x)
{
	const double ax = x < 0.0 ? -x : x;
	if (ax > 20.0)
		return x < 0.0 ? -1.0 : 1.0;
	if (ax < 0x1p-9)
		return x - x * x * x / 3.0;
	const double e = exp2_of(2.8853900817779268 * x);
	return (e - 1.0) / (e + 1.0);
}

uint32_t bf_ptx_tanh_f32(uint32_t a, unsigned mode)
{
	(void)mode;
	if (bf_ptx_is_nan_f32(a))
		return BF_PTX_NAN_F32;
	if ((a & 0x7f800000u) == 0)
		return a;
	return bf_ptx_bits32((float)tanh_of((double)bf_ptx_float(a)));
}

/* The f64 forms read and give the upper words of numbers, subnormals as zero. */
static uint64_t upper_word(uint64_t a)
{
	return (a & 0x7ff0000000000000ull) == 0 ? a & 1ull << 63 : a & ~0xffffffffull;
}

#define UPPER_NAN 0x7fffffff00000000ull

uint64_t bf_ptx_rcp_approx_f64(uint64_t a)
{
	const uint64_t bits = bf_ptx_bits64(1.0 / bf_ptx_double(upper_word(a)));
	return bf_ptx_is_nan_f64(bits) ? UPPER_NAN : upper_word(bits);
}

uint64_t bf_ptx_rsqrt_f64(uint64_t a, unsigned mode)
{
	const bool upper = (mode & BF_PTX_MODE_FTZ) != 0;
	const uint64_t x = upper ? upper_word(a) : a;
	if ((x & ~(1ull << 63)) == 0)
		return 0x7ff0000000000000ull | (x & 1ull << 63);
	if (bf_ptx_is_nan_f64(x) && !upper)
		return x | BF_PTX_QUIET_F64;
	if (bf_ptx_is_nan_f64(x) || x >> 63)
		return upper ? UPPER_NAN : BF_PTX_INVALID_F64;
	const uint64_t bits = bf_ptx_bits64(1.0 / bf_ptx_double(bf_ptx_sqrt_f64(x, 0)));
	return upper ? upper_word(bits) : bits;
}

static uint32_t half_operand(enum bf_ptx_type format, uint16_t a, unsigned mode)
{
	if (format == BF_PTX_BF16)
		return bf_ptx_cvt_f32_bf16(a);
	const bool flush = (mode & BF_PTX_MODE_FTZ) && (a & 0x7c00) == 0;
	return bf_ptx_cvt_f32_f16(flush ? a & 0x8000u : a);
}

static uint16_t half_result(enum bf_ptx_type format, uint32_t bits, unsigned mode)
{
	return (uint16_t)bf_ptx_soft_round(format, bf_ptx_soft_read(BF_PTX_F32, bits), mode);
}

uint16_t bf_ptx_half_ex2(enum bf_ptx_type format, uint16_t a, unsigned mode)
{
	return half_result(format, bf_ptx_ex2_f32(half_operand(format, a, mode), 0), mode);
}

uint16_t bf_ptx_half_tanh(enum bf_ptx_type format, uint16_t a, unsigned mode)
{
	return half_result(format, bf_ptx_tanh_f32(half_operand(format, a, mode), 0), mode);
}
