/* Printing traces for people, one record a line; or as JSON, one object a line. One thread per reader. */
#ifndef BELFRY_TRACES_CONTAINER_DUMP_H
#define BELFRY_TRACES_CONTAINER_DUMP_H

#include <stdio.h>

#include "traces/container/trace.h"

/* Which records, and how. All zero: every record, no tails, for people. */
struct bf_dump_options {
	const char *types;  /* names, separated by commas; NULL: all */
	const char *actors; /* the same */
	uint64_t from_ps;
	uint64_t to_ps; /* records after this time are left out; 0: no limit */
	bool by_queue;  /* only records of `queue`: a field qpn, sqn, rqn, cqn, qid or queue has that value */
	uint64_t queue;
	uint64_t limit; /* at most so many records; 0: all */
	bool tails;     /* with a hexadecimal dump of each tail (JSON has tails always) */
	bool json;
};

/*
 * Prints the records of `t` that `options` (NULL: defaults) selects, from where the reader stands; with from_ps, in a
 * file that can seek, from there. Damage is printed where it lies. Returns 0, -EBADMSG when the trace was damaged (the
 * rest is printed), or another negative errno; the text is in `err`.
 */
int bf_dump(struct bf_trace *t, const struct bf_dump_options *options, FILE *out, struct bf_error *err);

/* One record on one line: time in ns, actor, type, fields; with `tail`, the tail below it. */
void bf_dump_record(FILE *out, const struct bf_trace *t, const struct bf_trace_record *rec, bool tail);

/* Text of a trace may hold anything, and a terminal must not act on it: control characters come out as \x1b. */
void bf_dump_text(FILE *out, const char *text, size_t len);

/* The value of a field with its unit or name. */
void bf_dump_field(FILE *out, const struct bf_rec_field *field, const void *fixed);

/* `name` is one of the words in `list`, which commas separate. */
bool bf_dump_listed(const char *list, const char *name);

#endif
