/* Format NVM, Namespace Management, Namespace Attachment (Base specification, sections 5.14, 5.23, 5.22). */
#include "models/nvme/device_internal.h"

#define PAGE 4096u
#define RETRY_PS (10 * BF_US) /* how often a command looks whether a namespace's other commands are done: assumed */
#define FORMATS 2u

enum { SEL_FIRST, SEL_SECOND };

/* The namespace's inventory or attributes changed: changed namespace list and notice (section 5.16.1.5). */
static void note_change(struct bf_nvme *dev, uint32_t nsid)
{
	uint32_t i = 0;

	while (i < dev->nchanged && dev->changed[i] < nsid)
		i++;
	if (i == dev->nchanged || dev->changed[i] != nsid) {
		memmove(dev->changed + i + 1, dev->changed + i, (dev->nchanged - i) * sizeof(dev->changed[0]));
		dev->changed[i] = nsid;
		dev->nchanged++;
	}
	bf_nvme_async_event(dev, 2, 0, 4);
}

/* A Flush of all namespaces has none of its own: it may be at any of them. */
static bool concerns(const struct bf_nvme_rq *rq, uint32_t nsid)
{
	if (!rq->ns)
		return bf_le32(rq->sqe.nsid) == BF_NVME_NSID_ALL;
	return nsid == BF_NVME_NSID_ALL || rq->ns->nsid == nsid;
}

/* Commands of the namespace, or of any with the broadcast identifier, that are executing. */
static bool is_busy(const struct bf_nvme *dev, uint32_t nsid)
{
	for (uint32_t i = 0; i < dev->nlive_sqs; i++) {
		const struct bf_nvme_rq *rq = dev->sqs[dev->live_sqs[i]]->rqs;

		for (; rq; rq = rq->sq_next)
			if (rq->sqid && rq->state == BF_NVME_RQ_RUNNING && concerns(rq, nsid))
				return true;
	}
	return false;
}

bool bf_nvme_is_formatting(const struct bf_nvme *dev, uint32_t nsid)
{
	uint32_t target = bf_le32(dev->formatting->sqe.nsid);

	return target == BF_NVME_NSID_ALL || nsid == BF_NVME_NSID_ALL || nsid == target;
}

/* Format NVM. ---------------------------------------------------------------------------------------------------- */

static void format_now(struct bf_nvme_rq *rq)
{
	struct bf_nvme *dev = rq->dev;
	uint32_t nsid = bf_le32(rq->sqe.nsid), status = 0;
	uint8_t shift = bf_le32(rq->sqe.cdw10) & 0xf ? 12 : 9;

	for (uint32_t i = 0; i < BF_NVME_NS_MAX && !status; i++)
		if (dev->ns[i] && (nsid == BF_NVME_NSID_ALL || nsid == i + 1))
			status = bf_nvme_ns_format(dev->ns[i], shift);
	dev->formatting = NULL;
	bf_nvme_complete(rq, status);
}

/* Other commands of the namespace end first; new ones fail with Format in Progress meanwhile. */
static void format_when_idle(struct bf_nvme_rq *rq)
{
	struct bf_nvme *dev = rq->dev;

	if (is_busy(dev, bf_le32(rq->sqe.nsid)))
		bf_nvme_wait_until(rq, dev->sim->now_ps + RETRY_PS, format_when_idle);
	else
		bf_nvme_wait_until(rq, dev->sim->now_ps + dev->profile.erase_ps, format_now);
}

static uint32_t check_format(struct bf_nvme_rq *rq)
{
	uint32_t cdw10 = bf_le32(rq->sqe.cdw10), nsid = bf_le32(rq->sqe.nsid);

	if (nsid != BF_NVME_NSID_ALL && (!nsid || nsid > BF_NVME_NS_MAX || !rq->dev->ns[nsid - 1]))
		return BF_NVME_SC_INVALID_NS_OR_FORMAT | BF_NVME_DNR;
	/* LBAF 3:0 with its upper bits 13:12, no metadata (MSET 4), no protection (PI 7:5, PIL 8). */
	if ((cdw10 & 0xf) >= FORMATS || cdw10 & (3u << 12 | 7u << 5))
		return BF_NVME_SC_FORMAT | BF_NVME_DNR;
	if ((cdw10 >> 9 & 7) > 1) /* SES: none or user data erase; no cryptographic erase (FNA bit 2) */
		return bf_nvme_bad_field(rq, 41, 1);
	return rq->dev->formatting ? BF_NVME_SC_FORMAT_IN_PROGRESS : 0;
}

void bf_nvme_format(struct bf_nvme_rq *rq)
{
	uint32_t status = check_format(rq);

	if (status) {
		bf_nvme_complete(rq, status);
		return;
	}
	rq->dev->formatting = rq;
	rq->stuck = true;
	format_when_idle(rq);
}

/* Namespace Management. ------------------------------------------------------------------------------------------ */

static uint32_t create_ns(struct bf_nvme_rq *rq)
{
	struct bf_nvme *dev = rq->dev;
	uint64_t size = bf_get_le64(rq->buf), capacity = bf_get_le64(rq->buf + 8);
	uint32_t format = rq->buf[26], shift = format ? 12 : 9, nsid = 1;
	struct bf_nvme_ns_opts opts = { .lba = format ? BF_NVME_LBA_4096 : BF_NVME_LBA_512 };

	if (format >= FORMATS || rq->buf[29])
		return BF_NVME_SC_FORMAT | BF_NVME_DNR;
	if (size != capacity)
		return BF_NVME_SC_THIN_PROVISIONING | BF_NVME_DNR;
	if (!size || size << shift >> shift != size || (size << shift) % PAGE)
		return BF_NVME_SC_INVALID_FIELD | BF_NVME_DNR;
	if (size << shift > bf_nvme_unallocated(dev))
		return BF_NVME_SC_NS_INSUFFICIENT_CAPACITY | BF_NVME_DNR;
	while (nsid <= BF_NVME_NS_MAX && dev->ns[nsid - 1])
		nsid++;
	if (nsid > BF_NVME_NS_MAX)
		return BF_NVME_SC_NS_ID_UNAVAILABLE | BF_NVME_DNR;
	opts.bytes = size << shift;
	if (bf_nvme_ns_open(dev, nsid, &opts))
		return bf_nvme_no_memory(dev);
	dev->ns[nsid - 1]->attached = false;
	rq->dw0 = nsid;
	return 0;
}

static void created(struct bf_nvme_rq *rq, uint32_t status)
{
	bf_nvme_complete(rq, status ? status : create_ns(rq));
}

static void delete_one(struct bf_nvme *dev, uint32_t nsid)
{
	bool attached = dev->ns[nsid - 1]->attached;

	bf_nvme_ns_close(dev, nsid);
	if (attached)
		note_change(dev, nsid);
}

static void delete_when_idle(struct bf_nvme_rq *rq)
{
	struct bf_nvme *dev = rq->dev;
	uint32_t nsid = bf_le32(rq->sqe.nsid);

	if (is_busy(dev, nsid)) {
		bf_nvme_wait_until(rq, dev->sim->now_ps + RETRY_PS, delete_when_idle);
		return;
	}
	for (uint32_t i = 1; i <= BF_NVME_NS_MAX; i++)
		if (dev->ns[i - 1] && (nsid == BF_NVME_NSID_ALL || nsid == i))
			delete_one(dev, i);
	dev->formatting = NULL;
	bf_nvme_complete(rq, 0);
}

/* A deletion keeps new commands away as Format does. */
static void delete_ns(struct bf_nvme_rq *rq)
{
	struct bf_nvme *dev = rq->dev;
	uint32_t nsid = bf_le32(rq->sqe.nsid);

	if (nsid != BF_NVME_NSID_ALL && (!nsid || nsid > BF_NVME_NS_MAX || !dev->ns[nsid - 1])) {
		bf_nvme_complete(rq, BF_NVME_SC_INVALID_NS_OR_FORMAT | BF_NVME_DNR);
	} else if (dev->formatting) {
		bf_nvme_complete(rq, BF_NVME_SC_FORMAT_IN_PROGRESS);
	} else {
		dev->formatting = rq;
		rq->stuck = true;
		delete_when_idle(rq);
	}
}

void bf_nvme_ns_manage(struct bf_nvme_rq *rq)
{
	uint32_t sel = bf_le32(rq->sqe.cdw10) & 0xf;

	if (sel == SEL_SECOND) {
		delete_ns(rq);
	} else if (sel != SEL_FIRST || bf_le32(rq->sqe.cdw11) >> 24) {
		bf_nvme_complete(rq, bf_nvme_bad_field(rq, sel ? 40 : 47, 0));
	} else if (bf_nvme_admin_buf(rq, PAGE)) {
		rq->stuck = true;
		bf_nvme_data(rq, BF_NVME_FROM_HOST, rq->buf, PAGE, created);
	}
}

/* Namespace Attachment. ------------------------------------------------------------------------------------------ */

/* A list is a count and that many identifiers, ascending; this subsystem has one controller. */
static uint32_t attach(struct bf_nvme_rq *rq)
{
	struct bf_nvme *dev = rq->dev;
	uint32_t sel = bf_le32(rq->sqe.cdw10) & 0xf, nsid = bf_le32(rq->sqe.nsid);
	struct bf_nvme_ns *ns = nsid && nsid <= BF_NVME_NS_MAX ? dev->ns[nsid - 1] : NULL;

	if (!ns)
		return BF_NVME_SC_INVALID_NS_OR_FORMAT | BF_NVME_DNR;
	if (bf_get_le16(rq->buf) != 1 || bf_get_le16(rq->buf + 2) != BF_NVME_CNTLID)
		return BF_NVME_SC_CONTROLLER_LIST | BF_NVME_DNR;
	if (sel == SEL_FIRST && ns->attached)
		return BF_NVME_SC_NS_ALREADY_ATTACHED | BF_NVME_DNR;
	if (sel == SEL_SECOND && !ns->attached)
		return BF_NVME_SC_NS_NOT_ATTACHED | BF_NVME_DNR;
	ns->attached = sel == SEL_FIRST;
	return 0;
}

static void attached(struct bf_nvme_rq *rq, uint32_t status)
{
	struct bf_nvme *dev = rq->dev;
	uint32_t nsid = bf_le32(rq->sqe.nsid);

	if (!status)
		status = attach(rq);
	bf_nvme_complete(rq, status);
	if (!status)
		note_change(dev, nsid);
}

void bf_nvme_ns_attach(struct bf_nvme_rq *rq)
{
	if ((bf_le32(rq->sqe.cdw10) & 0xf) > SEL_SECOND)
		bf_nvme_complete(rq, bf_nvme_bad_field(rq, 40, 0));
	else if (bf_nvme_admin_buf(rq, PAGE))
		bf_nvme_data(rq, BF_NVME_FROM_HOST, rq->buf, PAGE, attached);
}
