/*
 * The arithmetic of the low-latency kernels by the row, for the processor that this object is compiled for:
 * ll_math_avx2.c and ll_math_avx512.c include this file to have it once more. A vector of elements is computed in step;
 * left to a compiler, some of these loops become code for one element at a time.
 */
#include "drivers/ibgda/ll_math_internal.h"
#include "drivers/ibgda/ll_number.h"

#if defined(__AVX512F__) || (defined(__AVX2__) && defined(__FMA__))
#include <immintrin.h>
#endif

#ifndef BF_LL_MATH_TABLE
#define BF_LL_MATH_TABLE bf_ll_math_plain
#endif

/* What a vector register holds of 32 bits each. */
#if defined(__AVX512F__)
#define STEP 16u
#elif defined(__AVX2__)
#define STEP 8u
#else
#define STEP 4u
#endif

typedef float floats __attribute__((vector_size(STEP * 4)));
typedef uint32_t words __attribute__((vector_size(STEP * 4)));
typedef int32_t integers __attribute__((vector_size(STEP * 4)));
typedef uint16_t halves __attribute__((vector_size(STEP * 2)));
typedef uint8_t bytes __attribute__((vector_size(STEP)));

static words load_halves(const uint8_t *from)
{
	halves v;

	memcpy(&v, from, sizeof(v));
	return __builtin_convertvector(v, words);
}

static void store_halves(uint8_t *to, words v)
{
	const halves low = __builtin_convertvector(v, halves);

	memcpy(to, &low, sizeof(low));
}

/* In two steps, each of which compilers have an instruction for. */
static words load_bytes(const uint8_t *from)
{
	bytes v;

	memcpy(&v, from, sizeof(v));
	return __builtin_convertvector(__builtin_convertvector(v, halves), words);
}

static void store_bytes(uint8_t *to, words v)
{
	const bytes low = __builtin_convertvector(__builtin_convertvector(v, halves), bytes);

	memcpy(to, &low, sizeof(low));
}

/* All ones where `a` is more than `b`, of values below 2^31. */
static words more(words a, uint32_t b)
{
	return (words)((integers)a > (int32_t)b);
}

static words choose(words mask, words yes, words no)
{
	return (yes & mask) | (no & ~mask);
}

static floats from_bf16(words v)
{
	return (floats)(v << 16);
}

static words to_bf16(floats f)
{
	const words u = (words)f;

	return choose(more(u & 0x7fffffffu, 0x7f800000u), u >> 16 | 0x40u, (u + 0x7fffu + (u >> 16 & 1u)) >> 16);
}

/* bf_ll_to_e4m3(): both ranges are computed, and one is taken. */
static words to_e4m3(floats f)
{
	const words u = (words)f, abs = u & 0x7fffffffu;
	const words normal = ((abs + 0x7ffffu + (abs >> 20 & 1u)) >> 20) - (120u << 3);
	/* Adding 2^14 leaves steps of 2^-9, to the nearest, ties to even. */
	const words small = (words)((floats)abs + 16384.0f) - 0x46800000u;
	const words beyond = more(abs, 0x43e80000u);
	words code = choose(more(abs, 0x3c7fffffu), normal, small);

	code = choose(beyond | more(code, 0x7eu), (words){ 0 } + 0x7eu, code);
	return (u >> 24 & 0x80u) | choose(more(abs, 0x7f800000u), (words){ 0 } + 0x7fu, code);
}

/* bf_ll_from_e4m3(), likewise. */
static floats from_e4m3(words v)
{
	const words mag = v & 0x7fu, sign = (v & 0x80u) << 24;
	const words small = (words)(__builtin_convertvector((integers)mag, floats) * 0x1p-9f);
	const words bits = choose(more(mag, 7), (mag << 20) + (120u << 23), small);

	return (floats)(sign | choose(more(mag, 0x7eu), (words){ 0 } + 0x7fc00000u, bits));
}

/* bf_ll_fma() of each. */
static floats fma_each(floats acc, floats x, float weight)
{
#if defined(__AVX512F__)
	return (floats)_mm512_fmadd_ps((__m512)x, _mm512_set1_ps(weight), (__m512)acc);
#elif defined(__AVX2__) && defined(__FMA__)
	return (floats)_mm256_fmadd_ps((__m256)x, _mm256_set1_ps(weight), (__m256)acc);
#else
	for (uint32_t i = 0; i < STEP; i++)
		acc[i] = bf_ll_fma(acc[i], x[i], weight);
	return acc;
#endif
}

static void cast(const uint8_t *x, int power, uint8_t *fp8, uint32_t *inverse)
{
	words most = (words){ 0 } + bf_ll_bits(BF_LL_AMAX_LEAST);
	uint32_t amax = 0;
	struct bf_ll_scale scale;

	/* Magnitudes are in the order of their bits; a NaN is larger than none. */
	for (uint32_t i = 0; i < BF_LL_CHANNELS; i += STEP) {
		const words abs = (load_halves(x + i * 2ull) & 0x7fffu) << 16;
		const words known = abs & ~more(abs, 0x7f800000u);

		most = choose((words)((integers)known > (integers)most), known, most);
	}
	for (uint32_t i = 0; i < STEP; i++)
		amax = most[i] > amax ? most[i] : amax;
	scale = bf_ll_scale_of(bf_ll_float(amax), power);
	for (uint32_t i = 0; i < BF_LL_CHANNELS; i += STEP)
		store_bytes(fp8 + i, to_e4m3(from_bf16(load_halves(x + i * 2ull)) * scale.scale));
	*inverse = bf_ll_bits(scale.inverse);
}

static void expert_fp8(const uint8_t *x, float scale, float factor, uint8_t *out)
{
	for (uint32_t i = 0; i < BF_LL_CHANNELS; i += STEP)
		store_halves(out + i * 2ull, to_bf16(from_e4m3(load_bytes(x + i)) * scale * factor));
}

static void expert_bf16(const uint8_t *x, uint32_t n, float factor, uint8_t *out)
{
	for (uint32_t i = 0; i < n; i += STEP)
		store_halves(out + i * 2ull, to_bf16(from_bf16(load_halves(x + i * 2ull)) * factor));
}

#define SUMS (64 / STEP) /* vectors at once */
static void reduce(const uint8_t *const *answer, const float *weight, uint32_t n, uint64_t from, uint32_t count,
		   uint8_t *out)
{
	for (uint64_t at = 0; at < count * 2ull; at += 128) {
		floats sum[SUMS] = { 0 };

		for (uint32_t k = 0; k < n; k++)
			for (uint32_t i = 0; i < SUMS; i++) {
				const words v = load_halves(answer[k] + from + at + i * STEP * 2ull);

				sum[i] = fma_each(sum[i], from_bf16(v), weight[k]);
			}
		for (uint32_t i = 0; i < SUMS; i++)
			store_halves(out + at + i * STEP * 2ull, to_bf16(sum[i]));
	}
}

const struct bf_ll_math BF_LL_MATH_TABLE = { cast, expert_fp8, expert_bf16, reduce };
