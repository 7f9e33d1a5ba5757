/* The kinds of devices that a PE may have, a line each: what worlds are opened with and what backends drive. */
#ifndef BELFRY_DRIVERS_BACKEND_DEVICES_H
#define BELFRY_DRIVERS_BACKEND_DEVICES_H

#include <stdint.h>

#include "sim/compiler.h"

BF_API_BEGIN

/* Places in bf_world_opts.device_opts and bf_backend.ops. Behind each: what the two point to. */
enum bf_device_at {
	BF_DEVICE_AT_MLX5, /* struct bf_mlx5_profile (models/mlx5/profile.h); the calls of NICs in struct bf_backend */
	BF_DEVICE_AT_NVME, /* struct bf_nvme_world_opts, struct bf_nvme_world_ops (nvme_world.h) */
	BF_DEVICE_AT_SDMA, /* struct bf_sdma_profile (models/sdma/profile.h), struct bf_sdma_world_ops (sdma_world.h) */
	BF_DEVICE_KINDS
};

/* For masks of several. */
#define BF_DEVICE_MLX5 (1u << BF_DEVICE_AT_MLX5)
#define BF_DEVICE_NVME (1u << BF_DEVICE_AT_NVME)
#define BF_DEVICE_SDMA (1u << BF_DEVICE_AT_SDMA)

/* What a PE has whose world asks for no device. */
#define BF_DEVICE_DEFAULT BF_DEVICE_MLX5

/* The short name of device 1u << i: "nic", "nvme", "sdma". NULL past the last. */
const char *bf_device_kind(uint32_t i);

BF_API_END

#endif
