/* Profiles on the command line: what is taken, what is refused, and that messages name the culprit. */
#include <check.h>
#include <errno.h>

#include "tools/report/json.c"
#include "tools/workloads/mlx5_profile.c"

START_TEST(plain_name_gives_the_profile)
{
	struct bf_mlx5_profile p;
	struct bf_error err = { 0 };

	ck_assert_int_eq(bf_mlx5_work_profile_parse("cx7", &p, &err), 0);
	ck_assert_str_eq(p.name, "cx7");
	for (size_t i = 0; i < BF_ARRAY_LEN(fields); i++)
		ck_assert_uint_eq(get_field(&fields[i], &p), get_field(&fields[i], &bf_mlx5_cx7));
}
END_TEST

START_TEST(fields_are_set_in_every_width)
{
	struct bf_mlx5_profile p;
	struct bf_error err = { 0 };

	ck_assert_int_eq(
	    bf_mlx5_work_profile_parse("cx7,icrc=0,wqe_ps=5000,pcie.max_payload=0x100,ack_every=7", &p, &err), 0);
	ck_assert(!p.icrc);
	ck_assert_uint_eq(p.wqe_ps, 5000);
	ck_assert_uint_eq(p.pcie.max_payload, 256);
	ck_assert_uint_eq(p.ack_every, 7);
	ck_assert_uint_eq(p.doorbell_ps, bf_mlx5_cx7.doorbell_ps);
	ck_assert_uint_eq(p.host_endian_atomics, bf_mlx5_cx7.host_endian_atomics);
}
END_TEST

START_TEST(every_field_can_be_set_to_its_limits)
{
	for (size_t i = 0; i < BF_ARRAY_LEN(fields); i++) {
		struct bf_mlx5_profile p;
		struct bf_error err = { 0 };
		char text[128];

		snprintf(text, sizeof(text), "cx7,%s=%" PRIu64, fields[i].name, fields[i].max);
		ck_assert_msg(bf_mlx5_work_profile_parse(text, &p, &err) == 0, "%s: %s", text, err.text);
		ck_assert_uint_eq(get_field(&fields[i], &p), fields[i].max);
		snprintf(text, sizeof(text), "cx7,%s=%" PRIu64, fields[i].name, fields[i].max + 1);
		ck_assert_msg(bf_mlx5_work_profile_parse(text, &p, &err) == -EINVAL, "%s", text);
		/* What the profile has by itself must be within the limits, too. */
		ck_assert_uint_ge(get_field(&fields[i], &bf_mlx5_cx7), fields[i].min);
		ck_assert_uint_le(get_field(&fields[i], &bf_mlx5_cx7), fields[i].max);
	}
}
END_TEST

START_TEST(bad_text_is_refused_by_name)
{
	static const struct {
		const char *text, *says;
	} cases[] = {
		{ "", "profile" },
		{ "cx9", "cx9" },
		{ "cx77", "cx77" },
		{ "cx7,", "\"\"" },
		{ "cx7,wqe_p=1", "wqe_p" },
		{ "cx7,wqe_ps", "wqe_ps" },
		{ "cx7,wqe_ps=", "wqe_ps" },
		{ "cx7,wqe_ps=fast", "wqe_ps" },
		{ "cx7,wqe_ps=-1", "wqe_ps" },
		{ "cx7,wqe_ps=12x", "12x" },
		{ "cx7,wqe_ps=99999999999999999999999999", "needs a number" },
		{ "cx7,wqe_ps=999999999999999999999", "is not a number" },
		{ "cx7,icrc=2", "icrc" },
		{ "cx7,pcie.max_payload=200", "power of two" },
		{ "cx7,ack_every=0", "ack_every" },
		{ "cx7,name=1", "name" },
	};

	for (size_t i = 0; i < BF_ARRAY_LEN(cases); i++) {
		struct bf_mlx5_profile p;
		struct bf_error err = { 0 };

		ck_assert_msg(bf_mlx5_work_profile_parse(cases[i].text, &p, &err) == -EINVAL, "\"%s\" was taken",
			      cases[i].text);
		ck_assert_msg(strstr(err.text, cases[i].says) != NULL, "\"%s\": %s", cases[i].text, err.text);
	}
}
END_TEST

int main(void)
{
	Suite *s = suite_create("profile");
	TCase *tc = tcase_create("profile");
	SRunner *sr;
	int failed;

	tcase_add_test(tc, plain_name_gives_the_profile);
	tcase_add_test(tc, fields_are_set_in_every_width);
	tcase_add_test(tc, every_field_can_be_set_to_its_limits);
	tcase_add_test(tc, bad_text_is_refused_by_name);
	suite_add_tcase(s, tc);
	sr = srunner_create(s);
	srunner_run_all(sr, CK_NORMAL);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed != 0;
}
