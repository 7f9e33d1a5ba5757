/*
 * Experiments behind the timing vectors of a Hopper GPU, as `belfry check hopper-timing` runs them on the model: one
 * function a kind of row. It reads the row's parameters, runs the same experiment and compares what it measured.
 *
 * A program here is what the CUDA probe was, with the barrier operations done by the model. What the probe's other
 * instructions took (clock reads, loop ends, address arithmetic) is no part of the model: each experiment has it as a
 * constant of its own, with what it stands for.
 */
#ifndef BELFRY_TOOLS_CALIBRATE_HOPPER_ROWS_H
#define BELFRY_TOOLS_CALIBRATE_HOPPER_ROWS_H

#include <stddef.h>

#include "models/hopper/program.h"
#include "traces/container/json_line.h"

#define BF_ROW_LIST 2048u /* values of the longest list */

/* A value that was compared: what silicon had, and how far off another may be. */
struct bf_row_value {
	int64_t silicon;
	uint64_t bound;
};

/* What warps do behind a wait, in thousandths of a cycle (hopper_rows_wait.c): no part of the model. */
struct bf_row_code {
	uint32_t crowd, fetch;
};
extern const struct bf_row_code bf_row_code;

/*
 * A row and how the model did. Values are in thousandths. The first error that a reading call meets stays in `rc`, and
 * later readings give zeros: a run may look at the end.
 */
struct bf_row {
	struct bf_json_line *line;
	const struct bf_hopper_profile *profile;
	const struct bf_row_code *code;
	int rc;
	uint32_t values, out; /* compared, and how many of them were out of bounds */
	/* The value that is furthest out (or nearest to it), as the row's line shows it. */
	char field[64];
	int64_t silicon, model;
	uint64_t badness;    /* error in thousandths of the bound: above 1000 is out */
	const char *problem; /* why the experiment could not run; NULL */
	char text[128];      /* of a value that must be exact and is not */
	/* All `values` of them, in the order of the experiment. Whoever has the row frees it. */
	struct bf_row_value *value;
	size_t value_cap;
};

typedef void bf_row_fn(struct bf_row *row);

/*
 * Runs the row's experiment: whether all values are within their bounds. `kind` gets its name, `*number` the kind's
 * place in the list of kinds. Look at `rc` and `problem`.
 */
bool bf_row_run(struct bf_row *row, char *kind, size_t cap, size_t *number);

/* What the row says: an integer, a number in thousandths, a list of them, a text compared with `text`. */
bool bf_row_has(const struct bf_row *row, const char *name);
uint32_t bf_row_u32(struct bf_row *row, const char *name);
int64_t bf_row_number(struct bf_row *row, const char *name);
uint32_t bf_row_list(struct bf_row *row, const char *name, int64_t *out); /* at most BF_ROW_LIST */
bool bf_row_is(struct bf_row *row, const char *name, const char *text);
uint32_t bf_row_text(struct bf_row *row, const char *name, char *out, uint32_t cap); /* its length */

/* A list of 64-bit words in hexadecimal; their number. */
uint32_t bf_row_words(struct bf_row *row, const char *name, uint64_t *out, uint32_t cap);

/* Compares: within 5 % or 3 cycles (both in thousandths). */
void bf_row_compare(struct bf_row *row, const char *field, int64_t silicon, int64_t model);

/* Whether another row's value is within the bounds of this one. */
bool bf_row_value_near(const struct bf_row_value *value, const struct bf_row_value *other);

/* For what varies from run to run on silicon: within so many per cent. */
void bf_row_within(struct bf_row *row, const char *field, int64_t silicon, int64_t model, uint32_t percent);

/* Must be equal. */
void bf_row_exact(struct bf_row *row, const char *field, int64_t silicon, int64_t model);
void bf_row_exact_text(struct bf_row *row, const char *field, const char *silicon, const char *model);

/* Each value of a list against the one of its rank: who of several equal warps was first does not matter. Sorts both.
 */
void bf_row_ranks(struct bf_row *row, const char *field, int64_t *silicon, int64_t *model, uint32_t n);

/*
 * What varies from run to run on silicon: the mean within 5 % or 3 cycles, quartiles within 10 %, the largest within
 * 15 %. Sorts both.
 */
void bf_row_spread(struct bf_row *row, const char *field, int64_t *silicon, uint32_t n, int64_t *model, uint32_t m);

/* ---- running ---- */

/* A GPU in a simulation of its own, with blocks on it. */
struct bf_lab {
	struct bf_sim *sim;
	struct bf_hopper *gpu;
	struct bf_hopper_cta *cta[BF_HOPPER_CLUSTER_MAX];
	struct bf_warp *warp[64 * BF_HOPPER_CLUSTER_MAX];
	uint32_t warps;
	struct bf_row *row;
};

/* With a cluster of `ctas` blocks of `warps` warps; another of those on the same SM with bf_lab_block(). */
bool bf_lab_open(struct bf_lab *lab, struct bf_row *row, uint32_t ctas, uint32_t warps);
struct bf_hopper_cta *bf_lab_block(struct bf_lab *lab, uint32_t sm, uint32_t warps);
void bf_lab_close(struct bf_lab *lab);

/* A warp that runs `main`; `lanes` 0: all. */
struct bf_warp *bf_lab_warp(struct bf_lab *lab, struct bf_hopper_cta *cta, uint32_t warp, uint32_t lanes,
			    bf_warp_fn *main, void *arg);

/* Its other lanes have exited, so that it may park. Takes NULL. */
void bf_lab_alone(struct bf_warp *w);

/* Until every program has ended; a deadlock or fault becomes the row's problem. */
void bf_lab_run(struct bf_lab *lab);

/* Self: spends thousandths of cycles on code that nothing models. */
void bf_lab_spend(struct bf_warp *w, int64_t mc);

/* Self: fills in w->instr for one barrier: `count` is the number of arrivals, the initial count or the parity. */
struct bf_sync_instr *bf_lab_instr(struct bf_warp *w, enum bf_sync_op op, uint32_t address, uint32_t count);

/* Thousandths of cycles since the simulation began. Self. */
int64_t bf_lab_clock(const struct bf_warp *w);

/* From the arrive that completes barrier `b` of so many to the next one, as the first probe's loop takes it. */
int64_t bf_lab_between(uint32_t b, uint32_t barriers);

/* Address of the i-th barrier at a stride, in the window of a block. */
uint32_t bf_lab_barrier(const struct bf_hopper_cta *cta, uint32_t i, uint32_t stride);

/* ---- the kinds, by file ---- */

/* hopper_rows_sync.c: one or several warps that do not wait; the barrier cache. */
bf_row_fn bf_row_arrive_cycle, bf_row_test_cycle, bf_row_stride, bf_row_plain, bf_row_merge, bf_row_arrive_throughput,
    bf_row_single_latency, bf_row_stale, bf_row_replacement, bf_row_plain_store, bf_row_cta_exit;

/* hopper_rows_wait.c: the try-wait buffer. */
bf_row_fn bf_row_pingpong, bf_row_wake, bf_row_noise, bf_row_wake_order, bf_row_evict_parked;

/* hopper_rows_shape.c: which warps may park. */
bf_row_fn bf_row_park_shape, bf_row_wake_lanes;

/* hopper_rows_limit.c: its time limit and its size. */
bf_row_fn bf_row_timeout, bf_row_timeout_bg, bf_row_limit_spread, bf_row_limit_many, bf_row_limit_pair,
    bf_row_hint_arrive, bf_row_wait62, bf_row_pool;

/* hopper_rows_remote.c: clusters. */
bf_row_fn bf_row_remote_pingpong, bf_row_remote_throughput, bf_row_cluster_remote_arrive;

/* hopper_rows_host.c: host memory. */
bf_row_fn bf_row_gpu_post_host, bf_row_gpu_cpu_pingpong;

/* hopper_rows_bulk.c: bulk copies. */
bf_row_fn bf_row_bulk, bf_row_bulk_pipe, bf_row_tx_partial, bf_row_evict_bulk;

#endif
