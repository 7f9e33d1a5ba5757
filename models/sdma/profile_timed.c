/*
 * Engines of parts that figures are published of. Rates are what a link carries of payload as the figures have it
 * (docs/timing.md); the rest is profile.c's, fitted where noted there.
 */
#include "models/sdma/sdma.h"

#define LINK(ps)                                                                                                       \
	{                                                                                                              \
		.latency_ps = 150 * BF_NS, .mem_ps = 200 * BF_NS, .ps_per_kib = (ps), .max_payload = 256,              \
		.max_read_request = 512, .tlp_overhead = 24, .relaxed_ps = 100 * BF_NS                                 \
	}
#define COMMON                                                                                                         \
	.doorbell_ps = 100 * BF_NS, .packet_ps = 20 * BF_NS, .jitter_ps = 200 * BF_NS, .row_ps = 2 * BF_NS,            \
	.element_ps = { 667, 667, 333, 167, 167 }, .rptr_lag_ps = 500 * BF_NS, .poll_ps = 10 * BF_NS,                  \
	.fetch_bytes = 1024, .queues = 8, .copies = 4

/* Vega 20: 22-bit counts. Two PCIe Gen4 x16 ways, and xGMI between GPUs at much the same rate. */
const struct bf_sdma_profile bf_sdma_mi50 = {
	.name = "mi50",
	.gen = BF_SDMA_V4,
	.link = LINK(32500),
	.link_ps_per_kib = 39392,
	.vram_ps_per_kib = 38534,
	.copy_ps = 500 * BF_NS,
	COMMON,
};

const struct bf_sdma_profile bf_sdma_mi200 = {
	.name = "mi200",
	.gen = BF_SDMA_V4,
	.wide_count = true,
	.link = LINK(32500),
	.link_ps_per_kib = 36018,
	.vram_ps_per_kib = 20500,
	COMMON,
	.copy_ps = 201 * BF_NS,
};

const struct bf_sdma_profile bf_sdma_mi300x = {
	.name = "mi300x",
	.gen = BF_SDMA_V4,
	.wide_count = true,
	.link = LINK(16250),
	.link_ps_per_kib = 18600,
	.vram_ps_per_kib = 18742, /* to another GPU over xGMI */
	COMMON,
	.copy_ps = 1252 * BF_NS,
};

const struct bf_sdma_profile bf_sdma_mi350x = {
	.name = "mi350x",
	.gen = BF_SDMA_V4,
	.wide_count = true,
	.link = LINK(16250),
	.link_ps_per_kib = 18600,
	.vram_ps_per_kib = 16779,
	.copy_ps = 500 * BF_NS,
	COMMON,
};
