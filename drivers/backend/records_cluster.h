/*
 * Records of what threads of a cluster do that the Hopper model does not see (type numbers 510 to 519): what a barrier
 * is for, plain accesses to shared memory that went wrong, and how warps stand at the end of a run that failed.
 *
 * The actor is a thread ("b0.w1.l3"). `sm` is its block's, addresses are offsets in the block of rank `rank`.
 */
#ifndef BELFRY_DRIVERS_BACKEND_RECORDS_CLUSTER_H
#define BELFRY_DRIVERS_BACKEND_RECORDS_CLUSTER_H

#include "sim/record.h"

/* What a barrier is for (struct bf_bar_label), and the arrivals that its init counts. */
#define BF_REC_HOPPER_LABEL_FIELDS(F)                                                                                  \
	F(u32, sm, DEC, "")                                                                                            \
	F(u32, address, HEX, "")                                                                                       \
	F(u32, block, DEC, "")                                                                                         \
	F(u32, rank, DEC, "")                                                                                          \
	F(u32, expected, DEC, "")                                                                                      \
	F(u32, index, DEC, "")                                                                                         \
	F(u32, ranks, HEX, "")                                                                                         \
	F(u32, warps, HEX, "")                                                                                         \
	F(u32, each, DEC, "")                                                                                          \
	F(u32, free, DEC, "")                                                                                          \
	F(text32, name, TEXT, "")                                                                                      \
	F(text32, who, TEXT, "")
BF_RECORD_DECLARE(hopper_label, 510, BF_CLASS_QUEUE, BF_REC_HOPPER_LABEL_FIELDS);

/* fence.mbarrier_init: the thread's inits are there for copies and for other blocks. */
#define BF_REC_HOPPER_INIT_FENCE_FIELDS(F)                                                                             \
	F(u32, sm, DEC, "")                                                                                            \
	F(u32, warp, DEC, "")
BF_RECORD_DECLARE(hopper_init_fence, 511, BF_CLASS_QUEUE, BF_REC_HOPPER_INIT_FENCE_FIELDS);

/*
 * A thread's plain access, or its going on, that cannot be right: it read bytes before the store there by thread `by`
 * (warp * 32 + lane) of rank `by_rank` had been released to it; it stored into a live barrier, or loaded its word; it
 * went on although its wait for `address` had come back false; it addressed a block that has exited; it
 * started a bulk copy into bytes that its warp has read since the warp's last fence.proxy.async; it read bytes that
 * thread `by` copies there by cp.async and has not waited for; it arrived for its warp, or started a bulk store for it,
 * when thread `by` of the warp had not met others since it touched shared memory.
 */
#define BF_REC_HOPPER_HAZARD_FIELDS(F)                                                                                 \
	F(u32, sm, DEC, "")                                                                                            \
	F(u32, address, HEX, "")                                                                                       \
	F(u32, rank, DEC, "")                                                                                          \
	F(u32, block, DEC, "")                                                                                         \
	F(u32, warp, DEC, "")                                                                                          \
	F(u32, by_rank, DEC, "")                                                                                       \
	F(u32, by, DEC, "")                                                                                            \
	F(u32, event, ENUM,                                                                                            \
	  "0=unreleased;1=stored-barrier;2=loaded-barrier;3=went-on;4=nobody-there;5=read-before;6=copying;7=for-"     \
	  "others")
BF_RECORD_DECLARE(hopper_hazard, 512, BF_CLASS_MEM, BF_REC_HOPPER_HAZARD_FIELDS);

/*
 * How a warp stands when a run has failed: lanes that wait for the barrier at `address` (of a parity), that meet
 * others, that have ended. `slot`: of the SM. The actor is its first lane. `waited_ps`: since when.
 */
#define BF_REC_HOPPER_STANDING_FIELDS(F)                                                                               \
	F(u64, waited_ps, TIME, "")                                                                                    \
	F(u32, sm, DEC, "")                                                                                            \
	F(u32, block, DEC, "")                                                                                         \
	F(u32, rank, DEC, "")                                                                                          \
	F(u32, warp, DEC, "")                                                                                          \
	F(u32, slot, DEC, "")                                                                                          \
	F(u32, address, HEX, "")                                                                                       \
	F(u32, waits, HEX, "")                                                                                         \
	F(u32, meets, HEX, "")                                                                                         \
	F(u32, ended, HEX, "")                                                                                         \
	F(u32, parity, DEC, "")
BF_RECORD_DECLARE(hopper_standing, 513, BF_CLASS_AGENT, BF_REC_HOPPER_STANDING_FIELDS);

#endif
