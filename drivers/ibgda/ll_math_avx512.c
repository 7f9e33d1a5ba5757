/* The arithmetic of ll_math.c for x86 processors with AVX512 and FMA; the build gives this object the options for them.
 */
#if defined(__AVX512F__) && defined(__FMA__)
#define BF_LL_MATH_TABLE bf_ll_math_avx512
#include "drivers/ibgda/ll_math.c"
#else
extern int bf_ll_no_avx512;
#endif
