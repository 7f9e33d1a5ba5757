#include <stddef.h>
#include <string.h>

#include "drivers/sdma/sdma.h"
#include "sim/compiler.h"

/* Bytes of one copy: 22 bits of count, or 30. A fill has 22 bits on gfx9 and gfx10; ROCr keeps to them everywhere. */
#define COPY_22 0x3fffff
#define COPY_30 0x3fffffff
#define FILL_22 0x3fffe0

#define NARROW .pitch_bits = 19, .slice_bits = 28, .xy_bits = 14, .z_bits = 11, .atomics = 1, .fill_max = FILL_22
#define WIDE                                                                                                           \
	.wide_rect = 1, .pitch_bits = 16, .slice_bits = 32, .xy_bits = 16, .z_bits = 14, .atomics = 1,                 \
	.fill_max = FILL_22
#define GFX9 .gen = BF_SDMA_V4, NARROW, .hdp_flush = 1
#define GFX10 .gen = BF_SDMA_V5, NARROW, .gcr = 1, .uncached = 1, .polls = 1
#define GFX11 .gen = BF_SDMA_V6, NARROW, .gcr = 1, .uncached = 1, .hdp_flush = 1, .polls = 1, .copy_max = COPY_30
#define GFX12 WIDE, .gcr = 1, .uncached = 1, .hdp_flush = 1, .polls = 1, .copy_max = COPY_30

/*
 * The generations, each with the least that ROCr does for one of its parts, and behind them parts by name. Sources:
 * ROCR-Runtime sdma_registers.h for the bits of sub-windows; amd_blit_sdma.cpp for cache control and MTYPE (from gfx10
 * on), the HDP flush (not on gfx10.1), polls done twice (gfx9.0.x but 9.0.10, where one could return early) and the
 * least size (9.0.0 to 9.0.4, 9.0.12); amd_gpu_agent.cpp, CreateBlitSdma, for the largest copy.
 */
static const struct bf_sdma_drv_caps all[] = {
	{ .name = "v4", GFX9, .polls = 1, .copy_max = COPY_22 },
	{ .name = "v5", GFX10, .copy_max = COPY_22 },
	{ .name = "v6", GFX11 },
	{ .name = "v7", .gen = BF_SDMA_V7, GFX12 },
	{ .name = "v7.1", .gen = BF_SDMA_V7_1, GFX12 },
	{ .name = "gfx900", GFX9, .polls = 2, .min_dwords = 64, .copy_max = COPY_22 },
	{ .name = "gfx908", GFX9, .polls = 2, .copy_max = COPY_22 },
	{ .name = "gfx90a", GFX9, .polls = 1, .copy_max = COPY_30 },
	{ .name = "gfx942", GFX9, .polls = 1, .copy_max = COPY_22 },
	{ .name = "gfx1010", GFX10, .copy_max = COPY_22 },
	{ .name = "gfx1030", GFX10, .hdp_flush = 1, .copy_max = COPY_30 },
	{ .name = "gfx1100", GFX11 },
	{ .name = "gfx1200", .gen = BF_SDMA_V7, GFX12 },
	{ .name = "gfx1250", .gen = BF_SDMA_V7_1, GFX12 },
};

const struct bf_sdma_drv_caps *bf_sdma_drv_caps_at(uint32_t i)
{
	return i < BF_ARRAY_LEN(all) ? &all[i] : NULL;
}

const struct bf_sdma_drv_caps *bf_sdma_drv_caps_of(enum bf_sdma_gen gen)
{
	for (size_t i = 0; i < BF_ARRAY_LEN(all); i++)
		if (all[i].gen == gen)
			return &all[i];
	return NULL;
}
