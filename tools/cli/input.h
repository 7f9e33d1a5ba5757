/*
 * Traces as commands take them: a trace file in either form, or a raw capture or a trace of Linux' events, which are
 * imported on the way; and the end of files that commands write.
 */
#ifndef BELFRY_TOOLS_CLI_INPUT_H
#define BELFRY_TOOLS_CLI_INPUT_H

#include <stdio.h>

#include "traces/import/capture.h"
#include "traces/import/ftrace.h"
#include "traces/container/trace.h"

struct bf_input {
	struct bf_trace *trace;
	FILE *file;
	bool is_capture; /* of queues, or of Linux' events */
	/* What was read of either, to be replayed; NULL: neither, or a trace that one was imported into. */
	struct bf_capture *capture;
	struct bf_ftrace *ftrace;
	int damage; /* a capture's error, which stands behind the events that could be read; 0: none */
	struct bf_error damage_error;
};

/*
 * Opens `path` ("-": standard input). `err` is kept and takes the texts of later failures of the trace. 0 or a negative
 * errno. Close with bf_input_close(), also after a failure.
 */
int bf_input_open(const char *path, struct bf_input *in, struct bf_error *err);
void bf_input_close(struct bf_input *in);

/* Back to the first record, as just opened; the trace is a new object. `path` as before. 0 or a negative errno. */
int bf_input_again(struct bf_input *in, const char *path, struct bf_error *err);

/* Closes what was written to `path`: 0, or a negative errno when not all of it is there. */
int bf_output_close(FILE *out, const char *path, struct bf_error *err);

/*
 * Opens `path` ("-": standard input, kept in a temporary file) for reading and looks at its first `cap` bytes without
 * moving. 0 with the caller's `*out`, or a negative errno with `err` set and NULL.
 */
int bf_input_peek(const char *path, FILE **out, char *head, size_t cap, size_t *len, struct bf_error *err);

/* Imports a capture: into the file `path`, or into `file` if that is not NULL. `source` is what the trace says it came
 * from. */
int bf_input_import(const struct bf_capture *c, const char *source, const char *path, FILE *file, struct bf_error *err);

/* True for names that end in .jsonl: the JSON Lines form of a trace. */
bool bf_input_is_jsonl(const char *path);

#endif
