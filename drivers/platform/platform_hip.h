/*
 * The platform on an AMD GPU: clang's scoped atomics and AMDGCN builtins. Warps of 32 lanes, so code is to be compiled
 * for wave32 (gfx10 and up). Lanes of one wave share a program counter: masks of waiting lanes are honoured by the
 * compiler's reconvergence, and a lane that spins on a sibling of its own wave is not supported by the hardware.
 */
#ifndef BELFRY_DRIVERS_PLATFORM_PLATFORM_HIP_H
#define BELFRY_DRIVERS_PLATFORM_PLATFORM_HIP_H

#include <hip/hip_runtime.h>

#include "drivers/platform/platform_apart.h"

#ifdef BF_PLATFORM
#error "one platform a source file"
#endif
#define BF_PLATFORM BF_PLATFORM_HIP

struct bf_thread {
};

BF_DEVICE uint32_t bf_lane(const struct bf_thread *)
{
	return __builtin_amdgcn_mbcnt_lo(~0u, 0u);
}
BF_DEVICE uint32_t bf_warp(const struct bf_thread *)
{
	return threadIdx.x / 32;
}
BF_DEVICE uint32_t bf_warps(const struct bf_thread *)
{
	return blockDim.x / 32;
}
BF_DEVICE uint32_t bf_block(const struct bf_thread *)
{
	return blockIdx.x;
}
BF_DEVICE uint32_t bf_blocks(const struct bf_thread *)
{
	return gridDim.x;
}

#define BF_HIP_ACCESS(bits)                                                                                            \
	BF_DEVICE uint##bits##_t bf_ld_weak##bits(struct bf_thread *, const void *p)                                   \
	{                                                                                                              \
		return *(const uint##bits##_t *)p;                                                                     \
	}                                                                                                              \
	BF_DEVICE void bf_st_weak##bits(struct bf_thread *, void *p, uint##bits##_t v)                                 \
	{                                                                                                              \
		*(uint##bits##_t *)p = v;                                                                              \
	}                                                                                                              \
	BF_DEVICE uint##bits##_t bf_ld_relaxed##bits(struct bf_thread *, const void *p, enum bf_thread_scope scope)    \
	{                                                                                                              \
		const uint##bits##_t *c = (const uint##bits##_t *)p;                                                   \
		return scope == BF_AT_SYS ? __hip_atomic_load(c, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_SYSTEM)          \
					  : __hip_atomic_load(c, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);          \
	}                                                                                                              \
	BF_DEVICE uint##bits##_t bf_ld_acquire##bits(struct bf_thread *, const void *p, enum bf_thread_scope scope)    \
	{                                                                                                              \
		const uint##bits##_t *c = (const uint##bits##_t *)p;                                                   \
		return scope == BF_AT_SYS ? __hip_atomic_load(c, __ATOMIC_ACQUIRE, __HIP_MEMORY_SCOPE_SYSTEM)          \
					  : __hip_atomic_load(c, __ATOMIC_ACQUIRE, __HIP_MEMORY_SCOPE_AGENT);          \
	}                                                                                                              \
	BF_DEVICE void bf_st_relaxed##bits(struct bf_thread *, void *p, uint##bits##_t v, enum bf_thread_scope scope)  \
	{                                                                                                              \
		uint##bits##_t *c = (uint##bits##_t *)p;                                                               \
		if (scope == BF_AT_SYS)                                                                                \
			__hip_atomic_store(c, v, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_SYSTEM);                         \
		else                                                                                                   \
			__hip_atomic_store(c, v, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);                          \
	}                                                                                                              \
	BF_DEVICE void bf_st_release##bits(struct bf_thread *, void *p, uint##bits##_t v, enum bf_thread_scope scope)  \
	{                                                                                                              \
		uint##bits##_t *c = (uint##bits##_t *)p;                                                               \
		if (scope == BF_AT_SYS)                                                                                \
			__hip_atomic_store(c, v, __ATOMIC_RELEASE, __HIP_MEMORY_SCOPE_SYSTEM);                         \
		else                                                                                                   \
			__hip_atomic_store(c, v, __ATOMIC_RELEASE, __HIP_MEMORY_SCOPE_AGENT);                          \
	}                                                                                                              \
	BF_DEVICE uint##bits##_t bf_atomic_add##bits(struct bf_thread *, void *p, uint##bits##_t v,                    \
						     enum bf_thread_scope scope)                                       \
	{                                                                                                              \
		uint##bits##_t *c = (uint##bits##_t *)p;                                                               \
		return scope == BF_AT_SYS ? __hip_atomic_fetch_add(c, v, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_SYSTEM)  \
					  : __hip_atomic_fetch_add(c, v, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);  \
	}                                                                                                              \
	BF_DEVICE uint##bits##_t bf_atomic_max##bits(struct bf_thread *, void *p, uint##bits##_t v,                    \
						     enum bf_thread_scope scope)                                       \
	{                                                                                                              \
		uint##bits##_t *c = (uint##bits##_t *)p;                                                               \
		return scope == BF_AT_SYS ? __hip_atomic_fetch_max(c, v, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_SYSTEM)  \
					  : __hip_atomic_fetch_max(c, v, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);  \
	}                                                                                                              \
	BF_DEVICE uint##bits##_t bf_atomic_exch##bits(struct bf_thread *, void *p, uint##bits##_t v,                   \
						      enum bf_thread_scope scope)                                      \
	{                                                                                                              \
		uint##bits##_t *c = (uint##bits##_t *)p;                                                               \
		return scope == BF_AT_SYS ? __hip_atomic_exchange(c, v, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_SYSTEM)   \
					  : __hip_atomic_exchange(c, v, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);   \
	}                                                                                                              \
	BF_DEVICE uint##bits##_t bf_atomic_cas##bits(struct bf_thread *, void *p, uint##bits##_t expected,             \
						     uint##bits##_t desired, enum bf_thread_scope scope)               \
	{                                                                                                              \
		uint##bits##_t *c = (uint##bits##_t *)p;                                                               \
		if (scope == BF_AT_SYS)                                                                                \
			__hip_atomic_compare_exchange_strong(c, &expected, desired, __ATOMIC_RELAXED,                  \
							     __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_SYSTEM);             \
		else                                                                                                   \
			__hip_atomic_compare_exchange_strong(c, &expected, desired, __ATOMIC_RELAXED,                  \
							     __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);              \
		return expected;                                                                                       \
	}

BF_HIP_ACCESS(32)
BF_HIP_ACCESS(64)

BF_DEVICE uint64_t bf_atomic_max_acquire64(struct bf_thread *, void *p, uint64_t v, enum bf_thread_scope scope)
{
	uint64_t *c = (uint64_t *)p;

	return scope == BF_AT_SYS ? __hip_atomic_fetch_max(c, v, __ATOMIC_ACQUIRE, __HIP_MEMORY_SCOPE_SYSTEM)
				  : __hip_atomic_fetch_max(c, v, __ATOMIC_ACQUIRE, __HIP_MEMORY_SCOPE_AGENT);
}

BF_DEVICE struct bf_vec128 bf_ld_weak128(struct bf_thread *, const void *p)
{
	return *(const struct bf_vec128 *)p;
}
BF_DEVICE struct bf_vec128 bf_ld_beside128(struct bf_thread *t, const void *p)
{
	return bf_ld_weak128(t, p);
}
BF_DEVICE void bf_st_weak8(struct bf_thread *, void *p, uint8_t v)
{
	*(uint8_t *)p = v;
}
BF_DEVICE void bf_st_weak16(struct bf_thread *, void *p, uint16_t v)
{
	*(uint16_t *)p = v;
}
BF_DEVICE void bf_st_weak128(struct bf_thread *, void *p, struct bf_vec128 v)
{
	*(struct bf_vec128 *)p = v;
}

BF_DEVICE void bf_fence_cta(struct bf_thread *)
{
	__builtin_amdgcn_fence(__ATOMIC_SEQ_CST, "workgroup");
}
BF_DEVICE void bf_fence_gpu(struct bf_thread *)
{
	__builtin_amdgcn_fence(__ATOMIC_SEQ_CST, "agent");
}
BF_DEVICE void bf_fence_sys(struct bf_thread *)
{
	__builtin_amdgcn_fence(__ATOMIC_SEQ_CST, "");
}
BF_DEVICE void bf_fence_at(struct bf_thread *t, enum bf_thread_scope scope)
{
	if (scope == BF_AT_CTA)
		bf_fence_cta(t);
	else if (scope == BF_AT_GPU)
		bf_fence_gpu(t);
	else
		bf_fence_sys(t);
}

/* A doorbell page is mapped uncached; the store has only to be single and to reach the system. */
BF_DEVICE void bf_mmio_st64(struct bf_thread *t, void *p, uint64_t v)
{
	bf_st_relaxed64(t, p, v, BF_AT_SYS);
}

BF_DEVICE void bf_mmio_st32(struct bf_thread *t, void *p, uint32_t v)
{
	bf_st_relaxed32(t, p, v, BF_AT_SYS);
}
BF_DEVICE uint32_t bf_mmio_ld32(struct bf_thread *t, const void *p)
{
	return bf_ld_relaxed32(t, p, BF_AT_SYS);
}
BF_DEVICE uint64_t bf_mmio_ld64(struct bf_thread *t, const void *p)
{
	return bf_ld_relaxed64(t, p, BF_AT_SYS);
}

BF_DEVICE void bf_warp_sync(struct bf_thread *, uint32_t)
{
	__builtin_amdgcn_fence(__ATOMIC_SEQ_CST, "wavefront");
	__builtin_amdgcn_wave_barrier();
}
BF_DEVICE uint32_t bf_shfl32(struct bf_thread *, uint32_t, uint32_t v, uint32_t src)
{
	return (uint32_t)__builtin_amdgcn_ds_bpermute((int)(src * 4), (int)v);
}
BF_DEVICE uint64_t bf_shfl64(struct bf_thread *t, uint32_t mask, uint64_t v, uint32_t src)
{
	const uint32_t lo = bf_shfl32(t, mask, (uint32_t)v, src);
	const uint32_t hi = bf_shfl32(t, mask, (uint32_t)(v >> 32), src);

	return (uint64_t)hi << 32 | lo;
}
BF_DEVICE uint32_t bf_ballot(struct bf_thread *, uint32_t mask, int predicate)
{
#if __has_builtin(__builtin_amdgcn_ballot_w32)
	return (uint32_t)__builtin_amdgcn_ballot_w32(predicate != 0) & mask;
#else /* clang 14; 33 is LLVM's "not equal" */
	return (uint32_t)__builtin_amdgcn_uicmp((uint32_t)(predicate != 0), 0u, 33) & mask;
#endif
}
BF_DEVICE uint32_t bf_match64(struct bf_thread *t, uint32_t mask, uint64_t v)
{
	uint32_t same = 0;

	for (uint32_t i = 0; i < BF_LANES; i++)
		if (mask >> i & 1 && bf_shfl64(t, mask, v, i) == v)
			same |= 1u << i;
	return same;
}

/* Loads of other warps hide what this would save. */
BF_DEVICE void bf_prefetch(struct bf_thread *, const void *)
{
}

BF_DEVICE void bf_spin(struct bf_thread *, const void *, const char *)
{
	__builtin_amdgcn_s_sleep(1);
}
BF_DEVICE void bf_spin2(struct bf_thread *, const void *, const void *, const char *)
{
	__builtin_amdgcn_s_sleep(1);
}

/* The constant clock of the device runs at 100 MHz (AMD "RDNA3" ISA guide, S_SENDMSG_RTN_B64 REALTIME). */
BF_DEVICE uint64_t bf_clock_ns(const struct bf_thread *)
{
	return (uint64_t)wall_clock64() * 10;
}
BF_DEVICE void bf_spin2_until(struct bf_thread *t, const void *a, const void *b, uint64_t, const char *what)
{
	bf_spin2(t, a, b, what);
}

/* s_sleep counts in units of 64 cycles, taken as 2 GHz. */
BF_DEVICE void bf_pause(struct bf_thread *, uint32_t ns)
{
	for (uint32_t i = 0; i < ns / 32 + 1; i++)
		__builtin_amdgcn_s_sleep(1);
}

#define BF_DRIVER_RECORD(t, type, ...) ((void)(t))

#endif
