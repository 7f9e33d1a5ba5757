/* The controller memory buffer: found only when asked for, queues and data in it. */
#include "tests/models/nvme_rig.h"

static struct host h;
static struct host_opts o;
static uint64_t base;
static struct bf_region *cmb;

static void setup(void)
{
	memset(&o, 0, sizeof(o));
	o.nvme.profile = &bf_nvme_970pro;
	o.nvme.cmb_bytes = 1u << 20;
	host_open(&h, &o);
	cmb = bf_nvme_cmb(h.dev);
	base = 0x7700000000ull;
}

static void teardown(void)
{
	host_close(&h);
}

static void switch_on(void)
{
	host_write64(&h, BF_NVME_CMBMSC, base | 3);
	host_run(&h);
}

static void store(uint64_t at, const void *bytes, uint32_t len)
{
	for (uint32_t i = 0; i < len; i += 64)
		bf_mmio_post(cmb, at + i, (const uint8_t *)bytes + i, len - i < 64 ? len - i : 64);
}

static uint64_t load(uint64_t at, uint32_t len)
{
	uint64_t done;

	return bf_mmio_load(cmb, at, len, &done);
}

START_TEST(test_registers)
{
	ck_assert_uint_eq(BF_FIELD_GET(BF_NVME_CAP_CMBS, rig_read(&h, 0, 8)), 1);
	ck_assert_uint_eq(rig_read32(&h, BF_NVME_CMBSZ), 0);
	ck_assert_uint_eq(rig_read32(&h, BF_NVME_CMBLOC), 0);
	rig_store32(&h, BF_NVME_CMBMSC, 1); /* CRE in the low half */
	ck_assert_uint_eq(rig_read32(&h, BF_NVME_CMBSZ), 256u << 12 | 0x1f);
	ck_assert_uint_eq(rig_read32(&h, BF_NVME_CMBLOC), 2);
	rig_store32(&h, BF_NVME_CMBMSC + 4, 0xffffffff);
	rig_store32(&h, BF_NVME_CMBMSC, 0xfffff003);
	ck_assert_uint_eq(rig_read32(&h, BF_NVME_CMBSTS), 1); /* it would not fit there */
	switch_on();
	ck_assert_uint_eq(rig_read32(&h, BF_NVME_CMBSTS), 0);
	ck_assert_uint_eq(rig_read(&h, BF_NVME_CMBMSC, 8), base | 3);
	/* A controller reset leaves it, a function reset does not. */
	rig_store32(&h, BF_NVME_CC, 0);
	ck_assert_uint_eq(rig_read(&h, BF_NVME_CMBMSC, 8), base | 3);
	bf_nvme_reset(h.dev);
	ck_assert_uint_eq(rig_read32(&h, BF_NVME_CMBSZ), 0);
}
END_TEST

/* Queues, list and data all inside. */
START_TEST(test_everything_inside)
{
	struct bf_nvme_sqe e = { .opcode = BF_NVME_IO_WRITE };
	uint8_t block[4096];

	switch_on();
	ck_assert_uint_eq(rig_create_cq(&h, 1, 16, base + 4096, 1, 0), 0);
	ck_assert_uint_eq(rig_create_sq(&h, 1, 16, base, 1, 1), 0);
	for (size_t i = 0; i < sizeof(block); i++)
		block[i] = (uint8_t)(i * 7);
	store(0x10000, block, sizeof(block));
	bf_put_le32(e.nsid.b, 1);
	bf_put_le32(e.cdw12.b, 7);
	bf_put_le64(e.prp1.b, base + 0x10000);
	store(0, &e, sizeof(e));
	e.opcode = BF_NVME_IO_READ;
	bf_put_le16(e.cid.b, 1);
	bf_put_le64(e.prp1.b, base + 0x20000);
	store(64, &e, sizeof(e));
	rig_tail(&h, 1, 1);
	ck_assert_uint_eq(load(4096 + 12, 4), 1u << 16);
	rig_tail(&h, 1, 2);
	ck_assert_uint_eq(load(4096 + 16 + 12, 4), 1u << 16 | 1);
	for (uint32_t i = 0; i < 4096; i += 8)
		ck_assert_uint_eq(load(0x20000 + i, 8), bf_get_le64(block + i));
	ck_assert_uint_eq(rig_delete(&h, BF_NVME_ADM_DELETE_SQ, 1), 0);
}
END_TEST

/* Queue inside, data outside; a queue that reaches over the end; nothing inside while CMSE is clear. */
START_TEST(test_mixed)
{
	struct host_queue q;
	struct bf_nvme_sqe e = { .opcode = BF_NVME_IO_READ };
	uint8_t *data = host_alloc(&h, 4096, 4096);

	memset(data, 0x55, 4096);
	switch_on();
	host_queue_memory(&h, &q, 1, 16);
	ck_assert_uint_eq(rig_create_cq(&h, 1, 16, host_va(&h, q.cq), 1, 0), 0);
	ck_assert_uint_eq(rig_create_sq(&h, 1, 128, base + (1u << 20) - 4096, 1, 1), 0);
	bf_put_le32(e.nsid.b, 1);
	bf_put_le32(e.cdw12.b, 7);
	bf_put_le64(e.prp1.b, host_va(&h, data));
	for (uint32_t i = 0; i < 64; i++)
		store((1u << 20) - 4096 + i * 64, &e, sizeof(e));
	rig_tail(&h, 1, 1);
	ck_assert_uint_eq(bf_le16(q.cq[0].status), 1);
	ck_assert_uint_eq(data[0], 0);
	rig_head(&h, 1, 1);
	for (uint32_t i = 2; i <= 64; i++) {
		rig_tail(&h, 1, i);
		rig_head(&h, 1, i % 16);
	}
	ck_assert_uint_eq(rig_read32(&h, BF_NVME_CSTS), 1);
	rig_tail(&h, 1, 65); /* slot 64 lies behind the buffer */
	ck_assert_uint_eq(rig_read32(&h, BF_NVME_CSTS), 3);
}
END_TEST

START_TEST(test_switched_off)
{
	rig_store32(&h, BF_NVME_CMBMSC, 1);
	ck_assert_uint_eq(rig_admin(&h, BF_NVME_ADM_IDENTIFY, 0, base, 1, 0, NULL) & 0x7ff, BF_NVME_SC_DATA_TRANSFER);
	switch_on();
	ck_assert_uint_eq(rig_admin(&h, BF_NVME_ADM_IDENTIFY, 0, base, 1, 0, NULL), 0);
	ck_assert_uint_eq(load(512, 2), 0x4466);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("nvme cmb");
	TCase *c = tcase_create("cmb");

	tcase_add_checked_fixture(c, setup, teardown);
	tcase_add_test(c, test_registers);
	tcase_add_test(c, test_everything_inside);
	tcase_add_test(c, test_mixed);
	tcase_add_test(c, test_switched_off);
	suite_add_tcase(s, c);
	return rig_main(s);
}
