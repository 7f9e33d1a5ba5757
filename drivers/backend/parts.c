/* What PEs of the modelled machine are made of, a line for each kind of device; each has a file part_*.c. */
#include "drivers/backend/machine_internal.h"
#include "drivers/backend/nvme_world.h"
#include "drivers/backend/sdma_world.h"

extern const struct bf_part bf_part_mlx5, bf_part_nvme, bf_part_sdma;
extern const struct bf_nvme_world_ops bf_part_nvme_ops;
extern const struct bf_sdma_world_ops bf_part_sdma_ops;

const void *const bf_part_ops[BF_DEVICE_KINDS] = {
	[BF_DEVICE_AT_NVME] = &bf_part_nvme_ops,
	[BF_DEVICE_AT_SDMA] = &bf_part_sdma_ops,
};

const struct bf_part *const *bf_parts(void)
{
	static const struct bf_part *const parts[] = { &bf_part_mlx5, &bf_part_nvme, &bf_part_sdma, NULL };

	return parts;
}

const char *bf_device_kind(uint32_t i)
{
	for (const struct bf_part *const *part = bf_parts(); i < BF_DEVICE_KINDS && *part; part++)
		if ((*part)->device == 1u << i)
			return (*part)->kind;
	return NULL;
}
