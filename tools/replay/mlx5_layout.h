/*
 * belfry replay --layout: the run that a trace is of, once more with IBGDA's tables in another order. What threads
 * store depends on those tables (which ring, which completion queue), so the driver must run again; the device's part
 * alone, as captures are replayed, would repeat the old addresses.
 */
#ifndef BELFRY_TOOLS_REPLAY_MLX5_LAYOUT_H
#define BELFRY_TOOLS_REPLAY_MLX5_LAYOUT_H

#include "tools/cli/cli.h"

/* `f` is the trace `path` at its start. Exit code. */
int bf_replay_layout(const struct bf_args *args, const char *path, FILE *f);

#endif
