/*
 * Receive queues apart, tables of them, and queue pairs that are nothing but a hash over such a table (Linux
 * core/uverbs_cmd.c ib_uverbs_ex_create_wq() and its like, hw/mlx5/qp.c create_rss_raw_qp_tir()). Flows lead to the
 * hash's TIR as they lead to that of a queue pair of raw packets.
 */
#include "models/mlx5/prm_eth.h"
#include "models/uverbs/mlx5/mlx5_ib_internal.h"

#include <stdlib.h>

#include "sim/bits.h"

/* States as the verbs number them (include/rdma/ib_verbs.h enum ib_wq_state). */
enum { WQS_RESET, WQS_RDY, WQS_ERR };
#define WQ_STATE 1u
#define WQ_CUR_STATE 2u
#define WQ_TYPE_RQ 0u
#define IPV4 (MLX5_RX_HASH_SRC_IPV4 | MLX5_RX_HASH_DST_IPV4)
#define IPV6 (MLX5_RX_HASH_SRC_IPV6 | MLX5_RX_HASH_DST_IPV6)
#define TCP (MLX5_RX_HASH_SRC_PORT_TCP | MLX5_RX_HASH_DST_PORT_TCP)
#define UDP (MLX5_RX_HASH_SRC_PORT_UDP | MLX5_RX_HASH_DST_PORT_UDP)

struct wq {
	struct bf_uv_object o;
	struct bf_uv_pd *pd;
	struct bf_uv_cq *cq;
	struct bf_uv_events async;
	uint32_t rqn, state;
};

struct table {
	struct bf_uv_object o;
	uint32_t rqtn, count;
	struct wq *wq[]; /* in their order */
};

/* As the device has the states. */
static const uint32_t device_state[] = { [WQS_RESET] = BF_ETH_RST, [WQS_RDY] = BF_ETH_RDY, [WQS_ERR] = BF_ETH_ERR };

/* ---- receive queues ---- */

static int take_wq(struct bf_uv_call *c, struct mlx5_ib_create_wq *ucmd)
{
	const struct bf_uverbs_host *h = &c->u->opts.host;
	uint64_t ring;

	if (bf_uv_get(c, &c->uhw_in, ucmd, sizeof(*ucmd)))
		return -EFAULT;
	if (ucmd->comp_mask || ucmd->flags || !bf_mlx5_ib_file_of(c->f)->cqe_version)
		return -EOPNOTSUPP; /* strides, signatures */
	if (!ucmd->rq_wqe_count || (ucmd->rq_wqe_count & (ucmd->rq_wqe_count - 1)) ||
	    ucmd->rq_wqe_count > 1u << BF_MLX5_IB_LOG_MAX_QP_SZ || ucmd->rq_wqe_shift < 4 || ucmd->rq_wqe_shift > 11)
		return -EINVAL;
	ring = (uint64_t)ucmd->rq_wqe_count << ucmd->rq_wqe_shift;
	if (ucmd->buf_addr + ring < ucmd->buf_addr || ucmd->db_addr + BF_MLX5_DBR_BYTES < ucmd->db_addr ||
	    h->pin(h->arg, ucmd->buf_addr, ring, true) || h->pin(h->arg, ucmd->db_addr, BF_MLX5_DBR_BYTES, true))
		return -EFAULT;
	return 0;
}

static int make_wq(struct bf_uv_call *c, struct wq *w, const struct mlx5_ib_create_wq *ucmd, uint64_t user_handle)
{
	const struct bf_mlx5_ib_rq_args rq = { .pd = w->pd,
					       .cq = w->cq,
					       .ring = ucmd->buf_addr,
					       .dbr = ucmd->db_addr,
					       .wqe_count = ucmd->rq_wqe_count,
					       .wqe_shift = ucmd->rq_wqe_shift,
					       .user_index = ucmd->user_index };
	int err = bf_mlx5_ib_rq_create(c->u, &rq, &w->rqn);

	if (err) {
		bf_uv_free(&w->o);
		return err;
	}
	w->pd->o.users++;
	w->cq->o.users++;
	bf_uv_events_start(&w->async, c->f->async, user_handle);
	c->number = w->rqn;
	return 0;
}

int bf_mlx5_ib_create_wq(struct bf_uv_call *c)
{
	struct mlx5_ib_create_wq_resp uhw = { 0 };
	struct ib_uverbs_ex_create_wq_resp resp;
	struct ib_uverbs_ex_create_wq cmd;
	struct mlx5_ib_create_wq ucmd;
	struct bf_uv_pd *pd;
	struct bf_uv_cq *cq;
	struct wq *w;
	int err = bf_uv_request(c, &cmd, sizeof(cmd));

	if (err)
		return err;
	if (cmd.comp_mask || cmd.create_flags)
		return -EOPNOTSUPP;
	pd = bf_uv_get_object(c, UVERBS_OBJECT_PD, cmd.pd_handle);
	cq = bf_uv_get_object(c, UVERBS_OBJECT_CQ, cmd.cq_handle);
	if (!pd || !cq || cmd.wq_type != WQ_TYPE_RQ)
		return -EINVAL;
	err = take_wq(c, &ucmd);
	if (err)
		return err;
	w = bf_uv_new(c, UVERBS_OBJECT_WQ, sizeof(*w));
	if (!w)
		return -ENOMEM;
	w->pd = pd;
	w->cq = cq;
	err = make_wq(c, w, &ucmd, cmd.user_handle);
	if (err)
		return err;
	uhw.response_length = c->uhw_out.len < sizeof(uhw) ? c->uhw_out.len : sizeof(uhw);
	resp = (struct ib_uverbs_ex_create_wq_resp){ .response_length = sizeof(resp),
						     .wq_handle = w->o.handle,
						     .max_wr = ucmd.rq_wqe_count,
						     .max_sge = (1u << ucmd.rq_wqe_shift) / BF_MLX5_DS,
						     .wqn = w->rqn };
	err = bf_uv_put(c, &c->uhw_out, &uhw, sizeof(uhw));
	err = err ? err : bf_uv_response(c, &resp, sizeof(resp));
	if (err)
		bf_uv_destroy(&w->o, true);
	return err;
}

int bf_mlx5_ib_modify_wq(struct bf_uv_call *c)
{
	struct ib_uverbs_ex_modify_wq cmd;
	struct wq *w;
	uint32_t from, to;
	int err = bf_uv_request(c, &cmd, sizeof(cmd));

	if (err)
		return err;
	if (!cmd.attr_mask || cmd.attr_mask & ~(WQ_STATE | WQ_CUR_STATE))
		return cmd.attr_mask ? -EOPNOTSUPP : -EINVAL;
	w = bf_uv_get_object(c, UVERBS_OBJECT_WQ, cmd.wq_handle);
	if (!w)
		return -EINVAL;
	from = cmd.attr_mask & WQ_CUR_STATE ? cmd.curr_wq_state : w->state;
	to = cmd.attr_mask & WQ_STATE ? cmd.wq_state : from;
	if (from != w->state || to > WQS_ERR || (to == WQS_RDY && from == WQS_ERR) ||
	    (to == WQS_ERR && from == WQS_RESET))
		return -EINVAL;
	err = from == to
		  ? 0
		  : bf_mlx5_ib_rq_modify(c->u, BF_MLX5_CMD_MODIFY_RQ, w->rqn, device_state[from], device_state[to]);
	if (!err)
		w->state = to;
	return err;
}

uint32_t bf_mlx5_ib_wq_number(const struct bf_uv_object *o)
{
	return ((const struct wq *)o)->rqn;
}

int bf_mlx5_ib_wq_destroy(struct bf_uv_object *o, bool forced)
{
	struct wq *w = (struct wq *)o;
	int err = bf_mlx5_ib_simple(o->file->u, BF_MLX5_CMD_DESTROY_RQ, w->rqn, NULL);

	if (err && !forced)
		return err;
	w->pd->o.users--;
	w->cq->o.users--;
	o->file->async_read = bf_uv_events_end(o->file, &w->async);
	return err;
}

/* ---- tables ---- */

/* Their handles; the queues go into the device's table in that order. */
static int take_queues(struct bf_uv_call *c, struct table *t, uint8_t *rqtc)
{
	struct {
		uint32_t comp_mask, log_size;
		uint32_t handle[1u << BF_RQT_LOG_MAX];
	} cmd;

	if (bf_uv_get(c, &c->core_in, &cmd, sizeof(cmd)))
		return -EFAULT;
	for (uint32_t i = 0; i < t->count; i++) {
		t->wq[i] = bf_uv_get_object(c, UVERBS_OBJECT_WQ, cmd.handle[i]);
		if (!t->wq[i])
			return -EINVAL;
		bf_put_be32(rqtc + BF_RQTC_RQNS + (size_t)i * 4, t->wq[i]->rqn);
	}
	return 0;
}

static void hold_queues(const struct table *t, uint32_t by)
{
	for (uint32_t i = 0; i < t->count; i++)
		t->wq[i]->o.users += by;
}

static int make_table(struct bf_uv_call *c, struct table *t)
{
	const size_t len = BF_ETH_CONTEXT + BF_RQTC_RQNS + (size_t)t->count * 4;
	uint8_t *in = calloc(1, len), out[16];
	int err = in ? take_queues(c, t, in + BF_ETH_CONTEXT) : -ENOMEM;

	if (!err) {
		BF_MLX5_SET(in + BF_ETH_CONTEXT, BF_RQTC_COUNT, t->count);
		BF_MLX5_SET(in + BF_ETH_CONTEXT, BF_RQTC_MAX, t->count);
		err = bf_mlx5_ib_cmd(c->u, BF_MLX5_CMD_CREATE_RQT, in, len, out, sizeof(out));
		t->rqtn = err ? 0 : BF_MLX5_GET(out, BF_CMD_OUT_NUMBER);
	}
	free(in);
	if (err)
		bf_uv_free(&t->o);
	else
		hold_queues(t, 1);
	return err;
}

int bf_mlx5_ib_create_rwq_ind_table(struct bf_uv_call *c)
{
	struct ib_uverbs_ex_create_rwq_ind_table_resp resp = { .response_length = sizeof(resp) };
	struct mlx5_ib_create_rwq_ind_tbl_resp uhw = { 0 };
	struct ib_uverbs_ex_create_rwq_ind_table cmd;
	struct table *t;
	int err;

	if (bf_uv_get(c, &c->core_in, &cmd, sizeof(cmd)))
		return -EFAULT;
	if (cmd.comp_mask)
		return -EOPNOTSUPP;
	if (cmd.log_ind_tbl_size > BF_RQT_LOG_MAX ||
	    c->core_in.len < sizeof(cmd) + (sizeof(uint32_t) << cmd.log_ind_tbl_size))
		return -EINVAL;
	t = bf_uv_new(c, UVERBS_OBJECT_RWQ_IND_TBL,
		      (uint32_t)(sizeof(*t) + (sizeof(t->wq[0]) << cmd.log_ind_tbl_size)));
	if (!t)
		return -ENOMEM;
	t->count = 1u << cmd.log_ind_tbl_size;
	err = make_table(c, t);
	if (err)
		return err;
	c->number = t->rqtn;
	resp.ind_tbl_handle = t->o.handle;
	resp.ind_tbl_num = t->rqtn;
	uhw.response_length = c->uhw_out.len < sizeof(uhw) ? c->uhw_out.len : sizeof(uhw);
	err = bf_uv_put(c, &c->uhw_out, &uhw, sizeof(uhw));
	err = err ? err : bf_uv_response(c, &resp, sizeof(resp));
	if (err)
		bf_uv_destroy(&t->o, true);
	return err;
}

int bf_mlx5_ib_table_destroy(struct bf_uv_object *o, bool forced)
{
	const struct table *t = (struct table *)o;
	int err = bf_mlx5_ib_simple(o->file->u, BF_MLX5_CMD_DESTROY_RQT, t->rqtn, NULL);

	if (!err || forced)
		hold_queues(t, UINT32_MAX); /* minus one */
	return err;
}

/* ---- the hash ---- */

/* One kind of addresses and of ports, or none at all: all frames go to the table's first queue then. */
static int take_hash(struct bf_uv_call *c, struct mlx5_ib_create_qp_rss *ucmd)
{
	const uint64_t known = IPV4 | IPV6 | TCP | UDP;

	if (c->uhw_in.len < offsetof(struct mlx5_ib_create_qp_rss, comp_mask))
		return -EINVAL;
	if (bf_uv_get(c, &c->uhw_in, ucmd, sizeof(*ucmd)))
		return -EFAULT;
	if (ucmd->comp_mask || ucmd->rx_hash_fields_mask & ~known ||
	    ucmd->flags & ~(uint32_t)(MLX5_QP_FLAG_TIR_ALLOW_SELF_LB_UC | MLX5_QP_FLAG_TIR_ALLOW_SELF_LB_MC))
		return -EOPNOTSUPP; /* tunnels, IPsec */
	if (!ucmd->rx_hash_fields_mask)
		return 0;
	if (ucmd->rx_hash_function != MLX5_RX_HASH_FUNC_TOEPLITZ)
		return -EOPNOTSUPP;
	if (ucmd->rx_key_len != BF_TIRC_KEY_LEN || !(ucmd->rx_hash_fields_mask & (IPV4 | IPV6)) ||
	    ((ucmd->rx_hash_fields_mask & IPV4) && (ucmd->rx_hash_fields_mask & IPV6)) ||
	    ((ucmd->rx_hash_fields_mask & TCP) && (ucmd->rx_hash_fields_mask & UDP)))
		return -EINVAL;
	return 0;
}

static void fill_hash(const struct mlx5_ib_create_qp_rss *ucmd, uint8_t *tirc)
{
	const uint64_t mask = ucmd->rx_hash_fields_mask;
	uint8_t *fields = tirc + BF_TIRC_FIELDS;
	uint32_t selected = 0;

	if (!mask)
		return;
	BF_MLX5_SET(tirc, BF_TIRC_HASH, BF_TIRC_HASH_TOEPLITZ);
	BF_MLX5_SET(tirc, BF_TIRC_SYMMETRIC, 1);
	memcpy(tirc + BF_TIRC_KEY, ucmd->rx_hash_key, BF_TIRC_KEY_LEN);
	BF_MLX5_SET(fields, BF_RX_HASH_IPV6, !!(mask & IPV6));
	BF_MLX5_SET(fields, BF_RX_HASH_UDP, !!(mask & UDP));
	if (mask & (MLX5_RX_HASH_SRC_IPV4 | MLX5_RX_HASH_SRC_IPV6))
		selected |= BF_RX_HASH_SRC_IP;
	if (mask & (MLX5_RX_HASH_DST_IPV4 | MLX5_RX_HASH_DST_IPV6))
		selected |= BF_RX_HASH_DST_IP;
	if (mask & (MLX5_RX_HASH_SRC_PORT_TCP | MLX5_RX_HASH_SRC_PORT_UDP))
		selected |= BF_RX_HASH_SRC_PORT;
	if (mask & (MLX5_RX_HASH_DST_PORT_TCP | MLX5_RX_HASH_DST_PORT_UDP))
		selected |= BF_RX_HASH_DST_PORT;
	BF_MLX5_SET(fields, BF_RX_HASH_FIELDS, selected);
}

int bf_mlx5_ib_rss_create(struct bf_uv_call *c, struct bf_uv_qp *qp, struct bf_uv_object *table)
{
	uint8_t in[BF_ETH_LEN] = { 0 }, out[16], *tirc = in + BF_ETH_CONTEXT;
	struct mlx5_ib_create_qp_rss ucmd;
	uint32_t domain;
	int err = take_hash(c, &ucmd);

	err = err ? err : bf_mlx5_ib_domain(c->f, &domain);
	if (err)
		return err;
	BF_MLX5_SET(tirc, BF_TIRC_TYPE, BF_TIRC_INDIRECT);
	BF_MLX5_SET(tirc, BF_TIRC_RQT, ((const struct table *)table)->rqtn);
	BF_MLX5_SET(tirc, BF_TIRC_DOMAIN, domain);
	fill_hash(&ucmd, tirc);
	err = bf_mlx5_ib_cmd(c->u, BF_MLX5_CMD_CREATE_TIR, in, sizeof(in), out, sizeof(out));
	if (err)
		return err;
	qp->raw.tirn = BF_MLX5_GET(out, BF_CMD_OUT_NUMBER);
	qp->table = table;
	table->users++;
	return 0;
}

void bf_mlx5_ib_rss_caps(struct bf_uverbs *u, struct ib_uverbs_rss_caps *caps, uint32_t *queues,
			 struct mlx5_ib_rss_caps *own)
{
	uint8_t cap[BF_HCA_CAP_LEN];

	bf_mlx5_ib_caps(u, BF_HCA_CAP_GENERAL, cap);
	if (!BF_MLX5_GET(cap, BF_CAP_NIC_FLOW_TABLE))
		return;
	if (caps) {
		caps->supported_qpts = 1u << IB_UVERBS_QPT_RAW_PACKET;
		caps->max_rwq_indirection_tables = 1u << BF_MLX5_GET(cap, BF_CAP_LOG_MAX_RQT);
		caps->max_rwq_indirection_table_size = 1u << BF_MLX5_GET(cap, BF_CAP_LOG_MAX_RQT_SIZE);
		*queues = 1u << BF_MLX5_GET(cap, BF_CAP_LOG_MAX_RQ);
	}
	if (own) {
		own->rx_hash_function = MLX5_RX_HASH_FUNC_TOEPLITZ;
		own->rx_hash_fields_mask = IPV4 | IPV6 | TCP | UDP;
	}
}
