/* What the files of models/hopper share: the GPU, its SMs and blocks. Not installed. */
#ifndef BELFRY_MODELS_HOPPER_HOPPER_INTERNAL_H
#define BELFRY_MODELS_HOPPER_HOPPER_INTERNAL_H

#include "models/hopper/hopper.h"

#define BF_HOPPER_OFFSET ((1u << BF_HOPPER_RANK_SHIFT) - 1)

struct bf_hopper_sm {
	struct bf_hopper *gpu;
	struct bf_sync_unit *unit; /* NULL until a block is placed here */
	uint8_t *shared;
	struct bf_hopper_cta *ctas; /* its blocks, in order of their windows */
	uint64_t warps;             /* slots in use */
	uint64_t send_ps;           /* when its port to the cluster network is free */
	uint64_t recv_ps;           /* when it can take the next remote request */
	uint32_t id;
	uint32_t actor;
};

struct bf_hopper_cta {
	struct bf_hopper_sm *sm;
	struct bf_hopper_cluster *cluster;
	struct bf_hopper_cta *next, **link;        /* of the GPU's */
	struct bf_hopper_cta *above, **above_link; /* of its SM's */
	uint32_t rank;
	uint32_t base, bytes;
	uint32_t first_warp, warps;
	uint32_t number; /* from 0 in order of launch */
	/*
	 * Told of each plain store before it changes memory: what keeps track of the async proxy's stale view. NULL:
	 * nobody.
	 */
	void (*stored)(void *arg, struct bf_hopper_cta *cta, uint32_t warp, uint32_t address, uint32_t len);
	void *stored_arg;
};

struct bf_hopper_cluster {
	uint32_t ctas;
	uint32_t holds;                                   /* blocks that have not exited, and messages on their way */
	struct bf_hopper_cta *cta[BF_HOPPER_CLUSTER_MAX]; /* by rank; NULL: has exited */
};

struct bf_hopper_message; /* remote.c: a remote operation on its way */

struct bf_hopper {
	struct bf_sim *sim;
	struct bf_hopper_profile profile;
	char name[32];
	struct bf_hopper_sm *sm;
	struct bf_hopper_cta *ctas;
	uint32_t launched, first_copy;
	struct bf_hopper_fault fault;
	struct bf_hopper_message *messages; /* all that were ever made */
	struct bf_hopper_message *idle;     /* those that are free */
	struct bf_bulk *bulk;               /* copy engines; NULL: none */
	bf_hopper_phase_fn *phase;          /* NULL: nobody wants to know */
	void *phase_arg;
};

static inline uint64_t bf_hopper_mc(const struct bf_hopper *gpu, uint64_t mc)
{
	return mc * gpu->profile.cycle_ps / 1000;
}

/* The first fault ends everything; later ones are only recorded. */
void bf_hopper_raise(struct bf_hopper *gpu, const struct bf_hopper_fault *fault);

/* Gives up one hold. */
void bf_hopper_cluster_put(struct bf_hopper_cluster *cluster);

/* The instruction has lanes for other blocks: they go on their way. `own` are the lanes that stay here. */
void bf_hopper_send(struct bf_hopper_cta *cta, struct bf_sync_instr *instr, uint32_t own);
void bf_hopper_messages_free(struct bf_hopper *gpu);

/* bulk.c, where there are copy engines: a block has come, or goes; the kernel has ended in a fault. */
void bf_bulk_adopt(struct bf_bulk *bulk, struct bf_hopper_cta *cta);
void bf_bulk_leave(struct bf_bulk *bulk, struct bf_hopper_cta *cta);
void bf_bulk_kill(struct bf_bulk *bulk);

#endif
