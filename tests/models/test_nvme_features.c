/* Get and Set Features: values, saved and default ones, data structures, error statuses. */
#include "tests/models/nvme_admin_rig.h"

START_TEST(test_features)
{
	static const struct {
		uint32_t fid, value;
		bool save;
	} simple[] = {
		{ 0x01, 0x01020304, true }, { 0x04, 350, true },   { 0x06, 0, true }, { 0x08, 0x0503, true },
		{ 0x0a, 1, true },          { 0x0b, 0x1ff, true }, { 0x80, 3, true }, { 0x02, 0, false },
	};
	uint32_t before, value;

	for (size_t i = 0; i < BF_ARRAY_LEN(simple); i++) {
		uint32_t fid = simple[i].fid;

		ck_assert_uint_eq(get(fid, 0, 0, &before), 0);
		ck_assert_uint_eq(get(fid | 3u << 8, 0, 0, &value), 0); /* what it can */
		ck_assert_uint_eq(value, simple[i].save ? 5 : 4);
		if (!simple[i].save)
			ck_assert_uint_eq(set(fid | 1u << 31, 0, simple[i].value),
					  RIG_DNR | BF_NVME_SC_FEATURE_NOT_SAVEABLE);
		ck_assert_uint_eq(set(fid, 1, simple[i].value), RIG_DNR | BF_NVME_SC_FEATURE_NOT_PER_NS);
		ck_assert_uint_eq(set(fid, 0, simple[i].value), 0);
		ck_assert_uint_eq(get(fid, 0, 0, &value), 0);
		ck_assert_uint_eq(value, simple[i].value);
		ck_assert_uint_eq(get(fid | 1u << 8, 0, 0, &value), 0);
		ck_assert_uint_eq(value, before);
		ck_assert_uint_eq(get(fid | 2u << 8, 0, 0, &value), 0);
		ck_assert_uint_eq(value, before);
	}
	restart();
	ck_assert_uint_eq(get(1, 0, 0, &value), 0);
	ck_assert_uint_eq(value, 3);
	ck_assert_uint_eq(set(1 | 1u << 31, 0, 0x0a0b0c02), 0);
	restart();
	ck_assert_uint_eq(get(1, 0, 0, &value), 0);
	ck_assert_uint_eq(value, 0x0a0b0c02);
	ck_assert_uint_eq(get(2u << 8 | 1, 0, 0, &value), 0);
	ck_assert_uint_eq(value, 0x0a0b0c02);
	for (uint32_t fid = 0; fid < 256; fid++) { /* the features log says which there are */
		uint32_t status = get(fid | 3u << 8, 1, 0, &value);

		ck_assert(status == 0 || status == FIELD);
		ck_assert_uint_eq(log_at(0x12, 4 * fid, 4), 0);
		ck_assert_uint_eq(page[0] & 1, status == 0);
	}
	ck_assert_uint_eq(set(2, 0, 1), FIELD); /* no such power state */
	ck_assert_uint_eq(get(1 | 4u << 8, 0, 0, &value), FIELD);
}
END_TEST

START_TEST(test_feature_queues)
{
	uint32_t value;
	uint64_t ring = host_va(&h, host_alloc(&h, 4096, 4096));

	ck_assert_uint_eq(rig_admin(&h, BF_NVME_ADM_SET_FEATURES, 0, 0, 7, 7u << 16 | 7, &value), 0);
	ck_assert_uint_eq(value, 65534u << 16 | 65534u);
	ck_assert_uint_eq(set(7, 0, 0xffff), FIELD);
	ck_assert_uint_eq(set(7, 0, 0xffff0000), FIELD);
	ck_assert_uint_eq(rig_create_cq(&h, 1, 16, ring, 1, 0), 0);
	ck_assert_uint_eq(set(7, 0, 0), RIG_DNR | BF_NVME_SC_SEQUENCE);
	ck_assert_uint_eq(rig_delete(&h, BF_NVME_ADM_DELETE_CQ, 1), 0);
	ck_assert_uint_eq(set(7, 0, 0), 0);
}
END_TEST

START_TEST(test_feature_data)
{
	uint32_t value;
	uint64_t ms = 1700000000000ull;

	bf_put_le64(page, ms);
	ck_assert_uint_eq(set(0x0e, 0, 0), 0);
	bf_sim_run(h.sim, h.sim->now_ps);
	restart();
	memset(page, 0, 8);
	ck_assert_uint_eq(get(0x0e, 0, 0, &value), 0);
	ck_assert_uint_eq(bf_get_le64(page) & 0xffffffffffff, ms);
	ck_assert_uint_eq(page[6] >> 1 & 7, 1);
	memset(page, 0xa5, 16);
	ck_assert_uint_eq(set(0x81, 0, 1), 0); /* 128 bits */
	memset(page, 0, 16);
	ck_assert_uint_eq(get(0x81, 0, 1, &value), 0);
	ck_assert_uint_eq(page[15], 0xa5);
	memset(page, 0x11, 512);
	ck_assert_uint_eq(set(0x16, 0, 0), 0);
	memset(page, 0, 512);
	ck_assert_uint_eq(get(0x16, 0, 0, &value), 0);
	ck_assert_uint_eq(page[511], 0x11);
	/* Of a namespace. */
	ck_assert_uint_eq(set(5, 0, 1u << 16), NS);
	ck_assert_uint_eq(set(5, 1, 1u << 16 | 7), 0);
	ck_assert_uint_eq(get(5, 0, 0, &value), NS);
	ck_assert_uint_eq(get(5, 1, 0, &value), 0);
	ck_assert_uint_eq(value, 1u << 16 | 7);
	ck_assert_uint_eq(get(5, 2, 0, &value), 0);
	ck_assert_uint_eq(value, 0);
	ck_assert_uint_eq(set(5, BF_NVME_NSID_ALL, 9), 0);
	ck_assert_uint_eq(get(5, 2, 0, &value), 0);
	ck_assert_uint_eq(value, 9);
	ck_assert_uint_eq(set(9, 0, 5000), FIELD);
	ck_assert_uint_eq(set(9, 0, 1u << 16 | 6), 0);
	ck_assert_uint_eq(get(9, 0, 6, &value), 0);
	ck_assert_uint_eq(value, 1u << 16 | 6);
}
END_TEST

static void put_range(uint32_t i, uint64_t first, uint64_t blocks)
{
	memset(page + 64 * i, 0, 64);
	page[64 * i] = 2; /* a RAID */
	bf_put_le64(page + 64 * i + 16, first);
	bf_put_le64(page + 64 * i + 24, blocks - 1);
	page[64 * i + 32] = (uint8_t)(i + 1);
}

START_TEST(test_feature_lba_ranges)
{
	uint32_t n;

	ck_assert_uint_eq(get(3, 1, 0, &n), 0);
	ck_assert_uint_eq(n, 0);
	ck_assert_uint_eq(bf_get_le64(page + 24), 131071);
	put_range(0, 1000, 1000);
	put_range(1, 0, 1000);
	ck_assert_uint_eq(set(3, 1, 1), 0);
	memset(page, 0xee, 4096);
	ck_assert_uint_eq(get(3, 1, 0, &n), 0);
	ck_assert_uint_eq(n, 1);
	ck_assert_uint_eq(bf_get_le64(page + 16), 1000);
	ck_assert_uint_eq(page[64 + 32], 2);
	ck_assert_uint_eq(bf_get_le64(page + 128 + 24), 0);
	ck_assert_uint_eq(get(1u << 8 | 3, 1, 0, &n), 0); /* the default */
	ck_assert_uint_eq(n, 0);
	ck_assert_uint_eq(get(3, 2, 0, &n), 0); /* another namespace */
	ck_assert_uint_eq(bf_get_le64(page + 24), 8191);
	put_range(0, 0, 1001);
	put_range(1, 1000, 1);
	ck_assert_uint_eq(set(3, 1, 1), RIG_DNR | BF_NVME_SC_OVERLAP);
	ck_assert_uint_eq(set(3, 1, 0), 0); /* the first alone */
	put_range(0, 131071, 2);
	ck_assert_uint_eq(set(3, 1, 0), FIELD);
	put_range(0, 0, 0); /* 2^64 blocks */
	ck_assert_uint_eq(set(3, 1, 0), FIELD);
	ck_assert_uint_eq(set(3, BF_NVME_NSID_ALL, 0), NS);
	ck_assert_uint_eq(set(3, 3, 0), FIELD);
	ck_assert_uint_eq(set(1u << 31 | 3, 1, 0), RIG_DNR | BF_NVME_SC_FEATURE_NOT_SAVEABLE);
	restart();
	ck_assert_uint_eq(get(3, 1, 0, &n), 0);
	ck_assert_uint_eq(bf_get_le64(page + 24), 131071);
	/* There is one combination of command sets. */
	ck_assert_uint_eq(set(0x19, 0, 0), 0);
	ck_assert_uint_eq(set(0x19, 0, 1), RIG_DNR | BF_NVME_SC_COMMAND_SETS);
	ck_assert_uint_eq(get(0x19, 0, 0, &n), 0);
	ck_assert_uint_eq(n, 0);
}
END_TEST

START_TEST(test_keep_alive)
{
	struct bf_nvme_sqe *e = host_slot(&h, &h.admin, BF_NVME_ADM_SET_FEATURES, 0);
	uint32_t value;

	bf_put_le32(e->cdw10.b, 0x0f);
	bf_put_le32(e->cdw11.b, 1500);
	host_ring(&h, &h.admin);
	bf_sim_run(h.sim, h.sim->now_ps + BF_MS);
	for (int i = 0; i < 5; i++) {
		host_slot(&h, &h.admin, BF_NVME_ADM_KEEP_ALIVE, 0);
		host_ring(&h, &h.admin);
		bf_sim_run(h.sim, h.sim->now_ps + 1900 * BF_MS); /* the time was rounded up to 2 s */
		ck_assert_uint_eq(rig_read32(&h, BF_NVME_CSTS), 1);
	}
	bf_sim_run(h.sim, h.sim->now_ps + 200 * BF_MS);
	ck_assert_uint_eq(rig_read32(&h, BF_NVME_CSTS), 3);
	restart();
	ck_assert_uint_eq(get(0x0f, 0, 0, &value), 0);
	ck_assert_uint_eq(value, 0);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("nvme features");
	TCase *c = tcase_create("features");

	tcase_set_timeout(c, 60);
	tcase_add_checked_fixture(c, setup, teardown);
	tcase_add_test(c, test_features);
	tcase_add_test(c, test_feature_queues);
	tcase_add_test(c, test_feature_data);
	tcase_add_test(c, test_feature_lba_ranges);
	tcase_add_test(c, test_keep_alive);
	suite_add_tcase(s, c);
	return rig_main(s);
}
