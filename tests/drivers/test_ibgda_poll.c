/* The 16-bit arithmetic of poll_cq, at its edges. */
#include "drivers/platform/platform_native.h"

#include "drivers/ibgda/device.h"
#include "tests/drivers/rig.h"

struct vector {
	uint64_t idx;
	uint16_t counter;
	int pending;
	uint64_t done;
};

/* Depth 1024. The last two lie outside of the window, where the answer is wrong: the reason for the overflow wait. */
static const struct vector vectors[] = {
	{ 1, 0xffff, 1, 0 },
	{ 1, 0, 0, 1 },
	{ 0x10000, 0xffff, 0, 0x10000 },
	{ 0x10001, 0xffff, 1, 0 },
	{ 0x10001, 0, 0, 0x10001 },
	{ 5, 3, 1, 0 },
	{ 5, 4, 0, 5 },
	{ 5, 10, 0, 11 },
	{ 1024, 0xffff, 1, 0 },
	{ 0xffff, 5, 0, 0x10006 },
	{ 0x2fffe, 0xfffd, 0, 0x2fffe },
	{ 0x2fffe, 0xfffc, 1, 0 },
	{ 0x20002, 0xfc01, 1, 0 },
	{ 0x20002, 1, 0, 0x20002 },
	{ 0x20003, 0x0002, 0, 0x20003 },
	{ 1025, 0xffff, 0, 0x10000 },
	{ 2000, 0xffff, 0, 0x10000 },
};

START_TEST(window)
{
	for (size_t i = 0; i < BF_ARRAY_LEN(vectors); i++) {
		const struct vector *v = &vectors[i];

		ck_assert_msg(bf_ibgda_cqe_pending(v->idx, v->counter, 1024) == v->pending, "vector %zu", i);
		if (!v->pending)
			ck_assert_msg(bf_ibgda_cqe_done(v->idx, v->counter) == v->done, "vector %zu: %llx", i,
				      (unsigned long long)bf_ibgda_cqe_done(v->idx, v->counter));
	}
}
END_TEST

/* Against plain 64-bit arithmetic: whatever is complete, as long as no more than `depth` blocks are in flight. */
START_TEST(window_agrees_with_wide_arithmetic)
{
	static const uint32_t depths[] = { 16, 128, 1024, 32768 };
	uint64_t checked = 0;

	for (size_t d = 0; d < BF_ARRAY_LEN(depths); d++)
		for (uint64_t done = 0; done<0x30000; done += done % 0x10000> 40 && done % 0x10000 < 0xffd0 ? 61 : 1)
			for (uint64_t ahead = 0; ahead <= depths[d];
			     ahead += ahead > 3 && ahead + 70 < depths[d] ? 67 : 1) {
				const uint64_t idx = done + ahead;
				const int pending = bf_ibgda_cqe_pending(idx, (uint16_t)(done - 1), depths[d]);

				if (pending != (ahead != 0) ||
				    (!pending && bf_ibgda_cqe_done(idx, (uint16_t)(done - 1)) != done))
					ck_abort_msg("depth %u, done 0x%llx, %llu ahead", depths[d],
						     (unsigned long long)done, (unsigned long long)ahead);
				checked++;
			}
	ck_assert_uint_gt(checked, 10000);
}
END_TEST

/* More is complete than was asked for: the running index must not fall back by 65536. */
START_TEST(progress_past_the_wanted_index)
{
	for (uint64_t idx = 1; idx < 0x20010; idx += 7)
		for (uint64_t more = 0; more < 1024; more += 31)
			ck_assert_uint_eq(bf_ibgda_cqe_done(idx, (uint16_t)(idx + more - 1)), idx + more);
}
END_TEST

RIG_MAIN("ibgda_poll", window, window_agrees_with_wide_arithmetic, progress_past_the_wanted_index)
