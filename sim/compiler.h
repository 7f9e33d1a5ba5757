/* Small compiler helpers shared by every layer. C and C++ (CUDA) clean. */
#ifndef BELFRY_SIM_COMPILER_H
#define BELFRY_SIM_COMPILER_H

#include <stddef.h>

#if defined(__GNUC__)
#define BF_LIKELY(x) __builtin_expect(!!(x), 1)
#define BF_UNLIKELY(x) __builtin_expect(!!(x), 0)
#define BF_PRINTF(fmt, args) __attribute__((format(printf, fmt, args)))
#define BF_NOINLINE __attribute__((noinline))
/* Inlined in every build, so that what it calls returns to its caller's code (sim/where.c). */
#define BF_ALWAYS_INLINE inline __attribute__((always_inline))
#else
#define BF_LIKELY(x) (x)
#define BF_UNLIKELY(x) (x)
#define BF_PRINTF(fmt, args)
#define BF_NOINLINE
#define BF_ALWAYS_INLINE inline
#endif

#ifdef __cplusplus
#define BF_STATIC_ASSERT(cond, text) static_assert(cond, text)
#else
#define BF_STATIC_ASSERT(cond, text) _Static_assert(cond, text)
#endif

/*
 * Around the declarations of each header of the API (drivers/api.txt): C linkage, and the library exports what is
 * declared there, and nothing else.
 */
#if defined(__GNUC__)
#define BF_EXPORT_BEGIN_ _Pragma("GCC visibility push(default)")
#define BF_EXPORT_END_ _Pragma("GCC visibility pop")
#else
#define BF_EXPORT_BEGIN_
#define BF_EXPORT_END_
#endif
#ifdef __cplusplus
#define BF_API_BEGIN                                                                                                   \
	BF_EXPORT_BEGIN_ extern "C"                                                                                    \
	{
#define BF_API_END                                                                                                     \
	}                                                                                                              \
	BF_EXPORT_END_
#else
#define BF_API_BEGIN BF_EXPORT_BEGIN_
#define BF_API_END BF_EXPORT_END_
#endif

/* Tells the core that this is a spin, to leave room for a sibling thread. */
static inline void bf_cpu_relax(void)
{
#if defined(__x86_64__) || defined(__i386__)
	__builtin_ia32_pause();
#elif defined(__aarch64__)
	__asm__ volatile("yield");
#endif
}

/* The struct of type `type` whose member `member` lies at `ptr`. */
#define BF_CONTAINER_OF(ptr, type, member) ((type *)(void *)((char *)(ptr)-offsetof(type, member)))

#define BF_ARRAY_LEN(a) (sizeof(a) / sizeof((a)[0]))

/* 128 bits: products of two 64-bit numbers, and the counters of some logs. */
__extension__ typedef unsigned __int128 bf_u128;

#endif
