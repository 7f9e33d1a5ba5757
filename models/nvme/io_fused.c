/*
 * Fused Compare and Write (NVM Command Set specification, section 3.1, "Fused Operation"). The queue hands over the
 * first with the second as its `mate`. Data of both are fetched before anything is compared, so that comparison and
 * write happen at one moment. Completions: the first's, then the second's.
 */
#include "models/nvme/media_internal.h"

static void end_both(struct bf_nvme_rq *first, uint32_t status, uint32_t second_status)
{
	struct bf_nvme_rq *second = first->mate;

	bf_nvme_io_end(first, status);
	bf_nvme_io_end(second, second_status);
}

/* One of them failed by itself: the other says so. */
static void fail(struct bf_nvme_rq *first, uint32_t status, uint32_t second_status)
{
	end_both(first, status ? status : BF_NVME_SC_FAILED_FUSED,
		 second_status ? second_status : BF_NVME_SC_FAILED_FUSED);
}

static void written(struct bf_nvme_rq *first)
{
	end_both(first, 0, 0);
}

static void stored(struct bf_nvme_rq *first, uint32_t status)
{
	const struct bf_nvme_rq *second = first->mate;
	bool through = bf_le32(second->sqe.cdw12) & BF_NVME_RW_FUA || !first->dev->feat.wce;

	if (status)
		fail(first, status, 0);
	else
		bf_nvme_io_after(first, bf_nvme_write_time(first->dev, first->io.len, through), written);
}

/* A write-through comes after the comparison's write: then it is on the disk. */
static void compare_and_write(struct bf_nvme_rq *first)
{
	if (first->io.status)
		fail(first, first->io.status, 0);
	else
		bf_nvme_media_do(first, first->ns, BF_NVME_OP_COMPARE_WRITE, first->io.offset, first->io.len,
				 first->io.stage, stored);
}

static void second_arrived(struct bf_nvme_rq *second, uint32_t status)
{
	struct bf_nvme_rq *first = second->mate;
	uint64_t delay = 0;

	memcpy(first->io.stage + first->io.len, second->io.stage, first->io.len);
	if (!status)
		status = bf_nvme_check_media(second, second->io.offset, second->io.len, true, &delay);
	if (status) {
		fail(first, 0, status);
		return;
	}
	first->io.status = bf_nvme_check_media(first, first->io.offset, first->io.len, false, &delay);
	bf_nvme_io_after(first,
			 bf_nvme_read_time(first->dev, first->ns->media, first->io.offset, first->io.len) + delay,
			 compare_and_write);
}

static void first_arrived(struct bf_nvme_rq *first, uint32_t status)
{
	if (status)
		fail(first, status, 0);
	else
		bf_nvme_data(first->mate, BF_NVME_FROM_HOST, first->mate->io.stage, first->io.len, second_arrived);
}

/* Only Compare and Write can be fused, and only over the same blocks. */
static bool is_pair(const struct bf_nvme_rq *first)
{
	const struct bf_nvme_rq *second = first->mate;

	return first->opcode == BF_NVME_IO_COMPARE && second->opcode == BF_NVME_IO_WRITE &&
	       bf_le32(first->sqe.nsid) == bf_le32(second->sqe.nsid) &&
	       bf_le32(first->sqe.cdw10) == bf_le32(second->sqe.cdw10) &&
	       bf_le32(first->sqe.cdw11) == bf_le32(second->sqe.cdw11) &&
	       !((bf_le32(first->sqe.cdw12) ^ bf_le32(second->sqe.cdw12)) & BF_NVME_RW_NLB);
}

void bf_nvme_io_fused(struct bf_nvme_rq *first)
{
	struct bf_nvme_rq *second = first->mate;
	uint32_t status, second_status;

	if (!is_pair(first)) {
		end_both(first, BF_NVME_SC_INVALID_FIELD | BF_NVME_DNR, BF_NVME_SC_INVALID_FIELD | BF_NVME_DNR);
		return;
	}
	status = bf_nvme_io_check(first);
	second_status = bf_nvme_io_check(second);
	if (status || second_status)
		fail(first, status, second_status);
	else if (!bf_nvme_stage(first, first->io.len * 2) || !bf_nvme_stage(second, first->io.len))
		fail(first, bf_nvme_no_memory(first->dev), 0);
	else
		bf_nvme_data(first, BF_NVME_FROM_HOST, first->io.stage, first->io.len, first_arrived);
}
