/* belfry explore sdma-... */
#include <stdlib.h>

#include "tools/workloads/explore.h"
#include "tools/workloads/sdma.h"

static int run_explore(const struct bf_args *args)
{
	struct bf_sdma_workload w;
	int code;

	if (bf_arg_flag(args, "list"))
		return bf_sdma_workload_list(args);
	code = bf_sdma_workload_parse(args, &w);
	if (code == BF_EXIT_GOOD && bf_arg_given(args, "ordering"))
		code = bf_cli_error(args, BF_EXIT_USAGE, "--ordering: --orderings says which ones are tried");
	if (code == BF_EXIT_GOOD)
		code = bf_explore(args, &bf_sdma_family, &w, w.backend);
	free(w.faults);
	return code;
}

static const struct bf_opt options[] = {
	BF_EXPLORE_OPTIONS,
	BF_SDMA_OPT_TABLE,
	{ .name = NULL },
};

extern const struct bf_command bf_cmd_explore_sdma;
const struct bf_command bf_cmd_explore_sdma = {
	.name = "explore",
	.prefix = "sdma-",
	.usage = "explore sdma-WORKLOAD [--seeds N] [options]",
	.summary = "look for a seed and an ordering under which an SDMA workload fails",
	.details =
	    "Runs the workload under every seed and ordering until a run fails. Then makes that run as small as it\n"
	    "stays failing the same way (ordering, submissions, producers, queues, size, seed), says from the records "
	    "what\n"
	    "went wrong, prints the command that repeats it and, with --trace, writes its trace.\n"
	    "\n"
	    "The outcome does not depend on --jobs.\n"
	    "\n"
	    "Exit code 0: no run failed. 1: one did. 2: bad options. 77: the backend is not available here.\n"
	    "\n"
	    "Examples:\n"
	    "  belfry explore sdma-copy --bug no-copy-order --hops 3 --producers 4\n"
	    "  belfry explore sdma-concurrent --producers 8 --queues 1 --seeds 1000",
	.words = "sdma-rect|sdma-tiles|sdma-copy|sdma-fill|sdma-write|sdma-fence|sdma-queues|sdma-concurrent|sdma-wrap|"
		 "sdma-pause|sdma-doorbell|sdma-broadcast|sdma-reset|sdma-memcpy3d",
	.options = options,
	.min_args = 0,
	.max_args = 1,
	.run = run_explore,
};
