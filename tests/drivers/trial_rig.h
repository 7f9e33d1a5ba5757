/* What tests of trials share: a search through a few seeds and all orderings, and what it must end in. */
#ifndef BELFRY_TESTS_TRIAL_RIG_H
#define BELFRY_TESTS_TRIAL_RIG_H

#include <check.h>
#include <stdlib.h>

#include "drivers/belfry.h"

/* The code `spec` is about is good under `seeds` seeds, for `rule` NULL; or the root cause is this rule. */
static inline void trial_ends_in(const struct bf_trial_spec *spec, uint64_t seeds, const char *rule)
{
	struct bf_trial_result *r = calloc(1, sizeof(*r));

	ck_assert_ptr_nonnull(r);
	bf_trial_search(spec, &(struct bf_trial_search_opts){ .seeds = seeds }, r);
	if (!rule) {
		ck_assert_msg(r->ok, "%.1500s", r->text);
	} else {
		ck_assert_msg(!r->ok, "%s is not found: %.1500s", rule, r->text);
		ck_assert_msg(r->root && strcmp(r->root->id, rule) == 0, "not %s: %.1500s", rule, r->text);
	}
	free(r);
}

static inline int trial_rig_run(TCase *tc, const char *suite)
{
	Suite *s = suite_create(suite);
	SRunner *sr = srunner_create(s);
	int failed;

	tcase_set_timeout(tc, 60);
	suite_add_tcase(s, tc);
	srunner_run_all(sr, CK_NORMAL);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed != 0;
}

#endif
