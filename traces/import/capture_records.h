/*
 * Records that hold a captured event (type numbers 600 to 619): the lines of a capture as an imported trace keeps them,
 * and what `belfry replay` puts in front of each step. Field names are those of the capture format; `line` is the line
 * of the file that the event came from.
 */
#ifndef BELFRY_TRACES_IMPORT_CAPTURE_RECORDS_H
#define BELFRY_TRACES_IMPORT_CAPTURE_RECORDS_H

#include "sim/record.h"

#define BF_REC_CAPTURE_MKEY_FIELDS(F)                                                                                  \
	F(u64, addr, HEX, "")                                                                                          \
	F(u64, length, DEC, "B")                                                                                       \
	F(u64, line, DEC, "")                                                                                          \
	F(u32, key, HEX, "")                                                                                           \
	F(u32, access, HEX, "")
BF_RECORD_DECLARE(capture_mkey, 600, BF_CLASS_QUEUE, BF_REC_CAPTURE_MKEY_FIELDS);

#define BF_REC_CAPTURE_QP_FIELDS(F)                                                                                    \
	F(u32, qpn, HEX, "")                                                                                           \
	F(u32, dest_qpn, HEX, "")                                                                                      \
	F(u32, sq_wqebbs, DEC, "")                                                                                     \
	F(u32, rq_wqes, DEC, "")                                                                                       \
	F(u32, rq_stride_log2, DEC, "")                                                                                \
	F(u32, user_index, DEC, "")                                                                                    \
	F(u32, send_cqn, HEX, "")                                                                                      \
	F(u32, send_cqes, DEC, "")                                                                                     \
	F(u32, recv_cqn, HEX, "")                                                                                      \
	F(u32, recv_cqes, DEC, "")                                                                                     \
	F(u32, state, ENUM, "0=RST;1=INIT;2=RTR;3=RTS;4=SQER;5=SQD;6=ERR")                                             \
	F(u32, line, DEC, "")
BF_RECORD_DECLARE(capture_qp, 601, BF_CLASS_QUEUE, BF_REC_CAPTURE_QP_FIELDS);

/* The value of the send doorbell record when the doorbell rang. */
#define BF_REC_CAPTURE_DOORBELL_FIELDS(F)                                                                              \
	F(u32, qpn, HEX, "")                                                                                           \
	F(u32, dbrec, DEC, "")                                                                                         \
	F(u32, line, DEC, "")
BF_RECORD_DECLARE(capture_doorbell, 602, BF_CLASS_QUEUE, BF_REC_CAPTURE_DOORBELL_FIELDS);

/* An entry that the device fetched; the tail is its bytes. `index` counts WQEBBs (send) or entries (receive). */
#define BF_REC_CAPTURE_WQE_FIELDS(F)                                                                                   \
	F(u32, qpn, HEX, "")                                                                                           \
	F(u32, index, DEC, "")                                                                                         \
	F(u32, line, DEC, "")
BF_RECORD_DECLARE(capture_wqe, 603, BF_CLASS_QUEUE, BF_REC_CAPTURE_WQE_FIELDS);
BF_RECORD_DECLARE(capture_recv_wqe, 604, BF_CLASS_QUEUE, BF_REC_CAPTURE_WQE_FIELDS);

/* A queue pair takes its receives from an SRQ; and one of the SRQ's entries, whose tail is its bytes. */
#define BF_REC_CAPTURE_SRQ_FIELDS(F)                                                                                   \
	F(u32, srqn, HEX, "")                                                                                          \
	F(u32, qpn, HEX, "")                                                                                           \
	F(u32, wqes, DEC, "")                                                                                          \
	F(u32, stride_log2, DEC, "")                                                                                   \
	F(u32, line, DEC, "")
BF_RECORD_DECLARE(capture_srq, 606, BF_CLASS_QUEUE, BF_REC_CAPTURE_SRQ_FIELDS);

#define BF_REC_CAPTURE_SRQ_WQE_FIELDS(F)                                                                               \
	F(u32, srqn, HEX, "")                                                                                          \
	F(u32, index, DEC, "")                                                                                         \
	F(u32, line, DEC, "")
BF_RECORD_DECLARE(capture_srq_wqe, 607, BF_CLASS_QUEUE, BF_REC_CAPTURE_SRQ_WQE_FIELDS);

/* A completion; the tail is its 64 bytes, `index` its running number in the queue. */
#define BF_REC_CAPTURE_CQE_FIELDS(F)                                                                                   \
	F(u32, cqn, HEX, "")                                                                                           \
	F(u32, index, DEC, "")                                                                                         \
	F(u32, line, DEC, "")
BF_RECORD_DECLARE(capture_cqe, 605, BF_CLASS_QUEUE, BF_REC_CAPTURE_CQE_FIELDS);

#endif
