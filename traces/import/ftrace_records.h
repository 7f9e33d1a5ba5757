/*
 * Records that hold the events of a Linux NVMe trace (type numbers 610 to 619); `line` is the line of the file that the
 * event came from. Each queue of each controller is an actor of kind "queue": "nvme0.q1".
 */
#ifndef BELFRY_TRACES_IMPORT_FTRACE_RECORDS_H
#define BELFRY_TRACES_IMPORT_FTRACE_RECORDS_H

#include "sim/record.h"

#define BF_FTRACE_SIDES "0=host;1=target;2=block"

/* A command was set up; the tail is its SQE as far as the line told. */
#define BF_REC_FTRACE_SETUP_FIELDS(F)                                                                                  \
	F(u32, qid, DEC, "")                                                                                           \
	F(u32, cid, HEX, "")                                                                                           \
	F(u32, opcode, HEX, "")                                                                                        \
	F(u32, nsid, DEC, "")                                                                                          \
	F(i32, fctype, INT, "")                                                                                        \
	F(u32, side, ENUM, BF_FTRACE_SIDES)                                                                            \
	F(u64, line, DEC, "")
BF_RECORD_DECLARE(ftrace_setup, 610, BF_CLASS_QUEUE, BF_REC_FTRACE_SETUP_FIELDS);

#define BF_REC_FTRACE_SQ_FIELDS(F)                                                                                     \
	F(u32, qid, DEC, "")                                                                                           \
	F(u32, head, DEC, "")                                                                                          \
	F(u32, tail, DEC, "")                                                                                          \
	F(u32, line, DEC, "")
BF_RECORD_DECLARE(ftrace_sq, 611, BF_CLASS_QUEUE, BF_REC_FTRACE_SQ_FIELDS);

#define BF_REC_FTRACE_COMPLETE_FIELDS(F)                                                                               \
	F(u64, result, HEX, "")                                                                                        \
	F(u32, qid, DEC, "")                                                                                           \
	F(u32, cid, HEX, "")                                                                                           \
	F(u32, status, HEX, "")                                                                                        \
	F(u32, retries, DEC, "")                                                                                       \
	F(u32, side, ENUM, BF_FTRACE_SIDES)                                                                            \
	F(u32, line, DEC, "")
BF_RECORD_DECLARE(ftrace_complete, 612, BF_CLASS_QUEUE, BF_REC_FTRACE_COMPLETE_FIELDS);

#define BF_REC_FTRACE_AEN_FIELDS(F)                                                                                    \
	F(u32, event, HEX, "")                                                                                         \
	F(u32, line, DEC, "")
BF_RECORD_DECLARE(ftrace_aen, 613, BF_CLASS_QUEUE, BF_REC_FTRACE_AEN_FIELDS);

#endif
