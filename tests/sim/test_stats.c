/* Counters and histograms. */
#include <check.h>
#include <stdio.h>
#include <string.h>

#include "sim/stats.h"

static struct bf_sim *sim;

static void set_up(void)
{
	ck_assert_int_eq(bf_sim_create(1, &sim), 0);
}

static void tear_down(void)
{
	bf_sim_destroy(sim);
}

START_TEST(handles_are_stable)
{
	uint64_t *first = bf_stats_counter(sim, "queue.0", "entries");
	struct bf_hist *h = bf_stats_hist(sim, "queue.0", "ps");
	char name[16];

	*first = 5;
	bf_hist_add(h, 9);
	for (int i = 1; i < 200; i++) {
		snprintf(name, sizeof(name), "queue.%d", i);
		ck_assert_ptr_nonnull(bf_stats_counter(sim, name, "entries"));
		memset(name, 'x', sizeof(name)); /* names are copied */
	}
	ck_assert_ptr_eq(bf_stats_counter(sim, "queue.0", "other"), first);
	ck_assert_ptr_eq(bf_stats_hist(sim, "queue.0", "ps"), h);
	ck_assert_uint_eq(*first, 5);
	ck_assert_uint_eq(h->count, 1);
}
END_TEST

static void list(void *arg, const char *name, const char *unit, const uint64_t *counter, const struct bf_hist *hist)
{
	char *text = arg;
	size_t len = strlen(text);

	ck_assert((counter != NULL) != (hist != NULL));
	snprintf(text + len, 256 - len, "%s=%llu%s%s;", name, (unsigned long long)(counter ? *counter : hist->count),
		 unit, hist ? "(h)" : "");
}

START_TEST(iterates_in_order_of_name)
{
	char text[256] = "";

	bf_stats_each(sim, list, text);
	ck_assert_str_eq(text, "");
	*bf_stats_counter(sim, "tx", "B") = 1;
	bf_hist_add(bf_stats_hist(sim, "rx", "ps"), 7);
	*bf_stats_counter(sim, "rx", "B") = 2;
	*bf_stats_counter(sim, "a", "") = 3;
	*bf_stats_counter(sim, "rx.more", "B") = 4;
	bf_stats_each(sim, list, text);
	ck_assert_str_eq(text, "a=3;rx=2B;rx=1ps(h);rx.more=4B;tx=1B;");
}
END_TEST

/* Fields count from where they are; when their owner goes, their last values stay. */
START_TEST(fields_of_owners)
{
	uint64_t a = 1, b = 20, other = 300;
	char text[256] = "";

	*bf_stats_counter(sim, "tx", "B") = 4000;
	ck_assert_int_eq(bf_stats_attach(sim, &a, "tx", "B", &a), 0);
	ck_assert_int_eq(bf_stats_attach(sim, &a, "tx", "B", &b), 0);
	ck_assert_int_eq(bf_stats_attach_part(sim, &other, "t", "x", "", &other), 0);
	ck_assert_int_eq(bf_stats_attach(sim, &other, "tx", "B", &other), 0);
	a++;
	bf_stats_each(sim, list, text);
	ck_assert_str_eq(text, "t.x=300;tx=4322B;");
	bf_stats_detach(sim, &a);
	a = b = 0;
	other++;
	text[0] = '\0';
	bf_stats_each(sim, list, text);
	ck_assert_str_eq(text, "t.x=301;tx=4323B;");
	bf_stats_detach(sim, &text); /* of nobody's */
}
END_TEST

/* Every value lies in its bucket: the median of {v} rounded up is v itself, of {v, max} within 1/16 above v. */
START_TEST(buckets_hold_their_values)
{
	static struct bf_hist h;

	for (uint32_t bit = 0; bit < 64; bit++) {
		const uint64_t power = 1ull << bit;
		const uint64_t values[] = { power - 1, power, power + 1, power + power / 16, power + (power - 1) };

		for (uint32_t i = 0; i < BF_ARRAY_LEN(values); i++) {
			const uint64_t v = values[i];
			uint64_t upper;

			memset(&h, 0, sizeof(h));
			bf_hist_add(&h, v);
			ck_assert_uint_eq(bf_hist_quantile(&h, 500000), v);
			bf_hist_add(&h, UINT64_MAX);
			upper = bf_hist_quantile(&h, 500000);
			ck_assert_uint_ge(upper, v);
			ck_assert_uint_le(upper - v, v < 32 ? 0 : v / 16);
		}
	}
}
END_TEST

START_TEST(quantiles_follow_ranks)
{
	static struct bf_hist h;

	ck_assert_uint_eq(bf_hist_quantile(&h, 500000), 0);
	for (uint64_t v = 1000; v >= 1; v--)
		bf_hist_add(&h, v);
	ck_assert_uint_eq(h.count, 1000);
	ck_assert_uint_eq(h.sum, 500500);
	ck_assert_uint_eq(h.min, 1);
	ck_assert_uint_eq(h.max, 1000);
	ck_assert_uint_eq(bf_hist_quantile(&h, 0), 1);
	ck_assert_uint_eq(bf_hist_quantile(&h, 10000), 10);
	ck_assert_uint_eq(bf_hist_quantile(&h, 500000), 511); /* bucket 496 .. 511 */
	ck_assert_uint_eq(bf_hist_quantile(&h, 990000), 991); /* bucket 960 .. 991 */
	ck_assert_uint_eq(bf_hist_quantile(&h, 1000000), 1000);
	ck_assert_uint_eq(bf_hist_quantile(&h, 2000000), 1000);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("stats");
	TCase *tc = tcase_create("stats");
	SRunner *sr = srunner_create(s);
	int failed;

	tcase_add_checked_fixture(tc, set_up, tear_down);
	tcase_add_test(tc, handles_are_stable);
	tcase_add_test(tc, iterates_in_order_of_name);
	tcase_add_test(tc, fields_of_owners);
	tcase_add_test(tc, buckets_hold_their_values);
	tcase_add_test(tc, quantiles_follow_ranks);
	suite_add_tcase(s, tc);
	srunner_run_all(sr, CK_NORMAL);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed != 0;
}
