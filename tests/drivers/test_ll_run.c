/*
 * The low-latency exchange on the models: every format, routing, grid and ordering comes out right to the last bit;
 * each mistake is found under some seed; and the check sees every kind of damage.
 */
#include <check.h>
#include <errno.h>
#include <stdlib.h>

#include "drivers/backend/backend.h"
#include "drivers/ibgda/host.h"
#include "drivers/ibgda/ll.h"
#include "models/mlx5/mlx5.h"

#define PES_MAX 8u

struct rig {
	struct bf_ll_shape shape;
	enum bf_ll_work work;
	struct bf_world_opts world;
	struct bf_ibgda_host_opts host;
	const char *faults;
	/* What run() fills in. */
	struct bf_world_result result;
	struct bf_ibgda_mismatch bad;
	struct bf_ll_checked checked;
	uint8_t *tensors[PES_MAX];
	struct bf_ll_job job[PES_MAX];
	struct bf_error err;
	const struct bf_backend *be;
	struct bf_world *w;
	struct bf_ibgda_host *h;
};

static struct rig rig_of(enum bf_ll_work work)
{
	struct rig r = {
		.shape = bf_ll_shape_default,
		.work = work,
		.world = { .seed = 1, .npes = 4, .limit_ps = BF_S, .ordering = BF_ORDER_GPU },
		.host = { .flavour = BF_IBGDA_DEEPEP, .num_rc_per_pe = 2, .qp_depth = 64 },
	};

	return r;
}

static void rig_open(struct rig *r)
{
	struct bf_ll_heap heap;

	r->be = bf_backend_find("sim");
	r->shape.seed = r->world.seed;
	ck_assert_msg(!bf_ll_shape_check(&r->shape, r->world.npes, r->host.num_rc_per_pe, r->host.qp_depth, &r->err),
		      "%s", r->err.text);
	bf_ll_heap_layout(&r->shape, r->world.npes, &heap);
	r->host.heap_bytes = heap.end;
	ck_assert_msg(!r->be->open(&r->world, &r->err, &r->w), "%s", r->err.text);
	ck_assert_msg(!bf_ibgda_host_open(r->be, r->w, r->world.npes, &r->host, &r->err, &r->h), "%s", r->err.text);
	for (uint32_t pe = 0; pe < r->world.npes; pe++) {
		struct bf_ll_job *job = &r->job[pe];
		struct bf_memory m;

		*job = (struct bf_ll_job){ .state = bf_ibgda_host_state(r->h, pe), .shape = r->shape, .heap = heap };
		bf_ll_tensor_layout(&r->shape, r->world.npes, &job->at);
		ck_assert_int_eq(r->be->alloc(r->w, pe, BF_PLACE_GPU, job->at.end, "tensors", &m), 0);
		job->tensors = r->tensors[pe] = m.ptr;
		ck_assert_int_eq(bf_ll_prepare(&r->shape, r->world.npes, pe, m.ptr, &r->err), 0);
		ck_assert_int_eq(r->be->launch(r->w, pe, r->shape.blocks, r->shape.groups * r->shape.group_warps,
					       bf_ll_kernels(BF_PLATFORM_SIM)->run[r->work], job),
				 0);
	}
}

static void rig_close(struct rig *r)
{
	bf_ibgda_host_close(r->h);
	r->be->close(r->w);
}

static int rig_verify(struct rig *r)
{
	return bf_ll_verify(r->work, &r->shape, r->world.npes, r->tensors, &r->bad, &r->checked);
}

/* The whole way; true when the run ended and everything is right. */
static bool rig_run(struct rig *r)
{
	bool good;

	rig_open(r);
	ck_assert_msg(!r->be->run(r->w, &r->result), "%s", r->err.text);
	good = r->result.end == BF_END_DONE && rig_verify(r) == 0;
	rig_close(r);
	return good;
}

#define GOOD(r) ck_assert_msg(rig_run(r), "end %d: %s\n%.800s", (r)->result.end, (r)->bad.text, (r)->result.report)

START_TEST(formats_and_routings)
{
	for (int i = 0; i < 12; i += BELFRY_WIDE ? 1 : 5) {
		struct rig r = rig_of(BF_LL_COMBINE);

		r.shape.dtype = i % 4 == 3 ? BF_LL_BF16 : BF_LL_FP8;
		r.shape.scales = (enum bf_ll_scales)(i % 4 % 3);
		r.shape.routing = (enum bf_ll_routing)(i / 4);
		r.shape.rounds = 3;
		GOOD(&r);
		ck_assert_uint_eq(r.checked.messages, 2u * 3 * 4 * 8 * 2);
		if (r.shape.routing == BF_LL_HOT)
			ck_assert_uint_eq(r.checked.most, 4 * 8);
	}
}
END_TEST

START_TEST(grids_and_orderings)
{
	static const uint32_t grids[][3] = { { 1, 1, 2 }, { 3, 1, 3 }, { 2, 4, 1 }, { 5, 2, 4 } };

	for (enum bf_ordering o = BF_ORDER_SC; o <= BF_ORDER_ADVERSARIAL; o++)
		for (size_t i = 0; i < BF_ARRAY_LEN(grids); i += BELFRY_WIDE ? 1 : 3) {
			struct rig r = rig_of(BF_LL_COMBINE);

			r.world.ordering = o;
			r.shape.rounds = 2;
			r.shape.blocks = grids[i][0];
			r.shape.groups = grids[i][1];
			r.shape.group_warps = grids[i][2];
			GOOD(&r);
		}
}
END_TEST

/* Odd numbers of everything, one queue pair for all experts, the other flavour, lost packets. */
START_TEST(odd_shapes)
{
	struct rig r = rig_of(BF_LL_COMBINE);

	r.world.npes = 3;
	r.shape.tokens = 7;
	r.shape.topk = 5;
	r.shape.experts = 9;
	r.shape.hidden = 1536;
	r.host.num_rc_per_pe = 1;
	GOOD(&r);
	r.host.flavour = BF_IBGDA_NVSHMEM;
	GOOD(&r);
	r.host.flavour = BF_IBGDA_DEEPEP;
	r.host.ack_timeout = 4;
	r.world.faults = "drop prob=0.02";
	r.shape.rounds = 3;
	GOOD(&r);
}
END_TEST

/* Two runs of a seed are the same run; another seed routes otherwise. */
START_TEST(runs_repeat)
{
	struct rig a = rig_of(BF_LL_DISPATCH), b = a, c = a;

	a.world.record_mask = b.world.record_mask = c.world.record_mask = BF_CLASS_ALL;
	c.world.seed = 2;
	GOOD(&a);
	GOOD(&b);
	GOOD(&c);
	ck_assert_uint_eq(a.result.hash, b.result.hash);
	ck_assert_uint_ne(a.result.hash, c.result.hash);
}
END_TEST

/* A mistake fails under one of some seeds, in the way that it must. */
static void fails(uint32_t bug, enum bf_ll_work work, enum bf_world_end end, struct rig base)
{
	for (uint64_t seed = 1; seed <= 10; seed++) {
		struct rig r = base;

		r.work = work;
		r.world.seed = seed;
		r.shape.bugs = bug;
		if (!rig_run(&r)) {
			ck_assert_int_eq(r.result.end, end);
			return;
		}
	}
	ck_abort_msg("bug 0x%x is not seen", bug);
}

START_TEST(mistakes_show)
{
	struct rig r = rig_of(BF_LL_DISPATCH);

	r.shape.rounds = 3;
	fails(BF_LL_BUG_NO_FINAL_POST, BF_LL_DISPATCH, BF_END_DEADLOCK, r);
	fails(BF_LL_BUG_NO_CLEAN, BF_LL_DISPATCH, BF_END_DONE, r);
	fails(BF_LL_BUG_NO_CLEAN, BF_LL_COMBINE, BF_END_DONE, r);
	fails(BF_LL_BUG_NO_BARRIER, BF_LL_DISPATCH, BF_END_DONE, r);
	fails(BF_LL_BUG_COUNT_SET, BF_LL_DISPATCH, BF_END_DEADLOCK, r);
	r.shape.tokens = 1;
	fails(BF_LL_BUG_SENTINEL, BF_LL_DISPATCH, BF_END_DEADLOCK, r);
	r = rig_of(BF_LL_DISPATCH);
	r.shape.blocks = 2;
	r.shape.hidden = 4096;
	fails(BF_LL_BUG_COUNT_QP, BF_LL_DISPATCH, BF_END_DONE, r);
	r.shape.hidden = 512;
	r.world.ordering = BF_ORDER_ADVERSARIAL;
	fails(BF_LL_BUG_COUNT_EARLY, BF_LL_DISPATCH, BF_END_DEADLOCK, r);
}
END_TEST

/* The check itself: one changed byte anywhere in what a run leaves is found. */
START_TEST(check_sees_damage)
{
	struct rig r = rig_of(BF_LL_COMBINE);
	const struct bf_ll_tensors *at = &r.job[2].at;
	uint64_t row, range = 0;

	rig_open(&r);
	ck_assert_int_eq(r.be->run(r.w, &r.result), 0);
	ck_assert_int_eq(rig_verify(&r), 0);
	for (uint32_t src = 0; src < 4 && range >> 32 == 0; src++)
		range = bf_get_le64(r.tensors[2] + at->layout_range + src * 8ull);
	row = (uint32_t)range;
	{
		const uint64_t places[] = {
			at->packed_x + row * 512 + 77,
			at->packed_scales + row * 4,
			at->src_info + row * 4,
			at->layout_range,
			at->packed_count,
			at->combined + 3 * 1024 + 5,
		};

		for (size_t i = 0; i < BF_ARRAY_LEN(places); i++) {
			r.tensors[2][places[i]] ^= 1;
			ck_assert_msg(rig_verify(&r) == -EBADMSG, "place %zu", i);
			ck_assert_uint_eq(r.bad.pe, 2);
			r.tensors[2][places[i]] ^= 1;
		}
	}
	ck_assert_int_eq(rig_verify(&r), 0);
	rig_close(&r);
}
END_TEST

/* Weights of Zipf's law against the law. */
START_TEST(zipf_is_zipf)
{
	struct rig r = rig_of(BF_LL_DISPATCH);

	r.shape.routing = BF_LL_ZIPF;
	r.shape.zipf_milli = 1000;
	r.shape.tokens = 512;
	r.shape.topk = 1;
	r.shape.experts = 4;
	r.host.qp_depth = 2048;
	GOOD(&r);
	/* 2048 draws of weights 1, 1/2, 1/3, 1/4: 983 and 246 expected, deviations 23 and 15. */
	ck_assert_uint_ge(r.checked.most, 983 - 4 * 23);
	ck_assert_uint_le(r.checked.most, 983 + 4 * 23);
	ck_assert_uint_ge(r.checked.least, 246 - 4 * 15);
	ck_assert_uint_le(r.checked.least, 246 + 4 * 15);
}
END_TEST

START_TEST(what_does_not_fit_is_refused)
{
	static const struct {
		const char *text;
		struct bf_ll_shape shape;
		uint32_t rcs, depth;
	} bad[] = {
		{ "tokens", { 0, 512, 2, 8, .rounds = 1, .blocks = 1, .groups = 2, .group_warps = 2 }, 2, 64 },
		{ "hidden", { 8, 768, 2, 8, .rounds = 1, .blocks = 1, .groups = 2, .group_warps = 2 }, 2, 64 },
		{ "top", { 8, 512, 9, 8, .rounds = 1, .blocks = 1, .groups = 2, .group_warps = 2 }, 2, 64 },
		{ "experts", { 8, 512, 2, 9, .rounds = 1, .blocks = 1, .groups = 2, .group_warps = 2 }, 2, 64 },
		{ "warps", { 8, 512, 2, 8, .rounds = 1, .blocks = 1, .groups = 1, .group_warps = 1 }, 2, 64 },
		{ "ring of 36", { 8, 512, 2, 8, .rounds = 1, .blocks = 1, .groups = 2, .group_warps = 2 }, 1, 32 },
		{ "counting warp",
		  { 8, 512, 2, 1024, .rounds = 1, .blocks = 1, .groups = 2, .group_warps = 2 },
		  64,
		  64 },
		{ "rounds", { 8, 512, 2, 8, .rounds = 0, .blocks = 1, .groups = 2, .group_warps = 2 }, 2, 64 },
	};

	for (size_t i = 0; i < BF_ARRAY_LEN(bad); i++) {
		struct bf_error err = { 0 };

		ck_assert_int_eq(bf_ll_shape_check(&bad[i].shape, 4, bad[i].rcs, bad[i].depth, &err), -EINVAL);
		ck_assert_msg(strstr(err.text, bad[i].text) != NULL, "%s: %s", bad[i].text, err.text);
	}
}
END_TEST

int main(void)
{
	const TTest *const tests[] = { formats_and_routings, grids_and_orderings,
				       odd_shapes,           runs_repeat,
				       mistakes_show,        check_sees_damage,
				       zipf_is_zipf,         what_does_not_fit_is_refused };
	Suite *s = suite_create("ll_run");
	TCase *tc = tcase_create("ll_run");
	SRunner *sr;
	int failed;

	for (size_t i = 0; i < BF_ARRAY_LEN(tests); i++)
		tcase_add_test(tc, tests[i]);
	tcase_set_timeout(tc, 120);
	suite_add_tcase(s, tc);
	sr = srunner_create(s);
	srunner_run_all(sr, CK_NORMAL);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed != 0;
}
