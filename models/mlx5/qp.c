/* Queue pairs: states, errors, reset, end. */
#include "models/mlx5/device_internal.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void bf_mlx5_qp_init(struct bf_mlx5_qp *qp, struct bf_mlx5 *dev)
{
	qp->dev = dev;
	bf_rdma_qp_init(&qp->rdma, &dev->rdma, sizeof(struct bf_mlx5_send));
	bf_event_init(&qp->bell_event, bf_mlx5_bell_fired);
}

/* Room for receive WQEs, with the first one that is needed: most receive queues of a mesh never are. */
bool bf_mlx5_qp_make_receives(struct bf_mlx5_qp *qp)
{
	const uint32_t stride = qp->xrc ? BF_MLX5_SRQ_STRIDE_MAX : qp->srq ? qp->srq->stride : qp->rq_stride;
	const size_t sges = stride / BF_MLX5_DS, cache = qp->srq ? 0 : (size_t)BF_MLX5_RQ_CACHE * stride;
	struct bf_mlx5_receive *rx = qp->receive;

	if (BF_LIKELY(rx != NULL))
		return true;
	rx = calloc(1, sizeof(*rx) + sges * sizeof(rx->sge[0]) + cache);
	if (!rx) {
		bf_fail(&qp->dev->sim->error, -ENOMEM, "%s: no memory for receives", qp->dev->name);
		return false;
	}
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

void bf_mlx5_qp_set_state(struct bf_mlx5_qp *qp, uint8_t state, enum bf_mlx5_qp_cause cause)
{
	BF_EMIT(qp->dev->sim, qp->rdma.actor, qp_state, .qpn = qp->rdma.qpn, .from = qp->rdma.state, .to = state,
		.cause = (uint8_t)cause);
	if (qp->rdma.state == BF_MLX5_QPS_SQER)
		bf_rdma_resume_sends(&qp->rdma);
	qp->rdma.state = state;
	qp->drained = false;
}

void bf_mlx5_short_reason(char *out, size_t cap, const char *why)
{
	const char *rest = strlen(why) >= cap ? strstr(why, ": ") : NULL;
	size_t len;

	if (rest)
		why = rest + 2;
	len = strlen(why);
	if (len >= cap)
		for (len = cap - 1; len > cap / 2 && why[len] != ' ' && why[len] != ','; len--)
			;
	memcpy(out, why, len);
	out[len] = '\0';
}

void bf_mlx5_qp_report(struct bf_mlx5_qp *qp, uint8_t side, uint16_t index, uint8_t opcode, uint32_t psn, uint8_t nak,
		       struct bf_mlx5_err err, const char *why)
{
	if (!qp->err.syndrome)
		qp->err = err;
	if (bf_probe(qp->dev->sim, BF_CLASS_FAULT)) {
		struct bf_rec_qp_error rec = {
			.qpn = qp->rdma.qpn,
			.psn = psn,
			.index = index,
			.side = side,
			.opcode = opcode,
			.syndrome = err.syndrome,
			.vendor = err.vendor,
			.hw = err.hw,
			.nak = nak,
		};

		bf_mlx5_short_reason(rec.why, sizeof(rec.why), why);
		BF_EMIT_MADE(qp->dev->sim, qp->rdma.actor, qp_error, rec, NULL, 0);
	}
}

/*
 * Into error: nothing leaves any more, and every WQE that is or will be posted completes with a flush error
 * (docs/hardware/mlx5.md#qp-states-5). The doorbell record is read once more to learn of receives that no request ever
 * asked for.
 */
void bf_mlx5_qp_error(struct bf_mlx5_qp *qp, enum bf_mlx5_qp_cause cause)
{
	bool whole = !qp->context_of && !(qp->dci && qp->dci->parent);

	if (qp->rdma.state == BF_MLX5_QPS_ERR)
		return;
	if (whole)
		bf_mlx5_qp_set_state(qp, BF_MLX5_QPS_ERR, cause);
	else
		qp->rdma.state = BF_MLX5_QPS_ERR;
	bf_mlx5_srq_leave_line(qp);
	bf_mlx5_wait_forget(qp);
	bf_mlx5_page_faults_forget(qp);
	bf_rdma_stop(&qp->rdma);
	if (qp->dci)
		bf_mlx5_dci_stream_error(qp);
	/* WQEs that stay in a shared queue are others'; the one at hand is flushed, and there will be no more. */
	if (qp->srq) {
		bf_mlx5_rq_flush(qp);
		if (whole)
			bf_mlx5_event_qp(qp, BF_MLX5_EVENT_SRQ_LAST_WQE);
	}
	if (whole && (qp->has_sq || !qp->xrc)) /* an XRC target has no record */
		bf_mlx5_dbrec_read(qp);
}

/* Back to RESET: what is in flight is void, no CQE says so. */
void bf_mlx5_qp_reset(struct bf_mlx5_qp *qp)
{
	if (BF_UNLIKELY(qp->rdma.service == BF_QPC_ST_UD))
		bf_mlx5_special_close(qp);
	bf_mlx5_srq_leave_line(qp);
	bf_mlx5_wait_forget(qp);
	bf_mlx5_page_faults_forget(qp);
	bf_rdma_reset(&qp->rdma);
	bf_sim_cancel(qp->dev->sim, &qp->bell_event);
	qp->producer = qp->fetch_issued = qp->fetched = 0;
	qp->bell_again = qp->dbr_again = false;
	qp->bf = NULL;
	qp->rq_found = BF_RDMA_TAKE_WAIT;
	qp->rq_producer = qp->rq_consumed = qp->rq_cached = 0;
	qp->err = (struct bf_mlx5_err){ 0 };
	if (qp->dci)
		bf_mlx5_dci_reset(qp);
}

/* The last DMA operation of a destroyed queue pair has ended. */
void bf_mlx5_qp_release(struct bf_mlx5_qp *qp)
{
	struct bf_mlx5_qp **link = &qp->dev->zombie_qps;

	if (qp->rdma.inflight)
		return;
	while (*link != qp)
		link = &(*link)->next_zombie;
	*link = qp->next_zombie;
	bf_mlx5_qp_free(qp);
}

void bf_mlx5_qp_free(struct bf_mlx5_qp *qp)
{
	bf_mlx5_srq_leave_line(qp);
	bf_rdma_qp_fini(&qp->rdma);
	if (qp->dci && qp->dci->parent) /* a stream uses its DCI's */
		free(qp->rdma.sends);
	else
		bf_mlx5_sq_copy_free(qp);
	if (qp->dci)
		bf_mlx5_dci_free(qp);
	free(qp->receive);
	free(qp->context);
	bf_pool_give(qp->dev->sim, qp, sizeof(*qp));
}
