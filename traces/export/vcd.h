/*
 * The values of a trace as waveforms: producer and consumer indices, phases, states, barrier words, in a value change
 * dump (IEEE 1364-2005, section 18) that GTKWave and its kin read. Time step 1 ps. Scopes are devices, PEs and queues.
 */
#ifndef BELFRY_TRACES_EXPORT_VCD_H
#define BELFRY_TRACES_EXPORT_VCD_H

#include <stdio.h>

#include "traces/life/timeline.h"

struct bf_vcd_result {
	uint64_t signals, changes;
};

/*
 * Writes from where the reader stands; `result` may be NULL. Keeps the changes in a temporary file until all signals
 * are known. Returns what bf_timeline_read() does, or -EIO.
 */
int bf_vcd_export(struct bf_trace *t, FILE *out, struct bf_vcd_result *result, struct bf_error *err);

#endif
