/*
 * Live mode: the same models against the wall clock, on a libuv loop (optional: built when libuv is there).
 *
 * The loop thread owns the simulation: events fire when the clock reaches them, pollers look at shared memory that
 * foreign threads, processes or GPUs write (doorbell cells), descriptors wake the loop. Other threads touch region
 * bytes with C11 atomics only; nothing else is shared. Model code does not know that it runs live.
 */
#ifndef BELFRY_SIM_LIVE_H
#define BELFRY_SIM_LIVE_H

#include "sim/sim.h"

struct bf_live; /* opaque */

/* A loop for `sim`. Returns 0, -ENOMEM, or -ENOTSUP when built without libuv. */
int bf_live_create(struct bf_sim *sim, struct bf_live **out);
void bf_live_destroy(struct bf_live *l);

/* Calls `poll(arg)` on each turn; it returns non-zero when it found work. At most 64 pollers. */
int bf_live_add_poller(struct bf_live *l, int (*poll)(void *arg), void *arg);

/* Calls `ready(arg, fd)` on the loop thread when `fd` is readable. */
int bf_live_add_fd(struct bf_live *l, int fd, void (*ready)(void *arg, int fd), void *arg);

/*
 * Runs until bf_live_stop() (any thread) or bf_sim_stop() (loop thread). `idle_us`: how long to spin without work
 * before sleeping in the kernel between looks (0: never sleep). Returns 0 or negative errno.
 */
int bf_live_run(struct bf_live *l, uint32_t idle_us);
void bf_live_stop(struct bf_live *l);

#endif
