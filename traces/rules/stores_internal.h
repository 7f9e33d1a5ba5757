/* The engine's side of stores.h: what keeps the tables going. */
#ifndef BELFRY_TRACES_RULES_STORES_INTERNAL_H
#define BELFRY_TRACES_RULES_STORES_INTERNAL_H

#include "traces/rules/rule.h"

struct bf_stores *bf_stores_open(void);
void bf_stores_close(struct bf_stores *s);

/* Takes in a store or mmio_store record with these fields. False: no memory, the tables are incomplete. */
bool bf_stores_issue(struct bf_stores *s, const struct bf_seen *e, uint64_t seq, uint64_t va);

/*
 * A store_visible record, at `now_ps` and place `record` of the stream: the store that it is about. NULL: no store
 * record came before, as for the store of an atomic.
 */
const struct bf_store *bf_stores_show(struct bf_stores *s, uint32_t actor, uint64_t seq, uint64_t now_ps,
				      uint64_t record);

/* Takes in a dma_read record. */
void bf_stores_sample(struct bf_stores *s, const struct bf_seen *e);

/* Lack of memory has made the tables incomplete. */
bool bf_stores_failed(const struct bf_stores *s);

#endif
