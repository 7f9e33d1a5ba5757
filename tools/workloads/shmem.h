/* NVSHMEM-style workloads as a family: their choices and how they become a shape. */
#ifndef BELFRY_TOOLS_WORKLOADS_SHMEM_H
#define BELFRY_TOOLS_WORKLOADS_SHMEM_H

#include "drivers/ibgda/shmem.h"
#include "tools/workloads/mlx5_pes.h"

/* Members of rows of the options; meanings stand there. */
struct bf_shmem_workload {
	struct bf_pes pes;
	uint32_t blocks, warps, rounds;
	uint64_t bytes, min_bytes, max_bytes;
	uint32_t step;
};

#endif
