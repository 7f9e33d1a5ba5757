/* Shared receive queues. The device knows them as receive memory pools (hw/mlx5/srq_cmd.c create_rmp_cmd()). */
#include "models/uverbs/mlx5/mlx5_ib_internal.h"

#include "sim/bits.h"

#define MIN_WQE 32u
#define SRQ_MAX_WR 1u /* IB_SRQ_MAX_WR */
#define SRQ_LIMIT 2u  /* IB_SRQ_LIMIT */

struct srq_args {
	struct bf_uv_pd *pd;
	struct bf_uv_xrcd *xrcd;
	struct bf_uv_cq *cq;
	struct bf_uv_channel *async;
	uint64_t user_handle;
	uint32_t max_wr, max_sge, type;
};

static uint32_t log_wqe(uint32_t max_sge)
{
	uint32_t bytes = (uint32_t)sizeof(struct bf_mlx5_srq_next) + max_sge * BF_MLX5_DS;

	return bf_log2_up(bytes < MIN_WQE ? MIN_WQE : bytes);
}

static int take_uhw(struct bf_uv_call *c, struct mlx5_ib_create_srq *ucmd)
{
	if (c->uhw_in.len < offsetof(struct mlx5_ib_create_srq, uidx))
		return -EINVAL;
	if (bf_uv_get(c, &c->uhw_in, ucmd, sizeof(*ucmd)))
		return -EFAULT;
	if (ucmd->reserved0 || ucmd->reserved1)
		return -EINVAL;
	return ucmd->flags ? -EOPNOTSUPP : 0; /* signatures */
}

static int command(struct bf_uverbs *u, struct bf_uv_srq *srq, const struct mlx5_ib_create_srq *ucmd)
{
	uint8_t in[BF_CREATE_RMP_LEN] = { 0 }, out[16], *rmpc = in + BF_RMP_RMPC, *wq = rmpc + BF_RMPC_WQ;
	int err;

	BF_MLX5_SET(rmpc, BF_RMPC_STATE, BF_RMPC_READY);
	BF_MLX5_SET(wq, BF_WQ_TYPE, BF_WQ_LINKED_LIST);
	BF_MLX5_SET(wq, BF_WQ_PD, srq->pd->pdn);
	BF_MLX5_SET(wq, BF_WQ_LOG_STRIDE, log_wqe(srq->max_sge));
	BF_MLX5_SET(wq, BF_WQ_LOG_SIZE, bf_log2_up(srq->max_wr + 1));
	bf_put_be64(wq + BF_WQ_DBR_ADDR, ucmd->db_addr);
	bf_put_be64(wq + BF_WQ_UMEM_OFFSET, ucmd->buf_addr);
	err = bf_mlx5_ib_cmd(u, BF_MLX5_CMD_CREATE_RMP, in, sizeof(in), out, sizeof(out));
	srq->srqn = BF_MLX5_GET(out, BF_CMD_OUT_NUMBER);
	return err;
}

/* One of XRC, which completes to a CQ of its own (hw/mlx5/srq_cmd.c create_xrc_srq_cmd()). */
static int xrc_command(struct bf_uv_call *c, struct bf_uv_srq *srq, const struct mlx5_ib_create_srq *ucmd)
{
	uint8_t in[BF_CREATE_SRQ_LEN] = { 0 }, out[16], *srqc = in + BF_SRQ_SRQC;
	int err;

	BF_MLX5_SET(srqc, BF_SRQC_LOG_SIZE, bf_log2_up(srq->max_wr + 1));
	BF_MLX5_SET(srqc, BF_SRQC_LOG_STRIDE, log_wqe(srq->max_sge) - 4);
	BF_MLX5_SET(srqc, BF_XRC_SRQC_XRCD, srq->xrcd->xrcdn);
	BF_MLX5_SET(srqc, BF_XRC_SRQC_CQN, srq->cq->cqn);
	BF_MLX5_SET(srqc, BF_XRC_SRQC_USER_INDEX, bf_mlx5_ib_file_of(c->f)->cqe_version ? ucmd->uidx : 0xffffff);
	BF_MLX5_SET(srqc, BF_SRQC_PD, srq->pd->pdn);
	bf_put_be64(srqc + BF_SRQC_DBR_ADDR, ucmd->db_addr);
	bf_put_be64(in + BF_CREATE_SRQ_UMEM_OFFSET, ucmd->buf_addr);
	err = bf_mlx5_ib_cmd(c->u, BF_MLX5_CMD_CREATE_XRC_SRQ, in, sizeof(in), out, sizeof(out));
	srq->srqn = BF_MLX5_GET(out, BF_CMD_OUT_NUMBER);
	return err;
}

static int pin(struct bf_uv_call *c, const struct bf_uv_srq *srq, const struct mlx5_ib_create_srq *ucmd)
{
	const struct bf_uverbs_host *h = &c->u->opts.host;
	uint64_t len = (uint64_t)(srq->max_wr + 1) << log_wqe(srq->max_sge);

	if (ucmd->buf_addr + len < ucmd->buf_addr || ucmd->db_addr + BF_MLX5_DBR_BYTES < ucmd->db_addr)
		return -EFAULT;
	return h->pin(h->arg, ucmd->buf_addr, len, true) || h->pin(h->arg, ucmd->db_addr, BF_MLX5_DBR_BYTES, true)
		   ? -EFAULT
		   : 0;
}

static void know(struct bf_uverbs *u, struct bf_uv_srq *srq)
{
	srq->next_by_number = bf_mlx5_ib_of(u)->srqs[srq->srqn % BF_MLX5_IB_BUCKETS];
	bf_mlx5_ib_of(u)->srqs[srq->srqn % BF_MLX5_IB_BUCKETS] = srq;
}

static void unknow(struct bf_uverbs *u, struct bf_uv_srq *srq)
{
	struct bf_uv_srq **at = &bf_mlx5_ib_of(u)->srqs[srq->srqn % BF_MLX5_IB_BUCKETS];

	while (*at != srq)
		at = &(*at)->next_by_number;
	*at = srq->next_by_number;
}

static void hold(struct bf_uv_srq *srq, uint32_t by)
{
	srq->pd->o.users += by;
	if (!srq->xrcd)
		return;
	srq->xrcd->o.users += by;
	srq->cq->o.users += by;
}

static int create(struct bf_uv_call *c, const struct srq_args *a, struct bf_uv_srq **out)
{
	struct mlx5_ib_create_srq_resp resp = { 0 };
	struct mlx5_ib_create_srq ucmd;
	struct bf_uv_srq *srq;
	int err;

	if (a->type != IB_UVERBS_SRQT_BASIC && a->type != IB_UVERBS_SRQT_XRC)
		return a->type <= IB_UVERBS_SRQT_TM ? -EOPNOTSUPP : -EINVAL;
	if (a->type == IB_UVERBS_SRQT_XRC && (!a->xrcd || !a->cq))
		return -EINVAL;
	if (!a->pd || a->max_wr >= BF_MLX5_IB_MAX_SRQ_WR + 1 || a->max_sge > BF_MLX5_IB_MAX_SRQ_SGE)
		return -EINVAL;
	err = take_uhw(c, &ucmd);
	if (err)
		return err;
	srq = bf_uv_new(c, UVERBS_OBJECT_SRQ, sizeof(*srq));
	if (!srq)
		return -ENOMEM;
	srq->pd = a->pd;
	if (a->type == IB_UVERBS_SRQT_XRC) {
		srq->xrcd = a->xrcd;
		srq->cq = a->cq;
	}
	srq->max_wr = (1u << bf_log2_up(a->max_wr + 1)) - 1;
	srq->max_sge = ((1u << log_wqe(a->max_sge)) - (uint32_t)sizeof(struct bf_mlx5_srq_next)) / BF_MLX5_DS;
	err = pin(c, srq, &ucmd);
	if (!err)
		err = srq->xrcd ? xrc_command(c, srq, &ucmd) : command(c->u, srq, &ucmd);
	if (err) {
		bf_uv_free(&srq->o);
		return err;
	}
	hold(srq, 1);
	bf_uv_events_start(&srq->async, a->async ? a->async : c->f->async, a->user_handle);
	know(c->u, srq);
	c->number = resp.srqn = srq->srqn;
	err = bf_uv_put(c, &c->uhw_out, &resp, sizeof(resp));
	if (err)
		bf_uv_destroy(&srq->o, true);
	*out = srq;
	return err;
}

int bf_mlx5_ib_create_srq(struct bf_uv_call *c)
{
	struct srq_args a = {
		.pd = (struct bf_uv_pd *)bf_uv_attr_object(c, UVERBS_ATTR_CREATE_SRQ_PD_HANDLE),
		.xrcd = (struct bf_uv_xrcd *)bf_uv_attr_object(c, UVERBS_ATTR_CREATE_SRQ_XRCD_HANDLE),
		.cq = (struct bf_uv_cq *)bf_uv_attr_object(c, UVERBS_ATTR_CREATE_SRQ_CQ_HANDLE),
		.async = (struct bf_uv_channel *)bf_uv_attr_object(c, UVERBS_ATTR_CREATE_SRQ_EVENT_FD),
	};
	struct bf_uv_srq *srq;
	uint64_t type;
	int err;

	if (bf_uv_attr_get(c, UVERBS_ATTR_CREATE_SRQ_TYPE, &type, sizeof(type)) ||
	    bf_uv_attr_get(c, UVERBS_ATTR_CREATE_SRQ_USER_HANDLE, &a.user_handle, sizeof(a.user_handle)) ||
	    bf_uv_attr_get(c, UVERBS_ATTR_CREATE_SRQ_MAX_WR, &a.max_wr, sizeof(a.max_wr)) ||
	    bf_uv_attr_get(c, UVERBS_ATTR_CREATE_SRQ_MAX_SGE, &a.max_sge, sizeof(a.max_sge)))
		return -EFAULT;
	a.type = type > UINT32_MAX ? UINT32_MAX : (uint32_t)type;
	err = create(c, &a, &srq);
	if (err)
		return err;
	if (bf_uv_attr_put(c, UVERBS_ATTR_CREATE_SRQ_RESP_MAX_WR, &srq->max_wr, sizeof(srq->max_wr)) ||
	    bf_uv_attr_put(c, UVERBS_ATTR_CREATE_SRQ_RESP_MAX_SGE, &srq->max_sge, sizeof(srq->max_sge)) ||
	    bf_uv_attr_put(c, UVERBS_ATTR_CREATE_SRQ_RESP_SRQ_NUM, &srq->srqn, sizeof(srq->srqn)) ||
	    bf_uv_attr_handle(c, UVERBS_ATTR_CREATE_SRQ_HANDLE, srq->o.handle)) {
		bf_uv_destroy(&srq->o, true);
		return -EFAULT;
	}
	return 0;
}

static int by_command(struct bf_uv_call *c, const struct srq_args *a)
{
	struct ib_uverbs_create_srq_resp resp = { 0 };
	struct bf_uv_srq *srq;
	int err = create(c, a, &srq);

	if (err)
		return err;
	resp.srq_handle = srq->o.handle;
	resp.max_wr = srq->max_wr;
	resp.max_sge = srq->max_sge;
	resp.srqn = srq->srqn;
	err = bf_uv_response(c, &resp, sizeof(resp));
	if (err)
		bf_uv_destroy(&srq->o, true);
	return err;
}

int bf_mlx5_ib_create_srq_write(struct bf_uv_call *c)
{
	struct ib_uverbs_create_srq cmd;
	struct srq_args a = { .type = IB_UVERBS_SRQT_BASIC };
	int err = bf_uv_request(c, &cmd, sizeof(cmd));

	if (err)
		return err;
	a.pd = bf_uv_get_object(c, UVERBS_OBJECT_PD, cmd.pd_handle);
	a.user_handle = cmd.user_handle;
	a.max_wr = cmd.max_wr;
	a.max_sge = cmd.max_sge;
	return by_command(c, &a);
}

int bf_mlx5_ib_create_xsrq(struct bf_uv_call *c)
{
	struct ib_uverbs_create_xsrq cmd;
	struct srq_args a = { 0 };
	int err = bf_uv_request(c, &cmd, sizeof(cmd));

	if (err)
		return err;
	a.type = cmd.srq_type;
	if (a.type == IB_UVERBS_SRQT_XRC) {
		a.xrcd = bf_uv_get_object(c, UVERBS_OBJECT_XRCD, cmd.xrcd_handle);
		a.cq = bf_uv_get_object(c, UVERBS_OBJECT_CQ, cmd.cq_handle);
	}
	a.pd = bf_uv_get_object(c, UVERBS_OBJECT_PD, cmd.pd_handle);
	a.user_handle = cmd.user_handle;
	a.max_wr = cmd.max_wr;
	a.max_sge = cmd.max_sge;
	return by_command(c, &a);
}

static struct bf_uv_srq *find(struct bf_uv_call *c, uint32_t handle)
{
	struct bf_uv_srq *srq = bf_uv_get_object(c, UVERBS_OBJECT_SRQ, handle);

	if (srq)
		c->number = srq->srqn;
	return srq;
}

/* Only the limit: rings keep their size (hw/mlx5/srq.c mlx5_ib_modify_srq()). */
int bf_mlx5_ib_modify_srq(struct bf_uv_call *c)
{
	uint8_t in[BF_CREATE_RMP_LEN] = { 0 }, out[16], *rmpc = in + BF_RMP_RMPC;
	struct ib_uverbs_modify_srq cmd;
	struct bf_uv_srq *srq;
	int err = bf_uv_request(c, &cmd, sizeof(cmd));

	if (err)
		return err;
	srq = find(c, cmd.srq_handle);
	if (!srq || (cmd.attr_mask & SRQ_MAX_WR))
		return -EINVAL;
	if (!(cmd.attr_mask & SRQ_LIMIT))
		return 0;
	if (cmd.srq_limit > srq->max_wr)
		return -EINVAL;
	if (srq->xrcd) {
		uint8_t arm[16] = { 0 };

		BF_MLX5_SET(arm, BF_CMD_OP_MOD, BF_ARM_RQ_SRQ);
		BF_MLX5_SET(arm, BF_CMD_IN_NUMBER, srq->srqn);
		BF_MLX5_SET(arm, BF_ARM_RQ_LWM, cmd.srq_limit);
		return bf_mlx5_ib_cmd(c->u, BF_MLX5_CMD_ARM_XRC_SRQ, arm, sizeof(arm), out, sizeof(out));
	}
	BF_MLX5_SET(in, BF_CMD_IN_NUMBER, srq->srqn);
	BF_MLX5_SET(in, BF_MODIFY_RMP_STATE, BF_RMPC_READY);
	BF_MLX5_SET(in, BF_MODIFY_RMP_BITMASK, 1);
	BF_MLX5_SET(rmpc, BF_RMPC_STATE, BF_RMPC_READY);
	BF_MLX5_SET(rmpc + BF_RMPC_WQ, BF_WQ_LWM, cmd.srq_limit);
	return bf_mlx5_ib_cmd(c->u, BF_MLX5_CMD_MODIFY_RMP, in, sizeof(in), out, sizeof(out));
}

int bf_mlx5_ib_query_srq(struct bf_uv_call *c)
{
	uint8_t in[16] = { 0 }, out[BF_CREATE_RMP_LEN];
	struct ib_uverbs_query_srq_resp resp = { 0 };
	struct ib_uverbs_query_srq cmd;
	struct bf_uv_srq *srq;
	int err = bf_uv_request(c, &cmd, sizeof(cmd));

	if (err)
		return err;
	srq = find(c, cmd.srq_handle);
	if (!srq)
		return -EINVAL;
	BF_MLX5_SET(in, BF_CMD_IN_NUMBER, srq->srqn);
	err = bf_mlx5_ib_cmd(c->u, srq->xrcd ? BF_MLX5_CMD_QUERY_XRC_SRQ : BF_MLX5_CMD_QUERY_RMP, in, sizeof(in), out,
			     sizeof(out));
	if (err)
		return err;
	resp.max_wr = srq->max_wr;
	resp.max_sge = srq->max_sge;
	resp.srq_limit = srq->xrcd ? BF_MLX5_GET(out + BF_SRQ_SRQC, BF_SRQC_LWM)
				   : BF_MLX5_GET(out + BF_RMP_RMPC + BF_RMPC_WQ, BF_WQ_LWM);
	return bf_uv_response(c, &resp, sizeof(resp));
}

int bf_mlx5_ib_srq_destroy(struct bf_uv_object *o, bool forced)
{
	struct bf_uv_srq *srq = (struct bf_uv_srq *)o;
	int err = bf_mlx5_ib_simple(o->file->u, srq->xrcd ? BF_MLX5_CMD_DESTROY_XRC_SRQ : BF_MLX5_CMD_DESTROY_RMP,
				    srq->srqn, NULL);

	if (err && !forced)
		return err;
	unknow(o->file->u, srq);
	hold(srq, UINT32_MAX); /* minus one */
	o->file->async_read = bf_uv_events_end(o->file, &srq->async);
	return err;
}
