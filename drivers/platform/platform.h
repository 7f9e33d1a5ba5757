/*
 * The platform: the few primitives that drivers are written in.
 *
 * Driver code is plain C that also compiles as CUDA or HIP device code. It is kept in headers of static inline functions
 * (as device code always is) and compiled once per platform: `#include` with BF_PLATFORM defined as one of the numbers
 * below gives it the primitives of platform_sim.h, platform_native.h, platform_cuda.h or platform_hip.h. Every primitive
 * takes the calling thread; on a GPU that is an empty struct.
 *
 *   loads, stores   bf_ld_*, bf_st_*: 16, 32, 64 bits and 16-byte vectors; weak, relaxed, acquire, release
 *   fences          bf_fence_cta, bf_fence_gpu, bf_fence_sys
 *   atomics         add, max, exchange, compare-and-swap on 32 and 64 bits, at a scope
 *   MMIO            bf_mmio_st64: a doorbell
 *   warps           bf_lane, bf_warp_sync, bf_shfl32, bf_shfl64, bf_ballot, bf_match... over a mask of lanes
 *   waiting         bf_spin(t, addr, what): inside a polling loop, after the load. In simulation the thread sleeps until
 *                   the line changes; elsewhere it yields or pauses.
 */
#ifndef BELFRY_DRIVERS_PLATFORM_PLATFORM_H
#define BELFRY_DRIVERS_PLATFORM_PLATFORM_H

#include <stdint.h>

enum bf_platform_id { BF_PLATFORM_SIM = 1, BF_PLATFORM_NATIVE, BF_PLATFORM_CUDA, BF_PLATFORM_HIP };

struct bf_thread; /* per platform */

/* What a lane of a grid runs. */
typedef void bf_kernel_fn(struct bf_thread *t, void *arg);

#endif
