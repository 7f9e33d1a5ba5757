/*
 * What threads of a PE do in the SDMA workloads: each goes through a list of steps that host code prepared.
 */
#ifndef BELFRY_DRIVERS_SDMA_KERNELS_H
#define BELFRY_DRIVERS_SDMA_KERNELS_H

#include "drivers/platform/platform.h"
#include "drivers/sdma/submission.h"

enum bf_sdma_drv_step_kind {
	BF_SDMA_DRV_STEP_SUBMIT,     /* `submission` on `writer` */
	BF_SDMA_DRV_STEP_QUIETLY,    /* the same, but somebody else rings the doorbell: an engine that stores to it */
	BF_SDMA_DRV_STEP_WAIT,       /* until the 64-bit word at `at` is `value` */
	BF_SDMA_DRV_STEP_CHECK,      /* the 64-bit word at `at` is `value` by now */
	BF_SDMA_DRV_STEP_STORE_WEAK, /* `value` there, in no order */
	BF_SDMA_DRV_STEP_STORE,      /* `value` into the 64-bit word at `at`, after everything before */
	BF_SDMA_DRV_STEP_IDLE,       /* until the engine has fetched all of `writer` */
	BF_SDMA_DRV_STEP_DELAY,      /* `value` nanoseconds */
};

struct bf_sdma_drv_step {
	enum bf_sdma_drv_step_kind kind;
	struct bf_sdma_drv_writer *writer;
	const struct bf_sdma_drv_submission *submission;
	uint64_t *at;
	uint64_t va; /* of `at`, for records */
	uint64_t value;
};

/* One thread's list. `status` (in memory of the PE) gets one of the values below when the thread ends. */
struct bf_sdma_drv_thread {
	const struct bf_sdma_drv_step *steps;
	uint64_t nsteps;
	uint64_t *status;
};
#define BF_SDMA_DRV_THREAD_DONE 1u
#define BF_SDMA_DRV_THREAD_REFUSED 2u /* a submission is too large for the ring; nothing was done behind it */
#define BF_SDMA_DRV_THREAD_WRONG 3u   /* all was done, and a check failed */

/* Argument of the kernel: block `i` of the grid runs threads[i] on lane 0 of its first warp. */
struct bf_sdma_drv_job {
	const struct bf_sdma_drv_thread *threads;
	uint32_t nthreads;
};

/* The kernel for a platform: sim and native are built in; NULL for the others. */
bf_kernel_fn *bf_sdma_drv_kernel(enum bf_platform_id platform);

#endif
