/*
 * Timing and sizes of the sync unit.
 *
 * Sources: rows of the vectors measured on an H200 by their "exp" name; [PAT] US20230289242A1 as an example of the same
 * unit; "assumed" where neither speaks. The patent gives no timing: its profile has the chip's.
 */
#include "models/hopper/profile.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "sim/compiler.h"

#define CHIP                                                                                                           \
	.cycle_ps = 505, .sms = 132, .shared_bytes = 228 * 1024, .warps = 64, .pool_entries = 32, .tick_cycles = 512,  \
	.limit_ticks = 15, .arrive_mc = 49800, .test_mc = 59600, .init_mc = 64000, .expect_mc = 49800,                 \
	.refuse_mc = 2000, .enter_mc = 20000, .miss_mc = 9000, .op_mc = 7400, .lane_mc = 11000, .merge_mc = 2000, .issue_mc = 8000, .load_mc = 29600,        \
	.atomic_mc = 122500, .wake_mc = 66000, .wake_next_mc = 2000, .wake_part_mc = 9000, .limit_mc = 105000,         \
	.limit_next_mc = 2000, .hint_true_mc = 45000, .hint_false_mc = 82000, .remote_mc = 80000,                      \
	.remote_far_mc = 9000, .remote_release_mc = 269000, .remote_store_mc = 20000, .remote_issue_mc = 6900,         \
	.remote_send_mc = 2070, .remote_recv_mc = 1010, .acquire_cluster_mc = 1800

const struct bf_hopper_profile bf_hopper_h200 = {
	.name = "h200",
	.cache_lines = 16,
	.cache_line_bytes = 16,
	CHIP,
};

const struct bf_hopper_profile bf_hopper_patent = {
	.name = "patent",
	.cache_lines = 4,
	.cache_line_bytes = 8,
	.evict_fails = 1,
	CHIP,
};

static const struct bf_hopper_profile *const all[] = { &bf_hopper_h200, &bf_hopper_patent, NULL };

const struct bf_hopper_profile *const *bf_hopper_profiles(void)
{
	return all;
}

const struct bf_hopper_profile *bf_hopper_profile_find(const char *name)
{
	for (size_t i = 0; all[i]; i++)
		if (strcmp(all[i]->name, name) == 0)
			return all[i];
	return NULL;
}

#define FIELD(member, low, high)                                                                                       \
	{                                                                                                              \
		.name = #member, .offset = offsetof(struct bf_hopper_profile, member), .min = (low), .max = (high)     \
	}
#define TIME(member) FIELD(member, 0, 100000000)

const struct bf_hopper_field bf_hopper_fields[] = {
	FIELD(cycle_ps, 1, 1000000),
	FIELD(sms, 1, 1024),
	FIELD(shared_bytes, 1024, 16 << 20),
	FIELD(warps, 1, 64),
	FIELD(cache_lines, 1, BF_HOPPER_LINES_MAX),
	FIELD(cache_line_bytes, 8, BF_HOPPER_LINE_BYTES_MAX),
	FIELD(pool_entries, 0, BF_HOPPER_POOL_MAX),
	FIELD(tick_cycles, 1, 1 << 20),
	FIELD(limit_ticks, 1, 1 << 20),
	FIELD(evict_fails, 0, 1),
	TIME(arrive_mc),
	TIME(test_mc),
	TIME(init_mc),
	TIME(expect_mc),
	TIME(refuse_mc),
	TIME(enter_mc),
	TIME(miss_mc),
	TIME(op_mc),
	TIME(lane_mc),
	TIME(merge_mc),
	TIME(issue_mc),
	TIME(load_mc),
	TIME(atomic_mc),
	TIME(wake_mc),
	TIME(wake_next_mc),
	TIME(wake_part_mc),
	TIME(limit_mc),
	TIME(limit_next_mc),
	TIME(hint_true_mc),
	TIME(hint_false_mc),
	TIME(remote_mc),
	TIME(remote_far_mc),
	TIME(remote_release_mc),
	TIME(remote_store_mc),
	TIME(remote_issue_mc),
	TIME(remote_send_mc),
	TIME(remote_recv_mc),
	TIME(acquire_cluster_mc),
};
const size_t bf_hopper_fields_count = BF_ARRAY_LEN(bf_hopper_fields);

int bf_hopper_profile_check(const struct bf_hopper_profile *profile, struct bf_error *err)
{
	for (size_t i = 0; i < bf_hopper_fields_count; i++) {
		const struct bf_hopper_field *f = &bf_hopper_fields[i];
		uint32_t v;

		memcpy(&v, (const char *)profile + f->offset, sizeof(v));
		if (v < f->min || v > f->max)
			return bf_fail(err, -EINVAL, "profile: %s is %" PRIu32 ", must be %" PRIu32 " to %" PRIu32, f->name, v,
				       f->min, f->max);
	}
	if (profile->cache_line_bytes & (profile->cache_line_bytes - 1))
		return bf_fail(err, -EINVAL, "profile: cache_line_bytes is %" PRIu32 ", not a power of two",
			       profile->cache_line_bytes);
	return 0;
}
