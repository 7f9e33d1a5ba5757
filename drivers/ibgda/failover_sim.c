/* The supervisors of failover for agents in virtual time. */
#include "drivers/platform/platform_sim.h"

#include "drivers/ibgda/failover_kernels_internal.h"

const struct bf_failover_kernels bf_ibgda_failover_sim = BF_FAILOVER_KERNEL_TABLE;
