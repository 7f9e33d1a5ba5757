/* Trials under one seed or many, and the trace of what failed. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "drivers/trial/exhaust.h"
#include "drivers/trial/search.h"
#include "drivers/trial/trial_internal.h"
#include "traces/container/trace.h"
#include "traces/life/last.h"

#define SEEDS 50u
#define DELAYS 2u
#define RUNS 1000000u
/* Seeds that a smaller run is tried under: fewer than in the search, or shrinking would take longer than finding. */
#define SHRINK_SEEDS 32u

static struct bf_trial_choice first_choice(const struct bf_trial_spec *spec)
{
	struct bf_trial_choice c = { .spec = spec, .seed = spec->world.seed, .ordering = spec->world.ordering };

	for (uint32_t i = 0; i < spec->nsizes && i < BF_TRIAL_SIZES; i++)
		c.size[i] = spec->sizes[i].value;
	return c;
}

/* The same run once more, into the file `path`, or into `memory`. */
static int write_trace(const struct bf_trial_choice *c, const struct bf_trial_result *r, const char *path, FILE *memory,
		       struct bf_error *err)
{
	struct bf_trial_result *again = malloc(sizeof(*again));
	struct bf_trace_writer *w = NULL;
	char command[512], seed[32];
	int rc = again ? bf_trace_writer_open(path, memory, NULL, &w, err) : bf_fail(err, -ENOMEM, "no memory");

	if (rc) {
		free(again);
		return rc;
	}
	snprintf(seed, sizeof(seed), "%llu", (unsigned long long)c->seed);
	bf_trial_command(c->spec, r, command, sizeof(command));
	bf_trace_meta(w, "command", command);
	bf_trace_meta(w, "seed", seed);
	bf_trace_meta(w, "ordering", bf_ordering_name(c->ordering));
	bf_trial_once(c, bf_trace_sink(w), again);
	bf_trace_meta(w, "verdict", bf_trial_verdict_name(r->verdict));
	if (r->reason[0])
		bf_trace_meta(w, "reason", r->reason);
	if (r->nfindings && r->finding[0].root)
		bf_trace_meta(w, "cause", r->finding[0].text);
	rc = bf_trace_writer_close(w);
	free(again);
	return rc ? bf_fail(err, rc, "%s", strerror(-rc)) : 0;
}

static void tell_more(struct bf_trace *t, bool stuck, bool unexplained, struct bf_trial_after *after)
{
	size_t len;
	FILE *out = open_memstream(&after->more, &len);

	if (!out)
		return;
	if (stuck)
		bf_last_missing(t, false, out); /* the machine's own report has the threads */
	if (unexplained)
		bf_last_life(t, out);
	fclose(out);
}

/* A run that fails once more, for those who want to know more: its trace, and what it came to. */
static void look_closer(const struct bf_trial_choice *c, const struct bf_trial_result *r, struct bf_trial_after *after)
{
	const bool stuck = r->verdict == BF_TRIAL_STUCK || r->verdict == BF_TRIAL_LIMIT;
	const bool unexplained = !r->root || strcmp(r->root->id, "MACHINE-STUCK") == 0, more = stuck || unexplained;
	struct bf_trace *t = NULL;
	FILE *memory = NULL;
	char *bytes = NULL;
	size_t len = 0;

	if (c->spec->trace) {
		if (write_trace(c, r, c->spec->trace, NULL, &after->err))
			return;
		after->traced = true;
		if (more && bf_trace_open(c->spec->trace, NULL, &t, NULL) != 0)
			return;
	} else if (more) {
		memory = open_memstream(&bytes, &len);
		if (memory && write_trace(c, r, NULL, memory, NULL) == 0 && fflush(memory) == 0)
			bf_trace_open_memory(bytes, len, &t, NULL);
	}
	if (t) {
		tell_more(t, stuck, unexplained, after);
		bf_trace_close(t);
	}
	if (memory)
		fclose(memory);
	free(bytes);
}

static bool finish(const struct bf_trial_choice *c, uint64_t runs, struct bf_trial_result *r)
{
	struct bf_trial_after after = { 0 };

	r->runs = runs;
	if (!r->ok && r->verdict != BF_TRIAL_NOT_RUN)
		look_closer(c, r, &after);
	bf_trial_tell(c->spec, &after, r);
	free(after.more);
	return r->ok;
}

bool bf_trial_run(const struct bf_trial_spec *spec, struct bf_trial_result *r)
{
	const struct bf_trial_choice c = first_choice(spec);

	if (bf_trial_asked(spec, r))
		return r->ok;
	bf_trial_once(&c, NULL, r);
	return finish(&c, 1, r);
}

bool bf_trial_watch(const struct bf_trial_spec *spec, struct bf_sink *sink, struct bf_trial_result *r)
{
	const struct bf_trial_choice c = first_choice(spec);

	bf_trial_once(&c, sink, r);
	return r->ok;
}

/* ---- search ---- */

static int check(const void *w, struct bf_error *err)
{
	(void)w;
	(void)err;
	return 0;
}

static int run(const void *w, struct bf_sink *sink, void *result, struct bf_error *err)
{
	(void)err;
	bf_trial_once(w, sink, result);
	return 0;
}

/* Runs that fail the same way have the same root cause, too. */
static uint32_t verdict(const void *result)
{
	const struct bf_trial_result *r = result;
	uint32_t rule = 0;

	if (r->verdict == BF_TRIAL_GOOD)
		return 0;
	for (uint32_t i = 0; r->root && bf_rule_at(i) && !rule; i++)
		if (bf_rule_at(i) == r->root)
			rule = i + 1;
	return rule << 8 | (uint32_t)r->verdict;
}

static void family_of(const struct bf_trial_spec *spec, struct bf_search_part *parts, struct bf_search_family *f)
{
	*f = (struct bf_search_family){
		.choice_bytes = sizeof(struct bf_trial_choice),
		.result_bytes = sizeof(struct bf_trial_result),
		.seed = { BF_MEMBER(struct bf_trial_choice, seed), 0 },
		.ordering = { BF_MEMBER(struct bf_trial_choice, ordering), 0 },
		.chooser = { BF_MEMBER(struct bf_trial_choice, chooser), 0 },
		.parts = parts,
		.nparts = spec->nsizes,
		.check = check,
		.run = run,
		.verdict = verdict,
	};
	for (uint32_t i = 0; i < spec->nsizes; i++)
		parts[i] = (struct bf_search_part){ offsetof(struct bf_trial_choice, size) + i * sizeof(uint64_t),
						    sizeof(uint64_t), spec->sizes[i].least };
}

static void orders_of(const struct bf_trial_search_opts *o, struct bf_search *s)
{
	if (!o->orderings) {
		for (enum bf_ordering k = BF_ORDER_SC; k <= BF_ORDER_ADVERSARIAL; k++)
			s->orders[s->norders++] = k;
		return;
	}
	for (uint32_t i = 0; i < o->norderings && i < BF_ARRAY_LEN(s->orders); i++)
		s->orders[s->norders++] = o->orderings[i];
}

static bool cannot(const struct bf_trial_choice *c, const char *why, struct bf_trial_result *r)
{
	memset(r, 0, sizeof(*r));
	r->verdict = BF_TRIAL_NOT_RUN;
	snprintf(r->reason, sizeof(r->reason), "%s", why);
	return finish(c, 0, r);
}

bool bf_trial_search(const struct bf_trial_spec *spec, const struct bf_trial_search_opts *opts,
		     struct bf_trial_result *r)
{
	const struct bf_trial_search_opts zero = { 0 }, *o = opts ? opts : &zero;
	struct bf_search_part parts[BF_TRIAL_SIZES];
	struct bf_trial_choice c = first_choice(spec);
	struct bf_search_family family;
	struct bf_search s = { .family = &family, .seeds = o->seeds ? o->seeds : SEEDS, .jobs = o->jobs ? o->jobs : 1 };
	struct bf_error err = { 0 };
	uint64_t runs = 0;
	int rc;

	if (bf_trial_asked(spec, r))
		return r->ok;
	if (spec->nsizes > BF_TRIAL_SIZES)
		return cannot(&c, "too many sizes", r);
	family_of(spec, parts, &family);
	orders_of(o, &s);
	if (!s.norders)
		return cannot(&c, "no ordering to search", r);
	rc = bf_search_run(&s, &c, &c, r, &runs, &err);
	if (rc == 1 && r->verdict != BF_TRIAL_NOT_RUN && !o->no_shrinking) {
		s.seeds = s.seeds < SHRINK_SEEDS ? s.seeds : SHRINK_SEEDS;
		rc = bf_search_shrink(&s, spec->world.seed, &c, r, &runs, &err) ? -1 : 1;
	}
	if (rc < 0)
		return cannot(&c, err.text, r);
	if (rc == 0) { /* none failed: the last one speaks for all */
		c.seed += s.seeds - 1;
		c.ordering = s.orders[s.norders - 1];
		bf_trial_once(&c, NULL, r);
	}
	return finish(&c, runs, r);
}

bool bf_trial_exhaust_all(const struct bf_trial_spec *spec, const struct bf_trial_exhaust_opts *opts,
			  struct bf_trial_covered *covered, struct bf_trial_result *r)
{
	const struct bf_trial_exhaust_opts zero = { 0 }, *o = opts ? opts : &zero;
	struct bf_search_part parts[BF_TRIAL_SIZES];
	struct bf_trial_choice c = first_choice(spec);
	struct bf_search_family family;
	const struct bf_exhaust_opts how = { .family = &family,
					     .delays = o->delays ? o->delays : DELAYS,
					     .stalls = o->stalls,
					     .runs = o->runs ? o->runs : RUNS };
	struct bf_exhaust_result out;
	struct bf_error err = { 0 };
	int rc;

	if (spec->nsizes > BF_TRIAL_SIZES)
		return cannot(&c, "too many sizes", r);
	family_of(spec, parts, &family);
	c.ordering = BF_ORDER_ADVERSARIAL;
	if (o->choices) {
		c.list = o->choices;
		bf_trial_once(&c, NULL, r);
		return finish(&c, 1, r);
	}
	rc = bf_exhaust(&how, &c, r, &out, &err);
	if (rc < 0)
		return cannot(&c, err.text, r);
	if (covered) {
		*covered = (struct bf_trial_covered){
			.runs = out.runs, .delays = out.delays, .whole = out.whole, .all = out.all
		};
		memcpy(covered->choices, out.list, sizeof(covered->choices));
	}
	c.list = rc ? out.list : NULL;
	return finish(&c, out.runs, r);
}

bool bf_trial_exhaust(const struct bf_trial_spec *spec, const struct bf_trial_exhaust_opts *opts,
		      struct bf_trial_covered *covered, struct bf_trial_result *r)
{
	if (bf_trial_asked(spec, r)) {
		if (covered)
			*covered = (struct bf_trial_covered){ .runs = r->runs };
		return r->ok;
	}
	return bf_trial_exhaust_all(spec, opts, covered, r);
}
