#include <stddef.h>
#include <string.h>

#include "drivers/sdma/sdma.h"
#include "sim/compiler.h"

/*
 * Bits of sub-window fields, cache control, MTYPE: ROCR-Runtime sdma_registers.h and amd_blit_sdma.cpp. Largest copy:
 * amd_gpu_agent.cpp, CreateBlitSdma (v5 as gfx10.1, which has gfx9's; the HDP flush is skipped there). A fill's count
 * has 22 bits on gfx9 and gfx10; ROCr keeps to them everywhere.
 */
static const struct bf_sdma_caps all[] = {
	{
	    .name = "v4",
	    .gen = BF_SDMA_V4,
	    .pitch_bits = 19,
	    .slice_bits = 28,
	    .xy_bits = 14,
	    .z_bits = 11,
	    .hdp_flush = 1,
	    .polls = 1,
	    .atomics = 1,
	    .copy_max = 0x3fffff,
	    .fill_max = 0x3fffe0,
	},
	{
	    .name = "v5",
	    .gen = BF_SDMA_V5,
	    .pitch_bits = 19,
	    .slice_bits = 28,
	    .xy_bits = 14,
	    .z_bits = 11,
	    .gcr = 1,
	    .uncached = 1,
	    .polls = 1,
	    .atomics = 1,
	    .copy_max = 0x3fffff,
	    .fill_max = 0x3fffe0,
	},
	{
	    .name = "v6",
	    .gen = BF_SDMA_V6,
	    .pitch_bits = 19,
	    .slice_bits = 28,
	    .xy_bits = 14,
	    .z_bits = 11,
	    .gcr = 1,
	    .hdp_flush = 1,
	    .uncached = 1,
	    .polls = 1,
	    .atomics = 1,
	    .copy_max = 0x3fffffff,
	    .fill_max = 0x3fffe0,
	},
	{
	    .name = "v7",
	    .gen = BF_SDMA_V7,
	    .pitch_bits = 16,
	    .slice_bits = 32,
	    .xy_bits = 16,
	    .z_bits = 14,
	    .wide_rect = 1,
	    .gcr = 1,
	    .hdp_flush = 1,
	    .uncached = 1,
	    .polls = 1,
	    .atomics = 1,
	    .copy_max = 0x3fffffff,
	    .fill_max = 0x3fffe0,
	},
	{
	    .name = "v7.1",
	    .gen = BF_SDMA_V7_1,
	    .pitch_bits = 16,
	    .slice_bits = 32,
	    .xy_bits = 16,
	    .z_bits = 14,
	    .wide_rect = 1,
	    .gcr = 1,
	    .hdp_flush = 1,
	    .uncached = 1,
	    .polls = 1,
	    .atomics = 1,
	    .copy_max = 0x3fffffff,
	    .fill_max = 0x3fffe0,
	},
};

const struct bf_sdma_caps *bf_sdma_caps_find(const char *name)
{
	for (size_t i = 0; i < BF_ARRAY_LEN(all); i++)
		if (strcmp(all[i].name, name) == 0)
			return &all[i];
	return NULL;
}

const struct bf_sdma_caps *bf_sdma_caps_of(enum bf_sdma_gen gen)
{
	for (size_t i = 0; i < BF_ARRAY_LEN(all); i++)
		if (all[i].gen == gen)
			return &all[i];
	return NULL;
}
