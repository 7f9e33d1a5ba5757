#include "drivers/backend/gpu_kernels.h"

#include "drivers/gin/kernels.h"
#include "drivers/ibgda/kernels.h"
#include "drivers/nvme/kernels.h"

/* Kernels of one driver that take the same: `n` of them, numbered from the first's number. */
struct row {
	struct bf_gpu_kernel first;
	bf_kernel_fn *const *run;
	uint32_t n;
};

#define FITS(job)                                                                                                      \
	BF_STATIC_ASSERT(sizeof(job) <= BF_GPU_KERNEL_JOB_MAX && sizeof(job) % 4 == 0, #job " with its number")
FITS(struct bf_ibgda_job);
FITS(struct bf_nvme_drv_job);
FITS(struct bf_gin_job);

bool bf_gpu_kernel_find(int platform, void (*kernel)(struct bf_thread *t, void *arg), struct bf_gpu_kernel *out)
{
	const enum bf_platform_id id = (enum bf_platform_id)platform;
	const struct bf_ibgda_kernels *ibgda = bf_ibgda_kernels(id);
	const struct bf_nvme_drv_kernels *nvme = bf_nvme_drv_kernels(id);
	const struct bf_gin_kernels *gin = bf_gin_kernels(id);
	const struct row rows[] = {
		{ { "belfry_ibgda", sizeof(struct bf_ibgda_job), true, 0, BF_CUDA_IBGDA }, ibgda->run, BF_IBGDA_WORKS },
		{ { "belfry_nvme", sizeof(struct bf_nvme_drv_job), true, 0, BF_CUDA_NVME },
		  nvme->run,
		  BF_NVME_DRV_WORKS },
		{ { "belfry_nvme_ring", sizeof(struct bf_nvme_drv_job), false, BF_CUDA_NVME_RING, BF_CUDA_NVME },
		  &nvme->ring,
		  1 },
		{ { "belfry_gin", sizeof(struct bf_gin_job), false, 0, BF_CUDA_NO_DRIVER }, &gin->run, 1 },
	};

	for (uint32_t i = 0; i < BF_ARRAY_LEN(rows); i++)
		for (uint32_t n = 0; n < rows[i].n; n++) {
			if (rows[i].run[n] != kernel)
				continue;
			*out = rows[i].first;
			out->work += n;
			return true;
		}
	return false;
}
