/* One run of a workload of any family, who listens to it, and what is said of it. */
#include "tools/workloads/family.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "sim/records_agent.h"
#include "tools/report/lint_run.h"
#include "tools/workloads/wild.h"
#include "traces/container/trace.h"

uint32_t bf_family_verdict(const void *result)
{
	return ((const struct bf_result *)result)->verdict;
}

static void release(const struct bf_family *f, struct bf_result *r)
{
	bf_counts_free(r->counts);
	if (f->release)
		f->release(r);
	free(r);
}

/* ---- one more run ---- */

int bf_family_again(const struct bf_family *f, const void *w, uint32_t classes, struct bf_sink *sink,
		    struct bf_error *err)
{
	void *again = malloc(f->search.choice_bytes);
	struct bf_result *r = calloc(1, f->search.result_bytes);
	int rc = -ENOMEM;

	if (again && r) {
		memcpy(again, w, f->search.choice_bytes);
		bf_member_set(again, f->records.offset, f->records.size, classes);
		bf_member_set(again, f->counts.offset, f->counts.size, false);
		if (f->alone)
			f->alone(again);
		rc = f->search.run(again, sink, r, err);
		release(f, r);
	} else {
		free(r);
		bf_fail(err, rc, "no memory for another run");
	}
	free(again);
	return rc;
}

static void ask_records(const struct bf_family *f, const void *w, struct bf_cause *out)
{
	struct bf_error err = { 0 };
	struct bf_rules *rules = NULL;
	int rc = bf_rules_create(NULL, &rules, &err);

	if (!rc)
		rc = bf_family_again(f, w, bf_rules_classes(rules), bf_rules_only_sink(rules), &err);
	if (!rc)
		rc = bf_rules_finish(rules, true);
	if (!rc)
		bf_cause_take(rules, out);
	else
		snprintf(out->text, sizeof(out->text), "not known: one more run, to look for it, failed: %s",
			 err.text[0] ? err.text : strerror(-rc));
	bf_rules_destroy(rules);
}

/* A real device does not repeat itself, and a file that the first run wrote to is not what it was. */
static bool repeats(const struct bf_backend *backend)
{
	return backend->platform == BF_PLATFORM_SIM;
}

void bf_family_cause(const struct bf_family *f, const void *w, const struct bf_backend *backend, const void *result,
		     struct bf_cause *out)
{
	*out = (struct bf_cause){ 0 };
	if (repeats(backend))
		ask_records(f, w, out);
	if (!out->text[0] && f->guess)
		f->guess(result, out);
}

/* ---- the report ---- */

uint64_t bf_rate(uint64_t n, uint64_t ns)
{
	return ns ? (uint64_t)((bf_u128)n * 1000000000u / ns) : 0;
}

void bf_print_lines(FILE *out, const char *text)
{
	while (*text) {
		const size_t len = strcspn(text, "\n");

		fprintf(out, "  %.*s\n", (int)len, text);
		text += len + (text[len] == '\n');
	}
}

/* A run that has ended. */
struct ended {
	const struct bf_run *run;
	struct bf_lint_run lint;
	struct bf_result *r;
	struct bf_cause cause;
};

static void print_ended(const struct ended *e, bool stats)
{
	const struct bf_family *f = e->run->family;

	char command[2048];

	bf_family_command(f, e->run->w, command, sizeof(command));
	puts(command);
	if (f->print)
		f->print(e->run->w, e->r, stats);
	else
		puts(f->verdict_name(e->r->verdict));
	if (f->print_failure)
		f->print_failure(stdout, e->r);
	bf_cause_print(stdout, &e->cause);
	bf_lint_run_print(stdout, &e->lint);
	if (e->r->counts)
		bf_counts_print_faults(stdout, e->r->counts);
	if (e->r->counts && stats)
		bf_counts_print_stats(stdout, e->r->counts);
}

/* What was asked for, and how it ended. */
static void json_choices(struct bf_json *j, const struct bf_family *f, const void *w, const struct bf_result *r)
{
	const struct bf_backend *backend = bf_family_backend(f, w);
	char command[2048];

	if (f->backend.size)
		bf_json_text(j, "backend", backend->name);
	if (backend->platform == BF_PLATFORM_SIM)
		bf_json_text(j, "ordering",
			     bf_ordering_name((enum bf_ordering)bf_member_get(w, f->search.ordering.offset,
									      f->search.ordering.size)));
	bf_family_command(f, w, command, sizeof(command));
	bf_json_text(j, "command", command);
	bf_json_open(j, "options", '{');
	bf_choices_json(j, f->options, w);
	bf_words_json(j, f->words, w);
	if (bf_family_faults(f, w))
		bf_json_text(j, "faults", bf_family_faults(f, w));
	if (f->json_options)
		f->json_options(j, w);
	bf_json_close(j, '}');
	bf_json_text(j, "verdict", f->verdict_name(r->verdict));
}

/* Wall-clock figures have a key of their own: everything else is the same in every run. */
static void json_ended(const struct ended *e, bool stats)
{
	const struct bf_family *f = e->run->family;
	struct bf_json j;

	bf_json_begin(&j, stdout);
	bf_json_open(&j, NULL, '{');
	bf_json_text(&j, "workload", bf_family_work(f, e->run->w)->name);
	json_choices(&j, f, e->run->w, e->r);
	if (f->json)
		f->json(&j, e->run->w, e->r);
	if (f->json_failure)
		f->json_failure(&j, e->r);
	if (e->cause.text[0])
		bf_cause_json(&j, &e->cause);
	bf_lint_run_json(&j, &e->lint);
	if (e->r->counts)
		bf_counts_json_faults(&j, e->r->counts);
	if (e->r->counts && stats)
		bf_counts_json_stats(&j, e->r->counts);
	bf_json_open(&j, "wall", '{');
	bf_json_u64(&j, "ns", e->r->wall_ns);
	if (f->per_second)
		bf_json_u64(&j, f->per_second,
			    bf_rate(bf_member_get(e->r, f->done.offset, f->done.size), e->r->wall_ns));
	bf_json_close(&j, '}');
	bf_json_close(&j, '}');
	bf_json_end(&j);
}

/* The rules that listened know the cause; otherwise one more run is asked. */
static int find_cause(struct ended *e)
{
	const struct bf_run *run = e->run;
	const bool good = e->r->verdict == 0;

	if (bf_lint_run_end(&e->lint, good, &e->cause, repeats(run->backend) ? run->family : NULL, run->w))
		return -ENOMEM;
	if (!good && !e->lint.rules && !run->silent && !bf_wild_asked())
		bf_family_cause(run->family, run->w, run->backend, e->r, &e->cause);
	else if (!good && !e->cause.text[0] && run->family->guess)
		run->family->guess(e->r, &e->cause);
	return 0;
}

/* ---- one run ---- */

/* What else a trace says of itself, like that of a trial. */
static void tell_choices(const struct bf_run *run, struct bf_trace_writer *trace)
{
	const struct bf_search_part seed = run->family->search.seed, ordering = run->family->search.ordering;
	char text[32];

	snprintf(text, sizeof(text), "%" PRIu64, bf_member_get(run->w, seed.offset, seed.size));
	bf_trace_meta(trace, "seed", text);
	if (ordering.size)
		bf_trace_meta(
		    trace, "ordering",
		    bf_ordering_name((enum bf_ordering)bf_member_get(run->w, ordering.offset, ordering.size)));
}

struct guarded {
	struct ended *e;
	struct bf_run *run;
	struct bf_sink *sink;
};

static int run_guarded(void *arg)
{
	const struct guarded *g = arg;

	return g->run->family->search.run(g->run->w, g->sink, g->e->r, &g->run->err);
}

/* What a world says that is closed behind an error, for one that nobody closes any more. */
static void tell_crash(const struct bf_error *err, struct bf_sink *sink)
{
	const struct bf_rec_run_failed rec = { .code = EFAULT };
	struct bf_stream st = { 0 };
	const uint64_t at = 0;

	if (!bf_stream_open(&st, &at, BF_CLASS_ALL, sink))
		bf_record(&st, &bf_rec_run_failed_schema, 0, &rec, err->text, (uint32_t)strlen(err->text));
	bf_stream_close(&st);
	bf_stream_fini(&st);
}

/* Runs, and finishes what was written: the run's code, and that of the files in `*written`. */
static int run_and_write(struct ended *e, struct bf_run *run, struct bf_trace_writer *trace, int *written)
{
	struct bf_sink *sink = trace ? bf_trace_sink(trace) : run->sink;
	struct guarded g = { .e = e, .run = run };
	struct bf_sink_tee tee;
	bool crashed;
	int rc;

	if (trace)
		tell_choices(run, trace);
	if (trace && run->sink) {
		bf_sink_tee_init(&tee, run->sink, sink);
		sink = &tee.sink;
	}
	g.sink = bf_lint_run_sink(&e->lint, sink);
	rc = bf_wild_guard(run_guarded, &g, &crashed, &run->err);
	if (crashed && g.sink)
		tell_crash(&run->err, g.sink);
	if (trace) {
		bf_trace_meta(trace, "verdict", rc ? "not run" : run->family->verdict_name(e->r->verdict));
		*written = bf_trace_writer_close(trace);
	}
	if (!rc && !*written && run->write)
		*written = run->write(run, &run->err);
	return rc;
}

static int report(const struct bf_args *args, struct ended *e, int written)
{
	if (find_cause(e))
		return bf_cli_error(args, BF_EXIT_USAGE, "no memory for rules: no verdict");
	if (e->run->silent)
		written = 0; /* the one that speaks tells */
	else if (!bf_arg_json(args))
		print_ended(e, bf_arg_flag(args, "stats"));
	else if (!written) /* one document, which tells the error otherwise */
		json_ended(e, bf_arg_flag(args, "stats"));
	if (written)
		return bf_cli_error(args, BF_EXIT_USAGE, "%s", e->run->err.text);
	return e->r->verdict ? BF_EXIT_FAILED : bf_lint_run_code(&e->lint);
}

static int run_and_report(const struct bf_args *args, struct bf_run *run, struct ended *e)
{
	struct bf_trace_writer *trace;
	char command[2048];
	int written = 0;

	bf_family_command(run->family, run->w, command, sizeof(command));
	if (bf_begin_trace(args, command, &trace, &run->err) != 0 || run_and_write(e, run, trace, &written) != 0)
		return bf_cli_error(args, BF_EXIT_USAGE, "%s", run->err.text);
	return report(args, e, written);
}

int bf_run_once(const struct bf_args *args, struct bf_run *run)
{
	const struct bf_search_part *records = &run->family->records;
	struct ended e = { .run = run };
	int code;

	code = bf_lint_run_begin(
	    args, run->backend->describe ? 0 : (uint32_t)bf_member_get(run->w, records->offset, records->size),
	    &e.lint);
	if (code == BF_EXIT_GOOD) {
		e.r = calloc(1, run->family->search.result_bytes);
		bf_wild_watch();
		code = e.r ? run_and_report(args, run, &e) : bf_cli_error(args, BF_EXIT_USAGE, "no memory for a run");
		bf_wild_forget();
	}
	if (e.r)
		release(run->family, e.r);
	bf_lint_run_free(&e.lint);
	return code;
}
