#include "drivers/gin/kernels.h"

extern const struct bf_gin_kernels bf_gin_kernels_sim, bf_gin_kernels_native;

const struct bf_gin_kernels *bf_gin_kernels(enum bf_platform_id platform)
{
	return platform == BF_PLATFORM_SIM      ? &bf_gin_kernels_sim
	       : platform == BF_PLATFORM_NATIVE ? &bf_gin_kernels_native
						: 0;
}
