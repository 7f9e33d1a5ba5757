/*
 * The axioms of the PTX memory model over one execution graph (PTX ISA 8.7, "Memory Consistency Model": moral strength,
 * release and acquire patterns, observation, synchronizes-with, base causality order, proxy-preserved base causality
 * order, causality order, then the axioms in the order of that text).
 */
#include <string.h>

#include "sim/graph_internal.h"

#define BIT(i) (1ull << (i))

/* The relations of one check. */
struct relations {
	const struct bf_graph *g;
	uint32_t n;
	bf_graph_relation po, strong; /* program order; morally strong */
	bf_graph_relation rf, fr;     /* reads-from, from-reads */
	bf_graph_relation observed;   /* observation order */
	bf_graph_relation causality;
};

static void close(uint64_t *r, uint32_t n)
{
	for (uint32_t k = 0; k < n; k++)
		for (uint32_t i = 0; i < n; i++)
			if (r[i] >> k & 1)
				r[i] |= r[k];
}

static bool has_cycle(uint64_t *r, uint32_t n)
{
	close(r, n);
	for (uint32_t i = 0; i < n; i++)
		if (r[i] >> i & 1)
			return true;
	return false;
}

static bool is_memory(const struct bf_graph_event *e)
{
	return e->kind == BF_GRAPH_READ || e->kind == BF_GRAPH_WRITE;
}

static bool is_fence(const struct bf_graph_event *e)
{
	return e->kind == BF_GRAPH_FENCE || e->kind == BF_GRAPH_FENCE_SC;
}

static bool same_cta(const struct bf_graph *g, uint32_t s, uint32_t t)
{
	return g->thread[s].cta == g->thread[t].cta && g->thread[s].gpu == g->thread[t].gpu;
}

/* Does the scope of an event include a thread? */
static bool includes(const struct bf_graph *g, const struct bf_graph_event *e, uint32_t thread)
{
	switch ((enum bf_scope)e->scope) {
	case BF_SCOPE_CTA:
		return same_cta(g, e->thread, thread);
	case BF_SCOPE_GPU:
		return g->thread[e->thread].gpu == g->thread[thread].gpu;
	default:
		return true;
	}
}

bool bf_graph_morally_strong(const struct bf_graph *g, uint32_t i, uint32_t k)
{
	const struct bf_graph_event *a = &g->event[i], *b = &g->event[k];

	if (i == k || a->thread == BF_GRAPH_THREADS || b->thread == BF_GRAPH_THREADS || a->proxy != b->proxy ||
	    (is_memory(a) && is_memory(b) && a->generic != b->generic))
		return false;
	return a->thread == b->thread ||
	       (a->strong && b->strong && includes(g, a, b->thread) && includes(g, b, a->thread));
}

/* Reads-from, its morally strong part with the two halves of atomics: observation order. */
static void observe(struct relations *x)
{
	for (uint32_t i = 0; i < x->n; i++) {
		const struct bf_graph_event *e = &x->g->event[i];

		if (e->kind == BF_GRAPH_READ && e->from >= 0) {
			x->rf[e->from] |= BIT(i);
			x->observed[e->from] |= x->strong[e->from] & BIT(i);
		}
		if (e->kind == BF_GRAPH_WRITE && e->thread != BF_GRAPH_THREADS && e->pair >= 0)
			x->observed[e->pair] |= BIT(i);
	}
	close(x->observed, x->n);
	for (uint32_t i = 0; i < x->n; i++) /* from a write to reads */
		if (x->g->event[i].kind != BF_GRAPH_WRITE)
			x->observed[i] = 0;
}

/* Strong writes with which a release pattern that begins at `i` may end. */
static uint64_t released(const struct relations *x, uint32_t i)
{
	const struct bf_graph_event *e = &x->g->event[i];
	uint64_t to = 0;

	if (!is_fence(e) && !(e->kind == BF_GRAPH_WRITE && e->ordering))
		return 0;
	for (uint32_t k = i; k < x->n; k++) {
		const struct bf_graph_event *w = &x->g->event[k];

		if (w->kind == BF_GRAPH_WRITE && w->strong && w->thread == e->thread &&
		    (is_fence(e) || (w->generic == e->generic && w->memory == e->memory)))
			to |= BIT(k);
	}
	return to;
}

/* Strong reads with which an acquire pattern that ends at `i` may begin. */
static uint64_t acquired(const struct relations *x, uint32_t i)
{
	const struct bf_graph_event *e = &x->g->event[i];
	uint64_t from = 0;

	if (!is_fence(e) && !(e->kind == BF_GRAPH_READ && e->ordering))
		return 0;
	for (uint32_t k = 0; k <= i; k++) {
		const struct bf_graph_event *r = &x->g->event[k];

		if (r->kind == BF_GRAPH_READ && r->strong && r->thread == e->thread &&
		    (is_fence(e) || (r->generic == e->generic && r->memory == e->memory)))
			from |= BIT(k);
	}
	return from;
}

static bool meet(const struct relations *x, uint32_t i, uint32_t k)
{
	const struct bf_graph_event *a = &x->g->event[i], *b = &x->g->event[k];

	if (b->kind == BF_GRAPH_BARRIER && b->met)
		return b->ordering && b->met >> i & 1 && a->thread != b->thread;
	return a->kind == BF_GRAPH_BARRIER && b->kind == BF_GRAPH_BARRIER && a->thread != b->thread &&
	       a->value == b->value && a->round == b->round && b->ordering && same_cta(x->g, a->thread, b->thread);
}

/* Program order, synchronizes-with, the order of fence.sc, barriers: base causality order. */
static void base_causality(struct relations *x, uint64_t *cause)
{
	uint64_t ends[BF_GRAPH_EVENTS], seen[BF_GRAPH_EVENTS];

	for (uint32_t i = 0; i < x->n; i++) {
		ends[i] = acquired(x, i);
		seen[i] = 0;
		for (uint64_t w = released(x, i); w; w &= w - 1)
			seen[i] |= x->observed[__builtin_ctzll(w)];
	}
	for (uint32_t i = 0; i < x->n; i++) {
		cause[i] = x->po[i] | x->g->sc[i];
		for (uint32_t k = 0; k < x->n; k++)
			if ((x->strong[i] >> k & 1 && seen[i] & ends[k]) || meet(x, i, k))
				cause[i] |= BIT(k);
	}
	close(cause, x->n);
}

/* Proxy fences of `e`'s proxy by its block. */
static uint64_t fences_of(const struct relations *x, const struct bf_graph_event *e)
{
	uint64_t f = 0;

	for (uint32_t i = 0; i < x->n; i++) {
		const struct bf_graph_event *p = &x->g->event[i];

		if (p->kind == BF_GRAPH_FENCE_PROXY && p->proxy == e->proxy && same_cta(x->g, p->thread, e->thread))
			f |= BIT(i);
	}
	return f;
}

static uint64_t after_any(const uint64_t *cause, uint64_t from)
{
	uint64_t to = 0;

	for (; from; from &= from - 1)
		to |= cause[__builtin_ctzll(from)];
	return to;
}

/* `y` is reached from a place where what `reach` holds is known to the generic proxy. */
static bool arrives(const struct relations *x, const uint64_t *cause, uint64_t reach, uint32_t y)
{
	const struct bf_graph_event *e = &x->g->event[y];

	if (e->proxy == BF_PROXY_GENERIC && reach >> y & 1)
		return true;
	for (uint64_t f = reach & fences_of(x, e); f; f &= f - 1)
		if (cause[__builtin_ctzll(f)] >> y & 1)
			return true;
	return false;
}

/*
 * Proxy-preserved base causality order: between generic accesses of one address; within one proxy and block; else out
 * of a proxy and into another by its fence, and from one address to its alias by fence.proxy.alias.
 */
static void preserve(struct relations *x, const uint64_t *cause)
{
	const struct bf_graph *g = x->g;
	uint64_t aliases = 0;

	for (uint32_t i = 0; i < x->n; i++)
		if (g->event[i].kind == BF_GRAPH_FENCE_PROXY && g->event[i].proxy == BF_PROXY_ALIAS)
			aliases |= BIT(i);
	for (uint32_t i = 0; i < x->n; i++) {
		const struct bf_graph_event *a = &g->event[i];
		uint64_t reach, aliased;

		if (!is_memory(a) || a->thread == BF_GRAPH_THREADS)
			continue;
		reach = (a->proxy == BF_PROXY_GENERIC ? cause[i] : 0) | after_any(cause, cause[i] & fences_of(x, a));
		aliased = after_any(cause, reach & aliases);
		for (uint32_t k = 0; k < x->n; k++) {
			const struct bf_graph_event *b = &g->event[k];

			if (!is_memory(b) || b->thread == BF_GRAPH_THREADS || a->memory != b->memory)
				continue;
			if ((a->generic == b->generic &&
			     ((a->proxy == b->proxy && same_cta(g, a->thread, b->thread) && cause[i] >> k & 1) ||
			      arrives(x, cause, reach, k))) ||
			    arrives(x, cause, aliased, k))
				x->causality[i] |= BIT(k);
		}
	}
}

/* Causality order: with what was observed before. */
static void extend(struct relations *x)
{
	bf_graph_relation preserved;

	memcpy(preserved, x->causality, sizeof(preserved));
	for (uint32_t i = 0; i < x->n; i++)
		x->causality[i] |= after_any(preserved, x->observed[i]);
}

/* What was chosen, initial values first, what causality orders; then from-reads. */
static void coherence(struct relations *x, uint64_t *co)
{
	const struct bf_graph *g = x->g;

	for (uint32_t i = 0; i < x->n; i++) {
		const struct bf_graph_event *a = &g->event[i];

		co[i] = g->later[i];
		for (uint32_t k = 0; a->kind == BF_GRAPH_WRITE && k < x->n; k++) {
			const struct bf_graph_event *b = &g->event[k];

			if (i != k && b->kind == BF_GRAPH_WRITE && a->memory == b->memory &&
			    (a->thread == BF_GRAPH_THREADS || x->causality[i] >> k & 1))
				co[i] |= BIT(k);
		}
	}
	close(co, x->n);
	for (uint32_t i = 0; i < x->n; i++)
		if (g->event[i].kind == BF_GRAPH_READ && g->event[i].from >= 0)
			x->fr[i] = co[g->event[i].from];
}

static bool fence_sc_holds(const struct relations *x, const uint64_t *cause)
{
	for (uint32_t i = 0; i < x->n; i++)
		for (uint64_t later = x->g->sc[i]; later; later &= later - 1)
			if (cause[__builtin_ctzll(later)] >> i & 1)
				return false;
	return true;
}

/* No morally strong write between the halves of an atomic. */
static bool atomicity_holds(const struct relations *x, const uint64_t *co)
{
	for (uint32_t w = 0; w < x->n; w++) {
		const struct bf_graph_event *e = &x->g->event[w];

		if (e->kind != BF_GRAPH_WRITE || e->thread == BF_GRAPH_THREADS || e->pair < 0)
			continue;
		for (uint64_t between = x->fr[e->pair] & x->strong[e->pair] & x->strong[w]; between;
		     between &= between - 1)
			if (co[__builtin_ctzll(between)] >> w & 1)
				return false;
	}
	return true;
}

static bool thin_air_holds(const struct relations *x)
{
	bf_graph_relation r;

	memcpy(r, x->rf, sizeof(r));
	for (uint32_t i = 0; i < x->n; i++)
		for (uint64_t on = x->g->event[i].depends; on; on &= on - 1)
			r[__builtin_ctzll(on)] |= BIT(i);
	return !has_cycle(r, x->n);
}

/* Sequential consistency per location, of what is morally strong. */
static bool locations_hold(const struct relations *x, const uint64_t *co)
{
	bf_graph_relation r = { 0 };
	uint64_t memory = 0;

	for (uint32_t i = 0; i < x->n; i++)
		memory |= is_memory(&x->g->event[i]) ? BIT(i) : 0;
	for (uint32_t i = 0; i < x->n; i++)
		if (memory >> i & 1)
			r[i] = memory & x->strong[i] & (x->rf[i] | x->fr[i] | co[i] | x->po[i]);
	return !has_cycle(r, x->n);
}

static bool causality_holds(const struct relations *x)
{
	for (uint32_t i = 0; i < x->n; i++)
		for (uint64_t to = x->rf[i] | x->fr[i]; to; to &= to - 1)
			if (x->causality[__builtin_ctzll(to)] >> i & 1)
				return false;
	return true;
}

bool bf_graph_consistent(struct bf_graph *g)
{
	struct relations x = { .g = g, .n = g->n };

	for (uint32_t i = 0; i < g->n; i++) {
		for (uint32_t k = 0; k < g->n; k++) {
			if (k > i && g->event[i].thread == g->event[k].thread && g->event[i].thread != BF_GRAPH_THREADS)
				x.po[i] |= BIT(k);
			if (bf_graph_morally_strong(g, i, k))
				x.strong[i] |= BIT(k);
		}
	}
	observe(&x);
	base_causality(&x, g->cause);
	preserve(&x, g->cause);
	extend(&x);
	coherence(&x, g->coherence);
	for (uint32_t i = 0; i < g->n; i++)
		if (g->coherence[i] >> i & 1)
			return false;
	return fence_sc_holds(&x, g->cause) && atomicity_holds(&x, g->coherence) && thin_air_holds(&x) &&
	       locations_hold(&x, g->coherence) && causality_holds(&x);
}
