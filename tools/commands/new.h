/* The projects that `belfry new` writes: files of tests/examples, which the build puts into the program. */
#ifndef BELFRY_TOOLS_COMMANDS_NEW_H
#define BELFRY_TOOLS_COMMANDS_NEW_H

#include <stddef.h>

#include "tools/cli/cli.h"

struct bf_new_file {
	const char *project, *name;
	const char *text;
	size_t bytes;
};

/* Ends with a NULL project. */
extern const struct bf_new_file bf_new_files[];

/* The projects, with what --help says of each; ends with a NULL name. */
extern const struct bf_command_form bf_new_forms[];

#endif
