/*
 * Two groups of consumers in turns, for each of two sections: CUTLASS's OrderedSequenceBarrier as the ping-pong kernels
 * use it (NVIDIA/cutlass include/cutlass/pipeline/sm90_pipeline.hpp): while one group computes, the other stores.
 *
 * A barrier for each section and group; a group waits on its own and, when it leaves the section, arrives on the other
 * group's. The first group begins with phase 1, so that its first turn comes at once.
 */
#ifndef BELFRY_DRIVERS_MBARRIER_ORDER_H
#define BELFRY_DRIVERS_MBARRIER_ORDER_H

#include "drivers/mbarrier/barrier.h"

#define BF_MBAR_SECTIONS 2u

struct bf_mbar_order {
	uint32_t first_bar; /* address of [section][group] */
	uint32_t group, section, phase;
};

BF_DEVICE uint32_t bf_mbar_order_bar(const struct bf_mbar_order *o, uint32_t group)
{
	return o->first_bar + 8 * (2 * o->section + group);
}

BF_DEVICE struct bf_mbar_order bf_mbar_order_start(const struct bf_mbar_job *j, uint32_t first_bar, uint32_t group)
{
	struct bf_mbar_order o;

	o.first_bar = first_bar;
	o.group = group;
	o.section = 0;
	o.phase = group == 0 || j->bugs & BF_MBAR_BUG_ORDER_PHASE ? 1 : 0;
	return o;
}

/* One thread, before the groups start: each barrier takes one arrival of each warp of a group. */
BF_DEVICE void bf_mbar_order_init(struct bf_thread *t, const struct bf_mbar_job *j, uint32_t first_bar)
{
	for (uint32_t i = 0; i < 2 * BF_MBAR_SECTIONS; i++) {
		const uint32_t other = (i & 1) ^ 1;
		const uint32_t warps = ((1u << j->consumers) - 1) << (1 + other * j->consumers);
		const struct bf_bar_label label = { i & 1 ? "turn of group 1" : "turn of group 0",
						    other ? "group 1" : "group 0",
						    i / 2,
						    1,
						    warps,
						    1,
						    (i & 1) == 0 };

		bf_bar_init(t, first_bar + 8 * i, j->consumers);
		bf_bar_label(t, first_bar + 8 * i, label);
	}
}

BF_DEVICE void bf_mbar_order_enter(struct bf_thread *t, const struct bf_mbar_job *j, const struct bf_mbar_order *o)
{
	bf_mbar_wait_warp(t, j, bf_mbar_order_bar(o, o->group), o->phase);
}

BF_DEVICE void bf_mbar_order_leave(struct bf_thread *t, struct bf_mbar_order *o)
{
	bf_warp_sync(t, BF_FULL_WARP);
	if (bf_lane(t) == 0)
		bf_bar_arrive(t, bf_mbar_order_bar(o, o->group ^ 1), 1);
	if (++o->section == BF_MBAR_SECTIONS) {
		o->section = 0;
		o->phase ^= 1;
	}
}

#endif
