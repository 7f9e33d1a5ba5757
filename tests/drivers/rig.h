/*
 * A run of an IBGDA workload from options to verdict, for the tests of the drivers.
 */
#ifndef BELFRY_TESTS_DRIVERS_RIG_H
#define BELFRY_TESTS_DRIVERS_RIG_H

#include <check.h>

#include "drivers/backend/backend.h"
#include "drivers/ibgda/host.h"
#include "drivers/ibgda/kernels.h"
#include "models/mlx5/mlx5.h"

#define RIG_PES 8u

struct rig {
	const char *backend;
	enum bf_ibgda_work work;
	struct bf_world_opts world;
	struct bf_ibgda_host_opts host;
	struct bf_ibgda_shape shape;
	struct bf_error err;
	/* What open and run fill in. */
	const struct bf_backend *be;
	struct bf_world *w;
	struct bf_ibgda_host *h;
	struct bf_ibgda_layout at;
	struct bf_ibgda_job job[RIG_PES];
	void *heap[RIG_PES];
	struct bf_world_result result;
	struct bf_ibgda_mismatch bad;
};

static inline struct rig rig_default(enum bf_ibgda_work work)
{
	struct rig r = {
		.backend = "sim",
		.work = work,
		.world = { .seed = 1, .npes = 2, .limit_ps = BF_S },
		.shape = bf_ibgda_shape_default,
	};

	return r;
}

static inline void rig_open(struct rig *r)
{
	r->be = bf_backend_find(r->backend);
	r->world.system_scope = r->host.system_scope;
	ck_assert_int_eq(bf_ibgda_shape_check(&r->shape, r->work, r->world.npes, r->host.flavour,
					      r->host.num_rc_per_pe ? r->host.num_rc_per_pe : 2,
					      r->host.qp_depth ? r->host.qp_depth : 1024, &r->err),
			 0);
	bf_ibgda_layout(&r->shape, r->world.npes, &r->at);
	if (r->host.heap_bytes < r->at.end)
		r->host.heap_bytes = r->at.end;
	ck_assert_msg(!r->be->open(&r->world, &r->err, &r->w), "%s", r->err.text);
	ck_assert_msg(!bf_ibgda_host_open(r->be, r->w, r->world.npes, &r->host, &r->err, &r->h), "%s", r->err.text);
	for (uint32_t i = 0; i < r->world.npes; i++) {
		r->heap[i] = bf_ibgda_host_heap(r->h, i).ptr;
		r->job[i] = (struct bf_ibgda_job){ .state = bf_ibgda_host_state(r->h, i), .shape = r->shape };
	}
	bf_ibgda_prepare(r->work, &r->shape, r->world.npes, r->heap);
}

/* Runs `kernel` on every PE with its job as argument. */
static inline void rig_run_kernel(struct rig *r, bf_kernel_fn *kernel)
{
	for (uint32_t i = 0; i < r->world.npes; i++)
		ck_assert_int_eq(r->be->launch(r->w, i, r->shape.blocks, r->shape.warps, kernel, &r->job[i]), 0);
	ck_assert_msg(!r->be->run(r->w, &r->result), "%s", r->err.text);
}

static inline void rig_close(struct rig *r)
{
	bf_ibgda_host_close(r->h);
	r->be->close(r->w);
}

/* The whole way. True when the run ended and every byte is right. */
static inline bool rig_run(struct rig *r)
{
	bool good;

	rig_open(r);
	rig_run_kernel(r, bf_ibgda_kernels(r->be->platform)->run[r->work]);
	good = !bf_ibgda_verify(r->work, &r->shape, r->world.npes, r->heap, &r->bad) && r->result.end == BF_END_DONE;
	rig_close(r);
	return good;
}

#define RIG_GOOD(r) ck_assert_msg(rig_run(r), "end %d: %s\n%.1500s", (r)->result.end, (r)->bad.text, (r)->result.report)

/* One suite of one case, each test with its own world. */
#define RIG_MAIN(name, ...)                                                                                            \
	int main(void)                                                                                                 \
	{                                                                                                              \
		const TTest *const tests[] = { __VA_ARGS__ };                                                          \
		Suite *s = suite_create(name);                                                                         \
		TCase *tc = tcase_create(name);                                                                        \
		SRunner *sr;                                                                                           \
		int failed;                                                                                            \
                                                                                                                       \
		for (size_t i = 0; i < BF_ARRAY_LEN(tests); i++)                                                       \
			tcase_add_test(tc, tests[i]);                                                                  \
		tcase_set_timeout(tc, 120);                                                                            \
		suite_add_tcase(s, tc);                                                                                \
		sr = srunner_create(s);                                                                                \
		srunner_run_all(sr, CK_NORMAL);                                                                        \
		failed = srunner_ntests_failed(sr);                                                                    \
		srunner_free(sr);                                                                                      \
		return failed != 0;                                                                                    \
	}

#endif
