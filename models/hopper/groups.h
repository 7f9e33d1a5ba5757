/*
 * Groups of asynchronous copies, per thread: what commit_group and wait_group work on. Bulk stores and Ampere's
 * cp.async have them alike (PTX ISA 9.0: cp.async.bulk.commit_group, cp.async.bulk.wait_group, cp.async.commit_group,
 * cp.async.wait_group), but each kind its own: bulk.h and ldgsts.h.
 */
#ifndef BELFRY_MODELS_HOPPER_GROUPS_H
#define BELFRY_MODELS_HOPPER_GROUPS_H

#include "models/hopper/unit.h"

/*
 * A wait until at most the `keep` latest committed groups of each lane are under way. The issuer fills in the first
 * part and keeps it until `done`, which comes at its time and never from inside the issuing call.
 */
struct bf_copy_wait {
	uint32_t warp; /* number in its block */
	uint32_t lanes;
	uint32_t keep; /* N of wait_group N */
	bool read;     /* .read: it is enough that the sources have been read */
	void (*done)(struct bf_copy_wait *w);

	bool killed; /* the kernel has ended in a fault */

	/* The model's. */
	struct bf_copy_wait *next;
	struct bf_sim *sim;
	struct bf_event event;
	uint64_t cost_ps;
	uint32_t slot;
	uint32_t before[BF_WARP_LANES]; /* groups below this number must have ended */
};

#endif
