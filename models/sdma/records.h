/*
 * Records of the SDMA model (type numbers 400 to 449): the life of each packet, doorbell and pointer.
 *
 * The actor of every record is the queue ("sdma0.q0", kind "queue"). `index` is the monotonic byte index of a packet's
 * first dword in the ring; for a packet in an indirect buffer it is the INDIRECT packet's, and `indirect` its offset in
 * the buffer plus one (0: in the ring). Index, indirect and actor together find all records of one packet.
 */
#ifndef BELFRY_MODELS_SDMA_RECORDS_H
#define BELFRY_MODELS_SDMA_RECORDS_H

#include "sim/record.h"

/* The queue was created, paused, resumed or destroyed, or went away with its engine (left). */
#define BF_REC_SDMA_QUEUE_FIELDS(F)                                                                                    \
	F(u64, ring, HEX, "")                                                                                          \
	F(u64, bytes, DEC, "B")                                                                                        \
	F(u64, rptr, HEX, "")                                                                                          \
	F(u64, wptr, HEX, "")                                                                                          \
	F(u32, doorbell, HEX, "")                                                                                      \
	F(u32, gen, ENUM, "0=v4;1=v5;2=v6;3=v7;4=v7.1")                                                                \
	F(u8, wide_rect, DEC, "")                                                                                      \
	F(u8, wide_count, DEC, "")                                                                                     \
	F(u8, wrapped, DEC, "")                                                                                        \
	F(u8, strict, DEC, "")                                                                                         \
	F(u32, event, ENUM, "0=created;1=paused;2=resumed;3=destroyed;4=left")
BF_RECORD_DECLARE(sdma_queue, 400, BF_CLASS_QUEUE, BF_REC_SDMA_QUEUE_FIELDS);

/*
 * A doorbell arrived. `value` as stored; `published` is the index that it means, `before` the one in force so far.
 * `wptr` is the write pointer in memory at this moment: a driver stores it first (ROCr
 * amd_blit_sdma.cpp, UpdateWriteAndDoorbellRegister).
 */
#define BF_REC_SDMA_DOORBELL_FIELDS(F)                                                                                 \
	F(u64, value, HEX, "")                                                                                         \
	F(u64, published, HEX, "")                                                                                     \
	F(u64, before, HEX, "")                                                                                        \
	F(u64, wptr, HEX, "")                                                                                          \
	F(u64, retired, HEX, "")                                                                                       \
	F(u32, len, DEC, "B")                                                                                          \
	F(u32, verdict, ENUM, "0=ok;1=again;2=wptr-behind;3=unaligned;4=back;5=past-ring;6=wrong-width;7=stopped")
BF_RECORD_DECLARE(sdma_doorbell, 401, BF_CLASS_QUEUE, BF_REC_SDMA_DOORBELL_FIELDS);

/* Ring (or indirect buffer) bytes are on their way to the engine. */
#define BF_REC_SDMA_FETCH_FIELDS(F)                                                                                    \
	F(u64, index, HEX, "")                                                                                         \
	F(u64, address, HEX, "")                                                                                       \
	F(u64, published, HEX, "")                                                                                     \
	F(u32, len, DEC, "B")                                                                                          \
	F(u32, ring, ENUM, "0=indirect;1=ring")
BF_RECORD_DECLARE(sdma_fetch, 402, BF_CLASS_QUEUE, BF_REC_SDMA_FETCH_FIELDS);

/* A packet was decoded and dispatched. The tail is its dwords, at most BF_SDMA_RECORD_DWORDS of them. */
#define BF_SDMA_RECORD_DWORDS 1024u
#define BF_REC_SDMA_PACKET_FIELDS(F)                                                                                   \
	F(u64, index, HEX, "")                                                                                         \
	F(u64, indirect, DEC, "")                                                                                      \
	F(u64, bytes, DEC, "B")                                                                                        \
	F(u32, dwords, DEC, "")                                                                                        \
	F(u8, op, DEC, "")                                                                                             \
	F(u8, sub_op, DEC, "")                                                                                         \
	F(u16, running, DEC, "")                                                                                       \
	F(text32, name, TEXT, "")
BF_RECORD_DECLARE(sdma_packet, 403, BF_CLASS_QUEUE, BF_REC_SDMA_PACKET_FIELDS);

/* Every byte of a copy or fill is in memory. */
#define BF_REC_SDMA_COPIED_FIELDS(F)                                                                                   \
	F(u64, index, HEX, "")                                                                                         \
	F(u64, indirect, DEC, "")                                                                                      \
	F(u64, start_ps, TIME, "")                                                                                     \
	F(u64, bytes, DEC, "B")                                                                                        \
	F(u64, rows, DEC, "")                                                                                          \
	F(u32, job, DEC, "")                                                                                           \
	F(u32, running, DEC, "")
BF_RECORD_DECLARE(sdma_copied, 404, BF_CLASS_QUEUE, BF_REC_SDMA_COPIED_FIELDS);

/* Bytes of a copy or fill changed memory: `rows` rows of `len` bytes, `pitch` apart. Sources of fills are 0. */
#define BF_REC_SDMA_PIECE_FIELDS(F)                                                                                    \
	F(u64, src, HEX, "")                                                                                           \
	F(u64, dst, HEX, "")                                                                                           \
	F(u64, len, DEC, "B")                                                                                          \
	F(u64, src_pitch, DEC, "B")                                                                                    \
	F(u64, dst_pitch, DEC, "B")                                                                                    \
	F(u32, rows, DEC, "")                                                                                          \
	F(u32, job, DEC, "")
BF_RECORD_DECLARE(sdma_piece, 405, BF_CLASS_DMA, BF_REC_SDMA_PIECE_FIELDS);

/* The read pointer is on its way to memory. `value` is what memory gets, `index` the monotonic index. */
#define BF_REC_SDMA_RPTR_FIELDS(F)                                                                                     \
	F(u64, value, HEX, "")                                                                                         \
	F(u64, index, HEX, "")
BF_RECORD_DECLARE(sdma_rptr, 406, BF_CLASS_QUEUE, BF_REC_SDMA_RPTR_FIELDS);

/* The queue stopped: which dword of which packet, and why. `header`: its first dword, 0 when it is not at hand. */
#define BF_REC_SDMA_FAULT_FIELDS(F)                                                                                    \
	F(u64, index, HEX, "")                                                                                         \
	F(u64, indirect, DEC, "")                                                                                      \
	F(u64, address, HEX, "")                                                                                       \
	F(u32, dword, DEC, "")                                                                                         \
	F(u32, value, HEX, "")                                                                                         \
	F(u32, reason, ENUM,                                                                                           \
	  "1=bad-opcode;2=reserved-value;3=misaligned;4=truncated;5=straddles;6=memory;7=privileged;"                  \
	  "8=doorbell-back;9=out-of-surface;10=overlap;11=indirect;12=unmodelled")                                     \
	F(u32, running, DEC, "")                                                                                       \
	F(u32, header, HEX, "")                                                                                        \
	F(u32, reserved, DEC, "")
BF_RECORD_DECLARE(sdma_fault, 407, BF_CLASS_QUEUE, BF_REC_SDMA_FAULT_FIELDS);

/* Something that works here and is not defined, or not wise: for rules. `value` is the dword, or its offending bits. */
#define BF_REC_SDMA_SUSPECT_FIELDS(F)                                                                                  \
	F(u64, index, HEX, "")                                                                                         \
	F(u64, indirect, DEC, "")                                                                                      \
	F(u64, address, HEX, "")                                                                                       \
	F(u32, dword, DEC, "")                                                                                         \
	F(u32, value, HEX, "")                                                                                         \
	F(u64, what, ENUM, "1=reserved-bits;2=out-of-surface;3=overlap;4=timestamp-alignment;5=poll-timeout")
BF_RECORD_DECLARE(sdma_suspect, 408, BF_CLASS_QUEUE, BF_REC_SDMA_SUSPECT_FIELDS);

/*
 * What FENCE, ATOMIC, POLL_REGMEM, COND_EXE, TIMESTAMP and TRAP did. `before` is what was read (0 for plain stores),
 * `after` what memory gets or, for polls, the reference.
 */
#define BF_REC_SDMA_RESULT_FIELDS(F)                                                                                   \
	F(u64, index, HEX, "")                                                                                         \
	F(u64, indirect, DEC, "")                                                                                      \
	F(u64, address, HEX, "")                                                                                       \
	F(u64, before, HEX, "")                                                                                        \
	F(u64, after, HEX, "")                                                                                         \
	F(u32, tries, DEC, "")                                                                                         \
	F(u8, op, DEC, "")                                                                                             \
	F(u8, verdict, ENUM, "0=done;1=again;2=timed-out;3=skips;4=lost")                                              \
	F(u16, reserved, DEC, "")
BF_RECORD_DECLARE(sdma_result, 409, BF_CLASS_QUEUE, BF_REC_SDMA_RESULT_FIELDS);

#endif
