/* The forms of `belfry check` that have files of their own. */
#ifndef BELFRY_TOOLS_CHECK_H
#define BELFRY_TOOLS_CHECK_H

#include <stdio.h>

#include "tools/cli.h"

/* Checks what is in `f`, called `path` in messages; returns the exit code. */
int bf_check_nvme(const struct bf_args *args, const char *path, FILE *f);
int bf_check_hopper_mbarrier(const struct bf_args *args, const char *path, FILE *f);
int bf_check_hopper_timing(const struct bf_args *args, const char *path, FILE *f);
int bf_check_sdma_rect(const struct bf_args *args, const char *path, FILE *f);

#endif
