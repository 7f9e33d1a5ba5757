/*
 * A record stream as a timeline: tracks with spans and instants on them, flows that join a doorbell with the completion
 * it led to, and values that change over time. What pictures of a trace are made from.
 *
 * Reads records by the names of their types and fields, so traces of any version give what they have. Everything comes
 * in order of the records that end it: a span when it ends, a value when it changes. Spans on one track never overlap;
 * where an actor does several things at once, each gets a lane below its track. One thread per timeline.
 */
#ifndef BELFRY_TRACES_LIFE_TIMELINE_H
#define BELFRY_TRACES_LIFE_TIMELINE_H

#include "traces/container/trace.h"

struct bf_timeline_item {
	uint64_t begin_ps, end_ps; /* equal: an instant, or a span that took no time */
	uint64_t flow;             /* joins the items of one doorbell; 0: none */
	uint64_t first, last;      /* numbers of the records it began and ended with */
	uint32_t track;
	const char *name;                  /* valid during the call */
	const struct bf_trace_record *rec; /* the record that ended it; NULL: it had not ended when the trace did */
	bool span;                         /* false: an instant */
	bool bad;                          /* an error, a fault, a stale load, a wait without end */
};

/*
 * Who takes it. Functions return 0, or a negative errno that stops the reading. Tracks and signals are numbered from 1
 * in order of their first use and announced before it; texts are valid during the call.
 */
struct bf_timeline_out {
	/* `parent` 0: at the top. `kind` is that of the actor ("agent", "queue", "port"), "group" or "lane". */
	int (*track)(struct bf_timeline_out *o, uint32_t track, uint32_t parent, const char *kind, const char *name);
	int (*item)(struct bf_timeline_out *o, const struct bf_timeline_item *item);
	/* A value of `bits` bits that belongs to a track: "producer" of a queue. NULL: not wanted. */
	int (*signal)(struct bf_timeline_out *o, uint32_t signal, uint32_t track, const char *name, uint32_t bits);
	int (*value)(struct bf_timeline_out *o, uint32_t signal, uint64_t time_ps, uint64_t value);
};

struct bf_timeline_options {
	bool memory; /* single stores, loads and atomics of drivers, too */
};

/*
 * Reads `t` from where it stands to its end. `options` NULL: defaults. Returns 0, -EBADMSG when the trace was damaged
 * (the rest was read), what `out` returned, or another negative errno with text in `err`.
 */
int bf_timeline_read(struct bf_trace *t, const struct bf_timeline_options *options, struct bf_timeline_out *out,
		     struct bf_error *err);

#endif
