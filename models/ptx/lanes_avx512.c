/* The handlers of lanes.c for x86 processors with AVX-512; the build gives this object the options for them. */
#if defined(__AVX512F__) && defined(__AVX512BW__) && defined(__AVX512DQ__) && defined(__AVX512VL__)
#define BF_PTX_LANES_TABLE bf_ptx_lanes_avx512
#include "models/ptx/lanes.c"
#else
extern int bf_ptx_no_avx512;
#endif
