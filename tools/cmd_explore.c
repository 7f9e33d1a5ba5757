/*
 * belfry explore: the same workload under many seeds and orderings; the first failure, made small and explained.
 */
#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "tools/cause.h"
#include "tools/explore.h"
#include "traces/trace.h"

/* Seeds that a smaller run is tried under: fewer than in the search, or shrinking would take longer than finding. */
#define SHRINK_SEEDS 32

static int parse_orders(const char *text, struct bf_search *s, struct bf_error *err)
{
	bool wanted[BF_ORDER_ADVERSARIAL + 1] = { false };

	for (size_t len;; text += len + 1) {
		char name[16];
		enum bf_ordering o;

		len = strcspn(text, ",");
		snprintf(name, sizeof(name), "%.*s", (int)(len < sizeof(name) ? len : sizeof(name) - 1), text);
		if (bf_ordering_parse(name, &o) != 0)
			return bf_fail(err, -EINVAL,
				       "ordering \"%s\" is not known; there are sc, tso, gpu and adversarial", name);
		wanted[o] = true;
		if (!text[len])
			break;
	}
	s->norders = 0;
	for (enum bf_ordering o = BF_ORDER_SC; o <= BF_ORDER_ADVERSARIAL; o++)
		if (wanted[o])
			s->orders[s->norders++] = o;
	return 0;
}

static uint32_t default_jobs(void)
{
	const long n = sysconf(_SC_NPROCESSORS_ONLN);

	return n < 1 ? 1 : n > 64 ? 64 : (uint32_t)n;
}

/* What explore has to say. */
struct outcome {
	struct bf_workload first, small; /* as found, as shrunk */
	struct bf_run_result result;     /* of `small` */
	struct bf_cause cause;
	enum bf_verdict verdict;
	uint64_t runs, shrink_runs;
};

/* Writes the trace of the shrunk run. */
static int write_trace(const struct bf_args *args, const struct outcome *o, struct bf_error *err)
{
	struct bf_workload w = o->small;
	struct bf_trace_writer *trace;
	struct bf_run_result r;
	char window[64];
	int rc = bf_workload_trace(args, &w, &trace, err);

	if (rc || !trace)
		return rc;
	w.records = BF_CLASS_ALL;
	rc = bf_workload_run(&w, bf_trace_sink(trace), &r, err);
	bf_trace_meta(trace, "verdict", bf_verdict_name(o->verdict));
	if (o->cause.text[0]) {
		snprintf(window, sizeof(window), "%" PRIu64 "..%" PRIu64 " ps", o->cause.begin_ps, o->cause.end_ps);
		bf_trace_meta(trace, "window", window);
		bf_trace_meta(trace, "cause", o->cause.text);
	}
	return rc ? (bf_trace_close(trace), rc) : bf_trace_close(trace);
}

static void print_text(const struct bf_args *args, const struct outcome *o)
{
	char command[2048];

	printf("%s at seed %" PRIu64 ", ordering %s, after %" PRIu64 " runs\n", bf_verdict_name(o->verdict),
	       o->first.seed, bf_ordering_name(o->first.ordering), o->runs);
	bf_workload_command(&o->small, command, sizeof(command));
	printf("smallest run that fails the same way (%" PRIu64 " more runs):\n  %s\n", o->shrink_runs, command);
	bf_run_print_failure(stdout, &o->result);
	if (o->cause.text[0]) {
		printf("cause: %s\n", o->cause.text);
		printf("records of it: %" PRIu64 " between %" PRIu64 " ps and %" PRIu64 " ps\n", o->cause.records,
		       o->cause.begin_ps, o->cause.end_ps);
	}
	if (bf_arg_given(args, "trace"))
		printf("trace of that run: %s\n", bf_arg_text(args, "trace"));
}

static void print_json(const struct outcome *o)
{
	char command[2048];
	struct bf_json j;

	bf_workload_command(&o->small, command, sizeof(command));
	bf_json_begin(&j, stdout);
	bf_json_open(&j, NULL, '{');
	bf_json_bool(&j, "found", true);
	bf_json_u64(&j, "runs", o->runs);
	bf_json_text(&j, "verdict", bf_verdict_name(o->verdict));
	bf_json_u64(&j, "seed", o->first.seed);
	bf_json_text(&j, "ordering", bf_ordering_name(o->first.ordering));
	bf_json_open(&j, "smallest", '{');
	bf_json_text(&j, "command", command);
	bf_json_u64(&j, "runs", o->shrink_runs);
	bf_json_u64(&j, "seed", o->small.seed);
	bf_json_text(&j, "ordering", bf_ordering_name(o->small.ordering));
	bf_json_u64(&j, "messages", o->small.messages);
	bf_run_json_failure(&j, &o->result);
	if (o->cause.text[0])
		bf_cause_json(&j, &o->cause);
	bf_json_close(&j, '}');
	bf_json_close(&j, '}');
	bf_json_end(&j);
}

static void print_none(const struct bf_args *args, const struct bf_workload *w, uint64_t runs)
{
	struct bf_json j;

	if (!bf_arg_json(args)) {
		printf("no failure in %" PRIu64 " runs of %s\n", runs, bf_workload_name(w->work));
		return;
	}
	bf_json_begin(&j, stdout);
	bf_json_open(&j, NULL, '{');
	bf_json_bool(&j, "found", false);
	bf_json_u64(&j, "runs", runs);
	bf_json_close(&j, '}');
	bf_json_end(&j);
}

static int shrink_and_report(const struct bf_args *args, struct bf_search *s, struct outcome *o, uint64_t first_seed)
{
	struct bf_error err = { 0 };

	s->seeds = s->seeds < SHRINK_SEEDS ? s->seeds : SHRINK_SEEDS;
	s->progress = NULL;
	o->small = o->first;
	o->verdict = o->result.verdict;
	if (bf_search_shrink(s, first_seed, &o->small, &o->result, &o->shrink_runs, &err) != 0)
		return bf_cli_error(args, BF_EXIT_USAGE, "%s", err.text);
	bf_cause_of(&o->small, &o->cause);
	if (write_trace(args, o, &err) != 0)
		return bf_cli_error(args, BF_EXIT_USAGE, "%s", err.text);
	if (bf_arg_json(args))
		print_json(o);
	else
		print_text(args, o);
	return BF_EXIT_FAILED;
}

static int explore(const struct bf_args *args, const struct bf_workload *w)
{
	struct bf_progress progress;
	struct bf_search s = { .seeds = bf_arg_u64(args, "seeds"), .progress = &progress };
	struct outcome o = { .runs = 0 };
	struct bf_error err = { 0 };
	int rc;

	if (w->backend->platform != BF_PLATFORM_SIM)
		return bf_cli_error(args, BF_EXIT_USAGE, "backend %s does not repeat itself: only sim can be explored",
				    w->backend->name);
	s.jobs = bf_arg_given(args, "jobs") ? (uint32_t)bf_arg_u64(args, "jobs") : default_jobs();
	if (parse_orders(bf_arg_text(args, "orderings"), &s, &err) != 0)
		return bf_cli_error(args, BF_EXIT_USAGE, "%s", err.text);
	bf_progress_begin(&progress, args, "exploring");
	rc = bf_search_run(&s, w, &o.first, &o.result, &o.runs, &err);
	bf_progress_end(&progress);
	if (rc < 0)
		return bf_cli_error(args, BF_EXIT_USAGE, "%s", err.text);
	if (rc == 0) {
		print_none(args, w, o.runs);
		return BF_EXIT_GOOD;
	}
	return shrink_and_report(args, &s, &o, w->seed);
}

static int run_explore(const struct bf_args *args)
{
	struct bf_workload w;
	int code;

	if (bf_arg_flag(args, "list"))
		return bf_workload_list(args);
	code = bf_workload_parse(args, &w);
	if (code != BF_EXIT_GOOD)
		return code;
	code = explore(args, &w);
	bf_workload_free(&w);
	return code;
}

static const struct bf_opt options[] = {
	{ .name = "seeds",
	  .kind = BF_OPT_U64,
	  .arg = "N",
	  .initial = "200",
	  .help = "how many seeds, from --seed on",
	  .min = 1,
	  .max = 1u << 30 },
	{ .name = "orderings",
	  .kind = BF_OPT_TEXT,
	  .arg = "O[,O]",
	  .initial = "sc,tso,gpu,adversarial",
	  .help = "orderings to run each seed under" },
	{ .name = "jobs",
	  .kind = BF_OPT_U64,
	  .arg = "N",
	  .help = "runs at a time; default: one for each processor",
	  .min = 1,
	  .max = 256 },
	BF_WORKLOAD_OPT_TABLE("2", "2", "first"),
	{ .name = NULL },
};

const struct bf_command bf_cmd_explore = {
	.name = "explore",
	.usage = "explore WORKLOAD [--seeds N] [options]",
	.summary = "look for a seed and an ordering under which a workload fails",
	.details =
	    "Runs the workload under every seed and ordering until a run fails. Then makes that run as small as it\n"
	    "stays failing the same way (ordering, messages, warps, PEs, queue pairs, payload, seed), says from the\n"
	    "records what went wrong, prints the command that repeats it and, with --trace, writes its trace.\n"
	    "\n"
	    "Unless told otherwise several blocks and warps share one queue pair: some mistakes show only between\n"
	    "threads that see different caches.\n"
	    "\n"
	    "The outcome does not depend on --jobs.\n"
	    "\n"
	    "Exit code 0: no run failed. 1: one did. 2: bad options. 77: the backend is not available here.\n"
	    "\n"
	    "Examples:\n"
	    "  belfry explore ibgda-mixed --seeds 1000 --pes 4 --warps 4\n"
	    "  belfry explore ibgda-put --bug no-wqe-fence --blocks 2 --qp-choice first --trace late.bft",
	.options = options,
	.min_args = 0,
	.max_args = 1,
	.run = run_explore,
};
