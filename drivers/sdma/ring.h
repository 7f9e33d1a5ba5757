/*
 * The ring: room for a submission, its publication, the doorbell. ROCr's lock-free protocol:
 *
 *   reserve   by compare-and-swap; where the request would touch or cross the ring's end, the rest of the ring is
 *             reserved first, filled with NOPs and published as a submission of its own
 *   (store)   the winner fills its region without a lock
 *   publish   in turn behind everybody before me: write pointer, release fence, doorbell with the same value
 *
 * Every doorbell value is the end of one submission, and they only grow; a producer that stalls holds up all behind it.
 * A ring of N bytes holds at most N - 1: with all N the engine could not tell full from empty.
 */
#ifndef BELFRY_DRIVERS_SDMA_RING_H
#define BELFRY_DRIVERS_SDMA_RING_H

#ifndef BF_PLATFORM
#error "include one of drivers/platform/platform_*.h first"
#endif

#include "drivers/sdma/build.h"
#include "traces/records/sdma_driver.h"
#include "drivers/sdma/sdma.h"

BF_DEVICE uint64_t bf_sdma_drv_ring_offset(const struct bf_sdma_drv_writer *w, uint64_t index)
{
	return index & (w->bytes - 1);
}

/*
 * The engine's read index, grown to 64 bits; lags behind the engine. A wrapped queue tells only the offset, and the
 * commit index is less than one ring ahead of it. `commit` is loaded first: read pointers that are newer than it give
 * an index one ring too low, which makes the caller wait; the other way round a stalled producer would take room for
 * free that is not. (ROCr loads the read pointer first.)
 */
BF_DEVICE uint64_t bf_sdma_drv_ring_read(struct bf_thread *t, struct bf_sdma_drv_writer *w)
{
	const uint64_t commit = w->wrapped ? bf_ld_acquire64(t, &w->commit, BF_AT_SYS) : 0;
	const uint64_t rptr = bf_ld_acquire64(t, w->rptr, BF_AT_SYS);

	return w->wrapped ? commit - bf_sdma_drv_ring_offset(w, commit - rptr) : rptr;
}

/* Whether bytes below `upto` may be written. */
BF_DEVICE int bf_sdma_drv_ring_free_upto(struct bf_thread *t, struct bf_sdma_drv_writer *w, uint64_t upto)
{
	if (BF_UNLIKELY(w->bugs & BF_SDMA_DRV_BUG_NO_FULL_CHECK))
		return 1;
	return (int64_t)(upto - bf_sdma_drv_ring_read(t, w)) <
	       (int64_t)w->bytes + !!(w->bugs & BF_SDMA_DRV_BUG_FULL_RING);
}

/* Stores `n` dwords at byte index `at`. Weak stores: publishing makes them visible. */
BF_DEVICE void bf_sdma_drv_ring_store(struct bf_thread *t, struct bf_sdma_drv_writer *w, uint64_t at,
				      const uint32_t *dw, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		bf_st_weak32(t, w->ring + bf_sdma_drv_ring_offset(w, at + i * 4u), dw[i]);
}

BF_DEVICE void bf_sdma_drv_ring_doorbell(struct bf_thread *t, struct bf_sdma_drv_writer *w, uint64_t index)
{
	if (BF_UNLIKELY(w->bugs & BF_SDMA_DRV_BUG_WRAP_INDEX))
		index = bf_sdma_drv_ring_offset(w, index);
	if (BF_UNLIKELY(w->bugs & BF_SDMA_DRV_BUG_INDEX_16))
		index &= 0xffff;
	if (BF_UNLIKELY(w->bugs & BF_SDMA_DRV_BUG_DWORD_INDEX))
		index /= 4;
	if (w->wrapped && !(w->bugs & BF_SDMA_DRV_BUG_GROW_INDEX))
		index = bf_sdma_drv_ring_offset(w, index);
	if (w->wrapped || BF_UNLIKELY(w->bugs & BF_SDMA_DRV_BUG_BELL_WIDTH))
		bf_mmio_st32(t, w->doorbell, (uint32_t)index);
	else
		bf_mmio_st64(t, w->doorbell, index);
}

BF_DEVICE void bf_sdma_drv_ring_write_pointer(struct bf_thread *t, struct bf_sdma_drv_writer *w, uint64_t index)
{
	bf_st_relaxed64(t, w->wptr, w->wrapped ? bf_sdma_drv_ring_offset(w, index) : index, BF_AT_SYS);
	if (!(w->bugs & BF_SDMA_DRV_BUG_NO_FENCE))
		bf_fence_sys(t);
}

/* Publishes bytes from..to-1, which the caller reserved and has stored. */
BF_DEVICE void bf_sdma_drv_ring_commit(struct bf_thread *t, struct bf_sdma_drv_writer *w, uint64_t from, uint64_t to)
{
	const int in_turn = !(w->bugs & BF_SDMA_DRV_BUG_COMMIT_ORDER);
	const uint64_t index = w->bugs & BF_SDMA_DRV_BUG_SHORT_INDEX ? to - 8 : to;
	/* Whoever fills the page rings for all of it. */
	const int left = w->bugs & BF_SDMA_DRV_BUG_NO_DOORBELL && !((from ^ to) >> 12);

	while (in_turn && bf_ld_acquire64(t, &w->commit, BF_AT_SYS) != from)
		bf_spin(t, &w->commit, "earlier submissions of the queue to be published");
	while (BF_UNLIKELY(w->wait_idle) &&
	       bf_ld_acquire64(t, w->rptr, BF_AT_SYS) != (w->wrapped ? bf_sdma_drv_ring_offset(w, from) : from))
		bf_spin(t, w->rptr, "the engine to catch up");
	if (BF_UNLIKELY(w->bugs & BF_SDMA_DRV_BUG_WPTR_LATE)) {
		bf_fence_sys(t);
		bf_sdma_drv_ring_doorbell(t, w, index);
		bf_pause(t, 2000);
	}
	bf_sdma_drv_ring_write_pointer(t, w, index);
	if (!(w->bugs & (BF_SDMA_DRV_BUG_DOORBELL_FIRST | BF_SDMA_DRV_BUG_WPTR_LATE)) && !left)
		bf_sdma_drv_ring_doorbell(t, w, index);
	if (!left)
		BF_DRIVER_RECORD(t, sdma_publish, .from = from, .to = to, .queue = w->id);
	if (BF_UNLIKELY(!in_turn))
		bf_atomic_max64(t, &w->commit, to, BF_AT_SYS);
	else if (BF_UNLIKELY(w->bugs & BF_SDMA_DRV_BUG_NO_FENCE))
		bf_st_relaxed64(t, &w->commit, to, BF_AT_SYS);
	else
		bf_st_release64(t, &w->commit, to, BF_AT_SYS);
}

/* Fills the ring from `at` to its end with zeros, each a NOP of one dword. Somebody else may come first: then nothing.
 */
BF_DEVICE void bf_sdma_drv_ring_pad(struct bf_thread *t, struct bf_sdma_drv_writer *w, uint64_t at)
{
	const uint64_t end = at + w->bytes - bf_sdma_drv_ring_offset(w, at);
	const uint32_t nop = 0, rest = (uint32_t)(end - at) / 4;
	const uint32_t counted =
	    bf_sdma_drv_header(BF_SDMA_OP_NOP, 0) | (uint32_t)BF_FIELD_PREP(BF_SDMA_NOP_COUNT, rest);

	if (!bf_sdma_drv_ring_free_upto(t, w, end)) {
		bf_spin(t, w->rptr, "room in the ring");
		return;
	}
	if (bf_atomic_cas64(t, &w->reserve, at, end, BF_AT_SYS) != at)
		return;
	BF_DRIVER_RECORD(t, sdma_reserve, .from = at, .to = end, .queue = w->id, .pad = 1);
	for (uint64_t i = at; i < end && !(w->bugs & BF_SDMA_DRV_BUG_NO_NOPS); i += 4)
		bf_sdma_drv_ring_store(t, w, i, w->bugs & BF_SDMA_DRV_BUG_NOP_COUNT && i == at ? &counted : &nop, 1);
	bf_sdma_drv_ring_commit(t, w, at, end);
}

/* Whether `reserve` is the caller's to `to` from here on. Load and store instead of compare-and-swap let two in. */
BF_DEVICE int bf_sdma_drv_ring_claim(struct bf_thread *t, struct bf_sdma_drv_writer *w, uint64_t from, uint64_t to)
{
	if (BF_UNLIKELY(w->bugs & BF_SDMA_DRV_BUG_RESERVE_STORE)) {
		bf_pause(t, 200);
		bf_st_relaxed64(t, &w->reserve, to, BF_AT_SYS);
		return 1;
	}
	return bf_atomic_cas64(t, &w->reserve, from, to, BF_AT_SYS) == from;
}

/*
 * Takes `bytes` (a multiple of 4) of the ring, in one piece; `*at` is the index of the first. Waits while the ring is
 * full. Returns 0, or -1 when the ring can never hold as many.
 */
BF_DEVICE int bf_sdma_drv_ring_reserve(struct bf_thread *t, struct bf_sdma_drv_writer *w, uint64_t bytes, uint64_t *at)
{
	if (bytes >= w->bytes)
		return -1;
	for (;;) {
		const uint64_t from = bf_ld_acquire64(t, &w->reserve, BF_AT_SYS), to = from + bytes;
		const uint64_t left = w->bytes - bf_sdma_drv_ring_offset(w, from);

		if ((w->exact_fit ? left < bytes : left <= bytes) && !(w->bugs & BF_SDMA_DRV_BUG_STRADDLE)) {
			bf_sdma_drv_ring_pad(t, w, from);
			continue;
		}
		if (!bf_sdma_drv_ring_free_upto(t, w, to)) {
			bf_spin(t, w->rptr, "room in the ring");
			continue;
		}
		if (!bf_sdma_drv_ring_claim(t, w, from, to))
			continue;
		*at = from;
		BF_DRIVER_RECORD(t, sdma_reserve, .from = from, .to = to, .queue = w->id, .pad = 0);
		if (BF_UNLIKELY(w->bugs & BF_SDMA_DRV_BUG_DOORBELL_FIRST)) {
			bf_sdma_drv_ring_doorbell(t, w, to);
			bf_pause(t, 2000); /* the scheduler takes the thread away where it hurts */
		}
		return 0;
	}
}

/* Waits until the engine has fetched everything that was published when this was called. */
BF_DEVICE void bf_sdma_drv_ring_idle(struct bf_thread *t, struct bf_sdma_drv_writer *w)
{
	const uint64_t upto = bf_ld_acquire64(t, &w->commit, BF_AT_SYS);

	while ((int64_t)(bf_sdma_drv_ring_read(t, w) - upto) < 0)
		bf_spin(t, w->rptr, "the engine to catch up");
}

#endif
