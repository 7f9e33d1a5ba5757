/* A thread of a litmus test: its operations on its view, one after the other. */
#include <string.h>

#include "drivers/trial/litmus_internal.h"

static int64_t number(const struct bf_litmus_runner *r, const struct bf_litmus_operand *o)
{
	return o->is_register ? r->value[o->reg] : o->number;
}

static uint64_t loads_of(const struct bf_litmus_runner *r, const struct bf_litmus_operand *o)
{
	return o->is_register ? r->depends[o->reg] : 0;
}

static int64_t compute(enum bf_litmus_function f, int64_t a, int64_t b)
{
	switch (f) {
	case BF_LITMUS_ADD:
		return (int64_t)((uint64_t)a + (uint64_t)b);
	case BF_LITMUS_SUB:
		return (int64_t)((uint64_t)a - (uint64_t)b);
	case BF_LITMUS_MUL:
		return (int64_t)((uint64_t)a * (uint64_t)b);
	case BF_LITMUS_DIV: /* PTX leaves a division by 0 open */
		return b == 0 ? 0 : b == -1 ? (int64_t)(0 - (uint64_t)a) : a / b;
	case BF_LITMUS_AND:
		return a & b;
	case BF_LITMUS_OR:
		return a | b;
	case BF_LITMUS_XOR:
		return a ^ b;
	default:
		return b;
	}
}

static void hint(struct bf_litmus_runner *r, const struct bf_litmus_op *op)
{
	if (r->w->graph)
		bf_graph_hint(r->w->graph, r->agent, op->proxy, loads_of(r, &op->a) | loads_of(r, &op->b), r->control);
}

/* A register has what a load has found. */
static void take_result(struct bf_litmus_runner *r, const struct bf_litmus_op *op, int64_t value)
{
	if (!op->has_result)
		return;
	r->value[op->result] = value;
	r->depends[op->result] = r->w->graph ? bf_graph_loaded(r->w->graph, r->agent) : 0;
}

struct modification {
	const struct bf_litmus_op *op;
	int64_t operand, compare;
};

static bool modify(void *arg, const void *old, void *now)
{
	const struct modification *m = arg;
	int64_t was, is;

	memcpy(&was, old, sizeof(was));
	if (m->op->function == BF_LITMUS_CAS)
		is = was == m->compare ? m->operand : was;
	else
		is = compute(m->op->function, was, m->operand);
	memcpy(now, &is, sizeof(is));
	return true;
}

static void access_memory(struct bf_litmus_runner *r, const struct bf_litmus_op *op)
{
	uint8_t *at = bf_litmus_at(r->w, op->location);
	int64_t value = number(r, &op->a);

	hint(r, op);
	if (op->kind == BF_LITMUS_STORE) {
		bf_store(r->agent, at, &value, sizeof(value), op->sem, op->scope);
	} else if (op->kind == BF_LITMUS_LOAD) {
		bf_load(r->agent, at, &value, sizeof(value), op->sem, op->scope);
		take_result(r, op, value);
	} else {
		struct modification m = { .op = op, .operand = value, .compare = number(r, &op->b) };

		bf_atomic_apply(r->agent, at, sizeof(value), modify, &m, &value, op->sem, op->scope);
		take_result(r, op, value);
	}
}

static void fence(struct bf_litmus_runner *r, const struct bf_litmus_op *op)
{
	if (op->kind == BF_LITMUS_FENCE_PROXY) {
		if (r->w->graph)
			bf_graph_fence_proxy(r->agent, op->proxy);
	} else if (op->sc) {
		bf_fence(r->agent, op->scope);
	} else {
		bf_fence_acq_rel(r->agent, op->scope);
	}
}

/* ---- barriers ---- */

/* What must be equal for barriers to meet; the block is compared by itself. */
static uint64_t key_of(const struct bf_litmus_runner *r, const struct bf_litmus_op *op)
{
	const uint64_t id = op->has_id ? (uint64_t)number(r, &op->id) + 1 : 0;

	return (uint64_t)op->instance << 32 ^ id;
}

/* Is `r`, at operation `at`, still to be waited for by who waits at `key` for the `round`th time? */
static bool misses(const struct bf_litmus_runner *r, uint32_t at, const struct bf_litmus_op *mine, uint64_t key,
		   uint32_t round)
{
	const struct bf_litmus_op *op = &r->t->op[at];

	if (op->kind != BF_LITMUS_BARRIER || op->instance != mine->instance || op->has_id != mine->has_id)
		return false;
	if (r->visits[at])
		return r->key[at] == key && r->visits[at] < round && !r->done;
	if (op->has_id && op->id.is_register)
		return !r->done;
	return key_of(r, op) == key; /* for ever, if it never comes */
}

bool bf_litmus_met(const struct bf_litmus_runner *self)
{
	const struct bf_litmus_op *op = &self->t->op[self->at];
	const struct bf_litmus_world *w = self->w;
	const uint64_t key = self->key[self->at];
	const uint32_t round = self->visits[self->at];
	int64_t came = 0;

	for (uint32_t i = 0; i < w->t->nthreads; i++) {
		const struct bf_litmus_runner *r = &w->runner[i];

		if (r->t->cta != self->t->cta || r->t->gpu != self->t->gpu)
			continue;
		for (uint32_t k = 0; k < r->t->nops; k++) {
			if (r->t->op[k].kind == BF_LITMUS_BARRIER && r->visits[k] && r->key[k] == key)
				came += r->visits[k];
			if (!op->has_quorum && r != self && misses(r, k, op, key, round))
				return false;
		}
	}
	return !op->has_quorum || came >= number(self, &op->quorum);
}

/* Those who wait look again. */
static void tell(struct bf_litmus_world *w)
{
	for (uint32_t i = 0; w->graph && i < w->t->nthreads; i++)
		if (w->runner[i].waits)
			bf_agent_unpark(w->runner[i].agent);
}

/* This run says nothing more: threads go to their end without another step. */
static bool is_over(const struct bf_litmus_world *w)
{
	return w->too_often || w->over || (w->graph && bf_graph_ended(w->graph) != BF_GRAPH_GOOD);
}

static void barrier(struct bf_litmus_runner *r, const struct bf_litmus_op *op)
{
	const uint64_t key = key_of(r, op);

	r->key[r->at] = key;
	if (!r->w->graph)
		bf_fence(r->agent, BF_SCOPE_CTA);
	else
		bf_graph_barrier(r->agent, key, !op->arrives);
	if (r->w->graph && op->has_quorum && bf_litmus_met(r))
		bf_graph_meet(r->agent, key);
	tell(r->w);
	while (!op->arrives && !is_over(r->w) && !bf_litmus_met(r)) {
		r->waits = true;
		bf_agent_park(r->agent, "a barrier");
		r->waits = false;
	}
}

/* Who comes first matters where not all are waited for: others may go before. */
static void come(struct bf_litmus_runner *r, const struct bf_litmus_op *op)
{
	if (!r->w->graph || !op->has_quorum || !bf_choose(r->w->sim, BF_CHOICE_SCHEDULE, 2))
		return;
	r->waits = true;
	bf_agent_park(r->agent, "others to come before");
	r->waits = false;
}

/* ---- the program ---- */

static void step(struct bf_litmus_runner *r, const struct bf_litmus_op *op)
{
	switch (op->kind) {
	case BF_LITMUS_LOAD:
	case BF_LITMUS_STORE:
	case BF_LITMUS_ATOMIC:
		access_memory(r, op);
		break;
	case BF_LITMUS_FENCE:
	case BF_LITMUS_FENCE_PROXY:
		fence(r, op);
		break;
	case BF_LITMUS_BARRIER:
		barrier(r, op);
		break;
	case BF_LITMUS_COMPUTE:
		r->value[op->result] = compute(op->function, number(r, &op->a), number(r, &op->b));
		r->depends[op->result] = loads_of(r, &op->a) | loads_of(r, &op->b);
		break;
	case BF_LITMUS_BRANCH:
		r->control |= loads_of(r, &op->a) | loads_of(r, &op->b);
		if (!bf_litmus_compare(op->compare, number(r, &op->a), number(r, &op->b)))
			break;
		if (op->target < r->at && r->w->graph) /* what it waits for, others do meanwhile */
			bf_agent_delay(r->agent, BF_NS);
		r->at = op->target;
		break;
	case BF_LITMUS_LABEL:
		break;
	}
}

static bool touches_memory(const struct bf_litmus_op *op)
{
	return op->kind <= BF_LITMUS_FENCE || op->kind == BF_LITMUS_BARRIER;
}

static void run_once(struct bf_litmus_runner *r)
{
	struct bf_litmus_world *w = r->w;

	for (r->at = 0; r->at < r->t->nops && !is_over(w); r->at++) {
		const struct bf_litmus_op *op = &r->t->op[r->at];

		if (r->visits[r->at] == w->opts.visits) {
			w->too_often = true;
			break;
		}
		if (!w->graph && touches_memory(op))
			bf_agent_park(r->agent, "its turn");
		if (op->kind == BF_LITMUS_BARRIER)
			come(r, op);
		r->visits[r->at]++;
		if (!is_over(w))
			step(r, op);
	}
	r->done = true;
	if (w->graph)
		bf_graph_finished(w->graph, r->agent);
	tell(w);
}

void bf_litmus_thread_main(struct bf_agent *self, void *arg)
{
	for (;;) {
		bf_agent_park(self, "the next run");
		run_once(arg);
	}
}
