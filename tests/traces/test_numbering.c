/* Numbers that a file gives cost what they are, not as much as they are large. */
#include <check.h>

#include "traces/container/numbering_internal.h"

START_TEST(places_are_in_order)
{
	static const uint32_t numbers[] = { 7, 0, UINT32_MAX, 65535, 65536, 70000, 3, 1u << 22, 131071, 16 };
	const uint32_t n = sizeof(numbers) / sizeof(numbers[0]);
	struct bf_numbering of = { 0 };

	ck_assert_uint_eq(bf_numbering_find(&of, 0), 0);
	ck_assert_uint_eq(bf_numbering_find(&of, UINT32_MAX), 0);
	for (uint32_t i = 0; i < n; i++) {
		ck_assert_uint_eq(bf_numbering_find(&of, numbers[i]), 0);
		ck_assert_uint_eq(bf_numbering_add(&of, numbers[i]), i + 1);
		ck_assert_uint_eq(bf_numbering_add(&of, numbers[i]), i + 1);
	}
	for (uint32_t i = 0; i < n; i++)
		ck_assert_uint_eq(bf_numbering_find(&of, numbers[i]), i + 1);
	ck_assert_uint_eq(of.count, n);
	ck_assert_uint_eq(bf_numbering_find(&of, 65534), 0);
	ck_assert_uint_eq(bf_numbering_find(&of, 100000), 0);
	bf_numbering_free(&of);
	ck_assert_uint_eq(bf_numbering_find(&of, 7), 0);
}
END_TEST

/* Many numbers on both sides of the border between small and large, in an order that makes both tables grow. */
START_TEST(many)
{
	struct bf_numbering of = { 0 };

	for (uint32_t i = 0; i < 5000; i++)
		ck_assert_uint_eq(bf_numbering_add(&of, 65536 + (i & 1 ? i * 977 : (uint32_t)-13 * i - 1)), i + 1);
	for (uint32_t i = 0; i < 5000; i++)
		ck_assert_uint_eq(bf_numbering_find(&of, 65536 + (i & 1 ? i * 977 : (uint32_t)-13 * i - 1)), i + 1);
	bf_numbering_free(&of);
}
END_TEST

/* One number, however large, asks for little. */
START_TEST(one_is_cheap)
{
	for (uint32_t log2 = 0; log2 < 32; log2++) {
		struct bf_numbering of = { 0 };

		ck_assert_uint_eq(bf_numbering_add(&of, (1u << log2) + 5), 1);
		ck_assert_uint_le(of.near_cap * sizeof(*of.near) + of.far.cap * sizeof(*of.far.slots), 512u << 10);
		bf_numbering_free(&of);
	}
}
END_TEST

int main(void)
{
	Suite *s = suite_create("numbering");
	TCase *t = tcase_create("numbering");
	SRunner *r;
	int failed;

	tcase_add_test(t, places_are_in_order);
	tcase_add_test(t, many);
	tcase_add_test(t, one_is_cheap);
	suite_add_tcase(s, t);
	r = srunner_create(s);
	srunner_run_all(r, CK_NORMAL);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed != 0;
}
