/* The requester's receive side: ACKs, NAKs, READ responses, atomic responses. */
#include "models/rdma/transport_internal.h"

static void finish(struct bf_rdma_qp *qp, struct bf_rdma_send *s)
{
	s->flags |= BF_RDMA_SEND_DONE;
	if (s->flags & BF_RDMA_SEND_RDATOMIC)
		qp->rdatomic--;
}

/*
 * Every PSN before `psn` is acknowledged. WRITEs and SENDs up to there are done; a READ or atomic among them whose
 * answer has not come was answered and the answer was lost (IBA vol. 1 section 9.7.5.1.1): it is asked for again.
 * Returns the oldest entry that is not done, or NULL.
 */
static struct bf_rdma_send *acked_before(struct bf_rdma_qp *qp, uint32_t psn)
{
	uint32_t una = psn;
	struct bf_rdma_send *s = NULL;

	while (qp->ack_index != qp->decoded) {
		s = bf_rdma_send_at(qp, qp->ack_index);
		if (!(s->flags & BF_RDMA_SEND_STARTED))
			break;
		if (s->npsn && !(s->flags & BF_RDMA_SEND_DONE)) {
			if (s->flags & BF_RDMA_SEND_RDATOMIC) {
				if (bf_psn_diff(psn, s->psn) > 0)
					una = bf_psn_add(s->psn, s->got);
				break;
			}
			if (bf_psn_diff(psn, bf_psn_add(s->psn, s->npsn)) < 0)
				break;
			finish(qp, s);
		}
		qp->ack_index = (uint16_t)(qp->ack_index + s->slots);
		s = NULL;
	}
	if (bf_psn_diff(una, qp->una_psn) > 0) {
		qp->una_psn = una;
		if (bf_psn_diff(qp->tx_psn, una) < 0)
			bf_rdma_tx_seek(qp, una);
		bf_rdma_rto_progress(qp);
	}
	if (una != psn && !(qp->lost_valid && qp->lost_psn == una)) {
		qp->lost_valid = true;
		qp->lost_psn = una;
		bf_rdma_go_back(qp, una, BF_RDMA_AGAIN_LOST);
	}
	return s;
}

static void fail_at(struct bf_rdma_qp *qp, struct bf_rdma_send *s, enum bf_rdma_cause cause, const char *why)
{
	if (s && (s->flags & BF_RDMA_SEND_STARTED) && s->npsn)
		bf_rdma_fail(qp, s, cause, why);
}

static void rx_nak(struct bf_rdma_qp *qp, const struct bf_roce *r)
{
	struct bf_rdma_send *s = acked_before(qp, r->psn);

	switch (r->aeth_syndrome) {
	case BF_AETH_NAK_SEQ:
		if (bf_rdma_use_retry(qp))
			bf_rdma_go_back(qp, qp->una_psn, BF_RDMA_AGAIN_NAK);
		return;
	case BF_AETH_NAK_INV_REQ:
		fail_at(qp, s, BF_RDMA_REMOTE_INVALID, "NAK: remote invalid request");
		return;
	case BF_AETH_NAK_ACCESS:
		fail_at(qp, s, BF_RDMA_REMOTE_ACCESS, "NAK: remote access error");
		return;
	case BF_AETH_NAK_OP:
		fail_at(qp, s, BF_RDMA_REMOTE_OPERATION, "NAK: remote operational error");
		return;
	default:
		return; /* reserved codes */
	}
}

static void rx_ack(struct bf_rdma_qp *qp, const struct bf_roce *r)
{
	uint8_t kind = r->aeth_syndrome & 0xe0;

	if (kind == 0) {
		qp->dev->count.acks_received++;
		acked_before(qp, bf_psn_add(r->psn, 1));
		return;
	}
	qp->dev->count.naks_received[bf_rdma_nak_kind(r->aeth_syndrome)]++;
	if (kind == BF_AETH_RNR) {
		acked_before(qp, r->psn);
		bf_rdma_rnr_nak(qp, qp->una_psn, r->aeth_syndrome & 0x1f);
	} else {
		rx_nak(qp, r);
	}
}

/* The local keys are still good, although keys may have gone since the request left. */
static bool keys_hold(struct bf_rdma_qp *qp, struct bf_rdma_send *s)
{
	if (BF_LIKELY(s->keys == qp->dev->key_changes))
		return true;
	s->keys = qp->dev->key_changes;
	return qp->dev->ops->check(qp, s);
}

/* The READ or atomic that waits for the answer with this PSN; answers come in order, so it is the oldest entry. */
static struct bf_rdma_send *asked(struct bf_rdma_qp *qp, struct bf_packet *pkt, const struct bf_roce *r, bool atomic)
{
	struct bf_rdma_send *s = acked_before(qp, r->psn);
	uint32_t expected = s ? bf_psn_add(s->psn, s->got) : qp->una_psn;

	if (!s || !(s->flags & BF_RDMA_SEND_STARTED) || !(s->flags & BF_RDMA_SEND_RDATOMIC) || r->psn != expected) {
		bf_rdma_drop(qp->dev, qp->actor, pkt, expected, BF_RDMA_DROP_STALE);
		return NULL;
	}
	if (atomic != (s->atomic_size != 0)) {
		bf_rdma_fail(qp, s, BF_RDMA_BAD_RESPONSE, "answer of another kind");
		return NULL;
	}
	return keys_hold(qp, s) ? s : NULL;
}

static void answered(struct bf_rdma_qp *qp, struct bf_rdma_send *s)
{
	s->got++;
	qp->una_psn = bf_psn_add(qp->una_psn, 1);
	if (qp->read_psns)
		qp->read_psns--;
	if (bf_psn_diff(qp->tx_psn, qp->una_psn) < 0)
		bf_rdma_tx_seek(qp, qp->una_psn);
	bf_rdma_rto_progress(qp);
	if (s->got == s->npsn) {
		finish(qp, s);
		qp->ack_index = (uint16_t)(qp->ack_index + s->slots);
	}
}

static void rx_read_response(struct bf_rdma_qp *qp, struct bf_packet *pkt, const struct bf_roce *r)
{
	struct bf_rdma_send *s = asked(qp, pkt, r, false);
	uint32_t mtu = 1u << qp->mtu_shift, offset, want;
	bool last;

	if (!s)
		return;
	offset = s->got << qp->mtu_shift;
	want = s->length - offset;
	last = s->got == s->npsn - 1;
	if (want > mtu)
		want = mtu;
	if (r->payload_len != want ||
	    last != (r->opcode == BF_RC_READ_RESP_LAST || r->opcode == BF_RC_READ_RESP_ONLY)) {
		bf_rdma_fail(qp, s, BF_RDMA_BAD_RESPONSE, "READ response of wrong length");
		return;
	}
	if (qp->dev->ops->scatter(qp, s, offset, pkt->data + r->payload_offset, want)) {
		bf_rdma_fail(qp, s, BF_RDMA_LOCAL_WRITE, "local buffer cannot be written");
		return;
	}
	answered(qp, s);
}

static void rx_atomic_response(struct bf_rdma_qp *qp, struct bf_packet *pkt, const struct bf_roce *r)
{
	struct bf_rdma_send *s = asked(qp, pkt, r, true);

	if (!s)
		return;
	if (qp->dev->ops->result(qp, s, r->atomic_orig)) {
		bf_rdma_fail(qp, s, BF_RDMA_LOCAL_WRITE, "local buffer cannot be written");
		return;
	}
	answered(qp, s);
}

void bf_rdma_rx_response(struct bf_rdma_qp *qp, struct bf_packet *pkt)
{
	const struct bf_roce *r = &qp->dev->rx;

	if (qp->state != BF_RDMA_RTS && qp->state != BF_RDMA_SQD) {
		bf_rdma_drop(qp->dev, qp->actor, pkt, qp->una_psn, BF_RDMA_DROP_STATE);
		return;
	}
	if (bf_psn_diff(r->psn, qp->una_psn) < 0 || bf_psn_diff(r->psn, qp->send_psn) >= 0) {
		bf_rdma_drop(qp->dev, qp->actor, pkt, qp->una_psn, BF_RDMA_DROP_STALE);
		return;
	}
	if (r->opcode == BF_RC_ACK)
		rx_ack(qp, r);
	else if (r->opcode == BF_RC_ATOMIC_ACK)
		rx_atomic_response(qp, pkt, r);
	else
		rx_read_response(qp, pkt, r);
	qp->dev->ops->run(qp);
}
