/* Records of Hopper's sync unit and copy engine, and of threads that use them, that rules look at. */
#ifndef BELFRY_TRACES_RULES_SEEN_HOPPER_H
#define BELFRY_TRACES_RULES_SEEN_HOPPER_H

#define BF_SEEN_HOPPER_OP(F)                                                                                           \
	F(before) F(after) F(address) F(warp) F(lanes) F(count) F(tx) F(op) F(result) F(hit) F(remote)
#define BF_SEEN_HOPPER_WAIT(F) F(address) F(warp) F(entries) F(event)
#define BF_SEEN_HOPPER_REMOTE(F) F(address) F(warp) F(sm) F(op) F(arrived)
#define BF_SEEN_HOPPER_CTA(F) F(cta) F(rank) F(base) F(bytes) F(first_warp) F(event)
#define BF_SEEN_HOPPER_FAULT(F) F(word) F(address) F(warp) F(lane) F(op) F(kind) F(reason)
#define BF_SEEN_HOPPER_LABEL(F) F(sm) F(address) F(block) F(rank) F(expected) F(index) F(ranks) F(warps) F(each) F(free)
#define BF_SEEN_HOPPER_INIT_FENCE(F) F(sm) F(warp)
#define BF_SEEN_HOPPER_HAZARD(F) F(sm) F(address) F(rank) F(block) F(warp) F(by_rank) F(by) F(event)
#define BF_SEEN_HOPPER_STANDING(F)                                                                                     \
	F(waited_ps) F(sm) F(block) F(rank) F(warp) F(slot) F(address) F(waits) F(meets) F(ended) F(parity)
#define BF_SEEN_HOPPER_BULK(F)                                                                                         \
	F(global) F(copy) F(shared) F(source) F(barrier) F(bytes) F(cta) F(ranks) F(warp) F(lane) F(kind)
#define BF_SEEN_HOPPER_BULK_END(F) F(copy) F(event)
#define BF_SEEN_HOPPER_GROUP(F) F(warp) F(lanes) F(group) F(event) F(kind)
#define BF_SEEN_HOPPER_STALE_READ(F) F(copy) F(address) F(bytes) F(warp)
#define BF_SEEN_HOPPER_PROXY_FENCE(F) F(warp) F(bytes)
#define BF_SEEN_HOPPER_BULK_FAULT(F) F(global) F(copy) F(shared) F(warp) F(reason)
#define BF_SEEN_HOPPER_LDGSTS(F) F(shared) F(lanes) F(warp) F(bytes)
#define BF_SEEN_HOPPER_LDGSTS_ARRIVE(F) F(address) F(lanes) F(warp) F(noinc) F(event)

#define BF_SEEN_HOPPER(X)                                                                                              \
	X(hopper_op, BF_SEEN_HOPPER_OP, none)                                                                          \
	X(hopper_wait, BF_SEEN_HOPPER_WAIT, none)                                                                      \
	X(hopper_remote, BF_SEEN_HOPPER_REMOTE, none)                                                                  \
	X(hopper_cta, BF_SEEN_HOPPER_CTA, none)                                                                        \
	X(hopper_fault, BF_SEEN_HOPPER_FAULT, none)                                                                    \
	X(hopper_label, BF_SEEN_HOPPER_LABEL, none)                                                                    \
	X(hopper_init_fence, BF_SEEN_HOPPER_INIT_FENCE, none)                                                          \
	X(hopper_hazard, BF_SEEN_HOPPER_HAZARD, none)                                                                  \
	X(hopper_standing, BF_SEEN_HOPPER_STANDING, none)                                                              \
	X(hopper_bulk, BF_SEEN_HOPPER_BULK, none)                                                                      \
	X(hopper_bulk_end, BF_SEEN_HOPPER_BULK_END, none)                                                              \
	X(hopper_group, BF_SEEN_HOPPER_GROUP, none)                                                                    \
	X(hopper_stale_read, BF_SEEN_HOPPER_STALE_READ, none)                                                          \
	X(hopper_proxy_fence, BF_SEEN_HOPPER_PROXY_FENCE, none)                                                        \
	X(hopper_bulk_fault, BF_SEEN_HOPPER_BULK_FAULT, none)                                                          \
	X(hopper_ldgsts, BF_SEEN_HOPPER_LDGSTS, none)                                                                  \
	X(hopper_ldgsts_arrive, BF_SEEN_HOPPER_LDGSTS_ARRIVE, none)

#endif
