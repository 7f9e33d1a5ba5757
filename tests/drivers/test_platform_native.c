/* A native warp: lanes diverge, meet over masks, and give way while they spin. */
#include <check.h>

#include "drivers/platform/platform_native.h"

#include "tests/drivers/rig.h"

struct shared {
	uint32_t flag, order[64], n;
	uint64_t seen[BF_LANES];
	atomic_bool stop;
	atomic_uint fence;
};

static void run(struct shared *s, bf_kernel_fn *kernel, struct bf_native_warp_end *end)
{
	const struct bf_native_warp_opts opts = {
		.warps = 1, .blocks = 1, .kernel = kernel, .arg = s, .stop = &s->stop, .fence = &s->fence
	};

	ck_assert_int_eq(bf_native_warp_run(&opts, end), 0);
}

static void meetings(struct bf_thread *t, void *arg)
{
	struct shared *s = arg;
	const uint32_t lane = bf_lane(t), mine = lane % 2 ? 0xaaaaaaaau : 0x55555555u;

	for (uint32_t i = 0; i < 100; i++) {
		const uint64_t next = bf_shfl64(t, BF_FULL_WARP, lane * 1000 + i, (lane + 1) % BF_LANES);

		ck_assert_uint_eq(next, (lane + 1) % BF_LANES * 1000 + i);
		ck_assert_uint_eq(bf_ballot(t, mine, lane > 15), mine & 0xffff0000u);
		ck_assert_uint_eq(bf_match64(t, BF_FULL_WARP, lane / 8), 0xffu << lane / 8 * 8);
		ck_assert_uint_eq(bf_shfl32(t, 1u << lane, 7 + lane, lane), 7 + lane);
		bf_warp_sync(t, mine);
	}
	s->seen[lane] = 1;
}

START_TEST(lanes_meet)
{
	static struct shared s;
	struct bf_native_warp_end end;

	run(&s, meetings, &end);
	ck_assert_uint_eq(end.unfinished, 0);
	for (uint32_t i = 0; i < BF_LANES; i++)
		ck_assert_uint_eq(s.seen[i], 1);
}
END_TEST

/* Each lane waits for the one above it: only the last can go first. */
static void chain(struct bf_thread *t, void *arg)
{
	struct shared *s = arg;
	const uint32_t turn = BF_LANES - 1 - bf_lane(t);

	while (bf_ld_relaxed32(t, &s->flag, BF_AT_GPU) != turn)
		bf_spin(t, &s->flag, "my turn");
	s->order[s->n++] = bf_lane(t);
	bf_st_release32(t, &s->flag, turn + 1, BF_AT_GPU);
}

START_TEST(lanes_give_way)
{
	static struct shared s;
	struct bf_native_warp_end end;

	run(&s, chain, &end);
	ck_assert_uint_eq(s.n, BF_LANES);
	for (uint32_t i = 0; i < BF_LANES; i++)
		ck_assert_uint_eq(s.order[i], BF_LANES - 1 - i);
}
END_TEST

static void hang(struct bf_thread *t, void *arg)
{
	struct shared *s = arg;

	if (bf_lane(t) != 3)
		return;
	while (!bf_ld_relaxed32(t, &s->flag, BF_AT_GPU))
		bf_spin(t, &s->flag, "what never comes");
}

START_TEST(stop_ends_a_spin)
{
	static struct shared s;
	struct bf_native_warp_end end;

	atomic_store(&s.stop, true);
	run(&s, hang, &end);
	ck_assert_uint_eq(end.unfinished, 1u << 3);
	ck_assert_str_eq(end.waits_for, "what never comes");
}
END_TEST

static void atomics(struct bf_thread *t, void *arg)
{
	struct shared *s = arg;

	bf_atomic_add64(t, &s->seen[0], 2, BF_AT_GPU);
	bf_atomic_max64(t, &s->seen[1], bf_lane(t), BF_AT_GPU);
	if (bf_atomic_cas64(t, &s->seen[2], 0, 5, BF_AT_GPU) == 0)
		bf_atomic_add32(t, &s->n, 1, BF_AT_GPU);
	bf_atomic_exch32(t, &s->flag, 9, BF_AT_GPU);
}

START_TEST(atomics_return_the_old_value)
{
	static struct shared s;
	struct bf_native_warp_end end;

	run(&s, atomics, &end);
	ck_assert_uint_eq(s.seen[0], 2 * BF_LANES);
	ck_assert_uint_eq(s.seen[1], BF_LANES - 1);
	ck_assert_uint_eq(s.seen[2], 5);
	ck_assert_uint_eq(s.n, 1);
	ck_assert_uint_eq(s.flag, 9);
}
END_TEST

RIG_MAIN("platform_native", lanes_meet, lanes_give_way, stop_ends_a_spin, atomics_return_the_old_value)
