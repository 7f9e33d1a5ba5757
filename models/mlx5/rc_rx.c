/*
 * The responder: packets that arrive, in sequence or not, and the WRITEs and SENDs among them.
 *
 * READs and atomics, and everything that goes back to the requester, are in rc_answer.c.
 */
#include "models/mlx5/device_internal.h"

#include <errno.h>

BF_STATIC_ASSERT(BF_MLX5_DROP_NO_RECEIVE + 1 == BF_MLX5_DROPS, "a counter for each reason");

/* rx_op: the message in progress. */
enum { OP_NONE, OP_SEND, OP_WRITE };

/* Receive WQE too short: docs/hardware/mlx5.md#checks-6. */
static const struct bf_mlx5_err err_too_long = { BF_MLX5_SYND_LOCAL_LENGTH, 0x00, 0x00 };
static const struct bf_mlx5_err err_inval_key = { BF_MLX5_SYND_LOCAL_ACCESS, 0x00, 0x00 };
static const struct bf_mlx5_err err_none = { 0 };

void bf_mlx5_rx_drop(struct bf_mlx5 *dev, uint32_t actor, const struct bf_packet *pkt, uint32_t expected,
		     enum bf_mlx5_drop why)
{
	dev->count.rx_drops[why]++;
	if (bf_probe(dev->sim, BF_CLASS_NET)) {
		struct bf_rec_rx_drop rec = { .packet = pkt->id, .expected = expected, .why = (uint8_t)why };

		if (why > BF_MLX5_DROP_ICRC) {
			rec.qpn = dev->rx.dest_qp;
			rec.psn = dev->rx.psn;
			rec.opcode = dev->rx.opcode;
		}
		BF_EMIT_MADE(dev->sim, actor, rx_drop, rec, NULL, 0);
	}
}

static bool is_response(uint8_t opcode)
{
	return opcode >= BF_RC_READ_RESP_FIRST && opcode <= BF_RC_ATOMIC_ACK;
}

static bool is_datagram(uint8_t opcode)
{
	return opcode == BF_UD_SEND_ONLY || opcode == BF_UD_SEND_ONLY_IMM;
}

static void receive(struct bf_mlx5 *dev, struct bf_mlx5_port *port, struct bf_packet *pkt)
{
	struct bf_roce *r = &dev->rx;
	struct bf_mlx5_qp *qp;
	int status = bf_roce_parse(pkt->data, pkt->len, dev->profile.icrc, r, NULL);

	if (BF_UNLIKELY(status)) {
		bf_mlx5_rx_drop(dev, dev->actor, pkt, 0,
				status == -EILSEQ    ? BF_MLX5_DROP_ICRC
				: status == -EBADMSG ? BF_MLX5_DROP_LENGTH
						     : BF_MLX5_DROP_NOT_ROCE);
		bf_packet_free(pkt);
		return;
	}
	if (BF_UNLIKELY(r->dc)) {
		if (is_response(r->opcode) || r->opcode == BF_DC_CONNECT_ACK || r->opcode == BF_DC_CNAK)
			bf_mlx5_dci_rx(dev, port, pkt);
		else
			bf_mlx5_dct_rx(dev, port, pkt);
		return;
	}
	if (BF_UNLIKELY(is_datagram(r->opcode))) {
		bf_mlx5_ud_rx(dev, port, pkt);
		return;
	}
	qp = bf_mlx5_table_get(&dev->qps, r->dest_qp);
	if (BF_UNLIKELY(!qp || qp->service != (r->uc ? BF_QPC_ST_UC : BF_QPC_ST_RC) || qp->state < BF_MLX5_QPS_RTR ||
			qp->state == BF_MLX5_QPS_ERR || r->src_ipv4 != qp->remote_ipv4 || port != qp->port)) {
		bf_mlx5_rx_drop(dev, qp ? qp->actor : dev->actor, pkt, 0,
				!qp                                                           ? BF_MLX5_DROP_NO_QP
				: qp->state < BF_MLX5_QPS_RTR || qp->state == BF_MLX5_QPS_ERR ? BF_MLX5_DROP_STATE
											      : BF_MLX5_DROP_PEER);
		bf_packet_free(pkt);
		return;
	}
	if (is_response(r->opcode)) {
		bf_mlx5_rx_response(qp, pkt);
		bf_packet_free(pkt);
	} else {
		bf_mlx5_rx_request(qp, pkt);
	}
}

/* In a large job it has been long since the packet's queue pair was looked at. */
void bf_mlx5_expect(void *owner, const struct bf_packet *pkt)
{
	const struct bf_mlx5_port *port = owner;
	const uint8_t *bth = pkt->data + BF_ROCE_BTH_OFFSET;
	const struct bf_mlx5_qp *qp;

	if (pkt->len < BF_ROCE_BTH_OFFSET + sizeof(struct bf_roce_bth))
		return;
	qp = bf_mlx5_table_get(&port->dev->qps, bf_get_be24(bth + 5));
	if (!qp)
		return;
	if (is_response(bth[0]))
		bf_mlx5_qp_prefetch(qp, BF_MLX5_QP_REQUESTER);
	else
		bf_mlx5_qp_prefetch(qp, BF_MLX5_QP_RESPONDER);
}

void bf_mlx5_rx(void *owner, struct bf_packet *pkt)
{
	struct bf_mlx5_port *port = owner;
	struct bf_mlx5 *dev = port->dev;

	dev->rx_busy_ps =
	    (dev->rx_busy_ps > dev->sim->now_ps ? dev->rx_busy_ps : dev->sim->now_ps) + dev->profile.packet_rx_ps;
	receive(dev, port, pkt);
}

/* A receive CQE: good (`err` zero) or not. */
static void complete_receive(struct bf_mlx5_qp *qp, uint8_t opcode, uint32_t byte_cnt, uint32_t imm, bool solicited,
			     struct bf_mlx5_err err)
{
	struct bf_mlx5_completion c = {
		.opcode = err.syndrome ? BF_MLX5_CQE_RESP_ERR : opcode,
		.index = qp->rq_index,
		.byte_cnt = byte_cnt,
		.imm = imm,
		.solicited = solicited,
		.err = err,
	};

	if (BF_UNLIKELY(qp->cs_res && qp->receive->in_cqe_len) && !err.syndrome) {
		c.data = qp->receive->in_cqe;
		c.data_len = qp->receive->in_cqe_len;
		c.format = bf_mlx5_cqe_format(qp->cs_res);
	}

	qp->rx_has_wqe = false;
	bf_mlx5_cq_write(qp->recv_cq, qp, &c);
}

/* Refuses the request at hand for good; a receive WQE that was taken for it completes with `err`. */
static void refuse(struct bf_mlx5_qp *qp, const struct bf_roce *r, uint8_t nak, struct bf_mlx5_err err, const char *why)
{
	bf_mlx5_qp_report(qp, 1, qp->rq_index, r->opcode, r->psn, nak, err, why);
	if (err.syndrome && qp->rx_has_wqe)
		complete_receive(qp, BF_MLX5_CQE_RESP_ERR, 0, 0, false, err);
	else
		bf_mlx5_event_refused(qp, nak);
	if (BF_LIKELY(!bf_mlx5_is_unreliable(qp))) {
		bf_mlx5_nak(qp, nak, r->psn, r->opcode);
		return;
	}
	bf_mlx5_qp_error(qp, BF_MLX5_BY_RESPONDER);
	bf_mlx5_sq_run(qp);
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

static bool takes_wqe(uint8_t opcode)
{
	return opcode == BF_RC_SEND_FIRST || opcode == BF_RC_SEND_ONLY || opcode == BF_RC_SEND_ONLY_IMM ||
	       opcode == BF_RC_SEND_ONLY_INV || opcode == BF_RC_WRITE_ONLY_IMM || opcode == BF_RC_WRITE_LAST_IMM;
}

/* A message of an unreliable connection is not taken; what comes before the next one's first packet is dropped. */
static void forget_message(struct bf_mlx5_qp *qp)
{
	qp->rx_op = OP_NONE;
	qp->rx_done = 0;
	if (qp->rx_has_wqe)
		qp->receive->sge_at = qp->receive->sge_done = 0; /* for the next one */
}

static void drop_unreliable(struct bf_mlx5_qp *qp, struct bf_packet *pkt, const struct bf_roce *r,
			    enum bf_mlx5_drop why)
{
	bf_mlx5_rx_drop(qp->dev, qp->actor, pkt, qp->expected_psn, why);
	forget_message(qp);
	if (qp->service == BF_QPC_ST_UC)
		qp->expected_psn = bf_psn_add(r->psn, 1);
	bf_packet_free(pkt);
}

bool bf_mlx5_rx_take(struct bf_mlx5_qp *qp, struct bf_packet *pkt, const struct bf_roce *r)
{
	switch (bf_mlx5_rq_take(qp)) {
	case BF_MLX5_RQ_TAKEN:
		return true;
	case BF_MLX5_RQ_WAIT:
		pkt->next = qp->hold;
		if (!qp->hold)
			qp->receive->hold_tail = &pkt->next;
		qp->hold = pkt;
		return false;
	case BF_MLX5_RQ_BROKEN:
		refuse(qp, r, BF_AETH_NAK_OP, err_none, "receive queue cannot be read");
		bf_packet_free(pkt);
		return false;
	default:
		if (BF_UNLIKELY(bf_mlx5_is_unreliable(qp))) {
			drop_unreliable(qp, pkt, r, BF_MLX5_DROP_NO_RECEIVE);
			return false;
		}
		bf_mlx5_nak(qp, (uint8_t)(BF_AETH_RNR | qp->min_rnr_nak), r->psn, r->opcode);
		bf_packet_free(pkt);
		return false;
	}
}

/* The opening packet of a WRITE: rights and bounds for the whole message (docs/hardware/mlx5.md#checks). */
static uint8_t begin_write(struct bf_mlx5_qp *qp, const struct bf_roce *r, const char **why)
{
	const struct bf_mlx5_mkey *k = NULL;

	*why = qp->access & BF_MLX5_ACCESS_REMOTE_WRITE ? "longer than log_msg_max" : "QP allows no remote WRITE";
	if (!(qp->access & BF_MLX5_ACCESS_REMOTE_WRITE) || r->dma_len > 1ull << qp->log_msg_max)
		return BF_AETH_NAK_INV_REQ;
	*why = "remote key";
	if (r->dma_len && (bf_mlx5_mkey_check(qp, r->rkey, r->va, r->dma_len, BF_MLX5_ACCESS_REMOTE_WRITE, 0, &k) ||
			   bf_mlx5_mkey_refused(qp)))
		return BF_AETH_NAK_ACCESS;
	qp->rx_va = r->va;
	qp->rx_left = r->dma_len;
	qp->rx_rkey = r->rkey;
	qp->rx_keys = qp->dev->key_changes;
	qp->rx_relaxed = k && k->relaxed;
	qp->rx_mapped = k && k->xlat;
	return 0;
}

/* The key of the WRITE at hand is still good, although keys may have gone since its first packet. */
static bool key_holds(struct bf_mlx5_qp *qp, uint32_t len)
{
	if (BF_LIKELY(qp->rx_keys == qp->dev->key_changes))
		return true;
	qp->rx_keys = qp->dev->key_changes;
	return !bf_mlx5_mkey_check(qp, qp->rx_rkey, qp->rx_va, len, BF_MLX5_ACCESS_REMOTE_WRITE, 0, NULL);
}

static int write_payload(struct bf_mlx5_qp *qp, const uint8_t *payload, uint32_t len)
{
	if (BF_UNLIKELY(qp->rx_mapped))
		return bf_mlx5_key_write(qp->dev, qp->rx_rkey, qp->rx_va, payload, len);
	return bf_dma_write(&qp->dev->dma, qp->rx_va, payload, len, qp->rx_relaxed ? BF_DMA_RELAXED : 0);
}

/* 0, a NAK syndrome, and for SENDs `err` of the receive WQE. */
static uint8_t place(struct bf_mlx5_qp *qp, const struct bf_roce *r, const uint8_t *payload, struct bf_mlx5_err *err,
		     const char **why)
{
	*why = "memory cannot be reached";
	if (qp->rx_op == OP_SEND) {
		if ((uint64_t)qp->rx_done + r->payload_len > 1ull << qp->log_msg_max) {
			*why = "longer than log_msg_max";
			return BF_AETH_NAK_INV_REQ;
		}
		if (r->payload_len > qp->receive->room - qp->rx_done) {
			*err = err_too_long;
			*why = "longer than the receive";
			return BF_AETH_NAK_INV_REQ;
		}
		if (BF_UNLIKELY(r->payload_len <= qp->cs_res) && is_first(r->opcode) && is_last(r->opcode)) {
			memcpy(qp->receive->in_cqe, payload, r->payload_len);
			qp->receive->in_cqe_len = (uint8_t)r->payload_len;
			return 0;
		}
		return bf_mlx5_rq_scatter(qp, payload, r->payload_len, err) ? BF_AETH_NAK_OP : 0;
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

static uint8_t receive_opcode(uint8_t opcode)
{
	switch (opcode) {
	case BF_RC_WRITE_ONLY_IMM:
	case BF_RC_WRITE_LAST_IMM:
		return BF_MLX5_CQE_RESP_WRITE_IMM;
	case BF_RC_SEND_ONLY_IMM:
	case BF_RC_SEND_LAST_IMM:
		return BF_MLX5_CQE_RESP_SEND_IMM;
	case BF_RC_SEND_ONLY_INV:
	case BF_RC_SEND_LAST_INV:
		return BF_MLX5_CQE_RESP_SEND_INV;
	default:
		return BF_MLX5_CQE_RESP_SEND;
	}
}

static void finish_message(struct bf_mlx5_qp *qp, const struct bf_roce *r)
{
	uint8_t opcode = receive_opcode(r->opcode);

	qp->rx_op = OP_NONE;
	qp->msn = bf_psn_add(qp->msn, 1);
	BF_EMIT(qp->dev->sim, qp->actor, request_done, .va = qp->rx_va - qp->rx_done, .qpn = qp->qpn, .psn = r->psn,
		.msn = qp->msn, .length = qp->rx_done, .rkey = qp->rx_rkey, .opcode = r->opcode);
	if (qp->rx_has_wqe)
		complete_receive(qp, opcode, qp->rx_done, opcode == BF_MLX5_CQE_RESP_SEND ? 0 : r->imm, r->solicited,
				 err_none);
}

/* What is wrong with the packet before anybody looks at what it carries; NULL: nothing. */
static const char *misfit(const struct bf_mlx5_qp *qp, const struct bf_roce *r, uint8_t op)
{
	if (is_first(r->opcode) ? qp->rx_op != OP_NONE : qp->rx_op != op)
		return "not the packet that should follow";
	if (!is_last(r->opcode) && r->payload_len != 1u << qp->mtu_shift)
		return "path MTU differs: not a full MTU";
	if (r->payload_len > 1u << qp->mtu_shift)
		return "path MTU differs: larger";
	if (!is_first(r->opcode) && !r->payload_len)
		return "an empty packet in a message";
	return takes_wqe(r->opcode) && !qp->has_rq && !qp->srq ? "no receive queue" : NULL;
}

/* A SEND or WRITE packet that is next in sequence. The packet is consumed unless it waits for a receive WQE. */
static void execute(struct bf_mlx5_qp *qp, struct bf_packet *pkt, const struct bf_roce *r)
{
	uint8_t op = r->opcode >= BF_RC_WRITE_FIRST && r->opcode <= BF_RC_WRITE_ONLY_IMM ? OP_WRITE : OP_SEND;
	struct bf_mlx5_err err = { 0 };
	const char *why = misfit(qp, r, op);
	uint8_t nak = why ? BF_AETH_NAK_INV_REQ : 0;

	if (!nak && takes_wqe(r->opcode) && !qp->rx_has_wqe && !bf_mlx5_rx_take(qp, pkt, r))
		return;
	if (!nak && is_first(r->opcode)) {
		qp->rx_done = 0;
		nak = op == OP_WRITE ? begin_write(qp, r, &why) : 0;
		qp->rx_op = op;
	}
	if (!nak)
		nak = place(qp, r, pkt->data + r->payload_offset, &err, &why);
	if (!nak && (r->opcode == BF_RC_SEND_LAST_INV || r->opcode == BF_RC_SEND_ONLY_INV) &&
	    !bf_mlx5_remote_invalidate(qp, r->imm)) {
		nak = BF_AETH_NAK_ACCESS;
		why = "the key to invalidate";
		err = err_inval_key;
	}
	if (BF_UNLIKELY(nak) && qp->service == BF_QPC_ST_UC && !err.syndrome) {
		drop_unreliable(qp, pkt, r, BF_MLX5_DROP_UNEXPECTED);
		return;
	}
	if (nak) {
		refuse(qp, r, nak, err, why);
		bf_packet_free(pkt);
		return;
	}
	qp->rx_done += r->payload_len;
	qp->expected_psn = bf_psn_add(qp->expected_psn, 1);
	if (is_last(r->opcode))
		finish_message(qp, r);
	bf_packet_free(pkt);
	if (r->ack_req && !r->uc && qp->state != BF_MLX5_QPS_ERR) /* the CQ may have failed */
		bf_mlx5_ack(qp, false);
}

static void in_sequence(struct bf_mlx5_qp *qp, struct bf_packet *pkt, const struct bf_roce *r)
{
	uint32_t info = bf_roce_opcode_info(r->opcode);

	qp->nak_sent = false;
	if (BF_UNLIKELY(qp->state == BF_MLX5_QPS_RTR && !qp->established) && !qp->context_of) {
		qp->established = true;
		bf_mlx5_event_qp(qp, BF_MLX5_EVENT_COMM_EST);
	}
	if (r->opcode == BF_RC_READ_REQUEST || info & (BF_ROCE_HAS_ATOMIC | BF_ROCE_HAS_EXT_ATOMIC)) {
		if (qp->rx_op != OP_NONE)
			refuse(qp, r, BF_AETH_NAK_INV_REQ, err_none, "request inside a message");
		else if (r->opcode == BF_RC_READ_REQUEST)
			bf_mlx5_answer_read(qp, r);
		else
			bf_mlx5_answer_atomic(qp, r);
		bf_packet_free(pkt);
	} else {
		execute(qp, pkt, r);
	}
}

/*
 * Packets of an unreliable connection were lost: the message that they belong to is not taken, and a new one begins
 * with its first packet (IBA vol. 1 section 9.8.2.2.1).
 */
static void unreliable_gap(struct bf_mlx5_qp *qp, struct bf_packet *pkt, const struct bf_roce *r)
{
	if (qp->refused || !is_first(r->opcode)) {
		drop_unreliable(qp, pkt, r, BF_MLX5_DROP_SEQUENCE);
		return;
	}
	forget_message(qp);
	qp->expected_psn = r->psn;
	in_sequence(qp, pkt, r);
}

void bf_mlx5_rx_request(struct bf_mlx5_qp *qp, struct bf_packet *pkt)
{
	const struct bf_roce *r = &qp->dev->rx;
	int32_t ahead = bf_psn_diff(r->psn, qp->expected_psn);

	if (BF_UNLIKELY(qp->hold)) {
		pkt->next = NULL;
		*qp->receive->hold_tail = pkt;
		qp->receive->hold_tail = &pkt->next;
		return;
	}
	if (BF_UNLIKELY(qp->service == BF_QPC_ST_UD)) {
		bf_mlx5_ud_request(qp, pkt);
		return;
	}
	if (BF_LIKELY(!ahead && !qp->refused)) {
		in_sequence(qp, pkt, r);
		return;
	}
	if (qp->service == BF_QPC_ST_UC) {
		unreliable_gap(qp, pkt, r);
		return;
	}
	bf_mlx5_rx_drop(qp->dev, qp->actor, pkt, qp->expected_psn,
			ahead < 0 ? BF_MLX5_DROP_STALE : BF_MLX5_DROP_SEQUENCE);
	if (!qp->refused && ahead < 0) {
		bf_mlx5_answer_duplicate(qp, r);
	} else if (!qp->refused && !qp->nak_sent) {
		qp->nak_sent = true;
		bf_mlx5_nak(qp, BF_AETH_NAK_SEQ, qp->expected_psn, r->opcode);
	}
	bf_packet_free(pkt);
}

/* Goes through the packets that waited, in order, until one has to wait again. */
void bf_mlx5_rx_resume(struct bf_mlx5_qp *qp)
{
	struct bf_packet *pkt = qp->hold;

	qp->hold = NULL;
	while (pkt) {
		struct bf_packet *next = pkt->next;

		if (qp->state < BF_MLX5_QPS_RTR || qp->state == BF_MLX5_QPS_ERR ||
		    bf_roce_parse(pkt->data, pkt->len, false, &qp->dev->rx, NULL))
			bf_packet_free(pkt);
		else
			bf_mlx5_rx_request(qp, pkt);
		pkt = next;
	}
}
