/* Copy engines that published figures were measured on, and what software around them takes. */
#ifndef BELFRY_TOOLS_TIMING_MODEL_COPIER_H
#define BELFRY_TOOLS_TIMING_MODEL_COPIER_H

#include "models/sdma/profile.h"

enum bf_timing_engine { BF_ENGINE_MI50, BF_ENGINE_MI200, BF_ENGINE_MI300X, BF_ENGINE_MI350X, BF_ENGINES };

struct bf_timing_engines {
	struct bf_sdma_profile engine[BF_ENGINES];
};

/* clang-format off */
#define BF_TIMING_ENGINE_PROFILES \
	{ .engine = { \
		[BF_ENGINE_MI50] = bf_sdma_mi50, \
		[BF_ENGINE_MI200] = bf_sdma_mi200, \
		[BF_ENGINE_MI300X] = bf_sdma_mi300x, \
		[BF_ENGINE_MI350X] = bf_sdma_mi350x } }
#define BF_TIMING_ENGINE_DEVICE "sdma" /* as figures name it */

/* Constants that figures may speak to: rows of struct bf_timing_constant. */
#define BF_ENGINE_CONSTANT(short_name, id, member, text) \
	{ short_name "." #member, BF_TIMING_ENGINE_DEVICE, BF_MEMBER(struct bf_timing_model, engines.engine[id].member), BF_BASIS_FITTED, text }
#define BF_ENGINE_PART(short_name, id) \
	BF_ENGINE_CONSTANT(short_name, id, link_ps_per_kib, "1 KiB that crosses the link"), \
	BF_ENGINE_CONSTANT(short_name, id, vram_ps_per_kib, "1 KiB between GPU memories"), \
	BF_ENGINE_CONSTANT(short_name, id, copy_ps, "dispatch to first data")
#define BF_TIMING_ENGINES \
	BF_ENGINE_PART("mi50", BF_ENGINE_MI50), \
	BF_ENGINE_PART("mi200", BF_ENGINE_MI200), \
	BF_ENGINE_PART("mi300x", BF_ENGINE_MI300X), \
	BF_ENGINE_PART("mi350x", BF_ENGINE_MI350X)

/* As BF_TIMING_SOFTWARE. */
#define BF_TIMING_SOFTWARE_ENGINE(X) \
	X(BF_TIMING_ENGINE_DEVICE, rocr_copy, 4202 * BF_NS, FITTED, "ROCr: submission and signal of a copy, beside the engine") \
	X(BF_TIMING_ENGINE_DEVICE, hip_copy, 60000 * BF_NS, FITTED, "hipMemcpy2DAsync and synchronisation") \
	X(BF_TIMING_ENGINE_DEVICE, hip_row, 6471 * BF_NS, FITTED, "of each row where rows are copied one by one") \
	X(BF_TIMING_ENGINE_DEVICE, dma_control, 280 * BF_NS, FITTED, "host puts packets into a ring") \
	X(BF_TIMING_ENGINE_DEVICE, dma_schedule, 2600 * BF_NS, FITTED, "doorbell to the engine's first packet") \
	X(BF_TIMING_ENGINE_DEVICE, dma_sync, 2168 * BF_NS, FITTED, "the engine's signal seen by the host") \
	X(BF_TIMING_ENGINE_DEVICE, dma_each, 2282 * BF_NS, FITTED, "host: each further engine that is launched and waited for")
/* clang-format on */

#endif
