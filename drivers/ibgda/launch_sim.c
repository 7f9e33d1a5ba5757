/* Kernels that a CPU thread rings for, for agents in virtual time. */
#include "drivers/platform/platform_sim.h"

#include "drivers/ibgda/launch_kernels_internal.h"

const struct bf_ibgda_served_kernels bf_ibgda_served_sim = BF_IBGDA_SERVED_TABLE;
