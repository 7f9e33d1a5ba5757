/*
 * "Why is there no completion?": everything that is unfinished when a record stream ends, in groups, each with the
 * first step that its oldest member misses and what shows that.
 *
 * A group is the entries of one queue that miss the same step, a barrier that threads wait at, or threads that wait for
 * the same thing. One thread per reading.
 */
#ifndef BELFRY_TRACES_LIFE_STUCK_H
#define BELFRY_TRACES_LIFE_STUCK_H

#include "traces/life/explain.h"

struct bf_stuck_group {
	char where[64];      /* "nic0.qp0x100", "gpu0.sm0"; threads: the first one */
	const char *kind;    /* "send entry", "command", "submission", "barrier", "thread" */
	const char *missing; /* the first missing step: "publish", "ring", "doorbell", ... */
	uint64_t count;      /* entries or threads */
	uint64_t since_ps;   /* when the oldest one did its last step */
	bool explained;      /* `oldest` is something that bf_explain_trace() tells of */
	struct bf_explain_target oldest;
	char text[400]; /* what shows it, as a sentence */
};

struct bf_stuck; /* opaque */

/*
 * Reads `t` from where it stands to its end. 0; -EBADMSG with `*out` when the trace is damaged or cut, the rest having
 * been read; or another negative errno. Free with bf_stuck_free().
 */
int bf_stuck_read(struct bf_trace *t, struct bf_stuck **out, struct bf_error *err);
void bf_stuck_free(struct bf_stuck *s);

/* Queues by their oldest entry, then barriers, connections and threads; NULL past the last. */
const struct bf_stuck_group *bf_stuck_group(const struct bf_stuck *s, uint32_t i);
uint32_t bf_stuck_count(const struct bf_stuck *s);

/* Of each kind of queue, what the stream leaves open: sentences; NULL past the last. */
const char *bf_stuck_unknown(const struct bf_stuck *s, uint32_t i);

/* Time of the last record. */
uint64_t bf_stuck_end_ps(const struct bf_stuck *s);

#endif
