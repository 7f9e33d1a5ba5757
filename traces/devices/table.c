/* All devices: a line each. Findings of equal weight are told in this order. */
#include <stddef.h>

#include "traces/device.h"

extern const struct bf_device bf_device_machine, bf_device_fabric, bf_device_gpu, bf_device_mlx5, bf_device_nvme,
    bf_device_sdma, bf_device_hopper;

static const struct bf_device *const ours[] = {
	&bf_device_machine, &bf_device_fabric, &bf_device_gpu,    &bf_device_mlx5,
	&bf_device_nvme,    &bf_device_sdma,   &bf_device_hopper,
};

const struct bf_device *bf_device_at(uint32_t i)
{
	const uint32_t n = BF_ARRAY_LEN(ours);

	if (i < n)
		return ours[i];
	for (uint32_t k = 0; bf_devices_outside[k]; k++)
		if (n + k == i)
			return bf_devices_outside[k];
	return NULL;
}
