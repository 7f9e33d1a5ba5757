/*
 * belfry explore: the same workload under many seeds and orderings; the first failure, made small and explained.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tools/report/findings.h"
#include "tools/workloads/coverage.h"
#include "tools/workloads/family.h"
#include "traces/container/trace.h"

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
	const struct bf_family *f;
	const struct bf_backend *backend;
	void *first, *small; /* workloads as found, as shrunk */
	void *result;        /* of `small` */
	struct bf_cause cause;
	uint32_t verdict;
	uint64_t runs, shrink_runs;
};

static uint64_t seed_of(const struct outcome *o, const void *w)
{
	return bf_member_get(w, o->f->search.seed.offset, o->f->search.seed.size);
}

static const char *ordering_of(const struct outcome *o, const void *w)
{
	const struct bf_search_part *p = &o->f->search.ordering;

	return bf_ordering_name((enum bf_ordering)bf_member_get(w, p->offset, p->size));
}

/* Writes the trace of the shrunk run. */
static int write_trace(const struct bf_args *args, const struct outcome *o, struct bf_error *err)
{
	struct bf_trace_writer *trace;
	char command[2048], window[64];
	int rc;

	bf_family_command(o->f, o->small, command, sizeof(command));
	rc = bf_begin_trace(args, command, &trace, err);
	if (rc || !trace)
		return rc;
	rc = bf_family_again(o->f, o->small, BF_CLASS_ALL, bf_trace_sink(trace), err);
	bf_trace_meta(trace, "verdict", o->f->verdict_name(o->verdict));
	if (o->cause.text[0]) {
		snprintf(window, sizeof(window), "%" PRIu64 "..%" PRIu64 " ps", o->cause.begin_ps, o->cause.end_ps);
		bf_trace_meta(trace, "window", window);
		bf_trace_meta(trace, "cause", o->cause.text);
	}
	return rc ? (bf_trace_writer_close(trace), rc) : bf_trace_writer_close(trace);
}

static void print_text(const struct bf_args *args, const struct outcome *o)
{
	char command[2048];

	bf_cli_put_verdict(stdout, o->f->verdict_name(o->verdict), false);
	printf(" at seed %" PRIu64 ", ordering %s, after %" PRIu64 " runs\n", seed_of(o, o->first),
	       ordering_of(o, o->first), o->runs);
	bf_family_command(o->f, o->small, command, sizeof(command));
	printf("smallest run that fails the same way (%" PRIu64 " more runs):\n  %s\n", o->shrink_runs, command);
	if (o->f->print_failure)
		o->f->print_failure(stdout, o->result);
	if (o->cause.text[0]) {
		bf_cause_print(stdout, &o->cause);
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

	bf_family_command(o->f, o->small, command, sizeof(command));
	bf_json_begin(&j, stdout);
	bf_json_open(&j, NULL, '{');
	bf_json_bool(&j, "found", true);
	bf_json_u64(&j, "runs", o->runs);
	bf_json_text(&j, "verdict", o->f->verdict_name(o->verdict));
	bf_json_u64(&j, "seed", seed_of(o, o->first));
	bf_json_text(&j, "ordering", ordering_of(o, o->first));
	bf_json_open(&j, "smallest", '{');
	bf_json_text(&j, "command", command);
	bf_json_u64(&j, "runs", o->shrink_runs);
	bf_json_u64(&j, "seed", seed_of(o, o->small));
	bf_json_text(&j, "ordering", ordering_of(o, o->small));
	if (o->f->json_failure)
		o->f->json_failure(&j, o->result);
	if (o->cause.text[0])
		bf_cause_json(&j, &o->cause);
	bf_json_close(&j, '}');
	bf_json_close(&j, '}');
	bf_json_end(&j);
}

static int print_none(const struct bf_args *args, const struct outcome *o, const struct bf_search *s, const void *w)
{
	struct bf_error err = { 0 };
	struct bf_json j;
	int rc;

	if (bf_arg_json(args)) {
		bf_json_begin(&j, stdout);
		bf_json_open(&j, NULL, '{');
		bf_json_bool(&j, "found", false);
		bf_json_u64(&j, "runs", o->runs);
	} else {
		printf("no failure in %" PRIu64 " runs of %s\n", o->runs, bf_family_work(o->f, w)->name);
	}
	rc = bf_coverage_tell(o->f, s, w, bf_arg_json(args) ? &j : NULL, &err);
	if (bf_arg_json(args)) {
		bf_json_close(&j, '}');
		bf_json_end(&j);
	}
	return rc ? bf_cli_error(args, BF_EXIT_USAGE, "%s", err.text) : BF_EXIT_GOOD;
}

static int shrink_and_report(const struct bf_args *args, struct bf_search *s, struct outcome *o, uint64_t first_seed)
{
	struct bf_error err = { 0 };

	s->seeds = s->seeds < SHRINK_SEEDS ? s->seeds : SHRINK_SEEDS;
	s->progress = NULL;
	memcpy(o->small, o->first, o->f->search.choice_bytes);
	o->verdict = o->f->search.verdict(o->result);
	if (bf_search_shrink(s, first_seed, o->small, o->result, &o->shrink_runs, &err) != 0)
		return bf_cli_error(args, BF_EXIT_USAGE, "%s", err.text);
	bf_family_cause(o->f, o->small, o->backend, o->result, &o->cause);
	if (write_trace(args, o, &err) != 0)
		return bf_cli_error(args, BF_EXIT_USAGE, "%s", err.text);
	if (bf_arg_json(args))
		print_json(o);
	else
		print_text(args, o);
	return BF_EXIT_FAILED;
}

static void show_progress(void *owner, uint64_t done, uint64_t total)
{
	bf_progress_update(owner, done, total);
}

/* ---- other shapes ---- */

#define SHAPES 8u

struct shapes {
	void *w[SHAPES];
	const void *list[SHAPES];
	uint32_t n;
};

/* False: the user has said what it is to be. */
static bool set_one(const struct bf_args *args, const struct bf_family *f, const struct bf_shape *s, void *w)
{
	const struct bf_opt *o = f->options;

	if (bf_arg_given(args, s->option))
		return false;
	if (s->text) {
		memcpy((char *)w + f->faults.offset, &s->text, sizeof(s->text)); /* static: w does not own it */
		return true;
	}
	while (o->name && strcmp(o->name, s->option) != 0)
		o++;
	if (o->name)
		bf_member_set(w, o->offset, o->size, s->value);
	return o->name != NULL;
}

/* Whether such a workload runs at all. */
static bool runs(const struct bf_family *f, const void *w)
{
	struct bf_error err = { 0 };

	return (!f->search.check || f->search.check(w, &err) == 0) && bf_family_again(f, w, 0, NULL, &err) == 0;
}

static void make_shapes(const struct bf_args *args, const struct bf_family *f, const void *w, struct shapes *out)
{
	for (const struct bf_shape *const *s = f->shapes; s && *s && out->n < SHAPES; s++) {
		void *one = malloc(f->search.choice_bytes);
		bool other = one != NULL;

		if (one)
			memcpy(one, w, f->search.choice_bytes);
		for (const struct bf_shape *part = *s; other && part->option; part++)
			other = set_one(args, f, part, one);
		if (other && runs(f, one)) {
			out->list[out->n] = one;
			out->w[out->n++] = one;
		} else {
			free(one);
		}
	}
}

static int search_and_report(const struct bf_args *args, struct bf_search *s, struct outcome *o, const void *w)
{
	struct bf_progress progress;
	struct bf_error err = { 0 };
	int rc;

	s->progress = show_progress;
	s->owner = &progress;
	bf_progress_begin(&progress, args, "exploring");
	rc = bf_search_run(s, w, o->first, o->result, &o->runs, &err);
	bf_progress_end(&progress);
	if (rc < 0)
		return bf_cli_error(args, BF_EXIT_USAGE, "%s", err.text);
	if (rc == 0)
		return print_none(args, o, s, w);
	return shrink_and_report(args, s, o, seed_of(o, w));
}

int bf_explore(const struct bf_args *args, const struct bf_family *f, const void *w, const struct bf_backend *backend)
{
	struct bf_search s = { .family = &f->search, .seeds = bf_arg_u64(args, "seeds") };
	struct outcome o = { .f = f, .backend = backend };
	struct shapes shapes = { .n = 0 };
	struct bf_error err = { 0 };
	int code;

	if (backend->platform != BF_PLATFORM_SIM)
		return bf_cli_error(args, BF_EXIT_USAGE, "backend %s does not repeat itself: only sim can be explored",
				    backend->name);
	s.jobs = bf_arg_given(args, "jobs") ? (uint32_t)bf_arg_u64(args, "jobs") : default_jobs();
	if (parse_orders(bf_arg_text(args, "orderings"), &s, &err) != 0)
		return bf_cli_error(args, BF_EXIT_USAGE, "%s", err.text);
	if (bf_arg_given(args, "exhaustive")) {
		if (!bf_arg_given(args, "orderings"))
			s.orders[0] = BF_ORDER_ADVERSARIAL, s.norders = 1;
		return bf_explore_all(args, f, w, s.orders, s.norders);
	}
	o.first = malloc(f->search.choice_bytes);
	o.small = malloc(f->search.choice_bytes);
	o.result = calloc(1, f->search.result_bytes);
	if (s.seeds >= 4)
		make_shapes(args, f, w, &shapes);
	s.shapes = shapes.list;
	s.nshapes = s.seeds / 4 < shapes.n ? (uint32_t)(s.seeds / 4) : shapes.n;
	if (o.first && o.small && o.result)
		code = search_and_report(args, &s, &o, w);
	else
		code = bf_cli_error(args, BF_EXIT_USAGE, "no memory for a search");
	while (shapes.n)
		free(shapes.w[--shapes.n]);
	free(o.first);
	free(o.small);
	free(o.result);
	return code;
}
