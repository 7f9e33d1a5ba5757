/* Queue pairs: creation and destruction. The rings are the program's, told to the device by address. */
#include "models/uverbs/mlx5/mlx5_ib_internal.h"

#include <stdlib.h>

#include "sim/bits.h"

#define MIN_UHW offsetof(struct mlx5_ib_create_qp, uidx)
#define DEFAULT_UIDX 0xffffffu
#define PM_MIGRATED 3u
#define QP_FLAGS                                                                                                       \
	(IB_UVERBS_QP_CREATE_BLOCK_MULTICAST_LOOPBACK | IB_UVERBS_QP_CREATE_SCATTER_FCS |                              \
	 IB_UVERBS_QP_CREATE_CVLAN_STRIPPING | IB_UVERBS_QP_CREATE_PCI_WRITE_END_PADDING |                             \
	 IB_UVERBS_QP_CREATE_SQ_SIG_ALL)
#define UHW_FLAGS                                                                                                      \
	(MLX5_QP_FLAG_SIGNATURE | MLX5_QP_FLAG_SCATTER_CQE | MLX5_QP_FLAG_BFREG_INDEX | MLX5_QP_FLAG_TYPE_DCT |        \
	 MLX5_QP_FLAG_TYPE_DCI | MLX5_QP_FLAG_ALLOW_SCATTER_CQE | MLX5_QP_FLAG_UAR_PAGE_INDEX |                        \
	 MLX5_QP_FLAG_DCI_STREAM)

static bool power_of_2(uint32_t n)
{
	return n && !(n & (n - 1));
}

/* Which service; what the model has no hardware for is refused. */
static int take_type(struct bf_mlx5_ib_qp_args *a, const struct mlx5_ib_create_qp *ucmd)
{
	uint32_t driver = ucmd->flags & (MLX5_QP_FLAG_TYPE_DCT | MLX5_QP_FLAG_TYPE_DCI);

	switch (a->type) {
	case IB_UVERBS_QPT_RC:
	case IB_UVERBS_QPT_UC:
	case IB_UVERBS_QPT_UD:
	case IB_UVERBS_QPT_XRC_INI:
	case IB_UVERBS_QPT_XRC_TGT:
	case IB_UVERBS_QPT_RAW_PACKET:
		return driver ? -EINVAL : 0;
	case IB_UVERBS_QPT_DRIVER:
		if (driver != MLX5_QP_FLAG_TYPE_DCT && driver != MLX5_QP_FLAG_TYPE_DCI)
			return -EINVAL;
		a->type = driver == MLX5_QP_FLAG_TYPE_DCT ? BF_UV_QPT_DCT : BF_UV_QPT_DCI;
		return 0;
	default:
		return -EINVAL;
	}
}

static int take_uhw(struct bf_uv_call *c, const struct bf_mlx5_ib_qp_args *a, struct mlx5_ib_create_qp *ucmd)
{
	/* An XRC target has no rings, and nothing to say of them. */
	if (a->type == IB_UVERBS_QPT_XRC_TGT) {
		memset(ucmd, 0, sizeof(*ucmd));
		return 0;
	}
	if (c->uhw_in.len < MIN_UHW)
		return -EINVAL;
	if (bf_uv_get(c, &c->uhw_in, ucmd, sizeof(*ucmd)))
		return -EFAULT;
	if (ucmd->flags & ~(uint32_t)UHW_FLAGS || ucmd->flags & MLX5_QP_FLAG_SIGNATURE)
		return -EOPNOTSUPP;
	if (bf_mlx5_ib_file_of(c->f)->cqe_version &&
	    (ucmd->uidx >= DEFAULT_UIDX || c->uhw_in.len < MIN_UHW + sizeof(ucmd->uidx)))
		return -EINVAL;
	return 0;
}

/* hw/mlx5/qp.c set_rq_size() and set_user_buf_size(): with an SRQ what is said of receives does not count. */
static int take_rings(const struct bf_mlx5_ib_qp_args *a, struct mlx5_ib_create_qp *ucmd)
{
	const uint32_t most = 1u << BF_MLX5_IB_LOG_MAX_QP_SZ;

	if (a->srq || a->type == IB_UVERBS_QPT_XRC_INI)
		ucmd->rq_wqe_count = 0;
	if (a->cap.max_recv_wr > most || ucmd->sq_wqe_count > most || ucmd->rq_wqe_count > most)
		return -EINVAL;
	if (ucmd->sq_wqe_count && !power_of_2(ucmd->sq_wqe_count))
		return -EINVAL;
	if (!ucmd->rq_wqe_count)
		return 0;
	if (!power_of_2(ucmd->rq_wqe_count) || ucmd->rq_wqe_shift < 4 || ucmd->rq_wqe_shift > 11)
		return -EINVAL;
	return 0;
}

static int pin_rings(struct bf_uv_call *c, const struct mlx5_ib_create_qp *ucmd, bool raw)
{
	const struct bf_uverbs_host *h = &c->u->opts.host;
	uint64_t rq = (uint64_t)ucmd->rq_wqe_count << (ucmd->rq_wqe_count ? ucmd->rq_wqe_shift : 0);
	const uint64_t sq = (uint64_t)ucmd->sq_wqe_count << BF_MLX5_WQEBB_SHIFT;
	uint64_t len = raw ? rq : rq + sq;

	/* Rings of raw packets lie apart. */
	if (raw && (ucmd->sq_buf_addr + sq < ucmd->sq_buf_addr || (sq && h->pin(h->arg, ucmd->sq_buf_addr, sq, true))))
		return -EFAULT;
	if (ucmd->buf_addr + len < ucmd->buf_addr || ucmd->db_addr + BF_MLX5_DBR_BYTES < ucmd->db_addr)
		return -EFAULT;
	if (len && h->pin(h->arg, ucmd->buf_addr, len, true))
		return -EFAULT;
	return h->pin(h->arg, ucmd->db_addr, BF_MLX5_DBR_BYTES, true) ? -EFAULT : 0;
}

/* The UAR page that its doorbells go to: the program's choice, or a register of a static page. */
static int64_t choose_uar(struct bf_uv_call *c, struct bf_uv_qp *qp, const struct mlx5_ib_create_qp *ucmd)
{
	uint32_t uar;
	int err;

	if (ucmd->flags & MLX5_QP_FLAG_UAR_PAGE_INDEX)
		return ucmd->bfreg_index;
	if (ucmd->flags & MLX5_QP_FLAG_BFREG_INDEX)
		return bf_mlx5_ib_reg_page(c->f, ucmd->bfreg_index);
	err = bf_mlx5_ib_reg_take(c->f, &qp->reg, &uar);
	qp->has_reg = !err;
	return err ? err : (int64_t)uar;
}

static uint32_t service(uint8_t type)
{
	switch (type) {
	case IB_UVERBS_QPT_UC:
		return BF_QPC_ST_UC;
	case IB_UVERBS_QPT_UD:
		return BF_QPC_ST_UD;
	case BF_UV_QPT_DCI:
		return BF_QPC_ST_DCI;
	case IB_UVERBS_QPT_XRC_INI:
		return BF_QPC_ST_XRC;
	default:
		return BF_QPC_ST_RC;
	}
}

/*
 * Small data may come with the completion (hw/mlx5/qp.c configure_responder_scat_cqe()): what a receive gets when the
 * program allows it. Its twin, for what READs and atomics return, is left out, as a driver may: the device writes old
 * values of atomics into a CQE big-endian, which UCX expects on its own queue pairs, and libmlx5 44 would copy them to
 * a verbs program as they are (rdma-core providers/mlx5/qp.c mlx5_copy_to_send_wqe()).
 */
static void set_scatter(const struct bf_mlx5_ib_qp_args *a, const struct mlx5_ib_create_qp *ucmd, uint8_t *qpc)
{
	if ((ucmd->flags & MLX5_QP_FLAG_SCATTER_CQE) && a->type == IB_UVERBS_QPT_RC)
		BF_MLX5_SET(qpc, BF_QPC_CS_RES, a->recv_cq->large ? BF_CS_RES_64 : BF_CS_RES_32);
}

static void set_queues(const struct bf_mlx5_ib_qp_args *a, const struct mlx5_ib_create_qp *ucmd, uint8_t *qpc)
{
	BF_MLX5_SET(qpc, BF_QPC_NO_SQ, !ucmd->sq_wqe_count);
	if (ucmd->sq_wqe_count)
		BF_MLX5_SET(qpc, BF_QPC_LOG_SQ_SIZE, bf_log2_up(ucmd->sq_wqe_count));
	if (a->srq) {
		BF_MLX5_SET(qpc, BF_QPC_RQ_TYPE, BF_QPC_RQ_SRQ);
		BF_MLX5_SET(qpc, BF_QPC_SRQN, a->srq->srqn);
	} else if (ucmd->rq_wqe_count) {
		BF_MLX5_SET(qpc, BF_QPC_LOG_RQ_SIZE, bf_log2_up(ucmd->rq_wqe_count));
		BF_MLX5_SET(qpc, BF_QPC_LOG_RQ_STRIDE, ucmd->rq_wqe_shift - 4);
	} else {
		BF_MLX5_SET(qpc, BF_QPC_RQ_TYPE, BF_QPC_RQ_NONE);
	}
}

static int command(struct bf_uv_call *c, struct bf_uv_qp *qp, const struct bf_mlx5_ib_qp_args *a,
		   const struct mlx5_ib_create_qp *ucmd)
{
	uint8_t in[BF_CREATE_QP_LEN] = { 0 }, out[16], *qpc = in + BF_QP_QPC;
	int64_t uar = choose_uar(c, qp, ucmd);
	int err;

	if (uar < 0)
		return (int)uar;
	if (a->type == IB_UVERBS_QPT_RAW_PACKET) {
		err = bf_mlx5_ib_raw_create(c, qp, ucmd, (uint32_t)uar);
		if (err && qp->has_reg)
			bf_mlx5_ib_reg_give(c->f, qp->reg);
		return err;
	}
	BF_MLX5_SET(qpc, BF_QPC_ST, service(a->type));
	BF_MLX5_SET(qpc, BF_QPC_PM_STATE, PM_MIGRATED);
	BF_MLX5_SET(qpc, BF_QPC_PD, a->pd->pdn);
	BF_MLX5_SET(qpc, BF_QPC_UAR_PAGE, (uint32_t)uar);
	BF_MLX5_SET(qpc, BF_QPC_USER_INDEX, bf_mlx5_ib_file_of(c->f)->cqe_version ? ucmd->uidx : DEFAULT_UIDX);
	BF_MLX5_SET(qpc, BF_QPC_CQN_SND, a->send_cq->cqn);
	BF_MLX5_SET(qpc, BF_QPC_CQN_RCV, a->recv_cq ? a->recv_cq->cqn : a->send_cq->cqn);
	if (a->type == BF_UV_QPT_DCI && (ucmd->flags & MLX5_QP_FLAG_DCI_STREAM)) {
		BF_MLX5_SET(qpc, BF_QPC_LOG_DCI_STREAMS, ucmd->dci_streams.log_num_concurent);
		BF_MLX5_SET(qpc, BF_QPC_LOG_DCI_ERRORED, ucmd->dci_streams.log_num_errored);
	}
	BF_MLX5_SET(qpc, BF_QPC_BLOCK_LB_MC, !!(a->flags & IB_UVERBS_QP_CREATE_BLOCK_MULTICAST_LOOPBACK));
	set_queues(a, ucmd, qpc);
	set_scatter(a, ucmd, qpc);
	bf_put_be64(qpc + BF_QPC_DBR_ADDR, ucmd->db_addr);
	bf_put_be64(in + BF_CREATE_QP_UMEM_OFFSET, ucmd->buf_addr);
	err = bf_mlx5_ib_cmd(c->u, BF_MLX5_CMD_CREATE_QP, in, sizeof(in), out, sizeof(out));
	qp->qpn = BF_MLX5_GET(out, BF_CMD_OUT_NUMBER);
	if (err && qp->has_reg)
		bf_mlx5_ib_reg_give(c->f, qp->reg);
	return err;
}

void bf_mlx5_ib_qp_know(struct bf_uverbs *u, struct bf_uv_qp *qp)
{
	qp->next_by_number = bf_mlx5_ib_of(u)->qps[qp->qpn % BF_MLX5_IB_BUCKETS];
	bf_mlx5_ib_of(u)->qps[qp->qpn % BF_MLX5_IB_BUCKETS] = qp;
}

void bf_mlx5_ib_qp_unknow(struct bf_uverbs *u, struct bf_uv_qp *qp)
{
	struct bf_uv_qp **at = &bf_mlx5_ib_of(u)->qps[qp->qpn % BF_MLX5_IB_BUCKETS];

	while (*at && *at != qp)
		at = &(*at)->next_by_number;
	if (*at)
		*at = qp->next_by_number;
}

static void hold(struct bf_uv_qp *qp, uint32_t by)
{
	if (qp->pd)
		qp->pd->o.users += by;
	if (qp->xrcd)
		qp->xrcd->o.users += by;
	if (qp->send_cq)
		qp->send_cq->o.users += by;
	if (qp->recv_cq)
		qp->recv_cq->o.users += by;
	if (qp->srq)
		qp->srq->o.users += by;
}

static int make(struct bf_uv_call *c, struct bf_uv_qp *qp, const struct bf_mlx5_ib_qp_args *a,
		const struct mlx5_ib_create_qp *ucmd)
{
	int err;

	qp->pd = a->pd;
	qp->send_cq = a->send_cq;
	qp->recv_cq = a->recv_cq;
	qp->srq = a->srq;
	qp->type = a->type;
	qp->cap = a->cap;
	qp->sig_all = a->sig_all;
	qp->xrcd = a->xrcd;
	qp->dbr = ucmd->db_addr;
	if (a->type == BF_UV_QPT_DCT)
		return bf_mlx5_ib_dct_create(c, qp, ucmd);
	err = a->type == IB_UVERBS_QPT_XRC_TGT ? bf_mlx5_ib_xrc_target(c->u, qp) : command(c, qp, a, ucmd);
	if (!err)
		bf_mlx5_ib_qp_know(c->u, qp);
	return err;
}

/* What the program asked for, or what its rings have room for (hw/mlx5/qp.c set_rq_size()). */
static void adjust_cap(struct bf_mlx5_ib_qp_args *a, const struct mlx5_ib_create_qp *ucmd)
{
	if (!ucmd->rq_wqe_count) {
		a->cap.max_recv_wr = 0;
		a->cap.max_recv_sge = 0;
		return;
	}
	a->cap.max_recv_wr = ucmd->rq_wqe_count;
	a->cap.max_recv_sge = (1u << ucmd->rq_wqe_shift) / BF_MLX5_DS;
}

static int check_parts(struct bf_uv_call *c, const struct bf_mlx5_ib_qp_args *a)
{
	if (a->flags & ~(uint32_t)QP_FLAGS)
		return -EINVAL;
	if (a->flags & ~(uint32_t)(IB_UVERBS_QP_CREATE_SQ_SIG_ALL | IB_UVERBS_QP_CREATE_BLOCK_MULTICAST_LOOPBACK))
		return -EOPNOTSUPP;
	if (a->type == IB_UVERBS_QPT_RAW_PACKET && (a->srq || !bf_mlx5_ib_file_of(c->f)->cqe_version))
		return -EOPNOTSUPP; /* entries of frames say tags where those of old name their queue */
	if (a->type == IB_UVERBS_QPT_XRC_TGT)
		return a->xrcd ? 0 : -EINVAL;
	if (a->type == IB_UVERBS_QPT_XRC_INI)
		return a->pd && a->send_cq && !a->srq ? 0 : -EINVAL;
	if (!a->pd || !a->recv_cq || (a->type != BF_UV_QPT_DCT && !a->send_cq))
		return -EINVAL;
	return 0;
}

/* The numbers by which DEVX names the parts of a queue pair of raw packets. */
static void name_parts(const struct bf_uv_qp *qp, struct mlx5_ib_create_qp_resp *resp)
{
	resp->sqn = qp->raw.sqn;
	resp->rqn = qp->raw.rqn;
	resp->tisn = qp->raw.tisn;
	resp->tirn = qp->raw.tirn;
	if (resp->sqn)
		resp->comp_mask |= MLX5_IB_CREATE_QP_RESP_MASK_SQN | MLX5_IB_CREATE_QP_RESP_MASK_TISN;
	if (resp->rqn)
		resp->comp_mask |= MLX5_IB_CREATE_QP_RESP_MASK_RQN | MLX5_IB_CREATE_QP_RESP_MASK_TIRN;
}

/* A hash over a table: it has neither rings nor a number. */
static int create_hash(struct bf_uv_call *c, const struct bf_mlx5_ib_qp_args *a, struct bf_uv_qp **out)
{
	struct mlx5_ib_create_qp_resp resp = { 0 };
	struct bf_uv_qp *qp;
	int err;

	if (a->type != IB_UVERBS_QPT_RAW_PACKET || a->flags || !a->pd || a->send_cq || a->recv_cq || a->srq)
		return -EINVAL;
	qp = bf_uv_new(c, UVERBS_OBJECT_QP, sizeof(*qp));
	if (!qp)
		return -ENOMEM;
	qp->type = a->type;
	err = bf_mlx5_ib_rss_create(c, qp, a->table);
	if (err) {
		bf_uv_free(&qp->o);
		return err;
	}
	qp->pd = a->pd;
	hold(qp, 1);
	bf_uv_events_start(&qp->async, a->async ? a->async : c->f->async, a->user_handle);
	name_parts(qp, &resp);
	resp.comp_mask |= MLX5_IB_CREATE_QP_RESP_MASK_TIRN;
	err = bf_uv_put(c, &c->uhw_out, &resp, sizeof(resp));
	if (err)
		bf_uv_destroy(&qp->o, true);
	*out = qp;
	return err;
}

static int create(struct bf_uv_call *c, struct bf_mlx5_ib_qp_args *a, struct bf_uv_qp **out)
{
	struct mlx5_ib_create_qp_resp resp = { 0 };
	struct mlx5_ib_create_qp ucmd;
	struct bf_uv_qp *qp;
	bool rings;
	int err;

	if (a->table)
		return create_hash(c, a, out);
	err = take_uhw(c, a, &ucmd);
	if (!err)
		err = take_type(a, &ucmd);
	if (!err)
		err = check_parts(c, a);
	rings = a->type != BF_UV_QPT_DCT && a->type != IB_UVERBS_QPT_XRC_TGT;
	if (!err && rings)
		err = take_rings(a, &ucmd) ? -EINVAL : pin_rings(c, &ucmd, a->type == IB_UVERBS_QPT_RAW_PACKET);
	if (err)
		return err;
	if (rings)
		adjust_cap(a, &ucmd);
	qp = bf_uv_new(c, UVERBS_OBJECT_QP, sizeof(*qp));
	if (!qp)
		return -ENOMEM;
	err = make(c, qp, a, &ucmd);
	if (err) {
		bf_uv_free(&qp->o);
		return err;
	}
	hold(qp, 1);
	bf_uv_events_start(&qp->async, a->async ? a->async : c->f->async, a->user_handle);
	c->number = qp->qpn;
	if (qp->has_reg)
		resp.bfreg_index = bf_mlx5_ib_reg_name(qp->reg);
	if (a->type == IB_UVERBS_QPT_RAW_PACKET)
		name_parts(qp, &resp);
	err = bf_uv_put(c, &c->uhw_out, &resp, sizeof(resp));
	if (err)
		bf_uv_destroy(&qp->o, true);
	*out = qp;
	return err;
}

int bf_mlx5_ib_create_qp(struct bf_uv_call *c)
{
	struct bf_mlx5_ib_qp_args a = {
		.pd = (struct bf_uv_pd *)bf_uv_attr_object(c, UVERBS_ATTR_CREATE_QP_PD_HANDLE),
		.srq = (struct bf_uv_srq *)bf_uv_attr_object(c, UVERBS_ATTR_CREATE_QP_SRQ_HANDLE),
		.send_cq = (struct bf_uv_cq *)bf_uv_attr_object(c, UVERBS_ATTR_CREATE_QP_SEND_CQ_HANDLE),
		.recv_cq = (struct bf_uv_cq *)bf_uv_attr_object(c, UVERBS_ATTR_CREATE_QP_RECV_CQ_HANDLE),
		.xrcd = (struct bf_uv_xrcd *)bf_uv_attr_object(c, UVERBS_ATTR_CREATE_QP_XRCD_HANDLE),
		.table = bf_uv_attr_object(c, UVERBS_ATTR_CREATE_QP_IND_TABLE_HANDLE),
		.async = (struct bf_uv_channel *)bf_uv_attr_object(c, UVERBS_ATTR_CREATE_QP_EVENT_FD),
	};
	struct bf_uv_qp *qp;
	uint64_t type;
	int err;

	if (bf_uv_attr_get(c, UVERBS_ATTR_CREATE_QP_USER_HANDLE, &a.user_handle, sizeof(a.user_handle)) ||
	    bf_uv_attr_get(c, UVERBS_ATTR_CREATE_QP_CAP, &a.cap, sizeof(a.cap)) ||
	    bf_uv_attr_get(c, UVERBS_ATTR_CREATE_QP_TYPE, &type, sizeof(type)) ||
	    bf_uv_attr_get(c, UVERBS_ATTR_CREATE_QP_FLAGS, &a.flags, sizeof(a.flags)))
		return -EFAULT;
	if (type > IB_UVERBS_QPT_DRIVER)
		return -EINVAL;
	if (bf_uv_attr(c, UVERBS_ATTR_CREATE_QP_SOURCE_QPN)->present)
		return -EOPNOTSUPP;
	a.type = (uint8_t)type;
	a.sig_all = !!(a.flags & IB_UVERBS_QP_CREATE_SQ_SIG_ALL);
	err = create(c, &a, &qp);
	if (err)
		return err;
	if (bf_uv_attr_put(c, UVERBS_ATTR_CREATE_QP_RESP_CAP, &qp->cap, sizeof(qp->cap)) ||
	    bf_uv_attr_put(c, UVERBS_ATTR_CREATE_QP_RESP_QP_NUM, &qp->qpn, sizeof(qp->qpn)) ||
	    bf_uv_attr_handle(c, UVERBS_ATTR_CREATE_QP_HANDLE, qp->o.handle)) {
		bf_uv_destroy(&qp->o, true);
		return -EFAULT;
	}
	return 0;
}

/* The members that both commands share, once looked up. */
static int by_command(struct bf_uv_call *c, struct bf_mlx5_ib_qp_args *a, const struct ib_uverbs_ex_create_qp *cmd,
		      struct ib_uverbs_create_qp_resp *resp, struct bf_uv_qp **qp)
{
	int err;

	/* Of an XRC target the domain stands there (core/uverbs_cmd.c create_qp()). */
	if (cmd->qp_type == IB_UVERBS_QPT_XRC_TGT)
		a->xrcd = bf_uv_get_object(c, UVERBS_OBJECT_XRCD, cmd->pd_handle);
	else
		a->pd = bf_uv_get_object(c, UVERBS_OBJECT_PD, cmd->pd_handle);
	if (!a->table) {
		a->recv_cq = bf_uv_get_object(c, UVERBS_OBJECT_CQ, cmd->recv_cq_handle);
		a->send_cq = bf_uv_get_object(c, UVERBS_OBJECT_CQ, cmd->send_cq_handle);
	}
	a->srq = cmd->is_srq ? bf_uv_get_object(c, UVERBS_OBJECT_SRQ, cmd->srq_handle) : NULL;
	if (cmd->is_srq && !a->srq)
		return -EINVAL;
	a->user_handle = cmd->user_handle;
	a->cap = (struct ib_uverbs_qp_cap){ cmd->max_send_wr, cmd->max_recv_wr, cmd->max_send_sge, cmd->max_recv_sge,
					    cmd->max_inline_data };
	a->type = cmd->qp_type;
	a->sig_all = !!cmd->sq_sig_all;
	err = create(c, a, qp);
	if (err)
		return err;
	*resp = (struct ib_uverbs_create_qp_resp){
		.qp_handle = (*qp)->o.handle,
		.qpn = (*qp)->qpn,
		.max_send_wr = (*qp)->cap.max_send_wr,
		.max_recv_wr = (*qp)->cap.max_recv_wr,
		.max_send_sge = (*qp)->cap.max_send_sge,
		.max_recv_sge = (*qp)->cap.max_recv_sge,
		.max_inline_data = (*qp)->cap.max_inline_data,
	};
	return 0;
}

int bf_mlx5_ib_create_qp_write(struct bf_uv_call *c)
{
	struct ib_uverbs_create_qp_resp resp;
	struct ib_uverbs_create_qp cmd;
	struct ib_uverbs_ex_create_qp ex = { 0 };
	struct bf_mlx5_ib_qp_args a = { 0 };
	struct bf_uv_qp *qp;
	int err = bf_uv_request(c, &cmd, sizeof(cmd));

	if (err)
		return err;
	/* From `user_handle` to `reserved` the two commands are alike. */
	memcpy(&ex, &cmd.user_handle, offsetof(struct ib_uverbs_ex_create_qp, comp_mask));
	err = by_command(c, &a, &ex, &resp, &qp);
	if (!err) {
		err = bf_uv_response(c, &resp, sizeof(resp));
		if (err)
			bf_uv_destroy(&qp->o, true);
	}
	return err;
}

int bf_mlx5_ib_create_qp_ex(struct bf_uv_call *c)
{
	struct ib_uverbs_ex_create_qp_resp resp = { 0 };
	struct ib_uverbs_ex_create_qp cmd;
	struct bf_mlx5_ib_qp_args a = { 0 };
	struct bf_uv_qp *qp;
	int err = bf_uv_request(c, &cmd, sizeof(cmd));

	if (err)
		return err;
	if (cmd.comp_mask & ~(uint32_t)IB_UVERBS_CREATE_QP_SUP_COMP_MASK || cmd.reserved)
		return -EINVAL;
	if (cmd.source_qpn)
		return -EOPNOTSUPP;
	if (cmd.comp_mask & IB_UVERBS_CREATE_QP_MASK_IND_TABLE) {
		a.table = bf_uv_get_object(c, UVERBS_OBJECT_RWQ_IND_TBL, cmd.rwq_ind_tbl_handle);
		if (!a.table)
			return -EINVAL;
	}
	a.flags = cmd.create_flags;
	err = by_command(c, &a, &cmd, &resp.base, &qp);
	if (err)
		return err;
	resp.response_length = c->core_out.len < sizeof(resp) ? c->core_out.len : sizeof(resp);
	err = bf_uv_response(c, &resp, sizeof(resp));
	if (err)
		bf_uv_destroy(&qp->o, true);
	return err;
}

int bf_mlx5_ib_qp_destroy(struct bf_uv_object *o, bool forced)
{
	struct bf_uv_qp *qp = (struct bf_uv_qp *)o;
	struct bf_uverbs *u = o->file->u;
	int err;

	if (qp->mcast && !forced && !o->file->closing)
		return -EBUSY;
	bf_uv_mcast_drop(qp);
	err = bf_mlx5_ib_qp_other(u, qp, NULL)       ? 0
	      : qp->type == BF_UV_QPT_DCT            ? bf_mlx5_ib_dct_destroy(u, qp)
	      : qp->type == IB_UVERBS_QPT_RAW_PACKET ? bf_mlx5_ib_raw_destroy(u, qp)
						     : bf_mlx5_ib_simple(u, BF_MLX5_CMD_DESTROY_QP, qp->qpn, NULL);
	if (err && !forced)
		return err;
	bf_mlx5_ib_qp_unknow(u, qp);
	bf_mlx5_ib_unsubscribe_object(o);
	if (qp->has_reg)
		bf_mlx5_ib_reg_give(o->file, qp->reg);
	hold(qp, UINT32_MAX); /* minus one */
	if (qp->table)
		qp->table->users--;
	o->file->async_read = bf_uv_events_end(o->file, &qp->async);
	free(qp->dct);
	return err;
}
