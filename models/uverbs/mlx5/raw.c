/*
 * Queue pairs of raw packets: a send queue with its TIS, a receive queue with its TIR, in a transport domain of the
 * file (Linux hw/mlx5/qp.c create_raw_packet_qp(), modify_raw_packet_qp()). What comes to the TIR, flows say (flow.c).
 */
#include "models/mlx5/prm_eth.h"
#include "models/uverbs/mlx5/mlx5_ib_internal.h"
#include "models/uverbs/qp_internal.h"

#include "sim/bits.h"

int bf_mlx5_ib_domain(struct bf_uverbs_file *f, uint32_t *number)
{
	struct bf_mlx5_ib_file *file = bf_mlx5_ib_file_of(f);
	int err = file->has_domain ? 0 : bf_mlx5_ib_simple(f->u, BF_MLX5_CMD_ALLOC_TRANSPORT_DOMAIN, 0, &file->domain);

	file->has_domain |= !err;
	*number = file->domain;
	return err;
}

void bf_mlx5_ib_domain_close(struct bf_uverbs_file *f)
{
	if (bf_mlx5_ib_file_of(f)->has_domain)
		bf_mlx5_ib_simple(f->u, BF_MLX5_CMD_DEALLOC_TRANSPORT_DOMAIN, bf_mlx5_ib_file_of(f)->domain, NULL);
}

/* Sends a command of a context; the number in its answer. */
static int make(struct bf_uverbs *u, uint32_t opcode, uint8_t in[BF_ETH_LEN], uint32_t *number)
{
	uint8_t out[16];
	int err = bf_mlx5_ib_cmd(u, opcode, in, BF_ETH_LEN, out, sizeof(out));

	*number = err ? 0 : BF_MLX5_GET(out, BF_CMD_OUT_NUMBER);
	return err;
}

int bf_mlx5_ib_rq_create(struct bf_uverbs *u, const struct bf_mlx5_ib_rq_args *a, uint32_t *rqn)
{
	uint8_t in[BF_ETH_LEN] = { 0 }, *rqc = in + BF_ETH_CONTEXT, *wq = rqc + BF_RQC_WQ;

	BF_MLX5_SET(rqc, BF_RQC_VLAN_KEPT, 1);
	BF_MLX5_SET(rqc, BF_RQC_USER_INDEX, a->user_index);
	BF_MLX5_SET(rqc, BF_RQC_CQN, a->cq->cqn);
	BF_MLX5_SET(wq, BF_WQ_TYPE, BF_WQ_CYCLIC);
	BF_MLX5_SET(wq, BF_WQ_PD, a->pd->pdn);
	bf_put_be64(wq + BF_WQ_DBR_ADDR, a->dbr);
	BF_MLX5_SET(wq, BF_WQ_LOG_STRIDE, a->wqe_shift);
	BF_MLX5_SET(wq, BF_WQ_LOG_SIZE, bf_log2_up(a->wqe_count));
	bf_put_be64(wq + BF_WQ_UMEM_OFFSET, a->ring);
	return make(u, BF_MLX5_CMD_CREATE_RQ, in, rqn);
}

static int make_sender(struct bf_uv_call *c, struct bf_uv_qp *qp, const struct mlx5_ib_create_qp *ucmd, uint32_t uar)
{
	uint8_t in[BF_ETH_LEN] = { 0 }, *context = in + BF_ETH_CONTEXT, *wq = context + BF_SQC_WQ;
	int err;

	BF_MLX5_SET(context, BF_TISC_DOMAIN, bf_mlx5_ib_file_of(c->f)->domain);
	err = make(c->u, BF_MLX5_CMD_CREATE_TIS, in, &qp->raw.tisn);
	if (err)
		return err;
	memset(in, 0, sizeof(in));
	BF_MLX5_SET(context, BF_SQC_USER_INDEX, ucmd->uidx);
	BF_MLX5_SET(context, BF_SQC_CQN, qp->send_cq->cqn);
	BF_MLX5_SET(context, BF_SQC_TIS_COUNT, 1);
	BF_MLX5_SET(context, BF_SQC_TIS, qp->raw.tisn);
	BF_MLX5_SET(wq, BF_WQ_TYPE, BF_WQ_CYCLIC);
	BF_MLX5_SET(wq, BF_WQ_PD, qp->pd->pdn);
	BF_MLX5_SET(wq, BF_WQ_UAR_PAGE, uar);
	bf_put_be64(wq + BF_WQ_DBR_ADDR, ucmd->db_addr);
	BF_MLX5_SET(wq, BF_WQ_LOG_STRIDE, BF_MLX5_WQEBB_SHIFT);
	BF_MLX5_SET(wq, BF_WQ_LOG_SIZE, bf_log2_up(ucmd->sq_wqe_count));
	bf_put_be64(wq + BF_WQ_UMEM_OFFSET, ucmd->sq_buf_addr);
	return make(c->u, BF_MLX5_CMD_CREATE_SQ, in, &qp->raw.sqn);
}

static int make_receiver(struct bf_uv_call *c, struct bf_uv_qp *qp, const struct mlx5_ib_create_qp *ucmd)
{
	const struct bf_mlx5_ib_rq_args rq = { .pd = qp->pd,
					       .cq = qp->recv_cq,
					       .ring = ucmd->buf_addr,
					       .dbr = ucmd->db_addr,
					       .wqe_count = ucmd->rq_wqe_count,
					       .wqe_shift = ucmd->rq_wqe_shift,
					       .user_index = ucmd->uidx };
	uint8_t in[BF_ETH_LEN] = { 0 }, *tirc = in + BF_ETH_CONTEXT;
	int err = bf_mlx5_ib_rq_create(c->u, &rq, &qp->raw.rqn);

	if (err)
		return err;
	BF_MLX5_SET(tirc, BF_TIRC_RQN, qp->raw.rqn);
	BF_MLX5_SET(tirc, BF_TIRC_DOMAIN, bf_mlx5_ib_file_of(c->f)->domain);
	return make(c->u, BF_MLX5_CMD_CREATE_TIR, in, &qp->raw.tirn);
}

int bf_mlx5_ib_raw_create(struct bf_uv_call *c, struct bf_uv_qp *qp, const struct mlx5_ib_create_qp *ucmd, uint32_t uar)
{
	uint32_t domain;
	int err = bf_mlx5_ib_domain(c->f, &domain);

	if (!err && ucmd->sq_wqe_count)
		err = make_sender(c, qp, ucmd, uar);
	if (!err && ucmd->rq_wqe_count)
		err = make_receiver(c, qp, ucmd);
	if (!err && !qp->raw.sqn && !qp->raw.rqn)
		err = -EINVAL;
	if (err)
		bf_mlx5_ib_raw_destroy(c->u, qp);
	qp->qpn = qp->raw.sqn ? qp->raw.sqn : qp->raw.rqn;
	return err;
}

/* Whatever of it is there. What the device keeps (flows lead to the TIR) stays. */
int bf_mlx5_ib_raw_destroy(struct bf_uverbs *u, struct bf_uv_qp *qp)
{
	const struct {
		uint32_t *number;
		uint32_t opcode;
	} parts[] = {
		{ &qp->raw.tirn, BF_MLX5_CMD_DESTROY_TIR },
		{ &qp->raw.rqn, BF_MLX5_CMD_DESTROY_RQ },
		{ &qp->raw.sqn, BF_MLX5_CMD_DESTROY_SQ },
		{ &qp->raw.tisn, BF_MLX5_CMD_DESTROY_TIS },
	};

	for (size_t i = 0; i < BF_ARRAY_LEN(parts); i++) {
		int err = *parts[i].number ? bf_mlx5_ib_simple(u, parts[i].opcode, *parts[i].number, NULL) : 0;

		if (err)
			return err;
		*parts[i].number = 0;
	}
	return 0;
}

/* ---- states ---- */

static uint32_t query(struct bf_uverbs *u, uint32_t opcode, uint32_t number)
{
	uint8_t in[16] = { 0 }, out[BF_ETH_LEN];

	BF_MLX5_SET(in, BF_CMD_IN_NUMBER, number);
	if (bf_mlx5_ib_cmd(u, opcode, in, sizeof(in), out, sizeof(out)))
		return BF_ETH_ERR;
	return BF_MLX5_GET(out + BF_ETH_CONTEXT, BF_RQC_STATE);
}

int bf_mlx5_ib_rq_modify(struct bf_uverbs *u, uint32_t opcode, uint32_t number, uint32_t from, uint32_t to)
{
	uint8_t in[BF_ETH_LEN] = { 0 }, out[16];

	BF_STATIC_ASSERT(sizeof(in) > BF_ETH_CONTEXT, "room for a context");
	BF_MLX5_SET(in, BF_CMD_IN_NUMBER, number);
	BF_MLX5_SET(in, BF_ETH_MODIFY_STATE, from);
	BF_MLX5_SET(in + BF_ETH_CONTEXT, BF_RQC_STATE, to);
	return bf_mlx5_ib_cmd(u, opcode, in, sizeof(in), out, sizeof(out));
}

static int move(struct bf_uverbs *u, uint32_t number, bool send, uint32_t to)
{
	const uint32_t from =
	    number ? query(u, send ? BF_MLX5_CMD_QUERY_SQ : BF_MLX5_CMD_QUERY_RQ, number) : BF_ETH_RST;

	/* A queue that never began has nothing to flush. */
	if (!number || from == to || (to == BF_ETH_ERR && from == BF_ETH_RST))
		return 0;
	return bf_mlx5_ib_rq_modify(u, send ? BF_MLX5_CMD_MODIFY_SQ : BF_MLX5_CMD_MODIFY_RQ, number, from, to);
}

/* Receives begin with INIT, sends with RTS. */
int bf_mlx5_ib_raw_modify(struct bf_uv_call *c, struct bf_uv_qp *qp, const struct ib_uverbs_modify_qp *m)
{
	const uint32_t from = m->attr_mask & BF_UV_QP_CUR_STATE ? m->cur_qp_state : qp->state;
	const uint32_t to = m->attr_mask & BF_UV_QP_STATE ? m->qp_state : from;
	int err = 0;

	if ((m->attr_mask & BF_UV_QP_PORT && m->port_num != 1) || from > BF_UV_QPS_ERR || to > BF_UV_QPS_ERR ||
	    !bf_uv_qp_step_ok(qp->type, from, to, m->attr_mask & ~BF_UV_QP_RATE_LIMIT))
		return -EINVAL;
	if (m->attr_mask & BF_UV_QP_RATE_LIMIT)
		return -EOPNOTSUPP;
	if (to == BF_UV_QPS_RESET || to == BF_UV_QPS_ERR) {
		const uint32_t state = to == BF_UV_QPS_ERR ? BF_ETH_ERR : BF_ETH_RST;

		err = move(c->u, qp->raw.rqn, false, state);
		err = err ? err : move(c->u, qp->raw.sqn, true, state);
	} else if (to == BF_UV_QPS_INIT) {
		err = move(c->u, qp->raw.rqn, false, BF_ETH_RDY);
	} else if (to == BF_UV_QPS_RTS) {
		err = move(c->u, qp->raw.sqn, true, BF_ETH_RDY);
	} else if (to != BF_UV_QPS_RTR) {
		err = -EOPNOTSUPP; /* send queues of this kind are not drained */
	}
	if (err)
		return err;
	qp->state = (uint8_t)to;
	if (m->attr_mask & BF_UV_QP_PORT)
		qp->port = m->port_num;
	return 0;
}

void bf_mlx5_ib_raw_query(struct bf_uverbs *u, struct bf_uv_qp *qp, struct ib_uverbs_query_qp_resp *r)
{
	if ((qp->raw.rqn && query(u, BF_MLX5_CMD_QUERY_RQ, qp->raw.rqn) == BF_ETH_ERR))
		qp->state = BF_UV_QPS_ERR;
	else if (qp->raw.sqn && query(u, BF_MLX5_CMD_QUERY_SQ, qp->raw.sqn) == BF_ETH_ERR)
		qp->state = BF_UV_QPS_SQE;
	r->qp_state = r->cur_qp_state = qp->state;
}
