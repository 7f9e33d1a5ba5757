/* A controller with two namespaces, one page of memory, and features in one line, for the tests of admin commands. */
#ifndef BELFRY_TESTS_NVME_ADMIN_RIG_H
#define BELFRY_TESTS_NVME_ADMIN_RIG_H

#include "tests/models/nvme_rig.h"

static struct host h;
static struct host_opts o;
static uint8_t *page;
static uint64_t at;

#define FIELD (RIG_DNR | BF_NVME_SC_INVALID_FIELD)
#define NS (RIG_DNR | BF_NVME_SC_INVALID_NS_OR_FORMAT)

static const struct bf_nvme_ns_opts two_ns[2] = {
	{ .bytes = 64u << 20, .lba = BF_NVME_LBA_512 },
	{ .bytes = 32u << 20, .lba = BF_NVME_LBA_4096 },
};

static inline void setup(void)
{
	memset(&o, 0, sizeof(o));
	o.nvme.profile = &bf_nvme_instant;
	o.nvme.ns = two_ns;
	o.nvme.nns = 2;
	host_open(&h, &o);
	page = host_alloc(&h, 8192, 4096);
	at = host_va(&h, page);
}

static inline void teardown(void)
{
	host_close(&h);
}

static inline void restart(void)
{
	rig_store32(&h, BF_NVME_CC, 0);
	h.admin.tail = h.admin.head = 0;
	h.admin.phase = 1;
	memset((void *)(uintptr_t)h.admin.cq, 0, 16 * sizeof(*h.admin.cq));
	host_enable(&h, 0);
}

static inline uint32_t set(uint32_t fid, uint32_t nsid, uint32_t value)
{
	return rig_admin(&h, BF_NVME_ADM_SET_FEATURES, nsid, at, fid, value, NULL);
}

static inline uint32_t get(uint32_t fid, uint32_t nsid, uint32_t cdw11, uint32_t *value)
{
	return rig_admin(&h, BF_NVME_ADM_GET_FEATURES, nsid, at, fid, cdw11, value);
}

/* `bytes` of log page `lid` from `offset` on, in the page. */
static inline uint32_t log_at(uint32_t lid, uint64_t offset, uint32_t bytes)
{
	struct bf_nvme_sqe *e = host_slot(&h, &h.admin, BF_NVME_ADM_GET_LOG, BF_NVME_NSID_ALL);

	bf_put_le64(e->prp1.b, at);
	bf_put_le64(e->prp2.b, at + 4096);
	bf_put_le32(e->cdw10.b, lid | (bytes / 4 - 1) << 16);
	bf_put_le32(e->cdw12.b, (uint32_t)offset);
	bf_put_le32(e->cdw13.b, (uint32_t)(offset >> 32));
	return host_do(&h, &h.admin, NULL);
}

#endif
