/* Images: regions begin with the same bytes, and what is written into one is in no other. */
#include <check.h>
#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include "sim/image.h"
#include "sim/mem.h"

#define BYTES (3 * BF_PAGE + 100)

static struct bf_sim *sim;
static struct bf_space space[2];

static void setup(void)
{
	ck_assert_int_eq(bf_sim_create(1, &sim), 0);
	for (uint32_t i = 0; i < 2; i++)
		ck_assert_int_eq(bf_space_init(&space[i], sim, i ? "b" : "a", i), 0);
}

static void teardown(void)
{
	for (uint32_t i = 0; i < 2; i++)
		bf_space_fini(&space[i]);
	bf_sim_destroy(sim);
}

static void check_bytes(const uint8_t *p, const uint8_t *want)
{
	ck_assert_mem_eq(p, want, BYTES);
	for (uint32_t i = BYTES; i < 4 * BF_PAGE; i++)
		ck_assert_uint_eq(p[i], 0);
}

START_TEST(regions_share_and_part)
{
	struct bf_region_opts o = { .name = "table", .kind = BF_MEM_VRAM };
	static uint8_t bytes[BYTES];
	struct bf_region *r[3];
	struct bf_image im;

	for (uint32_t i = 0; i < BYTES; i++)
		bytes[i] = (uint8_t)(i * 7 + i / 256);
	ck_assert_int_eq(bf_image_create(&im, bytes, BYTES), 0);
	ck_assert_uint_eq(im.size, 4 * BF_PAGE);
	o.image = &im;
	o.size = im.size;
	for (uint32_t i = 0; i < 2; i++)
		ck_assert_int_eq(bf_region_create(&space[i], &o, &r[i]), 0);
	memset(r[0]->bytes + BF_PAGE, 0xaa, BF_PAGE);
	check_bytes(r[1]->bytes, bytes);
	/* Neither the image nor who maps it later has what was written. */
	ck_assert_int_eq(bf_region_create(&space[1], &o, &r[2]), 0);
	bf_image_destroy(&im);
	ck_assert_uint_eq(im.size, 0);
	bf_image_destroy(&im);
	check_bytes(r[2]->bytes, bytes);
	ck_assert_mem_eq(r[0]->bytes, bytes, BF_PAGE);
	ck_assert_uint_eq(r[0]->bytes[BF_PAGE], 0xaa);
	ck_assert_uint_eq(r[0]->bytes[2 * BF_PAGE - 1], 0xaa);
	ck_assert_mem_eq(r[0]->bytes + 2 * BF_PAGE, bytes + 2 * BF_PAGE, BYTES - 2 * BF_PAGE);
	ck_assert_ptr_eq(bf_space_find_host(&space[1], r[2]->bytes + 5), r[2]);
	bf_region_destroy(r[1]);
	check_bytes(r[2]->bytes, bytes);
}
END_TEST

START_TEST(bad_ones_are_refused)
{
	struct bf_region_opts o = { .name = "table", .kind = BF_MEM_VRAM, .size = 2 * BF_PAGE };
	struct bf_region *r = NULL;
	struct bf_image im;

	ck_assert_int_eq(bf_image_create(&im, "", 0), -EINVAL);
	ck_assert_uint_eq(im.size, 0);
	ck_assert_int_eq(bf_image_create(&im, "x", 1), 0);
	o.image = &im;
	ck_assert_int_eq(bf_region_create(&space[0], &o, &r), -EINVAL); /* beyond its end nothing is mapped */
	ck_assert_ptr_nonnull(strstr(sim->error.text, "image of 0x1000 bytes"));
	o.size = im.size;
	o.bytes = bf_image_map(&im);
	ck_assert_ptr_nonnull(o.bytes);
	ck_assert_int_eq(bf_region_create(&space[0], &o, &r), -EINVAL);
	munmap(o.bytes, im.size);
	o.bytes = NULL;
	ck_assert_int_eq(bf_region_create(&space[0], &o, &r), 0);
	ck_assert_uint_eq(r->bytes[0], 'x');
	bf_image_destroy(&im);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("image");
	TCase *tc = tcase_create("image");
	SRunner *sr;
	int failed;

	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, regions_share_and_part);
	tcase_add_test(tc, bad_ones_are_refused);
	suite_add_tcase(s, tc);
	sr = srunner_create(s);
	srunner_run_all(sr, CK_NORMAL);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed != 0;
}
