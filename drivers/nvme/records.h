/*
 * What the NVMe driver says of itself (class DRIVER): with the controller's records they make the life of a command
 * complete. `qid` names the queue pair, slots are as in the ring.
 */
#ifndef BELFRY_DRIVERS_NVME_RECORDS_H
#define BELFRY_DRIVERS_NVME_RECORDS_H

#include "sim/record.h"

/* The entry that the actor means to submit in `slot`, in full: q0 holds its first eight bytes. */
#define BF_REC_NVM_BUILD_FIELDS(F)                                                                                     \
	F(u64, q0, HEX, "")                                                                                            \
	F(u64, q1, HEX, "")                                                                                            \
	F(u64, q2, HEX, "")                                                                                            \
	F(u64, q3, HEX, "")                                                                                            \
	F(u64, q4, HEX, "")                                                                                            \
	F(u64, q5, HEX, "")                                                                                            \
	F(u64, q6, HEX, "")                                                                                            \
	F(u64, q7, HEX, "")                                                                                            \
	F(u64, va, HEX, "")                                                                                            \
	F(u32, qid, DEC, "")                                                                                           \
	F(u32, slot, DEC, "")                                                                                          \
	F(u32, head, DEC, "")                                                                                          \
	F(u32, entries, DEC, "")
BF_RECORD_DECLARE(nvm_build, 270, BF_CLASS_DRIVER, BF_REC_NVM_BUILD_FIELDS);

/* A doorbell: of the submission queue (new tail) or the completion queue (new head). */
#define BF_REC_NVM_RING_FIELDS(F)                                                                                      \
	F(u32, qid, DEC, "")                                                                                           \
	F(u32, queue, ENUM, "0=sq;1=cq")                                                                               \
	F(u32, from, DEC, "")                                                                                          \
	F(u32, to, DEC, "")                                                                                            \
	F(u32, mmio, ENUM, "0=shadow only;1=yes")                                                                      \
	F(u32, entries, DEC, "")
BF_RECORD_DECLARE(nvm_ring, 271, BF_CLASS_DRIVER, BF_REC_NVM_RING_FIELDS);

/* The actor took a completion from `slot`. `freed` is the head of the submission queue as it now believes. */
#define BF_REC_NVM_COMPLETION_FIELDS(F)                                                                                \
	F(u32, qid, DEC, "")                                                                                           \
	F(u32, slot, DEC, "")                                                                                          \
	F(u32, cid, DEC, "")                                                                                           \
	F(u32, status, HEX, "")                                                                                        \
	F(u32, sqhd, DEC, "")                                                                                          \
	F(u32, freed, DEC, "")                                                                                         \
	F(u32, phase, DEC, "")                                                                                         \
	F(u32, stray, ENUM, "0=no;1=yes")
BF_RECORD_DECLARE(nvm_completion, 272, BF_CLASS_DRIVER, BF_REC_NVM_COMPLETION_FIELDS);

/* The actor gives up: nothing came for `waited` although `inflight` commands are out. */
#define BF_REC_NVM_TIMEOUT_FIELDS(F)                                                                                   \
	F(u64, waited, DEC, "ns")                                                                                      \
	F(u32, qid, DEC, "")                                                                                           \
	F(u32, inflight, DEC, "")                                                                                      \
	F(u32, sq_tail, DEC, "")                                                                                       \
	F(u32, sq_rung, DEC, "")                                                                                       \
	F(u32, cq_head, DEC, "")                                                                                       \
	F(u32, cq_phase, DEC, "")                                                                                      \
	F(u32, seen, HEX, "")                                                                                          \
	F(u32, batch, DEC, "")
BF_RECORD_DECLARE(nvm_timeout, 273, BF_CLASS_DRIVER, BF_REC_NVM_TIMEOUT_FIELDS);

/* The bring-up or shutdown begins a step, or fails in it. */
#define BF_REC_NVM_STEP_FIELDS(F)                                                                                      \
	F(u32, step, ENUM,                                                                                             \
	  "0=start;1=disable;2=page size;3=cmb;4=enable;5=identify;6=namespaces;7=namespace;8=queue count;9=dbbuf;"    \
	  "10=create cq;11=create sq;12=ready;13=delete sq;14=delete cq;15=shutdown")                                  \
	F(u32, index, DEC, "")                                                                                         \
	F(i32, failure, INT, "")                                                                                       \
	F(u32, csts, HEX, "")
BF_RECORD_DECLARE(nvm_step, 274, BF_CLASS_DRIVER, BF_REC_NVM_STEP_FIELDS);

/*
 * A thread compared what it read and found something else. `block` is a logical block of the command, `va` where the
 * thread looked, 0 for what is not in memory.
 */
#define BF_REC_NVM_MISMATCH_FIELDS(F)                                                                                  \
	F(u64, block, DEC, "")                                                                                         \
	F(u64, wanted, HEX, "")                                                                                        \
	F(u64, found, HEX, "")                                                                                         \
	F(u64, va, HEX, "")                                                                                            \
	F(u32, qid, DEC, "")                                                                                           \
	F(u32, offset, DEC, "")
BF_RECORD_DECLARE(nvm_mismatch, 275, BF_CLASS_DRIVER, BF_REC_NVM_MISMATCH_FIELDS);

#endif
