/* `belfry run` and `belfry explore` for families with kernels of their own: search, one run, and what they print. */
#include <inttypes.h>
#include <string.h>

#include "tools/lint_run.h"
#include "tools/workload_pes.h"
#include "traces/trace.h"

static void print_result(const struct bf_pes *p, const struct bf_pes_result *result,
			 const struct bf_lint_run *lint, const struct bf_cause *cause, bool stats)
{
	const struct bf_run_result *r = &result->run;
	char command[2048];

	bf_pes_command(p, command, sizeof(command));
	printf("%s\n%s", command, bf_verdict_name(r->verdict));
	if (r->verdict == BF_VERDICT_GOOD)
		printf(": %" PRIu64 " messages, %" PRIu64 " bytes, all as they must be", r->messages,
		       r->verified_bytes);
	printf("\n%s %" PRIu64 ".%03" PRIu64 " us, %" PRIu64 " events\n",
	       p->backend->platform == BF_PLATFORM_SIM ? "simulated time            " : "elapsed time              ",
	       (uint64_t)(r->world.time_ps / BF_US), (uint64_t)(r->world.time_ps % BF_US / BF_NS), r->world.events);
	if (p->records)
		printf("records                    %" PRIu64 ", hash %016" PRIx64 "\n", r->world.records,
		       r->world.hash);
	printf("wall clock                 %" PRIu64 ".%03" PRIu64 " ms\n", r->wall_ns / 1000000,
	       r->wall_ns / 1000 % 1000);
	if (r->verdict == BF_VERDICT_GOOD)
		p->family->print(stdout, p, result);
	bf_run_print_failure(stdout, r);
	bf_cause_print(stdout, cause);
	bf_lint_run_print(stdout, lint);
	if (r->counts)
		bf_counts_print_faults(stdout, r->counts);
	if (r->counts && stats)
		bf_counts_print_stats(stdout, r->counts);
}

static void json_options(struct bf_json *j, const struct bf_pes *p)
{
	bf_json_open(j, "options", '{');
	bf_choices_json(j, p->family->rows, p->family->nrows, p);
	bf_json_open(j, "bugs", '[');
	for (const struct bf_ibgda_bug *b = bf_ibgda_bugs; b->name; b++)
		if (p->bugs & b->bit)
			bf_json_text(j, NULL, b->name);
	for (const struct bf_ibgda_bug *b = p->family->bugs; b->name; b++)
		if (p->own_bugs & b->bit)
			bf_json_text(j, NULL, b->name);
	bf_json_close(j, ']');
	if (p->faults)
		bf_json_text(j, "faults", p->faults);
	bf_json_text(j, "profile", p->profile_text);
	bf_json_close(j, '}');
}

/* Wall-clock figures have a key of their own: everything else is the same in every run. */
static void json_result(const struct bf_pes *p, const struct bf_pes_result *result,
			const struct bf_lint_run *lint, const struct bf_cause *cause, bool stats)
{
	const struct bf_run_result *r = &result->run;
	char text[2048];
	struct bf_json j;

	bf_json_begin(&j, stdout);
	bf_json_open(&j, NULL, '{');
	bf_json_text(&j, "workload", p->family->works[p->work].name);
	bf_json_text(&j, "backend", p->backend->name);
	if (p->backend->platform == BF_PLATFORM_SIM)
		bf_json_text(&j, "ordering", bf_ordering_name(p->ordering));
	bf_pes_command(p, text, sizeof(text));
	bf_json_text(&j, "command", text);
	json_options(&j, p);
	bf_json_text(&j, "verdict", bf_verdict_name(r->verdict));
	bf_json_u64(&j, "messages", r->messages);
	bf_json_u64(&j, "verified_bytes", r->verified_bytes);
	bf_json_u64(&j, "verified_values", r->verified_values);
	bf_json_u64(&j, "time_ps", r->world.time_ps);
	bf_json_u64(&j, "events", r->world.events);
	bf_json_u64(&j, "records", r->world.records);
	if (p->records)
		bf_json_hex(&j, "hash", r->world.hash);
	if (r->verdict == BF_VERDICT_GOOD)
		p->family->json(&j, p, result);
	bf_run_json_failure(&j, r);
	if (cause->text[0])
		bf_cause_json(&j, cause);
	bf_lint_run_json(&j, lint);
	if (r->counts)
		bf_counts_json_faults(&j, r->counts);
	if (r->counts && stats)
		bf_counts_json_stats(&j, r->counts);
	bf_json_open(&j, "wall", '{');
	bf_json_u64(&j, "ns", r->wall_ns);
	bf_json_close(&j, '}');
	bf_json_close(&j, '}');
	bf_json_end(&j);
}

/* Runs, finishes the trace, and asks a second run for the cause of a failure unless rules have listened. */
static int run_and_report(const struct bf_args *args, const struct bf_pes *p, struct bf_trace_writer *trace,
			  struct bf_lint_run *lint, const struct bf_error *trace_err)
{
	struct bf_cause cause = { 0 };
	struct bf_error err = { 0 };
	struct bf_pes_result r;
	int rc = bf_pes_run(p, bf_lint_run_sink(lint, trace ? bf_trace_sink(trace) : NULL), &r, &err);
	int trace_rc = 0;

	if (trace) {
		bf_trace_meta(trace, "verdict", rc ? "not run" : bf_verdict_name(r.run.verdict));
		trace_rc = bf_trace_close(trace);
	}
	if (rc)
		return bf_cli_error(args, BF_EXIT_USAGE, "%s", err.text);
	bf_lint_run_end(lint, r.run.verdict == BF_VERDICT_GOOD, &cause,
			p->backend->platform == BF_PLATFORM_SIM ? bf_pes_again : NULL, p);
	if (r.run.verdict != BF_VERDICT_GOOD && !lint->rules)
		bf_pes_cause_of(p, &cause);
	if (!bf_arg_json(args))
		print_result(p, &r, lint, &cause, bf_arg_flag(args, "stats"));
	else if (!trace_rc) /* one document, which tells the error otherwise */
		json_result(p, &r, lint, &cause, bf_arg_flag(args, "stats"));
	bf_counts_free(r.run.counts);
	if (trace_rc)
		return bf_cli_error(args, BF_EXIT_USAGE, "%s", trace_err->text);
	return r.run.verdict == BF_VERDICT_GOOD ? bf_lint_run_code(lint) : BF_EXIT_FAILED;
}

static int open_trace(const struct bf_args *args, const struct bf_pes *p, struct bf_trace_writer **out,
		      struct bf_error *err)
{
	char command[2048];

	bf_pes_command(p, command, sizeof(command));
	return bf_begin_trace(args, command, out, err);
}

static void list_json(const struct bf_pes_family *f)
{
	struct bf_json j;

	bf_json_begin(&j, stdout);
	bf_json_open(&j, NULL, '{');
	bf_json_open(&j, "workloads", '[');
	for (const struct bf_pes_work *w = f->works; w->name; w++)
		bf_json_text(&j, NULL, w->name);
	bf_json_close(&j, ']');
	bf_json_open(&j, "bugs", '[');
	for (const struct bf_ibgda_bug *b = f->bugs; b->name; b++) {
		bf_json_open(&j, NULL, '{');
		bf_json_text(&j, "name", b->name);
		bf_json_text(&j, "summary", b->summary);
		bf_json_close(&j, '}');
	}
	bf_json_close(&j, ']');
	bf_json_close(&j, '}');
	bf_json_end(&j);
}

static int list(const struct bf_args *args, const struct bf_pes_family *f)
{
	if (bf_arg_json(args)) {
		list_json(f);
		return BF_EXIT_GOOD;
	}
	puts("Workloads");
	for (const struct bf_pes_work *w = f->works; w->name; w++)
		printf("  %-24s %s\n", w->name, w->summary);
	puts("Bugs");
	for (const struct bf_ibgda_bug *b = f->bugs; b->name; b++)
		printf("  %-24s %s\n", b->name, b->summary);
	puts("Bugs of the queues, backends, orderings, profiles: belfry run --list");
	return BF_EXIT_GOOD;
}

int bf_pes_cmd_run(const struct bf_args *args, const struct bf_pes_family *family, struct bf_pes *p)
{
	struct bf_lint_run lint = { 0 };
	struct bf_trace_writer *trace;
	struct bf_error err = { 0 };
	int code;

	if (bf_arg_flag(args, "list"))
		return list(args, family);
	code = bf_pes_parse(args, family, p);
	if (code != BF_EXIT_GOOD)
		return code;
	p->ordering = (enum bf_ordering)bf_arg_u64(args, "ordering");
	p->counts = bf_arg_flag(args, "stats") || p->faults;
	if (bf_records_check(args, p->backend) != BF_EXIT_GOOD)
		code = BF_EXIT_USAGE;
	else if (p->backend->platform != BF_PLATFORM_SIM && bf_arg_given(args, "ordering"))
		code = bf_cli_error(args, BF_EXIT_USAGE, "--ordering: backend %s has that of the machine it runs on",
				    p->backend->name);
	else if (bf_records_parse(bf_arg_text(args, "records"), &p->records, &err) != 0 ||
		 open_trace(args, p, &trace, &err) != 0)
		code = bf_cli_error(args, BF_EXIT_USAGE, "%s", err.text);
	else if ((code = bf_lint_run_begin(args, p->backend->describe ? 0 : p->records, &lint)) == BF_EXIT_GOOD)
		code = run_and_report(args, p, trace, &lint, &err);
	bf_lint_run_free(&lint);
	bf_pes_free(p);
	return code;
}

/* ---- explore ---- */

static int check(const void *w, struct bf_error *err)
{
	return bf_pes_check(w, err);
}

static int run(const void *w, struct bf_sink *sink, void *result, struct bf_error *err)
{
	return bf_pes_run(w, sink, result, err);
}

static uint32_t verdict(const void *result)
{
	return ((const struct bf_pes_result *)result)->run.verdict;
}

static const char *verdict_name(uint32_t v)
{
	return bf_verdict_name((enum bf_verdict)v);
}

static const char *name(const void *w)
{
	const struct bf_pes *p = w;

	return p->family->works[p->work].name;
}

static void command(const void *w, char *buf, size_t cap)
{
	bf_pes_command(w, buf, cap);
}

static void print_failure(FILE *out, const void *result)
{
	bf_run_print_failure(out, &((const struct bf_pes_result *)result)->run);
}

static void json_failure(struct bf_json *j, const void *result)
{
	bf_run_json_failure(j, &((const struct bf_pes_result *)result)->run);
}

static void cause(const void *w, const void *result, struct bf_cause *out)
{
	(void)result;
	bf_pes_cause_of(w, out);
}

#define PART(member)                                                                                                   \
	{                                                                                                              \
		BF_MEMBER(struct bf_pes, member), 0                                                                    \
	}

int bf_pes_cmd_explore(const struct bf_args *args, const struct bf_pes_family *family, struct bf_pes *p,
		       const struct bf_search_part *parts, uint32_t nparts)
{
	const struct bf_explore_family f = {
		.search.choice_bytes = family->choice_bytes,
		.search.result_bytes = sizeof(struct bf_pes_result),
		.search.seed = PART(seed),
		.search.ordering = PART(ordering),
		.records = PART(records),
		.search.parts = parts,
		.search.nparts = nparts,
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
	int code;

	if (bf_arg_flag(args, "list"))
		return list(args, family);
	code = bf_pes_parse(args, family, p);
	if (code != BF_EXIT_GOOD)
		return code;
	code = bf_explore(args, &f, p, p->backend);
	bf_pes_free(p);
	return code;
}
