/* Records of NVMe controllers, of GPUs whose memory they reach, and of the NVMe driver, that rules look at. */
#ifndef BELFRY_TRACES_RULES_SEEN_NVME_H
#define BELFRY_TRACES_RULES_SEEN_NVME_H

#define BF_SEEN_NVM_BUILD(F) F(q0) F(q1) F(q2) F(q3) F(q4) F(q5) F(q6) F(q7) F(va) F(qid) F(slot) F(head) F(entries)
#define BF_SEEN_NVM_RING(F) F(qid) F(queue) F(from) F(to) F(mmio) F(entries)
#define BF_SEEN_NVM_COMPLETION(F) F(qid) F(slot) F(cid) F(status) F(sqhd) F(freed) F(phase) F(stray)
#define BF_SEEN_NVM_TIMEOUT(F)                                                                                         \
	F(waited) F(qid) F(inflight) F(sq_tail) F(sq_rung) F(cq_head) F(cq_phase) F(seen) F(batch)
#define BF_SEEN_NVM_MISMATCH(F) F(block) F(wanted) F(found) F(va) F(qid) F(offset)

#define BF_SEEN_NVME_FETCH(F) F(sqid) F(slot)
#define BF_SEEN_NVME_DOORBELL(F) F(qid) F(queue) F(value) F(accepted)
#define BF_SEEN_NVME_COMPLETION(F) F(sqid) F(cqid) F(cqslot) F(sqslot) F(cid) F(status) F(sqhd) F(phase) F(opcode)
#define BF_SEEN_NVME_HELD(F) F(cqid)
#define BF_SEEN_NVME_DRIVER_ERROR(F) F(value) F(limit) F(qid) F(wrong)
#define BF_SEEN_NVME_STATE(F) F(value) F(cc) F(csts) F(state) F(reason)
#define BF_SEEN_NVME_QUEUE(F) F(base) F(size) F(qid) F(cqid) F(vector) F(queue) F(what) F(flags)
#define BF_SEEN_NVME_INTERRUPT(F) F(vector)

#define BF_SEEN_GPU_LATE_STORE(F) F(va) F(len) F(by)
#define BF_SEEN_GPU_INVALIDATE(F) F(flush_type) F(vmids) F(engine)
#define BF_SEEN_GPU_STALE_LOAD(F) F(va) F(from)
#define BF_SEEN_GPU_STRAY_WRITE(F) F(iova)

#define BF_SEEN_NVME(X)                                                                                                \
	X(nvm_build, BF_SEEN_NVM_BUILD, qid)                                                                           \
	X(nvm_ring, BF_SEEN_NVM_RING, qid)                                                                             \
	X(nvm_completion, BF_SEEN_NVM_COMPLETION, qid)                                                                 \
	X(nvm_timeout, BF_SEEN_NVM_TIMEOUT, qid)                                                                       \
	X(nvm_mismatch, BF_SEEN_NVM_MISMATCH, qid)                                                                     \
	X(nvme_fetch, BF_SEEN_NVME_FETCH, sqid)                                                                        \
	X(nvme_doorbell, BF_SEEN_NVME_DOORBELL, qid)                                                                   \
	X(nvme_completion, BF_SEEN_NVME_COMPLETION, cqid)                                                              \
	X(nvme_held, BF_SEEN_NVME_HELD, cqid)                                                                          \
	X(nvme_driver_error, BF_SEEN_NVME_DRIVER_ERROR, qid)                                                           \
	X(nvme_state, BF_SEEN_NVME_STATE, none)                                                                        \
	X(nvme_queue, BF_SEEN_NVME_QUEUE, qid)                                                                         \
	X(nvme_interrupt, BF_SEEN_NVME_INTERRUPT, none)                                                                \
	X(gpu_late_store, BF_SEEN_GPU_LATE_STORE, none)                                                                \
	X(gpu_invalidate, BF_SEEN_GPU_INVALIDATE, none)                                                                \
	X(gpu_stale_load, BF_SEEN_GPU_STALE_LOAD, none)                                                                \
	X(gpu_stray_write, BF_SEEN_GPU_STRAY_WRITE, none)

#endif
