/*
 * What backends share that this build does not drive: they say what the machine has and what is missing, and refuse to
 * open with the same words.
 */
#ifndef BELFRY_DRIVERS_BACKEND_ABSENT_INTERNAL_H
#define BELFRY_DRIVERS_BACKEND_ABSENT_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>

#include "drivers/backend/backend.h"

/*
 * The first entry of folder `dir`, in order of name, that `accept` (NULL: any) likes; its name in `name`. False when
 * there is none, or no such folder.
 */
bool bf_absent_first(const char *dir, bool (*accept)(const char *dir, const char *entry), char *name, size_t cap);

/* True when the small file dir/entry/file begins with `prefix`. */
bool bf_absent_file_begins(const char *dir, const char *entry, const char *file, const char *prefix);

/* Fails with -ENOTSUP and the text of `probe`. */
int bf_absent_open(const char *name, int (*probe)(char *why, size_t cap), struct bf_error *err);

#endif
