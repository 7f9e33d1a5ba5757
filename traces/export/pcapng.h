/*
 * Packets of a trace as a pcapng file, for Wireshark and its kin.
 *
 * Takes records of type "packet": a field `packet` or `id` (number of the packet), `dir` (0 sent, 1 arrived), `len`
 * and `verdict` (0: nothing special) where present, and the Ethernet frame as tail. Each actor (port) becomes an
 * interface. Format: draft-ietf-opsawg-pcapng; timestamps count picoseconds. One thread per reader.
 */
#ifndef BELFRY_TRACES_EXPORT_PCAPNG_H
#define BELFRY_TRACES_EXPORT_PCAPNG_H

#include <stdio.h>

#include "traces/container/trace.h"

struct bf_pcapng_options {
	bool both; /* packets where they arrive, too; otherwise each once, where it is sent */
};

struct bf_pcapng_result {
	uint64_t packets; /* written */
	uint64_t interfaces;
	uint64_t frameless; /* arrivals whose frame the trace does not have, left out */
};

/*
 * Writes the packets from where the reader stands. `options` NULL: defaults; `result` may be NULL. What became of a
 * packet (dropped, duplicate, ...) is its comment. Returns 0, -EBADMSG when the trace was damaged (the rest is
 * written), or another negative errno with text in `err`.
 */
int bf_pcapng_export(struct bf_trace *t, const struct bf_pcapng_options *options, FILE *out,
		     struct bf_pcapng_result *result, struct bf_error *err);

#endif
