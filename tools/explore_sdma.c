/* belfry explore sdma-...: what a search needs to know of SDMA workloads. */
#include <stdlib.h>

#include "tools/explore.h"
#include "tools/sdma_plan.h"
#include "tools/workload_sdma.h"

/* Whatever does not fit shows when the run is planned: then it cannot start, and the smaller run is not taken. */
static int check(const void *w, struct bf_error *err)
{
	struct bf_sdma_workload copy = *(const struct bf_sdma_workload *)w;

	return bf_sdma_work_defaults(&copy, err);
}

static int run(const void *w, struct bf_sink *sink, void *result, struct bf_error *err)
{
	return bf_sdma_workload_run(w, sink, result, err);
}

static uint32_t verdict(const void *result)
{
	return ((const struct bf_sdma_result *)result)->verdict;
}

static const char *verdict_name(uint32_t v)
{
	return bf_sdma_verdict_name((enum bf_sdma_verdict)v);
}

static const char *name(const void *w)
{
	return bf_sdma_work_name(((const struct bf_sdma_workload *)w)->work);
}

static void command(const void *w, char *buf, size_t cap)
{
	bf_sdma_workload_command(w, buf, cap);
}

static void print_failure(FILE *out, const void *result)
{
	struct bf_sdma_result r = *(const struct bf_sdma_result *)result;

	r.cause.text[0] = '\0'; /* said later, by cause() */
	bf_sdma_print_failure(out, &r);
}

static void json_failure(struct bf_json *j, const void *result)
{
	struct bf_sdma_result r = *(const struct bf_sdma_result *)result;

	r.cause.text[0] = '\0';
	bf_sdma_json_failure(j, &r);
}

/* The records know more than how queues stand in the end. */
static void cause(const void *w, const void *result, struct bf_cause *out)
{
	bf_sdma_cause_of(w, out);
	if (!out->text[0])
		*out = ((const struct bf_sdma_result *)result)->cause;
}

#define PART(member, least)                                                                                            \
	{                                                                                                              \
		BF_MEMBER(struct bf_sdma_workload, member), least                                                      \
	}

static const struct bf_search_part parts[] = {
	PART(commands, 1), PART(producers, 1), PART(queues, 1), PART(pes, 1), PART(hops, 1), PART(size, 8),
};

static const struct bf_explore_family family = {
	.search.choice_bytes = sizeof(struct bf_sdma_workload),
	.search.result_bytes = sizeof(struct bf_sdma_result),
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
	struct bf_sdma_workload w;
	int code;

	if (bf_arg_flag(args, "list"))
		return bf_sdma_workload_list(args);
	code = bf_sdma_workload_parse(args, &w);
	if (code == BF_EXIT_GOOD && bf_arg_given(args, "ordering"))
		code = bf_cli_error(args, BF_EXIT_USAGE, "--ordering: --orderings says which ones are tried");
	if (code == BF_EXIT_GOOD)
		code = bf_explore(args, &family, &w, w.backend);
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
	    "stays failing the same way (ordering, submissions, producers, queues, size, seed), says from the records what\n"
	    "went wrong, prints the command that repeats it and, with --trace, writes its trace.\n"
	    "\n"
	    "The outcome does not depend on --jobs.\n"
	    "\n"
	    "Exit code 0: no run failed. 1: one did. 2: bad options. 77: the backend is not available here.\n"
	    "\n"
	    "Examples:\n"
	    "  belfry explore sdma-copy --bug no-copy-order --hops 3 --producers 4\n"
	    "  belfry explore sdma-concurrent --producers 8 --queues 1 --seeds 1000",
	.words = "sdma-rect|sdma-tiles|sdma-copy|sdma-fill|sdma-write|sdma-fence|sdma-queues|sdma-concurrent|sdma-wrap|sdma-pause|sdma-doorbell|sdma-broadcast|sdma-reset|sdma-memcpy3d",
	.options = options,
	.min_args = 0,
	.max_args = 1,
	.run = run_explore,
};
