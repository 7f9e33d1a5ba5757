/* The number formats of the low-latency kernels, against definitions: exhaustively where that is possible. */
#include <check.h>
#include <math.h>

#include "drivers/ibgda/ll_math_internal.h"
#include "drivers/ibgda/ll_number.h"
#include "sim/rng.h"

/* The value of a code by the definition of E4M3, without the code under test. */
static double e4m3_value(unsigned code)
{
	const unsigned exponent = code >> 3 & 15, mantissa = code & 7;
	double v = exponent ? 1 + mantissa / 8.0 : mantissa / 8.0;

	for (unsigned i = 0; i < (exponent ? exponent : 1); i++)
		v *= 2;
	return v / 128 * (code & 0x80 ? -1 : 1);
}

START_TEST(e4m3_decodes_every_code)
{
	for (unsigned code = 0; code < 256; code++) {
		const float f = bf_ll_from_e4m3((uint8_t)code);

		if ((code & 0x7f) == 0x7f)
			ck_assert(f != f);
		else
			ck_assert_msg((double)f == e4m3_value(code), "code %u: %g", code, (double)f);
	}
}
END_TEST

/* Every code comes back; halfway goes to the even one; a little beside it goes to the nearer one. */
START_TEST(e4m3_rounds_to_nearest_even)
{
	for (unsigned code = 0; code < 0x7e; code++) {
		const float lo = (float)e4m3_value(code), hi = (float)e4m3_value(code + 1), half = (lo + hi) / 2;
		const float below = bf_ll_float(bf_ll_bits(half) - 1), above = bf_ll_float(bf_ll_bits(half) + 1);

		ck_assert_uint_eq(bf_ll_to_e4m3(lo), code);
		ck_assert_uint_eq(bf_ll_to_e4m3(half), code & 1 ? code + 1 : code);
		ck_assert_uint_eq(bf_ll_to_e4m3(below), code);
		ck_assert_uint_eq(bf_ll_to_e4m3(above), code + 1);
		ck_assert_uint_eq(bf_ll_to_e4m3(-half), 0x80 | (code & 1 ? code + 1 : code));
	}
	ck_assert_uint_eq(bf_ll_to_e4m3(448.0f), 0x7e);
	ck_assert_uint_eq(bf_ll_to_e4m3(1e30f), 0x7e);
	ck_assert_uint_eq(bf_ll_to_e4m3(-1e30f), 0xfe);
	ck_assert_uint_eq(bf_ll_to_e4m3(bf_ll_float(0x7f800000)), 0x7e);
	ck_assert_uint_eq(bf_ll_to_e4m3(bf_ll_float(0x7fc00000)), 0x7f);
	ck_assert_uint_eq(bf_ll_to_e4m3(1e-30f), 0);
}
END_TEST

START_TEST(bf16_rounds_to_nearest_even)
{
	for (uint32_t v = 0; v < 0x7f80; v++) {
		ck_assert_uint_eq(bf_ll_to_bf16(bf_ll_from_bf16((uint16_t)v)), v);
		ck_assert_uint_eq(bf_ll_to_bf16(bf_ll_float(v << 16 | 0x8000)), v & 1 ? v + 1 : v);
		ck_assert_uint_eq(bf_ll_to_bf16(bf_ll_float(v << 16 | 0x8001)), v + 1);
		ck_assert_uint_eq(bf_ll_to_bf16(bf_ll_float(v << 16 | 0x7fff)), v);
	}
	ck_assert_uint_eq(bf_ll_to_bf16(bf_ll_float(0x7f800001)) & 0x7fff, 0x7fc0);
}
END_TEST

/* Scales of powers of two leave the largest element within range, by less than a factor of two. */
START_TEST(scales_fit_the_range)
{
	struct bf_rng rng;

	bf_rng_init(&rng, 7, "scales");
	for (int i = 0; i < 100000; i++) {
		const float amax = bf_ll_float((uint32_t)(114 + bf_rng_below(&rng, 40)) << 23 |
					       (uint32_t)bf_rng_below(&rng, 1u << 23));
		const struct bf_ll_scale any = bf_ll_scale_of(amax, 0), power = bf_ll_scale_of(amax, 1);

		ck_assert(any.inverse == amax * (1 / 448.0f) && any.scale == 448.0f / amax);
		ck_assert(power.scale * power.inverse == 1.0f);
		ck_assert((bf_ll_bits(power.inverse) & 0x7fffff) == 0);
		ck_assert(amax * power.scale <= 448.0f * 1.0000002f && amax * power.scale > 223.9f);
	}
}
END_TEST

/* The C library's fma is another implementation of the same definition. */
START_TEST(fma_rounds_once)
{
	struct bf_rng rng;

	bf_rng_init(&rng, 3, "fma");
	for (int i = 0; i < 300000; i++) {
		const float acc = bf_ll_float((uint32_t)bf_rng_next(&rng) & 0xbfffffff);
		const float x = bf_ll_from_bf16((uint16_t)(bf_rng_next(&rng) & 0xbfff));
		const float w = bf_ll_float((uint32_t)(110 + bf_rng_below(&rng, 30)) << 23 |
					    (uint32_t)bf_rng_below(&rng, 1u << 23));
		/* Near cancellation, where double rounding would show. */
		const float close = i % 2 ? acc : -x * w * (1 + (float)bf_rng_below(&rng, 3) * 0x1p-23f);

		ck_assert_msg(bf_ll_bits(bf_ll_fma(close, x, w)) == bf_ll_bits(fmaf(x, w, close)), "%a + %a * %a",
			      (double)close, (double)x, (double)w);
	}
}
END_TEST

/* ---- by the row: to the bit what the elements are, whichever processor this is ---- */

#define ROW 128u
#define ANSWERS 8u

static void cast_as_elements(const struct bf_ll_math *m, struct bf_rng *rng)
{
	uint16_t x[ROW];
	uint8_t fp8[ROW];
	float amax = BF_LL_AMAX_LEAST;
	const int power = bf_rng_chance(rng, 500000);
	/* Any bits, NaNs among them; or magnitudes that lie as those of a tensor do. */
	const int any = bf_rng_chance(rng, 300000);
	struct bf_ll_scale scale;
	uint32_t inverse;

	for (unsigned i = 0; i < ROW; i++) {
		const uint16_t bits = (uint16_t)bf_rng_below(rng, 65536);
		float f;

		x[i] = any ? bits : (uint16_t)((bits & 0x807f) | (112 + bf_rng_below(rng, 20)) << 7);
		f = bf_ll_from_bf16(x[i] & 0x7fff);
		amax = f > amax ? f : amax;
	}
	scale = bf_ll_scale_of(amax, power);
	m->cast((const uint8_t *)x, power, fp8, &inverse);
	ck_assert_uint_eq(inverse, bf_ll_bits(scale.inverse));
	for (unsigned i = 0; i < ROW; i++)
		ck_assert_msg(fp8[i] == bf_ll_to_e4m3(bf_ll_from_bf16(x[i]) * scale.scale), "0x%04x by %a: 0x%02x",
			      x[i], (double)scale.scale, fp8[i]);
}

static void experts_as_elements(const struct bf_ll_math *m, struct bf_rng *rng)
{
	const float scale =
	    bf_ll_float((uint32_t)(100 + bf_rng_below(rng, 50)) << 23 | (uint32_t)bf_rng_below(rng, 1u << 23));
	const float factor = 1.0f + (float)bf_rng_below(rng, 16) / 16.0f;
	uint8_t fp8[ROW];
	uint16_t x[ROW], out[ROW];

	for (unsigned i = 0; i < ROW; i++) {
		fp8[i] = (uint8_t)bf_rng_below(rng, 256);
		x[i] = (uint16_t)bf_rng_below(rng, 65536);
	}
	m->expert_fp8(fp8, scale, factor, (uint8_t *)out);
	for (unsigned i = 0; i < ROW; i++)
		ck_assert_uint_eq(out[i], bf_ll_to_bf16(bf_ll_from_e4m3(fp8[i]) * scale * factor));
	m->expert_bf16((const uint8_t *)x, ROW, factor, (uint8_t *)out);
	for (unsigned i = 0; i < ROW; i++)
		ck_assert_uint_eq(out[i], bf_ll_to_bf16(bf_ll_from_bf16(x[i]) * factor));
}

static void sums_as_elements(const struct bf_ll_math *m, struct bf_rng *rng)
{
	uint16_t x[ANSWERS][ROW], out[ROW];
	const uint8_t *answer[ANSWERS];
	float weight[ANSWERS];
	const uint32_t n = 1 + (uint32_t)bf_rng_below(rng, ANSWERS);

	for (uint32_t k = 0; k < n; k++) {
		answer[k] = (const uint8_t *)x[k];
		weight[k] = bf_ll_float(124u << 23 | (uint32_t)bf_rng_below(rng, 1u << 23));
		for (unsigned i = 0; i < ROW; i++)
			x[k][i] = (uint16_t)((bf_rng_below(rng, 65536) & 0x80ff) | (100 + bf_rng_below(rng, 60)) << 7);
	}
	m->reduce(answer, weight, n, ROW, ROW / 2, (uint8_t *)out);
	for (unsigned i = 0; i < ROW / 2; i++) {
		float sum = 0;

		for (uint32_t k = 0; k < n; k++)
			sum = bf_ll_fma(sum, bf_ll_from_bf16(x[k][ROW / 2 + i]), weight[k]);
		ck_assert_uint_eq(out[i], bf_ll_to_bf16(sum));
	}
}

START_TEST(rows_are_elements)
{
	const struct bf_ll_math *const math[] = { &bf_ll_math_plain, bf_ll_math_best() };
	struct bf_rng rng;

	bf_rng_init(&rng, 1, "rows");
	for (unsigned i = 0; i < 200; i++)
		for (unsigned m = 0; m < 2; m++) {
			cast_as_elements(math[m], &rng);
			experts_as_elements(math[m], &rng);
			sums_as_elements(math[m], &rng);
		}
}
END_TEST

int main(void)
{
	Suite *s = suite_create("ll_number");
	TCase *tc = tcase_create("ll_number");
	SRunner *sr;
	int failed;

	tcase_add_test(tc, e4m3_decodes_every_code);
	tcase_add_test(tc, e4m3_rounds_to_nearest_even);
	tcase_add_test(tc, bf16_rounds_to_nearest_even);
	tcase_add_test(tc, scales_fit_the_range);
	tcase_add_test(tc, fma_rounds_once);
	tcase_add_test(tc, rows_are_elements);
	suite_add_tcase(s, tc);
	sr = srunner_create(s);
	srunner_run_all(sr, CK_NORMAL);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed != 0;
}
