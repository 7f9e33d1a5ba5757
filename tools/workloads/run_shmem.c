/* belfry run shmem-..., belfry explore shmem-...: what NVSHMEM's calls promise, and how long they take. */
#include "tools/report/lint_run.h"
#include "tools/workloads/shmem.h"

static int run_run(const struct bf_args *args)
{
	struct bf_shmem_workload w;

	return bf_pes_cmd_run(args, &bf_shmem_family, &w.pes);
}

#define PART(member, least)                                                                                            \
	{                                                                                                              \
		BF_MEMBER(struct bf_shmem_workload, member), least                                                     \
	}

static int run_explore(const struct bf_args *args)
{
	static const struct bf_search_part parts[] = {
		PART(rounds, 1), PART(blocks, 1), PART(warps, 1), PART(pes.pes, 2), PART(pes.qps, 1), PART(bytes, 16),
	};
	struct bf_shmem_workload w;

	return bf_pes_cmd_explore(args, &bf_shmem_family, &w.pes, parts, BF_ARRAY_LEN(parts));
}

#define OPTIONS                                                                                                        \
	BF_SHMEM_OPTIONS(BF_WORKLOAD_OPT_)                                                                             \
	BF_PES_OPTIONS(BF_WORKLOAD_OPT_, pes, "2", "0", "nvshmem", "0") BF_PES_OPT_TEXTS

static const struct bf_opt run_options[] = { BF_PES_OPT_RUN, OPTIONS, { .name = NULL } };
static const struct bf_opt explore_options[] = { BF_EXPLORE_OPTIONS, OPTIONS, { .name = NULL } };

extern const struct bf_command bf_cmd_run_shmem, bf_cmd_explore_shmem;

const struct bf_command bf_cmd_run_shmem = {
	.name = "run",
	.prefix = "shmem-",
	.usage = "run shmem-WORKLOAD [options]",
	.summary = "check what NVSHMEM's one-sided calls promise, or measure them",
	.details =
	    "Checks: shmem-put, -get, -put-signal, -amo, -fence, -quiet, -barrier, -alltoall, -broadcast, -ring.\n"
	    "Measurements, which print the tables of NVSHMEM's perftest: shmem-put-bw, -get-bw, -put-latency,\n"
	    "-get-latency, -p-latency, -g-latency, -amo-latency, -put-signal-ping-pong-latency (belfry run shmem- "
	    "--list\n"
	    "says more). Each warp uses the queue pairs to a PE in turn, as NVSHMEM does: only fence, quiet, signals "
	    "and\n"
	    "barriers order one put behind another.\n"
	    "\n"
	    "Exit code 0: all as it must be. 1: wrong data, an error completion, a deadlock or the time limit.\n"
	    "2: bad options. 77: the backend is not available here.\n"
	    "\n"
	    "Examples:\n"
	    "  belfry run shmem-ring --pes 8 --warps 2 --size 4096\n"
	    "  belfry run shmem-fence --bug shmem-no-fence --size 65536\n"
	    "  belfry run shmem-put-bw --max-size 4M --blocks 4 --warps 4 --records none --ordering sc",
	.options = run_options,
	.min_args = 0,
	.max_args = 1,
	.run = run_run,
};

const struct bf_command bf_cmd_explore_shmem = {
	.name = "explore",
	.prefix = "shmem-",
	.usage = "explore shmem-WORKLOAD [--seeds N] [options]",
	.summary = "look for a seed and an ordering under which NVSHMEM-style calls fail",
	.details =
	    "As belfry explore; a failing run is made smaller by rounds, blocks, warps, PEs, queue pairs and size.\n"
	    "\n"
	    "Exit code 0: no run failed. 1: one did. 2: bad options. 77: the backend is not available here.\n"
	    "\n"
	    "Examples:\n"
	    "  belfry explore shmem-fence --bug shmem-no-fence --size 65536 --seeds 20\n"
	    "  belfry explore shmem-ring --pes 4 --bug no-dbrec-fence",
	.options = explore_options,
	.min_args = 0,
	.max_args = 1,
	.run = run_explore,
};
