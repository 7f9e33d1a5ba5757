/* belfry explore mbarrier-... */
#include "tools/workloads/explore.h"
#include "tools/workloads/mbarrier.h"

static int run_explore(const struct bf_args *args)
{
	struct bf_mbar_workload w;
	int code;

	if (bf_arg_flag(args, "list"))
		return bf_mbar_workload_list(args);
	code = bf_mbar_workload_parse(args, &w);
	return code == BF_EXIT_GOOD ? bf_explore(args, &bf_mbar_family, &w, bf_backend_find("sim")) : code;
}

static const struct bf_opt options[] = {
	BF_EXPLORE_OPTIONS,
	BF_MBAR_OPT_TABLE,
	{ .name = NULL },
};

extern const struct bf_command bf_cmd_explore_mbarrier;
const struct bf_command bf_cmd_explore_mbarrier = {
	.name = "explore",
	.prefix = "mbarrier-",
	.usage = "explore mbarrier-WORKLOAD [--seeds N] [options]",
	.summary = "look for a seed and an ordering under which a barrier workload fails",
	.details =
	    "Runs the workload under every seed and ordering until a run fails. Then makes that run as small as it\n"
	    "stays failing the same way (ordering, tiles, blocks, warps, stages, bytes, seed), says from the records\n"
	    "what went wrong, prints the command that repeats it and, with --trace, writes its trace.\n"
	    "\n"
	    "The outcome does not depend on --jobs.\n"
	    "\n"
	    "Exit code 0: no run failed. 1: one did. 2: bad options.\n"
	    "\n"
	    "Examples:\n"
	    "  belfry explore mbarrier-ring --bug no-warp-sync\n"
	    "  belfry explore mbarrier-cluster --bug early-exit --seeds 1000",
	.words = "mbarrier-pipeline|mbarrier-ring|mbarrier-pingpong|mbarrier-cluster|mbarrier-ampere|mbarrier-stress",
	.options = options,
	.min_args = 0,
	.max_args = 1,
	.run = run_explore,
};
