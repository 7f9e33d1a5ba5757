/*
 * NVM commands: decoding and checks, and those that only read. A command takes these steps, in an order of its own:
 * checks, media time (bf_nvme_io_after()), data by DMA (bf_nvme_data()), bytes that are not moved in place
 * (bf_nvme_media_do()), completion (bf_nvme_io_end()).
 *
 * When several things are wrong, the status is that of the first in this order: opcode, namespace, write protection,
 * fields, size, range, media.
 */
#include "models/nvme/media_internal.h"

#include <stdlib.h>

#define PREFETCHED 2048u

static uint32_t cdw12(const struct bf_nvme_rq *rq)
{
	return bf_le32(rq->sqe.cdw12);
}

void bf_nvme_io_after(struct bf_nvme_rq *rq, uint64_t when_ps, void (*next)(struct bf_nvme_rq *rq))
{
	const uint64_t now = rq->dev->sim->now_ps;

	if (when_ps <= now) {
		next(rq);
		return;
	}
	rq->media_ps += when_ps - now;
	bf_nvme_wait_until(rq, when_ps, next);
}

/* Commands that moved data of the host, for the SMART log (Base specification, section 5.16.1.3). */
static void count_command(struct bf_nvme_rq *rq)
{
	struct bf_nvme_smart *smart = &rq->dev->smart;
	const uint64_t sectors = rq->io.len / 512;

	if (rq->opcode == BF_NVME_IO_READ || rq->opcode == BF_NVME_IO_COMPARE || rq->opcode == BF_NVME_IO_VERIFY) {
		smart->sectors_read += sectors;
		smart->host_reads++;
	} else if (rq->opcode == BF_NVME_IO_WRITE) {
		smart->sectors_written += sectors;
		smart->host_writes++;
	}
}

/* The time in which at least one command was here. */
static void count_busy(struct bf_nvme_rq *rq)
{
	struct bf_nvme *dev = rq->dev;
	uint64_t *until = &dev->media->busy_until_ps;
	const uint64_t from = rq->start_ps > *until ? rq->start_ps : *until;

	if (dev->sim->now_ps > from) {
		dev->smart.busy_ps += dev->sim->now_ps - from;
		*until = dev->sim->now_ps;
	}
}

void bf_nvme_io_end(struct bf_nvme_rq *rq, uint32_t status)
{
	const uint32_t code = status & BF_NVME_STATUS_MASK;

	if (!code)
		count_command(rq);
	else if (code == BF_NVME_SC_WRITE_FAULT || code == BF_NVME_SC_UNRECOVERED_READ)
		rq->dev->smart.media_errors++;
	count_busy(rq);
	bf_nvme_complete(rq, status);
}

/* Staging buffers. ------------------------------------------------------------------------------------------------- */

static uint8_t *get_stage(struct bf_nvme *dev, uint64_t len, uint32_t *class)
{
	struct bf_nvme_media_unit *u = dev->media;
	uint8_t *p;

	*class = 0;
	while (len > 1ull << (BF_NVME_STAGE_LOG + *class))
		++*class;
	if (*class >= BF_NVME_STAGE_CLASSES)
		return NULL;
	p = u->stages[*class];
	if (p)
		memcpy(&u->stages[*class], p, sizeof(void *));
	else
		p = malloc((size_t)1 << (BF_NVME_STAGE_LOG + *class));
	return p;
}

static void put_stage(struct bf_nvme *dev, uint8_t *p, uint32_t class)
{
	struct bf_nvme_media_unit *u = dev->media;

	if (!u) {
		free(p); /* the device goes */
	} else if (p) {
		memcpy(p, &u->stages[class], sizeof(void *));
		u->stages[class] = p;
	}
}

static void release(struct bf_nvme_rq *rq)
{
	put_stage(rq->dev, rq->io.stage, rq->io.stage_class);
	put_stage(rq->dev, rq->io.ranges, rq->io.ranges_class);
	rq->io.stage = rq->io.ranges = NULL;
}

uint8_t *bf_nvme_stage(struct bf_nvme_rq *rq, uint64_t len)
{
	rq->release = release;
	rq->io.stage = get_stage(rq->dev, len, &rq->io.stage_class);
	return rq->io.stage;
}

uint8_t *bf_nvme_stage_ranges(struct bf_nvme_rq *rq, uint64_t len)
{
	rq->release = release;
	rq->io.ranges = get_stage(rq->dev, len, &rq->io.ranges_class);
	return rq->io.ranges;
}

/* Checks. ---------------------------------------------------------------------------------------------------------- */

uint32_t bf_nvme_check_range(struct bf_nvme_rq *rq, uint64_t slba, uint64_t blocks)
{
	if (blocks <= rq->ns->blocks && slba <= rq->ns->blocks - blocks)
		return 0;
	rq->error_lba = slba;
	return BF_NVME_SC_LBA_RANGE | BF_NVME_DNR;
}

/* The command's blocks as bytes of its namespace, in rq->io. */
static uint32_t find_blocks(struct bf_nvme_rq *rq)
{
	const uint64_t slba = (uint64_t)bf_le32(rq->sqe.cdw11) << 32 | bf_le32(rq->sqe.cdw10);
	const uint64_t blocks = BF_FIELD_GET(BF_NVME_RW_NLB, cdw12(rq)) + 1;
	uint32_t status = bf_nvme_check_range(rq, slba, blocks);

	if (status)
		return status;
	rq->io.offset = slba << rq->ns->lba_shift;
	rq->io.len = blocks << rq->ns->lba_shift;
	return 0;
}

uint32_t bf_nvme_check_media(struct bf_nvme_rq *rq, uint64_t offset, uint64_t len, bool write, uint64_t *delay_ps)
{
	struct bf_nvme_ns *ns = rq->ns;
	const uint32_t shift = ns->lba_shift;
	uint32_t status = 0;
	uint64_t at;

	if (BF_UNLIKELY(rq->dev->media->has_rules))
		status = bf_nvme_error_map_check(rq->dev->media->map, ns->nsid, offset >> shift, len >> shift, write,
						 &rq->error_lba, delay_ps);
	if (status || write)
		return status;
	at = bf_nvme_media_find_bad(ns->media, offset, len);
	if (at < offset + len)
		status = BF_NVME_SC_UNRECOVERED_READ;
	if (!status && ns->dulbe) {
		at = bf_nvme_media_find_hole(ns->media, offset, len);
		if (at < offset + len)
			status = BF_NVME_SC_DEALLOCATED | BF_NVME_DNR;
	}
	if (status)
		rq->error_lba = at >> shift;
	return status;
}

/* A block comes in one piece if nothing cuts the data but page boundaries, and those fall between blocks. */
bool bf_nvme_in_place(const struct bf_nvme_rq *rq)
{
	const uint64_t page = 1ull << rq->dev->page_shift, prp1 = bf_le64(rq->sqe.prp1);
	struct bf_nvme_sgl s;

	if (rq->ns->media->file)
		return false;
	if (!BF_FIELD_GET(BF_NVME_PSDT, rq->sqe.flags))
		return !(prp1 & ((1u << rq->ns->lba_shift) - 1)) || rq->io.len <= page - (prp1 & (page - 1));
	memcpy(&s, &rq->sqe.prp1, sizeof(s));
	return BF_FIELD_GET(BF_NVME_SGL_TYPE, s.type) == BF_NVME_SGL_DATA;
}

/* What a command is, for the checks. */
#define RANGE 1u /* names blocks by CDW10 to 12 */
#define DATA 2u  /* and moves them: MDTS counts */
#define WRITES 4u
#define TYPED 8u   /* has a directive type */
#define ALL_NS 16u /* may go to all namespaces at once */

static void start_read(struct bf_nvme_rq *rq);
static void start_compare(struct bf_nvme_rq *rq);
static void start_verify(struct bf_nvme_rq *rq);

static const struct command {
	void (*start)(struct bf_nvme_rq *rq);
	uint32_t is;
} commands[] = {
	[BF_NVME_IO_FLUSH] = { bf_nvme_io_flush, ALL_NS },
	[BF_NVME_IO_WRITE] = { bf_nvme_io_write, RANGE | DATA | WRITES | TYPED },
	[BF_NVME_IO_READ] = { start_read, RANGE | DATA },
	[BF_NVME_IO_WRITE_UNCORRECTABLE] = { bf_nvme_io_write_uncorrectable, RANGE | WRITES },
	[BF_NVME_IO_COMPARE] = { start_compare, RANGE | DATA },
	[BF_NVME_IO_WRITE_ZEROES] = { bf_nvme_io_write_zeroes, RANGE | WRITES },
	[BF_NVME_IO_DSM] = { bf_nvme_io_dsm, 0 },
	[BF_NVME_IO_VERIFY] = { start_verify, RANGE },
	[BF_NVME_IO_COPY] = { bf_nvme_io_copy, WRITES | TYPED },
};

/* Base specification, section 3.2.1: a number beyond NN is invalid, one without an attached namespace inactive. */
static uint32_t find_namespace(struct bf_nvme_rq *rq, uint32_t is)
{
	const uint32_t nsid = bf_le32(rq->sqe.nsid);

	if (nsid == BF_NVME_NSID_ALL && is & ALL_NS)
		return 0;
	rq->ns = bf_nvme_ns_find(rq->dev, nsid);
	if (rq->ns)
		return 0;
	if (!nsid || nsid > BF_NVME_NS_MAX)
		return BF_NVME_SC_INVALID_NS_OR_FORMAT | BF_NVME_DNR;
	return bf_nvme_bad_field(rq, 4, 0);
}

/*
 * Protection information that the namespace's format does not have cannot be checked or made (NVM Command Set
 * specification, section 5.2). Directives are not supported, so that there is no type to give.
 */
static uint32_t check_fields(struct bf_nvme_rq *rq, uint32_t is)
{
	if (is & RANGE && rq->opcode != BF_NVME_IO_WRITE_UNCORRECTABLE && cdw12(rq) & BF_NVME_RW_PRINFO)
		return BF_NVME_SC_PROTECTION_INFO | BF_NVME_DNR;
	if (is & TYPED && cdw12(rq) & BF_NVME_RW_DTYPE)
		return bf_nvme_bad_field(rq, 50, 4);
	return 0;
}

/* In units of the smallest page, whatever CC.MPS says (Base specification, section 5.17.2.1). */
static uint32_t check_size(struct bf_nvme_rq *rq)
{
	const uint64_t len = (BF_FIELD_GET(BF_NVME_RW_NLB, cdw12(rq)) + 1) << rq->ns->lba_shift;
	const uint32_t mdts = rq->dev->profile.mdts;

	return mdts && len > 4096ull << mdts ? bf_nvme_bad_field(rq, 48, 0) : 0;
}

uint32_t bf_nvme_io_check(struct bf_nvme_rq *rq)
{
	const struct command *c = rq->opcode < BF_ARRAY_LEN(commands) ? &commands[rq->opcode] : NULL;
	uint32_t status;

	if (!c || !c->start)
		return BF_NVME_SC_INVALID_OPCODE | BF_NVME_DNR;
	status = find_namespace(rq, c->is);
	if (!status && c->is & WRITES && rq->ns->read_only)
		status = BF_NVME_SC_NS_WRITE_PROTECTED | BF_NVME_DNR;
	if (!status)
		status = check_fields(rq, c->is);
	if (!status && c->is & DATA)
		status = check_size(rq);
	if (!status && c->is & RANGE)
		status = find_blocks(rq);
	return status;
}

void bf_nvme_io_start(struct bf_nvme_rq *rq)
{
	uint32_t status;

	if (BF_UNLIKELY(rq->mate != NULL)) {
		bf_nvme_io_fused(rq);
		return;
	}
	status = bf_nvme_io_check(rq);
	if (BF_UNLIKELY(status))
		bf_nvme_io_end(rq, status);
	else
		commands[rq->opcode].start(rq);
}

/* Commands that only read. ----------------------------------------------------------------------------------------- */

/* Looks at the media and waits for them; rq->io.status is what they say. */
static void read_media(struct bf_nvme_rq *rq, void (*next)(struct bf_nvme_rq *rq))
{
	uint64_t delay = 0;

	rq->io.status = bf_nvme_check_media(rq, rq->io.offset, rq->io.len, false, &delay);
	bf_nvme_io_after(rq, bf_nvme_read_time(rq->dev, rq->ns->media, rq->io.offset, rq->io.len) + delay, next);
}

/*
 * Asks for the first bytes as well: they are copied when the writes before them have landed, and till then can be on
 * their way from memory. Of more, the processor's own prefetching takes care.
 */
static uint8_t *readable(struct bf_nvme_rq *rq, uint64_t offset, uint64_t *run)
{
	uint8_t *p = bf_nvme_media_readable(rq->ns->media, rq->io.offset + offset, run);

	for (uint64_t at = 0; at < *run && at < PREFETCHED; at += BF_LINE)
		__builtin_prefetch(p + at, 0, 2);
	return p;
}

static void staged(struct bf_nvme_rq *rq, uint32_t status)
{
	if (status)
		bf_nvme_io_end(rq, status);
	else
		bf_nvme_data(rq, BF_NVME_TO_HOST, rq->io.stage, rq->io.len, bf_nvme_io_end);
}

static void read_ready(struct bf_nvme_rq *rq)
{
	rq->data.lend = bf_nvme_in_place(rq);
	if (BF_UNLIKELY(rq->io.status))
		bf_nvme_io_end(rq, rq->io.status);
	else if (!rq->ns->media->file)
		bf_nvme_data_at(rq, BF_NVME_TO_HOST, readable, rq->io.len, bf_nvme_io_end);
	else if (!bf_nvme_stage(rq, rq->io.len))
		bf_nvme_io_end(rq, bf_nvme_no_memory(rq->dev));
	else
		bf_nvme_media_do(rq, rq->ns, BF_NVME_OP_READ, rq->io.offset, rq->io.len, rq->io.stage, staged);
}

static void start_read(struct bf_nvme_rq *rq)
{
	read_media(rq, read_ready);
}

static void compare_ready(struct bf_nvme_rq *rq)
{
	if (rq->io.status)
		bf_nvme_io_end(rq, rq->io.status);
	else
		bf_nvme_media_do(rq, rq->ns, BF_NVME_OP_COMPARE, rq->io.offset, rq->io.len, rq->io.stage,
				 bf_nvme_io_end);
}

static void compare_arrived(struct bf_nvme_rq *rq, uint32_t status)
{
	if (status)
		bf_nvme_io_end(rq, status);
	else
		read_media(rq, compare_ready);
}

static void start_compare(struct bf_nvme_rq *rq)
{
	if (!bf_nvme_stage(rq, rq->io.len))
		bf_nvme_io_end(rq, bf_nvme_no_memory(rq->dev));
	else
		bf_nvme_data(rq, BF_NVME_FROM_HOST, rq->io.stage, rq->io.len, compare_arrived);
}

static void verify_ready(struct bf_nvme_rq *rq)
{
	if (rq->io.status)
		bf_nvme_io_end(rq, rq->io.status);
	else
		bf_nvme_media_do(rq, rq->ns, BF_NVME_OP_VERIFY, rq->io.offset, rq->io.len, NULL, bf_nvme_io_end);
}

static void start_verify(struct bf_nvme_rq *rq)
{
	read_media(rq, verify_ready);
}

/* The device's part. ----------------------------------------------------------------------------------------------- */

/* No limits for Verify, Write Zeroes and Dataset Management (NVM Command Set specification, section 4.1.5.4). */
void bf_nvme_io_identify(const struct bf_nvme *dev, uint8_t *page)
{
	(void)dev;
	(void)page;
}
