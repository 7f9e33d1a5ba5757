/*
 * IBGDA: the internal buffer, where results of fetching operations land.
 *
 * A ring of slots of 256 bytes (32 lanes of 8), taken by ticket and given back in ticket order, behind one slot that
 * everybody shares for results that nobody reads. (NVSHMEM ibgda_get_ibuf_addr, ibgda_release_ibuf.)
 */
#ifndef BELFRY_DRIVERS_IBGDA_IBUF_H
#define BELFRY_DRIVERS_IBGDA_IBUF_H

#include "drivers/ibgda/ibgda.h"
#include "traces/records/ibgda.h"

#ifndef BF_PLATFORM
#error "include one of drivers/platform/platform_*.h first"
#endif

#define BF_IBGDA_IBUF_SLOT 256u

/* Byte offset of ticket `ticket`'s slot. */
BF_DEVICE uint64_t bf_ibgda_ibuf_offset(const struct bf_ibgda_qp *qp, uint64_t ticket)
{
	return BF_IBGDA_IBUF_SLOT * ((ticket & (qp->ibuf.nslots - 1u)) + 1);
}

BF_DEVICE void bf_ibgda_tell_ibuf(struct bf_thread *t, const struct bf_ibgda_qp *qp, uint64_t base, uint32_t n,
				  uint32_t given)
{
	BF_DRIVER_RECORD(t, ibgda_ibuf, .base = base, .count = n, .qpn = qp->qpn, .slots = qp->ibuf.nslots,
			 .given = given);
}

/* Takes `n` (<= nslots) consecutive tickets and waits until their slots are free. */
BF_DEVICE uint64_t bf_ibgda_ibuf_take(struct bf_thread *t, const struct bf_ibgda_state *state, struct bf_ibgda_qp *qp,
				      uint32_t n)
{
	const uint64_t base = bf_atomic_add64(t, &qp->mvars.ibuf_head, n, BF_AT_GPU);

	while (!(bf_ibgda_mistakes(state) & BF_IBGDA_BUG_IBUF_NO_WAIT) &&
	       base + n - bf_ld_relaxed64(t, &qp->mvars.ibuf_tail, BF_AT_GPU) > qp->ibuf.nslots)
		bf_spin(t, &qp->mvars.ibuf_tail, "free ibuf slots");
	bf_ibgda_tell_ibuf(t, qp, base, n, 0);
	return base;
}

/* Gives them back, after everybody who took earlier ones. What was read from them has been read. */
BF_DEVICE void bf_ibgda_ibuf_give(struct bf_thread *t, struct bf_ibgda_qp *qp, uint64_t base, uint32_t n)
{
	bf_fence_gpu(t);
	bf_ibgda_tell_ibuf(t, qp, base, n, 1);
	while (bf_atomic_cas64(t, &qp->mvars.ibuf_tail, base, base + n, BF_AT_GPU) != base)
		bf_spin(t, &qp->mvars.ibuf_tail, "earlier ibuf slots to be given back");
}

#endif
