/*
 * Number formats of the low-latency kernels, bit for bit: BF16, FP8 (E4M3) with a scale for every 128 elements, and the
 * scale as a power of two (UE8M0). The same operations run in kernels of every platform and in the check on the host,
 * so that results are compared by their bytes.
 *
 * Each float operation below stands alone and is rounded once, as IEEE 754 says; nothing depends on contraction.
 * (deepseek-ai/DeepEP csrc/kernels/legacy/utils.cuh calculate_fp8_scales, fast_log2_ceil; OCP "8-bit Floating Point
 * Specification" for E4M3; OCP "Microscaling Formats" for E8M0.)
 */
#ifndef BELFRY_DRIVERS_IBGDA_LL_NUMBER_H
#define BELFRY_DRIVERS_IBGDA_LL_NUMBER_H

#include <stdint.h>
#include <string.h>

#include "sim/bytes.h"

#define BF_LL_CHANNELS 128u    /* elements that share a scale */
#define BF_LL_E4M3_MAX 448.0f  /* largest finite value */
#define BF_LL_AMAX_LEAST 1e-4f /* DeepEP's kFP8Margin: keeps the scale of an all-zero group finite */

BF_FN uint32_t bf_ll_bits(float f)
{
	uint32_t u;

	memcpy(&u, &f, sizeof(u));
	return u;
}
BF_FN float bf_ll_float(uint32_t u)
{
	float f;

	memcpy(&f, &u, sizeof(f));
	return f;
}

BF_FN float bf_ll_from_bf16(uint16_t v)
{
	return bf_ll_float((uint32_t)v << 16);
}

/* To nearest, ties to even; a NaN stays one. */
BF_FN uint16_t bf_ll_to_bf16(float f)
{
	const uint32_t u = bf_ll_bits(f);

	if ((u & 0x7fffffffu) > 0x7f800000u)
		return (uint16_t)(u >> 16 | 0x40u);
	return (uint16_t)((u + 0x7fffu + (u >> 16 & 1u)) >> 16);
}

/*
 * To nearest, ties to even, beyond the range to the largest finite value (cvt.rn.satfinite.e4m3x2). E4M3: sign, four
 * bits of exponent with bias 7, three of mantissa; 0x7f is NaN, there is no infinity; the smallest step is 2^-9.
 */
BF_FN uint8_t bf_ll_to_e4m3(float f)
{
	const uint32_t u = bf_ll_bits(f), abs = u & 0x7fffffffu;
	const uint8_t sign = (uint8_t)(u >> 24 & 0x80u);
	const int32_t exponent = (int32_t)(abs >> 23) - 127;
	const uint32_t mantissa = (abs & 0x7fffffu) | 0x800000u;
	/* How many of the 24 bits go away: 20 leave 1.mmm; below 2^-6 one more for each power. */
	const int32_t drop = exponent >= -6 ? 20 : 20 + (-6 - exponent);
	uint32_t kept, rest, half, code;

	if (abs > 0x7f800000u)
		return (uint8_t)(sign | 0x7fu);
	if (exponent > 8)
		return (uint8_t)(sign | 0x7eu);
	if (drop > 24)
		return sign;
	half = 1u << (drop - 1);
	kept = mantissa >> drop;
	rest = mantissa & ((half << 1) - 1);
	kept += rest > half || (rest == half && (kept & 1u)) ? 1u : 0u;
	/* `kept` is 8..16 for normal numbers, whose implicit bit it holds: a carry runs into the exponent by itself. */
	code = exponent >= -6 ? ((uint32_t)(exponent + 7) << 3) + kept - 8 : kept;
	return (uint8_t)(sign | (code > 0x7eu ? 0x7eu : code));
}

BF_FN float bf_ll_from_e4m3(uint8_t v)
{
	const uint32_t exponent = v >> 3 & 15u, mantissa = v & 7u;
	const uint32_t sign = (uint32_t)(v & 0x80u) << 24;
	uint32_t shift = 0;

	if ((v & 0x7fu) == 0x7fu)
		return bf_ll_float(sign | 0x7fc00000u);
	if (exponent)
		return bf_ll_float(sign | (exponent + 120) << 23 | mantissa << 20);
	if (!mantissa)
		return bf_ll_float(sign);
	while (!(mantissa << shift & 8u))
		shift++;
	return bf_ll_float(sign | (121 - shift) << 23 | (mantissa << shift & 7u) << 20);
}

/* What a group of 128 is multiplied with and what undoes it. */
struct bf_ll_scale {
	float scale, inverse;
};

/* `amax` is at least BF_LL_AMAX_LEAST. With `power`: the next power of two that leaves nothing out of range. */
BF_FN struct bf_ll_scale bf_ll_scale_of(float amax, int power)
{
	struct bf_ll_scale s;

	if (power) {
		const float want = amax * (1 / BF_LL_E4M3_MAX);
		const uint32_t bits = bf_ll_bits(want);
		const uint32_t exponent = (bits >> 23 & 0xffu) + ((bits & 0x7fffffu) ? 1u : 0u);

		s.inverse = bf_ll_float(exponent << 23);
		s.scale = bf_ll_float((254 - exponent) << 23);
	} else {
		s.inverse = amax * (1 / BF_LL_E4M3_MAX);
		s.scale = BF_LL_E4M3_MAX / amax;
	}
	return s;
}

/*
 * acc + x * weight, rounded once: a GPU's fma. `x` has at most 29 significant bits less than a double holds beside the
 * weight, so that the product is exact; the sum is rounded to odd, after which rounding to float is right (Boldo and
 * Melquiond, "Emulation of FMA and correctly rounded sums: proved algorithms using rounding to odd").
 */
BF_FN float bf_ll_fma(float acc, float x, float weight)
{
	const double product = (double)x * (double)weight, a = (double)acc;
	double sum = a + product;
	const double b = sum - a;
	const double error = (a - (sum - b)) + (product - b);
	uint64_t bits;

	memcpy(&bits, &sum, sizeof(bits));
	if ((error > 0 || error < 0) && !(bits & 1u)) {
		bits += (error > 0) == (sum > 0) ? 1u : ~0ull;
		memcpy(&sum, &bits, sizeof(sum));
	}
	return (float)sum;
}

#endif
