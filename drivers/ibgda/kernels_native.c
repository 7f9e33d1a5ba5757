/* The IBGDA kernels for threads of this machine. */
#include "drivers/platform/platform_native.h"

#include "drivers/ibgda/kernels_internal.h"

const struct bf_ibgda_kernels bf_ibgda_kernels_native = BF_IBGDA_KERNEL_TABLE;
