/* The table of backends, and the live one. */
#include "tests/drivers/rig.h"

#include <errno.h>

START_TEST(table)
{
	static const char *const names[] = { "sim", "live", "rxe", "mlx5", "vfio", "kfd", "cuda" };

	for (size_t i = 0; i < BF_ARRAY_LEN(names); i++) {
		const struct bf_backend *b = bf_backends()[i];

		ck_assert_str_eq(b->name, names[i]);
		ck_assert_ptr_eq(bf_backend_find(names[i]), b);
		ck_assert_uint_gt(strlen(b->summary), 10);
		ck_assert(BF_BACKEND_HAS(b, probe) && BF_BACKEND_HAS(b, open) && BF_BACKEND_HAS(b, run));
	}
	ck_assert_ptr_null(bf_backends()[BF_ARRAY_LEN(names)]);
	ck_assert_ptr_null(bf_backend_find("no-such"));
}
END_TEST

/* Of a backend with a shorter or another struct only the members that it has are looked at. */
START_TEST(other_struct)
{
	struct bf_backend b = *bf_backend_find("sim");

	ck_assert(!BF_BACKEND_HAS(&b, describe)); /* the models have none */
	b.size = offsetof(struct bf_backend, run);
	ck_assert(!BF_BACKEND_HAS(&b, run) && BF_BACKEND_HAS(&b, open));
	b.size += (uint32_t)sizeof(b.run) - 1;
	ck_assert(!BF_BACKEND_HAS(&b, run));
	b = *bf_backend_find("sim");
	b.version++;
	ck_assert(!BF_BACKEND_HAS(&b, run));
}
END_TEST

/* What this build does not drive says so, in a buffer of any size, and opens with the same words. */
START_TEST(absent_backends_say_why)
{
	for (const struct bf_backend *const *b = bf_backends(); *b; b++) {
		struct bf_world_opts wo = { .npes = 2 };
		struct bf_error err = { 0 };
		struct bf_world *w;
		char why[256] = "", tiny[8];
		const int rc = (*b)->probe(why, sizeof(why));

		ck_assert_int_eq((*b)->probe(tiny, sizeof(tiny)), rc);
		ck_assert_uint_lt(strlen(tiny), sizeof(tiny));
		ck_assert_uint_gt(strlen(why), 10);
		if (!rc || !strcmp((*b)->name, "live"))
			continue;
		ck_assert_int_lt(rc, 0);
		ck_assert_int_lt((*b)->open(&wo, &err, &w), 0);
		ck_assert_ptr_nonnull(strstr(err.text, (*b)->name));
	}
}
END_TEST

static bool no_live(void)
{
	char why[200];

	return bf_backend_find("live")->probe(why, sizeof(why)) != 0;
}

/* Real threads, real time, the same workloads and checks. */
START_TEST(live_workloads)
{
	for (uint32_t i = 0; i < BF_IBGDA_WORKS * 2 && !no_live(); i++) {
		struct rig r = rig_default((enum bf_ibgda_work)(i % BF_IBGDA_WORKS));

		r.backend = "live";
		r.world.limit_ps = 60 * BF_S;
		r.host.flavour = (enum bf_ibgda_flavour)(i / BF_IBGDA_WORKS);
		r.shape.warps = 2;
		r.shape.messages = 6;
		r.shape.bytes = 300;
		/* In a mixed run the peer gets the bytes that are filled in again: equal ones, but a data race. */
		r.shape.fill = i % BF_IBGDA_WORKS != BF_IBGDA_MIXED;
		r.shape.per_lane = i % 3 == 0;
		r.shape.lanes = 5;
		RIG_GOOD(&r);
	}
}
END_TEST

/* A kernel that waits forever ends with the time limit, and the report says for what. */
START_TEST(live_limit)
{
	struct rig r = rig_default(BF_IBGDA_PUT);

	if (no_live())
		return;
	r.backend = "live";
	r.world.limit_ps = 50 * BF_MS;
	r.host.bugs = BF_IBGDA_BUG_DBREC_INDEX;
	ck_assert(!rig_run(&r));
	ck_assert_int_eq(r.result.end, BF_END_LIMIT);
	ck_assert_msg(strstr(r.result.report, "pe0.b0.w0") && strstr(r.result.report, "completion"), "%s",
		      r.result.report);
}
END_TEST

/* In virtual time the same thing is a deadlock, known at once. */
START_TEST(sim_deadlock)
{
	struct rig r = rig_default(BF_IBGDA_PUT);

	r.host.bugs = BF_IBGDA_BUG_DBREC_INDEX;
	ck_assert(!rig_run(&r));
	ck_assert_int_eq(r.result.end, BF_END_DEADLOCK);
	ck_assert_msg(strstr(r.result.report, "pe0.b0.w0.l0") && strstr(r.result.report, "completion") &&
			  strstr(r.result.report, "62 lanes"),
		      "%s", r.result.report);
}
END_TEST

/* A run that did not end leaves its lanes asleep: the world takes no other. */
START_TEST(sim_limit)
{
	struct rig r = rig_default(BF_IBGDA_PUT);

	r.world.limit_ps = 2 * BF_US;
	rig_open(&r);
	rig_run_kernel(&r, bf_ibgda_kernels(BF_PLATFORM_SIM)->run[r.work]);
	ck_assert_int_eq(r.result.end, BF_END_LIMIT);
	ck_assert_uint_eq(r.result.time_ps, 2 * BF_US);
	ck_assert_int_eq(r.be->run(r.w, &r.result), -EBUSY);
	rig_close(&r);
}
END_TEST

START_TEST(bad_launch)
{
	struct rig r = rig_default(BF_IBGDA_PUT);
	struct bf_memory m;

	rig_open(&r);
	ck_assert_int_eq(r.be->launch(r.w, 9, 1, 1, bf_ibgda_kernels(BF_PLATFORM_SIM)->run[0], NULL), -EINVAL);
	ck_assert_int_eq(r.be->launch(r.w, 0, 0, 1, bf_ibgda_kernels(BF_PLATFORM_SIM)->run[0], NULL), -EINVAL);
	ck_assert_int_eq(r.be->launch(r.w, 0, 1, 1, NULL, NULL), -EINVAL);
	ck_assert_int_eq(r.be->alloc(r.w, 2, BF_PLACE_HOST, 4096, "x", &m), -EINVAL);
	ck_assert_ptr_null(bf_ibgda_kernels(BF_PLATFORM_CUDA));
	rig_close(&r);
}
END_TEST

RIG_MAIN("backend", table, other_struct, absent_backends_say_why, live_workloads, live_limit, sim_deadlock, sim_limit,
	 bad_launch)
