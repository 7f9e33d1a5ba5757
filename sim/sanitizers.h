/* Which sanitizer this build has, BF_ASAN and BF_TSAN: 0 or 1. Assembly reads it, too: preprocessor lines only. */
#ifndef BELFRY_SIM_SANITIZERS_H
#define BELFRY_SIM_SANITIZERS_H

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define BF_ASAN 1
#endif
#if __has_feature(thread_sanitizer)
#define BF_TSAN 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__)
#define BF_ASAN 1
#endif
#if defined(__SANITIZE_THREAD__)
#define BF_TSAN 1
#endif
#ifndef BF_ASAN
#define BF_ASAN 0
#endif
#ifndef BF_TSAN
#define BF_TSAN 0
#endif

#endif
