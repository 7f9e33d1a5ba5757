/*
 * NVSHMEM's posting (non_abi/device/pt-to-pt/ibgda_device.cuh): see fences_ring.h and ../fences_originals.sh. With
 * -DHOST its state says that rings lie in host memory, and it fences for that.
 */
#include <nvshmem.h>
#include <device_host_transport/nvshmem_common_ibgda.h>
#include <non_abi/device/threadgroup/nvshmemi_common_device_defines.cuh>
#include <non_abi/device/pt-to-pt/ibgda_device.cuh>

#include "fences_ring.h"

#ifdef HOST
#define ON_GPU false
#else
#define ON_GPU true
#endif

static constexpr nvshmemi_ibgda_device_state_t make_state()
{
	nvshmemi_ibgda_device_state_t s = {};

	s.num_requests_in_batch = 1;
	s.nic_buf_on_gpumem = ON_GPU;
	return s;
}

__constant__ nvshmemi_ibgda_device_state_t nvshmemi_ibgda_device_state_d = make_state();
__constant__ nvshmemi_device_host_state_t nvshmemi_device_state_d;
__device__ nvshmemi_ibgda_device_qp_t queue;

extern "C" __global__ void prepare(RING_PARAMS)
{
	queue.qp_type = NVSHMEMI_IBGDA_DEVICE_QP_TYPE_RC;
	queue.qpn = qpn;
	queue.tx_wq.nwqes = wqebbs;
	queue.tx_wq.wqe = sq;
	queue.tx_wq.dbrec = dbrec;
	queue.tx_wq.bf = doorbell;
}

extern "C" __global__ void post(RING_PARAMS)
{
	const uint64_t at = blockIdx.x * MESSAGE;

	write_payload(local);
	const uint64_t slot = ibgda_reserve_wqe_slots(&queue, 1, true);
	void *entry = ibgda_get_wqe_ptr(&queue, slot);
	ibgda_write_rdma_write_wqe<false>(&queue, 0, local_va + at, big(lkey), remote_va + at, big(rkey), MESSAGE, slot,
					  MLX5_WQE_CTRL_CQ_UPDATE, &entry);
	ibgda_submit_requests<true>(&queue, slot, 1);
	wait_for(cq, gridDim.x);
}
