/*
 * IBGDA, device side: what a GPU thread runs to submit RDMA work by itself. Include one of
 * drivers/platform/platform_*.h first; everything is static inline and compiles as C17, CUDA and HIP.
 *
 * A put travels through these files in order:
 *   put.h, get.h, amo.h   cut the transfer at key boundaries (keys.h), one piece a lane
 *   sq.h                  reserve slots in the send ring, waiting for room (cq.h)
 *   wqe.h                 build the entries
 *   sq.h                  publish in order; doorbell record and doorbell, or leave them to a later submitter
 *   cq.h                  find out from the latest completion what is done
 *   ibuf.h                slots for results of fetching operations
 *
 * Facts and rules after NVIDIA/nvshmem src/include/non_abi/device/pt-to-pt/ibgda_device.cuh and deepseek-ai/DeepEP
 * csrc/kernels/legacy/ibgda_device.cuh; where the two differ, state->flavour says which.
 */
#ifndef BELFRY_DRIVERS_IBGDA_DEVICE_H
#define BELFRY_DRIVERS_IBGDA_DEVICE_H

#include "drivers/ibgda/amo.h"
#include "drivers/ibgda/get.h"
#include "drivers/ibgda/put.h"

/* The QP number `id` (modulo how many there are) towards `pe`, which must not be the caller's own PE. */
BF_DEVICE struct bf_ibgda_qp *bf_ibgda_rc(const struct bf_ibgda_state *state, uint32_t pe, uint32_t id)
{
	return &state->globalmem.rcs[bf_ibgda_rc_index(state->layout, state->npes, state->num_rc_per_pe, pe,
						       id % state->num_rc_per_pe)];
}

#endif
