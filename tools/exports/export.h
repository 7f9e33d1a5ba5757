/* The forms of `belfry export`: a row each in forms.c. */
#ifndef BELFRY_TOOLS_EXPORTS_EXPORT_H
#define BELFRY_TOOLS_EXPORTS_EXPORT_H

#include <stdio.h>

#include "tools/cli/cli.h"

struct bf_input;

struct bf_export_form {
	struct bf_command_form form; /* its name, and what it is for */
	const char *option;          /* of --both and --memory, the one that it takes; NULL: none */
	bool folder;                 /* -o names a folder, which run() makes; `out` is standard output */
	/* Writes what is left of the trace. 0 or a negative errno with `err` set. */
	int (*run)(const struct bf_args *args, struct bf_input *in, FILE *out, struct bf_error *err);
};

/* All of them; NULL past the last. */
const struct bf_export_form *bf_export_form_at(unsigned i);

#endif
