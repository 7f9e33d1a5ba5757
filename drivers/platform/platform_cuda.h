/*
 * The platform on an NVIDIA GPU, sm_70 and up: PTX accesses by scope, CUDA atomics and warp intrinsics. (PTX ISA, "ld",
 * "st", "membar/fence"; CUDA C++ Programming Guide, "Warp Vote", "Warp Match" and "Warp Shuffle Functions".)
 *
 * No access goes through the read-only path (__ldg): everything here may be changed by the device.
 */
#ifndef BELFRY_DRIVERS_PLATFORM_PLATFORM_CUDA_H
#define BELFRY_DRIVERS_PLATFORM_PLATFORM_CUDA_H

#include "drivers/platform/platform_apart.h"

#ifdef BF_PLATFORM
#error "one platform a source file"
#endif
#define BF_PLATFORM BF_PLATFORM_CUDA

struct bf_thread {
};

BF_DEVICE uint32_t bf_lane(const struct bf_thread *)
{
	uint32_t lane;

	asm("mov.u32 %0, %%laneid;" : "=r"(lane));
	return lane;
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

/* One access at each scope; the scope is a constant at nearly every call, so one line survives inlining. */
#define BF_CUDA_LOAD(bits, reg, sem)                                                                                   \
	BF_DEVICE uint##bits##_t bf_ld_##sem##bits(struct bf_thread *, const void *p, enum bf_thread_scope scope)      \
	{                                                                                                              \
		uint##bits##_t v;                                                                                      \
		if (scope == BF_AT_CTA)                                                                                \
			asm volatile("ld." #sem ".cta.b" #bits " %0, [%1];" : "=" reg(v) : "l"(p) : "memory");         \
		else if (scope == BF_AT_GPU)                                                                           \
			asm volatile("ld." #sem ".gpu.b" #bits " %0, [%1];" : "=" reg(v) : "l"(p) : "memory");         \
		else                                                                                                   \
			asm volatile("ld." #sem ".sys.b" #bits " %0, [%1];" : "=" reg(v) : "l"(p) : "memory");         \
		return v;                                                                                              \
	}
#define BF_CUDA_STORE(bits, reg, sem)                                                                                  \
	BF_DEVICE void bf_st_##sem##bits(struct bf_thread *, void *p, uint##bits##_t v, enum bf_thread_scope scope)    \
	{                                                                                                              \
		if (scope == BF_AT_CTA)                                                                                \
			asm volatile("st." #sem ".cta.b" #bits " [%0], %1;" ::"l"(p), reg(v) : "memory");              \
		else if (scope == BF_AT_GPU)                                                                           \
			asm volatile("st." #sem ".gpu.b" #bits " [%0], %1;" ::"l"(p), reg(v) : "memory");              \
		else                                                                                                   \
			asm volatile("st." #sem ".sys.b" #bits " [%0], %1;" ::"l"(p), reg(v) : "memory");              \
	}

BF_CUDA_LOAD(32, "r", relaxed)
BF_CUDA_LOAD(64, "l", relaxed)
BF_CUDA_LOAD(32, "r", acquire)
BF_CUDA_LOAD(64, "l", acquire)
BF_CUDA_STORE(32, "r", relaxed)
BF_CUDA_STORE(64, "l", relaxed)
BF_CUDA_STORE(32, "r", release)
BF_CUDA_STORE(64, "l", release)

BF_DEVICE uint32_t bf_ld_weak32(struct bf_thread *, const void *p)
{
	return *(const uint32_t *)p;
}
BF_DEVICE uint64_t bf_ld_weak64(struct bf_thread *, const void *p)
{
	return *(const uint64_t *)p;
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
BF_DEVICE void bf_st_weak32(struct bf_thread *, void *p, uint32_t v)
{
	*(uint32_t *)p = v;
}
BF_DEVICE void bf_st_weak64(struct bf_thread *, void *p, uint64_t v)
{
	*(uint64_t *)p = v;
}
BF_DEVICE void bf_st_weak128(struct bf_thread *, void *p, struct bf_vec128 v)
{
	*(uint4 *)p = make_uint4(v.w[0], v.w[1], v.w[2], v.w[3]);
}

BF_DEVICE void bf_fence_cta(struct bf_thread *)
{
	__threadfence_block();
}
BF_DEVICE void bf_fence_gpu(struct bf_thread *)
{
	__threadfence();
}
BF_DEVICE void bf_fence_sys(struct bf_thread *)
{
	__threadfence_system();
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

#define BF_CUDA_ATOMIC(name, bits, type, fn)                                                                           \
	BF_DEVICE uint##bits##_t bf_atomic_##name##bits(struct bf_thread *, void *p, uint##bits##_t v,                 \
							enum bf_thread_scope scope)                                    \
	{                                                                                                              \
		if (scope == BF_AT_CTA)                                                                                \
			return (uint##bits##_t)fn##_block((type *)p, (type)v);                                         \
		if (scope == BF_AT_GPU)                                                                                \
			return (uint##bits##_t)fn((type *)p, (type)v);                                                 \
		return (uint##bits##_t)fn##_system((type *)p, (type)v);                                                \
	}
#define BF_CUDA_CAS(bits, type)                                                                                        \
	BF_DEVICE uint##bits##_t bf_atomic_cas##bits(struct bf_thread *, void *p, uint##bits##_t expected,             \
						     uint##bits##_t desired, enum bf_thread_scope scope)               \
	{                                                                                                              \
		if (scope == BF_AT_CTA)                                                                                \
			return (uint##bits##_t)atomicCAS_block((type *)p, (type)expected, (type)desired);              \
		if (scope == BF_AT_GPU)                                                                                \
			return (uint##bits##_t)atomicCAS((type *)p, (type)expected, (type)desired);                    \
		return (uint##bits##_t)atomicCAS_system((type *)p, (type)expected, (type)desired);                     \
	}

BF_CUDA_ATOMIC(add, 32, unsigned int, atomicAdd)
BF_CUDA_ATOMIC(add, 64, unsigned long long, atomicAdd)
BF_CUDA_ATOMIC(max, 32, unsigned int, atomicMax)
BF_CUDA_ATOMIC(max, 64, unsigned long long, atomicMax)
BF_CUDA_ATOMIC(exch, 32, unsigned int, atomicExch)
BF_CUDA_ATOMIC(exch, 64, unsigned long long, atomicExch)
BF_CUDA_CAS(32, unsigned int)
BF_CUDA_CAS(64, unsigned long long)

BF_DEVICE uint64_t bf_atomic_max_acquire64(struct bf_thread *, void *p, uint64_t v, enum bf_thread_scope scope)
{
	uint64_t old;

	if (scope == BF_AT_CTA)
		asm volatile("atom.acquire.cta.max.u64 %0, [%1], %2;" : "=l"(old) : "l"(p), "l"(v) : "memory");
	else if (scope == BF_AT_GPU)
		asm volatile("atom.acquire.gpu.max.u64 %0, [%1], %2;" : "=l"(old) : "l"(p), "l"(v) : "memory");
	else
		asm volatile("atom.acquire.sys.max.u64 %0, [%1], %2;" : "=l"(old) : "l"(p), "l"(v) : "memory");
	return old;
}

/* st.mmio: each access is performed as written, at system scope (PTX ISA 8.2, "st"; sm_70). */
BF_DEVICE void bf_mmio_st64(struct bf_thread *, void *p, uint64_t v)
{
	asm volatile("st.mmio.relaxed.sys.global.u64 [%0], %1;" ::"l"(p), "l"(v) : "memory");
}

BF_DEVICE void bf_mmio_st32(struct bf_thread *, void *p, uint32_t v)
{
	asm volatile("st.mmio.relaxed.sys.global.u32 [%0], %1;" ::"l"(p), "r"(v) : "memory");
}
BF_DEVICE uint32_t bf_mmio_ld32(struct bf_thread *, const void *p)
{
	uint32_t v;

	asm volatile("ld.mmio.relaxed.sys.global.u32 %0, [%1];" : "=r"(v) : "l"(p) : "memory");
	return v;
}
BF_DEVICE uint64_t bf_mmio_ld64(struct bf_thread *, const void *p)
{
	uint64_t v;

	asm volatile("ld.mmio.relaxed.sys.global.u64 %0, [%1];" : "=l"(v) : "l"(p) : "memory");
	return v;
}

BF_DEVICE void bf_warp_sync(struct bf_thread *, uint32_t mask)
{
	__syncwarp(mask);
}
BF_DEVICE uint32_t bf_shfl32(struct bf_thread *, uint32_t mask, uint32_t v, uint32_t src)
{
	return __shfl_sync(mask, v, (int)src);
}
BF_DEVICE uint64_t bf_shfl64(struct bf_thread *, uint32_t mask, uint64_t v, uint32_t src)
{
	return __shfl_sync(mask, (unsigned long long)v, (int)src);
}
BF_DEVICE uint32_t bf_ballot(struct bf_thread *, uint32_t mask, int predicate)
{
	return __ballot_sync(mask, predicate);
}
BF_DEVICE uint32_t bf_match64(struct bf_thread *, uint32_t mask, uint64_t v)
{
	return __match_any_sync(mask, (unsigned long long)v);
}

/* Loads of other warps hide what this would save. */
BF_DEVICE void bf_prefetch(struct bf_thread *, const void *)
{
}

BF_DEVICE void bf_spin(struct bf_thread *, const void *, const char *)
{
}
BF_DEVICE void bf_spin2(struct bf_thread *, const void *, const void *, const char *)
{
}
BF_DEVICE uint64_t bf_clock_ns(const struct bf_thread *)
{
	uint64_t ns;

	asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(ns));
	return ns;
}
BF_DEVICE void bf_spin2_until(struct bf_thread *, const void *, const void *, uint64_t, const char *)
{
}
BF_DEVICE void bf_pause(struct bf_thread *, uint32_t ns)
{
	__nanosleep(ns);
}

#define BF_DRIVER_RECORD(t, type, ...) ((void)(t))

#endif
