/* Where Hopper's records are: SMs, blocks, warps and barriers by their numbers, and how to name them. */
#include "traces/rules/hopper/hopper_internal.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/grow.h"

/* ---- looking up ---- */

struct bf_rule_queue *bf_hopper_rule_barrier(struct bf_rules *r, uint32_t sm, uint64_t address)
{
	return bf_rule_queue(r, &bf_rules_hopper, sm, address, false);
}

struct bf_hopper_rule_warp *bf_hopper_rule_warp(const struct bf_hopper_rule_run *run, uint32_t sm, uint32_t slot)
{
	return sm < BF_HOPPER_SMS && slot < BF_HOPPER_SLOTS && run->sm[sm] ? &run->sm[sm]->warp[slot] : NULL;
}

/* The block that has a slot of an SM, or had it last. */
const struct bf_hopper_rule_block *bf_hopper_rule_block_of(const struct bf_hopper_rule_run *run, uint32_t sm,
							   uint32_t slot)
{
	const struct bf_hopper_rule_sm *s = sm < BF_HOPPER_SMS ? run->sm[sm] : NULL;
	const struct bf_hopper_rule_block *best = NULL;

	for (uint32_t i = 0; s && i < s->nblocks; i++) {
		const struct bf_hopper_rule_block *b = &run->blocks[s->block[i]];

		if (slot >= b->first_slot && (!best || b->first_slot >= best->first_slot))
			best = b;
	}
	return best;
}

static const struct bf_hopper_rule_block *block_at(const struct bf_hopper_rule_run *run, uint32_t sm, uint32_t address)
{
	const struct bf_hopper_rule_sm *s = sm < BF_HOPPER_SMS ? run->sm[sm] : NULL;

	for (uint32_t i = s ? s->nblocks : 0; i-- > 0;)
		if (address - run->blocks[s->block[i]].base < run->blocks[s->block[i]].bytes)
			return &run->blocks[s->block[i]];
	return NULL;
}

struct bf_hopper_rule_text bf_hopper_rule_bar_text(const struct bf_hopper_rule_barrier *b)
{
	struct bf_hopper_rule_text t;

	if (b->labelled)
		snprintf(t.s, sizeof(t.s), "%s[%" PRIu32 "] of block %" PRIu32, b->name, b->index, b->block);
	else if (b->block != UINT32_MAX)
		snprintf(t.s, sizeof(t.s), "barrier 0x%" PRIx32 " of block %" PRIu32, b->address, b->block);
	else
		snprintf(t.s, sizeof(t.s), "barrier 0x%" PRIx32 " of sm%" PRIu32, b->address, b->sm);
	return t;
}

struct bf_hopper_rule_text bf_hopper_rule_warp_text(const struct bf_hopper_rule_run *run, uint32_t sm, uint32_t slot)
{
	const struct bf_hopper_rule_block *b = bf_hopper_rule_block_of(run, sm, slot);
	struct bf_hopper_rule_text t;

	snprintf(t.s, sizeof(t.s), "warp %" PRIu32 " of block %" PRIu32, slot - (b ? b->first_slot : 0),
		 b ? (uint32_t)(b - run->blocks) : 0);
	return t;
}
bool bf_hopper_rule_clustered(const struct bf_hopper_rule_run *run, uint32_t sm)
{
	const struct bf_hopper_rule_sm *s = sm < BF_HOPPER_SMS ? run->sm[sm] : NULL;

	for (uint32_t i = 0; s && i < s->nblocks; i++) {
		const uint32_t number = s->block[i];

		if (run->blocks[number].rank ||
		    (number + 1 < run->nblocks && run->blocks[number + 1].known && run->blocks[number + 1].rank))
			return true;
	}
	return false;
}

/* ---- making ---- */

/* "gpu0.sm3" is SM 3. */
uint32_t bf_hopper_rule_sm_of(struct bf_rules *r, struct bf_hopper_rule_run *run, uint32_t actor)
{
	const char *at;

	if (run->actor == actor && actor)
		return run->actor_sm;
	at = strstr(bf_rule_actor(r, actor), ".sm");
	run->actor = actor;
	run->actor_sm = at ? (uint32_t)strtoul(at + 3, NULL, 10) : BF_HOPPER_SMS;
	return run->actor_sm;
}

struct bf_hopper_rule_sm *bf_hopper_rule_make_sm(struct bf_hopper_rule_run *run, uint32_t sm)
{
	if (sm >= BF_HOPPER_SMS)
		return NULL;
	if (!run->sm[sm])
		run->sm[sm] = calloc(1, sizeof(struct bf_hopper_rule_sm));
	return run->sm[sm];
}

struct bf_rule_queue *bf_hopper_rule_make_barrier(struct bf_rules *r, struct bf_hopper_rule_run *run, uint32_t sm,
						  uint32_t address)
{
	struct bf_rule_queue *q = bf_rule_queue(r, &bf_rules_hopper, sm, address, true);
	struct bf_hopper_rule_barrier *b = q ? bf_hopper_rule_bar(q) : NULL;
	const struct bf_hopper_rule_block *block;

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
struct bf_hopper_rule_party *bf_hopper_rule_party_of(struct bf_hopper_rule_barrier *b, uint32_t rank, uint32_t warp)
{
	if (rank >= BF_HOPPER_RANKS || warp >= BF_HOPPER_SLOTS)
		return NULL;
	if (rank >= b->nranks) {
		if (BF_GROW(b->parties, b->parties_cap, (rank + 1) * BF_HOPPER_SLOTS))
			return NULL;
		b->nranks = rank + 1;
	}
	return &b->parties[rank * BF_HOPPER_SLOTS + warp];
}

struct bf_hopper_rule_party *bf_hopper_rule_party_at(struct bf_hopper_rule_run *run, struct bf_hopper_rule_barrier *b,
						     uint32_t sm, uint32_t slot)
{
	const struct bf_hopper_rule_block *block = bf_hopper_rule_block_of(run, sm, slot);

	return block ? bf_hopper_rule_party_of(b, block->rank, slot - block->first_slot) : NULL;
}

/* ---- blocks ---- */

/* Barriers need no inval at the end of a kernel. */
static void end_barriers(struct bf_rules *r, uint32_t sm, const struct bf_hopper_rule_block *block)
{
	struct bf_rule_queue *q;

	for (uint32_t i = 0; (q = bf_rule_queue_at(r, i)) != NULL; i++)
		if (q->family == &bf_rules_hopper && q->pe == sm && q->number - block->base < block->bytes)
			bf_hopper_rule_bar(q)->alive = false;
}

void bf_hopper_rule_note_block(struct bf_rules *r, struct bf_hopper_rule_run *run, const struct bf_seen *e)
{
	const struct bf_seen_hopper_cta *c = &e->hopper_cta;
	const uint32_t sm = bf_hopper_rule_sm_of(r, run, e->actor), number = (uint32_t)c->cta;
	struct bf_hopper_rule_sm *s = bf_hopper_rule_make_sm(run, sm);

	if (!s || number > 1u << 20)
		return;
	if (BF_GROW(run->blocks, run->nblocks, number + 1))
		return;
	run->blocks[number] = (struct bf_hopper_rule_block){ .known = true,
							     .here = c->event == 0,
							     .sm = sm,
							     .rank = (uint32_t)c->rank,
							     .base = (uint32_t)c->base,
							     .bytes = (uint32_t)c->bytes,
							     .first_slot = (uint32_t)c->first_warp };
	if (c->event) {
		bf_hopper_rule_note_exit(run, number);
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

/* The block of an SM with that rank, the latest one. */
const struct bf_hopper_rule_block *bf_hopper_rule_ranked_block(const struct bf_hopper_rule_run *run, uint32_t sm,
							       uint32_t rank)
{
	const struct bf_hopper_rule_sm *s = sm < BF_HOPPER_SMS ? run->sm[sm] : NULL;

	for (uint32_t i = s ? s->nblocks : 0; i-- > 0;)
		if (run->blocks[s->block[i]].rank == rank)
			return &run->blocks[s->block[i]];
	return NULL;
}

/* A fault names a barrier as its instruction did, that of a copy's signal by the SM's address. */
struct bf_rule_queue *bf_hopper_rule_fault_at(struct bf_rule_run *r, const struct bf_seen *e, uint32_t *sm,
					      uint32_t *address)
{
	const struct bf_hopper_rule_run *run = bf_hopper_rule_run(r);
	const uint32_t rank = (uint32_t)e->hopper_fault.address >> 24;
	const struct bf_hopper_rule_block *block;

	*sm = bf_hopper_rule_sm_of(r->rules, bf_hopper_rule_run(r), e->actor);
	*address = (uint32_t)e->hopper_fault.address;
	block = bf_hopper_rule_ranked_block(run, *sm, rank);
	if (block && e->hopper_fault.op != BF_SYNC_COMPLETE_TX)
		*address = block->base + (*address & 0xffffff);
	return bf_hopper_rule_make_barrier(r->rules, bf_hopper_rule_run(r), *sm, *address);
}

static enum bf_hopper_rule_early who_came_early(struct bf_hopper_rule_run *run, const struct bf_seen *e, uint32_t sm)
{
	const struct bf_hopper_rule_warp *w;

	if ((run->fault_remote || e->hopper_fault.op == BF_SYNC_COMPLETE_TX) && bf_hopper_rule_clustered(run, sm))
		return BF_EARLY_CLUSTER;
	w = bf_hopper_rule_warp(run, sm, (uint32_t)e->hopper_fault.warp);
	return w && w->init_lanes >> (e->hopper_fault.lane & 31) & 1 ? BF_EARLY_OWNER : BF_EARLY_OTHER;
}

struct bf_finding *bf_hopper_rule_find_early(struct bf_rule_run *r, const struct bf_seen *e,
					     enum bf_hopper_rule_early who, uint32_t *sm)
{
	struct bf_rule_queue *q;
	struct bf_finding *f;
	uint32_t address;

	if (e->hopper_fault.reason != BF_MBAR_FAULT_UNINITIALISED)
		return NULL;
	q = bf_hopper_rule_fault_at(r, e, sm, &address);
	f = q && who_came_early(bf_hopper_rule_run(r), e, *sm) == who ? bf_rule_find(r, e, q) : NULL;
	if (f)
		bf_finding_index(f, address);
	return f;
}
