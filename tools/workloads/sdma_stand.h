/*
 * A stand for sub-window packets: one engine, a ring, and two surfaces at the addresses that a request names.
 *
 * Surfaces are sparse: a request whose rows lie gigabytes apart takes the memory of the pages that its rows touch.
 */
#ifndef BELFRY_TOOLS_WORKLOADS_SDMA_STAND_H
#define BELFRY_TOOLS_WORKLOADS_SDMA_STAND_H

#include "drivers/sdma/rect.h"
#include "models/sdma/sdma.h"

enum bf_stand_result {
	BF_STAND_SAME,
	BF_STAND_DIFFERS,
	BF_STAND_TOO_LARGE, /* it moves too much, or its surfaces do not fit a machine of ours */
};

/*
 * Runs `n` dwords of packets for `r` on an engine with `profile` and compares every byte that it wrote with what a
 * plain loop over slices and rows writes. 0 with `*result`, and with `wrong` (of `cap` bytes) telling the difference,
 * or -ENOMEM.
 */
int bf_sdma_work_stand_run(const struct bf_sdma_drv_rect *r, const struct bf_sdma_profile *profile, const uint32_t *dw,
			   uint32_t n, enum bf_stand_result *result, char *wrong, size_t cap);

#endif
