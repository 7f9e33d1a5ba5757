/*
 * What kernels of several warps do beside IBGDA: meet, wait for a word, copy.
 *
 * Meeting points are counters in GPU memory that only grow. They stand for bar.sync, for named barriers of some warps
 * and for a grid-wide sync; the real ones of a block cost some 20 cycles, these an atomic and a poll. Each is 8 bytes,
 * zero before a run, best in a cache line of its own.
 */
#ifndef BELFRY_DRIVERS_IBGDA_WARP_H
#define BELFRY_DRIVERS_IBGDA_WARP_H

#include <string.h>

#include "drivers/platform/platform.h"

#ifndef BF_PLATFORM
#error "include one of drivers/platform/platform_*.h first"
#endif

/*
 * `members` warps meet, all lanes of each calling; each sees what the others stored before, as far as `scope` reaches.
 * One member needs no meeting.
 */
BF_DEVICE void bf_ibgda_meet(struct bf_thread *t, uint8_t *cell, uint32_t members, enum bf_thread_scope scope)
{
	bf_warp_sync(t, BF_FULL_WARP);
	if (bf_lane(t) == 0 && members > 1) {
		uint64_t ticket, last;

		bf_fence_at(t, scope);
		ticket = bf_atomic_add64(t, cell, 1, scope);
		last = (ticket / members + 1) * members;
		while (bf_ld_acquire64(t, cell, scope) < last)
			bf_spin(t, cell, "the other warps at a barrier");
	}
	bf_warp_sync(t, BF_FULL_WARP);
}

/* Rounds of a loop in which lanes take every 32nd of `n`, of a lane. */
BF_DEVICE uint32_t bf_ibgda_rounds(uint64_t n, uint32_t lane)
{
	return (uint32_t)((n + BF_LANES - 1 - lane) / BF_LANES);
}

/* What a lane's loads of a copy below cost, as bf_act_pay() has it: the first of eight is waited for. */
#define BF_IBGDA_COPY_UNROLL 8u
BF_DEVICE uint32_t bf_ibgda_copy_waits(uint32_t rounds)
{
	return (rounds + BF_IBGDA_COPY_UNROLL - 1) / BF_IBGDA_COPY_UNROLL;
}

/* What the copy below costs, by one lane for all: the bytes are there. */
BF_DEVICE void bf_ibgda_copied_acted(struct bf_thread *t, uint8_t *dst, uint64_t bytes)
{
	const uint32_t mine = bf_ibgda_rounds(bytes / 16, 0), others = bf_ibgda_rounds(bytes / 16, 1);

	bf_act_stored(t, dst, bytes, bytes / 16);
	bf_act_pay(t, bf_ibgda_copy_waits(mine), 2 * mine - bf_ibgda_copy_waits(mine), bf_ibgda_copy_waits(others),
		   2 * others - bf_ibgda_copy_waits(others));
}

/* A warp copies a multiple of 16 bytes between aligned places, eight loads on their way in each lane. */
BF_DEVICE void bf_ibgda_copy_warp(struct bf_thread *t, uint8_t *dst, const uint8_t *src, uint64_t bytes)
{
	const uint64_t n = bytes / 16;

	if (bf_acts(t)) {
		memcpy(dst, src, bytes / 16 * 16);
		bf_ibgda_copied_acted(t, dst, bytes / 16 * 16);
		return;
	}
	for (uint64_t i = bf_lane(t); i < n; i += BF_LANES * BF_IBGDA_COPY_UNROLL) {
		struct bf_vec128 v[BF_IBGDA_COPY_UNROLL];
		uint32_t k = 0;

		for (uint64_t at = i; k < BF_IBGDA_COPY_UNROLL && at < n; k++, at += BF_LANES)
			v[k] = k ? bf_ld_beside128(t, src + at * 16) : bf_ld_weak128(t, src + at * 16);
		for (uint64_t at = i; k > 0; k--, at += BF_LANES)
			bf_st_weak128(t, dst + at * 16, v[(at - i) / BF_LANES]);
	}
}

#endif
