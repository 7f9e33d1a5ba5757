/*
 * The drivers' device code for the machine that runs PTX: compiled by nvcc to belfry-drivers.ptx, which `--agent ptx`
 * loads (ptx_world.c, cluster_ptx.c). With BF_IBGDA_RIGHT it is belfry-drivers-right.ptx, for runs of IBGDA that are not
 * told to do anything wrong.
 */
#include "drivers/platform/platform_mbarrier_cuda.h"

#include "drivers/ibgda/kernels_internal.h"
#ifndef BF_IBGDA_RIGHT
#include "drivers/gin/kernels_internal.h"
#include "drivers/mbarrier/kernels_internal.h"
#include "drivers/nvme/kernels_internal.h"
#endif

extern "C" __global__ void belfry_ibgda(struct bf_ibgda_job job, uint32_t work)
{
	struct bf_thread t;

	bf_ibgda_work(&t, &job, (enum bf_ibgda_work)work);
}

#ifndef BF_IBGDA_RIGHT
extern "C" __global__ void belfry_gin(struct bf_gin_job job)
{
	struct bf_thread t;

	bf_gin_issue(&t, &job);
}

extern "C" __global__ void belfry_nvme(struct bf_nvme_drv_job job, uint32_t work)
{
	struct bf_thread t;

	bf_nvme_drv_work_io(&t, &job, (enum bf_nvme_drv_work)work);
}

extern "C" __global__ void belfry_nvme_ring(struct bf_nvme_drv_job job)
{
	struct bf_thread t;

	bf_nvme_drv_work_ring(&t, &job);
}

extern "C" __global__ void __launch_bounds__(992) belfry_mbarrier(const __grid_constant__ struct bf_mbar_job job)
{
	struct bf_thread t;

	bf_mbar_work(&t, &job);
}
#endif
