/* The comparisons of `belfry diff` that know the queues of a device: a file for each, and a line in kinds.c. */
#ifndef BELFRY_TOOLS_REPLAY_COMPARE_H
#define BELFRY_TOOLS_REPLAY_COMPARE_H

#include <stdio.h>

#include "tools/cli/cli.h"
#include "traces/container/trace.h"

struct bf_compare_form {
	struct bf_command_form form; /* "--queues": the option that asks for it */
	/*
	 * Compares what is left of the two traces; prints to `out`, as text or, with `j`, as members of the open JSON
	 * object. Returns 0: alike, 1: not, or a negative errno with `err` set; -ENOENT: there is nothing to compare.
	 */
	int (*compare)(struct bf_trace *a, struct bf_trace *b, FILE *out, struct bf_json *j, struct bf_error *err);
};

/* NULL past the last. */
const struct bf_compare_form *bf_compare_form_at(unsigned i);

#endif
