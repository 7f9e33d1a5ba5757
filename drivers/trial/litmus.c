#include "drivers/trial/litmus.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "drivers/trial/litmus_internal.h"
#include "sim/sim_internal.h"

#define VISITS 2u
#define EXECUTIONS 2000000ull

/* ---- one run ---- */

/* Each location on a line of its own, so that nothing but its name is shared. */
uint8_t *bf_litmus_at(const struct bf_litmus_world *w, uint32_t location)
{
	const uint32_t line = w->graph ? location : w->t->location[location].memory;

	return w->memory->bytes + (size_t)line * BF_LINE;
}

static void fill_locations(struct bf_litmus_world *w)
{
	for (uint32_t i = 0; i < w->t->nlocations; i++) {
		const struct bf_litmus_location *l = &w->t->location[i];

		if (l->memory == i)
			memcpy(bf_litmus_at(w, i), &l->initial, sizeof(l->initial));
	}
}

static int declare_locations(struct bf_litmus_world *w)
{
	int rc = 0;

	/* Memory before its aliases. */
	for (uint32_t pass = 0; !rc && w->graph && pass < 2; pass++) {
		for (uint32_t i = 0; !rc && i < w->t->nlocations; i++) {
			const struct bf_litmus_location *l = &w->t->location[i];

			if ((l->memory == i) == (pass == 0))
				rc = bf_graph_location(w->graph, bf_litmus_at(w, i), bf_litmus_at(w, l->memory),
						       bf_litmus_at(w, l->generic), (uint64_t)l->initial);
		}
	}
	return rc;
}

/* The domain of a block or of its GPU (`cta` is BF_LITMUS_ANY); NULL on lack of memory. */
static struct bf_domain *domain_of(struct bf_litmus_world *w, uint32_t gpu, uint32_t cta)
{
	struct bf_domain *parent = NULL;

	for (uint32_t i = 0; i < w->ndomains; i++)
		if (w->domain[i].gpu == gpu && w->domain[i].cta == cta)
			return w->domain[i].domain;
	if (cta != BF_LITMUS_ANY && !(parent = domain_of(w, gpu, BF_LITMUS_ANY)))
		return NULL;
	w->domain[w->ndomains].gpu = gpu;
	w->domain[w->ndomains].cta = cta;
	if (bf_domain_create(w->sim, parent ? BF_SCOPE_CTA : BF_SCOPE_GPU, parent, &w->domain[w->ndomains].domain))
		return NULL;
	return w->domain[w->ndomains++].domain;
}

static int open_thread(struct bf_litmus_world *w, uint32_t i)
{
	const struct bf_litmus_thread *t = &w->t->thread[i];
	struct bf_litmus_runner *r = &w->runner[i];
	char name[16];
	struct bf_view_opts view = {
		.ordering = w->t->ordering, .space = &w->space, .cost = &bf_cost_zero, .name = name
	};
	struct bf_agent_opts agent = { .name = name, .main = bf_litmus_thread_main, .arg = r };
	int rc;

	r->w = w;
	r->t = t;
	snprintf(name, sizeof(name), "thread%u", i);
	if (!w->graph && view.ordering == BF_ORDER_GPU && !(view.domain = domain_of(w, t->gpu, t->cta)))
		return -ENOMEM;
	rc = bf_view_create(w->sim, &view, &r->view);
	agent.view = r->view;
	if (!rc)
		rc = bf_agent_create(w->sim, &agent, &r->agent);
	return !rc && w->graph ? bf_graph_thread(w->graph, r->agent, t->cta, t->gpu) : rc;
}

static int open_world(struct bf_litmus_world *w)
{
	const struct bf_region_opts memory = {
		.name = "locations", .kind = BF_MEM_DRAM, .size = BF_LITMUS_PAGE, .bytes = w->bytes
	};
	int rc = bf_sim_create(1, &w->sim);

	if (rc)
		return rc;
	memset(w->bytes, 0, BF_LITMUS_PAGE);
	w->sim->chooser = &w->choices.chooser;
	rc = bf_space_init(&w->space, w->sim, "litmus", 0);
	w->has_space = !rc;
	if (!rc)
		rc = bf_region_create(&w->space, &memory, &w->memory);
	if (!rc && !w->opts.buffers)
		rc = bf_graph_create(w->sim, &w->values, &w->graph);
	if (!rc)
		rc = declare_locations(w);
	for (uint32_t i = 0; !rc && i < w->t->nthreads; i++)
		rc = open_thread(w, i);
	return rc;
}

static void close_world(struct bf_litmus_world *w)
{
	for (uint32_t i = 0; i < w->t->nthreads; i++)
		bf_view_destroy(w->runner[i].view);
	while (w->ndomains)
		bf_domain_destroy(w->domain[--w->ndomains].domain);
	bf_graph_destroy(w->graph);
	if (w->has_space)
		bf_space_fini(&w->space);
	bf_sim_destroy(w->sim);
	free(w->bytes);
}

/* ---- the outcome ---- */

static int64_t final_of(struct bf_litmus_world *w, uint32_t location)
{
	const uint32_t memory = w->t->location[location].memory;

	if (!(w->decided >> memory & 1)) {
		w->decided |= 1u << memory;
		if (w->graph)
			w->final[memory] = (int64_t)bf_graph_final(w->graph, bf_litmus_at(w, memory));
		else
			memcpy(&w->final[memory], bf_litmus_at(w, memory), sizeof(int64_t));
	}
	return w->final[memory];
}

static int64_t value_of(struct bf_litmus_world *w, const struct bf_litmus_value *v)
{
	switch (v->kind) {
	case BF_LITMUS_REGISTER:
		return w->runner[v->thread].value[v->index];
	case BF_LITMUS_MEMORY:
		return final_of(w, v->index);
	default:
		return v->number;
	}
}

bool bf_litmus_compare(enum bf_litmus_compare c, int64_t a, int64_t b)
{
	switch (c) {
	case BF_LITMUS_EQ:
		return a == b;
	case BF_LITMUS_NE:
		return a != b;
	case BF_LITMUS_LT:
		return a < b;
	case BF_LITMUS_LE:
		return a <= b;
	case BF_LITMUS_GT:
		return a > b;
	default:
		return a >= b;
	}
}

/* The depth is that of the text, which its reader bounds. */
static bool holds(struct bf_litmus_world *w, uint32_t at)
{
	const struct bf_litmus_node *n = &w->t->node[at];
	bool all = true, any = false;

	if (n->kind == BF_LITMUS_COMPARE)
		return bf_litmus_compare(n->compare, value_of(w, &n->a), value_of(w, &n->b));
	for (uint32_t i = at + 1; i < n->next; i = w->t->node[i].next) {
		const bool yes = holds(w, i);

		all &= yes;
		any |= yes;
	}
	return n->kind == BF_LITMUS_AND_ALL ? all : n->kind == BF_LITMUS_OR_ANY ? any : !any;
}

/* ---- all runs ---- */

/* Everything as it was before the first one; the threads' agents are parked. */
static void begin_run(struct bf_litmus_world *w)
{
	w->too_often = w->over = false;
	w->decided = 0;
	fill_locations(w);
	if (w->graph)
		bf_graph_reset(w->graph);
	for (uint32_t i = 0; i < w->t->nthreads; i++) {
		struct bf_litmus_runner *r = &w->runner[i];

		memcpy(r->value, r->t->initial, sizeof(r->value));
		memset(r->depends, 0, sizeof(r->depends));
		memset(r->visits, 0, sizeof(r->visits));
		r->control = 0;
		r->done = false;
	}
}

static bool all_done(const struct bf_litmus_world *w)
{
	for (uint32_t i = 0; i < w->t->nthreads; i++)
		if (!w->runner[i].done)
			return false;
	return true;
}

static void wake_unfinished(struct bf_litmus_world *w)
{
	for (uint32_t i = 0; i < w->t->nthreads; i++)
		if (!w->runner[i].done)
			bf_agent_unpark(w->runner[i].agent);
	bf_sim_fire_due(w->sim, w->graph ? BF_NEVER : 0);
}

/* Threads that wait for ever are sent home. */
static void end_run(struct bf_litmus_world *w)
{
	w->over = true;
	while (!all_done(w))
		wake_unfinished(w);
	if (!w->graph) /* what is still on its way arrives, and copies go */
		bf_litmus_settle(w);
}

/* True: it came to its end. */
static bool count_run(struct bf_litmus_world *w, bool done, struct bf_litmus_result *out)
{
	if (w->too_often)
		out->bounded++;
	else if (w->graph && bf_graph_ended(w->graph) != BF_GRAPH_GOOD)
		out->pruned++;
	else if (!done)
		out->stuck++;
	else if (w->graph && !bf_graph_whole(w->graph))
		out->pruned++;
	else
		return ++out->executions;
	return false;
}

static int run_once(struct bf_litmus_world *w, struct bf_litmus_result *out, struct bf_error *err)
{
	bool done;

	bf_enumeration_begin(&w->choices);
	begin_run(w);
	wake_unfinished(w);
	done = w->graph ? all_done(w) : bf_litmus_direct(w);
	if (w->graph && bf_graph_ended(w->graph) == BF_GRAPH_TOO_BIG)
		return bf_fail(err, -E2BIG, "more than %u accesses in one run", BF_GRAPH_EVENTS);
	out->seen = count_run(w, done, out) && holds(w, 0);
	if (out->seen)
		bf_enumeration_print(&w->choices, out->choices, sizeof(out->choices));
	end_run(w);
	return 0;
}

/* Until the outcome was seen, or all runs were. */
static int enumerate(struct bf_litmus_world *w, struct bf_litmus_result *out, struct bf_error *err)
{
	uint64_t runs = 0;
	int rc;

	do {
		rc = run_once(w, out, err);
		if (rc || out->seen)
			return rc;
		if (++runs == w->opts.executions) {
			out->whole = false;
			return 0;
		}
	} while (bf_enumeration_next(&w->choices));
	if (w->choices.failed)
		return bf_fail(err, -EIO, "no memory for choices, or a run did not repeat itself");
	out->whole = true;
	return 0;
}

/* First without guesses; then with those values that somebody was seen to write, until no other one turns up. */
static int enumerate_all(struct bf_litmus_world *w, struct bf_litmus_result *out, struct bf_error *err)
{
	int rc;

	do {
		w->values.known = w->values.count;
		bf_enumeration_init(&w->choices, BF_CHOICE_ALL);
		w->choices.chooser.untimed = true;
		rc = enumerate(w, out, err);
		bf_enumeration_fini(&w->choices);
	} while (!rc && !out->seen && out->whole && w->values.count > w->values.known);
	out->whole &= !w->values.overrun;
	return rc;
}

static int open_failed(const struct bf_litmus_world *w, int rc, struct bf_error *err)
{
	const char *why = w->sim && w->sim->error.text[0] ? w->sim->error.text : "no memory for a litmus test";

	return bf_fail(err, rc, "%s", rc == -E2BIG ? "too many threads or locations" : why);
}

int bf_litmus_run(const struct bf_litmus *t, const struct bf_litmus_opts *opts, struct bf_litmus_result *out,
		  struct bf_error *err)
{
	struct bf_litmus_world *w = calloc(1, sizeof(*w));
	int rc;

	memset(out, 0, sizeof(*out));
	if (!w)
		return bf_fail(err, -ENOMEM, "no memory for a litmus test");
	w->t = t;
	w->opts = *opts;
	w->opts.buffers |= t->ordering == BF_ORDER_TSO;
	w->opts.visits = w->opts.visits ? w->opts.visits : VISITS;
	w->opts.executions = w->opts.executions ? w->opts.executions : EXECUTIONS;
	w->bytes = aligned_alloc(BF_LITMUS_PAGE, BF_LITMUS_PAGE);
	rc = w->bytes ? open_world(w) : -ENOMEM;
	rc = rc ? open_failed(w, rc, err) : enumerate_all(w, out, err);
	close_world(w);
	free(w);
	return rc;
}
