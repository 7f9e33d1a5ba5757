/* NVM commands that write, and Flush. */
#include "models/nvme/media_internal.h"

static bool writes_through(const struct bf_nvme_rq *rq)
{
	return bf_le32(rq->sqe.cdw12) & BF_NVME_RW_FUA || !rq->dev->feat.wce;
}

static uint8_t *writable(struct bf_nvme_rq *rq, uint64_t offset, uint64_t *run)
{
	return bf_nvme_media_writable(rq->ns->media, rq->io.offset + offset, run);
}

static void write_done(struct bf_nvme_rq *rq)
{
	bf_nvme_io_end(rq, 0);
}

/* The bytes are the media's: how long do they take? */
static void write_stored(struct bf_nvme_rq *rq, uint32_t status)
{
	if (BF_UNLIKELY(status))
		bf_nvme_io_end(rq, status);
	else
		bf_nvme_io_after(rq, bf_nvme_write_time(rq->dev, rq->io.len, writes_through(rq)) + rq->io.delay_ps,
				 write_done);
}

static void arrived_in_place(struct bf_nvme_rq *rq, uint32_t status)
{
	/* Blocks of a write that failed half-way are old or new; either way they are there. */
	if (!bf_nvme_media_written(rq->ns->media, rq->io.offset, rq->io.len) && !status)
		status = bf_nvme_no_memory(rq->dev);
	write_stored(rq, status);
}

static void arrived_staged(struct bf_nvme_rq *rq, uint32_t status)
{
	if (status)
		bf_nvme_io_end(rq, status);
	else
		bf_nvme_media_do(rq, rq->ns, writes_through(rq) ? BF_NVME_OP_WRITE_THROUGH : BF_NVME_OP_WRITE,
				 rq->io.offset, rq->io.len, rq->io.stage, write_stored);
}

void bf_nvme_io_write(struct bf_nvme_rq *rq)
{
	uint32_t status;

	rq->io.delay_ps = 0;
	status = bf_nvme_check_media(rq, rq->io.offset, rq->io.len, true, &rq->io.delay_ps);
	if (!status && bf_nvme_in_place(rq)) {
		bf_nvme_data_at(rq, BF_NVME_FROM_HOST, writable, rq->io.len, arrived_in_place);
		return;
	}
	if (!status && !bf_nvme_stage(rq, rq->io.len))
		status = bf_nvme_no_memory(rq->dev);
	if (status)
		bf_nvme_io_end(rq, status);
	else
		bf_nvme_data(rq, BF_NVME_FROM_HOST, rq->io.stage, rq->io.len, arrived_staged);
}

/* Commands without data change the map of the media only: the time of a cached write. */
static void changed(struct bf_nvme_rq *rq, uint32_t status)
{
	if (status)
		bf_nvme_io_end(rq, status);
	else
		bf_nvme_io_after(rq, bf_nvme_write_time(rq->dev, 0, false) + rq->io.delay_ps, write_done);
}

void bf_nvme_io_write_zeroes(struct bf_nvme_rq *rq)
{
	const bool deallocate = bf_le32(rq->sqe.cdw12) & BF_NVME_RW_DEAC;
	uint32_t status;

	rq->io.delay_ps = 0;
	status = bf_nvme_check_media(rq, rq->io.offset, rq->io.len, true, &rq->io.delay_ps);
	if (status)
		bf_nvme_io_end(rq, status);
	else
		bf_nvme_media_do(rq, rq->ns, deallocate ? BF_NVME_OP_DEALLOCATE : BF_NVME_OP_ZERO, rq->io.offset,
				 rq->io.len, NULL, changed);
}

void bf_nvme_io_write_uncorrectable(struct bf_nvme_rq *rq)
{
	rq->io.delay_ps = 0;
	changed(rq, bf_nvme_media_poison(rq->ns->media, rq->io.offset, rq->io.len) ? 0 : bf_nvme_no_memory(rq->dev));
}

/* Flush: one namespace, or one after the other. -------------------------------------------------------------------- */

static void sync_next(struct bf_nvme_rq *rq);

static void synced(struct bf_nvme_rq *rq, uint32_t status)
{
	if (status || rq->ns) {
		bf_nvme_io_end(rq, status);
		return;
	}
	rq->io.range++;
	sync_next(rq);
}

static void sync_next(struct bf_nvme_rq *rq)
{
	struct bf_nvme_ns *ns = rq->ns;

	while (!ns && rq->io.range < BF_NVME_NS_MAX) {
		ns = bf_nvme_ns_find(rq->dev, rq->io.range + 1);
		if (!ns)
			rq->io.range++;
	}
	if (ns)
		bf_nvme_media_do(rq, ns, BF_NVME_OP_SYNC, 0, 0, NULL, synced);
	else
		bf_nvme_io_end(rq, 0);
}

void bf_nvme_io_flush(struct bf_nvme_rq *rq)
{
	rq->io.range = 0;
	bf_nvme_io_after(rq, bf_nvme_flush_time(rq->dev), sync_next);
}
