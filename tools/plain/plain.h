/*
 * Plain loads and stores as those of a simulated thread: for code that knows nothing of the platform's primitives.
 *
 * Compile that code with gcc and `-fsanitize=thread --param=tsan-distinguish-volatile=1`, with this header in front of
 * it (`-include belfry_plain.h`), and link with libbelfry-plain (CMake: belfry::plain does all three). Its loads,
 * stores, atomics, C11 fences, memcpy(), memmove() and memset() then go through the view of the thread of the trial
 * that calls it, when they touch memory or registers of that thread's machine. Nothing else changes: the code may be
 * called outside of trials, too. Volatile accesses are relaxed ones (drivers/platform/platform.h), other ones weak.
 *
 * What is not seen: fences that are assembly (`asm volatile("sfence")`). An x86 needs few of them: threads of the CPU
 * have its order under all orderings but "adversarial". Polling loops cost little: a thread that looks at the same
 * bytes again and again sleeps until they change, or for some microseconds.
 */
#ifndef BELFRY_TOOLS_PLAIN_PLAIN_H
#define BELFRY_TOOLS_PLAIN_PLAIN_H

#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

void *belfry_plain_memcpy(void *to, const void *from, size_t size);
void *belfry_plain_memmove(void *to, const void *from, size_t size);
void *belfry_plain_memset(void *to, int byte, size_t size);

#ifdef __cplusplus
}
#endif

/* Where the compiler asks for it, those that code calls by name are these. */
#ifdef __SANITIZE_THREAD__
#undef memcpy
#undef memmove
#undef memset
#define memcpy belfry_plain_memcpy
#define memmove belfry_plain_memmove
#define memset belfry_plain_memset
#endif

#endif
