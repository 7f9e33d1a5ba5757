/*
 * What the IBGDA driver says of itself (class DRIVER): with the device's records they make the life of an entry
 * complete, from who reserved its slot to who learned that it was done. Indices count WQEBBs and never wrap; `qpn`
 * names the queue.
 */
#ifndef BELFRY_DRIVERS_IBGDA_RECORDS_H
#define BELFRY_DRIVERS_IBGDA_RECORDS_H

#include "sim/record.h"

/* Slots base..base+count-1 now belong to the actor. */
#define BF_REC_IBGDA_RESERVE_FIELDS(F)                                                                                 \
	F(u64, base, DEC, "WQEBB")                                                                                     \
	F(u32, count, DEC, "WQEBB")                                                                                    \
	F(u32, qpn, HEX, "")
BF_RECORD_DECLARE(ibgda_reserve, 250, BF_CLASS_DRIVER, BF_REC_IBGDA_RESERVE_FIELDS);

/* The actor has stored an entry (its bytes may not be visible to the device yet). */
#define BF_REC_IBGDA_BUILD_FIELDS(F)                                                                                   \
	F(u64, index, DEC, "WQEBB")                                                                                    \
	F(u32, qpn, HEX, "")                                                                                           \
	F(u32, ds, DEC, "")
BF_RECORD_DECLARE(ibgda_build, 251, BF_CLASS_DRIVER, BF_REC_IBGDA_BUILD_FIELDS);

/* Slots up to base+count are published (ready_head); `posts`: the actor also rings, otherwise somebody later does. */
#define BF_REC_IBGDA_PUBLISH_FIELDS(F)                                                                                 \
	F(u64, base, DEC, "WQEBB")                                                                                     \
	F(u32, count, DEC, "WQEBB")                                                                                    \
	F(u32, qpn, HEX, "")                                                                                           \
	F(u32, posts, ENUM, "0=no;1=yes")                                                                              \
	F(u32, reserved, DEC, "")
BF_RECORD_DECLARE(ibgda_publish, 252, BF_CLASS_DRIVER, BF_REC_IBGDA_PUBLISH_FIELDS);

/* The actor stored doorbell record and doorbell for entries from..to-1. */
#define BF_REC_IBGDA_POST_FIELDS(F)                                                                                    \
	F(u64, from, DEC, "WQEBB")                                                                                     \
	F(u64, to, DEC, "WQEBB")                                                                                       \
	F(u32, qpn, HEX, "")                                                                                           \
	F(u32, dbrec, HEX, "")
BF_RECORD_DECLARE(ibgda_post, 253, BF_CLASS_DRIVER, BF_REC_IBGDA_POST_FIELDS);

/* A poller learned that entries below `done` are complete; it had waited for `wanted`. */
#define BF_REC_IBGDA_POLL_FIELDS(F)                                                                                    \
	F(u64, wanted, DEC, "WQEBB")                                                                                   \
	F(u64, done, DEC, "WQEBB")                                                                                     \
	F(u32, qpn, HEX, "")                                                                                           \
	F(u32, syndrome, HEX, "")
BF_RECORD_DECLARE(ibgda_poll, 254, BF_CLASS_DRIVER, BF_REC_IBGDA_POLL_FIELDS);

/* The actor returned from a quiet: all that was published below `upto` on this queue is complete. */
#define BF_REC_IBGDA_QUIET_FIELDS(F)                                                                                   \
	F(u64, upto, DEC, "WQEBB")                                                                                     \
	F(u32, qpn, HEX, "")                                                                                           \
	F(i32, status, INT, "")
BF_RECORD_DECLARE(ibgda_quiet, 255, BF_CLASS_DRIVER, BF_REC_IBGDA_QUIET_FIELDS);

/* The actor told the CPU proxy of entries from..to-1, which will ring for them (its record is ibgda_post). */
#define BF_REC_IBGDA_HANDOFF_FIELDS(F)                                                                                 \
	F(u64, from, DEC, "WQEBB")                                                                                     \
	F(u64, to, DEC, "WQEBB")                                                                                       \
	F(u32, qpn, HEX, "")                                                                                           \
	F(u32, reserved, DEC, "")
BF_RECORD_DECLARE(ibgda_handoff, 256, BF_CLASS_DRIVER, BF_REC_IBGDA_HANDOFF_FIELDS);

/* The actor made all traffic of an RC go to another queue: `word` is its failover word from now on. */
#define BF_REC_IBGDA_MOVE_FIELDS(F)                                                                                    \
	F(u32, rc, DEC, "")                                                                                            \
	F(u32, word, HEX, "")                                                                                          \
	F(u32, from_qpn, HEX, "")                                                                                      \
	F(u32, to_qpn, HEX, "")
BF_RECORD_DECLARE(ibgda_move, 257, BF_CLASS_DRIVER, BF_REC_IBGDA_MOVE_FIELDS);

/* What became of the entry at `index` of a failed queue: it is entry `again` of the other one, or nothing. */
#define BF_REC_IBGDA_REPLAY_FIELDS(F)                                                                                  \
	F(u64, index, DEC, "WQEBB")                                                                                    \
	F(u64, again, DEC, "WQEBB")                                                                                    \
	F(u32, from_qpn, HEX, "")                                                                                      \
	F(u32, to_qpn, HEX, "")                                                                                        \
	F(u32, opcode, HEX, "")                                                                                        \
	F(u32, fate, ENUM, "0=replayed;1=not needed;2=unknown;3=no key")
BF_RECORD_DECLARE(ibgda_replay, 258, BF_CLASS_DRIVER, BF_REC_IBGDA_REPLAY_FIELDS);

/* A poller stored `to` as what is complete, whatever other pollers had put there. */
#define BF_REC_IBGDA_CONSUME_FIELDS(F)                                                                                 \
	F(u64, to, DEC, "WQEBB")                                                                                       \
	F(u32, qpn, HEX, "")                                                                                           \
	F(u32, reserved, DEC, "")
BF_RECORD_DECLARE(ibgda_consume, 259, BF_CLASS_DRIVER, BF_REC_IBGDA_CONSUME_FIELDS);

/* What was meant for PE `meant` goes by a queue pair that leads to PE `peer`. */
#define BF_REC_IBGDA_ASTRAY_FIELDS(F)                                                                                  \
	F(u32, meant, DEC, "")                                                                                         \
	F(u32, peer, DEC, "")                                                                                          \
	F(u32, qpn, HEX, "")                                                                                           \
	F(u32, index, DEC, "")
BF_RECORD_DECLARE(ibgda_astray, 260, BF_CLASS_DRIVER, BF_REC_IBGDA_ASTRAY_FIELDS);

/*
 * The actor takes results that lie in memory for there: of the fetching entries below `upto`, or of all gets that its
 * last quiet of this queue waited for; `consistent` of gets, when memory shows them without a consistency step.
 */
#define BF_REC_IBGDA_RESULT_FIELDS(F)                                                                                  \
	F(u64, upto, DEC, "WQEBB")                                                                                     \
	F(u32, qpn, HEX, "")                                                                                           \
	F(u16, kind, ENUM, "0=fetched;1=got")                                                                          \
	F(u16, consistent, ENUM, "0=no;1=yes")
BF_RECORD_DECLARE(ibgda_result, 261, BF_CLASS_DRIVER, BF_REC_IBGDA_RESULT_FIELDS);

/* The actor has tickets base..base+count-1 of an internal buffer of `slots` slots, or is about to give them back. */
#define BF_REC_IBGDA_IBUF_FIELDS(F)                                                                                    \
	F(u64, base, DEC, "")                                                                                          \
	F(u32, count, DEC, "")                                                                                         \
	F(u32, qpn, HEX, "")                                                                                           \
	F(u32, slots, DEC, "")                                                                                         \
	F(u32, given, ENUM, "0=taken;1=given back")
BF_RECORD_DECLARE(ibgda_ibuf, 262, BF_CLASS_DRIVER, BF_REC_IBGDA_IBUF_FIELDS);

#endif
