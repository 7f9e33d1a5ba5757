/* What a GPU has of memory and caches, and what those take. */
#ifndef BELFRY_MODELS_GPU_PROFILE_H
#define BELFRY_MODELS_GPU_PROFILE_H

#include <stdbool.h>
#include <stdint.h>

#include "sim/compiler.h"
#include "sim/pcie.h"

BF_API_BEGIN

/* Sources stand beside the constants in gpu.c. */
struct bf_gpu_profile {
	const char *name;
	struct bf_link_profile pcie;
	uint64_t vram_bytes;    /* multiple of 4096: physical memory to allocate from */
	uint64_t l2_bytes;      /* L2 and memory-side cache together */
	uint32_t line;          /* 64 or 128 */
	uint64_t invalidate_ps; /* from the arrival of a request at an engine to its acknowledgement */
	uint64_t background_ps; /* mean time between other work on the GPU, which makes everything visible; 0: none */
	uint64_t evict_ps;      /* mean time between evictions of a line by such work; 0: only when the L2 is full */
};
extern const struct bf_gpu_profile bf_gpu_navi31;

BF_API_END

#endif
