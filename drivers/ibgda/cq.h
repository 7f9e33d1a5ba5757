/*
 * IBGDA, step 4 of 5: finding out what is complete.
 *
 * The usual completion queue is collapsed: the device writes every CQE over entry 0, so a poller sees only the latest
 * one. All it needs is that entry's 16-bit wqe_counter, the index of the FIRST block of the entry that completed last.
 * Signalled entries are therefore one block long, and what is complete is wqe_counter + 1. (NVSHMEM ibgda_device.cuh
 * ibgda_poll_cq, DeepEP ibgda_poll_cq.)
 */
#ifndef BELFRY_DRIVERS_IBGDA_CQ_H
#define BELFRY_DRIVERS_IBGDA_CQ_H

#include "drivers/ibgda/live.h"
#include "traces/records/ibgda.h"
#include "models/mlx5/prm.h"
#include "sim/compiler.h"

#ifndef BF_PLATFORM
#error "include one of drivers/platform/platform_*.h first"
#endif

/* Fences and accesses that the device must see reach this far. */
BF_DEVICE enum bf_thread_scope bf_ibgda_scope(const struct bf_ibgda_state *state)
{
	if (BF_UNLIKELY(bf_ibgda_mistakes(state) & BF_IBGDA_BUG_CTA_FENCE))
		return BF_AT_CTA;
	return state->system_scope ? BF_AT_SYS : BF_AT_GPU;
}

/*
 * True while entries below `idx` may be incomplete, seeing `wqe_counter` in a collapsed CQ of nominal depth `ncqes`.
 * With completed = wqe_counter + 1, waiting is right when 1 <= idx - completed <= ncqes; subtracting 2 lets "equal"
 * wrap to 0xffff, which is outside the window. It is exact as long as fewer than 65536 - ncqes blocks are in flight.
 * The CQ starts as all ones, which reads as "completed 0".
 */
BF_FN int bf_ibgda_cqe_pending(uint64_t idx, uint16_t wqe_counter, uint32_t ncqes)
{
	return (uint16_t)((uint16_t)idx - wqe_counter - 2) < ncqes;
}

/* The running index up to which all is complete, given that the wait for `idx` ended on `wqe_counter`. */
BF_FN uint64_t bf_ibgda_cqe_done(uint64_t idx, uint16_t wqe_counter)
{
	const uint16_t done = (uint16_t)(wqe_counter + 1);
	const uint64_t wrapped = (uint16_t)idx > done ? 0x10000 : 0;

	return (idx & ~0xffffull) + done + wrapped;
}

BF_DEVICE int bf_ibgda_still_pending(const struct bf_ibgda_state *state, uint64_t idx, uint16_t counter, uint32_t ncqes)
{
	if (BF_UNLIKELY(bf_ibgda_mistakes(state) & BF_IBGDA_BUG_POLL_NO_MINUS2))
		return (uint16_t)((uint16_t)idx - counter) < ncqes;
	if (BF_UNLIKELY(bf_ibgda_mistakes(state) & BF_IBGDA_BUG_POLL_WIDEN))
		return (uint64_t)counter + 1 < idx;
	return bf_ibgda_cqe_pending(idx, counter, ncqes);
}

#define BF_IBGDA_CQE_TAIL 60u

/* BF_IBGDA_BUG_WEAK_POLL: what a cache may serve. */
BF_DEVICE uint32_t bf_ibgda_cqe_tail_weak(struct bf_thread *t, const void *cqe)
{
	return bf_htobe32(bf_ld_weak32(t, (const uint8_t *)cqe + BF_IBGDA_CQE_TAIL));
}

/* Bytes 60-63 of a CQE as one big-endian word: wqe_counter, signature, op_own. One load, so they belong together. */
BF_DEVICE uint32_t bf_ibgda_cqe_tail(struct bf_thread *t, const struct bf_ibgda_state *state, const void *cqe)
{
	if (BF_UNLIKELY(bf_ibgda_mistakes(state) & BF_IBGDA_BUG_WEAK_POLL))
		return bf_ibgda_cqe_tail_weak(t, cqe);
	return bf_htobe32(bf_ld_relaxed32(t, (const uint8_t *)cqe + BF_IBGDA_CQE_TAIL, bf_ibgda_scope(state)));
}

/* Whether pollers report errors at all: DeepEP's look at the counter only, unless there is a backup to go to. */
BF_DEVICE int bf_ibgda_heeds_errors(const struct bf_ibgda_state *state)
{
	if (bf_ibgda_mistakes(state) & BF_IBGDA_BUG_IGNORE_ERROR)
		return 0;
	return state->flavour == BF_IBGDA_NVSHMEM || state->globalmem.failover != (uint32_t *)0;
}

/* The syndrome of the first error that any poller of this QP has seen; 0 = none. */
BF_DEVICE uint32_t bf_ibgda_status(struct bf_thread *t, struct bf_ibgda_qp *qp)
{
	return bf_ld_relaxed32(t, &qp->mvars.status, BF_AT_GPU);
}

/*
 * What a poller says once cons_idx is where it wanted it. An error of the past makes it a failure, unless the traffic
 * can move: then cons_idx never passes an entry that failed.
 */
BF_DEVICE int bf_ibgda_result(struct bf_thread *t, const struct bf_ibgda_state *state, struct bf_ibgda_qp *qp)
{
	if (bf_ibgda_moves(state, qp))
		return 0;
	return bf_ibgda_heeds_errors(state) && bf_ibgda_status(t, qp) ? BF_IBGDA_FAILED : 0;
}

BF_DEVICE int bf_ibgda_is_error(uint32_t op_own)
{
	return (op_own & 0xffu) >> 4 == BF_MLX5_CQE_REQ_ERR;
}

/* Keeps the first syndrome when `op_own` is a requester's error. Returns it, 0 when the entry is a good one. */
BF_DEVICE uint32_t bf_ibgda_note_error(struct bf_thread *t, const struct bf_ibgda_state *state, struct bf_ibgda_qp *qp,
				       const void *cqe, uint32_t op_own)
{
	uint32_t syndrome;

	if (BF_LIKELY(!bf_ibgda_is_error(op_own)))
		return 0;
	syndrome = bf_htobe32(bf_ld_relaxed32(t, (const uint8_t *)cqe + 52, bf_ibgda_scope(state))) & 0xffu;
	if (bf_ibgda_heeds_errors(state))
		bf_atomic_cas32(t, &qp->mvars.status, 0, syndrome, BF_AT_GPU);
	return syndrome;
}

BF_DEVICE void bf_ibgda_tell_poll(struct bf_thread *t, const struct bf_ibgda_qp *qp, uint64_t wanted, uint64_t done,
				  uint32_t syndrome)
{
	BF_DRIVER_RECORD(t, ibgda_poll, .wanted = wanted, .done = done, .qpn = qp->qpn, .syndrome = syndrome);
}

/* `kind` as in the record: fetched, or got by a quiet with the consistency step. */
BF_DEVICE void bf_ibgda_tell_result(struct bf_thread *t, const struct bf_ibgda_state *state,
				    const struct bf_ibgda_qp *qp, uint64_t upto, uint32_t kind)
{
	BF_DRIVER_RECORD(t, ibgda_result, .upto = upto, .qpn = qp->qpn, .kind = (uint16_t)kind,
			 .consistent = state->may_skip_cst != 0);
}

/*
 * An error on a queue that has a backup. cons_idx must stay at what surely was done, because the rest is going to be
 * replayed: the entry that failed first, or, when flushes already lie over that one's completion, what was known
 * before. The fence keeps the syndrome from being older than the counter: an old cause with a flushed entry's counter
 * would pass for more than was done.
 */
BF_DEVICE int bf_ibgda_poll_failed(struct bf_thread *t, const struct bf_ibgda_state *state, struct bf_ibgda_qp *qp,
				   const void *cqe, uint32_t tail, uint64_t idx)
{
	uint64_t *cons_idx = qp->tx_wq.cq->cons_idx;
	const uint64_t known = bf_ld_relaxed64(t, cons_idx, BF_AT_GPU);
	uint64_t done = known;
	uint32_t syndrome;

	bf_fence_at(t, bf_ibgda_scope(state));
	syndrome = bf_ibgda_note_error(t, state, qp, cqe, tail);
	if (syndrome != BF_MLX5_SYND_WR_FLUSH) {
		done += (uint16_t)((tail >> 16) - (uint16_t)known);
		bf_atomic_max64(t, cons_idx, done, BF_AT_GPU);
	}
	bf_ibgda_tell_poll(t, qp, idx, done, syndrome);
	return done >= idx ? 0 : BF_IBGDA_FAILED;
}

BF_DEVICE int bf_ibgda_poll_collapsed(struct bf_thread *t, const struct bf_ibgda_state *state, struct bf_ibgda_qp *qp,
				      uint64_t idx)
{
	const struct bf_ibgda_cq *cq = qp->tx_wq.cq;
	uint32_t tail, syndrome;
	uint64_t done;

	for (;;) {
		/* Another thread of the QP may have got there first. DeepEP does not look: one poller a QP. */
		if (state->flavour == BF_IBGDA_NVSHMEM && bf_ld_relaxed64(t, cq->cons_idx, BF_AT_GPU) >= idx)
			return bf_ibgda_result(t, state, qp);
		tail = bf_ibgda_cqe_tail(t, state, cq->cqe);
		if (bf_ibgda_moves(state, qp) && bf_ibgda_is_error(tail))
			return bf_ibgda_poll_failed(t, state, qp, cq->cqe, tail, idx);
		if (BF_UNLIKELY(bf_ibgda_mistakes(state) & BF_IBGDA_BUG_ERROR_WAITS) && bf_ibgda_is_error(tail)) {
			bf_spin2(t, cq->cons_idx, cq->cqe, "completion in a collapsed CQ");
			continue;
		}
		if (!bf_ibgda_still_pending(state, idx, (uint16_t)(tail >> 16), cq->ncqes))
			break;
		bf_spin2(t, cq->cons_idx, cq->cqe, "completion in a collapsed CQ");
	}
	done = bf_ibgda_cqe_done(idx, (uint16_t)(tail >> 16));
	if (BF_UNLIKELY(bf_ibgda_mistakes(state) & BF_IBGDA_BUG_POLL_WIDEN))
		done = (uint64_t)(tail >> 16) + 1;
	if (BF_UNLIKELY(bf_ibgda_mistakes(state) & BF_IBGDA_BUG_POLL_STORE)) {
		/* Between its look at the counter and the store it looks for an error, as pollers do. */
		(void)bf_ld_relaxed32(t, (const uint8_t *)cq->cqe + 52, bf_ibgda_scope(state));
		bf_st_relaxed64(t, cq->cons_idx, done, BF_AT_GPU);
		BF_DRIVER_RECORD(t, ibgda_consume, .to = done, .qpn = qp->qpn);
	} else if (state->flavour == BF_IBGDA_NVSHMEM)
		bf_atomic_max64(t, cq->cons_idx, done, BF_AT_GPU);
	else
		bf_st_relaxed64(t, cq->cons_idx, idx, BF_AT_GPU);
	syndrome = bf_ibgda_note_error(t, state, qp, cq->cqe, tail);
	bf_ibgda_tell_poll(t, qp, idx, done, syndrome);
	return bf_ibgda_result(t, state, qp);
}

BF_DEVICE const uint8_t *bf_ibgda_plain_cqe(const struct bf_ibgda_qp *qp, uint64_t n)
{
	return (const uint8_t *)qp->tx_wq.cq->cqe + (n & (qp->tx_wq.cq->ncqes - 1)) * 64;
}

/*
 * Entry n of a plain CQ, whose last word is `tail`, belongs to software when its opcode is valid and its owner bit
 * equals the parity of n / ncqes (rdma-core providers/mlx5/cq.c get_sw_cqe).
 */
BF_DEVICE int bf_ibgda_plain_owned(const struct bf_ibgda_qp *qp, uint64_t n, uint32_t tail)
{
	return (tail & 0xff) >> 4 != BF_MLX5_CQE_INVALID && (tail & 1) == ((n / qp->tx_wq.cq->ncqes) & 1);
}

/* What pollers go by. */
BF_DEVICE int bf_ibgda_plain_taken(const struct bf_ibgda_state *state, const struct bf_ibgda_qp *qp, uint64_t n,
				   uint32_t tail)
{
	if (BF_UNLIKELY(bf_ibgda_mistakes(state) & BF_IBGDA_BUG_OWNER_IGNORED))
		return (tail & 0xff) >> 4 != BF_MLX5_CQE_INVALID;
	return bf_ibgda_plain_owned(qp, n, tail);
}

/*
 * Takes what lies in a plain CQ. Called under cq_lock. cons_idx goes up before cq_head: who sees the new head and
 * looks at cons_idx then need not wait for it.
 */
BF_DEVICE void bf_ibgda_drain_plain(struct bf_thread *t, const struct bf_ibgda_state *state, struct bf_ibgda_qp *qp)
{
	struct bf_ibgda_mvars *mv = &qp->mvars;
	const uint64_t start = bf_ld_relaxed64(t, &mv->cq_head, BF_AT_GPU);
	uint64_t done = bf_ld_relaxed64(t, &mv->cons_idx, BF_AT_GPU);
	uint64_t head = start;
	uint32_t syndrome = 0;

	for (; head - start < qp->tx_wq.cq->ncqes; head++) {
		const uint8_t *cqe = bf_ibgda_plain_cqe(qp, head);
		const uint32_t tail = bf_ibgda_cqe_tail(t, state, cqe);

		if (!bf_ibgda_plain_taken(state, qp, head, tail))
			break;
		if (bf_ibgda_moves(state, qp) && bf_ibgda_is_error(tail)) {
			/* It stays for all to see; what precedes its entry is done. */
			syndrome = bf_ibgda_note_error(t, state, qp, cqe, tail);
			done += (uint16_t)((tail >> 16) - (uint16_t)done);
			bf_atomic_max64(t, &mv->cons_idx, done, BF_AT_GPU);
			break;
		}
		if (!syndrome)
			syndrome = bf_ibgda_note_error(t, state, qp, cqe, tail);
		done += (uint16_t)((uint16_t)((tail >> 16) + 1) - (uint16_t)done);
	}
	if (head != start) {
		bf_ibgda_tell_poll(t, qp, done, done, syndrome);
		if (BF_LIKELY(!(bf_ibgda_mistakes(state) & BF_IBGDA_BUG_CQ_NO_CONSUMER)))
			bf_st_relaxed32(t, qp->tx_wq.cq->dbrec, bf_htobe32((uint32_t)head & 0xffffffu),
					bf_ibgda_scope(state));
		bf_atomic_max64(t, &mv->cons_idx, done, BF_AT_GPU);
		bf_st_relaxed64(t, &mv->cq_head, head, BF_AT_GPU);
	}
}

BF_DEVICE int bf_ibgda_poll_plain(struct bf_thread *t, const struct bf_ibgda_state *state, struct bf_ibgda_qp *qp,
				  uint64_t idx)
{
	struct bf_ibgda_mvars *mv = &qp->mvars;

	while (bf_ld_relaxed64(t, &mv->cons_idx, BF_AT_GPU) < idx) {
		uint64_t head;

		if (bf_atomic_cas32(t, &mv->cq_lock, 0, 1, BF_AT_GPU)) {
			bf_spin(t, &mv->cq_lock, "the CQ's lock");
			continue;
		}
		bf_ibgda_drain_plain(t, state, qp);
		bf_fence_at(t, bf_ibgda_scope(state));
		bf_st_relaxed32(t, &mv->cq_lock, 0, BF_AT_GPU);
		if (bf_ibgda_moves(state, qp) && bf_ibgda_status(t, qp))
			return bf_ld_relaxed64(t, &mv->cons_idx, BF_AT_GPU) >= idx ? 0 : BF_IBGDA_FAILED;
		/* The look at the entry comes last: whatever happens after it wakes the spin. */
		head = bf_ld_relaxed64(t, &mv->cq_head, BF_AT_GPU);
		if (bf_ld_relaxed64(t, &mv->cons_idx, BF_AT_GPU) < idx &&
		    !bf_ibgda_plain_taken(state, qp, head, bf_ibgda_cqe_tail(t, state, bf_ibgda_plain_cqe(qp, head))))
			bf_spin2(t, &mv->cons_idx, bf_ibgda_plain_cqe(qp, head), "completion in a CQ");
	}
	return bf_ibgda_result(t, state, qp);
}

/* Waits until the device knows of the entries below `idx`. BF_IBGDA_FAILED when nobody is going to tell it. */
BF_DEVICE int bf_ibgda_await_doorbell(struct bf_thread *t, const struct bf_ibgda_state *state, struct bf_ibgda_qp *qp,
				      uint64_t idx)
{
	const struct bf_ibgda_cq *cq = qp->tx_wq.cq;

	for (;;) {
		if (bf_ibgda_moves(state, qp) && bf_ibgda_out_of_use(t, qp))
			return BF_IBGDA_FAILED;
		if (bf_ld_relaxed64(t, cq->prod_idx, BF_AT_GPU) >= idx)
			return 0;
		bf_ibgda_nap(t, state, qp, cq->prod_idx, "a doorbell for these entries");
	}
}

/*
 * Waits until all entries below `idx` are complete. 0, or BF_IBGDA_FAILED when a completion on this QP reported an
 * error (mvars.status says which; the DeepEP flavour never looks). A queue that has a backup reports it only when `idx`
 * was not reached; the caller then goes on with whatever carries the traffic.
 */
BF_DEVICE int bf_ibgda_poll_cq(struct bf_thread *t, const struct bf_ibgda_state *state, struct bf_ibgda_qp *qp,
			       uint64_t idx)
{
	const struct bf_ibgda_cq *cq = qp->tx_wq.cq;
	int status;

	if (bf_ld_relaxed64(t, cq->cons_idx, BF_AT_GPU) >= idx)
		return bf_ibgda_result(t, state, qp);
	/* The 16-bit test means something only for entries that the device knows of. */
	if (state->flavour == BF_IBGDA_NVSHMEM && bf_ibgda_await_doorbell(t, state, qp, idx))
		return BF_IBGDA_FAILED;
	status = cq->plain ? bf_ibgda_poll_plain(t, state, qp, idx) : bf_ibgda_poll_collapsed(t, state, qp, idx);
	/* What the completed entries brought is read after, not before (DeepEP: memory_fence_cta). */
	bf_fence_cta(t);
	return status;
}

#endif
