/*
 * Measurements on a modelled SDMA engine, as rocm_bandwidth_test makes them: copies and a fence, put into a ring. What
 * the runtime does around them is the time it takes: it is not run. One thread per call.
 */
#ifndef BELFRY_TOOLS_TIMING_COPIER_H
#define BELFRY_TOOLS_TIMING_COPIER_H

#include "models/sdma/sdma.h"

struct bf_copier_run {
	const struct bf_sdma_profile *engine;
	uint64_t size;   /* bytes of a copy */
	uint32_t copies; /* that follow each other in the ring */
	bool from_host;  /* host to GPU; else within GPU memory, or to it over a link of the profile's rate */
	bool to_host;
	bool broadcast; /* each to two destinations */
};

/* From the doorbell to the fence in memory. 0, or a negative errno with `err` set. */
int bf_copier_measure(const struct bf_copier_run *run, uint64_t *ps, struct bf_error *err);

#endif
