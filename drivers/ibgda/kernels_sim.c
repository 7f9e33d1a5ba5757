/* The IBGDA kernels for agents in virtual time. */
#include "drivers/platform/platform_sim.h"

#include "drivers/ibgda/kernels_internal.h"

const struct bf_ibgda_kernels bf_ibgda_kernels_sim = BF_IBGDA_KERNEL_TABLE;
