/*
 * Record types of agents and of their memory operations: numbers 1 to 39.
 *
 * Addresses are simulated ones. A record's time is the simulation's clock; an agent that has charged time without
 * syncing is ahead of it, and `ahead` says by how much. A buffered store is named by its agent (the record's actor) and
 * `seq`: its `store` record and its `store_visible` record carry the same pair. Stores under ordering sc are visible at
 * once and have no `store_visible` record.
 */
#ifndef BELFRY_SIM_RECORDS_AGENT_H
#define BELFRY_SIM_RECORDS_AGENT_H

#include "sim/record.h"

#define BF_REC_SEMS "0=weak;1=relaxed;2=acquire;3=release;4=acq_rel"
#define BF_REC_SCOPES "0=cta;1=gpu;2=sys"

#define BF_REC_AGENT_START_FIELDS(F)                                                                                   \
	F(u64, stack, DEC, "B")                                                                                        \
	F(text32, name, TEXT, "")
BF_RECORD_DECLARE(agent_start, 1, BF_CLASS_AGENT, BF_REC_AGENT_START_FIELDS);

/* `va` is the first line waited for, 0 when parked; `timeout` all ones: none. */
#define BF_REC_AGENT_WAIT_FIELDS(F)                                                                                    \
	F(u64, va, HEX, "")                                                                                            \
	F(u64, timeout, TIME, "ps")                                                                                    \
	F(u64, lines, DEC, "")                                                                                         \
	F(text32, what, TEXT, "")
BF_RECORD_DECLARE(agent_wait, 2, BF_CLASS_AGENT, BF_REC_AGENT_WAIT_FIELDS);

#define BF_REC_AGENT_WAKE_FIELDS(F)                                                                                    \
	F(u64, slept, TIME, "ps")                                                                                      \
	F(u64, reason, ENUM, "0=woken;1=timeout")
BF_RECORD_DECLARE(agent_wake, 3, BF_CLASS_AGENT, BF_REC_AGENT_WAKE_FIELDS);

#define BF_REC_AGENT_END_FIELDS(F) F(u64, ahead, TIME, "ps")
BF_RECORD_DECLARE(agent_end, 4, BF_CLASS_AGENT, BF_REC_AGENT_END_FIELDS);

/* One for each agent that waits for ever. `value` is what memory holds at `va`. Tail: the report's line, as text. */
#define BF_REC_DEADLOCK_FIELDS(F)                                                                                      \
	F(u64, since, TIME, "ps")                                                                                      \
	F(u64, va, HEX, "")                                                                                            \
	F(u64, value, HEX, "")                                                                                         \
	F(text32, what, TEXT, "")
BF_RECORD_DECLARE(deadlock, 5, BF_CLASS_AGENT, BF_REC_DEADLOCK_FIELDS);

/* Tail: the bytes stored. */
#define BF_REC_STORE_FIELDS(F)                                                                                         \
	F(u64, va, HEX, "")                                                                                            \
	F(u64, seq, DEC, "")                                                                                           \
	F(u64, ahead, TIME, "ps")                                                                                      \
	F(u32, len, DEC, "B")                                                                                          \
	F(u16, sem, ENUM, BF_REC_SEMS)                                                                                 \
	F(u16, scope, ENUM, BF_REC_SCOPES)
BF_RECORD_DECLARE(store, 10, BF_CLASS_MEM, BF_REC_STORE_FIELDS);

/* A buffered store reached memory (or, to MMIO, set out for the device). `age` since the store was issued. */
#define BF_REC_STORE_VISIBLE_FIELDS(F)                                                                                 \
	F(u64, va, HEX, "")                                                                                            \
	F(u64, seq, DEC, "")                                                                                           \
	F(u64, age, TIME, "ps")                                                                                        \
	F(u32, len, DEC, "B")                                                                                          \
	F(u32, cause, ENUM, "0=drain;1=fence;2=release;3=atomic;4=full;5=end")
BF_RECORD_DECLARE(store_visible, 11, BF_CLASS_MEM, BF_REC_STORE_VISIBLE_FIELDS);

/* A load that polls, when it saw something else than the last one of this agent. `value`: the first 8 bytes. */
#define BF_REC_LOAD_FIELDS(F)                                                                                          \
	F(u64, va, HEX, "")                                                                                            \
	F(u64, value, HEX, "")                                                                                         \
	F(u32, len, DEC, "B")                                                                                          \
	F(u16, sem, ENUM, BF_REC_SEMS)                                                                                 \
	F(u16, scope, ENUM, BF_REC_SCOPES)
BF_RECORD_DECLARE(load, 12, BF_CLASS_MEM, BF_REC_LOAD_FIELDS);

/* `pushed`: stores that had to move to another level, other threads' included. */
#define BF_REC_FENCE_FIELDS(F)                                                                                         \
	F(u32, pushed, DEC, "")                                                                                        \
	F(u32, scope, ENUM, BF_REC_SCOPES)
BF_RECORD_DECLARE(fence, 13, BF_CLASS_MEM, BF_REC_FENCE_FIELDS);

#define BF_REC_ATOMIC_FIELDS(F)                                                                                        \
	F(u64, va, HEX, "")                                                                                            \
	F(u64, old, HEX, "")                                                                                           \
	F(u64, operand, HEX, "")                                                                                       \
	F(u64, compare, HEX, "")                                                                                       \
	F(u16, op, ENUM, "0=add;1=max;2=exch;3=cas;4=and;5=or")                                                        \
	F(u16, len, DEC, "B")                                                                                          \
	F(u16, sem, ENUM, BF_REC_SEMS)                                                                                 \
	F(u16, scope, ENUM, BF_REC_SCOPES)
BF_RECORD_DECLARE(atomic, 14, BF_CLASS_MEM, BF_REC_ATOMIC_FIELDS);

/* The driver's store to a device register; when it sets out, a store_visible follows. Tail: the bytes. */
#define BF_REC_MMIO_STORE_FIELDS(F)                                                                                    \
	F(u64, va, HEX, "")                                                                                            \
	F(u64, seq, DEC, "")                                                                                           \
	F(u32, len, DEC, "B")                                                                                          \
	F(u32, sem, ENUM, BF_REC_SEMS)
BF_RECORD_DECLARE(mmio_store, 15, BF_CLASS_MMIO, BF_REC_MMIO_STORE_FIELDS);

/* A piece of the write-combining buffer sets out for the device. Tail: the bytes. */
#define BF_REC_WC_EVICT_FIELDS(F)                                                                                      \
	F(u64, va, HEX, "")                                                                                            \
	F(u32, len, DEC, "B")                                                                                          \
	F(u32, cause, ENUM, "0=drain;1=fence;2=flush;3=ordered;4=full;5=other line")
BF_RECORD_DECLARE(wc_evict, 16, BF_CLASS_MMIO, BF_REC_WC_EVICT_FIELDS);

/* A weak load was served from the block's stale copy and missed what the GPU already has (`fresh`). */
#define BF_REC_STALE_LOAD_FIELDS(F)                                                                                    \
	F(u64, va, HEX, "")                                                                                            \
	F(u64, value, HEX, "")                                                                                         \
	F(u64, fresh, HEX, "")                                                                                         \
	F(u64, len, DEC, "B")
BF_RECORD_DECLARE(stale_load, 17, BF_CLASS_MEM, BF_REC_STALE_LOAD_FIELDS);

/*
 * Where the agent's next access is in its code: the return address of the call, as an offset from where file `image`
 * was loaded.
 */
#define BF_REC_WHERE_FIELDS(F)                                                                                         \
	F(u64, offset, HEX, "")                                                                                        \
	F(u64, image, DEC, "")
BF_RECORD_DECLARE(where, 18, BF_CLASS_WHERE, BF_REC_WHERE_FIELDS);

/*
 * A program or library that driver code is in. `build_id`: the first bytes of the linker's; 0: none. Tail: its path.
 * Or a source file of a program that is interpreted: then offsets of `where` are its lines.
 */
#define BF_IMAGE_IS_TEXT UINT64_MAX
#define BF_REC_IMAGE_FIELDS(F)                                                                                         \
	F(u64, build_id, HEX, "")                                                                                      \
	F(u64, image, DEC, "")
BF_RECORD_DECLARE(image, 19, BF_CLASS_WHERE, BF_REC_IMAGE_FIELDS);

#endif
