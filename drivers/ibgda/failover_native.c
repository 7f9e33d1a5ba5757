/* The supervisors of failover for threads of this machine. */
#include "drivers/platform/platform_native.h"

#include "drivers/ibgda/failover_kernels_internal.h"

const struct bf_failover_kernels bf_ibgda_failover_native = BF_FAILOVER_KERNEL_TABLE;
