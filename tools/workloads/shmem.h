/* NVSHMEM-style workloads as a family: their choices and how they become a shape. */
#ifndef BELFRY_TOOLS_WORKLOADS_SHMEM_H
#define BELFRY_TOOLS_WORKLOADS_SHMEM_H

#include "drivers/ibgda/shmem.h"
#include "tools/workloads/pes.h"

/* Fields in the order of BF_SHMEM_OPTIONS; meanings stand there. */
struct bf_shmem_workload {
	struct bf_pes pes;
	uint32_t blocks, warps, rounds;
	uint64_t bytes, min_bytes, max_bytes;
	uint32_t step;
};

#define BF_SHMEM_OPTIONS(O)                                                                                            \
	O("blocks", U64, "N", "1", "blocks of warps on each PE", 1, 1024, blocks)                                      \
	O("warps", U64, "N", "1", "warps in a block", 1, 32, warps)                                                    \
	O("rounds", U64, "N", "4", "how often; measurements: iterations of each size, after one to warm up", 1,        \
	  100000, rounds)                                                                                              \
	O("size", U64, "BYTES", "64", "a block, a multiple of 16 (checks)", 16, 1u << 28, bytes)                       \
	O("min-size", U64, "BYTES", "4", "the smallest block, a power of two (measurements)", 4, 1u << 30, min_bytes)  \
	O("max-size", U64, "BYTES", "65536", "the largest", 4, 1u << 30, max_bytes)                                    \
	O("step", U64, "N", "2", "each block is so many times the one before", 2, 1024, step)

extern const struct bf_pes_family bf_shmem_family;

#endif
