/*
 * IBGDA: which queue an operation uses (NVSHMEM ibgda_get_qp, ibgda_get_dci, ibgda_get_rc, ibgda_get_dct_id; DeepEP
 * ibgda_get_rc).
 *
 * To other PEs an RC, if there are any; to oneself, where no RC leads, and where there are none, a DC initiator with
 * the target's address vector. Round robin goes by counters of 8 bits that nobody increments atomically: two threads
 * may take the same turn, which costs balance, not correctness.
 */
#ifndef BELFRY_DRIVERS_IBGDA_SELECT_H
#define BELFRY_DRIVERS_IBGDA_SELECT_H

#include "drivers/ibgda/group.h"

/* The next turn of a round robin, counted from 1 and wrapping at 256. The counters share one aligned word. */
BF_DEVICE uint32_t bf_ibgda_turn(struct bf_thread *t, const struct bf_ibgda_state *state, enum bf_ibgda_switch which)
{
	uint8_t *switches = state->globalmem.qp_group_switches;
	const uint32_t all = bf_ld_relaxed32(t, switches, BF_AT_GPU);
	const uint32_t next = ((all >> ((uint32_t)which * 8)) + 1) & 0xff;

	bf_st_weak8(t, switches + which, (uint8_t)next);
	return next;
}

/* RC number `id` (modulo how many there are) towards `pe`, which must not be the caller's own PE. */
BF_DEVICE struct bf_ibgda_qp *bf_ibgda_rc(const struct bf_ibgda_state *state, uint32_t pe, uint32_t id)
{
	const uint32_t i = id % state->num_rc_per_pe;

	/* DeepEP's order is that of NVSHMEM before 3.5: the queue of another PE. Where it is none, the next one is. */
	if (BF_UNLIKELY(bf_ibgda_suspected(state) & BF_IBGDA_SUSPECT_RC_ORDER_V1)) {
		uint32_t at = pe * state->num_rc_per_pe + i;

		while (state->globalmem.rcs[at].qpn == BF_IBGDA_UNUSED)
			at = (at + 1) % (state->num_rc_per_pe * state->npes);
		return &state->globalmem.rcs[at];
	}
	return &state->globalmem.rcs[bf_ibgda_rc_index(state->layout, state->npes, state->num_rc_per_pe, pe, i)];
}

/* The RC towards `pe` that a handle stands for: the default rotation, the one over all, or row handle / npes. */
BF_DEVICE struct bf_ibgda_qp *bf_ibgda_rc_by_handle(struct bf_thread *t, const struct bf_ibgda_state *state,
						    uint32_t pe, uint32_t handle)
{
	if (handle == BF_IBGDA_QP_DEFAULT)
		return bf_ibgda_rc(state, pe,
				   bf_ibgda_turn(t, state, BF_IBGDA_SWITCH_DEFAULT) % state->num_default_rc_per_pe);
	if (handle == BF_IBGDA_QP_ANY)
		return bf_ibgda_rc(state, pe, bf_ibgda_turn(t, state, BF_IBGDA_SWITCH_ANY));
	return bf_ibgda_rc(state, pe, handle / state->npes);
}

/* The multiprocessor; elsewhere than on a GPU each block has its own. */
BF_DEVICE uint32_t bf_ibgda_sm(const struct bf_thread *t)
{
#if defined(__CUDACC__)
	uint32_t sm;

	(void)t;
	asm volatile("mov.u32 %0, %%smid;" : "=r"(sm));
	return sm;
#else
	return bf_block(t);
#endif
}

/* Which of a PE's DCTs on each device a block uses. */
BF_DEVICE uint32_t bf_ibgda_dct_row(const struct bf_thread *t, const struct bf_ibgda_state *state)
{
	return bf_block(t) % (state->num_dct_per_pe / state->num_devices);
}

/* Entry of the DCT table: of PE `pe`, on the device that the initiator is on. */
BF_DEVICE uint32_t bf_ibgda_dct_id(const struct bf_thread *t, const struct bf_ibgda_state *state, uint32_t pe,
				   uint32_t dev)
{
	return pe * state->num_dct_per_pe + bf_ibgda_dct_row(t, state) * state->num_devices + dev;
}

/* What the mapping policy says about this thread and target, before it is fitted to how many DCIs there are. */
BF_DEVICE uint32_t bf_ibgda_dci_wish(const struct bf_thread *t, const struct bf_ibgda_state *state, uint32_t pe)
{
	switch (state->dci_map) {
	case BF_IBGDA_MAP_SM:
		return bf_ibgda_sm(t);
	case BF_IBGDA_MAP_WARP:
		return bf_block(t) * bf_warps(t) + bf_warp(t);
	case BF_IBGDA_MAP_DCT:
		return pe * (state->num_dct_per_pe / state->num_devices) + bf_ibgda_dct_row(t, state);
	case BF_IBGDA_MAP_CTA:
	default:
		return bf_block(t);
	}
}

/*
 * The DCI on device `dev` for this thread and target. DCIs come in groups of one a device: wishes below the number of
 * exclusive groups have theirs alone, all others share the rest.
 */
BF_DEVICE struct bf_ibgda_qp *bf_ibgda_dci(const struct bf_thread *t, const struct bf_ibgda_state *state, uint32_t pe,
					   uint32_t dev)
{
	const uint32_t shared = state->num_shared_dci / state->num_devices;
	const uint32_t exclusive = (state->num_dci - state->num_shared_dci) / state->num_devices;
	uint32_t group = bf_ibgda_dci_wish(t, state, pe);

	if (group >= exclusive)
		group = shared ? exclusive + group % shared : group % exclusive;
	return &state->globalmem.dcis[group * state->num_devices + dev];
}

/* Towards `pe` by a DCI, the device taken in turn. */
BF_DEVICE struct bf_ibgda_to bf_ibgda_to_dct(struct bf_thread *t, const struct bf_ibgda_state *state, uint32_t pe)
{
	const uint32_t dev =
	    state->num_devices > 1 ? bf_ibgda_turn(t, state, BF_IBGDA_SWITCH_DCI) % state->num_devices : 0;
	struct bf_ibgda_to to;

	to.qp = bf_ibgda_dci(t, state, pe, dev);
	bf_ibgda_prefetch_qp(t, to.qp);
	to.pe = pe;
	to.dct = bf_ibgda_dct_id(t, state, pe, dev);
	bf_prefetch(t, bf_ibgda_dct_at(state, to.dct));
	return to;
}

/*
 * Where an operation of this thread to `pe` goes. `handle` (BF_IBGDA_QP_* or what creating queues returned) matters
 * only for RCs.
 */
BF_DEVICE struct bf_ibgda_to bf_ibgda_select(struct bf_thread *t, const struct bf_ibgda_state *state, uint32_t pe,
					     uint32_t handle)
{
	struct bf_ibgda_qp *qp;

	if (pe == state->mype || !state->num_rc_per_pe)
		return bf_ibgda_to_dct(t, state, pe);
	qp = bf_ibgda_rc_by_handle(t, state, pe, handle);
	bf_ibgda_prefetch_qp(t, qp);
	return bf_ibgda_to_rc(qp);
}

/* The same for lanes that act together: those of `mask` with the same PE and handle get the same queue. */
BF_DEVICE struct bf_ibgda_to bf_ibgda_select_lanes(struct bf_thread *t, uint32_t mask,
						   const struct bf_ibgda_state *state, uint32_t pe, uint32_t handle)
{
	const uint32_t same = bf_match64(t, mask, (uint64_t)pe << 32 | handle);
	const uint32_t leader = bf_ibgda_first(same);
	struct bf_ibgda_to to;

	to.qp = (struct bf_ibgda_qp *)0;
	to.dct = 0;
	if (bf_lane(t) == leader)
		to = bf_ibgda_select(t, state, pe, handle);
	to.pe = pe;
	to.qp = (struct bf_ibgda_qp *)(uintptr_t)bf_shfl64(t, same, (uint64_t)(uintptr_t)to.qp, leader);
	to.dct = bf_shfl32(t, same, to.dct, leader);
	return to;
}

#endif
