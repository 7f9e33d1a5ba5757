/*
 * IBGDA, steps 2 and 3 of 5: slots of the send queue, and telling the device.
 *
 *   reserve   resv_head += n        the slots are mine
 *   (build)                         bytes into the ring, by many lanes
 *   submit    ready_head: mine in turn behind everybody before me; then ring, or leave it to somebody later
 *   post      prod_idx, doorbell record, doorbell, under a lock
 *
 * All three counters hold "index + 1" in blocks of 64 bytes and never wrap; the device sees their low 16 bits.
 */
#ifndef BELFRY_DRIVERS_IBGDA_SQ_H
#define BELFRY_DRIVERS_IBGDA_SQ_H

#include "drivers/ibgda/cq.h"
#include "drivers/ibgda/wqe.h"

/* Where the block with running index `idx` lies; the ring wraps between blocks. */
BF_DEVICE uint8_t *bf_ibgda_slot(const struct bf_ibgda_qp *qp, uint64_t idx)
{
	return (uint8_t *)qp->tx_wq.wqe + ((idx & (qp->tx_wq.nwqes - 1u)) << BF_MLX5_WQEBB_SHIFT);
}

/* Segment `i` of the entry at `idx`. Weak stores: submit makes them visible. */
BF_DEVICE void bf_ibgda_segment_store(struct bf_thread *t, const struct bf_ibgda_qp *qp, uint64_t idx, uint32_t i,
				      struct bf_vec128 v)
{
	bf_st_weak128(t, bf_ibgda_slot(qp, idx + i / 4) + (i % 4) * BF_MLX5_DS, v);
}

BF_DEVICE void bf_ibgda_tell_build(struct bf_thread *t, const struct bf_ibgda_qp *qp, uint64_t idx, uint32_t ds)
{
	BF_DRIVER_RECORD(t, ibgda_build, .index = idx, .qpn = qp->qpn, .ds = ds);
}

/* Lays `ds` segments of a built entry into the ring at `idx`. */
BF_DEVICE void bf_ibgda_wqe_store(struct bf_thread *t, struct bf_ibgda_qp *qp, uint64_t idx,
				  const struct bf_ibgda_wqe *w, uint32_t ds)
{
	for (uint32_t i = 0; i < ds; i++)
		bf_ibgda_segment_store(t, qp, idx, i, w->ds[i]);
	bf_ibgda_tell_build(t, qp, idx, ds);
}

/*
 * A PE has thousands of queue pairs in a large job, and whoever turns to one finds it in no cache. These ask for all of
 * it at once, and for what it points to, where the code would come upon one line after the other.
 */
BF_DEVICE void bf_ibgda_prefetch_qp(struct bf_thread *t, const struct bf_ibgda_qp *qp)
{
	for (uint32_t at = 0; at < sizeof(*qp); at += 64)
		bf_prefetch(t, (const uint8_t *)qp + at);
}
BF_DEVICE void bf_ibgda_prefetch_queues(struct bf_thread *t, const struct bf_ibgda_qp *qp, uint64_t idx)
{
	bf_prefetch(t, bf_ibgda_slot(qp, idx));
	bf_prefetch(t, qp->tx_wq.dbrec);
	bf_prefetch(t, qp->tx_wq.cq);
}

/* What a reservation returns on a queue that was closed or has failed. */
#define BF_IBGDA_NO_SLOT (~0ull)

/*
 * Leaves slots without ever filling them, on a queue that is going to be replayed. Nobody can publish behind them, so
 * all who come later leave as well; the sum tells the one who replays that everybody is gone.
 */
BF_DEVICE void bf_ibgda_give_up(struct bf_thread *t, struct bf_ibgda_qp *qp, uint64_t base, uint32_t n)
{
	bf_atomic_max64(t, &qp->mvars.abandoned, ~base, BF_AT_GPU);
	bf_fence_gpu(t);
	bf_atomic_add64(t, &qp->mvars.given_up, n, BF_AT_GPU);
}

/*
 * Takes `n` slots and returns the first one's index. In the NVSHMEM flavour it then waits until the ring has room for
 * them, inside the reservation: earlier entries must be able to complete without the caller, which is why a group of
 * slots may not exceed nwqes - batch. DeepEP does not wait; there the caller keeps what is in flight below nwqes.
 * BF_IBGDA_NO_SLOT, only with backups: the queue was closed, or failed before there was room.
 */
BF_DEVICE uint64_t bf_ibgda_reserve(struct bf_thread *t, const struct bf_ibgda_state *state, struct bf_ibgda_qp *qp,
				    uint32_t n)
{
	const uint64_t base = bf_atomic_add64(t, &qp->mvars.resv_head, n, BF_AT_GPU);

	if (BF_UNLIKELY(base >= BF_IBGDA_SEALED))
		return BF_IBGDA_NO_SLOT;
	bf_ibgda_prefetch_queues(t, qp, base);
	BF_DRIVER_RECORD(t, ibgda_reserve, .base = base, .count = n, .qpn = qp->qpn);
	if (state->flavour == BF_IBGDA_NVSHMEM && !(bf_ibgda_mistakes(state) & BF_IBGDA_BUG_NO_OVERFLOW_WAIT) &&
	    base + n > qp->tx_wq.nwqes && bf_ibgda_poll_cq(t, state, qp, base + n - qp->tx_wq.nwqes) &&
	    bf_ibgda_moves(state, qp)) {
		bf_ibgda_give_up(t, qp, base, n);
		return BF_IBGDA_NO_SLOT;
	}
	return base;
}

BF_DEVICE void bf_ibgda_lock(struct bf_thread *t, const struct bf_ibgda_state *state, struct bf_ibgda_qp *qp)
{
	if (BF_UNLIKELY(bf_ibgda_mistakes(state) & BF_IBGDA_BUG_NO_LOCK))
		return;
	while (bf_atomic_cas32(t, &qp->mvars.post_send_lock, 0, 1, BF_AT_GPU))
		bf_spin(t, &qp->mvars.post_send_lock, "post_send's lock");
	bf_fence_cta(t);
}

BF_DEVICE void bf_ibgda_unlock(struct bf_thread *t, const struct bf_ibgda_state *state, struct bf_ibgda_qp *qp)
{
	if (BF_UNLIKELY(bf_ibgda_mistakes(state) & BF_IBGDA_BUG_NO_LOCK))
		return;
	bf_fence_cta(t);
	bf_st_relaxed32(t, &qp->mvars.post_send_lock, 0, BF_AT_GPU);
}

/*
 * Doorbell record: the index of the next empty block. What was stored before (the entries) must be visible first: a
 * fence in NVSHMEM, a release store in DeepEP.
 */
BF_DEVICE uint32_t bf_ibgda_store_dbrec(struct bf_thread *t, const struct bf_ibgda_state *state, struct bf_ibgda_qp *qp,
					uint64_t prod)
{
	const enum bf_thread_scope scope = bf_ibgda_scope(state);
	const int ordered = !(bf_ibgda_mistakes(state) & BF_IBGDA_BUG_NO_WQE_FENCE);
	uint32_t dbrec;

	if (BF_UNLIKELY(bf_ibgda_mistakes(state) & BF_IBGDA_BUG_DBREC_INDEX))
		prod--;
	dbrec = bf_htobe32((uint32_t)prod & 0xffffu);
	if (state->flavour == BF_IBGDA_DEEPEP && ordered) {
		bf_st_release32(t, qp->tx_wq.dbrec, dbrec, scope);
	} else {
		if (ordered)
			bf_fence_at(t, scope);
		bf_st_relaxed32(t, qp->tx_wq.dbrec, dbrec, scope);
	}
	return bf_htobe32(dbrec);
}

/*
 * Doorbell: one 8-byte store that looks like the start of a control segment, with the producer index and no opcode. The
 * record must be visible first. (A release store is this fence and a relaxed store: PTX ISA, "st".)
 */
BF_DEVICE void bf_ibgda_ring(struct bf_thread *t, const struct bf_ibgda_state *state, struct bf_ibgda_qp *qp,
			     uint64_t prod)
{
	const uint64_t lo = bf_htobe32(((uint32_t)prod & 0xffffu) << 8);
	const uint64_t hi = bf_htobe32(qp->qpn << 8);

	if (!(bf_ibgda_mistakes(state) & BF_IBGDA_BUG_NO_DBREC_FENCE))
		bf_fence_at(t, bf_ibgda_scope(state));
	bf_mmio_st64(t, qp->tx_wq.bf, hi << 32 | lo);
}

BF_DEVICE void bf_ibgda_tell_post(struct bf_thread *t, const struct bf_ibgda_qp *qp, uint64_t from, uint64_t to,
				  uint32_t dbrec)
{
	BF_DRIVER_RECORD(t, ibgda_post, .from = from, .to = to, .qpn = qp->qpn, .dbrec = dbrec);
}

/*
 * Tells the device about everything below `prod`, unless somebody already told it of more. prod_idx goes up before the
 * doorbell, so that pollers know what they may wait for.
 */
BF_DEVICE void bf_ibgda_post_send(struct bf_thread *t, const struct bf_ibgda_state *state, struct bf_ibgda_qp *qp,
				  uint64_t prod)
{
	uint64_t old;

	bf_ibgda_lock(t, state, qp);
	old = bf_atomic_max64(t, &qp->mvars.prod_idx, prod, BF_AT_GPU);
	if (prod > old) {
		uint32_t dbrec;

		if (BF_UNLIKELY(bf_ibgda_mistakes(state) & BF_IBGDA_BUG_DOORBELL_FIRST)) {
			bf_ibgda_ring(t, state, qp, prod);
			dbrec = bf_ibgda_store_dbrec(t, state, qp, prod);
		} else {
			dbrec = bf_ibgda_store_dbrec(t, state, qp, prod);
			bf_ibgda_ring(t, state, qp, prod);
		}
		bf_ibgda_tell_post(t, qp, old, prod, dbrec);
	}
	bf_ibgda_unlock(t, state, qp);
}

/*
 * NVSHMEM's rule: ring when nobody has reserved behind us (nobody else will), when our slots reach into another batch,
 * or when they are a batch by themselves. Otherwise whoever comes behind rings for us too.
 */
BF_DEVICE int bf_ibgda_batch_rings(struct bf_thread *t, const struct bf_ibgda_state *state, struct bf_ibgda_qp *qp,
				   uint64_t base, uint32_t n)
{
	const uint64_t batch = ~(uint64_t)(state->batch - 1);
	const uint64_t end = base + n;

	if ((base & batch) != (end & batch) || n >= state->batch)
		return 1;
	if (BF_UNLIKELY(bf_ibgda_mistakes(state) & BF_IBGDA_BUG_LOST_BATCH))
		return 0;
	return end == bf_ld_relaxed64(t, &qp->mvars.resv_head, BF_AT_GPU);
}

/* DeepEP's rule: every fourth message of a sequence rings, and whoever is told to always ring. */
#define BF_IBGDA_DEEPEP_BATCH 4u
#define BF_IBGDA_ALWAYS_POST 0xffffffffu
BF_DEVICE int bf_ibgda_message_rings(const struct bf_ibgda_state *state, uint32_t message)
{
	if (message == BF_IBGDA_ALWAYS_POST && !(bf_ibgda_mistakes(state) & BF_IBGDA_BUG_LOST_BATCH))
		return 1;
	return (message + 1) % BF_IBGDA_DEEPEP_BATCH == 0 && message != BF_IBGDA_ALWAYS_POST;
}

/*
 * The CPU proxy's doorbell: the highest producer index, in the slot that stands in for the register (NVSHMEM
 * ibgda_proxy_post_send). Entries must be visible to the device before the CPU sees the number.
 */
BF_DEVICE void bf_ibgda_hand_over(struct bf_thread *t, const struct bf_ibgda_state *state, struct bf_ibgda_qp *qp,
				  uint64_t prod)
{
	const uint64_t old = bf_atomic_max64(t, &qp->mvars.prod_idx, prod, BF_AT_GPU);

	if (prod <= old && !(bf_ibgda_suspected(state) & BF_IBGDA_SUSPECT_ASYNC_CAS_PROD))
		return;
	if (!(bf_ibgda_mistakes(state) & BF_IBGDA_BUG_NO_WQE_FENCE))
		bf_fence_sys(t);
	bf_atomic_max64(t, qp->tx_wq.bf, prod, BF_AT_SYS);
	BF_DRIVER_RECORD(t, ibgda_handoff, .from = old, .to = prod, .qpn = qp->qpn);
}

/* Whether slots from `base` on will never have their turn: somebody before them left, or the queue began anew. */
BF_DEVICE int bf_ibgda_blocked(struct bf_thread *t, struct bf_ibgda_qp *qp, uint64_t base)
{
	const uint64_t abandoned = bf_ld_relaxed64(t, &qp->mvars.abandoned, BF_AT_GPU);

	return abandoned && ~abandoned <= base;
}

/* Waits for its turn and publishes. DeepEP's older asynchronous path took turns by prod_idx instead. */
BF_DEVICE int bf_ibgda_publish(struct bf_thread *t, const struct bf_ibgda_state *state, struct bf_ibgda_qp *qp,
			       uint64_t base, uint32_t n)
{
	uint64_t *turn = &qp->mvars.ready_head;

	if (BF_UNLIKELY(bf_ibgda_mistakes(state) & BF_IBGDA_BUG_NO_READY_ORDER)) {
		bf_atomic_max64(t, turn, base + n, BF_AT_GPU);
		return 0;
	}
	if (BF_UNLIKELY(state->use_async_postsend && bf_ibgda_suspected(state) & BF_IBGDA_SUSPECT_ASYNC_CAS_PROD))
		turn = &qp->mvars.prod_idx;
	while (bf_atomic_cas64(t, turn, base, base + n, BF_AT_GPU) != base) {
		if (bf_ibgda_moves(state, qp) && bf_ibgda_blocked(t, qp, base)) {
			bf_ibgda_give_up(t, qp, base, n);
			return BF_IBGDA_MOVED;
		}
		bf_ibgda_nap(t, state, qp, turn, "earlier slots of the QP to be published");
	}
	return 0;
}

/*
 * Publishes slots base..base+n-1, whose entries have been stored, and rings if it falls to us. `message` is DeepEP's
 * message index or BF_IBGDA_ALWAYS_POST; NVSHMEM ignores it. A warp calls this on one lane, after bf_warp_sync().
 * Returns 0, or BF_IBGDA_MOVED when the queue has failed and the slots were given up.
 */
BF_DEVICE int bf_ibgda_submit(struct bf_thread *t, const struct bf_ibgda_state *state, struct bf_ibgda_qp *qp,
			      uint64_t base, uint32_t n, uint32_t message)
{
	int rings;

	if (BF_UNLIKELY(bf_ibgda_mistakes(state) & (BF_IBGDA_BUG_NO_PUBLISH | BF_IBGDA_BUG_PUBLISH_MORE))) {
		if (bf_ibgda_mistakes(state) & BF_IBGDA_BUG_NO_PUBLISH)
			return 0;
		n++;
	}
	if (!(bf_ibgda_mistakes(state) & BF_IBGDA_BUG_NO_WQE_FENCE))
		bf_fence_at(t, bf_ibgda_scope(state));
	if (bf_ibgda_publish(t, state, qp, base, n))
		return BF_IBGDA_MOVED;
	rings = state->flavour == BF_IBGDA_NVSHMEM ? bf_ibgda_batch_rings(t, state, qp, base, n)
						   : bf_ibgda_message_rings(state, message);
	BF_DRIVER_RECORD(t, ibgda_publish, .base = base, .count = n, .qpn = qp->qpn, .posts = rings != 0);
	if (rings && state->use_async_postsend)
		bf_ibgda_hand_over(t, state, qp, base + n);
	else if (rings)
		bf_ibgda_post_send(t, state, qp, base + n);
	return 0;
}

/*
 * Waits until everything that was published on the RC (or DCI) is complete. Whoever published last also rings (or is
 * about to), so this needs no doorbell of its own. With backups it follows the traffic: what was in flight on a queue
 * that failed is complete when its replay is.
 */
BF_DEVICE int bf_ibgda_quiet(struct bf_thread *t, const struct bf_ibgda_state *state, struct bf_ibgda_qp *qp)
{
	for (;;) {
		struct bf_ibgda_qp *live = bf_ibgda_rc_of(t, state, qp);
		const uint64_t upto = bf_ld_relaxed64(t, &live->mvars.ready_head, BF_AT_GPU);
		const int waits = !(bf_ibgda_mistakes(state) & BF_IBGDA_BUG_QUIET_NO_WAIT);
		const int status = waits ? bf_ibgda_poll_cq(t, state, live, upto) : 0;

		if (status && bf_ibgda_moves(state, live) && !bf_ibgda_await_move(t, state, live))
			continue;
		BF_DRIVER_RECORD(t, ibgda_quiet, .upto = upto, .qpn = live->qpn, .status = status);
		return status;
	}
}

#endif
