/* belfry explore nvme-... */
#include "tools/workloads/explore.h"
#include "tools/workloads/nvme.h"

static int run_explore(const struct bf_args *args)
{
	struct bf_nvme_workload w;
	int code;

	if (bf_arg_flag(args, "list"))
		return bf_nvme_workload_list(args);
	code = bf_nvme_workload_parse(args, &w);
	if (code != BF_EXIT_GOOD)
		return code;
	/* Each run must begin with the same medium. */
	if (w.media)
		code = bf_cli_error(args, BF_EXIT_USAGE, "--media: a medium that outlasts its run cannot be explored");
	else
		code = bf_explore(args, &bf_nvme_family, &w, w.backend);
	bf_nvme_workload_free(&w);
	return code;
}

static const struct bf_opt options[] = {
	BF_EXPLORE_OPTIONS,
	BF_NVME_OPT_TABLE,
	{ .name = NULL },
};

extern const struct bf_command bf_cmd_explore_nvme;
const struct bf_command bf_cmd_explore_nvme = {
	.name = "explore",
	.prefix = "nvme-",
	.usage = "explore nvme-WORKLOAD [--seeds N] [options]",
	.summary = "look for a seed and an ordering under which an NVMe workload fails",
	.details =
	    "Runs the workload under every seed and ordering until a run fails. Then makes that run as small as it\n"
	    "stays failing the same way (ordering, commands, threads, depth, size, seed), says from the records what\n"
	    "went wrong, prints the command that repeats it and, with --trace, writes its trace.\n"
	    "\n"
	    "The outcome does not depend on --jobs.\n"
	    "\n"
	    "Exit code 0: no run failed. 1: one did. 2: bad options. 77: the backend is not available here.\n"
	    "\n"
	    "Examples:\n"
	    "  belfry explore nvme-verify --bug no-fence-before-doorbell --threads 4 --commands 16\n"
	    "  belfry explore nvme-mixed --threads 8 --share 4 --seeds 1000",
	.words = "nvme-read|nvme-write|nvme-verify|nvme-mixed|nvme-admin|nvme-file",
	.options = options,
	.min_args = 0,
	.max_args = 1,
	.run = run_explore,
};
