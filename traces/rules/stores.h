/*
 * Which stores could not be seen yet: the part of memory's history that still matters.
 *
 * A store record names a buffered store by its thread and `seq`; its store_visible record ends the wait. Only stores
 * in between are kept, so the table is as large as the store buffers of the run. Streams without any store_visible
 * record (ordering sc, real machines) have no late stores, and nothing is kept for long: what a table of fixed size no
 * longer holds counts as visible.
 *
 * Rings are stretches of memory that a device fetches entries from: for each entry the last two times that DMA sampled
 * it are kept, each with the store that was late then, if one was.
 */
#ifndef BELFRY_TRACES_RULES_STORES_H
#define BELFRY_TRACES_RULES_STORES_H

#include <stdbool.h>
#include <stdint.h>

struct bf_stores;
struct bf_rule_queue;

struct bf_store {
	uint32_t actor;
	uint32_t len;
	uint64_t seq, va;
	uint64_t issued_ps, visible_ps;  /* BF_NEVER while it is in a buffer */
	uint64_t record, visible_record; /* places in the stream */
	uint8_t bytes[16];               /* the first ones */
};

/* The store into [va, va + len) that was issued last and is not visible yet; NULL when all of it is. */
const struct bf_store *bf_stores_late(const struct bf_stores *s, uint64_t va, uint64_t len);

/* No more stores of the thread than these are not visible yet; for most threads it is how many. */
uint32_t bf_stores_waiting(const struct bf_stores *s, uint32_t actor);

/*
 * Some store was visible later than it was issued. As long as there is none, memory shows all at once, and findings
 * about late stores are dropped at the end.
 */
bool bf_stores_buffered(const struct bf_stores *s);

/*
 * The stores that became visible last: number 0 is the one that the latest store_visible record was about. NULL past
 * the first. At least 64.
 */
const struct bf_store *bf_stores_shown(const struct bf_stores *s, uint32_t back);

/* The latest stores, visible or not: number 0 is the last one; NULL when that is no longer known. At least 128. */
const struct bf_store *bf_stores_recent(const struct bf_stores *s, uint32_t back);

/* When the bytes of an entry left memory. */
struct bf_sample {
	uint64_t sampled_ps, done_ps;
	uint64_t record; /* place of the DMA read in the stream, plus one */
	uint64_t late;   /* for bf_sample_late() */
};

/* The table's, to be read. */
struct bf_ring {
	struct bf_rule_queue *queue; /* whose it is */
	uint64_t va;
	uint32_t bytes, entries;   /* of an entry; how many */
	uint32_t number;           /* its maker's own */
	struct bf_sample *samples; /* two for each entry: the last one, the one before; NULL: an area */
	struct bf_ring *next;      /* of all */
};

/*
 * From now on, DMA reads from `entries` entries of `bytes` bytes each at va.. are noted. `old`, the queue's ring so
 * far, is replaced; NULL: it has none. NULL on lack of memory, or when the numbers make no sense.
 */
struct bf_ring *bf_stores_ring(struct bf_stores *s, struct bf_ring *old, struct bf_rule_queue *queue, uint64_t va,
			       uint32_t bytes, uint32_t entries);
/* The same for a stretch of memory that is one entry, of which no reads are noted: for bf_stores_ring_at() alone. */
struct bf_ring *bf_stores_area(struct bf_stores *s, struct bf_ring *old, struct bf_rule_queue *queue, uint64_t va,
			       uint64_t len);

/* Nothing lies in `r`, one of these, any more, and it has no entries: its memory was given back. */
void bf_stores_drop(struct bf_stores *s, struct bf_ring *r);

/* How the device had got entry `slot` by `by_ps`; NULL when no read is known. */
const struct bf_sample *bf_ring_sample(const struct bf_ring *r, uint32_t slot, uint64_t by_ps);

/* The store into the sampled bytes that was late then; NULL: none was, or it is long ago. */
const struct bf_store *bf_sample_late(const struct bf_stores *s, const struct bf_sample *sample);

/* The ring that an address lies in; NULL. */
struct bf_ring *bf_stores_ring_at(struct bf_stores *s, uint64_t va);

#endif
