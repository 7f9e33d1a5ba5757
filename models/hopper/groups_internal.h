/*
 * Who keeps the groups of models/hopper/groups.h: one table an SM and kind of copy. Not installed.
 *
 * A thread's groups are numbered from 0; a copy belongs to the one that is open when it is issued. Waiting for all but
 * the N latest groups is waiting until no copy of an older group is left, in whatever order they end.
 */
#ifndef BELFRY_MODELS_HOPPER_GROUPS_INTERNAL_H
#define BELFRY_MODELS_HOPPER_GROUPS_INTERNAL_H

#include "models/hopper/groups.h"

/* A copy that is under way. Belongs to whoever made it; in a list from bf_groups_add() to bf_groups_done(). */
struct bf_group_item {
	struct bf_group_item *next, **link;
	uint32_t lanes; /* of the warp that take part; 0: in no list */
	uint32_t warp;
	bool read; /* its source has been read */
	uint32_t group[BF_WARP_LANES];
};

struct bf_groups_warp {
	struct bf_group_item *items; /* latest first */
	struct bf_copy_wait *waits;
	uint32_t open[BF_WARP_LANES];
};

/* All threads of an SM. */
struct bf_groups {
	struct bf_sim *sim;
	struct bf_groups_warp warp[64];
};

/* The copy joins the open groups of `lanes` of the warp in that slot. */
void bf_groups_add(struct bf_groups *g, struct bf_group_item *item, uint32_t slot, uint32_t lanes);

/* Its source has been read; or it has ended. Waits that are over get their events. */
void bf_groups_read(struct bf_groups *g, struct bf_group_item *item);
void bf_groups_done(struct bf_groups *g, struct bf_group_item *item);

/* Closes the open group of each of `lanes`. Returns the number of the first lane's group. */
uint32_t bf_groups_commit(struct bf_groups *g, uint32_t slot, uint32_t lanes);

/* Starts a wait; `open`: for the copies of the open groups too, and for all others. */
void bf_groups_wait(struct bf_groups *g, struct bf_copy_wait *w, bool open, uint64_t cost_ps);

/* The warps of the slots are gone: their groups start from 0 again, their copies go on without them. */
void bf_groups_forget(struct bf_groups *g, uint32_t first, uint32_t warps);

/* The kernel has ended: waits are told so. */
void bf_groups_kill(struct bf_groups *g);

#endif
