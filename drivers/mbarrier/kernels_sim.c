/* The barrier kernels for agents in virtual time. */
#include "drivers/platform/platform_mbarrier_sim.h"

#include "drivers/mbarrier/kernels_internal.h"

bf_kernel_fn *const bf_mbar_kernel_sim = bf_mbar_run_kernel;
