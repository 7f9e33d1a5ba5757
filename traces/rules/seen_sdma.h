/* Records of SDMA engines and of their driver that rules look at. The engine's name their queue by their actor. */
#ifndef BELFRY_TRACES_RULES_SEEN_SDMA_H
#define BELFRY_TRACES_RULES_SEEN_SDMA_H

#define BF_SEEN_SDMA_QUEUE(F) F(ring) F(bytes) F(rptr) F(gen) F(wide_rect) F(wide_count) F(wrapped) F(event)
#define BF_SEEN_SDMA_DOORBELL(F) F(value) F(published) F(before) F(wptr) F(retired) F(len) F(verdict)
#define BF_SEEN_SDMA_FETCH(F) F(index) F(address) F(len) F(ring)
#define BF_SEEN_SDMA_PACKET(F) F(index) F(indirect) F(bytes) F(dwords) F(op) F(sub_op)
#define BF_SEEN_SDMA_COPIED(F) F(index) F(indirect) F(start_ps) F(bytes) F(job)
#define BF_SEEN_SDMA_PIECE(F) F(src) F(dst) F(len) F(src_pitch) F(dst_pitch) F(rows) F(job)
#define BF_SEEN_SDMA_FAULT(F) F(index) F(indirect) F(address) F(dword) F(value) F(reason) F(header)
#define BF_SEEN_SDMA_SUSPECT(F) F(index) F(indirect) F(address) F(dword) F(value) F(what)
#define BF_SEEN_SDMA_RESULT(F) F(index) F(indirect) F(address) F(before) F(after) F(op) F(verdict)

#define BF_SEEN_SDMA_RESERVE(F) F(from) F(to) F(queue) F(pad)
#define BF_SEEN_SDMA_PUBLISH(F) F(from) F(to) F(queue)
#define BF_SEEN_SDMA_WAITED(F) F(va) F(value)
#define BF_SEEN_SDMA_MISMATCH(F) F(va) F(wanted) F(found)

#define BF_SEEN_SDMA_ENGINE(X)                                                                                         \
	X(sdma_queue, BF_SEEN_SDMA_QUEUE, actor)                                                                       \
	X(sdma_doorbell, BF_SEEN_SDMA_DOORBELL, actor)                                                                 \
	X(sdma_fetch, BF_SEEN_SDMA_FETCH, actor)                                                                       \
	X(sdma_packet, BF_SEEN_SDMA_PACKET, actor)                                                                     \
	X(sdma_copied, BF_SEEN_SDMA_COPIED, actor)                                                                     \
	X(sdma_piece, BF_SEEN_SDMA_PIECE, none)                                                                        \
	X(sdma_fault, BF_SEEN_SDMA_FAULT, actor)                                                                       \
	X(sdma_suspect, BF_SEEN_SDMA_SUSPECT, actor)                                                                   \
	X(sdma_result, BF_SEEN_SDMA_RESULT, actor)

#define BF_SEEN_SDMA_DRIVER(X)                                                                                         \
	X(sdma_reserve, BF_SEEN_SDMA_RESERVE, queue)                                                                   \
	X(sdma_publish, BF_SEEN_SDMA_PUBLISH, queue)                                                                   \
	X(sdma_waited, BF_SEEN_SDMA_WAITED, none)                                                                      \
	X(sdma_mismatch, BF_SEEN_SDMA_MISMATCH, none)

#define BF_SEEN_SDMA(X) BF_SEEN_SDMA_ENGINE(X) BF_SEEN_SDMA_DRIVER(X)

#endif
