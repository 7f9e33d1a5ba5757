/* The workloads as kernels for a platform. Lane of a grid of blocks of bf_mbar_warps() warps; argument: a job. */
#ifndef BELFRY_DRIVERS_MBARRIER_KERNELS_H
#define BELFRY_DRIVERS_MBARRIER_KERNELS_H

#include "drivers/mbarrier/mbarrier.h"
#include "drivers/platform/platform.h"

/* sim is built in; NULL for the others. */
bf_kernel_fn *bf_mbar_kernel(enum bf_platform_id platform);

#endif
