/*
 * The controller memory buffer: BAR 2 as a whole, for queues, lists and data (Base specification, section 8.5).
 *
 * Since 1.4 the host must ask for it: CMBLOC and CMBSZ read 0 until CMBMSC.CRE is set, and the controller takes
 * addresses for the buffer's only while CMBMSC.CMSE is set, at CMBMSC.CBA and up.
 */
#include "models/nvme/device_internal.h"

#include <errno.h>
#include <stdio.h>
#include <sys/mman.h>

static void cmb_write(struct bf_region *region, uint64_t offset, const void *data, uint32_t len)
{
	memcpy(region->bytes + offset, data, len);
	bf_mem_touched(region, region->bytes + offset, len);
}

static uint64_t cmb_read(struct bf_region *region, uint64_t offset, uint32_t len)
{
	uint64_t value = 0;

	memcpy(&value, region->bytes + offset, len < 8 ? len : 8);
	return value;
}

static const struct bf_mmio_ops cmb_ops = { .write = cmb_write, .read = cmb_read };

/* The bytes are the device's own, so that it may touch them whatever the region's owner allows others. */
int bf_nvme_cmb_open(struct bf_nvme *dev, struct bf_space *space, uint64_t bytes, struct bf_link *link)
{
	char name[40];
	struct bf_region_opts opts = {
		.name = name, .kind = BF_MEM_MMIO, .mmio = &cmb_ops, .owner = dev, .link = link
	};
	void *memory;

	if (!bytes)
		return 0;
	if (bytes % BF_PAGE || bytes >> 12 >= 1u << 20)
		return bf_fail(&dev->sim->error, -EINVAL, "%s: a controller memory buffer cannot have %llu bytes",
			       dev->name, (unsigned long long)bytes);
	memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (memory == MAP_FAILED)
		return bf_fail(&dev->sim->error, -ENOMEM, "%s: no memory for the controller memory buffer", dev->name);
	dev->cmb_size = bytes;
	dev->cmb_bytes = memory;
	snprintf(name, sizeof(name), "%s.cmb", dev->name);
	opts.size = bytes;
	opts.bytes = memory;
	return bf_region_create(space, &opts, &dev->cmb);
}

void bf_nvme_cmb_close(struct bf_nvme *dev)
{
	if (dev->cmb)
		bf_region_destroy(dev->cmb);
	if (dev->cmb_bytes)
		munmap(dev->cmb_bytes, dev->cmb_size);
}

/* An address that the buffer would run over the end of memory at is invalid: CMBSTS.CBAI. */
void bf_nvme_write_cmbmsc(struct bf_nvme *dev, uint64_t value)
{
	uint64_t base;

	if (!dev->cmb)
		return;
	value &= BF_NVME_CMBMSC_CRE | BF_NVME_CMBMSC_CMSE | BF_NVME_CMBMSC_CBA;
	if (!(value & BF_NVME_CMBMSC_CRE))
		value &= ~BF_NVME_CMBMSC_CMSE;
	base = value & BF_NVME_CMBMSC_CBA;
	dev->regs.cmbmsc = value;
	dev->regs.cmbsts = value & BF_NVME_CMBMSC_CMSE && base + dev->cmb_size < base;
}

bool bf_nvme_in_cmb(const struct bf_nvme *dev, uint64_t iova)
{
	uint64_t msc = dev->regs.cmbmsc;

	if (BF_LIKELY(!(msc & BF_NVME_CMBMSC_CMSE)) || dev->regs.cmbsts)
		return false;
	return iova - (msc & BF_NVME_CMBMSC_CBA) < dev->cmb_size;
}

uint8_t *bf_nvme_cmb_at(const struct bf_nvme *dev, uint64_t iova, uint32_t len)
{
	uint64_t at = iova - (dev->regs.cmbmsc & BF_NVME_CMBMSC_CBA);

	return len <= dev->cmb_size - at ? dev->cmb_bytes + at : NULL;
}
