/* Each mistake that can be switched on does harm under some seed; the right code under the same seeds never does. */
#include "tests/drivers/rig.h"

#define SEEDS 100

/* Sixteen warps on one shallow ring, messages of three registrations, payload written right before the put. */
static struct rig crowded(uint32_t bugs, enum bf_ordering ordering, uint64_t seed)
{
	struct rig r = rig_default(BF_IBGDA_PUT);

	r.world.seed = seed;
	r.world.ordering = ordering;
	r.world.limit_ps = 100 * BF_MS;
	r.host.bugs = bugs;
	r.host.num_rc_per_pe = 1;
	r.host.qp_depth = 64;
	r.host.log2_granularity = 12;
	r.host.granules_per_mr = 1;
	r.shape.blocks = 2;
	r.shape.warps = 4;
	r.shape.messages = 20;
	r.shape.bytes = 600;
	r.shape.stride = 640;
	r.shape.fill = true;
	return r;
}

/* A ring of sixteen blocks, which overflows without the wait. */
static struct rig overflowing(uint32_t bugs, enum bf_ordering ordering, uint64_t seed)
{
	struct rig r = crowded(bugs, ordering, seed);

	r.host.qp_depth = 16;
	r.host.log2_granularity = 0;
	return r;
}

/* One message and nobody behind it who would cover up. */
static struct rig single(uint32_t bugs, enum bf_ordering ordering, uint64_t seed)
{
	struct rig r = crowded(bugs, ordering, seed);

	r.shape.blocks = r.shape.warps = r.shape.messages = 1;
	return r;
}

typedef struct rig make_fn(uint32_t bugs, enum bf_ordering ordering, uint64_t seed);

/* The first of `seeds` seeds under which something went wrong, 0 when all went well. */
static uint64_t harm(make_fn *make, uint32_t bugs, enum bf_ordering ordering, uint64_t seeds)
{
	for (uint64_t seed = 1; seed <= seeds; seed++) {
		struct rig r = make(bugs, ordering, seed);

		if (!rig_run(&r))
			return seed;
	}
	return 0;
}

static const struct {
	uint32_t bit;
	make_fn *make;
	enum bf_ordering ordering;
} cases[] = {
	{ BF_IBGDA_BUG_NO_WQE_FENCE, crowded, BF_ORDER_ADVERSARIAL },
	{ BF_IBGDA_BUG_NO_DBREC_FENCE, single, BF_ORDER_GPU },
	{ BF_IBGDA_BUG_DOORBELL_FIRST, single, BF_ORDER_GPU },
	{ BF_IBGDA_BUG_NO_OVERFLOW_WAIT, overflowing, BF_ORDER_SC },
	{ BF_IBGDA_BUG_CTA_FENCE, crowded, BF_ORDER_ADVERSARIAL },
	{ BF_IBGDA_BUG_NO_READY_ORDER, crowded, BF_ORDER_ADVERSARIAL },
	{ BF_IBGDA_BUG_NO_LOCK, crowded, BF_ORDER_ADVERSARIAL },
	{ BF_IBGDA_BUG_LOST_BATCH, single, BF_ORDER_SC },
	{ BF_IBGDA_BUG_POLL_NO_MINUS2, single, BF_ORDER_SC },
	{ BF_IBGDA_BUG_DBREC_INDEX, single, BF_ORDER_SC },
	{ BF_IBGDA_BUG_NO_CHUNK, crowded, BF_ORDER_SC },
	{ BF_IBGDA_BUG_WQE_AFTER_READY, crowded, BF_ORDER_ADVERSARIAL },
};

START_TEST(each_does_harm)
{
	ck_assert_msg(harm(cases[_i].make, cases[_i].bit, cases[_i].ordering, SEEDS) != 0,
		      "0x%x did no harm in %d seeds", cases[_i].bit, SEEDS);
}
END_TEST

START_TEST(right_code_does_none)
{
	static make_fn *const makes[] = { crowded, overflowing, single };

	for (uint32_t i = 0; i < BF_ARRAY_LEN(makes); i++)
		for (uint32_t o = BF_ORDER_SC; o <= BF_ORDER_ADVERSARIAL; o++)
			ck_assert_uint_eq(harm(makes[i], 0, (enum bf_ordering)o, BELFRY_WIDE ? 12 : 2), 0);
}
END_TEST

/* A poller that ignores errors lets the kernel report success over data that never arrived. */
START_TEST(ignored_errors_look_like_success)
{
	for (int ignore = 0; ignore < 2; ignore++) {
		struct rig r =
		    crowded(BF_IBGDA_BUG_NO_CHUNK | (ignore ? BF_IBGDA_BUG_IGNORE_ERROR : 0), BF_ORDER_SC, 1);
		uint64_t done;

		r.shape.bytes = 9000;
		r.shape.stride = 9024;
		rig_open(&r);
		rig_run_kernel(&r, bf_ibgda_kernels(BF_PLATFORM_SIM)->run[r.work]);
		ck_assert_int_ne(bf_ibgda_verify(r.work, &r.shape, 2, r.heap, &r.bad), 0);
		done = *(uint64_t *)(void *)((uint8_t *)r.heap[0] + r.at.done);
		ck_assert_uint_eq(done, ignore ? r.shape.messages : 0);
		rig_close(&r);
	}
}
END_TEST

START_TEST(every_bit_has_a_name)
{
	uint64_t all = 0;

	for (const struct bf_ibgda_bug *b = bf_ibgda_bugs; b->name; b++) {
		ck_assert_uint_eq(all & b->bit, 0);
		ck_assert_ptr_nonnull(b->summary);
		all |= b->bit;
	}
	ck_assert_uint_eq(all & (all + 1), 0); /* none is left out below the last one */
}
END_TEST

int main(void)
{
	Suite *s = suite_create("ibgda_bugs");
	TCase *tc = tcase_create("ibgda_bugs");
	SRunner *sr;
	int failed;

	tcase_add_loop_test(tc, each_does_harm, 0, BF_ARRAY_LEN(cases));
	tcase_add_test(tc, right_code_does_none);
	tcase_add_test(tc, ignored_errors_look_like_success);
	tcase_add_test(tc, every_bit_has_a_name);
	tcase_set_timeout(tc, 120);
	suite_add_tcase(s, tc);
	sr = srunner_create(s);
	srunner_run_all(sr, CK_NORMAL);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed != 0;
}
