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

/* Adds as far as the sharers are: plain accesses for one thread, atomics of the block or of the GPU for more. */
BF_DEVICE uint64_t bf_gin_take(struct bf_thread *t, const struct bf_gin_state *s, uint64_t *at, uint64_t n)
{
	uint64_t old;

	if (bf_gin_sharing(s) != BF_GIN_EXCLUSIVE)
		return bf_atomic_add64(t, at, n, bf_gin_scope(s));
	old = bf_ld_weak64(t, at);
	bf_st_weak64(t, at, old + n);
	return old;
}

/* The same for a maximum, behind which what others rang for is seen. */
BF_DEVICE uint64_t bf_gin_raise(struct bf_thread *t, const struct bf_gin_state *s, uint64_t *at, uint64_t to)
{
	uint64_t old;

	if (bf_gin_sharing(s) != BF_GIN_EXCLUSIVE)
		return bf_atomic_max_acquire64(t, at, to, bf_gin_scope(s));
	old = bf_ld_weak64(t, at);
	bf_st_weak64(t, at, old < to ? to : old);
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
		bf_gin_poll_at(t, s, qp, base + n - 1 - qp->sq_wqe_num);
	return base;
}

BF_DEVICE uint8_t *bf_gin_slot(const struct bf_gin_qp *qp, uint64_t index)
{
	return qp->sq_wqe + ((index & (qp->sq_wqe_num - 1)) << BF_MLX5_WQEBB_SHIFT);
}

/*
 * Entries `from` to `to` are built. Who holds an earlier reservation holds up all behind it. One thread alone fences
 * only when it rings.
 */
BF_DEVICE void bf_gin_ready(struct bf_thread *t, const struct bf_gin_state *s, struct bf_gin_qp *qp, uint64_t from,
			    uint64_t to)
{
	const enum bf_thread_scope scope = bf_gin_scope(s);

	if (bf_gin_sharing(s) == BF_GIN_EXCLUSIVE || s->bugs & BF_GIN_BUG_SKIP_READY_ORDER) {
		bf_st_weak64(t, &qp->sq_ready_index, to + 1);
	} else {
		if (!(s->bugs & BF_GIN_BUG_NO_READY_FENCE))
			bf_fence_at(t, scope);
		while (bf_atomic_cas64(t, &qp->sq_ready_index, from, to + 1, scope) != from)
			bf_spin(t, &qp->sq_ready_index, "earlier slots of the QP to be published");
		if (!(s->bugs & BF_GIN_BUG_NO_READY_FENCE))
			bf_fence_at(t, scope);
	}
	BF_DRIVER_RECORD(t, ibgda_publish, .base = from, .count = (uint32_t)(to + 1 - from), .qpn = qp->sq_num,
			 .posts = 1);
}

BF_DEVICE void bf_gin_lock(struct bf_thread *t, const struct bf_gin_state *s, struct bf_gin_qp *qp)
{
	if (s->bugs & BF_GIN_BUG_NO_LOCK)
		return;
	if (bf_gin_sharing(s) == BF_GIN_EXCLUSIVE) {
		bf_st_weak32(t, &qp->sq_lock, 1);
		return;
	}
	while (bf_atomic_cas32(t, &qp->sq_lock, 0, 1, bf_gin_scope(s)))
		bf_spin(t, &qp->sq_lock, "the lock of a send queue");
	if (!(s->bugs & BF_GIN_BUG_NO_READY_FENCE)) /* an acquire in GPUNetIO, which publishes nothing */
		bf_fence_at(t, bf_gin_scope(s));
}

BF_DEVICE void bf_gin_unlock(struct bf_thread *t, const struct bf_gin_state *s, struct bf_gin_qp *qp)
{
	if (s->bugs & BF_GIN_BUG_NO_LOCK)
		return;
	if (bf_gin_sharing(s) == BF_GIN_EXCLUSIVE)
		bf_st_weak32(t, &qp->sq_lock, 0);
	else
		bf_st_release32(t, &qp->sq_lock, 0, bf_gin_scope(s));
}

/*
 * The fence in front of the first doorbell. Publishing had one of the GPU where all of the GPU shares the queue pair,
 * so there is no other then.
 */
BF_DEVICE void bf_gin_fence_ring(struct bf_thread *t, const struct bf_gin_state *s)
{
	if (bf_gin_sharing(s) != BF_GIN_GPU && !(s->bugs & BF_GIN_BUG_NO_READY_FENCE))
		bf_fence_gpu(t);
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

/*
 * A slot in memory that a thread of the CPU looks at. One thread alone stores it twice, as GPUNetIO does. How far was
 * rung is not kept: GPUNetIO does so only on demand.
 */
BF_DEVICE void bf_gin_tell_proxy(struct bf_thread *t, const struct bf_gin_state *s, struct bf_gin_qp *qp, uint64_t pi)
{
	if (bf_gin_sharing(s) != BF_GIN_EXCLUSIVE) {
		bf_atomic_max64(t, qp->sq_db, pi, BF_AT_SYS);
		return;
	}
	bf_st_relaxed64(t, qp->sq_db, pi, BF_AT_SYS);
	bf_st_relaxed64(t, qp->sq_db, pi, BF_AT_SYS);
}

/* The first ring for all before `pi`, under the lock. False: somebody has rung for them. */
BF_DEVICE int bf_gin_ring_first(struct bf_thread *t, const struct bf_gin_state *s, struct bf_gin_qp *qp, uint64_t pi)
{
	const uint64_t old = bf_gin_raise(t, s, &qp->sq_wqe_pi, pi);

	if (old >= pi)
		return 0;
	bf_gin_fence_ring(t, s);
	if (qp->nic_handler == BF_GIN_BF)
		bf_gin_copy_entry(t, qp, pi);
	else
		bf_gin_doorbell(t, qp, pi);
	BF_DRIVER_RECORD(t, ibgda_post, .from = old, .to = pi, .qpn = qp->sq_num, .dbrec = (uint32_t)pi & 0xffff);
	return 1;
}

BF_DEVICE void bf_gin_submit(struct bf_thread *t, const struct bf_gin_state *s, struct bf_gin_qp *qp, uint64_t pi)
{
	if (qp->nic_handler == BF_GIN_PROXY) {
		bf_gin_fence_ring(t, s);
		bf_gin_tell_proxy(t, s, qp, pi);
		return;
	}
	if (qp->nic_handler == BF_GIN_NO_RECORD) {
		bf_gin_ring_first(t, s, qp, pi);
		return;
	}
	bf_gin_lock(t, s, qp);
	if (bf_gin_ring_first(t, s, qp, pi))
		bf_gin_record_and_ring(t, s, qp, pi);
	bf_gin_unlock(t, s, qp);
}

/* A queue pair and its companion: both locks, in that order, are held until each has its record. */
BF_DEVICE void bf_gin_submit_both(struct bf_thread *t, const struct bf_gin_state *s, struct bf_gin_qp *main,
				  uint64_t main_pi, struct bf_gin_qp *companion, uint64_t companion_pi)
{
	int rang[2];

	if (main->nic_handler == BF_GIN_PROXY) {
		bf_gin_fence_ring(t, s);
		bf_gin_tell_proxy(t, s, main, main_pi);
		bf_gin_tell_proxy(t, s, companion, companion_pi);
		return;
	}
	if (main->nic_handler == BF_GIN_BF) { /* GPUNetIO has no such form: one after the other */
		bf_gin_submit(t, s, main, main_pi);
		bf_gin_submit(t, s, companion, companion_pi);
		return;
	}
	if (main->nic_handler == BF_GIN_NO_RECORD) {
		bf_gin_ring_first(t, s, main, main_pi);
		bf_gin_ring_first(t, s, companion, companion_pi);
		return;
	}
	bf_gin_lock(t, s, main);
	rang[0] = bf_gin_ring_first(t, s, main, main_pi);
	bf_gin_lock(t, s, companion);
	rang[1] = bf_gin_ring_first(t, s, companion, companion_pi);
	if (rang[0])
		bf_gin_record_and_ring(t, s, main, main_pi);
	bf_gin_unlock(t, s, main);
	if (rang[1])
		bf_gin_record_and_ring(t, s, companion, companion_pi);
	bf_gin_unlock(t, s, companion);
}

#endif
