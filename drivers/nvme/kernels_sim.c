/* The NVMe kernels for agents in virtual time. */
#include "drivers/platform/platform_sim.h"

#include "drivers/nvme/kernels_internal.h"

const struct bf_nvme_drv_kernels bf_nvme_drv_kernels_sim = BF_NVME_DRV_KERNEL_TABLE;
