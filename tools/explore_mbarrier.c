/* belfry explore mbarrier-...: what a search needs to know of barrier workloads. */
#include "tools/explore.h"
#include "tools/workload_mbarrier.h"

static int check(const void *w, struct bf_error *err)
{
	const struct bf_mbar_workload *m = w;

	return bf_mbar_check(&m->job, m->cluster, m->blocks, err);
}

static int run(const void *w, struct bf_sink *sink, void *result, struct bf_error *err)
{
	struct bf_mbar_workload m = *(const struct bf_mbar_workload *)w;

	m.job.seed = (uint32_t)m.seed;
	return bf_mbar_workload_run(&m, sink, NULL, result, err);
}

static uint32_t verdict(const void *result)
{
	return ((const struct bf_mbar_result *)result)->end;
}

static const char *verdict_name(uint32_t v)
{
	return bf_mbar_end_name((enum bf_mbar_end)v);
}

static const char *name(const void *w)
{
	return bf_mbar_work_name((enum bf_mbar_work)((const struct bf_mbar_workload *)w)->job.work);
}

static void command(const void *w, char *buf, size_t cap)
{
	bf_mbar_workload_command(w, buf, cap);
}

static void print_failure(FILE *out, const void *result)
{
	bf_mbar_print_failure(out, result);
}

static void json_failure(struct bf_json *j, const void *result)
{
	bf_mbar_json_failure(j, result);
}

static void cause(const void *w, const void *result, struct bf_cause *out)
{
	struct bf_mbar_workload m = *(const struct bf_mbar_workload *)w;

	(void)result;
	m.job.seed = (uint32_t)m.seed;
	bf_mbar_cause_of(&m, out);
}

#define PART(member, least)                                                                                            \
	{                                                                                                              \
		BF_MEMBER(struct bf_mbar_workload, member), least                                                      \
	}

/* What a workload does not have stays as it is: a change makes no difference. Blocks come in clusters. */
static const struct bf_search_part parts[] = {
	PART(job.iterations, 1), PART(blocks, 1),	 PART(cluster, 1),  PART(blocks, 1),	PART(job.consumers, 1),
	PART(job.producers, 1),	 PART(job.barriers, 1), PART(job.stages, 1), PART(job.bytes, 512),
};

static const struct bf_explore_family family = {
	.search.choice_bytes = sizeof(struct bf_mbar_workload),
	.search.result_bytes = sizeof(struct bf_mbar_result),
	.search.seed = PART(seed, 0),
	.search.ordering = PART(ordering, 0),
	.records = PART(records, 0),
	.search.parts = parts,
	.search.nparts = BF_ARRAY_LEN(parts),
	.search.check = check,
	.search.run = run,
	.search.verdict = verdict,
	.verdict_name = verdict_name,
	.name = name,
	.command = command,
	.print_failure = print_failure,
	.json_failure = json_failure,
	.cause = cause,
};

static int run_explore(const struct bf_args *args)
{
	struct bf_mbar_workload w;
	int code;

	if (bf_arg_flag(args, "list"))
		return bf_mbar_workload_list(args);
	code = bf_mbar_workload_parse(args, &w);
	return code == BF_EXIT_GOOD ? bf_explore(args, &family, &w, bf_backend_find("sim")) : code;
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
