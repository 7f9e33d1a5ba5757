/*
 * libbelfry-plain: atomics and fences of C11 and C++ as those of a simulated thread. Compilers make calls of them,
 * which do what is asked themselves; on memory that is no machine's, the call makes the compiler's own operation.
 */
#include <string.h>

#include "sim/agent.h"
#include "sim/view.h"
#include "tools/plain/plain_internal.h"

#define HERE __builtin_return_address(0)

/* Orders are those of C11 as compilers number them. */
static enum bf_sem sem_of(int order)
{
	static const enum bf_sem sem[] = { BF_RELAXED, BF_ACQUIRE, BF_ACQUIRE, BF_RELEASE, BF_ACQ_REL, BF_ACQ_REL };

	return order >= 0 && order < 6 ? sem[order] : BF_ACQ_REL;
}

struct change {
	enum { ADD, SUB, AND, OR, XOR, NAND, SWAP, COMPARE } what;
	uint32_t len;
	uint64_t operand, compare;
};

static bool apply(void *arg, const void *old, void *now)
{
	const struct change *c = arg;
	uint64_t was = 0, is = c->operand;

	memcpy(&was, old, c->len);
	switch (c->what) {
	case ADD:
		is = was + c->operand;
		break;
	case SUB:
		is = was - c->operand;
		break;
	case AND:
		is = was & c->operand;
		break;
	case OR:
		is = was | c->operand;
		break;
	case XOR:
		is = was ^ c->operand;
		break;
	case NAND:
		is = ~(was & c->operand);
		break;
	case COMPARE:
		if (was != c->compare)
			return false;
		break;
	case SWAP:
		break;
	}
	memcpy(now, &is, c->len);
	return true;
}

static uint64_t change(const void *p, struct change c, int order, const void *from)
{
	uint64_t old = 0;

	belfry_plain_change(p, c.len, apply, &c, &old, sem_of(order), BF_SCOPE_SYS, from);
	return old;
}

static uint64_t load_atomic(const void *p, uint32_t len, int order, const void *from)
{
	uint64_t value = 0;

	belfry_plain_load(p, &value, len, order ? BF_ACQUIRE : BF_RELAXED, BF_SCOPE_SYS, from);
	return value;
}

static void store_atomic(void *p, uint64_t value, uint32_t len, int order, const void *from)
{
	belfry_plain_store(p, &value, len, order ? BF_RELEASE : BF_RELAXED, BF_SCOPE_SYS, from);
	if (order == __ATOMIC_SEQ_CST)
		bf_fence(bf_agent_here(), BF_SCOPE_SYS);
}

#define CHANGE(bits, name, WHAT)                                                                                       \
	uint##bits##_t __tsan_atomic##bits##_##name(volatile uint##bits##_t *p, uint##bits##_t v, int order);          \
	uint##bits##_t __tsan_atomic##bits##_##name(volatile uint##bits##_t *p, uint##bits##_t v, int order)           \
	{                                                                                                              \
		void *at = (void *)(uintptr_t)p;                                                                       \
                                                                                                                       \
		if (!belfry_plain_reaches(at, bits / 8))                                                               \
			return __atomic_##name##_ELSEWHERE(p, v);                                                      \
		return (uint##bits##_t)change(at, (struct change){ WHAT, bits / 8, v, 0 }, order, HERE);               \
	}
#define __atomic_exchange_ELSEWHERE(p, v) __atomic_exchange_n(p, v, __ATOMIC_SEQ_CST)
#define __atomic_fetch_add_ELSEWHERE(p, v) __atomic_fetch_add(p, v, __ATOMIC_SEQ_CST)
#define __atomic_fetch_sub_ELSEWHERE(p, v) __atomic_fetch_sub(p, v, __ATOMIC_SEQ_CST)
#define __atomic_fetch_and_ELSEWHERE(p, v) __atomic_fetch_and(p, v, __ATOMIC_SEQ_CST)
#define __atomic_fetch_or_ELSEWHERE(p, v) __atomic_fetch_or(p, v, __ATOMIC_SEQ_CST)
#define __atomic_fetch_xor_ELSEWHERE(p, v) __atomic_fetch_xor(p, v, __ATOMIC_SEQ_CST)
#define __atomic_fetch_nand_ELSEWHERE(p, v) __atomic_fetch_nand(p, v, __ATOMIC_SEQ_CST)

#define COMPARE_EXCHANGE(bits, kind)                                                                                   \
	int __tsan_atomic##bits##_compare_exchange_##kind(volatile uint##bits##_t *p, uint##bits##_t *expected,        \
							  uint##bits##_t v, int order, int failed);                    \
	int __tsan_atomic##bits##_compare_exchange_##kind(volatile uint##bits##_t *p, uint##bits##_t *expected,        \
							  uint##bits##_t v, int order, int failed)                     \
	{                                                                                                              \
		void *at = (void *)(uintptr_t)p;                                                                       \
		uint##bits##_t old;                                                                                    \
                                                                                                                       \
		(void)failed;                                                                                          \
		if (!belfry_plain_reaches(at, bits / 8))                                                               \
			return __atomic_compare_exchange_n(p, expected, v, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);     \
		old = (uint##bits##_t)change(at, (struct change){ COMPARE, bits / 8, v, *expected }, order, HERE);     \
		if (old == *expected)                                                                                  \
			return 1;                                                                                      \
		*expected = old;                                                                                       \
		return 0;                                                                                              \
	}

#define ATOMICS(bits)                                                                                                  \
	uint##bits##_t __tsan_atomic##bits##_load(const volatile uint##bits##_t *p, int order);                        \
	uint##bits##_t __tsan_atomic##bits##_load(const volatile uint##bits##_t *p, int order)                         \
	{                                                                                                              \
		const void *at = (const void *)(uintptr_t)p;                                                           \
                                                                                                                       \
		if (!belfry_plain_reaches(at, bits / 8))                                                               \
			return __atomic_load_n(p, __ATOMIC_SEQ_CST);                                                   \
		return (uint##bits##_t)load_atomic(at, bits / 8, order, HERE);                                         \
	}                                                                                                              \
	void __tsan_atomic##bits##_store(volatile uint##bits##_t *p, uint##bits##_t v, int order);                     \
	void __tsan_atomic##bits##_store(volatile uint##bits##_t *p, uint##bits##_t v, int order)                      \
	{                                                                                                              \
		if (!belfry_plain_reaches((void *)(uintptr_t)p, bits / 8))                                             \
			__atomic_store_n(p, v, __ATOMIC_SEQ_CST);                                                      \
		else                                                                                                   \
			store_atomic((void *)(uintptr_t)p, v, bits / 8, order, HERE);                                  \
	}                                                                                                              \
	CHANGE(bits, exchange, SWAP)                                                                                   \
	CHANGE(bits, fetch_add, ADD)                                                                                   \
	CHANGE(bits, fetch_sub, SUB)                                                                                   \
	CHANGE(bits, fetch_and, AND)                                                                                   \
	CHANGE(bits, fetch_or, OR)                                                                                     \
	CHANGE(bits, fetch_xor, XOR)                                                                                   \
	CHANGE(bits, fetch_nand, NAND)                                                                                 \
	COMPARE_EXCHANGE(bits, strong)                                                                                 \
	COMPARE_EXCHANGE(bits, weak)
ATOMICS(8)
ATOMICS(16)
ATOMICS(32)
ATOMICS(64)

void __tsan_atomic_thread_fence(int order);
void __tsan_atomic_thread_fence(int order)
{
	struct bf_agent *a = bf_agent_here();

	belfry_plain_settle();
	if (!a || !a->view || !order) {
		__atomic_thread_fence(__ATOMIC_SEQ_CST);
		return;
	}
	a->from = HERE;
	if (order == __ATOMIC_SEQ_CST)
		bf_fence(a, BF_SCOPE_SYS);
	else
		bf_fence_acq_rel(a, BF_SCOPE_SYS);
	a->from = NULL;
}

void __tsan_atomic_signal_fence(int order);
void __tsan_atomic_signal_fence(int order)
{
	(void)order;
	belfry_plain_settle();
}
