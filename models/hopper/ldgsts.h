/*
 * Ampere's asynchronous copies, which Hopper still has: cp.async (SASS: LDGSTS), groups of them per thread, barriers
 * that they arrive on by themselves, and Ampere's barriers, which are plain words in shared memory.
 *
 * Lanes of one instruction copy 4, 8 or 16 bytes each. They go through the generic proxy: plain loads see them after
 * the wait, bulk copies only after a fence. The copies of a GPU without copy engines (bf_bulk_create()) go nowhere.
 *
 * Nothing here was measured: latencies are profile.c's "assumed". PTX ISA 9.0, "Non-bulk copy"; one thread.
 */
#ifndef BELFRY_MODELS_HOPPER_LDGSTS_H
#define BELFRY_MODELS_HOPPER_LDGSTS_H

#include "models/hopper/groups.h"
#include "models/hopper/hopper.h"

/* One warp's cp.async; copied. */
struct bf_ldgsts_copy {
	uint32_t warp; /* number in its block */
	uint32_t active;
	uint32_t bytes; /* 4, 8, 16: addresses are multiples */
	uint64_t global[BF_WARP_LANES];
	uint32_t shared[BF_WARP_LANES]; /* in the own block */
	uint32_t source[BF_WARP_LANES]; /* bytes that are read; the rest of `bytes` is zeros. More than `bytes`: all */

	uint64_t next_ps; /* set: when the warp may issue its next instruction */
};
void bf_ldgsts_issue(struct bf_hopper_cta *cta, struct bf_ldgsts_copy *copy);

/* cp.async.commit_group and wait_group (.read means nothing here); wait_all is committing and waiting for all but 0. */
void bf_ldgsts_commit(struct bf_hopper_cta *cta, uint32_t warp, uint32_t lanes);
void bf_ldgsts_wait(struct bf_hopper_cta *cta, struct bf_copy_wait *wait);

/* Where barriers live: in the sync unit, or (Ampere) in shared memory, where atomics change them. */
enum bf_ldgsts_barrier { BF_LDGSTS_SYNCS, BF_LDGSTS_ATOMS };

/*
 * cp.async.mbarrier.arrive: when all earlier copies of a lane have ended, it arrives on its barrier. Without noinc that
 * changes nothing in sum: on Ampere a pending arrival is added now and taken away then; Hopper borrows the transaction
 * count for it (SASS: ARRIVE.RED.A0T1 now, ARRIVES.LDGSTSBAR.TRANSCNT then). With noinc the arrival is one of the
 * barrier's expected ones.
 */
struct bf_ldgsts_arrive {
	uint32_t warp;
	uint32_t active;
	bool noinc;
	enum bf_ldgsts_barrier barrier;
	uint32_t address[BF_WARP_LANES]; /* in the own block */

	uint64_t next_ps;
};
void bf_ldgsts_arrive(struct bf_hopper_cta *cta, struct bf_ldgsts_arrive *arrive);

/* ---- Ampere's barriers ---- */

/*
 * A word of prm.h's layout in plain shared memory (which bits sm_80 uses was not measured), without transactions: init
 * is a store, arrive an atomic (ATOMS.ARRIVE), a wait polls with plain loads. Never mix with the sync unit's
 * operations. Each returns when its result is there. An illegal count ends the kernel, as in the sync unit.
 */
uint64_t bf_atoms_init(struct bf_hopper_cta *cta, uint32_t warp, uint32_t address, uint32_t count);
uint64_t bf_atoms_arrive(struct bf_hopper_cta *cta, uint32_t warp, uint32_t address, uint32_t count, uint64_t *token);
uint64_t bf_atoms_test(struct bf_hopper_cta *cta, uint32_t warp, uint32_t address, uint32_t parity, bool *done);

#endif
