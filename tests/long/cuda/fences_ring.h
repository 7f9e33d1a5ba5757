/*
 * What the kernels of fences_*.cu have in common: the arguments that `belfry fences ptx` gives them, and their wait.
 * Each file is the posting code of somebody else, unmodified, called by one thread of each block; all blocks share one
 * queue pair. prepare() runs before, alone.
 */
#pragma once
#include <stdint.h>

#define RING_PARAMS                                                                                                    \
	uint8_t *sq, uint32_t *dbrec, uint64_t *doorbell, uint8_t *cq, uint32_t qpn, uint32_t wqebbs, uint32_t *local, \
	    uint64_t local_va, uint32_t lkey, uint64_t remote_va, uint32_t rkey

/* The message of a block: 16 bytes, whose first word it writes itself. */
#define MESSAGE 16u
static __device__ void write_payload(uint32_t *local)
{
	local[blockIdx.x * MESSAGE / 4] = 0x1000 + blockIdx.x;
}

static __device__ uint32_t big(uint32_t v)
{
	return __byte_perm(v, 0, 0x0123);
}

/* The collapsed entry's counter says that so many are done. The last byte of a 64-byte entry is opcode and owner. */
static __device__ void wait_for(uint8_t *cq, uint32_t entries)
{
	volatile uint16_t *counter = (volatile uint16_t *)(cq + 60);

	while ((uint16_t)(__byte_perm(*counter, 0, 0x4401) + 1) != (uint16_t)entries)
		;
}
