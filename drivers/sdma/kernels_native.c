/* The SDMA kernel for threads of this machine. */
#include "drivers/platform/platform_native.h"

#include "drivers/sdma/kernels_internal.h"

bf_kernel_fn *const bf_sdma_drv_kernel_native = bf_sdma_drv_run_kernel;
