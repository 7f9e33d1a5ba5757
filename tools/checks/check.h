/* The forms of `belfry check`: a file for each, whose lines are compared with the models. */
#ifndef BELFRY_TOOLS_CHECKS_CHECK_H
#define BELFRY_TOOLS_CHECKS_CHECK_H

#include "tools/cli/cli.h"
#include "traces/container/json_line.h"

/* Every form's tally begins with it. */
struct bf_check {
	struct bf_json *json; /* NULL: text */
	const char *path;     /* of the file, "-": standard input */
	uint64_t taken, bad;  /* things compared; those that are not as they should be */
};

/* A form; `tally` is a struct of its own, zero at the start. */
struct bf_check_form {
	struct bf_command_form form; /* its name, and what FILE is */
	const char *each;            /* what a line holds */
	const char *list;            /* the member of the JSON document that take() fills */
	size_t tally_bytes;
	int (*begin)(void *tally, struct bf_error *err); /* before the first line; NULL: nothing to do */
	/* Compares what a line holds, counts it and tells of it. 0, or a negative errno with l->err set. */
	int (*take)(void *tally, struct bf_json_line *l);
	void (*end)(void *tally); /* after the last one and print(): gives back what the tally holds; NULL: nothing */
	/* What came of all lines, as text and as members of the open object. */
	void (*print)(const void *tally);
	void (*summary)(struct bf_json *j, const void *tally);
};

/* All of them; NULL past the last. */
const struct bf_check_form *bf_check_form_at(unsigned i);

#endif
