/* Objects and pages of a simulation: zeroed, apart from each other, used again. */
#include <check.h>
#include <string.h>

#include "sim/mem.h"
#include "sim/pool.h"

static struct bf_sim *sim;

static void setup(void)
{
	ck_assert_int_eq(bf_sim_create(1, &sim), 0);
}

static void teardown(void)
{
	bf_sim_destroy(sim);
}

static bool is_zero(const uint8_t *p, size_t len)
{
	return !p[0] && !memcmp(p, p + 1, len - 1);
}

/*
 * More than the first blocks hold, of all sizes, so that the first extent goes over to huge pages on the way: each
 * filled with a value of its own that must last.
 */
static size_t size_of(uint32_t i)
{
	return 1 + i * 37 % (BF_POOL_MAX + 1000);
}

START_TEST(objects_do_not_meet)
{
	enum { OBJECTS = 6000 };
	static uint8_t *object[OBJECTS];

	for (uint32_t i = 0; i < OBJECTS; i++) {
		const size_t bytes = size_of(i);

		object[i] = bf_pool_take(sim, bytes);
		ck_assert_ptr_nonnull(object[i]);
		ck_assert_uint_eq((uintptr_t)object[i] % 16, 0);
		if (bytes >= BF_POOL_LINES && bytes <= BF_POOL_MAX)
			ck_assert_uint_eq((uintptr_t)object[i] % BF_LINE, 0);
		ck_assert(is_zero(object[i], bytes));
		memset(object[i], (int)(i % 255) + 1, bytes);
	}
	for (uint32_t i = 0; i < OBJECTS; i++) {
		const size_t bytes = size_of(i);

		ck_assert_uint_eq(object[i][0], i % 255 + 1);
		ck_assert(bytes == 1 || !memcmp(object[i], object[i] + 1, bytes - 1));
		bf_pool_give(sim, object[i], bytes);
	}
	bf_pool_give(sim, NULL, 64);
}
END_TEST

START_TEST(what_comes_back_is_zeroed)
{
	static const size_t sizes[] = { 1, 200, 4096, 4097, 5120, 5121, BF_POOL_MAX, BF_POOL_MAX + 1 };

	for (uint32_t i = 0; i < 100 * BF_ARRAY_LEN(sizes); i++) {
		const size_t bytes = sizes[i % BF_ARRAY_LEN(sizes)];
		uint8_t *p = bf_pool_take(sim, bytes);

		ck_assert(is_zero(p, bytes));
		memset(p, 0xff, bytes);
		bf_pool_give(sim, p, bytes);
	}
}
END_TEST

/* Many more than one extent of addresses holds: those that are free again must be used, or this runs out of them. */
START_TEST(pages_come_back)
{
	for (int round = 0; round < 2000; round++) {
		uint8_t *p[4];

		for (int i = 0; i < 4; i++) {
			p[i] = bf_pool_pages_take(sim, BF_POOL_PAGES_MAX, false);
			ck_assert_ptr_nonnull(p[i]);
			ck_assert_uint_eq((uintptr_t)p[i] % BF_PAGE, 0);
			ck_assert(is_zero(p[i], BF_PAGE));
			memset(p[i], i + 1, BF_PAGE);
		}
		for (int i = 0; i < 4; i++) {
			ck_assert_uint_eq(p[i][BF_PAGE - 1], (unsigned)i + 1);
			bf_pool_pages_give(sim, p[i], BF_POOL_PAGES_MAX, false);
		}
	}
}
END_TEST

/* Regions go over to shared pages when there are thousands; each keeps its own bytes and is found by its pointers. */
START_TEST(regions_in_thousands)
{
	enum { REGIONS = 3000 };
	static struct bf_region *region[REGIONS];
	struct bf_space space;

	ck_assert_int_eq(bf_space_init(&space, sim, "pe0", 0), 0);
	for (uint32_t i = 0; i < REGIONS; i++) {
		const struct bf_region_opts opts = { .name = "data", .kind = BF_MEM_DRAM, .size = 5000 };

		ck_assert_int_eq(bf_region_create(&space, &opts, &region[i]), 0);
		memcpy(region[i]->bytes + 4990, &i, sizeof(i));
	}
	for (uint32_t i = 1; i < REGIONS; i += 2)
		bf_region_destroy(region[i]);
	for (uint32_t i = 0; i < REGIONS; i += 2) {
		uint32_t got;

		memcpy(&got, region[i]->bytes + 4990, sizeof(got));
		ck_assert_uint_eq(got, i);
		ck_assert_ptr_eq(bf_space_find_host(&space, region[i]->bytes + 4990), region[i]);
		ck_assert_ptr_eq(bf_space_find(&space, region[i]->va + 8191), region[i]);
	}
	ck_assert_ptr_null(bf_space_find_host(&space, &space));
	bf_space_fini(&space);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("pool");
	TCase *tc = tcase_create("pool");
	SRunner *sr = srunner_create(s);
	int failed;

	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, objects_do_not_meet);
	tcase_add_test(tc, what_comes_back_is_zeroed);
	tcase_add_test(tc, pages_come_back);
	tcase_add_test(tc, regions_in_thousands);
	suite_add_tcase(s, tc);
	srunner_run_all(sr, CK_NORMAL);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed != 0;
}
