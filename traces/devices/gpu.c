/* VRAM behind caches that DMA does not keep coherent: what those who read traces know of it. */
#include "traces/device.h"

static const struct bf_timeline_row timeline[] = {
	{ .type = "gpu_stale_load", .verb = BF_ROW_INSTANT, .label = "stale load at $va", .bad = true },
	{ .type = "gpu_late_store", .verb = BF_ROW_INSTANT, .label = "late store at $va", .bad = true },
	/* Only for other pictures. */
	{ .type = "gpu_bo", .verb = BF_ROW_HIDDEN },
	{ .type = NULL },
};

extern const struct bf_device bf_device_gpu;
const struct bf_device bf_device_gpu = {
	.name = "gpu",
	.summary = "memory of a GPU behind caches",
	.timeline = timeline,
};
