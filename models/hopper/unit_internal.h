/* What unit.c (instructions), cache.c (barrier cache) and pool.c (try-wait buffer) share. Not installed. */
#ifndef BELFRY_MODELS_HOPPER_UNIT_INTERNAL_H
#define BELFRY_MODELS_HOPPER_UNIT_INTERNAL_H

#include "models/hopper/unit.h"

#define BF_SYNC_PARTS 4u         /* sub-partitions of an SM: warp slot modulo 4 */
#define BF_SYNC_OFFSET 0xffffffu /* of an address in its block's window: hopper.h */

/* The profile's times in ps. */
struct bf_sync_times {
	uint64_t tick, limit, limit_next;
	uint64_t arrive, test, init, expect, refuse, miss, ahead, enter;
	uint64_t op, test_op, refuse_op, wake_op, lane, lane_test, merge, issue, operands, remote_issue,
	    remote_operands, load, atomic, recv;
	uint64_t wake, wake_begin, wake_scan, wake_again, wake_found, wake_join, wake_next, wake_part, hint_true,
	    hint_false, acquire;
};

/* An entry of the barrier cache. `tag` is the address divided by the bytes of a line. */
struct bf_sync_line {
	uint64_t word[BF_HOPPER_LINE_BYTES_MAX / 8];
	uint32_t tag;
	uint8_t dirty;        /* bit w: word w differs from memory */
	uint8_t newer, older; /* neighbours in order of use */
};

/* Kept for each 8 bytes of shared memory. */
struct bf_sync_note {
	uint64_t when_ps;
	uint32_t phases;
	uint16_t warp; /* plus one; 0: nobody has arrived */
	uint16_t remote;
};

struct bf_sync_unit {
	struct bf_sim *sim;
	const struct bf_hopper_profile *profile;
	uint8_t *shared;
	struct bf_sync_opts opts;
	struct bf_sync_times t;
	bool killed;

	/* When it is free, and the last operation that waits for it: another arrival there may join. */
	uint64_t free_ps;
	uint64_t tail_start_ps;
	uint32_t tail_address;
	uint64_t last_ps;   /* when the last instruction came */
	uint64_t again_ps;  /* ... for the further barriers of arrivals that name several */
	uint64_t recv_ps;   /* requests from outside */
	uint64_t waking_ps; /* waits come behind waiters that are let go until then */

	/* Waits on several barriers, by sub-partition: the first one is under way. */
	struct bf_sync_instr *passing[BF_SYNC_PARTS];

	/* Barrier cache. */
	struct bf_sync_line line[BF_HOPPER_LINES_MAX];
	uint32_t lines; /* in use */
	uint32_t shift; /* log2 of a line's bytes */
	uint8_t newest, oldest;
	uint8_t *line_of; /* by tag: index + 1, 0 = not cached */

	/* Try-wait buffer, in order of parking. */
	struct bf_sync_instr *first, **last;
	uint32_t parked;
	uint64_t tick_ps; /* when the tick counter was started */
	struct bf_event limit;
	struct bf_event search;     /* for those that are called: */
	struct bf_sync_instr *look; /* ... it looks at this entry */
	uint64_t look_ps;           /* ... since then */
	uint32_t called;
	uint64_t part_ps[BF_SYNC_PARTS];   /* when another waiter of that sub-partition may be let go */
	uint64_t turn[BF_HOPPER_POOL_MAX]; /* when waiters are let go; none later than port_last_ps */
	uint64_t port_last_ps;
	uint32_t turns;

	struct bf_sync_note *note;
	struct bf_sync_counts counts;
};

/* ---- cache.c ---- */

/* A use of the barrier at `address`: its cached word, filled from memory when `*hit` is false. */
uint64_t *bf_sync_cache_use(struct bf_sync_unit *u, uint32_t address, bool *hit);

/* The word has been changed. */
void bf_sync_cache_dirty(struct bf_sync_unit *u, uint32_t address);

/* Takes the line that holds `address` out of the cache, if it is there. */
void bf_sync_cache_remove(struct bf_sync_unit *u, uint32_t address, bool write_back);

/* ---- pool.c ---- */

void bf_sync_pool_init(struct bf_sync_unit *u);

/* Parks `in`, which the unit takes at `at_ps`. False: the buffer is full. */
bool bf_sync_pool_park(struct bf_sync_unit *u, struct bf_sync_instr *in, uint64_t at_ps);

/* The barrier's phase flips at `flip_ps`, now or later: its waiters go on, the first one `wake_ps` behind that. */
void bf_sync_pool_wake(struct bf_sync_unit *u, uint32_t address, uint64_t flip_ps, uint64_t wake_ps);

/* Waiters on barriers from `address` on leave: with false (an eviction), or killed. */
void bf_sync_pool_evict(struct bf_sync_unit *u, uint32_t address, uint32_t bytes, bool kill);

/* ---- unit.c ---- */

/* `in` is done at `at_ps`. */
void bf_sync_finish(struct bf_sync_unit *u, struct bf_sync_instr *in, uint64_t at_ps);

/* Lanes of `lanes` that name the same barrier as its first one. */
uint32_t bf_sync_same_barrier(const struct bf_sync_instr *in, uint32_t lanes);

/* The wait's lanes `lanes`, which name one barrier, get their results now; `hit`: it was cached. False: a fault. */
bool bf_sync_wait_barrier(struct bf_sync_unit *u, struct bf_sync_instr *in, uint32_t lanes, uint64_t at_ps, bool *hit);

/* A wait has its answers in `result`; unless it parks it is done at `done_ps`. */
void bf_sync_answer(struct bf_sync_unit *u, struct bf_sync_instr *in, uint64_t start_ps, uint64_t done_ps);

/* ---- passes.c ---- */

/* When an instruction `in` of a sub-partition in which such a wait is under way may go, as things stand. */
uint64_t bf_sync_behind(const struct bf_sync_unit *u, const struct bf_sync_instr *in);

/* A wait whose lanes name several barriers. */
void bf_sync_passes(struct bf_sync_unit *u, struct bf_sync_instr *in);

static inline uint32_t bf_sync_lane_address(const struct bf_sync_instr *in, uint32_t lane)
{
	return in->base + (in->address[lane] & BF_SYNC_OFFSET);
}

static inline uint32_t bf_sync_first_lane(const struct bf_sync_instr *in)
{
	return (uint32_t)__builtin_ctz(in->active);
}

#endif
