/* Copies into and out of Hopper's shared memory: bulk copies and what they bring, cp.async and what covers it. */
#include "traces/rules/hopper/hopper_internal.h"

#include <stdlib.h>
#include <string.h>

#include "traces/devices/points.h"
#include "traces/rules/way.h"

const struct bf_hopper_rule_copy *bf_hopper_rule_copy(const struct bf_hopper_rule_run *run, uint64_t number)
{
	const struct bf_hopper_rule_copy *c = &run->copies[number % BF_HOPPER_COPIES];

	return c->set && c->rec.copy == number ? c : NULL;
}

static const struct bf_hopper_rule_sm *sm_at(struct bf_hopper_rule_run *run, uint64_t va)
{
	const struct bf_hopper_rule_sm *s = run->sm[run->store_sm];

	if (s && va - s->va < s->bytes)
		return s;
	for (uint32_t i = 0; i < BF_HOPPER_SMS; i++)
		if (run->sm[i] && va - run->sm[i]->va < run->sm[i]->bytes) {
			run->store_sm = i;
			return run->sm[i];
		}
	return NULL;
}

/* Of several, the one that was issued first. */
const struct bf_hopper_rule_copy *bf_hopper_rule_overwrites(struct bf_rule_run *r, const struct bf_seen *e)
{
	struct bf_hopper_rule_run *run = bf_hopper_rule_run(r);
	const struct bf_hopper_rule_sm *s = run->nreading ? sm_at(run, e->store.va) : NULL;
	const struct bf_hopper_rule_copy *first = NULL;

	for (uint32_t i = 0; s && i < run->nreading; i++) {
		const struct bf_hopper_rule_copy *c = &run->copies[run->reading[i]];
		uint64_t at;

		if (run->sm[c->sm] != s || (first && c->record > first->record))
			continue;
		at = s->va + run->blocks[c->rec.cta].base + (c->rec.source & 0xffffff);
		if (e->store.va < at + c->rec.bytes && at < e->store.va + e->store.len)
			first = c;
	}
	return first;
}

/* The source of a bulk store has been read, or the store is forgotten. */
static void stop_reading(struct bf_hopper_rule_run *run, uint32_t place)
{
	uint32_t i = 0;

	while (i < run->nreading && run->reading[i] != place)
		i++;
	if (i < run->nreading)
		run->reading[i] = run->reading[--run->nreading];
}

/* Its bytes are there, as far as its thread knows; or the store is forgotten. */
static void waited_for(struct bf_hopper_rule_run *run, uint32_t place)
{
	uint32_t i = 0;

	while (i < run->nunwaited && run->unwaited[i] != place)
		i++;
	if (i < run->nunwaited)
		run->unwaited[i] = run->unwaited[--run->nunwaited];
}

/* Lanes wait for all but the latest `group` of their groups. */
static void wait_groups(struct bf_hopper_rule_run *run, uint32_t sm, const struct bf_hopper_rule_warp *w,
			const struct bf_seen_hopper_group *g)
{
	for (uint32_t i = run->nunwaited; i-- > 0;) {
		const struct bf_hopper_rule_copy *c = &run->copies[run->unwaited[i]];
		const uint32_t lane = (uint32_t)c->rec.lane % 32;

		if (c->sm == sm && c->rec.warp == g->warp && g->lanes >> lane & 1 &&
		    c->group + g->group < w->groups[lane])
			run->unwaited[i] = run->unwaited[--run->nunwaited];
	}
}

void bf_hopper_rule_note_exit(struct bf_hopper_rule_run *run, uint32_t block)
{
	for (uint32_t i = run->nunwaited; i-- > 0;)
		if (run->copies[run->unwaited[i]].rec.cta == block)
			run->unwaited[i] = run->unwaited[--run->nunwaited];
}

const struct bf_hopper_rule_copy *bf_hopper_rule_read_early(struct bf_rule_run *r, const struct bf_seen *e)
{
	const struct bf_hopper_rule_run *run = bf_hopper_rule_run(r);

	for (uint32_t i = 0; i < run->nunwaited; i++) {
		const struct bf_hopper_rule_copy *c = &run->copies[run->unwaited[i]];

		if (!e->dma_read.status && e->dma_read.va < c->rec.global + c->rec.bytes &&
		    c->rec.global < e->dma_read.va + e->dma_read.len)
			return c;
	}
	return NULL;
}

/* The SM and address of what an address of the cluster means to block `from`; false: no such block is known. */
static bool resolve(const struct bf_hopper_rule_run *run, const struct bf_hopper_rule_block *from, uint32_t rank,
		    uint32_t offset, uint32_t *sm, uint32_t *address)
{
	const uint32_t number = (uint32_t)(from - run->blocks) - from->rank + rank;

	if (number >= run->nblocks || !run->blocks[number].known)
		return false;
	*sm = run->blocks[number].sm;
	*address = run->blocks[number].base + (offset & 0xffffff);
	return true;
}

static const struct bf_hopper_rule_block *block_on(const struct bf_hopper_rule_run *run, uint32_t number)
{
	return number < run->nblocks && run->blocks[number].known ? &run->blocks[number] : NULL;
}

static void brings(struct bf_rules *r, struct bf_hopper_rule_run *run, const struct bf_seen *e,
		   const struct bf_hopper_rule_block *from, uint32_t rank)
{
	const struct bf_seen_hopper_bulk *c = &e->hopper_bulk;
	struct bf_rule_queue *q;
	struct bf_hopper_rule_barrier *b;
	struct bf_hopper_rule_party *p;
	uint32_t sm, address;

	if (!resolve(run, from, rank, (uint32_t)c->barrier, &sm, &address))
		return;
	q = bf_hopper_rule_make_barrier(r, run, sm, address);
	if (!q)
		return;
	b = bf_hopper_rule_bar(q);
	b->brought += c->bytes;
	b->copies++;
	run->now.queue = run->now.queue ? run->now.queue : q;
	run->now.bar = bf_hopper_rule_bar(run->now.queue);
	p = bf_hopper_rule_party_of(b, from->rank, (uint32_t)c->warp - from->first_slot);
	if (p)
		p->copied = e->number + 1;
}

void bf_hopper_rule_note_bulk(struct bf_rules *r, struct bf_hopper_rule_run *run, const struct bf_seen *e)
{
	const struct bf_seen_hopper_bulk *c = &e->hopper_bulk;
	const struct bf_hopper_rule_block *from = block_on(run, (uint32_t)c->cta);
	struct bf_hopper_rule_warp *w = from ? bf_hopper_rule_warp(run, from->sm, (uint32_t)c->warp) : NULL;
	const uint32_t place = (uint32_t)(c->copy % BF_HOPPER_COPIES);

	run->now = (struct bf_hopper_rule_now){ .warp = w, .sm = from ? from->sm : 0, .slot = (uint32_t)c->warp };
	if (!from)
		return;
	stop_reading(run, place);
	waited_for(run, place);
	run->copies[place] = (struct bf_hopper_rule_copy){
		.rec = *c, .sm = from->sm, .at_ps = e->time_ps, .record = e->number, .set = true
	};
	if (c->kind == BF_BULK_STORE) {
		run->reading[run->nreading++] = (uint16_t)place;
		if (w && c->rank == 0) {
			run->copies[place].group = w->groups[c->lane % 32];
			run->unwaited[run->nunwaited++] = (uint16_t)place;
		}
		if (w)
			w->stores_open |= 1u << c->lane % 32;
		return;
	}
	for (uint32_t rank = 0; c->kind == BF_BULK_LOAD && rank < BF_HOPPER_RANKS; rank++)
		if (c->ranks ? c->ranks >> rank & 1 : rank == from->rank)
			brings(r, run, e, from, rank);
	if (c->kind == BF_BULK_PEER)
		brings(r, run, e, from, (uint32_t)c->shared >> 24);
}

static inline void came(struct bf_hopper_rule_run *q, enum bf_hopper_at at, bool device, uint64_t from, uint64_t upto,
			const struct bf_seen *e)
{
	const uint32_t place = (uint32_t)(from % BF_HOPPER_COPIES);
	struct bf_hopper_rule_copy *c = &q->copies[place];

	(void)device;
	(void)upto;
	(void)e;
	if (!c->set || c->rec.copy != from)
		return;
	if (!c->read)
		stop_reading(q, place);
	c->read = true;
	c->ended = at == BF_HOPPER_AT_END;
}

static inline void come(struct bf_hopper_rule_run *q, const struct bf_seen *e, enum bf_seen_kind kind)
{
#include "traces/devices/hopper_copies.def"
}

void bf_hopper_rule_note_bulk_end(struct bf_hopper_rule_run *run, const struct bf_seen *e)
{
	come(run, e, BF_SEEN_hopper_bulk_end);
}

/* "shared memory of sm3" is where plain accesses to SM 3's go. */
void bf_hopper_rule_note_region(struct bf_hopper_rule_run *run, const struct bf_seen *e)
{
	static const char prefix[] = "shared memory of sm";
	struct bf_hopper_rule_sm *s;
	char name[64];

	if (strncmp(bf_seen_text(e, "name", name, sizeof(name)), prefix, sizeof(prefix) - 1) != 0)
		return;
	s = bf_hopper_rule_make_sm(run, (uint32_t)strtoul(name + sizeof(prefix) - 1, NULL, 10));
	if (!s)
		return;
	s->va = e->region.va;
	s->bytes = e->region.size;
}

/* Lanes close what they have copied: nothing, perhaps. */
static void cover(struct bf_hopper_rule_warp *w, uint32_t lanes)
{
	w->empty |= lanes & ~w->open;
	w->open &= ~lanes;
}

void bf_hopper_rule_note_async(struct bf_rules *r, struct bf_hopper_rule_run *run, const struct bf_seen *e)
{
	const uint32_t sm = bf_hopper_rule_sm_of(r, run, e->actor);
	struct bf_hopper_rule_now *n = &run->now;
	struct bf_hopper_rule_sm *s = bf_hopper_rule_make_sm(run, sm);
	const struct bf_hopper_rule_block *block;
	struct bf_hopper_rule_warp *w;

	*n = (struct bf_hopper_rule_now){ .sm = sm };
	n->slot = (uint32_t)(e->kind == BF_SEEN_hopper_ldgsts  ? e->hopper_ldgsts.warp
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
	} else if (e->kind == BF_SEEN_hopper_group && e->hopper_group.event == BF_HOPPER_GROUP_COMMITTED &&
		   e->hopper_group.kind == BF_HOPPER_OF_BULK) {
		w->stores_open &= ~(uint32_t)e->hopper_group.lanes;
		for (uint32_t i = 0; i < 32; i++)
			w->groups[i] += e->hopper_group.lanes >> i & 1;
	} else if (e->kind == BF_SEEN_hopper_group && e->hopper_group.event == BF_HOPPER_GROUP_WAITS &&
		   e->hopper_group.kind == BF_HOPPER_OF_BULK) {
		wait_groups(run, sm, w, &e->hopper_group);
	} else if (e->kind == BF_SEEN_hopper_group && e->hopper_group.event == BF_HOPPER_GROUP_COMMITTED) {
		cover(w, (uint32_t)e->hopper_group.lanes);
	} else if (e->kind == BF_SEEN_hopper_ldgsts_arrive &&
		   e->hopper_ldgsts_arrive.event == BF_HOPPER_LDGSTS_ISSUED) {
		cover(w, (uint32_t)e->hopper_ldgsts_arrive.lanes);
		block = bf_hopper_rule_block_of(run, sm, n->slot);
		n->queue = bf_hopper_rule_make_barrier(
		    r, run, sm, (uint32_t)e->hopper_ldgsts_arrive.address + (block ? block->base : 0));
		n->bar = n->queue ? bf_hopper_rule_bar(n->queue) : NULL;
		if (n->bar && !e->hopper_ldgsts_arrive.noinc)
			n->bar->incs++;
	}
}
