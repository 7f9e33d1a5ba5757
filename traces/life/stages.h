/*
 * How long entries take, stage by stage: from the slot that a driver reserves to the poll that sees it complete.
 *
 * Reads records by the names of their types and fields, so a trace that has only the device's side gives the device's
 * stages. A stage is the time from the previous point that the trace knows of an entry. One thread each.
 */
#ifndef BELFRY_TRACES_LIFE_STAGES_H
#define BELFRY_TRACES_LIFE_STAGES_H

#include "sim/compiler.h"
#include "sim/stats.h"
#include "traces/container/trace.h"
#include "traces/device.h"

BF_API_BEGIN

#define BF_STAGES_MAX BF_LIFE_POINTS

/* A queue of entries, the waits at an SM's barriers, or an engine's copies. */
struct bf_stage_queue {
	char name[48];
	const char *kind; /* the life's name */
	uint32_t nstages;
	const char *stage[BF_STAGES_MAX];   /* what happens at its end: "reserve", "build", ... */
	uint8_t basis[BF_STAGES_MAX];       /* enum bf_time_basis */
	struct bf_hist hist[BF_STAGES_MAX]; /* ps; the first is empty: nothing was before */
	struct bf_hist whole;               /* first to last point of entries that came to their end */
	uint64_t entries, unfinished;       /* unfinished: the trace ends before they do */
};

/* How busy something was: a port's wire, a DMA engine, a copy engine. */
struct bf_stage_busy {
	char name[48];
	uint64_t busy_ps; /* at least one thing was under way */
	uint64_t count, bytes;
};

struct bf_stages; /* opaque */

/*
 * Reads `t` from where it stands. 0; -EBADMSG when part of it was damaged (the rest was read), or another negative
 * errno, with text in `err`. Free with bf_stages_destroy(), also after -EBADMSG.
 */
int bf_stages_read(struct bf_trace *t, struct bf_stages **out, struct bf_error *err);
void bf_stages_destroy(struct bf_stages *s);

/* In order of their first record; NULL past the last. */
const struct bf_stage_queue *bf_stages_queue(const struct bf_stages *s, uint32_t i);
const struct bf_stage_busy *bf_stages_busy(const struct bf_stages *s, uint32_t i);

/* Time of the last record. */
uint64_t bf_stages_end_ps(const struct bf_stages *s);

BF_API_END

#endif
