/* The low-latency exchange as a family of workloads: its choices and how they become a shape. */
#ifndef BELFRY_TOOLS_WORKLOADS_LL_H
#define BELFRY_TOOLS_WORKLOADS_LL_H

#include "drivers/ibgda/ll.h"
#include "tools/workloads/mlx5_pes.h"

/* Members of rows of the options; meanings stand there. */
struct bf_ll_workload {
	struct bf_pes pes;
	uint32_t tokens, hidden, topk, experts;
	uint32_t dtype, scales, routing, zipf_milli;
	uint32_t rounds, blocks, groups, group_warps;
	bool zero_copy;
};

#endif
