/*
 * Time-outs, go-back-N and RNR waits (docs/hardware/roce.md#retry; IBA vol. 1 section 9.7.6).
 *
 * One timer a queue pair covers the oldest unacknowledged packet. Progress only moves a deadline; the pending event
 * looks at it when it fires and goes back to sleep. The event is cancelled when nothing is in flight, so that an idle
 * simulation ends.
 *
 * Where peers are other processes, a deadline may pass because one of them had no processor. Then it is not the peer's
 * fault, and the timer asks again in a moment.
 */
#include <stdlib.h>

#include "models/rdma/transport_internal.h"

/* IBA vol. 1, table "Encoding for RNR NAK Timer Field", in units of 10 us. */
static const uint16_t rnr_units[32] = {
	65535, 1,   2,   3,   4,    6,    8,    12,   16,   24,   32,   48,    64,    96,    128,   192,
	256,   384, 512, 768, 1024, 1536, 2048, 3072, 4096, 6144, 8192, 12288, 16384, 24576, 32768, 49152,
};

#define RNR_FOREVER 7
#define ASK_AGAIN_PS BF_MS

/* Local ACK Timeout (IBA vol. 1 section 9.7.6.1.3). */
static uint64_t rto_ps(const struct bf_rdma_qp *qp)
{
	return qp->ack_timeout ? (4096 * BF_NS) << qp->ack_timeout : 0;
}

static uint64_t rnr_ps(uint8_t timer)
{
	return timer ? rnr_units[timer] * (10 * BF_US) : 655360 * BF_US;
}

void bf_rdma_rto_start(struct bf_rdma_qp *qp)
{
	struct bf_sim *sim = qp->dev->sim;

	if (qp->rto_deadline != BF_NEVER || !qp->ack_timeout)
		return;
	qp->rto_deadline = sim->now_ps + rto_ps(qp);
	if (!bf_event_pending(&qp->rto_event) || qp->rto_event.when > qp->rto_deadline)
		bf_sim_at(sim, &qp->rto_event, qp->rto_deadline);
}

static void rto_stop(struct bf_rdma_qp *qp)
{
	qp->rto_deadline = BF_NEVER;
	if (bf_event_pending(&qp->rto_event))
		bf_sim_cancel(qp->dev->sim, &qp->rto_event);
}

void bf_rdma_rto_progress(struct bf_rdma_qp *qp)
{
	qp->retries_left = qp->retry_count;
	qp->rnr_left = qp->rnr_retry;
	qp->lost_valid = false;
	if (qp->tx_psn == qp->una_psn)
		rto_stop(qp);
	else if (qp->ack_timeout)
		qp->rto_deadline = qp->dev->sim->now_ps + rto_ps(qp);
}

/* READs between una and the transmitter's position. */
static void count_reads(struct bf_rdma_qp *qp)
{
	uint16_t i = qp->ack_index;

	qp->read_psns = 0;
	while (i != qp->tx_index) {
		const struct bf_rdma_send *s = bf_rdma_send_at(qp, i);

		if (s->flags & BF_RDMA_SEND_RDATOMIC && !(s->flags & BF_RDMA_SEND_DONE))
			qp->read_psns += s->npsn - s->got;
		i = (uint16_t)(i + s->slots);
	}
}

void bf_rdma_tx_seek(struct bf_rdma_qp *qp, uint32_t psn)
{
	uint16_t i = qp->ack_index;

	qp->tx_psn = psn;
	qp->tx_packet = 0;
	while (i != qp->decoded) {
		const struct bf_rdma_send *s = bf_rdma_send_at(qp, i);

		if (!(s->flags & BF_RDMA_SEND_STARTED))
			break;
		if (bf_psn_diff(psn, bf_psn_add(s->psn, s->npsn)) < 0) {
			qp->tx_packet = (uint32_t)bf_psn_diff(psn, s->psn);
			break;
		}
		i = (uint16_t)(i + s->slots);
	}
	qp->tx_index = i;
	count_reads(qp);
}

void bf_rdma_go_back(struct bf_rdma_qp *qp, uint32_t psn, enum bf_rdma_again cause)
{
	uint32_t sent = (uint32_t)bf_psn_diff(qp->tx_psn, psn);

	if (!qp->resending || bf_psn_diff(qp->tx_psn, qp->resend_end) > 0)
		qp->resend_end = qp->tx_psn;
	qp->resending = true;
	bf_rdma_tx_drop(qp, BF_RDMA_TX_REQUEST);
	bf_rdma_tx_seek(qp, psn);
	qp->retries++;
	BF_EMIT(qp->dev->sim, qp->actor, retransmit, .qpn = qp->qpn, .psn = psn, .sent = sent, .index = qp->tx_index,
		.cause = (uint8_t)cause, .left = cause == BF_RDMA_AGAIN_RNR ? qp->rnr_left : qp->retries_left);
}

struct bf_rdma_send *bf_rdma_oldest(const struct bf_rdma_qp *qp)
{
	for (uint16_t i = qp->ack_index; i != qp->decoded;) {
		struct bf_rdma_send *s = bf_rdma_send_at(qp, i);

		if (!(s->flags & BF_RDMA_SEND_STARTED))
			return NULL;
		if (s->npsn && !(s->flags & BF_RDMA_SEND_DONE))
			return s;
		i = (uint16_t)(i + s->slots);
	}
	return NULL;
}

bool bf_rdma_use_retry(struct bf_rdma_qp *qp)
{
	struct bf_rdma_send *s;

	if (qp->retries_left) {
		qp->retries_left--;
		return true;
	}
	s = bf_rdma_oldest(qp);
	if (s)
		bf_rdma_fail(qp, s, s->atomic_size ? BF_RDMA_NO_ANSWER : BF_RDMA_RETRIES_OUT,
			     s->atomic_size ? "no answer within the retries" : "no ACK within the retries");
	rto_stop(qp);
	return false;
}

struct bf_rdma_late {
	struct bf_fabric_wait wait;
	uint64_t ask_ps; /* the deadline by which it asks again whether it is one */
};

/* True: the deadline is a later one now. */
static bool waits(struct bf_rdma_qp *qp, uint64_t deadline)
{
	const uint64_t most = rto_ps(qp);

	if (!qp->late)
		qp->late = calloc(1, sizeof(*qp->late));
	if (!qp->late)
		return false;
	if (deadline != qp->late->ask_ps)
		qp->late->wait = (struct bf_fabric_wait){ 0 };
	if (BF_LIKELY(bf_port_tx_unanswered(qp->port, qp->remote_ipv4, qp->remote_qpn, &qp->late->wait)))
		return false;
	qp->late->ask_ps = qp->dev->sim->now_ps + (most < ASK_AGAIN_PS ? most : ASK_AGAIN_PS);
	qp->rto_deadline = qp->late->ask_ps;
	bf_sim_at(qp->dev->sim, &qp->rto_event, qp->rto_deadline);
	return true;
}

void bf_rdma_rto_fired(struct bf_event *ev)
{
	struct bf_rdma_qp *qp = BF_CONTAINER_OF(ev, struct bf_rdma_qp, rto_event);

	if (qp->rto_deadline == BF_NEVER)
		return;
	if (qp->rto_deadline > qp->dev->sim->now_ps) {
		bf_sim_at(qp->dev->sim, ev, qp->rto_deadline);
		return;
	}
	if (BF_UNLIKELY(waits(qp, qp->rto_deadline)))
		return;
	qp->rto_deadline = BF_NEVER;
	qp->dev->count.timeouts++;
	if (bf_rdma_use_retry(qp)) {
		qp->lost_valid = false;
		if (BF_UNLIKELY(qp->asks & BF_RDMA_ASKS_CONNECTION))
			qp->dev->ops->again(qp);
		bf_rdma_go_back(qp, qp->una_psn, BF_RDMA_AGAIN_TIME_OUT);
	}
	qp->dev->ops->run(qp);
}

/* The receiver was not ready: everything before `psn` is there, the rest is sent again after the wait. */
void bf_rdma_rnr_nak(struct bf_rdma_qp *qp, uint32_t psn, uint8_t timer)
{
	struct bf_rdma_send *s = bf_rdma_oldest(qp);

	qp->rnr_naks++;
	if (!s || qp->paused)
		return;
	if (qp->rnr_retry != RNR_FOREVER && !qp->rnr_left) {
		bf_rdma_fail(qp, s, BF_RDMA_RNR_OUT, "receiver not ready: retries out");
		rto_stop(qp);
		return;
	}
	if (qp->rnr_retry != RNR_FOREVER)
		qp->rnr_left--;
	bf_rdma_go_back(qp, psn, BF_RDMA_AGAIN_RNR);
	bf_rdma_pause(qp, rnr_ps(timer));
}

void bf_rdma_pause(struct bf_rdma_qp *qp, uint64_t ps)
{
	rto_stop(qp);
	qp->paused = true;
	bf_sim_after(qp->dev->sim, &qp->pause_event, ps);
}

void bf_rdma_pause_fired(struct bf_event *ev)
{
	struct bf_rdma_qp *qp = BF_CONTAINER_OF(ev, struct bf_rdma_qp, pause_event);

	qp->paused = false;
	qp->dev->ops->run(qp);
}
