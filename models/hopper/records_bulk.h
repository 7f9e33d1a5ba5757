/*
 * Records of bulk copies and of Ampere's asynchronous copies (type numbers 530 to 549).
 *
 * The actor is the SM ("gpu0.sm3", kind "sm") that issued, or that received. Shared addresses are shared::cluster
 * addresses of the issuing block's cluster; warps are slots. `copy` counts the GPU's copies from 1.
 */
#ifndef BELFRY_MODELS_HOPPER_RECORDS_BULK_H
#define BELFRY_MODELS_HOPPER_RECORDS_BULK_H

#include "sim/record.h"

/* A thread issued a copy. `ranks`: blocks that receive. Plain form: `rank` is 0, tensor form: dimensions. */
#define BF_REC_HOPPER_BULK_FIELDS(F)                                                                                   \
	F(u64, global, HEX, "")                                                                                        \
	F(u32, copy, DEC, "")                                                                                          \
	F(u32, shared, HEX, "")                                                                                        \
	F(u32, source, HEX, "")                                                                                        \
	F(u32, barrier, HEX, "")                                                                                       \
	F(u32, bytes, DEC, "B")                                                                                        \
	F(u32, cta, DEC, "")                                                                                           \
	F(u16, ranks, HEX, "")                                                                                         \
	F(u16, warp, DEC, "")                                                                                          \
	F(u8, lane, DEC, "")                                                                                           \
	F(u8, kind, ENUM, "0=load;1=store;2=peer")                                                                     \
	F(u16, rank, DEC, "")
BF_RECORD_DECLARE(hopper_bulk, 530, BF_CLASS_QUEUE, BF_REC_HOPPER_BULK_FIELDS);

/* A request's data landed: in shared memory of the actor, or (store) in global memory. */
#define BF_REC_HOPPER_BULK_PIECE_FIELDS(F)                                                                             \
	F(u64, global, HEX, "")                                                                                        \
	F(u32, copy, DEC, "")                                                                                          \
	F(u32, shared, HEX, "")                                                                                        \
	F(u32, bytes, DEC, "B")                                                                                        \
	F(u32, outside, DEC, "")
BF_RECORD_DECLARE(hopper_bulk_piece, 531, BF_CLASS_DMA, BF_REC_HOPPER_BULK_PIECE_FIELDS);

/* Bytes that landed were signalled to a barrier of the actor, with its word after that. */
#define BF_REC_HOPPER_BULK_SIGNAL_FIELDS(F)                                                                            \
	F(u64, word, HEX, "")                                                                                          \
	F(u32, address, HEX, "")                                                                                       \
	F(u32, bytes, DEC, "B")
BF_RECORD_DECLARE(hopper_bulk_signal, 532, BF_CLASS_QUEUE, BF_REC_HOPPER_BULK_SIGNAL_FIELDS);

/* A copy has read its source, or has ended: all bytes have landed (and are signalled). */
#define BF_REC_HOPPER_BULK_END_FIELDS(F)                                                                               \
	F(u32, copy, DEC, "")                                                                                          \
	F(u32, event, ENUM, "0=read;1=ended")
BF_RECORD_DECLARE(hopper_bulk_end, 533, BF_CLASS_QUEUE, BF_REC_HOPPER_BULK_END_FIELDS);

/* Threads closed their group (`group`: the first lane's), or wait for all but the latest `group`. */
#define BF_REC_HOPPER_GROUP_FIELDS(F)                                                                                  \
	F(u32, warp, DEC, "")                                                                                          \
	F(u32, lanes, HEX, "")                                                                                         \
	F(u32, group, DEC, "")                                                                                         \
	F(u16, event, ENUM, "0=committed;1=waits;2=waits-read")                                                        \
	F(u16, kind, ENUM, "0=bulk;1=cp-async")
BF_RECORD_DECLARE(hopper_group, 534, BF_CLASS_QUEUE, BF_REC_HOPPER_GROUP_FIELDS);

/* A copy read bytes of the actor's shared memory as they were before a plain store that `warp` has not fenced. */
#define BF_REC_HOPPER_STALE_READ_FIELDS(F)                                                                             \
	F(u32, copy, DEC, "")                                                                                          \
	F(u32, address, HEX, "")                                                                                       \
	F(u32, bytes, DEC, "B")                                                                                        \
	F(u32, warp, DEC, "")
BF_RECORD_DECLARE(hopper_stale_read, 535, BF_CLASS_MEM, BF_REC_HOPPER_STALE_READ_FIELDS);

/* fence.proxy.async: so many bytes became visible to copies. */
#define BF_REC_HOPPER_PROXY_FENCE_FIELDS(F)                                                                            \
	F(u32, warp, DEC, "")                                                                                          \
	F(u32, bytes, DEC, "B")
BF_RECORD_DECLARE(hopper_proxy_fence, 536, BF_CLASS_MEM, BF_REC_HOPPER_PROXY_FENCE_FIELDS);

/* A copy broke a rule, or ran into nothing. */
#define BF_REC_HOPPER_BULK_FAULT_FIELDS(F)                                                                             \
	F(u64, global, HEX, "")                                                                                        \
	F(u32, copy, DEC, "")                                                                                          \
	F(u32, shared, HEX, "")                                                                                        \
	F(u32, warp, DEC, "")                                                                                          \
	F(u32, reason, ENUM, "1=size;2=alignment;3=window;4=target;5=tensor-map;6=global-address;7=block-gone")
BF_RECORD_DECLARE(hopper_bulk_fault, 537, BF_CLASS_FAULT, BF_REC_HOPPER_BULK_FAULT_FIELDS);

/* A warp issued cp.async: each of its lanes copies `bytes` to its own address (`shared`, `global`: the first lane's).
 */
#define BF_REC_HOPPER_LDGSTS_FIELDS(F)                                                                                 \
	F(u64, global, HEX, "")                                                                                        \
	F(u32, shared, HEX, "")                                                                                        \
	F(u32, lanes, HEX, "")                                                                                         \
	F(u32, warp, DEC, "")                                                                                          \
	F(u32, bytes, DEC, "B")
BF_RECORD_DECLARE(hopper_ldgsts, 540, BF_CLASS_QUEUE, BF_REC_HOPPER_LDGSTS_FIELDS);

/* cp.async.mbarrier.arrive by a warp at the first lane's barrier: issued, or triggered by the end of the copies. */
#define BF_REC_HOPPER_LDGSTS_ARRIVE_FIELDS(F)                                                                          \
	F(u32, address, HEX, "")                                                                                       \
	F(u32, lanes, HEX, "")                                                                                         \
	F(u32, warp, DEC, "")                                                                                          \
	F(u16, noinc, DEC, "")                                                                                         \
	F(u16, event, ENUM, "0=issued;1=triggered")
BF_RECORD_DECLARE(hopper_ldgsts_arrive, 541, BF_CLASS_QUEUE, BF_REC_HOPPER_LDGSTS_ARRIVE_FIELDS);

#endif
