/*
 * The pipeline as Ampere runs it: every thread copies its own 16 bytes at a time with cp.async, and learns that they
 * are there by groups (wait_group N) or by a barrier that counts all threads and is polled.
 *
 * With S stages S-1 tiles are under way while one is computed: CUTLASS's MainloopSm80CpAsync waits for all but S-2
 * groups, then for the other threads.
 */
#ifndef BELFRY_DRIVERS_MBARRIER_AMPERE_H
#define BELFRY_DRIVERS_MBARRIER_AMPERE_H

#include "drivers/mbarrier/pipeline.h"

/* This thread's share of a tile. */
BF_DEVICE void bf_mbar_ampere_copy(struct bf_thread *t, const struct bf_mbar_job *j, uint32_t stage,
				   const uint8_t *tile)
{
	const uint32_t thread = bf_warp(t) * BF_LANES + bf_lane(t);
	const uint32_t threads = bf_mbar_warps(j) * BF_LANES;

	for (uint32_t at = 16 * thread; at < j->bytes; at += 16 * threads)
		bf_async_load16(t, bf_mbar_stage(t, j, stage) + at, tile + at);
}

/* Starts tile `i` if there is one; a group is closed for it either way, so that counting groups counts tiles. */
BF_DEVICE void bf_mbar_ampere_load(struct bf_thread *t, const struct bf_mbar_job *j, uint32_t i)
{
	const uint8_t *tile = j->in + ((uint64_t)bf_block(t) * j->iterations + i) * j->bytes;
	const uint32_t stage = i % j->stages;

	if (j->bugs & BF_MBAR_BUG_EARLY_COMMIT && !j->by_barrier)
		bf_async_commit(t);
	if (j->bugs & BF_MBAR_BUG_EARLY_COMMIT && j->by_barrier && i < j->iterations)
		bf_async_arrive_noinc(t, bf_mbar_full(t, stage));
	if (i < j->iterations)
		bf_mbar_ampere_copy(t, j, stage, tile);
	if (j->bugs & BF_MBAR_BUG_EARLY_COMMIT)
		return;
	if (!j->by_barrier)
		bf_async_commit(t);
	else if (i < j->iterations && j->bugs & BF_MBAR_BUG_ASYNC_INC)
		bf_async_arrive(t, bf_mbar_full(t, stage));
	else if (i < j->iterations)
		bf_async_arrive_noinc(t, bf_mbar_full(t, stage));
}

/* Tile `i` is there for every thread of the block. */
BF_DEVICE void bf_mbar_ampere_wait(struct bf_thread *t, const struct bf_mbar_job *j, uint32_t i)
{
	if (j->by_barrier) {
		bf_mbar_poll(t, bf_mbar_full(t, i % j->stages), i / j->stages & 1);
		return;
	}
	bf_async_wait(t, j->bugs & BF_MBAR_BUG_GROUP_LESS ? j->stages - 1 : j->stages - 2);
	bf_block_sync(t);
}

#endif
