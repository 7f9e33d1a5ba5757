/* IOMMUFD: objects, addresses and errno values as Linux has them, and DMA that obeys. */
#include <check.h>
#include <errno.h>
#include <string.h>

#include "sim/iommufd.h"
#include "sim/rng.h"

#define RW (BF_IOMMUFD_READABLE | BF_IOMMUFD_WRITEABLE)
#define PAGES 64u

static struct bf_sim *sim;
static struct bf_space space;
static struct bf_ioas own;
static struct bf_link link;
static struct bf_dma_port port, other;
static struct bf_region *ram;
static struct bf_iommufd *fd;
static uint32_t ioas;

static void setup(void)
{
	struct bf_region_opts opts = { .name = "ram", .size = PAGES * BF_PAGE };

	ck_assert_int_eq(bf_sim_create(1, &sim), 0);
	ck_assert_int_eq(bf_space_init(&space, sim, "host", 0), 0);
	ck_assert_int_eq(bf_region_create(&space, &opts, &ram), 0);
	ck_assert_int_eq(bf_ioas_init(&own, sim, "own", BF_PAGE), 0);
	ck_assert_int_eq(bf_ioas_map_region(&own, ram, BF_IOMMU_READ | BF_IOMMU_WRITE), 0);
	ck_assert_int_eq(bf_link_init(&link, sim, "link", &bf_link_profile_gen5_x16), 0);
	ck_assert_int_eq(bf_dma_port_init(&port, sim, "dev", &link, &own), 0);
	ck_assert_int_eq(bf_dma_port_init(&other, sim, "other", &link, &own), 0);
	ck_assert_int_eq(bf_iommufd_open(sim, &space, &fd), 0);
	ck_assert_int_eq(bf_iommufd_ioas_alloc(fd, &ioas), 0);
}

static void teardown(void)
{
	bf_iommufd_close(fd);
	bf_dma_port_fini(&other);
	bf_dma_port_fini(&port);
	bf_link_fini(&link);
	bf_ioas_fini(&own);
	bf_space_fini(&space);
	bf_sim_destroy(sim);
}

static int map(uint32_t flags, uint64_t offset, uint64_t len, uint64_t *iova)
{
	return bf_iommufd_map(fd, ioas, flags, ram->va + offset, len, iova);
}

static uint32_t bind_and_attach(void)
{
	uint32_t dev, pt = ioas;

	ck_assert_int_eq(bf_iommufd_bind(fd, "dev", &port, &dev), 0);
	ck_assert_int_eq(bf_iommufd_attach(fd, dev, &pt), 0);
	return dev;
}

/* 0 when a write of the device to `iova` lands, at `offset` of the memory. */
static int write_lands(uint64_t iova, uint64_t offset)
{
	static uint32_t value;
	int rc;

	value++;
	rc = bf_dma_write(&port, iova, &value, 4, 0);
	bf_sim_run(sim, BF_NEVER);
	return rc ? rc : memcmp(ram->bytes + offset, &value, 4) ? -EIO : 0;
}

START_TEST(ids_are_the_lowest_free)
{
	uint32_t a, b, c, dev, pt = ioas;

	ck_assert_uint_eq(ioas, 1);
	ck_assert_int_eq(bf_iommufd_ioas_alloc(fd, &a), 0);
	ck_assert_int_eq(bf_iommufd_ioas_alloc(fd, &b), 0);
	ck_assert_uint_eq(b, 3);
	ck_assert_int_eq(bf_iommufd_destroy(fd, a), 0);
	ck_assert_int_eq(bf_iommufd_destroy(fd, a), -ENOENT);
	ck_assert_int_eq(bf_iommufd_destroy(fd, 0), -ENOENT);
	ck_assert_int_eq(bf_iommufd_destroy(fd, UINT32_MAX), -ENOENT);
	ck_assert_int_eq(bf_iommufd_bind(fd, "dev", &port, &dev), 0);
	ck_assert_uint_eq(dev, a);
	ck_assert_int_eq(bf_iommufd_attach(fd, dev, &pt), 0);
	ck_assert_uint_eq(pt, 4); /* a page table of its own, made on the way */
	for (uint32_t i = 5; i < 40; i++) {
		ck_assert_int_eq(bf_iommufd_ioas_alloc(fd, &c), 0);
		ck_assert_uint_eq(c, i);
	}
}
END_TEST

START_TEST(calls_fail_as_in_linux)
{
	uint64_t iova = 0x10000, unmapped;
	uint32_t dev, hwpt;

	ck_assert_int_eq(map(8, 0, BF_PAGE, &iova), -EOPNOTSUPP);
	ck_assert_int_eq(map(BF_IOMMUFD_FIXED_IOVA, 0, BF_PAGE, &iova), -EINVAL);
	ck_assert_int_eq(map(RW, 0, UINT64_MAX, &iova), -EOVERFLOW);
	ck_assert_int_eq(map(RW, 0, 0, &iova), -EINVAL);
	ck_assert_int_eq(map(RW, 0, 100, &iova), -EINVAL);
	ck_assert_int_eq(map(RW, 100, BF_PAGE, &iova), -EINVAL);
	ck_assert_int_eq(map(RW, 0, (PAGES + 1) * BF_PAGE, &iova), -EFAULT);
	ck_assert_int_eq(map(RW, PAGES * BF_PAGE, BF_PAGE, &iova), -EFAULT);
	ck_assert_int_eq(bf_iommufd_map(fd, 99, RW, ram->va, BF_PAGE, &iova), -ENOENT);
	ck_assert_int_eq(bf_iommufd_map_file(fd, ioas, RW, NULL, 0, BF_PAGE, &iova), -EBADF);
	iova = 0x10010;
	ck_assert_int_eq(map(RW | BF_IOMMUFD_FIXED_IOVA, 0, BF_PAGE, &iova), -EINVAL);
	iova = UINT64_MAX;
	ck_assert_int_eq(map(RW | BF_IOMMUFD_FIXED_IOVA, 0, BF_PAGE, &iova), -EOVERFLOW);
	iova = UINT64_MAX - BF_PAGE + 1;
	ck_assert_int_eq(map(RW | BF_IOMMUFD_FIXED_IOVA, 0, 2 * BF_PAGE, &iova), -EOVERFLOW);
	iova = 0x10000;
	ck_assert_int_eq(map(RW | BF_IOMMUFD_FIXED_IOVA, 0, 2 * BF_PAGE, &iova), 0);
	iova = 0x11000;
	ck_assert_int_eq(map(RW | BF_IOMMUFD_FIXED_IOVA, 0, BF_PAGE, &iova), -EEXIST);
	/* Areas are unmapped whole. */
	ck_assert_int_eq(bf_iommufd_unmap(fd, ioas, 0x10000, BF_PAGE, &unmapped), -ENOENT);
	ck_assert_uint_eq(unmapped, 0);
	ck_assert_int_eq(bf_iommufd_unmap(fd, ioas, 0x20000, BF_PAGE, &unmapped), -ENOENT);
	ck_assert_int_eq(bf_iommufd_unmap(fd, ioas, 0x10000, 0, &unmapped), -EINVAL);
	ck_assert_int_eq(bf_iommufd_unmap(fd, ioas, 0x10000, UINT64_MAX, &unmapped), -EOVERFLOW);
	ck_assert_int_eq(bf_iommufd_unmap(fd, ioas, 0, 1ull << 40, &unmapped), 0);
	ck_assert_uint_eq(unmapped, 2 * BF_PAGE);
	ck_assert_int_eq(bf_iommufd_unmap(fd, ioas, 0, UINT64_MAX, &unmapped), 0);
	ck_assert_int_eq(bf_iommufd_unmap(fd, 99, 0, UINT64_MAX, &unmapped), -ENOENT);
	/* Objects of the wrong kind. */
	ck_assert_int_eq(bf_iommufd_bind(fd, "dev", &port, &dev), 0);
	ck_assert_int_eq(bf_iommufd_bind(fd, "dev", &port, &hwpt), -EBUSY);
	ck_assert_int_eq(bf_iommufd_attach(fd, dev, &dev), -EINVAL);
	ck_assert_int_eq(bf_iommufd_attach(fd, ioas, &ioas), -ENOENT);
	ck_assert_int_eq(bf_iommufd_attach(fd, dev, &(uint32_t){ 99 }), -ENOENT);
	ck_assert_int_eq(bf_iommufd_hwpt_alloc(fd, ioas, ioas, &hwpt), -ENOENT);
	ck_assert_int_eq(bf_iommufd_hwpt_alloc(fd, dev, dev, &hwpt), -ENOENT);
	ck_assert_int_eq(bf_iommufd_detach(fd, ioas), -ENOENT);
}
END_TEST

START_TEST(a_device_reaches_what_it_is_attached_to)
{
	uint64_t a = 0, b = 0x40000000;
	uint32_t dev, pt, second;

	ck_assert_int_eq(map(RW, 0, 4 * BF_PAGE, &a), 0);
	ck_assert_int_eq(bf_iommufd_bind(fd, "dev", &port, &dev), 0);
	ck_assert_int_eq(write_lands(ram->va, 0), -EFAULT); /* bound: blocked */
	ck_assert_int_eq(write_lands(a, 0), -EFAULT);
	pt = ioas;
	ck_assert_int_eq(bf_iommufd_attach(fd, dev, &pt), 0);
	ck_assert_int_eq(write_lands(a + BF_PAGE, BF_PAGE), 0);
	ck_assert_int_eq(write_lands(ram->va, 0), -EFAULT);
	/* Over to another IOAS while a write is under way: it is translated where it lands, and is lost. */
	ck_assert_int_eq(bf_iommufd_ioas_alloc(fd, &second), 0);
	ck_assert_int_eq(bf_iommufd_map(fd, second, RW | BF_IOMMUFD_FIXED_IOVA, ram->va, BF_PAGE, &b), 0);
	memset(ram->bytes, 0, BF_PAGE);
	ck_assert_int_eq(bf_dma_write(&port, a, "late", 4, 0), 0);
	pt = second;
	ck_assert_int_eq(bf_iommufd_attach(fd, dev, &pt), 0);
	bf_sim_run(sim, BF_NEVER);
	ck_assert_uint_eq(ram->bytes[0], 0);
	ck_assert_int_eq(write_lands(b, 0), 0);
	ck_assert_int_eq(write_lands(a, 0), -EFAULT);
	ck_assert_int_eq(bf_iommufd_detach(fd, dev), 0);
	ck_assert_int_eq(write_lands(b, 0), -EFAULT);
	ck_assert_int_eq(bf_iommufd_destroy(fd, dev), 0);
	ck_assert_int_eq(write_lands(ram->va, 0), 0); /* it has back what it had */
}
END_TEST

START_TEST(permissions_are_kept)
{
	uint64_t r = 0, w = 0;

	ck_assert_int_eq(map(BF_IOMMUFD_READABLE, 0, BF_PAGE, &r), 0);
	ck_assert_int_eq(map(BF_IOMMUFD_WRITEABLE, BF_PAGE, BF_PAGE, &w), 0);
	bind_and_attach();
	ck_assert_int_eq(write_lands(r, 0), -EFAULT);
	ck_assert_int_eq(write_lands(w, BF_PAGE), 0);
	ck_assert_uint_eq(port.ioas->last_fault.reason, BF_IOMMU_PERM);
}
END_TEST

START_TEST(what_is_used_stays)
{
	uint32_t dev = bind_and_attach(), hwpt, pt;

	ck_assert_int_eq(bf_iommufd_destroy(fd, ioas), -EBUSY);
	ck_assert_int_eq(bf_iommufd_hwpt_alloc(fd, dev, ioas, &hwpt), 0);
	pt = hwpt;
	ck_assert_int_eq(bf_iommufd_attach(fd, dev, &pt), 0);
	ck_assert_uint_eq(pt, hwpt);
	ck_assert_int_eq(bf_iommufd_destroy(fd, hwpt), -EBUSY);
	ck_assert_int_eq(bf_iommufd_detach(fd, dev), 0);
	ck_assert_int_eq(bf_iommufd_detach(fd, dev), 0);
	ck_assert_int_eq(bf_iommufd_destroy(fd, ioas), -EBUSY); /* ours was not automatic */
	ck_assert_int_eq(bf_iommufd_destroy(fd, hwpt), 0);
	ck_assert_int_eq(bf_iommufd_destroy(fd, ioas), 0);
	ck_assert_int_eq(bf_iommufd_destroy(fd, dev), 0);
}
END_TEST

START_TEST(interrupts_have_their_window)
{
	struct bf_iova_range r[2], in = { 0xfee00000, 0xfee0ffff };
	uint64_t align, iova = 0xfee00000;
	uint32_t n = 2, dev;

	ck_assert_int_eq(bf_iommufd_iova_ranges(fd, ioas, r, &n, &align), 0);
	ck_assert_uint_eq(n, 1);
	ck_assert_uint_eq(r[0].last, UINT64_MAX);
	/* Something lies there before the device comes. */
	ck_assert_int_eq(map(RW | BF_IOMMUFD_FIXED_IOVA, 0, BF_PAGE, &iova), 0);
	ck_assert_int_eq(bf_iommufd_bind(fd, "dev", &port, &dev), 0);
	ck_assert_int_eq(bf_iommufd_attach(fd, dev, &(uint32_t){ ioas }), -EADDRINUSE);
	ck_assert_int_eq(bf_iommufd_destroy(fd, 3), -ENOENT); /* no page table is left behind */
	ck_assert_int_eq(bf_iommufd_unmap(fd, ioas, iova, BF_PAGE, NULL), 0);
	ck_assert_int_eq(bf_iommufd_allow_iovas(fd, ioas, &in, 1), 0);
	ck_assert_int_eq(bf_iommufd_attach(fd, dev, &(uint32_t){ ioas }), -EADDRINUSE);
	ck_assert_int_eq(bf_iommufd_allow_iovas(fd, ioas, NULL, 0), 0);
	ck_assert_int_eq(bf_iommufd_attach(fd, dev, &(uint32_t){ ioas }), 0);
	ck_assert_int_eq(map(RW | BF_IOMMUFD_FIXED_IOVA, 0, BF_PAGE, &iova), -EINVAL);
	iova = 1ull << 48;
	ck_assert_int_eq(map(RW | BF_IOMMUFD_FIXED_IOVA, 0, BF_PAGE, &iova), -EINVAL);
	ck_assert_int_eq(bf_iommufd_allow_iovas(fd, ioas, &in, 1), -EADDRINUSE);
	n = 1;
	ck_assert_int_eq(bf_iommufd_iova_ranges(fd, ioas, r, &n, &align), -EMSGSIZE);
	ck_assert_uint_eq(n, 2);
	ck_assert_int_eq(bf_iommufd_iova_ranges(fd, ioas, r, &n, &align), 0);
	ck_assert_uint_eq(r[0].last, 0xfedfffff);
	ck_assert_uint_eq(r[1].start, 0xfef00000);
	ck_assert_uint_eq(r[1].last, 0xffffffffffff);
	ck_assert_uint_eq(align, BF_PAGE);
	ck_assert_int_eq(bf_iommufd_iova_ranges(fd, 99, r, &n, &align), -ENOENT);
}
END_TEST

START_TEST(addresses_are_given_from_the_allowed_ranges)
{
	const struct bf_iova_range two[] = { { 0x100000, 0x101fff }, { 0x40000, 0x40fff } };
	const struct bf_iova_range bad[] = { { 0x1000, 0x2fff }, { 0x2000, 0x3fff } };
	uint64_t iova = 0;

	ck_assert_int_eq(map(RW, 0, BF_PAGE, &iova), 0);
	ck_assert_uint_eq(iova, BF_PAGE); /* the lowest, never 0 */
	ck_assert_int_eq(bf_iommufd_allow_iovas(fd, ioas, bad, 2), -EINVAL);
	ck_assert_int_eq(bf_iommufd_allow_iovas(fd, ioas, &(struct bf_iova_range){ 5, 5 }, 1), -EINVAL);
	ck_assert_int_eq(bf_iommufd_allow_iovas(fd, ioas, two, 2), 0);
	ck_assert_int_eq(map(RW, 0, BF_PAGE, &iova), 0);
	ck_assert_uint_eq(iova, 0x40000);
	ck_assert_int_eq(map(RW, 0, 2 * BF_PAGE, &iova), 0);
	ck_assert_uint_eq(iova, 0x100000);
	ck_assert_int_eq(map(RW, 0, BF_PAGE, &iova), -ENOSPC);
	/* A fixed address need not be allowed. */
	iova = 0x800000;
	ck_assert_int_eq(map(RW | BF_IOMMUFD_FIXED_IOVA, 0, BF_PAGE, &iova), 0);
}
END_TEST

START_TEST(a_copy_lives_on_its_own)
{
	uint64_t iova = 0x10000, at = 0x90000, other_iova = 0x12000;
	uint32_t src = ioas, dst;

	ck_assert_int_eq(bf_iommufd_ioas_alloc(fd, &dst), 0);
	ck_assert_int_eq(map(RW | BF_IOMMUFD_FIXED_IOVA, 0, 2 * BF_PAGE, &iova), 0);
	ck_assert_int_eq(map(RW | BF_IOMMUFD_FIXED_IOVA, 8 * BF_PAGE, BF_PAGE, &other_iova), 0);
	ck_assert_int_eq(bf_iommufd_copy(fd, dst, src, RW, 4 * BF_PAGE, iova, &at), -ENOENT);
	ck_assert_int_eq(bf_iommufd_copy(fd, dst, src, RW, BF_PAGE, 0x20000, &at), -ENOENT);
	ck_assert_int_eq(bf_iommufd_copy(fd, dst, src, RW | BF_IOMMUFD_FIXED_IOVA, 2 * BF_PAGE, 0x11000, &at), 0);
	ck_assert_int_eq(bf_iommufd_copy(fd, dst, src, RW | BF_IOMMUFD_FIXED_IOVA, BF_PAGE, 0x11000, &at), -EEXIST);
	/* The second area of a copy is in the way: nothing of the first stays. */
	at = 0x8f000;
	ck_assert_int_eq(bf_iommufd_copy(fd, dst, src, RW | BF_IOMMUFD_FIXED_IOVA, 2 * BF_PAGE, 0x11000, &at), -EEXIST);
	ck_assert_int_eq(bf_iommufd_unmap(fd, src, 0, UINT64_MAX, NULL), 0);
	ck_assert_int_eq(bf_iommufd_destroy(fd, src), 0);
	ioas = dst;
	bind_and_attach();
	ck_assert_int_eq(write_lands(0x90000, BF_PAGE), 0);
	ck_assert_int_eq(write_lands(0x91000, 8 * BF_PAGE), 0);
	ck_assert_int_eq(write_lands(0x8f000, 0), -EFAULT);
}
END_TEST

/* Random maps and unmaps against a page table that knows nothing of areas but who owns which page. */
#define SPAN 64u
START_TEST(random_calls_agree_with_a_page_table)
{
	struct {
		uint32_t area;
		uint64_t offset;
	} page[SPAN] = { 0 };
	uint32_t areas = 0;
	struct bf_rng rng;

	bf_rng_init(&rng, (uint64_t)_i, "test");
	bind_and_attach();
	for (uint32_t step = 0; step < 600; step++) {
		const uint64_t at = bf_rng_below(&rng, SPAN), n = 1 + bf_rng_below(&rng, SPAN - at < 9 ? SPAN - at : 9);
		uint64_t iova = (256 + at) * BF_PAGE, got = 0, want = 0;
		bool clear = true, whole = true;

		for (uint64_t i = at; i < at + n; i++) {
			clear &= !page[i].area;
			want += page[i].area != 0;
		}
		whole = !(at && page[at].area && page[at].area == page[at - 1].area) &&
			!(at + n < SPAN && page[at + n].area && page[at + n].area == page[at + n - 1].area);
		if (bf_rng_chance(&rng, 500000)) {
			const uint64_t offset = bf_rng_below(&rng, PAGES - n) * BF_PAGE;

			ck_assert_int_eq(map(RW | BF_IOMMUFD_FIXED_IOVA, offset, n * BF_PAGE, &iova),
					 clear ? 0 : -EEXIST);
			areas += clear;
			for (uint64_t i = 0; clear && i < n; i++) {
				page[at + i].area = areas;
				page[at + i].offset = offset + i * BF_PAGE;
			}
		} else if (whole) {
			ck_assert_int_eq(bf_iommufd_unmap(fd, ioas, iova, n * BF_PAGE, &got), want ? 0 : -ENOENT);
			ck_assert_uint_eq(got, want * BF_PAGE);
			for (uint64_t i = at; i < at + n; i++)
				page[i].area = 0;
		}
		if (step % 8 == 0) {
			const uint64_t i = bf_rng_below(&rng, SPAN);

			ck_assert_int_eq(write_lands((256 + i) * BF_PAGE + 8, page[i].offset + 8),
					 page[i].area ? 0 : -EFAULT);
		}
	}
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("iommufd");
	TCase *tc = tcase_create("iommufd");

	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, ids_are_the_lowest_free);
	tcase_add_test(tc, calls_fail_as_in_linux);
	tcase_add_test(tc, a_device_reaches_what_it_is_attached_to);
	tcase_add_test(tc, permissions_are_kept);
	tcase_add_test(tc, what_is_used_stays);
	tcase_add_test(tc, interrupts_have_their_window);
	tcase_add_test(tc, addresses_are_given_from_the_allowed_ranges);
	tcase_add_test(tc, a_copy_lives_on_its_own);
	tcase_add_loop_test(tc, random_calls_agree_with_a_page_table, 0, 10);
	suite_add_tcase(s, tc);
	return s;
}

int main(void)
{
	SRunner *sr = srunner_create(suite());
	int failed;

	srunner_run_all(sr, CK_ENV);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed != 0;
}
