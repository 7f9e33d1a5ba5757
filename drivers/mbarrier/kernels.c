#include "drivers/mbarrier/kernels.h"

#include <stddef.h>

extern bf_kernel_fn *const bf_mbar_kernel_sim;

bf_kernel_fn *bf_mbar_kernel(enum bf_platform_id platform)
{
	switch (platform) {
	case BF_PLATFORM_SIM:
		return bf_mbar_kernel_sim;
	case BF_PLATFORM_NATIVE:
	case BF_PLATFORM_CUDA:
	case BF_PLATFORM_HIP:
		break;
	}
	return NULL;
}
