/*
 * IBGDA: receive queues. A WRITE_IMM consumes an empty receive entry at its target, and its completion there says that
 * the data have arrived (DeepEP's receive patch: entries of 16 bytes, a receive CQ beside the send CQ, collapsed).
 */
#ifndef BELFRY_DRIVERS_IBGDA_RECV_H
#define BELFRY_DRIVERS_IBGDA_RECV_H

#include "drivers/ibgda/cq.h"

#define BF_IBGDA_RECV_STRIDE 16u

/*
 * An entry without a buffer: one data segment of no bytes whose key ends the list (rdma-core providers/mlx5/qp.c).
 * DeepEP swaps that key as if it had 64 bits and keeps the low half, which is 0: a segment with key 0 follows the list
 * instead of ending it.
 */
BF_DEVICE void bf_ibgda_write_empty_recv_wqe(struct bf_thread *t, const struct bf_ibgda_state *state,
					     struct bf_ibgda_qp *qp, uint64_t idx)
{
	uint8_t *entry = (uint8_t *)qp->rx_wq.wqe + (idx & (qp->rx_wq.nwqes - 1u)) * BF_IBGDA_RECV_STRIDE;
	struct bf_vec128 v;

	v.w[0] = 0;
	v.w[1] = bf_htobe32(BF_MLX5_INVALID_LKEY);
	if (BF_UNLIKELY(bf_ibgda_suspected(state) & BF_IBGDA_SUSPECT_RECV_LKEY_SWAP))
		v.w[1] = (uint32_t)bf_htobe64(BF_MLX5_INVALID_LKEY);
	v.w[2] = v.w[3] = 0;
	bf_st_weak128(t, entry, v);
}

/*
 * Gives the device `n` empty entries. One thread of the QP at a time; what is out never exceeds the ring. The device
 * learns of them from the receive word of the doorbell record: there is no doorbell.
 */
BF_DEVICE void bf_ibgda_post_recv(struct bf_thread *t, const struct bf_ibgda_state *state, struct bf_ibgda_qp *qp,
				  uint32_t n)
{
	const uint64_t base = bf_atomic_add64(t, &qp->mvars.rx_resv_head, n, BF_AT_GPU);
	const enum bf_thread_scope scope = bf_ibgda_scope(state);

	for (uint32_t i = 0; i < n; i++)
		bf_ibgda_write_empty_recv_wqe(t, state, qp, base + i);
	bf_st_release32(t, qp->rx_wq.dbrec, bf_htobe32((uint32_t)(base + n) & 0xffffu), scope);
}

/*
 * Waits until `n` entries in all have been consumed, that is, until that many WRITE_IMMs have arrived. One poller at a
 * time. 0, or BF_IBGDA_FAILED for a receive entry that failed.
 */
BF_DEVICE int bf_ibgda_poll_recv(struct bf_thread *t, const struct bf_ibgda_state *state, struct bf_ibgda_qp *qp,
				 uint64_t n)
{
	const struct bf_ibgda_cq *cq = qp->rx_wq.cq;
	uint32_t tail;

	if (bf_ld_relaxed64(t, cq->cons_idx, BF_AT_GPU) >= n)
		return 0;
	for (;;) {
		tail = bf_ibgda_cqe_tail(t, state, cq->cqe);
		if (!bf_ibgda_cqe_pending(n, (uint16_t)(tail >> 16), cq->ncqes))
			break;
		bf_spin(t, cq->cqe, "a receive completion");
	}
	bf_atomic_max64(t, cq->cons_idx, bf_ibgda_cqe_done(n, (uint16_t)(tail >> 16)), BF_AT_GPU);
	bf_fence_at(t, bf_ibgda_scope(state));
	return (tail & 0xffu) >> 4 == BF_MLX5_CQE_RESP_ERR ? BF_IBGDA_FAILED : 0;
}

#endif
