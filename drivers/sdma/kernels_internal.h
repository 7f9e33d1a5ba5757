/* The kernel for one platform; its header comes first. */
#ifndef BELFRY_DRIVERS_SDMA_KERNELS_INTERNAL_H
#define BELFRY_DRIVERS_SDMA_KERNELS_INTERNAL_H

#include "drivers/sdma/kernels.h"
#include "drivers/sdma/submit.h"

BF_DEVICE int bf_sdma_step(struct bf_thread *t, const struct bf_sdma_step *s)
{
	switch (s->kind) {
	case BF_SDMA_STEP_SUBMIT:
		return bf_sdma_submit(t, s->writer, s->submission);
	case BF_SDMA_STEP_WAIT:
		while (bf_ld_acquire64(t, s->at, BF_AT_SYS) != s->value)
			bf_spin(t, s->at, "a completion");
		BF_DRIVER_RECORD(t, sdma_waited, .va = s->va, .value = s->value);
		return 0;
	case BF_SDMA_STEP_STORE:
		bf_st_release64(t, s->at, s->value, BF_AT_SYS);
		return 0;
	case BF_SDMA_STEP_IDLE:
		bf_sdma_ring_idle(t, s->writer);
		return 0;
	case BF_SDMA_STEP_DELAY:
	default:
		bf_pause(t, (uint32_t)s->value);
		return 0;
	}
}

BF_DEVICE void bf_sdma_work(struct bf_thread *t, const struct bf_sdma_job *job)
{
	const struct bf_sdma_thread *self;
	uint64_t status = BF_SDMA_THREAD_DONE;

	if (bf_lane(t) || bf_warp(t) || bf_block(t) >= job->nthreads)
		return;
	self = &job->threads[bf_block(t)];
	for (uint64_t i = 0; i < self->nsteps && status == BF_SDMA_THREAD_DONE; i++)
		if (bf_sdma_step(t, &self->steps[i]))
			status = BF_SDMA_THREAD_REFUSED;
	bf_st_release64(t, self->status, status, BF_AT_SYS);
}

#if !defined(__CUDACC__) && !defined(__HIPCC__)
static void bf_sdma_run_kernel(struct bf_thread *t, void *arg)
{
	bf_sdma_work(t, (const struct bf_sdma_job *)arg);
}

extern bf_kernel_fn *const bf_sdma_kernel_sim, *const bf_sdma_kernel_native;
#endif

#endif
