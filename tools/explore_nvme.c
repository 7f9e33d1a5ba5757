/* belfry explore nvme-...: what a search needs to know of NVMe workloads. */
#include "tools/explore.h"
#include "tools/workload_nvme.h"

static int check(const void *w, struct bf_error *err)
{
	return bf_nvme_workload_check(w, err);
}

static int run(const void *w, struct bf_sink *sink, void *result, struct bf_error *err)
{
	return bf_nvme_workload_run(w, sink, result, err);
}

static uint32_t verdict(const void *result)
{
	return ((const struct bf_nvme_run_result *)result)->verdict;
}

static const char *verdict_name(uint32_t v)
{
	return bf_nvme_outcome_name((enum bf_nvme_outcome)v);
}

static const char *name(const void *w)
{
	return bf_nvme_workload_name(((const struct bf_nvme_workload *)w)->work);
}

static void command(const void *w, char *buf, size_t cap)
{
	bf_nvme_workload_command(w, buf, cap);
}

static void print_failure(FILE *out, const void *result)
{
	bf_nvme_run_print_failure(out, result);
}

static void json_failure(struct bf_json *j, const void *result)
{
	bf_nvme_run_json_failure(j, result);
}

static void cause(const void *w, const void *result, struct bf_cause *out)
{
	(void)result;
	bf_nvme_cause_of(w, out);
}

#define PART(member, least)                                                                                            \
	{                                                                                                              \
		BF_MEMBER(struct bf_nvme_workload, member), least                                                      \
	}

/* Batch before depth, which it may not exceed. */
static const struct bf_search_part parts[] = {
	PART(commands, 1), PART(threads, 1), PART(share, 1), PART(warps, 1), PART(lanes, 1),
	PART(batch, 1),    PART(depth, 1),   PART(size, 512),
};

static const struct bf_explore_family family = {
	.search.choice_bytes = sizeof(struct bf_nvme_workload),
	.search.result_bytes = sizeof(struct bf_nvme_run_result),
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
		code = bf_explore(args, &family, &w, w.backend);
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
