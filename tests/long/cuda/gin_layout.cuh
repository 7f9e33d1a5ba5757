// The structures of tests/drivers/gin_original.h are those of GPUNetIO's headers, which are included before this.
#include <stddef.h>

#include "gin_original.h"

#define SAME(ours, theirs)                                                                                             \
	static_assert(offsetof(gin_original_qp, ours) == offsetof(doca_gpu_dev_verbs_qp, theirs), #ours)
SAME(sq_rsvd_index, sq_rsvd_index);
SAME(sq_ready_index, sq_ready_index);
SAME(sq_wqe_pi, sq_wqe_pi);
SAME(sq_num_shift8_be_ds, sq_num_shift8_be_1ds);
SAME(sq_lock, sq_lock);
SAME(sq_wqe_mask, sq_wqe_mask);
SAME(sq_wqe_daddr, sq_wqe_daddr);
SAME(sq_dbrec, sq_dbrec);
SAME(sq_db, sq_db);
SAME(cq.cqe_daddr, cq_sq.cqe_daddr);
SAME(cq.cqe_ci, cq_sq.cqe_ci);
SAME(cq.cqe_rsvd, cq_sq.cqe_rsvd);
SAME(nic_handler, nic_handler);
static_assert(sizeof(gin_original_qp) == sizeof(doca_gpu_dev_verbs_qp), "size");

typedef doca_gpu_dev_verbs_qp Qp;
typedef doca_gpu_dev_verbs_addr Address;

// A queue pair from what `belfry ptx trial` gives a kernel.
__device__ Qp queue;

__device__ Qp *connect(uint8_t *sq, uint8_t *cq, uint32_t *record, uint64_t *doorbell, uint32_t qpn, uint32_t entries,
		       uint32_t cqes)
{
	volatile Qp *q = &queue;

	q->sq_num = qpn;
	q->sq_num_shift8 = qpn << 8;
	q->sq_num_shift8_be = __byte_perm(qpn << 8, 0, 0x0123);
	q->sq_num_shift8_be_1ds = __byte_perm(qpn << 8 | 1, 0, 0x0123);
	q->sq_num_shift8_be_2ds = __byte_perm(qpn << 8 | 2, 0, 0x0123);
	q->sq_num_shift8_be_3ds = __byte_perm(qpn << 8 | 3, 0, 0x0123);
	q->sq_num_shift8_be_4ds = __byte_perm(qpn << 8 | 4, 0, 0x0123);
	q->sq_wqe_num = entries;
	q->sq_wqe_mask = entries - 1;
	q->sq_wqe_daddr = sq;
	q->sq_dbrec = record;
	q->sq_db = doorbell;
	q->nic_handler = DOCA_GPUNETIO_VERBS_NIC_HANDLER_GPU_SM_DB;
	q->cq_sq.cqe_daddr = cq;
	q->cq_sq.cqe_num = cqes;
	q->cq_sq.cqe_mask = cqes - 1;
	__threadfence_system();
	return (Qp *)q;
}

#define CONNECTION                                                                                                     \
	uint8_t *sq, uint8_t *cq, uint32_t *record, uint64_t *doorbell, uint32_t qpn, uint32_t entries, uint32_t cqes,  \
		uint64_t local_va, uint32_t lkey, uint64_t remote_va, uint32_t rkey
#define CONNECT connect(sq, cq, record, doorbell, qpn, entries, cqes)
#define REMOTE(offset) Address{ remote_va + (offset), __byte_perm(rkey, 0, 0x0123) }
#define LOCAL(offset) Address{ local_va + (offset), __byte_perm(lkey, 0, 0x0123) }
