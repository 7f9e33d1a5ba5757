/* Waits as loops, and who of a warp does what. Include one of drivers/platform's platform_mbarrier_*.h first. */
#ifndef BELFRY_DRIVERS_MBARRIER_BARRIER_H
#define BELFRY_DRIVERS_MBARRIER_BARRIER_H

#ifndef BF_PLATFORM
#error "include one of drivers/platform/platform_mbarrier_{sim,cuda}.h first"
#endif

#include "drivers/mbarrier/mbarrier.h"

/* A wait may come back before the phase is over (PTX ISA 9.0, "mbarrier.try_wait": potentially blocking). */
BF_DEVICE void bf_mbar_wait(struct bf_thread *t, uint32_t bar, uint32_t parity, uint64_t bugs)
{
	while (bugs & BF_MBAR_BUG_SPIN && !bf_bar_test(t, bar, parity))
		;
	while (!bf_bar_try(t, bar, parity))
		if (bugs & BF_MBAR_BUG_TRY_ONCE)
			return;
}
BF_DEVICE void bf_mbar_wait_cluster(struct bf_thread *t, uint32_t bar, uint32_t parity)
{
	while (!bf_bar_try_cluster(t, bar, parity))
		;
}
BF_DEVICE void bf_mbar_wait_token(struct bf_thread *t, uint32_t bar, uint64_t token)
{
	while (!bf_bar_try_token(t, bar, token))
		;
}

/* sm_80 has no try_wait: it polls. */
BF_DEVICE void bf_mbar_poll(struct bf_thread *t, uint32_t bar, uint32_t parity)
{
	while (!bf_bar_test(t, bar, parity))
		bf_pause(t, 20);
}

/*
 * A whole warp waits. With every lane in the instruction the warp parks, so they meet first; with one lane in it, the
 * others at the warp barrier, it polls (hopper's rule: who may park must be all of the warp that has not exited).
 */
BF_DEVICE void bf_mbar_wait_warp(struct bf_thread *t, const struct bf_mbar_job *j, uint32_t bar, uint32_t parity)
{
	if (!j->lane_waits && !(j->bugs & BF_MBAR_BUG_NO_WARP_SYNC))
		bf_warp_sync(t, BF_FULL_WARP);
	if (!j->lane_waits || bf_lane(t) == 0)
		bf_mbar_wait(t, bar, parity, j->bugs);
	if (j->lane_waits)
		bf_warp_sync(t, BF_FULL_WARP);
}

BF_DEVICE void bf_mbar_note(struct bf_mbar_note *at, enum bf_mbar_note_kind kind, uint32_t bar, uint32_t order,
			    uint32_t value, uint64_t word)
{
	at->kind = (uint32_t)kind;
	at->bar = bar;
	at->order = order;
	at->value = value;
	at->word = word;
}

/* The word as memory has it once the unit has given it back: what the barrier was left at. */
BF_DEVICE uint64_t bf_mbar_retire(struct bf_thread *t, uint32_t bar)
{
	bf_bar_inval(t, bar);
	return bf_shared_ld64(t, bar);
}

#endif
