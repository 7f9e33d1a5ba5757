/* NVMe controllers of a world: what they are opened with, and what their driver calls beside memory and threads. */
#ifndef BELFRY_DRIVERS_BACKEND_NVME_WORLD_H
#define BELFRY_DRIVERS_BACKEND_NVME_WORLD_H

#include "drivers/backend/backend.h"

BF_API_BEGIN

struct bf_nvme_profile;
struct bf_nvme_ns_opts;

/* bf_world_opts.device_opts[BF_DEVICE_AT_NVME]. Models only; vfio: the medium stays as it is. */
struct bf_nvme_world_opts {
	const struct bf_nvme_profile *profile; /* NULL: the default */
	const struct bf_nvme_ns_opts *ns;      /* the only namespace; NULL: the model's default */
	uint64_t cmb_bytes;                    /* of the controller memory buffer */
	const char *media_errors;              /* a map of them, or NULL */
};

/* A controller's BAR0, mapped. */
struct bf_nvme_bar {
	void *regs;
	uint64_t size;
};

struct bf_nvme_world_ops {
	/* The PE's controller. 0 or a negative errno. */
	int (*bar)(struct bf_world *w, uint32_t pe, struct bf_nvme_bar *out);
	/*
	 * Part of its BAR0 as a DMA-BUF, for a GPU or another device that is to ring doorbells: a descriptor, the
	 * caller's to close, or a negative errno. Offset and size in bytes, whole pages. NULL: models have no such
	 * thing.
	 */
	int (*bar_dmabuf)(struct bf_world *w, uint32_t pe, uint64_t offset, uint64_t bytes);
};

/* NULL: the backend has no such devices. */
static inline const struct bf_nvme_world_ops *bf_nvme_world(const struct bf_backend *b)
{
	return (const struct bf_nvme_world_ops *)bf_backend_ops(b, BF_DEVICE_AT_NVME);
}

BF_API_END

#endif
