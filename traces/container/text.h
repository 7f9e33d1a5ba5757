/*
 * Text of unknown length and origin, a line at a time or whole. A line without end, an endless file and lack of memory
 * are errors with a place, never the end of the text: what was not read must not look as if it were not there.
 */
#ifndef BELFRY_TRACES_CONTAINER_TEXT_H
#define BELFRY_TRACES_CONTAINER_TEXT_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "sim/error.h"

#define BF_TEXT_LINE_MAX (64u << 20) /* bytes of a line */
#define BF_TEXT_MAX (4ull << 30)     /* bytes of a file that is read whole */

/* Begins with everything zero but `f`; the caller frees `text`. */
struct bf_text_lines {
	FILE *f;
	char *text; /* the line at hand, without its newline; ends with NUL, and may hold others */
	size_t len, cap;
	uint64_t number; /* of the line, from 1 */
};

/* The next line: 1; 0 at the end of the file; -EMSGSIZE, -ENOMEM, or -EIO with `err` set. */
int bf_text_line(struct bf_text_lines *l, struct bf_error *err);

/*
 * All of `f`, up to its end, with a NUL behind it, as `*text`, which the caller frees also after a failure. `path`
 * stands in messages. 0, or -EMSGSIZE, -ENOMEM, -EIO with `err` set.
 */
int bf_text_whole(FILE *f, const char *path, char **text, size_t *len, struct bf_error *err);

#endif
