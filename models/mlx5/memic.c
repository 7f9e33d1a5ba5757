/*
 * Memory of the device (MEMIC): pages that programs map and keys name. The driver asks for them by command (Linux
 * drivers/infiniband/hw/mlx5/dm.c); addresses in the commands are those of the region.
 *
 * It is a region like any other, which the device reaches as it does host memory: that such accesses stay inside the
 * device, and are faster, is not modelled.
 */
#include "models/mlx5/device_internal.h"
#include "models/mlx5/prm_hca.h"

#include <assert.h>
#include <errno.h>

#define LOG_MIN_BYTES 6u
#define LOG_MAX_ALIGNMENT 12u

static bool is_free(const struct bf_mlx5 *dev, uint32_t first, uint32_t pages)
{
	return !(dev->memic_pages & (((2ull << (pages - 1)) - 1) << first));
}

static void mark(struct bf_mlx5 *dev, uint32_t first, uint32_t pages)
{
	assert(pages && first + pages <= 64);
	dev->memic_pages ^= ((2ull << (pages - 1)) - 1) << first;
}

int bf_mlx5_memic_open(struct bf_mlx5 *dev, const struct bf_mlx5_opts *opts)
{
	const struct bf_region_opts region = {
		.name = "device memory", .kind = BF_MEM_DRAM, .size = opts->memic, .bytes = opts->memic_bytes
	};
	int status;

	if (!opts->memic)
		return 0;
	if (opts->memic % BF_PAGE || opts->memic > BF_MLX5_MEMIC_MAX)
		return bf_fail(&dev->sim->error, -EINVAL, "%s: device memory is whole pages, at most %u bytes",
			       dev->name, BF_MLX5_MEMIC_MAX);
	status = bf_region_create(opts->space, &region, &dev->memic);
	if (status)
		return status;
	status = bf_ioas_map_region(opts->ioas, dev->memic, BF_IOMMU_READ | BF_IOMMU_WRITE);
	if (status) {
		bf_region_destroy(dev->memic);
		dev->memic = NULL;
		return status;
	}
	dev->memic_ioas = opts->ioas;
	return 0;
}

void bf_mlx5_memic_close(struct bf_mlx5 *dev)
{
	if (!dev->memic)
		return;
	bf_ioas_unmap(dev->memic_ioas, dev->memic->va, dev->memic->size);
	bf_region_destroy(dev->memic);
}

struct bf_region *bf_mlx5_memic(struct bf_mlx5 *dev)
{
	return dev->memic;
}

void bf_mlx5_memic_caps(const struct bf_mlx5 *dev, uint8_t *cap)
{
	if (!dev->memic)
		return;
	BF_MLX5_SET(cap, BF_MEMIC_CAP_MEMIC, 1);
	BF_MLX5_SET(cap, BF_MEMIC_CAP_LOG_MIN, LOG_MIN_BYTES);
	BF_MLX5_SET(cap, BF_MEMIC_CAP_LOG_ALIGNMENT, LOG_MAX_ALIGNMENT);
	bf_put_be64(cap + BF_MEMIC_CAP_START, dev->memic->va);
	BF_MLX5_SET(cap, BF_MEMIC_CAP_BYTES, (uint32_t)dev->memic->size);
	BF_MLX5_SET(cap, BF_MEMIC_CAP_MAX, (uint32_t)dev->memic->size);
}

/* Whole pages, since a page is what a program maps; they hold zeros, and nothing of the program before. */
uint8_t bf_mlx5_cmd_alloc_memic(struct bf_mlx5_mail *m)
{
	struct bf_mlx5 *dev = m->dev;
	const uint64_t range = bf_get_be64(m->in + BF_ALLOC_MEMIC_RANGE);
	const uint64_t room = BF_MLX5_GET(m->in, BF_ALLOC_MEMIC_RANGE_BYTES);
	const uint64_t bytes = BF_MLX5_GET(m->in, BF_ALLOC_MEMIC_BYTES);
	const uint32_t pages = (uint32_t)((bytes + BF_PAGE - 1) / BF_PAGE);

	if (!dev->memic)
		return BF_MLX5_CMD_BAD_OP;
	if (!bytes || bytes > room || BF_MLX5_GET(m->in, BF_ALLOC_MEMIC_LOG_ALIGNMENT) > LOG_MAX_ALIGNMENT)
		return bf_mlx5_refuse(dev, BF_MLX5_CMD_BAD_PARAM, "memic_size, range_size or alignment");
	if (range < dev->memic->va || range % BF_PAGE || room > dev->memic->size ||
	    range - dev->memic->va > dev->memic->size - room)
		return bf_mlx5_refuse(dev, BF_MLX5_CMD_BAD_PARAM, "range_start_addr: not in device memory");
	for (uint64_t at = range; at + (uint64_t)pages * BF_PAGE <= range + room; at += BF_PAGE) {
		const uint32_t first = (uint32_t)((at - dev->memic->va) / BF_PAGE);

		if (!is_free(dev, first, pages))
			continue;
		mark(dev, first, pages);
		memset(bf_host(dev->memic, at), 0, (size_t)pages * BF_PAGE);
		bf_put_be64(m->out + BF_ALLOC_MEMIC_OUT_START, at);
		m->number = (uint32_t)(at >> 32) & 0xffffff; /* what stands where other commands answer a number */
		return BF_MLX5_CMD_OK;
	}
	return BF_MLX5_CMD_NO_RES;
}

uint8_t bf_mlx5_cmd_dealloc_memic(struct bf_mlx5_mail *m)
{
	struct bf_mlx5 *dev = m->dev;
	const uint64_t at = bf_get_be64(m->in + BF_DEALLOC_MEMIC_START);
	const uint64_t bytes = BF_MLX5_GET(m->in, BF_DEALLOC_MEMIC_BYTES);
	const uint32_t pages = (uint32_t)((bytes + BF_PAGE - 1) / BF_PAGE);
	uint32_t first;

	if (!dev->memic)
		return BF_MLX5_CMD_BAD_OP;
	if (!bytes || bytes > dev->memic->size || at < dev->memic->va || at % BF_PAGE ||
	    at - dev->memic->va > dev->memic->size - (uint64_t)pages * BF_PAGE)
		return bf_mlx5_refuse(dev, BF_MLX5_CMD_BAD_PARAM,
				      "memic_start_addr and memic_size: not in device memory");
	first = (uint32_t)((at - dev->memic->va) / BF_PAGE);
	for (uint32_t i = 0; i < pages; i++)
		if (is_free(dev, first + i, 1))
			return BF_MLX5_CMD_BAD_RES;
	mark(dev, first, pages);
	return BF_MLX5_CMD_OK;
}

/* Requests count from the key's first byte; where that lies in device memory is its start address. */
uint8_t bf_mlx5_memic_key(struct bf_mlx5 *dev, struct bf_mlx5_mkey *k)
{
	const uint64_t at = k->start;

	if (!dev->memic || k->length64 || at < dev->memic->va || k->len > dev->memic->size ||
	    at - dev->memic->va > dev->memic->size - k->len)
		return bf_mlx5_refuse(dev, BF_MLX5_CMD_BAD_PARAM, "start_addr and len: not in device memory");
	k->start = 0;
	k->xlat = bf_mlx5_xlat_new(dev, 1);
	if (!k->xlat)
		return BF_MLX5_CMD_NO_RES;
	k->xlat->round = k->len;
	k->xlat->rounds = 1;
	k->xlat->part[0] = (struct bf_mlx5_part){ .at = at, .len = k->len };
	return BF_MLX5_CMD_OK;
}
