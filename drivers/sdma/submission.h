/*
 * What a submission says: a body of packets, what it waits for, and who learns that it is done. C and CUDA/HIP clean.
 */
#ifndef BELFRY_DRIVERS_SDMA_SUBMISSION_H
#define BELFRY_DRIVERS_SDMA_SUBMISSION_H

#include "drivers/sdma/sdma.h"

/* A 64-bit counter in memory, as HSA has them: 0 is done. `value` is what threads dereference, `va` the engine's. */
struct bf_sdma_drv_signal {
	uint64_t va;
	uint64_t *value;
	uint64_t mailbox_va; /* where the event's number goes before the interrupt; 0: no interrupt */
	uint32_t event;      /* of the kernel driver, 28 bits */
};

#define BF_SDMA_DRV_DEPS 4u
#define BF_SDMA_DRV_GANG 4u

struct bf_sdma_drv_submission {
	const uint32_t *body;
	uint32_t dwords;
	uint32_t ndeps, ngang;
	struct bf_sdma_drv_signal deps[BF_SDMA_DRV_DEPS]; /* all zero before the body starts */
	struct bf_sdma_drv_signal gang[BF_SDMA_DRV_GANG]; /* members' copies: each is awaited at 1 and decremented */
	struct bf_sdma_drv_signal done;                   /* decremented behind the body; va 0: nobody waits */
	uint64_t start_va, end_va;                        /* 32-byte aligned places for timestamps; 0: none */
	uint8_t plain; /* no cache control: the body as it stands, as KFDTest submits */
};

/*
 * Room for what comes before and behind the body: at most two halves of a dependency, each polled twice; the same for
 * the gang, with two FENCEs each; caches, timestamps, completion, interrupt; NOPs.
 */
#define BF_SDMA_DRV_BEFORE_DWORDS 320u
#define BF_SDMA_DRV_AFTER_DWORDS 320u

#endif
