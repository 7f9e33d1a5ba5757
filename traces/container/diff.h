/*
 * Comparing two traces record by record.
 *
 * Actors and types are compared by name and fields by name, so traces of different programs and versions compare. Where
 * the streams part, the nearest place where they agree again is sought, so that one record more does not make all that
 * follow look different. One thread per comparison and its readers.
 */
#ifndef BELFRY_TRACES_CONTAINER_DIFF_H
#define BELFRY_TRACES_CONTAINER_DIFF_H

#include <stdio.h>

#include "traces/container/trace.h"

struct bf_diff_options {
	const char *ignore_types;  /* names, separated by commas: such records count for nothing */
	const char *ignore_fields; /* "field" or "type.field"; "time" and "tail" stand for those of every record */
	uint64_t limit;            /* divergences to print; 0: 10. All are counted. */
	unsigned context;          /* equal records to print before each; at most 16 */
	bool json;                 /* one JSON object a divergence */
};

struct bf_diff_result {
	uint64_t equal;
	uint64_t changed; /* the same type of the same actor in the same place, with other values */
	uint64_t only_a;
	uint64_t only_b;
	uint64_t damage; /* stretches of either trace that could not be read */
};

/*
 * Compares what is left of `a` and `b`, printing divergences to `out`. `options` NULL: defaults. `result` may be NULL.
 * Returns 0 when equal, 1 when not, -EBADMSG when either trace was damaged (the rest is compared), or another negative
 * errno, with text in `err`.
 */
int bf_diff(struct bf_trace *a, struct bf_trace *b, const struct bf_diff_options *options, FILE *out,
	    struct bf_diff_result *result, struct bf_error *err);

#endif
