/* The model's side of compare: C, for a CUDA program. */
#ifndef BELFRY_TOOLS_CALIBRATE_MBARRIER_MODEL_H
#define BELFRY_TOOLS_CALIBRATE_MBARRIER_MODEL_H

#include "drivers/mbarrier/host.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Runs `job` (pointers are ignored) on the model, checks its output, and gives a copy of its notes, which the caller
 * frees. 0, or a negative errno with `err` set: also when the run did not come out right.
 */
int bf_calibrate_model(const struct bf_mbar_job *job, uint32_t ranks, uint32_t blocks, struct bf_mbar_note **notes,
		       uint64_t *cycles, struct bf_error *err);

#ifdef __cplusplus
}
#endif

#endif
