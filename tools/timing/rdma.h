/*
 * Measurements on two modelled ConnectX NICs, as perftest and its kin make them: a poster writes entries, doorbell
 * records and doorbells as bytes, and looks at completions or at memory. Software is the time it takes: it is not run.
 * One thread per call; nothing is left behind.
 */
#ifndef BELFRY_TOOLS_TIMING_RDMA_H
#define BELFRY_TOOLS_TIMING_RDMA_H

#include "models/mlx5/mlx5.h"

enum bf_perf_op { BF_PERF_WRITE, BF_PERF_WRITE_IMM, BF_PERF_SEND, BF_PERF_READ, BF_PERF_FETCH_ADD };

struct bf_perf_run {
	const struct bf_mlx5_profile *nic;
	enum bf_perf_op op;
	uint64_t size;        /* bytes of a message */
	uint32_t qps, depth;  /* rates: queue pairs; entries under way in each */
	uint32_t mtu;         /* as a queue pair context has it: 1 (256) to 5 (4096) */
	uint32_t inline_max;  /* messages up to it travel in the entry */
	bool blueflame;       /* the first 64 bytes of the entry come with the doorbell */
	bool gpu_data;        /* payload lies in GPU memory, on both sides */
	bool gpu_source;      /* at the poster alone */
	bool gpu_queue;       /* so do rings and doorbell records */
	uint64_t post_ps;     /* from the software's decision to its store to the doorbell */
	uint64_t poll_ps;     /* from a change in memory until the software has seen it */
	uint64_t interval_ps; /* rates: between two posts of the one thread that posts */
};

typedef int bf_perf_fn(const struct bf_perf_run *run, uint64_t *ps, struct bf_error *err);

/* All give 0 with `*ps` set, or a negative errno with `err` set. */

/* From the decision to post one message to its completion seen. */
bf_perf_fn bf_perf_completion;
/* Half of a round trip of two who answer each other: WRITE, WRITE with immediate, SEND. */
bf_perf_fn bf_perf_half_round;
/* From one message to the next, with `depth` messages of each queue pair under way. */
bf_perf_fn bf_perf_interval;
/* From the decision to post `messages` of them, over all queue pairs in turn, to the last completion seen. */
int bf_perf_batch(const struct bf_perf_run *run, uint32_t messages, uint64_t *ps, struct bf_error *err);

#endif
