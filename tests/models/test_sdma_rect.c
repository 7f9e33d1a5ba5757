/* Sub-window copies: both layouts, LARGE, every element size; overlap; what leaves its surface. */
#include <check.h>

#include "models/sdma/decode.h"
#include "tests/models/sdma_rects.h"

/* How many: BELFRY_SDMA_RECTS, for long runs. */
static uint64_t how_many(void)
{
	const char *text = getenv("BELFRY_SDMA_RECTS");

	return text ? strtoull(text, NULL, 0) : 20000;
}

START_TEST(random_rects)
{
	static const struct bf_sdma_profile *const profiles[] = { &bf_sdma_v4, &bf_sdma_v5, &bf_sdma_v6, &bf_sdma_v7,
								  &bf_sdma_v7_1 };
	const uint64_t n = how_many() / 5;

	ck_assert_uint_eq(rects_run(profiles[_i], 11 + (uint64_t)_i, n), n);
}
END_TEST

/* The published experiment: 128 x 128 x 128 bytes, 32 x 32 x 1 to the centre, once for each element size. */
START_TEST(centre_of_a_cube)
{
	const uint32_t e = (uint32_t)_i;
	uint32_t wrong = 0;
	struct rig r;

	rig_open(&r, &(struct rig_opts){ .mem = 128 * 128 * 128 });
	memset(r.host->bytes, 0xab, r.host->size);
	RIG_PACKET(&r, 0x401 | e << 29, RIG_LO(r.host->va), RIG_HI(r.host->va), 0, ((128u >> e) - 1) << 13,
		   ((16384u >> e) - 1), RIG_LO(r.vram->va), RIG_HI(r.vram->va), (48u >> e) | 48u << 16,
		   ((128u >> e) - 1) << 13, (16384u >> e) - 1, ((32u >> e) - 1) | 31u << 16, 0);
	ck_assert_int_eq(rig_go(&r).fault.reason, BF_SDMA_RUNS);
	for (uint32_t at = 0; at < r.vram->size; at++) {
		const uint32_t x = at % 128, y = at / 128 % 128, z = at / 16384;
		const bool in = z == 0 && x >= 48 && x < 80 && y >= 48 && y < 80;

		wrong += r.vram->bytes[at] != (in ? 0xab : 0);
	}
	ck_assert_uint_eq(wrong, 0);
	rig_close(&r);
}
END_TEST

/* A 16-byte element on a base that is only dword aligned, as ROCr uses it. */
START_TEST(element_larger_than_alignment)
{
	struct rig r;

	rig_open(&r, &(struct rig_opts){ 0 });
	memset(r.host->bytes, 0x5a, 4096);
	RIG_PACKET(&r, 0x401 | 4u << 29, RIG_LO(r.host->va + 4), RIG_HI(r.host->va), 0, 15u << 13, 0,
		   RIG_LO(r.vram->va + 12), RIG_HI(r.vram->va), 0, 15u << 13, 0, 1 | 1u << 16, 0);
	ck_assert_int_eq(rig_go(&r).fault.reason, BF_SDMA_RUNS);
	ck_assert_uint_eq(r.vram->bytes[11], 0);
	ck_assert_uint_eq(r.vram->bytes[12], 0x5a);
	ck_assert_uint_eq(r.vram->bytes[43], 0x5a);
	ck_assert_uint_eq(r.vram->bytes[44], 0);
	ck_assert_uint_eq(r.vram->bytes[268], 0x5a);
	ck_assert_uint_eq(r.vram->bytes[300], 0);
	rig_close(&r);
}
END_TEST

static struct bf_sdma_queue_info narrow(struct rig *r, uint32_t element, uint64_t src, uint64_t dst, uint32_t x,
					uint32_t pitch, uint32_t slice, uint32_t nx, uint32_t ny, uint32_t nz)
{
	RIG_PACKET(r, 0x401 | element << 29, RIG_LO(src), RIG_HI(src), x, (pitch - 1) << 13, slice - 1, RIG_LO(dst),
		   RIG_HI(dst), x, (pitch - 1) << 13, slice - 1, (nx - 1) | (ny - 1) << 16, nz - 1);
	return rig_go(r);
}

START_TEST(bad_fields_stop)
{
	static const struct {
		uint32_t element, src, dst;
		enum bf_sdma_reason reason;
		uint32_t dword;
	} cases[] = {
		{ 5, 0, 0, BF_SDMA_RESERVED, 0 },
		{ 7, 0, 0, BF_SDMA_RESERVED, 0 },
		{ 0, 2, 0, BF_SDMA_MISALIGNED, 1 },
		{ 0, 0, 1, BF_SDMA_MISALIGNED, 6 },
	};
	struct bf_sdma_queue_info info;
	struct rig r;

	rig_open(&r, &(struct rig_opts){ 0 });
	info =
	    narrow(&r, cases[_i].element, r.host->va + cases[_i].src, r.vram->va + cases[_i].dst, 0, 64, 64, 4, 1, 1);
	ck_assert_int_eq(info.fault.reason, cases[_i].reason);
	ck_assert_uint_eq(info.fault.dword, cases[_i].dword);
	rig_close(&r);
}
END_TEST

/* Rows that run into each other: done in order (last row wins), or refused by a strict queue. */
START_TEST(rows_wider_than_the_pitch)
{
	struct rig r;
	struct bf_sdma_queue_info info;

	for (int strict = 0; strict < 2; strict++) {
		rig_open(&r, &(struct rig_opts){ .strict = strict });
		for (uint32_t i = 0; i < 256; i++)
			r.host->bytes[i] = (uint8_t)i;
		info = narrow(&r, 0, r.host->va, r.vram->va, 0, 16, 1024, 24, 3, 1);
		ck_assert_int_eq(info.fault.reason, strict ? BF_SDMA_OUT_OF_SURFACE : BF_SDMA_RUNS);
		if (strict)
			ck_assert_uint_eq(info.fault.dword, 4);
		for (uint32_t i = 0; i < 16 * 2 + 24; i++)
			ck_assert_uint_eq(r.vram->bytes[i], strict ? 0 : i);
		rig_close(&r);
	}
}
END_TEST

START_TEST(rows_past_the_slice)
{
	struct rig r;

	rig_open(&r, &(struct rig_opts){ .strict = true });
	ck_assert_int_eq(narrow(&r, 0, r.host->va, r.vram->va, 0, 64, 256, 64, 5, 2).fault.reason,
			 BF_SDMA_OUT_OF_SURFACE);
	rig_close(&r);
	/* One row a slice: the pitch has no meaning then (ROCr's X-Z copies store pitch - 1 of a pitch of 0). */
	rig_open(&r, &(struct rig_opts){ .strict = true });
	ck_assert_int_eq(narrow(&r, 0, r.host->va, r.vram->va, 0, 1u << 19, 256, 64, 1, 4).fault.reason, BF_SDMA_RUNS);
	rig_close(&r);
}
END_TEST

/* Windows of one surface: side by side is no overlap, one column further is. */
START_TEST(overlap_is_exact)
{
	static const struct {
		uint32_t off, nx, ny, nz;
		bool overlap;
	} cases[] = {
		{ 32, 32, 8, 4, false },           { 31, 32, 8, 4, true },
		{ 64 * 8, 64, 8, 1, false },       { 64 * 8 - 1, 64, 8, 1, true },
		{ 64 * 16 - 32, 32, 8, 2, false }, { 64 * 16 - 31, 32, 8, 2, true },
		{ 64 * 16, 64, 16, 1, false },
	};
	struct rig r;

	rig_open(&r, &(struct rig_opts){ .strict = true });
	/* In bytes off the base: the destination's base moves by whole dwords, its x by the rest. */
	RIG_PACKET(&r, 0x401, RIG_LO(r.host->va), RIG_HI(r.host->va), 0, 63u << 13, 64 * 16 - 1,
		   RIG_LO(r.host->va + (cases[_i].off & ~3u)), RIG_HI(r.host->va), cases[_i].off & 3, 63u << 13,
		   64 * 16 - 1, (cases[_i].nx - 1) | (cases[_i].ny - 1) << 16, cases[_i].nz - 1);
	rig_bell(&r);
	bf_sim_run(r.sim, RIG_LIMIT);
	/* An x of up to 3 may leave the row; that is another fault. */
	if (rig_info(&r).fault.reason != BF_SDMA_OUT_OF_SURFACE)
		ck_assert_int_eq(rig_info(&r).fault.reason, cases[_i].overlap ? BF_SDMA_OVERLAP : BF_SDMA_RUNS);
	rig_close(&r);
}
END_TEST

/*
 * Overlapping linear copies move bursts of 256 bytes upwards, or downwards with `backwards`, each read before it is
 * written: a copy to lower addresses is right forwards, one to higher addresses backwards, as for memmove.
 */
START_TEST(overlapping_linear)
{
	static const struct {
		int32_t shift;
		bool backwards, right;
	} cases[] = {
		{ -100, false, true }, { 100, true, true }, { 100, false, false }, { -100, true, false },
		{ 5, false, false },   { -3, false, true }, { 3, true, true },
	};
	uint8_t want[4096];
	struct rig r;
	const uint32_t from = 1024, n = 2000;
	uint64_t dst;

	rig_open(&r, &(struct rig_opts){ 0 });
	for (uint32_t i = 0; i < 4096; i++)
		r.host->bytes[i] = want[i] = (uint8_t)(i * 7 + i / 256);
	memmove(want + from + cases[_i].shift, want + from, n);
	dst = r.host->va + from + (uint64_t)(int64_t)cases[_i].shift;
	RIG_PACKET(&r, BF_SDMA_OP_COPY | (cases[_i].backwards ? (uint32_t)BF_SDMA_COPY_BACKWARDS : 0), n - 1, 0,
		   RIG_LO(r.host->va + from), RIG_HI(r.host->va), RIG_LO(dst), RIG_HI(dst));
	ck_assert_int_eq(rig_go(&r).fault.reason, BF_SDMA_RUNS);
	ck_assert_int_eq(memcmp(want, r.host->bytes, 4096) == 0, cases[_i].right);
	rig_close(&r);
	rig_open(&r, &(struct rig_opts){ .strict = true });
	RIG_PACKET(&r, BF_SDMA_OP_COPY | (cases[_i].backwards ? (uint32_t)BF_SDMA_COPY_BACKWARDS : 0), n - 1, 0,
		   RIG_LO(r.host->va + from), RIG_HI(r.host->va), RIG_LO(dst), RIG_HI(dst));
	ck_assert_int_eq(rig_go(&r).fault.reason,
			 cases[_i].backwards && cases[_i].shift > 0 ? BF_SDMA_RUNS : BF_SDMA_OVERLAP);
	rig_close(&r);
}
END_TEST

/* Surfaces in memory that is contiguous for the engine and not for the host, and the other way round. */
START_TEST(rows_across_maps)
{
	struct bf_region *a, *b;
	const uint64_t iova = 1ull << 32;
	struct rig r;
	uint8_t want[16384];

	rig_open(&r, &(struct rig_opts){ 0 });
	a = rig_region(&r, "a", BF_MEM_DRAM, 8192);
	b = rig_region(&r, "b", BF_MEM_DRAM, 8192);
	/* IOVA order: a's second page, b, a's first page. */
	RIG_MUST(!bf_ioas_map(&r.ioas, iova, a, 4096, 4096, 3) && !bf_ioas_map(&r.ioas, iova + 4096, b, 0, 8192, 3) &&
		 !bf_ioas_map(&r.ioas, iova + 12288, a, 0, 4096, 3));
	for (uint32_t i = 0; i < 8192; i++) {
		a->bytes[i] = (uint8_t)(i * 3 + i / 256);
		b->bytes[i] = (uint8_t)(i * 5 + i / 256);
	}
	memcpy(want, a->bytes + 4096, 4096);
	memcpy(want + 4096, b->bytes, 8192);
	memcpy(want + 12288, a->bytes, 4096);
	/* 21 rows of 700 bytes, pitch 780: rows cross pages. */
	ck_assert_int_eq(narrow(&r, 0, iova, r.vram->va, 0, 780, 16384, 700, 21, 1).fault.reason, BF_SDMA_RUNS);
	for (uint32_t j = 0; j < 21; j++)
		ck_assert_mem_eq(r.vram->bytes + j * 780, want + j * 780, 700);
	ck_assert_int_eq(narrow(&r, 0, r.vram->va, iova, 0, 780, 16384, 700, 21, 1).fault.reason, BF_SDMA_RUNS);
	ck_assert_mem_eq(b->bytes, want + 4096, 8192);
	rig_close(&r);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("sdma rect");
	TCase *t = tcase_create("all");
	SRunner *runner;
	int failed;

	tcase_set_timeout(t, getenv("BELFRY_SDMA_RECTS") ? 3600 : 60);
	tcase_add_loop_test(t, random_rects, 0, 5);
	tcase_add_loop_test(t, centre_of_a_cube, 0, 5);
	tcase_add_test(t, element_larger_than_alignment);
	tcase_add_loop_test(t, bad_fields_stop, 0, 4);
	tcase_add_test(t, rows_wider_than_the_pitch);
	tcase_add_test(t, rows_past_the_slice);
	tcase_add_loop_test(t, overlap_is_exact, 0, 7);
	tcase_add_loop_test(t, overlapping_linear, 0, 7);
	tcase_add_test(t, rows_across_maps);
	suite_add_tcase(s, t);
	runner = srunner_create(s);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? 1 : 0;
}
