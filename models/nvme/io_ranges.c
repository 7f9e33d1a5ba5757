/*
 * NVM commands with a list of ranges: Dataset Management and Copy. The list comes first; when all of it is right the
 * ranges are worked off one after the other.
 */
#include "models/nvme/media_internal.h"

#define PIECE (128u << 10) /* of a copy */

/*
 * Steps. rq->io.step does one and returns true, or ends the command and returns false. A step is over when stepped() is
 * called, which may be before it returns: the loop here keeps that from taking stack.
 */
static void run_steps(struct bf_nvme_rq *rq)
{
	do {
		rq->io.again = false;
		rq->io.inside = true;
		if (!rq->io.step(rq))
			return;
		rq->io.inside = false;
	} while (rq->io.again);
}

static void stepped(struct bf_nvme_rq *rq, uint32_t status)
{
	rq->io.status = status;
	rq->io.again = true;
	if (!rq->io.inside)
		run_steps(rq);
}

static void waited(struct bf_nvme_rq *rq)
{
	stepped(rq, 0);
}

static void ended(struct bf_nvme_rq *rq)
{
	bf_nvme_io_end(rq, 0);
}

static void start_steps(struct bf_nvme_rq *rq, bool (*step)(struct bf_nvme_rq *rq))
{
	rq->io.step = step;
	rq->io.range = 0;
	rq->io.status = 0;
	rq->io.delay_ps = 0;
	rq->io.range_left = 0;
	rq->io.copied = 0;
	rq->io.loaded = false;
	run_steps(rq);
}

/* Dataset Management. ---------------------------------------------------------------------------------------------- */

static const struct bf_nvme_dsm_range *dsm_range(const struct bf_nvme_rq *rq, uint32_t i)
{
	return (const struct bf_nvme_dsm_range *)(const void *)rq->io.ranges + i;
}

static bool dsm_step(struct bf_nvme_rq *rq)
{
	const struct bf_nvme_dsm_range *r = dsm_range(rq, rq->io.range);
	const uint32_t shift = rq->ns->lba_shift;

	if (rq->io.status) {
		bf_nvme_io_end(rq, rq->io.status);
		return false;
	}
	if (rq->io.range == rq->io.nranges) {
		bf_nvme_io_after(rq, bf_nvme_write_time(rq->dev, 0, false), ended);
		return false;
	}
	rq->io.range++;
	bf_nvme_media_do(rq, rq->ns, BF_NVME_OP_DEALLOCATE, bf_le64(r->slba) << shift,
			 (uint64_t)bf_le32(r->blocks) << shift, NULL, stepped);
	return true;
}

static void dsm_arrived(struct bf_nvme_rq *rq, uint32_t status)
{
	for (uint32_t i = 0; i < rq->io.nranges && !status; i++) {
		const struct bf_nvme_dsm_range *r = dsm_range(rq, i);

		status = bf_nvme_check_range(rq, bf_le64(r->slba), bf_le32(r->blocks));
	}
	if (status)
		bf_nvme_io_end(rq, status);
	else if (bf_le32(rq->sqe.cdw11) & BF_NVME_DSM_AD)
		start_steps(rq, dsm_step);
	else
		bf_nvme_io_end(rq, 0); /* hints, of which this controller makes nothing */
}

void bf_nvme_io_dsm(struct bf_nvme_rq *rq)
{
	const uint32_t n = (uint32_t)BF_FIELD_GET(BF_NVME_DSM_NR, bf_le32(rq->sqe.cdw10)) + 1;
	const uint64_t len = n * sizeof(struct bf_nvme_dsm_range);

	rq->io.nranges = n;
	if (bf_le32(rq->sqe.cdw11) & BF_NVME_DSM_AD && rq->ns->read_only)
		bf_nvme_io_end(rq, BF_NVME_SC_NS_WRITE_PROTECTED | BF_NVME_DNR);
	else if (!bf_nvme_stage_ranges(rq, len))
		bf_nvme_io_end(rq, bf_nvme_no_memory(rq->dev));
	else
		bf_nvme_data(rq, BF_NVME_FROM_HOST, rq->io.ranges, len, dsm_arrived);
}

/* Copy (NVM Command Set specification, section 3.2.2). When it fails, dword 0 is the first range that is not copied. */

static const struct bf_nvme_copy_range *copy_range(const struct bf_nvme_rq *rq, uint32_t i)
{
	return (const struct bf_nvme_copy_range *)(const void *)rq->io.ranges + i;
}

static uint64_t copy_blocks(const struct bf_nvme_rq *rq, uint32_t i)
{
	return bf_le16(copy_range(rq, i)->nlb) + 1ull;
}

/* The next range: may it be read and written, and when is it read? */
static void enter_range(struct bf_nvme_rq *rq)
{
	const uint32_t shift = rq->ns->lba_shift;
	uint32_t status;

	rq->io.offset = bf_le64(copy_range(rq, rq->io.range)->slba) << shift;
	rq->io.len = rq->io.range_left = copy_blocks(rq, rq->io.range) << shift;
	status = bf_nvme_check_media(rq, rq->io.offset, rq->io.len, false, &rq->io.delay_ps);
	if (!status)
		status = bf_nvme_check_media(rq, rq->io.to, rq->io.len, true, &rq->io.delay_ps);
	if (status)
		stepped(rq, status);
	else
		bf_nvme_io_after(rq, bf_nvme_read_time(rq->dev, rq->ns->media, rq->io.offset, rq->io.len), waited);
}

/* One piece, read or written; from the end where source and destination overlap that way. */
static void copy_piece(struct bf_nvme_rq *rq)
{
	struct bf_nvme_io_state *io = &rq->io;
	const uint64_t n = io->range_left < PIECE ? io->range_left : PIECE;
	const bool backward = io->to > io->offset && io->to < io->offset + io->len;
	const uint64_t at = backward ? io->range_left - n : io->len - io->range_left;

	if (!io->loaded) {
		io->loaded = true;
		bf_nvme_media_do(rq, rq->ns, BF_NVME_OP_READ, io->offset + at, n, io->stage, stepped);
		return;
	}
	io->loaded = false;
	io->range_left -= n;
	io->copied += n;
	bf_nvme_media_do(rq, rq->ns, BF_NVME_OP_WRITE, io->to + at, n, io->stage, stepped);
}

static bool copy_step(struct bf_nvme_rq *rq)
{
	struct bf_nvme_io_state *io = &rq->io;

	if (io->status) {
		rq->dw0 = io->range;
		bf_nvme_io_end(rq, io->status);
		return false;
	}
	if (io->len && !io->range_left) {
		io->to += io->len;
		io->len = 0;
		io->range++;
	}
	if (io->range == io->nranges) {
		bool through = bf_le32(rq->sqe.cdw12) & BF_NVME_RW_FUA || !rq->dev->feat.wce;

		bf_nvme_io_after(rq, bf_nvme_write_time(rq->dev, io->copied, through) + io->delay_ps, ended);
		return false;
	}
	if (!io->len)
		enter_range(rq);
	else
		copy_piece(rq);
	return true;
}

/* Sizes and ranges of all, before anything is copied. */
static uint32_t check_copy(struct bf_nvme_rq *rq)
{
	const uint64_t to = (uint64_t)bf_le32(rq->sqe.cdw11) << 32 | bf_le32(rq->sqe.cdw10);
	uint64_t total = 0;
	uint32_t status;

	for (uint32_t i = 0; i < rq->io.nranges; i++) {
		rq->dw0 = i;
		total += copy_blocks(rq, i);
		if (copy_blocks(rq, i) > BF_NVME_COPY_BLOCKS || total > BF_NVME_COPY_BLOCKS)
			return BF_NVME_SC_SIZE_LIMIT | BF_NVME_DNR;
		status = bf_nvme_check_range(rq, bf_le64(copy_range(rq, i)->slba), copy_blocks(rq, i));
		if (status)
			return status;
	}
	rq->dw0 = 0;
	rq->io.to = to << rq->ns->lba_shift;
	return bf_nvme_check_range(rq, to, total);
}

static void copy_arrived(struct bf_nvme_rq *rq, uint32_t status)
{
	if (!status)
		status = check_copy(rq);
	rq->io.len = 0;
	if (status)
		bf_nvme_io_end(rq, status);
	else
		start_steps(rq, copy_step);
}

void bf_nvme_io_copy(struct bf_nvme_rq *rq)
{
	const uint32_t cdw12 = bf_le32(rq->sqe.cdw12);
	const uint32_t n = (uint32_t)BF_FIELD_GET(BF_NVME_COPY_NR, cdw12) + 1;
	const uint64_t len = n * sizeof(struct bf_nvme_copy_range);
	uint32_t status = 0;

	rq->io.nranges = n;
	if (cdw12 & (BF_NVME_RW_PRINFO | BF_NVME_COPY_PRINFOR))
		status = BF_NVME_SC_PROTECTION_INFO | BF_NVME_DNR;
	else if (BF_FIELD_GET(BF_NVME_COPY_FORMAT, cdw12))
		status = bf_nvme_bad_field(rq, 49, 0);
	else if (n > BF_NVME_COPY_RANGES)
		status = BF_NVME_SC_SIZE_LIMIT | BF_NVME_DNR;
	else if (!bf_nvme_stage(rq, PIECE) || !bf_nvme_stage_ranges(rq, len))
		status = bf_nvme_no_memory(rq->dev);
	if (status)
		bf_nvme_io_end(rq, status);
	else
		bf_nvme_data(rq, BF_NVME_FROM_HOST, rq->io.ranges, len, copy_arrived);
}
