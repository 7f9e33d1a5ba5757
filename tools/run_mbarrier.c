/*
 * belfry run mbarrier-...: what a run prints.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "tools/workload.h"
#include "tools/lint_run.h"
#include "tools/workload_mbarrier.h"
#include "traces/trace.h"

/* ---- what a run prints ---- */

static uint64_t rate(uint64_t n, uint64_t ns)
{
	return ns ? (uint64_t)((bf_u128)n * 1000000000u / ns) : 0;
}

static void print_lines(FILE *out, const char *text)
{
	while (*text) {
		const size_t len = strcspn(text, "\n");

		fprintf(out, "  %.*s\n", (int)len, text);
		text += len + (text[len] == '\n');
	}
}

void bf_mbar_print_failure(FILE *out, const struct bf_mbar_result *r)
{
	if (r->verdict.wrong)
		fprintf(out, "wrong: %" PRIu64 " place%s, the first: %s\n", r->verdict.wrong,
			r->verdict.wrong == 1 ? "" : "s", r->verdict.text);
	if (r->world.report[0]) {
		fprintf(out, "at the end:\n");
		print_lines(out, r->world.report);
	}
}

static void print_result(const struct bf_mbar_workload *w, const struct bf_mbar_result *r,
			 const struct bf_lint_run *lint, const struct bf_cause *cause, bool stats)
{
	const uint64_t cycles = r->world.time_ps / w->profile.cycle_ps;
	char command[2048];

	bf_mbar_workload_command(w, command, sizeof(command));
	printf("%s\n%s", command, bf_mbar_end_name(r->end));
	if (r->end == BF_MBAR_GOOD)
		printf(": %" PRIu64 " bytes, %" PRIu64 " barrier words and %" PRIu64
		       " tokens compared, all as they must be",
		       r->verdict.bytes, r->verdict.words, r->verdict.tokens);
	printf("\nsimulated time          %" PRIu64 ".%03" PRIu64 " us, %" PRIu64 " cycles, %" PRIu64 " events\n",
	       (uint64_t)(r->world.time_ps / BF_US), (uint64_t)(r->world.time_ps % BF_US / BF_NS), cycles,
	       r->world.events);
	printf("barriers                %" PRIu64 " operations, %" PRIu64 " phases, %" PRIu64 " waits parked; %" PRIu64
	       " bytes in bulk\n",
	       r->world.barrier_ops, r->world.phases, r->world.parked, r->world.bulk_bytes);
	if (r->end == BF_MBAR_GOOD || r->end == BF_MBAR_WRONG_DATA)
		printf("words and tokens        hash %016" PRIx64 "\n", r->notes_hash);
	if (w->records)
		printf("records                 %" PRIu64 ", hash %016" PRIx64 "\n", r->world.records, r->world.hash);
	printf("wall clock              %" PRIu64 ".%03" PRIu64 " ms, %" PRIu64 " barrier operations/s\n",
	       r->wall_ns / 1000000, r->wall_ns / 1000 % 1000, rate(r->world.barrier_ops, r->wall_ns));
	if (r->end != BF_MBAR_GOOD) {
		bf_mbar_print_failure(stdout, r);
		bf_cause_print(stdout, cause);
	}
	bf_lint_run_print(stdout, lint);
	if (r->counts && stats)
		bf_counts_print_stats(stdout, r->counts);
}

void bf_mbar_json_failure(struct bf_json *j, const struct bf_mbar_result *r)
{
	if (r->verdict.wrong) {
		bf_json_open(j, "wrong", '{');
		bf_json_u64(j, "places", r->verdict.wrong);
		bf_json_text(j, "first", r->verdict.text);
		bf_json_close(j, '}');
	}
	if (r->world.report[0])
		bf_json_text(j, "report", r->world.report);
}

/* Wall-clock figures have a key of their own: everything else is the same in every run. */
static void json_result(const struct bf_mbar_workload *w, const struct bf_mbar_result *r,
			const struct bf_lint_run *lint, const struct bf_cause *cause, bool stats)
{
	char command[2048];
	struct bf_json j;

	bf_mbar_workload_command(w, command, sizeof(command));
	bf_json_begin(&j, stdout);
	bf_json_open(&j, NULL, '{');
	bf_json_text(&j, "workload", bf_mbar_work_name((enum bf_mbar_work)w->job.work));
	bf_json_text(&j, "command", command);
	bf_json_open(&j, "options", '{');
	bf_mbar_workload_json(&j, w);
	bf_json_close(&j, '}');
	bf_json_text(&j, "verdict", bf_mbar_end_name(r->end));
	bf_json_u64(&j, "verified_bytes", r->verdict.bytes);
	bf_json_u64(&j, "verified_words", r->verdict.words);
	bf_json_u64(&j, "verified_tokens", r->verdict.tokens);
	bf_json_u64(&j, "time_ps", r->world.time_ps);
	bf_json_u64(&j, "cycles", r->world.time_ps / w->profile.cycle_ps);
	bf_json_u64(&j, "events", r->world.events);
	bf_json_u64(&j, "barrier_operations", r->world.barrier_ops);
	bf_json_u64(&j, "phases", r->world.phases);
	bf_json_u64(&j, "parked", r->world.parked);
	bf_json_u64(&j, "bulk_bytes", r->world.bulk_bytes);
	bf_json_hex(&j, "notes_hash", r->notes_hash);
	bf_json_u64(&j, "records", r->world.records);
	if (w->records)
		bf_json_hex(&j, "hash", r->world.hash);
	if (r->end != BF_MBAR_GOOD)
		bf_mbar_json_failure(&j, r);
	if (cause->text[0])
		bf_cause_json(&j, cause);
	bf_lint_run_json(&j, lint);
	if (r->counts && stats)
		bf_counts_json_stats(&j, r->counts);
	bf_json_open(&j, "wall", '{');
	bf_json_u64(&j, "ns", r->wall_ns);
	bf_json_u64(&j, "barrier_operations_per_second", rate(r->world.barrier_ops, r->wall_ns));
	bf_json_close(&j, '}');
	bf_json_close(&j, '}');
	bf_json_end(&j);
}

/* ---- the command ---- */

static int run_and_report(const struct bf_args *args, const struct bf_mbar_workload *w, struct bf_trace_writer *trace,
			  struct bf_lint_run *lint, struct bf_error *err)
{
	struct bf_cause cause = { 0 };
	struct bf_mbar_result r;
	struct bf_sink *sink = bf_lint_run_sink(lint, trace ? bf_trace_sink(trace) : NULL);
	int rc = bf_mbar_workload_run(w, sink, NULL, &r, err), trace_rc = 0;

	if (trace) {
		bf_trace_meta(trace, "verdict", rc ? "not run" : bf_mbar_end_name(r.end));
		trace_rc = bf_trace_close(trace);
	}
	if (rc)
		return bf_cli_error(args, BF_EXIT_USAGE, "%s", err->text);
	bf_lint_run_end(lint, r.end == BF_MBAR_GOOD, &cause, bf_mbar_again, w);
	if (r.end != BF_MBAR_GOOD && !lint->rules)
		bf_mbar_cause_of(w, &cause);
	if (!bf_arg_json(args))
		print_result(w, &r, lint, &cause, bf_arg_flag(args, "stats"));
	else if (!trace_rc)
		json_result(w, &r, lint, &cause, bf_arg_flag(args, "stats"));
	bf_counts_free(r.counts);
	if (trace_rc)
		return bf_cli_error(args, BF_EXIT_USAGE, "%s", err->text);
	return r.end == BF_MBAR_GOOD ? bf_lint_run_code(lint) : BF_EXIT_FAILED;
}

static int run_mbarrier(const struct bf_args *args)
{
	struct bf_trace_writer *trace = NULL;
	struct bf_lint_run lint;
	struct bf_error err = { 0 };
	struct bf_mbar_workload w;
	char command[2048];
	int code;

	if (bf_arg_flag(args, "list"))
		return bf_mbar_workload_list(args);
	code = bf_mbar_workload_parse(args, &w);
	if (code != BF_EXIT_GOOD)
		return code;
	w.ordering = (enum bf_ordering)bf_arg_u64(args, "ordering");
	w.counts = bf_arg_flag(args, "stats");
	if (bf_records_parse(bf_arg_text(args, "records"), &w.records, &err) != 0)
		return bf_cli_error(args, BF_EXIT_USAGE, "%s", err.text);
	bf_mbar_workload_command(&w, command, sizeof(command));
	if (bf_begin_trace(args, command, &trace, &err))
		return bf_cli_error(args, BF_EXIT_USAGE, "%s", err.text);
	code = bf_lint_run_begin(args, w.records, &lint);
	if (code == BF_EXIT_GOOD)
		code = run_and_report(args, &w, trace, &lint, &err);
	bf_lint_run_free(&lint);
	return code;
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
