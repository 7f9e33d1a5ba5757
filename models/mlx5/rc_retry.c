/*
 * Time-outs, go-back-N and RNR waits (docs/hardware/roce.md#retry; IBA vol. 1 section 9.7.6).
 *
 * One timer a queue pair covers the oldest unacknowledged packet. Progress only moves a deadline; the pending event
 * looks at it when it fires and goes back to sleep. The event is cancelled when nothing is in flight, so that an idle
 * simulation ends.
 */
#include "models/mlx5/device_internal.h"

/* No ACK within retries (ucx#6669, nccl#426). */
static const struct bf_mlx5_err err_retries = { BF_MLX5_SYND_RETRY_EXC, 0x81, 0x00 };
/* Vendor code not evidenced: docs/hardware/mlx5.md#vendor-syndromes-8. */
static const struct bf_mlx5_err err_rnr = { BF_MLX5_SYND_RNR_EXC, 0x87, 0x00 };

/* IBA vol. 1, table "Encoding for RNR NAK Timer Field", in units of 10 us. */
static const uint16_t rnr_units[32] = {
	65535, 1,   2,   3,   4,    6,    8,    12,   16,   24,   32,   48,    64,    96,    128,   192,
	256,   384, 512, 768, 1024, 1536, 2048, 3072, 4096, 6144, 8192, 12288, 16384, 24576, 32768, 49152,
};

#define RNR_FOREVER 7

static uint64_t rnr_ps(uint8_t timer)
{
	return timer ? rnr_units[timer] * (10 * BF_US) : 655360 * BF_US;
}

void bf_mlx5_rto_start(struct bf_mlx5_qp *qp)
{
	struct bf_sim *sim = qp->dev->sim;

	if (qp->rto_deadline != BF_NEVER || !qp->ack_timeout)
		return;
	qp->rto_deadline = sim->now_ps + bf_mlx5_rto_ps(qp);
	if (!bf_event_pending(&qp->rto_event) || qp->rto_event.when > qp->rto_deadline)
		bf_sim_at(sim, &qp->rto_event, qp->rto_deadline);
}

static void rto_stop(struct bf_mlx5_qp *qp)
{
	qp->rto_deadline = BF_NEVER;
	if (bf_event_pending(&qp->rto_event))
		bf_sim_cancel(qp->dev->sim, &qp->rto_event);
}

void bf_mlx5_rto_progress(struct bf_mlx5_qp *qp)
{
	qp->retries_left = qp->retry_count;
	qp->rnr_left = qp->rnr_retry;
	qp->lost_valid = false;
	if (qp->tx_psn == qp->una_psn)
		rto_stop(qp);
	else if (qp->ack_timeout)
		qp->rto_deadline = qp->dev->sim->now_ps + bf_mlx5_rto_ps(qp);
}

/* READs between una and the transmitter's position. */
static void count_reads(struct bf_mlx5_qp *qp)
{
	uint16_t i = qp->ack_index;

	qp->read_psns = 0;
	while (i != qp->tx_index) {
		const struct bf_mlx5_send *s = bf_mlx5_send_at(qp, i);

		if (s->flags & BF_SEND_RDATOMIC && !(s->flags & BF_SEND_DONE))
			qp->read_psns += s->npsn - s->got;
		i = (uint16_t)(i + s->wqebbs);
	}
}

void bf_mlx5_tx_seek(struct bf_mlx5_qp *qp, uint32_t psn)
{
	uint16_t i = qp->ack_index;

	qp->tx_psn = psn;
	qp->tx_packet = 0;
	while (i != qp->decoded) {
		const struct bf_mlx5_send *s = bf_mlx5_send_at(qp, i);

		if (!(s->flags & BF_SEND_STARTED))
			break;
		if (bf_psn_diff(psn, bf_psn_add(s->psn, s->npsn)) < 0) {
			qp->tx_packet = (uint32_t)bf_psn_diff(psn, s->psn);
			break;
		}
		i = (uint16_t)(i + s->wqebbs);
	}
	qp->tx_index = i;
	count_reads(qp);
}

void bf_mlx5_go_back(struct bf_mlx5_qp *qp, uint32_t psn, enum bf_mlx5_again cause)
{
	uint32_t sent = (uint32_t)bf_psn_diff(qp->tx_psn, psn);

	if (!qp->resending || bf_psn_diff(qp->tx_psn, qp->resend_end) > 0)
		qp->resend_end = qp->tx_psn;
	qp->resending = true;
	bf_mlx5_tx_drop(qp, BF_TX_REQUEST);
	bf_mlx5_tx_seek(qp, psn);
	qp->retries++;
	BF_EMIT(qp->dev->sim, qp->actor, retransmit, .qpn = qp->qpn, .psn = psn, .sent = sent, .index = qp->tx_index,
		.cause = (uint8_t)cause, .left = cause == 2 ? qp->rnr_left : qp->retries_left);
}

struct bf_mlx5_send *bf_mlx5_oldest(const struct bf_mlx5_qp *qp)
{
	for (uint16_t i = qp->ack_index; i != qp->decoded;) {
		struct bf_mlx5_send *s = bf_mlx5_send_at(qp, i);

		if (!(s->flags & BF_SEND_STARTED))
			return NULL;
		if (s->npsn && !(s->flags & BF_SEND_DONE))
			return s;
		i = (uint16_t)(i + s->wqebbs);
	}
	return NULL;
}

bool bf_mlx5_use_retry(struct bf_mlx5_qp *qp)
{
	struct bf_mlx5_send *s;

	if (qp->retries_left) {
		qp->retries_left--;
		return true;
	}
	s = bf_mlx5_oldest(qp);
	if (s)
		bf_mlx5_send_fail(qp, s, err_retries, "no ACK within the retries");
	rto_stop(qp);
	return false;
}

void bf_mlx5_rto_fired(struct bf_event *ev)
{
	struct bf_mlx5_qp *qp = BF_CONTAINER_OF(ev, struct bf_mlx5_qp, rto_event);

	if (qp->rto_deadline == BF_NEVER)
		return;
	if (qp->rto_deadline > qp->dev->sim->now_ps) {
		bf_sim_at(qp->dev->sim, ev, qp->rto_deadline);
		return;
	}
	qp->rto_deadline = BF_NEVER;
	if (BF_UNLIKELY(bf_port_tx_held(qp->port->port, qp->remote_qpn))) {
		bf_mlx5_rto_start(qp); /* what has not left cannot be answered */
		return;
	}
	qp->dev->count.timeouts++;
	if (bf_mlx5_use_retry(qp)) {
		qp->lost_valid = false;
		if (qp->dci)
			bf_mlx5_dci_again(qp);
		bf_mlx5_go_back(qp, qp->una_psn, BF_MLX5_AGAIN_TIME_OUT);
	}
	bf_mlx5_sq_run(qp);
}

/* The receiver was not ready: everything before `psn` is there, the rest is sent again after the wait. */
void bf_mlx5_rnr_nak(struct bf_mlx5_qp *qp, uint32_t psn, uint8_t timer)
{
	struct bf_mlx5_send *s = bf_mlx5_oldest(qp);

	qp->rnr_naks++;
	if (!s || qp->rnr_waiting)
		return;
	if (qp->rnr_retry != RNR_FOREVER && !qp->rnr_left) {
		bf_mlx5_send_fail(qp, s, err_rnr, "receiver not ready: retries out");
		rto_stop(qp);
		return;
	}
	if (qp->rnr_retry != RNR_FOREVER)
		qp->rnr_left--;
	bf_mlx5_go_back(qp, psn, BF_MLX5_AGAIN_RNR);
	bf_mlx5_pause(qp, rnr_ps(timer));
}

void bf_mlx5_pause(struct bf_mlx5_qp *qp, uint64_t ps)
{
	rto_stop(qp);
	qp->rnr_waiting = true;
	bf_sim_after(qp->dev->sim, &qp->rnr_event, ps);
}

void bf_mlx5_rnr_fired(struct bf_event *ev)
{
	struct bf_mlx5_qp *qp = BF_CONTAINER_OF(ev, struct bf_mlx5_qp, rnr_event);

	qp->rnr_waiting = false;
	bf_mlx5_sq_run(qp);
}
