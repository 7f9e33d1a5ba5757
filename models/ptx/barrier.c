/*
 * Meetings of threads: the 16 barriers of a block, and the barrier of a cluster.
 *
 * A block's barriers count warps: a warp has come when all of its lanes have that have not ended, from wherever in the
 * code (PTX ISA, "barrier"). That of a cluster counts lanes, in two halves; lanes that have ended count as come.
 */
#include "models/ptx/machine_internal.h"

enum { ARRIVE = 1, RED = 2 }; /* words[MORE] of a barrier */

#define BARRIER_PS 10000u /* assumed: about 20 cycles from the last arrival to the first instruction after it */

/* ---- a block's barriers ---- */

/* Warps of a block that have lanes left. */
static uint32_t warps_left(const struct bf_ptx_block *b)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < b->nwarps; i++)
		n += b->warp[i]->live != 0;
	return n;
}

static uint64_t result_of(const struct bf_ptx_barrier *m, uint32_t sub)
{
	return sub == BF_PTX_SUB_POPC ? m->popc : sub == BF_PTX_SUB_AND ? m->all : m->any;
}

static void complete(struct bf_ptx_block *b, uint32_t id)
{
	struct bf_ptx_barrier *m = &b->barrier[id];

	for (uint32_t i = 0; i < b->nwarps; i++) {
		struct bf_ptx_machine_warp *w = b->warp[i];
		uint32_t lanes = 0;

		w->barred &= ~(1u << id);
		w->come[id] = 0;
		for (uint32_t lane = 0; lane < BF_PTX_LANES; lane++) {
			struct bf_ptx_machine_lane *l = &w->lane[lane];

			if (l->waits != BF_PTX_AT_BARRIER || l->barrier != id)
				continue;
			lanes |= 1u << lane;
			l->result = result_of(m, (uint32_t)l->result);
		}
		if (lanes)
			bf_ptx_ready(w, lanes);
	}
	*m = (struct bf_ptx_barrier){ 0 };
}

static void look_whether_complete(struct bf_ptx_block *b, uint32_t id)
{
	const struct bf_ptx_barrier *m = &b->barrier[id];

	if (m->come && m->come >= (m->expects ? m->expects : warps_left(b)))
		complete(b, id);
}

/* All lanes of the warp that are left have come: it counts. */
static void look_whether_come(struct bf_ptx_machine_warp *w, uint32_t id)
{
	struct bf_ptx_barrier *m = &w->block->barrier[id];

	if (w->barred >> id & 1 || !w->come[id] || (w->live & ~w->come[id]))
		return;
	w->barred |= 1u << id;
	m->come++;
}

static bool take_count(struct bf_ptx_machine_warp *w, uint32_t mask, struct bf_ptx_barrier *m, uint64_t threads)
{
	const uint32_t warps = (uint32_t)threads / BF_PTX_LANES;

	if (threads % BF_PTX_LANES || !warps || warps > BF_PTX_LANES * 2) {
		bf_ptx_fault_at(w, mask, BF_PTX_FAULT_TRAP, 0, "a barrier for %u threads, which are not whole warps",
				(uint32_t)threads);
		return false;
	}
	if (m->come && m->expects != warps) {
		bf_ptx_fault_at(w, mask, BF_PTX_FAULT_TRAP, 0, "a barrier for %u threads, at which others wait for %u",
				(uint32_t)threads, m->expects * BF_PTX_LANES);
		return false;
	}
	m->expects = warps;
	return true;
}

static void take_predicates(struct bf_ptx_barrier *m, bool first, uint32_t mask, const bf_ptx_row predicate)
{
	if (first)
		m->all = true;
	for (uint32_t left = mask; left; left &= left - 1) {
		const bool p = predicate[__builtin_ctz(left)] & 1;

		m->popc += p;
		m->all = m->all && p;
		m->any = m->any || p;
	}
}

static bool nobody_there(const struct bf_ptx_block *b, uint32_t id)
{
	for (uint32_t i = 0; i < b->nwarps; i++)
		if (b->warp[i]->come[id])
			return false;
	return true;
}

enum bf_ptx_result bf_ptx_do_barrier(struct bf_ptx_machine_warp *w, const struct bf_ptx_prepared *op, uint32_t mask,
				     const bf_ptx_row *in, bf_ptx_row *out)
{
	const uint32_t first = (uint32_t)__builtin_ctz(mask), kind = op->words[BF_PTX_W_MORE];
	const uint32_t counted = op->words[BF_PTX_W_MORE2]; /* row of the count; 0: none */
	const uint32_t id = (uint32_t)in[0][first];
	struct bf_ptx_barrier *m;

	if (bf_ptx_again(w, mask)) {
		bf_agent_delay(w->agent, BARRIER_PS);
		for (uint32_t left = mask; kind == RED && left; left &= left - 1)
			out[0][__builtin_ctz(left)] = w->lane[__builtin_ctz(left)].result;
		return BF_PTX_DONE;
	}
	if (id >= BF_PTX_BARRIERS)
		return bf_ptx_fault_at(w, mask, BF_PTX_FAULT_TRAP, 0, "barrier %u: a block has 16", id);
	bf_ptx_fence_lanes(w, mask, BF_SCOPE_CTA);
	bf_agent_sync(w->agent);
	m = &w->block->barrier[id];
	if (w->barred >> id & 1)
		return bf_ptx_fault_at(w, mask, BF_PTX_FAULT_TRAP, 0,
				       "the warp comes to barrier %u again before those whom it waits for have come",
				       id);
	if (counted && !take_count(w, mask, m, (uint32_t)in[counted][first]))
		return BF_PTX_FAULT;
	if (kind == RED)
		take_predicates(m, nobody_there(w->block, id), mask, in[counted ? 2 : 1]);
	w->core.progress++;
	w->come[id] |= mask;
	for (uint32_t left = mask; kind != ARRIVE && left; left &= left - 1) {
		w->lane[__builtin_ctz(left)].barrier = (uint8_t)id;
		w->lane[__builtin_ctz(left)].result = op->words[BF_PTX_W_SUB];
	}
	if (kind != ARRIVE)
		bf_ptx_wait(w, mask, BF_PTX_AT_BARRIER);
	look_whether_come(w, id);
	look_whether_complete(w->block, id);
	return kind == ARRIVE ? BF_PTX_DONE : BF_PTX_WAIT;
}

/* ---- a cluster's barrier ---- */

static void cluster_complete(struct bf_ptx_cluster *c)
{
	c->come = 0;
	c->round++;
	for (uint32_t r = 0; r < c->grid->ctas; r++) {
		struct bf_ptx_block *b = c->block[r];

		for (uint32_t i = 0; b && i < b->nwarps; i++) {
			uint32_t lanes = 0;

			for (uint32_t lane = 0; lane < BF_PTX_LANES; lane++)
				if (b->warp[i]->lane[lane].waits == BF_PTX_AT_BARRIER &&
				    b->warp[i]->lane[lane].barrier == BF_PTX_BARRIERS)
					lanes |= 1u << lane;
			if (lanes)
				bf_ptx_ready(b->warp[i], lanes);
		}
	}
}

static void look_whether_cluster_complete(struct bf_ptx_cluster *c)
{
	if (c->come && c->come >= c->live)
		cluster_complete(c);
}

enum bf_ptx_result bf_ptx_do_cluster_arrive(struct bf_ptx_machine_warp *w, const struct bf_ptx_prepared *op,
					    uint32_t mask)
{
	struct bf_ptx_cluster *c = w->block->cluster;

	if (op->words[BF_PTX_W_SEM] != BF_RELAXED)
		bf_ptx_fence_lanes(w, mask, BF_SCOPE_GPU);
	bf_agent_sync(w->agent);
	w->core.progress++;
	for (uint32_t left = mask; left; left &= left - 1) {
		struct bf_ptx_machine_lane *l = &w->lane[__builtin_ctz(left)];

		if (l->cluster_come)
			return bf_ptx_fault_at(w, left & -left, BF_PTX_FAULT_TRAP, 0,
					       "barrier.cluster.arrive twice without a wait between");
		l->cluster_come = true;
		l->cluster_round = c->round;
		c->come++;
	}
	look_whether_cluster_complete(c);
	return BF_PTX_DONE;
}

enum bf_ptx_result bf_ptx_do_cluster_wait(struct bf_ptx_machine_warp *w, uint32_t mask)
{
	struct bf_ptx_cluster *c = w->block->cluster;
	const bool again = bf_ptx_again(w, mask);

	bf_agent_sync(w->agent);
	for (uint32_t left = mask; left; left &= left - 1) {
		struct bf_ptx_machine_lane *l = &w->lane[__builtin_ctz(left)];

		if (!l->cluster_come)
			return bf_ptx_fault_at(w, left & -left, BF_PTX_FAULT_TRAP, 0,
					       "barrier.cluster.wait without an arrive before");
		l->barrier = BF_PTX_BARRIERS;
	}
	for (uint32_t left = mask; !again && left; left &= left - 1)
		if (w->lane[__builtin_ctz(left)].cluster_round == c->round)
			return bf_ptx_wait(w, mask, BF_PTX_AT_BARRIER);
	for (uint32_t left = mask; left; left &= left - 1)
		w->lane[__builtin_ctz(left)].cluster_come = false;
	bf_ptx_fence_lanes(w, mask, BF_SCOPE_GPU);
	return BF_PTX_DONE;
}

void bf_ptx_barriers_exited(struct bf_ptx_machine_warp *w, uint32_t mask)
{
	struct bf_ptx_cluster *c = w->block->cluster;

	w->live &= ~mask;
	for (uint32_t left = mask; left; left &= left - 1) {
		struct bf_ptx_machine_lane *l = &w->lane[__builtin_ctz(left)];

		c->live--;
		if (l->cluster_come && l->cluster_round == c->round)
			c->come--;
		l->cluster_come = false;
	}
	for (uint32_t id = 0; id < BF_PTX_BARRIERS; id++) {
		look_whether_come(w, id);
		look_whether_complete(w->block, id);
	}
	look_whether_cluster_complete(c);
}
