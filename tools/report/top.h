/*
 * A live view of what devices do: rates of doorbells, entries and bytes, what is under way and for how long, errors.
 * Drawn on standard error, five times a second over itself on a terminal, a line for each device every second
 * elsewhere.
 *
 * It is an event of the live simulation, so that counters are read by the thread that changes them.
 */
#ifndef BELFRY_TOOLS_REPORT_TOP_H
#define BELFRY_TOOLS_REPORT_TOP_H

#include <stdbool.h>

#include "sim/event.h"

struct bf_sim;
struct bf_backend;
struct bf_world;
struct bf_world_result;
struct bf_top; /* opaque */

/* Starts; the loop does not run yet, or this is its thread. NULL on lack of memory. `title` is borrowed. */
struct bf_top *bf_top_start(struct bf_sim *sim, const char *title);

/* Draws once more and ends. NULL is fine. */
void bf_top_stop(struct bf_top *t);

/* backend->run() with the view beside it when `on` (live backends only). */
int bf_top_run(const struct bf_backend *backend, struct bf_world *world, struct bf_world_result *out, bool on,
	       const char *title);

#endif
