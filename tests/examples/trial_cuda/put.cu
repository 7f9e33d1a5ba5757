/* RDMA WRITEs posted by a GPU: messages from here into the memory of a peer. It has a mistake, which the trial names. */
#include <cuda_runtime.h>

#include "put.h"

#define MESSAGE 256u
#define WINDOW 4u /* entries under way at a time */

/* The mistake: 0 leaves out a fence. Set it to 1, and the trial is good. */
#define ENTRY_FENCE 0

__device__ static uint32_t be32(uint32_t v)
{
	return __byte_perm(v, 0, 0x0123);
}

/* One RDMA WRITE: the entry, the doorbell record, the doorbell. */
__device__ static void post(const struct queue *q, uint32_t n)
{
	const uint64_t to = q->remote + (uint64_t)n * MESSAGE, from = q->local + (uint64_t)n * MESSAGE;
	uint4 *entry = (uint4 *)(q->sq + n % q->entries * 64);

	entry[0] = make_uint4(be32((n & 0xffff) << 8 | 0x08), be32(q->qpn << 8 | 3), be32(8), 0);
	entry[1] = make_uint4(be32((uint32_t)(to >> 32)), be32((uint32_t)to), be32(q->rkey), 0);
	entry[2] = make_uint4(be32(MESSAGE), be32(q->lkey), be32((uint32_t)(from >> 32)), be32((uint32_t)from));
#if ENTRY_FENCE
	__threadfence_system();
#endif
	*(volatile uint32_t *)q->dbrec = be32((n + 1) & 0xffff);
	__threadfence_system();
	*(volatile uint64_t *)q->doorbell = *(uint64_t *)entry;
}

/* The opcode of completion `n`; 0 is good. */
__device__ static uint32_t wait_for(const struct queue *q, uint32_t n)
{
	const volatile uint8_t *last = q->cq + n % q->cqes * 64 + 63;
	const uint32_t lap = n / q->cqes & 1;
	uint32_t v;

	do
		v = *last;
	while (v >> 4 == 15 || (v & 1) != lap);
	__threadfence_system();
	*(volatile uint32_t *)q->cq_dbrec = be32((n + 1) & 0xffffff);
	return v >> 4;
}

extern "C" __global__ void put(struct queue *q, uint32_t count)
{
	uint32_t posted = 0, done = 0;

	if (threadIdx.x || blockIdx.x)
		return;
	while (done < count && !q->errors) {
		while (posted < count && posted - done < WINDOW)
			post(q, posted++);
		q->errors += wait_for(q, done++) != 0;
	}
}
