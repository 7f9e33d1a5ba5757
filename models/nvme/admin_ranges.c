/*
 * Feature 03h, "LBA Range Type" (NVM Command Set specification, section 4.1.3.2): what a host keeps in which blocks.
 * The controller stores and returns the list and makes no use of it. An entry: type 0, attributes 1, first block 16,
 * blocks less one 24, GUID 32.
 */
#include "models/nvme/device_internal.h"

#include <stdlib.h>

#define NUM 0x3fu /* CDW11 and DW0: entries, 0-based */

static uint64_t first_of(const uint8_t *list, uint32_t i)
{
	return bf_get_le64(list + i * BF_NVME_LBA_RANGE + 16);
}

static uint64_t blocks_less_one(const uint8_t *list, uint32_t i)
{
	return bf_get_le64(list + i * BF_NVME_LBA_RANGE + 24);
}

uint32_t bf_nvme_lba_ranges_get(const struct bf_nvme_ns *ns, bool current, uint8_t *list)
{
	if (current && ns->lba_ranges) {
		memcpy(list, ns->lba_ranges, ns->nlba_ranges * BF_NVME_LBA_RANGE);
		return ns->nlba_ranges - 1;
	}
	list[1] = 1; /* may be overwritten */
	bf_put_le64(list + 24, ns->blocks - 1);
	return 0;
}

static uint32_t check(struct bf_nvme_rq *rq, uint32_t n)
{
	const uint64_t blocks = rq->ns->blocks;

	for (uint32_t i = 0; i < n; i++) {
		const uint64_t first = first_of(rq->buf, i), more = blocks_less_one(rq->buf, i);

		if (first >= blocks || more >= blocks - first)
			return bf_nvme_bad_field(rq, 24, 0);
		for (uint32_t k = 0; k < i; k++)
			if (first <= first_of(rq->buf, k) + blocks_less_one(rq->buf, k) &&
			    first_of(rq->buf, k) <= first + more)
				return BF_NVME_SC_OVERLAP | BF_NVME_DNR;
	}
	return 0;
}

/* The namespace may have been deleted while the list was on its way. */
uint32_t bf_nvme_lba_ranges_set(struct bf_nvme_rq *rq)
{
	const uint32_t n = (bf_le32(rq->sqe.cdw11) & NUM) + 1;
	struct bf_nvme_ns *ns = bf_nvme_ns_find(rq->dev, bf_le32(rq->sqe.nsid));
	uint32_t status;

	rq->ns = ns;
	if (!ns)
		return BF_NVME_SC_INVALID_NS_OR_FORMAT | BF_NVME_DNR;
	status = check(rq, n);
	if (status)
		return status;
	free(ns->lba_ranges);
	ns->lba_ranges = rq->buf;
	ns->nlba_ranges = n;
	rq->buf = NULL;
	return 0;
}

void bf_nvme_lba_ranges_forget(struct bf_nvme_ns *ns)
{
	free(ns->lba_ranges);
	ns->lba_ranges = NULL;
}
