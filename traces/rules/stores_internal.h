/* The engine's side of stores.h: what keeps the tables going. */
#ifndef BELFRY_TRACES_RULES_STORES_INTERNAL_H
#define BELFRY_TRACES_RULES_STORES_INTERNAL_H

#include "traces/rules/rule.h"

struct bf_stores *bf_stores_open(void);
void bf_stores_close(struct bf_stores *s);

/*
 * Takes in a store, mmio_store, store_visible or dma_read record. Not NULL: the store that is visible now. Of a
 * store_visible record NULL says that no store record came before, as for the store of an atomic.
 */
const struct bf_store *bf_stores_note(struct bf_stores *s, const struct bf_seen *e);

/* Lack of memory made the tables incomplete. */
bool bf_stores_failed(const struct bf_stores *s);

#endif
