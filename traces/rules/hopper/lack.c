/* What a barrier lacks that is waited for when a run has failed. */
#include <string.h>

#include "traces/rules/hopper/hopper.h"

/* The waiter that stands for all. */
static const struct bf_hopper_rule_party *waiter_of(const struct bf_hopper_rule_run *run,
						    const struct bf_hopper_rule_barrier *b,
						    const struct bf_hopper_rule_warp **who)
{
	static const struct bf_hopper_rule_party nothing = { 0 };
	const struct bf_hopper_rule_warp *w = bf_hopper_rule_warp(run, b->sm, b->waiter_slot);

	*who = w;
	return w && w->rank < b->nranks ? &b->parties[w->rank * BF_HOPPER_SLOTS + w->warp] : &nothing;
}

static uint32_t made(const struct bf_hopper_rule_barrier *b, uint32_t rank, uint32_t warp)
{
	return rank < b->nranks ? b->parties[rank * BF_HOPPER_SLOTS + warp].arrivals : 0;
}

/* A warp of the barrier's cluster by rank and number, if it stands somewhere. */
static const struct bf_hopper_rule_warp *standing(const struct bf_hopper_rule_run *run,
						  const struct bf_hopper_rule_barrier *b, uint32_t rank, uint32_t warp)
{
	const uint32_t own = b->block < run->nblocks ? run->blocks[b->block].rank : 0;
	const uint32_t number = b->block - own + rank;
	const struct bf_hopper_rule_block *block =
	    number < run->nblocks && run->blocks[number].known ? &run->blocks[number] : NULL;

	return block ? bf_hopper_rule_warp(run, block->sm, block->first_slot + warp) : NULL;
}

/* Somebody has ended while others wait: copies that are missing are missing for that. */
static bool somebody_ended(const struct bf_hopper_rule_run *run)
{
	for (uint32_t i = 0; i < BF_HOPPER_SMS; i++)
		for (uint32_t k = 0; run->sm[i] && k < BF_HOPPER_SLOTS; k++) {
			const struct bf_hopper_rule_warp *w = &run->sm[i]->warp[k];

			if (w->stands && !w->waits && (w->ended | w->meets) == UINT32_MAX)
				return true;
		}
	return false;
}

static enum bf_hopper_rule_lack bytes_lack(const struct bf_hopper_rule_run *run, const struct bf_hopper_rule_barrier *b)
{
	const uint64_t armed = b->armed - b->armed_before, brought = b->brought - b->brought_before;

	if (b->completed && !b->brought)
		return BF_LACK_COMPLETE;
	if (b->armed < b->brought)
		return b->armed ? BF_LACK_MORE : BF_LACK_EXPECT;
	if (b->armed > b->brought && b->copies < b->last_copies && somebody_ended(run))
		return BF_LACK_NONE;
	if (b->armed > b->brought)
		return b->phases && b->copies == b->last_copies && brought && brought < b->last_brought &&
			       armed == b->last_armed
			   ? BF_LACK_TILE
			   : BF_LACK_FEWER;
	return BF_LACK_NONE;
}

/* The warp has arrived on barriers of the same name that come later in the round, though not here. */
static bool skipped(struct bf_rules *r, const struct bf_hopper_rule_barrier *b, uint32_t rank, uint32_t warp)
{
	const uint32_t here = made(b, rank, warp);
	struct bf_rule_queue *q;

	for (uint32_t i = 0; (q = bf_rule_queue_at(r, i)) != NULL; i++) {
		const struct bf_hopper_rule_barrier *o = q->family == &bf_rules_hopper ? bf_hopper_rule_bar(q) : NULL;

		if (o && o != b && o->labelled && o->block == b->block && strcmp(o->name, b->name) == 0 &&
		    made(o, rank, warp) > here + (o->index < b->index ? b->each : 0))
			return true;
	}
	return false;
}

/* Who has not arrived, and why; the one that says most. */
static enum bf_hopper_rule_lack arrivals_lack(struct bf_rules *r, const struct bf_hopper_rule_run *run,
					      const struct bf_hopper_rule_barrier *b, uint32_t *rank, uint32_t *warp)
{
	const uint32_t due = b->each * (b->phases + 1);
	const struct bf_hopper_rule_warp *w;
	enum bf_hopper_rule_lack lack = BF_LACK_SOMETHING;

	for (uint32_t k = 0; k < BF_HOPPER_RANKS; k++)
		for (uint32_t i = 0; i < 32; i++) {
			enum bf_hopper_rule_lack now = BF_LACK_SOMETHING;

			if (!(b->ranks >> k & 1) || !(b->warps >> i & 1) || made(b, k, i) >= due)
				continue;
			w = standing(run, b, k, i);
			if (skipped(r, b, k, i))
				now = BF_LACK_SKIPPED;
			else if (w && w->stands && w->waits && w->at == b->address + run->blocks[b->block].base &&
				 k == run->blocks[b->block].rank)
				now = b->each == 1 ? BF_LACK_OWN : BF_LACK_OWN_LANE;
			else if (!w || !w->stands || (!w->waits && (w->ended | w->meets) == UINT32_MAX))
				now = BF_LACK_ENDED;
			if (now >= lack)
				continue;
			lack = now;
			*rank = k;
			*warp = i;
		}
	return lack;
}

enum bf_hopper_rule_lack bf_hopper_rule_lack(struct bf_rules *r, const struct bf_rule_queue *q, uint32_t *rank,
					     uint32_t *warp)
{
	const struct bf_hopper_rule_run *run = bf_rule_run_facts(r, &bf_rules_hopper);
	const struct bf_hopper_rule_barrier *b = bf_hopper_rule_bar(q);
	const uint32_t pending = bf_mbar_pending(b->word);
	const struct bf_hopper_rule_warp *who;
	const struct bf_hopper_rule_party *waiter = waiter_of(run, b, &who);

	*rank = who ? who->rank : 0;
	*warp = who ? who->warp : 0;
	if (!b->inited || run->faulted)
		return BF_LACK_NONE;
	if (!b->nwaiting)
		return !run->failed && b->name[0] && bf_mbar_tx(b->word) ? bytes_lack(run, b) : BF_LACK_NONE;
	if (b->labelled && b->free && b->phases == 0 && waiter->passed == 0 &&
	    !(b->ranks >> *rank & 1 && b->warps >> *warp & 1))
		return BF_LACK_FIRST_PHASE;
	if (pending && b->expects > b->phases && b->brought)
		return BF_LACK_ARRIVAL;
	if (pending && b->incs)
		return BF_LACK_COUNTED;
	if (b->labelled && b->seen < b->phases && waiter->passed < b->phases + b->free)
		return BF_LACK_PARITY;
	if (bf_mbar_tx(b->word))
		return bytes_lack(run, b);
	if (who && who->passed_address == q->number && !who->arrived_since && waiter->passed) {
		/* Some lanes wait while another one, which they meet only later, is the one that has yet to arrive. */
		if (who->waits != UINT32_MAX && pending && b->labelled && b->block < run->nblocks &&
		    arrivals_lack(r, run, b, rank, warp) == BF_LACK_OWN_LANE)
			return BF_LACK_OWN_LANE;
		*rank = who->rank;
		*warp = who->warp;
		return BF_LACK_SECOND_WAIT;
	}
	return pending && b->labelled && b->block < run->nblocks ? arrivals_lack(r, run, b, rank, warp)
								 : BF_LACK_SOMETHING;
}

struct bf_finding *bf_hopper_rule_find_lack(struct bf_rule_run *r, struct bf_rule_queue *q,
					    enum bf_hopper_rule_lack lack, uint32_t *block, uint32_t *warp)
{
	const struct bf_hopper_rule_run *run = bf_hopper_rule_run(r);
	const struct bf_hopper_rule_barrier *b = bf_hopper_rule_bar(q);
	struct bf_finding *f;
	uint32_t rank;

	if (q->family != &bf_rules_hopper || bf_hopper_rule_lack(r->rules, q, &rank, warp) != lack)
		return NULL;
	*block = b->block - (b->block < run->nblocks ? run->blocks[b->block].rank : 0) + rank;
	f = bf_rule_find(r, NULL, q);
	if (!f)
		return NULL;
	f->n[0] = made(b, rank, *warp);
	f->found.at_ps = b->waiting_since ? b->waiting_since : b->init_ps;
	bf_finding_since(f, b->init_ps, b->init_record);
	bf_finding_index(f, b->address);
	return f;
}
