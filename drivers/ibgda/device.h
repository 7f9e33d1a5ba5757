/*
 * IBGDA, device side: what a GPU thread runs to submit RDMA work by itself. Include one of
 * drivers/platform/platform_*.h first; everything is static inline and compiles as C17, CUDA and HIP.
 *
 * A put travels through these files in order:
 *   by_pe.h, by_rc.h      the caller's way in: by PE as in NVSHMEM, by queue as in DeepEP
 *   select.h              which queue
 *   put.h, p.h, get.h, amo.h
 *                         cut the transfer at key boundaries (keys.h), one piece a lane; lanes form groups (group.h)
 *   sq.h                  reserve slots in the send ring, waiting for room (cq.h)
 *   wqe.h, av.h           build the entries; those of a DCI carry an address vector
 *   sq.h                  publish in order; doorbell record and doorbell, or leave them to a later submitter, or to a
 *                         CPU thread (proxy.h)
 *   cq.h                  find out from the latest completion what is done
 *   fence.h               wait for many queues; the consistency step
 *   ibuf.h                slots for results of fetching operations
 *   recv.h                empty receive entries, for writes that tell their target
 *   live.h, failover.h    which of an RC's two queues carries its traffic, and moving it
 *
 * Facts and rules after NVIDIA/nvshmem src/include/non_abi/device/pt-to-pt/ibgda_device.cuh and deepseek-ai/DeepEP
 * csrc/kernels/legacy/ibgda_device.cuh; where the two differ, state->flavour says which.
 */
#ifndef BELFRY_DRIVERS_IBGDA_DEVICE_H
#define BELFRY_DRIVERS_IBGDA_DEVICE_H

#include "drivers/ibgda/failover.h"
#include "drivers/ibgda/by_pe.h"
#include "drivers/ibgda/proxy.h"
#include "drivers/ibgda/by_rc.h"
#include "drivers/ibgda/recv.h"

#endif
