/*
 * A Hopper GPU with copy engines, global memory and a cluster of blocks, driven without any warp: instructions are
 * issued by the test itself, and the simulation is run until nothing is left. For tests of copies.
 */
#ifndef BELFRY_TESTS_HOPPER_RIG_H
#define BELFRY_TESTS_HOPPER_RIG_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "models/hopper/bulk.h"

#define RIG_MUST(x)                                                                                                    \
	do {                                                                                                           \
		if (!(x)) {                                                                                            \
			fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #x);                                        \
			abort();                                                                                       \
		}                                                                                                      \
	} while (0)

#define RIG_SHARED (96u * 1024)
#define RIG_BARRIERS 1024u /* at the start of each block's window */

struct rig_opts {
	const struct bf_hopper_profile *profile;
	uint64_t seed;   /* 0: 1 */
	uint64_t global; /* bytes; 0: 1 MiB */
	uint32_t ctas;   /* 0: 1 */
};

struct rig {
	struct bf_sim *sim;
	struct bf_space space;
	struct bf_region *global;
	struct bf_hopper *gpu;
	struct bf_bulk *bulk;
	struct bf_hopper_cta *cta[BF_HOPPER_CLUSTER_MAX];
	struct bf_rng rng;
};

static inline void rig_open(struct rig *r, const struct rig_opts *o)
{
	const struct bf_hopper_launch l = { .ctas = o->ctas, .shared_bytes = RIG_SHARED, .warps = 8 };
	const struct bf_region_opts global = {
		.name = "global",
		.kind = BF_MEM_VRAM,
		.size = o->global ? o->global : 1u << 20,
	};

	memset(r, 0, sizeof(*r));
	RIG_MUST(bf_sim_create(o->seed ? o->seed : 1, &r->sim) == 0);
	RIG_MUST(bf_space_init(&r->space, r->sim, "gpu0", 0) == 0);
	RIG_MUST(bf_region_create(&r->space, &global, &r->global) == 0);
	RIG_MUST(bf_hopper_create(r->sim, &(struct bf_hopper_opts){ .name = "gpu0", .profile = o->profile }, &r->gpu) ==
		 0);
	RIG_MUST(bf_bulk_create(r->gpu, &r->space, &r->bulk) == 0);
	RIG_MUST(bf_hopper_launch(r->gpu, &l, r->cta) == 0);
	bf_rng_init(&r->rng, o->seed, "rig");
}

static inline void rig_close(struct rig *r)
{
	bf_bulk_destroy(r->bulk);
	bf_hopper_destroy(r->gpu);
	bf_space_fini(&r->space);
	bf_sim_destroy(r->sim);
}

static inline void rig_run(struct rig *r)
{
	bf_sim_run(r->sim, BF_NEVER);
}

static inline uint8_t *rig_shared(const struct rig *r, uint32_t rank, uint32_t offset)
{
	return bf_hopper_cta_bytes(r->cta[rank], NULL) + offset;
}

/* One lane of warp 0 does an operation on a barrier of its block; `tx` and `count` as the operation has them. */
static inline struct bf_sync_instr rig_do(struct rig *r, uint32_t rank, enum bf_sync_op op, uint32_t address,
					  uint32_t count, uint32_t tx)
{
	struct bf_sync_instr in = { .op = (uint8_t)op, .active = 1, .exited = 0xfffffffe };

	in.warp = (uint8_t)bf_hopper_cta_slot(r->cta[rank], 0);
	in.address[0] = bf_hopper_map(address, rank);
	in.count[0] = count;
	in.tx[0] = tx;
	bf_event_init(&in.event, NULL);
	bf_hopper_issue(r->cta[rank], &in);
	return in;
}

static inline uint64_t rig_word(const struct rig *r, uint32_t rank, uint32_t address)
{
	return bf_sync_peek(bf_hopper_cta_unit(r->cta[rank]), bf_hopper_cta_base(r->cta[rank]) + address, NULL);
}

/* A barrier with one arrival that has come and `tx` bytes outstanding: the copy completes its phase. */
static inline void rig_arm(struct rig *r, uint32_t rank, uint32_t address, uint32_t tx)
{
	rig_do(r, rank, BF_SYNC_INIT, address, 1, 0);
	rig_do(r, rank, BF_SYNC_ARRIVE, address, 1, tx);
}

#endif
