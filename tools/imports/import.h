/* The forms of `belfry import`: a file for each. */
#ifndef BELFRY_TOOLS_IMPORTS_IMPORT_H
#define BELFRY_TOOLS_IMPORTS_IMPORT_H

#include "tools/cli/cli.h"

struct bf_sink;

struct bf_import_form {
	struct bf_command_form form; /* its name, and what FILE is */
	/* Reads `path` into the trace `out`; returns an exit code. */
	int (*import)(const struct bf_args *args, const char *path, const char *out);
};

/* All of them; NULL past the last. */
const struct bf_import_form *bf_import_form_at(unsigned i);

/* Writes a trace of one source by `emit`. 0, or a negative errno with text in `err`. */
int bf_import_write(const char *form, const char *path, const char *out,
		    int (*emit)(const void *source, struct bf_sink *sink, struct bf_error *err), const void *source,
		    struct bf_error *err);

/* Tells of `count` events in `out`, and of damage after what stood in front of it was imported; the exit code. */
int bf_import_end(const struct bf_args *args, const char *out, size_t count, int rc, const struct bf_error *err,
		  const struct bf_error *damage);

#endif
