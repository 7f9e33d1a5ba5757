/* What the transport's files share, in the order of a request: tx, retry, ack, rx, answer. */
#ifndef BELFRY_MODELS_RDMA_TRANSPORT_INTERNAL_H
#define BELFRY_MODELS_RDMA_TRANSPORT_INTERNAL_H

#include <string.h>

#include "models/rdma/rdma.h"
#include "sim/pcie.h"
#include "sim/sim.h"

#define BF_RDMA_BACKLOG_PS (2 * BF_US) /* no more is made to be sent while the port has this much to do: assumed */

/* One DMA read on behalf of a packet; from the device's pool. */
struct bf_rdma_xfer {
	struct bf_dma_op op;
	struct bf_rdma_qp *qp;
	struct bf_packet *pkt;
	struct bf_rdma_xfer *next;
	uint32_t epoch;
	uint32_t psn;
	uint32_t payload_len;
	uint16_t payload_offset;
	uint16_t slot;
	bool last;     /* the packet is whole when this one is done */
	bool response; /* READ response of the responder */
	bool ends;     /* of an unreliable queue: with this packet the entry is done */
};

/* An atomic on its way to memory and back; from the device's pool. */
struct bf_rdma_atomic {
	struct bf_dma_op op;
	struct bf_rdma_qp *qp;
	struct bf_rdma_answer *answer;
	struct bf_rdma_atomic *next;
	uint64_t swap_add, compare, swap_mask, compare_mask;
	uint32_t epoch;
	uint8_t size;
	bool begun;
};

/* qp.c. NULL on lack of memory. */
struct bf_rdma_xfer *bf_rdma_xfer_get(struct bf_rdma *dev);
struct bf_rdma_atomic *bf_rdma_atomic_get(struct bf_rdma *dev);
static inline void bf_rdma_xfer_put(struct bf_rdma *dev, struct bf_rdma_xfer *x)
{
	x->next = dev->xfers;
	dev->xfers = x;
}
static inline void bf_rdma_atomic_put(struct bf_rdma *dev, struct bf_rdma_atomic *x)
{
	x->next = dev->atomics;
	dev->atomics = x;
}
/* Room for answers, if there is none yet; false on lack of memory. */
bool bf_rdma_make_answers(struct bf_rdma_qp *qp);

/* tx.c */
/* The entry completes with the cause when it is the oldest, and nothing after it is sent. */
void bf_rdma_fail(struct bf_rdma_qp *qp, struct bf_rdma_send *s, enum bf_rdma_cause cause, const char *why);
/* One packet of a READ's answer. `memory` BF_RDMA_MEMORY_*. */
bool bf_rdma_tx_response(struct bf_rdma_qp *qp, struct bf_packet *pkt, uint32_t psn, uint32_t payload_offset,
			 uint32_t rkey, uint8_t memory, uint64_t va, uint32_t len);

/* frame.c: the `len` bytes of a frame are there: checksums (`flags`, BF_RDMA_SEND_*_CHECKSUM), the least length. */
void bf_rdma_frame_finish(struct bf_packet *pkt, uint32_t len, uint32_t flags);

/* retry.c */
void bf_rdma_rto_fired(struct bf_event *ev);
void bf_rdma_pause_fired(struct bf_event *ev);
void bf_rdma_rto_progress(struct bf_rdma_qp *qp); /* something was acknowledged */
void bf_rdma_rnr_nak(struct bf_rdma_qp *qp, uint32_t psn, uint8_t timer);
/* The transmitter's position becomes `psn`, which lies between una and send. */
void bf_rdma_tx_seek(struct bf_rdma_qp *qp, uint32_t psn);

/* answer.c */
void bf_rdma_answer_read(struct bf_rdma_qp *qp, const struct bf_roce *r);
void bf_rdma_answer_atomic(struct bf_rdma_qp *qp, const struct bf_roce *r);
void bf_rdma_answer_duplicate(struct bf_rdma_qp *qp, const struct bf_roce *r);
void bf_rdma_answer_run(struct bf_rdma_qp *qp);
void bf_rdma_answer_fired(struct bf_event *ev);
void bf_rdma_ack_fired(struct bf_event *ev);
void bf_rdma_ack(struct bf_rdma_qp *qp, bool at_once);
/* Refuses the request at `psn`. Fatal ones (everything but sequence and RNR) put the queue pair into error once sent.
 */
void bf_rdma_nak(struct bf_rdma_qp *qp, uint8_t syndrome, uint32_t psn, uint8_t opcode);
/* The NAK that asks the requester to come again later. */
static inline uint8_t bf_rdma_rnr(const struct bf_rdma_qp *qp)
{
	return (uint8_t)(BF_AETH_RNR | qp->min_rnr_nak);
}
/* The key allows what a request wants, and the fault plan does not refuse it: asked once for each. */
bool bf_rdma_allowed(struct bf_rdma_qp *qp, uint32_t rkey, uint64_t va, uint64_t len, uint32_t access, uint8_t *memory);

#endif
