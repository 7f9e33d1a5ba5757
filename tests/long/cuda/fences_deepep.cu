/* DeepEP's posting (csrc/kernels/legacy/ibgda_device.cuh): see fences_ring.h and ../fences_originals.sh. */
#include <limits>

#include "kernels/legacy/ibgda_device.cuh"

#include "fences_ring.h"

/* NVSHMEM's host would fill them in; zeros say: no proxy. */
__constant__ nvshmemi_ibgda_device_state_t nvshmemi_ibgda_device_state_d;
__constant__ nvshmemi_device_host_state_t nvshmemi_device_state_d;
__device__ nvshmemi_ibgda_device_qp_t queue;

extern "C" __global__ void prepare(RING_PARAMS)
{
	queue.qpn = qpn;
	queue.tx_wq.nwqes = wqebbs;
	queue.tx_wq.wqe = sq;
	queue.tx_wq.dbrec = dbrec;
	queue.tx_wq.bf = doorbell;
}

extern "C" __global__ void post(RING_PARAMS)
{
	using namespace deep_ep::legacy;
	const uint64_t at = blockIdx.x * MESSAGE;

	write_payload(local);
	const uint64_t slot = ibgda_reserve_wqe_slots(&queue, 1);
	void *entry = ibgda_get_wqe_ptr(&queue, slot);
	ibgda_write_rdma_write_wqe(&queue, local_va + at, big(lkey), remote_va + at, big(rkey), MESSAGE, slot, &entry);
	ibgda_submit_requests<true>(&queue, slot, 1);
	wait_for(cq, gridDim.x);
}
