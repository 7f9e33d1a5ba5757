/* belfry ptx: what belongs to PTX modules. */
#include "tools/cli/cli.h"

extern const struct bf_command bf_cmd_ptx_check;
extern const struct bf_command bf_cmd_ptx_run;
extern const struct bf_command bf_cmd_ptx_trial;

static int run(const struct bf_args *args)
{
	return bf_cli_error(args, BF_EXIT_USAGE, "there is no '%s'; check, run and trial are known",
			    bf_arg_positional(args, 0));
}

static const struct bf_opt options[] = { { 0 } };

static const struct bf_command *const families[] = { &bf_cmd_ptx_check, &bf_cmd_ptx_run, &bf_cmd_ptx_trial, NULL };

const struct bf_command bf_cmd_ptx = {
	.name = "ptx",
	.usage = "ptx check|run|trial FILE...",
	.summary = "list what compiled CUDA kernels need, run one, or try one against a ConnectX",
	.details = "check: lists what each kernel needs, and what would be refused.\n"
		   "\n"
		   "run: runs one kernel with the arguments that you give, and prints or compares its buffers.\n"
		   "\n"
		   "trial: runs a kernel that posts RDMA, under many seeds and orderings, and names its mistake.\n"
		   "\n"
		   "'belfry ptx check --help' describes the first.",
	.options = options,
	.min_args = 1,
	.max_args = 64,
	.run = run,
	.words = "check|run|trial",
	.families = families,
};
