/* What PEs of the modelled machine are made of, a line for each kind of device; each has a file part_*.c. */
#include "drivers/backend/machine_internal.h"

const struct bf_part *const *bf_parts(void)
{
	static const struct bf_part *const parts[] = { &bf_part_mlx5, &bf_part_nvme, &bf_part_sdma, NULL };

	return parts;
}

const char *bf_device_kind(uint32_t i)
{
	for (const struct bf_part *const *part = bf_parts(); i < 32 && *part; part++)
		if ((*part)->device == 1u << i)
			return (*part)->kind;
	return NULL;
}
