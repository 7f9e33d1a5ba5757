/* The memory that low-latency kernels count and meet with: zero before a run. */
#ifndef BELFRY_DRIVERS_IBGDA_LL_AREA_INTERNAL_H
#define BELFRY_DRIVERS_IBGDA_LL_AREA_INTERNAL_H

#include "drivers/ibgda/ll.h"

#define BF_LL_CELL 128u /* a meeting point has a cache line of its own */

/* The part of a PE's tensors that kernels count with: zero before a run. Offsets from bf_ll_tensors.work. */
struct bf_ll_work_area {
	uint64_t grid;       /* meeting point of all warps */
	uint64_t clean_flag; /* combine: the other buffers' flags are cleared, and how many still have to see it */
	uint64_t block;      /* of each block: casting warps, all warps, each group */
	uint64_t slots;      /* experts * 4: messages to each so far */
	uint64_t finished;   /* experts * 4: BF_LL_DONE * 2 when all are published and counted */
	uint64_t sent;       /* experts * 4: how many they are */
	uint64_t got;        /* experts * 8: how many came and the first row */
	uint64_t end;
};
BF_FN struct bf_ll_work_area bf_ll_work_area(const struct bf_ll_shape *s)
{
	struct bf_ll_work_area a;

	a.grid = 0;
	a.clean_flag = BF_LL_CELL;
	a.block = 2 * BF_LL_CELL;
	a.slots = a.block + (uint64_t)s->blocks * (2 + s->groups) * BF_LL_CELL;
	a.finished = a.slots + (uint64_t)s->experts * 4;
	a.sent = a.finished + (uint64_t)s->experts * 4;
	a.got = a.sent + (uint64_t)s->experts * 4;
	a.end = a.got + (uint64_t)s->experts * 8;
	return a;
}

/* DeepEP's FINISHED_SUM_TAG: more than any number of tokens. */
#define BF_LL_DONE 1024u

#endif
