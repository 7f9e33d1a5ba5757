/* The kernel for one platform; its header comes first. */
#ifndef BELFRY_DRIVERS_SDMA_KERNELS_INTERNAL_H
#define BELFRY_DRIVERS_SDMA_KERNELS_INTERNAL_H

#include "drivers/sdma/kernels.h"
#include "drivers/sdma/submit.h"

/* A plain body into the ring, as if it had been published long ago. */
BF_DEVICE int bf_sdma_drv_step_quietly(struct bf_thread *t, struct bf_sdma_drv_writer *w,
				       const struct bf_sdma_drv_submission *s)
{
	uint64_t from;

	if (bf_sdma_drv_ring_reserve(t, w, s->dwords * 4ull, &from))
		return 1;
	bf_sdma_drv_ring_store(t, w, from, s->body, s->dwords);
	bf_fence_sys(t);
	bf_st_release64(t, &w->commit, from + s->dwords * 4ull, BF_AT_SYS);
	return 0;
}

/* What the step makes of the thread: one of BF_SDMA_THREAD_*. */
BF_DEVICE uint64_t bf_sdma_drv_step(struct bf_thread *t, const struct bf_sdma_drv_step *s)
{
	switch (s->kind) {
	case BF_SDMA_DRV_STEP_SUBMIT:
		return bf_sdma_drv_submit(t, s->writer, s->submission) ? BF_SDMA_DRV_THREAD_REFUSED
								       : BF_SDMA_DRV_THREAD_DONE;
	case BF_SDMA_DRV_STEP_QUIETLY:
		return bf_sdma_drv_step_quietly(t, s->writer, s->submission) ? BF_SDMA_DRV_THREAD_REFUSED
									     : BF_SDMA_DRV_THREAD_DONE;
	case BF_SDMA_DRV_STEP_WAIT:
		while (bf_ld_acquire64(t, s->at, BF_AT_SYS) != s->value)
			bf_spin(t, s->at, "a completion");
		BF_DRIVER_RECORD(t, sdma_waited, .va = s->va, .value = s->value);
		return BF_SDMA_DRV_THREAD_DONE;
	case BF_SDMA_DRV_STEP_CHECK:
		return bf_ld_relaxed64(t, s->at, BF_AT_SYS) == s->value ? BF_SDMA_DRV_THREAD_DONE
									: BF_SDMA_DRV_THREAD_WRONG;
	case BF_SDMA_DRV_STEP_STORE_WEAK:
		bf_st_weak64(t, s->at, s->value);
		return BF_SDMA_DRV_THREAD_DONE;
	case BF_SDMA_DRV_STEP_STORE:
		bf_st_release64(t, s->at, s->value, BF_AT_SYS);
		return BF_SDMA_DRV_THREAD_DONE;
	case BF_SDMA_DRV_STEP_IDLE:
		bf_sdma_drv_ring_idle(t, s->writer);
		BF_DRIVER_RECORD(t, sdma_waited, .va = s->writer->rptr_va, .value = s->writer->commit);
		return BF_SDMA_DRV_THREAD_DONE;
	case BF_SDMA_DRV_STEP_DELAY:
	default:
		bf_pause(t, (uint32_t)s->value);
		return BF_SDMA_DRV_THREAD_DONE;
	}
}

BF_DEVICE void bf_sdma_drv_work(struct bf_thread *t, const struct bf_sdma_drv_job *job)
{
	const struct bf_sdma_drv_thread *self;
	uint64_t status = BF_SDMA_DRV_THREAD_DONE;

	if (bf_lane(t) || bf_warp(t) || bf_block(t) >= job->nthreads)
		return;
	self = &job->threads[bf_block(t)];
	for (uint64_t i = 0; i < self->nsteps && status != BF_SDMA_DRV_THREAD_REFUSED; i++) {
		const uint64_t now = bf_sdma_drv_step(t, &self->steps[i]);

		if (now > status || now == BF_SDMA_DRV_THREAD_REFUSED)
			status = now;
	}
	bf_st_release64(t, self->status, status, BF_AT_SYS);
}

#if !defined(__CUDACC__) && !defined(__HIPCC__)
static void bf_sdma_drv_run_kernel(struct bf_thread *t, void *arg)
{
	bf_sdma_drv_work(t, (const struct bf_sdma_drv_job *)arg);
}

extern bf_kernel_fn *const bf_sdma_drv_kernel_sim, *const bf_sdma_drv_kernel_native;
#endif

#endif
