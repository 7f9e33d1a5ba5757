/*
 * Records of the kernel's half (type numbers 130 to 149): the control path as the program drove it.
 */
#ifndef BELFRY_MODELS_UVERBS_RECORDS_H
#define BELFRY_MODELS_UVERBS_RECORDS_H

#include "sim/record.h"

/*
 * A request ended. `object` and `method` are those of the ioctl ABI; a write-style command has `write` set and its
 * number (BF_UVERBS_EXTENDED for the extended ones) in `method`. `status` is 0 or a negative errno; `handle` is that of
 * the object made, found or destroyed (~0: none), `number` the device's number of it.
 */
#define BF_REC_UVERBS_CALL_FIELDS(F)                                                                                   \
	F(i32, status, INT, "")                                                                                        \
	F(u32, handle, DEC, "")                                                                                        \
	F(u32, number, HEX, "")                                                                                        \
	F(u16, object, HEX, "")                                                                                        \
	F(u16, method, HEX, "")                                                                                        \
	F(u16, file, DEC, "")                                                                                          \
	F(u16, abi, ENUM, "0=ioctl;1=invoke-write;2=write")                                                            \
	F(u32, reserved, DEC, "")                                                                                      \
	F(text32, name, TEXT, "")
BF_RECORD_DECLARE(uverbs_call, 130, BF_CLASS_QUEUE, BF_REC_UVERBS_CALL_FIELDS);

/* A request that no method answers, or an attribute that the method lacks (`attr`; 0xffff: it is the method). */
#define BF_REC_UVERBS_UNKNOWN_FIELDS(F)                                                                                \
	F(i32, status, INT, "")                                                                                        \
	F(u32, command, HEX, "")                                                                                       \
	F(u16, object, HEX, "")                                                                                        \
	F(u16, method, HEX, "")                                                                                        \
	F(u16, attr, HEX, "")                                                                                          \
	F(u16, abi, ENUM, "0=ioctl;1=invoke-write;2=write")
BF_RECORD_DECLARE(uverbs_unknown, 131, BF_CLASS_QUEUE, BF_REC_UVERBS_UNKNOWN_FIELDS);

/* An event went to the program: a completion (`type` 0xffff), or an asynchronous one by its number in the ABI. */
#define BF_REC_UVERBS_EVENT_FIELDS(F)                                                                                  \
	F(u64, element, HEX, "")                                                                                       \
	F(i32, status, INT, "")                                                                                        \
	F(u32, number, HEX, "")                                                                                        \
	F(i32, fd, INT, "")                                                                                            \
	F(u16, type, DEC, "")                                                                                          \
	F(u16, file, DEC, "")
BF_RECORD_DECLARE(uverbs_event, 132, BF_CLASS_QUEUE, BF_REC_UVERBS_EVENT_FIELDS);

/* A memory region: what a program registered, and under which keys. */
#define BF_REC_UVERBS_MR_FIELDS(F)                                                                                     \
	F(u64, address, HEX, "")                                                                                       \
	F(u64, length, DEC, "B")                                                                                       \
	F(u64, iova, HEX, "")                                                                                          \
	F(u32, lkey, HEX, "")                                                                                          \
	F(u32, access, HEX, "")
BF_RECORD_DECLARE(uverbs_mr, 133, BF_CLASS_QUEUE, BF_REC_UVERBS_MR_FIELDS);

/* Queue pair 1 was made: the device's numbers of it and of its completion queue, which are the kernel's own. */
#define BF_REC_UVERBS_QP1_FIELDS(F)                                                                                    \
	F(u32, qpn, HEX, "")                                                                                           \
	F(u32, cqn, HEX, "")
BF_RECORD_DECLARE(uverbs_qp1, 134, BF_CLASS_QUEUE, BF_REC_UVERBS_QP1_FIELDS);

#endif
