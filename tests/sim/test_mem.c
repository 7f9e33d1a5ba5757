/* Regions and spaces: placement, look-up, what is refused. */
#include <check.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "sim/coro.h"
#include "sim/mem.h"
#include "sim/rng.h"

static struct bf_sim *sim;
static struct bf_space space;

static void setup(void)
{
	ck_assert_int_eq(bf_sim_create(1, &sim), 0);
	ck_assert_int_eq(bf_space_init(&space, sim, "host0", 0), 0);
}

static void teardown(void)
{
	bf_space_fini(&space);
	bf_sim_destroy(sim);
}

static struct bf_region *make(uint64_t size, uint64_t va)
{
	struct bf_region_opts opts = { .name = "r", .kind = BF_MEM_DRAM, .size = size, .va = va };
	struct bf_region *r;

	ck_assert_int_eq(bf_region_create(&space, &opts, &r), 0);
	return r;
}

START_TEST(addresses_depend_on_order_only)
{
	struct bf_region *a = make(100, 0), *b = make(3 * BF_PAGE, 0), *c = make(4ull << 20, 0);
	struct bf_space other;
	struct bf_region_opts opts = { .name = "x", .size = 1 };
	struct bf_region *x;

	ck_assert_uint_eq(a->va, 1ull << 40);
	ck_assert_uint_eq(a->size, BF_PAGE);
	ck_assert_uint_eq(b->va, a->va + 2 * BF_PAGE);
	ck_assert_uint_eq(c->va % (2u << 20), 0);
	ck_assert_uint_eq(c->id, 3);
	ck_assert_uint_eq((uintptr_t)a->bytes % BF_PAGE, 0);
	for (size_t i = 0; i < b->size; i++)
		ck_assert_uint_eq(b->bytes[i], 0);
	ck_assert_int_eq(bf_space_init(&other, sim, "host1", 1), 0);
	ck_assert_int_eq(bf_region_create(&other, &opts, &x), 0);
	ck_assert_uint_eq(x->va, 2ull << 40);
	bf_space_fini(&other);
}
END_TEST

START_TEST(lookups_by_both_addresses)
{
	struct bf_region *r[50];
	struct bf_rng rng;

	bf_rng_init(&rng, 7, "test");
	for (int i = 0; i < 50; i++)
		r[i] = make(1 + bf_rng_below(&rng, 5 * BF_PAGE), 0);
	for (int i = 0; i < 20000; i++) {
		struct bf_region *want = r[bf_rng_below(&rng, 50)];
		uint64_t at = bf_rng_below(&rng, want->size);

		ck_assert_ptr_eq(bf_space_find(&space, want->va + at), want);
		ck_assert_ptr_eq(bf_space_find_host(&space, want->bytes + at), want);
		ck_assert_uint_eq(bf_va(want, bf_host(want, want->va + at)), want->va + at);
	}
	ck_assert_ptr_null(bf_space_find(&space, r[3]->va + r[3]->size));
	ck_assert_ptr_null(bf_space_find(&space, r[0]->va - 1));
	ck_assert_ptr_null(bf_space_find(&space, UINT64_MAX));
	ck_assert_ptr_null(bf_space_find_host(&space, &rng));
	bf_region_destroy(r[3]);
	ck_assert_ptr_null(bf_space_find(&space, (1ull << 40) - 1));
	ck_assert_uint_eq(space.count, 49);
}
END_TEST

START_TEST(a_destroyed_region_is_not_found)
{
	struct bf_region *a = make(BF_PAGE, 0), *b = make(BF_PAGE, 0);
	uint64_t va = a->va;

	ck_assert_ptr_eq(bf_space_find(&space, va), a);
	bf_region_destroy(a);
	ck_assert_ptr_null(bf_space_find(&space, va));
	ck_assert_ptr_eq(bf_space_find(&space, b->va), b);
}
END_TEST

START_TEST(fixed_addresses)
{
	struct bf_region *a = make(2 * BF_PAGE, 0x10000), *low, *next;
	struct bf_region_opts opts = { .name = "clash", .size = BF_PAGE, .va = 0x11000 };
	struct bf_region *out;

	ck_assert_uint_eq(a->va, 0x10000);
	ck_assert_int_eq(bf_region_create(&space, &opts, &out), -EEXIST);
	ck_assert_int_eq(sim->error.code, -EEXIST);
	opts.va = 0xf000;
	opts.size = 2 * BF_PAGE;
	ck_assert_int_eq(bf_region_create(&space, &opts, &out), -EEXIST);
	opts.va = 0x12800;
	ck_assert_int_eq(bf_region_create(&space, &opts, &out), -EINVAL);
	opts.va = ~0xfffull;
	ck_assert_int_eq(bf_region_create(&space, &opts, &out), -EINVAL);
	low = make(BF_PAGE, (1ull << 40) + BF_PAGE);
	next = make(3 * BF_PAGE, 0);
	ck_assert_uint_eq(next->va, low->va + BF_PAGE);
}
END_TEST

static void ignore_write(struct bf_region *r, uint64_t offset, const void *data, uint32_t len)
{
	(void)r, (void)offset, (void)data, (void)len;
}

START_TEST(options_are_checked)
{
	static const struct bf_mmio_ops ops = { .write = ignore_write };
	uint8_t *bytes = aligned_alloc(BF_PAGE, 2 * BF_PAGE);
	struct bf_region_opts opts = { .name = "r", .kind = BF_MEM_DRAM };
	struct bf_region *out;

	ck_assert_int_eq(bf_region_create(&space, &opts, &out), -EINVAL);
	opts.size = UINT64_MAX;
	ck_assert_int_eq(bf_region_create(&space, &opts, &out), -EINVAL);
	opts.size = BF_PAGE;
	opts.mmio = &ops;
	ck_assert_int_eq(bf_region_create(&space, &opts, &out), -EINVAL);
	opts.kind = BF_MEM_MMIO;
	ck_assert_int_eq(bf_region_create(&space, &opts, &out), 0);
	opts = (struct bf_region_opts){ .name = "b", .size = BF_PAGE, .bytes = bytes + 1 };
	ck_assert_int_eq(bf_region_create(&space, &opts, &out), -EINVAL);
	opts.bytes = bytes;
	opts.size = 100;
	ck_assert_int_eq(bf_region_create(&space, &opts, &out), -EINVAL);
	opts.size = 2 * BF_PAGE;
	ck_assert_int_eq(bf_region_create(&space, &opts, &out), 0);
	opts.bytes = bytes + BF_PAGE;
	opts.size = BF_PAGE;
	ck_assert_int_eq(bf_region_create(&space, &opts, &out), -EEXIST);
	bf_space_fini(&space);
	free(bytes);
}
END_TEST

/* As a search keeps it: small memory is written over, large memory is given back page by page. */
START_TEST(memory_kept_for_the_next_run_is_zero)
{
	static const uint64_t sizes[] = { BF_PAGE, 4 * BF_PAGE, 100 * BF_PAGE };
	struct bf_stacks kept = { 0 };

	sim->stacks = &kept;
	for (uint32_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		struct bf_region *r = make(sizes[i], 0);
		const uint8_t *bytes = r->bytes;
		uint64_t at = 0;

		memset(r->bytes, 0xa5, sizes[i]);
		bf_region_destroy(r);
		ck_assert_uint_eq(kept.maps, 1);
		r = make(sizes[i], 0);
		ck_assert_ptr_eq(r->bytes, bytes);
		while (at < sizes[i] && !r->bytes[at])
			at++;
		ck_assert_uint_eq(at, sizes[i]);
		bf_region_destroy(r);
		r = make(sizes[i] + BF_PAGE, 0); /* another size takes none of it */
		ck_assert_uint_eq(kept.maps, 1);
		bf_region_destroy(r);
		bf_stacks_free(&kept);
	}
	sim->stacks = NULL;
}
END_TEST

START_TEST(a_region_record_names_it)
{
	uint64_t empty;

	make(BF_PAGE, 0);
	ck_assert_int_eq(bf_stream_open(&sim->rec, &sim->now_ps, BF_CLASS_META, NULL), 0);
	empty = sim->rec.count;
	bf_space_describe(&space);
	ck_assert_uint_eq(sim->rec.count - empty, 1);
	make(BF_PAGE, 0);
	ck_assert_uint_eq(sim->rec.count - empty, 2);
	bf_stream_close(&sim->rec);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("mem");
	TCase *t = tcase_create("mem");
	SRunner *runner = srunner_create(s);
	int failed;

	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_test(t, addresses_depend_on_order_only);
	tcase_add_test(t, lookups_by_both_addresses);
	tcase_add_test(t, a_destroyed_region_is_not_found);
	tcase_add_test(t, fixed_addresses);
	tcase_add_test(t, options_are_checked);
	tcase_add_test(t, memory_kept_for_the_next_run_is_zero);
	tcase_add_test(t, a_region_record_names_it);
	suite_add_tcase(s, t);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed != 0;
}
