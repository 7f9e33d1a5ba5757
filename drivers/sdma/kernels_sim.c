/* The SDMA kernel for agents in virtual time. */
#include "drivers/platform/platform_sim.h"

#include "drivers/sdma/kernels_internal.h"

bf_kernel_fn *const bf_sdma_drv_kernel_sim = bf_sdma_drv_run_kernel;
