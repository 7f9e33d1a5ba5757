/*
 * What known drivers do to a controller when they find it, step by step at its registers and queues: Linux
 * (drivers/nvme/host/pci.c and core.c), SPDK (lib/nvme/nvme_ctrlr.c), SeaBIOS (src/hw/nvme.c), libnvm (ssd-gpu-dma,
 * src/ctrl.c and admin.c).
 */
#include "tests/models/nvme_rig.h"

static struct host h;
static uint8_t *page;
static uint64_t at;
static uint16_t generation;

#define ANY 0xffffffffu
#define PENDING 0xfffffffeu /* an Asynchronous Event Request: no completion */

struct step {
	uint8_t opcode;
	uint32_t nsid, cdw10, cdw11, want; /* status, DNR cleared */
};

static void open_with(const struct bf_nvme_profile *profile, uint64_t cmb_bytes)
{
	static const struct bf_nvme_ns_opts ns[2] = {
		{ .bytes = 64u << 20, .lba = BF_NVME_LBA_512 },
		{ .bytes = 64u << 20, .lba = BF_NVME_LBA_4096 },
	};
	const struct host_opts o = { .nvme = { .profile = profile, .ns = ns, .nns = 2, .cmb_bytes = cmb_bytes } };

	ck_assert_int_eq(host_try_open(&h, &o), 0);
	page = host_alloc(&h, 16384, 4096);
	at = host_va(&h, page);
}

/* 64-bit registers as two halves, the low one first, as on machines without 64-bit accesses to I/O memory. */
static void write_halves(uint32_t reg, uint64_t value)
{
	rig_store32(&h, reg, (uint32_t)value);
	rig_store32(&h, reg + 4, (uint32_t)(value >> 32));
}

static void admin_memory(uint32_t sq, uint32_t cq)
{
	host_queue_memory(&h, &h.admin, 0, cq > sq ? cq : sq);
	h.admin.size = sq;
	h.admin.cq_size = cq;
}

static uint32_t wait_ready(uint32_t ready)
{
	for (int i = 0; i < 10 && (rig_read32(&h, BF_NVME_CSTS) & 1) != ready; i++)
		host_run(&h);
	return rig_read32(&h, BF_NVME_CSTS);
}

static void run_steps(const struct step *s, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		struct bf_nvme_sqe *e = host_slot(&h, &h.admin, s[i].opcode, s[i].nsid);
		struct bf_nvme_cqe c;

		bf_put_le64(e->prp1.b, at);
		bf_put_le32(e->cdw10.b, s[i].cdw10);
		bf_put_le32(e->cdw11.b, s[i].cdw11);
		bf_put_le16(e->cid.b, (uint16_t)(generation++ << 12 | (bf_le16(e->cid) & 0xfff)));
		host_ring(&h, &h.admin);
		host_run(&h);
		if (s[i].want == PENDING) {
			ck_assert_msg(!host_poll(&h, &h.admin, &c), "step %zu has completed", i);
			continue;
		}
		ck_assert_msg(host_poll(&h, &h.admin, &c), "step %zu does not complete", i);
		ck_assert_uint_eq(bf_le16(c.cid), bf_le16(e->cid));
		if (s[i].want != ANY)
			ck_assert_msg((host_status(&c) & 0x7ff) == s[i].want, "step %zu: status %x", i,
				      host_status(&c));
	}
}

/* Both queues of a pair, as Linux makes them: contiguous, interrupt vector = number. Status of what fails first. */
static uint32_t linux_queue(struct host_queue *q, uint16_t qid, uint32_t size)
{
	uint32_t status;

	host_queue_memory(&h, q, qid, size);
	status = rig_create_cq(&h, qid, size, host_va(&h, q->cq), 3, qid);
	return status ? status : rig_create_sq(&h, qid, size, host_va(&h, q->sq), 1, qid);
}

static void linux_enable(void)
{
	const uint64_t cap = rig_read32(&h, BF_NVME_CAP) | (uint64_t)rig_read32(&h, BF_NVME_CAP + 4) << 32;
	const uint32_t css = cap >> 43 & 1 ? 6u << 4 : 0; /* all command sets where the controller knows of them */
	const uint32_t config = 0x00460000u | css;

	ck_assert_uint_ne(rig_read32(&h, BF_NVME_CSTS), 0xffffffff);
	if (BF_FIELD_GET(BF_NVME_CAP_CMBS, cap)) {
		if (!rig_read32(&h, BF_NVME_CMBMSC)) /* as the specification has it since 1.4 */
			ck_assert_uint_eq(rig_read32(&h, BF_NVME_CMBSZ), 0);
		rig_store32(&h, BF_NVME_CMBMSC, 1);
		ck_assert_uint_ne(rig_read32(&h, BF_NVME_CMBSZ), 0);
		ck_assert_uint_eq(rig_read32(&h, BF_NVME_CMBLOC) & 7, 2);
		rig_store32(&h, BF_NVME_CMBMSC + 4, (uint32_t)(bf_nvme_cmb(h.dev)->va >> 32));
		rig_store32(&h, BF_NVME_CMBMSC, (uint32_t)bf_nvme_cmb(h.dev)->va | 3);
		ck_assert_uint_eq(rig_read32(&h, BF_NVME_CMBSTS), 0);
	}
	rig_store32(&h, BF_NVME_CC, rig_read32(&h, BF_NVME_CC) & ~0xc001u);
	ck_assert_uint_eq(wait_ready(0), 0);
	admin_memory(32, 32);
	rig_store32(&h, BF_NVME_AQA, 31u << 16 | 31u);
	write_halves(BF_NVME_ASQ, host_va(&h, h.admin.sq));
	write_halves(BF_NVME_ACQ, host_va(&h, h.admin.cq));
	rig_store32(&h, BF_NVME_CC, config);
	ck_assert_uint_eq(rig_read32(&h, BF_NVME_CC), config); /* kept, though nothing is enabled yet */
	ck_assert_uint_eq(rig_read32(&h, BF_NVME_CSTS), 0);
	ck_assert_uint_ge(rig_read32(&h, BF_NVME_CRTO) & 0xffff, 1);
	rig_store32(&h, BF_NVME_CC, config | 1);
	ck_assert_uint_eq(wait_ready(1), 1);
	ck_assert_uint_ge(rig_read32(&h, BF_NVME_VS), 0x10100);
}

/* Pages at the start and near the end, with a PRP2 that a transfer of one page must not look at. */
static void linux_read_table(struct host_queue *q, uint32_t nsid, uint64_t blocks, uint32_t in_page)
{
	struct bf_nvme_cqe c;

	for (uint32_t i = 0; i < 40; i++) {
		host_rw(&h, q, BF_NVME_IO_READ, nsid, i % 2 ? blocks - 8 : 0, in_page, at, i % 3);
		ck_assert_uint_eq(host_do(&h, q, &c), 0);
		ck_assert_uint_eq(bf_le16(c.sqhd), q->tail);
	}
}

/* nvme_reset_work(), nvme_init_ctrl_finish(), nvme_scan_work(), and what a removal does. */
static void linux_probe(void)
{
	static const struct step init[] = {
		{ BF_NVME_ADM_IDENTIFY, 0, 0x01, 0, 0 },
		{ BF_NVME_ADM_GET_LOG, 0, 0x03ff0005, 0, 0 }, /* commands supported and effects */
		{ BF_NVME_ADM_IDENTIFY, 0, 0x06, 0, 0 },
		{ BF_NVME_ADM_SET_FEATURES, 0, 0x0e, 0, 0 },
		{ BF_NVME_ADM_SET_FEATURES, 0, 0x16, 0, 0 },
		{ BF_NVME_ADM_GET_LOG, BF_NVME_NSID_ALL, 0x007f0002, 0, 0 }, /* hwmon */
		{ BF_NVME_ADM_GET_FEATURES, 0, 0x04, 0, 0 },
		{ BF_NVME_ADM_GET_FEATURES, 0, 0x04, 1u << 20, 0 },
		{ BF_NVME_ADM_SET_FEATURES, 0, 0x07, 0x00010001, 0 },
	};
	static const struct step scan[] = {
		{ BF_NVME_ADM_SET_FEATURES, 0, 0x0b, 0x100, 0 }, { BF_NVME_ADM_ASYNC_EVENT, 0, 0, 0, PENDING },
		{ BF_NVME_ADM_GET_LOG, 0, 0x03ff0004, 0, 0 }, /* changed namespaces */
		{ BF_NVME_ADM_IDENTIFY, 0, 0x02, 0, 0 },         { BF_NVME_ADM_IDENTIFY, 1, 0x03, 0, 0 },
		{ BF_NVME_ADM_IDENTIFY, 1, 0x08, 0, 0 },         { BF_NVME_ADM_IDENTIFY, 1, 0x00, 0, 0 },
		{ BF_NVME_ADM_IDENTIFY, 1, 0x05, 0, 0 },         { BF_NVME_ADM_IDENTIFY, 2, 0x03, 0, 0 },
		{ BF_NVME_ADM_IDENTIFY, 2, 0x08, 0, 0 },         { BF_NVME_ADM_IDENTIFY, 2, 0x00, 0, 0 },
		{ BF_NVME_ADM_IDENTIFY, 2, 0x05, 0, 0 },
	};
	struct host_queue q[2];

	linux_enable();
	run_steps(init, BF_ARRAY_LEN(init));
	for (uint16_t i = 0; i < 2; i++)
		ck_assert_uint_eq(linux_queue(&q[i], i + 1, 1024), 0);
	run_steps(scan, BF_ARRAY_LEN(scan));
	linux_read_table(&q[0], 1, 131072, 8);
	linux_read_table(&q[1], 2, 16384, 1);
	for (uint32_t i = 2; i; i--)
		ck_assert_uint_eq(rig_delete(&h, BF_NVME_ADM_DELETE_SQ, i), 0);
	for (uint32_t i = 2; i; i--)
		ck_assert_uint_eq(rig_delete(&h, BF_NVME_ADM_DELETE_CQ, i), 0);
	rig_store32(&h, BF_NVME_CC, (rig_read32(&h, BF_NVME_CC) & ~0xc000u) | 1u << 14);
	ck_assert_uint_eq(rig_read32(&h, BF_NVME_CSTS), 1 | 2u << 2);
}

START_TEST(test_linux)
{
	open_with(_i ? &bf_nvme_970pro : &bf_nvme_instant, _i ? 1u << 20 : 0);
	linux_probe();
	h.used = (uint64_t)(page - h.mem->bytes) + 16384;
	linux_probe(); /* from a controller that is shut down and enabled still, as after kexec */
	ck_assert_uint_eq(rig_counter(&h, "ssd0.driver_errors"), 0);
	ck_assert_uint_eq(rig_counter(&h, "ssd0.errors"), 0);
	host_close(&h);
}
END_TEST

START_TEST(test_spdk)
{
	static const struct step init[] = {
		{ BF_NVME_ADM_IDENTIFY, 0, 0x01, 0, 0 },
		{ BF_NVME_ADM_IDENTIFY, 0, 0x06, 0, 0 },
		{ BF_NVME_ADM_SET_FEATURES, 0, 0x0b, 0x1ff, 0 },
		{ BF_NVME_ADM_ASYNC_EVENT, 0, 0, 0, PENDING },
		{ BF_NVME_ADM_ASYNC_EVENT, 0, 0, 0, PENDING },
		{ BF_NVME_ADM_ASYNC_EVENT, 0, 0, 0, PENDING },
		{ BF_NVME_ADM_GET_FEATURES, 0, 0x0f, 0, 0 },
		{ BF_NVME_ADM_SET_FEATURES, 0, 0x07, 0x007e007e, 0 },
		{ BF_NVME_ADM_IDENTIFY, 0, 0x02, 0, 0 },
		{ BF_NVME_ADM_IDENTIFY, 1, 0x00, 0, 0 },
		{ BF_NVME_ADM_IDENTIFY, 1, 0x03, 0, 0 },
		{ BF_NVME_ADM_IDENTIFY, 1, 0x05, 0, 0 },
		{ BF_NVME_ADM_GET_LOG, BF_NVME_NSID_ALL, 0x000f0001, 0, 0 },
		{ BF_NVME_ADM_SET_FEATURES, 0, 0x81, 1, 0 },
		{ BF_NVME_ADM_KEEP_ALIVE, 0, 0, 0, 0 },
	};
	struct bf_nvme_sqe *e;

	open_with(&bf_nvme_instant, 0);
	ck_assert_uint_eq(rig_read32(&h, BF_NVME_VS), 0x20000);
	ck_assert_uint_eq(rig_read32(&h, BF_NVME_CC) & 1, 0);
	admin_memory(32, 32);
	host_write64(&h, BF_NVME_ASQ, host_va(&h, h.admin.sq));
	host_write64(&h, BF_NVME_ACQ, host_va(&h, h.admin.cq));
	rig_store32(&h, BF_NVME_AQA, 31u << 16 | 31u);
	rig_store32(&h, BF_NVME_CC, 0x00460001);
	ck_assert_uint_eq(wait_ready(1), 1);
	run_steps(init, BF_ARRAY_LEN(init));
	e = host_slot(&h, &h.admin, BF_NVME_ADM_DBBUF, 0);
	bf_put_le64(e->prp1.b, at);
	bf_put_le64(e->prp2.b, at + 4096);
	ck_assert_uint_eq(host_do(&h, &h.admin, NULL), 0);
	ck_assert_uint_eq(rig_counter(&h, "ssd0.driver_errors"), 0);
	host_close(&h);
}
END_TEST

/* An admin queue of 64 and 256 entries, no Set Features, every namespace that NN allows. */
START_TEST(test_seabios)
{
	struct host_queue q;
	uint32_t nn, found = 0;

	open_with(&bf_nvme_instant, 0);
	rig_store32(&h, BF_NVME_CC, 0);
	ck_assert_uint_eq(wait_ready(0), 0);
	admin_memory(64, 256);
	rig_store32(&h, BF_NVME_AQA, 0x00ff003f);
	write_halves(BF_NVME_ASQ, host_va(&h, h.admin.sq));
	write_halves(BF_NVME_ACQ, host_va(&h, h.admin.cq));
	rig_store32(&h, BF_NVME_CC, 0x00460001);
	ck_assert_uint_eq(wait_ready(1), 1);
	ck_assert_uint_eq(rig_identify(&h, 1, 0, page), 0);
	nn = bf_get_le32(page + 516);
	ck_assert_uint_eq(page[512] & 0xf, 6);
	host_queue_memory(&h, &q, 1, 256);
	ck_assert_uint_eq(rig_create_cq(&h, 1, 256, host_va(&h, q.cq), 1, 0), 0);
	ck_assert_uint_eq(rig_create_sq(&h, 1, 256, host_va(&h, q.sq), 1, 1), 0);
	for (uint32_t nsid = 1; nsid <= nn; nsid++) {
		ck_assert_uint_eq(rig_identify(&h, 0, nsid, page), 0);
		found += bf_get_le64(page) != 0; /* no size: not there */
	}
	ck_assert_uint_eq(found, 2);
	host_rw(&h, &q, BF_NVME_IO_READ, 1, 0, 1, at, 0); /* the boot sector */
	ck_assert_uint_eq(host_do(&h, &q, NULL), 0);
	ck_assert_uint_eq(rig_counter(&h, "ssd0.driver_errors"), 0);
	host_close(&h);
}
END_TEST

/*
 * nvm_raw_ctrl_reset() gives the submission queue's size in ACQS and the completion queue's in ASQS: a controller that
 * goes by the register wraps where the driver does not. 63 commands go well. After the 64th the driver's tail is 0, and
 * the controller takes everything from slot 63 to slot 255 for commands; the driver's head is 64, which is no slot.
 */
START_TEST(test_libnvm_swaps_sizes)
{
	struct rig_sink k;
	struct bf_nvme_cqe c;

	open_with(&bf_nvme_instant, 0);
	rig_record(&h, &k);
	rig_store32(&h, BF_NVME_CC, 0);
	admin_memory(64, 256);
	rig_store32(&h, BF_NVME_AQA, 63u << 16 | 255u);
	host_write64(&h, BF_NVME_ASQ, host_va(&h, h.admin.sq));
	host_write64(&h, BF_NVME_ACQ, host_va(&h, h.admin.cq));
	rig_store32(&h, BF_NVME_CC, 0x00460001);
	ck_assert_uint_eq(wait_ready(1), 1);
	for (uint32_t i = 0; i < 64; i++) {
		struct bf_nvme_sqe *e = host_slot(&h, &h.admin, BF_NVME_ADM_IDENTIFY, 0);

		bf_put_le64(e->prp1.b, at);
		bf_put_le32(e->cdw10.b, 1);
		host_ring(&h, &h.admin);
		host_run(&h);
		if (i < 63)
			ck_assert_uint_eq(rig_counter(&h, "ssd0.commands"), i + 1);
		ck_assert(host_poll(&h, &h.admin, &c));
		host_run(&h);
	}
	ck_assert_uint_gt(rig_counter(&h, "ssd0.commands"), 64);
	bf_stream_flush(&h.sim->rec);
	ck_assert_uint_eq(k.wrong[BF_NVME_WRONG_DOORBELL_VALUE], 1);
	ck_assert_uint_eq(k.last_wrong.value, 64);
	/* No completion after that is where the driver looks. */
	ck_assert(!host_poll(&h, &h.admin, &c));
	ck_assert_uint_eq(rig_info(&h, 0).cq_head, 63);
	ck_assert_uint_gt(rig_info(&h, 0).held, 0);
	host_close(&h);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("nvme drivers' first steps");
	TCase *t = tcase_create("probe");

	tcase_set_timeout(t, 60);
	tcase_add_loop_test(t, test_linux, 0, 2);
	tcase_add_test(t, test_spdk);
	tcase_add_test(t, test_seabios);
	tcase_add_test(t, test_libnvm_swaps_sizes);
	suite_add_tcase(s, t);
	return rig_main(s);
}
