/* What the files of the frame of `belfry` share. */
#ifndef BELFRY_TOOLS_CLI_CLI_INTERNAL_H
#define BELFRY_TOOLS_CLI_CLI_INTERNAL_H

#include "tools/cli/cli.h"

struct bf_arg_value {
	const char *text;
	uint64_t number;
	bool given;
};

struct bf_arg_repeated {
	const struct bf_opt *opt;
	const char *text;
};

struct bf_args {
	const struct bf_command *command;
	struct bf_arg_value *values; /* one per option of the table */
	struct bf_arg_repeated *repeated;
	unsigned nrepeated;
	const char **positional;
	unsigned npositional;
	bool json, help;
};

/*
 * Parses a command line by the command's table; what is wrong is told. 0 or an exit code. `a` is to be freed either
 * way. With a->help nothing else was looked at.
 */
int bf_cli_args_parse(struct bf_args *a, const struct bf_command *c, int argc, char **argv, bool json);
void bf_cli_args_free(struct bf_args *a);

/* bf_cli_error() where there is no command line yet: `command` may be NULL. */
int bf_cli_report(const char *command, bool json, int code, const char *text);

/* Options that every command has. */
extern const struct bf_opt bf_cli_common_options[];

/* "-" for options of one letter, "--" for others. */
const char *bf_cli_dashes(const char *name);

/* On standard output, or `out`. */
void bf_cli_help(const struct bf_command *c);
void bf_cli_overview(FILE *out, const struct bf_command *const *commands);

/* The manual page of the command in section 1, of the program when NULL. */
void bf_cli_man(const struct bf_command *const *commands, const struct bf_command *c);

/* A completion script for "bash", "zsh" or "fish". -EINVAL for other shells. */
int bf_cli_completion(const struct bf_command *const *commands, const char *shell);

#endif
