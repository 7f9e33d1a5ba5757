/*
 * NVMe, step 4 of 4: finding out what is complete.
 *
 * An entry is new when its phase tag is the one of this lap. The tag lies in one dword with the identifier and the
 * status, and the controller writes that dword last: one acquiring load tells all three, and what the loads behind it
 * find belongs to the same entry.
 */
#ifndef BELFRY_DRIVERS_NVME_CQ_H
#define BELFRY_DRIVERS_NVME_CQ_H

#include "drivers/nvme/sq.h"
#include "models/gpu/prm.h"

struct bf_nvme_drv_completion {
	uint32_t result; /* DW0 */
	uint32_t sqhd, cid;
	uint32_t status; /* SCT << 8 | SC, DNR at bit 14; 0: success */
};

/* Status without CRD, M and DNR: one of enum bf_nvme_status. */
#define BF_NVME_DRV_STATUS_CODE 0x7ffu

BF_DEVICE uint8_t *bf_nvme_drv_cqe(const struct bf_nvme_drv_queue *cq, uint32_t slot)
{
	return cq->vaddr + (uint64_t)slot * BF_NVME_DRV_CQE;
}

/* The dword of slot `head` with identifier, status and phase. It may come from no cache. */
BF_DEVICE uint32_t bf_nvme_drv_cqe_tag(struct bf_thread *t, const struct bf_nvme_drv_ctrl *ctrl,
				       const struct bf_nvme_drv_queue *cq, uint32_t head)
{
	const uint8_t *at = bf_nvme_drv_cqe(cq, head) + 12;

	if (cq->device)
		return bf_mmio_ld32(t, at);
	if (BF_UNLIKELY(ctrl->bugs & BF_NVME_DRV_BUG_PLAIN_POLL))
		return bf_ld_weak32(t, at);
	return bf_ld_acquire32(t, at, BF_AT_SYS);
}

BF_DEVICE int bf_nvme_drv_cqe_new(const struct bf_nvme_drv_ctrl *ctrl, uint32_t tag, uint32_t phase)
{
	if (BF_UNLIKELY(ctrl->bugs & BF_NVME_DRV_BUG_PHASE_INVERTED))
		phase ^= 1;
	if (BF_UNLIKELY(ctrl->bugs & BF_NVME_DRV_BUG_PHASE_BIT))
		tag <<= 1;
	return (tag >> 16 & 1) == phase;
}

/*
 * Makes what DMA has written to VRAM visible to this GPU, where that takes doing: a request, and its acknowledgement
 * for the VMIDs that it names.
 */
BF_DEVICE void bf_nvme_drv_invalidate(struct bf_thread *t, const struct bf_nvme_drv_ctrl *ctrl)
{
	const uint32_t vmids = ctrl->invalidate_value & 0xffffu;
	const uint32_t *ack;

	if (!ctrl->invalidate || ctrl->bugs & BF_NVME_DRV_BUG_NO_INVALIDATE)
		return;
	ack = ctrl->invalidate + (BF_GPU_GCVM_INVALIDATE_ENG17_ACK - BF_GPU_GCVM_INVALIDATE_ENG17_REQ) / 4;
	bf_mmio_st32(t, ctrl->invalidate, ctrl->invalidate_value);
	for (uint32_t i = 0; i < 100 && (bf_mmio_ld32(t, ack) & vmids) != vmids; i++)
		bf_pause(t, 100);
}

/* A dword of an entry that is known to be new. */
BF_DEVICE uint32_t bf_nvme_drv_cqe_dword(struct bf_thread *t, const struct bf_nvme_drv_queue *cq, const uint8_t *at)
{
	return cq->device ? bf_mmio_ld32(t, at) : bf_ld_relaxed32(t, at, BF_AT_SYS);
}

/* Looks at the entry at head once: 1 with `out` filled in when it is new. It stays until bf_nvme_drv_cq_advance(). */
BF_DEVICE int bf_nvme_drv_cq_poll(struct bf_thread *t, const struct bf_nvme_drv_ctrl *ctrl,
				  const struct bf_nvme_drv_queue *cq, struct bf_nvme_drv_completion *out)
{
	const uint32_t tag = bf_nvme_drv_cqe_tag(t, ctrl, cq, cq->head);
	const uint8_t *cqe = bf_nvme_drv_cqe(cq, cq->head);

	if (!bf_nvme_drv_cqe_new(ctrl, tag, cq->phase))
		return 0;
	out->result = bf_nvme_drv_cqe_dword(t, cq, cqe);
	/* BF_NVME_DRV_BUG_CQE_EARLY: what bf_nvme_drv_wait() found there before; a completion queue has no other use
	 * for `tail`.
	 */
	out->sqhd =
	    (ctrl->bugs & BF_NVME_DRV_BUG_CQE_EARLY ? cq->tail : bf_nvme_drv_cqe_dword(t, cq, cqe + 8)) & 0xffffu;
	out->cid = tag & 0xffffu;
	out->status = ctrl->bugs & BF_NVME_DRV_BUG_IGNORE_STATUS ? 0 : tag >> 17;
	return 1;
}

BF_DEVICE void bf_nvme_drv_cq_advance(const struct bf_nvme_drv_ctrl *ctrl, struct bf_nvme_drv_queue *cq)
{
	cq->head = bf_nvme_drv_next(cq, cq->head);
	cq->phase ^= cq->head == 0 && !(ctrl->bugs & BF_NVME_DRV_BUG_PHASE_KEPT);
}

/* Takes the entry at head: 1 with `out`, and the slots that it frees are free; 0 when there is none yet. */
BF_DEVICE int bf_nvme_drv_dequeue(struct bf_thread *t, const struct bf_nvme_drv_ctrl *ctrl, struct bf_nvme_drv_qp *qp,
				  struct bf_nvme_drv_completion *out)
{
	if (!bf_nvme_drv_cq_poll(t, ctrl, &qp->cq, out))
		return 0;
	bf_nvme_drv_sq_update(ctrl, &qp->sq, out->sqhd);
	BF_DRIVER_RECORD(t, nvm_completion, .qid = qp->sq.no, .slot = qp->cq.head, .cid = out->cid,
			 .status = out->status, .sqhd = out->sqhd, .freed = qp->sq.head, .phase = qp->cq.phase);
	bf_nvme_drv_cq_advance(ctrl, &qp->cq);
	return 1;
}

/* Gives the consumed entries back, with one doorbell for all of them. */
BF_DEVICE void bf_nvme_drv_cq_update(struct bf_thread *t, const struct bf_nvme_drv_ctrl *ctrl,
				     struct bf_nvme_drv_queue *cq)
{
	if (cq->last == cq->head || ctrl->bugs & BF_NVME_DRV_BUG_CQ_NOT_RUNG)
		return;
	bf_nvme_drv_tell_ring(
	    t, cq, 1, cq->head,
	    bf_nvme_drv_ring(t, cq, ctrl->bugs & BF_NVME_DRV_BUG_CQ_AHEAD ? bf_nvme_drv_next(cq, cq->head) : cq->head));
	cq->last = cq->head;
}

/*
 * Sleeps until the entry at `at` may have changed. Where DMA leaves stale copies behind nobody wakes us for what we
 * cannot see, and memory of a device cannot be watched: then it is a microsecond.
 */
#define BF_NVME_DRV_LOOK_NS 1000u
BF_DEVICE void bf_nvme_drv_rest(struct bf_thread *t, const struct bf_nvme_drv_ctrl *ctrl,
				const struct bf_nvme_drv_queue *cq, const void *at, const void *or_at,
				uint64_t until_ns)
{
	if (ctrl->invalidate)
		bf_nvme_drv_invalidate(t, ctrl);
	if (ctrl->invalidate || cq->device)
		bf_pause(t, BF_NVME_DRV_LOOK_NS);
	else
		bf_spin2_until(t, at, or_at, until_ns, "a completion queue entry");
}

/* Waits for the next completion, no longer than until `until_ns`: 1, or 0 when nothing came. */
BF_DEVICE int bf_nvme_drv_wait(struct bf_thread *t, const struct bf_nvme_drv_ctrl *ctrl, struct bf_nvme_drv_qp *qp,
			       uint64_t until_ns, struct bf_nvme_drv_completion *out)
{
	if (BF_UNLIKELY(ctrl->bugs & BF_NVME_DRV_BUG_CQE_EARLY))
		qp->cq.tail = bf_nvme_drv_cqe_dword(t, &qp->cq, bf_nvme_drv_cqe(&qp->cq, qp->cq.head) + 8);
	while (!bf_nvme_drv_dequeue(t, ctrl, qp, out)) {
		const uint8_t *at = bf_nvme_drv_cqe(&qp->cq, qp->cq.head) + 12;
		const uint64_t now = bf_clock_ns(t);

		if (now >= until_ns)
			return 0;
		bf_nvme_drv_rest(t, ctrl, &qp->cq, at, at, until_ns);
	}
	return 1;
}

/* Says why a wait was given up. `batch`: commands that a full doorbell group has. */
BF_DEVICE void bf_nvme_drv_tell_timeout(struct bf_thread *t, const struct bf_nvme_drv_ctrl *ctrl,
					const struct bf_nvme_drv_qp *qp, uint32_t inflight, uint32_t batch)
{
	const uint32_t seen = bf_nvme_drv_cqe_dword(t, &qp->cq, bf_nvme_drv_cqe(&qp->cq, qp->cq.head) + 12);

	BF_DRIVER_RECORD(t, nvm_timeout, .waited = ctrl->timeout_ns, .qid = qp->sq.no, .inflight = inflight,
			 .sq_tail = qp->sq.tail, .sq_rung = qp->sq.last, .cq_head = qp->cq.head,
			 .cq_phase = qp->cq.phase, .seen = seen, .batch = batch);
	(void)seen;
}

#endif
