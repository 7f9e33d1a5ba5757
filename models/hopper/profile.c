/*
 * Timing and sizes of the sync unit.
 *
 * Sources: rows of the vectors measured on an H200 by their "exp" name; [PAT] US20230289242A1 as an example of the same
 * unit; "fit_hopper" (tools/calibrate) where a program chose the value and left rows out by hash; "assumed" where none
 * speaks. The patent gives no timing: its profile has the chip's.
 *
 * Rows that the model does not meet, and why:
 * - wake: the last of 28 and 31 waiters, whose sub-partition's code is a constant of the experiment; one row of 8.
 * - wait62, pool with 48 and 62 waiters: who of the refused asks next gets a free entry, and that is not the same twice
 *   on silicon (docs/hardware/hopper.md, try-wait-buffer-9). The capacity is exact; means of tries are.
 * - wake_lanes: with 16 warps their tries overlap more than those of a loop that branches on its answer at once (the
 *   probe's code is not at hand), and the completing warp's branches wait for others' passes, which no row measures.
 * - evict_parked: of 12 waiters some time out while the others are being woken; a warp's first code costs 42 cycles
 * once.
 * - noise: the same, 9 cycles in one row.
 */
#include "models/hopper/profile.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "sim/compiler.h"

/*
 * Bulk copies. Latency, spread and an engine's rates: rows bulk and bulk_pipe of one SM (105 B a cycle; 96.5 with
 * copies queued, between what bulk_pipe and evict_bulk show). Sectors, parts of lines, and how signals merge:
 * tx_partial. Issue: bulk_pipe with many stages. The queue: evict_bulk, whose waiter parks only once though 15 copies
 * take longer than a wait may. L2: bulk_pipe of all SMs gives the sum (35 B a cycle an SM); that it falls short of that
 * before it is reached fits ports of four SMs and 96 slices, which is a guess at how L2 is built. Window, stores,
 * copies between blocks, fences and group waits: assumed; the rate to another block is that of arXiv 2501.12084 (3.28
 * TB/s over an H800's cluster network), cp.async's latency that of its L2 hits.
 */
#define CHIP_BULK                                                                                                      \
	.bulk_issue_mc = 64000, .bulk_latency_mc = 172000, .bulk_spread_mc = 40000, .bulk_spread_requests = 10,        \
	.bulk_line_mc = 1219, .bulk_queued_mc = 1326, .bulk_part_mc = 1650, .bulk_window = 512, .bulk_queue = 8,       \
	.bulk_sector_mc = 1290, .bulk_signal_mc = 2300, .bulk_gather_mc = 430, .bulk_gather_spread_mc = 1640,          \
	.bulk_read_mc = 100000, .bulk_write_mc = 500000, .bulk_peer_mc = 180000, .bulk_peer_line_mc = 9000,            \
	.l2_ports = 33, .l2_port_bytes = 140, .l2_slices = 96, .l2_slice_bytes = 48, .group_wait_mc = 20000,           \
	.proxy_fence_mc = 30000, .ldgsts_mc = 258000, .ldgsts_issue_mc = 8000

#define CHIP                                                                                                           \
	.cycle_ps = 505,                                         /* 1.98 GHz */                                        \
	    .sms = 132, .shared_bytes = 228 * 1024, .warps = 64, /* CUDA's limits of compute capability 9.0 */         \
	    .pool_entries = 32,                                  /* pool, wait62; [PAT] */                             \
	    .tick_cycles = 512, .limit_ticks = 15,               /* limit_many, limit_pair, limit_spread */            \
	    .arrive_mc = 47000, .test_mc = 56500,                /* arrive_cycle, test_cycle */                        \
	    .init_mc = 58000, .expect_mc = 47000,                /* single_latency */                                  \
	    .refuse_mc = 2000,                                   /* park_shape: 66 against single_latency's 64 */      \
	    .enter_mc = 20000,                                   /* assumed: no row tells how a latency divides */     \
	    .miss_mc = 9000,                                     /* stride */                                          \
	    .ahead_mc = 16000,                     /* evict_parked: of arrivals in a row only the first pays a miss */ \
	    .op_mc = 7400,                         /* arrive_throughput, distinct barriers */                          \
	    .test_op_mc = 4000,                    /* calibrate */                                                     \
	    .refuse_op_mc = 4700,                  /* fit_hopper; try-wait-buffer-8 */                                 \
	    .wake_op_mc = 7600,                    /* fit_hopper */                                                    \
	    .lane_mc = 10980,                      /* merge */                                                         \
	    .lane_test_mc = 13000,                 /* calibrate, park_shape */                                         \
	    .merge_mc = 2000,                      /* arrive_throughput, one barrier */                                \
	    .issue_mc = 8000,                      /* arrive_throughput, one warp */                                   \
	    .operands_mc = 43000,                  /* arrive_cycle, not dependent */                                   \
	    .load_mc = 29600, .atomic_mc = 122500, /* plain */                                                         \
	    .wake_mc = 66000,                      /* wake, one waiter */                                              \
	    .wake_begin_mc = 4200, .wake_scan_mc = 1100,           /* fit_hopper */                                    \
	    .wake_again_mc = 6800, .wake_found_mc = 100,           /* fit_hopper */                                    \
	    .wake_join_mc = 600,                                   /* fit_hopper */                                    \
	    .wake_next_mc = 2000, .wake_part_mc = 9000,            /* wake_order; fit_hopper */                        \
	    .limit_mc = 106000, .limit_next_mc = 2000,             /* limit_spread, limit_many */                      \
	    .hint_true_mc = 45000, .hint_false_mc = 82000,         /* hint_arrive, timeout */                          \
	    .remote_mc = 28500, .remote_far_mc = 12000,            /* remote_pingpong */                               \
	    .remote_release_mc = 269000, .remote_store_mc = 19000, /* remote_pingpong */                               \
	    .remote_issue_mc = 6300, .remote_operands_mc = 29330,  /* remote_throughput, one warp */                   \
	    .remote_send_mc = 2070, .remote_recv_mc = 1010,        /* remote_throughput, many warps */                 \
	    .acquire_cluster_mc = 1800,                            /* remote_pingpong */                               \
	    CHIP_BULK

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
	TIME(ahead_mc),
	TIME(op_mc),
	TIME(test_op_mc),
	TIME(refuse_op_mc),
	TIME(wake_op_mc),
	TIME(lane_mc),
	TIME(lane_test_mc),
	TIME(merge_mc),
	TIME(issue_mc),
	TIME(operands_mc),
	TIME(load_mc),
	TIME(atomic_mc),
	TIME(wake_mc),
	TIME(wake_begin_mc),
	TIME(wake_again_mc),
	TIME(wake_found_mc),
	TIME(wake_join_mc),
	FIELD(wake_scan_mc, 1, 1000000),
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
	TIME(remote_operands_mc),
	TIME(remote_send_mc),
	TIME(remote_recv_mc),
	TIME(acquire_cluster_mc),
	TIME(bulk_issue_mc),
	TIME(bulk_latency_mc),
	TIME(bulk_spread_mc),
	FIELD(bulk_spread_requests, 1, 65536),
	FIELD(bulk_line_mc, 1, 1000000),
	FIELD(bulk_queued_mc, 1, 1000000),
	FIELD(bulk_part_mc, 1, 1000000),
	FIELD(bulk_window, 1, 65536),
	FIELD(bulk_queue, 1, 65536),
	TIME(bulk_sector_mc),
	TIME(bulk_signal_mc),
	TIME(bulk_gather_mc),
	TIME(bulk_gather_spread_mc),
	TIME(bulk_read_mc),
	TIME(bulk_write_mc),
	TIME(bulk_peer_mc),
	FIELD(bulk_peer_line_mc, 1, 1000000),
	FIELD(l2_ports, 1, BF_HOPPER_L2_PORTS_MAX),
	FIELD(l2_port_bytes, 1, 1000000),
	FIELD(l2_slices, 1, BF_HOPPER_L2_SLICES_MAX),
	FIELD(l2_slice_bytes, 1, 1000000),
	TIME(group_wait_mc),
	TIME(proxy_fence_mc),
	TIME(ldgsts_mc),
	TIME(ldgsts_issue_mc),
};
const size_t bf_hopper_fields_count = BF_ARRAY_LEN(bf_hopper_fields);

int bf_hopper_profile_check(const struct bf_hopper_profile *profile, struct bf_error *err)
{
	for (size_t i = 0; i < bf_hopper_fields_count; i++) {
		const struct bf_hopper_field *f = &bf_hopper_fields[i];
		uint32_t v;

		memcpy(&v, (const char *)profile + f->offset, sizeof(v));
		if (v < f->min || v > f->max)
			return bf_fail(err, -EINVAL, "profile: %s is %" PRIu32 ", must be %" PRIu32 " to %" PRIu32,
				       f->name, v, f->min, f->max);
	}
	if (profile->cache_line_bytes & (profile->cache_line_bytes - 1))
		return bf_fail(err, -EINVAL, "profile: cache_line_bytes is %" PRIu32 ", not a power of two",
			       profile->cache_line_bytes);
	return 0;
}
