/* The program that `belfry exec` is to run, and the library that it loads: where they are and whether that can be. */
#ifndef BELFRY_TOOLS_EXEC_TARGET_H
#define BELFRY_TOOLS_EXEC_TARGET_H

#include <limits.h>
#include <stddef.h>

#include "sim/error.h"

/* Finds `name` as a shell does: along PATH, unless there is a slash in it. 0, -ENOENT, -EACCES or -ENAMETOOLONG. */
int bf_exec_target_find(const char *name, char path[PATH_MAX]);

/*
 * Whether the dynamic linker will load a preloaded library into the program at `path` (of a script: into what
 * interprets it). 0; -ENOTSUP with the reason in `err` for one that is static, of another machine, or runs with other
 * rights than its caller's; -errno for one that cannot be read.
 */
int bf_exec_target_check(const char *path, struct bf_error *err);

/* The library `name`: beside this program, or where it is installed. 0, -ENOTSUP with the reason in `err`. */
int bf_exec_library(const char *name, char path[PATH_MAX], struct bf_error *err);

#endif
