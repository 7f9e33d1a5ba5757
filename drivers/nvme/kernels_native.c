/* The NVMe kernels for threads of this machine. */
#include "drivers/platform/platform_native.h"

#include "drivers/nvme/kernels_internal.h"

const struct bf_nvm_kernels bf_nvm_kernels_native = BF_NVM_KERNEL_TABLE;
