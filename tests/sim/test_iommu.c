/* I/O address spaces against a naive page table. */
#include <check.h>
#include <errno.h>
#include <string.h>

#include "sim/fault.h"
#include "sim/iommu.h"
#include "sim/rng.h"

#define PAGES 64u
#define BASE 0x7f0000000000ull

static struct bf_sim *sim;
static struct bf_space space;
static struct bf_ioas as;
static struct bf_region *regions[2];

static void setup(void)
{
	struct bf_region_opts opts = { .name = "ram", .size = PAGES * BF_PAGE };

	ck_assert_int_eq(bf_sim_create(1, &sim), 0);
	ck_assert_int_eq(bf_space_init(&space, sim, "host0", 0), 0);
	ck_assert_int_eq(bf_region_create(&space, &opts, &regions[0]), 0);
	ck_assert_int_eq(bf_region_create(&space, &opts, &regions[1]), 0);
	ck_assert_int_eq(bf_ioas_init(&as, sim, "ioas", BF_PAGE), 0);
}

static void teardown(void)
{
	bf_ioas_fini(&as);
	bf_space_fini(&space);
	bf_sim_destroy(sim);
}

/* One entry a page: what the same page of a real table would hold. */
struct naive_page {
	uint8_t *host;
	struct bf_region *region;
	uint32_t perm;
};

static int naive_map(struct naive_page *table, uint64_t page, struct bf_region *r, uint64_t offset, uint64_t n,
		     uint32_t perm)
{
	for (uint64_t i = 0; i < n; i++)
		if (table[page + i].perm)
			return -EEXIST;
	for (uint64_t i = 0; i < n; i++)
		table[page + i] = (struct naive_page){ r->bytes + (offset + i) * BF_PAGE, r, perm };
	return 0;
}

static int naive_unmap(struct naive_page *table, uint64_t page, uint64_t n)
{
	int rc = -ENOENT;

	for (uint64_t i = 0; i < n; i++) {
		if (table[page + i].perm)
			rc = 0;
		table[page + i] = (struct naive_page){ 0 };
	}
	return rc;
}

/* The run may end early only where the table's pages do not continue. */
static void check_translation(const struct naive_page *table, uint64_t at, uint64_t len, uint32_t access)
{
	const struct naive_page *page = &table[at / BF_PAGE];
	struct bf_region *region = NULL;
	uint64_t faults = as.faults, end;
	void *host = NULL;
	int64_t run = bf_ioas_translate(&as, BASE + at, len, access, 9, &host, &region);

	if ((page->perm & access) != access) {
		ck_assert_int_eq(run, -EFAULT);
		ck_assert_uint_eq(as.faults, faults + 1);
		ck_assert_uint_eq(as.last_fault.iova, BASE + at);
		ck_assert_uint_eq(as.last_fault.access, access);
		ck_assert_uint_eq(as.last_fault.actor, 9);
		ck_assert_int_eq(as.last_fault.reason, page->perm ? BF_IOMMU_PERM : BF_IOMMU_UNMAPPED);
		return;
	}
	ck_assert_int_gt(run, 0);
	ck_assert_uint_le((uint64_t)run, len);
	ck_assert_ptr_eq(host, page->host + at % BF_PAGE);
	ck_assert_ptr_eq(region, page->region);
	for (end = (at / BF_PAGE + 1) * BF_PAGE; end < at + (uint64_t)run; end += BF_PAGE) {
		const struct naive_page *next = &table[end / BF_PAGE];

		ck_assert_ptr_eq(next->host, page->host + (end - at / BF_PAGE * BF_PAGE));
		ck_assert_uint_eq(next->perm & access, access);
	}
	if ((uint64_t)run < len) {
		const struct naive_page *next = &table[(at + (uint64_t)run) / BF_PAGE];

		ck_assert_uint_eq((at + (uint64_t)run) % BF_PAGE, 0);
		ck_assert(next->host != page->host + (end - at / BF_PAGE * BF_PAGE) ||
			  (next->perm & access) != access || next->region != page->region);
	}
}

START_TEST(random_maps_match_a_page_table)
{
	struct naive_page table[2 * PAGES + 1] = { 0 };
	struct bf_rng rng;

	bf_rng_init(&rng, (uint64_t)_i, "iommu test");
	for (int step = 0; step < 20000; step++) {
		uint64_t page = bf_rng_below(&rng, PAGES), n = 1 + bf_rng_below(&rng, 12);
		uint64_t offset = bf_rng_chance(&rng, 500000) ? page / 2 : bf_rng_below(&rng, PAGES - 12);
		struct bf_region *r = regions[bf_rng_below(&rng, 2)];
		uint32_t perm = 1 + (uint32_t)bf_rng_below(&rng, 3), access = 1 + (uint32_t)bf_rng_below(&rng, 3);

		if (offset + n > PAGES)
			offset = 0;
		switch (bf_rng_below(&rng, 4)) {
		case 0:
			ck_assert_int_eq(
			    bf_ioas_map(&as, BASE + page * BF_PAGE, r, offset * BF_PAGE, n * BF_PAGE, perm),
			    naive_map(table, page, r, offset, n, perm));
			break;
		case 1:
			ck_assert_int_eq(bf_ioas_unmap(&as, BASE + page * BF_PAGE, n * BF_PAGE),
					 naive_unmap(table, page, n));
			break;
		default:
			check_translation(table, bf_rng_below(&rng, PAGES * BF_PAGE),
					  1 + bf_rng_below(&rng, 20 * BF_PAGE), access);
		}
	}
}
END_TEST

START_TEST(neighbours_in_one_region_are_one_run)
{
	struct bf_region *region;
	void *host;

	ck_assert_int_eq(bf_ioas_map(&as, BASE, regions[0], 0, BF_PAGE, 3), 0);
	ck_assert_int_eq(bf_ioas_map(&as, BASE + BF_PAGE, regions[0], BF_PAGE, BF_PAGE, 1), 0);
	ck_assert_int_eq(bf_ioas_map(&as, BASE + 2 * BF_PAGE, regions[0], 3 * BF_PAGE, BF_PAGE, 3), 0);
	ck_assert_int_eq(bf_ioas_translate(&as, BASE + 16, 5 * BF_PAGE, BF_IOMMU_READ, 0, &host, &region),
			 2 * BF_PAGE - 16);
	ck_assert_int_eq(bf_ioas_translate(&as, BASE + 16, 5 * BF_PAGE, BF_IOMMU_WRITE, 0, &host, &region),
			 BF_PAGE - 16);
	for (int64_t len = 1; len < 40; len++)
		ck_assert_int_eq(
		    bf_ioas_translate(&as, BASE + BF_PAGE - 20, (uint64_t)len, BF_IOMMU_WRITE, 0, &host, &region),
		    len < 20 ? len : 20);
}
END_TEST

START_TEST(bad_maps_are_refused)
{
	struct bf_ioas large;

	ck_assert_int_eq(bf_ioas_map(&as, BASE + 1, regions[0], 0, BF_PAGE, 1), -EINVAL);
	ck_assert_int_eq(bf_ioas_map(&as, BASE, regions[0], 1, BF_PAGE, 1), -EINVAL);
	ck_assert_int_eq(bf_ioas_map(&as, BASE, regions[0], 0, BF_PAGE - 1, 1), -EINVAL);
	ck_assert_int_eq(bf_ioas_map(&as, BASE, regions[0], 0, 0, 1), -EINVAL);
	ck_assert_int_eq(bf_ioas_map(&as, BASE, regions[0], 0, BF_PAGE, 0), -EINVAL);
	ck_assert_int_eq(bf_ioas_map(&as, BASE, regions[0], 0, BF_PAGE, 4), -EINVAL);
	ck_assert_int_eq(bf_ioas_map(&as, BASE, regions[0], BF_PAGE, PAGES * BF_PAGE, 1), -EINVAL);
	ck_assert_int_eq(bf_ioas_map(&as, BASE, regions[0], ~0ull << 12, BF_PAGE, 1), -EINVAL);
	ck_assert_int_eq(bf_ioas_map(&as, ~0ull << 12, regions[0], 0, 2 * BF_PAGE, 1), -EINVAL);
	ck_assert_int_eq(bf_ioas_map(&as, ~0ull << 12, regions[0], 0, BF_PAGE, 1), 0);
	ck_assert_int_eq(bf_ioas_unmap(&as, BASE, BF_PAGE), -ENOENT);
	ck_assert_int_eq(bf_ioas_unmap(&as, BASE, 1), -EINVAL);
	ck_assert_int_eq(bf_ioas_unmap(&as, ~0ull << 12, BF_PAGE), 0);
	ck_assert_int_eq(bf_ioas_init(&large, sim, "odd", 5000), -EINVAL);
	ck_assert_int_eq(bf_ioas_init(&large, sim, "large", 2u << 20), 0);
	ck_assert_int_eq(bf_ioas_map(&large, BASE, regions[0], 0, BF_PAGE, 1), -EINVAL);
	bf_ioas_fini(&large);
}
END_TEST

START_TEST(the_last_page_of_the_address_space)
{
	struct bf_region *region;
	void *host;

	ck_assert_int_eq(bf_ioas_map(&as, ~0ull << 12, regions[0], 0, BF_PAGE, 1), 0);
	ck_assert_int_eq(bf_ioas_translate(&as, UINT64_MAX - 7, 100, 1, 0, &host, &region), 8);
	ck_assert_int_eq(bf_ioas_translate(&as, UINT64_MAX, 1, 1, 0, &host, &region), 1);
}
END_TEST

START_TEST(injected_faults)
{
	struct bf_region *region;
	void *host;

	ck_assert_int_eq(bf_fault_plan_parse("dma-fault skip=2 count=1", 1, NULL, &sim->faults), 0);
	ck_assert_int_eq(bf_ioas_map_region(&as, regions[0], 3), 0);
	for (int i = 0; i < 5; i++) {
		int64_t run = bf_ioas_translate(&as, regions[0]->va, 8, 1, 4, &host, &region);

		ck_assert_int_eq(run, i == 2 ? -EFAULT : 8);
	}
	ck_assert_int_eq(as.last_fault.reason, BF_IOMMU_INJECTED);
	ck_assert_uint_eq(as.faults, 1);
	bf_fault_plan_destroy(sim->faults);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("iommu");
	TCase *t = tcase_create("iommu");
	SRunner *runner = srunner_create(s);
	int failed;

	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_loop_test(t, random_maps_match_a_page_table, 0, 8);
	tcase_add_test(t, neighbours_in_one_region_are_one_run);
	tcase_add_test(t, bad_maps_are_refused);
	tcase_add_test(t, the_last_page_of_the_address_space);
	tcase_add_test(t, injected_faults);
	suite_add_tcase(s, t);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed != 0;
}
