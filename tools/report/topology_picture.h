/* The switches of a run and how busy their links were: collected from a trace's `link_load` records, drawn as SVG. */
#ifndef BELFRY_TOOLS_REPORT_TOPOLOGY_PICTURE_H
#define BELFRY_TOOLS_REPORT_TOPOLOGY_PICTURE_H

#include <stdio.h>

#include "traces/container/trace.h"

/*
 * Reads the rest of the trace and draws what it says of links last. 0; -ENOENT with `err` set when it says nothing
 * (the run had one ideal switch, or no records of class net); -ENOMEM; or what the reader said, after drawing what was
 * read before the damage.
 */
int bf_topology_picture(struct bf_trace *t, FILE *out, struct bf_error *err);

#endif
