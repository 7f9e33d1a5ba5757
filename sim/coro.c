#include "sim/coro.h"

#include <assert.h>
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "sim/compiler.h"
#include "sim/coro_arch_internal.h"
#include "sim/grow.h"

#define BF_CORO_ASM (BF_CORO_X86_64 || BF_CORO_AARCH64)

#if !BF_CORO_ASM
#include <ucontext.h>
#endif
#if BF_ASAN
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif
#if BF_TSAN
#include <sanitizer/tsan_interface.h>
#endif

struct bf_coro {
#if BF_CORO_ASM
	void *sp;        /* its stack pointer while it is not running */
	void *caller_sp; /* that of whoever entered it, while it runs */
#else
	ucontext_t context, caller;
	struct bf_coro *heir; /* who runs next in its place */
#endif
	void (*main)(void *arg);
	void *arg;
	char *map; /* guard page, the stack, room in which its top is moved about, this */
	size_t map_bytes, page_bytes, stack_bytes;
	int finished;
#if BF_ASAN
	void *fake_stack, *caller_fake_stack;
	const void *caller_bottom;
	size_t caller_size;
#endif
#if BF_TSAN
	void *fiber, *caller_fiber;
	uint32_t resets;
#endif
};

/* It lies at the end of its own mapping: most stacks are shallow and share a page with it. */
#define CORO_BYTES ((sizeof(struct bf_coro) + 127) & ~(size_t)127)
#define SPREAD 16u

#define RESETS_OF_FIBER 256u

#define MADV_GUARD 102 /* Linux MADV_GUARD_INSTALL, which older headers lack */

static char *stack_bottom(const struct bf_coro *co)
{
	return co->map + co->page_bytes;
}

size_t bf_coro_stack_bytes(const struct bf_coro *co)
{
	return co->stack_bytes;
}

/*
 * Stacks of one size would all have their hot ends in the same few sets of the first-level cache. Each starts at one of
 * sixteen places within two KiB instead, so that a shallow stack touches no second page; speed is all that depends on
 * the address.
 */
static size_t stack_room(const struct bf_coro *co)
{
	const uint64_t spread = (uint64_t)(uintptr_t)co->map * 0x9e3779b97f4a7c15ull >> 60;

	return co->map_bytes - co->page_bytes - CORO_BYTES - (size_t)spread * 128;
}

#if BF_CORO_ASM

void bf_coro_switch(void **save, void *load);
void bf_coro_pass(void **save, void *load);
void bf_coro_start(void);

static void run(void *arg)
{
	struct bf_coro *co = arg;

	co->main(co->arg);
	co->finished = 1;
	bf_coro_switch(&co->sp, co->caller_sp);
}

/* The frame that a switch pops: control words, saved registers, return address. */
static void first_frame(struct bf_coro *co)
{
	uint64_t *top = (uint64_t *)(void *)(stack_bottom(co) + stack_room(co));
#if BF_CORO_X86_64
	/* bf_coro_start() is entered by a jump with rsp at 0 modulo 16; its call makes it the 8 that run() expects. */
	uint64_t *frame = top - 10;
	uint32_t mxcsr;
	uint16_t x87;

	__asm__("stmxcsr %0" : "=m"(mxcsr));
	__asm__("fnstcw %0" : "=m"(x87));
	frame[0] = ((uint64_t)x87 << 32) | mxcsr;
	frame[1] = (uint64_t)(uintptr_t)run; /* r12 */
	frame[2] = (uint64_t)(uintptr_t)co;  /* r13 */
	frame[3] = frame[4] = frame[5] = frame[6] = 0;
	frame[7] = (uint64_t)(uintptr_t)bf_coro_start;
	frame[8] = frame[9] = 0; /* a frame-pointer walk ends here */
#else
	uint64_t *frame = top - 22;
	uint64_t fpcr;

	for (int i = 0; i < 22; i++)
		frame[i] = 0;
	__asm__("mrs %0, fpcr" : "=r"(fpcr));
	frame[0] = (uint64_t)(uintptr_t)run; /* x19 */
	frame[1] = (uint64_t)(uintptr_t)co;  /* x20 */
	frame[11] = (uint64_t)(uintptr_t)bf_coro_start;
	frame[20] = fpcr;
#endif
	co->sp = frame;
}

void bf_coro_enter(struct bf_coro *co)
{
	assert(!co->finished);
	bf_coro_switch(&co->caller_sp, co->sp);
}

void bf_coro_leave(struct bf_coro *co)
{
	bf_coro_switch(&co->sp, co->caller_sp);
}

void bf_coro_hand_over(struct bf_coro *co, struct bf_coro *to)
{
	assert(!to->finished);
	to->caller_sp = co->caller_sp;
	bf_coro_pass(&co->sp, to->sp);
}

#else

/*
 * Around each switch: ASan must know the stack that comes next before the switch and finish after it; TSan must be told
 * which fiber runs.
 */
static void before_enter(struct bf_coro *co)
{
#if BF_ASAN
	__sanitizer_start_switch_fiber(&co->caller_fake_stack, stack_bottom(co), stack_room(co));
#endif
#if BF_TSAN
	co->caller_fiber = __tsan_get_current_fiber();
	__tsan_switch_to_fiber(co->fiber, 0);
#endif
	(void)co;
}

static void after_enter(struct bf_coro *co)
{
#if BF_ASAN
	__sanitizer_finish_switch_fiber(co->caller_fake_stack, NULL, NULL);
#endif
	(void)co;
}

static void before_leave(struct bf_coro *co)
{
#if BF_ASAN
	/* A null place for the fake stack says that this one is done with. */
	__sanitizer_start_switch_fiber(co->finished ? NULL : &co->fake_stack, co->caller_bottom, co->caller_size);
#endif
#if BF_TSAN
	__tsan_switch_to_fiber(co->caller_fiber, 0);
#endif
	(void)co;
}

static void after_leave(struct bf_coro *co)
{
#if BF_ASAN
	__sanitizer_finish_switch_fiber(co->fake_stack, &co->caller_bottom, &co->caller_size);
#endif
	(void)co;
}

static void run(unsigned high, unsigned low)
{
	struct bf_coro *co = (struct bf_coro *)(uintptr_t)(((uint64_t)high << 32) | low);

	after_leave(co);
	co->main(co->arg);
	co->finished = 1;
	before_leave(co);
	setcontext(&co->caller);
}

static void first_frame(struct bf_coro *co)
{
	const uint64_t self = (uint64_t)(uintptr_t)co;

	getcontext(&co->context);
	co->context.uc_stack.ss_sp = stack_bottom(co);
	co->context.uc_stack.ss_size = stack_room(co);
	co->context.uc_link = NULL;
	/* makecontext() passes ints only (POSIX.1-2001, "makecontext"): the pointer goes in halves. */
	makecontext(&co->context, (void (*)(void))run, 2, (unsigned)(self >> 32), (unsigned)self);
#if BF_ASAN
	co->fake_stack = NULL;
#endif
}

void bf_coro_enter(struct bf_coro *co)
{
	for (struct bf_coro *next = co; next; next = co->heir) {
		co = next;
		co->heir = NULL;
		assert(!co->finished);
		before_enter(co);
		swapcontext(&co->caller, &co->context);
		after_enter(co);
	}
}

void bf_coro_leave(struct bf_coro *co)
{
	before_leave(co);
	swapcontext(&co->context, &co->caller);
	after_leave(co);
}

void bf_coro_hand_over(struct bf_coro *co, struct bf_coro *to)
{
	co->heir = to;
	bf_coro_leave(co);
}

#endif

void bf_coro_quit(struct bf_coro *co, struct bf_coro *to)
{
	co->finished = 1;
	if (to)
		bf_coro_hand_over(co, to);
	else
		bf_coro_leave(co);
}

static size_t round_up(size_t bytes, size_t to)
{
	return (bytes + to - 1) / to * to;
}

/*
 * A page that faults. Linux 6.13 marks it in the page table; before, and elsewhere, it is a mapping of its own, with
 * the stack between it and the next one: two for each stack of the 65530 that Linux gives a process (vm.max_map_count).
 */
static int guard(char *page, size_t bytes)
{
#ifdef __linux__
	if (madvise(page, bytes, MADV_GUARD) == 0)
		return 0;
#endif
	return mprotect(page, bytes, PROT_NONE);
}

int bf_coro_create(struct bf_coro **out, void (*main)(void *arg), void *arg, size_t stack_bytes)
{
	const size_t page = (size_t)sysconf(_SC_PAGESIZE), end = round_up(CORO_BYTES + (SPREAD - 1) * 128, page);
	struct bf_coro *co;
	size_t map_bytes;
	char *map;

	*out = NULL;
	if (stack_bytes > SIZE_MAX - end - 4 * page)
		return -ENOMEM;
	stack_bytes = round_up(stack_bytes, page);
	map_bytes = page + stack_bytes + end;
	map = mmap(NULL, map_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1,
		   0);
	if (map == MAP_FAILED)
		return -ENOMEM;
	if (guard(map, page)) {
		munmap(map, map_bytes);
		return -ENOMEM;
	}
	co = (struct bf_coro *)(void *)(map + map_bytes - CORO_BYTES);
	co->map = map;
	co->map_bytes = map_bytes;
	co->page_bytes = page;
	co->stack_bytes = stack_bytes;
	bf_coro_reset(co, main, arg);
	*out = co;
	return 0;
}

void bf_coro_reset(struct bf_coro *co, void (*main)(void *arg), void *arg)
{
#if BF_ASAN
	/* An abandoned function leaves its redzones behind. */
	__asan_unpoison_memory_region(stack_bottom(co), stack_room(co));
#endif
#if BF_TSAN
	/* And its calls, which never return, would fill the fiber's list of calls in the end. A new fiber is slow. */
	if (co->resets++ % RESETS_OF_FIBER == 0) {
		if (co->fiber)
			__tsan_destroy_fiber(co->fiber);
		co->fiber = __tsan_create_fiber(0);
	}
#endif
	co->main = main;
	co->arg = arg;
	co->finished = 0;
	first_frame(co);
}

void bf_coro_destroy(struct bf_coro *co)
{
	if (!co)
		return;
#if BF_TSAN
	__tsan_destroy_fiber(co->fiber);
#endif
#if BF_ASAN
	__asan_unpoison_memory_region(stack_bottom(co), stack_room(co));
#endif
	munmap(co->map, co->map_bytes);
}

int bf_coro_finished(const struct bf_coro *co)
{
	return co->finished;
}

void bf_stacks_keep(struct bf_stacks *s, struct bf_coro *co)
{
	if (BF_GROW(s->idle, s->room, s->count + 1)) {
		bf_coro_destroy(co);
		return;
	}
	s->idle[s->count++] = co;
}

struct bf_coro *bf_stacks_take(struct bf_stacks *s)
{
	return s->count ? s->idle[--s->count] : NULL;
}

struct bf_kept_map {
	void *p;
	uint64_t bytes, mapped;
};

/* Of small ones most pages have been touched: writing zeros costs less than new pages. */
#define WRITE_ZEROS_MAX (16u << 10)
#define KEPT_BYTES_MAX (256u << 20)
#define KEPT_MAPS_MAX 1024u

void bf_stacks_keep_map(struct bf_stacks *s, void *p, uint64_t bytes, uint64_t mapped)
{
	if (s->map_bytes + mapped > KEPT_BYTES_MAX || s->maps == KEPT_MAPS_MAX ||
	    BF_GROW(s->map, s->maps_room, s->maps + 1) ||
	    (bytes > WRITE_ZEROS_MAX && madvise(p, bytes, MADV_DONTNEED))) {
		munmap(p, mapped);
		return;
	}
	if (bytes <= WRITE_ZEROS_MAX)
		memset(p, 0, bytes);
	s->map[s->maps++] = (struct bf_kept_map){ p, bytes, mapped };
	s->map_bytes += mapped;
}

void *bf_stacks_take_map(struct bf_stacks *s, uint64_t bytes, uint64_t mapped)
{
	for (uint32_t i = s->maps; i--;) {
		const struct bf_kept_map m = s->map[i];

		if (m.bytes != bytes || m.mapped != mapped)
			continue;
		s->map[i] = s->map[--s->maps];
		s->map_bytes -= mapped;
		return m.p;
	}
	return NULL;
}

void bf_stacks_free(struct bf_stacks *s)
{
	while (s->count)
		bf_coro_destroy(s->idle[--s->count]);
	while (s->maps--)
		munmap(s->map[s->maps].p, s->map[s->maps].mapped);
	free(s->idle);
	free(s->map);
	*s = (struct bf_stacks){ 0 };
}
