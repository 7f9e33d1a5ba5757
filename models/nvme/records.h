/*
 * What the NVMe model records (types 300 to 349). Queues are actors of kind "queue" ("ssd0.sq1", "ssd0.cq1"), the
 * controller is an actor of kind "device" ("ssd0"). A command's records share the submission queue's number `sqid` and
 * the command identifier `cid`; `slot` is its place in the submission queue.
 */
#ifndef BELFRY_MODELS_NVME_RECORDS_H
#define BELFRY_MODELS_NVME_RECORDS_H

#include "sim/record.h"

/* Why a controller went to CSTS.CFS, or refused to become ready. */
enum bf_nvme_fatal_reason {
	BF_NVME_FATAL_NONE,
	BF_NVME_FATAL_ASQ, /* 0 or not aligned to CC.MPS */
	BF_NVME_FATAL_ACQ,
	BF_NVME_FATAL_AQA, /* fewer than two entries */
	BF_NVME_FATAL_MPS, /* outside of CAP.MPSMIN..MPSMAX */
	BF_NVME_FATAL_CSS,
	BF_NVME_FATAL_AMS,
	BF_NVME_FATAL_FETCH,      /* a submission queue could not be read */
	BF_NVME_FATAL_POST,       /* a completion queue could not be written */
	BF_NVME_FATAL_MEMORY,     /* ours: out of memory */
	BF_NVME_FATAL_KEEP_ALIVE, /* no Keep Alive command came in time */
};

/* Wrong uses by the driver. */
enum bf_nvme_wrong {
	BF_NVME_WRONG_DOORBELL_VALUE, /* not below the queue's size */
	BF_NVME_WRONG_TAIL_OVERRUN,   /* more new entries than free slots */
	BF_NVME_WRONG_HEAD_PAST_TAIL, /* entries returned that were not posted */
	BF_NVME_WRONG_UNCHANGED,      /* the value that the doorbell has */
	BF_NVME_WRONG_NO_QUEUE,       /* a doorbell without a queue */
	BF_NVME_WRONG_NOT_READY,      /* a doorbell while CSTS.RDY is 0 */
	BF_NVME_WRONG_ACCESS,         /* a register access of a size (`limit`) or alignment that it does not take */
	BF_NVME_WRONG_ENABLE,         /* CC.EN = 1 while CSTS.RDY is still 1 from before */
	BF_NVME_WRONG_CONFIG,         /* CC, AQA, ASQ or ACQ changed while enabled */
	BF_NVME_WRONG_CID,            /* command identifier in use */
	BF_NVME_WRONG_FUSED,          /* half of a fused pair */
	BF_NVME_WRONG_SHADOW,         /* a shadow doorbell with a wrong value */
	BF_NVME_WRONG_STRIDE,         /* a doorbell between two; `limit` is how far they lie apart */
};

/* A doorbell. `before` is the value that the queue had, `pending` what it now holds for the controller to fetch. */
#define BF_REC_NVME_DOORBELL_FIELDS(F)                                                                                 \
	F(u32, qid, DEC, "")                                                                                           \
	F(u32, value, DEC, "")                                                                                         \
	F(u32, before, DEC, "")                                                                                        \
	F(u32, pending, DEC, "")                                                                                       \
	F(u8, queue, ENUM, "0=sq-tail;1=cq-head")                                                                      \
	F(u8, source, ENUM, "0=register;1=shadow;2=memory")                                                            \
	F(u16, accepted, DEC, "")
BF_RECORD_DECLARE(nvme_doorbell, 300, BF_CLASS_QUEUE, BF_REC_NVME_DOORBELL_FIELDS);

/* A submission queue entry is in the controller. Tail: its 64 bytes. */
#define BF_REC_NVME_FETCH_FIELDS(F)                                                                                    \
	F(u32, nsid, HEX, "")                                                                                          \
	F(u16, sqid, DEC, "")                                                                                          \
	F(u16, slot, DEC, "")                                                                                          \
	F(u16, cid, HEX, "")                                                                                           \
	F(u16, sqhd, DEC, "")                                                                                          \
	F(u8, opcode, HEX, "")                                                                                         \
	F(u8, flags, HEX, "")                                                                                          \
	F(u16, batch, DEC, "")
BF_RECORD_DECLARE(nvme_fetch, 301, BF_CLASS_QUEUE, BF_REC_NVME_FETCH_FIELDS);

/* A command starts. Of a fused pair both do. */
#define BF_REC_NVME_START_FIELDS(F)                                                                                    \
	F(u64, slba, DEC, "block")                                                                                     \
	F(u32, nsid, HEX, "")                                                                                          \
	F(u32, cdw12, HEX, "")                                                                                         \
	F(u16, sqid, DEC, "")                                                                                          \
	F(u16, slot, DEC, "")                                                                                          \
	F(u16, cid, HEX, "")                                                                                           \
	F(u8, opcode, HEX, "")                                                                                         \
	F(u8, admin, ENUM, "0=io;1=admin")
BF_RECORD_DECLARE(nvme_start, 302, BF_CLASS_QUEUE, BF_REC_NVME_START_FIELDS);

/* A completion leaves. Tail: its 16 bytes. `status` is without the phase tag, as Linux prints it. */
#define BF_REC_NVME_COMPLETION_FIELDS(F)                                                                               \
	F(u64, landed_ps, TIME, "ps")                                                                                  \
	F(u64, doorbell_ps, TIME, "ps")                                                                                \
	F(u64, fetch_ps, TIME, "ps")                                                                                   \
	F(u64, data_ps, TIME, "ps")                                                                                    \
	F(u64, media_ps, TIME, "ps")                                                                                   \
	F(u32, dw0, HEX, "")                                                                                           \
	F(u32, dw1, HEX, "")                                                                                           \
	F(u16, sqid, DEC, "")                                                                                          \
	F(u16, cqid, DEC, "")                                                                                          \
	F(u16, sqslot, DEC, "")                                                                                        \
	F(u16, cqslot, DEC, "")                                                                                        \
	F(u16, cid, HEX, "")                                                                                           \
	F(u16, sqhd, DEC, "")                                                                                          \
	F(u16, status, HEX, "")                                                                                        \
	F(u8, phase, DEC, "")                                                                                          \
	F(u8, opcode, HEX, "")
BF_RECORD_DECLARE(nvme_completion, 303, BF_CLASS_QUEUE, BF_REC_NVME_COMPLETION_FIELDS);

/* A completion waits: its queue is full. */
#define BF_REC_NVME_HELD_FIELDS(F)                                                                                     \
	F(u32, held, DEC, "")                                                                                          \
	F(u16, sqid, DEC, "")                                                                                          \
	F(u16, cqid, DEC, "")                                                                                          \
	F(u16, cid, HEX, "")                                                                                           \
	F(u16, head, DEC, "")                                                                                          \
	F(u32, reserved, DEC, "")
BF_RECORD_DECLARE(nvme_held, 304, BF_CLASS_QUEUE, BF_REC_NVME_HELD_FIELDS);

/* The controller's state changed. `reason` says why it failed. */
#define BF_REC_NVME_STATE_FIELDS(F)                                                                                    \
	F(u64, value, HEX, "")                                                                                         \
	F(u32, cc, HEX, "")                                                                                            \
	F(u32, csts, HEX, "")                                                                                          \
	F(u32, dropped, DEC, "")                                                                                       \
	F(u16, state, ENUM,                                                                                            \
	  "0=off;1=enabling;2=ready;3=disabling;4=failed;5=shutting-down;6=shut-down;7=reset;"                         \
	  "8=subsystem-reset;9=bus-master")                                                                            \
	F(u16, reason, ENUM, "0=none;1=asq;2=acq;3=aqa;4=mps;5=css;6=ams;7=fetch;8=post;9=memory;10=keep-alive")
BF_RECORD_DECLARE(nvme_state, 305, BF_CLASS_QUEUE, BF_REC_NVME_STATE_FIELDS);

/* The driver did something that it must not do; `value` is what it wrote, `limit` what it had to stay below. */
#define BF_REC_NVME_DRIVER_ERROR_FIELDS(F)                                                                             \
	F(u64, value, HEX, "")                                                                                         \
	F(u64, limit, HEX, "")                                                                                         \
	F(u32, qid, DEC, "")                                                                                           \
	F(u32, wrong, ENUM,                                                                                            \
	  "0=doorbell-value;1=tail-overrun;2=head-past-tail;3=unchanged;4=no-queue;5=not-ready;6=access;7=enable;"     \
	  "8=config;9=cid-in-use;10=half-of-fused;11=shadow-doorbell;12=stride")
BF_RECORD_DECLARE(nvme_driver_error, 306, BF_CLASS_FAULT, BF_REC_NVME_DRIVER_ERROR_FIELDS);

/* An asynchronous event: reported by a command, kept until one comes, or lost because none was there. */
#define BF_REC_NVME_EVENT_FIELDS(F)                                                                                    \
	F(u32, dw0, HEX, "")                                                                                           \
	F(u16, cid, HEX, "")                                                                                           \
	F(u16, fate, ENUM, "0=reported;1=kept;2=masked;3=lost")
BF_RECORD_DECLARE(nvme_event, 307, BF_CLASS_QUEUE, BF_REC_NVME_EVENT_FIELDS);

/* An interrupt. `completions` are new since the last one of this vector. */
#define BF_REC_NVME_INTERRUPT_FIELDS(F)                                                                                \
	F(u32, vector, DEC, "")                                                                                        \
	F(u32, completions, DEC, "")
BF_RECORD_DECLARE(nvme_interrupt, 308, BF_CLASS_QUEUE, BF_REC_NVME_INTERRUPT_FIELDS);

/* A queue came or went. */
#define BF_REC_NVME_QUEUE_FIELDS(F)                                                                                    \
	F(u64, base, HEX, "")                                                                                          \
	F(u32, size, DEC, "")                                                                                          \
	F(u16, qid, DEC, "")                                                                                           \
	F(u16, cqid, DEC, "")                                                                                          \
	F(u16, vector, DEC, "")                                                                                        \
	F(u8, queue, ENUM, "0=sq;1=cq")                                                                                \
	F(u8, what, ENUM, "0=created;1=deleting;2=deleted;3=dropped")                                                  \
	F(u32, flags, HEX, "")
BF_RECORD_DECLARE(nvme_queue, 309, BF_CLASS_QUEUE, BF_REC_NVME_QUEUE_FIELDS);

#endif
