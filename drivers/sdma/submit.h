/*
 * One submission, in ring order (ROCR-Runtime amd_blit_sdma.cpp, SubmitCommand):
 *
 *   polls for the signals it depends on | start timestamp | HDP flush | cache invalidate | body | cache write-back |
 *   end timestamp | gang | completion | mailbox and TRAP | NOPs up to the least size
 */
#ifndef BELFRY_DRIVERS_SDMA_SUBMIT_H
#define BELFRY_DRIVERS_SDMA_SUBMIT_H

#ifndef BF_PLATFORM
#error "include one of drivers/platform/platform_*.h first"
#endif

#include "drivers/sdma/build.h"
#include "drivers/sdma/ring.h"
#include "drivers/sdma/submission.h"

/*
 * A dependency is met when all 64 bits are zero. The engine compares 32 at a time: the high half first, since a value
 * that falls leaves it at zero for good; it is left out when it is zero already.
 */
BF_DEVICE void bf_sdma_drv_submit_dependency(struct bf_thread *t, struct bf_sdma_drv_body *b,
					     const struct bf_sdma_drv_signal *s)
{
	const int high = bf_ld_relaxed64(t, s->value, BF_AT_SYS) >> 32 != 0;

	if (BF_UNLIKELY(b->bugs & BF_SDMA_DRV_BUG_POLL_LOW_FIRST)) {
		bf_sdma_drv_add_poll(b, s->va, 0);
		bf_sdma_drv_add_poll(b, s->va + 4, 0);
		return;
	}
	if (high)
		bf_sdma_drv_add_poll(b, s->va + 4, 0);
	bf_sdma_drv_add_poll(b, s->va, 0);
}

/*
 * Decrements the signal. Without 64-bit PCIe atomics the value is computed now and stored by FENCEs, the high half
 * first and only when it is not zero: right only while nobody else counts on this signal. FENCE and not WRITE, since a
 * WRITE may run beside the copies before it.
 */
BF_DEVICE void bf_sdma_drv_submit_signal(struct bf_thread *t, struct bf_sdma_drv_body *b,
					 const struct bf_sdma_drv_signal *s)
{
	uint64_t value;

	if (b->caps->atomics && !(b->bugs & BF_SDMA_DRV_BUG_SIGNAL_WRITE)) {
		bf_sdma_drv_add_atomic_add(b, s->va, b->bugs & BF_SDMA_DRV_BUG_SIGNAL_STEP ? ~1ull : ~0ull);
		return;
	}
	value = bf_ld_relaxed64(t, s->value, BF_AT_SYS) - 1;
	if (BF_UNLIKELY(b->bugs & BF_SDMA_DRV_BUG_SIGNAL_WRITE)) {
		const uint32_t halves[2] = { (uint32_t)value, (uint32_t)(value >> 32) };

		bf_sdma_drv_add_write(b, s->va, halves, 2);
		return;
	}
	if (value >> 32)
		bf_sdma_drv_add_fence(b, s->va + 4, (uint32_t)(value >> 32));
	bf_sdma_drv_add_fence(b, s->va, (uint32_t)value);
}

BF_DEVICE void bf_sdma_drv_submit_before(struct bf_thread *t, struct bf_sdma_drv_body *b,
					 const struct bf_sdma_drv_submission *s)
{
	for (uint32_t i = 0; i < s->ndeps; i++)
		bf_sdma_drv_submit_dependency(t, b, &s->deps[i]);
	if (s->start_va)
		bf_sdma_drv_add_timestamp(b, s->start_va);
	if (s->plain)
		return;
	if (b->caps->hdp_flush && !(b->bugs & BF_SDMA_DRV_BUG_NO_HDP_FLUSH))
		bf_sdma_drv_add_hdp_flush(b);
	if ((b->caps->gcr && !(b->bugs & BF_SDMA_DRV_BUG_NO_INVALIDATE)) || b->bugs & BF_SDMA_DRV_BUG_FOREIGN_GCR)
		bf_sdma_drv_add_gcr(b, BF_SDMA_GCR_DW2_INVALIDATE);
}

BF_DEVICE void bf_sdma_drv_submit_done(struct bf_thread *t, struct bf_sdma_drv_body *b,
				       const struct bf_sdma_drv_submission *s)
{
	for (uint32_t i = 0; i < s->ngang; i++) {
		if (!(b->bugs & BF_SDMA_DRV_BUG_NO_GANG_POLL))
			bf_sdma_drv_add_poll(b, s->gang[i].va, 1);
		bf_sdma_drv_submit_signal(t, b, &s->gang[i]);
	}
	if (!s->done.va)
		return;
	bf_sdma_drv_submit_signal(t, b, &s->done);
	if (s->done.mailbox_va && b->bugs & BF_SDMA_DRV_BUG_TRAP_FIRST)
		bf_sdma_drv_add_trap(b, s->done.event);
	if (s->done.mailbox_va) {
		bf_sdma_drv_add_fence(b, s->done.mailbox_va, s->done.event);
		if (!(b->bugs & BF_SDMA_DRV_BUG_TRAP_FIRST))
			bf_sdma_drv_add_trap(b, s->done.event);
	}
}

BF_DEVICE void bf_sdma_drv_submit_after(struct bf_thread *t, struct bf_sdma_drv_body *b,
					const struct bf_sdma_drv_submission *s, uint32_t before)
{
	uint32_t total;

	if (!s->plain && b->caps->gcr && !(b->bugs & BF_SDMA_DRV_BUG_NO_WRITEBACK))
		bf_sdma_drv_add_gcr(b, BF_SDMA_GCR_DW2_WRITEBACK);
	if (s->end_va)
		bf_sdma_drv_add_timestamp(b, s->end_va);
	if (!(b->bugs & BF_SDMA_DRV_BUG_SIGNAL_FIRST))
		bf_sdma_drv_submit_done(t, b, s);
	total = before + s->dwords + b->n;
	if (total < b->caps->min_dwords)
		bf_sdma_drv_add_nop(b, b->caps->min_dwords - total - 1);
}

/*
 * Submits. Any number of producers may do so at the same time; waits while the ring is full. Returns 0, or -1 when the
 * ring can never hold the submission (ROCr: OUT_OF_RESOURCES). The signals may not be freed before they are done.
 */
BF_DEVICE int bf_sdma_drv_submit(struct bf_thread *t, struct bf_sdma_drv_writer *w,
				 const struct bf_sdma_drv_submission *s)
{
	uint32_t head[BF_SDMA_DRV_BEFORE_DWORDS], tail[BF_SDMA_DRV_AFTER_DWORDS];
	struct bf_sdma_drv_body before, after;
	uint64_t from, bytes;

	bf_sdma_drv_body_begin(&before, &w->caps, w->bugs, head, BF_SDMA_DRV_BEFORE_DWORDS);
	bf_sdma_drv_submit_before(t, &before, s);
	if (BF_UNLIKELY(w->bugs & BF_SDMA_DRV_BUG_SIGNAL_FIRST))
		bf_sdma_drv_submit_done(t, &before, s);
	bf_sdma_drv_body_begin(&after, &w->caps, w->bugs, tail, BF_SDMA_DRV_AFTER_DWORDS);
	bf_sdma_drv_submit_after(t, &after, s, before.n);
	bytes = ((uint64_t)before.n + s->dwords + after.n) * 4;
	if (!bytes)
		return 0;
	if (bf_sdma_drv_ring_reserve(t, w, bytes, &from))
		return -1;
	bf_sdma_drv_ring_store(t, w, from, head, before.n);
	bf_sdma_drv_ring_store(t, w, from + before.n * 4ull, s->body, s->dwords);
	bf_sdma_drv_ring_store(t, w, from + (before.n + (uint64_t)s->dwords) * 4, tail, after.n);
	bf_sdma_drv_ring_commit(t, w, from, from + bytes);
	return 0;
}

#endif
