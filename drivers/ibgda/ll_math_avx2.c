/* The arithmetic of ll_math.c for x86 processors with AVX2 and FMA; the build gives this object the options for them.
 */
#if defined(__AVX2__) && defined(__FMA__)
#define BF_LL_MATH_TABLE bf_ll_math_avx2
#include "drivers/ibgda/ll_math.c"
#else
extern int bf_ll_no_avx2;
#endif
