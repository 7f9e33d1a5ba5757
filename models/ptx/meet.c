/*
 * Instructions among lanes: vote, match, shfl, redux, elect, bar.warp.sync.
 *
 * Each waits until all lanes of its member mask that have not ended are at one like it (PTX ISA 9.7.13: "with the same
 * qualifiers and the same membermask", not at the same place). The common case is a group that is complete. Otherwise
 * lanes leave what they give in the core and wait; the last to come computes for all, and the others find their result
 * when they run again.
 */
#include "models/ptx/core_internal.h"
#include "models/ptx/float.h"

#include <string.h>

/* What lanes `set` give, and what they get. */
struct meeting {
	uint32_t set;
	const uint64_t *value; /* or: */
	const uint32_t *value32;
	uint32_t pred;
	const uint32_t *lane, *bounds;
	uint32_t out[BF_PTX_LANES], out_pred;
};

static uint64_t value_of(const struct meeting *m, uint32_t l)
{
	return m->value32 != NULL ? m->value32[l] : m->value[l];
}

#define EACH(set, l)                                                                                                   \
	for (uint32_t rest_ = (set), l; rest_ != 0 && (l = (uint32_t)__builtin_ctz(rest_), 1); rest_ &= rest_ - 1)

/* The lane that lane l reads, and whether it is in bounds. */
static uint32_t source_lane(uint32_t sub, uint32_t l, uint32_t b, uint32_t bounds, bool *in)
{
	const uint32_t segment = bounds >> 8 & 31, clamp = bounds & 31;
	const uint32_t low = l & segment, high = low | (clamp & ~segment);
	uint32_t j;

	b &= 31;
	switch (sub) {
	case BF_PTX_SUB_UP:
		*in = (int32_t)(l - b) >= (int32_t)high;
		j = l - b;
		break;
	case BF_PTX_SUB_DOWN:
		j = l + b;
		*in = j <= high;
		break;
	case BF_PTX_SUB_BFLY:
		j = l ^ b;
		*in = j <= high;
		break;
	default:
		j = low | (b & ~segment);
		*in = j <= high;
	}
	return *in ? j : l;
}

/* The usual shuffles: of a whole warp that is one segment, by one distance for all lanes. False: it is not that. */
static bool shuffle_plain(const struct bf_ptx_meet *x, struct meeting *m)
{
	const uint32_t b = m->lane[0] & 31, clamp = x->sub == BF_PTX_SUB_UP ? 0 : 31;
	uint32_t from[BF_PTX_LANES];

	if ((m->bounds[0] & 0x1f1f) != clamp || !bf_ptx_alike32(m->lane) || !bf_ptx_alike32(m->bounds))
		return false;
	for (uint32_t l = 0; l < BF_PTX_LANES; l++)
		from[l] = (uint32_t)value_of(m, l);
	m->out_pred = ~0u;
	switch (x->sub) {
	case BF_PTX_SUB_UP:
		for (uint32_t l = 0; l < BF_PTX_LANES; l++)
			m->out[l] = from[l < b ? l : l - b];
		m->out_pred <<= b;
		break;
	case BF_PTX_SUB_DOWN:
		for (uint32_t l = 0; l < BF_PTX_LANES; l++)
			m->out[l] = from[l + b < BF_PTX_LANES ? l + b : l];
		m->out_pred >>= b;
		break;
	case BF_PTX_SUB_BFLY:
		for (uint32_t l = 0; l < BF_PTX_LANES; l++)
			m->out[l] = from[l ^ b];
		break;
	default:
		for (uint32_t l = 0; l < BF_PTX_LANES; l++)
			m->out[l] = from[b];
	}
	return true;
}

static void shuffle(const struct bf_ptx_meet *x, struct meeting *m)
{
	uint32_t from[BF_PTX_LANES];

	if (m->set == ~0u && shuffle_plain(x, m))
		return;
	for (uint32_t l = 0; l < BF_PTX_LANES; l++)
		from[l] = (uint32_t)value_of(m, l);
	m->out_pred = 0;
	EACH(m->set, l)
	{
		bool in;
		const uint32_t j = source_lane(x->sub, l, m->lane[l], m->bounds[l], &in);
		m->out_pred |= (uint32_t)in << l;
		/* A lane that has ended gives 0, as on an H100. */
		m->out[l] = m->set >> j & 1 ? from[j] : 0;
	}
}

static void match(const struct bf_ptx_meet *x, struct meeting *m)
{
	if (x->sub == BF_PTX_SUB_ALL) {
		const uint64_t first = value_of(m, (uint32_t)__builtin_ctz(m->set));
		bool all = true;
		EACH(m->set, l) all = all && value_of(m, l) == first;
		EACH(m->set, l) m->out[l] = all ? m->set : 0;
		m->out_pred = all ? m->set : 0;
		return;
	}
	for (uint32_t left = m->set; left != 0;) {
		const uint64_t v = value_of(m, (uint32_t)__builtin_ctz(left));
		uint32_t same = 0;
		EACH(left, l) same |= (uint32_t)(value_of(m, l) == v) << l;
		EACH(same, l) m->out[l] = same;
		left &= ~same;
	}
}

static uint32_t reduce_float(const struct bf_ptx_meet *x, const struct meeting *m)
{
	const uint32_t mode = x->nan_wins ? BF_PTX_MODE_NAN : 0, sign = x->absolute ? 0x7fffffff : 0xffffffff;
	uint32_t r = (uint32_t)value_of(m, (uint32_t)__builtin_ctz(m->set)) & sign;

	/* Of one lane, too, a NaN is the canonical one. */
	r = bf_ptx_min_f32(r, r, mode);
	EACH(m->set & (m->set - 1), l)
	{
		const uint32_t v = (uint32_t)value_of(m, l) & sign;
		r = x->sub == BF_PTX_SUB_MIN ? bf_ptx_min_f32(r, v, mode) : bf_ptx_max_f32(r, v, mode);
	}
	return r;
}

static uint32_t reduce(const struct bf_ptx_meet *x, const struct meeting *m)
{
	uint32_t r = (uint32_t)value_of(m, (uint32_t)__builtin_ctz(m->set));

	EACH(m->set & (m->set - 1), l)
	{
		const uint32_t v = (uint32_t)value_of(m, l);
		const bool less = x->is_signed ? (int32_t)v < (int32_t)r : v < r;
		switch (x->sub) {
		case BF_PTX_SUB_ADD:
			r += v;
			break;
		case BF_PTX_SUB_MIN:
			r = less ? v : r;
			break;
		case BF_PTX_SUB_MAX:
			r = less ? r : v;
			break;
		case BF_PTX_SUB_AND:
			r &= v;
			break;
		case BF_PTX_SUB_OR:
			r |= v;
			break;
		default:
			r ^= v;
		}
	}
	return r;
}

static void compute(const struct bf_ptx_meet *x, struct meeting *m)
{
	const uint32_t held = m->pred & m->set;
	uint32_t all = 0;

	m->out_pred = 0;
	switch (x->op) {
	case BF_PTX_OP_SHFL:
		shuffle(x, m);
		return;
	case BF_PTX_OP_MATCH:
		match(x, m);
		return;
	case BF_PTX_OP_REDUX:
		all = x->is_float ? reduce_float(x, m) : reduce(x, m);
		break;
	case BF_PTX_OP_ELECT:
		all = (uint32_t)__builtin_ctz(m->set);
		m->out_pred = m->set & -m->set;
		break;
	case BF_PTX_OP_VOTE:
		if (x->sub == BF_PTX_SUB_BALLOT)
			all = held;
		else if (x->sub == BF_PTX_SUB_ALL   ? held == m->set
			 : x->sub == BF_PTX_SUB_ANY ? held != 0
						    : held == 0 || held == m->set)
			m->out_pred = ~0u;
		break;
	default: /* bar.warp.sync */
		return;
	}
	for (uint32_t l = 0; l < BF_PTX_LANES; l++)
		m->out[l] = all;
}

static void deliver(struct bf_ptx_core *c, const struct bf_ptx_meet *x, const uint32_t *out, uint32_t out_pred)
{
	if (x->to != BF_PTX_REF_NONE) {
		uint32_t *d = bf_ptx_row32(c, x->to);
		if (c->mask == ~0u)
			memcpy(d, out, sizeof(*d) * BF_PTX_LANES);
		else
			EACH(c->mask, l) d[l] = out[l];
	}
	if (x->to_pred != BF_PTX_REF_NONE)
		bf_ptx_pred_set(c, x->to_pred, out_pred);
}

/* What the lanes of the mask give, left where the one who computes finds it. */
static void give(struct bf_ptx_core *c, const struct bf_ptx_meet *x)
{
	EACH(c->mask, l)
	{
		if (x->kind == BF_PTX_PIECE_32)
			c->gave_value[l] = bf_ptx_row32(c, x->value)[l];
		else if (x->kind == BF_PTX_PIECE_64)
			c->gave_value[l] = bf_ptx_row64(c, x->value)[l];
		if (x->lane != BF_PTX_REF_NONE) {
			c->gave_lane[l] = bf_ptx_row32(c, x->lane)[l];
			c->gave_bounds[l] = bf_ptx_row32(c, x->bounds)[l];
		}
	}
	if (x->kind == BF_PTX_PIECE_PRED) {
		const uint32_t p = *bf_ptx_pred(c, x->value) ^ (x->negate ? ~0u : 0);
		c->gave_pred = (c->gave_pred & ~c->mask) | (p & c->mask);
	}
}

/* Members that have not ended are in several groups. */
static const struct bf_ptx_insn *meet_others(struct bf_ptx_core *c, const struct bf_ptx_insn *i,
					     const struct bf_ptx_meet *x, uint32_t members)
{
	const uint32_t set = members & c->warp->live;
	uint32_t here = c->mask;

	give(c, x);
	for (uint32_t k = 0; k < c->groups; k++) {
		const struct bf_ptx_group *g = &c->group[k];
		if (k != c->current && g->state == BF_PTX_MEETS && g->members == members && g->meet == x->op &&
		    g->meet_sub == x->sub)
			here |= g->mask;
	}
	if ((set & ~here) != 0) {
		struct bf_ptx_group *g = &c->group[c->current];
		g->members = members;
		g->meet = x->op;
		g->meet_sub = x->sub;
		bf_ptx_account(c, i->count);
		return bf_ptx_suspend(c, i, BF_PTX_MEETS);
	}
	struct meeting m = {
		.set = set,
		.value = c->gave_value,
		.pred = c->gave_pred,
		.lane = c->gave_lane,
		.bounds = c->gave_bounds,
	};
	compute(x, &m);
	const uint32_t others = set & ~c->mask;
	EACH(others, l) c->met_value[l] = m.out[l];
	c->met_pred = (c->met_pred & ~others) | (m.out_pred & others);
	c->met |= others;
	for (uint32_t k = 0; k < c->groups; k++)
		if (c->group[k].state == BF_PTX_MEETS && (c->group[k].mask & others) != 0)
			c->group[k].state = BF_PTX_RUNS;
	deliver(c, x, m.out, m.out_pred);
	bf_ptx_account(c, i->count + 1);
	return bf_ptx_yield(c, i + 1);
}

const struct bf_ptx_insn *bf_ptx_do_meet(struct bf_ptx_core *c, const struct bf_ptx_insn *i)
{
	const struct bf_ptx_meet *x = i->more;
	const uint32_t *row = bf_ptx_row32(c, x->members), members = row[c->lane];

	if ((c->met & c->mask) == c->mask) {
		c->met &= ~c->mask;
		deliver(c, x, c->met_value, c->met_pred);
		return i + 1;
	}
	/* Lanes of another member mask meet among themselves: they come here once more. */
	if ((x->members & BF_PTX_REF_CONST) == 0 && !bf_ptx_alike32(row)) {
		uint32_t same = 0;
		EACH(c->mask, l) same |= (uint32_t)(row[l] == members) << l;
		if (same != c->mask) {
			bf_ptx_account(c, i->count);
			bf_ptx_split(c, c->mask & ~same, i);
		}
	}
	if ((c->mask & ~members) != 0)
		return bf_ptx_trapped(c, i, BF_PTX_TRAP_MASK, "a lane is not in the member mask that it names");
	/* What they stored is there for those whom they meet (PTX ISA, "bar.warp.sync"). */
	if (x->op == BF_PTX_OP_BAR_WARP_SYNC && *c->warp->slow != 0 && c->warp->port->synced != NULL) {
		bf_ptx_at(c, i);
		c->warp->port->synced(c->warp, c->mask);
	}
	if ((members & c->warp->live) != c->mask)
		return meet_others(c, i, x, members);

	struct meeting m = { .set = c->mask };
	if (x->kind == BF_PTX_PIECE_32)
		m.value32 = bf_ptx_row32(c, x->value);
	else if (x->kind == BF_PTX_PIECE_64)
		m.value = bf_ptx_row64(c, x->value);
	else if (x->kind == BF_PTX_PIECE_PRED)
		m.pred = *bf_ptx_pred(c, x->value) ^ (x->negate ? ~0u : 0);
	if (x->lane != BF_PTX_REF_NONE) {
		m.lane = bf_ptx_row32(c, x->lane);
		m.bounds = bf_ptx_row32(c, x->bounds);
	}
	compute(x, &m);
	deliver(c, x, m.out, m.out_pred);
	/* Groups that came from one with several member masks join again behind it. */
	if (BF_UNLIKELY(i + 1 >= c->stop) || c->groups > 1) {
		bf_ptx_account(c, i->count + 1);
		return bf_ptx_yield(c, i + 1);
	}
	return i + 1;
}
