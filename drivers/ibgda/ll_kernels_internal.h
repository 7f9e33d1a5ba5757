/*
 * The kernels of ll.h as device code: included by one source file for each platform. One launch runs all rounds; where
 * a stream would have a kernel's end, all warps of the PE meet.
 */
#ifndef BELFRY_DRIVERS_IBGDA_LL_KERNELS_INTERNAL_H
#define BELFRY_DRIVERS_IBGDA_LL_KERNELS_INTERNAL_H

#include "drivers/ibgda/ll_combine_internal.h"

BF_DEVICE void bf_ll_stamp(struct bf_thread *t, const struct bf_ll_lane *l, uint32_t which)
{
	if (l->block == 0 && l->warp == 0 && l->lane == 0)
		bf_st_weak64(t, l->out + l->job->at.times + which * 8ull, bf_clock_ns(t));
}

/*
 * DeepEP's barrier (it stands in front of a clean-up of the buffers): nothing of this PE is under way, then everybody
 * says so to everybody. The lanes of the first block share the queue pairs.
 */
BF_DEVICE void bf_ll_barrier(struct bf_thread *t, const struct bf_ll_lane *l)
{
	const uint32_t thread = l->warp * BF_LANES + l->lane, threads = l->warps * BF_LANES;
	const uint32_t each = l->state->num_rc_per_pe;
	uint8_t *sync = l->heap + l->job->heap.sync;

	for (uint32_t i = thread; i < each * (l->npes - 1); i += threads)
		bf_ibgda_quiet(t, l->state, bf_ibgda_rc(l->state, (l->mype + 1 + i / each) % l->npes, i % each));
	bf_ll_meet_block(t, l);
	for (uint32_t pe = thread; pe < l->npes; pe += threads)
		if (pe != l->mype)
			bf_ibgda_p(t, 1u << l->lane, l->state, bf_ibgda_rc(l->state, pe, 0), sync + l->mype * 4ull, 1,
				   4, BF_IBGDA_NO_IMM, BF_IBGDA_ALWAYS_POST);
	for (uint32_t pe = thread; pe < l->npes; pe += threads)
		if (pe != l->mype)
			bf_ll_wait_change(t, sync + pe * 4ull, BF_AT_SYS, "a PE at the barrier");
	bf_warp_sync(t, BF_FULL_WARP);
	/* The last writes are under way still. */
	for (uint32_t pe = thread; pe < l->npes; pe += threads)
		if (pe != l->mype)
			bf_ibgda_quiet(t, l->state, bf_ibgda_rc(l->state, pe, 0));
}

/* What lane 0 of a warp can do for all: each kernel takes the other set of buffers. */
BF_DEVICE void bf_ll_round(struct bf_thread *t, struct bf_ll_lane *l, enum bf_ll_work work)
{
	bf_ll_dispatch(t, l);
	bf_ll_stamp(t, l, 1);
	if (work == BF_LL_DISPATCH)
		return;
	l->set ^= 1u;
	bf_ll_experts(t, l);
	bf_ll_stamp(t, l, 2);
	bf_ll_combine(t, l);
	bf_ll_stamp(t, l, 3);
	l->set ^= 1u;
}

/* Mistakes are of single lanes, and what others make of them is to be seen. */
BF_DEVICE enum bf_led bf_ll_act(struct bf_thread *t, const struct bf_ll_lane *l)
{
	if (l->s->bugs || bf_ibgda_mistakes(l->state) || bf_ibgda_suspected(l->state))
		return BF_APART;
	return bf_act(t, l->round + 1);
}

/* Nothing is under way when the last block leaves. */
BF_DEVICE void bf_ll_run(struct bf_thread *t, const struct bf_ll_job *job, enum bf_ll_work work)
{
	struct bf_ll_lane l = bf_ll_lane(t, job);

	l.round = bf_anew(t);
	l.set = work == BF_LL_DISPATCH ? l.round & 1u : 0;
	for (; l.round != l.s->rounds; l.round++) {
		enum bf_led led;

		l.in = job->tensors + l.round * job->at.in_step;
		l.out = job->tensors + l.round * job->at.out_step;
		bf_ll_stamp(t, &l, 0);
		if (l.warp + 1 == l.warps)
			bf_ll_count(t, &l);
		led = bf_ll_act(t, &l);
		if (led != BF_LED)
			bf_ll_round(t, &l, work);
		if (led == BF_LEADS)
			bf_act_end(t);
		if (work == BF_LL_DISPATCH)
			l.set ^= 1u;
	}
	if (l.block == 0)
		bf_ll_barrier(t, &l);
}

#if !defined(__CUDACC__) && !defined(__HIPCC__)
static void bf_ll_run_dispatch(struct bf_thread *t, void *arg)
{
	bf_ll_run(t, (const struct bf_ll_job *)arg, BF_LL_DISPATCH);
}
static void bf_ll_run_combine(struct bf_thread *t, void *arg)
{
	bf_ll_run(t, (const struct bf_ll_job *)arg, BF_LL_COMBINE);
}

#define BF_LL_KERNEL_TABLE                                                                                             \
	{                                                                                                              \
		.run = { bf_ll_run_dispatch, bf_ll_run_combine }                                                       \
	}
#endif

#endif
