/* What host code needs of the kernels: which there are, and how much memory a shape takes. */
#include "drivers/nvme/kernels.h"

#include <stddef.h>

extern const struct bf_nvme_drv_kernels bf_nvme_drv_kernels_sim, bf_nvme_drv_kernels_native;

const struct bf_nvme_drv_kernels *bf_nvme_drv_kernels(enum bf_platform_id platform)
{
	switch (platform) {
	case BF_PLATFORM_SIM:
		return &bf_nvme_drv_kernels_sim;
	case BF_PLATFORM_NATIVE:
		return &bf_nvme_drv_kernels_native;
	case BF_PLATFORM_CUDA:
	case BF_PLATFORM_HIP:
		break;
	}
	return NULL;
}

uint64_t bf_nvme_drv_data_stride(const struct bf_nvme_drv_shape *s, uint32_t page)
{
	return ((uint64_t)s->offset + s->bytes + page - 1) / page * page;
}

/* Lists of one page or less share pages; none is needed for two pages of data. */
uint64_t bf_nvme_drv_list_stride(const struct bf_nvme_drv_shape *s, uint32_t page)
{
	const uint64_t pages = bf_nvme_drv_data_stride(s, page) / page;
	const uint64_t room = page / 8 - 1; /* that a list page has besides the pointer to the next one */

	if (pages <= 2)
		return 0;
	return (s->list_offset + pages * 8 + (pages / room + 1) * 8 + page - 1) / page * page;
}
