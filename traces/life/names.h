/*
 * What lies at an address, by what a trace says of it: entries of rings, doorbell records, completions (the memory rows
 * of devices, traces/device.h), and the regions around them. For whoever shows addresses to people.
 *
 * One thread.
 */
#ifndef BELFRY_TRACES_LIFE_NAMES_H
#define BELFRY_TRACES_LIFE_NAMES_H

#include "sim/error.h"
#include "traces/container/trace.h"

struct bf_names; /* opaque */

/* A piece of memory with a name. A later one at the same place, smaller or equal, is the better one. */
struct bf_name {
	uint64_t va, bytes;
	uint64_t entry;      /* bytes of one of the equal parts that it consists of; 0: it is no array */
	uint64_t pe;         /* whose memory: the number at the end of the first word of its device or space */
	const char *what;    /* "send ring of QP 0x101" */
	const char *element; /* "entry": what a part is called; NULL with `entry` 0 */
	bool region;         /* what was mapped, not what a device uses it for */
};

/* Reads `t` to its end. 0, -EBADMSG (damaged: `out` has the rest), or -ENOMEM with text in `err` and `out` NULL. */
int bf_names_read(struct bf_trace *t, struct bf_names **out, struct bf_error *err);
void bf_names_free(struct bf_names *n);

/* All of them, in order of their first record. NULL past the last; valid until bf_names_free(). */
const struct bf_name *bf_names_at(const struct bf_names *n, uint32_t i);

#endif
