/* Namespaces: creation, Format, and what Identify says of them. */
#include "models/nvme/media_internal.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#define NS_BYTES_MAX (1ull << 50) /* keeps arithmetic on offsets far from overflow */

struct bf_nvme_ns *bf_nvme_ns_find(struct bf_nvme *dev, uint32_t nsid)
{
	struct bf_nvme_ns *ns = nsid && nsid <= BF_NVME_NS_MAX ? dev->ns[nsid - 1] : NULL;

	return ns && ns->attached ? ns : NULL;
}

/*
 * EUI64 and NGUID that stay the same from run to run: of the serial number, the namespace's, and how many there were
 * before of that number, since a deleted namespace's identifiers are not for another (section 5.17.2.3).
 */
static void make_ids(struct bf_nvme_ns *ns)
{
	uint64_t low, high;
	uint32_t before = ns->dev->ns_made[ns->nsid - 1]++;
	char text[64];

	if (before)
		snprintf(text, sizeof(text), "%s:%u:%u", ns->dev->serial, ns->nsid, before);
	else
		snprintf(text, sizeof(text), "%s:%u", ns->dev->serial, ns->nsid);
	low = bf_fnv1a64(text);
	high = low;
	high = bf_splitmix64(&high);
	bf_put_be64(ns->eui64, low);
	/* Locally administered, so that it is nobody's (IEEE 802c). */
	ns->eui64[0] = (uint8_t)((ns->eui64[0] & 0xfc) | 2);
	bf_put_be64(ns->nguid, high);
	memcpy(ns->nguid + 8, ns->eui64, 8);
}

/* Media pages of the device that lie before those of namespace `nsid`: each starts on another channel. */
static uint64_t first_page(const struct bf_nvme *dev, uint32_t nsid)
{
	uint64_t page = nsid;

	for (uint32_t i = 0; i < BF_NVME_NS_MAX; i++)
		if (i + 1 != nsid && dev->ns[i] && dev->ns[i]->nsid < nsid)
			page += dev->ns[i]->bytes / dev->profile.media_page + 1;
	return page;
}

static int check_bytes(struct bf_nvme *dev, const struct bf_nvme_ns_opts *opts)
{
	if ((!opts->bytes && !opts->file) || opts->bytes % 4096 || opts->bytes > NS_BYTES_MAX)
		return bf_fail(&dev->sim->error, -EINVAL,
			       "'%s': a namespace of %llu bytes: a multiple of 4096, at most 1 PiB, is needed",
			       dev->name, (unsigned long long)opts->bytes);
	return 0;
}

static void set_format(struct bf_nvme_ns *ns, uint8_t lba_shift)
{
	ns->lba_shift = lba_shift;
	ns->blocks = ns->bytes >> lba_shift;
}

int bf_nvme_ns_open(struct bf_nvme *dev, uint32_t nsid, const struct bf_nvme_ns_opts *opts)
{
	struct bf_nvme_ns *ns;
	int rc = check_bytes(dev, opts);

	if (rc)
		return rc;
	ns = calloc(1, sizeof(*ns));
	if (!ns)
		return bf_fail(&dev->sim->error, -ENOMEM, "'%s': no memory for a namespace", dev->name);
	rc = bf_nvme_store_open(dev, opts, opts->bytes, &ns->media);
	if (rc) {
		free(ns);
		return rc;
	}
	ns->dev = dev;
	ns->nsid = nsid;
	ns->bytes = ns->media->bytes;
	ns->read_only = opts->read_only;
	ns->attached = true;
	ns->media->first_page = first_page(dev, nsid);
	set_format(ns, opts->lba == BF_NVME_LBA_4096 ? 12 : 9);
	make_ids(ns);
	dev->ns[nsid - 1] = ns;
	return 0;
}

uint64_t bf_nvme_unallocated(const struct bf_nvme *dev)
{
	uint64_t used = 0;

	for (uint32_t i = 0; i < BF_NVME_NS_MAX; i++)
		used += dev->ns[i] ? dev->ns[i]->bytes : 0;
	return dev->capacity > used ? dev->capacity - used : 0;
}

void bf_nvme_ns_close(struct bf_nvme *dev, uint32_t nsid)
{
	struct bf_nvme_ns *ns = dev->ns[nsid - 1];

	if (!ns)
		return;
	bf_nvme_file_quiesce(dev, ns->media);
	bf_nvme_store_retire(dev, ns->media);
	bf_nvme_lba_ranges_forget(ns);
	free(ns);
	dev->ns[nsid - 1] = NULL;
}

uint32_t bf_nvme_ns_format(struct bf_nvme_ns *ns, uint8_t lba_shift)
{
	uint32_t status;

	if (ns->read_only)
		return BF_NVME_SC_NS_WRITE_PROTECTED | BF_NVME_DNR;
	status = bf_nvme_media_erase(ns->media);
	if (status)
		return status;
	set_format(ns, lba_shift);
	bf_nvme_lba_ranges_forget(ns);
	return 0;
}

/* NVM Command Set specification, section 4.1.5.1, "NVM Command Set Identify Namespace Data Structure". */
void bf_nvme_ns_identify(const struct bf_nvme_ns *ns, uint8_t *page)
{
	bf_put_le64(page, ns->blocks);                                         /* NSZE */
	bf_put_le64(page + 8, ns->blocks);                                     /* NCAP */
	bf_put_le64(page + 16, (ns->media->allocated * 512) >> ns->lba_shift); /* NUSE */
	page[24] = 1u << 2; /* NSFEAT: deallocated blocks may be made to fail (DULBE) */
	page[25] = 1;       /* NLBAF, 0-based */
	page[26] = ns->lba_shift == 12;
	page[33] = 1u | 1u << 3;           /* DLFEAT: deallocated blocks read as zeros; Write Zeroes deallocates */
	bf_put_le64(page + 48, ns->bytes); /* NVMCAP */
	bf_put_le16(page + 74, BF_NVME_COPY_BLOCKS); /* MSSRL */
	bf_put_le32(page + 76, BF_NVME_COPY_BLOCKS); /* MCL */
	page[80] = BF_NVME_COPY_RANGES - 1;          /* MSRC */
	page[99] = ns->read_only;                    /* NSATTR: write protected */
	memcpy(page + 104, ns->nguid, 16);
	memcpy(page + 120, ns->eui64, 8);
	page[128 + 2] = 9; /* LBADS of the two formats; no metadata */
	page[132 + 2] = 12;
	page[132 + 3] = 0;
}

/* Same specification, section 4.1.5.3 (CNS 05h): nothing but what zeros say (no protection information). */
void bf_nvme_ns_identify_nvm(const struct bf_nvme_ns *ns, uint8_t *page)
{
	(void)ns;
	(void)page;
}

/* Base specification, section 5.17.2.8, "I/O Command Set Independent Identify Namespace data structure". */
void bf_nvme_ns_identify_independent(const struct bf_nvme_ns *ns, uint8_t *page)
{
	page[8] = ns->read_only; /* NSATTR */
	page[14] = 1;            /* NSTAT: ready */
}
