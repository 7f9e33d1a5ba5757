/*
 * Threads of this process that run grids: each warp is one. What backends on the wall clock share.
 */
#ifndef BELFRY_DRIVERS_BACKEND_WORKERS_INTERNAL_H
#define BELFRY_DRIVERS_BACKEND_WORKERS_INTERNAL_H

#include <pthread.h>
#include <stdatomic.h>

#include "drivers/backend/machine_internal.h"

#define BF_WORKERS_MAX 1024u

struct bf_worker; /* one warp */

struct bf_workers {
	struct bf_worker *warps; /* of the run in progress */
	uint32_t count, started;
	atomic_bool stop;
	atomic_uint fence;
	pthread_mutex_t lock;
	pthread_cond_t ended;
	uint32_t running; /* under the lock */
};

/* 0 or a negative errno. A zeroed one may be given to fini(). */
int bf_workers_init(struct bf_workers *w);
void bf_workers_fini(struct bf_workers *w);

/*
 * Starts a thread for each warp of all grids that wait in `m`. 0, or a negative errno with m->err set; join() in any
 * case.
 */
int bf_workers_start(struct bf_workers *w, struct bf_world *m);

/* Waits for all of them, or for the time limit; then tells those that still run to stop. True when the limit struck. */
bool bf_workers_wait(struct bf_workers *w, uint64_t limit_ps);

/* Joins the threads; the first error of a warp is the result. Afterwards describe() says who did not end. */
int bf_workers_join(struct bf_workers *w, struct bf_error *err);
void bf_workers_describe(const struct bf_workers *w, char *report, size_t cap);

/*
 * bf_backend.run() of a backend whose device is real: start, wait, join, and what became of it in `out`; the report
 * says who did not end.
 */
int bf_workers_run(struct bf_workers *w, struct bf_world *m, struct bf_world_result *out);

/* Forgets the run. */
void bf_workers_clear(struct bf_workers *w);

#endif
