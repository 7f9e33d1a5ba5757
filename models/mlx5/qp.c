/* Queue pairs: states, errors, reset, end. */
#include "models/mlx5/device_internal.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

void bf_mlx5_qp_init(struct bf_mlx5_qp *qp)
{
	bf_event_init(&qp->bell_event, bf_mlx5_bell_fired);
	bf_event_init(&qp->rto_event, bf_mlx5_rto_fired);
	bf_event_init(&qp->rnr_event, bf_mlx5_rnr_fired);
	bf_event_init(&qp->ack_event, bf_mlx5_ack_fired);
	bf_event_init(&qp->answer_event, bf_mlx5_answer_fired);
	qp->rto_deadline = BF_NEVER;
	qp->txq_tail = &qp->txq;
}

/*
 * Room for answers: as many as may be asked for at once, and as many that are repeated. A queue pair that was reset may
 * allow more than in its last life, whose atomics may still be under way.
 */
bool bf_mlx5_qp_make_answers(struct bf_mlx5_qp *qp)
{
	if (BF_LIKELY(qp->answers && qp->answers_cap >= 2 * qp->max_answers))
		return true;
	if (qp->answers && (qp->inflight || qp->answers_tail))
		return false;
	free(qp->answers);
	qp->answers_cap = (uint16_t)(2 * qp->max_answers);
	qp->answers = calloc(qp->answers_cap, sizeof(*qp->answers));
	return qp->answers != NULL;
}

/* Room for receive WQEs, with the first one that is needed: most receive queues of a mesh never are. */
bool bf_mlx5_qp_make_receives(struct bf_mlx5_qp *qp)
{
	const uint32_t stride = qp->srq ? qp->srq->stride : qp->rq_stride;
	const size_t sges = stride / BF_MLX5_DS, cache = qp->srq ? 0 : (size_t)BF_MLX5_RQ_CACHE * stride;
	struct bf_mlx5_receive *rx = qp->receive;

	if (BF_LIKELY(rx != NULL))
		return true;
	rx = calloc(1, sizeof(*rx) + sges * sizeof(rx->sge[0]) + cache);
	if (!rx)
		return false;
	rx->qp = qp;
	rx->bytes = (uint8_t *)&rx->sge[sges];
	qp->receive = rx;
	return true;
}

/* Streams of a DCI share its copies from the start. */
int bf_mlx5_qp_prepare(struct bf_mlx5_qp *qp)
{
	return qp->has_sq && qp->dci && !bf_mlx5_sq_copy_take(qp) ? -ENOMEM : 0;
}

/* What was posted before is flushed; the transmitter stands behind it. */
static void leave_send_error(struct bf_mlx5_qp *qp)
{
	qp->halted = false;
	qp->tx_index = qp->ack_index = qp->head;
	qp->tx_packet = 0;
	qp->tx_psn = qp->una_psn = qp->send_psn;
}

void bf_mlx5_qp_set_state(struct bf_mlx5_qp *qp, uint8_t state, enum bf_mlx5_qp_cause cause)
{
	BF_EMIT(qp->dev->sim, qp->actor, qp_state, .qpn = qp->qpn, .from = qp->state, .to = state,
		.cause = (uint8_t)cause);
	if (qp->state == BF_MLX5_QPS_SQER)
		leave_send_error(qp);
	qp->state = state;
	qp->drained = false;
}

void bf_mlx5_qp_report(struct bf_mlx5_qp *qp, uint8_t side, uint16_t index, uint8_t opcode, uint32_t psn, uint8_t nak,
		       struct bf_mlx5_err err, const char *why)
{
	if (!qp->err.syndrome)
		qp->err = err;
	if (bf_probe(qp->dev->sim, BF_CLASS_FAULT)) {
		struct bf_rec_qp_error rec = {
			.qpn = qp->qpn,
			.psn = psn,
			.index = index,
			.side = side,
			.opcode = opcode,
			.syndrome = err.syndrome,
			.vendor = err.vendor,
			.hw = err.hw,
			.nak = nak,
		};

		snprintf(rec.why, sizeof(rec.why), "%s", why);
		BF_EMIT_MADE(qp->dev->sim, qp->actor, qp_error, rec, NULL, 0);
	}
}

static void free_held(struct bf_mlx5_qp *qp)
{
	bf_mlx5_srq_leave_line(qp);
	while (qp->hold) {
		struct bf_packet *pkt = qp->hold;

		qp->hold = pkt->next;
		bf_packet_free(pkt);
	}
}

static void stop_timers(struct bf_mlx5_qp *qp)
{
	struct bf_sim *sim = qp->dev->sim;

	bf_sim_cancel(sim, &qp->rto_event);
	bf_sim_cancel(sim, &qp->rnr_event);
	bf_sim_cancel(sim, &qp->ack_event);
	bf_sim_cancel(sim, &qp->answer_event);
	qp->rto_deadline = BF_NEVER;
	qp->rnr_waiting = false;
}

/*
 * Into error: nothing leaves any more, and every WQE that is or will be posted completes with a flush error
 * (docs/hardware/mlx5.md#qp-states-5). The doorbell record is read once more to learn of receives that no request ever
 * asked for.
 */
void bf_mlx5_qp_error(struct bf_mlx5_qp *qp, enum bf_mlx5_qp_cause cause)
{
	bool whole = !qp->context_of && !(qp->dci && qp->dci->parent);

	if (qp->state == BF_MLX5_QPS_ERR)
		return;
	if (whole)
		bf_mlx5_qp_set_state(qp, BF_MLX5_QPS_ERR, cause);
	else
		qp->state = BF_MLX5_QPS_ERR;
	stop_timers(qp);
	bf_mlx5_tx_drop(qp, BF_TX_REQUEST | BF_TX_RESPONSE);
	free_held(qp);
	qp->answers_head = qp->answers_tail;
	qp->acks_owed = 0;
	qp->nak = 0;
	if (qp->dci)
		bf_mlx5_dci_stream_error(qp);
	/* WQEs that stay in a shared queue are others'; the one at hand is flushed, and there will be no more. */
	if (qp->srq) {
		bf_mlx5_rq_flush(qp);
		if (whole)
			bf_mlx5_event_qp(qp, BF_MLX5_EVENT_SRQ_LAST_WQE);
	}
	if (whole)
		bf_mlx5_dbrec_read(qp);
}

/* Back to RESET: what is in flight is void, no CQE says so. */
void bf_mlx5_qp_reset(struct bf_mlx5_qp *qp)
{
	if (BF_UNLIKELY(qp->service == BF_QPC_ST_UD))
		bf_mlx5_special_close(qp);
	stop_timers(qp);
	bf_sim_cancel(qp->dev->sim, &qp->bell_event);
	bf_mlx5_tx_drop(qp, ~0u);
	free_held(qp);
	qp->epoch++;
	qp->producer = qp->fetch_issued = qp->fetched = qp->decoded = qp->tx_index = qp->ack_index = qp->head = 0;
	qp->tx_packet = qp->read_psns = qp->locals = 0;
	qp->rdatomic = 0;
	qp->tx_psn = qp->send_psn = qp->una_psn = qp->expected_psn = qp->msn = 0;
	qp->halted = qp->bell_again = qp->dbr_again = qp->lost_valid = qp->resending = false;
	qp->bf = NULL;
	qp->acks_owed = 0;
	qp->rx_op = qp->nak = 0;
	qp->nak_sent = qp->refused = qp->rx_has_wqe = qp->established = false;
	qp->rq_found = BF_MLX5_RQ_WAIT;
	qp->answers_head = qp->answers_tail = 0;
	qp->answers_inflight = 0;
	qp->rq_producer = qp->rq_consumed = qp->rq_cached = 0;
	qp->err = (struct bf_mlx5_err){ 0 };
	for (uint32_t i = 0; qp->answers && i < qp->answers_cap; i++)
		qp->answers[i].npsn = 0;
	if (qp->dci)
		bf_mlx5_dci_reset(qp);
}

/* The last DMA operation of a destroyed queue pair has ended. */
void bf_mlx5_qp_release(struct bf_mlx5_qp *qp)
{
	struct bf_mlx5_qp **link = &qp->dev->zombie_qps;

	if (qp->inflight)
		return;
	while (*link != qp)
		link = &(*link)->next_zombie;
	*link = qp->next_zombie;
	bf_mlx5_qp_free(qp);
}

void bf_mlx5_qp_free(struct bf_mlx5_qp *qp)
{
	while (qp->txq) {
		struct bf_packet *pkt = qp->txq;

		qp->txq = pkt->next;
		bf_packet_free(pkt);
	}
	free_held(qp);
	if (qp->dci && qp->dci->parent) /* a stream uses its DCI's */
		free(qp->sends);
	else
		bf_mlx5_sq_copy_free(qp);
	if (qp->dci)
		bf_mlx5_dci_free(qp);
	free(qp->receive);
	free(qp->answers);
	free(qp->context);
	bf_pool_give(qp->dev->sim, qp, sizeof(*qp));
}
