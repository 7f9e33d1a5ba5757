/* Controller registers, enable, disable, shutdown, resets, bus master, live mode. */
#include "tests/models/nvme_rig.h"

#include <errno.h>
#include <sys/mman.h>

#define CC_ENABLE 0x00460001u

static struct host h;
static struct host_opts o;

static void open_off(void)
{
	ck_assert_int_eq(host_try_open(&h, &o), 0);
	host_queue_memory(&h, &h.admin, 0, 16);
}

static void setup(void)
{
	memset(&o, 0, sizeof(o));
	o.nvme.profile = &bf_nvme_970pro;
}

static void program_admin(void)
{
	rig_store32(&h, BF_NVME_AQA, 15u << 16 | 15u);
	host_write64(&h, BF_NVME_ASQ, host_va(&h, h.admin.sq));
	host_write64(&h, BF_NVME_ACQ, host_va(&h, h.admin.cq));
	host_run(&h);
}

static uint32_t enable_with(uint32_t cc)
{
	rig_store32(&h, BF_NVME_CC, cc);
	return rig_read32(&h, BF_NVME_CSTS);
}

START_TEST(test_registers)
{
	uint64_t cap;

	open_off();
	cap = rig_read(&h, BF_NVME_CAP, 8);
	ck_assert_uint_eq(cap, rig_read32(&h, 0) | (uint64_t)rig_read32(&h, 4) << 32);
	ck_assert_uint_eq(BF_FIELD_GET(BF_NVME_CAP_MQES, cap), bf_nvme_970pro.mqes);
	ck_assert_uint_eq(BF_FIELD_GET(BF_NVME_CAP_CQR, cap), 1);
	ck_assert_uint_eq(BF_FIELD_GET(BF_NVME_CAP_CSS, cap) & 1, 1);
	ck_assert_uint_ge(BF_FIELD_GET(BF_NVME_CAP_TO, cap), 1);
	ck_assert_uint_ge(rig_read32(&h, BF_NVME_CRTO) & 0xffff, BF_FIELD_GET(BF_NVME_CAP_TO, cap));
	ck_assert_uint_eq(rig_read32(&h, BF_NVME_VS), 0x20000);
	ck_assert_uint_eq(rig_read32(&h, BF_NVME_CSTS), 0);
	ck_assert_uint_eq(rig_read32(&h, BF_NVME_PMRCAP), 0);
	ck_assert_uint_eq(rig_read32(&h, BF_NVME_BPINFO), 0);
	ck_assert_uint_eq(rig_read32(&h, BF_NVME_CMBSZ), 0);
	/* Read-only registers stay. */
	rig_store32(&h, BF_NVME_CAP, 0);
	rig_store32(&h, BF_NVME_VS, 0);
	rig_store32(&h, BF_NVME_CSTS, 0xffffffff);
	ck_assert_uint_eq(rig_read(&h, BF_NVME_CAP, 8), cap);
	ck_assert_uint_eq(rig_read32(&h, BF_NVME_VS), 0x20000);
	ck_assert_uint_eq(rig_read32(&h, BF_NVME_CSTS), 0);
	/* Parts of registers can be read. */
	ck_assert_uint_eq(rig_read(&h, BF_NVME_VS + 2, 2), 2);
	ck_assert_uint_eq(rig_read(&h, BF_NVME_CAP + 1, 1), cap >> 8 & 0xff);
	host_close(&h);
}
END_TEST

START_TEST(test_64_bit_in_any_order)
{
	struct rig_sink k;
	uint64_t value = 0x123456789abcdef0ull;
	uint16_t half = 0x1111;

	open_off();
	rig_record(&h, &k);
	rig_store32(&h, BF_NVME_ASQ, 0x9abcdef0);
	rig_store32(&h, BF_NVME_ASQ + 4, 0x12345678);
	ck_assert_uint_eq(rig_read(&h, BF_NVME_ASQ, 8), value & ~0xfffull);
	rig_store32(&h, BF_NVME_ACQ + 4, 0x12345678);
	rig_store32(&h, BF_NVME_ACQ, 0x9abcdef0);
	ck_assert_uint_eq(rig_read(&h, BF_NVME_ACQ, 8), value & ~0xfffull);
	rig_store(&h, BF_NVME_ASQ, &half, 2);      /* too small */
	rig_store(&h, BF_NVME_AQA, &value, 8);     /* two registers at once */
	rig_store(&h, BF_NVME_ASQ + 2, &value, 4); /* unaligned */
	rig_store(&h, 0x1000, &half, 2);
	ck_assert_uint_eq(rig_read(&h, BF_NVME_ASQ, 8), value & ~0xfffull);
	ck_assert_uint_eq(rig_read32(&h, BF_NVME_AQA), 0);
	rig_store32(&h, BF_NVME_AQA, 0xffffffff);
	ck_assert_uint_eq(rig_read32(&h, BF_NVME_AQA), 0x0fff0fff);
	bf_stream_flush(&h.sim->rec);
	ck_assert_uint_eq(k.wrong[BF_NVME_WRONG_ACCESS], 4);
	host_close(&h);
}
END_TEST

START_TEST(test_enable_in_two_writes)
{
	uint64_t before;

	open_off();
	program_admin();
	rig_store32(&h, BF_NVME_CC, CC_ENABLE & ~1u);
	ck_assert_uint_eq(rig_read32(&h, BF_NVME_CC), CC_ENABLE & ~1u);
	ck_assert_uint_eq(rig_read32(&h, BF_NVME_CSTS), 0);
	before = h.sim->now_ps;
	host_write32(&h, BF_NVME_CC, CC_ENABLE);
	bf_sim_run(h.sim, before + bf_nvme_970pro.ready_ps / 2);
	ck_assert_uint_eq(rig_read32(&h, BF_NVME_CSTS), 0);
	host_run(&h);
	ck_assert_uint_eq(rig_read32(&h, BF_NVME_CSTS), 1);
	ck_assert_uint_ge(h.sim->now_ps - before, bf_nvme_970pro.ready_ps);
	/* A host may set entry sizes later still. */
	rig_store32(&h, BF_NVME_CC, 1);
	rig_store32(&h, BF_NVME_CC, CC_ENABLE);
	ck_assert_uint_eq(rig_read32(&h, BF_NVME_CC), CC_ENABLE);
	ck_assert_uint_eq(rig_read32(&h, BF_NVME_CSTS), 1);
	host_close(&h);
}
END_TEST

/* Each wrong configuration gives CFS, and a reset gets the controller out of it. */
START_TEST(test_refused)
{
	static const struct {
		uint32_t cc, aqa;
		uint64_t asq, acq;
		uint16_t reason;
	} cases[] = {
		{ CC_ENABLE, 0x000f000f, 0, 0x1000, BF_NVME_FATAL_ASQ },
		{ CC_ENABLE, 0x000f000f, 0x1000, 0, BF_NVME_FATAL_ACQ },
		{ CC_ENABLE, 0x000f0000, 0x1000, 0x2000, BF_NVME_FATAL_AQA },
		{ CC_ENABLE, 0x0000000f, 0x1000, 0x2000, BF_NVME_FATAL_AQA },
		{ CC_ENABLE | 1u << 7, 0x000f000f, 0x1000, 0x2000, BF_NVME_FATAL_MPS },
		{ CC_ENABLE | 1u << 4, 0x000f000f, 0x1000, 0x2000, BF_NVME_FATAL_CSS },
		{ CC_ENABLE | 7u << 11, 0x000f000f, 0x1000, 0x2000, BF_NVME_FATAL_AMS },
	};
	struct rig_sink k;

	open_off();
	rig_record(&h, &k);
	for (size_t i = 0; i < BF_ARRAY_LEN(cases); i++) {
		rig_store32(&h, BF_NVME_AQA, cases[i].aqa);
		host_write64(&h, BF_NVME_ASQ, cases[i].asq);
		host_write64(&h, BF_NVME_ACQ, cases[i].acq);
		ck_assert_msg(enable_with(cases[i].cc) == 2, "case %zu", i);
		bf_stream_flush(&h.sim->rec);
		ck_assert_uint_eq(k.last_state.reason, cases[i].reason);
		rig_store32(&h, BF_NVME_CC, 0);
		ck_assert_uint_eq(rig_read32(&h, BF_NVME_CSTS), 0);
	}
	program_admin();
	ck_assert_uint_eq(enable_with(CC_ENABLE), 1);
	ck_assert_uint_eq(enable_with(0), 0);
	ck_assert_uint_eq(enable_with(CC_ENABLE | 6u << 4), 1); /* all command sets */
	host_close(&h);
}
END_TEST

START_TEST(test_page_sizes)
{
	uint64_t at;

	o.nvme.profile = &bf_nvme_instant;
	open_off();
	program_admin();
	at = host_va(&h, h.admin.sq);
	ck_assert_uint_eq(at % 65536, 0);
	ck_assert_uint_eq(enable_with(CC_ENABLE | 4u << 7), 1); /* 64 KiB pages */
	enable_with(0);
	host_write64(&h, BF_NVME_ASQ, at + 4096);
	ck_assert_uint_eq(enable_with(CC_ENABLE | 4u << 7), 2);
	enable_with(0);
	ck_assert_uint_eq(enable_with(CC_ENABLE), 1); /* aligned to 4 KiB */
	host_close(&h);
}
END_TEST

/* What a disable takes away and what it leaves. */
START_TEST(test_disable)
{
	struct host_queue q;
	struct bf_nvme_cqe c;
	uint8_t *data;

	host_open(&h, &o);
	host_queue_open(&h, &q, 1, 16);
	data = host_alloc(&h, 4096, 4096);
	host_rw(&h, &q, BF_NVME_IO_READ, 1, 0, 8, host_va(&h, data), 0);
	host_ring(&h, &q);
	bf_sim_run(h.sim, h.sim->now_ps + 10 * BF_US); /* in the media */
	host_write32(&h, BF_NVME_CC, 0x00460000);
	bf_sim_run(h.sim, h.sim->now_ps + BF_US);
	ck_assert_uint_eq(rig_read32(&h, BF_NVME_CSTS), 1); /* still falling */
	host_run(&h);
	ck_assert_uint_eq(rig_read32(&h, BF_NVME_CSTS), 0);
	ck_assert(!host_poll(&h, &q, &c)); /* dropped without a completion */
	ck_assert_uint_eq(rig_read32(&h, BF_NVME_AQA), 15u << 16 | 15u);
	ck_assert_uint_eq(rig_read(&h, BF_NVME_ASQ, 8), host_va(&h, h.admin.sq));
	/* From the start: slots, phases. */
	h.admin.tail = h.admin.head = 0;
	h.admin.phase = 1;
	memset((void *)(uintptr_t)h.admin.cq, 0, 16 * sizeof(*h.admin.cq));
	rig_store32(&h, BF_NVME_CC, CC_ENABLE);
	ck_assert_uint_eq(rig_info(&h, 1).sq_size, 0);
	host_queue_open(&h, &q, 1, 16);
	host_rw(&h, &q, BF_NVME_IO_READ, 1, 0, 8, host_va(&h, data), 0);
	ck_assert_uint_eq(host_do(&h, &q, NULL), 0);
	ck_assert_uint_eq(rig_counter(&h, "ssd0.resets"), 1);
	host_close(&h);
}
END_TEST

START_TEST(test_enable_while_falling)
{
	struct rig_sink k;

	host_open(&h, &o);
	rig_record(&h, &k);
	host_write32(&h, BF_NVME_CC, 0);
	host_write32(&h, BF_NVME_CC, CC_ENABLE);
	host_run(&h);
	bf_stream_flush(&h.sim->rec);
	ck_assert_uint_eq(k.wrong[BF_NVME_WRONG_ENABLE], 1);
	ck_assert_uint_eq(rig_read32(&h, BF_NVME_CSTS), 1);
	/* Configuration is fixed while enabled. */
	rig_store32(&h, BF_NVME_AQA, 0x00010001);
	host_write64(&h, BF_NVME_ASQ, 0);
	rig_store32(&h, BF_NVME_CC, CC_ENABLE | 1u << 11);
	bf_stream_flush(&h.sim->rec);
	ck_assert_uint_eq(k.wrong[BF_NVME_WRONG_CONFIG], 3);
	ck_assert_uint_eq(rig_read32(&h, BF_NVME_AQA), 15u << 16 | 15u);
	ck_assert_uint_eq(rig_read32(&h, BF_NVME_CC), CC_ENABLE);
	host_close(&h);
}
END_TEST

START_TEST(test_shutdown)
{
	struct host_queue q;
	uint8_t *data;
	uint64_t before, normal, abrupt;

	host_open(&h, &o);
	host_queue_open(&h, &q, 1, 16);
	data = host_alloc(&h, 4096, 4096);
	host_rw(&h, &q, BF_NVME_IO_WRITE, 1, 0, 8, host_va(&h, data), 0);
	ck_assert_uint_eq(host_do(&h, &q, NULL), 0);
	before = h.sim->now_ps;
	host_write32(&h, BF_NVME_CC, CC_ENABLE | 1u << 14);
	bf_sim_run(h.sim, h.sim->now_ps + 10 * BF_US);
	ck_assert_uint_eq(rig_read32(&h, BF_NVME_CSTS), 1u | 1u << 2);
	host_run(&h);
	normal = h.sim->now_ps - before;
	ck_assert_uint_eq(rig_read32(&h, BF_NVME_CSTS), 1u | 2u << 2);
	/* Nothing is done any more; the doorbell is a mistake. */
	host_rw(&h, &q, BF_NVME_IO_READ, 1, 0, 8, host_va(&h, data), 0);
	host_ring(&h, &q);
	host_run(&h);
	ck_assert_uint_eq(rig_info(&h, 1).sq_tail, 1);
	/* EN has to go through 0; the next enable is a fresh start. */
	rig_store32(&h, BF_NVME_CC, 0);
	ck_assert_uint_eq(rig_read32(&h, BF_NVME_CSTS), 0);
	rig_store32(&h, BF_NVME_CC, CC_ENABLE);
	ck_assert_uint_eq(rig_read32(&h, BF_NVME_CSTS), 1);
	before = h.sim->now_ps;
	rig_store32(&h, BF_NVME_CC, CC_ENABLE | 2u << 14);
	abrupt = h.sim->now_ps - before;
	ck_assert_uint_eq(rig_read32(&h, BF_NVME_CSTS), 1u | 2u << 2);
	ck_assert_uint_le(abrupt, normal);
	host_close(&h);
}
END_TEST

START_TEST(test_subsystem_and_function_reset)
{
	host_open(&h, &o);
	rig_store32(&h, BF_NVME_NSSR, 0x12345678);
	ck_assert_uint_eq(rig_read32(&h, BF_NVME_CSTS), 1);
	rig_store32(&h, BF_NVME_NSSR, BF_NVME_NSSR_RESET);
	ck_assert_uint_eq(rig_read32(&h, BF_NVME_CSTS), 1u << 4);
	ck_assert_uint_eq(rig_read32(&h, BF_NVME_CC), 0);
	ck_assert_uint_eq(rig_read32(&h, BF_NVME_AQA), 0);
	rig_store32(&h, BF_NVME_CSTS, 1u << 4); /* write 1 to clear */
	ck_assert_uint_eq(rig_read32(&h, BF_NVME_CSTS), 0);
	program_admin();
	ck_assert_uint_eq(enable_with(CC_ENABLE), 1);
	bf_nvme_reset(h.dev);
	ck_assert_uint_eq(rig_read32(&h, BF_NVME_CSTS), 0);
	ck_assert_uint_eq(rig_read(&h, BF_NVME_ASQ, 8), 0);
	host_run(&h);
	program_admin();
	ck_assert_uint_eq(enable_with(CC_ENABLE), 1);
	host_close(&h);
}
END_TEST

/* Resets at any moment of a busy controller, again and again: nothing is left over, nothing is late. */
/* A reset in mid-shutdown ends it; a write that disables and shuts down at once does both, in that order. */
START_TEST(test_shutdown_meets_reset)
{
	open_off();
	program_admin();
	ck_assert_uint_eq(enable_with(CC_ENABLE), 1);
	host_write32(&h, BF_NVME_CC, CC_ENABLE | 1u << 14);
	bf_sim_run(h.sim, h.sim->now_ps + bf_nvme_970pro.disable_ps / 2);
	ck_assert_uint_eq(rig_read32(&h, BF_NVME_CSTS) & 0xc, 4);
	host_write32(&h, BF_NVME_CC, CC_ENABLE & ~1u);
	bf_sim_run(h.sim, h.sim->now_ps + bf_nvme_970pro.disable_ps / 2);
	ck_assert_uint_eq(rig_read32(&h, BF_NVME_CSTS) & 0xc, 0);
	host_run(&h);
	ck_assert_uint_eq(rig_read32(&h, BF_NVME_CSTS), 0);
	ck_assert_uint_eq(enable_with(CC_ENABLE), 1);
	host_write32(&h, BF_NVME_CC, (CC_ENABLE & ~1u) | 1u << 14);
	bf_sim_run(h.sim, h.sim->now_ps + bf_nvme_970pro.disable_ps / 2);
	ck_assert_uint_eq(rig_read32(&h, BF_NVME_CSTS) & 0xc, 4);
	host_run(&h);
	ck_assert_uint_eq(rig_read32(&h, BF_NVME_CSTS), 8); /* shut down, not ready */
	ck_assert_uint_eq(enable_with(CC_ENABLE), 1);
	host_close(&h);
}
END_TEST

static void enable_again(void)
{
	h.admin.tail = h.admin.head = 0;
	h.admin.phase = 1;
	memset((void *)(uintptr_t)h.admin.cq, 0, h.admin.size * sizeof(*h.admin.cq));
	program_admin();
	ck_assert_uint_eq(enable_with(CC_ENABLE), 1);
}

/* Power cycles and unsafe shutdowns, as the SMART log has them. */
static uint64_t power_counts(void)
{
	uint8_t *page = host_alloc(&h, 4096, 4096);

	ck_assert_uint_eq(rig_log(&h, 2, true, page, 512), 0);
	return bf_get_le64(page + 112) << 32 | bf_get_le64(page + 144);
}

START_TEST(test_power)
{
	open_off();
	enable_again();
	ck_assert_uint_eq(power_counts(), 1ull << 32);
	rig_store32(&h, BF_NVME_CC, CC_ENABLE | 1u << 14);
	bf_nvme_power_cycle(h.dev);
	ck_assert_uint_eq(rig_read32(&h, BF_NVME_CSTS), 0);
	enable_again();
	ck_assert_uint_eq(power_counts(), 2ull << 32);
	bf_nvme_power_cycle(h.dev);
	enable_again();
	ck_assert_uint_eq(power_counts(), 3ull << 32 | 1);
	/* A reset is no loss of power; nor does it make up for the shutdown. */
	bf_nvme_reset(h.dev);
	bf_nvme_power_cycle(h.dev);
	bf_nvme_power_cycle(h.dev); /* never enabled: nothing to lose */
	enable_again();
	ck_assert_uint_eq(power_counts(), 5ull << 32 | 2);
	host_close(&h);
}
END_TEST

/* Commands whose data are the controller's own registers, by their bus address. */
START_TEST(test_own_registers_are_out_of_reach)
{
	struct bf_region *bar;

	open_off();
	enable_again();
	bar = bf_nvme_bar0(h.dev);
	ck_assert_int_eq(bf_ioas_map_region(&h.ioas, bar, BF_IOMMU_READ | BF_IOMMU_WRITE), 0);
	ck_assert_uint_eq(rig_admin(&h, BF_NVME_ADM_IDENTIFY, 0, bar->va, 1, 0, NULL), BF_NVME_SC_DATA_TRANSFER);
	ck_assert_int_eq(h.ioas.last_fault.reason, BF_IOMMU_OWN);
	ck_assert_uint_eq(rig_read32(&h, BF_NVME_CSTS), 1);
	ck_assert_uint_eq(rig_admin(&h, BF_NVME_ADM_SET_FEATURES, 0, bar->va, 0x0e, 0, NULL), BF_NVME_SC_DATA_TRANSFER);
	ck_assert_uint_eq(h.ioas.faults, 2);
	host_close(&h);
}
END_TEST

START_TEST(test_reset_under_load)
{
	struct bf_rng r;

	bf_rng_init(&r, 7, "reset");
	host_open(&h, &o);
	for (int round = 0; round < 200; round++) {
		struct host_queue q;
		uint64_t mark = h.used;
		uint8_t *data;
		struct bf_nvme_cqe c;

		host_queue_open(&h, &q, 1, 64);
		data = host_alloc(&h, 65536, 65536);
		for (int i = 0; i < 40; i++)
			host_rw(&h, &q, i & 1 ? BF_NVME_IO_WRITE : BF_NVME_IO_READ, 1, (uint64_t)i * 8, 8,
				host_va(&h, data) + (uint64_t)(i % 16) * 4096, 0);
		host_ring(&h, &q);
		bf_sim_run(h.sim, h.sim->now_ps + bf_rng_below(&r, 200 * BF_US));
		if (round % 3 == 0)
			bf_nvme_reset(h.dev);
		else if (round % 3 == 1)
			host_write32(&h, BF_NVME_NSSR, BF_NVME_NSSR_RESET);
		else
			host_write32(&h, BF_NVME_CC, 0);
		host_run(&h);
		rig_store32(&h, BF_NVME_CSTS, 1u << 4);
		while (host_poll(&h, &q, &c))
			ck_assert_uint_eq(host_status(&c), 0);
		host_run(&h);
		h.used = mark;
		h.admin.tail = h.admin.head = 0;
		h.admin.phase = 1;
		memset((void *)(uintptr_t)h.admin.cq, 0, 16 * sizeof(*h.admin.cq));
		host_enable(&h, 0);
	}
	ck_assert_uint_eq(rig_counter(&h, "ssd0.resets"), 200);
	host_close(&h);
}
END_TEST

/* Without the bus master bit nothing moves; with it everything goes on where it stood. */
START_TEST(test_bus_master)
{
	struct host_queue q;
	struct bf_nvme_cqe c;
	uint8_t *data;

	host_open(&h, &o);
	host_queue_open(&h, &q, 1, 16);
	data = host_alloc(&h, 4096, 4096);
	bf_nvme_bus_master(h.dev, false);
	host_rw(&h, &q, BF_NVME_IO_READ, 1, 0, 8, host_va(&h, data), 0);
	host_ring(&h, &q);
	host_run(&h);
	ck_assert(!host_poll(&h, &q, &c));
	ck_assert_uint_eq(rig_info(&h, 1).sq_head, 0);
	bf_nvme_bus_master(h.dev, true);
	host_run(&h);
	ck_assert(host_poll(&h, &q, &c));
	ck_assert_uint_eq(host_status(&c), 0);
	/* Taken away between fetch and completion. */
	host_rw(&h, &q, BF_NVME_IO_FLUSH, 1, 0, 1, 0, 0);
	host_ring(&h, &q);
	bf_sim_run(h.sim, h.sim->now_ps + 2 * BF_US);
	bf_nvme_bus_master(h.dev, false);
	host_run(&h);
	ck_assert(!host_poll(&h, &q, &c));
	bf_nvme_bus_master(h.dev, true);
	host_run(&h);
	ck_assert(host_poll(&h, &q, &c));
	ck_assert_uint_eq(rig_read32(&h, BF_NVME_CSTS), 1);
	host_close(&h);
}
END_TEST

/* A queue that cannot be read, and one that cannot be written, are fatal. */
START_TEST(test_fatal)
{
	struct rig_sink k;
	uint64_t page;

	host_open(&h, &o);
	rig_record(&h, &k);
	page = host_va(&h, h.admin.sq);
	ck_assert_int_eq(bf_ioas_unmap(&h.ioas, page, 4096), 0);
	host_slot(&h, &h.admin, BF_NVME_ADM_KEEP_ALIVE, 0);
	host_ring(&h, &h.admin);
	host_run(&h);
	ck_assert_uint_eq(rig_read32(&h, BF_NVME_CSTS), 3);
	bf_stream_flush(&h.sim->rec);
	ck_assert_uint_eq(k.last_state.reason, BF_NVME_FATAL_FETCH);
	host_close(&h);

	host_open(&h, &o);
	rig_record(&h, &k);
	ck_assert_int_eq(bf_ioas_unmap(&h.ioas, host_va(&h, h.admin.cq), 4096), 0);
	host_slot(&h, &h.admin, BF_NVME_ADM_KEEP_ALIVE, 0);
	host_ring(&h, &h.admin);
	host_run(&h);
	ck_assert_uint_eq(rig_read32(&h, BF_NVME_CSTS), 3);
	bf_stream_flush(&h.sim->rec);
	ck_assert_uint_eq(k.last_state.reason, BF_NVME_FATAL_POST);
	rig_store32(&h, BF_NVME_CC, 0);
	ck_assert_uint_eq(rig_read32(&h, BF_NVME_CSTS), 0);
	host_close(&h);
}
END_TEST

/* Live mode: the same by plain stores to the region's bytes and looks at them. */
static uint32_t peek(uint32_t reg)
{
	return __atomic_load_n((uint32_t *)(void *)(bf_nvme_bar0(h.dev)->bytes + reg), __ATOMIC_ACQUIRE);
}

static void poke(uint32_t reg, uint32_t value)
{
	__atomic_store_n((uint32_t *)(void *)(bf_nvme_bar0(h.dev)->bytes + reg), value, __ATOMIC_RELEASE);
}

static void look(void)
{
	while (bf_nvme_poll_bar(h.dev))
		host_run(&h);
	host_run(&h);
}

START_TEST(test_live)
{
	struct bf_region *bar;
	struct bf_nvme_sqe *e;
	struct bf_nvme_cqe c;
	uint64_t asq, acq;
	uint8_t *page;

	o.nvme.profile = &bf_nvme_instant;
	o.nvme.direct = true;
	open_off();
	bar = bf_nvme_bar0(h.dev);
	ck_assert_int_eq(mprotect(bar->bytes, bar->size, PROT_READ | PROT_WRITE), 0);
	bf_nvme_poll_bar(h.dev);
	ck_assert_uint_eq(peek(BF_NVME_VS), 0x20000);
	ck_assert_uint_eq(peek(BF_NVME_CAP) & 0xffff, bf_nvme_instant.mqes);
	asq = host_va(&h, h.admin.sq);
	acq = host_va(&h, h.admin.cq);
	poke(BF_NVME_AQA, 15u << 16 | 15u);
	poke(BF_NVME_ASQ, (uint32_t)asq);
	poke(BF_NVME_ASQ + 4, (uint32_t)(asq >> 32));
	poke(BF_NVME_ACQ, (uint32_t)acq);
	poke(BF_NVME_ACQ + 4, (uint32_t)(acq >> 32));
	poke(BF_NVME_CC, CC_ENABLE);
	look();
	ck_assert_uint_eq(peek(BF_NVME_CSTS), 1);
	page = host_alloc(&h, 4096, 4096);
	for (int i = 0; i < 40; i++) {
		e = host_slot(&h, &h.admin, BF_NVME_ADM_IDENTIFY, 0);
		bf_put_le64(e->prp1.b, host_va(&h, page));
		bf_put_le32(e->cdw10.b, 1);
		poke(BF_NVME_DOORBELLS, h.admin.tail);
		look();
		c = h.admin.cq[h.admin.head];
		ck_assert_uint_eq(bf_le16(c.status), h.admin.phase);
		h.admin.head = (h.admin.head + 1) % 16;
		h.admin.phase ^= !h.admin.head;
		poke(BF_NVME_DOORBELLS + 4, h.admin.head);
	}
	look();
	ck_assert_uint_eq(rig_info(&h, 0).cq_head, 40 % 16);
	poke(BF_NVME_CC, 0);
	look();
	ck_assert_uint_eq(peek(BF_NVME_CSTS), 0);
	poke(BF_NVME_CC, CC_ENABLE);
	look();
	ck_assert_uint_eq(peek(BF_NVME_CSTS), 1);
	ck_assert_uint_eq(peek(BF_NVME_DOORBELLS), 0); /* doorbells start at 0 again */
	poke(BF_NVME_NSSR, BF_NVME_NSSR_RESET);
	look();
	ck_assert_uint_eq(peek(BF_NVME_CSTS), 1u << 4);
	ck_assert_uint_eq(peek(BF_NVME_AQA), 0);
	ck_assert_uint_eq(peek(BF_NVME_CC), 0);
	host_close(&h);
}
END_TEST

START_TEST(test_bad_options)
{
	struct bf_nvme_profile bad = bf_nvme_instant;

	bad.max_io_queues = 65536;
	o.nvme.profile = &bad;
	ck_assert_int_lt(host_try_open(&h, &o), 0);
	ck_assert_str_ne(h.sim->error.text, "");
	host_close(&h);
	o.nvme.profile = NULL;
	o.nvme.cmb_bytes = 5000;
	ck_assert_int_lt(host_try_open(&h, &o), 0);
	host_close(&h);
	o.nvme.cmb_bytes = 0;
	for (int i = 0; i < 3; i++) {
		o.nvme.serial = (const char *[]){ "", "123456789012345678901", "a\tb" }[i];
		ck_assert_int_eq(host_try_open(&h, &o), -EINVAL);
		host_close(&h);
	}
}
END_TEST

int main(void)
{
	Suite *s = suite_create("nvme controller");
	TCase *c = tcase_create("controller");

	tcase_add_checked_fixture(c, setup, NULL);
	tcase_add_test(c, test_registers);
	tcase_add_test(c, test_64_bit_in_any_order);
	tcase_add_test(c, test_enable_in_two_writes);
	tcase_add_test(c, test_refused);
	tcase_add_test(c, test_page_sizes);
	tcase_add_test(c, test_disable);
	tcase_add_test(c, test_enable_while_falling);
	tcase_add_test(c, test_shutdown);
	tcase_add_test(c, test_subsystem_and_function_reset);
	tcase_add_test(c, test_shutdown_meets_reset);
	tcase_add_test(c, test_power);
	tcase_add_test(c, test_own_registers_are_out_of_reach);
	tcase_add_test(c, test_reset_under_load);
	tcase_add_test(c, test_bus_master);
	tcase_add_test(c, test_fatal);
	tcase_add_test(c, test_live);
	tcase_add_test(c, test_bad_options);
	suite_add_tcase(s, c);
	return rig_main(s);
}
