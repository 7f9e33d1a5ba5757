/*
 * What the SDMA driver says of itself (class DRIVER). Indices count bytes and never wrap; `queue` is the number that
 * the kernel driver gave the queue.
 */
#ifndef BELFRY_DRIVERS_SDMA_RECORDS_H
#define BELFRY_DRIVERS_SDMA_RECORDS_H

#include "sim/record.h"

/* Bytes from..to-1 of the ring now belong to the actor; `pad`: to be filled with NOPs up to the ring's end. */
#define BF_REC_SDMA_RESERVE_FIELDS(F)                                                                                  \
	F(u64, from, DEC, "B")                                                                                         \
	F(u64, to, DEC, "B")                                                                                           \
	F(u32, queue, DEC, "")                                                                                         \
	F(u32, pad, ENUM, "0=no;1=yes")
BF_RECORD_DECLARE(sdma_reserve, 280, BF_CLASS_DRIVER, BF_REC_SDMA_RESERVE_FIELDS);

/* The actor stored the write pointer and the doorbell for bytes from..to-1. */
#define BF_REC_SDMA_PUBLISH_FIELDS(F)                                                                                  \
	F(u64, from, DEC, "B")                                                                                         \
	F(u64, to, DEC, "B")                                                                                           \
	F(u32, queue, DEC, "")                                                                                         \
	F(u32, reserved, DEC, "")
BF_RECORD_DECLARE(sdma_publish, 281, BF_CLASS_DRIVER, BF_REC_SDMA_PUBLISH_FIELDS);

/* The actor saw that what it waited for has come: the 64-bit word at `va`, a signal or a read pointer, is `value`. */
#define BF_REC_SDMA_WAITED_FIELDS(F)                                                                                   \
	F(u64, va, HEX, "")                                                                                            \
	F(u64, value, HEX, "")
BF_RECORD_DECLARE(sdma_waited, 282, BF_CLASS_DRIVER, BF_REC_SDMA_WAITED_FIELDS);

/*
 * A slice of a surface as a copy left it, `rows` rows of `pitch` bytes in the tail, and the window in it that the copy
 * was to write: `width` bytes by `height` rows at (`x` bytes, `y`). The workload driver's, for pictures.
 */
#define BF_REC_SDMA_SURFACE_FIELDS(F)                                                                                  \
	F(u64, va, HEX, "")                                                                                            \
	F(u32, pitch, DEC, "B")                                                                                        \
	F(u32, rows, DEC, "")                                                                                          \
	F(u32, element, DEC, "B")                                                                                      \
	F(u32, x, DEC, "B")                                                                                            \
	F(u32, y, DEC, "")                                                                                             \
	F(u32, width, DEC, "B")                                                                                        \
	F(u32, height, DEC, "")                                                                                        \
	F(u32, right, ENUM, "0=wrong;1=right")                                                                         \
	F(text32, what, TEXT, "")
BF_RECORD_DECLARE(sdma_surface, 283, BF_CLASS_DRIVER, BF_REC_SDMA_SURFACE_FIELDS);

/* The first byte that is not what the workload meant, found after the run. */
#define BF_REC_SDMA_MISMATCH_FIELDS(F)                                                                                 \
	F(u64, va, HEX, "")                                                                                            \
	F(u32, wanted, HEX, "")                                                                                        \
	F(u32, found, HEX, "")
BF_RECORD_DECLARE(sdma_mismatch, 284, BF_CLASS_DRIVER, BF_REC_SDMA_MISMATCH_FIELDS);

#endif
