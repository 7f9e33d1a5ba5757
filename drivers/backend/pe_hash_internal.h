/*
 * A hash of what each PE recorded, which does not depend on who else is in the simulation or in this process.
 *
 * A PE's actors are those that are named after its devices or itself (pe, gpu, and bf_part.actor), with its number and
 * an end or a dot: "pe3.b0.w1.l0", "nic3", "nic3.1.p1". Switches belong to nobody. A record counts with its time, its
 * actor's name (numbers of actors come in the order of their creation, which other PEs take part in), its type and its
 * bytes, in the order of emission.
 */
#ifndef BELFRY_DRIVERS_BACKEND_PE_HASH_INTERNAL_H
#define BELFRY_DRIVERS_BACKEND_PE_HASH_INTERNAL_H

#include "sim/record.h"

struct bf_pe_hash; /* opaque */

/* 0 or -ENOMEM. `next` (may be NULL, borrowed) gets all that the sink gets. */
int bf_pe_hash_create(uint32_t npes, struct bf_sink *next, struct bf_pe_hash **out);
void bf_pe_hash_destroy(struct bf_pe_hash *h);
struct bf_sink *bf_pe_hash_sink(struct bf_pe_hash *h);

/* Of the records that were flushed so far; `out`: [npes]. */
void bf_pe_hash_get(const struct bf_pe_hash *h, uint64_t *out);

#endif
