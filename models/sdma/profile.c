/*
 * Timing, rates and limits of the copy engines.
 *
 * Sources: [1] PCIe Base Specification 5.0: 16 lanes of Gen4 carry 31.5 GB/s, of Gen5 63 GB/s; payload and request
 * sizes are what servers negotiate (assumed). [2] sim/pcie.c for latencies and TLP overhead. [3] Linux
 * drivers/gpu/drm/amd/amdkfd/kfd_device.c: eight user queues an engine from Arcturus on (on gfx11 and later the kernel
 * keeps two of them; not modelled). [4] ROCr amd_gpu_agent.cpp (CreateBlitSdma) for counts,
 * amd_blit_sdma.cpp for layouts.
 *
 * AMD publishes no timing of these engines. Everything without a number in brackets is assumed: a clock of about 1.5
 * GHz, 64 bytes a clock between memories, one element a clock for elements smaller than a dword, a packet in some tens
 * of clocks. Rates of one engine are known to be near the link's (KFDTest's P2PBandWidthTest); the rest is there so
 * that small rows and small elements cost more than wide ones, as ROCm/rocm-systems#5646 reports.
 */
#include "models/sdma/sdma.h"

#define LINK(ps)                                                                                                       \
	{                                                                                                              \
		.latency_ps = 150 * BF_NS, .mem_ps = 200 * BF_NS, .ps_per_kib = (ps), .max_payload = 256,              \
		.max_read_request = 512, .tlp_overhead = 24, .relaxed_ps = 100 * BF_NS                                 \
	}
#define GEN4 32500 /* [1] */
#define GEN5 16250 /* [1] */

#define COMMON                                                                                                         \
	.doorbell_ps = 100 * BF_NS, .packet_ps = 20 * BF_NS, .copy_ps = 500 * BF_NS, .jitter_ps = 200 * BF_NS,         \
	.row_ps = 2 * BF_NS, .element_ps = { 667, 667, 333, 167, 167 }, .rptr_lag_ps = 500 * BF_NS,                    \
	.poll_ps = 10 * BF_NS, .fetch_bytes = 1024, .queues = 8 /* [3] */

const struct bf_sdma_profile bf_sdma_v4 = {
	.name = "v4",
	.gen = BF_SDMA_V4,
	.wide_count = true, /* gfx90a; Vega has 22 bits: [4] */
	.link = LINK(GEN4),
	.link_ps_per_kib = GEN4,
	.vram_ps_per_kib = 16000, /* 64 GB/s */
	.copies = 4,
	COMMON,
};

const struct bf_sdma_profile bf_sdma_v5 = {
	.name = "v5",
	.gen = BF_SDMA_V5,
	.wide_count = true, /* gfx10.3; gfx10.1 has 22 bits: [4] */
	.link = LINK(GEN4),
	.link_ps_per_kib = GEN4,
	.vram_ps_per_kib = 16000,
	.copies = 4,
	COMMON,
};

const struct bf_sdma_profile bf_sdma_v6 = {
	.name = "v6",
	.gen = BF_SDMA_V6,
	.wide_count = true,
	.link = LINK(GEN4),
	.link_ps_per_kib = GEN4,
	.vram_ps_per_kib = 12000,
	.copies = 4,
	COMMON,
};

const struct bf_sdma_profile bf_sdma_v7 = {
	.name = "v7",
	.gen = BF_SDMA_V7,
	.wide_rect = true, /* ROCr's choice for every ISA major of 12 and more: [4] */
	.wide_count = true,
	.link = LINK(GEN5),
	.link_ps_per_kib = GEN5,
	.vram_ps_per_kib = 12000,
	.copies = 8,
	COMMON,
};

const struct bf_sdma_profile bf_sdma_v7_1 = {
	.name = "v7.1",
	.gen = BF_SDMA_V7_1,
	.wide_rect = true,
	.wide_count = true,
	.link = LINK(GEN5),
	.link_ps_per_kib = GEN5,
	.vram_ps_per_kib = 10000,
	.copies = 8,
	COMMON,
};

bool bf_sdma_profile_of_part(const char *part, struct bf_sdma_profile *p)
{
	static const struct {
		const char *name;
		bool wide_count, early_polls;
	} parts[] = {
		{ "gfx900", false, true },  { "gfx908", false, true },   { "gfx90a", true, false },
		{ "gfx942", false, false }, { "gfx1010", false, false }, { "gfx1030", true, false },
		{ "gfx1100", true, false }, { "gfx1200", true, false },  { "gfx1250", true, false },
	};

	for (size_t i = 0; i < BF_ARRAY_LEN(parts); i++) {
		if (strcmp(parts[i].name, part))
			continue;
		p->wide_count = parts[i].wide_count;
		p->early_polls = parts[i].early_polls;
		return true;
	}
	return false;
}

const struct bf_sdma_profile *bf_sdma_profile_at(uint32_t i)
{
	static const struct bf_sdma_profile *const all[] = { &bf_sdma_v4,    &bf_sdma_v5,     &bf_sdma_v6,
							     &bf_sdma_v7,    &bf_sdma_v7_1,   &bf_sdma_mi50,
							     &bf_sdma_mi200, &bf_sdma_mi300x, &bf_sdma_mi350x };

	return i < BF_ARRAY_LEN(all) ? all[i] : NULL;
}

const struct bf_sdma_profile *bf_sdma_profile_find(const char *name)
{
	const struct bf_sdma_profile *p;

	for (uint32_t i = 0; (p = bf_sdma_profile_at(i)) != NULL; i++)
		if (!strcmp(p->name, name))
			return p;
	return NULL;
}
