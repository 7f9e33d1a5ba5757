/*
 * Bootstrap: how processing elements (PEs) find each other before there is a network between them.
 *
 * Three collective calls are enough to connect everything else: each PE makes the same calls in the same order, and
 * none returns before all have come. The same host code runs over any of these:
 *
 *   local    all PEs in this process, one coroutine each, while no simulated time passes
 *   agents   the same, called by agents of a running simulation; costs simulated time
 *   threads  one thread a PE
 *   socket   one process a PE (or a rank), libuv streams on this machine; `belfry launch` starts them
 *   mpi      one process a rank, by MPI
 *
 * NVSHMEM's transports are given the same three calls (src/include/bootstrap_host_transport). A handle belongs to one
 * PE and is used by that PE's thread, agent or coroutine alone.
 */
#ifndef BELFRY_DRIVERS_BOOTSTRAP_BOOTSTRAP_H
#define BELFRY_DRIVERS_BOOTSTRAP_BOOTSTRAP_H

#include <stddef.h>
#include <stdint.h>

#include "sim/error.h"

struct bf_boot {
	uint32_t pe, npes;
	/*
	 * All return 0 or a negative errno (-ECONNRESET: a PE is gone or gave up), with the text in `err` of whoever
	 * opened the handle. Buffers are the caller's.
	 */
	/* `in`: `bytes`; `out`: npes * bytes, in order of PE. */
	int (*allgather)(struct bf_boot *b, const void *in, void *out, size_t bytes);
	/* `in`: npes * bytes, the part for PE j at j * bytes; `out`: what PE j sent here at j * bytes. */
	int (*alltoall)(struct bf_boot *b, const void *in, void *out, size_t bytes);
	int (*barrier)(struct bf_boot *b);
	/* This PE gives up: collective calls of all others fail from now on instead of waiting for it. */
	void (*abort)(struct bf_boot *b);
};

/*
 * Local: runs fn(boot, arg) for each of `npes` PEs, from the first on, each as a coroutine that gives way inside
 * collective calls, until all have returned. Returns 0, or the first failure: the lowest PE's that did not fail with
 * -ECONNRESET only because another one gave up. A PE that returns non-zero counts as having given up.
 *
 * With `ranks` (may be NULL) the PEs are spread over processes: `ranks` is a handle whose PEs are the processes, this
 * one runs PEs first..first + count - 1 of `npes`, and collective calls go across.
 */
typedef int bf_boot_fn(struct bf_boot *boot, void *arg);
int bf_boot_local_run(uint32_t npes, bf_boot_fn *fn, void *arg, struct bf_error *err);
int bf_boot_ranks_run(struct bf_boot *ranks, uint32_t npes, uint32_t first, uint32_t count, bf_boot_fn *fn, void *arg,
		      struct bf_error *err);

/* Threads: the same, each PE on a thread of its own. `fn` must be safe to run in parallel. */
int bf_boot_threads_run(uint32_t npes, bf_boot_fn *fn, void *arg, struct bf_error *err);

#endif
