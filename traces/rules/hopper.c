/* Facts of Hopper's barriers, and the list of their rules. */
#include "traces/rules/hopper.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- looking up ---- */

struct bf_rule_queue *bf_hopper_barrier(struct bf_rules *r, uint32_t sm, uint64_t address)
{
	return bf_rule_queue(r, &bf_rules_hopper, sm, address, false);
}

struct bf_hopper_warp *bf_hopper_warp(const struct bf_hopper_run *run, uint32_t sm, uint32_t slot)
{
	return sm < BF_HOPPER_SMS && slot < BF_HOPPER_SLOTS && run->sm[sm] ? &run->sm[sm]->warp[slot] : NULL;
}

/* The block that has a slot of an SM, or had it last. */
static const struct bf_hopper_block *block_of(const struct bf_hopper_run *run, uint32_t sm, uint32_t slot)
{
	const struct bf_hopper_sm *s = sm < BF_HOPPER_SMS ? run->sm[sm] : NULL;
	const struct bf_hopper_block *best = NULL;

	for (uint32_t i = 0; s && i < s->nblocks; i++) {
		const struct bf_hopper_block *b = &run->blocks[s->block[i]];

		if (slot >= b->first_slot && (!best || b->first_slot >= best->first_slot))
			best = b;
	}
	return best;
}

static const struct bf_hopper_block *block_at(const struct bf_hopper_run *run, uint32_t sm, uint32_t address)
{
	const struct bf_hopper_sm *s = sm < BF_HOPPER_SMS ? run->sm[sm] : NULL;

	for (uint32_t i = s ? s->nblocks : 0; i-- > 0;)
		if (address - run->blocks[s->block[i]].base < run->blocks[s->block[i]].bytes)
			return &run->blocks[s->block[i]];
	return NULL;
}

struct bf_hopper_text bf_hopper_bar_text(const struct bf_hopper_barrier *b)
{
	struct bf_hopper_text t;

	if (b->labelled)
		snprintf(t.s, sizeof(t.s), "%s[%" PRIu32 "] of block %" PRIu32, b->name, b->index, b->block);
	else if (b->block != UINT32_MAX)
		snprintf(t.s, sizeof(t.s), "barrier 0x%" PRIx32 " of block %" PRIu32, b->address, b->block);
	else
		snprintf(t.s, sizeof(t.s), "barrier 0x%" PRIx32 " of sm%" PRIu32, b->address, b->sm);
	return t;
}

struct bf_hopper_text bf_hopper_warp_text(const struct bf_hopper_run *run, uint32_t sm, uint32_t slot)
{
	const struct bf_hopper_block *b = block_of(run, sm, slot);
	struct bf_hopper_text t;

	snprintf(t.s, sizeof(t.s), "warp %" PRIu32 " of block %" PRIu32, slot - (b ? b->first_slot : 0),
		 b ? (uint32_t)(b - run->blocks) : 0);
	return t;
}

const struct bf_hopper_copy *bf_hopper_copy(const struct bf_hopper_run *run, uint64_t number)
{
	const struct bf_hopper_copy *c = &run->copies[number % BF_HOPPER_COPIES];

	return c->set && c->rec.copy == number ? c : NULL;
}

bool bf_hopper_clustered(const struct bf_hopper_run *run, uint32_t sm)
{
	const struct bf_hopper_sm *s = sm < BF_HOPPER_SMS ? run->sm[sm] : NULL;

	for (uint32_t i = 0; s && i < s->nblocks; i++) {
		const uint32_t number = s->block[i];

		if (run->blocks[number].rank ||
		    (number + 1 < run->nblocks && run->blocks[number + 1].known && run->blocks[number + 1].rank))
			return true;
	}
	return false;
}

static const struct bf_hopper_sm *sm_at(struct bf_hopper_run *run, uint64_t va)
{
	const struct bf_hopper_sm *s = run->sm[run->store_sm];

	if (s && va - s->va < s->bytes)
		return s;
	for (uint32_t i = 0; i < BF_HOPPER_SMS; i++)
		if (run->sm[i] && va - run->sm[i]->va < run->sm[i]->bytes) {
			run->store_sm = i;
			return run->sm[i];
		}
	return NULL;
}

const struct bf_hopper_copy *bf_hopper_overwrites(struct bf_rule_run *r, const struct bf_seen *e)
{
	struct bf_hopper_run *run = bf_hopper_run(r);
	const struct bf_hopper_sm *s = sm_at(run, e->store.va);

	for (uint32_t i = 0; s && s->reading && i < BF_HOPPER_COPIES; i++) {
		const struct bf_hopper_copy *c = &run->copies[i];
		uint64_t at;

		if (!c->set || c->read || c->rec.kind != BF_COPY_STORE || run->sm[c->sm] != s)
			continue;
		at = s->va + run->blocks[c->rec.cta].base + (c->rec.source & 0xffffff);
		if (e->store.va < at + c->rec.bytes && at < e->store.va + e->store.len)
			return c;
	}
	return NULL;
}

/* ---- making ---- */

/* "gpu0.sm3" is SM 3. */
static uint32_t sm_of(struct bf_rules *r, struct bf_hopper_run *run, uint32_t actor)
{
	const char *at;

	if (run->actor == actor && actor)
		return run->actor_sm;
	at = strstr(bf_rule_actor(r, actor), ".sm");
	run->actor = actor;
	run->actor_sm = at ? (uint32_t)strtoul(at + 3, NULL, 10) : BF_HOPPER_SMS;
	return run->actor_sm;
}

static struct bf_hopper_sm *make_sm(struct bf_hopper_run *run, uint32_t sm)
{
	if (sm >= BF_HOPPER_SMS)
		return NULL;
	if (!run->sm[sm])
		run->sm[sm] = calloc(1, sizeof(struct bf_hopper_sm));
	return run->sm[sm];
}

static struct bf_rule_queue *make_barrier(struct bf_rules *r, struct bf_hopper_run *run, uint32_t sm, uint32_t address)
{
	struct bf_rule_queue *q = bf_rule_queue(r, &bf_rules_hopper, sm, address, true);
	struct bf_hopper_barrier *b = q ? bf_hopper_bar(q) : NULL;
	const struct bf_hopper_block *block;

	if (!b)
		return NULL;
	if (!b->known) {
		block = block_at(run, sm, address);
		b->sm = sm;
		b->block = block ? (uint32_t)(block - run->blocks) : UINT32_MAX;
		b->address = address - (block ? block->base : 0);
		b->known = true;
	}
	return q;
}

/* By rank and number in the block; NULL on lack of memory. */
static struct bf_hopper_party *party_of(struct bf_hopper_barrier *b, uint32_t rank, uint32_t warp)
{
	if (rank >= BF_HOPPER_RANKS || warp >= BF_HOPPER_SLOTS)
		return NULL;
	if (rank >= b->nranks) {
		struct bf_hopper_party *grown =
		    realloc(b->parties, (size_t)(rank + 1) * BF_HOPPER_SLOTS * sizeof(*grown));

		if (!grown)
			return NULL;
		memset(grown + (size_t)b->nranks * BF_HOPPER_SLOTS, 0,
		       (size_t)(rank + 1 - b->nranks) * BF_HOPPER_SLOTS * sizeof(*grown));
		b->parties = grown;
		b->nranks = rank + 1;
	}
	return &b->parties[rank * BF_HOPPER_SLOTS + warp];
}

static struct bf_hopper_party *party_at(struct bf_hopper_run *run, struct bf_hopper_barrier *b, uint32_t sm,
					uint32_t slot)
{
	const struct bf_hopper_block *block = block_of(run, sm, slot);

	return block ? party_of(b, block->rank, slot - block->first_slot) : NULL;
}

/* The SM and address of what an address of the cluster means to block `from`; false: no such block is known. */
static bool resolve(const struct bf_hopper_run *run, const struct bf_hopper_block *from, uint32_t rank, uint32_t offset,
		    uint32_t *sm, uint32_t *address)
{
	const uint32_t number = (uint32_t)(from - run->blocks) - from->rank + rank;

	if (number >= run->nblocks || !run->blocks[number].known)
		return false;
	*sm = run->blocks[number].sm;
	*address = run->blocks[number].base + (offset & 0xffffff);
	return true;
}

/* ---- operations ---- */

/* How many arrivals an operation made, by the word before and after; and phases. */
static uint32_t count_arrivals(const struct bf_seen_hopper_op *o, uint32_t *flips)
{
	const uint32_t before = bf_mbar_pending(o->before), after = bf_mbar_pending(o->after);
	const uint32_t expected = bf_mbar_expected(o->after), lanes = (uint32_t)__builtin_popcountll(o->lanes);
	const uint32_t asked = (uint32_t)o->count * (o->remote ? 1 : lanes);

	*flips = bf_mbar_phase(o->before) != bf_mbar_phase(o->after);
	if (o->op != BF_OP_ARRIVE && o->op != BF_OP_DROP)
		return 0;
	if (!*flips && before >= after && asked < 2 * expected)
		return before - after;
	if (*flips && asked < 2 * expected && o->op == BF_OP_ARRIVE)
		return before + expected - after;
	if (expected && asked >= before)
		*flips = 1 + (asked - before) / expected;
	return asked;
}

static void begin_life(struct bf_hopper_run *run, struct bf_hopper_barrier *b, const struct bf_seen *e, uint32_t slot)
{
	struct bf_hopper_now *n = &run->now;

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
static void passed(struct bf_hopper_now *n, struct bf_hopper_barrier *b, uint64_t address, uint64_t lanes)
{
	struct bf_hopper_warp *w = n->warp;
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

static void end_phases(struct bf_hopper_barrier *b, uint32_t flips)
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

static void note_tx(struct bf_hopper_now *n, struct bf_hopper_barrier *b, const struct bf_seen *e)
{
	const int64_t tx = (int64_t)bf_mbar_tx(e->hopper_op.after) - bf_mbar_tx(e->hopper_op.before);
	struct bf_hopper_party *p = n->party;

	switch (e->hopper_op.op) {
	case BF_OP_EXPECT:
		b->armed += (uint64_t)tx;
		b->expects++;
		n->late_expect = p && p->copied > p->arrived && p->arrived > p->armed && n->in_flight;
		if (p)
			p->armed = e->number + 1;
		break;
	case BF_OP_COMPLETE:
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
static void judge_share(struct bf_hopper_now *n, const struct bf_hopper_barrier *b, const struct bf_seen_hopper_op *o,
			bool again)
{
	const uint32_t before = b->phases;
	struct bf_hopper_party *p = n->party;
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

static void note_op(struct bf_rules *r, struct bf_hopper_run *run, const struct bf_seen *e)
{
	const struct bf_seen_hopper_op *o = &e->hopper_op;
	const uint32_t sm = sm_of(r, run, e->actor);
	struct bf_hopper_now *n = &run->now;
	struct bf_hopper_sm *s = make_sm(run, sm);
	struct bf_hopper_barrier *b;

	*n = (struct bf_hopper_now){ .queue = s ? make_barrier(r, run, sm, (uint32_t)o->address) : NULL };
	if (!n->queue)
		return;
	n->queue->actor = e->actor;
	b = n->bar = bf_hopper_bar(n->queue);
	n->sm = run->remote ? run->remote_sm : sm;
	n->slot = (uint32_t)o->warp;
	n->by_copy = o->remote && !run->remote;
	run->remote = false;
	n->warp = n->by_copy ? NULL : bf_hopper_warp(run, n->sm, n->slot);
	n->party = party_at(run, b, n->sm, n->slot);
	n->in_flight = b->brought - b->landed;
	n->arrivals = count_arrivals(o, &n->flips);
	b->word = o->after;
	s->ops++;
	s->misses += !o->hit;
	if (o->op == BF_OP_INIT) {
		begin_life(run, b, e, n->slot);
		return;
	}
	if (o->op == BF_OP_INVAL) {
		n->was_alive = b->alive;
		b->alive = b->labelled = false;
		return;
	}
	if (o->op >= BF_OP_TEST) {
		if (!n->warp)
			return;
		n->warp->wait_address = o->address;
		n->warp->wait_lanes = (uint32_t)o->lanes;
		n->warp->wait_record = e->number;
		n->warp->parity = o->op == BF_OP_TEST || o->op == BF_OP_TRY ? (uint32_t)o->count & 1 : 2 + b->phases;
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

static void note_wait(struct bf_rules *r, struct bf_hopper_run *run, const struct bf_seen *e)
{
	const uint32_t sm = sm_of(r, run, e->actor);
	struct bf_hopper_now *n = &run->now;

	*n = (struct bf_hopper_now){ .queue = bf_hopper_barrier(r, sm, e->hopper_wait.address),
				     .warp = bf_hopper_warp(run, sm, (uint32_t)e->hopper_wait.warp),
				     .sm = sm,
				     .slot = (uint32_t)e->hopper_wait.warp };
	if (!n->queue || !n->warp)
		return;
	n->bar = bf_hopper_bar(n->queue);
	n->party = party_at(run, n->bar, sm, n->slot);
	n->warp->parked = e->hopper_wait.event == BF_HOPPER_PARKED;
	n->warp->came_back = (uint8_t)e->hopper_wait.event;
	if (e->hopper_wait.event == BF_HOPPER_WOKEN)
		passed(n, n->bar, e->hopper_wait.address, n->warp->wait_lanes);
}

static void note_remote(struct bf_hopper_run *run, const struct bf_seen *e)
{
	struct bf_hopper_warp *w = bf_hopper_warp(run, (uint32_t)e->hopper_remote.sm, (uint32_t)e->hopper_remote.warp);

	if (!e->hopper_remote.arrived) {
		if (w && e->hopper_remote.op <= BF_OP_DROP)
			w->arrived_since = true;
		return;
	}
	run->remote = true;
	run->remote_sm = (uint32_t)e->hopper_remote.sm;
	run->remote_slot = (uint32_t)e->hopper_remote.warp;
}

/* ---- blocks ---- */

/* Barriers need no inval at the end of a kernel. */
static void end_barriers(struct bf_rules *r, uint32_t sm, const struct bf_hopper_block *block)
{
	struct bf_rule_queue *q;

	for (uint32_t i = 0; (q = bf_rule_queue_at(r, i)) != NULL; i++)
		if (q->family == &bf_rules_hopper && q->pe == sm && q->number - block->base < block->bytes)
			bf_hopper_bar(q)->alive = false;
}

static void note_block(struct bf_rules *r, struct bf_hopper_run *run, const struct bf_seen *e)
{
	const struct bf_seen_hopper_cta *c = &e->hopper_cta;
	const uint32_t sm = sm_of(r, run, e->actor), number = (uint32_t)c->cta;
	struct bf_hopper_sm *s = make_sm(run, sm);
	struct bf_hopper_block *grown;

	if (!s || number > 1u << 20)
		return;
	if (number >= run->nblocks) {
		const uint32_t n = number + number / 2 + 16;

		grown = realloc(run->blocks, n * sizeof(*grown));
		if (!grown)
			return;
		memset(grown + run->nblocks, 0, (n - run->nblocks) * sizeof(*grown));
		run->blocks = grown;
		run->nblocks = n;
	}
	run->blocks[number] = (struct bf_hopper_block){ .known = true,
							.here = c->event == 0,
							.sm = sm,
							.rank = (uint32_t)c->rank,
							.base = (uint32_t)c->base,
							.bytes = (uint32_t)c->bytes,
							.first_slot = (uint32_t)c->first_warp };
	if (c->event) {
		end_barriers(r, sm, &run->blocks[number]);
		return;
	}
	/* Those that have gone make room. */
	for (uint32_t i = 0; i < s->nblocks && s->nblocks == BF_ARRAY_LEN(s->block); i++)
		if (!run->blocks[s->block[i]].here) {
			memmove(&s->block[i], &s->block[i + 1], (s->nblocks - i - 1) * sizeof(s->block[0]));
			s->nblocks--;
		}
	if (s->nblocks < BF_ARRAY_LEN(s->block))
		s->block[s->nblocks++] = number;
}

static const struct bf_hopper_block *block_on(const struct bf_hopper_run *run, uint32_t number)
{
	return number < run->nblocks && run->blocks[number].known ? &run->blocks[number] : NULL;
}

/* The block of an SM with that rank, the latest one. */
static const struct bf_hopper_block *ranked_block(const struct bf_hopper_run *run, uint32_t sm, uint32_t rank)
{
	const struct bf_hopper_sm *s = sm < BF_HOPPER_SMS ? run->sm[sm] : NULL;

	for (uint32_t i = s ? s->nblocks : 0; i-- > 0;)
		if (run->blocks[s->block[i]].rank == rank)
			return &run->blocks[s->block[i]];
	return NULL;
}

/* A fault names a barrier as its instruction did, that of a copy's signal by the SM's address. */
struct bf_rule_queue *bf_hopper_fault_at(struct bf_rule_run *r, const struct bf_seen *e, uint32_t *sm, uint32_t *address)
{
	const struct bf_hopper_run *run = bf_hopper_run(r);
	const uint32_t rank = (uint32_t)e->hopper_fault.address >> 24;
	const struct bf_hopper_block *block;

	*sm = sm_of(r->rules, bf_hopper_run(r), e->actor);
	*address = (uint32_t)e->hopper_fault.address;
	block = ranked_block(run, *sm, rank);
	if (block && e->hopper_fault.op != BF_OP_COMPLETE)
		*address = block->base + (*address & 0xffffff);
	return make_barrier(r->rules, bf_hopper_run(r), *sm, *address);
}

/* ---- what threads say of barriers ---- */

static void note_label(struct bf_rules *r, struct bf_hopper_run *run, const struct bf_seen *e)
{
	const struct bf_seen_hopper_label *l = &e->hopper_label;
	const struct bf_hopper_block *block = ranked_block(run, (uint32_t)l->sm, (uint32_t)l->rank);
	struct bf_hopper_now *n = &run->now;
	struct bf_hopper_barrier *b;

	*n = (struct bf_hopper_now){ .queue = make_barrier(r, run, (uint32_t)l->sm,
							   (uint32_t)l->address + (block ? block->base : 0)) };
	if (!n->queue)
		return;
	b = n->bar = bf_hopper_bar(n->queue);
	b->labelled = true;
	bf_seen_text(e, "name", b->name, sizeof(b->name));
	bf_seen_text(e, "who", b->who, sizeof(b->who));
	b->index = (uint32_t)l->index;
	b->ranks = (uint32_t)l->ranks;
	b->warps = (uint32_t)l->warps;
	b->each = (uint32_t)l->each;
	b->free = (uint32_t)l->free;
	b->expected = (uint32_t)l->expected;
}

static void note_fence(struct bf_rules *r, struct bf_hopper_run *run, const struct bf_seen *e)
{
	struct bf_rule_queue *q;

	for (uint32_t i = 0; (q = bf_rule_queue_at(r, i)) != NULL; i++) {
		struct bf_hopper_barrier *b = q->family == &bf_rules_hopper ? bf_hopper_bar(q) : NULL;
		const struct bf_hopper_block *block = b && b->block < run->nblocks ? &run->blocks[b->block] : NULL;

		if (block && block->sm == e->hopper_init_fence.sm &&
		    b->init_slot == block->first_slot + e->hopper_init_fence.warp)
			b->fenced = true;
	}
}

static void note_standing(struct bf_rules *r, struct bf_hopper_run *run, const struct bf_seen *e)
{
	const struct bf_seen_hopper_standing *t = &e->hopper_standing;
	const struct bf_hopper_block *block = ranked_block(run, (uint32_t)t->sm, (uint32_t)t->rank);
	struct bf_hopper_warp *w = bf_hopper_warp(run, (uint32_t)t->sm, (uint32_t)t->slot);
	struct bf_rule_queue *q;
	struct bf_hopper_barrier *b;

	run->failed = true;
	if (!w)
		return;
	w->stands = true;
	w->block = (uint32_t)t->block;
	w->rank = (uint32_t)t->rank;
	w->warp = (uint32_t)t->warp;
	w->waits = (uint32_t)t->waits;
	w->meets = (uint32_t)t->meets;
	w->ended = (uint32_t)t->ended;
	w->at = (uint32_t)t->address + (block ? block->base : 0);
	q = w->waits ? bf_hopper_barrier(r, (uint32_t)t->sm, w->at) : NULL;
	b = q ? bf_hopper_bar(q) : NULL;
	if (!b || b->nwaiting++)
		return;
	b->waiter_slot = (uint32_t)t->slot;
	b->waiter_parity = (uint32_t)t->parity;
	b->waiter_lanes = w->waits;
	b->waiting_since = t->waited_ps;
}

static void note_hazard(struct bf_rules *r, struct bf_hopper_run *run, const struct bf_seen *e)
{
	const struct bf_seen_hopper_hazard *h = &e->hopper_hazard;
	const struct bf_hopper_block *block = ranked_block(run, (uint32_t)h->sm, (uint32_t)h->rank);
	struct bf_hopper_now *n = &run->now;

	*n = (struct bf_hopper_now){ .sm = (uint32_t)h->sm };
	if (h->event == BF_HAZARD_WENT_ON && block)
		n->warp = bf_hopper_warp(run, (uint32_t)h->sm, block->first_slot + (uint32_t)h->warp);
	if (block)
		n->queue = bf_hopper_barrier(r, (uint32_t)h->sm, block->base + (h->address & ~7ull));
	n->bar = n->queue ? bf_hopper_bar(n->queue) : NULL;
}

/* ---- copies ---- */

static void brings(struct bf_rules *r, struct bf_hopper_run *run, const struct bf_seen *e,
		   const struct bf_hopper_block *from, uint32_t rank)
{
	const struct bf_seen_hopper_bulk *c = &e->hopper_bulk;
	struct bf_rule_queue *q;
	struct bf_hopper_barrier *b;
	struct bf_hopper_party *p;
	uint32_t sm, address;

	if (!resolve(run, from, rank, (uint32_t)c->barrier, &sm, &address))
		return;
	q = make_barrier(r, run, sm, address);
	if (!q)
		return;
	b = bf_hopper_bar(q);
	b->brought += c->bytes;
	b->copies++;
	run->now.queue = run->now.queue ? run->now.queue : q;
	run->now.bar = bf_hopper_bar(run->now.queue);
	p = party_of(b, from->rank, (uint32_t)c->warp - from->first_slot);
	if (p)
		p->copied = e->number + 1;
}

static void note_bulk(struct bf_rules *r, struct bf_hopper_run *run, const struct bf_seen *e)
{
	const struct bf_seen_hopper_bulk *c = &e->hopper_bulk;
	const struct bf_hopper_block *from = block_on(run, (uint32_t)c->cta);
	struct bf_hopper_warp *w = from ? bf_hopper_warp(run, from->sm, (uint32_t)c->warp) : NULL;

	run->now = (struct bf_hopper_now){ .warp = w, .sm = from ? from->sm : 0, .slot = (uint32_t)c->warp };
	if (!from)
		return;
	run->copies[c->copy % BF_HOPPER_COPIES] = (struct bf_hopper_copy){
		.rec = *c, .sm = from->sm, .at_ps = e->time_ps, .record = e->number, .set = true
	};
	if (c->kind == BF_COPY_STORE) {
		run->sm[from->sm]->reading++;
		if (w)
			w->stores_open |= 1u << c->lane % 32;
		return;
	}
	for (uint32_t rank = 0; c->kind == BF_COPY_LOAD && rank < BF_HOPPER_RANKS; rank++)
		if (c->ranks ? c->ranks >> rank & 1 : rank == from->rank)
			brings(r, run, e, from, rank);
	if (c->kind == BF_COPY_PEER)
		brings(r, run, e, from, (uint32_t)c->shared >> 24);
}

static void note_bulk_end(struct bf_hopper_run *run, const struct bf_seen *e)
{
	struct bf_hopper_copy *c = &run->copies[e->hopper_bulk_end.copy % BF_HOPPER_COPIES];

	if (!c->set || c->rec.copy != e->hopper_bulk_end.copy)
		return;
	if (!c->read && c->rec.kind == BF_COPY_STORE)
		run->sm[c->sm]->reading--;
	c->read = true;
	c->ended = e->hopper_bulk_end.event == 1;
}

/* "shared memory of sm3" is where plain accesses to SM 3's go. */
static void note_region(struct bf_rules *r, struct bf_hopper_run *run, const struct bf_seen *e)
{
	static const char prefix[] = "shared memory of sm";
	struct bf_hopper_sm *s;
	char name[64];

	(void)r;
	if (strncmp(bf_seen_text(e, "name", name, sizeof(name)), prefix, sizeof(prefix) - 1) != 0)
		return;
	s = make_sm(run, (uint32_t)strtoul(name + sizeof(prefix) - 1, NULL, 10));
	if (!s)
		return;
	s->va = e->region.va;
	s->bytes = e->region.size;
}

/* Lanes close what they have copied: nothing, perhaps. */
static void cover(struct bf_hopper_warp *w, uint32_t lanes)
{
	w->empty |= lanes & ~w->open;
	w->open &= ~lanes;
}

static void note_async(struct bf_rules *r, struct bf_hopper_run *run, const struct bf_seen *e)
{
	const uint32_t sm = sm_of(r, run, e->actor);
	struct bf_hopper_now *n = &run->now;
	struct bf_hopper_sm *s = make_sm(run, sm);
	const struct bf_hopper_block *block;
	struct bf_hopper_warp *w;

	*n = (struct bf_hopper_now){ .sm = sm };
	n->slot = (uint32_t)(e->kind == BF_SEEN_hopper_ldgsts	   ? e->hopper_ldgsts.warp
			     : e->kind == BF_SEEN_hopper_group ? e->hopper_group.warp
								   : e->hopper_ldgsts_arrive.warp);
	w = n->warp = s && n->slot < BF_HOPPER_SLOTS ? &s->warp[n->slot] : NULL;
	if (!w)
		return;
	if (e->kind == BF_SEEN_hopper_ldgsts) {
		w->open |= (uint32_t)e->hopper_ldgsts.lanes;
		if (w->empty & e->hopper_ldgsts.lanes && !(w->uncovered & e->hopper_ldgsts.lanes))
			w->first_uncovered = e->number;
		w->uncovered |= w->empty & (uint32_t)e->hopper_ldgsts.lanes;
	} else if (e->kind == BF_SEEN_hopper_group && e->hopper_group.event == 0 && e->hopper_group.kind == 0) {
		w->stores_open &= ~(uint32_t)e->hopper_group.lanes;
	} else if (e->kind == BF_SEEN_hopper_group && e->hopper_group.event == 0) {
		cover(w, (uint32_t)e->hopper_group.lanes);
	} else if (e->kind == BF_SEEN_hopper_ldgsts_arrive && e->hopper_ldgsts_arrive.event == 0) {
		cover(w, (uint32_t)e->hopper_ldgsts_arrive.lanes);
		block = block_of(run, sm, n->slot);
		n->queue = make_barrier(r, run, sm,
					(uint32_t)e->hopper_ldgsts_arrive.address + (block ? block->base : 0));
		n->bar = n->queue ? bf_hopper_bar(n->queue) : NULL;
		if (n->bar && !e->hopper_ldgsts_arrive.noinc)
			n->bar->incs++;
	}
}

static void on(struct bf_rules *r, void *facts, const struct bf_seen *e)
{
	struct bf_hopper_run *run = facts;

	switch (e->kind) {
	case BF_SEEN_region:
		note_region(r, run, e);
		break;
	case BF_SEEN_hopper_op:
		note_op(r, run, e);
		break;
	case BF_SEEN_hopper_wait:
		note_wait(r, run, e);
		break;
	case BF_SEEN_hopper_remote:
		note_remote(run, e);
		break;
	case BF_SEEN_hopper_cta:
		note_block(r, run, e);
		break;
	case BF_SEEN_hopper_fault:
		run->fault_remote = run->remote;
		run->remote = false;
		run->faulted = true;
		break;
	case BF_SEEN_hopper_label:
		note_label(r, run, e);
		break;
	case BF_SEEN_hopper_init_fence:
		note_fence(r, run, e);
		break;
	case BF_SEEN_hopper_standing:
		note_standing(r, run, e);
		break;
	case BF_SEEN_hopper_hazard:
		note_hazard(r, run, e);
		break;
	case BF_SEEN_hopper_bulk:
		note_bulk(r, run, e);
		break;
	case BF_SEEN_hopper_bulk_end:
		note_bulk_end(run, e);
		break;
	default:
		note_async(r, run, e);
		break;
	}
}

static void forget(void *facts)
{
	free(((struct bf_hopper_barrier *)facts)->parties);
}

static void forget_run(void *facts)
{
	struct bf_hopper_run *run = facts;

	for (uint32_t i = 0; i < BF_HOPPER_SMS; i++)
		free(run->sm[i]);
	free(run->blocks);
}

#define BF_HOPPER_RULES(R)                                                                                             \
	R(arrive_count) R(init_sync) R(entry_sync) R(not_initialised) R(init_fence) R(init_twice) R(live_store)        \
	R(stale_word) R(inval_early) R(over_arrival) R(extra_arrival) R(local_arrive) R(phase_unseen) R(first_parity)  \
	R(parity) R(double_wait) R(wrong_wait) R(elected) R(try_once) R(wait_refused) R(expect_alone)                  \
	R(expect_missing) R(expect_late) R(expect_more) R(expect_less) R(short_tile) R(complete_tx) R(tx_range)        \
	R(skipped_arrival) R(trips) R(arrivals_missing) R(exited_block) R(release_lanes) R(release_scope) R(proxy_fence) R(load_fence)     \
	R(counted_arrive) R(early_commit) R(no_commit) R(store_wait) R(bulk_size) R(bulk_align) R(bulk_address)        \
	R(cache_thrash) R(wait_buffer) R(wait_polls) R(split_arrive) R(spin)

#define DECLARE(name) extern const struct bf_rule bf_rule_hopper_##name;
BF_HOPPER_RULES(DECLARE)
#define LIST(name) &bf_rule_hopper_##name,
static const struct bf_rule *const rules[] = { BF_HOPPER_RULES(LIST) NULL };

static const uint8_t signs[] = { BF_SEEN_hopper_op, BF_SEEN_hopper_cta, 0 };

static const uint8_t records[] = {
	BF_SEEN_region,		 BF_SEEN_hopper_op,	    BF_SEEN_hopper_wait,     BF_SEEN_hopper_remote,
	BF_SEEN_hopper_cta,	 BF_SEEN_hopper_fault,	    BF_SEEN_hopper_label,    BF_SEEN_hopper_init_fence,
	BF_SEEN_hopper_hazard,	 BF_SEEN_hopper_standing,   BF_SEEN_hopper_bulk,     BF_SEEN_hopper_bulk_end,
	BF_SEEN_hopper_group,	 BF_SEEN_hopper_ldgsts,	    BF_SEEN_hopper_ldgsts_arrive, 0,
};

const struct bf_rule_family bf_rules_hopper = {
	.name = "hopper",
	.classes = BF_CLASS_AGENT | BF_CLASS_MEM | BF_CLASS_QUEUE | BF_CLASS_NET | BF_CLASS_FAULT,
	.rules = rules,
	.signs = signs,
	.records = records,
	.run_bytes = sizeof(struct bf_hopper_run),
	.queue_bytes = sizeof(struct bf_hopper_barrier),
	.on = on,
	.forget = forget,
	.forget_run = forget_run,
};
