/*
 * Warp instructions out of what lanes ask for: lanes of a warp that ask for the same at the same time go together.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "drivers/backend/cluster_internal.h"

/* How often and how long a warp stands still before an instruction under the weak orderings: other warps get ahead. */
#define STALL_PPM 30000u
#define STALL_GPU_PS (500 * BF_NS)
#define STALL_ADVERSARIAL_PS (4000 * BF_NS)

struct bf_cta_of *bf_cta_named(const struct bf_cta_of *from, uint32_t address)
{
	const uint32_t rank = address >> BF_SHARED_RANK_SHIFT;

	return rank < from->cluster->grid->opts.ctas ? &from->cluster->cta[rank] : NULL;
}

static void wake_lanes(struct bf_warp_of *w, uint32_t lanes)
{
	for (uint32_t left = lanes; left; left &= left - 1)
		bf_agent_unpark(w->lane[__builtin_ctz(left)].thread.agent);
}

static void put_flight(struct bf_flight *f)
{
	struct bf_warp_of *w = f->warp;
	const uint32_t lanes = f->lanes;

	f->next = w->idle;
	w->idle = f;
	wake_lanes(w, lanes & ~w->team.stood);
}

static void resume(struct bf_event *ev)
{
	put_flight(BF_CONTAINER_OF(ev, struct bf_flight, resume));
}

static void finish(struct bf_sync_instr *instr)
{
	struct bf_flight *f = BF_CONTAINER_OF(instr, struct bf_flight, instr);

	if (instr->killed || instr->fault) {
		bf_sim_stop(bf_cluster_sim_of(f->warp->cta));
		return;
	}
	for (uint32_t i = 0; i < BF_LANES; i++)
		if (f->lanes >> i & 1)
			f->warp->lane[i].result =
			    instr->op >= BF_SYNC_TEST_PARITY ? instr->result >> i & 1 : instr->token[i];
	put_flight(f);
}

static struct bf_flight *get_flight(struct bf_warp_of *w)
{
	struct bf_flight *f = w->idle;

	if (f) {
		w->idle = f->next;
		return f;
	}
	f = calloc(1, sizeof(*f));
	if (!f)
		return NULL;
	f->warp = w;
	bf_event_init(&f->resume, resume);
	bf_event_init(&f->instr.event, NULL);
	f->all = w->all;
	w->all = f;
	return f;
}

static const uint8_t op_of[] = {
	[BF_BAR_INIT] = BF_SYNC_INIT,
	[BF_BAR_INVAL] = BF_SYNC_INVAL,
	[BF_BAR_ARRIVE] = BF_SYNC_ARRIVE,
	[BF_BAR_DROP] = BF_SYNC_ARRIVE_DROP,
	[BF_BAR_EXPECT_TX] = BF_SYNC_EXPECT_TX,
	[BF_BAR_COMPLETE_TX] = BF_SYNC_COMPLETE_TX,
	[BF_BAR_TEST_PARITY] = BF_SYNC_TEST_PARITY,
	[BF_BAR_TEST_TOKEN] = BF_SYNC_TEST_STATE,
	[BF_BAR_TRY_PARITY] = BF_SYNC_TRY_PARITY,
	[BF_BAR_TRY_TOKEN] = BF_SYNC_TRY_STATE,
};

static bool same_instruction(const struct bf_bar_request *a, const struct bf_bar_request *b)
{
	return a && b && a->op == b->op && a->sem == b->sem && a->result_wanted == b->result_wanted;
}

/* One warp instruction for all lanes that ask for what lane `first` asks for. */
static uint32_t issue_barrier(struct bf_warp_of *w, uint32_t first)
{
	const struct bf_bar_request *r = w->lane[first].request;
	struct bf_flight *f = get_flight(w);
	struct bf_sync_instr *in;

	if (!f) {
		bf_fail(&bf_cluster_sim_of(w->cta)->error, -ENOMEM, "no memory for an instruction");
		bf_sim_stop(bf_cluster_sim_of(w->cta));
		return w->asking;
	}
	in = &f->instr;
	f->lanes = 0;
	for (uint32_t i = first; i < BF_LANES; i++) {
		const struct bf_bar_request *q = w->lane[i].request;

		if (!(w->asking >> i & 1) || !same_instruction(r, q))
			continue;
		f->lanes |= 1u << i;
		in->address[i] = q->bar;
		in->count[i] = q->count;
		in->tx[i] = q->tx;
		in->token[i] = q->token;
	}
	in->op = op_of[r->op];
	in->release = r->sem == BF_BAR_CLUSTER;
	in->hinted = false;
	in->warp = (uint8_t)bf_hopper_cta_slot(w->cta->model, w->index);
	in->active = f->lanes;
	in->exited = w->exited;
	in->done = r->op >= BF_BAR_TEST_PARITY || r->result_wanted ? finish : NULL;
	in->result = 0;
	in->fault = 0;
	in->killed = false;
	for (uint32_t i = 0; i < BF_LANES; i++)
		if (f->lanes >> i & 1)
			bf_watch_request(&w->lane[i], w->lane[i].request);
	{
		const uint32_t lanes = f->lanes;
		const bool results = in->done != NULL;

		bf_hopper_issue(w->cta->model, in);
		if (bf_hopper_fault(w->cta->cluster->grid->world->gpu))
			bf_sim_stop(bf_cluster_sim_of(w->cta));
		else if (!results)
			bf_sim_at(bf_cluster_sim_of(w->cta), &f->resume, in->next_ps);
		return lanes;
	}
}

static uint32_t issue_copies(struct bf_warp_of *w, uint32_t first)
{
	const struct bf_async_request *r = w->lane[first].copies_now;
	struct bf_flight *f = get_flight(w);
	struct bf_ldgsts_copy copy = { .warp = w->index, .bytes = 16 };
	struct bf_ldgsts_arrive arrive = { .warp = w->index, .noinc = r->op == BF_ASYNC_ARRIVE_NOINC };
	struct bf_space *space = w->cta->cluster->grid->world->space;
	uint32_t lanes = 0;

	if (!f) {
		bf_sim_stop(bf_cluster_sim_of(w->cta));
		return w->asking;
	}
	for (uint32_t i = first; i < BF_LANES; i++) {
		const struct bf_async_request *q = w->lane[i].copies_now;
		struct bf_region *region;

		if (!(w->asking >> i & 1) || !q || q->op != r->op)
			continue;
		lanes |= 1u << i;
		arrive.address[i] = q->bar;
		copy.shared[i] = q->shared;
		copy.source[i] = 16;
		if (q->op == BF_ASYNC_ARRIVE_NOINC)
			bf_watch_arrival(&w->lane[i], w->cta, q->bar, 1);
		if (q->op != BF_ASYNC_LOAD16)
			continue;
		region = bf_space_find_host(space, q->global);
		copy.global[i] = region ? bf_va(region, q->global) : 0;
		bf_watch_copied(w->cta, bf_shared_offset(q->shared), 16);
		bf_watch_ldgsts(&w->lane[i], bf_shared_offset(q->shared));
	}
	copy.active = arrive.active = lanes;
	if (r->op == BF_ASYNC_LOAD16)
		bf_ldgsts_issue(w->cta->model, &copy);
	else
		bf_ldgsts_arrive(w->cta->model, &arrive);
	f->lanes = lanes;
	if (bf_hopper_fault(w->cta->cluster->grid->world->gpu))
		bf_sim_stop(bf_cluster_sim_of(w->cta));
	else
		bf_sim_at(bf_cluster_sim_of(w->cta), &f->resume,
			  r->op == BF_ASYNC_LOAD16 ? copy.next_ps : arrive.next_ps);
	return lanes;
}

static bool stalls_now(struct bf_warp_of *w, uint64_t *ps)
{
	const struct bf_sim_grid *g = w->cta->cluster->grid;
	const enum bf_ordering o = g->world->opts.ordering;

	if (o == BF_ORDER_SC || o == BF_ORDER_TSO || w->stalled)
		return false;
	if (BF_UNLIKELY(g->world->opts.chooser)) {
		*ps = STALL_ADVERSARIAL_PS;
		return bf_choose(g->world->sim, BF_CHOICE_SCHEDULE, 2);
	}
	if (!bf_rng_chance(&w->stalls, STALL_PPM))
		return false;
	*ps = bf_rng_below(&w->stalls, o == BF_ORDER_GPU ? STALL_GPU_PS : STALL_ADVERSARIAL_PS);
	return true;
}

void bf_cluster_gather(struct bf_event *ev)
{
	struct bf_warp_of *w = BF_CONTAINER_OF(ev, struct bf_warp_of, gather);
	uint64_t ps;

	if (stalls_now(w, &ps)) {
		w->stalled = true;
		bf_sim_after(bf_cluster_sim_of(w->cta), ev, ps);
		return;
	}
	w->stalled = false;
	while (w->asking && !bf_cluster_sim_of(w->cta)->stopped) {
		const uint32_t first = (uint32_t)__builtin_ctz(w->asking);
		const uint32_t lanes = w->lane[first].request ? issue_barrier(w, first) : issue_copies(w, first);

		w->asking &= ~lanes;
	}
}

void bf_cluster_ask(struct bf_cluster_lane *l, const char *what)
{
	struct bf_warp_of *w = l->warp;
	const uint32_t lanes = bf_sim_stands_for(&l->thread);

	bf_agent_sync(l->thread.agent);
	w->asking |= lanes;
	for (uint32_t left = lanes & w->team.stood; left; left &= left - 1)
		w->lane[__builtin_ctz(left)].request = l->request;
	if (!bf_event_pending(&w->gather))
		bf_sim_at(bf_cluster_sim_of(w->cta), &w->gather, bf_cluster_sim_of(w->cta)->now_ps);
	bf_agent_park(l->thread.agent, what);
	l->request = NULL;
	l->copies_now = NULL;
}
