/*
 * NVMe, a queue pair that several threads share (after the idea of BaM, ZaidQureshi/bam nvm_parallel_queue.h: a ticket
 * for each slot, marks on filled ones, one doorbell for a run of them).
 *
 *   enqueue   ticket += 1; when the slot is free: entry into it, fence, mark it as filled in this lap
 *   submit    whoever holds the lock announces the run of filled slots, also those of others
 *   poll      whoever holds the lock takes all new completions, also those of others, and lays each under `done`
 *
 * Identifiers are handed out by the host: each thread has a range of its own, so none is ever used twice at a time.
 */
#ifndef BELFRY_DRIVERS_NVME_SHARE_H
#define BELFRY_DRIVERS_NVME_SHARE_H

#include "drivers/nvme/cq.h"

/* A finished command in `done`: this bit, its status in 46:32, its result in 31:0. */
#define BF_NVME_DRV_DONE (1ull << 63)

BF_DEVICE void bf_nvme_drv_lock(struct bf_thread *t, uint32_t *lock, const char *what)
{
	while (bf_atomic_cas32(t, lock, 0, 1, BF_AT_GPU))
		bf_spin(t, lock, what);
	bf_fence_gpu(t);
}

BF_DEVICE void bf_nvme_drv_unlock(struct bf_thread *t, uint32_t *lock)
{
	bf_fence_gpu(t);
	bf_st_relaxed32(t, lock, 0, BF_AT_GPU);
}

/* Takes what is new, for everybody. Returns how many. */
BF_DEVICE uint32_t bf_nvme_drv_share_poll(struct bf_thread *t, const struct bf_nvme_drv_ctrl *ctrl,
					  struct bf_nvme_drv_qp *qp)
{
	struct bf_nvme_drv_share *s = qp->share;
	struct bf_nvme_drv_queue cq = qp->cq; /* this thread's copy, while it has the lock */
	struct bf_nvme_drv_completion c;
	uint32_t n = 0;

	if (BF_LIKELY(!(ctrl->bugs & BF_NVME_DRV_BUG_CQ_UNLOCKED)))
		bf_nvme_drv_lock(t, &s->cq_lock, "the completion queue's lock");
	cq.head = bf_ld_relaxed32(t, &s->cq_head, BF_AT_GPU);
	cq.phase = bf_ld_relaxed32(t, &s->cq_phase, BF_AT_GPU);
	cq.last = cq.head;
	for (; n < cq.entries && bf_nvme_drv_cq_poll(t, ctrl, &cq, &c); n++) {
		const uint64_t head = bf_ld_relaxed64(t, &s->head, BF_AT_GPU);
		const uint32_t slot = (uint32_t)(head % qp->sq.entries);
		const uint32_t gone = c.sqhd >= slot ? c.sqhd - slot : c.sqhd + qp->sq.entries - slot;

		bf_st_relaxed64(t, &s->head, head + (ctrl->bugs & BF_NVME_DRV_BUG_SQ_BY_COUNT ? 1 : gone), BF_AT_GPU);
		BF_DRIVER_RECORD(t, nvm_completion, .qid = qp->sq.no, .slot = cq.head, .cid = c.cid, .status = c.status,
				 .sqhd = c.sqhd,
				 .freed = ctrl->bugs & BF_NVME_DRV_BUG_SQ_BY_COUNT ? bf_nvme_drv_next(&qp->sq, slot)
										   : c.sqhd,
				 .phase = cq.phase);
		if (c.cid < s->cids)
			bf_st_release64(t, &s->done[c.cid], BF_NVME_DRV_DONE | (uint64_t)c.status << 32 | c.result,
					BF_AT_GPU);
		else
			bf_atomic_add32(t, &s->stray, 1, BF_AT_GPU);
		bf_nvme_drv_cq_advance(ctrl, &cq);
	}
	if (n) {
		bf_nvme_drv_cq_update(t, ctrl, &cq);
		bf_st_relaxed32(t, &s->cq_head, cq.head, BF_AT_GPU);
		bf_st_relaxed32(t, &s->cq_phase, cq.phase, BF_AT_GPU);
	} else if (BF_UNLIKELY(ctrl->bugs & BF_NVME_DRV_BUG_LOCK_KEPT)) {
		return 0;
	}
	bf_nvme_drv_unlock(t, &s->cq_lock);
	return n;
}

/* Announces filled slots until `ticket` is among those that are. */
BF_DEVICE void bf_nvme_drv_share_submit(struct bf_thread *t, const struct bf_nvme_drv_ctrl *ctrl,
					struct bf_nvme_drv_qp *qp, uint64_t ticket)
{
	struct bf_nvme_drv_share *s = qp->share;
	struct bf_nvme_drv_queue sq = qp->sq;

	while (bf_ld_acquire64(t, &s->tail, BF_AT_GPU) <= ticket) {
		uint64_t from, to;

		bf_nvme_drv_lock(t, &s->sq_lock, "the submission queue's lock");
		from = to = bf_ld_relaxed64(t, &s->tail, BF_AT_GPU);
		while (bf_ld_acquire32(t, &s->filled[to % sq.entries], BF_AT_GPU) == (uint32_t)(to / sq.entries) + 1)
			to++;
		sq.last = (uint32_t)(from % sq.entries);
		sq.tail = (uint32_t)(to % sq.entries);
		if (to != from) {
			bf_nvme_drv_submit(t, ctrl, &sq);
			bf_st_relaxed64(t, &s->tail, to, BF_AT_GPU);
		}
		bf_nvme_drv_unlock(t, &s->sq_lock);
	}
}

/* True when slot `ticket` no longer holds an entry that the controller has yet to fetch. */
BF_DEVICE int bf_nvme_drv_share_free(struct bf_thread *t, const struct bf_nvme_drv_qp *qp, uint64_t ticket)
{
	return ticket - bf_ld_acquire64(t, &qp->share->head, BF_AT_GPU) + 1 < qp->sq.entries;
}

/*
 * Puts the command into the next slot under `cid`, whose `done` is 0, and returns the slot's ticket. While the ring is
 * full it looks for completions, since those free slots; `announce` is the ticket before, or all ones: entries of the
 * same thread that the controller must know of by then. Gives up at `until_ns`: then the return value is all ones.
 */
#define BF_NVME_DRV_NO_TICKET 0xffffffffffffffffull
BF_DEVICE uint64_t bf_nvme_drv_share_enqueue(struct bf_thread *t, const struct bf_nvme_drv_ctrl *ctrl,
					     struct bf_nvme_drv_qp *qp, struct bf_nvme_drv_cmd *c, uint32_t cid,
					     uint64_t announce, uint64_t until_ns)
{
	struct bf_nvme_drv_share *s = qp->share;
	const uint64_t ticket = bf_atomic_add64(t, &s->ticket, 1, BF_AT_GPU);
	const uint32_t slot = (uint32_t)(ticket % qp->sq.entries);

	if (announce != BF_NVME_DRV_NO_TICKET && !bf_nvme_drv_share_free(t, qp, ticket))
		bf_nvme_drv_share_submit(t, ctrl, qp, announce);
	while (!(ctrl->bugs & BF_NVME_DRV_BUG_NO_FULL_CHECK) && !bf_nvme_drv_share_free(t, qp, ticket)) {
		if (bf_clock_ns(t) >= until_ns)
			return BF_NVME_DRV_NO_TICKET;
		if (!bf_nvme_drv_share_poll(t, ctrl, qp))
			bf_pause(t, BF_NVME_DRV_LOOK_NS);
	}
	c->dw[0].w[0] = (c->dw[0].w[0] & 0xffffu) | cid << 16;
	bf_nvme_drv_cmd_store(t, ctrl, &qp->sq, slot, slot, c);
	/* Somebody else may announce it: what this thread stored must be the controller's to see by then. */
	if (!(ctrl->bugs & (BF_NVME_DRV_BUG_NO_FENCE | BF_NVME_DRV_BUG_CACHED_SQ)))
		bf_fence_sys(t);
	bf_st_release32(t, &s->filled[slot], (uint32_t)(ticket / qp->sq.entries) + 1, BF_AT_GPU);
	return ticket;
}

/* What became of `cid`: 1 with `out`, and the identifier is free again; 0 while it is pending. */
BF_DEVICE int bf_nvme_drv_share_take(struct bf_thread *t, struct bf_nvme_drv_qp *qp, uint32_t cid,
				     struct bf_nvme_drv_completion *out)
{
	const uint64_t done = bf_ld_acquire64(t, &qp->share->done[cid], BF_AT_GPU);

	if (!done)
		return 0;
	out->cid = cid;
	out->sqhd = 0;
	out->status = (uint32_t)(done >> 32) & 0x7fffu;
	out->result = (uint32_t)done;
	bf_st_relaxed64(t, &qp->share->done[cid], 0, BF_AT_GPU);
	return 1;
}

/*
 * Sleeps until something happens that may concern `cid`, no longer than until `until_ns`. The entry at head is looked
 * at last: it is what is sure to change when nobody else takes it.
 */
BF_DEVICE void bf_nvme_drv_share_sleep(struct bf_thread *t, const struct bf_nvme_drv_ctrl *ctrl,
				       struct bf_nvme_drv_qp *qp, uint32_t cid, uint64_t until_ns)
{
	struct bf_nvme_drv_share *s = qp->share;
	const uint32_t head = bf_ld_relaxed32(t, &s->cq_head, BF_AT_GPU);
	const uint32_t phase = bf_ld_relaxed32(t, &s->cq_phase, BF_AT_GPU);

	if (bf_ld_acquire64(t, &s->done[cid], BF_AT_GPU) ||
	    bf_nvme_drv_cqe_new(ctrl, bf_nvme_drv_cqe_tag(t, ctrl, &qp->cq, head), phase))
		return;
	bf_nvme_drv_rest(t, ctrl, &qp->cq, &s->done[cid], bf_nvme_drv_cqe(&qp->cq, head), until_ns);
}

#endif
