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

/* Lays `ds` segments of a built entry into the ring at `idx`. Weak stores: submit makes them visible. */
BF_DEVICE void bf_ibgda_wqe_store(struct bf_thread *t, struct bf_ibgda_qp *qp, uint64_t idx,
				  const struct bf_ibgda_wqe *w, uint32_t ds)
{
	for (uint32_t i = 0; i < ds; i++)
		bf_st_weak128(t, bf_ibgda_slot(qp, idx + i / 4) + (i % 4) * BF_MLX5_DS, w->ds[i]);
	BF_DRIVER_RECORD(t, ibgda_build, .index = idx, .qpn = qp->qpn, .ds = ds);
}

/*
 * Takes `n` slots and returns the first one's index. In the NVSHMEM flavour it then waits until the ring has room for
 * them, inside the reservation: earlier entries must be able to complete without the caller, which is why a group of
 * slots may not exceed nwqes - batch. DeepEP does not wait; there the caller keeps what is in flight below nwqes.
 */
BF_DEVICE uint64_t bf_ibgda_reserve(struct bf_thread *t, const struct bf_ibgda_state *state, struct bf_ibgda_qp *qp,
				    uint32_t n)
{
	const uint64_t base = bf_atomic_add64(t, &qp->mvars.resv_head, n, BF_AT_GPU);

	BF_DRIVER_RECORD(t, ibgda_reserve, .base = base, .count = n, .qpn = qp->qpn);
	if (state->flavour == BF_IBGDA_NVSHMEM && !(state->bugs & BF_IBGDA_BUG_NO_OVERFLOW_WAIT) &&
	    base + n > qp->tx_wq.nwqes)
		bf_ibgda_poll_cq(t, state, qp, base + n - qp->tx_wq.nwqes);
	return base;
}

BF_DEVICE void bf_ibgda_lock(struct bf_thread *t, const struct bf_ibgda_state *state, struct bf_ibgda_qp *qp)
{
	if (BF_UNLIKELY(state->bugs & BF_IBGDA_BUG_NO_LOCK))
		return;
	while (bf_atomic_cas32(t, &qp->mvars.post_send_lock, 0, 1, BF_AT_GPU))
		bf_spin(t, &qp->mvars.post_send_lock, "post_send's lock");
	bf_fence_cta(t);
}

BF_DEVICE void bf_ibgda_unlock(struct bf_thread *t, const struct bf_ibgda_state *state, struct bf_ibgda_qp *qp)
{
	if (BF_UNLIKELY(state->bugs & BF_IBGDA_BUG_NO_LOCK))
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
	const int ordered = !(state->bugs & BF_IBGDA_BUG_NO_WQE_FENCE);
	uint32_t dbrec;

	if (BF_UNLIKELY(state->bugs & BF_IBGDA_BUG_DBREC_INDEX))
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

	if (!(state->bugs & BF_IBGDA_BUG_NO_DBREC_FENCE))
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

		if (BF_UNLIKELY(state->bugs & BF_IBGDA_BUG_DOORBELL_FIRST)) {
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
	if (BF_UNLIKELY(state->bugs & BF_IBGDA_BUG_LOST_BATCH))
		return 0;
	return end == bf_ld_relaxed64(t, &qp->mvars.resv_head, BF_AT_GPU);
}

/* DeepEP's rule: every fourth message of a sequence rings, and whoever is told to always ring. */
#define BF_IBGDA_DEEPEP_BATCH 4u
#define BF_IBGDA_ALWAYS_POST 0xffffffffu
BF_DEVICE int bf_ibgda_message_rings(const struct bf_ibgda_state *state, uint32_t message)
{
	if (message == BF_IBGDA_ALWAYS_POST && !(state->bugs & BF_IBGDA_BUG_LOST_BATCH))
		return 1;
	return (message + 1) % BF_IBGDA_DEEPEP_BATCH == 0 && message != BF_IBGDA_ALWAYS_POST;
}

/*
 * Publishes slots base..base+n-1, whose entries have been stored, and rings if it falls to us. `message` is DeepEP's
 * message index or BF_IBGDA_ALWAYS_POST; NVSHMEM ignores it. A warp calls this on one lane, after bf_warp_sync().
 */
BF_DEVICE void bf_ibgda_submit(struct bf_thread *t, const struct bf_ibgda_state *state, struct bf_ibgda_qp *qp,
			       uint64_t base, uint32_t n, uint32_t message)
{
	uint64_t *ready = &qp->mvars.ready_head;
	int rings;

	if (!(state->bugs & BF_IBGDA_BUG_NO_WQE_FENCE))
		bf_fence_at(t, bf_ibgda_scope(state));
	if (BF_UNLIKELY(state->bugs & BF_IBGDA_BUG_NO_READY_ORDER))
		bf_atomic_max64(t, ready, base + n, BF_AT_GPU);
	else
		while (bf_atomic_cas64(t, ready, base, base + n, BF_AT_GPU) != base)
			bf_spin(t, ready, "earlier slots of the QP to be published");
	rings = state->flavour == BF_IBGDA_NVSHMEM ? bf_ibgda_batch_rings(t, state, qp, base, n)
						   : bf_ibgda_message_rings(state, message);
	BF_DRIVER_RECORD(t, ibgda_publish, .base = base, .count = n, .qpn = qp->qpn, .posts = rings != 0);
	if (rings)
		bf_ibgda_post_send(t, state, qp, base + n);
}

/*
 * Waits until everything that was published on the QP is complete. Whoever published last also rings (or is about to),
 * so this needs no doorbell of its own.
 */
BF_DEVICE int bf_ibgda_quiet(struct bf_thread *t, const struct bf_ibgda_state *state, struct bf_ibgda_qp *qp)
{
	const uint64_t upto = bf_ld_relaxed64(t, &qp->mvars.ready_head, BF_AT_GPU);
	const int status = bf_ibgda_poll_cq(t, state, qp, upto);

	BF_DRIVER_RECORD(t, ibgda_quiet, .upto = upto, .qpn = qp->qpn, .status = status);
	return status;
}

/*
 * The consistency step: a DUMP of one byte of GPU memory. PCIe lets no read pass the device's earlier writes, so when
 * it completes, data that earlier READs fetched are in memory.
 */
BF_DEVICE int bf_ibgda_cst(struct bf_thread *t, const struct bf_ibgda_state *state, struct bf_ibgda_qp *qp)
{
	const uint64_t idx = bf_ibgda_reserve(t, state, qp, 1);
	struct bf_ibgda_wqe w;
	const uint32_t ds = bf_ibgda_wqe_dump(&w, qp->qpn, idx, qp->ibuf.va, qp->ibuf.lkey, 1, BF_IBGDA_SIGNALLED);

	bf_ibgda_wqe_store(t, qp, idx, &w, ds);
	bf_ibgda_submit(t, state, qp, idx, 1, BF_IBGDA_ALWAYS_POST);
	return bf_ibgda_quiet(t, state, qp);
}

/* Quiet, and the consistency step when gets were issued since the last one. get_head is read first: later gets may
 * miss. */
BF_DEVICE int bf_ibgda_quiet_with_cst(struct bf_thread *t, const struct bf_ibgda_state *state, struct bf_ibgda_qp *qp)
{
	const uint64_t gets = bf_ld_relaxed64(t, &qp->mvars.get_head, BF_AT_GPU);
	int status = bf_ibgda_quiet(t, state, qp);

	if (!status && bf_ld_relaxed64(t, &qp->mvars.get_tail, BF_AT_GPU) < gets) {
		status = bf_ibgda_cst(t, state, qp);
		bf_atomic_max64(t, &qp->mvars.get_tail, gets, BF_AT_GPU);
	}
	return status;
}

#endif
