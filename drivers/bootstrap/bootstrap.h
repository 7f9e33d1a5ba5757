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

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sim/compiler.h"
#include "sim/error.h"

BF_API_BEGIN

/* A message of any length, borrowed; and room for one, which is malloc()ed and grows. */
struct bf_boot_part {
	const void *data;
	size_t bytes;
};
struct bf_boot_buf {
	void *data;
	size_t bytes, cap;
};

/* The longest that one call may carry from one PE to another. */
#define BF_BOOT_BYTES_MAX ((size_t)1 << 30)

struct bf_boot {
	uint32_t pe, npes;
	/*
	 * All return 0 or a negative errno (-ECONNRESET: a PE is gone or gave up), with the text in `err` of whoever
	 * opened the handle. Buffers are the caller's.
	 */
	/*
	 * `in`: `bytes`; `out`: npes * bytes, in order of PE. Of the PEs of one process all but the first may pass no
	 * `out`, when they look at the first one's.
	 */
	int (*allgather)(struct bf_boot *b, const void *in, void *out, size_t bytes);
	/* `in`: npes * bytes, the part for PE j at j * bytes; `out`: what PE j sent here at j * bytes. */
	int (*alltoall)(struct bf_boot *b, const void *in, void *out, size_t bytes);
	int (*barrier)(struct bf_boot *b);
	/*
	 * An alltoall of messages of any length: out[j] goes to PE j, in[j] gets what PE j sent here. One message each
	 * way, lengths included. NULL: this kind has no such call of its own; bf_boot_exchange() makes one of the
	 * others.
	 */
	int (*exchange)(struct bf_boot *b, const struct bf_boot_part *out, struct bf_boot_buf *in);
	/* This PE gives up: collective calls of all others fail from now on instead of waiting for it. */
	void (*abort)(struct bf_boot *b);
	/* NULL: it belongs to the call that made it. */
	void (*close)(struct bf_boot *b);
};

/*
 * The handle of this process among those that were started together: by `belfry launch` (socket.h names its variables)
 * or by MPI's mpirun. `kind`: "auto" looks for either, "socket", "mpi", or "none". *out is NULL, with 0, when there are
 * no others to be found. Otherwise 0 or a negative errno with text in `err`, which is kept for later calls; -ENOTSUP:
 * this build or machine lacks what it takes. For bf_boot_close().
 */
int bf_boot_env_open(const char *kind, struct bf_error *err, struct bf_boot **out);

/* Whether Open MPI's mpirun started this process, or another launcher that speaks PMIx or PMI. */
bool bf_boot_under_mpirun(void);

/* How many processes were started together with this one, as their launcher's variables say; 1: none. */
uint32_t bf_boot_env_ranks(void);

/* Leaves the others; does nothing with NULL. Whoever still calls gets -ECONNRESET. */
void bf_boot_close(struct bf_boot *b);

/* Whatever kind `b` is. `in`: npes rooms, zeroed before their first use; free() their data. */
int bf_boot_exchange(struct bf_boot *b, const struct bf_boot_part *out, struct bf_boot_buf *in);

/* Makes room for `bytes` and sets the length; what was in there is lost. 0 or -ENOMEM. */
int bf_boot_buf_reserve(struct bf_boot_buf *buf, size_t bytes);

/*
 * Local: runs fn(boot, arg) for each of `npes` PEs, from the first on, each as a coroutine that gives way inside
 * collective calls, until all have returned. Returns 0, or the first failure: the lowest PE's that did not fail with
 * -ECONNRESET only because another one gave up. A PE that returns non-zero counts as having given up.
 *
 * With `ranks` (may be NULL) the PEs are spread over processes: `ranks` is a handle whose PEs are the processes, this
 * one runs PEs first..first + count - 1 of `npes` (at least one, in order of process), and collective calls go across.
 * All processes return the same.
 */
typedef int bf_boot_fn(struct bf_boot *boot, void *arg);
int bf_boot_local_run(uint32_t npes, bf_boot_fn *fn, void *arg, struct bf_error *err);
int bf_boot_ranks_run(struct bf_boot *ranks, uint32_t npes, uint32_t first, uint32_t count, bf_boot_fn *fn, void *arg,
		      struct bf_error *err);

/* Threads: the same, each PE on a thread of its own. `fn` must be safe to run in parallel. */
int bf_boot_threads_run(uint32_t npes, bf_boot_fn *fn, void *arg, struct bf_error *err);

BF_API_END

#endif
