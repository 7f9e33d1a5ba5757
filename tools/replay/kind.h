/* The kinds of files that `belfry replay` takes: a file for each, and a line in kinds.c. */
#ifndef BELFRY_TOOLS_REPLAY_KIND_H
#define BELFRY_TOOLS_REPLAY_KIND_H

#include <stdio.h>

#include "tools/cli/cli.h"

struct bf_input;
struct bf_sink;

struct bf_replay_kind {
	struct bf_command_form form; /* what a trace into which one was imported says of its origin; what FILE is */
	/* The file begins like one. */
	bool (*probe)(const char *head, size_t len);
	/* All of the text is one, also where its beginning says little; may be NULL. */
	bool (*whole)(const char *text, size_t len);
	/* Replays it; returns the exit code. */
	int (*replay)(const struct bf_args *args, const char *path, FILE *f);
	/*
	 * Puts what `in` has captured through the model, whose records go to `sink`. -ENOENT: it is another kind.
	 * NULL: it says no more than the capture.
	 */
	int (*again)(const struct bf_input *in, struct bf_sink *sink, struct bf_error *err);
	/* An option with which the file is taken otherwise, and by what; both may be NULL. */
	const char *option;
	int (*by_option)(const struct bf_args *args, const char *path, FILE *f);
	/* The names that --profile may have; may be NULL. */
	const char *(*profiles)(const void *own, uint32_t i);
};

/* NULL past the last. */
const struct bf_replay_kind *bf_replay_kind_at(unsigned i);

/* The kind of what follows in `f`, whose first `len` bytes are `head`; the first of all if it is none. Rewinds. */
const struct bf_replay_kind *bf_replay_kind_of(const char *path, FILE *f, const char *head, size_t len);

/* whole() of any kind. */
bool bf_replay_whole(const char *text, size_t len);

/* profiles() of the first kind that has it, for shells that complete. */
const char *bf_replay_profile(const void *own, uint32_t i);

/* again() of whichever kind it is. */
int bf_replay_again(const struct bf_input *in, struct bf_sink *sink, struct bf_error *err);

#endif
