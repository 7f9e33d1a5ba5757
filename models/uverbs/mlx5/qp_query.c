/* What ibv_query_qp(3) tells: the device's context, turned back into attributes, and what only the kernel knows. */
#include "models/uverbs/mlx5/mlx5_ib_internal.h"
#include "models/uverbs/qp_internal.h"

static uint8_t state_of(uint32_t device)
{
	static const uint8_t map[] = {
		[BF_MLX5_QPS_RST] = BF_UV_QPS_RESET, [BF_MLX5_QPS_INIT] = BF_UV_QPS_INIT,
		[BF_MLX5_QPS_RTR] = BF_UV_QPS_RTR,   [BF_MLX5_QPS_RTS] = BF_UV_QPS_RTS,
		[BF_MLX5_QPS_SQER] = BF_UV_QPS_SQE,  [BF_MLX5_QPS_SQD] = BF_UV_QPS_SQD,
		[BF_MLX5_QPS_ERR] = BF_UV_QPS_ERR,
	};

	return device < sizeof(map) ? map[device] : BF_UV_QPS_ERR;
}

static void from_context(struct bf_uv_qp *qp, const uint8_t *qpc, struct ib_uverbs_query_qp_resp *r)
{
	const uint8_t *path = qpc + BF_QPC_PATH;

	qp->state = state_of(BF_MLX5_GET(qpc, BF_QPC_STATE));
	r->qp_state = r->cur_qp_state = qp->state;
	r->path_mtu = (uint8_t)BF_MLX5_GET(qpc, BF_QPC_MTU);
	r->qkey = BF_MLX5_GET(qpc, BF_QPC_Q_KEY);
	r->rq_psn = BF_MLX5_GET(qpc, BF_QPC_NEXT_RCV_PSN);
	r->sq_psn = BF_MLX5_GET(qpc, BF_QPC_NEXT_SEND_PSN);
	r->dest_qp_num = BF_MLX5_GET(qpc, BF_QPC_REMOTE_QPN);
	r->qp_access_flags = (BF_MLX5_GET(qpc, BF_QPC_RRE) ? IB_UVERBS_ACCESS_REMOTE_READ : 0) |
			     (BF_MLX5_GET(qpc, BF_QPC_RWE) ? IB_UVERBS_ACCESS_REMOTE_WRITE : 0) |
			     (BF_MLX5_GET(qpc, BF_QPC_RAE) ? IB_UVERBS_ACCESS_REMOTE_ATOMIC : 0);
	r->pkey_index = (uint16_t)BF_MLX5_GET(path, BF_PATH_PKEY_INDEX);
	r->max_rd_atomic = (uint8_t)(1u << BF_MLX5_GET(qpc, BF_QPC_LOG_SRA_MAX));
	r->max_dest_rd_atomic = (uint8_t)(1u << BF_MLX5_GET(qpc, BF_QPC_LOG_RRA_MAX));
	r->min_rnr_timer = (uint8_t)BF_MLX5_GET(qpc, BF_QPC_MIN_RNR_NAK);
	r->timeout = (uint8_t)BF_MLX5_GET(path, BF_PATH_ACK_TIMEOUT);
	r->retry_cnt = (uint8_t)BF_MLX5_GET(qpc, BF_QPC_RETRY_COUNT);
	r->rnr_retry = (uint8_t)BF_MLX5_GET(qpc, BF_QPC_RNR_RETRY);
}

int bf_mlx5_ib_query_qp(struct bf_uv_call *c)
{
	struct ib_uverbs_query_qp_resp resp = { 0 };
	uint8_t in[16] = { 0 }, out[BF_QP_QPC + BF_QPC_LEN];
	struct ib_uverbs_query_qp cmd;
	struct bf_uv_qp *qp;
	int err = bf_uv_request(c, &cmd, sizeof(cmd));

	if (err)
		return err;
	qp = bf_uv_get_object(c, UVERBS_OBJECT_QP, cmd.qp_handle);
	if (!qp)
		return -EINVAL;
	c->number = qp->qpn;
	if (qp->type == BF_UV_QPT_DCT) {
		err = bf_mlx5_ib_dct_query(c->u, qp, &resp);
	} else if (qp->type == IB_UVERBS_QPT_RAW_PACKET) {
		bf_mlx5_ib_raw_query(c->u, qp, &resp);
	} else {
		BF_MLX5_SET(in, BF_CMD_IN_NUMBER, qp->qpn);
		err = bf_mlx5_ib_cmd(c->u, BF_MLX5_CMD_QUERY_QP, in, sizeof(in), out, sizeof(out));
		if (!err)
			from_context(qp, out + BF_QP_QPC, &resp);
	}
	if (err)
		return err;
	resp.dest = qp->dest;
	resp.port_num = qp->port;
	resp.max_send_wr = qp->cap.max_send_wr;
	resp.max_recv_wr = qp->cap.max_recv_wr;
	resp.max_send_sge = qp->cap.max_send_sge;
	resp.max_recv_sge = qp->cap.max_recv_sge;
	resp.max_inline_data = qp->cap.max_inline_data;
	resp.sq_sig_all = qp->sig_all;
	return bf_uv_response(c, &resp, sizeof(resp));
}
