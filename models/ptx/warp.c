/*
 * A warp: its groups, which of them runs, and what moves lanes between places.
 *
 * Order. Code lies in reverse post-order with loops before what follows them, so the group at the lowest place of the
 * deepest frame goes first, and groups meet where the sides of a branch join. A group that has polled for a number of
 * rounds, or gone round for very long, takes a later stamp than all others: those run first now, so lanes that wait for
 * one another's lock both go on.
 */
#include "models/ptx/core_internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Rounds of a loop after which others run: of those that polled, and of any. */
#define SPINS_A_TURN 32u
#define ROUNDS_A_TURN 4096u

/* Instructions after which time passes without another reason. */
#define QUANTUM 4096u

/* Above every instruction: nobody else stands in this frame. */
#define NOWHERE ((const struct bf_ptx_insn *)UINTPTR_MAX)

void bf_ptx_narrow(struct bf_ptx_core *c, uint32_t mask)
{
	c->mask = mask;
	c->lane = (uint32_t)__builtin_ctz(mask);
	c->count = (uint32_t)__builtin_popcount(mask);
	c->kind = c->count == 1 ? BF_PTX_KIND_LANE : mask == c->frame->lanes ? BF_PTX_KIND_FULL : BF_PTX_KIND_MASKED;
}

void bf_ptx_enter(struct bf_ptx_core *c, struct bf_ptx_frame *f, uint32_t mask)
{
	c->frame = f;
	c->base[0] = f->slots;
	c->base[1] = f->body->constants;
	bf_ptx_narrow(c, mask);
	c->outer = mask;
}

struct bf_ptx_group *bf_ptx_split(struct bf_ptx_core *c, uint32_t mask, const struct bf_ptx_insn *pc)
{
	struct bf_ptx_group *own = &c->group[c->current], *g = &c->group[c->groups++];

	*g = *own;
	g->mask = mask;
	g->pc = pc;
	own->mask &= ~mask;
	bf_ptx_narrow(c, own->mask);
	c->outer = own->mask;
	return g;
}

void bf_ptx_leave(struct bf_ptx_core *c)
{
	c->group[c->current] = c->group[--c->groups];
}

const struct bf_ptx_insn *bf_ptx_dead(struct bf_ptx_core *c)
{
	c->fault = true;
	return NULL;
}

const struct bf_ptx_insn *bf_ptx_trapped(struct bf_ptx_core *c, const struct bf_ptx_insn *i, enum bf_ptx_trap kind,
					 const char *text)
{
	struct bf_ptx_warp *w = c->warp;

	bf_ptx_account(c, i->count);
	bf_ptx_at(c, i);
	w->port->trap(w, c->mask, kind, text);
	return bf_ptx_dead(c);
}

/* Whether group a runs before group b. Places compare within a function; nothing depends on addresses. */
static bool before(const struct bf_ptx_group *a, const struct bf_ptx_group *b)
{
	if (a->stamp != b->stamp)
		return a->stamp < b->stamp;
	if (a->frame->depth != b->frame->depth)
		return a->frame->depth > b->frame->depth;
	if (a->frame->body != b->frame->body)
		return a->frame->body->fn->number < b->frame->body->fn->number;
	if (a->pc != b->pc)
		return a->pc < b->pc;
	return __builtin_ctz(a->mask) < __builtin_ctz(b->mask);
}

/* Whether lanes have the result of an instruction among lanes yet to take: then they join only their like. */
static bool has_met(const struct bf_ptx_core *c, const struct bf_ptx_group *g)
{
	return (c->met & g->mask) != 0;
}

/* Groups at the place of the chosen one join it. */
static void join(struct bf_ptx_core *c)
{
	struct bf_ptx_group *g = &c->group[c->current];

	for (uint32_t k = 0; k < c->groups;) {
		const struct bf_ptx_group *o = &c->group[k];
		if (o == g || o->state != BF_PTX_RUNS || o->frame != g->frame || o->pc != g->pc ||
		    has_met(c, o) != has_met(c, g)) {
			k++;
			continue;
		}
		g->mask |= o->mask;
		c->group[k] = c->group[--c->groups];
		if (c->current == c->groups) {
			c->current = k;
			g = &c->group[k];
		}
	}
}

/* Chooses who runs. False: nobody can. */
static bool choose(struct bf_ptx_core *c)
{
	struct bf_ptx_warp *w = c->warp;
	uint32_t best = c->groups;

	for (uint32_t k = 0; k < c->groups; k++) {
		struct bf_ptx_group *g = &c->group[k];
		if (g->state == BF_PTX_SUSPENDED && (w->ready & g->mask) == g->mask) {
			w->ready &= ~g->mask;
			g->state = BF_PTX_RUNS;
		}
		if (g->state == BF_PTX_RUNS && (best == c->groups || before(g, &c->group[best])))
			best = k;
	}
	if (best == c->groups)
		return false;
	c->current = best;
	if (c->groups > 1)
		join(c);
	return true;
}

/* The next place above the current one where somebody stands whom it could join, or whom it must not overtake. */
static void find_stop(struct bf_ptx_core *c)
{
	const struct bf_ptx_group *g = &c->group[c->current];

	c->stop = NOWHERE;
	for (uint32_t k = 0; k < c->groups; k++) {
		const struct bf_ptx_group *o = &c->group[k];
		if (o != g && o->frame == g->frame && o->state == BF_PTX_RUNS && o->pc > g->pc && o->pc < c->stop)
			c->stop = o->pc;
	}
}

const struct bf_ptx_insn *bf_ptx_yield(struct bf_ptx_core *c, const struct bf_ptx_insn *pc)
{
	c->group[c->current].pc = pc;
	return NULL;
}

const struct bf_ptx_insn *bf_ptx_suspend(struct bf_ptx_core *c, const struct bf_ptx_insn *pc, enum bf_ptx_state state)
{
	struct bf_ptx_group *g = &c->group[c->current];
	const uint32_t rest = c->outer & ~c->mask;

	if (rest != 0) {
		struct bf_ptx_group *behind = bf_ptx_split(c, rest, pc + 1);
		behind->state = BF_PTX_RUNS;
	}
	g->pc = pc;
	g->state = (uint8_t)state;
	return NULL;
}

/* What the lanes of the mask hold in a row: a sum of products, none of which waits for another one. */
static uint64_t hash_row(const struct bf_ptx_core *c, const struct bf_ptx_piece *p)
{
	uint64_t sum = 0, factor = 0x9e3779b97f4a7c15ull;

	if (c->kind == BF_PTX_KIND_LANE)
		return p->kind == BF_PTX_PIECE_64 ? bf_ptx_row64(c, p->ref)[c->lane] : bf_ptx_row32(c, p->ref)[c->lane];
	for (uint32_t l = 0; l < BF_PTX_LANES; l++, factor += 0xd1b54a32d192ed02ull) {
		const uint64_t in = 0 - (uint64_t)(c->mask >> l & 1);
		const uint64_t v = p->kind == BF_PTX_PIECE_64 ? bf_ptx_row64(c, p->ref)[l] : bf_ptx_row32(c, p->ref)[l];

		sum += ((v + (v >> 32)) * factor) & in;
	}
	return sum ^ sum >> 31;
}

/* A sum over what the lanes of the mask hold in the registers that are alive at a loop's head. */
static uint64_t hash_lanes(const struct bf_ptx_core *c, const struct bf_ptx_back *back)
{
	/* What its callers hold does not change as long as this call goes on: a loop in another call is another loop.
	 */
	uint64_t h = 0x9e3779b97f4a7c15ull + c->frame->instance;

	for (uint32_t k = 0; k < back->live_count; k++) {
		const struct bf_ptx_piece *p = &back->live[k];
		if (p->kind == BF_PTX_PIECE_PRED) {
			h = (h ^ (*bf_ptx_pred(c, p->ref) & c->mask)) * 0x100000001b3ull;
			continue;
		}
		h = (h ^ hash_row(c, p)) * 0x100000001b3ull;
		h ^= h >> 29;
	}
	return h;
}

/* A backward branch to mark `t` is taken. */
static BF_NOINLINE const struct bf_ptx_insn *turn(struct bf_ptx_core *c, const struct bf_ptx_insn *i,
						  const struct bf_ptx_insn *t)
{
	struct bf_ptx_warp *w = c->warp;
	struct bf_ptx_group *g = &c->group[c->current];

	g->turns++;
	if (w->polls != g->polls) {
		const struct bf_ptx_body *body = c->frame->body;
		g->polls = w->polls;
		g->spins++;
		bf_ptx_at(c, i);
		/* A round that stored is like no other one, nor without a list of what is alive. */
		const bool alike = g->progress == w->progress && i->a != BF_PTX_REF_NONE;
		const uint64_t hash = alike ? hash_lanes(c, &body->backs[i->a]) : w->lane_instructions;
		g->progress = w->progress;
		switch (w->port->spin(w, c->mask, (uint32_t)(t - body->insns), hash)) {
		case BF_PTX_DONE:
			break;
		case BF_PTX_WAIT:
			g->stamp = ++c->epoch;
			return bf_ptx_suspend(c, t, BF_PTX_SUSPENDED);
		case BF_PTX_FAULT:
			return bf_ptx_dead(c);
		}
		c->since = 0;
	}
	if (c->since >= QUANTUM) {
		c->since = 0;
		bf_ptx_at(c, i);
		if (w->port->quantum(w) != BF_PTX_DONE)
			return bf_ptx_dead(c);
	}
	if (c->groups == 1)
		return t + 1;
	if (g->spins >= SPINS_A_TURN || g->turns >= ROUNDS_A_TURN) {
		g->stamp = ++c->epoch;
		g->spins = g->turns = 0;
	}
	return bf_ptx_yield(c, t);
}

/* From instruction i to mark t. */
static inline const struct bf_ptx_insn *go(struct bf_ptx_core *c, const struct bf_ptx_insn *i,
					   const struct bf_ptx_insn *t)
{
	c->start = t->count;
	if (BF_UNLIKELY(t <= i))
		return turn(c, i, t);
	if (BF_UNLIKELY(t >= c->stop))
		return bf_ptx_yield(c, t);
	return BF_PTX_GO(c, t + 1);
}

static const struct bf_ptx_insn *mark(struct bf_ptx_core *c, const struct bf_ptx_insn *i)
{
	if (BF_LIKELY(i < c->stop))
		return BF_PTX_GO(c, i + 1);
	bf_ptx_account(c, i->count);
	return bf_ptx_yield(c, i);
}

static const struct bf_ptx_insn *jump(struct bf_ptx_core *c, const struct bf_ptx_insn *i)
{
	bf_ptx_account(c, i->count);
	return go(c, i, i->target);
}

/* A branch that `taken` take and others do not. */
static BF_NOINLINE const struct bf_ptx_insn *part(struct bf_ptx_core *c, const struct bf_ptx_insn *i, uint32_t taken)
{
	const struct bf_ptx_insn *t = i->target;

	if (t <= i) {
		/* Those that leave the loop stand behind it. */
		bf_ptx_split(c, c->mask & ~taken, i + 1);
		return go(c, i, t);
	}
	bf_ptx_split(c, taken, t);
	if (t < c->stop)
		c->stop = t;
	return go(c, i, i + 1);
}

static const struct bf_ptx_insn *branch(struct bf_ptx_core *c, const struct bf_ptx_insn *i)
{
	const uint32_t taken = c->mask & (*bf_ptx_pred(c, i->d) ^ (0u - i->mode));

	bf_ptx_account(c, i->count + 1);
	if (taken == c->mask)
		return go(c, i, i->target);
	if (taken == 0)
		return go(c, i, i + 1);
	return part(c, i, taken);
}

/* Around a guarded instruction that is more than arithmetic. */
static const struct bf_ptx_insn *skip(struct bf_ptx_core *c, const struct bf_ptx_insn *i)
{
	const uint32_t past = c->mask & (*bf_ptx_pred(c, i->d) ^ (0u - i->mode));
	const struct bf_ptx_insn *t = i->target;

	if (past == 0)
		return i + 1;
	if (past == c->mask)
		return t;
	bf_ptx_account(c, i->count);
	bf_ptx_split(c, past, t);
	if (t < c->stop)
		c->stop = t;
	return i + 1;
}

static const struct bf_ptx_insn *guard(struct bf_ptx_core *c, const struct bf_ptx_insn *i)
{
	const uint32_t all = c->mask, mask = all & (*bf_ptx_pred(c, i->d) ^ (0u - i->mode));

	if (mask == 0)
		return BF_PTX_GO(c, i + 3);
	if (mask != all) {
		c->mask = mask;
		c->lane = (uint32_t)__builtin_ctz(mask);
		c->kind = (mask & (mask - 1)) == 0 ? BF_PTX_KIND_LANE : BF_PTX_KIND_MASKED;
	}
	return BF_PTX_GO(c, i + 1);
}

/* `count` has been the whole group's all the time. */
static const struct bf_ptx_insn *all_again(struct bf_ptx_core *c, const struct bf_ptx_insn *i)
{
	const uint32_t all = c->outer;

	c->mask = all;
	c->lane = (uint32_t)__builtin_ctz(all);
	c->kind = c->count == 1 ? BF_PTX_KIND_LANE : all == c->frame->lanes ? BF_PTX_KIND_FULL : BF_PTX_KIND_MASKED;
	return BF_PTX_GO(c, i + 1);
}

static const struct bf_ptx_insn *switched(struct bf_ptx_core *c, const struct bf_ptx_insn *i)
{
	const struct bf_ptx_switch *s = i->more;
	const uint32_t *index = bf_ptx_row32(c, i->c), chosen = index[c->lane];
	uint32_t same = 0;

	for (uint32_t l = 0; l < BF_PTX_LANES; l++)
		same |= (uint32_t)(index[l] == chosen) << l;
	/* The others come here once more. */
	if ((same & c->mask) != c->mask) {
		bf_ptx_account(c, i->count);
		bf_ptx_split(c, c->mask & ~same, i);
	}
	if (chosen >= s->count)
		return bf_ptx_trapped(c, i, BF_PTX_TRAP_CALL, "brx.idx: the index is beyond the list of targets");
	bf_ptx_account(c, i->count + 1);
	if (c->groups > 1) {
		c->start = s->targets[chosen]->count;
		return bf_ptx_yield(c, s->targets[chosen]);
	}
	return go(c, i, s->targets[chosen]);
}

static const struct bf_ptx_insn *trapped(struct bf_ptx_core *c, const struct bf_ptx_insn *i)
{
	return bf_ptx_trapped(c, i, (enum bf_ptx_trap)i->mode, i->more);
}

static const struct bf_ptx_insn *pred_op(struct bf_ptx_core *c, const struct bf_ptx_insn *i)
{
	const uint32_t a = *bf_ptx_pred(c, i->a), b = *bf_ptx_pred(c, i->b);

	switch ((enum bf_ptx_pred_mode)i->mode) {
	case BF_PTX_PRED_MOV:
		bf_ptx_pred_set(c, i->d, a);
		break;
	case BF_PTX_PRED_NOT:
		bf_ptx_pred_set(c, i->d, ~a);
		break;
	case BF_PTX_PRED_AND:
		bf_ptx_pred_set(c, i->d, a & b);
		break;
	case BF_PTX_PRED_OR:
		bf_ptx_pred_set(c, i->d, a | b);
		break;
	case BF_PTX_PRED_XOR:
		bf_ptx_pred_set(c, i->d, a ^ b);
		break;
	}
	return BF_PTX_GO(c, i + 1);
}

static const struct bf_ptx_insn *active(struct bf_ptx_core *c, const struct bf_ptx_insn *i)
{
	uint32_t *d = bf_ptx_row32(c, i->d);

	for (uint32_t rest = c->mask; rest != 0; rest &= rest - 1)
		d[__builtin_ctz(rest)] = c->mask;
	return BF_PTX_GO(c, i + 1);
}

bf_ptx_handler *const bf_ptx_controls[BF_PTX_CONTROLS] = {
	[BF_PTX_CONTROL_MARK] = mark,
	[BF_PTX_CONTROL_JUMP] = jump,
	[BF_PTX_CONTROL_BRANCH] = branch,
	[BF_PTX_CONTROL_SKIP] = skip,
	[BF_PTX_CONTROL_GUARD] = guard,
	[BF_PTX_CONTROL_ALL] = all_again,
	[BF_PTX_CONTROL_SWITCH] = switched,
	[BF_PTX_CONTROL_CALL] = bf_ptx_do_call,
	[BF_PTX_CONTROL_RET] = bf_ptx_do_ret,
	[BF_PTX_CONTROL_EXIT] = bf_ptx_do_exit,
	[BF_PTX_CONTROL_TRAP] = trapped,
	[BF_PTX_CONTROL_PERFORM] = bf_ptx_do_perform,
	[BF_PTX_CONTROL_SPECIAL] = bf_ptx_do_special,
	[BF_PTX_CONTROL_PLACE] = bf_ptx_do_place,
	[BF_PTX_CONTROL_PARAM] = bf_ptx_do_param,
	[BF_PTX_CONTROL_PRED] = pred_op,
	[BF_PTX_CONTROL_SPACE] = bf_ptx_do_space,
	[BF_PTX_CONTROL_MEET] = bf_ptx_do_meet,
	[BF_PTX_CONTROL_ACTIVE] = active,
	[BF_PTX_CONTROL_ALLOCA] = bf_ptx_do_alloca,
	[BF_PTX_CONTROL_STACK] = bf_ptx_do_stack,
};

enum bf_ptx_result bf_ptx_warp_run(struct bf_ptx_warp *w)
{
	struct bf_ptx_core *c = w->core;

	while (c->groups != 0) {
		if (!choose(c)) {
			if (w->port->idle(w) != BF_PTX_DONE)
				return BF_PTX_FAULT;
			continue;
		}
		const struct bf_ptx_group *g = &c->group[c->current];
		const struct bf_ptx_insn *i = g->pc;
		bf_ptx_enter(c, g->frame, g->mask);
		c->start = i->count;
		find_stop(c);
		do
			i = i->run[c->kind](c, i);
		while (i != NULL);
		if (c->fault)
			return BF_PTX_FAULT;
	}
	return BF_PTX_DONE;
}

const struct bf_ptx_stmt *bf_ptx_warp_where(const struct bf_ptx_warp *w, uint32_t lane)
{
	const struct bf_ptx_core *c = w->core;

	for (uint32_t k = 0; k < c->groups; k++)
		if (c->group[k].mask >> lane & 1)
			return &c->group[k].frame->body->fn->stmts[c->group[k].pc->stmt];
	return NULL;
}
