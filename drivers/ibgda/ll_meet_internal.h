/* The low-latency kernels: who is who in the grid, where they meet, and the count behind all messages. */
#ifndef BELFRY_DRIVERS_IBGDA_LL_MEET_INTERNAL_H
#define BELFRY_DRIVERS_IBGDA_LL_MEET_INTERNAL_H

#include "drivers/ibgda/device.h"
#include "drivers/ibgda/ll.h"
#include "drivers/ibgda/ll_area_internal.h"
#include "drivers/ibgda/ll_math_internal.h"
#include "traces/records/ll.h"
#include "drivers/ibgda/warp.h"

/* A lane's view of its place and work. */
struct bf_ll_lane {
	const struct bf_ibgda_state *state;
	const struct bf_ll_job *job;
	const struct bf_ll_shape *s;
	uint8_t *heap, *work, *in, *out; /* in, out: of this round */
	struct bf_ll_work_area area;
	uint32_t npes, mype, local; /* local: experts on each PE */
	uint32_t lane, warp, warps, block;
	uint32_t group, sub;  /* group in the block, warp in the group */
	uint32_t first, step; /* this group takes experts first, first + step, ... */
	uint32_t round, set;  /* which set of buffers */
	const struct bf_ll_math *math;
};

BF_DEVICE struct bf_ll_lane bf_ll_lane(const struct bf_thread *t, const struct bf_ll_job *job)
{
	struct bf_ll_lane l;

	l.state = job->state;
	l.job = job;
	l.s = &job->shape;
	l.heap = (uint8_t *)job->state->heap;
	l.area = bf_ll_work_area(l.s);
	l.work = job->tensors + job->at.work;
	l.in = job->tensors;
	l.out = job->tensors;
	l.npes = job->state->npes;
	l.mype = job->state->mype;
	l.local = l.s->experts / l.npes;
	l.lane = bf_lane(t);
	l.warp = bf_warp(t);
	l.warps = bf_warps(t);
	l.block = bf_block(t);
	l.group = l.warp / l.s->group_warps;
	l.sub = l.warp % l.s->group_warps;
	l.first = l.block * l.s->groups + l.group;
	l.step = l.s->blocks * l.s->groups;
	l.round = 0;
	l.set = 0;
	l.math = bf_ll_math_here();
	return l;
}

BF_DEVICE uint8_t *bf_ll_word(const struct bf_ll_lane *l, uint64_t array, uint32_t expert)
{
	return l->work + array + (uint64_t)expert * 4;
}

BF_DEVICE uint8_t *bf_ll_block_cell(const struct bf_ll_lane *l, uint32_t which)
{
	return l->work + l->area.block + ((uint64_t)l->block * (2 + l->s->groups) + which) * BF_LL_CELL;
}
BF_DEVICE void bf_ll_meet_casters(struct bf_thread *t, const struct bf_ll_lane *l)
{
	bf_ibgda_meet(t, bf_ll_block_cell(l, 0), l->warps - 1, BF_AT_CTA);
}
BF_DEVICE void bf_ll_meet_block(struct bf_thread *t, const struct bf_ll_lane *l)
{
	bf_ibgda_meet(t, bf_ll_block_cell(l, 1), l->warps, BF_AT_CTA);
}
BF_DEVICE void bf_ll_meet_group(struct bf_thread *t, const struct bf_ll_lane *l)
{
	bf_ibgda_meet(t, bf_ll_block_cell(l, 2 + l->group), l->s->group_warps, BF_AT_CTA);
}
BF_DEVICE void bf_ll_meet_grid(struct bf_thread *t, const struct bf_ll_lane *l)
{
	bf_ibgda_meet(t, l->work + l->area.grid, l->warps * l->s->blocks, BF_AT_GPU);
}

/* DeepEP's atomic_add_release_global: one lane, for what its warp has done. */
BF_DEVICE void bf_ll_add_release(struct bf_thread *t, void *p, uint32_t v)
{
	bf_fence_gpu(t);
	bf_atomic_add32(t, p, v, BF_AT_GPU);
}

/* One lane waits until a word of GPU memory is (or is not) `v`; returns what it then is. */
BF_DEVICE void bf_ll_wait_for(struct bf_thread *t, const void *p, uint32_t v, const char *what)
{
	while (bf_ld_acquire32(t, p, BF_AT_GPU) != v)
		bf_spin(t, p, what);
}
BF_DEVICE uint32_t bf_ll_wait_change(struct bf_thread *t, const void *p, enum bf_thread_scope scope, const char *what)
{
	uint32_t v;

	while ((v = bf_ld_acquire32(t, p, scope)) == 0)
		bf_spin(t, p, what);
	return v;
}

/* The queue pair for an expert of another PE: DeepEP takes the expert's number there (or here, in a combine) as id. */
BF_DEVICE struct bf_ibgda_qp *bf_ll_qp(const struct bf_ll_lane *l, uint32_t pe, uint32_t id)
{
	return bf_ibgda_rc(l->state, pe, id);
}

/*
 * The count or flag behind all messages to one expert. One lane calls. A 4-byte atomic add with an always-post, so that
 * what a batch of four has left unrung goes with it; on the own PE a store that releases.
 */
BF_DEVICE void bf_ll_send_count(struct bf_thread *t, const struct bf_ll_lane *l, uint8_t *at, uint32_t value,
				uint32_t pe, uint32_t id, uint32_t phase, uint32_t expert)
{
	const uint32_t other = (l->s->bugs & BF_LL_BUG_COUNT_QP) ? 1 : 0;
	struct bf_ibgda_qp *qp;
	struct bf_ibgda_amo a;

	if (pe == l->mype) {
		BF_DRIVER_RECORD(t, ll_count, .round = l->round, .phase = phase, .expert = expert, .dst = pe,
				 .value = (int32_t)value, .qpn = 0);
		bf_st_release32(t, at, value, BF_AT_SYS);
		return;
	}
	qp = bf_ll_qp(l, pe, id + other);
	a.op = BF_IBGDA_AMO_ADD;
	a.bytes = 4;
	a.addr = at;
	a.operand = value;
	a.compare = 0;
	BF_DRIVER_RECORD(t, ll_count, .round = l->round, .phase = phase, .expert = expert, .dst = pe,
			 .value = (int32_t)value, .qpn = qp->qpn);
	bf_ibgda_amo_nonfetch(t, 1u << l->lane, l->state, qp, &a,
			      (l->s->bugs & BF_LL_BUG_NO_FINAL_POST) ? 0 : BF_IBGDA_ALWAYS_POST);
}

#endif
