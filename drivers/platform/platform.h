/*
 * The platform: the few primitives that drivers are written in.
 *
 * Driver code is plain C that also compiles as CUDA or HIP device code. It is kept in headers of static inline
 * functions (as device code always is). A source file includes one of platform_sim.h, platform_native.h,
 * platform_cuda.h and platform_hip.h, then the driver's headers, and thereby compiles the driver for that platform.
 * Every primitive takes the calling thread `t`; on a GPU that is an empty struct and costs nothing.
 *
 * Who am I
 *   uint32_t bf_lane(t)                  0..31
 *   uint32_t bf_warp(t), bf_warps(t)     index in the block; warps of a block
 *   uint32_t bf_block(t), bf_blocks(t)   index in the grid; blocks of the grid
 *
 * Loads and stores. N is the width in bits; 128 is struct bf_vec128, 16-byte aligned. Weak accesses are for data that
 * no one else touches meanwhile; relaxed ones are single, never stale, and order nothing; release orders the thread's
 * earlier accesses before itself, and acquire its later ones after itself, as far as `scope` reaches (PTX ISA, "Memory
 * Consistency Model"). Accesses of scope BF_AT_SYS other than weak ones bypass those caches of a GPU that DMA does not
 * keep coherent (an AMD GPU's glc slc dlc). A system fence or release writes back the thread's stores that such caches
 * hold.
 *   uintN_t bf_ld_weakN(t, p)                      N = 32, 64, 128
 *   bf_vec128 bf_ld_beside128(t, p)                weak; issued while the load before it is still on its way
 *   uintN_t bf_ld_relaxedN(t, p, scope)            N = 32, 64
 *   uintN_t bf_ld_acquireN(t, p, scope)            N = 32, 64
 *   void bf_st_weakN(t, p, v)                      N = 8, 16, 32, 64, 128
 *   void bf_st_relaxedN(t, p, v, scope)            N = 32, 64
 *   void bf_st_releaseN(t, p, v, scope)            N = 32, 64
 *
 * In the simulation C's own loads and stores (*p, memcpy()) bypass all this. A plain load does not see what the thread
 * itself stored with these functions while it waits in the thread's buffer. A plain store is visible to all at once, so
 * a fence that is missing after it cannot be found. Read back what was stored with a bf_ld_...(), or compile the code
 * for libbelfry-plain (docs/embedding.md).
 *
 *   void bf_prefetch(t, p)                         the line at `p` will be needed soon; a hint, which may do nothing
 *
 * Fences: what this thread stored, and what it has seen of others, is visible within the scope before what follows.
 *   void bf_fence_cta(t), bf_fence_gpu(t), bf_fence_sys(t), bf_fence_at(t, scope)
 *
 * Atomics return the old value and are relaxed, as CUDA's atomicAdd and its like are.
 *   uintN_t bf_atomic_addN, bf_atomic_maxN, bf_atomic_exchN(t, p, v, scope)   N = 32, 64
 *   uintN_t bf_atomic_casN(t, p, expected, desired, scope)                    N = 32, 64
 *   uint64_t bf_atomic_max_acquire64(t, p, v, scope)                          the same, but acquire
 *
 * MMIO: one store to or load from a device register, never torn, merged or cached. A store does not order earlier
 * stores to memory. A load returns what the device holds after all that this thread stored to it before.
 *   void bf_mmio_stN(t, p, v)                      N = 32, 64
 *   uintN_t bf_mmio_ldN(t, p)                      N = 32, 64
 *
 * Warps. All lanes named in `mask` (the caller among them) must call; masks of different calls may coexist.
 *   void bf_warp_sync(t, mask)             also orders memory among these lanes (CUDA __syncwarp)
 *   uint32_t bf_shfl32, uint64_t bf_shfl64(t, mask, v, src)   the value that lane `src` brought
 *   uint32_t bf_ballot(t, mask, predicate)                    lanes that brought non-zero
 *   uint32_t bf_match64(t, mask, v)                           lanes that brought the same value
 *
 * Warps in step. Where all lanes of `mask` would do the same, but for what its first lane does alone, that lane may act
 * for all of them: its meetings with them and its block fences count for the others, too. It spares a simulator the
 * steps of the other lanes, and nothing that can be seen depends on it; elsewhere lanes never act for each other.
 *   enum bf_led bf_lead(t, mask, done)     all lanes of `mask` call; they come with the same right. BF_LEADS: this lane
 *                                          acts for all. BF_LED: it was acted for, `done` is what the leader said.
 *                                          BF_APART: each acts for itself
 *   int bf_lead_goes_on(t)                 the leader asks before each step whether it may still act for the others
 *   void bf_lead_end(t, mask, done)        right after a meeting: the leader is done, and the others go on with it
 *
 * A whole warp may go further: lane 0 executes the code for all, with what other lanes do of their own (shares of a
 * copy, of a sum) in a form of its own. Between two of these, all lanes meet at least once.
 *   enum bf_led bf_act(t, next)            all lanes call. Lane 0 gets BF_LEADS, the others BF_LED when it is done; or
 *                                          all get BF_APART. With a `next` other than 0, the others need nothing of
 *                                          what they have so far: in place of BF_LED, their kernel may be called anew
 *   uint32_t bf_anew(t)                    the `next` with which it was; 0: it is called for the first time
 *   int bf_acts(t)                         this lane acts for all
 *   void bf_act_end(t)                     right after a meeting
 * These do something only while a lane acts:
 *   void bf_act_pay(t, loads, stores, others_loads, others_stores)
 *                                          charges weak accesses that were made in another form: the lane's own, and
 *                                          those of the busiest other lane (bf_ld_beside counts as a store)
 *   void bf_act_stored(t, p, len, n)       these bytes were stored that way, by `n` stores that lanes make in turn
 *   void bf_act_stored_by(t, lane, p, len) the same, by one store of another lane
 *   void bf_act_as(t, lane, as)            turns `as`, a copy of `t`, into a lane of this warp, for its weak stores and
 *                                          records
 *   uintN_t bf_ld_warpN(t, p)              N = 32, 64: bf_ld_weakN() that all lanes make alike, acting or not
 *
 * Waiting. In a polling loop, right after the load that found nothing to do. In simulation the thread sleeps until the
 * line changes; a native lane gives way to its siblings; a GPU thread just polls again. `what` (a literal) says in
 * reports what the thread waits for. With two addresses, the one loaded last must be the one that is sure to change.
 *   void bf_spin(t, addr, what), bf_spin2(t, a, b, what)
 *   void bf_spin2_until(t, a, b, ns, what) the same, no longer than until bf_clock_ns() says `ns`
 *   void bf_pause(t, ns)                   do nothing for about that long
 *   uint64_t bf_clock_ns(t)                a clock that goes on, the same for all threads of a run
 *
 * Records: a statement about the driver's own doings for the record stream. Empty where no stream can be reached.
 *   BF_DRIVER_RECORD(t, type, .field = value, ...)
 *   uint64_t bf_record_va(t, p)            among those values: the address that records have for `p`; 0: none
 */
#ifndef BELFRY_DRIVERS_PLATFORM_PLATFORM_H
#define BELFRY_DRIVERS_PLATFORM_PLATFORM_H

#include <stdint.h>

#if defined(__CUDACC__) || defined(__HIPCC__)
#define BF_DEVICE static __device__ __forceinline__
#else
#define BF_DEVICE static inline
#endif

enum bf_platform_id { BF_PLATFORM_SIM = 1, BF_PLATFORM_NATIVE, BF_PLATFORM_CUDA, BF_PLATFORM_HIP };

/* How far an ordering reaches: the block, the GPU, everybody including devices and the host. */
enum bf_thread_scope { BF_AT_CTA, BF_AT_GPU, BF_AT_SYS };

struct bf_vec128 {
	uint32_t w[4];
} __attribute__((aligned(16)));

#define BF_LANES 32u
#define BF_FULL_WARP 0xffffffffu

enum bf_led { BF_APART, BF_LEADS, BF_LED };

struct bf_thread; /* per platform */

/* What a lane of a grid runs. */
typedef void bf_kernel_fn(struct bf_thread *t, void *arg);

#endif
