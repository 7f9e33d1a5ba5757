/*
 * The primitives of platform_mbarrier_sim.h: what a lane does before and after its request, its plain accesses to
 * shared memory, its meetings and copies.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "drivers/backend/cluster_internal.h"

struct bf_cluster_lane *bf_lane_of(const struct bf_thread *t)
{
	struct bf_sim *sim = t->agent->sim;

	if (t->grid)
		return t->grid;
	bf_fail(&sim->error, -ENOTSUP,
		"%s meets its block, or uses shared memory or a barrier, in a grid that has none: "
		"start it by bf_trial_launch_grid()",
		t->agent->name);
	bf_sim_stop(sim);
	for (;;)
		bf_agent_park(t->agent, "nothing: the run was stopped");
}

/* ---- the platform's primitives ---- */

/* What is known of a lane's wait is so of those for whom it stands. */
static void wait_is_theirs(const struct bf_cluster_lane *l)
{
	for (uint32_t left = bf_sim_stands_for(&l->thread) & l->warp->team.stood; left; left &= left - 1) {
		struct bf_cluster_lane *other = &l->warp->lane[__builtin_ctz(left)];

		other->waits = l->waits;
		other->wait_tries = l->wait_tries;
		other->wait_bar = l->wait_bar;
		other->wait_parity = l->wait_parity;
		other->wait_since_ps = l->wait_since_ps;
	}
}

static void went_on(struct bf_cluster_lane *l)
{
	if (l->waits) {
		l->waits = false;
		wait_is_theirs(l);
	}
	l->warp->cta->cluster->grid->progress_ps = bf_cluster_sim_of(l->warp->cta)->now_ps;
}

static void waited(struct bf_cluster_lane *l, const struct bf_bar_request *r, bool over)
{
	if (over) {
		went_on(l);
		return;
	}
	if (!l->waits)
		l->wait_since_ps = bf_cluster_sim_of(l->warp->cta)->now_ps;
	l->waits = true;
	bf_cluster_watch(l->warp->cta->cluster->grid);
	l->wait_tries = r->op == BF_BAR_TRY_PARITY || r->op == BF_BAR_TRY_TOKEN;
	l->wait_bar = r->bar;
	l->wait_parity =
	    r->op == BF_BAR_TEST_TOKEN || r->op == BF_BAR_TRY_TOKEN ? (uint32_t)(r->token >> 63) : r->count & 1;
	wait_is_theirs(l);
}

uint64_t bf_sim_cluster_mbar(struct bf_thread *t, const struct bf_bar_request *r)
{
	struct bf_cluster_lane *l = bf_lane_of(t);
	const bool waits = r->op >= BF_BAR_TEST_PARITY;
	const enum bf_scope scope = r->sem == BF_BAR_CLUSTER ? BF_SCOPE_GPU : BF_SCOPE_CTA;

	if (!waits && r->sem != BF_BAR_RELAXED)
		bf_fence(t->agent, scope);
	l->request = r;
	bf_cluster_ask(l, waits ? "a phase" : "the sync unit");
	if (!waits) {
		went_on(l);
		return l->result;
	}
	waited(l, r, l->result != 0);
	if (l->result)
		bf_fence(t->agent, scope);
	return l->result;
}

void bf_sim_cluster_init_fence(struct bf_thread *t)
{
	bf_watch_init_fence(bf_lane_of(t));
}

void bf_sim_cluster_label(struct bf_thread *t, uint32_t bar, const struct bf_bar_label *label)
{
	bf_watch_label(bf_lane_of(t), bar, label);
}

uint32_t bf_sim_cluster_rank(const struct bf_thread *t)
{
	return bf_lane_of(t)->warp->cta->rank;
}

uint32_t bf_sim_cluster_ranks(const struct bf_thread *t)
{
	return bf_lane_of(t)->warp->cta->cluster->grid->opts.ctas;
}

void *bf_sim_cluster_pointer(const struct bf_thread *t, uint32_t a)
{
	const struct bf_cta_of *cta = bf_lane_of(t)->warp->cta;
	const uint32_t offset = bf_shared_offset(a);

	return offset < cta->cluster->grid->opts.shared_bytes ? cta->window + offset : NULL;
}

uint32_t bf_sim_cluster_alive(const struct bf_thread *t)
{
	return ~bf_lane_of(t)->warp->exited;
}

/* An access outside every window is what hardware answers with a fault. */
static struct bf_cta_of *access_to(struct bf_cluster_lane *l, uint32_t address, uint32_t len)
{
	struct bf_cta_of *cta = bf_cta_named(l->warp->cta, address);
	struct bf_sim *sim = bf_cluster_sim_of(l->warp->cta);

	if (cta && cta->model && bf_shared_offset(address) + len <= cta->cluster->grid->opts.shared_bytes)
		return cta;
	bf_fail(&sim->error, -EFAULT, "%s accesses shared memory at 0x%x of rank %u, which %s", l->thread.agent->name,
		bf_shared_offset(address), address >> BF_SHARED_RANK_SHIFT,
		cta && !cta->model ? "has exited" : "is not there");
	bf_watch_nobody(l, address);
	bf_sim_stop(sim);
	bf_agent_park(l->thread.agent, "nothing: it faulted");
	return NULL;
}

void bf_sim_cluster_shared_load(struct bf_thread *t, uint32_t address, void *to, uint32_t len)
{
	struct bf_cluster_lane *l = bf_lane_of(t);
	struct bf_cta_of *cta = access_to(l, address, len);

	memset(to, 0, len);
	if (!cta)
		return;
	bf_load(t->agent, cta->window + bf_shared_offset(address), to, len, BF_RELAXED, BF_SCOPE_CTA);
	bf_watch_load(l, cta, bf_shared_offset(address), to, len);
}

void bf_sim_cluster_shared_store(struct bf_thread *t, uint32_t address, const void *from, uint32_t len)
{
	struct bf_cluster_lane *l = bf_lane_of(t);
	struct bf_cta_of *cta = access_to(l, address, len);

	if (!cta)
		return;
	bf_watch_store(l, cta, bf_shared_offset(address), from, len);
	bf_store(t->agent, cta->window + bf_shared_offset(address), from, len, BF_WEAK, BF_SCOPE_CTA);
}

void bf_sim_cluster_shared_load_row(struct bf_thread *t, uint32_t address, struct bf_vec128 *to, uint32_t n)
{
	struct bf_cluster_lane *l = bf_lane_of(t);
	struct bf_cta_of *cta;

	if (n == 1) {
		bf_sim_cluster_shared_load(t, address, to, sizeof(*to));
		return;
	}
	cta = access_to(l, address, n * (uint32_t)sizeof(*to));
	memset(to, 0, n * sizeof(*to));
	if (!cta)
		return;
	bf_load(t->agent, cta->window + bf_shared_offset(address), to, sizeof(*to), BF_RELAXED, BF_SCOPE_CTA);
	memcpy(to, cta->window + bf_shared_offset(address), n * sizeof(*to));
	bf_watch_row_loaded(l, cta, bf_shared_offset(address), n);
}

void bf_sim_cluster_shared_store_row(struct bf_thread *t, uint32_t address, const struct bf_vec128 *from, uint32_t n)
{
	struct bf_cluster_lane *l = bf_lane_of(t);
	struct bf_cta_of *cta;

	if (n == 1) {
		bf_sim_cluster_shared_store(t, address, from, sizeof(*from));
		return;
	}
	cta = access_to(l, address, n * (uint32_t)sizeof(*from));
	if (!cta)
		return;
	bf_watch_row_stored(cta, bf_shared_offset(address), n);
	bf_agent_charge(t->agent, t->agent->view->cost->store);
	bf_view_stored(t->agent, 1);
	l->warp->team.stood_stores++;
	bf_bulk_plain_store(cta->model, l->warp->index, bf_hopper_map(bf_shared_offset(address), cta->rank), from,
			    n * (uint32_t)sizeof(*from));
	bf_agents_touched(t->agent->sim, cta->window + bf_shared_offset(address), n * sizeof(*from));
}

static void round_over(struct bf_meeting *m, struct bf_cluster_lane *all, uint32_t n)
{
	m->come = 0;
	m->round++;
	for (uint32_t i = 0; i < n; i++)
		if (all[i].met && all[i].meets == m) {
			all[i].met = false;
			bf_agent_unpark(all[i].thread.agent);
		}
}

/* All `threads` have come when the round is over. */
static void meet(struct bf_cluster_lane *l, struct bf_meeting *m, uint32_t threads, struct bf_cluster_lane *all,
		 uint32_t n)
{
	const uint32_t round = m->round;

	l->meetings++;
	bf_agent_sync(l->thread.agent);
	if (++m->come < threads) {
		l->met = true;
		while (m->round == round)
			bf_agent_park(l->thread.agent, "other threads of its block");
		return;
	}
	went_on(l);
	round_over(m, all, n);
}

void bf_sim_cluster_meet(struct bf_thread *t, uint32_t id, uint32_t threads)
{
	struct bf_cluster_lane *l = bf_lane_of(t);
	struct bf_cta_of *cta = l->warp->cta;
	struct bf_meeting *m = &cta->meeting[id % BF_NAMED_BARRIERS];

	bf_fence(t->agent, BF_SCOPE_CTA);
	l->meets = m;
	bf_agent_sync(t->agent);
	meet(l, m, threads ? threads : cta->alive, cta->lane, cta->cluster->grid->threads);
}

void bf_cluster_meet_without(struct bf_cta_of *cta)
{
	if (cta->meeting[0].come >= cta->alive)
		round_over(&cta->meeting[0], cta->lane, cta->cluster->grid->threads);
}

/* Split in two: a thread that has arrived goes on and comes back. */
void bf_sim_cluster_cluster_arrive(struct bf_thread *t)
{
	struct bf_cluster_lane *l = bf_lane_of(t);
	struct bf_cluster_of *c = l->warp->cta->cluster;
	const struct bf_cluster_grid *g = &c->grid->opts;

	bf_fence(t->agent, BF_SCOPE_GPU);
	bf_agent_sync(t->agent);
	l->cluster_round = c->meeting.round;
	if (++c->meeting.come < g->ctas * c->grid->threads)
		return;
	c->meeting.come = 0;
	c->meeting.round++;
	went_on(l);
	for (uint32_t r = 0; r < g->ctas; r++)
		for (uint32_t i = 0; i < c->grid->threads; i++) {
			struct bf_cluster_lane *other = &c->cta[r].lane[i];

			if (other->met && other->meets == &c->meeting) {
				other->met = false;
				bf_agent_unpark(other->thread.agent);
			}
		}
}

void bf_sim_cluster_cluster_wait(struct bf_thread *t)
{
	struct bf_cluster_lane *l = bf_lane_of(t);
	struct bf_cluster_of *c = l->warp->cta->cluster;

	bf_agent_sync(t->agent);
	l->meetings++;
	l->meets = &c->meeting;
	while (c->meeting.round == l->cluster_round) {
		l->met = true;
		bf_agent_park(t->agent, "other threads of its cluster");
	}
	bf_fence(t->agent, BF_SCOPE_GPU);
}

/* ---- copies ---- */

static void copy_waited(struct bf_copy_wait *wait)
{
	struct bf_cluster_lane *l = BF_CONTAINER_OF(wait, struct bf_cluster_lane, copy_wait);

	if (wait->killed)
		bf_sim_stop(bf_cluster_sim_of(l->warp->cta));
	else
		bf_agent_unpark(l->thread.agent);
}

static void wait_for_groups(struct bf_cluster_lane *l, const struct bf_async_request *r)
{
	struct bf_hopper_cta *cta = l->warp->cta->model;

	l->copy_wait = (struct bf_copy_wait){ .warp = l->warp->index,
					      .lanes = 1u << l->thread.lane,
					      .keep = r->bytes,
					      .read = r->op == BF_ASYNC_BULK_WAIT_READ,
					      .done = copy_waited };
	if (r->op == BF_ASYNC_WAIT)
		bf_ldgsts_wait(cta, &l->copy_wait);
	else
		bf_bulk_wait(cta, &l->copy_wait);
	bf_agent_park(l->thread.agent, r->op == BF_ASYNC_WAIT ? "its cp.async groups" : "its bulk stores");
	went_on(l);
}

static void bulk(struct bf_cluster_lane *l, const struct bf_async_request *r)
{
	struct bf_cluster_world *w = l->warp->cta->cluster->grid->world;
	struct bf_cta_of *to = l->warp->cta;
	struct bf_region *region = r->global ? bf_space_find_host(w->space, r->global) : NULL;
	struct bf_bulk_copy copy = {
		.kind = r->op == BF_ASYNC_BULK_LOAD   ? BF_BULK_LOAD
			: r->op == BF_ASYNC_BULK_SEND ? BF_BULK_PEER
						      : BF_BULK_STORE,
		.warp = l->warp->index,
		.lane = l->thread.lane,
		.global = region ? bf_va(region, r->global) : 0,
		.shared = r->op == BF_ASYNC_BULK_SEND ? r->peer : r->shared,
		.source = r->shared,
		.barrier = r->bar,
		.bytes = r->bytes,
		.multicast = (uint16_t)r->ranks,
	};

	for (uint32_t rank = 0; r->op == BF_ASYNC_BULK_LOAD && rank < to->cluster->grid->opts.ctas; rank++) {
		struct bf_cta_of *cta = &to->cluster->cta[rank];

		if (r->ranks ? !(r->ranks >> rank & 1) : cta != to)
			continue;
		bf_watch_brings(cta, r->bar, r->bytes);
		if (cta == to)
			bf_watch_bulk(l, bf_shared_offset(r->shared), r->bytes);
		bf_watch_copied(cta, bf_shared_offset(r->shared), r->bytes);
	}
	if (r->op == BF_ASYNC_BULK_SEND && bf_cta_named(to, r->peer)) {
		bf_watch_brings(bf_cta_named(to, r->peer), r->bar, r->bytes);
		bf_watch_copied(bf_cta_named(to, r->peer), bf_shared_offset(r->peer), r->bytes);
	}
	if (r->op == BF_ASYNC_BULK_STORE)
		bf_watch_bulk_store(l, r->shared);
	bf_bulk_issue(to->model, &copy);
	went_on(l);
	if (bf_hopper_fault(w->gpu)) {
		bf_sim_stop(w->sim);
		bf_agent_park(l->thread.agent, "nothing: it faulted");
	}
	if (copy.next_ps > w->sim->now_ps)
		bf_agent_delay(l->thread.agent, copy.next_ps - w->sim->now_ps);
}

void bf_sim_cluster_async(struct bf_thread *t, const struct bf_async_request *r)
{
	struct bf_cluster_lane *l = bf_lane_of(t);
	struct bf_hopper_cta *cta = l->warp->cta->model;
	uint64_t until;

	bf_agent_sync(t->agent);
	bf_watch_given_up(l);
	bf_watch_async(l, r);
	switch (r->op) {
	case BF_ASYNC_BULK_LOAD:
	case BF_ASYNC_BULK_SEND:
	case BF_ASYNC_BULK_STORE:
		bulk(l, r);
		break;
	case BF_ASYNC_BULK_COMMIT:
		bf_bulk_commit(cta, l->warp->index, 1u << t->lane);
		break;
	case BF_ASYNC_BULK_WAIT:
	case BF_ASYNC_BULK_WAIT_READ:
	case BF_ASYNC_WAIT:
		wait_for_groups(l, r);
		break;
	case BF_ASYNC_PROXY_FENCE:
		bf_fence(t->agent, BF_SCOPE_GPU);
		bf_agent_sync(t->agent);
		until = bf_bulk_fence(cta, l->warp->index);
		l->warp->fences++;
		if (until > bf_cluster_sim_of(l->warp->cta)->now_ps)
			bf_agent_delay(t->agent, until - bf_cluster_sim_of(l->warp->cta)->now_ps);
		break;
	case BF_ASYNC_COMMIT:
		bf_ldgsts_commit(cta, l->warp->index, 1u << t->lane);
		break;
	case BF_ASYNC_LOAD16:
	case BF_ASYNC_ARRIVE:
	case BF_ASYNC_ARRIVE_NOINC:
	default:
		l->copies_now = r;
		bf_cluster_ask(l, "the copy unit");
		went_on(l);
		break;
	}
}
