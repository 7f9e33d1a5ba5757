/* Operations on Hopper's barriers and waits: what each did, by the word before and after it. */
#include "traces/rules/hopper/hopper_internal.h"

#include <string.h>

/* How many arrivals an operation made, by the word before and after; and phases. */
static uint32_t count_arrivals(const struct bf_seen_hopper_op *o, uint32_t *flips)
{
	const uint32_t before = bf_mbar_pending(o->before), after = bf_mbar_pending(o->after);
	const uint32_t expected = bf_mbar_expected(o->after), lanes = (uint32_t)__builtin_popcountll(o->lanes);
	const uint32_t asked = (uint32_t)o->count * (o->remote ? 1 : lanes);

	*flips = bf_mbar_phase(o->before) != bf_mbar_phase(o->after);
	if (o->op != BF_SYNC_ARRIVE && o->op != BF_SYNC_ARRIVE_DROP)
		return 0;
	if (!*flips && before >= after && asked < 2 * expected)
		return before - after;
	if (*flips && asked < 2 * expected && o->op == BF_SYNC_ARRIVE)
		return before + expected - after;
	if (expected && asked >= before)
		*flips = 1 + (asked - before) / expected;
	return asked;
}

static void begin_life(struct bf_hopper_rule_run *run, struct bf_hopper_rule_barrier *b, const struct bf_seen *e,
		       uint32_t slot)
{
	struct bf_hopper_rule_now *n = &run->now;

	n->was_alive = b->alive;
	n->was_other = b->inited && b->init_slot != slot;
	if (b->parties)
		memset(b->parties, 0, (size_t)b->nranks * BF_HOPPER_SLOTS * sizeof(*b->parties));
	b->alive = b->inited = true;
	b->fenced = false;
	b->init_slot = slot;
	b->init_ps = e->time_ps;
	b->init_record = e->number;
	b->phases = b->seen = b->expects = b->incs = 0;
	b->armed = b->brought = b->landed = b->completed = b->armed_before = b->brought_before = 0;
	b->last_armed = b->last_brought = 0;
	b->copies = b->last_copies = 0;
	if (n->warp)
		n->warp->init_lanes |= (uint32_t)e->hopper_op.lanes;
}

/* To ask again for the same phase, right after, tells nothing new. */
static void passed(struct bf_hopper_rule_now *n, struct bf_hopper_rule_barrier *b, uint64_t address, uint64_t lanes)
{
	struct bf_hopper_rule_warp *w = n->warp;
	const bool again = w->passed_address == address && !w->arrived_since && w->passed_parity == w->parity;

	b->seen = b->phases > b->seen ? b->phases : b->seen;
	if (n->party && lanes & 1 && !again) /* lane 0 stands for its warp: it waits, whoever else does */
		n->party->passed++;
	if (lanes & 1) {
		w->passed_address = address;
		w->passed_parity = w->parity;
		w->arrived_since = false;
	}
	w->passes++;
	w->came_back = BF_HOPPER_WOKEN;
}

static void end_phases(struct bf_hopper_rule_barrier *b, uint32_t flips)
{
	if (!flips)
		return;
	b->phases += flips;
	b->last_armed = b->armed - b->armed_before;
	b->last_brought = b->brought - b->brought_before;
	b->armed_before = b->armed;
	b->brought_before = b->brought;
	b->last_copies = b->copies;
	b->copies = 0;
}

static void note_tx(struct bf_hopper_rule_now *n, struct bf_hopper_rule_barrier *b, const struct bf_seen *e)
{
	const int64_t tx = (int64_t)bf_mbar_tx(e->hopper_op.after) - bf_mbar_tx(e->hopper_op.before);
	struct bf_hopper_rule_party *p = n->party;

	switch (e->hopper_op.op) {
	case BF_SYNC_EXPECT_TX:
		b->armed += (uint64_t)tx;
		b->expects++;
		n->late_expect = p && p->copied > p->arrived && p->arrived > p->armed && n->in_flight;
		if (p)
			p->armed = e->number + 1;
		break;
	case BF_SYNC_COMPLETE_TX:
		if (n->by_copy)
			b->landed += (uint64_t)-tx;
		else
			b->completed += (uint64_t)-tx;
		break;
	default:
		b->armed += n->flips && tx <= 0 ? e->hopper_op.tx : (uint64_t)tx;
		if (p && e->hopper_op.tx)
			p->armed = e->number + 1;
		break;
	}
}

/*
 * Whether arrivals of a warp are beyond its share of a phase. Twice in a row on one barrier is once too often; to come
 * round to it again without having waited anywhere is to go on too soon. What says "full" (it is not free at first) is
 * signalled too soon either way.
 */
static void judge_share(struct bf_hopper_rule_now *n, const struct bf_hopper_rule_barrier *b,
			const struct bf_seen_hopper_op *o, bool again)
{
	const uint32_t before = b->phases;
	struct bf_hopper_rule_party *p = n->party;
	bool over;

	if (!p || !b->labelled || !b->warps)
		return;
	if (p->waits != n->warp->passes)
		p->since_wait = 0;
	p->waits = n->warp->passes;
	p->since_wait += n->arrivals;
	over = p->arrivals > b->each * (before + 1);
	n->foreign = over && b->ranks & (b->ranks - 1) && !o->remote && n->arrivals > b->each;
	n->extra = !n->foreign && p->since_wait > b->each && ((again && b->free) || n->arrivals > b->each);
	n->too_soon = !n->foreign && !n->extra && (before > b->seen || over);
}

void bf_hopper_rule_note_op(struct bf_rules *r, struct bf_hopper_rule_run *run, const struct bf_seen *e)
{
	const struct bf_seen_hopper_op *o = &e->hopper_op;
	const uint32_t sm = bf_hopper_rule_sm_of(r, run, e->actor);
	struct bf_hopper_rule_now *n = &run->now;
	struct bf_hopper_rule_sm *s = bf_hopper_rule_make_sm(run, sm);
	struct bf_hopper_rule_barrier *b;

	*n = (struct bf_hopper_rule_now){ .queue = s ? bf_hopper_rule_make_barrier(r, run, sm, (uint32_t)o->address)
						     : NULL };
	if (!n->queue)
		return;
	n->queue->actor = e->actor;
	b = n->bar = bf_hopper_rule_bar(n->queue);
	n->sm = run->remote ? run->remote_sm : sm;
	n->slot = (uint32_t)o->warp;
	n->by_copy = o->remote && !run->remote;
	run->remote = false;
	n->warp = n->by_copy ? NULL : bf_hopper_rule_warp(run, n->sm, n->slot);
	n->party = bf_hopper_rule_party_at(run, b, n->sm, n->slot);
	n->in_flight = b->brought - b->landed;
	n->arrivals = count_arrivals(o, &n->flips);
	b->word = o->after;
	s->ops++;
	s->misses += !o->hit;
	if (o->op == BF_SYNC_INIT) {
		begin_life(run, b, e, n->slot);
		return;
	}
	if (o->op == BF_SYNC_INVAL) {
		n->was_alive = b->alive;
		b->alive = b->labelled = false;
		return;
	}
	if (o->op >= BF_SYNC_TEST_PARITY) {
		if (!n->warp)
			return;
		n->warp->wait_address = o->address;
		n->warp->wait_lanes = (uint32_t)o->lanes;
		n->warp->wait_record = e->number;
		n->warp->parity = o->op == BF_SYNC_TEST_PARITY || o->op == BF_SYNC_TRY_PARITY ? (uint32_t)o->count & 1
											      : 2 + b->phases;
		n->warp->parked = false;
		n->warp->came_back = BF_HOPPER_PARKED;
		if (o->result)
			passed(n, b, o->address, o->lanes);
		return;
	}
	if (n->party && n->arrivals) {
		n->party->arrivals += n->arrivals;
		n->party->arrived = e->number + 1;
	}
	if (n->warp && n->arrivals) {
		judge_share(n, b, o, n->warp->arrived_at == n->queue->number + 1);
		n->warp->arrived_at = o->remote ? 0 : n->queue->number + 1;
		n->warp->arrived_since = true;
	}
	note_tx(n, b, e);
	end_phases(b, n->flips);
}

void bf_hopper_rule_note_wait(struct bf_rules *r, struct bf_hopper_rule_run *run, const struct bf_seen *e)
{
	const uint32_t sm = bf_hopper_rule_sm_of(r, run, e->actor);
	struct bf_hopper_rule_now *n = &run->now;

	*n = (struct bf_hopper_rule_now){ .queue = bf_hopper_rule_barrier(r, sm, e->hopper_wait.address),
					  .warp = bf_hopper_rule_warp(run, sm, (uint32_t)e->hopper_wait.warp),
					  .sm = sm,
					  .slot = (uint32_t)e->hopper_wait.warp };
	if (!n->queue || !n->warp)
		return;
	n->bar = bf_hopper_rule_bar(n->queue);
	n->party = bf_hopper_rule_party_at(run, n->bar, sm, n->slot);
	n->warp->parked = e->hopper_wait.event == BF_HOPPER_PARKED;
	n->warp->came_back = (uint8_t)e->hopper_wait.event;
	if (e->hopper_wait.event == BF_HOPPER_WOKEN)
		passed(n, n->bar, e->hopper_wait.address, n->warp->wait_lanes);
}

void bf_hopper_rule_note_remote(struct bf_hopper_rule_run *run, const struct bf_seen *e)
{
	struct bf_hopper_rule_warp *w =
	    bf_hopper_rule_warp(run, (uint32_t)e->hopper_remote.sm, (uint32_t)e->hopper_remote.warp);

	if (!e->hopper_remote.arrived) {
		if (w && e->hopper_remote.op <= BF_SYNC_ARRIVE_DROP)
			w->arrived_since = true;
		return;
	}
	run->remote = true;
	run->remote_sm = (uint32_t)e->hopper_remote.sm;
	run->remote_slot = (uint32_t)e->hopper_remote.warp;
}
