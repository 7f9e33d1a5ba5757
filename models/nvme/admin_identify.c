/*
 * Identify (Base specification, section 5.17). What the structures claim is what the other files do; offsets of fields
 * as in figure "Identify Controller Data Structure".
 */
#include "models/nvme/device_internal.h"

#include <stdio.h>

#define PAGE 4096u
#define CSI_NVM 0u

/* Optional admin commands: Format, Firmware, Namespace Management, Self-test, Doorbell Buffer Config. */
#define OACS (1u << 1 | 1u << 2 | 1u << 3 | 1u << 4 | 1u << 8)
/* Log pages: commands supported and effects (1), extended data with offsets (2), supported pages and features (5). */
#define LPA (1u << 1 | 1u << 2 | 1u << 5)
#define OAES_NAMESPACE (1u << 8)
#define CTRATT_HOST_ID (1u << 0)
#define VWC_PRESENT 1u
#define VWC_FLUSH_ALL (3u << 1) /* Flush takes the broadcast namespace */
#define KAS 10u                 /* keep alive granularity, x 100 ms */

/* Space padded, no NUL (section 1.5, "ASCII string"). */
static void put_text(uint8_t *at, size_t len, const char *text)
{
	size_t n = strlen(text);

	memset(at, ' ', len);
	memcpy(at, text, n < len ? n : len);
}

/* One name for each serial number, in the form of section 4.5 that is made of a UUID (version 8: made by the vendor).
 */
static void put_subnqn(const struct bf_nvme *dev, uint8_t *at)
{
	uint64_t high = bf_fnv1a64(dev->serial), low = bf_splitmix64(&high);

	snprintf((char *)at, 256, "nqn.2014-08.org.nvmexpress:uuid:%08x-%04x-8%03x-%04x-%012llx",
		 (uint32_t)(high >> 32), (uint32_t)(high >> 16) & 0xffff, (uint32_t)high & 0xfff,
		 (uint32_t)(low >> 48 & 0x3fff) | 0x8000, (unsigned long long)(low & 0xffffffffffff));
}

static void put_admin_part(const struct bf_nvme *dev, uint8_t *page)
{
	uint64_t entry_us = dev->profile.disable_ps / BF_US, resume_us = dev->profile.ready_ps / BF_US;

	bf_put_le16(page, BF_NVME_VENDOR);
	bf_put_le16(page + 2, BF_NVME_VENDOR); /* SSVID */
	put_text(page + 4, 20, dev->serial);
	put_text(page + 24, 40, "Belfry NVMe Controller");
	put_text(page + 64, 8, bf_nvme_firmware_revision(dev));
	page[77] = (uint8_t)dev->profile.mdts;
	bf_put_le16(page + 78, BF_NVME_CNTLID);
	bf_put_le32(page + 80, BF_NVME_VERSION);
	bf_put_le32(page + 84, (uint32_t)resume_us + 1); /* RTD3R, RTD3E: 0 would say "not reported" */
	bf_put_le32(page + 88, (uint32_t)entry_us + 1);
	bf_put_le32(page + 92, OAES_NAMESPACE);
	bf_put_le32(page + 96, CTRATT_HOST_ID);
	page[111] = 1; /* CNTRLTYPE: I/O controller */
	bf_put_le16(page + 256, OACS);
	page[258] = BF_NVME_ABORT_LIMIT - 1;
	page[259] = BF_NVME_AER_LIMIT - 1;
	page[260] = BF_NVME_FRMW;
	page[261] = LPA;
	page[262] = BF_NVME_ERROR_ENTRIES - 1;
	bf_put_le16(page + 266, BF_NVME_WARNING_KELVIN);
	bf_put_le16(page + 268, BF_NVME_CRITICAL_KELVIN);
	bf_put_le64(page + 280, dev->capacity);            /* TNVMCAP */
	bf_put_le64(page + 296, bf_nvme_unallocated(dev)); /* UNVMCAP */
	bf_put_le16(page + 316, BF_NVME_SELF_TEST_MINUTES);
	page[318] = 1; /* DSTO: one self-test at a time */
	bf_put_le16(page + 320, KAS);
}

static void put_controller(const struct bf_nvme *dev, uint8_t *page)
{
	put_admin_part(dev, page);
	page[512] = 0x66; /* SQES, CQES: most and least, powers of two */
	page[513] = 0x44;
	bf_put_le32(page + 516, BF_NVME_NS_MAX);
	bf_put_le16(page + 520, BF_NVME_ONCS);
	bf_put_le16(page + 522, BF_NVME_FUSES);
	page[525] = dev->profile.cache_bytes ? VWC_PRESENT | VWC_FLUSH_ALL : VWC_FLUSH_ALL;
	bf_put_le32(page + 536, BF_NVME_SGLS);
	put_subnqn(dev, page + 768);
	bf_put_le16(page + 2048, 570); /* PSD0 MP: 5.7 W, the 970 PRO's data sheet */
}

/* CNS 00h with the broadcast namespace: what a namespace that is created will have in common with the others. */
static void put_common_ns(const struct bf_nvme *dev, uint8_t *page)
{
	static const struct {
		uint16_t at, len;
	} own[] = { { 0, 24 }, { 26, 1 }, { 48, 16 }, { 99, 1 }, { 104, 24 } };

	for (uint32_t i = 0; i < BF_NVME_NS_MAX; i++) {
		if (!dev->ns[i])
			continue;
		bf_nvme_ns_identify(dev->ns[i], page);
		break;
	}
	for (size_t i = 0; i < BF_ARRAY_LEN(own); i++)
		memset(page + own[i].at, 0, own[i].len);
}

enum which { ACTIVE, ALLOCATED };

static struct bf_nvme_ns *find(const struct bf_nvme *dev, uint32_t nsid, enum which which)
{
	struct bf_nvme_ns *ns = nsid && nsid <= BF_NVME_NS_MAX ? dev->ns[nsid - 1] : NULL;

	return ns && (which == ALLOCATED || ns->attached) ? ns : NULL;
}

/* Namespaces above `nsid`, ascending. */
static uint32_t put_ns_list(const struct bf_nvme *dev, uint32_t nsid, enum which which, uint8_t *page)
{
	if (nsid >= BF_NVME_NSID_ALL - 1)
		return BF_NVME_SC_INVALID_NS_OR_FORMAT | BF_NVME_DNR;
	for (uint32_t i = nsid + 1; i <= BF_NVME_NS_MAX; i++) {
		if (!find(dev, i, which))
			continue;
		bf_put_le32(page, i);
		page += 4;
	}
	return 0;
}

/* A namespace identifier that cannot be fails; one that could but is not here gives zeros (section 5.17.2.1). */
static uint32_t put_ns(const struct bf_nvme *dev, uint32_t nsid, enum which which,
		       void (*put)(const struct bf_nvme_ns *ns, uint8_t *page), uint8_t *page)
{
	const struct bf_nvme_ns *ns = find(dev, nsid, which);

	if (!nsid || nsid > BF_NVME_NS_MAX)
		return BF_NVME_SC_INVALID_NS_OR_FORMAT | BF_NVME_DNR;
	if (ns)
		put(ns, page);
	return 0;
}

/* Descriptors: type, length, two reserved bytes, value; a length of 0 ends the list. */
static uint32_t put_descriptors(const struct bf_nvme *dev, uint32_t nsid, uint8_t *page)
{
	const struct bf_nvme_ns *ns = find(dev, nsid, ACTIVE);

	if (!ns)
		return BF_NVME_SC_INVALID_NS_OR_FORMAT | BF_NVME_DNR;
	page[0] = 1;
	page[1] = sizeof(ns->eui64);
	memcpy(page + 4, ns->eui64, sizeof(ns->eui64));
	page[12] = 2;
	page[13] = sizeof(ns->nguid);
	memcpy(page + 16, ns->nguid, sizeof(ns->nguid));
	page[32] = 4; /* command set identifier, one byte: NVM */
	page[33] = 1;
	page[36] = CSI_NVM;
	return 0;
}

/* The controllers above CNTID that have the namespace; `nsid` 0: all of the subsystem. There is one. */
static uint32_t put_controllers(const struct bf_nvme *dev, uint32_t nsid, uint32_t cntid, bool all, uint8_t *page)
{
	const struct bf_nvme_ns *ns = find(dev, nsid, ALLOCATED);

	if (!all && !ns)
		return BF_NVME_SC_INVALID_NS_OR_FORMAT | BF_NVME_DNR;
	if (cntid > BF_NVME_CNTLID || (!all && !ns->attached))
		return 0;
	bf_put_le16(page, 1);
	bf_put_le16(page + 2, BF_NVME_CNTLID);
	return 0;
}

static uint32_t fill_for_set(struct bf_nvme_rq *rq, uint32_t cns, uint32_t nsid, uint8_t *page)
{
	const struct bf_nvme *dev = rq->dev;

	if (bf_le32(rq->sqe.cdw11) >> 24 != CSI_NVM)
		return bf_nvme_bad_field(rq, 47, 0);
	switch (cns) {
	case 0x05:
		return put_ns(dev, nsid, ACTIVE, bf_nvme_ns_identify_nvm, page);
	case 0x06:
		bf_nvme_io_identify(dev, page);
		return 0;
	default:
		return put_ns_list(dev, nsid, ACTIVE, page);
	}
}

static uint32_t fill(struct bf_nvme_rq *rq, uint8_t *page)
{
	const struct bf_nvme *dev = rq->dev;
	uint32_t cdw10 = bf_le32(rq->sqe.cdw10), cns = cdw10 & 0xff, cntid = cdw10 >> 16;
	uint32_t nsid = bf_le32(rq->sqe.nsid);

	switch (cns) {
	case 0x00:
		if (nsid != BF_NVME_NSID_ALL)
			return put_ns(dev, nsid, ACTIVE, bf_nvme_ns_identify, page);
		put_common_ns(dev, page);
		return 0;
	case 0x01:
		put_controller(dev, page);
		return 0;
	case 0x02:
		return put_ns_list(dev, nsid, ACTIVE, page);
	case 0x03:
		return put_descriptors(dev, nsid, page);
	case 0x05:
	case 0x06:
	case 0x07:
		return fill_for_set(rq, cns, nsid, page);
	case 0x08:
		return put_ns(dev, nsid, ACTIVE, bf_nvme_ns_identify_independent, page);
	case 0x10:
		return put_ns_list(dev, nsid, ALLOCATED, page);
	case 0x11:
		return put_ns(dev, nsid, ALLOCATED, bf_nvme_ns_identify, page);
	case 0x12:
		return put_controllers(dev, nsid, cntid, false, page);
	case 0x13:
		return put_controllers(dev, nsid, cntid, true, page);
	case 0x1c:
		if (cntid != 0xffff && cntid != BF_NVME_CNTLID)
			return bf_nvme_bad_field(rq, 42, 0);
		page[0] = 1u << CSI_NVM; /* the one combination of command sets */
		return 0;
	default:
		return bf_nvme_bad_field(rq, 40, 0);
	}
}

void bf_nvme_identify(struct bf_nvme_rq *rq)
{
	uint8_t *page = bf_nvme_admin_buf(rq, PAGE);
	uint32_t status;

	if (!page)
		return;
	status = fill(rq, page);
	if (status)
		bf_nvme_complete(rq, status);
	else
		bf_nvme_admin_send(rq, PAGE);
}
