/* The NVMe kernels for threads of this machine. */
#include "drivers/platform/platform_native.h"

#include "drivers/nvme/kernels_internal.h"

const struct bf_nvme_drv_kernels bf_nvme_drv_kernels_native = BF_NVME_DRV_KERNEL_TABLE;
