/* Loads and stores of a processor to the registers of devices: when they arrive, and in which order. */
#include "sim/fault.h"
#include "tests/sim/pcie_rig.h"

/* What a device with registers saw. */
static struct {
	uint64_t offset[64], when[64];
	uint32_t len[64], count;
	uint8_t first[64];
	bool writes_back;
} saw;

static void see_write(struct bf_region *r, uint64_t offset, const void *data, uint32_t len)
{
	uint32_t i = saw.count++ % 64;

	ck_assert_ptr_eq(r->owner, &saw);
	saw.offset[i] = offset;
	saw.len[i] = len;
	saw.when[i] = sim->now_ps;
	saw.first[i] = *(const uint8_t *)data;
	for (int k = 0; saw.writes_back && k < 200; k++) {
		static const uint8_t page[BF_PAGE];

		ck_assert_int_eq(bf_dma_write(&port, IOVA, page, BF_PAGE, 0), 0);
	}
}

static uint64_t see_read(struct bf_region *r, uint64_t offset, uint32_t len)
{
	(void)r, (void)len;
	return 0x1122334455660000ull + offset + saw.count;
}

static struct bf_region *make_registers(struct bf_link *l)
{
	static const struct bf_mmio_ops ops = { .write = see_write, .read = see_read };
	struct bf_region_opts opts = {
		.name = "bar0", .kind = BF_MEM_MMIO, .size = 2 * BF_PAGE, .mmio = &ops, .owner = &saw, .link = l
	};
	struct bf_region *r;

	memset(&saw, 0, sizeof(saw));
	ck_assert_int_eq(bf_region_create(&space, &opts, &r), 0);
	return r;
}

START_TEST(stores_arrive_in_order)
{
	struct bf_region *r = make_registers(&link_);
	uint8_t data[64];

	for (uint8_t i = 0; i < 40; i++) {
		memset(data, i, sizeof(data));
		bf_mmio_post(r, 8ull * i, data, i % 2 ? 8 : 64);
	}
	bf_mmio_post(r, 2 * BF_PAGE, data, 8);
	bf_mmio_post(r, 2 * BF_PAGE - 4, data, 8);
	bf_mmio_post(r, 0, data, 65);
	ck_assert_int_eq(bf_sim_run(sim, BF_NEVER), BF_RUN_IDLE);
	ck_assert_uint_eq(saw.count, 40);
	ck_assert_uint_eq(saw.when[0], 100084);
	ck_assert_uint_eq(saw.when[39], 100000 + 20 * (84 + 28));
	for (uint8_t i = 0; i < 40; i++) {
		ck_assert_uint_eq(saw.offset[i], 8u * i);
		ck_assert_uint_eq(saw.first[i], i);
		ck_assert_uint_eq(saw.len[i], i % 2 ? 8 : 64);
	}
}
END_TEST

START_TEST(stores_without_a_link_arrive_at_once)
{
	struct bf_region *r = make_registers(NULL);
	uint64_t done, bell = 1;

	bf_mmio_post(r, 16, &bell, 8);
	ck_assert_uint_eq(saw.count, 1);
	ck_assert_uint_eq(bf_mmio_load(r, 16, 8, &done), 0x1122334455660011ull);
	ck_assert_uint_eq(done, sim->now_ps);
}
END_TEST

START_TEST(a_load_comes_behind_stores_and_dma_writes)
{
	struct bf_region *r = make_registers(&link_);
	uint64_t done, bell = 1;
	uint8_t data[256] = { 0 };

	bf_mmio_post(r, 0, &bell, 8);
	ck_assert_uint_eq(bf_mmio_load(r, 8, 2, &done), 0x0009);
	ck_assert_uint_eq(saw.count, 1);
	/* behind the store of 28 bytes: 20 down, latency, 22 up, latency */
	ck_assert_uint_eq(done, 28 + 20 + 100000 + 22 + 100000);
	for (int i = 0; i < 1000; i++)
		bf_dma_write(&port, IOVA, data, 256, BF_DMA_RELAXED);
	ck_assert_uint_gt(link_.posted_ps, link_.up_free_ps + profile.latency_ps + 100);
	bf_mmio_load(r, 8, 2, &done);
	ck_assert_uint_ge(done, link_.posted_ps);
	ck_assert_int_eq(bf_sim_run(sim, BF_NEVER), BF_RUN_IDLE);
	ck_assert_uint_eq(saw.count, 1);
	ck_assert_uint_eq(bf_mmio_load(r, 2 * BF_PAGE - 1, 2, &done), 0xffff);
}
END_TEST

START_TEST(a_lost_doorbell_does_not_ring)
{
	struct bf_region *r = make_registers(&link_);
	uint64_t bell = 1;

	ck_assert_int_eq(bf_fault_plan_parse("lost-doorbell on=link* skip=1", 1, NULL, &sim->faults), 0);
	for (uint64_t i = 0; i < 3; i++)
		bf_mmio_post(r, 8 * i, &bell, 8);
	bf_sim_run(sim, BF_NEVER);
	ck_assert_uint_eq(saw.count, 2);
	ck_assert_uint_eq(saw.offset[1], 16);
	bf_fault_plan_destroy(sim->faults);
}
END_TEST

START_TEST(a_destroyed_region_gets_no_store)
{
	struct bf_region *r = make_registers(&link_), *other = make_registers(&link_);
	uint64_t bell = 1;

	bf_mmio_post(r, 0, &bell, 8);
	bf_mmio_post(other, 8, &bell, 8);
	bf_region_destroy(r);
	bf_sim_run(sim, BF_NEVER);
	ck_assert_uint_eq(saw.count, 1);
	ck_assert_uint_eq(saw.offset[0], 8);
}
END_TEST

START_TEST(dma_reaches_another_devices_registers)
{
	struct bf_region *r = make_registers(NULL);
	struct noted n;
	uint8_t data[200], got[16];
	uint64_t first;

	for (uint8_t i = 0; i < 200; i++)
		data[i] = i;
	ck_assert_int_eq(bf_ioas_map_region(&ioas, r, 3), 0);
	saw.writes_back = true;
	ck_assert_int_eq(bf_dma_write(&port, r->va + 8, data, 200, 0), 0);
	bf_sim_run(sim, BF_NEVER);
	ck_assert_uint_eq(saw.count, 4);
	ck_assert_uint_eq(saw.offset[1], 8 + 64);
	ck_assert_uint_eq(saw.first[3], 192);
	ck_assert_uint_eq(saw.len[3], 8);
	read_into(&n, r->va + 0x100, got, 12);
	bf_sim_run(sim, BF_NEVER);
	first = bf_get_le64(got);
	ck_assert_uint_eq(first, 0x1122334455660104ull);
	ck_assert_uint_eq(bf_get_le32(got + 8), 0x5566010cu);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("pcie mmio");
	TCase *t = tcase_create("pcie mmio");
	SRunner *runner = srunner_create(s);
	int failed;

	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_test(t, stores_arrive_in_order);
	tcase_add_test(t, stores_without_a_link_arrive_at_once);
	tcase_add_test(t, a_load_comes_behind_stores_and_dma_writes);
	tcase_add_test(t, a_lost_doorbell_does_not_ring);
	tcase_add_test(t, a_destroyed_region_gets_no_store);
	tcase_add_test(t, dma_reaches_another_devices_registers);
	tcase_set_timeout(t, 60);
	suite_add_tcase(s, t);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed != 0;
}
