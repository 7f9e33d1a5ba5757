/* What the host's part of failover and its supervisors, compiled for each platform, share. Not installed. */
#ifndef BELFRY_DRIVERS_IBGDA_FAILOVER_INTERNAL_H
#define BELFRY_DRIVERS_IBGDA_FAILOVER_INTERNAL_H

#include "drivers/ibgda/failover_host.h"

#define BF_FAILOVER_NICS 8u
#define BF_FAILOVER_PORTS 2u

/*
 * One end of a path. `count` goes up by one when the end is stopped (odd from then on) and when it has been brought
 * back. The path may be used while both ends have the same even count, and is dead for sure when both are odd, or the
 * other one is a step further.
 */
struct bf_failover_end {
	struct bf_ibgda_qp *qp;
	uint32_t nic, port;
	uint32_t count;
	uint64_t since_ns; /* both ends are in this state; 0: not yet */
	bool fresh;        /* brought back; counters in mvars are still those of its last life */
};

/* An RC of one PE: its primary end and the backup's. */
struct bf_failover_rc {
	struct bf_failover_end end[2];
	uint64_t *told[2];  /* what this PE says of its counts ... */
	uint64_t *heard[2]; /* ... and where the peer says it of its own */
	bool moving;        /* `from` is closed and quiet; its entries wait to be posted elsewhere */
	uint32_t from;
	uint64_t first, last; /* those entries */
};

struct bf_failover_pe {
	struct bf_ibgda_failover *f;
	uint32_t pe;
	struct bf_ibgda_state *state;
	uint32_t *ended;  /* threads of the grid, in the PE's memory */
	uint32_t threads; /* of them there are */
	bool counted;
	uint32_t others_ended; /* PEs from the first on that it knows of */
	struct bf_failover_rc *rc;
	uint32_t nrc;
	uint64_t down_ns[BF_FAILOVER_NICS][BF_FAILOVER_PORTS]; /* since when; 0: up */
	struct bf_ibgda_failover_totals totals;
	/* The grid that it wraps. */
	bf_kernel_fn *kernel;
	void *arg;
};

struct bf_ibgda_failover {
	const struct bf_backend *be;
	struct bf_world *world;
	struct bf_ibgda_host *host;
	struct bf_ibgda_failover_opts opts;
	struct bf_error *err;
	uint32_t npes, nrc;
	/*
	 * The control network: count << 48 | the time from which it can be known. [npes][rc][2] of ends; behind them
	 * one of each PE, whose count is 1 when its grid has ended.
	 */
	uint64_t *said;
	uint64_t nsaid; /* of ends */
	struct bf_failover_pe pe[];
};

/* Tells PE `to` (UINT32_MAX: all), if in another process, what is in f->said[where]; known from `at_ns` on. */
void bf_ibgda_failover_say(struct bf_ibgda_failover *f, uint32_t to, uint64_t at_ns, uint64_t where);
/* The producer index of its send CQ, 24 bits. 0 or a negative errno. */
int bf_ibgda_failover_ask_cq(struct bf_failover_pe *s, const struct bf_failover_end *e, uint32_t *producer);
/* Puts an end into the error state. */
int bf_ibgda_failover_stop(struct bf_failover_pe *s, const struct bf_failover_end *e);

/* The two kernels, for each platform: a grid's with a count of its threads at the end, and a supervisor. */
struct bf_failover_kernels {
	bf_kernel_fn *grid, *supervisor;
};
extern const struct bf_failover_kernels bf_ibgda_failover_sim, bf_ibgda_failover_native;

#endif
