/*
 * PEs of several processes that meet: the processes' own bootstrap carries what their PEs say.
 *
 * Before each exchange the processes tell each other what their PEs have called; so a PE that gave up, or another call
 * than the others', ends the meeting everywhere at the same place. At the end they agree on one result.
 */
#ifndef BELFRY_DRIVERS_BOOTSTRAP_ACROSS_INTERNAL_H
#define BELFRY_DRIVERS_BOOTSTRAP_ACROSS_INTERNAL_H

#include "drivers/bootstrap/meet_internal.h"

struct bf_across {
	struct bf_boot *ranks; /* borrowed */
	struct bf_meet *meet;
	struct bf_across_say *said; /* [ranks] what each process said last */
	uint32_t *count;            /* [ranks] PEs of each */
	uint32_t most;              /* largest of these */
	uint8_t *out, *in;          /* buffers of an exchange, and their sizes */
	size_t out_cap, in_cap;
	bool over; /* somebody has ended: no exchange any more */
	int lost;  /* the processes' own bootstrap has failed with this */
};

/* Agrees on who has which PEs, and has `m` exchange by it. `a` is zeroed; fini() in any case. */
int bf_across_begin(struct bf_across *a, struct bf_boot *ranks, struct bf_meet *m, uint32_t npes);

/* This process's PEs have ended with `rc`, PE number `pe` of them. Returns what all processes return. */
int bf_across_end(struct bf_across *a, struct bf_meet *m, int rc, uint32_t pe);

void bf_across_fini(struct bf_across *a);

#endif
