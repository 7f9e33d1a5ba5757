/*
 * Clusters of thread blocks with shared memory: where code for Hopper's barriers runs without a GPU.
 *
 * models/hopper in virtual time: lanes are agents; those of a warp that ask for the same operation at the same time
 * make up one warp instruction. Same options, same seed: same records, byte for byte. Kernels are those of platform sim
 * (drivers/mbarrier/kernels.h), or the same code as nvcc compiled it. One thread calls these functions.
 */
#ifndef BELFRY_DRIVERS_BACKEND_CLUSTER_H
#define BELFRY_DRIVERS_BACKEND_CLUSTER_H

#include "drivers/backend/backend.h"

struct bf_cluster_world; /* opaque */
struct bf_hopper_profile;

struct bf_cluster_opts {
	uint64_t seed;
	enum bf_ordering ordering;               /* how late plain stores become visible, how much warps stall */
	struct bf_stacks *stacks;                /* what threads run on, from world to world; or NULL. Borrowed. */
	struct bf_chooser *chooser;              /* who answers choices (sim/choice.h); NULL: the seed. Borrowed. */
	const char *faults;                      /* a fault plan (sim/fault.h) or NULL; borrowed during open */
	const struct bf_hopper_profile *profile; /* NULL: h200 */
	uint64_t limit_ps;                       /* of virtual time; 0: none */
	uint32_t record_mask;                    /* BF_CLASS_* */
	struct bf_sink *sink;                    /* borrowed; may be NULL */
	/* The file with our drivers' device code as PTX, which grids run in place of the C code; NULL. Borrowed. A
	 * world of its own only. */
	const char *ptx;
	/*
	 * A machine that it stands in, with other devices; NULL: a world of its own. Then seed, stacks, chooser,
	 * faults, limit and records are those of that simulation, global memory is what `space` has, `domain` the GPU's
	 * level of stores, and `name` ("pe0.") stands in front of the names of units and threads. All borrowed until
	 * close.
	 */
	struct bf_sim *sim;
	struct bf_space *space;
	struct bf_domain *domain;
	const struct bf_cost *cost;
	const char *name;
	/* Where its first block goes, and how many grids there were before: all of a machine have numbers of their own.
	 */
	uint32_t first_sm, grids;
};

struct bf_cluster_grid {
	uint32_t clusters, ctas; /* ctas: blocks of each cluster, 1..16 */
	uint32_t warps;          /* of each block */
	uint32_t threads;        /* of each block; 0: all lanes of its warps */
	uint32_t shared_bytes;   /* of each block */
	bf_kernel_fn *kernel;
	void *arg;
	/* In a world with PTX: the kernel there, whose one parameter are `arg_bytes` bytes at `arg`. */
	const char *ptx_kernel;
	uint32_t arg_bytes;
};

enum bf_cluster_end {
	BF_CLUSTER_DONE,
	BF_CLUSTER_HUNG,  /* nobody will ever go on */
	BF_CLUSTER_FAULT, /* the kernel ended in a fault ("unspecified launch failure") */
	BF_CLUSTER_LIMIT,
};

struct bf_cluster_result {
	enum bf_cluster_end end;
	uint64_t time_ps, events, hash, records;
	uint64_t barrier_ops, phases, waits, parked, bulk_bytes; /* of the units and copy engines */
	char report[6144];                                       /* not DONE: who waits for what, and who is missing */
};

/* 0, -ENOMEM or -EINVAL with `err` set, which is kept for later calls. */
int bf_cluster_open(const struct bf_cluster_opts *opts, struct bf_error *err, struct bf_cluster_world **out);
void bf_cluster_close(struct bf_cluster_world *w);

/* Zeroed global memory, freed at close. */
int bf_cluster_alloc(struct bf_cluster_world *w, uint64_t size, const char *name, struct bf_memory *out);

/* Runs a grid to its end. A world whose grid did not come to its end runs no other. */
int bf_cluster_run(struct bf_cluster_world *w, const struct bf_cluster_grid *grid, struct bf_cluster_result *out);

/*
 * The two halves of a run in a machine: starts the grid, which the machine's own run brings to its end; says afterwards
 * how it stands. One grid for each world. HUNG: it has stopped the run, since nobody in it will ever go on.
 */
int bf_cluster_start(struct bf_cluster_world *w, const struct bf_cluster_grid *grid);
void bf_cluster_standing(struct bf_cluster_world *w, struct bf_cluster_result *out);

/* The simulation behind it, for statistics. */
struct bf_sim *bf_cluster_sim(struct bf_cluster_world *w);

#endif
