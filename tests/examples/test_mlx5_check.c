/* With Check. */
#include <check.h>

#include "mlx5_trial.h"

START_TEST(writes_arrive_under_every_ordering)
{
	const struct bf_trial_spec spec = my_spec();
	struct bf_trial_result r;

	ck_assert_msg(bf_trial_search(&spec, NULL, &r), "%s", r.text);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("my driver");
	TCase *tc = tcase_create("mlx5");
	SRunner *sr = srunner_create(s);
	int failed;

	tcase_add_test(tc, writes_arrive_under_every_ordering);
	tcase_set_timeout(tc, 60);
	suite_add_tcase(s, tc);
	srunner_run_all(sr, CK_NORMAL);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed != 0;
}
