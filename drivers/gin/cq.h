/* GIN, step 4: what is complete. CQE i of the ring is that of entry i of the send queue. */
#ifndef BELFRY_DRIVERS_GIN_CQ_H
#define BELFRY_DRIVERS_GIN_CQ_H

#include "drivers/gin/gin.h"
#include "models/mlx5/prm.h"
#include "sim/bytes.h"
#include "traces/records/ibgda.h"

#ifndef BF_PLATFORM
#error "include one of drivers/platform/platform_*.h first"
#endif

#define BF_GIN_CQE_TAIL 60u

/* How far an atomic of the mode reaches; BF_GIN_EXCLUSIVE has none. */
BF_DEVICE uint32_t bf_gin_sharing(const struct bf_gin_state *s)
{
	if (BF_UNLIKELY(s->bugs & BF_GIN_BUG_WRONG_SHARING))
		return s->sharing ? s->sharing - 1 : BF_GIN_EXCLUSIVE;
	return s->sharing;
}
BF_DEVICE enum bf_thread_scope bf_gin_scope(const struct bf_gin_state *s)
{
	return bf_gin_sharing(s) == BF_GIN_GPU ? BF_AT_GPU : BF_AT_CTA;
}

/*
 * Looks for the CQE of entry `i`: BF_GIN_BUSY while it is not there. GPUNetIO's poll for architectures below 90 also
 * compares the CQE's counter with the entry's index; the newer one trusts the owner bit.
 */
BF_DEVICE int bf_gin_poll_one_at(struct bf_thread *t, const struct bf_gin_state *s, struct bf_gin_qp *qp, uint64_t i)
{
	struct bf_gin_cq *cq = &qp->cq;
	const uint64_t n = i + cq->cqe_rsvd;
	const uint8_t *cqe = cq->cqe + (n & (cq->cqe_num - 1)) * 64;
	const uint64_t ci = bf_ld_relaxed64(t, &cq->cqe_ci, BF_AT_GPU);
	uint32_t tail;

	if (i < ci)
		return BF_GIN_OK;
	if (i >= ci + cq->cqe_num)
		return BF_GIN_BUSY;
	tail = bf_htobe32(bf_ld_relaxed32(t, cqe + BF_GIN_CQE_TAIL, BF_AT_SYS));
	if ((tail & 1) != ((n & cq->cqe_num) != 0))
		return BF_GIN_BUSY;
	if ((tail >> 16) != (uint16_t)i)
		return BF_GIN_BUSY;
	if ((tail & 0xff) >> 4 == BF_MLX5_CQE_REQ_ERR) {
		const uint32_t syndrome = bf_htobe32(bf_ld_relaxed32(t, cqe + 52, BF_AT_SYS)) & 0xff;

		(void)syndrome; /* where there are no records */
		BF_DRIVER_RECORD(t, ibgda_poll, .wanted = i + 1, .done = i, .qpn = qp->sq_num, .syndrome = syndrome);
		return BF_GIN_ERROR;
	}
	bf_fence_sys(t);
	if (bf_gin_sharing(s) != BF_GIN_EXCLUSIVE)
		bf_atomic_max64(t, &cq->cqe_ci, i + 1, bf_gin_scope(s));
	else
		bf_st_weak64(t, &cq->cqe_ci, i + 1);
	BF_DRIVER_RECORD(t, ibgda_poll, .wanted = i + 1, .done = i + 1, .qpn = qp->sq_num);
	return BF_GIN_OK;
}

/* Waits for it. */
BF_DEVICE int bf_gin_poll_at(struct bf_thread *t, const struct bf_gin_state *s, struct bf_gin_qp *qp, uint64_t i)
{
	const struct bf_gin_cq *cq = &qp->cq;

	for (;;) {
		const uint8_t *cqe = cq->cqe + ((i + cq->cqe_rsvd) & (cq->cqe_num - 1)) * 64;
		const int status = bf_gin_poll_one_at(t, s, qp, i);

		if (status != BF_GIN_BUSY)
			return status;
		bf_spin2(t, &cq->cqe_ci, cqe + BF_GIN_CQE_TAIL, "the CQE of an entry");
	}
}

/* What callers make of the answer: NCCL's waits leave without one. */
BF_DEVICE int bf_gin_wait(struct bf_thread *t, const struct bf_gin_state *s, struct bf_gin_qp *qp, uint64_t i)
{
	const uint64_t early = s->bugs & BF_GIN_BUG_POLL_EARLY && i ? 1 : 0;
	const int status = bf_gin_poll_at(t, s, qp, i - early);

	return s->bugs & BF_GIN_BUG_IGNORE_ERROR ? BF_GIN_OK : status;
}

#endif
