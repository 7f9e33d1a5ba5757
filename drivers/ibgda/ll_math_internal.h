/*
 * The arithmetic of the low-latency kernels by the row, for a processor that runs a warp as one thread: to the bit what
 * ll_number.h says of each element.
 */
#ifndef BELFRY_DRIVERS_IBGDA_LL_MATH_INTERNAL_H
#define BELFRY_DRIVERS_IBGDA_LL_MATH_INTERNAL_H

#include <stddef.h>
#include <stdint.h>

struct bf_ll_math {
	/* 128 BF16 elements as FP8 with one scale; `inverse` gets the bits of the float that undoes it. */
	void (*cast)(const uint8_t *x, int power, uint8_t *fp8, uint32_t *inverse);
	/* What an expert makes of 128 elements with one scale, or of `n` (a multiple of 16) in BF16; BF16. */
	void (*expert_fp8)(const uint8_t *x, float scale, float factor, uint8_t *out);
	void (*expert_bf16)(const uint8_t *x, uint32_t n, float factor, uint8_t *out);
	/* The sum of `n` answers with their weights: `count` (a multiple of 64) elements that begin at byte `from` of
	 * each. */
	void (*reduce)(const uint8_t *const *answer, const float *weight, uint32_t n, uint64_t from, uint32_t count,
		       uint8_t *out);
};

extern const struct bf_ll_math bf_ll_math_plain, bf_ll_math_avx2, bf_ll_math_avx512;

/* The best for the processor that runs this. */
const struct bf_ll_math *bf_ll_math_best(void);

/* The same in device code, which has no use for it. */
#if defined(__CUDACC__) || defined(__HIPCC__)
static __device__ __forceinline__ const struct bf_ll_math *bf_ll_math_here(void)
{
	return NULL;
}
#else
static inline const struct bf_ll_math *bf_ll_math_here(void)
{
	return bf_ll_math_best();
}
#endif

#endif
