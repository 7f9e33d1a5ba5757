/* Configuration space: its bytes, which of them a host may change, and what changing them does. */
#include <errno.h>
#include <string.h>

#include "models/pci/function_internal.h"
#include "models/pci/records.h"
#include "sim/bytes.h"

/* Power management version 3 (PCIe 7.5.2.1), no D1, D2 or PME. No_Soft_Reset is 0: D3hot to D0 is a reset. */
#define PM_CAPS 0x0003u

/* Capability version 2, endpoint (PCIe 7.5.3.2). */
#define EXP_CAPS 0x0002u

/*
 * Payloads of 256 bytes, extended tags, role-based error reporting, function level reset (PCIe 7.5.3.3, bits 2:0, 5,
 * 15, 28). Extended tags only say that a requester may use them.
 */
#define EXP_DEVICE_CAPS 0x10008021u

/* Relaxed ordering, extended tags, no snoop on, 512-byte read requests: Device Control's defaults (7.5.3.4). */
#define EXP_DEVICE_CONTROL 0x2810u
#define EXP_DEVICE_CONTROL_WRITABLE 0x7fffu
#define EXP_DEVICE_CONTROL_PAYLOAD 0x00e0u
#define EXP_DEVICE_STATUS_CLEARS 0x000fu

/* ASPM control, read completion boundary, common clock, extended synch (7.5.3.7). */
#define EXP_LINK_CONTROL_WRITABLE 0x00cbu
#define EXP_LINK_SLOT_CLOCK 0x1000u

/* Completion time-out: may be switched off, with the range given by the host (7.5.3.15). */
#define EXP_DEVICE_CAPS2 0x00000010u
#define EXP_DEVICE_CONTROL2_WRITABLE 0x001fu

static void put16(struct bf_pci *fn, uint32_t at, uint32_t value, uint32_t writable)
{
	bf_put_le16(&fn->initial[at], (uint16_t)value);
	bf_put_le16(&fn->writable[at], (uint16_t)writable);
}

static void put32(struct bf_pci *fn, uint32_t at, uint32_t value)
{
	bf_put_le32(&fn->initial[at], value);
}

static void put_header(struct bf_pci *fn)
{
	const struct bf_pci_opts *o = &fn->opts;

	put16(fn, BF_PCI_VENDOR, o->vendor, 0);
	put16(fn, BF_PCI_DEVICE, o->device, 0);
	put16(fn, BF_PCI_COMMAND, 0,
	      BF_PCI_COMMAND_IO | BF_PCI_COMMAND_MEMORY | BF_PCI_COMMAND_MASTER | BF_PCI_COMMAND_PARITY |
		  BF_PCI_COMMAND_SERR | BF_PCI_COMMAND_INTX_OFF);
	put16(fn, BF_PCI_STATUS, BF_PCI_STATUS_CAPS, 0);
	bf_put_le16(&fn->clears[BF_PCI_STATUS], BF_PCI_STATUS_ERRORS);
	put32(fn, BF_PCI_REVISION, o->class_code << 8 | o->revision);
	fn->writable[BF_PCI_CACHE_LINE] = 0xff;
	put16(fn, BF_PCI_SUBSYSTEM_VENDOR, o->subsystem_vendor, 0);
	put16(fn, BF_PCI_SUBSYSTEM, o->subsystem, 0);
	fn->initial[BF_PCI_CAPABILITIES] = BF_PCI_AT_PM;
	fn->writable[BF_PCI_INTERRUPT_LINE] = 0xff;
}

/* A BAR decodes its address bits above its size; the lowest four tell what it is (PCIe 7.5.1.2.1). */
static void put_bars(struct bf_pci *fn)
{
	for (uint32_t i = 0; i < BF_PCI_BARS; i += 2) {
		const struct bf_region *r = fn->opts.bar[i];
		const uint32_t at = BF_PCI_BAR0 + 4 * i;

		if (!fn->bar_size[i])
			continue;
		put32(fn, at, BF_PCI_BAR_64 | (r && r->kind != BF_MEM_MMIO ? BF_PCI_BAR_PREFETCH : 0));
		bf_put_le64(&fn->writable[at], ~(fn->bar_size[i] - 1) & ~0xfull);
	}
}

static void put_capabilities(struct bf_pci *fn)
{
	const struct bf_pci_opts *o = &fn->opts;
	const uint32_t exp = BF_PCI_AT_PCIE, link = (uint32_t)o->link_speed | (uint32_t)o->link_width << 4;

	put16(fn, BF_PCI_AT_PM, BF_PCI_CAP_PM | BF_PCI_AT_MSIX << 8, 0);
	put16(fn, BF_PCI_AT_PM + BF_PCI_PM_CAPS, PM_CAPS, 0);
	put16(fn, BF_PCI_AT_PM + BF_PCI_PM_CONTROL, 0, BF_PCI_PM_STATE);

	put16(fn, BF_PCI_AT_MSIX, BF_PCI_CAP_MSIX | BF_PCI_AT_PCIE << 8, 0);
	put16(fn, BF_PCI_AT_MSIX + BF_PCI_MSIX_CONTROL, o->vectors - 1, BF_PCI_MSIX_ENABLE | BF_PCI_MSIX_MASK_ALL);
	put32(fn, BF_PCI_AT_MSIX + BF_PCI_MSIX_TABLE, (uint32_t)fn->table_at | o->msix_bar);
	put32(fn, BF_PCI_AT_MSIX + BF_PCI_MSIX_PBA, (uint32_t)fn->pba_at | o->msix_bar);

	put16(fn, exp, BF_PCI_CAP_PCIE, 0);
	put16(fn, exp + BF_PCI_EXP_CAPS, EXP_CAPS, 0);
	put32(fn, exp + BF_PCI_EXP_DEVICE_CAPS, EXP_DEVICE_CAPS);
	put16(fn, exp + BF_PCI_EXP_DEVICE_CONTROL, EXP_DEVICE_CONTROL, EXP_DEVICE_CONTROL_WRITABLE);
	bf_put_le16(&fn->clears[exp + BF_PCI_EXP_DEVICE_STATUS], EXP_DEVICE_STATUS_CLEARS);
	put32(fn, exp + BF_PCI_EXP_LINK_CAPS, link);
	put16(fn, exp + BF_PCI_EXP_LINK_CONTROL, 0, EXP_LINK_CONTROL_WRITABLE);
	put16(fn, exp + BF_PCI_EXP_LINK_STATUS, link | EXP_LINK_SLOT_CLOCK, 0);
	put32(fn, exp + BF_PCI_EXP_DEVICE_CAPS2, EXP_DEVICE_CAPS2);
	put16(fn, exp + BF_PCI_EXP_DEVICE_CONTROL2, 0, EXP_DEVICE_CONTROL2_WRITABLE);
	put32(fn, exp + BF_PCI_EXP_LINK_CAPS2, ((1u << o->link_speed) - 1) << 1); /* speeds up to ours, from bit 1 */
	put16(fn, exp + BF_PCI_EXP_LINK_CONTROL2, o->link_speed, 0xf);
}

void bf_pci_config_init(struct bf_pci *fn)
{
	memset(fn->initial, 0, sizeof(fn->initial));
	memset(fn->writable, 0, sizeof(fn->writable));
	memset(fn->clears, 0, sizeof(fn->clears));
	put_header(fn);
	put_bars(fn);
	put_capabilities(fn);
	memcpy(fn->config, fn->initial, sizeof(fn->config));
}

static bool inside(uint32_t offset, uint32_t len)
{
	return offset <= BF_PCI_CONFIG_BYTES && len <= BF_PCI_CONFIG_BYTES - offset;
}

int bf_pci_config_read(const struct bf_pci *fn, uint32_t offset, void *dst, uint32_t len)
{
	uint32_t used = 0;

	if (!inside(offset, len))
		return bf_fail(&fn->sim->error, -EINVAL, "%s: %u bytes at 0x%x reach out of configuration space",
			       fn->name, len, offset);
	if (offset < BF_PCI_CONFIG_USED)
		used = len < BF_PCI_CONFIG_USED - offset ? len : BF_PCI_CONFIG_USED - offset;
	if (used)
		memcpy(dst, fn->config + offset, used);
	memset((uint8_t *)dst + used, 0, len - used);
	return 0;
}

static uint32_t power_state(const struct bf_pci *fn)
{
	return fn->config[BF_PCI_AT_PM + BF_PCI_PM_CONTROL] & BF_PCI_PM_STATE;
}

bool bf_pci_is_master(const struct bf_pci *fn)
{
	return fn->config[BF_PCI_COMMAND] & BF_PCI_COMMAND_MASTER && power_state(fn) == 0;
}

static void record_write(const struct bf_pci *fn, uint32_t offset, const void *src, uint32_t len)
{
	BF_EMIT_TAIL(fn->sim, fn->actor, pci_config, src, len <= 64 ? len : 0, .offset = offset, .len = len);
}

int bf_pci_config_write(struct bf_pci *fn, uint32_t offset, const void *src, uint32_t len)
{
	const uint32_t flr_at = BF_PCI_AT_PCIE + BF_PCI_EXP_DEVICE_CONTROL + 1;
	const uint32_t state = power_state(fn);
	const uint8_t *value = src;
	bool flr = false;

	if (!inside(offset, len))
		return bf_fail(&fn->sim->error, -EINVAL, "%s: %u bytes at 0x%x reach out of configuration space",
			       fn->name, len, offset);
	fn->count.config_writes++;
	record_write(fn, offset, src, len);
	for (uint32_t at = offset; at < BF_PCI_CONFIG_USED && at - offset < len; at++) {
		const uint8_t v = value[at - offset], writable = fn->writable[at];

		fn->config[at] = (uint8_t)((fn->config[at] & ~writable & ~(v & fn->clears[at])) | (v & writable));
		flr |= at == flr_at && v & BF_PCI_EXP_FLR >> 8;
	}
	if (flr)
		bf_pci_reset(fn, BF_PCI_RESET_FLR);
	else if (state == BF_PCI_PM_D3 && power_state(fn) == 0)
		bf_pci_reset(fn, BF_PCI_RESET_POWER);
	else
		bf_pci_update_master(fn);
	return 0;
}

/*
 * The registers that describe the link rather than the function stay what they are (PCIe 6.6.2): payload size, ASPM,
 * read completion boundary, common clock and extended synch.
 */
static void restore_config(struct bf_pci *fn, enum bf_pci_reset kind)
{
	const uint32_t control = BF_PCI_AT_PCIE + BF_PCI_EXP_DEVICE_CONTROL;
	const uint32_t link = BF_PCI_AT_PCIE + BF_PCI_EXP_LINK_CONTROL;
	const uint16_t payload = bf_get_le16(&fn->config[control]) & EXP_DEVICE_CONTROL_PAYLOAD;
	const uint16_t kept = bf_get_le16(&fn->config[link]);
	const uint16_t fresh = bf_get_le16(&fn->initial[control]);

	memcpy(fn->config, fn->initial, sizeof(fn->config));
	if (kind != BF_PCI_RESET_FLR)
		return;
	bf_put_le16(&fn->config[control], (uint16_t)((fresh & ~EXP_DEVICE_CONTROL_PAYLOAD) | payload));
	bf_put_le16(&fn->config[link], kept);
}

static void reset_vectors(struct bf_pci *fn)
{
	const uint32_t n = fn->opts.vectors;

	memset(fn->table, 0, (size_t)n * BF_PCI_MSIX_ENTRY);
	for (uint32_t i = 0; i < n; i++) /* all masked (PCIe 7.7.2.8) */
		fn->table[i * BF_PCI_MSIX_ENTRY + BF_PCI_MSIX_ENTRY_CONTROL] = 1;
	memset(fn->pending, 0, (n + 63) / 64 * sizeof(*fn->pending));
}

void bf_pci_reset(struct bf_pci *fn, enum bf_pci_reset kind)
{
	fn->count.resets++;
	BF_EMIT(fn->sim, fn->actor, pci_reset, .reason = kind);
	restore_config(fn, kind);
	reset_vectors(fn);
	fn->master = false;
	if (fn->opts.ops && fn->opts.ops->reset)
		fn->opts.ops->reset(fn->opts.dev);
	reset_vectors(fn); /* nothing that the model said on its way down */
}
