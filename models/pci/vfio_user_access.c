/*
 * Registers, configuration space and reset.
 *
 * A write is answered before the model sees it: the client's processor stands still until then, and its monitor cannot
 * serve the DMA messages that the model may send.
 */
#include <errno.h>

#include "models/pci/vfio_user_internal.h"

static uint64_t size_of(const struct bf_vfio_user *s, uint32_t region)
{
	return region == BF_VFU_REGION_CONFIG ? BF_PCI_CONFIG_BYTES : bf_pci_bar_size(s->o.fn, region);
}

static int check(struct bf_vfio_user *s, const char *what, uint32_t region, uint64_t offset, uint32_t count)
{
	const uint64_t size = size_of(s, region);

	if (count && count <= BF_VFU_MAX_TRANSFER && offset <= size && count <= size - offset)
		return 0;
	return bf_vfu_refuse(s, -EINVAL, "%s of %u bytes at 0x%llx of region %u, which has 0x%llx", what, count,
			     (unsigned long long)offset, region, (unsigned long long)size);
}

int bf_vfu_region_read(struct bf_vfio_user *s, struct bf_vfu_message *m)
{
	const struct bf_vfu_region_access *a = (const void *)m->payload;
	const uint64_t offset = bf_get_le64(a->offset.b);
	const uint32_t region = bf_get_le32(a->region.b), count = bf_get_le32(a->count.b);
	uint8_t *p;
	int rc = check(s, "REGION_READ", region, offset, count);

	if (rc)
		return rc;
	p = bf_vfu_reply(s, m, (uint32_t)sizeof(*a) + count, -1);
	if (!p)
		return 0;
	memcpy(p, a, sizeof(*a));
	if (region == BF_VFU_REGION_CONFIG)
		return bf_pci_config_read(s->o.fn, (uint32_t)offset, p + sizeof(*a), count);
	return bf_pci_bar_read(s->o.fn, region, offset, p + sizeof(*a), count);
}

static void write_region(struct bf_vfio_user *s, uint32_t region, uint64_t offset, const void *data, uint32_t count)
{
	if (region == BF_VFU_REGION_CONFIG)
		bf_pci_config_write(s->o.fn, (uint32_t)offset, data, count);
	else
		bf_pci_bar_write(s->o.fn, region, offset, data, count);
}

int bf_vfu_region_write(struct bf_vfio_user *s, struct bf_vfu_message *m)
{
	const struct bf_vfu_region_access *a = (const void *)m->payload;
	const uint64_t offset = bf_get_le64(a->offset.b);
	const uint32_t region = bf_get_le32(a->region.b), count = bf_get_le32(a->count.b);
	uint8_t *p;
	int rc = check(s, "REGION_WRITE", region, offset, count);

	if (rc)
		return rc;
	if (count != m->len - sizeof(*a))
		return bf_vfu_refuse(s, -EINVAL, "REGION_WRITE of %u bytes brings %zu", count, m->len - sizeof(*a));
	p = bf_vfu_reply(s, m, sizeof(*a), -1);
	if (p) {
		memcpy(p, a, sizeof(*a));
		bf_vfu_flush(s);
	}
	write_region(s, region, offset, a + 1, count);
	return 0;
}

/* All entries are looked at before the first is written. Never answered, whatever the flags say. */
int bf_vfu_write_multi(struct bf_vfio_user *s, struct bf_vfu_message *m)
{
	const struct bf_vfu_write_entry *e = (const void *)(m->payload + sizeof(struct bf_vfu_write_multi));
	const uint64_t count = bf_get_le64(m->payload);

	m->replied = true;
	if (count != (m->len - sizeof(struct bf_vfu_write_multi)) / sizeof(*e) ||
	    count * sizeof(*e) != m->len - sizeof(struct bf_vfu_write_multi))
		return bf_vfu_refuse(s, -EINVAL, "WRITE_MULTI of %llu entries in %u bytes", (unsigned long long)count,
				     m->len);
	for (uint64_t i = 0; i < count; i++) {
		const uint32_t n = bf_get_le32(e[i].count.b);
		int rc = check(s, "WRITE_MULTI", bf_get_le32(e[i].region.b), bf_get_le64(e[i].offset.b), n);

		if (!rc && n > sizeof(e[i].data))
			rc = bf_vfu_refuse(s, -EINVAL, "WRITE_MULTI: an entry of %u bytes", n);
		if (rc)
			return rc;
	}
	for (uint64_t i = 0; i < count; i++)
		write_region(s, bf_get_le32(e[i].region.b), bf_get_le64(e[i].offset.b), e[i].data,
			     bf_get_le32(e[i].count.b));
	return 0;
}

/* Descriptors of interrupts and DMA maps belong to the connection and stay. */
int bf_vfu_reset(struct bf_vfio_user *s, struct bf_vfu_message *m)
{
	bf_vfu_reply(s, m, 0, -1);
	bf_vfu_flush(s);
	bf_pci_reset(s->o.fn, BF_PCI_RESET_CONVENTIONAL);
	return 0;
}
