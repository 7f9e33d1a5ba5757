/* Which switch this build uses. Read by coro.c and by the assembly files: preprocessor lines only. */
#ifndef BELFRY_SIM_CORO_ARCH_INTERNAL_H
#define BELFRY_SIM_CORO_ARCH_INTERNAL_H

#include "sim/sanitizers.h"

/* The sanitizers intercept swapcontext() and must hear of each switch; BF_CORO_UCONTEXT forces the portable way. */
#if BF_ASAN || BF_TSAN || defined(BF_CORO_UCONTEXT)
#define BF_CORO_X86_64 0
#define BF_CORO_AARCH64 0
#else
#if defined(__x86_64__) && defined(__ELF__) && !defined(__ILP32__)
#define BF_CORO_X86_64 1
#elif defined(__aarch64__) && defined(__ELF__)
#define BF_CORO_AARCH64 1
#endif
#endif

#endif
