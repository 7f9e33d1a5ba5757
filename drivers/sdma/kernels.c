#include "drivers/sdma/kernels.h"

#include <stddef.h>

extern bf_kernel_fn *const bf_sdma_drv_kernel_sim, *const bf_sdma_drv_kernel_native;

bf_kernel_fn *bf_sdma_drv_kernel(enum bf_platform_id platform)
{
	switch (platform) {
	case BF_PLATFORM_SIM:
		return bf_sdma_drv_kernel_sim;
	case BF_PLATFORM_NATIVE:
		return bf_sdma_drv_kernel_native;
	case BF_PLATFORM_CUDA:
	case BF_PLATFORM_HIP:
		break;
	}
	return NULL;
}
