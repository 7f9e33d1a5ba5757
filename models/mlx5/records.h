/*
 * Records of the mlx5 model (type numbers 100 to 149): the life of each WQE, completion and queue.
 *
 * The actor of every record about a queue is that queue ("nic0.qp0x101", "nic0.cq0x41", kind "queue"); the others carry
 * the device. `index` is always the 16-bit WQEBB counter of a WQE's first block (send) or the receive WQE's counter, so
 * qpn and index together find all records of one WQE.
 */
#ifndef BELFRY_MODELS_MLX5_RECORDS_H
#define BELFRY_MODELS_MLX5_RECORDS_H

#include "sim/record.h"

#define BF_MLX5_OPCODE_NAMES                                                                                           \
	"0=NOP;1=SEND_INVAL;8=RDMA_WRITE;9=RDMA_WRITE_IMM;10=SEND;11=SEND_IMM;16=RDMA_READ;17=ATOMIC_CS;"              \
	"18=ATOMIC_FA;20=ATOMIC_MASKED_CS;21=ATOMIC_MASKED_FA;35=DUMP;37=UMR"
#define BF_MLX5_STATE_NAMES "0=RST;1=INIT;2=RTR;3=RTS;4=SQER;5=SQD;6=ERR"

/*
 * A store rang a send queue. `index` is bytes 1-2 of the doorbell: advisory, because libmlx5 writes the last WQE's
 * index there and NVSHMEM the producer index. `verdict` says what became of it.
 */
#define BF_REC_DOORBELL_FIELDS(F)                                                                                      \
	F(u32, qpn, HEX, "")                                                                                           \
	F(u32, uar, DEC, "")                                                                                           \
	F(u32, offset, HEX, "")                                                                                        \
	F(u32, len, DEC, "B")                                                                                          \
	F(u16, index, DEC, "")                                                                                         \
	F(u8, opcode, DEC, "")                                                                                         \
	F(u8, verdict, ENUM, "0=ok;1=no-such-qp;2=wrong-uar;3=no-send-queue;4=not-ready")
BF_RECORD_DECLARE(doorbell, 100, BF_CLASS_QUEUE, BF_REC_DOORBELL_FIELDS);

/*
 * A send WQE was fetched and decoded; the tail is its bytes. `index` is the counter the device expects there,
 * `ctrl_index` what the control segment says. A mismatch executes all the same (assumed: the reference does not say).
 */
#define BF_REC_WQE_FETCH_FIELDS(F)                                                                                     \
	F(u32, qpn, HEX, "")                                                                                           \
	F(u32, ctrl_qpn, HEX, "")                                                                                      \
	F(u32, length, DEC, "B")                                                                                       \
	F(u16, index, DEC, "")                                                                                         \
	F(u16, ctrl_index, DEC, "")                                                                                    \
	F(u16, producer, DEC, "")                                                                                      \
	F(u8, opcode, ENUM, BF_MLX5_OPCODE_NAMES)                                                                      \
	F(u8, ds, DEC, "")                                                                                             \
	F(u8, wqebbs, DEC, "")                                                                                         \
	F(u8, fm_ce_se, HEX, "")                                                                                       \
	F(u8, source, ENUM, "0=ring;1=blueflame")                                                                      \
	F(u8, verdict, ENUM, "0=ok;1=index-mismatch;2=qpn-mismatch;3=malformed;4=fetch-failed")                        \
	F(text32, why, TEXT, "")
BF_RECORD_DECLARE(wqe_fetch, 101, BF_CLASS_QUEUE, BF_REC_WQE_FETCH_FIELDS);

/* A WQE begins to execute: checks passed, packet sequence numbers assigned (`npsn` 0: nothing goes on the wire). */
#define BF_REC_WQE_START_FIELDS(F)                                                                                     \
	F(u64, raddr, HEX, "")                                                                                         \
	F(u64, va, HEX, "")                                                                                            \
	F(u32, qpn, HEX, "")                                                                                           \
	F(u32, psn, DEC, "")                                                                                           \
	F(u32, npsn, DEC, "")                                                                                          \
	F(u32, length, DEC, "B")                                                                                       \
	F(u32, lkey, HEX, "")                                                                                          \
	F(u32, rkey, HEX, "")                                                                                          \
	F(u32, in_flight, DEC, "")                                                                                     \
	F(u16, index, DEC, "")                                                                                         \
	F(u8, opcode, ENUM, BF_MLX5_OPCODE_NAMES)                                                                      \
	F(u8, nsge, DEC, "")
BF_RECORD_DECLARE(wqe_start, 102, BF_CLASS_QUEUE, BF_REC_WQE_START_FIELDS);

/* A WQE is finished, in order. `signalled`: a CQE follows. `psn` is the last one it used. */
#define BF_REC_WQE_DONE_FIELDS(F)                                                                                      \
	F(u32, qpn, HEX, "")                                                                                           \
	F(u32, psn, DEC, "")                                                                                           \
	F(u32, length, DEC, "B")                                                                                       \
	F(u16, index, DEC, "")                                                                                         \
	F(u16, next, DEC, "")                                                                                          \
	F(u8, opcode, ENUM, BF_MLX5_OPCODE_NAMES)                                                                      \
	F(u8, signalled, DEC, "")                                                                                      \
	F(u8, syndrome, HEX, "")                                                                                       \
	F(u8, vendor, HEX, "")
BF_RECORD_DECLARE(wqe_done, 103, BF_CLASS_QUEUE, BF_REC_WQE_DONE_FIELDS);

/* A CQE was written (or should have been); the tail is its 64 bytes. The actor is the CQ. */
#define BF_REC_CQE_FIELDS(F)                                                                                           \
	F(u64, iova, HEX, "")                                                                                          \
	F(u32, cqn, HEX, "")                                                                                           \
	F(u32, qpn, HEX, "")                                                                                           \
	F(u32, count, DEC, "")                                                                                         \
	F(u32, slot, DEC, "")                                                                                          \
	F(u32, byte_cnt, DEC, "B")                                                                                     \
	F(u32, imm, HEX, "")                                                                                           \
	F(u16, index, DEC, "")                                                                                         \
	F(u8, opcode, ENUM,                                                                                            \
	  "0=REQ;1=RESP_WRITE_IMM;2=RESP_SEND;3=RESP_SEND_IMM;4=RESP_SEND_INV;12=SIG_ERR;13=REQ_ERR;14=RESP_ERR")      \
	F(u8, syndrome, HEX, "")                                                                                       \
	F(u8, vendor, HEX, "")                                                                                         \
	F(u8, wqe_opcode, ENUM, BF_MLX5_OPCODE_NAMES)                                                                  \
	F(u8, solicited, DEC, "")                                                                                      \
	F(u8, verdict, ENUM, "0=written;1=lost-by-fault;2=cq-overrun;3=cq-in-error;4=write-failed")
BF_RECORD_DECLARE(cqe, 104, BF_CLASS_QUEUE, BF_REC_CQE_FIELDS);

/* A receive WQE was taken for an incoming message. The tail is its bytes. */
#define BF_REC_RECV_WQE_FETCH_FIELDS(F)                                                                                \
	F(u64, room, DEC, "B")                                                                                         \
	F(u32, qpn, HEX, "")                                                                                           \
	F(u32, nsge, DEC, "")                                                                                          \
	F(u32, psn, DEC, "")                                                                                           \
	F(u16, index, DEC, "")                                                                                         \
	F(u16, producer, DEC, "")
BF_RECORD_DECLARE(recv_wqe_fetch, 105, BF_CLASS_QUEUE, BF_REC_RECV_WQE_FETCH_FIELDS);

#define BF_REC_QP_STATE_FIELDS(F)                                                                                      \
	F(u32, qpn, HEX, "")                                                                                           \
	F(u8, from, ENUM, BF_MLX5_STATE_NAMES)                                                                         \
	F(u8, to, ENUM, BF_MLX5_STATE_NAMES)                                                                           \
	F(u8, cause, ENUM, "0=command;1=requester-error;2=responder-error;3=cq-error;4=drained")                       \
	F(u8, reserved, DEC, "")
BF_RECORD_DECLARE(qp_state, 106, BF_CLASS_QUEUE, BF_REC_QP_STATE_FIELDS);

/* A key check failed: who asked for what, and why not. */
#define BF_REC_MKEY_ERROR_FIELDS(F)                                                                                    \
	F(u64, va, HEX, "")                                                                                            \
	F(u64, start, HEX, "")                                                                                         \
	F(u64, size, DEC, "B")                                                                                         \
	F(u32, qpn, HEX, "")                                                                                           \
	F(u32, key, HEX, "")                                                                                           \
	F(u32, length, DEC, "B")                                                                                       \
	F(u8, access, ENUM, "1=local-read;2=local-write;4=remote-read;8=remote-write;16=atomic")                       \
	F(u8, why, ENUM,                                                                                               \
	  "0=ok;1=no-such-key;2=variant-mismatch;3=free;4=pd-mismatch;5=qp-mismatch;6=out-of-bounds;7=no-access")      \
	F(u16, index, DEC, "")
BF_RECORD_DECLARE(mkey_error, 107, BF_CLASS_FAULT, BF_REC_MKEY_ERROR_FIELDS);

/* The first error of a queue pair: which WQE, which packet, what the CQE will say and why. */
#define BF_REC_QP_ERROR_FIELDS(F)                                                                                      \
	F(u32, qpn, HEX, "")                                                                                           \
	F(u32, psn, DEC, "")                                                                                           \
	F(u16, index, DEC, "")                                                                                         \
	F(u8, side, ENUM, "0=requester;1=responder")                                                                   \
	F(u8, opcode, HEX, "")                                                                                         \
	F(u8, syndrome, HEX, "")                                                                                       \
	F(u8, vendor, HEX, "")                                                                                         \
	F(u8, hw, HEX, "")                                                                                             \
	F(u8, nak, HEX, "")                                                                                            \
	F(text32, why, TEXT, "")
BF_RECORD_DECLARE(qp_error, 108, BF_CLASS_FAULT, BF_REC_QP_ERROR_FIELDS);

/* The requester goes back to `psn` and sends again from there. */
#define BF_REC_RETRANSMIT_FIELDS(F)                                                                                    \
	F(u32, qpn, HEX, "")                                                                                           \
	F(u32, psn, DEC, "")                                                                                           \
	F(u32, sent, DEC, "")                                                                                          \
	F(u16, index, DEC, "")                                                                                         \
	F(u8, cause, ENUM, "0=time-out;1=nak-sequence;2=rnr-nak;3=response-lost;4=no-dc-context;5=dc-target-busy")     \
	F(u8, left, DEC, "")
BF_RECORD_DECLARE(retransmit, 109, BF_CLASS_QUEUE, BF_REC_RETRANSMIT_FIELDS);

/* A command and its answer. */
#define BF_REC_CMD_FIELDS(F)                                                                                           \
	F(u32, number, HEX, "")                                                                                        \
	F(u32, syndrome, HEX, "")                                                                                      \
	F(u16, opcode, HEX, "")                                                                                        \
	F(u8, status, HEX, "")                                                                                         \
	F(u8, reserved, DEC, "")                                                                                       \
	F(text32, name, TEXT, "")
BF_RECORD_DECLARE(cmd, 110, BF_CLASS_QUEUE, BF_REC_CMD_FIELDS);

/*
 * A doorbell record was read. `doorbell` is the index the last doorbell carried; it should be `producer` (NVSHMEM's
 * doorbells) or the first block of the last WQE (libmlx5's).
 */
#define BF_REC_DBREC_FIELDS(F)                                                                                         \
	F(u32, qpn, HEX, "")                                                                                           \
	F(u16, before, DEC, "")                                                                                        \
	F(u16, producer, DEC, "")                                                                                      \
	F(u16, doorbell, DEC, "")                                                                                      \
	F(u16, rq_producer, DEC, "")                                                                                   \
	F(u8, verdict, ENUM, "0=advanced;1=unchanged;2=went-back;3=read-failed")                                       \
	F(u8, mismatch, DEC, "")                                                                                       \
	F(u16, in_ring, DEC, "")
BF_RECORD_DECLARE(dbrec, 111, BF_CLASS_QUEUE, BF_REC_DBREC_FIELDS);

/* A CQ was armed by a store to its UAR page. */
#define BF_REC_CQ_ARM_FIELDS(F)                                                                                        \
	F(u32, cqn, HEX, "")                                                                                           \
	F(u32, consumer, DEC, "")                                                                                      \
	F(u8, sn, DEC, "")                                                                                             \
	F(u8, solicited_only, DEC, "")                                                                                 \
	F(u8, verdict, ENUM, "0=armed;1=no-such-cq;2=wrong-uar;3=stale-sn")                                            \
	F(u8, reserved, DEC, "")
BF_RECORD_DECLARE(cq_arm, 112, BF_CLASS_QUEUE, BF_REC_CQ_ARM_FIELDS);

/* An event that an armed CQ raised: what the event queue entry would say. */
#define BF_REC_CQ_EVENT_FIELDS(F)                                                                                      \
	F(u32, cqn, HEX, "")                                                                                           \
	F(u32, producer, DEC, "")                                                                                      \
	F(u32, consumer, DEC, "")                                                                                      \
	F(u8, kind, ENUM, "0=completion;1=overrun;2=write-failed")                                                     \
	F(u8, sn, DEC, "")                                                                                             \
	F(u16, reserved, DEC, "")
BF_RECORD_DECLARE(cq_event, 113, BF_CLASS_QUEUE, BF_REC_CQ_EVENT_FIELDS);

/* A packet that arrived and had no effect. */
#define BF_REC_RX_DROP_FIELDS(F)                                                                                       \
	F(u64, packet, DEC, "")                                                                                        \
	F(u32, qpn, HEX, "")                                                                                           \
	F(u32, psn, DEC, "")                                                                                           \
	F(u32, expected, DEC, "")                                                                                      \
	F(u8, opcode, HEX, "")                                                                                         \
	F(u8, why, ENUM,                                                                                               \
	  "0=not-rocev2;1=bad-length;2=bad-icrc;3=no-such-qp;4=wrong-peer;5=qp-state;6=out-of-sequence;7=stale;"       \
	  "8=unexpected;9=no-memory;10=wrong-qkey;11=no-receive-wqe")                                                  \
	F(u16, reserved, DEC, "")
BF_RECORD_DECLARE(rx_drop, 114, BF_CLASS_NET, BF_REC_RX_DROP_FIELDS);

/* The responder refused or postponed a request. */
#define BF_REC_NAK_SENT_FIELDS(F)                                                                                      \
	F(u32, qpn, HEX, "")                                                                                           \
	F(u32, psn, DEC, "")                                                                                           \
	F(u32, got, DEC, "")                                                                                           \
	F(u8, syndrome, HEX, "")                                                                                       \
	F(u8, opcode, HEX, "")                                                                                         \
	F(u16, reserved, DEC, "")
BF_RECORD_DECLARE(nak_sent, 115, BF_CLASS_QUEUE, BF_REC_NAK_SENT_FIELDS);

/* The responder accepted a whole request message. */
#define BF_REC_REQUEST_DONE_FIELDS(F)                                                                                  \
	F(u64, va, HEX, "")                                                                                            \
	F(u32, qpn, HEX, "")                                                                                           \
	F(u32, psn, DEC, "")                                                                                           \
	F(u32, msn, DEC, "")                                                                                           \
	F(u32, length, DEC, "B")                                                                                       \
	F(u32, rkey, HEX, "")                                                                                          \
	F(u32, opcode, HEX, "")
BF_RECORD_DECLARE(request_done, 116, BF_CLASS_QUEUE, BF_REC_REQUEST_DONE_FIELDS);

/*
 * The DC transport. A WQE of a DC initiator was decoded: the address vector that follows its control segment; wqe_fetch
 * comes next, and its bytes are to be read with this in mind. `ipv4` is the LID when the vector is compact.
 */
#define BF_REC_DC_WQE_FIELDS(F)                                                                                        \
	F(u64, dc_key, HEX, "")                                                                                        \
	F(u32, qpn, HEX, "")                                                                                           \
	F(u32, dct, HEX, "")                                                                                           \
	F(u32, ipv4, HEX, "")                                                                                          \
	F(u16, index, DEC, "")                                                                                         \
	F(u16, stream, DEC, "")                                                                                        \
	F(u32, av_len, DEC, "B")                                                                                       \
	F(u32, reserved, DEC, "")
BF_RECORD_DECLARE(dc_wqe, 120, BF_CLASS_QUEUE, BF_REC_DC_WQE_FIELDS);

/* An initiator's connection. `psn` is the first of the connection, or from which it goes on. */
#define BF_REC_DC_CONNECTION_FIELDS(F)                                                                                 \
	F(u32, qpn, HEX, "")                                                                                           \
	F(u32, dct, HEX, "")                                                                                           \
	F(u32, ipv4, HEX, "")                                                                                          \
	F(u32, session, DEC, "")                                                                                       \
	F(u32, psn, DEC, "")                                                                                           \
	F(u16, stream, DEC, "")                                                                                        \
	F(u16, attempt, DEC, "")                                                                                       \
	F(u32, what, ENUM, "0=chosen;1=connect-sent;2=acknowledged;3=disconnect-sent")                                 \
	F(u32, reserved, DEC, "")
BF_RECORD_DECLARE(dc_connection, 121, BF_CLASS_QUEUE, BF_REC_DC_CONNECTION_FIELDS);

/* A responder context of a DC target, or why there is none. `qpn` and `ipv4` are the initiator's. */
#define BF_REC_DC_CONTEXT_FIELDS(F)                                                                                    \
	F(u32, dct, HEX, "")                                                                                           \
	F(u32, qpn, HEX, "")                                                                                           \
	F(u32, ipv4, HEX, "")                                                                                          \
	F(u32, session, DEC, "")                                                                                       \
	F(u32, psn, DEC, "")                                                                                           \
	F(u16, stream, DEC, "")                                                                                        \
	F(u16, contexts, DEC, "")                                                                                      \
	F(u32, what, ENUM,                                                                                             \
	  "0=opened;1=opened-again;2=evicted;3=closed;4=no-context;5=all-busy;6=key-violation;7=wants-full-handshake") \
	F(u32, reserved, DEC, "")
BF_RECORD_DECLARE(dc_context, 122, BF_CLASS_QUEUE, BF_REC_DC_CONTEXT_FIELDS);

/* A DC target changed its state. */
#define BF_REC_DCT_STATE_FIELDS(F)                                                                                     \
	F(u32, dct, HEX, "")                                                                                           \
	F(u16, contexts, DEC, "")                                                                                      \
	F(u8, to, ENUM, "0=active;1=draining;2=drained;3=destroyed")                                                   \
	F(u8, reserved, DEC, "")
BF_RECORD_DECLARE(dct_state, 123, BF_CLASS_QUEUE, BF_REC_DCT_STATE_FIELDS);

/* A DC target's refusal reached the initiator. */
#define BF_REC_DC_CNAK_FIELDS(F)                                                                                       \
	F(u32, qpn, HEX, "")                                                                                           \
	F(u32, dct, HEX, "")                                                                                           \
	F(u32, session, DEC, "")                                                                                       \
	F(u32, psn, DEC, "")                                                                                           \
	F(u16, stream, DEC, "")                                                                                        \
	F(u16, reason, ENUM, "1=no-context;2=busy;3=key-violation;4=wants-full-handshake")                             \
	F(u32, reserved, DEC, "")
BF_RECORD_DECLARE(dc_cnak, 124, BF_CLASS_QUEUE, BF_REC_DC_CNAK_FIELDS);

/* A stream channel of a DC initiator failed, or was reset. */
#define BF_REC_DCI_STREAM_FIELDS(F)                                                                                    \
	F(u32, qpn, HEX, "")                                                                                           \
	F(u32, errored, DEC, "")                                                                                       \
	F(u16, stream, DEC, "")                                                                                        \
	F(u8, syndrome, HEX, "")                                                                                       \
	F(u8, what, ENUM, "0=failed;1=reset")                                                                          \
	F(u32, reserved, DEC, "")
BF_RECORD_DECLARE(dci_stream, 125, BF_CLASS_QUEUE, BF_REC_DCI_STREAM_FIELDS);

/*
 * A queue pair was created: its rings in WQEBBs and entries, what it completes to, its doorbell record's address, and
 * the I/O address of its send ring (0: there is none, or it is in pieces).
 */
#define BF_REC_QP_CONFIG_FIELDS(F)                                                                                     \
	F(u64, dbrec, HEX, "")                                                                                         \
	F(u64, sq, HEX, "")                                                                                            \
	F(u32, qpn, HEX, "")                                                                                           \
	F(u32, sq_wqebbs, DEC, "")                                                                                     \
	F(u32, rq_wqes, DEC, "")                                                                                       \
	F(u32, rq_stride, DEC, "B")                                                                                    \
	F(u32, send_cqn, HEX, "")                                                                                      \
	F(u32, recv_cqn, HEX, "")                                                                                      \
	F(u32, pd, HEX, "")                                                                                            \
	F(u32, uar, DEC, "")
BF_RECORD_DECLARE(qp_config, 117, BF_CLASS_QUEUE, BF_REC_QP_CONFIG_FIELDS);

/* A completion queue was created. `collapsed`: each entry goes to slot 0. */
#define BF_REC_CQ_CONFIG_FIELDS(F)                                                                                     \
	F(u64, dbrec, HEX, "")                                                                                         \
	F(u32, cqn, HEX, "")                                                                                           \
	F(u32, cqes, DEC, "")                                                                                          \
	F(u32, cqe_size, DEC, "B")                                                                                     \
	F(u32, uar, DEC, "")                                                                                           \
	F(u32, collapsed, ENUM, "0=no;1=yes")                                                                          \
	F(u32, overrun_ignore, ENUM, "0=no;1=yes")
BF_RECORD_DECLARE(cq_config, 118, BF_CLASS_QUEUE, BF_REC_CQ_CONFIG_FIELDS);

/*
 * A queue pair became ready to send: its peer, and what both sides agreed on. `timeout` is the exponent of the local
 * ACK time-out, `rnr_retries` 7 means for ever; `max_reads` may be outstanding, `max_answers` are answered.
 */
#define BF_REC_QP_PATH_FIELDS(F)                                                                                       \
	F(u32, qpn, HEX, "")                                                                                           \
	F(u32, remote_qpn, HEX, "")                                                                                    \
	F(u32, remote_ipv4, HEX, "")                                                                                   \
	F(u32, ipv4, HEX, "")                                                                                          \
	F(u32, max_reads, DEC, "")                                                                                     \
	F(u32, max_answers, DEC, "")                                                                                   \
	F(u32, mtu, DEC, "B")                                                                                          \
	F(u32, access, HEX, "")                                                                                        \
	F(u8, retries, DEC, "")                                                                                        \
	F(u8, rnr_retries, DEC, "")                                                                                    \
	F(u8, timeout, DEC, "")                                                                                        \
	F(u8, min_rnr_timer, DEC, "")                                                                                  \
	F(u32, reserved, DEC, "")
BF_RECORD_DECLARE(qp_path, 119, BF_CLASS_QUEUE, BF_REC_QP_PATH_FIELDS);

#define BF_MLX5_EVENT_NAMES                                                                                            \
	"0=COMP;2=COMM_EST;3=SQ_DRAINED;4=CQ_ERROR;5=WQ_CATAS;9=PORT_CHANGE;16=WQ_INVAL_REQ;17=WQ_ACCESS_ERR;"         \
	"18=SRQ_CATAS;19=SRQ_LAST_WQE;20=SRQ_RQ_LIMIT;28=DCT_DRAINED"

/* An event queue was created. `mask` has a bit for each asynchronous event that it takes. */
#define BF_REC_EQ_CONFIG_FIELDS(F)                                                                                     \
	F(u64, mask, HEX, "")                                                                                          \
	F(u32, eqn, DEC, "")                                                                                           \
	F(u32, eqes, DEC, "")                                                                                          \
	F(u32, vector, DEC, "")                                                                                        \
	F(u32, uar, DEC, "")
BF_RECORD_DECLARE(eq_config, 160, BF_CLASS_QUEUE, BF_REC_EQ_CONFIG_FIELDS);

/*
 * An event queue entry; the actor is the event queue. `number` is what the event is about: CQ, QP, SRQ, port or DCT.
 * `interrupt`: the queue was armed, so its interrupt follows.
 */
#define BF_REC_EQE_FIELDS(F)                                                                                           \
	F(u64, iova, HEX, "")                                                                                          \
	F(u32, eqn, DEC, "")                                                                                           \
	F(u32, count, DEC, "")                                                                                         \
	F(u32, number, HEX, "")                                                                                        \
	F(u8, event, ENUM, BF_MLX5_EVENT_NAMES)                                                                        \
	F(u8, sub_type, DEC, "")                                                                                       \
	F(u8, interrupt, DEC, "")                                                                                      \
	F(u8, verdict, ENUM, "0=written;1=overflow;2=write-failed")
BF_RECORD_DECLARE(eqe, 161, BF_CLASS_QUEUE, BF_REC_EQE_FIELDS);

/* An event queue's consumer index was stored to its UAR page. */
#define BF_REC_EQ_UPDATE_FIELDS(F)                                                                                     \
	F(u32, eqn, DEC, "")                                                                                           \
	F(u32, consumer, DEC, "")                                                                                      \
	F(u32, arm, ENUM, "0=no;1=yes")                                                                                \
	F(u32, verdict, ENUM, "0=ok;1=no-such-eq;2=wrong-uar")
BF_RECORD_DECLARE(eq_update, 162, BF_CLASS_QUEUE, BF_REC_EQ_UPDATE_FIELDS);

/* A shared receive queue was created. */
#define BF_REC_SRQ_CONFIG_FIELDS(F)                                                                                    \
	F(u64, dbrec, HEX, "")                                                                                         \
	F(u64, ring, HEX, "")                                                                                          \
	F(u32, srqn, HEX, "")                                                                                          \
	F(u32, wqes, DEC, "")                                                                                          \
	F(u32, stride, DEC, "B")                                                                                       \
	F(u32, pd, HEX, "")                                                                                            \
	F(u32, cyclic, ENUM, "0=linked-list;1=cyclic")                                                                 \
	F(u32, reserved, DEC, "")
BF_RECORD_DECLARE(srq_config, 163, BF_CLASS_QUEUE, BF_REC_SRQ_CONFIG_FIELDS);

/* Which WQE of a shared receive queue a request got; the queue pair's recv_wqe_fetch comes next. `left` are known. */
#define BF_REC_SRQ_TAKE_FIELDS(F)                                                                                      \
	F(u32, srqn, HEX, "")                                                                                          \
	F(u32, qpn, HEX, "")                                                                                           \
	F(u16, index, DEC, "")                                                                                         \
	F(u16, next, DEC, "")                                                                                          \
	F(u16, left, DEC, "")                                                                                          \
	F(u16, limit, DEC, "")
BF_RECORD_DECLARE(srq_take, 164, BF_CLASS_QUEUE, BF_REC_SRQ_TAKE_FIELDS);

/* A CQ has got another ring: entry `producer` of the old one says so, and `producer` + 1 is the new one's first. */
#define BF_REC_CQ_RESIZE_FIELDS(F)                                                                                     \
	F(u64, ring, HEX, "")                                                                                          \
	F(u32, cqn, HEX, "")                                                                                           \
	F(u32, producer, DEC, "")                                                                                      \
	F(u32, from, DEC, "")                                                                                          \
	F(u32, to, DEC, "")                                                                                            \
	F(u32, cqe_size, DEC, "B")                                                                                     \
	F(u32, reserved, DEC, "")
BF_RECORD_DECLARE(cq_resize, 165, BF_CLASS_QUEUE, BF_REC_CQ_RESIZE_FIELDS);

/* Whom a datagram WQE is for. `ipv4`: a full address vector's, or a compact one's LID; `qkey` 0x80000000: its own. */
#define BF_REC_UD_WQE_FIELDS(F)                                                                                        \
	F(u32, qpn, HEX, "")                                                                                           \
	F(u32, dest_qp, HEX, "")                                                                                       \
	F(u32, ipv4, HEX, "")                                                                                          \
	F(u32, qkey, HEX, "")                                                                                          \
	F(u16, index, DEC, "")                                                                                         \
	F(u16, av_len, DEC, "B")                                                                                       \
	F(u32, reserved, DEC, "")
BF_RECORD_DECLARE(ud_wqe, 170, BF_CLASS_QUEUE, BF_REC_UD_WQE_FIELDS);

/*
 * A memory key was changed: by a UMR WQE (`index`), or by a SEND with invalidate that arrived. `key` is what it is
 * called from now on, `klms` are the entries that it translates by.
 */
#define BF_REC_UMR_FIELDS(F)                                                                                           \
	F(u64, start, HEX, "")                                                                                         \
	F(u64, size, DEC, "B")                                                                                         \
	F(u32, qpn, HEX, "")                                                                                           \
	F(u32, key, HEX, "")                                                                                           \
	F(u32, owner, HEX, "")                                                                                         \
	F(u16, index, DEC, "")                                                                                         \
	F(u16, klms, DEC, "")                                                                                          \
	F(u8, access, HEX, "")                                                                                         \
	F(u8, free, ENUM, "0=no;1=yes")                                                                                \
	F(u8, by, ENUM, "0=umr;1=remote-invalidate")                                                                   \
	F(u8, verdict, ENUM, "0=ok;1=no-such-key;2=other-pd;3=umr-disabled;4=not-free;5=other-qp;6=not-modelled")      \
	F(u32, reserved, DEC, "")
BF_RECORD_DECLARE(umr, 171, BF_CLASS_QUEUE, BF_REC_UMR_FIELDS);

/* A command of the command queue is answered; its cmd record, if it came so far, is before. The tail is its entry. */
#define BF_REC_CMD_ENTRY_FIELDS(F)                                                                                     \
	F(u32, slot, DEC, "")                                                                                          \
	F(u32, in_len, DEC, "B")                                                                                       \
	F(u32, out_len, DEC, "B")                                                                                      \
	F(u16, opcode, HEX, "")                                                                                        \
	F(u8, token, HEX, "")                                                                                          \
	F(u8, delivery, ENUM,                                                                                          \
	  "0=ok;1=signature;2=token;3=block-number;4=out-pointer;5=in-pointer;6=firmware;7=in-length;8=out-length;"    \
	  "9=reserved;16=type")                                                                                        \
	F(u8, status, HEX, "")                                                                                         \
	F(u8, event, ENUM, "0=no;1=yes")                                                                               \
	F(u16, reserved, DEC, "")                                                                                      \
	F(u32, reserved_20, DEC, "")
BF_RECORD_DECLARE(cmd_entry, 172, BF_CLASS_QUEUE, BF_REC_CMD_ENTRY_FIELDS);

#endif
