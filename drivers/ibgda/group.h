/*
 * IBGDA: lanes that act together. Lanes of a warp with the same target share a reservation and a doorbell; each lays
 * down its own entry, and the last one asks for the completion of all.
 */
#ifndef BELFRY_DRIVERS_IBGDA_GROUP_H
#define BELFRY_DRIVERS_IBGDA_GROUP_H

#include "drivers/ibgda/av.h"
#include "drivers/ibgda/keys.h"

/* Number of lanes in a mask; of those below this one; the mask's first lane. */
BF_DEVICE uint32_t bf_ibgda_popcount(uint32_t mask)
{
	uint32_t n = 0;

	for (; mask; mask &= mask - 1)
		n++;
	return n;
}
BF_DEVICE uint32_t bf_ibgda_rank(const struct bf_thread *t, uint32_t mask)
{
	return bf_ibgda_popcount(mask & ((1u << bf_lane(t)) - 1));
}
BF_DEVICE uint32_t bf_ibgda_first(uint32_t mask)
{
	return bf_ibgda_popcount((mask & (0u - mask)) - 1);
}

/* Who they are, which is this one, and the slots base..end-1 that they share. */
struct bf_ibgda_group {
	uint32_t mask, leader, rank, count;
	uint64_t base, end;
};

/* Lanes of `mask` with this lane's target. Addresses have at most 52 bits, which leaves 12 for the PE. */
BF_DEVICE struct bf_ibgda_group bf_ibgda_join(struct bf_thread *t, uint32_t mask, const struct bf_ibgda_to *to)
{
	struct bf_ibgda_group g;

	g.mask = bf_match64(t, mask, (uint64_t)(uintptr_t)to->qp ^ (uint64_t)to->pe << 52);
	g.leader = bf_ibgda_first(g.mask);
	g.rank = bf_ibgda_rank(t, g.mask);
	g.count = bf_ibgda_popcount(g.mask);
	g.base = g.end = 0;
	return g;
}

BF_DEVICE int bf_ibgda_leads(const struct bf_thread *t, const struct bf_ibgda_group *g)
{
	return bf_lane(t) == g->leader;
}

BF_DEVICE int bf_ibgda_is_last(const struct bf_ibgda_group *g)
{
	return g->rank + 1 == g->count;
}

/* The leader takes `blocks` slots for all. 0 or BF_IBGDA_MOVED. */
BF_DEVICE int bf_ibgda_group_reserve(struct bf_thread *t, const struct bf_ibgda_state *state, struct bf_ibgda_qp *qp,
				     struct bf_ibgda_group *g, uint32_t blocks)
{
	if (BF_UNLIKELY(bf_ibgda_mistakes(state) & BF_IBGDA_BUG_RESERVE_SHORT) && blocks > 1)
		blocks--;
	if (bf_ibgda_leads(t, g))
		g->base = bf_ibgda_reserve(t, state, qp, blocks);
	g->base = bf_shfl64(t, g->mask, g->base, g->leader);
	g->end = g->base + blocks;
	return g->base == BF_IBGDA_NO_SLOT ? BF_IBGDA_MOVED : 0;
}

/* All have built; the leader publishes. 0 or BF_IBGDA_MOVED. */
BF_DEVICE int bf_ibgda_group_submit(struct bf_thread *t, const struct bf_ibgda_state *state, struct bf_ibgda_qp *qp,
				    const struct bf_ibgda_group *g, uint32_t message)
{
	int status = 0;

	bf_warp_sync(t, g->mask);
	if (bf_ibgda_leads(t, g))
		status = bf_ibgda_submit(t, state, qp, g->base, (uint32_t)(g->end - g->base), message);
	if (bf_ibgda_moves(state, qp))
		status = (int)bf_shfl32(t, g->mask, (uint32_t)status, g->leader);
	return status;
}

/* Every entry of a group asks for a completion in DeepEP, only the last one in NVSHMEM. */
BF_DEVICE uint32_t bf_ibgda_flags(const struct bf_ibgda_state *state, int last)
{
	if (BF_UNLIKELY(bf_ibgda_mistakes(state) & BF_IBGDA_BUG_NO_CQE))
		return 0;
	return last || state->flavour == BF_IBGDA_DEEPEP ? BF_IBGDA_SIGNALLED : 0;
}

/*
 * After a round: whether a group whose queue was closed must do it again. The wait for the move is here; the leader's
 * word counts, so that the group stays together. `status` becomes BF_IBGDA_FAILED when the RC was given up as lost.
 */
BF_DEVICE int bf_ibgda_again(struct bf_thread *t, const struct bf_ibgda_state *state, const struct bf_ibgda_to *to,
			     const struct bf_ibgda_group *g, int *status)
{
	if (BF_LIKELY(*status != BF_IBGDA_MOVED))
		return 0;
	if (bf_ibgda_leads(t, g))
		*status = bf_ibgda_await_move(t, state, to->qp);
	*status = (int)bf_shfl32(t, g->mask, (uint32_t)*status, g->leader);
	return *status == 0;
}

#endif
