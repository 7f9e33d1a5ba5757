/* The decoder: reserved bits, lengths, layouts, names; what other readers of these packets do otherwise. */
#include <check.h>
#include <errno.h>
#include <stdlib.h>

#include "models/sdma/decode.h"
#include "sim/rng.h"

static const struct bf_sdma_dialect v4 = { .gen = BF_SDMA_V4 }, v5 = { .gen = BF_SDMA_V5 }, v6 = { .gen = BF_SDMA_V6 },
				    v7 = { .gen = BF_SDMA_V7, .wide_rect = true },
				    v7_1 = { .gen = BF_SDMA_V7_1, .wide_rect = true };

/* Bits of every dword of a packet that its generation's header names; all others are reserved. */
START_TEST(reserved_bits)
{
	static const struct {
		const struct bf_sdma_dialect *d;
		uint32_t header, n;
		uint32_t known[13];
	} cases[] = {
		{ &v4, 0x00000005, 4, { 0x0000ffff, ~0u, ~0u, ~0u } },
		{ &v5, 0x00000005, 4, { 0x03dfffff, ~0u, ~0u, ~0u } },
		{ &v6, 0x00000005, 4, { 0x17dfffff, ~0u, ~0u, ~0u } },
		{ &v7, 0x00000005, 4, { 0x1fd7ffff, ~0u, ~0u, ~0u } },
		{ &v4, 0x00000001, 7, { 0x0805ffff, 0x003fffff, 0x03030000, ~0u, ~0u, ~0u, ~0u } },
		{ &v5, 0x00000001, 7, { 0x0a05ffff, 0x003fffff, 0x03030000, ~0u, ~0u, ~0u, ~0u } },
		{ &v6, 0x00000001, 7, { 0x0a0dffff, 0x3fffffff, 0x1f1f0000, ~0u, ~0u, ~0u, ~0u } },
		{ &v7_1, 0x00000001, 7, { 0x1a05ffff, 0x3fffffff, 0x7c7c0000, ~0u, ~0u, ~0u, ~0u } },
		{ &v4,
		  0x00000401,
		  13,
		  { 0xe004ffff, ~0u, ~0u, 0x3fff3fff, 0xffffe7ff, 0x0fffffff, ~0u, ~0u, 0x3fff3fff, 0xffffe7ff,
		    0x0fffffff, 0x3fff3fff, 0x030307ff } },
		{ &v5,
		  0x00000401,
		  13,
		  { 0xe004ffff, ~0u, ~0u, 0x3fff3fff, ~0u, 0x0fffffff, ~0u, ~0u, 0x3fff3fff, ~0u, 0x0fffffff,
		    0x3fff3fff, 0x03031fff } },
		{ &v7,
		  0x00000401,
		  13,
		  { 0xe00cffff, ~0u, ~0u, ~0u, 0xffff3fff, ~0u, ~0u, ~0u, ~0u, 0xffff3fff, ~0u, ~0u, 0x70703fff } },
		{ &v4, 0x80000008, 6, { 0xf400ffff, ~0u, ~0u, ~0u, ~0u, 0x0fffffff } },
		{ &v6, 0x80000008, 6, { 0xf570ffff, ~0u, ~0u, ~0u, ~0u, 0x0fffffff } },
		{ &v4, 0x1e00000a, 8, { 0xfe05ffff, ~0u, ~0u, ~0u, ~0u, ~0u, ~0u, 0x1fff } },
		{ &v4, 0x0000000b, 5, { 0xc003ffff, ~0u, ~0u, ~0u, 0x003fffff } },
		{ &v6, 0x0000000b, 5, { 0xd703ffff, ~0u, ~0u, ~0u, 0x3fffffff } },
		{ &v4, 0x00000002, 5, { 0x0005ffff, ~0u, ~0u, 0x030fffff, ~0u } },
		{ &v4, 0x00000006, 2, { 0x0000ffff, 0x0fffffff } },
		{ &v5, 0x0000020d, 3, { 0x0000ffff, ~0u, ~0u } },
		{ &v6, 0x0000010d, 3, { 0x1700ffff, ~0u, ~0u } },
		{ &v6, 0x0000020d, 3, { 0x1700ffff, ~0u, ~0u } },
		{ &v7, 0x0000020d, 3, { 0x1f00ffff, ~0u, ~0u } },
		{ &v5, 0x00000111, 5, { 0x0000ffff, 0xffffff80, ~0u, 0xffffff87, 0x0f00ffff } },
		{ &v7_1, 0x00000111, 6, { 0x0000ffff, 0xffffff80, 0x01ffffff, 0xff87ffff, ~0u, 0x3c0001ff } },
	};
	uint32_t wrong = 0;

	for (size_t i = 0; i < BF_ARRAY_LEN(cases); i++) {
		for (uint32_t at = 0; at < cases[i].n; at++) {
			for (uint32_t bit = at ? 0 : 16; bit < 32; bit++) {
				uint32_t dw[13] = { cases[i].header };
				struct bf_sdma_packet p;
				const bool known = cases[i].known[at] >> bit & 1;

				if (at == 0 && cases[i].header >> bit & 1)
					continue;
				dw[at] |= 1u << bit;
				bf_sdma_decode(cases[i].d, dw, 13, &p);
				if (p.kind == BF_SDMA_KIND_WRITE && at >= p.fixed)
					continue;
				if ((p.reserved != (known ? 0 : 1u << at))) {
					fprintf(stderr, "case %zu dword %u bit %u: %x\n", i, at, bit, p.reserved);
					wrong++;
				}
			}
		}
	}
	ck_assert_uint_eq(wrong, 0);
}
END_TEST

/* v5 and v6 have 13 bits of z; ROCr writes 11 everywhere, so nothing that it writes reads differently. */
START_TEST(depth_of_z)
{
	const uint32_t dw[13] = { 0x401, 0, 0, 0, 0x1fff, 0, 0, 0, 0, 0x1fff, 0, 0, 0x1fff };
	struct bf_sdma_packet p;

	bf_sdma_decode(&v4, dw, 13, &p);
	ck_assert_uint_eq(p.src_z, 0x7ff);
	ck_assert_uint_eq(p.z, 0x7ff);
	ck_assert_uint_eq(p.reserved, 1u << 4 | 1u << 9 | 1u << 12);
	bf_sdma_decode(&v6, dw, 13, &p);
	ck_assert_uint_eq(p.src_z, 0x1fff);
	ck_assert_uint_eq(p.dst_z, 0x1fff);
	ck_assert_uint_eq(p.z, 0x1fff);
	ck_assert_uint_eq(p.reserved, 0);
}
END_TEST

/*
 * The same dwords in both layouts. Linux's v7.1 header still lists the narrow one, ROCr writes the wide one for every
 * ISA major of 12 and more, rocjitsu reads it for gfx1250 only: a property of the engine, and by default ROCr's choice,
 * because ROCr is what produces these packets.
 */
START_TEST(layout_is_a_property)
{
	struct bf_sdma_dialect d;
	struct bf_sdma_packet p;
	const uint32_t dw[13] = { 0x401, 0, 0, 0x00020001, 0x007f0003, 0x0000ffff, 0, 0, 0, 0, 0, 0x001f001f, 0 };

	ck_assert_int_eq(bf_sdma_dialect_find("v6", &d), 0);
	ck_assert(!d.wide_rect);
	bf_sdma_decode(&d, dw, 13, &p);
	ck_assert_uint_eq(p.src_pitch, 0x007f0003 >> 13);
	ck_assert_int_eq(bf_sdma_dialect_find("v7", &d), 0);
	ck_assert(d.wide_rect);
	bf_sdma_decode(&d, dw, 13, &p);
	ck_assert_uint_eq(p.src_pitch, 0x7f);
	ck_assert_uint_eq(p.src_z, 3);
	d.wide_rect = false;
	bf_sdma_decode(&d, dw, 13, &p);
	ck_assert_uint_eq(p.src_pitch, 0x007f0003 >> 13);
	ck_assert_int_eq(bf_sdma_dialect_find("v8", &d), -EINVAL);
}
END_TEST

/* What ROCr's BuildCopyRectCommand (amd_blit_sdma.cpp) makes of 71 x 2 bytes at pitch 256 on gfx9. */
START_TEST(rocr_tile)
{
	const uint32_t dw[13] = { 0x401, 0x10000000, 0,          1, 255u << 13,   0, 0x20000000,
				  0,     0,          255u << 13, 0, 70 | 1 << 16, 0 };
	struct bf_sdma_packet p;

	ck_assert_int_eq(bf_sdma_decode(&v4, dw, 13, &p), BF_SDMA_RUNS);
	ck_assert_uint_eq(p.element, 0);
	ck_assert_uint_eq(p.src_x, 1);
	ck_assert_uint_eq(p.src_pitch, 255);
	ck_assert_uint_eq(p.x, 70);
	ck_assert_uint_eq(p.y, 1);
	ck_assert_uint_eq(bf_sdma_packet_bytes(&p), 142);
}
END_TEST

/* Each prefix asks for more; nothing is read past `have` (the sanitizer looks). */
START_TEST(short_packets)
{
	static const uint32_t headers[] = { 1,          0x08000001, 0x401,      0x2401, 2,     4,     5,       6,
					    0x80000008, 9,          0x5e00000a, 11,     0x20d, 0x111, 3u << 16 };
	struct bf_sdma_packet p;

	for (size_t i = 0; i < BF_ARRAY_LEN(headers); i++) {
		for (uint32_t have = 0; have < 20; have++) {
			uint32_t *dw = calloc(have + 1, 4), full[24] = { headers[i] };
			uint32_t need;

			bf_sdma_decode(&v6, full, 24, &p);
			need = p.dwords;
			dw[0] = have ? headers[i] : 0;
			dw = realloc(dw, have * 4 + 1);
			bf_sdma_decode(&v6, dw, have, &p);
			ck_assert_int_eq(p.reason == BF_SDMA_TRUNCATED, have < need);
			if (p.reason == BF_SDMA_TRUNCATED)
				ck_assert_uint_gt(p.dwords, have);
			free(dw);
		}
	}
}
END_TEST

/* A packet is what its dwords say and nothing else: no state, no leftovers. */
START_TEST(pure)
{
	const struct bf_sdma_dialect *all[] = { &v4, &v5, &v6, &v7, &v7_1 };
	struct bf_rng rng;

	bf_rng_init(&rng, 3, "decode");
	for (uint32_t i = 0; i < 20000; i++) {
		struct bf_sdma_packet a, b;
		uint32_t dw[20];

		for (uint32_t k = 0; k < 20; k++)
			dw[k] = (uint32_t)bf_rng_next(&rng) & (uint32_t)bf_rng_next(&rng);
		dw[0] &= 0xffff0000u | 0x3f;
		dw[0] |= (uint32_t)bf_rng_below(&rng, 40) << 8;
		memset(&a, 0, sizeof(a));
		memset(&b, 0xff, sizeof(b));
		bf_sdma_decode(all[i % 5], dw, 20, &a);
		bf_sdma_decode(all[i % 5], dw, 20, &b);
		ck_assert_mem_eq(&a, &b, sizeof(a));
		ck_assert_uint_ge(a.dwords, 1);
		ck_assert_int_eq(a.form == NULL, a.reason == BF_SDMA_BAD_OPCODE);
	}
}
END_TEST

START_TEST(text)
{
	const uint32_t atomic[8] = { 0x5E00000A, 0x1000, 0x7f, ~0u, ~0u, 0, 0, 0x2000 };
	char *out = NULL;
	size_t len = 0;
	struct bf_sdma_packet p;
	FILE *f = open_memstream(&out, &len);

	bf_sdma_decode(&v6, atomic, 8, &p);
	bf_sdma_print(f, &p, atomic, 8);
	fclose(f);
	ck_assert_ptr_nonnull(strstr(out, "ATOMIC, 8 dwords"));
	ck_assert_ptr_nonnull(strstr(out, "0x2f  ADD_64"));
	ck_assert_ptr_nonnull(strstr(out, "0x7f00001000"));
	ck_assert_ptr_nonnull(strstr(out, "7  00002000  reserved"));
	free(out);
	ck_assert_str_eq(bf_sdma_atomic_name(7), "SWAP");
	ck_assert_str_eq(bf_sdma_atomic_name(25 + 96), "DEC_64");
	ck_assert_str_eq(bf_sdma_atomic_name(9), "?");
	ck_assert_str_eq(bf_sdma_func_name(5), ">=");
}
END_TEST

int main(void)
{
	Suite *s = suite_create("sdma decode");
	TCase *t = tcase_create("all");
	SRunner *runner;
	int failed;

	tcase_add_test(t, reserved_bits);
	tcase_add_test(t, depth_of_z);
	tcase_add_test(t, layout_is_a_property);
	tcase_add_test(t, rocr_tile);
	tcase_add_test(t, short_packets);
	tcase_add_test(t, pure);
	tcase_add_test(t, text);
	suite_add_tcase(s, t);
	runner = srunner_create(s);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? 1 : 0;
}
