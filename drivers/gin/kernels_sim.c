/* The GIN kernels for agents in virtual time. */
#include "drivers/platform/platform_sim.h"

#include "drivers/gin/kernels_internal.h"

const struct bf_gin_kernels bf_gin_kernels_sim = BF_GIN_KERNEL_TABLE;
