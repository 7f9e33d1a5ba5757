/* What a copy engine takes for each step, and what it has room for. */
#ifndef BELFRY_MODELS_SDMA_PROFILE_H
#define BELFRY_MODELS_SDMA_PROFILE_H

#include <stdbool.h>
#include <stdint.h>

#include "models/sdma/prm.h"
#include "sim/compiler.h"
#include "sim/pcie.h"

BF_API_BEGIN

/* Timing, rates and limits; each constant has its source, or "assumed", where it is defined (profile.c). */
struct bf_sdma_profile {
	const char *name;
	enum bf_sdma_gen gen;
	bool wide_rect;  /* sub-window packets in ROCr's gfx12 layout */
	bool wide_count; /* copy counts of 30 bits where the generation's header has 22 (gfx90a, gfx10.3) */
	struct bf_link_profile link;
	uint64_t doorbell_ps;     /* doorbell arrival to first fetch */
	uint64_t packet_ps;       /* decode and dispatch one packet */
	uint64_t copy_ps;         /* from a copy's dispatch to its first data */
	uint64_t jitter_ps;       /* up to so much more, by seed, so that copies overtake each other; 0: none */
	uint64_t row_ps;          /* start one row of a sub-window copy */
	uint64_t element_ps[5];   /* one element of 1, 2, 4, 8, 16 bytes */
	uint64_t link_ps_per_kib; /* data that cross the link */
	uint64_t vram_ps_per_kib; /* data that stay in GPU memory */
	uint64_t rptr_lag_ps;     /* between retirement and the read pointer in memory */
	uint64_t poll_ps;         /* unit of POLL_REGMEM's interval */
	uint32_t fetch_bytes;     /* most ring bytes in one fetch */
	uint32_t copies;          /* copies that may run at the same time, 1..64 */
	uint32_t queues;          /* user queues, 1..512 */
	/*
	 * A POLL_REGMEM may end unsatisfied, as on gfx908 and its relatives (ROCm/rocm-systems#1469). The same poll
	 * right behind it does not: ROCr relies on that.
	 */
	bool early_polls;
};
/* One for each generation: Vega/MI200 (v4), RDNA1/2 (v5), RDNA3 (v6), RDNA4 (v7), gfx1250 (v7.1). */
extern const struct bf_sdma_profile bf_sdma_v4, bf_sdma_v5, bf_sdma_v6, bf_sdma_v7, bf_sdma_v7_1;
/* Parts that figures are published of (profile_timed.c): generation v4. */
extern const struct bf_sdma_profile bf_sdma_mi50, bf_sdma_mi200, bf_sdma_mi300x, bf_sdma_mi350x;
/* The profile called `name` ("v4"); NULL when there is none. */
const struct bf_sdma_profile *bf_sdma_profile_find(const char *name);
/* All of them; NULL past the last. */
const struct bf_sdma_profile *bf_sdma_profile_at(uint32_t i);

/*
 * Gives the profile of a generation the limits of one of its parts, "gfx908", whatever a driver believes of it
 * (docs/hardware/sdma.md#copy-1). False: nothing is known of that part.
 */
bool bf_sdma_profile_of_part(const char *part, struct bf_sdma_profile *p);

BF_API_END

#endif
