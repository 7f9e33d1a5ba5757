/* The low-latency kernels for agents in virtual time. */
#include "drivers/platform/platform_sim.h"

#include "drivers/ibgda/ll_kernels_internal.h"

extern const struct bf_ll_kernels bf_ll_kernels_sim;
const struct bf_ll_kernels bf_ll_kernels_sim = BF_LL_KERNEL_TABLE;
