/*
 * Which of the three builds that cmake/belfry_vectors.cmake makes of a file this processor can run. The features asked
 * for are those of the options there.
 */
#ifndef BELFRY_SIM_VECTORS_H
#define BELFRY_SIM_VECTORS_H

#if defined(__x86_64__)
enum bf_vectors { BF_VECTORS_PLAIN, BF_VECTORS_AVX2, BF_VECTORS_AVX512 };

static inline enum bf_vectors bf_vectors_here(void)
{
	if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
	    __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("fma"))
		return BF_VECTORS_AVX512;
	if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
		return BF_VECTORS_AVX2;
	return BF_VECTORS_PLAIN;
}

/* The address of STEM_avx512, STEM_avx2 or STEM_plain; other processors have the last one only. */
#define BF_VECTORS_BEST(stem)                                                                                          \
	(bf_vectors_here() == BF_VECTORS_AVX512 ? &stem##_avx512                                                       \
	 : bf_vectors_here() == BF_VECTORS_AVX2 ? &stem##_avx2                                                         \
						: &stem##_plain)
#else
#define BF_VECTORS_BEST(stem) (&stem##_plain)
#endif

#endif
