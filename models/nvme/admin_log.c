/*
 * Get Log Page (Base specification, section 5.16). Checks, in this order: the page, the offset (aligned, inside), the
 * length against MDTS. A request that reaches past the end of the page gets what there is.
 */
#include "models/nvme/device_internal.h"

#define RAE (1u << 15)
#define OFFSET_TYPE (1u << 23)
#define SUPPORTED 1u

enum {
	LOG_SUPPORTED = 0x00,
	LOG_ERROR = 0x01,
	LOG_SMART = 0x02,
	LOG_FIRMWARE = 0x03,
	LOG_CHANGED_NS = 0x04,
	LOG_EFFECTS = 0x05,
	LOG_SELF_TEST = 0x06,
	LOG_FEATURES = 0x12,
};

static const struct {
	uint8_t lid;
	uint16_t size;
} pages[] = {
	{ LOG_SUPPORTED, 1024 },
	{ LOG_ERROR, BF_NVME_ERROR_ENTRIES * 64 },
	{ LOG_SMART, 512 },
	{ LOG_FIRMWARE, 512 },
	{ LOG_CHANGED_NS, 4096 },
	{ LOG_EFFECTS, 4096 },
	{ LOG_SELF_TEST, BF_NVME_SELF_TEST_LOG },
	{ LOG_FEATURES, 1024 },
};

static void put_supported(uint8_t *page)
{
	for (size_t i = 0; i < BF_ARRAY_LEN(pages); i++)
		page[4 * pages[i].lid] = SUPPORTED;
}

/* Newest first. */
static void put_errors(const struct bf_nvme *dev, uint8_t *page)
{
	for (uint64_t i = 0; i < BF_NVME_ERROR_ENTRIES && i < dev->error_count; i++, page += 64) {
		const struct bf_nvme_error *e = &dev->errors[(dev->error_count - 1 - i) % BF_NVME_ERROR_ENTRIES];

		bf_put_le64(page, e->count);
		bf_put_le16(page + 8, e->sqid);
		bf_put_le16(page + 10, e->cid);
		bf_put_le16(page + 12, e->status);
		bf_put_le16(page + 14, e->pel);
		bf_put_le64(page + 16, e->lba);
		bf_put_le32(page + 24, e->nsid);
		page[29] = 1; /* transport: PCIe */
		page[32] = e->opcode;
	}
}

/* Units are thousands of 512 bytes, rounded up. */
static uint64_t data_units(uint64_t sectors)
{
	return (sectors + 999) / 1000;
}

static void put_smart(const struct bf_nvme *dev, uint8_t *page)
{
	const struct bf_nvme_smart *s = &dev->smart;

	page[0] = bf_nvme_temperature_alarm(dev) ? 1u << 1 : 0;
	bf_put_le16(page + 1, BF_NVME_KELVIN);
	page[3] = 100; /* available spare and its threshold, percent */
	page[4] = 10;
	bf_put_le64(page + 32, data_units(s->sectors_read));
	bf_put_le64(page + 48, data_units(s->sectors_written));
	bf_put_le64(page + 64, s->host_reads);
	bf_put_le64(page + 80, s->host_writes);
	bf_put_le64(page + 96, s->busy_ps / (60 * BF_S));
	bf_put_le64(page + 112, s->power_cycles);
	bf_put_le64(page + 128, dev->sim->now_ps / (3600 * BF_S));
	bf_put_le64(page + 144, s->unsafe_shutdowns);
	bf_put_le64(page + 160, s->media_errors);
	bf_put_le64(page + 176, dev->error_count);
	bf_put_le16(page + 200, BF_NVME_KELVIN); /* sensor 1 */
}

static void put_changed(const struct bf_nvme *dev, uint8_t *page)
{
	for (uint32_t i = 0; i < dev->nchanged; i++)
		bf_put_le32(page + 4 * i, dev->changed[i]);
}

/* Section 5.16.1.6: supported 0, changes data 1, changes namespace 2, changes inventory 3; 18:16 runs alone (1: in the
 * namespace). */
static void put_effects(uint8_t *page)
{
	static const struct {
		uint8_t op;
		uint32_t effects;
	} admin[] = {
		{ BF_NVME_ADM_DELETE_SQ, 1 },   { BF_NVME_ADM_CREATE_SQ, 1 },       { BF_NVME_ADM_GET_LOG, 1 },
		{ BF_NVME_ADM_DELETE_CQ, 1 },   { BF_NVME_ADM_CREATE_CQ, 1 },       { BF_NVME_ADM_IDENTIFY, 1 },
		{ BF_NVME_ADM_ABORT, 1 },       { BF_NVME_ADM_SET_FEATURES, 1 },    { BF_NVME_ADM_GET_FEATURES, 1 },
		{ BF_NVME_ADM_ASYNC_EVENT, 1 }, { BF_NVME_ADM_NS_MANAGEMENT, 0x9 }, { BF_NVME_ADM_FW_COMMIT, 0x11 },
		{ BF_NVME_ADM_FW_DOWNLOAD, 1 }, { BF_NVME_ADM_SELF_TEST, 1 },       { BF_NVME_ADM_NS_ATTACH, 0x9 },
		{ BF_NVME_ADM_KEEP_ALIVE, 1 },  { BF_NVME_ADM_DBBUF, 1 },           { BF_NVME_ADM_FORMAT, 0x10007 },
	};
	static const struct {
		uint8_t op;
		uint32_t effects;
	} io[] = {
		{ BF_NVME_IO_FLUSH, 1 },   { BF_NVME_IO_WRITE, 3 },
		{ BF_NVME_IO_READ, 1 },    { BF_NVME_IO_WRITE_UNCORRECTABLE, 3 },
		{ BF_NVME_IO_COMPARE, 1 }, { BF_NVME_IO_WRITE_ZEROES, 3 },
		{ BF_NVME_IO_DSM, 3 },     { BF_NVME_IO_VERIFY, 1 },
		{ BF_NVME_IO_COPY, 3 },
	};

	for (size_t i = 0; i < BF_ARRAY_LEN(admin); i++)
		bf_put_le32(page + 4 * admin[i].op, admin[i].effects);
	for (size_t i = 0; i < BF_ARRAY_LEN(io); i++)
		bf_put_le32(page + 1024 + 4 * io[i].op, io[i].effects);
}

static uint32_t fill(struct bf_nvme_rq *rq, uint32_t lid, uint8_t *page)
{
	const struct bf_nvme *dev = rq->dev;

	switch (lid) {
	case LOG_SUPPORTED:
		put_supported(page);
		break;
	case LOG_ERROR:
		put_errors(dev, page);
		break;
	case LOG_SMART:
		put_smart(dev, page);
		break;
	case LOG_FIRMWARE:
		bf_nvme_firmware_log(dev, page);
		break;
	case LOG_CHANGED_NS:
		put_changed(dev, page);
		break;
	case LOG_EFFECTS:
		if (bf_le32(rq->sqe.cdw14) >> 24)
			return bf_nvme_bad_field(rq, 59, 0); /* the NVM command set is the only one */
		put_effects(page);
		break;
	case LOG_SELF_TEST:
		bf_nvme_self_test_log(dev, page);
		break;
	default:
		bf_nvme_features_log(page);
		break;
	}
	return 0;
}

static uint32_t page_size(uint32_t lid)
{
	for (size_t i = 0; i < BF_ARRAY_LEN(pages); i++)
		if (pages[i].lid == lid)
			return pages[i].size;
	return 0;
}

/* The SMART log is the controller's; no namespace has one of its own (LPA bit 0 is clear). */
static uint32_t check_nsid(struct bf_nvme_rq *rq, uint32_t lid)
{
	uint32_t nsid = bf_le32(rq->sqe.nsid);

	if (lid != LOG_SMART || !nsid || nsid == BF_NVME_NSID_ALL)
		return 0;
	return nsid > BF_NVME_NS_MAX ? BF_NVME_SC_INVALID_NS_OR_FORMAT | BF_NVME_DNR : bf_nvme_bad_field(rq, 4, 0);
}

/* The host has the page: with RAE = 0 that clears what it tells of. */
static void sent(struct bf_nvme_rq *rq, uint32_t status)
{
	uint32_t cdw10 = bf_le32(rq->sqe.cdw10), lid = cdw10 & 0xff;
	struct bf_nvme *dev = rq->dev;
	bool clear = !status && !(cdw10 & RAE);

	if (clear && lid == LOG_CHANGED_NS)
		dev->nchanged = 0;
	bf_nvme_complete(rq, status);
	if (clear)
		bf_nvme_async_read(dev, (uint8_t)lid);
}

void bf_nvme_get_log(struct bf_nvme_rq *rq)
{
	uint32_t cdw10 = bf_le32(rq->sqe.cdw10), lid = cdw10 & 0xff, size = page_size(lid),
		 mdts = rq->dev->profile.mdts;
	uint64_t offset = bf_le32(rq->sqe.cdw12) | (uint64_t)bf_le32(rq->sqe.cdw13) << 32;
	uint64_t len = (((uint64_t)(bf_le32(rq->sqe.cdw11) & 0xffff) << 16 | cdw10 >> 16) + 1) * 4;
	uint32_t status = 0;

	if (!size)
		status = BF_NVME_SC_LOG_PAGE | BF_NVME_DNR;
	else if (offset & 3 || offset >= size)
		status = bf_nvme_bad_field(rq, 48, 0);
	else if (bf_le32(rq->sqe.cdw14) & OFFSET_TYPE)
		status = bf_nvme_bad_field(rq, 58, 7);
	else if (mdts && len > 4096ull << mdts)
		status = bf_nvme_bad_field(rq, 42, 0);
	else
		status = check_nsid(rq, lid);
	if (!status) {
		if (!bf_nvme_admin_buf(rq, size))
			return;
		status = fill(rq, lid, rq->buf);
	}
	if (status) {
		bf_nvme_complete(rq, status);
		return;
	}
	len = len < size - offset ? len : size - offset;
	bf_nvme_data(rq, BF_NVME_TO_HOST, rq->buf + offset, len, sent);
}
