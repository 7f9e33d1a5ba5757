/*
 * Memory as records tell it, beside memory as it is.
 *
 * A program can write to a region behind the simulation's back: by a plain store, memcpy(), code in another library.
 * Nothing delays such bytes, so a missing fence does no harm there and no rule can judge it. So each region keeps a
 * copy in which only stores through views and writes of devices land. Where a device reads bytes that differ from the
 * copy, nobody has told of them.
 */
#ifndef BELFRY_SIM_KNOWN_INTERNAL_H
#define BELFRY_SIM_KNOWN_INTERNAL_H

#include "sim/mem.h"

/* The copy is what the region holds now. 0 or -ENOMEM with sim->error set. */
int bf_known_take(struct bf_region *r);
void bf_known_drop(struct bf_region *r);

/* These bytes of a region with a copy were written by somebody who tells of it. */
void bf_known_wrote(struct bf_region *r, const void *p, uint64_t len);
/* A device reads them: emits a record if they differ, once for each change. */
void bf_known_read(struct bf_region *r, const void *p, uint64_t len, uint32_t actor);

#endif
