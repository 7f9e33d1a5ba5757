/* RDMA WRITEs on a queue pair of a ConnectX, posted by a GPU: 64 bytes each, a ring of completions. */
#include <cuda_runtime.h>
#include <stdint.h>

#include "put.h"

__device__ static uint32_t be32(uint32_t v)
{
	return __byte_perm(v, 0, 0x0123);
}

__device__ static void post(const struct queue &q, uint32_t n, uint64_t offset)
{
	uint4 *entry = reinterpret_cast<uint4 *>(q.sq + n % q.entries * 64);
	const uint64_t to = q.remote + offset, from = q.local + offset;

	entry[0] = make_uint4(be32((n & 0xffff) << 8 | 0x08), be32(q.qpn << 8 | 3), be32(8), 0);
	entry[1] = make_uint4(be32(static_cast<uint32_t>(to >> 32)), be32(static_cast<uint32_t>(to)), be32(q.rkey), 0);
	entry[2] = make_uint4(be32(64), be32(q.lkey), be32(static_cast<uint32_t>(from >> 32)),
			      be32(static_cast<uint32_t>(from)));
#ifndef NO_ENTRY_FENCE
	__threadfence_system();
#endif
	*reinterpret_cast<volatile uint32_t *>(q.dbrec) = be32((n + 1) & 0xffff);
#ifndef NO_DOORBELL_FENCE
	__threadfence_system();
#endif
	*reinterpret_cast<volatile uint64_t *>(q.doorbell) = *reinterpret_cast<uint64_t *>(entry);
}

/* The opcode of completion `n`; 0 is good. */
__device__ static uint32_t completion(const struct queue &q, uint32_t n)
{
	const volatile uint8_t *last = q.cq + n % q.cqes * 64 + 63;
	const uint32_t lap = n / q.cqes & 1;
	uint32_t v;

	do
		v = *last;
	while (v >> 4 == 15 || (v & 1) != lap);
	__threadfence_system();
	*reinterpret_cast<volatile uint32_t *>(q.cq_dbrec) = be32((n + 1) & 0xffffff);
	return v >> 4;
}

__global__ void put(struct queue q, uint32_t count, uint32_t window, uint32_t *errors)
{
	uint32_t posted = 0, done = 0, wrong = 0;

	if (threadIdx.x || blockIdx.x)
		return;
	while (done < count && !wrong) {
		while (posted < count && posted - done < window) {
			post(q, posted, uint64_t(posted) * 64);
			posted++;
		}
		wrong += completion(q, done) != 0;
		done++;
	}
	*errors = wrong;
}

/* The host's side, as it would be on a GPU. */
void start(struct queue q, uint32_t count, uint32_t window, uint32_t *errors)
{
	put<<<1, 32>>>(q, count, window, errors);
}
