/* A PCI function without a server: what a host finds in configuration space and BARs, and what resets do. */
#include <check.h>

#include "tests/models/vfio_user_rig.h"

static struct rig r;

static void set_up(void)
{
	ck_assert_int_eq(rig_open_function(&r), 0);
}

static void tear_down(void)
{
	rig_close(&r);
}

static uint32_t config(uint32_t at, uint32_t len)
{
	uint32_t value = 0;

	ck_assert_int_eq(bf_pci_config_read(r.fn, at, &value, len), 0);
	return value;
}

static void set_config(uint32_t at, uint32_t value, uint32_t len)
{
	ck_assert_int_eq(bf_pci_config_write(r.fn, at, &value, len), 0);
}

static uint32_t capability(uint32_t id)
{
	uint32_t at = config(BF_PCI_CAPABILITIES, 1);

	for (int i = 0; at && i < 8; i++, at = config(at + 1, 1))
		if (config(at, 1) == id)
			return at;
	ck_abort_msg("no capability 0x%x", id);
}

static uint64_t bar(uint32_t index, uint64_t offset, uint32_t len)
{
	uint64_t value = 0;

	ck_assert_int_eq(bf_pci_bar_read(r.fn, index, offset, &value, len), 0);
	return value;
}

static void set_bar(uint32_t index, uint64_t offset, uint64_t value, uint32_t len)
{
	ck_assert_int_eq(bf_pci_bar_write(r.fn, index, offset, &value, len), 0);
}

START_TEST(header_says_what_was_asked_for)
{
	uint8_t all[BF_PCI_CONFIG_BYTES];

	ck_assert_uint_eq(config(BF_PCI_VENDOR, 4), 0x56781234);
	ck_assert_uint_eq(config(BF_PCI_REVISION, 4), 0x01080207);
	ck_assert_uint_eq(config(BF_PCI_SUBSYSTEM_VENDOR, 4), 0xdef09abc);
	ck_assert_uint_eq(config(BF_PCI_STATUS, 2), BF_PCI_STATUS_CAPS);
	ck_assert_uint_eq(config(BF_PCI_HEADER_TYPE, 1), 0);
	ck_assert_uint_eq(config(BF_PCI_INTERRUPT_PIN, 1), 0);
	ck_assert_int_eq(bf_pci_config_read(r.fn, 0, all, sizeof(all)), 0);
	ck_assert_uint_eq(bf_get_le32(all + 0x100), 0); /* no extended capabilities */
	ck_assert_int_eq(bf_pci_config_read(r.fn, 1, all, sizeof(all)), -EINVAL);
	ck_assert_int_eq(bf_pci_config_read(r.fn, UINT32_MAX, all, 2), -EINVAL);
	ck_assert_int_eq(bf_pci_config_write(r.fn, 4095, all, 2), -EINVAL);
}
END_TEST

START_TEST(capabilities_are_a_chain_that_ends)
{
	const uint32_t msix = capability(BF_PCI_CAP_MSIX), exp = capability(BF_PCI_CAP_PCIE);

	ck_assert_uint_ne(capability(BF_PCI_CAP_PM), 0);
	ck_assert_uint_eq(config(msix + BF_PCI_MSIX_CONTROL, 2), RIG_VECTORS - 1);
	ck_assert_uint_eq(config(msix + BF_PCI_MSIX_TABLE, 4), RIG_BAR_BYTES);
	ck_assert_uint_eq(config(msix + BF_PCI_MSIX_PBA, 4), RIG_BAR_BYTES + 0x1000);
	ck_assert_uint_eq(config(exp + BF_PCI_EXP_CAPS, 2) & 0xf, 2);
	ck_assert_uint_ne(config(exp + BF_PCI_EXP_DEVICE_CAPS, 4) & 1u << 28, 0); /* FLR */
	ck_assert_uint_eq(config(exp + BF_PCI_EXP_LINK_STATUS, 2) & 0x3ff, 0x43);
	ck_assert_uint_eq(config(exp + BF_PCI_EXP_LINK_CAPS2, 4), 0xe);
	ck_assert_uint_le(exp + BF_PCI_EXP_SIZE, 0x100);
}
END_TEST

START_TEST(bars_can_be_sized)
{
	const uint64_t all = ~0ull;
	uint64_t got;

	ck_assert_uint_eq(bf_pci_bar_size(r.fn, 0), 0x4000);
	ck_assert_uint_eq(bf_pci_bar_size(r.fn, 1), 0);
	ck_assert_uint_eq(bf_pci_bar_size(r.fn, 2), 0x4000); /* three pages, rounded up */
	ck_assert_uint_eq(bf_pci_bar_size(r.fn, 4), 0);
	ck_assert_uint_eq(bf_pci_bar_size(r.fn, 9), 0);
	for (uint32_t i = 0; i <= 4; i += 2)
		ck_assert_int_eq(bf_pci_config_write(r.fn, BF_PCI_BAR0 + 4 * i, &all, 8), 0);
	ck_assert_int_eq(bf_pci_config_read(r.fn, BF_PCI_BAR0, &got, 8), 0);
	ck_assert_uint_eq(got, ~0x3fffull | BF_PCI_BAR_64);
	ck_assert_int_eq(bf_pci_config_read(r.fn, BF_PCI_BAR0 + 8, &got, 8), 0);
	ck_assert_uint_eq(got, ~0x3fffull | BF_PCI_BAR_64 | BF_PCI_BAR_PREFETCH);
	ck_assert_int_eq(bf_pci_config_read(r.fn, BF_PCI_BAR0 + 16, &got, 8), 0);
	ck_assert_uint_eq(got, 0);
}
END_TEST

START_TEST(hosts_change_only_what_they_may)
{
	uint8_t before[256], after[256];
	const uint32_t msix = capability(BF_PCI_CAP_MSIX);

	ck_assert_int_eq(bf_pci_config_read(r.fn, 0, before, sizeof(before)), 0);
	set_config(BF_PCI_VENDOR, ~0u, 4);
	set_config(BF_PCI_STATUS, 0xffff, 2);
	set_config(BF_PCI_REVISION, ~0u, 4);
	set_config(BF_PCI_CAPABILITIES, ~0u, 4);
	set_config(0x900, ~0u, 4);
	ck_assert_int_eq(bf_pci_config_read(r.fn, 0, after, sizeof(after)), 0);
	ck_assert_mem_eq(before, after, sizeof(before));
	ck_assert_uint_eq(config(0x900, 4), 0);
	set_config(BF_PCI_COMMAND, 0xffff, 2);
	ck_assert_uint_eq(config(BF_PCI_COMMAND, 2), 0x547);
	set_config(msix + BF_PCI_MSIX_CONTROL, 0xffff, 2);
	ck_assert_uint_eq(config(msix + BF_PCI_MSIX_CONTROL, 2), 0xc000 | (RIG_VECTORS - 1));
	set_config(BF_PCI_INTERRUPT_LINE, 0x1ff, 2); /* the pin beside it stays */
	ck_assert_uint_eq(config(BF_PCI_INTERRUPT_LINE, 2), 0xff);
}
END_TEST

START_TEST(registers_see_accesses_as_they_are_made)
{
	uint8_t bytes[64], got[64];

	for (uint32_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (uint8_t)(i + 1);
	for (uint32_t len = 1; len <= 8; len *= 2) {
		set_bar(0, REG_A, 0x1122334455667788, len);
		ck_assert_uint_eq(bar(0, REG_A, len), 0x1122334455667788 & (~0ull >> (64 - 8 * len)));
	}
	r.regs[REG_STORES / 8] = 0;
	ck_assert_int_eq(bf_pci_bar_write(r.fn, 0, RIG_BUFFER + 4, bytes, 40), 0);
	ck_assert_uint_eq(r.regs[REG_STORES / 8], 6); /* 4, then 8 by 8, then 4 */
	ck_assert_int_eq(bf_pci_bar_read(r.fn, 0, RIG_BUFFER + 4, got, 40), 0);
	ck_assert_mem_eq(bytes, got, 40);
	ck_assert_int_eq(bf_pci_bar_write(r.fn, 2, 0x2ff0, bytes, 64), 0); /* over the end of the device's part */
	ck_assert_int_eq(bf_pci_bar_read(r.fn, 2, 0x2ff0, got, 64), 0);
	ck_assert_mem_eq(bytes, got, 16);
	for (uint32_t i = 16; i < 64; i++)
		ck_assert_uint_eq(got[i], 0);
	ck_assert_mem_eq(r.memory->bytes + 0x2ff0, bytes, 16);
}
END_TEST

START_TEST(accesses_outside_of_bars_are_refused)
{
	uint8_t bytes[16] = { 0 };

	ck_assert_int_eq(bf_pci_bar_read(r.fn, 0, 0x4000, bytes, 1), -EINVAL);
	ck_assert_int_eq(bf_pci_bar_read(r.fn, 0, 0x3fff, bytes, 2), -EINVAL);
	ck_assert_int_eq(bf_pci_bar_write(r.fn, 0, UINT64_MAX, bytes, 2), -EINVAL);
	ck_assert_int_eq(bf_pci_bar_read(r.fn, 1, 0, bytes, 4), -EINVAL);
	ck_assert_int_eq(bf_pci_bar_write(r.fn, 77, 0, bytes, 4), -EINVAL);
	ck_assert_int_eq(bf_pci_bar_read(r.fn, 0, 0x3fff, bytes, 1), 0);
}
END_TEST

START_TEST(vectors_have_table_and_pending_bits)
{
	ck_assert_uint_eq(bar(0, RIG_BAR_BYTES + 5 * 16 + 12, 4), 1); /* masked */
	set_bar(0, RIG_BAR_BYTES + 5 * 16, 0xfee00000, 8);
	set_bar(0, RIG_BAR_BYTES + 5 * 16 + 12, 0, 4);
	ck_assert_uint_eq(bar(0, RIG_BAR_BYTES + 5 * 16, 8), 0xfee00000);
	ck_assert_uint_eq(bar(0, RIG_BAR_BYTES + 5 * 16 + 12, 4), 0);
	bf_pci_interrupt(r.fn, 2);
	bf_pci_interrupt(r.fn, 65);
	bf_pci_interrupt(r.fn, RIG_VECTORS); /* not there */
	set_bar(0, RIG_BAR_BYTES + 0x1000, ~0ull, 8);
	ck_assert_uint_eq(bar(0, RIG_BAR_BYTES + 0x1000, 8), 4);
	ck_assert_uint_eq(bar(0, RIG_BAR_BYTES + 0x1008, 8), 2);
	ck_assert_int_eq(bf_pci_next_pending(r.fn, 0), 2);
	ck_assert_int_eq(bf_pci_next_pending(r.fn, 3), 65);
	bf_pci_sent(r.fn, 65);
	ck_assert_int_eq(bf_pci_next_pending(r.fn, 3), -1);
}
END_TEST

static void count_ready(void *arg)
{
	++*(uint32_t *)arg;
}

START_TEST(interrupts_wait_for_bus_mastering)
{
	uint32_t ready = 0;

	bf_pci_listen(r.fn, count_ready, &ready);
	bf_pci_interrupt(r.fn, 1);
	ck_assert_uint_eq(ready, 0);
	set_config(BF_PCI_COMMAND, BF_PCI_COMMAND_MASTER, 2);
	ck_assert_uint_eq(ready, 1);
	ck_assert(r.master);
	bf_pci_interrupt(r.fn, 1);
	ck_assert_uint_eq(ready, 2);
	set_config(BF_PCI_COMMAND, 0, 2);
	ck_assert(!r.master);
	bf_pci_interrupt(r.fn, 1);
	ck_assert_uint_eq(ready, 2);
}
END_TEST

START_TEST(function_level_reset)
{
	const uint32_t control = capability(BF_PCI_CAP_PCIE) + BF_PCI_EXP_DEVICE_CONTROL;
	const uint32_t link = capability(BF_PCI_CAP_PCIE) + BF_PCI_EXP_LINK_CONTROL;

	set_config(BF_PCI_COMMAND, 6, 2);
	set_config(control, 0x2830, 2);
	set_config(link, 0x42, 2);
	set_bar(0, REG_A, 5, 8);
	bf_pci_interrupt(r.fn, 3);
	set_config(control, 0xa830, 2);
	ck_assert_uint_eq(r.resets, 1);
	ck_assert_uint_eq(config(control, 2), 0x2830); /* initiate reads 0; payload size stays */
	ck_assert_uint_eq(config(link, 2), 0x42);      /* ASPM and common clock, too */
	ck_assert_uint_eq(config(BF_PCI_COMMAND, 2), 0);
	ck_assert_uint_eq(bar(0, REG_A, 8), 0);
	ck_assert_int_eq(bf_pci_next_pending(r.fn, 0), -1);
	ck_assert(!bf_pci_is_master(r.fn));
	set_config(control + 1, 0x80, 1); /* its upper byte alone */
	ck_assert_uint_eq(r.resets, 2);
	bf_pci_reset(r.fn, BF_PCI_RESET_CONVENTIONAL);
	ck_assert_uint_eq(r.resets, 3);
	ck_assert_uint_eq(config(control, 2) & 0xe0, 0);
	ck_assert_uint_eq(config(link, 2), 0);
}
END_TEST

START_TEST(power_states)
{
	const uint32_t state = capability(BF_PCI_CAP_PM) + BF_PCI_PM_CONTROL;

	set_config(BF_PCI_COMMAND, 6, 2);
	set_bar(0, REG_A, 5, 8);
	ck_assert(r.master);
	set_config(state, 3, 2);
	ck_assert(!r.master);
	ck_assert_uint_eq(bar(0, REG_A, 4), 0xffffffff);
	set_bar(0, REG_A, 6, 8);
	ck_assert_uint_eq(r.regs[REG_A / 8], 5);
	ck_assert_uint_eq(config(BF_PCI_COMMAND, 2), 6);
	ck_assert_uint_eq(r.resets, 0);
	set_config(state, 0, 2);
	ck_assert_uint_eq(r.resets, 1);
	ck_assert_uint_eq(config(BF_PCI_COMMAND, 2), 0);
	ck_assert_uint_eq(bar(0, REG_A, 4), 0);
}
END_TEST

START_TEST(what_does_not_fit_is_refused)
{
	struct bf_pci_opts o = { .vectors = 1, .link_speed = 3, .link_width = 4 };
	struct bf_pci *fn;

	ck_assert_int_eq(bf_pci_create(r.sim, "other", &fn), 0);
	bf_pci_interrupt(fn, 0); /* before it has a device: ignored */
	o.vectors = 0;
	ck_assert_int_eq(bf_pci_attach(fn, &o), -EINVAL);
	o.vectors = 2049;
	ck_assert_int_eq(bf_pci_attach(fn, &o), -EINVAL);
	o.vectors = 1;
	o.msix_bar = 1;
	ck_assert_int_eq(bf_pci_attach(fn, &o), -EINVAL);
	o.msix_bar = 6;
	ck_assert_int_eq(bf_pci_attach(fn, &o), -EINVAL);
	o.msix_bar = 0;
	o.bar[3] = r.bar;
	ck_assert_int_eq(bf_pci_attach(fn, &o), -EINVAL);
	o.bar[3] = NULL;
	o.link_width = 0;
	ck_assert_int_eq(bf_pci_attach(fn, &o), -EINVAL);
	o.link_width = 1;
	ck_assert_int_eq(bf_pci_attach(fn, &o), 0);
	ck_assert_uint_eq(bf_pci_bar_size(fn, 0), 0x2000); /* nothing but MSI-X */
	bf_pci_destroy(fn);
}
END_TEST

START_TEST(windows_are_shared_memory)
{
	struct bf_pci_window w;
	uint32_t *host;

	ck_assert_int_eq(bf_pci_window_open(r.fn, 0, 0x800, 0x1000, &w), -EINVAL);
	ck_assert_int_eq(bf_pci_window_open(r.fn, 0, 0x1000, 0x2000, &w), -EINVAL);
	ck_assert_int_eq(bf_pci_window_open(r.fn, 2, 0x1000, 0x1000, &w), -EINVAL);
	ck_assert_int_eq(bf_pci_window_open(r.fn, 0, 0x1000, 0, &w), -EINVAL);
	ck_assert_int_eq(bf_pci_window_open(r.fn, 0, 0x1000, 0x1000, &w), 0);
	host = mmap(NULL, w.bytes, PROT_READ | PROT_WRITE, MAP_SHARED, w.fd, (off_t)w.offset);
	ck_assert_ptr_ne(host, MAP_FAILED);
	host[3] = 0x12345678;
	ck_assert_uint_eq(bf_get_le32(r.bar->bytes + 0x100c), 0x12345678);
	ck_assert_int_ne(ftruncate(w.fd, 0), 0); /* sealed */
	munmap(host, w.bytes);
	bf_pci_window_close(&w);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("pci function");
	TCase *t = tcase_create("function");
	SRunner *runner;
	int failed;

	tcase_add_checked_fixture(t, set_up, tear_down);
	tcase_add_test(t, header_says_what_was_asked_for);
	tcase_add_test(t, capabilities_are_a_chain_that_ends);
	tcase_add_test(t, bars_can_be_sized);
	tcase_add_test(t, hosts_change_only_what_they_may);
	tcase_add_test(t, registers_see_accesses_as_they_are_made);
	tcase_add_test(t, accesses_outside_of_bars_are_refused);
	tcase_add_test(t, vectors_have_table_and_pending_bits);
	tcase_add_test(t, interrupts_wait_for_bus_mastering);
	tcase_add_test(t, function_level_reset);
	tcase_add_test(t, power_states);
	tcase_add_test(t, what_does_not_fit_is_refused);
	tcase_add_test(t, windows_are_shared_memory);
	suite_add_tcase(s, t);
	runner = srunner_create(s);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed != 0;
}
