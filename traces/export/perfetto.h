/*
 * Traces for Perfetto's UI (ui.perfetto.dev): a process for each PE, device or GPU, a track for each agent, queue, port
 * and engine, slices, instants and counters on them, and arrows from the store to a doorbell by way of the entry to its
 * completion. Format: protobuf, perfetto.protos.Trace (google/perfetto, protos/perfetto/trace/trace_packet.proto and
 * the folder track_event beside it). Times there are whole nanoseconds; each event has the exact picoseconds as
 * arguments.
 */
#ifndef BELFRY_TRACES_EXPORT_PERFETTO_H
#define BELFRY_TRACES_EXPORT_PERFETTO_H

#include <stdio.h>

#include "traces/life/timeline.h"

struct bf_perfetto_result {
	uint64_t tracks, events; /* slices, instants and counter values */
};

/*
 * Writes from where the reader stands; `options` and `result` may be NULL. Returns what bf_timeline_read() does, or
 * -EIO when `out` could not be written.
 */
int bf_perfetto_export(struct bf_trace *t, const struct bf_timeline_options *options, FILE *out,
		       struct bf_perfetto_result *result, struct bf_error *err);

#endif
