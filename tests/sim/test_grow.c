/* Arrays that grow: contents stay, what is new is zero, and what cannot be had leaves everything as it was. */
#include <check.h>
#include <errno.h>
#include <stdlib.h>

#include "sim/grow.h"

struct item {
	uint64_t a;
	uint32_t b;
};

START_TEST(grows_by_one)
{
	struct item *list = NULL;
	uint32_t cap = 0;

	for (uint32_t i = 0; i < 1000; i++) {
		ck_assert_int_eq(BF_GROW(list, cap, i + 1), 0);
		ck_assert_uint_gt(cap, i);
		ck_assert_uint_eq(list[i].a | list[i].b, 0);
		list[i] = (struct item){ .a = i, .b = ~i };
	}
	ck_assert_uint_le(cap, 2000);
	for (uint32_t i = 0; i < 1000; i++) {
		ck_assert_uint_eq(list[i].a, i);
		ck_assert_uint_eq(list[i].b, ~i);
	}
	free(list);
}
END_TEST

START_TEST(grows_to_what_is_needed)
{
	const size_t none = strtoul("0", NULL, 10); /* the compiler warns of constants */
	char *text = NULL;
	size_t cap = 0;

	ck_assert_int_eq(BF_GROW(text, cap, none), 0);
	ck_assert_ptr_null(text);
	ck_assert_int_eq(BF_GROW(text, cap, 12345), 0);
	ck_assert_uint_ge(cap, 12345);
	for (size_t i = 0; i < cap; i++)
		ck_assert_int_eq(text[i], 0);
	free(text);
}
END_TEST

START_TEST(refuses_what_cannot_be)
{
	const size_t many = strtoul("4294967296", NULL, 10);
	uint64_t *list = NULL;
	uint32_t few = 0;
	size_t cap = 0;

	ck_assert_int_eq(BF_GROW(list, few, 1), 0);
	list[0] = 7;
	ck_assert_int_eq(BF_GROW(list, few, many), -ENOMEM);
	ck_assert_uint_eq(few, 16);
	ck_assert_uint_eq(list[0], 7);
	cap = few;
	ck_assert_int_eq(BF_GROW(list, cap, SIZE_MAX / 8 + 1), -ENOMEM);
	ck_assert_uint_eq(cap, 16);
	ck_assert_uint_eq(list[0], 7);
	free(list);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("grow");
	TCase *tc = tcase_create("grow");
	SRunner *r = srunner_create(s);
	int failed;

	tcase_add_test(tc, grows_by_one);
	tcase_add_test(tc, grows_to_what_is_needed);
	tcase_add_test(tc, refuses_what_cannot_be);
	suite_add_tcase(s, tc);
	srunner_run_all(r, CK_ENV);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed != 0;
}
