/*
 * IBGDA, host side of failover: a supervisor on the CPU of each PE (NVSHMEM has its proxy thread there) that notices
 * dead paths, moves their traffic to the backups and, when a path is there again, back.
 *
 * A path is a pair of queue pairs, one at each PE. A supervisor gives one up when a completion with an error shows on
 * its queue pair, when its port has been down for a while, or when the peer's supervisor has. Both ends go into the
 * error state first, and each tells the other through the control network (outside of the modelled fabric; what
 * bootstraps run on): only then can nothing of the old path execute any more. Then each end, for itself,
 *
 *   closes its queue, waits for posters to leave it and takes stock (failover.h),
 *   posts on the other queue what was in flight, once both ends of that one work, and lets traffic go on,
 *   brings its queue pair of the dead path back through RESET, as soon as its port is up again and what was in the
 *   network at the time is surely gone.
 *
 * When a primary path has worked at both ends for a while, its traffic moves back; for that nothing is repeated.
 *
 * Guarantees, in addition to what failover.h says of one move: each end may lose its paths in any order and number,
 * even both at once. Then its traffic waits until one of them is back. Entries in flight are lost in one case only: the
 * path that they are being repeated on dies before its ring had room for all of them (an entry longer than a block
 * takes one block more there than it did). Then the RC is given up, and everybody who waits for it returns
 * BF_IBGDA_FAILED
 * (`lost` below). Packets are taken to be gone from the network after drain_ns, because the device's packet numbers
 * start anew when a path is brought back.
 *
 * Virtual time and live mode. In a simulation that is spread over processes the control network goes across: each PE
 * does the same as in one process.
 */
#ifndef BELFRY_DRIVERS_IBGDA_FAILOVER_HOST_H
#define BELFRY_DRIVERS_IBGDA_FAILOVER_HOST_H

#include "drivers/ibgda/host.h"

/* Times in nanoseconds; 0: the default in brackets. */
struct bf_ibgda_failover_opts {
	uint32_t poll_ns;    /* between looks [2000; live: 100000] */
	uint32_t command_ns; /* what a command to the device takes [10000] */
	uint32_t control_ns; /* of the control network, one way [20000] */
	uint32_t down_ns;    /* a port that is down for so long is not waited for [10000] */
	uint32_t drain_ns;   /* longest life of a packet [100000] */
	uint32_t stable_ns;  /* how long a primary path works before traffic goes back [50000] */
	bool no_fail_back;
	uint32_t lanes; /* of each warp, as the world's; 0: 32 */
};

/* What supervisors did; of one PE or of all. Entries are WQEs, without those of no effect of their own (NOP, DUMP). */
struct bf_ibgda_failover_totals {
	uint64_t stopped;     /* queue pairs put into the error state */
	uint64_t moved, back; /* moves to the other queue, with replay; moves back, without */
	uint64_t reconnected;
	uint64_t replayed; /* entries posted once more */
	uint64_t unknown;  /* atomics and writes with immediate data in doubt: done or not, never twice */
	uint64_t no_key;   /* entries that the other device has no keys for */
	uint64_t lost;     /* RCs given up */
};

struct bf_ibgda_failover; /* opaque */

/*
 * For the connections that `h`, opened with backups, has now. Everything is borrowed until close, which comes before
 * theirs. 0, or a negative
 * errno with `err` set: -EINVAL without backups, -ENOTSUP for PEs of several processes
 * that do not share a simulation.
 */
int bf_ibgda_failover_open(const struct bf_backend *be, struct bf_world *w, struct bf_ibgda_host *h, uint32_t npes,
			   const struct bf_ibgda_failover_opts *opts, struct bf_error *err,
			   struct bf_ibgda_failover **out);
void bf_ibgda_failover_close(struct bf_ibgda_failover *f);

/*
 * Instead of the backend's launch(): the grid, and the PE's supervisor, which ends when the grids of all PEs have. Once
 * for each PE of a run; the run's result then has the end BF_END_LIMIT where it would be a deadlock without them.
 */
int bf_ibgda_failover_launch(struct bf_ibgda_failover *f, uint32_t pe, uint32_t blocks, uint32_t warps,
			     bf_kernel_fn *kernel, void *arg);

/* Of PE `pe`, or of all with UINT32_MAX. While nothing runs. Also statistics: "failover.pe0.moved" and so on. */
void bf_ibgda_failover_totals(const struct bf_ibgda_failover *f, uint32_t pe, struct bf_ibgda_failover_totals *out);

#endif
