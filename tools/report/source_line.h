/*
 * Source lines of code addresses, from debug information (elfutils' libdw; without it nothing is known).
 *
 * Calls that were inlined are looked through: the line is that of the first caller outside of drivers/platform and sim,
 * which is the driver's own. Places in a program that was interpreted have their file and line already.
 */
#ifndef BELFRY_TOOLS_REPORT_SOURCE_LINE_H
#define BELFRY_TOOLS_REPORT_SOURCE_LINE_H

#include <stdbool.h>

#include "traces/life/places.h"

struct bf_source_line {
	char file[256], function[96]; /* the function may be empty */
	int line;
};

struct bf_sources; /* files that were opened; opaque */

/* NULL on lack of memory, which is as good as none. */
struct bf_sources *bf_sources_open(void);
void bf_sources_free(struct bf_sources *s);

/*
 * True when the line of `place` is known: its file is there, is the same build, and has debug information for it.
 * `why`, which may be NULL, gets the reason otherwise.
 */
bool bf_source_line(struct bf_sources *s, const struct bf_place *place, struct bf_source_line *out, const char **why);

#endif
