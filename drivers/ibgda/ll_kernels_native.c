/* The low-latency kernels for threads of this machine. */
#include "drivers/platform/platform_native.h"

#include "drivers/ibgda/ll_kernels_internal.h"

extern const struct bf_ll_kernels bf_ll_kernels_native;
const struct bf_ll_kernels bf_ll_kernels_native = BF_LL_KERNEL_TABLE;
