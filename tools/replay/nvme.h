/* `belfry replay` of Linux NVMe traces. */
#ifndef BELFRY_TOOLS_REPLAY_NVME_H
#define BELFRY_TOOLS_REPLAY_NVME_H

#include <stdio.h>

#include "tools/cli/cli.h"

/*
 * True when what follows in `f` (whose first `len` bytes are `head`) is a Linux NVMe trace, or a trace that one was
 * imported into. Moves back to the start.
 */
bool bf_replay_is_nvme(const char *path, FILE *f, const char *head, size_t len);

/* Replays it; returns the exit code. */
int bf_replay_nvme(const struct bf_args *args, const char *path, FILE *f);

#endif
