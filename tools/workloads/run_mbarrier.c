/*
 * belfry run mbarrier-...: one barrier workload, once, checked to the last byte.
 */
#include <inttypes.h>

#include "tools/report/lint_run.h"
#include "tools/workloads/mbarrier.h"

static void print_failure(FILE *out, const void *result)
{
	const struct bf_mbar_result *r = result;

	if (r->base.verdict == BF_MBAR_GOOD)
		return;
	if (r->verdict.wrong)
		fprintf(out, "wrong: %" PRIu64 " place%s, the first: %s\n", r->verdict.wrong,
			r->verdict.wrong == 1 ? "" : "s", r->verdict.text);
	if (r->world.report[0]) {
		fprintf(out, "at the end:\n");
		bf_print_lines(out, r->world.report);
	}
}

static void print(const void *choices, const void *result, bool stats)
{
	const struct bf_mbar_workload *w = choices;
	const struct bf_mbar_result *r = result;
	const uint64_t cycles = r->world.time_ps / w->profile.cycle_ps;
	char command[2048];

	(void)stats;
	bf_mbar_workload_command(w, command, sizeof(command));
	printf("%s\n%s", command, bf_mbar_end_name(r->base.verdict));
	if (r->base.verdict == BF_MBAR_GOOD)
		printf(": %" PRIu64 " bytes, %" PRIu64 " barrier words and %" PRIu64
		       " tokens compared, all as they must be",
		       r->verdict.bytes, r->verdict.words, r->verdict.tokens);
	printf("\nsimulated time          %" PRIu64 ".%03" PRIu64 " us, %" PRIu64 " cycles, %" PRIu64 " events\n",
	       (uint64_t)(r->world.time_ps / BF_US), (uint64_t)(r->world.time_ps % BF_US / BF_NS), cycles,
	       r->world.events);
	printf("barriers                %" PRIu64 " operations, %" PRIu64 " phases, %" PRIu64 " waits parked; %" PRIu64
	       " bytes in bulk\n",
	       r->world.barrier_ops, r->world.phases, r->world.parked, r->world.bulk_bytes);
	if (r->base.verdict == BF_MBAR_GOOD || r->base.verdict == BF_MBAR_WRONG_DATA)
		printf("words and tokens        hash %016" PRIx64 "\n", r->notes_hash);
	if (w->records)
		printf("records                 %" PRIu64 ", hash %016" PRIx64 "\n", r->world.records, r->world.hash);
	printf("wall clock              %" PRIu64 ".%03" PRIu64 " ms, %" PRIu64 " barrier operations/s\n",
	       r->base.wall_ns / 1000000, r->base.wall_ns / 1000 % 1000,
	       bf_rate(r->world.barrier_ops, r->base.wall_ns));
}

static void json_failure(struct bf_json *j, const void *result)
{
	const struct bf_mbar_result *r = result;

	if (r->base.verdict == BF_MBAR_GOOD)
		return;
	if (r->verdict.wrong) {
		bf_json_open(j, "wrong", '{');
		bf_json_u64(j, "places", r->verdict.wrong);
		bf_json_text(j, "first", r->verdict.text);
		bf_json_close(j, '}');
	}
	if (r->world.report[0])
		bf_json_text(j, "report", r->world.report);
}

static const char *name(const void *choices)
{
	const struct bf_mbar_workload *w = choices;

	return bf_mbar_work_name((enum bf_mbar_work)w->job.work);
}

static void json(struct bf_json *j, const void *choices, const void *result)
{
	const struct bf_mbar_workload *w = choices;
	const struct bf_mbar_result *r = result;
	char command[2048];

	bf_mbar_workload_command(w, command, sizeof(command));
	bf_json_text(j, "command", command);
	bf_json_open(j, "options", '{');
	bf_mbar_workload_json(j, w);
	bf_json_close(j, '}');
	bf_json_text(j, "verdict", bf_mbar_end_name(r->base.verdict));
	bf_json_u64(j, "verified_bytes", r->verdict.bytes);
	bf_json_u64(j, "verified_words", r->verdict.words);
	bf_json_u64(j, "verified_tokens", r->verdict.tokens);
	bf_json_u64(j, "time_ps", r->world.time_ps);
	bf_json_u64(j, "cycles", r->world.time_ps / w->profile.cycle_ps);
	bf_json_u64(j, "events", r->world.events);
	bf_json_u64(j, "barrier_operations", r->world.barrier_ops);
	bf_json_u64(j, "phases", r->world.phases);
	bf_json_u64(j, "parked", r->world.parked);
	bf_json_u64(j, "bulk_bytes", r->world.bulk_bytes);
	bf_json_hex(j, "notes_hash", r->notes_hash);
	bf_json_u64(j, "records", r->world.records);
	if (w->records)
		bf_json_hex(j, "hash", r->world.hash);
}

#define PART(member, least)                                                                                            \
	{                                                                                                              \
		BF_MEMBER(struct bf_mbar_workload, member), least                                                      \
	}

/* What a workload does not have stays as it is: a change makes no difference. Blocks come in clusters. */
static const struct bf_search_part parts[] = {
	PART(job.iterations, 1), PART(blocks, 1),        PART(cluster, 1),
	PART(blocks, 1),         PART(job.consumers, 1), PART(job.producers, 1),
	PART(job.barriers, 1),   PART(job.stages, 1),    PART(job.bytes, 512),
};

static int check(const void *choices, struct bf_error *err)
{
	const struct bf_mbar_workload *w = choices;

	return bf_mbar_check(&w->job, w->cluster, w->blocks, err);
}

const struct bf_family bf_mbar_family = {
	BF_FAMILY_STRUCTS(struct bf_mbar_workload, struct bf_mbar_result),
	.search.parts = parts,
	.search.nparts = BF_ARRAY_LEN(parts),
	.search.check = check,
	.search.run = bf_mbar_workload_run,
	.verdict_name = bf_mbar_end_name,
	.name = name,
	.command = bf_mbar_workload_command,
	.print = print,
	.json = json,
	.print_failure = print_failure,
	.json_failure = json_failure,
	.done = { BF_MEMBER(struct bf_mbar_result, world.barrier_ops), 0 },
	.per_second = "barrier_operations_per_second",
};

/* ---- the command ---- */

static int run_mbarrier(const struct bf_args *args)
{
	struct bf_mbar_workload w;
	struct bf_run run = { .family = &bf_mbar_family, .w = &w, .backend = bf_backend_find("sim") };
	int code;

	if (bf_arg_flag(args, "list"))
		return bf_mbar_workload_list(args);
	code = bf_mbar_workload_parse(args, &w);
	if (code != BF_EXIT_GOOD)
		return code;
	w.counts = bf_arg_flag(args, "stats");
	code = bf_choose_recording(args, run.backend, &w.ordering, &w.records);
	return code == BF_EXIT_GOOD ? bf_run_once(args, &run) : code;
}

static const struct bf_opt options[] = {
	BF_MBAR_OPT_TEXT("ordering", ENUM, "sc|tso|gpu|adversarial", "gpu",
			 "how late stores become visible, how long warps stall"),
	BF_MBAR_OPT_TABLE,
	BF_MBAR_OPT_TEXT("records", TEXT, "CLASS[,CLASS]", "all",
			 "what to record: meta, agent, mem, mmio, dma, queue, net, fault, driver, all, none"),
	BF_LINT_RUN_OPTION,
	BF_MBAR_OPT_TEXT("stats", FLAG, NULL, NULL, "print what sync units and copy engines counted"),
	{ .name = NULL },
};

const struct bf_command bf_cmd_run_mbarrier = {
	.name = "run",
	.prefix = "mbarrier-",
	.usage = "run mbarrier-WORKLOAD [options]",
	.summary = "run a barrier workload and check every byte, barrier word and token",
	.details =
	    "Workloads: mbarrier-pipeline, -ring, -pingpong, -cluster, -ampere, -stress (belfry run mbarrier-ring "
	    "--list\n"
	    "says more). Warps of simulated thread blocks synchronise through Hopper's barriers; tiles travel by bulk\n"
	    "copies, plain stores or cp.async, and every byte is compared in the end.\n"
	    "\n"
	    "A run that hangs or faults says which barrier, which phase, what is missing and who should have come; "
	    "the\n"
	    "cause is named from the records of a second run.\n"
	    "\n"
	    "Exit code 0: all as it must be. 1: wrong data, a deadlock, a fault or the time limit. 2: bad options.\n"
	    "\n"
	    "Examples:\n"
	    "  belfry run mbarrier-pipeline --stages 8 --bytes 16K --iterations 64\n"
	    "  belfry run mbarrier-cluster --cluster 4 --bug trips\n"
	    "  belfry run mbarrier-ring --ordering adversarial --bug no-warp-sync\n"
	    "  belfry run mbarrier-stress --profile patent --stats",
	.words = "mbarrier-pipeline|mbarrier-ring|mbarrier-pingpong|mbarrier-cluster|mbarrier-ampere|mbarrier-stress",
	.options = options,
	.min_args = 1,
	.max_args = 1,
	.run = run_mbarrier,
};
