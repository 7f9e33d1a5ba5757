/* belfry run ll-..., belfry explore ll-...: DeepEP's low-latency exchange. */
#include "tools/report/lint_run.h"
#include "tools/workloads/ll.h"

static int run_run(const struct bf_args *args)
{
	struct bf_ll_workload w;

	return bf_pes_cmd_run(args, &bf_ll_family, &w.pes);
}

#define PART(member, least)                                                                                            \
	{                                                                                                              \
		BF_MEMBER(struct bf_ll_workload, member), least                                                        \
	}

static int run_explore(const struct bf_args *args)
{
	static const struct bf_search_part parts[] = {
		PART(rounds, 1), PART(tokens, 1), PART(topk, 1),        PART(experts, 2), PART(pes.pes, 2),
		PART(blocks, 1), PART(groups, 1), PART(group_warps, 1), PART(pes.qps, 1), PART(hidden, 512),
	};
	struct bf_ll_workload w;

	return bf_pes_cmd_explore(args, &bf_ll_family, &w.pes, parts, BF_ARRAY_LEN(parts));
}

#define OPTIONS                                                                                                        \
	BF_LL_OPTIONS(BF_WORKLOAD_OPT_)                                                                                \
	BF_PES_OPTIONS(BF_WORKLOAD_OPT_, pes, "4", "0", "deepep", "0") BF_PES_OPT_TEXTS

static const struct bf_opt run_options[] = { BF_PES_OPT_RUN, OPTIONS, { .name = NULL } };
static const struct bf_opt explore_options[] = { BF_EXPLORE_OPTIONS, OPTIONS, { .name = NULL } };

extern const struct bf_command bf_cmd_run_ll, bf_cmd_explore_ll;

const struct bf_command bf_cmd_run_ll = {
	.name = "run",
	.prefix = "ll-",
	.usage = "run ll-WORKLOAD [options]",
	.summary = "run DeepEP's low-latency exchange and check every byte and sum",
	.details =
	    "Workloads: ll-dispatch, ll-combine (belfry run ll- --list says more). Roles of warps, message format,\n"
	    "buffers, counts and batches of doorbells are those of DeepEP's internode_ll.cu. Every token of every\n"
	    "expert is compared with a plain computation of the same routing, and every sum bit for bit.\n"
	    "\n"
	    "--qps 0 takes a queue pair for each expert of a PE, as DeepEP does; --depth 0 takes rings that nobody has "
	    "to\n"
	    "look after.\n"
	    "\n"
	    "Exit code 0: all as it must be. 1: wrong data, an error completion, a deadlock or the time limit.\n"
	    "2: bad options. 77: the backend is not available here.\n"
	    "\n"
	    "Examples:\n"
	    "  belfry run ll-dispatch --routing hot --rounds 3\n"
	    "  belfry run ll-combine --bug ll-no-clean --rounds 2\n"
	    "  belfry run ll-combine --pes 8 --tokens 128 --hidden 7168 --topk 8 --experts 256 --blocks 8 --warps 5\n"
	    "      --ordering sc --records none --profile cx7,icrc=0",
	.options = run_options,
	.min_args = 0,
	.max_args = 1,
	.run = run_run,
};

const struct bf_command bf_cmd_explore_ll = {
	.name = "explore",
	.prefix = "ll-",
	.usage = "explore ll-WORKLOAD [--seeds N] [options]",
	.summary = "look for a seed and an ordering under which the low-latency exchange fails",
	.details = "As belfry explore; a failing run is made smaller by rounds, tokens, choices, experts, PEs, blocks, "
		   "groups,\n"
		   "warps and queue pairs.\n"
		   "\n"
		   "Exit code 0: no run failed. 1: one did. 2: bad options. 77: the backend is not available here.\n"
		   "\n"
		   "Examples:\n"
		   "  belfry explore ll-dispatch --bug ll-no-barrier --seeds 20\n"
		   "  belfry explore ll-combine --bug no-wqe-fence --rounds 2",
	.options = explore_options,
	.min_args = 0,
	.max_args = 1,
	.run = run_explore,
};
