/*
 * Timing and sizes of a Hopper SM's sync unit. Every constant's source is where it is defined (profile.c): a row kind
 * of the vectors measured on an H200, or "assumed". Times are in milli-cycles of the SM clock where a field ends in
 * _mc, because silicon's averages are fractions of a cycle.
 */
#ifndef BELFRY_MODELS_HOPPER_PROFILE_H
#define BELFRY_MODELS_HOPPER_PROFILE_H

#include <stddef.h>
#include <stdint.h>

#include "sim/error.h"

#define BF_HOPPER_LINES_MAX 64u      /* barrier cache entries */
#define BF_HOPPER_LINE_BYTES_MAX 64u /* of one entry */
#define BF_HOPPER_POOL_MAX 64u       /* try-wait buffer entries: one a warp */
#define BF_HOPPER_CLUSTER_MAX 16u    /* CTAs of a cluster */
#define BF_HOPPER_L2_PORTS_MAX 64u
#define BF_HOPPER_L2_SLICES_MAX 256u

struct bf_hopper_profile {
	const char *name;

	/* The machine. */
	uint32_t cycle_ps;     /* one SM clock */
	uint32_t sms;          /* SMs of the GPU */
	uint32_t shared_bytes; /* shared memory of an SM */
	uint32_t warps;        /* an SM's, at most 64 */

	/* Barrier cache and try-wait buffer. */
	uint32_t cache_lines;
	uint32_t cache_line_bytes; /* power of two, 8..64 */
	uint32_t pool_entries;
	uint32_t tick_cycles; /* period of the counter behind the time limit */
	uint32_t limit_ticks; /* an entry ends at that tick after it parked */
	uint32_t evict_fails; /* 1: eviction of its barrier ends a wait with false (the patent's rule) */

	/* The way through the unit, from a warp's issue to its result. */
	uint32_t arrive_mc;    /* arrive to a dependent instruction */
	uint32_t test_mc;      /* test_wait, or try_wait that does not park, to a dependent instruction */
	uint32_t init_mc;      /* init to a dependent instruction */
	uint32_t expect_mc;    /* expect_tx and complete_tx to a dependent instruction */
	uint32_t refuse_mc;    /* more for a try_wait that finds no entry, or may not park */
	uint32_t enter_mc;     /* of all these: until the instruction is at the unit's input */
	uint32_t miss_mc;      /* more when the barrier is not cached */
	uint32_t ahead_mc;     /* the line of an instruction so close behind another is there in time: no miss to see */
	uint32_t op_mc;        /* the unit's time for one barrier operation */
	uint32_t test_op_mc;   /* ... for a look at one: test_wait, try_wait */
	uint32_t refuse_op_mc; /* ... more for a try_wait that finds no entry */
	uint32_t wake_op_mc;   /* ... for a waiter that is let go */
	uint32_t lane_mc;      /* an instruction's, for each further barrier that its lanes name: arrivals */
	uint32_t lane_test_mc; /* ... waits */
	uint32_t merge_mc;     /* ... for an arrival that joins one which waits for the unit */
	uint32_t issue_mc;     /* between two instructions of one warp */
	uint32_t operands_mc;  /* issue to when the registers of the operands are free again */
	uint32_t load_mc;      /* plain shared load to a dependent instruction */
	uint32_t atomic_mc;    /* 64-bit shared atomic add to a dependent instruction */

	/* Waking. */
	uint32_t wake_mc;       /* the completing arrive's issue to the first waiter's resumption */
	uint32_t wake_begin_mc; /* from that to the first look */
	uint32_t wake_scan_mc;  /* looking at an entry: is its phase over? */
	uint32_t wake_again_mc; /* ... more when it begins again with the oldest */
	uint32_t wake_found_mc; /* ... more when it is */
	uint32_t wake_join_mc;  /* a phase that completes meanwhile holds the search up */
	uint32_t wake_next_mc;  /* between two waiters */
	uint32_t wake_part_mc;  /* between two waiters of one sub-partition */
	uint32_t limit_mc;      /* the last tick to the resumption with false */
	uint32_t limit_next_mc; /* between two that end at one tick */
	uint32_t hint_true_mc;  /* more for a wait with a hint that ends with true */
	uint32_t hint_false_mc; /* ... with false */

	/* Between the SMs of a cluster. */
	uint32_t remote_mc;          /* relaxed arrive: issue to its effect in the other SM's unit, cluster of 2 */
	uint32_t remote_far_mc;      /* more in larger clusters */
	uint32_t remote_release_mc;  /* more for release.cluster: the fences before it */
	uint32_t remote_store_mc;    /* more for st.async */
	uint32_t remote_issue_mc;    /* between two remote operations of one warp */
	uint32_t remote_operands_mc; /* issue to when the registers of the operands are free again */
	uint32_t remote_send_mc;     /* ... of one SM */
	uint32_t remote_recv_mc;     /* ... at the receiving SM */
	uint32_t acquire_cluster_mc; /* more for a true wait with acquire.cluster */

	/* Bulk copies. */
	uint32_t bulk_issue_mc;         /* between a bulk copy and its thread's next instruction */
	uint32_t bulk_latency_mc;       /* issue to the first bytes in shared memory, from L2 */
	uint32_t bulk_spread_mc;        /* how much later a line may come among many of its engine's under way */
	uint32_t bulk_spread_requests;  /* ... so many; among fewer less in proportion, a lone one not at all */
	uint32_t bulk_line_mc;          /* an engine's time for a request of a whole 128-byte line */
	uint32_t bulk_queued_mc;        /* ... while another copy waits behind */
	uint32_t bulk_part_mc;          /* ... for a request of less */
	uint32_t bulk_window;           /* requests that an engine may have under way */
	uint32_t bulk_queue;            /* copies that wait for an engine before the next one's thread does */
	uint32_t bulk_sector_mc;        /* between two 32-byte sectors of a request that land */
	uint32_t bulk_signal_mc;        /* between two updates of barriers */
	uint32_t bulk_gather_mc;        /* how long landed bytes wait for company before they are signalled, at least */
	uint32_t bulk_gather_spread_mc; /* ... and how much longer at most */
	uint32_t bulk_read_mc;          /* stores: shared memory read, to the wait for that */
	uint32_t bulk_write_mc;         /* stores: issue to the bytes in global memory */
	uint32_t bulk_peer_mc;          /* to another block: issue to the first bytes there */
	uint32_t bulk_peer_line_mc;     /* ... an engine's time for a line */
	uint32_t l2_ports;              /* groups of SMs that share a port to L2: SM i belongs to i modulo this */
	uint32_t l2_port_bytes;         /* bytes a cycle of a port */
	uint32_t l2_slices;             /* parts of L2: lines are spread over them */
	uint32_t l2_slice_bytes;        /* bytes a cycle of a slice */

	/* Groups, proxies, and Ampere's copies. */
	uint32_t group_wait_mc;   /* a wait_group that is over to the next instruction */
	uint32_t proxy_fence_mc;  /* fence.proxy.async to the next instruction */
	uint32_t ldgsts_mc;       /* cp.async: issue to the bytes in shared memory, from L2 */
	uint32_t ldgsts_issue_mc; /* between two of a warp */
};

extern const struct bf_hopper_profile bf_hopper_h200, bf_hopper_patent;

/* The profile called `name` ("h200"); NULL when there is none. NULL-terminated list of all. */
const struct bf_hopper_profile *bf_hopper_profile_find(const char *name);
const struct bf_hopper_profile *const *bf_hopper_profiles(void);

/* The fields of a profile by name, for files and options; all are uint32_t. `min` and `max` are what the model takes.
 */
struct bf_hopper_field {
	const char *name;
	size_t offset;
	uint32_t min, max;
};
extern const struct bf_hopper_field bf_hopper_fields[];
extern const size_t bf_hopper_fields_count;

/* Whether the model takes these values: 0, or -EINVAL with `err` naming the field. */
int bf_hopper_profile_check(const struct bf_hopper_profile *profile, struct bf_error *err);

#endif
