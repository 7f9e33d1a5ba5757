/* The NVMe kernels for agents in virtual time. */
#include "drivers/platform/platform_sim.h"

#include "drivers/nvme/kernels_internal.h"

const struct bf_nvm_kernels bf_nvm_kernels_sim = BF_NVM_KERNEL_TABLE;
