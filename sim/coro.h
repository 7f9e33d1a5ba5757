/*
 * Coroutines: a stack and a switch. Assembly on x86-64 and aarch64, ucontext elsewhere and under sanitizers (which are
 * told about each switch). Nothing here knows of time; sim/agent.h and the native platform build on it.
 *
 * A coroutine stays on the thread that first entered it. No call here blocks or takes a lock.
 */
#ifndef BELFRY_SIM_CORO_H
#define BELFRY_SIM_CORO_H

#include <stddef.h>
#include <stdint.h>

struct bf_coro; /* opaque */

/*
 * A coroutine that will run `main(arg)` when first switched to. `stack_bytes` is rounded up to pages; a guard page lies
 * below. When `main` returns the coroutine is finished and control is back in the last bf_coro_enter(). Returns 0 or
 * -ENOMEM.
 */
int bf_coro_create(struct bf_coro **out, void (*main)(void *arg), void *arg, size_t stack_bytes);

/* Only when it is not running. A coroutine destroyed before it finished just loses its stack. */
void bf_coro_destroy(struct bf_coro *co);

/*
 * Gives a coroutine that is not running (finished, or abandoned in the middle) a new function to run on the stack that
 * it has. For owners that keep a pool: no system call.
 */
void bf_coro_reset(struct bf_coro *co, void (*main)(void *arg), void *arg);

/* Usable bytes of its stack. */
size_t bf_coro_stack_bytes(const struct bf_coro *co);

/* Runs `co` until it leaves or finishes. Not from inside `co`. May be called from another coroutine (nesting). */
void bf_coro_enter(struct bf_coro *co);

/* From inside `co`: back to whoever entered it. */
void bf_coro_leave(struct bf_coro *co);

/*
 * From inside `co`: leaves, and `to` runs in its place for whoever entered `co`: that bf_coro_enter() returns when `to`
 * leaves or finishes. Half the switches of a round through the enterer, and what returns from calls on `to` is what
 * the processor expects when both are at the same point of the same code.
 */
void bf_coro_hand_over(struct bf_coro *co, struct bf_coro *to);

/*
 * From inside `co`: either of the two for the last time. Its function is abandoned, and its stack may be used for
 * something else as soon as somebody else runs.
 */
void bf_coro_quit(struct bf_coro *co, struct bf_coro *to); /* NULL: back to whoever entered it */

int bf_coro_finished(const struct bf_coro *co);

/*
 * Coroutines that nobody needs now, for whoever needs one next: a new one costs several calls of the system. Zeroed:
 * empty. Of one thread; all of them have stacks of one size, which is the owner's affair. From run to run the memory of
 * regions is kept along with them, for the same reason.
 */
struct bf_stacks {
	struct bf_coro **idle;
	uint32_t count, room;
	struct bf_kept_map *map;
	uint32_t maps, maps_room;
	uint64_t map_bytes;
};

/* Keeps `co`, or destroys it where there is no memory. Takes one: NULL when there is none. Destroys all. */
void bf_stacks_keep(struct bf_stacks *s, struct bf_coro *co);
struct bf_coro *bf_stacks_take(struct bf_stacks *s);
void bf_stacks_free(struct bf_stacks *s);

/*
 * Keeps a mapping whose first `bytes` may be written, and makes them zero, or unmaps it where enough is kept. Takes
 * one with the same two sizes: NULL when there is none.
 */
void bf_stacks_keep_map(struct bf_stacks *s, void *p, uint64_t bytes, uint64_t mapped);
void *bf_stacks_take_map(struct bf_stacks *s, uint64_t bytes, uint64_t mapped);

#endif
