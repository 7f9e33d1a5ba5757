/*
 * DC targets: the verbs treat them as queue pairs, the device has another object for them. As in hw/mlx5/qp.c, INIT
 * only notes what is wanted, and RTR creates the target.
 */
#include "models/uverbs/mlx5/mlx5_ib_internal.h"
#include "models/uverbs/qp_internal.h"

#include <stdlib.h>

#define INIT_NEEDS (BF_UV_QP_STATE | BF_UV_QP_ACCESS_FLAGS | BF_UV_QP_PKEY_INDEX | BF_UV_QP_PORT)
#define RTR_NEEDS (BF_UV_QP_STATE | BF_UV_QP_MIN_RNR_TIMER | BF_UV_QP_AV | BF_UV_QP_PATH_MTU)

int bf_mlx5_ib_dct_create(struct bf_uv_call *c, struct bf_uv_qp *qp, const struct mlx5_ib_create_qp *ucmd)
{
	uint8_t *dctc;

	if (!qp->srq)
		return -EINVAL;
	qp->dct = calloc(1, BF_CREATE_DCT_LEN);
	if (!qp->dct)
		return -ENOMEM;
	dctc = qp->dct + BF_DCT_DCTC;
	BF_MLX5_SET(dctc, BF_DCTC_PD, qp->pd->pdn);
	BF_MLX5_SET(dctc, BF_DCTC_SRQN, qp->srq->srqn);
	BF_MLX5_SET(dctc, BF_DCTC_CQN, qp->recv_cq->cqn);
	BF_MLX5_SET(dctc, BF_DCTC_USER_INDEX, bf_mlx5_ib_file_of(c->f)->cqe_version ? ucmd->uidx : 0xffffff);
	bf_put_be64(dctc + BF_DCTC_ACCESS_KEY, ucmd->access_key);
	return 0;
}

static int to_init(struct bf_uv_qp *qp, const struct ib_uverbs_modify_qp *m)
{
	uint8_t *dctc = qp->dct + BF_DCT_DCTC;
	uint32_t access = m->qp_access_flags;

	if ((m->attr_mask & INIT_NEEDS) != INIT_NEEDS || m->attr_mask & ~INIT_NEEDS || m->port_num != 1)
		return -EINVAL;
	BF_MLX5_SET(dctc, BF_DCTC_RRE, BF_UV_ACCESS_TO_QP(access, READ));
	BF_MLX5_SET(dctc, BF_DCTC_RWE, BF_UV_ACCESS_TO_QP(access, WRITE));
	BF_MLX5_SET(dctc, BF_DCTC_RAE, BF_UV_ACCESS_TO_QP(access, ATOMIC));
	BF_MLX5_SET(dctc, BF_DCTC_ATOMIC_MODE, BF_UV_ACCESS_TO_QP(access, ATOMIC) ? BF_UV_ATOMIC_MODE : 0);
	BF_MLX5_SET(dctc, BF_DCTC_PORT, m->port_num);
	qp->access = access;
	qp->port = m->port_num;
	return 0;
}

static int to_rtr(struct bf_uverbs *u, struct bf_uv_qp *qp, const struct ib_uverbs_modify_qp *m)
{
	uint8_t *dctc = qp->dct + BF_DCT_DCTC, out[16];
	int err;

	if ((m->attr_mask & RTR_NEEDS) != RTR_NEEDS || m->attr_mask & ~RTR_NEEDS)
		return -EINVAL;
	if (m->dest.sgid_index >= bf_uv_gids(&u->opts) || m->path_mtu < 1 || m->path_mtu > 5)
		return -EINVAL;
	BF_MLX5_SET(dctc, BF_DCTC_MIN_RNR_NAK, m->min_rnr_timer);
	BF_MLX5_SET(dctc, BF_DCTC_TCLASS, m->dest.traffic_class);
	BF_MLX5_SET(dctc, BF_DCTC_MTU, m->path_mtu);
	BF_MLX5_SET(dctc, BF_DCTC_GID_INDEX, m->dest.sgid_index);
	BF_MLX5_SET(dctc, BF_DCTC_HOP_LIMIT, m->dest.hop_limit);
	err = bf_mlx5_ib_cmd(u, BF_MLX5_CMD_CREATE_DCT, qp->dct, BF_CREATE_DCT_LEN, out, sizeof(out));
	if (err)
		return err;
	qp->qpn = BF_MLX5_GET(out, BF_CMD_OUT_NUMBER);
	qp->dest = m->dest;
	qp->mtu = m->path_mtu;
	bf_mlx5_ib_qp_know(u, qp);
	return 0;
}

int bf_mlx5_ib_dct_modify(struct bf_uv_call *c, struct bf_uv_qp *qp, const struct ib_uverbs_modify_qp *m)
{
	uint32_t to = m->qp_state;
	int err = -EINVAL;

	if (!(m->attr_mask & BF_UV_QP_STATE))
		return -EINVAL;
	if (qp->state == BF_UV_QPS_RESET && to == BF_UV_QPS_INIT)
		err = to_init(qp, m);
	else if (qp->state == BF_UV_QPS_INIT && to == BF_UV_QPS_RTR)
		err = to_rtr(c->u, qp, m);
	if (!err)
		qp->state = (uint8_t)to;
	c->number = qp->qpn;
	return err;
}

int bf_mlx5_ib_dct_destroy(struct bf_uverbs *u, struct bf_uv_qp *qp)
{
	int err;

	if (qp->state != BF_UV_QPS_RTR)
		return 0;
	err = bf_mlx5_ib_simple(u, BF_MLX5_CMD_DRAIN_DCT, qp->qpn, NULL);
	return err ? err : bf_mlx5_ib_simple(u, BF_MLX5_CMD_DESTROY_DCT, qp->qpn, NULL);
}

int bf_mlx5_ib_dct_query(struct bf_uverbs *u, struct bf_uv_qp *qp, struct ib_uverbs_query_qp_resp *resp)
{
	uint8_t in[16] = { 0 }, out[BF_DCT_DCTC + BF_DCTC_LEN];
	int err;

	resp->qp_state = resp->cur_qp_state = qp->state;
	resp->qp_access_flags = qp->access;
	resp->path_mtu = qp->mtu;
	if (qp->state != BF_UV_QPS_RTR)
		return -EINVAL;
	BF_MLX5_SET(in, BF_CMD_IN_NUMBER, qp->qpn);
	err = bf_mlx5_ib_cmd(u, BF_MLX5_CMD_QUERY_DCT, in, sizeof(in), out, sizeof(out));
	if (!err)
		resp->min_rnr_timer = (uint8_t)BF_MLX5_GET(out + BF_DCT_DCTC, BF_DCTC_MIN_RNR_NAK);
	return err;
}
