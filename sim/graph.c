/* The graph as accesses build it: events, guesses, and the choices among what the axioms (sim/graph_axioms.c) permit.
 */
#include "sim/graph.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "sim/agent_internal.h"
#include "sim/graph_internal.h"

int bf_graph_create(struct bf_sim *sim, struct bf_graph_values *values, struct bf_graph **out)
{
	struct bf_graph *g = calloc(1, sizeof(*g));

	*out = NULL;
	if (!g)
		return bf_fail(&sim->error, -ENOMEM, "no memory for an execution graph");
	g->sim = sim;
	g->values = values;
	sim->graph = g;
	*out = g;
	return 0;
}

void bf_graph_destroy(struct bf_graph *g)
{
	if (!g)
		return;
	g->sim->graph = NULL;
	free(g);
}

void bf_graph_reset(struct bf_graph *g)
{
	g->n = g->ninitial;
	g->end = BF_GRAPH_GOOD;
	memset(g->later, 0, sizeof(g->later));
	memset(g->sc, 0, sizeof(g->sc));
	for (uint32_t i = 0; i < g->nthreads; i++)
		g->thread[i].finished = false;
}

int bf_graph_thread(struct bf_graph *g, const struct bf_agent *a, uint32_t cta, uint32_t gpu)
{
	if (g->nthreads == BF_GRAPH_THREADS)
		return -E2BIG;
	g->thread[g->nthreads++] = (struct bf_graph_thread){ .agent = a, .cta = cta, .gpu = gpu };
	return 0;
}

static uint32_t location_of(const struct bf_graph *g, const void *at)
{
	uint32_t i = 0;

	while (i < g->nlocations && g->location[i].at != at)
		i++;
	return i;
}

int bf_graph_location(struct bf_graph *g, const void *at, const void *memory, const void *generic, uint64_t initial)
{
	struct bf_graph_location *l = &g->location[g->nlocations];

	if (g->nlocations == BF_GRAPH_LOCATIONS || g->n == BF_GRAPH_EVENTS)
		return -E2BIG;
	l->at = at;
	g->nlocations++;
	l->memory = location_of(g, memory);
	l->generic = location_of(g, generic);
	if (memory == at)
		g->event[g->n++] = (struct bf_graph_event){ .kind = BF_GRAPH_WRITE,
							    .thread = BF_GRAPH_THREADS,
							    .memory = l->memory,
							    .generic = l->generic,
							    .value = initial,
							    .from = -1,
							    .pair = -1 };
	g->ninitial = g->n;
	return 0;
}

static struct bf_graph_thread *thread_of(const struct bf_graph *g, const struct bf_agent *a)
{
	const struct bf_graph_thread *t = g->thread;

	while (t < g->thread + g->nthreads && t->agent != a)
		t++;
	return (struct bf_graph_thread *)(uintptr_t)t;
}

void bf_graph_hint(struct bf_graph *g, const struct bf_agent *a, enum bf_proxy proxy, uint64_t data, uint64_t control)
{
	struct bf_graph_thread *t = thread_of(g, a);

	t->proxy = proxy;
	t->depends = data | control;
}

uint64_t bf_graph_loaded(const struct bf_graph *g, const struct bf_agent *a)
{
	return thread_of(g, a)->loaded;
}

void bf_graph_finished(struct bf_graph *g, const struct bf_agent *a)
{
	thread_of(g, a)->finished = true;
}

/* False: this run leads nowhere. */
static bool holds(struct bf_graph *g)
{
	if (g->end == BF_GRAPH_GOOD && !bf_graph_consistent(g))
		g->end = BF_GRAPH_FORBIDDEN;
	return g->end == BF_GRAPH_GOOD;
}

/* The next event of the agent's thread, its fields set but for what its kind adds. NULL: the run is given up. */
static struct bf_graph_event *enter(struct bf_agent *a, enum bf_graph_kind kind, const void *p, enum bf_scope scope)
{
	struct bf_graph *g = a->sim->graph;
	struct bf_graph_thread *t = thread_of(g, a);
	struct bf_graph_event *e;

	const uint32_t l = p ? location_of(g, p) : 0;

	if (g->end == BF_GRAPH_GOOD &&
	    (g->n == BF_GRAPH_EVENTS || t == g->thread + g->nthreads || (p && l == g->nlocations)))
		g->end = BF_GRAPH_TOO_BIG;
	if (g->end != BF_GRAPH_GOOD)
		return NULL;
	e = &g->event[g->n];
	*e = (struct bf_graph_event){ .kind = (uint8_t)kind,
				      .scope = (uint8_t)scope,
				      .proxy = (uint8_t)t->proxy,
				      .thread = (uint32_t)(t - g->thread),
				      .depends = t->depends,
				      .from = -1,
				      .pair = -1 };
	if (p) {
		e->memory = g->location[l].memory;
		e->generic = g->location[l].generic;
	}
	return e;
}

static void leave(struct bf_agent *a)
{
	struct bf_graph_thread *t = thread_of(a->sim->graph, a);

	t->proxy = BF_PROXY_GENERIC;
	t->depends = 0;
}

/* ---- loads ---- */

/* Values that another thread may write there later: each once. */
static uint32_t guesses(const struct bf_graph *g, const struct bf_graph_event *e, uint64_t *out)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < g->values->known; i++) {
		const uint32_t by = g->values->list[i].thread;
		uint32_t k = 0;

		if (g->values->list[i].location != e->memory || by == e->thread || by >= g->nthreads ||
		    g->thread[by].finished)
			continue;
		while (k < n && out[k] != g->values->list[i].value)
			k++;
		if (k == n)
			out[n++] = g->values->list[i].value;
	}
	return n;
}

/* Decides what the load that was entered last sees. */
static uint64_t see(struct bf_agent *a, struct bf_graph_event *e)
{
	struct bf_graph *g = a->sim->graph;
	uint64_t guess[BF_GRAPH_VALUES];
	int16_t write[BF_GRAPH_EVENTS];
	uint32_t writes = 0, taken;

	e->guessed = false;
	g->n++;
	for (uint32_t i = g->n - 1; i-- > 0;) {
		if (g->event[i].kind != BF_GRAPH_WRITE || g->event[i].memory != e->memory)
			continue;
		e->from = (int16_t)i;
		if (bf_graph_consistent(g))
			write[writes++] = (int16_t)i;
	}
	e->from = -1;
	taken = writes + guesses(g, e, guess);
	if (!taken) {
		g->end = BF_GRAPH_FORBIDDEN;
		return 0;
	}
	taken = bf_choose(a->sim, BF_CHOICE_READ, taken);
	if (taken < writes) {
		e->from = write[taken];
		e->value = g->event[e->from].value;
	} else {
		e->guessed = true;
		e->value = guess[taken - writes];
	}
	thread_of(g, a)->loaded = 1ull << (g->n - 1);
	return e->value;
}

static uint64_t number(const void *data, uint32_t len)
{
	uint64_t v = 0;

	memcpy(&v, data, len < sizeof(v) ? len : sizeof(v));
	return v;
}

void bf_graph_load(struct bf_agent *a, const void *p, void *data, uint32_t len, enum bf_sem sem, enum bf_scope scope)
{
	struct bf_graph_event *e = enter(a, BF_GRAPH_READ, p, scope);
	uint64_t value;

	memset(data, 0, len);
	if (!e)
		return;
	e->strong = sem != BF_WEAK;
	e->ordering = sem == BF_ACQUIRE || sem == BF_ACQ_REL;
	value = see(a, e);
	memcpy(data, &value, len < sizeof(value) ? len : sizeof(value));
	leave(a);
}

/* ---- stores ---- */

static void remember(struct bf_graph *g, const struct bf_graph_event *e)
{
	struct bf_graph_values *v = g->values;

	for (uint32_t i = 0; i < v->count; i++)
		if (v->list[i].thread == e->thread && v->list[i].location == e->memory && v->list[i].value == e->value)
			return;
	if (v->count == BF_GRAPH_VALUES) {
		v->overrun = true;
		return;
	}
	v->list[v->count].thread = e->thread;
	v->list[v->count].location = e->memory;
	v->list[v->count++].value = e->value;
}

/* Morally strong writes of one location are ordered: a choice where nothing else decides it yet. */
static void order_write(struct bf_graph *g, uint32_t w)
{
	for (uint32_t i = 0; i < w && g->end == BF_GRAPH_GOOD; i++) {
		if (g->event[i].kind != BF_GRAPH_WRITE || g->event[i].memory != g->event[w].memory ||
		    !bf_graph_morally_strong(g, i, w) || bf_graph_coherent(g, i, w) || bf_graph_coherent(g, w, i))
			continue;
		if (bf_choose(g->sim, BF_CHOICE_ORDER, 2))
			g->later[w] |= 1ull << i;
		else
			g->later[i] |= 1ull << w;
		holds(g);
	}
}

/* Loads that guessed this value may have meant this write. */
static void keep_guesses(struct bf_graph *g, uint32_t w)
{
	for (uint32_t i = 0; i < w; i++) {
		struct bf_graph_event *r = &g->event[i];

		if (!r->guessed || r->from >= 0 || r->memory != g->event[w].memory || r->value != g->event[w].value ||
		    r->thread == g->event[w].thread)
			continue;
		r->from = (int16_t)w;
		if (!bf_graph_consistent(g) || bf_choose(g->sim, BF_CHOICE_READ, 2)) {
			r->from = -1;
			bf_graph_consistent(g); /* what follows from the graph is as it was */
		}
	}
}

static void write(struct bf_graph *g)
{
	const uint32_t w = g->n++;

	assert(w < BF_GRAPH_EVENTS);
	/* Even of a run that is forbidden: another order may make it good. Guesses alone prove nothing. */
	if (bf_graph_whole(g))
		remember(g, &g->event[w]);
	if (holds(g))
		order_write(g, w);
	if (g->end == BF_GRAPH_GOOD)
		keep_guesses(g, w);
}

void bf_graph_store(struct bf_agent *a, void *p, const void *data, uint32_t len, enum bf_sem sem, enum bf_scope scope)
{
	struct bf_graph_event *e = enter(a, BF_GRAPH_WRITE, p, scope);

	if (!e)
		return;
	e->strong = sem != BF_WEAK;
	e->ordering = sem == BF_RELEASE || sem == BF_ACQ_REL;
	e->value = number(data, len);
	write(a->sim->graph);
	leave(a);
}

void bf_graph_modify(struct bf_agent *a, void *p, uint32_t len, bf_atomic_fn *fn, void *arg, void *old, void *now,
		     enum bf_sem sem, enum bf_scope scope)
{
	struct bf_graph_event *r = enter(a, BF_GRAPH_READ, p, scope), *w;
	const uint64_t mask = len < 8 ? (1ull << 8 * len) - 1 : UINT64_MAX;
	uint64_t value;

	if (!r)
		return;
	r->strong = true;
	r->ordering = sem == BF_ACQUIRE || sem == BF_ACQ_REL;
	value = see(a, r) & mask;
	memcpy(old, &value, len < 8 ? len : 8);
	if (!fn(arg, old, now)) /* what compares and fails writes what it has read */
		memcpy(now, old, len);
	w = enter(a, BF_GRAPH_WRITE, p, scope);
	if (!w)
		return;
	w->strong = true;
	w->ordering = sem == BF_RELEASE || sem == BF_ACQ_REL;
	w->value = number(now, len);
	w->pair = (int16_t)(w - a->sim->graph->event - 1);
	w->depends |= 1ull << w->pair;
	write(a->sim->graph);
	leave(a);
}

/* ---- fences and barriers ---- */

void bf_graph_fence(struct bf_agent *a, bool sc, enum bf_scope scope)
{
	struct bf_graph *g = a->sim->graph;
	struct bf_graph_event *e = enter(a, sc ? BF_GRAPH_FENCE_SC : BF_GRAPH_FENCE, NULL, scope);
	const uint32_t f = g->n;

	if (!e)
		return;
	g->n++;
	e->strong = true;
	e->proxy = BF_PROXY_GENERIC;
	holds(g);
	for (uint32_t i = 0; sc && i < f && g->end == BF_GRAPH_GOOD; i++) {
		if (g->event[i].kind != BF_GRAPH_FENCE_SC || g->event[i].thread == e->thread ||
		    !bf_graph_morally_strong(g, i, f) || g->cause[i] >> f & 1)
			continue;
		if (g->cause[f] >> i & 1 || bf_choose(a->sim, BF_CHOICE_ORDER, 2))
			g->sc[f] |= 1ull << i;
		else
			g->sc[i] |= 1ull << f;
		holds(g);
	}
	leave(a);
}

void bf_graph_fence_proxy(struct bf_agent *a, enum bf_proxy proxy)
{
	struct bf_graph_event *e = enter(a, BF_GRAPH_FENCE_PROXY, NULL, BF_SCOPE_CTA);

	if (!e)
		return;
	e->proxy = (uint8_t)proxy;
	a->sim->graph->n++;
	holds(a->sim->graph);
	leave(a);
}

void bf_graph_barrier(struct bf_agent *a, uint64_t key, bool waits)
{
	struct bf_graph *g = a->sim->graph;
	struct bf_graph_event *e = enter(a, BF_GRAPH_BARRIER, NULL, BF_SCOPE_CTA);

	if (!e)
		return;
	e->value = key;
	e->ordering = waits;
	for (uint32_t i = 0; i < g->n; i++)
		if (g->event[i].kind == BF_GRAPH_BARRIER && g->event[i].thread == e->thread && g->event[i].value == key)
			e->round++;
	g->n++;
	holds(g);
	leave(a);
}

void bf_graph_meet(struct bf_agent *a, uint64_t key)
{
	struct bf_graph *g = a->sim->graph;
	const struct bf_graph_thread *self = thread_of(g, a);
	uint64_t came = 0;

	for (uint32_t pass = 0; pass < 2; pass++) {
		for (uint32_t i = g->ninitial; i < g->n; i++) {
			struct bf_graph_event *e = &g->event[i];

			if (e->kind != BF_GRAPH_BARRIER || e->value != key || g->thread[e->thread].cta != self->cta ||
			    g->thread[e->thread].gpu != self->gpu)
				continue;
			came |= 1ull << i;
			if (pass && !e->met)
				e->met = came;
		}
	}
	holds(g);
}

/* ---- the end ---- */

bool bf_graph_whole(const struct bf_graph *g)
{
	for (uint32_t i = 0; i < g->n; i++)
		if (g->event[i].guessed && g->event[i].from < 0)
			return false;
	return true;
}

enum bf_graph_end bf_graph_ended(const struct bf_graph *g)
{
	return g->end;
}

uint64_t bf_graph_final(struct bf_graph *g, const void *at)
{
	const uint32_t memory = g->location[location_of(g, at)].memory;
	uint32_t last[BF_GRAPH_EVENTS], n = 0;

	bf_graph_consistent(g);
	for (uint32_t i = 0; i < g->n; i++) {
		bool followed = false;

		if (g->event[i].kind != BF_GRAPH_WRITE || g->event[i].memory != memory)
			continue;
		for (uint32_t k = 0; k < g->n; k++)
			followed |= bf_graph_coherent(g, i, k);
		if (!followed)
			last[n++] = i;
	}
	return n ? g->event[last[bf_choose(g->sim, BF_CHOICE_ORDER, n)]].value : 0;
}
