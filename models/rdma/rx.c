/*
 * The responder: packets that arrive, in sequence or not, and the WRITEs and SENDs among them.
 *
 * READs and atomics, and everything that goes back to the requester, are in answer.c.
 */
#include "models/rdma/transport_internal.h"

#include <errno.h>

#include "sim/fault.h"

BF_STATIC_ASSERT(BF_RDMA_DROP_NO_RECEIVE + 1 == BF_RDMA_DROPS, "a counter for each reason");

/* rx_op: the message in progress. */
enum { OP_NONE, OP_SEND, OP_WRITE };

void bf_rdma_drop(struct bf_rdma *dev, uint32_t actor, const struct bf_packet *pkt, uint32_t expected,
		  enum bf_rdma_drop why)
{
	dev->count.rx_drops[why]++;
	if (bf_probe(dev->sim, BF_CLASS_NET)) {
		struct bf_rec_rx_drop rec = { .packet = pkt->id, .expected = expected, .why = (uint8_t)why };

		if (why > BF_RDMA_DROP_ICRC) {
			rec.qpn = dev->rx.dest_qp;
			rec.psn = dev->rx.psn;
			rec.opcode = dev->rx.opcode;
		}
		BF_EMIT_MADE(dev->sim, actor, rx_drop, rec, NULL, 0);
	}
}

bool bf_rdma_parse(struct bf_rdma *dev, struct bf_packet *pkt)
{
	const uint64_t now = dev->sim->now_ps;
	int status;

	dev->rx_busy_ps = (dev->rx_busy_ps > now ? dev->rx_busy_ps : now) + dev->profile.packet_rx_ps;
	status = bf_roce_parse(pkt->data, pkt->len, dev->profile.icrc, &dev->rx, NULL);
	if (BF_LIKELY(!status))
		return true;
	bf_rdma_drop(dev, dev->actor, pkt, 0,
		     status == -EILSEQ    ? BF_RDMA_DROP_ICRC
		     : status == -EBADMSG ? BF_RDMA_DROP_LENGTH
					  : BF_RDMA_DROP_NOT_ROCE);
	bf_packet_free(pkt);
	return false;
}

static bool takes_requests(const struct bf_rdma_qp *qp)
{
	return qp->state >= BF_RDMA_RTR && qp->state != BF_RDMA_ERR;
}

void bf_rdma_deliver(struct bf_rdma *dev, struct bf_rdma_qp *qp, const struct bf_port *port, struct bf_packet *pkt)
{
	const struct bf_roce *r = &dev->rx;

	if (BF_UNLIKELY(!qp || qp->service != (r->uc ? BF_RDMA_UC : BF_RDMA_RC) || qp->asks & BF_RDMA_ASKS_CONNECTION ||
			!takes_requests(qp) || r->src_ipv4 != qp->remote_ipv4 || port != qp->port)) {
		bf_rdma_drop(dev, qp ? qp->actor : dev->actor, pkt, 0,
			     !qp                   ? BF_RDMA_DROP_NO_QP
			     : !takes_requests(qp) ? BF_RDMA_DROP_STATE
						   : BF_RDMA_DROP_PEER);
		bf_packet_free(pkt);
		return;
	}
	if (bf_rdma_is_response(r->opcode)) {
		bf_rdma_rx_response(qp, pkt);
		bf_packet_free(pkt);
	} else {
		bf_rdma_rx_request(qp, pkt);
	}
}

/* Refuses the request at hand for good; a receive that was taken for it completes with `cause`. */
static void refuse(struct bf_rdma_qp *qp, const struct bf_roce *r, uint8_t nak, enum bf_rdma_cause cause,
		   const char *why)
{
	const struct bf_rdma_refusal x = {
		.psn = r->psn, .opcode = r->opcode, .nak = nak, .cause = cause, .message = true, .why = why
	};

	qp->dev->ops->refused(qp, &x);
	if (BF_LIKELY(!bf_rdma_is_unreliable(qp))) {
		bf_rdma_nak(qp, nak, r->psn, r->opcode);
		return;
	}
	qp->dev->ops->enter(qp, BF_RDMA_ERR, BF_RDMA_RESPONDER);
	qp->dev->ops->run(qp);
}

static bool is_first(uint8_t opcode)
{
	switch (opcode) {
	case BF_RC_SEND_FIRST:
	case BF_RC_SEND_ONLY:
	case BF_RC_SEND_ONLY_IMM:
	case BF_RC_SEND_ONLY_INV:
	case BF_RC_WRITE_FIRST:
	case BF_RC_WRITE_ONLY:
	case BF_RC_WRITE_ONLY_IMM:
		return true;
	default:
		return false;
	}
}

static bool is_last(uint8_t opcode)
{
	return opcode != BF_RC_SEND_FIRST && opcode != BF_RC_SEND_MIDDLE && opcode != BF_RC_WRITE_FIRST &&
	       opcode != BF_RC_WRITE_MIDDLE;
}

static bool takes_receive(uint8_t opcode)
{
	return opcode == BF_RC_SEND_FIRST || opcode == BF_RC_SEND_ONLY || opcode == BF_RC_SEND_ONLY_IMM ||
	       opcode == BF_RC_SEND_ONLY_INV || opcode == BF_RC_WRITE_ONLY_IMM || opcode == BF_RC_WRITE_LAST_IMM;
}

/* A message of an unreliable connection is not taken; what comes before the next one's first packet is dropped. */
static void forget_message(struct bf_rdma_qp *qp)
{
	qp->rx_op = OP_NONE;
	qp->rx_done = 0;
}

static void drop_unreliable(struct bf_rdma_qp *qp, struct bf_packet *pkt, const struct bf_roce *r,
			    enum bf_rdma_drop why)
{
	bf_rdma_drop(qp->dev, qp->actor, pkt, qp->expected_psn, why);
	forget_message(qp);
	if (qp->service == BF_RDMA_UC)
		qp->expected_psn = bf_psn_add(r->psn, 1);
	bf_packet_free(pkt);
}

bool bf_rdma_rx_take(struct bf_rdma_qp *qp, struct bf_packet *pkt, const struct bf_roce *r)
{
	switch (qp->dev->ops->take(qp)) {
	case BF_RDMA_TAKE_TAKEN:
		return true;
	case BF_RDMA_TAKE_WAIT:
		pkt->next = qp->hold;
		if (!qp->hold)
			qp->hold_tail = &pkt->next;
		qp->hold = pkt;
		return false;
	case BF_RDMA_TAKE_BROKEN:
		refuse(qp, r, BF_AETH_NAK_OP, BF_RDMA_NO_CAUSE, "receive queue cannot be read");
		bf_packet_free(pkt);
		return false;
	default:
		if (BF_UNLIKELY(bf_rdma_is_unreliable(qp))) {
			drop_unreliable(qp, pkt, r, BF_RDMA_DROP_NO_RECEIVE);
			return false;
		}
		bf_rdma_nak(qp, bf_rdma_rnr(qp), r->psn, r->opcode);
		bf_packet_free(pkt);
		return false;
	}
}

bool bf_rdma_allowed(struct bf_rdma_qp *qp, uint32_t rkey, uint64_t va, uint64_t len, uint32_t access, uint8_t *memory)
{
	struct bf_fault refused;

	return qp->dev->ops->remote(qp, rkey, va, len, access, memory) &&
	       !bf_fault_check(qp->dev->sim, BF_FAULT_ACCESS, qp->actor, qp->qpn, &refused);
}

/* The opening packet of a WRITE: rights and bounds for the whole message (IBA vol. 1 section 9.7.4.1.5). */
static uint8_t begin_write(struct bf_rdma_qp *qp, const struct bf_roce *r, enum bf_rdma_cause *cause, const char **why)
{
	qp->rx_memory = 0;
	*why = qp->access & BF_RDMA_ACCESS_REMOTE_WRITE ? "longer than log_msg_max" : "QP allows no remote WRITE";
	if (!(qp->access & BF_RDMA_ACCESS_REMOTE_WRITE) || r->dma_len > 1ull << qp->log_msg_max)
		return BF_AETH_NAK_INV_REQ;
	*why = "remote key";
	if (r->dma_len &&
	    !bf_rdma_allowed(qp, r->rkey, r->va, r->dma_len, BF_RDMA_ACCESS_REMOTE_WRITE, &qp->rx_memory)) {
		if (qp->rx_memory & BF_RDMA_MEMORY_ABSENT)
			*cause = BF_RDMA_NOT_YET;
		return BF_AETH_NAK_ACCESS;
	}
	qp->rx_va = r->va;
	qp->rx_left = r->dma_len;
	qp->rx_rkey = r->rkey;
	qp->rx_keys = qp->dev->key_changes;
	return 0;
}

/* The key of the WRITE at hand is still good, although keys may have gone since its first packet. */
static bool key_holds(struct bf_rdma_qp *qp, uint32_t len)
{
	uint8_t memory;

	if (BF_LIKELY(qp->rx_keys == qp->dev->key_changes))
		return true;
	qp->rx_keys = qp->dev->key_changes;
	return qp->dev->ops->remote(qp, qp->rx_rkey, qp->rx_va, len, BF_RDMA_ACCESS_REMOTE_WRITE, &memory);
}

static int write_payload(struct bf_rdma_qp *qp, const uint8_t *payload, uint32_t len)
{
	if (BF_UNLIKELY(qp->rx_memory & BF_RDMA_MEMORY_MAPPED))
		return qp->dev->ops->write(qp, qp->rx_rkey, qp->rx_va, payload, len);
	return bf_dma_write(qp->dev->dma, qp->rx_va, payload, len,
			    qp->rx_memory & BF_RDMA_MEMORY_RELAXED ? BF_DMA_RELAXED : 0);
}

/* 0, a NAK syndrome, and for SENDs the cause that the receive tells. */
static uint8_t place(struct bf_rdma_qp *qp, const struct bf_roce *r, const uint8_t *payload, enum bf_rdma_cause *cause,
		     const char **why)
{
	*why = "memory cannot be reached";
	if (qp->rx_op == OP_SEND) {
		const bool whole = is_first(r->opcode) && is_last(r->opcode);

		if ((uint64_t)qp->rx_done + r->payload_len > 1ull << qp->log_msg_max) {
			*why = "longer than log_msg_max";
			return BF_AETH_NAK_INV_REQ;
		}
		if (r->payload_len > qp->rx_room - qp->rx_done) {
			*cause = BF_RDMA_RECEIVE_SHORT;
			*why = "longer than the receive";
			return BF_AETH_NAK_INV_REQ;
		}
		return qp->dev->ops->place(qp, payload, r->payload_len, whole, cause) ? 0 : BF_AETH_NAK_OP;
	}
	if (r->payload_len > qp->rx_left || (is_last(r->opcode) && r->payload_len != qp->rx_left)) {
		*why = "not the length that RETH says";
		return BF_AETH_NAK_INV_REQ;
	}
	if (r->payload_len && !key_holds(qp, r->payload_len)) {
		*why = "remote key is gone";
		return BF_AETH_NAK_ACCESS;
	}
	if (r->payload_len && write_payload(qp, payload, r->payload_len))
		return BF_AETH_NAK_OP;
	qp->rx_va += r->payload_len;
	qp->rx_left -= r->payload_len;
	return 0;
}

static void finish_message(struct bf_rdma_qp *qp, const struct bf_roce *r)
{
	qp->rx_op = OP_NONE;
	qp->msn = bf_psn_add(qp->msn, 1);
	BF_EMIT(qp->dev->sim, qp->actor, request_done, .va = qp->rx_va - qp->rx_done, .qpn = qp->qpn, .psn = r->psn,
		.msn = qp->msn, .length = qp->rx_done, .rkey = qp->rx_rkey, .opcode = r->opcode);
	if (qp->rx_has_receive) {
		qp->rx_has_receive = false;
		qp->dev->ops->received(qp, r);
	}
}

/* What is wrong with the packet before anybody looks at what it carries; NULL: nothing. */
static const char *misfit(const struct bf_rdma_qp *qp, const struct bf_roce *r, uint8_t op)
{
	if (is_first(r->opcode) ? qp->rx_op != OP_NONE : qp->rx_op != op)
		return "not the packet that should follow";
	if (!is_last(r->opcode) && r->payload_len != 1u << qp->mtu_shift)
		return "path MTU differs: not a full MTU";
	if (r->payload_len > 1u << qp->mtu_shift)
		return "path MTU differs: larger";
	if (!is_first(r->opcode) && !r->payload_len)
		return "an empty packet in a message";
	return NULL;
}

static uint8_t no_receive_queue(const struct bf_rdma_qp *qp)
{
	return qp->dev->profile.waits_for_receive ? bf_rdma_rnr(qp) : BF_AETH_NAK_INV_REQ;
}

/* The memory that the packet is for is on its way. A receive that was taken stays at hand. */
static void come_again(struct bf_rdma_qp *qp, struct bf_packet *pkt, const struct bf_roce *r)
{
	if (bf_rdma_is_unreliable(qp)) {
		drop_unreliable(qp, pkt, r, BF_RDMA_DROP_NO_RECEIVE);
		return;
	}
	if (is_first(r->opcode))
		qp->rx_op = OP_NONE;
	bf_rdma_nak(qp, bf_rdma_rnr(qp), r->psn, r->opcode);
	bf_packet_free(pkt);
}

/* A SEND or WRITE packet that is next in sequence. The packet is consumed unless it waits for a receive. */
static void execute(struct bf_rdma_qp *qp, struct bf_packet *pkt, const struct bf_roce *r)
{
	uint8_t op = r->opcode >= BF_RC_WRITE_FIRST && r->opcode <= BF_RC_WRITE_ONLY_IMM ? OP_WRITE : OP_SEND;
	enum bf_rdma_cause cause = BF_RDMA_NO_CAUSE;
	const char *why = misfit(qp, r, op);
	uint8_t nak = why ? BF_AETH_NAK_INV_REQ : 0;

	if (!nak && takes_receive(r->opcode) && !qp->receives) {
		why = "no receive queue";
		nak = no_receive_queue(qp);
	}
	if (!nak && takes_receive(r->opcode) && !qp->rx_has_receive && !bf_rdma_rx_take(qp, pkt, r))
		return;
	if (!nak && is_first(r->opcode)) {
		qp->rx_done = 0;
		nak = op == OP_WRITE ? begin_write(qp, r, &cause, &why) : 0;
		qp->rx_op = op;
	}
	if (!nak)
		nak = place(qp, r, pkt->data + r->payload_offset, &cause, &why);
	if (!nak && (r->opcode == BF_RC_SEND_LAST_INV || r->opcode == BF_RC_SEND_ONLY_INV) &&
	    !(qp->dev->ops->invalidate && qp->dev->ops->invalidate(qp, r->imm))) {
		nak = BF_AETH_NAK_ACCESS;
		why = "the key to invalidate";
		cause = BF_RDMA_INVALIDATE;
	}
	if (BF_UNLIKELY(cause == BF_RDMA_NOT_YET)) {
		come_again(qp, pkt, r);
		return;
	}
	if (BF_UNLIKELY(nak) && qp->service == BF_RDMA_UC && !cause) {
		drop_unreliable(qp, pkt, r, BF_RDMA_DROP_UNEXPECTED);
		return;
	}
	if (nak) {
		refuse(qp, r, nak, cause, why);
		bf_packet_free(pkt);
		return;
	}
	qp->rx_done += r->payload_len;
	qp->expected_psn = bf_psn_add(qp->expected_psn, 1);
	if (is_last(r->opcode))
		finish_message(qp, r);
	bf_packet_free(pkt);
	if (r->ack_req && !r->uc && qp->state != BF_RDMA_ERR) /* the CQ may have failed */
		bf_rdma_ack(qp, false);
}

static void in_sequence(struct bf_rdma_qp *qp, struct bf_packet *pkt, const struct bf_roce *r)
{
	uint32_t info = bf_roce_opcode_info(r->opcode);

	qp->nak_sent = false;
	if (BF_UNLIKELY(qp->state == BF_RDMA_RTR && !qp->established)) {
		qp->established = true;
		if (qp->dev->ops->established)
			qp->dev->ops->established(qp);
	}
	if (r->opcode == BF_RC_READ_REQUEST || info & (BF_ROCE_HAS_ATOMIC | BF_ROCE_HAS_EXT_ATOMIC)) {
		if (qp->rx_op != OP_NONE)
			refuse(qp, r, BF_AETH_NAK_INV_REQ, BF_RDMA_NO_CAUSE, "request inside a message");
		else if (r->opcode == BF_RC_READ_REQUEST)
			bf_rdma_answer_read(qp, r);
		else
			bf_rdma_answer_atomic(qp, r);
		bf_packet_free(pkt);
	} else {
		execute(qp, pkt, r);
	}
}

/*
 * Packets of an unreliable connection were lost: the message that they belong to is not taken, and a new one begins
 * with its first packet (IBA vol. 1 section 9.8.2.2.1).
 */
static void unreliable_gap(struct bf_rdma_qp *qp, struct bf_packet *pkt, const struct bf_roce *r)
{
	if (qp->refused || !is_first(r->opcode)) {
		drop_unreliable(qp, pkt, r, BF_RDMA_DROP_SEQUENCE);
		return;
	}
	forget_message(qp);
	qp->expected_psn = r->psn;
	in_sequence(qp, pkt, r);
}

void bf_rdma_rx_request(struct bf_rdma_qp *qp, struct bf_packet *pkt)
{
	const struct bf_roce *r = &qp->dev->rx;
	int32_t ahead = bf_psn_diff(r->psn, qp->expected_psn);

	if (BF_UNLIKELY(qp->hold)) {
		pkt->next = NULL;
		*qp->hold_tail = pkt;
		qp->hold_tail = &pkt->next;
		return;
	}
	if (BF_UNLIKELY(qp->service >= BF_RDMA_UD)) {
		qp->dev->ops->datagram(qp, pkt);
		return;
	}
	if (BF_LIKELY(!ahead && !qp->refused)) {
		in_sequence(qp, pkt, r);
		return;
	}
	if (qp->service == BF_RDMA_UC) {
		unreliable_gap(qp, pkt, r);
		return;
	}
	bf_rdma_drop(qp->dev, qp->actor, pkt, qp->expected_psn, ahead < 0 ? BF_RDMA_DROP_STALE : BF_RDMA_DROP_SEQUENCE);
	if (!qp->refused && ahead < 0) {
		bf_rdma_answer_duplicate(qp, r);
	} else if (!qp->refused && !qp->nak_sent) {
		qp->nak_sent = true;
		bf_rdma_nak(qp, BF_AETH_NAK_SEQ, qp->expected_psn, r->opcode);
	}
	bf_packet_free(pkt);
}

/* Goes through the packets that waited, in order, until one has to wait again. */
void bf_rdma_rx_resume(struct bf_rdma_qp *qp)
{
	struct bf_packet *pkt = qp->hold;

	qp->hold = NULL;
	while (pkt) {
		struct bf_packet *next = pkt->next;

		if (!takes_requests(qp) ||
		    (qp->service != BF_RDMA_RAW && bf_roce_parse(pkt->data, pkt->len, false, &qp->dev->rx, NULL)))
			bf_packet_free(pkt);
		else
			bf_rdma_rx_request(qp, pkt);
		pkt = next;
	}
}
