/* Reads of an NVMe drive, one command at a time for each thread of a warp, the doorbell rung once for all of them. */
#include <cooperative_groups.h>
#include <cuda/atomic>
#include <stdint.h>

#include "read.h"

struct command {
	uint32_t opcode, nsid, reserved[4];
	uint64_t data, second, lba;
	uint32_t blocks, more[3];
};

/* Completion `n` of the queue, of which phase and status are one word. */
__device__ static uint32_t completion(const struct nvme_queue &q, uint32_t n)
{
	cuda::atomic_ref<uint32_t, cuda::thread_scope_system> last(
	    reinterpret_cast<uint32_t *>(q.cq)[n % q.entries * 4 + 3]);
	uint32_t v;

	do
		v = last.load(cuda::memory_order_acquire);
	while ((v >> 16 & 1) != (~(n / q.entries) & 1));
	return v;
}

__global__ void read(struct nvme_queue q, uint64_t buffer, uint32_t rounds, uint32_t *errors)
{
	const auto warp = cooperative_groups::tiled_partition<32>(cooperative_groups::this_thread_block());
	const uint32_t lane = warp.thread_rank();

	for (uint32_t round = 0; round < rounds; round++) {
		const uint32_t first = round * 32, slot = (first + lane) % q.entries;
		command *c = reinterpret_cast<command *>(q.sq) + slot;
		uint32_t bad = 0;

		*c = command();
		c->opcode = 0x02 | lane << 16;
		c->nsid = q.nsid;
		c->data = buffer + uint64_t(first + lane) * q.block_bytes;
		c->lba = first + lane;
#ifndef NO_FENCE
		__threadfence_system();
#endif
		warp.sync();
		if (lane == 0) {
			*reinterpret_cast<volatile uint32_t *>(q.sq_tail) = (first + 32) % q.entries;
			for (uint32_t i = 0; i < 32; i++)
				bad += completion(q, first + i) >> 17 != 0;
			*reinterpret_cast<volatile uint32_t *>(q.cq_head) = (first + 32) % q.entries;
		}
		bad = warp.shfl(bad, 0);
		if (bad && lane == 0)
			atomicAdd_system(errors, bad);
	}
}
