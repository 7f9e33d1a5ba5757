/*
 * The controller's reads and writes of memory: host memory through the DMA port, or the controller memory buffer, which
 * is inside and reached at once.
 */
#include "models/nvme/device_internal.h"

#include <errno.h>
#include <stdlib.h>

#define BLOCK 64u

/* A read on behalf of a request, from the device's pool. */
struct bf_nvme_xfer {
	struct bf_dma_op op;
	struct bf_nvme_rq *rq;
	struct bf_nvme_xfer *next;
};

struct bf_nvme_xfer_block {
	struct bf_nvme_xfer_block *next;
	struct bf_nvme_xfer xfers[BLOCK];
};

static struct bf_nvme_xfer *get(struct bf_nvme *dev)
{
	struct bf_nvme_xfer *x = dev->xfers;
	struct bf_nvme_xfer_block *block;

	if (BF_LIKELY(x != NULL)) {
		dev->xfers = x->next;
		return x;
	}
	block = calloc(1, sizeof(*block));
	if (!block)
		return NULL;
	block->next = dev->xfer_blocks;
	dev->xfer_blocks = block;
	for (uint32_t i = 1; i < BLOCK; i++) {
		block->xfers[i].next = dev->xfers;
		dev->xfers = &block->xfers[i];
	}
	return &block->xfers[0];
}

void bf_nvme_dma_close(struct bf_nvme *dev)
{
	while (dev->xfer_blocks) {
		struct bf_nvme_xfer_block *block = dev->xfer_blocks;

		dev->xfer_blocks = block->next;
		free(block);
	}
}

/* In live mode others poll the buffer: small entries change by words, the last one with release order. */
static void store_inside(struct bf_nvme *dev, uint8_t *to, const uint8_t *from, uint32_t len)
{
	if (len == 16 && !((uintptr_t)to & 7)) {
		__atomic_store_n((uint64_t *)(void *)to, bf_get_le64(from), __ATOMIC_RELAXED);
		__atomic_store_n((uint64_t *)(void *)(to + 8), bf_get_le64(from + 8), __ATOMIC_RELEASE);
	} else {
		memcpy(to, from, len);
	}
	bf_mem_touched(dev->cmb, to, len);
}

uint32_t bf_nvme_dma_write(struct bf_nvme *dev, uint64_t iova, const void *src, uint32_t len)
{
	if (BF_UNLIKELY(bf_nvme_in_cmb(dev, iova))) {
		uint8_t *to = bf_nvme_cmb_at(dev, iova, len);

		if (to)
			store_inside(dev, to, src, len);
		return to ? 0 : BF_NVME_SC_DATA_TRANSFER;
	}
	if (!dev->bus_master || bf_dma_write(&dev->dma, iova, src, len, 0))
		return BF_NVME_SC_DATA_TRANSFER;
	return 0;
}

void bf_nvme_dma_read(struct bf_nvme *dev, struct bf_dma_op *op)
{
	bool inside = bf_nvme_in_cmb(dev, op->iova);
	const uint8_t *from;

	if (BF_LIKELY(!inside && dev->bus_master)) {
		bf_dma_read(&dev->dma, op);
		return;
	}
	from = inside ? bf_nvme_cmb_at(dev, op->iova, op->len) : NULL;
	op->status = from ? 0 : -EFAULT;
	if (from)
		memcpy(op->dst, from, op->len);
	op->done(op);
}

uint32_t bf_nvme_write(struct bf_nvme_rq *rq, uint64_t iova, const void *src, uint32_t len)
{
	return bf_nvme_dma_write(rq->dev, iova, src, len);
}

uint32_t bf_nvme_lend(struct bf_nvme_rq *rq, uint64_t iova, const void *src, uint32_t len)
{
	if (BF_UNLIKELY(bf_nvme_in_cmb(rq->dev, iova)))
		return bf_nvme_dma_write(rq->dev, iova, src, len);
	if (!rq->dev->bus_master || bf_dma_write(&rq->dev->dma, iova, src, len, BF_DMA_LENT))
		return BF_NVME_SC_DATA_TRANSFER;
	return 0;
}

/* One thing less is under way for the request. False: it was dropped, and is gone if this was the last. */
static bool ended(struct bf_nvme_rq *rq)
{
	rq->reads--;
	if (BF_LIKELY(!rq->dropped))
		return true;
	if (!rq->reads)
		bf_nvme_rq_free(rq);
	return false;
}

/* Reads inside the memory buffer end at once, so the status is kept until somebody asks. */
static void report(struct bf_nvme_rq *rq, bf_nvme_done_fn *done)
{
	uint32_t status = rq->read_status;

	rq->read_status = 0;
	done(rq, status);
}

static void read_done(struct bf_dma_op *op)
{
	struct bf_nvme_xfer *x = BF_CONTAINER_OF(op, struct bf_nvme_xfer, op);
	struct bf_nvme_rq *rq = x->rq;
	bf_nvme_done_fn *done = rq->reads_done;

	x->next = rq->dev->xfers;
	rq->dev->xfers = x;
	if (op->status)
		rq->read_status = BF_NVME_SC_DATA_TRANSFER;
	if (!ended(rq) || rq->reads || !done)
		return;
	rq->reads_done = NULL;
	report(rq, done);
}

void bf_nvme_read(struct bf_nvme_rq *rq, uint64_t iova, void *dst, uint32_t len)
{
	struct bf_nvme_xfer *x = get(rq->dev);

	if (!x) {
		rq->read_status = bf_nvme_no_memory(rq->dev);
		return;
	}
	x->rq = rq;
	x->op.iova = iova;
	x->op.dst = dst;
	x->op.len = len;
	x->op.done = read_done;
	rq->reads++;
	bf_nvme_dma_read(rq->dev, &x->op);
}

void bf_nvme_reads(struct bf_nvme_rq *rq, bf_nvme_done_fn *done)
{
	if (rq->reads)
		rq->reads_done = done;
	else
		report(rq, done);
}

void bf_nvme_hold(struct bf_nvme_rq *rq)
{
	rq->reads++;
}

bool bf_nvme_unhold(struct bf_nvme_rq *rq)
{
	return ended(rq);
}
