/* belfry ptx: what belongs to PTX modules. */
#include "tools/cli/cli.h"

extern const struct bf_command bf_cmd_ptx_check;

static int run(const struct bf_args *args)
{
	return bf_cli_error(args, BF_EXIT_USAGE, "there is no '%s'; check is known", bf_arg_positional(args, 0));
}

static const struct bf_opt options[] = { { 0 } };

static const struct bf_command *const families[] = { &bf_cmd_ptx_check, NULL };

const struct bf_command bf_cmd_ptx = {
	.name = "ptx",
	.usage = "ptx check FILE...",
	.summary = "list what compiled CUDA kernels need, and what would be refused",
	.options = options,
	.min_args = 1,
	.max_args = 64,
	.run = run,
	.words = "check",
	.families = families,
};
