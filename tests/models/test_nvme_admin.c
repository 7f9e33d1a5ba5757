/* Identify, logs, Format, namespaces, firmware, self-test: contents, rules, error statuses. */
#include "tests/models/nvme_admin_rig.h"

START_TEST(test_identify_controller)
{
	ck_assert_uint_eq(rig_identify(&h, 1, 0, page), 0);
	ck_assert_mem_eq(page + 24, "Belfry NVMe Controller                  ", 40);
	ck_assert_uint_eq(page[4 + 19], ' ');
	ck_assert_uint_eq(page[77], bf_nvme_instant.mdts);
	ck_assert_uint_eq(bf_get_le32(page + 80), 0x20000);
	ck_assert_uint_eq(page[111], 1);
	ck_assert_uint_eq(page[512], 0x66);
	ck_assert_uint_eq(page[513], 0x44);
	ck_assert_uint_eq(bf_get_le16(page + 256) & 0x1ff, 0x11e); /* OACS */
	ck_assert_uint_eq(bf_get_le64(page + 280), 96u << 20);     /* TNVMCAP */
	ck_assert_uint_eq(bf_get_le64(page + 296), 0);
	ck_assert_mem_eq(page + 768, "nqn.2014-08.org.nvmexpress:uuid:", 32);
	ck_assert_uint_eq(strlen((char *)page + 768), 68);
	/* Commands that OACS does not offer are unknown. */
	for (int op = 0x81; op <= 0x86; op++)
		ck_assert_uint_eq(rig_admin(&h, (uint8_t)op, 0, at, 0, 0, NULL), RIG_DNR | BF_NVME_SC_INVALID_OPCODE);
	ck_assert_uint_eq(rig_admin(&h, 0x19, 0, at, 0, 0, NULL), RIG_DNR | BF_NVME_SC_INVALID_OPCODE);
	ck_assert_uint_eq(rig_admin(&h, BF_NVME_ADM_KEEP_ALIVE, 0, at, 0, 0, NULL), 0);
}
END_TEST

START_TEST(test_identify_namespaces)
{
	uint8_t eui[8];

	ck_assert_uint_eq(rig_identify(&h, 0, 1, page), 0);
	ck_assert_uint_eq(bf_get_le64(page), 131072);
	ck_assert_uint_eq(page[25], 1);
	ck_assert_uint_eq(page[26], 0);
	ck_assert_uint_eq(page[130], 9);
	ck_assert_uint_eq(page[134], 12);
	memcpy(eui, page + 120, 8);
	ck_assert_uint_eq(rig_identify(&h, 0, 2, page), 0);
	ck_assert_uint_eq(bf_get_le64(page), 8192);
	ck_assert_uint_eq(page[26], 1);
	ck_assert_mem_ne(page + 120, eui, 8);
	ck_assert_uint_eq(rig_identify(&h, 0, 3, page), 0); /* inactive: zeros */
	for (int i = 0; i < 4096; i++)
		ck_assert_uint_eq(page[i], 0);
	ck_assert_uint_eq(rig_identify(&h, 0, 0, page), NS);
	ck_assert_uint_eq(rig_identify(&h, 0, 65, page), NS);
	ck_assert_uint_eq(rig_identify(&h, 0, BF_NVME_NSID_ALL, page), 0); /* what they have in common */
	ck_assert_uint_eq(bf_get_le64(page), 0);
	ck_assert_uint_eq(page[25], 1);
	for (uint32_t cns = 2; cns <= 0x10; cns += cns == 2 ? 5 : 9) { /* 02h, 07h, 10h */
		ck_assert_uint_eq(rig_identify(&h, cns, 0, page), 0);
		ck_assert_uint_eq(bf_get_le32(page), 1);
		ck_assert_uint_eq(bf_get_le32(page + 4), 2);
		ck_assert_uint_eq(bf_get_le32(page + 8), 0);
		ck_assert_uint_eq(rig_identify(&h, cns, 1, page), 0);
		ck_assert_uint_eq(bf_get_le32(page), 2);
		ck_assert_uint_eq(bf_get_le32(page + 4), 0);
		ck_assert_uint_eq(rig_identify(&h, cns, 0xfffffffe, page), NS);
		ck_assert_uint_eq(rig_identify(&h, cns, 0xffffffff, page), NS);
	}
	ck_assert_uint_eq(rig_identify(&h, 3, 1, page), 0);
	ck_assert_uint_eq(bf_get_le16(page), 8u << 8 | 1);
	ck_assert_mem_eq(page + 4, eui, 8);
	ck_assert_uint_eq(bf_get_le16(page + 12), 16u << 8 | 2);
	ck_assert_uint_eq(bf_get_le16(page + 32), 1u << 8 | 4);
	ck_assert_uint_eq(bf_get_le16(page + 37), 0);
	ck_assert_uint_eq(rig_identify(&h, 3, 3, page), NS);
}
END_TEST

START_TEST(test_identify_the_rest)
{
	static const uint32_t unknown[] = { 0x04, 0x09, 0x0a, 0x14, 0x15, 0x16, 0x17, 0x20, 0xff };

	ck_assert_uint_eq(rig_identify(&h, 5, 1, page), 0);
	ck_assert_uint_eq(rig_identify(&h, 6, 0, page), 0);
	ck_assert_uint_eq(rig_identify(&h, 8, 1, page), 0);
	ck_assert_uint_eq(page[14], 1); /* ready */
	ck_assert_uint_eq(rig_identify(&h, 0x11, 2, page), 0);
	ck_assert_uint_eq(bf_get_le64(page), 8192);
	ck_assert_uint_eq(rig_identify(&h, 0x12, 1, page), 0);
	ck_assert_uint_eq(bf_get_le32(page), 1u << 16 | 1);
	ck_assert_uint_eq(rig_identify(&h, 0x13, 0, page), 0);
	ck_assert_uint_eq(bf_get_le32(page), 1u << 16 | 1);
	ck_assert_uint_eq(rig_identify(&h, 0x13 | 2u << 16, 0, page), 0); /* above our number: none */
	ck_assert_uint_eq(bf_get_le32(page), 0);
	ck_assert_uint_eq(rig_identify(&h, 0x1c | 0xffffu << 16, 0, page), 0);
	ck_assert_uint_eq(bf_get_le64(page), 1);
	for (size_t i = 0; i < BF_ARRAY_LEN(unknown); i++)
		ck_assert_uint_eq(rig_identify(&h, unknown[i], 1, page), FIELD);
	for (uint32_t cns = 5; cns < 8; cns++) /* another command set */
		ck_assert_uint_eq(rig_admin(&h, BF_NVME_ADM_IDENTIFY, 1, at, cns, 2u << 24, NULL), FIELD);
	/* The page may cross a page of memory, and must be readable. */
	ck_assert_uint_eq(rig_admin(&h, BF_NVME_ADM_IDENTIFY, 0, 0x3000, 1, 0, NULL) & 0x7ff, BF_NVME_SC_DATA_TRANSFER);
}
END_TEST

START_TEST(test_logs)
{
	struct bf_nvme_sqe *e;
	uint32_t effects;

	ck_assert_uint_eq(rig_log(&h, 0, false, page, 1024), 0);
	for (uint32_t lid = 0; lid < 256; lid++) {
		bool known = page[4 * lid] & 1;
		uint8_t keep[1024];

		memcpy(keep, page, sizeof(keep));
		ck_assert_uint_eq(rig_log(&h, lid, false, page, 4), known ? 0 : RIG_DNR | BF_NVME_SC_LOG_PAGE);
		memcpy(page, keep, sizeof(keep));
	}
	ck_assert_uint_eq(rig_log(&h, 2, false, page, 512), 0);
	ck_assert_uint_eq(bf_get_le16(page + 1), 313);
	ck_assert_uint_eq(page[3], 100);
	ck_assert_uint_eq(bf_get_le64(page + 112), 1);
	ck_assert_uint_eq(rig_log(&h, 3, false, page, 512), 0);
	ck_assert_uint_eq(page[0], 1);
	ck_assert_mem_eq(page + 8, "BELFRY1 ", 8);
	ck_assert_uint_eq(rig_log(&h, 5, false, page, 4096), 0);
	effects = bf_get_le32(page + 4 * BF_NVME_ADM_FORMAT);
	ck_assert_uint_eq(effects & 3, 3);
	ck_assert_uint_eq(bf_get_le32(page + 1024 + 4 * BF_NVME_IO_READ), 1);
	ck_assert_uint_eq(bf_get_le32(page + 4 * BF_NVME_ADM_SANITIZE), 0);
	/* Lengths and offsets: past the end is short, beyond it is wrong. */
	memset(page, 0xcc, 8192);
	ck_assert_uint_eq(log_at(2, 500, 64), 0);
	ck_assert_uint_eq(page[11], 0);
	ck_assert_uint_eq(page[12], 0xcc);
	ck_assert_uint_eq(log_at(2, 512, 4), FIELD);
	ck_assert_uint_eq(log_at(2, 2, 4), FIELD);
	ck_assert_uint_eq(log_at(2, 1ull << 40, 4), FIELD);
	memset(page, 0xcc, 8192);
	ck_assert_uint_eq(log_at(5, 0, 4100), 0); /* one dword too many, as libnvm asks */
	ck_assert_uint_eq(page[4096], 0xcc);
	/* NUMDU counts. */
	e = host_slot(&h, &h.admin, BF_NVME_ADM_GET_LOG, BF_NVME_NSID_ALL);
	bf_put_le64(e->prp1.b, at);
	bf_put_le32(e->cdw10.b, 2);
	bf_put_le32(e->cdw11.b, 0xffff);
	ck_assert_uint_eq(host_do(&h, &h.admin, NULL), FIELD); /* 16 GiB: more than MDTS */
	e = host_slot(&h, &h.admin, BF_NVME_ADM_GET_LOG, 1);
	bf_put_le64(e->prp1.b, at);
	bf_put_le32(e->cdw10.b, 2 | 127u << 16);
	ck_assert_uint_eq(host_do(&h, &h.admin, NULL), FIELD); /* no SMART log for one namespace */
}
END_TEST

START_TEST(test_format)
{
	struct host_queue q;

	host_queue_open(&h, &q, 1, 16);
	memset(page, 0x31, 4096);
	host_rw(&h, &q, BF_NVME_IO_WRITE, 1, 0, 8, at, 0);
	ck_assert_uint_eq(host_do(&h, &q, NULL), 0);
	ck_assert_uint_eq(rig_admin(&h, BF_NVME_ADM_FORMAT, 1, 0, 2, 0, NULL), RIG_DNR | BF_NVME_SC_FORMAT);
	ck_assert_uint_eq(rig_admin(&h, BF_NVME_ADM_FORMAT, 1, 0, 1u << 5, 0, NULL), RIG_DNR | BF_NVME_SC_FORMAT);
	ck_assert_uint_eq(rig_admin(&h, BF_NVME_ADM_FORMAT, 1, 0, 2u << 9, 0, NULL), FIELD);
	ck_assert_uint_eq(rig_admin(&h, BF_NVME_ADM_FORMAT, 0, 0, 0, 0, NULL), NS);
	ck_assert_uint_eq(rig_admin(&h, BF_NVME_ADM_FORMAT, 9, 0, 0, 0, NULL), NS);
	ck_assert_uint_eq(rig_admin(&h, BF_NVME_ADM_FORMAT, 1, 0, 1, 0, NULL), 0);
	ck_assert_uint_eq(rig_identify(&h, 0, 1, page), 0);
	ck_assert_uint_eq(bf_get_le64(page), 16384);
	ck_assert_uint_eq(page[26], 1);
	host_rw(&h, &q, BF_NVME_IO_READ, 1, 0, 1, at, 0);
	ck_assert_uint_eq(host_do(&h, &q, NULL), 0);
	ck_assert_uint_eq(page[0], 0);
	ck_assert_uint_eq(rig_admin(&h, BF_NVME_ADM_FORMAT, BF_NVME_NSID_ALL, 0, 0, 0, NULL), 0);
	ck_assert_uint_eq(rig_identify(&h, 0, 2, page), 0);
	ck_assert_uint_eq(bf_get_le64(page), 65536);
}
END_TEST

/* Format takes its time, waits for the commands before it, refuses those that come meanwhile. */
/* A Flush of all namespaces is at the one that is to be formatted, too. */
START_TEST(test_format_waits_for_flush)
{
	struct bf_nvme_profile slow = bf_nvme_970pro;
	struct host_queue q;
	struct bf_nvme_cqe c;

	teardown();
	slow.program_ps = 50 * BF_MS;
	o.nvme.profile = &slow;
	host_open(&h, &o);
	page = host_alloc(&h, 8192, 4096);
	host_queue_open(&h, &q, 1, 16);
	host_rw(&h, &q, BF_NVME_IO_WRITE, 1, 0, 8, host_va(&h, page), 0);
	ck_assert_uint_eq(host_do(&h, &q, NULL), 0);
	host_slot(&h, &q, BF_NVME_IO_FLUSH, BF_NVME_NSID_ALL);
	host_ring(&h, &q);
	bf_sim_run(h.sim, h.sim->now_ps + 10 * BF_US);
	host_slot(&h, &h.admin, BF_NVME_ADM_FORMAT, 1);
	host_ring(&h, &h.admin);
	bf_sim_run(h.sim, h.sim->now_ps + 20 * BF_MS);
	ck_assert(!host_poll(&h, &h.admin, &c));
	host_run(&h);
	ck_assert(host_poll(&h, &q, &c));
	ck_assert_uint_eq(host_status(&c), 0);
	ck_assert(host_poll(&h, &h.admin, &c));
	ck_assert_uint_eq(host_status(&c), 0);
}
END_TEST

START_TEST(test_format_in_progress)
{
	struct bf_nvme_profile slow = bf_nvme_970pro;
	struct host_queue q;
	struct bf_nvme_sqe *e;
	struct bf_nvme_cqe c;

	teardown();
	o.nvme.profile = &slow;
	host_open(&h, &o);
	page = host_alloc(&h, 8192, 4096);
	at = host_va(&h, page);
	host_queue_open(&h, &q, 1, 16);
	host_rw(&h, &q, BF_NVME_IO_WRITE, 1, 0, 8, at, 0);
	ck_assert_uint_eq(host_do(&h, &q, NULL), 0);
	host_rw(&h, &q, BF_NVME_IO_READ, 1, 0, 8, at, 0);
	host_ring(&h, &q);
	bf_sim_run(h.sim, h.sim->now_ps + 10 * BF_US);
	for (int i = 0; i < 2; i++) {
		e = host_slot(&h, &h.admin, BF_NVME_ADM_FORMAT, 1);
		bf_put_le32(e->cdw10.b, 1);
	}
	host_ring(&h, &h.admin);
	bf_sim_run(h.sim, h.sim->now_ps + 100 * BF_US);
	ck_assert(host_poll(&h, &q, &c)); /* the read that was there before */
	ck_assert_uint_eq(host_status(&c), 0);
	ck_assert(host_poll(&h, &h.admin, &c)); /* the second Format */
	ck_assert_uint_eq(host_status(&c), BF_NVME_SC_FORMAT_IN_PROGRESS);
	host_rw(&h, &q, BF_NVME_IO_READ, 1, 0, 8, at, 0);
	host_rw(&h, &q, BF_NVME_IO_READ, 2, 0, 1, at, 0);
	host_ring(&h, &q);
	bf_sim_run(h.sim, h.sim->now_ps + 200 * BF_US);
	ck_assert(host_poll(&h, &q, &c));
	ck_assert_uint_eq(host_status(&c), BF_NVME_SC_FORMAT_IN_PROGRESS);
	ck_assert(host_poll(&h, &q, &c));
	ck_assert_uint_eq(host_status(&c), 0);
	host_run(&h);
	ck_assert(host_poll(&h, &h.admin, &c));
	ck_assert_uint_eq(host_status(&c), 0);
	/* A reset in the middle of one. */
	host_slot(&h, &h.admin, BF_NVME_ADM_FORMAT, 1);
	host_ring(&h, &h.admin);
	bf_sim_run(h.sim, h.sim->now_ps + 100 * BF_US);
	restart();
	host_queue_open(&h, &q, 1, 16);
	host_rw(&h, &q, BF_NVME_IO_READ, 1, 0, 1, at, 0);
	ck_assert_uint_eq(host_do(&h, &q, NULL), 0);
}
END_TEST

static uint32_t create_ns(uint64_t blocks, uint64_t capacity, uint8_t format, uint32_t *nsid)
{
	memset(page, 0, 4096);
	bf_put_le64(page, blocks);
	bf_put_le64(page + 8, capacity);
	page[26] = format;
	return rig_admin(&h, BF_NVME_ADM_NS_MANAGEMENT, 0, at, 0, 0, nsid);
}

static uint32_t attach(uint32_t nsid, uint32_t sel, uint32_t count, uint32_t cntid)
{
	memset(page, 0, 4096);
	bf_put_le16(page, (uint16_t)count);
	bf_put_le16(page + 2, (uint16_t)cntid);
	return rig_admin(&h, BF_NVME_ADM_NS_ATTACH, nsid, at, sel, 0, NULL);
}

START_TEST(test_namespace_management)
{
	uint32_t nsid = 0;

	ck_assert_uint_eq(create_ns(8192, 8192, 1, &nsid), RIG_DNR | BF_NVME_SC_NS_INSUFFICIENT_CAPACITY);
	ck_assert_uint_eq(rig_admin(&h, BF_NVME_ADM_NS_MANAGEMENT, 2, 0, 1, 0, NULL), 0);
	ck_assert_uint_eq(rig_admin(&h, BF_NVME_ADM_NS_MANAGEMENT, 2, 0, 1, 0, NULL), NS);
	ck_assert_uint_eq(rig_identify(&h, 1, 0, page), 0);
	ck_assert_uint_eq(bf_get_le64(page + 296), 32u << 20);
	ck_assert_uint_eq(create_ns(8192, 4096, 1, &nsid), RIG_DNR | BF_NVME_SC_THIN_PROVISIONING);
	ck_assert_uint_eq(create_ns(8192, 8192, 2, &nsid), RIG_DNR | BF_NVME_SC_FORMAT);
	ck_assert_uint_eq(create_ns(0, 0, 0, &nsid), FIELD);
	ck_assert_uint_eq(create_ns(1ull << 60, 1ull << 60, 1, &nsid), FIELD);
	ck_assert_uint_eq(create_ns(4096, 4096, 1, &nsid), 0);
	ck_assert_uint_eq(nsid, 2);
	ck_assert_uint_eq(create_ns(8, 8, 0, &nsid), 0);
	ck_assert_uint_eq(nsid, 3);
	/* Allocated, but not active before it is attached. */
	ck_assert_uint_eq(rig_identify(&h, 0, 2, page), 0);
	ck_assert_uint_eq(bf_get_le64(page), 0);
	ck_assert_uint_eq(rig_identify(&h, 0x11, 2, page), 0);
	ck_assert_uint_eq(bf_get_le64(page), 4096);
	ck_assert_uint_eq(rig_identify(&h, 0x12, 2, page), 0);
	ck_assert_uint_eq(bf_get_le16(page), 0);
	ck_assert_uint_eq(attach(2, 1, 1, 1), RIG_DNR | BF_NVME_SC_NS_NOT_ATTACHED);
	ck_assert_uint_eq(attach(2, 0, 1, 7), RIG_DNR | BF_NVME_SC_CONTROLLER_LIST);
	ck_assert_uint_eq(attach(2, 0, 0, 1), RIG_DNR | BF_NVME_SC_CONTROLLER_LIST);
	ck_assert_uint_eq(attach(9, 0, 1, 1), NS);
	ck_assert_uint_eq(attach(2, 5, 1, 1), FIELD);
	ck_assert_uint_eq(attach(2, 0, 1, 1), 0);
	ck_assert_uint_eq(attach(2, 0, 1, 1), RIG_DNR | BF_NVME_SC_NS_ALREADY_ATTACHED);
	ck_assert_uint_eq(rig_identify(&h, 2, 0, page), 0);
	ck_assert_uint_eq(bf_get_le32(page + 4), 2);
	ck_assert_uint_eq(bf_get_le32(page + 8), 0);
	ck_assert_uint_eq(rig_admin(&h, BF_NVME_ADM_NS_MANAGEMENT, BF_NVME_NSID_ALL, 0, 1, 0, NULL), 0);
	ck_assert_uint_eq(rig_identify(&h, 0x10, 0, page), 0);
	ck_assert_uint_eq(bf_get_le32(page), 0);
}
END_TEST

static uint32_t download(uint32_t offset, uint32_t len)
{
	return rig_admin(&h, BF_NVME_ADM_FW_DOWNLOAD, 0, at, len / 4 - 1, offset / 4, NULL);
}

static uint32_t commit(uint32_t slot, uint32_t action)
{
	return rig_admin(&h, BF_NVME_ADM_FW_COMMIT, 0, 0, slot | action << 3, 0, NULL);
}

static void expect_firmware(const char *revision)
{
	uint8_t *other = host_alloc(&h, 4096, 4096);

	ck_assert_uint_eq(rig_identify(&h, 1, 0, other), 0);
	ck_assert_mem_eq(other + 64, revision, 8);
}

START_TEST(test_firmware)
{
	memset(page, 0x20, 4096);
	memcpy(page, "2.0-test", 8);
	ck_assert_uint_eq(commit(2, 1), RIG_DNR | BF_NVME_SC_FW_IMAGE); /* nothing downloaded */
	ck_assert_uint_eq(commit(2, 2), RIG_DNR | BF_NVME_SC_FW_IMAGE); /* nothing in the slot */
	ck_assert_uint_eq(download(4096, 4096), 0);
	ck_assert_uint_eq(commit(2, 1), RIG_DNR | BF_NVME_SC_FW_IMAGE); /* a hole at its start */
	ck_assert_uint_eq(download(0, 4096), 0);
	ck_assert_uint_eq(download(2048, 4), RIG_DNR | BF_NVME_SC_OVERLAP);
	ck_assert_uint_eq(commit(1, 1), RIG_DNR | BF_NVME_SC_FW_SLOT);
	ck_assert_uint_eq(commit(4, 1), RIG_DNR | BF_NVME_SC_FW_SLOT);
	ck_assert_uint_eq(commit(2, 6), FIELD);
	ck_assert_uint_eq(commit(2, 1), 0);
	expect_firmware("BELFRY1 ");
	ck_assert_uint_eq(rig_log(&h, 3, false, page, 512), 0);
	ck_assert_uint_eq(page[0], 0x21);
	ck_assert_mem_eq(page + 16, "2.0-test", 8);
	restart();
	expect_firmware("2.0-test");
	memcpy(page, "3.0-test", 8);
	ck_assert_uint_eq(download(0, 64), 0);
	ck_assert_uint_eq(commit(0, 3), 0); /* into the empty slot, at once */
	expect_firmware("3.0-test");
	ck_assert_uint_eq(commit(1, 3), 0);
	expect_firmware("BELFRY1 ");
	ck_assert_uint_eq(rig_log(&h, 3, false, page, 512), 0);
	ck_assert_uint_eq(page[0], 1);
	ck_assert_mem_eq(page + 24, "3.0-test", 8);
	page[0] = 1; /* no text */
	ck_assert_uint_eq(download(0, 64), 0);
	ck_assert_uint_eq(commit(2, 0), RIG_DNR | BF_NVME_SC_FW_IMAGE);
}
END_TEST

static uint32_t self_test(uint32_t kind, uint32_t nsid)
{
	struct bf_nvme_sqe *e = host_slot(&h, &h.admin, BF_NVME_ADM_SELF_TEST, nsid);
	struct bf_nvme_cqe c;

	bf_put_le32(e->cdw10.b, kind);
	host_ring(&h, &h.admin);
	bf_sim_run(h.sim, h.sim->now_ps + 1 * BF_S);
	ck_assert(host_poll(&h, &h.admin, &c));
	return host_status(&c);
}

START_TEST(test_self_test)
{
	ck_assert_uint_eq(self_test(3, 0), FIELD);
	ck_assert_uint_eq(self_test(1, 7), NS);
	ck_assert_uint_eq(self_test(1, BF_NVME_NSID_ALL), 0);
	ck_assert_uint_eq(self_test(2, 0), RIG_DNR | BF_NVME_SC_SELF_TEST_IN_PROGRESS);
	host_run(&h);
	ck_assert_uint_eq(rig_log(&h, 6, false, page, 564), 0);
	ck_assert_uint_eq(page[0], 0);
	ck_assert_uint_eq(page[4], 1u << 4); /* short, passed */
	ck_assert_uint_eq(page[4 + 28], 0xf);
	ck_assert_uint_eq(self_test(2, 1), 0);
	ck_assert_uint_eq(self_test(0xf, 0), 0);
	ck_assert_uint_eq(rig_log(&h, 6, false, page, 564), 0);
	ck_assert_uint_eq(page[4], 2u << 4 | 1);
	ck_assert_uint_eq(page[4 + 28], 1u << 4);
}
END_TEST

/* Every admin opcode with random fields: one completion each, and the controller lives on. */
START_TEST(test_random_admin)
{
	struct bf_rng r;
	struct bf_nvme_cqe c;
	uint32_t waiting = 0;

	bf_rng_init(&r, 11, "admin");
	for (int i = 0; i < 20000; i++) {
		struct bf_nvme_sqe *e = &h.admin.sq[h.admin.tail];
		uint8_t *raw = (uint8_t *)e;

		for (int j = 0; j < 64; j++)
			raw[j] = bf_rng_chance(&r, 500000) ? (uint8_t)bf_rng_next(&r) : 0;
		e->opcode = (uint8_t)(bf_rng_chance(&r, 900000) ? bf_rng_below(&r, 0x19) : bf_rng_next(&r));
		if (e->opcode == BF_NVME_ADM_SET_FEATURES && raw[40] == 0x0f)
			raw[40] = 0;
		if (bf_rng_chance(&r, 700000)) {
			bf_put_le64(e->prp1.b, at + bf_rng_below(&r, 4) * 2048);
			bf_put_le64(e->prp2.b, at + 4096);
			e->flags = 0;
		}
		bf_put_le16(e->cid.b, h.next_cid++);
		h.admin.tail = (h.admin.tail + 1) % h.admin.size;
		host_ring(&h, &h.admin);
		host_run(&h);
		if (host_poll(&h, &h.admin, &c)) {
			while (host_poll(&h, &h.admin, &c))
				ck_assert_uint_gt(waiting--, 0);
			host_run(&h);
		} else {
			waiting++; /* an event request */
		}
		ck_assert_uint_le(waiting, 8);
	}
	ck_assert_uint_eq(rig_read32(&h, BF_NVME_CSTS), 1);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("nvme admin");
	TCase *c = tcase_create("admin");

	tcase_set_timeout(c, 60);
	tcase_add_checked_fixture(c, setup, teardown);
	tcase_add_test(c, test_identify_controller);
	tcase_add_test(c, test_identify_namespaces);
	tcase_add_test(c, test_identify_the_rest);
	tcase_add_test(c, test_logs);
	tcase_add_test(c, test_format);
	tcase_add_test(c, test_format_waits_for_flush);
	tcase_add_test(c, test_format_in_progress);
	tcase_add_test(c, test_namespace_management);
	tcase_add_test(c, test_firmware);
	tcase_add_test(c, test_self_test);
	tcase_add_test(c, test_random_admin);
	suite_add_tcase(s, c);
	return rig_main(s);
}
