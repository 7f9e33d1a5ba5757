/* The handlers of lanes.c for x86 processors with AVX2 and FMA; the build gives this object the options for them. */
#if defined(__AVX2__) && defined(__FMA__)
#define BF_PTX_LANES_TABLE bf_ptx_lanes_avx2
#include "models/ptx/lanes.c"
#else
extern int bf_ptx_no_avx2;
#endif
