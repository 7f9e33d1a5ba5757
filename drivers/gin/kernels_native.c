/* The GIN kernels for threads of this machine. */
#include "drivers/platform/platform_native.h"

#include "drivers/gin/kernels_internal.h"

const struct bf_gin_kernels bf_gin_kernels_native = BF_GIN_KERNEL_TABLE;
