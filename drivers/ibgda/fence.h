/*
 * IBGDA: the consistency step, and waiting for more than one queue (NVSHMEM nvshmemi_ibgda_quiet, _fence,
 * _enforce_consistency_at_target, ibgda_cst, qp_quiet).
 */
#ifndef BELFRY_DRIVERS_IBGDA_FENCE_H
#define BELFRY_DRIVERS_IBGDA_FENCE_H

#include "drivers/ibgda/select.h"

/*
 * The consistency step: a DUMP of one byte of GPU memory. PCIe lets no read pass the device's earlier writes, so when
 * it completes, data that earlier READs fetched are in memory. An RC borrows a DCI of its device when there are any;
 * the writes that it orders are the device's, whatever queue they came by.
 */
BF_DEVICE int bf_ibgda_cst(struct bf_thread *t, const struct bf_ibgda_state *state, struct bf_ibgda_qp *qp)
{
	uint64_t idx;
	int status;

	if (qp->qp_type == BF_IBGDA_RC && state->num_dci)
		qp = bf_ibgda_dci(t, state, state->mype, qp->dev_idx);
	do {
		qp = bf_ibgda_rc_of(t, state, qp);
		idx = bf_ibgda_reserve(t, state, qp, 1);
		status = idx == BF_IBGDA_NO_SLOT ? BF_IBGDA_MOVED : 0;
		if (!status) {
			bf_ibgda_write_dump(t, qp, idx, 0);
			status = bf_ibgda_submit(t, state, qp, idx, 1, BF_IBGDA_ALWAYS_POST);
		}
	} while (status == BF_IBGDA_MOVED && !bf_ibgda_await_move(t, state, qp));
	return status ? BF_IBGDA_FAILED : bf_ibgda_quiet(t, state, qp);
}

/*
 * Quiet, and the consistency step when gets were issued since the last one. get_head is read first: later gets may
 * miss. Gets that were replayed are noted on the queue that replayed them.
 */
BF_DEVICE int bf_ibgda_quiet_with_cst(struct bf_thread *t, const struct bf_ibgda_state *state, struct bf_ibgda_qp *qp)
{
	struct bf_ibgda_qp *before = bf_ibgda_rc_of(t, state, qp), *after;
	uint64_t gets = bf_ld_relaxed64(t, &before->mvars.get_head, BF_AT_GPU);
	int status = bf_ibgda_quiet(t, state, before);

	after = bf_ibgda_rc_of(t, state, before);
	if (BF_UNLIKELY(after != before))
		gets = bf_ld_relaxed64(t, &after->mvars.get_head, BF_AT_GPU);
	if (!status && !state->may_skip_cst && !(bf_ibgda_mistakes(state) & BF_IBGDA_BUG_NO_CST) &&
	    bf_ld_relaxed64(t, &after->mvars.get_tail, BF_AT_GPU) < gets) {
		status = bf_ibgda_cst(t, state, after);
		bf_atomic_max64(t, &after->mvars.get_tail, gets, BF_AT_GPU);
	}
	if (!status)
		bf_ibgda_tell_result(t, state, after, 0, 1);
	return status;
}

/* Whether RC number n of the default ones, counted over all PEs, is one that leads nowhere: the PE's own. */
BF_DEVICE int bf_ibgda_skips(const struct bf_ibgda_state *state, uint32_t n, int fence)
{
	if (BF_UNLIKELY(fence && bf_ibgda_suspected(state) & BF_IBGDA_SUSPECT_FENCE_DIVIDES))
		return n / state->num_default_rc_per_pe == state->mype;
	return n % state->npes == state->mype;
}

/* One queue of those that the default quiet and fence cover: all DCIs, then the default RCs row by row. */
BF_DEVICE struct bf_ibgda_qp *bf_ibgda_default_qp(const struct bf_ibgda_state *state, uint32_t n)
{
	if (n < state->num_dci)
		return &state->globalmem.dcis[n];
	n -= state->num_dci;
	return &state->globalmem.rcs[bf_ibgda_rc_index(state->layout, state->npes, state->num_rc_per_pe,
						       n % state->npes, n / state->npes)];
}

/* An entry of the table that was never created has no CQ: a GPU that polled it would fault. */
BF_DEVICE int bf_ibgda_quiet_nth(struct bf_thread *t, const struct bf_ibgda_state *state, uint32_t n, int fence)
{
	struct bf_ibgda_qp *qp = bf_ibgda_default_qp(state, n);

	if (n >= state->num_dci && bf_ibgda_skips(state, n - state->num_dci, fence))
		return 0;
	if (BF_UNLIKELY(!qp->tx_wq.cq))
		return BF_IBGDA_FAILED;
	return fence ? bf_ibgda_quiet(t, state, qp) : bf_ibgda_quiet_with_cst(t, state, qp);
}

/* Lanes deal the queues out among themselves; all of `mask` call and return the same. */
BF_DEVICE int bf_ibgda_quiet_many(struct bf_thread *t, uint32_t mask, const struct bf_ibgda_state *state, int fence)
{
	const uint32_t total = state->num_dci + state->num_default_rc_per_pe * state->npes;
	const uint32_t step = bf_ibgda_popcount(mask);
	int status = 0;

	bf_warp_sync(t, mask);
	for (uint32_t n = bf_ibgda_rank(t, mask); n < total; n += step) {
		if (n + 4 * step < total)
			bf_ibgda_prefetch_qp(t, bf_ibgda_default_qp(state, n + 4 * step));
		if (n + 2 * step < total)
			bf_prefetch(t, bf_ibgda_default_qp(state, n + 2 * step)->tx_wq.cq);
		status |= bf_ibgda_quiet_nth(t, state, n, fence);
	}
	return bf_ballot(t, mask, status != 0) ? BF_IBGDA_FAILED : 0;
}

/*
 * Quiet of the PE: everything that was published to any PE before is complete, and what was fetched can be read. Covers
 * the DCIs and the default RCs; RCs that were created later are for bf_ibgda_qp_quiet().
 */
BF_DEVICE int bf_ibgda_pe_quiet(struct bf_thread *t, uint32_t mask, const struct bf_ibgda_state *state)
{
	return bf_ibgda_quiet_many(t, mask, state, 0);
}

/*
 * Fence of the PE: what comes after is delivered after what came before, PE by PE. As operations to one PE may go by
 * several queues, which are not ordered among themselves, this waits like quiet, only without the consistency step.
 */
BF_DEVICE int bf_ibgda_pe_fence(struct bf_thread *t, uint32_t mask, const struct bf_ibgda_state *state)
{
	return bf_ibgda_quiet_many(t, mask, state, 1);
}

/* Quiet of the RCs that `handles` stand for, each to all PEs. */
BF_DEVICE int bf_ibgda_qp_quiet(struct bf_thread *t, uint32_t mask, const struct bf_ibgda_state *state,
				const uint32_t *handles, uint32_t count)
{
	const int ignores = (bf_ibgda_suspected(state) & BF_IBGDA_SUSPECT_QP_QUIET_IGNORES_HANDLE) != 0;
	const uint32_t step = bf_ibgda_popcount(mask);
	int status = 0;

	bf_warp_sync(t, mask);
	for (uint32_t n = bf_ibgda_rank(t, mask); n < count * state->npes; n += step) {
		const uint32_t pe = ignores ? n / count : n % state->npes;
		const uint32_t row = ignores ? n % count : handles[n / state->npes] / state->npes;

		if (pe != state->mype)
			status |= bf_ibgda_quiet_with_cst(t, state, bf_ibgda_rc(state, pe, row));
	}
	return bf_ballot(t, mask, status != 0) ? BF_IBGDA_FAILED : 0;
}

/*
 * At a target, after it learned (by a signal, say) that data have arrived: makes loads see them. Once for each device,
 * on a DCI of its own; without DCIs on an RC. `sys` asks for a system fence as well, for others than this GPU.
 */
BF_DEVICE int bf_ibgda_enforce_consistency(struct bf_thread *t, const struct bf_ibgda_state *state, int sys)
{
	int status = 0;

	for (uint32_t dev = 0; !state->may_skip_cst && dev < state->num_devices; dev++) {
		if (state->num_dci) {
			status |= bf_ibgda_cst(t, state, bf_ibgda_dci(t, state, state->mype, dev));
			continue;
		}
		for (uint32_t i = 0; i < state->num_rc_per_pe; i++) {
			struct bf_ibgda_qp *qp = bf_ibgda_rc(state, (state->mype + 1) % state->npes, i);

			if (qp->dev_idx == dev) {
				status |= bf_ibgda_cst(t, state, qp);
				break;
			}
		}
	}
	if (sys)
		bf_fence_sys(t);
	return status ? BF_IBGDA_FAILED : 0;
}

#endif
