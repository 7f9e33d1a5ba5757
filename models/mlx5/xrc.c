/*
 * XRC: a queue pair receives for any shared receive queue of its domain (IBA vol. 1 annex A14).
 *
 * Each request names a queue, which says in what protection domain its keys are looked up and where its completion
 * goes. Domains have no use but to be named: cmd.c gives them out.
 */
#include "models/mlx5/device_internal.h"

bool bf_mlx5_xrc_select(struct bf_mlx5_qp *qp)
{
	struct bf_mlx5_srq *srq = bf_mlx5_table_get(&qp->dev->srqs, qp->dev->rdma.rx.xrc_srqn);

	if (!srq || !srq->cq || srq->xrcd != qp->xrcd)
		return false;
	qp->srq = srq;
	qp->recv_cq = srq->cq;
	qp->pd = srq->pd;
	qp->user_index = srq->user_index;
	return true;
}

void bf_mlx5_xrc_forget(struct bf_mlx5_srq *srq)
{
	struct bf_mlx5_qp *qp;

	for (uint32_t n = 0; (qp = bf_mlx5_table_next(&srq->dev->qps, &n)); n++) {
		if (!qp->xrc || qp->srq != srq)
			continue;
		bf_mlx5_srq_leave_line(qp);
		qp->srq = NULL;
		qp->recv_cq = qp->send_cq;
		qp->rdma.rx_has_receive = false;
		bf_rdma_rx_resume(&qp->rdma); /* who waited for a receive is told that there is no such queue */
	}
}

void bf_mlx5_xrc_address(const struct bf_mlx5_qp *qp, const struct bf_mlx5_send *s, struct bf_roce *r)
{
	uint8_t srqn[4] = { 0 };

	if (s)
		bf_mlx5_copy_wqe(qp, s, sizeof(struct bf_mlx5_ctrl), srqn, sizeof(srqn));
	r->xrc = true;
	r->xrc_srqn = bf_get_be32(srqn) & 0xffffff;
}
