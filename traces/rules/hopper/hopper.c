/* Facts of Hopper's barriers: what threads say of them, who takes which record; and the list of their rules. */
#include "traces/rules/hopper/hopper_internal.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- what threads say of barriers ---- */

static void note_label(struct bf_rules *r, struct bf_hopper_rule_run *run, const struct bf_seen *e)
{
	const struct bf_seen_hopper_label *l = &e->hopper_label;
	const struct bf_hopper_rule_block *block = bf_hopper_rule_ranked_block(run, (uint32_t)l->sm, (uint32_t)l->rank);
	struct bf_hopper_rule_now *n = &run->now;
	struct bf_hopper_rule_barrier *b;
	char name[sizeof(b->name)];

	*n = (struct bf_hopper_rule_now){ .queue = bf_hopper_rule_make_barrier(r, run, (uint32_t)l->sm,
									       (uint32_t)l->address +
										   (block ? block->base : 0)) };
	if (!n->queue)
		return;
	b = n->bar = bf_hopper_rule_bar(n->queue);
	bf_seen_text(e, "name", name, sizeof(name));
	if (b->alive && b->labelled && (strcmp(b->name, name) != 0 || b->index != l->index))
		snprintf(n->was, sizeof(n->was), "%.24s[%" PRIu32 "]", b->name, b->index);
	b->labelled = true;
	memcpy(b->name, name, sizeof(name));
	bf_seen_text(e, "who", b->who, sizeof(b->who));
	b->index = (uint32_t)l->index;
	b->ranks = (uint32_t)l->ranks;
	b->warps = (uint32_t)l->warps;
	b->each = (uint32_t)l->each;
	b->free = (uint32_t)l->free;
	b->expected = (uint32_t)l->expected;
}

static void note_fence(struct bf_rules *r, struct bf_hopper_rule_run *run, const struct bf_seen *e)
{
	struct bf_rule_queue *q;

	for (uint32_t i = 0; (q = bf_rule_queue_at(r, i)) != NULL; i++) {
		struct bf_hopper_rule_barrier *b = q->family == &bf_rules_hopper ? bf_hopper_rule_bar(q) : NULL;
		const struct bf_hopper_rule_block *block = b && b->block < run->nblocks ? &run->blocks[b->block] : NULL;

		if (block && block->sm == e->hopper_init_fence.sm &&
		    b->init_slot == block->first_slot + e->hopper_init_fence.warp)
			b->fenced = true;
	}
}

static void note_standing(struct bf_rules *r, struct bf_hopper_rule_run *run, const struct bf_seen *e)
{
	const struct bf_seen_hopper_standing *t = &e->hopper_standing;
	const struct bf_hopper_rule_block *block = bf_hopper_rule_ranked_block(run, (uint32_t)t->sm, (uint32_t)t->rank);
	struct bf_hopper_rule_warp *w = bf_hopper_rule_warp(run, (uint32_t)t->sm, (uint32_t)t->slot);
	struct bf_rule_queue *q;
	struct bf_hopper_rule_barrier *b;

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
	q = w->waits ? bf_hopper_rule_barrier(r, (uint32_t)t->sm, w->at) : NULL;
	b = q ? bf_hopper_rule_bar(q) : NULL;
	if (!b || b->nwaiting++)
		return;
	b->waiter_slot = (uint32_t)t->slot;
	b->waiter_parity = (uint32_t)t->parity;
	b->waiter_lanes = w->waits;
	b->waiting_since = t->waited_ps;
}

static void note_hazard(struct bf_rules *r, struct bf_hopper_rule_run *run, const struct bf_seen *e)
{
	const struct bf_seen_hopper_hazard *h = &e->hopper_hazard;
	const struct bf_hopper_rule_block *block = bf_hopper_rule_ranked_block(run, (uint32_t)h->sm, (uint32_t)h->rank);
	struct bf_hopper_rule_now *n = &run->now;

	*n = (struct bf_hopper_rule_now){ .sm = (uint32_t)h->sm };
	if (h->event == BF_HAZARD_WENT_ON && block)
		n->warp = bf_hopper_rule_warp(run, (uint32_t)h->sm, block->first_slot + (uint32_t)h->warp);
	if (block)
		n->queue = bf_hopper_rule_barrier(r, (uint32_t)h->sm, block->base + (h->address & ~7ull));
	n->bar = n->queue ? bf_hopper_rule_bar(n->queue) : NULL;
}

/* ---- all records ---- */

static void on(struct bf_rules *r, void *facts, const struct bf_seen *e)
{
	struct bf_hopper_rule_run *run = facts;

	switch (e->kind) {
	case BF_SEEN_region:
		bf_hopper_rule_note_region(run, e);
		break;
	case BF_SEEN_hopper_op:
		bf_hopper_rule_note_op(r, run, e);
		break;
	case BF_SEEN_hopper_wait:
		bf_hopper_rule_note_wait(r, run, e);
		break;
	case BF_SEEN_hopper_remote:
		bf_hopper_rule_note_remote(run, e);
		break;
	case BF_SEEN_hopper_cta:
		bf_hopper_rule_note_block(r, run, e);
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
		bf_hopper_rule_note_bulk(r, run, e);
		break;
	case BF_SEEN_hopper_bulk_end:
		bf_hopper_rule_note_bulk_end(run, e);
		break;
	default:
		bf_hopper_rule_note_async(r, run, e);
		break;
	}
}

static void forget(void *facts)
{
	free(((struct bf_hopper_rule_barrier *)facts)->parties);
}

static void forget_run(void *facts)
{
	struct bf_hopper_rule_run *run = facts;

	for (uint32_t i = 0; i < BF_HOPPER_SMS; i++)
		free(run->sm[i]);
	free(run->blocks);
}

/* clang-format off */
#define BF_HOPPER_RULES(R)                                                                                             \
	R(arrive_count) R(init_sync) R(entry_sync) R(not_initialised) R(init_fence) R(init_twice)                      \
	R(live_store) R(stale_word) R(inval_early) R(over_arrival) R(extra_arrival) R(local_arrive)                    \
	R(phase_unseen) R(first_parity) R(parity) R(double_wait) R(wrong_wait) R(elected) R(try_once)                  \
	R(wait_refused) R(expect_alone) R(expect_missing) R(expect_late) R(expect_more) R(expect_less)                 \
	R(short_tile) R(complete_tx) R(tx_range) R(skipped_arrival) R(trips) R(arrivals_missing)                       \
	R(exited_block) R(shared_end) R(release_lanes) R(release_scope) R(proxy_fence) R(load_fence) R(counted_arrive)               \
	R(early_commit) R(no_commit) R(store_wait) R(store_sent) R(copy_overlap) R(bulk_size) R(bulk_align) R(bulk_address)          \
	R(async_group) R(cache_thrash) R(wait_buffer) R(wait_polls) R(split_arrive) R(spin)
/* clang-format on */

#define DECLARE(name) extern const struct bf_rule bf_rule_hopper_##name;
BF_HOPPER_RULES(DECLARE)
#define LIST(name) &bf_rule_hopper_##name,
static const struct bf_rule *const rules[] = { BF_HOPPER_RULES(LIST) NULL };

static const uint16_t signs[] = { BF_SEEN_hopper_op, BF_SEEN_hopper_cta, 0 };

static const uint16_t records[] = {
	BF_SEEN_region,        BF_SEEN_hopper_op,       BF_SEEN_hopper_wait,          BF_SEEN_hopper_remote,
	BF_SEEN_hopper_cta,    BF_SEEN_hopper_fault,    BF_SEEN_hopper_label,         BF_SEEN_hopper_init_fence,
	BF_SEEN_hopper_hazard, BF_SEEN_hopper_standing, BF_SEEN_hopper_bulk,          BF_SEEN_hopper_bulk_end,
	BF_SEEN_hopper_group,  BF_SEEN_hopper_ldgsts,   BF_SEEN_hopper_ldgsts_arrive, 0,
};

const struct bf_rule_family bf_rules_hopper = {
	.name = "hopper",
	.classes = BF_CLASS_AGENT | BF_CLASS_MEM | BF_CLASS_QUEUE | BF_CLASS_NET | BF_CLASS_FAULT | BF_CLASS_DMA,
	.rules = rules,
	.signs = signs,
	.records = records,
	.run_bytes = sizeof(struct bf_hopper_rule_run),
	.queue_bytes = sizeof(struct bf_hopper_rule_barrier),
	.on = on,
	.forget = forget,
	.forget_run = forget_run,
};
