/* The function's BARs, interrupts and life. Configuration space and resets are in config.c. */
#include "models/pci/function.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "models/pci/function_internal.h"
#include "models/pci/records.h"
#include "sim/pcie.h"
#include "sim/stats.h"

static int attach_stats(struct bf_pci *fn)
{
	const struct {
		const char *name;
		const uint64_t *field;
	} stats[] = {
		{ "pci.interrupts", &fn->count.interrupts },       { "pci.resets", &fn->count.resets },
		{ "pci.config_writes", &fn->count.config_writes }, { "pci.bar_reads", &fn->count.bar_reads },
		{ "pci.bar_writes", &fn->count.bar_writes },
	};

	for (uint32_t i = 0; i < BF_ARRAY_LEN(stats); i++)
		if (bf_stats_attach_part(fn->sim, fn, fn->name, stats[i].name, "", stats[i].field))
			return -ENOMEM;
	return 0;
}

int bf_pci_create(struct bf_sim *sim, const char *name, struct bf_pci **out)
{
	struct bf_pci *fn = calloc(1, sizeof(*fn));

	*out = NULL;
	if (!fn)
		return bf_fail(&sim->error, -ENOMEM, "PCI function '%s': no memory", name);
	fn->sim = sim;
	strncpy(fn->name, name, sizeof(fn->name) - 1);
	fn->actor = bf_stream_actor(&sim->rec, "pci", name);
	if (!fn->actor || attach_stats(fn)) {
		bf_pci_destroy(fn);
		return bf_fail(&sim->error, -ENOMEM, "PCI function '%s': no memory", name);
	}
	*out = fn;
	return 0;
}

void bf_pci_destroy(struct bf_pci *fn)
{
	if (!fn)
		return;
	bf_stats_detach(fn->sim, fn);
	free(fn->table);
	free(fn->pending);
	free(fn);
}

static int check_opts(const struct bf_pci *fn, const struct bf_pci_opts *o)
{
	struct bf_error *err = &fn->sim->error;

	for (uint32_t i = 1; i < BF_PCI_BARS; i += 2)
		if (o->bar[i])
			return bf_fail(err, -EINVAL, "%s: BAR %u is the upper half of a 64-bit one", fn->name, i);
	if (!o->vectors || o->vectors > BF_PCI_MSIX_VECTORS)
		return bf_fail(err, -EINVAL, "%s: %u MSI-X vectors, not 1 to %u", fn->name, o->vectors,
			       BF_PCI_MSIX_VECTORS);
	if (o->msix_bar >= BF_PCI_BARS || o->msix_bar % 2)
		return bf_fail(err, -EINVAL, "%s: MSI-X in BAR %u", fn->name, o->msix_bar);
	if (!o->link_speed || o->link_speed > 6 || !o->link_width || o->link_width > 32)
		return bf_fail(err, -EINVAL, "%s: a link of speed %u with %u lanes", fn->name, o->link_speed,
			       o->link_width);
	return 0;
}

static uint64_t pages(uint64_t bytes)
{
	return (bytes + BF_PAGE - 1) & ~(uint64_t)(BF_PAGE - 1);
}

static void lay_out_bars(struct bf_pci *fn)
{
	for (uint32_t i = 0; i < BF_PCI_BARS; i += 2) {
		const uint64_t device = fn->opts.bar[i] ? pages(fn->opts.bar[i]->size) : 0;
		uint64_t need = device, size = BF_PAGE;

		if (i == fn->opts.msix_bar) {
			fn->table_at = device;
			fn->table_size = (uint64_t)fn->opts.vectors * BF_PCI_MSIX_ENTRY;
			fn->pba_at = device + pages(fn->table_size);
			fn->pba_size = (fn->opts.vectors + 63) / 64 * 8;
			need = fn->pba_at + pages(fn->pba_size);
		}
		while (size < need)
			size *= 2;
		fn->bar_size[i] = need ? size : 0;
	}
}

int bf_pci_attach(struct bf_pci *fn, const struct bf_pci_opts *opts)
{
	int rc = check_opts(fn, opts);

	if (rc)
		return rc;
	fn->opts = *opts;
	lay_out_bars(fn);
	if (fn->pba_at > UINT32_MAX) /* its offset in the capability has 32 bits */
		return bf_fail(&fn->sim->error, -EINVAL, "%s: BAR %u is too large for MSI-X", fn->name, opts->msix_bar);
	fn->table = calloc(opts->vectors, BF_PCI_MSIX_ENTRY);
	fn->pending = calloc((opts->vectors + 63) / 64, sizeof(*fn->pending));
	if (!fn->table || !fn->pending)
		return bf_fail(&fn->sim->error, -ENOMEM, "%s: no memory for %u vectors", fn->name, opts->vectors);
	for (uint32_t i = 0; i < opts->vectors; i++)
		fn->table[i * BF_PCI_MSIX_ENTRY + BF_PCI_MSIX_ENTRY_CONTROL] = 1;
	bf_pci_config_init(fn);
	fn->attached = true;
	if (opts->ops && opts->ops->bus_master)
		opts->ops->bus_master(opts->dev, false);
	return 0;
}

uint64_t bf_pci_bar_size(const struct bf_pci *fn, uint32_t bar)
{
	return bar < BF_PCI_BARS ? fn->bar_size[bar] : 0;
}

static int check_access(const struct bf_pci *fn, uint32_t bar, uint64_t offset, uint32_t len)
{
	const uint64_t size = bf_pci_bar_size(fn, bar);

	if (offset <= size && len <= size - offset)
		return 0;
	return bf_fail(&fn->sim->error, -EINVAL, "%s: %u bytes at 0x%llx reach out of BAR %u (0x%llx bytes)", fn->name,
		       len, (unsigned long long)offset, bar, (unsigned long long)size);
}

/* MSI-X table or PBA: at most `len` bytes at `offset` of the BAR, or NULL; `*run` gets how many. */
static uint8_t *vector_bytes(const struct bf_pci *fn, uint32_t bar, uint64_t offset, uint32_t len, uint32_t *run)
{
	uint64_t at = offset - fn->table_at, size = fn->table_size;
	uint8_t *bytes = fn->table;

	if (bar != fn->opts.msix_bar)
		return NULL;
	if (at >= size) {
		at = offset - fn->pba_at;
		size = fn->pba_size;
		bytes = (uint8_t *)fn->pending;
	}
	if (at >= size)
		return NULL;
	*run = len < size - at ? len : (uint32_t)(size - at);
	return bytes + at;
}

/* How much of an access of `len` bytes the registers see at once: all of it up to 8 bytes, then aligned pieces. */
static uint32_t register_run(uint64_t offset, uint32_t len)
{
	const uint32_t to_boundary = 8 - (uint32_t)(offset & 7);

	if (len <= 8)
		return len;
	return to_boundary;
}

/* Bytes from `offset` on that the device's region has, at most `len`; 0: none. */
static uint32_t device_run(const struct bf_region *r, uint64_t offset, uint32_t len)
{
	if (!r || offset >= r->size)
		return 0;
	return len < r->size - offset ? len : (uint32_t)(r->size - offset);
}

static uint32_t read_piece(struct bf_pci *fn, uint32_t bar, uint64_t offset, uint8_t *dst, uint32_t len)
{
	struct bf_region *r = fn->opts.bar[bar];
	uint32_t run = device_run(r, offset, len);
	uint8_t *bytes;
	uint64_t value, done_ps;

	if (run && r->kind != BF_MEM_MMIO) {
		memcpy(dst, r->bytes + offset, run);
		return run;
	}
	if (run) {
		run = register_run(offset, run);
		value = bf_mmio_load(r, offset, run, &done_ps);
		memcpy(dst, &value, run);
		return run;
	}
	bytes = vector_bytes(fn, bar, offset, len, &run);
	if (bytes) {
		memcpy(dst, bytes, run);
		return run;
	}
	*dst = 0; /* between the parts of a BAR there is nothing */
	return 1;
}

static bool awake(const struct bf_pci *fn)
{
	return (fn->config[BF_PCI_AT_PM + BF_PCI_PM_CONTROL] & BF_PCI_PM_STATE) == 0;
}

int bf_pci_bar_read(struct bf_pci *fn, uint32_t bar, uint64_t offset, void *dst, uint32_t len)
{
	uint8_t *to = dst;
	int rc = check_access(fn, bar, offset, len);

	if (rc)
		return rc;
	fn->count.bar_reads++;
	if (!awake(fn)) {
		memset(dst, 0xff, len);
		return 0;
	}
	for (uint32_t at = 0; at < len;)
		at += read_piece(fn, bar, offset + at, to + at, len - at);
	return 0;
}

static uint32_t write_piece(struct bf_pci *fn, uint32_t bar, uint64_t offset, const uint8_t *src, uint32_t len)
{
	struct bf_region *r = fn->opts.bar[bar];
	uint32_t run = device_run(r, offset, len);
	uint8_t *bytes;

	if (run && r->kind != BF_MEM_MMIO) {
		memcpy(r->bytes + offset, src, run);
		bf_mem_touched(r, r->bytes + offset, run);
		return run;
	}
	if (run) {
		run = register_run(offset, run);
		bf_mmio_post(r, offset, src, run);
		return run;
	}
	bytes = vector_bytes(fn, bar, offset, len, &run);
	if (!bytes)
		return 1;
	if (offset < fn->pba_at) /* the PBA is read-only */
		memcpy(bytes, src, run);
	return run;
}

int bf_pci_bar_write(struct bf_pci *fn, uint32_t bar, uint64_t offset, const void *src, uint32_t len)
{
	const uint8_t *from = src;
	int rc = check_access(fn, bar, offset, len);

	if (rc)
		return rc;
	fn->count.bar_writes++;
	for (uint32_t at = 0; at < len && awake(fn);)
		at += write_piece(fn, bar, offset + at, from + at, len - at);
	return 0;
}

static void record_interrupt(const struct bf_pci *fn, uint32_t vector, uint32_t what)
{
	BF_EMIT(fn->sim, fn->actor, pci_interrupt, .vector = vector, .what = what);
}

/* An interrupt is a memory write: without bus mastering it cannot leave (PCIe 7.5.1.1.3, bit 2). */
void bf_pci_interrupt(void *arg, uint32_t vector)
{
	struct bf_pci *fn = arg;
	const bool exists = fn->attached && vector < fn->opts.vectors;

	record_interrupt(fn, vector, !exists ? 3 : bf_pci_is_master(fn) ? 0 : 2);
	if (!exists)
		return;
	fn->count.interrupts++;
	fn->pending[vector / 64] |= 1ull << vector % 64;
	if (fn->ready && bf_pci_is_master(fn))
		fn->ready(fn->ready_arg);
}

void bf_pci_listen(struct bf_pci *fn, void (*ready)(void *arg), void *arg)
{
	fn->ready = ready;
	fn->ready_arg = arg;
}

int32_t bf_pci_next_pending(const struct bf_pci *fn, uint32_t from)
{
	const uint32_t words = (fn->opts.vectors + 63) / 64;

	for (uint32_t w = from / 64; w < words; w++) {
		uint64_t bits = fn->pending[w];

		if (w == from / 64)
			bits &= ~0ull << from % 64;
		if (bits)
			return (int32_t)(w * 64 + (uint32_t)__builtin_ctzll(bits));
	}
	return -1;
}

void bf_pci_sent(struct bf_pci *fn, uint32_t vector)
{
	fn->pending[vector / 64] &= ~(1ull << vector % 64);
	record_interrupt(fn, vector, 1);
}

void bf_pci_update_master(struct bf_pci *fn)
{
	const bool on = bf_pci_is_master(fn);

	if (on == fn->master)
		return;
	fn->master = on;
	if (fn->opts.ops && fn->opts.ops->bus_master)
		fn->opts.ops->bus_master(fn->opts.dev, on);
	if (on && fn->ready && bf_pci_next_pending(fn, 0) >= 0)
		fn->ready(fn->ready_arg);
}

uint32_t bf_pci_vectors(const struct bf_pci *fn)
{
	return fn->opts.vectors;
}

struct bf_region *bf_pci_bar_region(const struct bf_pci *fn, uint32_t bar)
{
	return bar < BF_PCI_BARS ? fn->opts.bar[bar] : NULL;
}

const char *bf_pci_name(const struct bf_pci *fn)
{
	return fn->name;
}

struct bf_sim *bf_pci_sim(const struct bf_pci *fn)
{
	return fn->sim;
}
