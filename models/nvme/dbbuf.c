/*
 * Shadow doorbells (Base specification, section 5.8, "Doorbell Buffer Config"; Annex B.5): doorbell values in host
 * memory, laid out as the registers are, and beside them event indices that say when the host must ring all the same.
 *
 * The controller looks at a queue's shadow when it has run out of entries (submission) or of room (completion): it
 * stores the event index, then reads the shadow once more, and sleeps when that brings nothing new. The read follows
 * the posted store (PCIe ordering), so a host that stores its value before it reads the event index is never missed.
 * The admin queue has no shadow: hosts do not use one.
 */
#include "models/nvme/device_internal.h"

static uint64_t sq_offset(const struct bf_nvme_sq *sq)
{
	return bf_nvme_sq_doorbell(sq->qid, sq->dev->profile.dstrd) - BF_NVME_DOORBELLS;
}

static uint64_t cq_offset(const struct bf_nvme_cq *cq)
{
	return bf_nvme_cq_doorbell(cq->qid, cq->dev->profile.dstrd) - BF_NVME_DOORBELLS;
}

void bf_nvme_dbbuf_config(struct bf_nvme_rq *rq)
{
	struct bf_nvme *dev = rq->dev;
	uint64_t shadow = bf_le64(rq->sqe.prp1), event = bf_le64(rq->sqe.prp2), mask = (1ull << dev->page_shift) - 1;

	if (!shadow || shadow & mask) {
		bf_nvme_complete(rq, bf_nvme_bad_field(rq, 24, 0));
		return;
	}
	if (!event || event & mask || event == shadow) {
		bf_nvme_complete(rq, bf_nvme_bad_field(rq, 32, 0));
		return;
	}
	dev->dbbuf_shadow = shadow;
	dev->dbbuf_event = event;
	bf_nvme_complete(rq, 0);
}

/* Without shadow buffers any more (a reset took them) or with a failed read there is nothing to be found. */
static bool found(const struct bf_nvme *dev, const struct bf_dma_op *op, bool dead)
{
	return !dead && !op->status && dev->dbbuf_shadow && dev->phase == BF_NVME_ON;
}

static void sq_read(struct bf_dma_op *op)
{
	struct bf_nvme_sq *sq = BF_CONTAINER_OF(op, struct bf_nvme_sq, shadow_op);
	uint32_t value = sq->shadow_value & 0xffff;

	sq->shadow_busy = false;
	if (sq->dead) {
		bf_nvme_sq_put(sq);
		return;
	}
	if (found(sq->dev, op, false) && value != sq->tail)
		bf_nvme_shadow_sq(sq, value);
	if (sq->shadow_again)
		bf_nvme_shadow_read_sq(sq);
}

void bf_nvme_shadow_read_sq(struct bf_nvme_sq *sq)
{
	sq->shadow_again = sq->shadow_busy;
	if (sq->shadow_busy)
		return;
	sq->shadow_busy = true;
	sq->shadow_op.iova = sq->dev->dbbuf_shadow + sq_offset(sq);
	sq->shadow_op.len = sizeof(sq->shadow_value);
	sq->shadow_op.dst = &sq->shadow_value;
	sq->shadow_op.done = sq_read;
	bf_nvme_dma_read(sq->dev, &sq->shadow_op);
}

static void cq_read(struct bf_dma_op *op)
{
	struct bf_nvme_cq *cq = BF_CONTAINER_OF(op, struct bf_nvme_cq, shadow_op);
	uint32_t value = cq->shadow_value & 0xffff;

	cq->shadow_busy = false;
	if (cq->dead) {
		bf_nvme_cq_put(cq);
		return;
	}
	if (found(cq->dev, op, false) && value != cq->head)
		bf_nvme_shadow_cq(cq, value);
	if (cq->shadow_again)
		bf_nvme_shadow_read_cq(cq);
}

void bf_nvme_shadow_read_cq(struct bf_nvme_cq *cq)
{
	cq->shadow_again = cq->shadow_busy;
	if (cq->shadow_busy)
		return;
	cq->shadow_busy = true;
	cq->shadow_op.iova = cq->dev->dbbuf_shadow + cq_offset(cq);
	cq->shadow_op.len = sizeof(cq->shadow_value);
	cq->shadow_op.dst = &cq->shadow_value;
	cq->shadow_op.done = cq_read;
	bf_nvme_dma_read(cq->dev, &cq->shadow_op);
}

/* "Ring when you go past this": the value that the controller knows. */
static void store_event(struct bf_nvme *dev, uint64_t offset, uint32_t known)
{
	uint8_t bytes[4];

	bf_put_le32(bytes, known);
	bf_nvme_dma_write(dev, dev->dbbuf_event + offset, bytes, sizeof(bytes));
}

void bf_nvme_shadow_sleep_sq(struct bf_nvme_sq *sq)
{
	store_event(sq->dev, sq_offset(sq), sq->tail);
	bf_nvme_shadow_read_sq(sq);
}

void bf_nvme_shadow_sleep_cq(struct bf_nvme_cq *cq)
{
	store_event(cq->dev, cq_offset(cq), cq->head);
	bf_nvme_shadow_read_cq(cq);
}
