/*
 * A Hopper GPU as far as its sync units need it: SMs with shared memory, blocks (CTAs) with a window of it each,
 * clusters of blocks that reach each other's windows.
 *
 * No core is modelled: warps are whoever issues instructions (struct bf_sync_instr), at the times at which they say so.
 * A request travels bf_hopper_issue() -> unit.c, or over remote.c to the unit of another SM.
 *
 * Addresses of instructions are shared::cluster addresses as SASS shows them: the rank of the block in bits 31:24, the
 * offset in its window below. A block's own (shared::cta) addresses carry its own rank, so that they are the same
 * thing; bf_hopper_map() is PTX's mapa.
 *
 * One thread: the simulation's.
 */
#ifndef BELFRY_MODELS_HOPPER_HOPPER_H
#define BELFRY_MODELS_HOPPER_HOPPER_H

#include "models/hopper/unit.h"

struct bf_hopper;     /* a GPU; opaque */
struct bf_hopper_cta; /* a resident block; opaque */

#define BF_HOPPER_RANK_SHIFT 24

struct bf_hopper_opts {
	const char *name;                        /* "gpu0" */
	const struct bf_hopper_profile *profile; /* NULL: bf_hopper_h200; copied */
	uint32_t first_block, first_copy;        /* numbers in records begin there: of several GPUs in one stream */
};

/* Returns 0, -ENOMEM, or -EINVAL with sim->error set. Shared memory starts as zeros. */
int bf_hopper_create(struct bf_sim *sim, const struct bf_hopper_opts *opts, struct bf_hopper **out);
void bf_hopper_destroy(struct bf_hopper *gpu);
const struct bf_hopper_profile *bf_hopper_profile(const struct bf_hopper *gpu);

/*
 * From now on `fn` is told of each phase that a barrier completes, just then, by its address in the shared memory of
 * the SM (bf_hopper_cta_base()). For who polls with test_wait and sleeps meanwhile.
 */
typedef void bf_hopper_phase_fn(void *arg, uint32_t sm, uint32_t address);
void bf_hopper_on_phase(struct bf_hopper *gpu, bf_hopper_phase_fn *fn, void *arg);
struct bf_sim *bf_hopper_sim(const struct bf_hopper *gpu);

/* Cycles of the SM clock as picoseconds, rounded down; and from milli-cycles. */
uint64_t bf_hopper_ps(const struct bf_hopper *gpu, uint64_t cycles);

/* ---- blocks ---- */

struct bf_hopper_launch {
	uint32_t sm;           /* of rank 0; rank r goes to SM (sm + r) modulo the number of SMs */
	uint32_t ctas;         /* of the cluster, 1..16; 0: 1 */
	uint32_t shared_bytes; /* of each block */
	uint32_t warps;        /* of each block */
};

/*
 * Makes a cluster resident; its blocks are ctas[0..]. Shared memory keeps what it holds. -EINVAL naming the field;
 * -ENOSPC when an SM lacks shared memory or warp slots; -ENOMEM.
 */
int bf_hopper_launch(struct bf_hopper *gpu, const struct bf_hopper_launch *l, struct bf_hopper_cta **ctas);

/*
 * The block exits: its cached barriers are dropped without being written back. What others send there from now on
 * faults. Its waiters, which can only be a caller's mistake, are killed. `cta` is no longer valid.
 */
void bf_hopper_exit(struct bf_hopper_cta *cta);

struct bf_hopper *bf_hopper_cta_gpu(const struct bf_hopper_cta *cta);
struct bf_sync_unit *bf_hopper_cta_unit(const struct bf_hopper_cta *cta);
uint32_t bf_hopper_cta_rank(const struct bf_hopper_cta *cta);
uint32_t bf_hopper_cta_sm(const struct bf_hopper_cta *cta);
uint32_t bf_hopper_cta_slot(const struct bf_hopper_cta *cta, uint32_t warp); /* warp slot of its warp */
uint32_t bf_hopper_cta_base(const struct bf_hopper_cta *cta); /* of its window in the SM's shared memory */
struct bf_hopper_cta *bf_hopper_cta_peer(const struct bf_hopper_cta *cta, uint32_t rank); /* NULL: none or gone */

/* The bytes of its window (memory below the barrier cache). */
uint8_t *bf_hopper_cta_bytes(const struct bf_hopper_cta *cta, uint32_t *len);

/* The address of what is at `address` in the block, but in the block of that rank. */
uint32_t bf_hopper_map(uint32_t address, uint32_t rank);

/* ---- instructions ---- */

/*
 * A warp of `cta` issues `instr` now. Own and other blocks may mix among the lanes. Remote: ARRIVE and ARRIVE_DROP (no
 * token), EXPECT_TX, COMPLETE_TX, ST_ASYNC; anything else remote, an address outside the window or misaligned, faults.
 * `done` of a remote operation comes when the instruction has left the SM.
 */
void bf_hopper_issue(struct bf_hopper_cta *cta, struct bf_sync_instr *instr);

/* ---- faults and reports ---- */

enum bf_hopper_fault_kind {
	BF_HOPPER_FAULT_NONE,
	BF_HOPPER_FAULT_BARRIER, /* `barrier` says what */
	BF_HOPPER_FAULT_ADDRESS, /* outside the window, or misaligned */
	BF_HOPPER_FAULT_GONE,    /* the block of that rank has exited, or never was */
	BF_HOPPER_FAULT_REMOTE,  /* an operation that cannot be remote */
	BF_HOPPER_FAULT_COPY,    /* a copy broke a rule: bf_bulk_fault() says which */
};

/* The first fault ends the kernel: nothing that runs on the GPU goes on ("unspecified launch failure"). */
struct bf_hopper_fault {
	enum bf_hopper_fault_kind kind;
	enum bf_mbar_fault barrier;
	enum bf_sync_op op;
	uint32_t sm, warp, lane; /* `sm` where it happened, `warp` a slot */
	uint32_t address;        /* as the instruction had it */
	uint64_t word;           /* of the barrier */
	uint64_t when_ps;
};
const struct bf_hopper_fault *bf_hopper_fault(const struct bf_hopper *gpu);

/*
 * Who waits for what: for each barrier with parked waiters a line that names the block, the barrier's address, its
 * phase, missing arrivals and bytes, who waits, and who arrived last; the fault, if any, first. Writes at most `cap`
 * bytes with the final NUL; returns the length of the whole text as snprintf() does.
 */
size_t bf_hopper_describe(const struct bf_hopper *gpu, char *buf, size_t cap);

/* Statistics by name behind the GPU's ("gpu0.arrivals"): what struct bf_sync_counts has, over all SMs. */
/* Records: models/hopper/records.h (types 500 to 549). Each SM is an actor of kind "sm": "gpu0.sm3". */

#endif
