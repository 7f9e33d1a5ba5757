/*
 * The arithmetic of the low-latency kernels by the row, for the processor that this object is compiled for:
 * ll_math_avx2.c and ll_math_avx512.c include this file to have it once more. Loops become vector code.
 */
#include "drivers/ibgda/ll_math_internal.h"
#include "drivers/ibgda/ll_number.h"

#ifndef BF_LL_MATH_TABLE
#define BF_LL_MATH_TABLE bf_ll_math_plain
#endif

/* Tensors are bytes to everybody else. */
typedef uint16_t element __attribute__((may_alias, aligned(1)));

static uint32_t choose(int condition, uint32_t yes, uint32_t no)
{
	const uint32_t mask = 0u - (uint32_t)condition;

	return (yes & mask) | (no & ~mask);
}

/* bf_ll_to_e4m3(): both ranges are computed, and one is taken. */
static uint8_t to_e4m3(float f)
{
	const uint32_t u = bf_ll_bits(f), abs = u & 0x7fffffffu;
	const uint32_t normal = ((abs + 0x7ffffu + (abs >> 20 & 1u)) >> 20) - (120u << 3);
	/* Adding 2^14 leaves steps of 2^-9, to the nearest, ties to even. */
	const uint32_t small = bf_ll_bits(bf_ll_float(abs) + 16384.0f) - 0x46800000u;
	const uint32_t code = choose(abs < 0x3c800000u, small, choose(abs > 0x43e80000u, 0x7eu, normal));

	return (uint8_t)((u >> 24 & 0x80u) | choose(abs > 0x7f800000u, 0x7fu, choose(code > 0x7eu, 0x7eu, code)));
}

/* bf_ll_from_e4m3(), likewise. */
static float from_e4m3(uint8_t v)
{
	const uint32_t mag = v & 0x7fu, sign = (uint32_t)(v & 0x80u) << 24;
	const uint32_t small = bf_ll_bits((float)(int32_t)mag * 0x1p-9f);
	const uint32_t bits = choose(mag < 8, small, (mag << 20) + (120u << 23));

	return bf_ll_float(sign | choose(mag == 0x7f, 0x7fc00000u, bits));
}

static uint16_t to_bf16(float f)
{
	const uint32_t u = bf_ll_bits(f);

	return (uint16_t)choose((u & 0x7fffffffu) > 0x7f800000u, u >> 16 | 0x40u, (u + 0x7fffu + (u >> 16 & 1u)) >> 16);
}

static float fma_once(float acc, float x, float weight)
{
#ifdef __FMA__
	return __builtin_fmaf(x, weight, acc);
#else
	return bf_ll_fma(acc, x, weight);
#endif
}

static void cast(const uint8_t *x, int power, uint8_t *fp8, uint32_t *inverse)
{
	const element *in = (const element *)x;
	uint32_t amax = bf_ll_bits(BF_LL_AMAX_LEAST);
	struct bf_ll_scale scale;

	/* Magnitudes are in the order of their bits; a NaN is larger than none. */
	for (uint32_t i = 0; i < BF_LL_CHANNELS; i++) {
		const uint32_t abs = (in[i] & 0x7fffu) << 16, known = choose(abs > 0x7f800000u, 0, abs);

		amax = known > amax ? known : amax;
	}
	scale = bf_ll_scale_of(bf_ll_float(amax), power);
	for (uint32_t i = 0; i < BF_LL_CHANNELS; i++)
		fp8[i] = to_e4m3(bf_ll_from_bf16(in[i]) * scale.scale);
	*inverse = bf_ll_bits(scale.inverse);
}

static void expert_fp8(const uint8_t *x, float scale, float factor, uint8_t *out)
{
	element *to = (element *)out;

	for (uint32_t i = 0; i < BF_LL_CHANNELS; i++)
		to[i] = to_bf16(from_e4m3(x[i]) * scale * factor);
}

static void expert_bf16(const uint8_t *x, uint32_t n, float factor, uint8_t *out)
{
	const element *in = (const element *)x;
	element *to = (element *)out;

	for (uint32_t i = 0; i < n; i++)
		to[i] = to_bf16(bf_ll_from_bf16(in[i]) * factor);
}

#define AT_ONCE 64u
static void reduce(const uint8_t *const *answer, const float *weight, uint32_t n, uint64_t from, uint32_t count,
		   uint8_t *out)
{
	element *to = (element *)out;

	for (uint32_t at = 0; at < count; at += AT_ONCE) {
		float sum[AT_ONCE] = { 0 };

		for (uint32_t k = 0; k < n; k++) {
			const element *in = (const element *)(answer[k] + from) + at;

			for (uint32_t i = 0; i < AT_ONCE; i++)
				sum[i] = fma_once(sum[i], bf_ll_from_bf16(in[i]), weight[k]);
		}
		for (uint32_t i = 0; i < AT_ONCE; i++)
			to[at + i] = to_bf16(sum[i]);
	}
}

const struct bf_ll_math BF_LL_MATH_TABLE = { cast, expert_fp8, expert_bf16, reduce };
