/*
 * Records of the Hopper model (type numbers 500 to 549; bulk copies take 520 to 549).
 *
 * The actor is the SM ("gpu0.sm3", kind "sm"). Addresses are in the SM's shared memory.
 */
#ifndef BELFRY_MODELS_HOPPER_RECORDS_H
#define BELFRY_MODELS_HOPPER_RECORDS_H

#include "sim/record.h"

#define BF_HOPPER_OPS                                                                                                  \
	"0=init;1=inval;2=arrive;3=arrive_drop;4=expect_tx;5=complete_tx;6=test_wait.parity;7=test_wait;"              \
	"8=try_wait.parity;9=try_wait;10=st.async;11=load;12=store;13=add"

/* A warp of a block, by slot, did an operation on one barrier; `lanes` of its lanes did it there together. */
#define BF_REC_HOPPER_OP_FIELDS(F)                                                                                     \
	F(u64, before, HEX, "")                                                                                        \
	F(u64, after, HEX, "")                                                                                         \
	F(u64, at_ps, TIME, "")                                                                                        \
	F(u32, address, HEX, "")                                                                                       \
	F(u32, warp, DEC, "")                                                                                          \
	F(u32, lanes, HEX, "")                                                                                         \
	F(u32, count, DEC, "")                                                                                         \
	F(u32, tx, DEC, "B")                                                                                           \
	F(u8, op, ENUM, BF_HOPPER_OPS)                                                                                 \
	F(u8, result, DEC, "")                                                                                         \
	F(u8, hit, DEC, "")                                                                                            \
	F(u8, remote, DEC, "")
BF_RECORD_DECLARE(hopper_op, 500, BF_CLASS_QUEUE, BF_REC_HOPPER_OP_FIELDS);

/* A wait took an entry of the try-wait buffer, or left it. */
#define BF_REC_HOPPER_WAIT_FIELDS(F)                                                                                   \
	F(u64, word, HEX, "")                                                                                          \
	F(u64, at_ps, TIME, "")                                                                                        \
	F(u32, address, HEX, "")                                                                                       \
	F(u32, warp, DEC, "")                                                                                          \
	F(u32, entries, DEC, "")                                                                                       \
	F(u32, event, ENUM, "0=parked;1=refused;2=woken;3=expired;4=evicted;5=killed")
BF_RECORD_DECLARE(hopper_wait, 501, BF_CLASS_QUEUE, BF_REC_HOPPER_WAIT_FIELDS);

/* An entry of the barrier cache: filled, or given up. */
#define BF_REC_HOPPER_CACHE_FIELDS(F)                                                                                  \
	F(u64, word, HEX, "")                                                                                          \
	F(u32, address, HEX, "")                                                                                       \
	F(u32, event, ENUM, "0=filled;1=written-back;2=invalidated;3=dropped")
BF_RECORD_DECLARE(hopper_cache, 502, BF_CLASS_MEM, BF_REC_HOPPER_CACHE_FIELDS);

/* A remote operation leaves its SM (0) or reaches the other (1). */
#define BF_REC_HOPPER_REMOTE_FIELDS(F)                                                                                 \
	F(u64, at_ps, TIME, "")                                                                                        \
	F(u32, address, HEX, "")                                                                                       \
	F(u32, warp, DEC, "")                                                                                          \
	F(u32, sm, DEC, "")                                                                                            \
	F(u16, op, ENUM, BF_HOPPER_OPS)                                                                                \
	F(u16, arrived, DEC, "")
BF_RECORD_DECLARE(hopper_remote, 503, BF_CLASS_NET, BF_REC_HOPPER_REMOTE_FIELDS);

/* A block became resident, or exited. */
#define BF_REC_HOPPER_CTA_FIELDS(F)                                                                                    \
	F(u32, cta, DEC, "")                                                                                           \
	F(u32, rank, DEC, "")                                                                                          \
	F(u32, base, HEX, "")                                                                                          \
	F(u32, bytes, DEC, "B")                                                                                        \
	F(u32, first_warp, DEC, "")                                                                                    \
	F(u32, event, ENUM, "0=launched;1=exited")
BF_RECORD_DECLARE(hopper_cta, 504, BF_CLASS_QUEUE, BF_REC_HOPPER_CTA_FIELDS);

/* The kernel ended in a fault. */
#define BF_REC_HOPPER_FAULT_FIELDS(F)                                                                                  \
	F(u64, word, HEX, "")                                                                                          \
	F(u32, address, HEX, "")                                                                                       \
	F(u32, warp, DEC, "")                                                                                          \
	F(u32, lane, DEC, "")                                                                                          \
	F(u8, op, ENUM, BF_HOPPER_OPS)                                                                                 \
	F(u8, kind, ENUM, "1=barrier;2=address;3=gone;4=remote;5=copy")                                                \
	F(u16, reason, ENUM,                                                                                           \
	  "0=none;1=not-initialised;2=init-count;3=arrive-count;4=over-arrival;5=tx-count;6=tx-range;7=drop")
BF_RECORD_DECLARE(hopper_fault, 505, BF_CLASS_FAULT, BF_REC_HOPPER_FAULT_FIELDS);

#endif
