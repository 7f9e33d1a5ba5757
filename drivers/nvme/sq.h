/*
 * NVMe, steps 2 and 3 of 4: a slot of the submission queue, and telling the controller.
 *
 *   enqueue   the slot at tail is mine, unless that would make the ring look empty
 *   submit    fence; the new tail into the doorbell, once for all slots since the last time
 *
 * For a queue that belongs to one thread; share.h has the other kind.
 */
#ifndef BELFRY_DRIVERS_NVME_SQ_H
#define BELFRY_DRIVERS_NVME_SQ_H

#include "drivers/nvme/prp.h"

BF_DEVICE uint32_t bf_nvme_drv_next(const struct bf_nvme_drv_queue *q, uint32_t slot)
{
	return slot + 1 == q->entries ? 0 : slot + 1;
}

/* Slots between head and tail. (libnvm subtracts modulo 2^32 first, which is right for powers of two only.) */
BF_DEVICE uint32_t bf_nvme_drv_used(const struct bf_nvme_drv_queue *q)
{
	return q->tail >= q->head ? q->tail - q->head : q->entries - q->head + q->tail;
}

/*
 * True when the register must be written: EventIdx lies between the old value and the new one (Base specification,
 * section 8.2.3, "Doorbell Buffer Config"; all modulo 2^16).
 */
BF_FN int bf_nvme_drv_event_due(uint16_t event, uint16_t value, uint16_t old)
{
	return (uint16_t)(value - event - 1) < (uint16_t)(value - old);
}

/*
 * A doorbell. With a shadow the value goes there first, and to the register only if the controller asked for it: the
 * fence keeps the look at EventIdx from being older than the store that the controller looks for.
 */
BF_DEVICE int bf_nvme_drv_ring(struct bf_thread *t, struct bf_nvme_drv_queue *q, uint32_t value)
{
	if (q->proxy) {
		bf_st_release32(t, q->proxy, value + 1, BF_AT_SYS);
		return 1;
	}
	if (q->shadow) {
		bf_st_relaxed32(t, q->shadow, value, BF_AT_SYS);
		bf_fence_sys(t);
		if (!bf_nvme_drv_event_due((uint16_t)bf_ld_relaxed32(t, q->event, BF_AT_SYS), (uint16_t)value,
					   (uint16_t)q->last))
			return 0;
	}
	bf_mmio_st32(t, q->db, value);
	return 1;
}

/* `queue`: 0 for a submission queue, 1 for a completion queue; `mmio`: what bf_nvme_drv_ring() returned. */
BF_DEVICE void bf_nvme_drv_tell_ring(struct bf_thread *t, const struct bf_nvme_drv_queue *q, uint32_t queue,
				     uint32_t to, int mmio)
{
	BF_DRIVER_RECORD(t, nvm_ring, .qid = q->no, .queue = queue, .from = q->last, .to = to, .mmio = mmio != 0,
			 .entries = q->entries);
}

/* A tail doorbell that is wrong in one of the ways that BF_NVME_DRV_BUGS_RING names. Returns as bf_nvme_drv_ring()
 * does. */
#define BF_NVME_DRV_BUGS_RING                                                                                          \
	(BF_NVME_DRV_BUG_DOORBELL_WIDE | BF_NVME_DRV_BUG_SHADOW_NO_FENCE | BF_NVME_DRV_BUG_SHADOW_COMPARE |            \
	 BF_NVME_DRV_BUG_TAIL_COUNTER | BF_NVME_DRV_BUG_DOORBELL_TWICE | BF_NVME_DRV_BUG_DOORBELL_REORDER)
BF_DEVICE int bf_nvme_drv_ring_wrong(struct bf_thread *t, const struct bf_nvme_drv_ctrl *ctrl,
				     struct bf_nvme_drv_queue *sq)
{
	const bf_nvme_drv_bug_set bugs = ctrl->bugs;
	const uint32_t tail = sq->tail;

	if (bugs & BF_NVME_DRV_BUG_DOORBELL_WIDE) {
		bf_mmio_st64(t, (uint64_t *)(void *)sq->db, tail);
		return 1;
	}
	if (bugs & (BF_NVME_DRV_BUG_SHADOW_NO_FENCE | BF_NVME_DRV_BUG_SHADOW_COMPARE) && sq->shadow) {
		uint32_t event;

		bf_st_relaxed32(t, sq->shadow, tail, BF_AT_SYS);
		if (!(bugs & BF_NVME_DRV_BUG_SHADOW_NO_FENCE))
			bf_fence_sys(t);
		event = bf_ld_relaxed32(t, sq->event, BF_AT_SYS);
		if (bugs & BF_NVME_DRV_BUG_SHADOW_COMPARE
			? tail <= event
			: !bf_nvme_drv_event_due((uint16_t)event, (uint16_t)tail, (uint16_t)sq->last))
			return 0;
		bf_mmio_st32(t, sq->db, tail);
		return 1;
	}
	if (bugs & BF_NVME_DRV_BUG_TAIL_COUNTER) { /* `phase`, which a submission queue does not use, counts the laps */
		sq->phase += tail < sq->last;
		return bf_nvme_drv_ring(t, sq, tail + (sq->phase - 1) * sq->entries);
	}
	bf_nvme_drv_ring(t, sq, tail);
	if (bugs & BF_NVME_DRV_BUG_DOORBELL_TWICE)
		bf_nvme_drv_ring(t, sq, tail);
	if (bugs & BF_NVME_DRV_BUG_DOORBELL_REORDER)
		bf_nvme_drv_ring(t, sq, sq->last);
	return 1;
}

/*
 * Puts the command under identifier `cid` into the next slot; the controller learns of it by bf_nvme_drv_submit().
 * Returns the slot, or -1 when the ring is full.
 */
BF_DEVICE int32_t bf_nvme_drv_enqueue(struct bf_thread *t, const struct bf_nvme_drv_ctrl *ctrl,
				      struct bf_nvme_drv_queue *sq, struct bf_nvme_drv_cmd *c, uint32_t cid)
{
	const uint32_t slot = sq->tail;

	if (bf_nvme_drv_used(sq) + 1 >= sq->entries && !(ctrl->bugs & BF_NVME_DRV_BUG_NO_FULL_CHECK))
		return -1;
	c->dw[0].w[0] = (c->dw[0].w[0] & 0xffffu) | cid << 16;
	bf_nvme_drv_cmd_store(t, ctrl, sq, slot, sq->head, c);
	sq->tail = bf_nvme_drv_next(sq, slot);
	return (int32_t)slot;
}

/* Tells the controller of everything up to tail. What was stored before, entries and data, is visible first. */
BF_DEVICE void bf_nvme_drv_submit(struct bf_thread *t, const struct bf_nvme_drv_ctrl *ctrl,
				  struct bf_nvme_drv_queue *sq)
{
	if (sq->last == sq->tail)
		return;
	if (!(ctrl->bugs & (BF_NVME_DRV_BUG_NO_FENCE | BF_NVME_DRV_BUG_CACHED_SQ)))
		bf_fence_sys(t);
	bf_nvme_drv_tell_ring(t, sq, 0, sq->tail,
			      BF_UNLIKELY(ctrl->bugs & BF_NVME_DRV_BUGS_RING) ? bf_nvme_drv_ring_wrong(t, ctrl, sq)
									      : bf_nvme_drv_ring(t, sq, sq->tail));
	sq->last = sq->tail;
}

/* BF_NVME_DRV_BUG_DOORBELL_FIRST: announces the slot that is filled next. */
BF_DEVICE void bf_nvme_drv_submit_next(struct bf_thread *t, struct bf_nvme_drv_queue *sq)
{
	const uint32_t tail = bf_nvme_drv_next(sq, sq->tail);

	bf_nvme_drv_tell_ring(t, sq, 0, tail, bf_nvme_drv_ring(t, sq, tail));
	sq->last = tail;
}

/* The controller has fetched up to `sqhd`: those slots are free, whether their commands are complete or not. */
BF_DEVICE void bf_nvme_drv_sq_update(const struct bf_nvme_drv_ctrl *ctrl, struct bf_nvme_drv_queue *sq, uint32_t sqhd)
{
	if (BF_UNLIKELY(ctrl->bugs & BF_NVME_DRV_BUG_SQ_BY_COUNT))
		sq->head = bf_nvme_drv_next(sq, sq->head);
	else if (sqhd < sq->entries)
		sq->head = sqhd;
}

#endif
