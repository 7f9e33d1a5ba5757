/*
 * Bytes of memory that other threads of the process may look at and change at the same time: doorbell records,
 * completions, words that a program and its kernels share. They move as whole words, and a change of one is one atomic
 * operation. On x86 and aarch64 the loads and stores are ordinary ones.
 *
 * No function here can fail; all are thread-safe.
 */
#ifndef BELFRY_SIM_WORD_H
#define BELFRY_SIM_WORD_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "sim/bytes.h"
#include "sim/compiler.h"

/* As memcpy(), the last word of `dst` after the others. Words of 8 bytes or of 4 where place and length permit. */
static inline void bf_words_store(uint8_t *dst, const uint8_t *src, uint32_t len)
{
	uint32_t at = 0;

	if (!(((uintptr_t)dst | len) & 7)) {
		for (; at + 8 < len; at += 8)
			__atomic_store_n((uint64_t *)(void *)(dst + at), bf_get_le64(src + at), __ATOMIC_RELAXED);
		__atomic_store_n((uint64_t *)(void *)(dst + at), bf_get_le64(src + at), __ATOMIC_RELEASE);
	} else if (!(((uintptr_t)dst | len) & 3)) {
		for (; at + 4 < len; at += 4)
			__atomic_store_n((uint32_t *)(void *)(dst + at), bf_get_le32(src + at), __ATOMIC_RELAXED);
		__atomic_store_n((uint32_t *)(void *)(dst + at), bf_get_le32(src + at), __ATOMIC_RELEASE);
	} else {
		memcpy(dst, src, len);
	}
}

/* The same for one store of a thread: 16 bytes are whole, as a GPU has them. */
static inline void bf_whole_store(uint8_t *dst, const uint8_t *src, uint32_t len)
{
	if (len == 16)
		memcpy(dst, src, 16);
	else
		bf_words_store(dst, src, len);
}

static inline void bf_words_load(uint8_t *dst, const uint8_t *src, uint32_t len)
{
	if (!(((uintptr_t)src | len) & 7)) {
		for (uint32_t at = 0; at < len; at += 8)
			bf_put_le64(dst + at,
				    __atomic_load_n((const uint64_t *)(const void *)(src + at), __ATOMIC_ACQUIRE));
	} else if (!(((uintptr_t)src | len) & 3)) {
		for (uint32_t at = 0; at < len; at += 4)
			bf_put_le32(dst + at,
				    __atomic_load_n((const uint32_t *)(const void *)(src + at), __ATOMIC_ACQUIRE));
	} else {
		memcpy(dst, src, len);
	}
}

#define BF_WORD_SWAP_(type)                                                                                            \
	do {                                                                                                           \
		type is, to;                                                                                           \
                                                                                                                       \
		memcpy(&is, old, sizeof(is));                                                                          \
		memcpy(&to, now, sizeof(to));                                                                          \
		if (BF_LIKELY(                                                                                         \
			__atomic_compare_exchange_n((type *)p, &is, to, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)))   \
			return true;                                                                                   \
		memcpy(old, &is, sizeof(is));                                                                          \
		return false;                                                                                          \
	} while (0)

#if defined(__x86_64__)
__attribute__((target("cx16"))) static BF_NOINLINE bool bf_word_swap16(void *p, void *old, const void *now)
{
	bf_u128 is, to, was;

	memcpy(&is, old, sizeof(is));
	memcpy(&to, now, sizeof(to));
	was = __sync_val_compare_and_swap((bf_u128 *)p, is, to);
	memcpy(old, &was, sizeof(was));
	return was == is;
}
#endif

/*
 * `p`, a word of `len` bytes (2, 4, 8 or 16) at its own alignment, becomes `now` if it is `old`. Returns whether; if
 * not, `old` is what it was. Other lengths are stored as by memcpy(), and so are 16 bytes on processors other than
 * x86-64: only threads of the simulation may be at them.
 */
static inline bool bf_word_swap(void *p, void *old, const void *now, uint32_t len)
{
	switch (len) {
	case 2:
		BF_WORD_SWAP_(uint16_t);
	case 4:
		BF_WORD_SWAP_(uint32_t);
	case 8:
		BF_WORD_SWAP_(uint64_t);
#if defined(__x86_64__)
	case 16:
		return bf_word_swap16(p, old, now);
#endif
	default:
		memcpy(p, now, len);
		return true;
	}
}

#endif
