/* What the readers of Linux traces share: a cursor in a line. */
#ifndef BELFRY_TRACES_IMPORT_FTRACE_INTERNAL_H
#define BELFRY_TRACES_IMPORT_FTRACE_INTERNAL_H

#include "traces/import/ftrace.h"

struct bf_ftrace_line {
	const char *start, *p, *end;
	uint32_t number;
	struct bf_error *err;
};

/* Fails with -EBADMSG at `p`, which lies in the line. */
int bf_ftrace_fail(const struct bf_ftrace_line *l, const char *p, const char *what);

/* Steps over all characters of `set`. */
void bf_ftrace_skip(struct bf_ftrace_line *l, const char *set);

/* Decimal, or hexadecimal behind 0x. False when there is none or it does not fit. */
bool bf_ftrace_number(struct bf_ftrace_line *l, uint64_t *out);

/* "123.456789" with any number of decimals, in nanoseconds. */
bool bf_ftrace_time(struct bf_ftrace_line *l, uint64_t *ns);

/* A line of blkparse: 1 and the event; 0 when it is of no interest; negative errno. */
int bf_ftrace_block(struct bf_ftrace_line *l, const struct bf_ftrace *before, struct bf_ftrace_event *ev);

/* Appends an event. 0 or -ENOMEM. */
int bf_ftrace_append(struct bf_ftrace *t, const struct bf_ftrace_event *ev, struct bf_error *err);

#endif
