/* Known answers: the generator is part of the contract, so that a seed means the same run on every machine. */
#include <check.h>
#include <string.h>

#include "sim/error.h"
#include "sim/rng.h"

/* The reference implementation's first outputs for state 1, 2, 3, 4 (prng.di.unimi.it, xoshiro256starstar.c). */
START_TEST(xoshiro_known_answers)
{
	static const uint64_t want[] = { 11520ull,
					 0ull,
					 1509978240ull,
					 1215971899390074240ull,
					 1216172134540287360ull,
					 607988272756665600ull,
					 16172922978634559625ull,
					 8476171486693032832ull,
					 10595114339597558777ull,
					 2904607092377533576ull };
	struct bf_rng r = { { 1, 2, 3, 4 } };

	for (size_t i = 0; i < sizeof(want) / sizeof(want[0]); i++)
		ck_assert_uint_eq(bf_rng_next(&r), want[i]);
}
END_TEST

/* First outputs for seed 1234567 (prng.di.unimi.it, splitmix64.c). */
START_TEST(splitmix_known_answers)
{
	static const uint64_t want[] = { 6457827717110365317ull, 3203168211198807973ull, 9817491932198370423ull,
					 4593380528125082431ull, 16408922859458223821ull };
	uint64_t state = 1234567;

	for (size_t i = 0; i < sizeof(want) / sizeof(want[0]); i++)
		ck_assert_uint_eq(bf_splitmix64(&state), want[i]);
}
END_TEST

/* draft-eastlake-fnv, test vectors of 64-bit FNV-1a. */
START_TEST(fnv_known_answers)
{
	ck_assert_uint_eq(bf_fnv1a64(""), 0xcbf29ce484222325);
	ck_assert_uint_eq(bf_fnv1a64("a"), 0xaf63dc4c8601ec8c);
	ck_assert_uint_eq(bf_fnv1a64("foobar"), 0x85944171f73967e8);
	ck_assert_uint_eq(bf_fnv1a64("\xff"), 0xaf64724c8602eb6e); /* bytes are unsigned */
}
END_TEST

START_TEST(streams_differ_by_seed_and_name)
{
	struct bf_rng r, same, name, seed;
	uint64_t state = 42 ^ bf_fnv1a64("loss"), first;

	bf_rng_init(&r, 42, "loss");
	bf_rng_init(&same, 42, "loss");
	bf_rng_init(&name, 42, "order");
	bf_rng_init(&seed, 43, "loss");
	for (int i = 0; i < 4; i++)
		ck_assert_uint_eq(r.s[i], bf_splitmix64(&state));
	first = bf_rng_next(&r);
	ck_assert_uint_eq(first, bf_rng_next(&same));
	ck_assert_uint_ne(first, bf_rng_next(&name));
	ck_assert_uint_ne(first, bf_rng_next(&seed));
}
END_TEST

START_TEST(below_is_bounded_and_even)
{
	uint32_t hits[10] = { 0 };
	struct bf_rng r;

	bf_rng_init(&r, 1, "below");
	ck_assert_uint_eq(bf_rng_below(&r, 0), 0);
	ck_assert_uint_eq(bf_rng_below(&r, 1), 0);
	for (int i = 0; i < 100000; i++)
		hits[bf_rng_below(&r, 10)]++;
	for (int i = 0; i < 10; i++) /* six standard deviations: the draw is fixed, so this passes always or never */
		ck_assert(hits[i] > 9430 && hits[i] < 10570);
}
END_TEST

START_TEST(chance_follows_ppm)
{
	uint32_t hits = 0;
	struct bf_rng r;

	bf_rng_init(&r, 1, "chance");
	for (int i = 0; i < 100000; i++) {
		hits += bf_rng_chance(&r, 250000);
		ck_assert(!bf_rng_chance(&r, 0));
		ck_assert(bf_rng_chance(&r, 1000000));
	}
	ck_assert(hits > 24180 && hits < 25820);
}
END_TEST

START_TEST(error_text_is_formatted_and_cut)
{
	struct bf_error err = { 0 };
	char longer[400];

	ck_assert_int_eq(bf_fail(&err, -22, "entry %d of %s", 7, "ring"), -22);
	ck_assert_int_eq(err.code, -22);
	ck_assert_str_eq(err.text, "entry 7 of ring");
	ck_assert_int_eq(bf_fail(&err, -5, "queue 3: %s", err.text), -5);
	ck_assert_str_eq(err.text, "queue 3: entry 7 of ring");
	memset(longer, 'x', sizeof(longer));
	longer[sizeof(longer) - 1] = 0;
	bf_fail(&err, -1, "%s", longer);
	ck_assert_uint_eq(strlen(err.text), sizeof(err.text) - 1);
	ck_assert_int_eq(bf_fail(NULL, -12, "nobody listens"), -12);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("rng");
	TCase *tc = tcase_create("rng");
	SRunner *sr = srunner_create(s);
	int failed;

	tcase_add_test(tc, xoshiro_known_answers);
	tcase_add_test(tc, splitmix_known_answers);
	tcase_add_test(tc, fnv_known_answers);
	tcase_add_test(tc, streams_differ_by_seed_and_name);
	tcase_add_test(tc, below_is_bounded_and_even);
	tcase_add_test(tc, chance_follows_ppm);
	tcase_add_test(tc, error_text_is_formatted_and_cut);
	suite_add_tcase(s, tc);
	srunner_run_all(sr, CK_NORMAL);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed != 0;
}
