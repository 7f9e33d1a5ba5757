/*
 * What the low-latency kernels say of themselves (class DRIVER). `phase` is 0 in a dispatch and 1 in a combine;
 * `expert` counts through all PEs; `qpn` is 0 where nothing leaves the PE.
 */
#ifndef BELFRY_DRIVERS_IBGDA_LL_RECORDS_H
#define BELFRY_DRIVERS_IBGDA_LL_RECORDS_H

#include "sim/record.h"

/* A warp has stored its part of a token's message into the send buffer. */
#define BF_REC_LL_CAST_FIELDS(F)                                                                                       \
	F(u32, round, DEC, "")                                                                                         \
	F(u32, token, DEC, "")
BF_RECORD_DECLARE(ll_cast, 265, BF_CLASS_DRIVER, BF_REC_LL_CAST_FIELDS);

/* A message was handed to its queue pair. */
#define BF_REC_LL_SEND_FIELDS(F)                                                                                       \
	F(u32, round, DEC, "")                                                                                         \
	F(u32, phase, ENUM, "0=dispatch;1=combine")                                                                    \
	F(u32, expert, DEC, "")                                                                                        \
	F(u32, dst, DEC, "")                                                                                           \
	F(u32, slot, DEC, "")                                                                                          \
	F(u32, token, DEC, "")                                                                                         \
	F(u32, qpn, HEX, "")                                                                                           \
	F(u32, reserved, DEC, "")
BF_RECORD_DECLARE(ll_send, 266, BF_CLASS_DRIVER, BF_REC_LL_SEND_FIELDS);

/* The count (or flag) behind them is about to be handed to its queue pair. */
#define BF_REC_LL_COUNT_FIELDS(F)                                                                                      \
	F(u32, round, DEC, "")                                                                                         \
	F(u32, phase, ENUM, "0=dispatch;1=combine")                                                                    \
	F(u32, expert, DEC, "")                                                                                        \
	F(u32, dst, DEC, "")                                                                                           \
	F(i32, value, INT, "")                                                                                         \
	F(u32, qpn, HEX, "")
BF_RECORD_DECLARE(ll_count, 267, BF_CLASS_DRIVER, BF_REC_LL_COUNT_FIELDS);

/* A receiver saw a count (or flag) that is not zero, and goes on to read messages. */
#define BF_REC_LL_RECV_FIELDS(F)                                                                                       \
	F(u32, round, DEC, "")                                                                                         \
	F(u32, phase, ENUM, "0=dispatch;1=combine")                                                                    \
	F(u32, expert, DEC, "")                                                                                        \
	F(u32, src, DEC, "")                                                                                           \
	F(i32, value, INT, "")                                                                                         \
	F(u32, reserved, DEC, "")
BF_RECORD_DECLARE(ll_recv, 268, BF_CLASS_DRIVER, BF_REC_LL_RECV_FIELDS);

#endif
