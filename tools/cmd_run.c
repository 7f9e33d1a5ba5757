/*
 * belfry run: one workload, once, checked to the last byte.
 */
#include <inttypes.h>
#include <string.h>

#include "tools/cause.h"
#include "tools/workload.h"
#include "traces/trace.h"

/* Operations a second at `ns` for `n` of them. */
static uint64_t rate(uint64_t n, uint64_t ns)
{
	return ns ? (uint64_t)((bf_u128)n * 1000000000u / ns) : 0;
}

static void print_time(const char *what, uint64_t ps)
{
	printf("%s %llu.%03llu us", what, ps / BF_US, ps % BF_US / BF_NS);
}

static void print_checked(const struct bf_workload *w, const struct bf_run_result *r)
{
	const char *values = w->work == BF_IBGDA_MIXED ? "counters and signals"
			     : w->fetch                ? "counters and old values"
						       : "counters";

	printf(": %" PRIu64 " messages", r->messages);
	if (r->verified_bytes)
		printf(", %" PRIu64 " bytes", r->verified_bytes);
	if (r->verified_values)
		printf(", %" PRIu64 " %s", r->verified_values, values);
	printf(", all as they must be");
}

static void print_result(const struct bf_workload *w, const struct bf_run_result *r, const struct bf_cause *cause,
			 bool stats)
{
	char command[2048];

	bf_workload_command(w, command, sizeof(command));
	printf("%s\n%s", command, bf_verdict_name(r->verdict));
	if (r->verdict == BF_VERDICT_GOOD)
		print_checked(w, r);
	print_time(w->backend->platform == BF_PLATFORM_SIM ? "\nsimulated time            "
							   : "\nelapsed time              ",
		   r->world.time_ps);
	if (r->messages)
		printf(", %" PRIu64 " messages/s", rate(r->messages, r->world.time_ps / BF_NS));
	printf(", %" PRIu64 " events\n", r->world.events);
	if (w->records)
		printf("records                    %" PRIu64 ", hash %016" PRIx64 "\n", r->world.records,
		       r->world.hash);
	printf("wall clock                 %" PRIu64 ".%03" PRIu64 " ms", r->wall_ns / 1000000,
	       r->wall_ns / 1000 % 1000);
	if (r->messages)
		printf(", %" PRIu64 " messages/s", rate(r->messages, r->wall_ns));
	putchar('\n');
	bf_run_print_failure(stdout, r);
	if (cause->text[0])
		printf("cause: %s\n", cause->text);
	if (r->counts)
		bf_counts_print_faults(stdout, r->counts);
	if (r->counts && stats)
		bf_counts_print_stats(stdout, r->counts);
}

/* Wall-clock figures have a key of their own: everything else is the same in every run. */
static void json_result(const struct bf_workload *w, const struct bf_run_result *r, const struct bf_cause *cause,
			bool stats)
{
	char text[2048];
	struct bf_json j;

	bf_json_begin(&j, stdout);
	bf_json_open(&j, NULL, '{');
	bf_json_text(&j, "workload", bf_workload_name(w->work));
	bf_json_text(&j, "backend", w->backend->name);
	if (w->backend->platform == BF_PLATFORM_SIM)
		bf_json_text(&j, "ordering", bf_ordering_name(w->ordering));
	bf_workload_command(w, text, sizeof(text));
	bf_json_text(&j, "command", text);
	bf_json_open(&j, "options", '{');
	bf_workload_json(&j, w);
	bf_json_close(&j, '}');
	bf_json_text(&j, "verdict", bf_verdict_name(r->verdict));
	bf_json_u64(&j, "messages", r->messages);
	bf_json_u64(&j, "verified_bytes", r->verified_bytes);
	bf_json_u64(&j, "verified_values", r->verified_values);
	bf_json_u64(&j, "time_ps", r->world.time_ps);
	bf_json_u64(&j, "messages_per_second", rate(r->messages, r->world.time_ps / BF_NS));
	bf_json_u64(&j, "events", r->world.events);
	bf_json_u64(&j, "records", r->world.records);
	if (w->records)
		bf_json_hex(&j, "hash", r->world.hash);
	bf_run_json_failure(&j, r);
	if (cause->text[0])
		bf_cause_json(&j, cause);
	if (r->counts)
		bf_counts_json_faults(&j, r->counts);
	if (r->counts && stats)
		bf_counts_json_stats(&j, r->counts);
	bf_json_open(&j, "wall", '{');
	bf_json_u64(&j, "ns", r->wall_ns);
	bf_json_u64(&j, "messages_per_second", rate(r->messages, r->wall_ns));
	bf_json_close(&j, '}');
	bf_json_close(&j, '}');
	bf_json_end(&j);
}

/* Runs, finishes the trace, and asks a second run for the cause of a failure. */
static int run_and_report(const struct bf_args *args, const struct bf_workload *w, struct bf_trace_writer *trace,
			  const struct bf_error *trace_err)
{
	struct bf_cause cause = { 0 };
	struct bf_error err = { 0 };
	struct bf_run_result r;
	int rc = bf_workload_run(w, trace ? bf_trace_sink(trace) : NULL, &r, &err);
	int trace_rc = 0;

	if (trace) {
		bf_trace_meta(trace, "verdict", rc ? "not run" : bf_verdict_name(r.verdict));
		trace_rc = bf_trace_close(trace);
	}
	if (rc)
		return bf_cli_error(args, BF_EXIT_USAGE, "%s", err.text);
	if (r.verdict != BF_VERDICT_GOOD)
		bf_cause_of(w, &cause);
	if (!bf_arg_json(args))
		print_result(w, &r, &cause, bf_arg_flag(args, "stats"));
	else if (!trace_rc) /* one document, which tells the error otherwise */
		json_result(w, &r, &cause, bf_arg_flag(args, "stats"));
	bf_counts_free(r.counts);
	if (trace_rc)
		return bf_cli_error(args, BF_EXIT_USAGE, "%s", trace_err->text);
	return r.verdict == BF_VERDICT_GOOD ? BF_EXIT_GOOD : BF_EXIT_FAILED;
}

static int run_run(const struct bf_args *args)
{
	struct bf_trace_writer *trace;
	struct bf_error err = { 0 };
	struct bf_workload w;
	int code;

	if (bf_arg_flag(args, "list"))
		return bf_workload_list(args);
	code = bf_workload_parse(args, &w);
	if (code != BF_EXIT_GOOD)
		return code;
	w.ordering = (enum bf_ordering)bf_arg_u64(args, "ordering");
	w.counts = bf_arg_flag(args, "stats") || w.faults;
	if (w.backend->platform != BF_PLATFORM_SIM && bf_arg_given(args, "ordering"))
		code = bf_cli_error(args, BF_EXIT_USAGE, "--ordering: backend %s has that of the machine it runs on",
				    w.backend->name);
	else if (bf_records_parse(bf_arg_text(args, "records"), &w.records, &err) != 0 ||
		 bf_workload_trace(args, &w, &trace, &err) != 0)
		code = bf_cli_error(args, BF_EXIT_USAGE, "%s", err.text);
	else
		code = run_and_report(args, &w, trace, &err);
	bf_workload_free(&w);
	return code;
}

static const struct bf_opt options[] = {
	{ .name = "ordering",
	  .kind = BF_OPT_ENUM,
	  .arg = "sc|tso|gpu|adversarial",
	  .initial = "gpu",
	  .help = "how late stores become visible" },
	{ .name = "records",
	  .kind = BF_OPT_TEXT,
	  .arg = "CLASS[,CLASS]",
	  .initial = "all",
	  .help = "what to record: meta, agent, mem, mmio, dma, queue, net, fault, driver, all, none" },
	{ .name = "stats",
	  .kind = BF_OPT_FLAG,
	  .help = "print what the devices counted, and how long they took from doorbell to completion" },
	BF_WORKLOAD_OPT_TABLE("1", "1", "warp"),
	{ .name = NULL },
};

extern const struct bf_command bf_cmd_run_nvme, bf_cmd_run_nvme_gpu, bf_cmd_run_sdma;
extern const struct bf_command bf_cmd_run_mbarrier;

/* Workloads of other devices, with options of their own. */
static const struct bf_command *const families[] = { &bf_cmd_run_nvme_gpu, &bf_cmd_run_nvme, &bf_cmd_run_sdma,
							  &bf_cmd_run_mbarrier, NULL };

const struct bf_command bf_cmd_run = {
	.name = "run",
	.usage = "run WORKLOAD [options]",
	.summary = "run a workload and check every byte that it moved",
	.details =
	    "Workloads: ibgda-put, ibgda-get, ibgda-amo, ibgda-mixed (belfry run --list says more). Of an NVMe\n"
	    "controller: nvme-read, nvme-write, nvme-verify, nvme-mixed, nvme-admin, nvme-file, which have options of\n"
	    "their own (belfry run nvme-read --help); of a copy engine: sdma-rect, sdma-copy and others, likewise\n"
	    "(belfry run sdma-rect --help); of a Hopper GPU's barriers: mbarrier-pipeline and others (belfry run\n"
	    "mbarrier-pipeline --help).\n"
	    "\n"
	    "The same options and seed give the same run, record for record: the hash says so. A run that fails is\n"
	    "run once more with all records, and the cause is named from them. With --faults, each rule of the plan\n"
	    "says how often it fired.\n"
	    "\n"
	    "Exit code 0: all data as it must be. 1: wrong data, an error completion, a deadlock or the time limit.\n"
	    "2: bad options. 77: the backend is not available here.\n"
	    "\n"
	    "Examples:\n"
	    "  belfry run ibgda-put --pes 4 --warps 8 --messages 100 --size 4096\n"
	    "  belfry run ibgda-put --bug dbrec-index\n"
	    "  belfry run ibgda-mixed --faults 'drop prob=0.01' --trace mixed.bft\n"
	    "  belfry run ibgda-put --ordering sc --records none --profile cx7,icrc=0 --messages 10000",
	.words = "ibgda-put|ibgda-get|ibgda-amo|ibgda-mixed",
	.families = families,
	.options = options,
	.min_args = 0,
	.max_args = 1,
	.run = run_run,
};
