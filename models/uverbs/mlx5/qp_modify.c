/* A queue pair from state to state: what the verbs ask for becomes a context for the device's command. */
#include "models/uverbs/mlx5/mlx5_ib_internal.h"
#include "models/uverbs/qp_internal.h"

#include "sim/bits.h"

#define LOG_MSG_MAX 30u
#define LOG_MSG_UD 12u
#define MTU_4096 5u
#define ACK_REQ_FREQ 8u
#define MAX_RETRY 7u
#define OPT_PARAM_MASK 0x10, 0xffffffffu

/* Commands by the device's states (hw/mlx5/qp.c __mlx5_ib_modify_qp(), optab). */
static uint32_t opcode_of(uint32_t from, uint32_t to)
{
	if (to == BF_UV_QPS_RESET)
		return BF_MLX5_CMD_2RST_QP;
	if (to == BF_UV_QPS_ERR)
		return BF_MLX5_CMD_2ERR_QP;
	switch (from << 4 | to) {
	case BF_UV_QPS_RESET << 4 | BF_UV_QPS_INIT:
		return BF_MLX5_CMD_RST2INIT_QP;
	case BF_UV_QPS_INIT << 4 | BF_UV_QPS_INIT:
		return BF_MLX5_CMD_INIT2INIT_QP;
	case BF_UV_QPS_INIT << 4 | BF_UV_QPS_RTR:
		return BF_MLX5_CMD_INIT2RTR_QP;
	case BF_UV_QPS_RTR << 4 | BF_UV_QPS_RTS:
		return BF_MLX5_CMD_RTR2RTS_QP;
	case BF_UV_QPS_RTS << 4 | BF_UV_QPS_RTS:
		return BF_MLX5_CMD_RTS2RTS_QP;
	case BF_UV_QPS_SQD << 4 | BF_UV_QPS_RTS:
		return BF_MLX5_CMD_SQD_RTS_QP;
	case BF_UV_QPS_SQE << 4 | BF_UV_QPS_RTS:
		return BF_MLX5_CMD_SQERR2RTS_QP;
	default:
		return 0;
	}
}

/* Bits of the command that say which optional fields count (Linux include/linux/mlx5/qp.h enum mlx5_qp_optpar). */
static uint32_t optional_of(uint32_t mask)
{
	static const struct {
		uint32_t attr, opt;
	} map[] = {
		{ BF_UV_QP_ACCESS_FLAGS, 1u << 1 | 1u << 2 | 1u << 3 }, /* RRE, RAE, RWE */
		{ BF_UV_QP_PKEY_INDEX, 1u << 4 },
		{ BF_UV_QP_QKEY, 1u << 5 },
		{ BF_UV_QP_MIN_RNR_TIMER, 1u << 6 },
		{ BF_UV_QP_AV, 1u << 7 },
		{ BF_UV_QP_MAX_QP_RD_ATOMIC, 1u << 8 },
		{ BF_UV_QP_MAX_DEST_RD_ATOMIC, 1u << 9 },
		{ BF_UV_QP_PATH_MIG_STATE, 1u << 10 },
		{ BF_UV_QP_RNR_RETRY, 1u << 12 },
		{ BF_UV_QP_RETRY_CNT, 1u << 13 },
		{ BF_UV_QP_TIMEOUT, 1u << 14 },
	};
	uint32_t opt = 0;

	for (size_t i = 0; i < BF_ARRAY_LEN(map); i++)
		opt |= mask & map[i].attr ? map[i].opt : 0;
	return opt;
}

/* Linux core/uverbs_cmd.c modify_qp(), core/verbs.c _ib_modify_qp() and hw/mlx5/qp.c, in their order. */
static int check(const struct bf_uverbs *u, const struct bf_uv_qp *qp, const struct ib_uverbs_modify_qp *m,
		 uint32_t from, uint32_t to)
{
	uint32_t mask = m->attr_mask;

	if ((mask & BF_UV_QP_PORT) && m->port_num != 1)
		return -EINVAL;
	if ((mask & BF_UV_QP_AV) &&
	    (m->dest.port_num != 1 || !bf_mlx5_ib_route_ok(u, m->dest.is_global, m->dest.sgid_index)))
		return -EINVAL;
	if (from > BF_UV_QPS_ERR || to > BF_UV_QPS_ERR)
		return -EINVAL;
	if ((mask & BF_UV_QP_CUR_STATE) && (m->cur_qp_state < BF_UV_QPS_RTR || m->cur_qp_state == BF_UV_QPS_ERR))
		return -EINVAL;
	if (!bf_uv_qp_step_ok(qp->type, from, to, mask & ~BF_UV_QP_RATE_LIMIT))
		return -EINVAL;
	if ((mask & BF_UV_QP_PKEY_INDEX) && m->pkey_index)
		return -EINVAL;
	if ((mask & BF_UV_QP_MAX_QP_RD_ATOMIC) && m->max_rd_atomic > BF_MLX5_IB_MAX_RD_ATOM)
		return -EINVAL;
	if ((mask & BF_UV_QP_MAX_DEST_RD_ATOMIC) && m->max_dest_rd_atomic > BF_MLX5_IB_MAX_RD_ATOM)
		return -EINVAL;
	if ((mask & BF_UV_QP_PATH_MTU) && (m->path_mtu < 1 || m->path_mtu > MTU_4096))
		return -EINVAL;
	if (((mask & BF_UV_QP_RETRY_CNT) && m->retry_cnt > MAX_RETRY) ||
	    ((mask & BF_UV_QP_RNR_RETRY) && m->rnr_retry > MAX_RETRY))
		return -EINVAL;
	/* There is one port and one path: nothing to migrate to, and no pacing. */
	return mask & (BF_UV_QP_ALT_PATH | BF_UV_QP_CAP | BF_UV_QP_RATE_LIMIT) ? -EOPNOTSUPP : 0;
}

/* Annex A17 gives flows a range of source ports; Linux rdma_flow_label_to_udp_sport(). 0: the device's choice. */
static uint32_t source_port(uint32_t label)
{
	return label ? 0xc000 | ((label & 0x3fff) ^ (label >> 14 & 0x3f)) : 0;
}

/* InfiniBand: a LID, and, where there is a global route header, a GID. */
static void set_link_path(const struct ib_uverbs_qp_dest *d, uint8_t *path)
{
	BF_MLX5_SET(path, BF_PATH_RLID, d->dlid);
	BF_MLX5_SET(path, BF_PATH_PORT, 1);
	if (!d->is_global)
		return;
	BF_MLX5_SET(path, BF_PATH_GRH, 1);
	BF_MLX5_SET(path, BF_PATH_SRC_ADDR_INDEX, d->sgid_index);
	BF_MLX5_SET(path, BF_PATH_HOP_LIMIT, d->hop_limit);
	memcpy(path + BF_PATH_RGID, d->dgid, sizeof(d->dgid));
}

static int set_path(const struct bf_uverbs *u, const struct ib_uverbs_qp_dest *d, uint8_t *path)
{
	uint8_t gid[16], mac[6];
	int err;

	if (u->opts.infiniband) {
		set_link_path(d, path);
		return 0;
	}
	err = bf_uv_gid_resolve(d->dgid, gid, mac);
	if (err)
		return err;
	BF_MLX5_SET(path, BF_PATH_SRC_ADDR_INDEX, d->sgid_index);
	BF_MLX5_SET(path, BF_PATH_HOP_LIMIT, d->hop_limit);
	memcpy(path + BF_PATH_RGID, gid, sizeof(gid));
	BF_MLX5_SET(path, BF_PATH_DSCP, d->traffic_class >> 2);
	if (source_port(d->flow_label))
		BF_MLX5_SET(path, BF_PATH_UDP_SPORT, source_port(d->flow_label));
	BF_MLX5_SET(path, BF_PATH_ETH_PRIO, d->sl & 7);
	BF_MLX5_SET(path, BF_PATH_PORT, 1);
	BF_MLX5_SET(path, BF_PATH_RMAC_HI, bf_get_be16(mac));
	BF_MLX5_SET(path, BF_PATH_RMAC_LO, bf_get_be32(mac + 2));
	return 0;
}

static void set_access(uint8_t *qpc, uint32_t access)
{
	BF_MLX5_SET(qpc, BF_QPC_RRE, BF_UV_ACCESS_TO_QP(access, READ));
	BF_MLX5_SET(qpc, BF_QPC_RWE, BF_UV_ACCESS_TO_QP(access, WRITE));
	BF_MLX5_SET(qpc, BF_QPC_RAE, BF_UV_ACCESS_TO_QP(access, ATOMIC));
	BF_MLX5_SET(qpc, BF_QPC_ATOMIC_MODE, BF_UV_ACCESS_TO_QP(access, ATOMIC) ? BF_UV_ATOMIC_MODE : 0);
}

static void set_mtu(const struct bf_uv_qp *qp, const struct ib_uverbs_modify_qp *m, uint8_t *qpc)
{
	bool ud = qp->type == IB_UVERBS_QPT_UD;

	if (!ud && !(m->attr_mask & BF_UV_QP_PATH_MTU))
		return;
	BF_MLX5_SET(qpc, BF_QPC_MTU, ud ? MTU_4096 : m->path_mtu);
	BF_MLX5_SET(qpc, BF_QPC_LOG_MSG_MAX, ud ? LOG_MSG_UD : LOG_MSG_MAX);
}

static int fill(const struct bf_uverbs *u, const struct bf_uv_qp *qp, const struct ib_uverbs_modify_qp *m, uint8_t *qpc)
{
	uint32_t mask = m->attr_mask;
	int err = mask & BF_UV_QP_AV ? set_path(u, &m->dest, qpc + BF_QPC_PATH) : 0;

	if (err)
		return err;
	BF_MLX5_SET(qpc, BF_QPC_PM_STATE, BF_UV_PM_MIGRATED);
	set_mtu(qp, m, qpc);
	BF_MLX5_SET(qpc, BF_QPC_PD, qp->pd ? qp->pd->pdn : bf_mlx5_ib_of(u)->xrc.pdn);
	BF_MLX5_SET(qpc, BF_QPC_LOG_ACK_REQ_FREQ, ACK_REQ_FREQ);
	if (mask & BF_UV_QP_PORT)
		BF_MLX5_SET(qpc + BF_QPC_PATH, BF_PATH_PORT, m->port_num);
	if (mask & BF_UV_QP_DEST_QPN)
		BF_MLX5_SET(qpc, BF_QPC_REMOTE_QPN, m->dest_qp_num);
	if (mask & BF_UV_QP_TIMEOUT)
		BF_MLX5_SET(qpc + BF_QPC_PATH, BF_PATH_ACK_TIMEOUT, m->timeout);
	if (mask & BF_UV_QP_RNR_RETRY)
		BF_MLX5_SET(qpc, BF_QPC_RNR_RETRY, m->rnr_retry);
	if (mask & BF_UV_QP_RETRY_CNT)
		BF_MLX5_SET(qpc, BF_QPC_RETRY_COUNT, m->retry_cnt);
	if (mask & BF_UV_QP_MAX_QP_RD_ATOMIC)
		BF_MLX5_SET(qpc, BF_QPC_LOG_SRA_MAX, bf_log2_up(m->max_rd_atomic));
	if (mask & BF_UV_QP_SQ_PSN)
		BF_MLX5_SET(qpc, BF_QPC_NEXT_SEND_PSN, m->sq_psn);
	if (mask & BF_UV_QP_MAX_DEST_RD_ATOMIC)
		BF_MLX5_SET(qpc, BF_QPC_LOG_RRA_MAX, bf_log2_up(m->max_dest_rd_atomic));
	if (mask & BF_UV_QP_ACCESS_FLAGS)
		set_access(qpc, m->qp_access_flags);
	if (mask & BF_UV_QP_MIN_RNR_TIMER)
		BF_MLX5_SET(qpc, BF_QPC_MIN_RNR_NAK, m->min_rnr_timer);
	if (mask & BF_UV_QP_RQ_PSN)
		BF_MLX5_SET(qpc, BF_QPC_NEXT_RCV_PSN, m->rq_psn);
	if (mask & BF_UV_QP_QKEY)
		BF_MLX5_SET(qpc, BF_QPC_Q_KEY, m->qkey);
	bf_put_be64(qpc + BF_QPC_DBR_ADDR, qp->dbr);
	return 0;
}

static void remember(struct bf_uv_qp *qp, const struct ib_uverbs_modify_qp *m, uint32_t to)
{
	uint32_t mask = m->attr_mask;

	qp->state = (uint8_t)to;
	if (mask & BF_UV_QP_ACCESS_FLAGS)
		qp->access = m->qp_access_flags;
	if (mask & BF_UV_QP_QKEY)
		qp->qkey = m->qkey;
	if (mask & BF_UV_QP_PORT)
		qp->port = m->port_num;
	if (mask & BF_UV_QP_AV)
		qp->dest = m->dest;
	if (to == BF_UV_QPS_RESET) {
		qp->access = qp->qkey = 0;
		qp->port = 0;
		qp->dest = (struct ib_uverbs_qp_dest){ 0 };
	}
}

static int modify(struct bf_uv_call *c, struct bf_uv_qp *qp, const struct ib_uverbs_modify_qp *m)
{
	uint8_t in[BF_MODIFY_QP_LEN] = { 0 }, out[16];
	uint32_t from = m->attr_mask & BF_UV_QP_CUR_STATE ? m->cur_qp_state : qp->state;
	uint32_t to = m->attr_mask & BF_UV_QP_STATE ? m->qp_state : from, opcode;
	int err = check(c->u, qp, m, from, to);

	if (err)
		return err;
	if (from == BF_UV_QPS_RESET && to == BF_UV_QPS_RESET)
		return 0;
	opcode = opcode_of(from, to);
	if (!opcode)
		return -EINVAL;
	err = fill(c->u, qp, m, in + BF_QP_QPC);
	if (err)
		return err;
	BF_MLX5_SET(in, BF_CMD_IN_NUMBER, qp->qpn);
	BF_MLX5_SET(in, OPT_PARAM_MASK, optional_of(m->attr_mask));
	err = bf_mlx5_ib_cmd(c->u, opcode, in, sizeof(in), out, sizeof(out));
	if (err)
		return err;
	remember(qp, m, to);
	for (struct bf_uv_qp *other = NULL; (other = bf_mlx5_ib_qp_other(c->u, qp, other));)
		remember(other, m, to);
	return 0;
}

/* What one half of an XRC connection does not have, programs may say all the same (core/uverbs_cmd.c modify_qp_mask()).
 */
static uint32_t mask_of(const struct bf_uv_qp *qp, uint32_t mask)
{
	if (qp->type == IB_UVERBS_QPT_XRC_INI)
		return mask & ~(BF_UV_QP_MAX_DEST_RD_ATOMIC | BF_UV_QP_MIN_RNR_TIMER);
	if (qp->type == IB_UVERBS_QPT_XRC_TGT)
		return mask & ~(BF_UV_QP_MAX_QP_RD_ATOMIC | BF_UV_QP_RETRY_CNT | BF_UV_QP_RNR_RETRY);
	return mask;
}

static int modify_any(struct bf_uv_call *c, struct bf_uv_qp *qp, const struct ib_uverbs_modify_qp *m)
{
	if (qp->table)
		return -ENOSYS; /* a hash has no state (hw/mlx5/qp.c mlx5_ib_modify_qp()) */
	if (qp->type == IB_UVERBS_QPT_RAW_PACKET)
		return bf_mlx5_ib_raw_modify(c, qp, m);
	return qp->type == BF_UV_QPT_DCT ? bf_mlx5_ib_dct_modify(c, qp, m) : modify(c, qp, m);
}

static struct bf_uv_qp *find(struct bf_uv_call *c, uint32_t handle)
{
	struct bf_uv_qp *qp = bf_uv_get_object(c, UVERBS_OBJECT_QP, handle);

	if (qp)
		c->number = qp->qpn;
	return qp;
}

int bf_mlx5_ib_modify_qp(struct bf_uv_call *c)
{
	struct ib_uverbs_modify_qp cmd;
	struct bf_uv_qp *qp;
	int err = bf_uv_get(c, &c->core_in, &cmd, sizeof(cmd));

	if (err)
		return err;
	if (cmd.attr_mask & ~BF_UV_QP_LEGACY_MASK)
		return -EOPNOTSUPP;
	qp = find(c, cmd.qp_handle);
	if (!qp)
		return -EINVAL;
	cmd.attr_mask = mask_of(qp, cmd.attr_mask);
	return modify_any(c, qp, &cmd);
}

int bf_mlx5_ib_modify_qp_ex(struct bf_uv_call *c)
{
	struct ib_uverbs_ex_modify_qp_resp resp = { 0 };
	struct mlx5_ib_modify_qp_resp uhw = { 0 };
	struct ib_uverbs_ex_modify_qp cmd;
	struct mlx5_ib_modify_qp ucmd;
	struct bf_uv_qp *qp;
	int err = bf_uv_request(c, &cmd, sizeof(cmd));

	if (err)
		return err;
	if (cmd.base.attr_mask & ~(BF_UV_QP_LEGACY_MASK | BF_UV_QP_RATE_LIMIT))
		return -EOPNOTSUPP;
	if (bf_uv_get(c, &c->uhw_in, &ucmd, sizeof(ucmd)))
		return -EFAULT;
	if (ucmd.comp_mask || ucmd.burst_info.reserved || ucmd.ece_options)
		return -EOPNOTSUPP;
	qp = find(c, cmd.base.qp_handle);
	if (!qp)
		return -EINVAL;
	cmd.base.attr_mask = mask_of(qp, cmd.base.attr_mask);
	err = modify_any(c, qp, &cmd.base);
	if (err)
		return err;
	uhw.response_length = c->uhw_out.len < sizeof(uhw) ? c->uhw_out.len : sizeof(uhw);
	if (qp->type == BF_UV_QPT_DCT)
		uhw.dctn = qp->qpn;
	err = bf_uv_put(c, &c->uhw_out, &uhw, sizeof(uhw));
	if (err)
		return err;
	resp.response_length = c->core_out.len < sizeof(resp) ? c->core_out.len : sizeof(resp);
	return bf_uv_response(c, &resp, sizeof(resp));
}
