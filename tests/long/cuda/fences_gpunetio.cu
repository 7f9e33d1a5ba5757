/* GPUNetIO's doca_gpu_dev_verbs_put(): see fences_ring.h and ../fences_originals.sh. -DHOST: system scope. */
#include <stdbool.h>
#include <stddef.h>

#include <doca_gpunetio_dev_verbs_onesided.cuh>

#include "fences_ring.h"

__device__ doca_gpu_dev_verbs_qp queue;

extern "C" __global__ void prepare(RING_PARAMS)
{
	queue.sq_num = qpn;
	queue.sq_num_shift8 = qpn << 8;
	queue.sq_num_shift8_be = big(qpn << 8);
	queue.sq_num_shift8_be_3ds = big(qpn << 8 | 3);
	queue.sq_wqe_num = wqebbs;
	queue.sq_wqe_mask = wqebbs - 1;
	queue.sq_wqe_daddr = sq;
	queue.sq_dbrec = dbrec;
	queue.sq_db = doorbell;
}

extern "C" __global__ void post(RING_PARAMS)
{
	const uint64_t at = blockIdx.x * MESSAGE;
	doca_gpu_dev_verbs_ticket_t ticket;

	write_payload(local);
	doca_gpu_dev_verbs_put<DOCA_GPUNETIO_VERBS_RESOURCE_SHARING_MODE_GPU, DOCA_GPUNETIO_VERBS_NIC_HANDLER_GPU_SM_DB,
			       DOCA_GPUNETIO_VERBS_EXEC_SCOPE_THREAD>(
		&queue, doca_gpu_dev_verbs_addr{ .addr = remote_va + at, .key = big(rkey) },
		doca_gpu_dev_verbs_addr{ .addr = local_va + at, .key = big(lkey) }, MESSAGE, &ticket);
	wait_for(cq, gridDim.x);
}
