/*
 * Where in the driver's code findings come from: a second look at a stream that has the records of class `where`.
 *
 * After rules have judged a stream, the same stream is read once more for the code address of the access behind each
 * finding: the one whose record the finding begins with (the store that was late, the doorbell that rang too early),
 * or, where a finding begins with something that a device did, the last store, atomic, fence or doorbell before its end
 * by the thread that it names, or by any thread of that processing element. What the address means only the program's
 * own debug information tells.
 *
 * One thread.
 */
#ifndef BELFRY_TRACES_LIFE_PLACES_H
#define BELFRY_TRACES_LIFE_PLACES_H

#include "traces/rules/rules.h"
#include "traces/container/trace.h"

struct bf_places; /* opaque */

struct bf_place {
	const char *path;  /* of the program or library; valid until bf_places_free() */
	uint64_t build_id; /* the first eight bytes, big-endian; 0: it has none */
	uint64_t offset;   /* from where it was loaded: the address that the call returns to */
	bool exact;        /* the access that the finding begins with */
};

/* For what `r`, which is finished and outlives this, has found. 0 or -ENOMEM. */
int bf_places_open(const struct bf_rules *r, struct bf_places **out);
void bf_places_free(struct bf_places *p);

/* Takes the same stream again, live. */
struct bf_sink *bf_places_sink(struct bf_places *p);

/* Reads the same trace again, from its start to its end; damage is skipped. 0 or a negative errno. */
int bf_places_trace(struct bf_places *p, struct bf_trace *t);

/* The place of finding `i` (bf_rules_found()); NULL when it is not known. */
const struct bf_place *bf_places_of(struct bf_places *p, uint32_t i);

#endif
