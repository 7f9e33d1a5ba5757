/*
 * Live mode: the same models against the wall clock, on a libuv loop (optional: built when libuv is there).
 *
 * The loop thread owns the simulation: events fire when the clock reaches them, pollers look at shared memory that
 * foreign threads, processes or GPUs write (doorbell cells), descriptors wake the loop. Other threads touch region
 * bytes with C11 atomics only; nothing else is shared. Model code does not know that it runs live.
 *
 * The clock is monotonic. While bf_live_run() runs, sim->now_ps goes on from where it stood, one ps per ps: an event
 * sees its due time, a poller and a descriptor's callback the time of this turn (213 days fit into 64 bits). A late
 * event still fires at its due time and in its place in the order, so what models compute does not depend on how busy
 * the host is, only on when the outside world did something.
 *
 * A turn: the events that are due, the pollers, the descriptors. A loop that found no work in any of them for `idle_us`
 * sleeps: until the next event when there are no pollers, at most a millisecond when there are, since nobody announces
 * a store to shared memory. Whoever cannot wait for that calls bf_live_wake() after the store.
 *
 * Calls are for the loop thread unless said otherwise.
 */
#ifndef BELFRY_SIM_LIVE_H
#define BELFRY_SIM_LIVE_H

#include "sim/compiler.h"
#include "sim/sim.h"

BF_API_BEGIN

#define BF_LIVE_POLLERS 64

struct bf_live; /* opaque */

/* A loop for `sim` (borrowed). Returns 0, -ENOMEM, or -ENOTSUP when built without libuv; text in sim->error. */
int bf_live_create(struct bf_sim *sim, struct bf_live **out);

/* Not while it runs, and no thread may stop or wake it any more. Descriptors stay open; they are the callers'. */
void bf_live_destroy(struct bf_live *l);

/*
 * Calls `poll(arg)` on each turn, in order of addition; it returns non-zero when it found work. Events that it
 * schedules at the current time fire before its next call. At most BF_LIVE_POLLERS pollers: -ENOSPC.
 */
int bf_live_add_poller(struct bf_live *l, int (*poll)(void *arg), void *arg);

/* Takes out what was added with the same two arguments; does nothing when there is none. Pollers may remove any. */
void bf_live_remove_poller(struct bf_live *l, int (*poll)(void *arg), void *arg);

/*
 * Calls `ready(arg, fd)` on the loop thread whenever `fd` (a socket, pipe, eventfd or the like, once per loop) is
 * readable, at its end or in error; `ready` must read until that is over, or remove it. The descriptor becomes
 * non-blocking. Returns 0, -ENOMEM, -EEXIST, or what the kernel said (-EBADF, -EPERM for a regular file); text in
 * sim->error.
 */
int bf_live_add_fd(struct bf_live *l, int fd, void (*ready)(void *arg, int fd), void *arg);

/*
 * What `ready` is called for from now on: more to read (what bf_live_add_fd() starts with), room to write, both, or
 * neither. Does nothing when `fd` was not added. Callable from callbacks, its own included.
 */
#define BF_LIVE_READ 1u
#define BF_LIVE_WRITE 2u
void bf_live_watch(struct bf_live *l, int fd, uint32_t events);

/* Before closing `fd`. Does nothing when it was not added. Callable from callbacks, its own included. */
void bf_live_remove_fd(struct bf_live *l, int fd);

/*
 * A call that may block (file operations), made by a thread of libuv's pool. Embedded in its owner and the loop's from
 * bf_live_work() until `done`. `run` touches what nobody else uses meanwhile; `done` runs on the loop thread, in
 * bf_live_run() or, at the latest, in bf_live_destroy().
 */
struct bf_live_work {
	void (*run)(struct bf_live_work *w);
	void (*done)(struct bf_live_work *w);
};

/* Returns 0 or -ENOMEM, text in sim->error. Works may run at the same time and end in any order. */
int bf_live_work(struct bf_live *l, struct bf_live_work *w);

/* Waits until no `run` is under way or to come. Their `done` comes later, as ever. */
void bf_live_settle(struct bf_live *l);

/*
 * Runs until bf_live_stop() (any thread) or bf_sim_stop() (loop thread). `idle_us`: how long to spin without work
 * before sleeping in the kernel between looks (0: never sleep). Returns 0, or -ENOTSUP when built without libuv. May be
 * called again.
 */
int bf_live_run(struct bf_live *l, uint32_t idle_us);

/* Any thread, also before the run, which then ends in its first turn. */
void bf_live_stop(struct bf_live *l);

/* Any thread: a sleeping loop takes a turn now; a loop that is awake does so anyway. */
void bf_live_wake(struct bf_live *l);

/* A doorbell cell: eight aligned bytes that others write and a poller looks at. Set `cell` and the value it holds. */
struct bf_live_cell {
	const void *cell;
	uint64_t seen;
};

/*
 * True when the cell has changed since the last look; `c->seen` is the new value then. Of several writes between two
 * looks only the last is seen, and none if it wrote the old value again, so a cell serves one queue whose doorbells
 * differ. An acquire load: what the writer stored before its release store is visible.
 */
static inline bool bf_live_cell_changed(struct bf_live_cell *c)
{
	const uint64_t value = __atomic_load_n((const uint64_t *)c->cell, __ATOMIC_ACQUIRE);

	if (value == c->seen)
		return false;
	c->seen = value;
	return true;
}

BF_API_END

#endif
