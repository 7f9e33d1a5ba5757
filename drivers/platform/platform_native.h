/*
 * The platform on the real machine: C11 atomics on shared memory, time from the wall clock.
 *
 * A warp is one OS thread; its 32 lanes are coroutines on it. A lane runs until it meets its siblings, spins, or ends,
 * so lanes really diverge, and a warp cannot dead-lock on itself: a lane that spins lets the others run. Warps run in
 * parallel. Every access to memory that the device or another warp may touch is atomic, weak ones included, because a
 * C11 race is undefined behaviour even where the hardware has no quarrel with it.
 */
#ifndef BELFRY_DRIVERS_PLATFORM_PLATFORM_NATIVE_H
#define BELFRY_DRIVERS_PLATFORM_PLATFORM_NATIVE_H

#include <stdatomic.h>
#include <stdbool.h>

#include "drivers/platform/platform_apart.h"
#include "sim/compiler.h"
#include "sim/sanitizers.h"

BF_API_BEGIN

#ifdef BF_PLATFORM
#error "one platform a source file"
#endif
#define BF_PLATFORM BF_PLATFORM_NATIVE

/*
 * ThreadSanitizer does not understand fences (gcc says so). For it, relaxed accesses are acquire and release ones, and
 * a fence is an atomic that all threads of the run hit.
 */
#if BF_TSAN
#include <sanitizer/tsan_interface.h>
#define BF_NATIVE_LOAD memory_order_acquire
#define BF_NATIVE_STORE memory_order_release
#define BF_NATIVE_MODIFY memory_order_acq_rel
/* The device side moves 8-byte words of what is stored and loaded here as halves; to TSan these are different cells. */
#define BF_NATIVE_RELEASES(p) __tsan_release((void *)((uintptr_t)(p) & ~(uintptr_t)7))
#define BF_NATIVE_ACQUIRES(p) __tsan_acquire((void *)((uintptr_t)(p) & ~(uintptr_t)7))
#else
#define BF_NATIVE_RELEASES(p) ((void)(p))
#define BF_NATIVE_ACQUIRES(p) ((void)(p))
#define BF_NATIVE_LOAD memory_order_relaxed
#define BF_NATIVE_STORE memory_order_relaxed
#define BF_NATIVE_MODIFY memory_order_relaxed
#endif

struct bf_native_warp;

struct bf_thread {
	struct bf_native_warp *team;
	uint32_t lane, warp, warps, block, blocks;
};

/* One warp: which, what it runs, and a flag that tells lanes that spin to give up (the run's time limit). */
struct bf_native_warp_opts {
	uint32_t lanes; /* 1..32; 0: 32 */
	uint32_t warp, warps, block, blocks;
	bf_kernel_fn *kernel;
	void *arg;
	const atomic_bool *stop;
	atomic_uint *fence; /* one for all warps of a run; 0 at first */
};

/* Where a warp stood when it was told to stop: lanes not done, and what one of them waited for. */
struct bf_native_warp_end {
	uint32_t unfinished; /* mask of lanes */
	const char *waits_for;
};

/*
 * Runs a warp on the calling OS thread until all lanes have ended or, once `*stop` is true, none of them moves any
 * more. Returns 0 or -ENOMEM.
 */
int bf_native_warp_run(const struct bf_native_warp_opts *opts, struct bf_native_warp_end *end);

/* What a meeting of lanes computes. */
enum bf_native_meeting { BF_NATIVE_SYNC, BF_NATIVE_SHUFFLE, BF_NATIVE_BALLOT, BF_NATIVE_MATCH };

/* Lets the siblings run until all lanes of `mask` are here; gives each what it came for. */
uint64_t bf_native_meet(struct bf_thread *t, enum bf_native_meeting kind, uint32_t mask, uint64_t value, uint32_t src);

/* The fence for ThreadSanitizer. */
void bf_native_fence(struct bf_thread *t);

/* Lets the siblings run; gives the processor away when all of them do no more than this. */
void bf_native_yield(struct bf_thread *t, const char *what);
void bf_native_pause(struct bf_thread *t, uint32_t ns);
uint64_t bf_native_clock_ns(void);

static inline uint32_t bf_lane(const struct bf_thread *t)
{
	return t->lane;
}
static inline uint32_t bf_warp(const struct bf_thread *t)
{
	return t->warp;
}
static inline uint32_t bf_warps(const struct bf_thread *t)
{
	return t->warps;
}
static inline uint32_t bf_block(const struct bf_thread *t)
{
	return t->block;
}
static inline uint32_t bf_blocks(const struct bf_thread *t)
{
	return t->blocks;
}

static inline void bf_prefetch(struct bf_thread *t, const void *p)
{
	(void)t;
	__builtin_prefetch(p, 1);
}

#define BF_NATIVE_CELL(bits, p) ((_Atomic uint##bits##_t *)(p))

#define BF_NATIVE_ACCESS(bits)                                                                                         \
	static inline uint##bits##_t bf_ld_weak##bits(struct bf_thread *t, const void *p)                              \
	{                                                                                                              \
		const uint##bits##_t v = atomic_load_explicit(BF_NATIVE_CELL(bits, p), BF_NATIVE_LOAD);                \
                                                                                                                       \
		(void)t;                                                                                               \
		BF_NATIVE_ACQUIRES(p);                                                                                 \
		return v;                                                                                              \
	}                                                                                                              \
	static inline uint##bits##_t bf_ld_relaxed##bits(struct bf_thread *t, const void *p,                           \
							 enum bf_thread_scope scope)                                   \
	{                                                                                                              \
		(void)scope;                                                                                           \
		return bf_ld_weak##bits(t, p);                                                                         \
	}                                                                                                              \
	static inline uint##bits##_t bf_ld_acquire##bits(struct bf_thread *t, const void *p,                           \
							 enum bf_thread_scope scope)                                   \
	{                                                                                                              \
		const uint##bits##_t v = atomic_load_explicit(BF_NATIVE_CELL(bits, p), memory_order_acquire);          \
                                                                                                                       \
		(void)t;                                                                                               \
		(void)scope;                                                                                           \
		BF_NATIVE_ACQUIRES(p);                                                                                 \
		return v;                                                                                              \
	}                                                                                                              \
	static inline void bf_st_relaxed##bits(struct bf_thread *t, void *p, uint##bits##_t v,                         \
					       enum bf_thread_scope scope)                                             \
	{                                                                                                              \
		(void)t;                                                                                               \
		(void)scope;                                                                                           \
		BF_NATIVE_RELEASES(p);                                                                                 \
		atomic_store_explicit(BF_NATIVE_CELL(bits, p), v, BF_NATIVE_STORE);                                    \
	}                                                                                                              \
	static inline void bf_st_release##bits(struct bf_thread *t, void *p, uint##bits##_t v,                         \
					       enum bf_thread_scope scope)                                             \
	{                                                                                                              \
		(void)t;                                                                                               \
		(void)scope;                                                                                           \
		BF_NATIVE_RELEASES(p);                                                                                 \
		atomic_store_explicit(BF_NATIVE_CELL(bits, p), v, memory_order_release);                               \
	}                                                                                                              \
	static inline uint##bits##_t bf_atomic_add##bits(struct bf_thread *t, void *p, uint##bits##_t v,               \
							 enum bf_thread_scope scope)                                   \
	{                                                                                                              \
		(void)t;                                                                                               \
		(void)scope;                                                                                           \
		return atomic_fetch_add_explicit(BF_NATIVE_CELL(bits, p), v, BF_NATIVE_MODIFY);                        \
	}                                                                                                              \
	static inline uint##bits##_t bf_atomic_exch##bits(struct bf_thread *t, void *p, uint##bits##_t v,              \
							  enum bf_thread_scope scope)                                  \
	{                                                                                                              \
		(void)t;                                                                                               \
		(void)scope;                                                                                           \
		return atomic_exchange_explicit(BF_NATIVE_CELL(bits, p), v, BF_NATIVE_MODIFY);                         \
	}                                                                                                              \
	static inline uint##bits##_t bf_atomic_cas##bits(struct bf_thread *t, void *p, uint##bits##_t expected,        \
							 uint##bits##_t desired, enum bf_thread_scope scope)           \
	{                                                                                                              \
		(void)t;                                                                                               \
		(void)scope;                                                                                           \
		atomic_compare_exchange_strong_explicit(BF_NATIVE_CELL(bits, p), &expected, desired, BF_NATIVE_MODIFY, \
							BF_NATIVE_LOAD);                                               \
		return expected;                                                                                       \
	}                                                                                                              \
	static inline uint##bits##_t bf_atomic_max##bits(struct bf_thread *t, void *p, uint##bits##_t v,               \
							 enum bf_thread_scope scope)                                   \
	{                                                                                                              \
		uint##bits##_t old = bf_ld_weak##bits(t, p);                                                           \
                                                                                                                       \
		(void)scope;                                                                                           \
		while (old < v && !atomic_compare_exchange_weak_explicit(BF_NATIVE_CELL(bits, p), &old, v,             \
									 BF_NATIVE_MODIFY, BF_NATIVE_LOAD))            \
			;                                                                                              \
		return old;                                                                                            \
	}

BF_NATIVE_ACCESS(32)
BF_NATIVE_ACCESS(64)

static inline uint64_t bf_atomic_max_acquire64(struct bf_thread *t, void *p, uint64_t v, enum bf_thread_scope scope)
{
	const uint64_t old = bf_atomic_max64(t, p, v, scope);

	atomic_thread_fence(memory_order_acquire);
	return old;
}

static inline struct bf_vec128 bf_ld_weak128(struct bf_thread *t, const void *p)
{
	const uint64_t lo = bf_ld_weak64(t, p), hi = bf_ld_weak64(t, (const uint8_t *)p + 8);

	return (struct bf_vec128){ { (uint32_t)lo, (uint32_t)(lo >> 32), (uint32_t)hi, (uint32_t)(hi >> 32) } };
}
static inline struct bf_vec128 bf_ld_beside128(struct bf_thread *t, const void *p)
{
	return bf_ld_weak128(t, p);
}

static inline void bf_st_weak8(struct bf_thread *t, void *p, uint8_t v)
{
	(void)t;
	atomic_store_explicit(BF_NATIVE_CELL(8, p), v, BF_NATIVE_STORE);
}
static inline void bf_st_weak16(struct bf_thread *t, void *p, uint16_t v)
{
	(void)t;
	atomic_store_explicit(BF_NATIVE_CELL(16, p), v, BF_NATIVE_STORE);
}
static inline void bf_st_weak32(struct bf_thread *t, void *p, uint32_t v)
{
	bf_st_relaxed32(t, p, v, BF_AT_CTA);
}
static inline void bf_st_weak64(struct bf_thread *t, void *p, uint64_t v)
{
	bf_st_relaxed64(t, p, v, BF_AT_CTA);
}
static inline void bf_st_weak128(struct bf_thread *t, void *p, struct bf_vec128 v)
{
	bf_st_weak64(t, p, (uint64_t)v.w[1] << 32 | v.w[0]);
	bf_st_weak64(t, (uint8_t *)p + 8, (uint64_t)v.w[3] << 32 | v.w[2]);
}

/* One processor's fence reaches everybody; the scope makes no difference here. */
static inline void bf_fence_at(struct bf_thread *t, enum bf_thread_scope scope)
{
	(void)t;
	(void)scope;
#if BF_TSAN
	bf_native_fence(t);
#else
	atomic_thread_fence(memory_order_seq_cst);
#endif
}
static inline void bf_fence_cta(struct bf_thread *t)
{
	bf_fence_at(t, BF_AT_CTA);
}
static inline void bf_fence_gpu(struct bf_thread *t)
{
	bf_fence_at(t, BF_AT_GPU);
}
static inline void bf_fence_sys(struct bf_thread *t)
{
	bf_fence_at(t, BF_AT_SYS);
}

/* Release: the device side of live mode reads the cell with acquire, and rings then carry what came before. */
static inline void bf_mmio_st64(struct bf_thread *t, void *p, uint64_t v)
{
	bf_st_release64(t, p, v, BF_AT_SYS);
}

static inline void bf_mmio_st32(struct bf_thread *t, void *p, uint32_t v)
{
	bf_st_release32(t, p, v, BF_AT_SYS);
}
static inline uint32_t bf_mmio_ld32(struct bf_thread *t, const void *p)
{
	return bf_ld_acquire32(t, p, BF_AT_SYS);
}
static inline uint64_t bf_mmio_ld64(struct bf_thread *t, const void *p)
{
	return bf_ld_acquire64(t, p, BF_AT_SYS);
}

static inline void bf_warp_sync(struct bf_thread *t, uint32_t mask)
{
	bf_native_meet(t, BF_NATIVE_SYNC, mask, 0, 0);
}
static inline uint64_t bf_shfl64(struct bf_thread *t, uint32_t mask, uint64_t v, uint32_t src)
{
	return bf_native_meet(t, BF_NATIVE_SHUFFLE, mask, v, src);
}
static inline uint32_t bf_shfl32(struct bf_thread *t, uint32_t mask, uint32_t v, uint32_t src)
{
	return (uint32_t)bf_shfl64(t, mask, v, src);
}
static inline uint32_t bf_ballot(struct bf_thread *t, uint32_t mask, int predicate)
{
	return (uint32_t)bf_native_meet(t, BF_NATIVE_BALLOT, mask, predicate != 0, 0);
}
static inline uint32_t bf_match64(struct bf_thread *t, uint32_t mask, uint64_t v)
{
	return (uint32_t)bf_native_meet(t, BF_NATIVE_MATCH, mask, v, 0);
}

static inline void bf_spin(struct bf_thread *t, const void *addr, const char *what)
{
	(void)addr;
	bf_native_yield(t, what);
}
static inline void bf_spin2(struct bf_thread *t, const void *a, const void *b, const char *what)
{
	(void)a;
	(void)b;
	bf_native_yield(t, what);
}
static inline uint64_t bf_clock_ns(const struct bf_thread *t)
{
	(void)t;
	return bf_native_clock_ns();
}
static inline void bf_spin2_until(struct bf_thread *t, const void *a, const void *b, uint64_t ns, const char *what)
{
	(void)ns; /* whoever spins looks at the clock again */
	bf_spin2(t, a, b, what);
}
static inline void bf_pause(struct bf_thread *t, uint32_t ns)
{
	bf_native_pause(t, ns);
}

static inline uint64_t bf_record_va(const struct bf_thread *t, const void *p)
{
	(void)t;
	(void)p;
	return 0;
}

/* The record stream belongs to the loop thread; native lanes cannot reach it. The arguments count as used. */
#define BF_DRIVER_RECORD(t, type, ...) ((void)(t), (void)(const struct bf_rec_##type){ __VA_ARGS__ })

BF_API_END

#endif
