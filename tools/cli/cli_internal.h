/* What the frame of `belfry` shares with those who write texts from the tables of its commands. */
#ifndef BELFRY_TOOLS_CLI_CLI_INTERNAL_H
#define BELFRY_TOOLS_CLI_CLI_INTERNAL_H

#include "tools/cli/cli.h"

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
