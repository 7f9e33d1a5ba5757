/* RDMA WRITEs from a GPU: one thread fills entries of a ConnectX's send queue and rings the doorbell itself. */
#include <stdint.h>

__device__ static uint32_t be32(uint32_t x)
{
	return __byte_perm(x, 0, 0x0123);
}

extern "C" __global__ void put(uint4 *sq, volatile uint32_t *dbrec, volatile uint64_t *doorbell, const uint8_t *cq,
			       uint32_t qpn, uint64_t local, uint32_t lkey, uint64_t remote, uint32_t rkey,
			       uint32_t count)
{
#pragma unroll 1
	for (uint32_t i = 0; i < count; i++) {
		uint4 *entry = sq + 4 * i; /* 64 bytes: control, where to, where from */

		entry[0] = make_uint4(be32(i << 8 | 0x08), be32(qpn << 8 | 3), be32(8), 0);
		entry[1] = make_uint4(be32(remote >> 32), be32((uint32_t)remote), be32(rkey), 0);
		entry[2] = make_uint4(be32(64), be32(lkey), be32(local >> 32), be32((uint32_t)local));
		__threadfence_system();
		*dbrec = be32(i + 1);
#ifdef FENCED
		__threadfence_system();
#endif
		*doorbell = *(const uint64_t *)entry;
		local += 64;
		remote += 64;
	}
	/* The last completion: its owner bit turns to 0, and its opcode is no longer 15. */
	while (*(const volatile uint8_t *)(cq + 64 * (count - 1) + 63) >> 4 == 15)
		;
}
