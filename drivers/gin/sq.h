/*
 * GIN, steps 1 to 3: slots, publishing, ringing.
 *
 *   reserve   sq_rsvd_index += n, and waits for the CQE of the entry that lay in the last slot before
 *   (build)   weak stores
 *   ready     release fence; sq_ready_index: mine in turn behind everybody before me
 *   submit    sq_wqe_pi, then the way to ring that the queue pair has; whoever publishes rings
 */
#ifndef BELFRY_DRIVERS_GIN_SQ_H
#define BELFRY_DRIVERS_GIN_SQ_H

#include "drivers/gin/cq.h"

/* Flags of an operation. */
#define BF_GIN_SKIP_CREDIT 2u   /* the caller knows that there is room */
#define BF_GIN_SKIP_DOORBELL 4u /* AggregateRequests: the next ring on this queue pair covers it */

BF_DEVICE uint32_t bf_gin_sharing(const struct bf_gin_state *s)
{
	if (BF_UNLIKELY(s->bugs & BF_GIN_BUG_WRONG_SHARING))
		return s->sharing ? s->sharing - 1 : BF_GIN_EXCLUSIVE;
	return s->sharing;
}

/* Adds as far as the sharers are: plain accesses for one thread, atomics of the block or of the GPU for more. */
BF_DEVICE uint64_t bf_gin_take(struct bf_thread *t, const struct bf_gin_state *s, uint64_t *at, uint64_t n)
{
	const uint32_t sharing = bf_gin_sharing(s);
	uint64_t old;

	if (sharing != BF_GIN_EXCLUSIVE)
		return bf_atomic_add64(t, at, n, sharing == BF_GIN_CTA ? BF_AT_CTA : BF_AT_GPU);
	old = bf_ld_relaxed64(t, at, BF_AT_GPU);
	bf_st_relaxed64(t, at, old + n, BF_AT_GPU);
	return old;
}

/*
 * `n` slots. An error of the entry before is not looked at (GPUNetIO throws the result away): what is posted then is
 * flushed, and the wait for it says so.
 */
BF_DEVICE uint64_t bf_gin_reserve(struct bf_thread *t, const struct bf_gin_state *s, struct bf_gin_qp *qp, uint32_t n,
				  uint32_t flags)
{
	const uint64_t base = bf_gin_take(t, s, &qp->sq_rsvd_index, n);

	BF_DRIVER_RECORD(t, ibgda_reserve, .base = base, .count = n, .qpn = qp->sq_num);
	if (base + n > qp->sq_wqe_num && !(flags & BF_GIN_SKIP_CREDIT) && !(s->bugs & BF_GIN_BUG_NO_CREDIT))
		bf_gin_poll_at(t, qp, base + n - 1 - qp->sq_wqe_num);
	return base;
}

BF_DEVICE uint8_t *bf_gin_slot(const struct bf_gin_qp *qp, uint64_t index)
{
	return qp->sq_wqe + ((index & (qp->sq_wqe_num - 1)) << BF_MLX5_WQEBB_SHIFT);
}

/* Entries `from` to `to` are built. Who holds an earlier reservation holds up all behind it. */
BF_DEVICE void bf_gin_ready(struct bf_thread *t, const struct bf_gin_state *s, struct bf_gin_qp *qp, uint64_t from,
			    uint64_t to)
{
	if (!(s->bugs & BF_GIN_BUG_NO_READY_FENCE))
		bf_fence_gpu(t);
	if (bf_gin_sharing(s) == BF_GIN_EXCLUSIVE || s->bugs & BF_GIN_BUG_SKIP_READY_ORDER)
		bf_st_relaxed64(t, &qp->sq_ready_index, to + 1, BF_AT_GPU);
	else
		while (bf_atomic_cas64(t, &qp->sq_ready_index, from, to + 1, BF_AT_GPU) != from)
			bf_spin(t, &qp->sq_ready_index, "earlier slots of the QP to be published");
	if (!(s->bugs & BF_GIN_BUG_NO_READY_FENCE))
		bf_fence_gpu(t);
	BF_DRIVER_RECORD(t, ibgda_publish, .base = from, .count = (uint32_t)(to + 1 - from), .qpn = qp->sq_num,
			 .posts = 1);
}

BF_DEVICE void bf_gin_lock(struct bf_thread *t, const struct bf_gin_state *s, struct bf_gin_qp *qp)
{
	if (bf_gin_sharing(s) == BF_GIN_EXCLUSIVE || s->bugs & BF_GIN_BUG_NO_LOCK)
		return;
	while (bf_atomic_cas32(t, &qp->sq_lock, 0, 1, BF_AT_GPU))
		bf_spin(t, &qp->sq_lock, "the lock of a send queue");
	if (!(s->bugs & BF_GIN_BUG_NO_READY_FENCE)) /* an acquire in GPUNetIO, which publishes nothing */
		bf_fence_gpu(t);
}

BF_DEVICE void bf_gin_unlock(struct bf_thread *t, const struct bf_gin_state *s, struct bf_gin_qp *qp)
{
	if (bf_gin_sharing(s) == BF_GIN_EXCLUSIVE || s->bugs & BF_GIN_BUG_NO_LOCK)
		return;
	bf_st_release32(t, &qp->sq_lock, 0, BF_AT_GPU);
}

/* The index is not cut: bits 16 to 23 land in the opmod byte, which the device does not look at. */
BF_DEVICE void bf_gin_doorbell(struct bf_thread *t, struct bf_gin_qp *qp, uint64_t pi)
{
	const uint64_t lo = bf_htobe32((uint32_t)pi << 8), hi = bf_htobe32(qp->sq_num << 8);

	bf_mmio_st64(t, qp->sq_db, hi << 32 | lo);
}

/*
 * Record and doorbell behind it: for the device that reads the record, and for recovery. The fence is one of the GPU,
 * as all queues lie in its memory.
 */
BF_DEVICE void bf_gin_record_and_ring(struct bf_thread *t, const struct bf_gin_state *s, struct bf_gin_qp *qp,
				      uint64_t pi)
{
	bf_st_relaxed32(t, qp->sq_dbrec, bf_htobe32((uint32_t)pi & 0xffff), BF_AT_SYS);
	if (s->bugs & BF_GIN_BUG_NO_SECOND_RING)
		return;
	if (!(s->bugs & BF_GIN_BUG_NO_DB_FENCE))
		bf_fence_gpu(t);
	bf_gin_doorbell(t, qp, pi);
}

/* The last entry's 64 bytes to the register: what the device need not fetch. */
BF_DEVICE void bf_gin_copy_entry(struct bf_thread *t, struct bf_gin_qp *qp, uint64_t pi)
{
	const uint8_t *from = bf_gin_slot(qp, pi - 1);

	for (uint32_t i = 0; i < 64; i += 8)
		bf_mmio_st64(t, (uint8_t *)qp->sq_db + i, bf_ld_weak64(t, from + i));
}

BF_DEVICE void bf_gin_submit(struct bf_thread *t, const struct bf_gin_state *s, struct bf_gin_qp *qp, uint64_t pi)
{
	uint64_t old;

	if (qp->nic_handler == BF_GIN_PROXY) {
		bf_fence_sys(t);
		bf_atomic_max64(t, qp->sq_db, pi, BF_AT_SYS);
		bf_atomic_max64(t, &qp->sq_wqe_pi, pi, BF_AT_GPU);
		return;
	}
	if (qp->nic_handler == BF_GIN_NO_RECORD) {
		old = bf_atomic_max64(t, &qp->sq_wqe_pi, pi, BF_AT_GPU);
		if (old < pi)
			bf_gin_doorbell(t, qp, pi);
		return;
	}
	bf_gin_lock(t, s, qp);
	old = bf_atomic_max64(t, &qp->sq_wqe_pi, pi, BF_AT_GPU);
	if (old < pi) {
		if (qp->nic_handler == BF_GIN_BF)
			bf_gin_copy_entry(t, qp, pi);
		else
			bf_gin_doorbell(t, qp, pi);
		bf_gin_record_and_ring(t, s, qp, pi);
		BF_DRIVER_RECORD(t, ibgda_post, .from = old, .to = pi, .qpn = qp->sq_num,
				 .dbrec = (uint32_t)pi & 0xffff);
	}
	bf_gin_unlock(t, s, qp);
}

#endif
