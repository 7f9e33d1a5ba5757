/*
 * The receive queue.
 *
 * Posting a receive rings no bell: the device reads the doorbell record when it needs a receive WQE and knows of none,
 * then fetches as many as it caches. Requests that arrive meanwhile wait (models/rdma/rx.c).
 */
#include "models/mlx5/device_internal.h"

enum { RQ_IDLE, RQ_DBREC, RQ_FETCH };

static const struct bf_mlx5_err err_flush = { BF_MLX5_SYND_WR_FLUSH, 0xf9, 0x00 };

static void rq_done(struct bf_dma_op *op);

static void read_record(struct bf_mlx5_qp *qp)
{
	uint32_t run;

	qp->rq_busy = RQ_DBREC;
	qp->receive->op.iova = bf_mlx5_buf_iova(&qp->dbr, 4 * BF_MLX5_DBR_RCV, 4, &run);
	qp->receive->op.len = sizeof(qp->receive->record);
	qp->receive->op.dst = qp->receive->record;
}

static void read_wqes(struct bf_mlx5_qp *qp)
{
	uint32_t slot = qp->rq_consumed & qp->rq_mask, size = qp->rq_mask + 1u, run;
	uint32_t n = (uint16_t)(qp->rq_producer - qp->rq_consumed);

	n = n < BF_MLX5_RQ_CACHE ? n : BF_MLX5_RQ_CACHE;
	n = n < size - slot ? n : size - slot;
	qp->rq_busy = RQ_FETCH;
	qp->receive->op.iova = bf_mlx5_buf_iova(&qp->rq, (uint64_t)slot * qp->rq_stride, n * qp->rq_stride, &run);
	qp->receive->op.len = run - run % qp->rq_stride;
	qp->receive->op.dst = qp->receive->bytes;
}

static void fetch(struct bf_mlx5_qp *qp)
{
	if (qp->rq_producer == qp->rq_consumed)
		read_record(qp);
	else
		read_wqes(qp);
	qp->receive->epoch = qp->rdma.epoch;
	qp->receive->op.done = rq_done;
	qp->rdma.inflight++;
	bf_dma_read(&qp->dev->dma, &qp->receive->op);
}

static void rq_done(struct bf_dma_op *op)
{
	const struct bf_mlx5_receive *rx = BF_CONTAINER_OF(op, struct bf_mlx5_receive, op);
	struct bf_mlx5_qp *qp = rx->qp;
	uint8_t what = qp->rq_busy;

	qp->rq_busy = RQ_IDLE;
	qp->rdma.inflight--;
	if (qp->rdma.dead) {
		bf_mlx5_qp_release(qp);
		return;
	}
	if (rx->epoch == qp->rdma.epoch && qp->rdma.state != BF_MLX5_QPS_ERR) {
		if (op->status) {
			qp->rq_found = BF_RDMA_TAKE_BROKEN;
		} else if (what == RQ_DBREC) {
			qp->rq_producer = (uint16_t)bf_get_be32(rx->record);
			if (qp->rq_producer != qp->rq_consumed) {
				fetch(qp);
				return;
			}
			qp->rq_found = BF_RDMA_TAKE_EMPTY;
		} else {
			qp->rq_cached = (uint16_t)(qp->rq_consumed + op->len / qp->rq_stride);
		}
	}
	bf_rdma_rx_resume(&qp->rdma);
	qp->rq_found = BF_RDMA_TAKE_WAIT;
}

void bf_mlx5_rq_begin(struct bf_mlx5_qp *qp, const uint8_t *bytes, uint32_t len, uint16_t index, uint16_t producer)
{
	struct bf_mlx5_receive *rx = qp->receive;

	rx->nsge = bf_mlx5_recv_decode(bytes, len, rx->sge, len / BF_MLX5_DS, &qp->rdma.rx_room);
	rx->sge_at = rx->sge_done = 0;
	rx->in_cqe_len = 0;
	qp->rq_index = index;
	qp->rdma.rx_has_receive = true;
	BF_EMIT_TAIL(qp->dev->sim, qp->rdma.actor, recv_wqe_fetch, bytes, len, .room = qp->rdma.rx_room,
		     .qpn = qp->rdma.qpn, .nsge = rx->nsge, .psn = qp->rdma.expected_psn, .index = index,
		     .producer = producer);
}

enum bf_rdma_take bf_mlx5_rq_take(struct bf_mlx5_qp *qp)
{
	enum bf_rdma_take found = qp->rq_found;
	uint16_t left;

	if (qp->srq)
		return bf_mlx5_srq_take(qp);
	if (qp->rq_busy)
		return BF_RDMA_TAKE_WAIT;
	/* Without memory no receive can be had; the requester tries again later. */
	if (!bf_mlx5_qp_make_receives(qp))
		return BF_RDMA_TAKE_EMPTY;
	if (qp->rq_cached == qp->rq_consumed) {
		qp->rq_found = BF_RDMA_TAKE_WAIT;
		if (found == BF_RDMA_TAKE_WAIT)
			fetch(qp);
		return found;
	}
	/* The cache was filled from its start up to rq_cached; what is left of it is its end. */
	left = (uint16_t)(qp->rq_cached - qp->rq_consumed);
	bf_mlx5_rq_begin(qp, qp->receive->bytes + qp->receive->op.len - (size_t)left * qp->rq_stride, qp->rq_stride,
			 qp->rq_consumed, qp->rq_producer);
	qp->rq_consumed++;
	return BF_RDMA_TAKE_TAKEN;
}

enum bf_rdma_cause bf_mlx5_rq_scatter(struct bf_mlx5_qp *qp, const uint8_t *data, uint32_t len)
{
	struct bf_mlx5_receive *rx = qp->receive;
	const uint32_t at = rx->sge_at, done = rx->sge_done;
	enum bf_mlx5_key_fault f = BF_MLX5_KEY_OK;

	while (len && rx->sge_at < rx->nsge) {
		const struct bf_mlx5_sge *sge = &rx->sge[rx->sge_at];
		uint32_t n = sge->len - rx->sge_done;

		n = n < len ? n : len;
		if ((!rx->sge_done || qp->rdma.rx_keys != qp->dev->rdma.key_changes) &&
		    (f = bf_mlx5_mkey_check(qp, sge->lkey, sge->va, sge->len, BF_MLX5_ACCESS_LOCAL_WRITE, qp->rq_index,
					    NULL))) {
			rx->sge_at = at; /* the packet comes again */
			rx->sge_done = done;
			return f != BF_MLX5_KEY_ABSENT                     ? BF_RDMA_RECEIVE_KEY
			       : bf_mlx5_page_fault(qp, BF_RDMA_RESPONDER) ? BF_RDMA_NOT_YET
									   : BF_RDMA_RECEIVE_ABSENT;
		}
		if (bf_mlx5_key_write(qp->dev, sge->lkey, sge->va + rx->sge_done, data, n))
			return BF_RDMA_RECEIVE_WRITE;
		data += n;
		len -= n;
		rx->sge_done += n;
		if (rx->sge_done == sge->len) {
			rx->sge_at++;
			rx->sge_done = 0;
		}
	}
	qp->rdma.rx_keys = qp->dev->rdma.key_changes;
	return BF_RDMA_NO_CAUSE;
}

static void flush_one(struct bf_mlx5_qp *qp, uint16_t index)
{
	struct bf_mlx5_completion c = { .opcode = BF_MLX5_CQE_RESP_ERR, .index = index, .err = err_flush };

	bf_mlx5_cq_write(qp->recv_cq, qp, &c);
}

/* In error: every receive that the doorbell record knows of is completed with a flush error, in order. */
void bf_mlx5_rq_flush(struct bf_mlx5_qp *qp)
{
	if (qp->rdma.rx_has_receive) {
		qp->rdma.rx_has_receive = false;
		flush_one(qp, qp->rq_index);
	}
	if ((uint16_t)(qp->rq_producer - qp->rq_consumed) > qp->rq_mask + 1u)
		return; /* no ring has that many: the record is not to be believed */
	while (qp->rq_consumed != qp->rq_producer)
		flush_one(qp, qp->rq_consumed++);
	qp->rq_cached = qp->rq_consumed;
}
