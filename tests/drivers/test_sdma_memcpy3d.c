/* hipMemcpy3D and hipMemcpy2D: who does the copy, what is refused, and which packets come of it. */
#include <check.h>
#include <errno.h>

#include "drivers/sdma/copy.h"
#include "drivers/sdma/memcpy3d.h"
#include "sim/compiler.h"

/* Two allocations: host memory below, device memory above. */
static char memory[2][1 << 20] __attribute__((aligned(4096)));
#define HOST_VA 0x10000000ull
#define DEVICE_VA 0x7f0000000000ull

static int resolve(void *arg, const void *ptr, struct bf_hip_pointer *out)
{
	const uint64_t at = (uint64_t)((const char *)ptr - memory[0]);

	if (at >= sizeof(memory))
		return -ENOENT;
	out->device = at >= sizeof(memory[0]);
	out->direct = !out->device || arg;
	out->va = out->device ? DEVICE_VA + (at - sizeof(memory[0])) : HOST_VA + at;
	return 0;
}

static struct bf_hip_plan_opts opts_for(enum bf_sdma_gen gen)
{
	return (struct bf_hip_plan_opts){ .caps = bf_sdma_drv_caps_of(gen), .resolve = resolve };
}

/* 64 bytes by 4 rows by 2 slices, both sides 256 by 8. */
static struct bf_hip_parms call(enum bf_hip_kind kind)
{
	const bool from = kind == BF_HIP_D2H || kind == BF_HIP_D2D, to = kind == BF_HIP_H2D || kind == BF_HIP_D2D;

	return (struct bf_hip_parms){
		.src_ptr = { memory[from], 256, 256, 8 },
		.dst_ptr = { memory[to] + 0x8000, 256, 256, 8 },
		.extent = { 64, 4, 2 },
		.kind = kind,
	};
}

static int plan(const struct bf_hip_parms *p, const struct bf_hip_plan_opts *o, struct bf_hip_plan *out,
		struct bf_error *err)
{
	struct bf_hip_memcpy3d d;

	*err = (struct bf_error){ 0 };
	bf_hip_describe(p, &d);
	return bf_hip_plan(&d, o, out, err);
}

static const struct {
	const char *name;
	enum bf_hip_kind kind;
	size_t src_x, src_pitch, dst_pitch, width;
	bool d2d_by_engine, direct;
	enum bf_hip_path path;
	enum bf_sdma_drv_rect_error refused;
	uint64_t copies;
	bool waits;
} rows[] = {
	{ "host to device", BF_HIP_H2D, 0, 256, 256, 64, false, false, BF_HIP_PATH_RECT, 0, 1, false },
	{ "device to host", BF_HIP_D2H, 0, 256, 256, 64, false, false, BF_HIP_PATH_RECT, 0, 1, true },
	{ "host to host", BF_HIP_H2H, 0, 256, 256, 64, false, false, BF_HIP_PATH_HOST, 0, 0, true },
	{ "device to device", BF_HIP_D2D, 0, 256, 256, 64, false, false, BF_HIP_PATH_SHADER, 0, 0, false },
	{ "device to device by engine", BF_HIP_D2D, 0, 256, 256, 64, true, false, BF_HIP_PATH_RECT, 0, 1, false },
	{ "default is what the pointers say", BF_HIP_DEFAULT, 0, 256, 256, 64, false, false, BF_HIP_PATH_HOST, 0, 0,
	  true },
	{ "the host reaches both", BF_HIP_H2D, 0, 256, 256, 64, false, true, BF_HIP_PATH_HOST, 0, 0, true },
	{ "odd source pitch", BF_HIP_H2D, 0, 255, 256, 64, false, false, BF_HIP_PATH_ROWS, 0, 8, false },
	{ "odd destination pitch", BF_HIP_D2H, 0, 256, 130, 64, false, false, BF_HIP_PATH_ROWS, 0, 8, true },
	{ "odd start", BF_HIP_H2D, 2, 256, 256, 64, false, false, BF_HIP_PATH_SHADER, BF_SDMA_DRV_RECT_BASE_ALIGN, 0,
	  false },
	{ "aligned start", BF_HIP_H2D, 12, 256, 256, 64, false, false, BF_HIP_PATH_RECT, 0, 1, false },
	{ "nothing", BF_HIP_H2D, 0, 256, 256, 0, false, false, BF_HIP_PATH_NONE, 0, 0, false },
};

START_TEST(paths)
{
	struct bf_hip_plan_opts o = opts_for(BF_SDMA_V6);
	struct bf_hip_parms p = call(rows[_i].kind);
	struct bf_hip_plan out;
	struct bf_error err;

	p.src_pos.x = rows[_i].src_x;
	p.src_ptr.pitch = rows[_i].src_pitch;
	p.dst_ptr.pitch = rows[_i].dst_pitch;
	p.extent.width = rows[_i].width;
	o.d2d_by_engine = rows[_i].d2d_by_engine;
	o.resolve_arg = rows[_i].direct ? &o : NULL;
	ck_assert_msg(!plan(&p, &o, &out, &err), "%s: %s", rows[_i].name, err.text);
	ck_assert_msg(out.path == rows[_i].path, "%s: %s (%s)", rows[_i].name, bf_hip_path_name(out.path),
		      out.why ? out.why : "");
	ck_assert_int_eq((int)out.refused, (int)rows[_i].refused);
	ck_assert_uint_eq(out.copies, rows[_i].copies);
	ck_assert_int_eq(out.waits, rows[_i].waits);
	ck_assert_int_eq(out.why == NULL, out.path == BF_HIP_PATH_RECT);
}
END_TEST

/* Any extent of zero: success, and nobody copies; pointers are not even looked at. */
START_TEST(nothing_to_do)
{
	struct bf_hip_plan_opts o = opts_for(BF_SDMA_V6);
	struct bf_hip_parms p = call(BF_HIP_H2D);
	struct bf_hip_plan out;
	struct bf_error err;
	size_t *const extents[] = { &p.extent.width, &p.extent.height, &p.extent.depth };

	*extents[_i] = 0;
	p.src_ptr.ptr = NULL;
	ck_assert_int_eq(plan(&p, &o, &out, &err), 0);
	ck_assert_int_eq(out.path, BF_HIP_PATH_NONE);
}
END_TEST

/* A pitch of 0 is the width, and the tightest slice follows from it. */
START_TEST(pitch_of_nothing)
{
	struct bf_hip_plan_opts o = opts_for(BF_SDMA_V6);
	struct bf_hip_parms p = call(BF_HIP_H2D);
	struct bf_hip_plan out;
	struct bf_error err;

	p.src_ptr.pitch = 0;
	ck_assert_int_eq(plan(&p, &o, &out, &err), 0);
	ck_assert_uint_eq(out.src.row_pitch, p.extent.width);
	ck_assert_uint_eq(out.src.slice_pitch, p.extent.width * p.extent.height);
	ck_assert_int_eq(out.path, BF_HIP_PATH_RECT);
}
END_TEST

/* The start is part of the base, offsets are zero, slices are pitch times height. */
START_TEST(rect_packet)
{
	struct bf_hip_plan_opts o = opts_for(BF_SDMA_V6);
	struct bf_hip_parms p = call(BF_HIP_H2D);
	uint32_t dw[64];
	struct bf_hip_plan out;
	struct bf_sdma_drv_body b;
	struct bf_error err;

	p.src_pos = (struct bf_hip_pos){ 16, 1, 1 };
	ck_assert_int_eq(plan(&p, &o, &out, &err), 0);
	ck_assert(out.to_device_engine);
	bf_sdma_drv_body_begin(&b, o.caps, 0, dw, 64);
	bf_hip_packets(&out, &b);
	ck_assert_uint_eq(b.n, BF_SDMA_RECT_DWORDS);
	ck_assert_uint_eq(dw[0], 0x80000401);
	ck_assert_uint_eq(dw[1], HOST_VA + 16 + 256 + 2048);
	ck_assert_uint_eq(dw[3], 0);
	ck_assert_uint_eq(dw[4], (256 / 16 - 1) << 13);
	ck_assert_uint_eq(dw[5], 2048 / 16 - 1);
	ck_assert_uint_eq(dw[6], (uint32_t)(DEVICE_VA + 0x8000));
	ck_assert_uint_eq(dw[7], DEVICE_VA >> 32);
	ck_assert_uint_eq(dw[11], 3u << 16 | 3);
	ck_assert_uint_eq(dw[12], 1);
}
END_TEST

START_TEST(one_copy_a_row)
{
	struct bf_hip_plan_opts o = opts_for(BF_SDMA_V6);
	struct bf_hip_parms p = call(BF_HIP_D2H);
	uint32_t dw[64];
	struct bf_hip_plan out;
	struct bf_sdma_drv_body b;
	struct bf_error err;

	p.dst_ptr.pitch = 99;
	ck_assert_int_eq(plan(&p, &o, &out, &err), 0);
	bf_sdma_drv_body_begin(&b, o.caps, 0, dw, 64);
	bf_hip_packets(&out, &b);
	ck_assert_uint_eq(b.n, 8 * BF_SDMA_COPY_LINEAR_DWORDS);
	for (uint32_t i = 0; i < 8; i++) {
		ck_assert_uint_eq(dw[i * 7], 1);
		ck_assert_uint_eq(dw[i * 7 + 1], 63);
		ck_assert_uint_eq(dw[i * 7 + 5], HOST_VA + 0x8000 + i / 4 * 99 * 8 + i % 4 * 99);
	}
}
END_TEST

/* x counts elements of an array, and so does the width; then no engine takes part. */
START_TEST(arrays)
{
	const struct bf_hip_array a = { memory[1], 8, 64, 64, 8, false }, layers = { memory[1], 8, 64, 4, 1, true };
	struct bf_hip_plan_opts o = opts_for(BF_SDMA_V6);
	struct bf_hip_parms p = call(BF_HIP_H2D);
	struct bf_hip_memcpy3d d;
	struct bf_hip_plan out;
	struct bf_error err = { 0 };

	p.dst_array = &a;
	p.dst_pos.x = 3;
	p.src_pos.x = 3;
	p.extent.width = 10;
	bf_hip_describe(&p, &d);
	ck_assert_uint_eq(d.dst_x_in_bytes, 24);
	ck_assert_uint_eq(d.src_x_in_bytes, 3);
	ck_assert_uint_eq(d.width_in_bytes, 80);
	ck_assert_int_eq(bf_hip_plan(&d, &o, &out, &err), 0);
	ck_assert_int_eq(out.path, BF_HIP_PATH_SHADER);
	p.dst_array = &layers;
	p.dst_pos.y = 2;
	bf_hip_describe(&p, &d);
	ck_assert_uint_eq(d.dst_y, 0);
	ck_assert_uint_eq(d.dst_z, 2);
	ck_assert_uint_eq(d.height, 2);
	ck_assert_uint_eq(d.depth, 4);
}
END_TEST

/* A slice is a product of two unsigned ints: 65536 * 65536 wraps to 0, which stands for the tightest. */
START_TEST(slices_wrap_at_4_gib)
{
	struct bf_hip_plan_opts o = opts_for(BF_SDMA_V6);
	struct bf_hip_parms p = call(BF_HIP_H2D);
	struct bf_hip_plan out;
	struct bf_error err;

	p.src_ptr.pitch = p.src_ptr.ysize = 65536;
	ck_assert_int_eq(plan(&p, &o, &out, &err), 0);
	ck_assert_uint_eq(out.src.slice_pitch, 4 * 65536);
	p.src_ptr.ysize = 65537;
	ck_assert_int_eq(plan(&p, &o, &out, &err), -EINVAL); /* 65536 bytes have no four rows */
	ck_assert_ptr_nonnull(strstr(err.text, "rows"));
}
END_TEST

START_TEST(refused)
{
	struct bf_hip_plan_opts o = opts_for(BF_SDMA_V6);
	struct bf_hip_parms p = call(BF_HIP_H2D);
	struct bf_hip_plan out;
	struct bf_error err;

	p.src_ptr.pitch = 60;
	ck_assert_int_eq(plan(&p, &o, &out, &err), -EINVAL);
	ck_assert_ptr_nonnull(strstr(err.text, "narrower"));
	p = call(BF_HIP_H2D);
	p.dst_ptr.ysize = 3;
	ck_assert_int_eq(plan(&p, &o, &out, &err), -EINVAL);
	p = call(BF_HIP_H2D);
	p.src_ptr.ptr = NULL;
	ck_assert_int_eq(plan(&p, &o, &out, &err), -EINVAL);
	ck_assert_ptr_nonnull(strstr(err.text, "null"));
	p = call(BF_HIP_DEFAULT);
	p.src_ptr.ptr = &p;
	ck_assert_int_eq(plan(&p, &o, &out, &err), -EINVAL);
}
END_TEST

START_TEST(two_dimensions)
{
	struct bf_hip_plan_opts o = opts_for(BF_SDMA_V4);
	struct bf_hip_memcpy3d d;
	struct bf_hip_plan out;
	struct bf_error err = { 0 };

	bf_hip_describe_2d(memory[1], 512, memory[0], 128, 96, 10, BF_HIP_H2D, &d);
	ck_assert_int_eq(bf_hip_plan(&d, &o, &out, &err), 0);
	ck_assert_int_eq(out.path, BF_HIP_PATH_RECT);
	ck_assert_uint_eq(out.src.slice_pitch, 1280);
	ck_assert_uint_eq(out.dst.slice_pitch, 5120);
	/* gfx12's pitch field ends at 65536 elements; bytes are counted, so rows of 128 KiB become slices. */
	o = opts_for(BF_SDMA_V7);
	bf_hip_describe_2d(memory[1], 1u << 17, memory[0], 1u << 17, 64, 5, BF_HIP_H2D, &d);
	ck_assert_int_eq(bf_hip_plan(&d, &o, &out, &err), 0);
	ck_assert_int_eq(out.path, BF_HIP_PATH_RECT);
	ck_assert_uint_eq(out.copies, 1);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("sdma_memcpy3d");
	TCase *tc = tcase_create("sdma_memcpy3d");
	SRunner *sr;
	int failed;

	tcase_add_loop_test(tc, paths, 0, BF_ARRAY_LEN(rows));
	tcase_add_loop_test(tc, nothing_to_do, 0, 3);
	tcase_add_test(tc, pitch_of_nothing);
	tcase_add_test(tc, rect_packet);
	tcase_add_test(tc, one_copy_a_row);
	tcase_add_test(tc, arrays);
	tcase_add_test(tc, slices_wrap_at_4_gib);
	tcase_add_test(tc, refused);
	tcase_add_test(tc, two_dimensions);
	suite_add_tcase(s, tc);
	sr = srunner_create(s);
	srunner_run_all(sr, CK_NORMAL);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed != 0;
}
