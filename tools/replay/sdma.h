/* `belfry replay` of dumped SDMA rings. */
#ifndef BELFRY_TOOLS_REPLAY_SDMA_H
#define BELFRY_TOOLS_REPLAY_SDMA_H

#include <stdio.h>

#include "tools/cli/cli.h"

/* True when what follows in `f` (which begins with `head`) is a dump, or a trace of one. Moves back to the start. */
bool bf_replay_is_sdma(const char *path, FILE *f, const char *head, size_t len);

/* Replays it; returns the exit code. */
int bf_replay_sdma(const struct bf_args *args, const char *path, FILE *f);

#endif
