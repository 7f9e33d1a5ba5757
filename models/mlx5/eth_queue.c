/*
 * Queues of raw packets: a send queue or a receive queue is a queue pair that has only that half, and is numbered with
 * them (receive queues have numbers of their own on hardware; nobody compares the two). What a TIS says of sending is
 * not modelled but for its domain.
 */
#include "models/mlx5/device_internal.h"
#include "models/mlx5/prm_eth.h"

#include "sim/bits.h"

#include <stdlib.h>

/* ---- domains ---- */

uint8_t bf_mlx5_cmd_alloc_domain(struct bf_mlx5_mail *m)
{
	return bf_mlx5_cmd_add_number(m, &m->dev->eth.domains);
}

uint8_t bf_mlx5_cmd_dealloc_domain(struct bf_mlx5_mail *m)
{
	return bf_mlx5_cmd_remove_number(m, &m->dev->eth.domains);
}

struct tis {
	uint32_t number, domain;
};

uint8_t bf_mlx5_cmd_create_tis(struct bf_mlx5_mail *m)
{
	const uint32_t domain = BF_MLX5_GET(m->in + BF_ETH_CONTEXT, BF_TISC_DOMAIN);
	struct tis *t;

	if (!bf_mlx5_table_get(&m->dev->eth.domains, domain))
		return bf_mlx5_refuse(m->dev, BF_MLX5_CMD_BAD_RES, "transport_domain 0x%x: there is none", domain);
	t = calloc(1, sizeof(*t));
	if (!t)
		return BF_MLX5_CMD_NO_RES;
	t->domain = domain;
	return bf_mlx5_cmd_add(m, &m->dev->eth.tises, t, &t->number);
}

uint8_t bf_mlx5_cmd_query_tis(struct bf_mlx5_mail *m)
{
	const struct tis *t = bf_mlx5_table_get(&m->dev->eth.tises, m->number);

	if (!t)
		return BF_MLX5_CMD_BAD_RES;
	BF_MLX5_SET(m->out + BF_TIS_OUT, BF_TISC_DOMAIN, t->domain);
	return BF_MLX5_CMD_OK;
}

uint8_t bf_mlx5_cmd_destroy_tis(struct bf_mlx5_mail *m)
{
	return bf_mlx5_cmd_remove(m, &m->dev->eth.tises);
}

void bf_mlx5_tises_free(struct bf_mlx5 *dev)
{
	struct tis *t;

	for (uint32_t n = 0; (t = bf_mlx5_table_next(&dev->eth.tises, &n)); n++)
		free(t);
}

/* ---- queues ---- */

/* The work queue of a context, as the context of a queue pair of which it is one half. */
static uint8_t as_queue_pair(const struct bf_mlx5_mail *m, const uint8_t *wq, bool send, uint8_t in[BF_CREATE_QP_LEN])
{
	const uint32_t log_stride = BF_MLX5_GET(wq, BF_WQ_LOG_STRIDE), log_size = BF_MLX5_GET(wq, BF_WQ_LOG_SIZE);
	uint8_t *qpc = in + BF_QP_QPC;

	if (BF_MLX5_GET(wq, BF_WQ_TYPE) != BF_WQ_CYCLIC || BF_MLX5_GET(wq, BF_WQ_SIGNATURE))
		return bf_mlx5_refuse(
		    m->dev, BF_MLX5_CMD_BAD_PARAM, "wq_type %u%s: the model has cyclic ones (1), without signatures",
		    BF_MLX5_GET(wq, BF_WQ_TYPE), BF_MLX5_GET(wq, BF_WQ_SIGNATURE) ? " with wq_signature" : "");
	if (send ? log_stride != BF_MLX5_WQEBB_SHIFT : log_stride < 4 || log_stride > 11)
		return bf_mlx5_refuse(m->dev, BF_MLX5_CMD_BAD_PARAM, "log_wq_stride %u: must be %s", log_stride,
				      send ? "6" : "4 to 11");
	if (!BF_MLX5_GET(wq, BF_WQ_UMEM_VALID) && bf_mlx5_has_pages(m))
		return bf_mlx5_refuse(m->dev, BF_MLX5_CMD_BAD_PARAM,
				      "a list of pages: the model takes rings in a UMEM, or by address");
	if (log_size > 15)
		return bf_mlx5_refuse(m->dev, BF_MLX5_CMD_BAD_PARAM, "log_wq_sz %u: at most 15", log_size);
	BF_MLX5_SET(qpc, BF_QPC_PD, BF_MLX5_GET(wq, BF_WQ_PD));
	BF_MLX5_SET(qpc, BF_QPC_NO_SQ, !send);
	if (send) {
		BF_MLX5_SET(qpc, BF_QPC_RQ_TYPE, BF_QPC_RQ_NONE);
		BF_MLX5_SET(qpc, BF_QPC_LOG_SQ_SIZE, log_size);
	} else {
		BF_MLX5_SET(qpc, BF_QPC_LOG_RQ_SIZE, log_size);
		BF_MLX5_SET(qpc, BF_QPC_LOG_RQ_STRIDE, log_stride - 4);
	}
	bf_put_be64(qpc + BF_QPC_DBR_ADDR, bf_get_be64(wq + BF_WQ_DBR_ADDR));
	BF_MLX5_SET(qpc, BF_QPC_DBR_UMEM_VALID, BF_MLX5_GET(wq, BF_WQ_DBR_UMEM_VALID));
	BF_MLX5_SET(qpc, BF_QPC_DBR_UMEM_ID, BF_MLX5_GET(wq, BF_WQ_DBR_UMEM_ID));
	BF_MLX5_SET(in, BF_CREATE_QP_UMEM_VALID, BF_MLX5_GET(wq, BF_WQ_UMEM_VALID));
	BF_MLX5_SET(in, BF_CREATE_QP_UMEM_ID, BF_MLX5_GET(wq, BF_WQ_UMEM_ID));
	bf_put_be64(in + BF_CREATE_QP_UMEM_OFFSET, bf_get_be64(wq + BF_WQ_UMEM_OFFSET));
	return BF_MLX5_CMD_OK;
}

/* The queue from such a context. */
static uint8_t create(struct bf_mlx5_mail *m, uint8_t in[BF_CREATE_QP_LEN], uint32_t cqn, enum bf_mlx5_raw raw)
{
	struct bf_mlx5_mail half = *m;
	uint8_t status;

	BF_MLX5_SET(in + BF_QP_QPC, BF_QPC_CQN_SND, cqn);
	BF_MLX5_SET(in + BF_QP_QPC, BF_QPC_CQN_RCV, cqn);
	half.in = in;
	half.in_len = BF_CREATE_PAS;
	status = bf_mlx5_qp_create(&half, raw);
	m->number = half.number;
	return status;
}

uint8_t bf_mlx5_cmd_create_sq(struct bf_mlx5_mail *m)
{
	const uint8_t *sqc = m->in + BF_ETH_CONTEXT, *wq = sqc + BF_SQC_WQ;
	const uint32_t cqn = BF_MLX5_GET(sqc, BF_SQC_CQN), tis = BF_MLX5_GET(sqc, BF_SQC_TIS);
	uint8_t in[BF_CREATE_QP_LEN] = { 0 }, *qpc = in + BF_QP_QPC, status;

	if (BF_MLX5_GET(sqc, BF_SQC_TIS_COUNT) != 1 || !bf_mlx5_table_get(&m->dev->eth.tises, tis))
		return bf_mlx5_refuse(m->dev, BF_MLX5_CMD_BAD_RES, "tis_num_0 0x%x of %u: must be one that there is",
				      tis, BF_MLX5_GET(sqc, BF_SQC_TIS_COUNT));
	if (BF_MLX5_GET(sqc, BF_SQC_STATE) != BF_ETH_RST)
		return bf_mlx5_refuse(m->dev, BF_MLX5_CMD_BAD_PARAM, "state %u: a queue begins in 0",
				      BF_MLX5_GET(sqc, BF_SQC_STATE));
	status = as_queue_pair(m, wq, true, in);
	if (status)
		return status;
	BF_MLX5_SET(qpc, BF_QPC_UAR_PAGE, BF_MLX5_GET(wq, BF_WQ_UAR_PAGE));
	BF_MLX5_SET(qpc, BF_QPC_USER_INDEX, BF_MLX5_GET(sqc, BF_SQC_USER_INDEX));
	return create(m, in, cqn, BF_MLX5_RAW_SQ);
}

uint8_t bf_mlx5_cmd_create_rq(struct bf_mlx5_mail *m)
{
	const uint8_t *rqc = m->in + BF_ETH_CONTEXT, *wq = rqc + BF_RQC_WQ;
	const uint32_t cqn = BF_MLX5_GET(rqc, BF_RQC_CQN);
	uint8_t in[BF_CREATE_QP_LEN] = { 0 }, *qpc = in + BF_QP_QPC, status;

	if (BF_MLX5_GET(rqc, BF_RQC_MEMORY) || BF_MLX5_GET(rqc, BF_RQC_SCATTER_FCS))
		return bf_mlx5_refuse(m->dev, BF_MLX5_CMD_BAD_PARAM, "%s %u: the model has rings of their own, no FCS",
				      BF_MLX5_GET(rqc, BF_RQC_MEMORY) ? "mem_rq_type" : "scatter_fcs",
				      BF_MLX5_GET(rqc, BF_RQC_MEMORY) ? BF_MLX5_GET(rqc, BF_RQC_MEMORY) : 1);
	if (!BF_MLX5_GET(rqc, BF_RQC_VLAN_KEPT))
		return bf_mlx5_refuse(m->dev, BF_MLX5_CMD_BAD_PARAM,
				      "vsd 0: the model does not take VLAN tags away (vlan_cap is 0)");
	if (BF_MLX5_GET(rqc, BF_RQC_STATE) != BF_ETH_RST)
		return bf_mlx5_refuse(m->dev, BF_MLX5_CMD_BAD_PARAM, "state %u: a queue begins in 0",
				      BF_MLX5_GET(rqc, BF_RQC_STATE));
	status = as_queue_pair(m, wq, false, in);
	if (status)
		return status;
	BF_MLX5_SET(qpc, BF_QPC_USER_INDEX, BF_MLX5_GET(rqc, BF_RQC_USER_INDEX));
	return create(m, in, cqn, BF_MLX5_RAW_RQ);
}

static struct bf_mlx5_qp *find(const struct bf_mlx5_mail *m, enum bf_mlx5_raw half)
{
	struct bf_mlx5_qp *qp = bf_mlx5_table_get(&m->dev->qps, m->number);

	if (qp && qp->raw == half)
		return qp;
	bf_mlx5_refuse(m->dev, BF_MLX5_CMD_BAD_RES, "%s 0x%x: there is none", half == BF_MLX5_RAW_SQ ? "sqn" : "rqn",
		       m->number);
	return NULL;
}

static uint32_t state_of(const struct bf_mlx5_qp *qp)
{
	return qp->rdma.state == BF_MLX5_QPS_RST   ? BF_ETH_RST
	       : qp->rdma.state == BF_MLX5_QPS_RTS ? BF_ETH_RDY
						   : BF_ETH_ERR;
}

static uint8_t enter(struct bf_mlx5_qp *qp, uint32_t to)
{
	const uint32_t from = state_of(qp);

	if (to == from && to == BF_ETH_RDY)
		return BF_MLX5_CMD_OK;
	if (to == BF_ETH_RST) {
		bf_mlx5_qp_reset(qp);
		bf_mlx5_qp_set_state(qp, BF_MLX5_QPS_RST, BF_MLX5_BY_COMMAND);
	} else if (to == BF_ETH_RDY && from == BF_ETH_RST) {
		bf_mlx5_qp_set_state(qp, BF_MLX5_QPS_RTS, BF_MLX5_BY_COMMAND);
		bf_mlx5_sq_run(qp);
	} else if (to == BF_ETH_ERR && from != BF_ETH_RST) {
		bf_mlx5_qp_error(qp, BF_MLX5_BY_COMMAND);
		bf_mlx5_sq_run(qp);
	} else {
		return bf_mlx5_refuse(qp->dev, BF_MLX5_CMD_BAD_RES_STATE, "state %u: not from state %u", to, from);
	}
	return BF_MLX5_CMD_OK;
}

static uint8_t modify(struct bf_mlx5_mail *m, enum bf_mlx5_raw half, uint32_t to)
{
	struct bf_mlx5_qp *qp = find(m, half);
	const uint64_t mask = bf_get_be64(m->in + BF_ETH_MODIFY_MASK);

	if (!qp)
		return BF_MLX5_CMD_BAD_RES;
	if (BF_MLX5_GET(m->in, BF_ETH_MODIFY_STATE) != state_of(qp))
		return bf_mlx5_refuse(m->dev, BF_MLX5_CMD_BAD_RES_STATE, "%s_state %u: queue 0x%x is in state %u",
				      half == BF_MLX5_RAW_SQ ? "sq" : "rq", BF_MLX5_GET(m->in, BF_ETH_MODIFY_STATE),
				      m->number, state_of(qp));
	if (mask)
		return bf_mlx5_refuse(m->dev, BF_MLX5_CMD_BAD_PARAM,
				      "modify_bitmask 0x%llx: the model changes the state alone",
				      (unsigned long long)mask);
	return enter(qp, to);
}

uint8_t bf_mlx5_cmd_modify_sq(struct bf_mlx5_mail *m)
{
	return modify(m, BF_MLX5_RAW_SQ, BF_MLX5_GET(m->in + BF_ETH_CONTEXT, BF_SQC_STATE));
}

uint8_t bf_mlx5_cmd_modify_rq(struct bf_mlx5_mail *m)
{
	return modify(m, BF_MLX5_RAW_RQ, BF_MLX5_GET(m->in + BF_ETH_CONTEXT, BF_RQC_STATE));
}

static uint8_t query(struct bf_mlx5_mail *m, enum bf_mlx5_raw half)
{
	const struct bf_mlx5_qp *qp = find(m, half);
	uint8_t *c = m->out + BF_ETH_CONTEXT, *wq = c + BF_RQC_WQ;

	BF_STATIC_ASSERT(BF_RQC_WQ == BF_SQC_WQ, "both have their ring at the same place");
	if (!qp)
		return BF_MLX5_CMD_BAD_RES;
	BF_MLX5_SET(c, BF_RQC_STATE, state_of(qp));
	BF_MLX5_SET(c, BF_RQC_USER_INDEX, qp->user_index);
	BF_MLX5_SET(c, BF_RQC_CQN, (half == BF_MLX5_RAW_SQ ? qp->send_cq : qp->recv_cq)->cqn);
	BF_MLX5_SET(wq, BF_WQ_TYPE, BF_WQ_CYCLIC);
	BF_MLX5_SET(wq, BF_WQ_PD, qp->pd);
	BF_MLX5_SET(wq, BF_WQ_HW_COUNTER, half == BF_MLX5_RAW_SQ ? qp->rdma.head : qp->rq_consumed);
	BF_MLX5_SET(wq, BF_WQ_SW_COUNTER, half == BF_MLX5_RAW_SQ ? qp->producer : qp->rq_producer);
	BF_MLX5_SET(wq, BF_WQ_LOG_SIZE, bf_log2_up((half == BF_MLX5_RAW_SQ ? qp->rdma.sq_mask : qp->rq_mask) + 1u));
	return BF_MLX5_CMD_OK;
}

uint8_t bf_mlx5_cmd_query_sq(struct bf_mlx5_mail *m)
{
	return query(m, BF_MLX5_RAW_SQ);
}

uint8_t bf_mlx5_cmd_query_rq(struct bf_mlx5_mail *m)
{
	return query(m, BF_MLX5_RAW_RQ);
}

uint8_t bf_mlx5_cmd_destroy_sq(struct bf_mlx5_mail *m)
{
	struct bf_mlx5_qp *qp = find(m, BF_MLX5_RAW_SQ);

	return qp ? bf_mlx5_qp_destroy(qp) : BF_MLX5_CMD_BAD_RES;
}

uint8_t bf_mlx5_cmd_destroy_rq(struct bf_mlx5_mail *m)
{
	struct bf_mlx5_qp *qp = find(m, BF_MLX5_RAW_RQ);

	if (!qp)
		return BF_MLX5_CMD_BAD_RES;
	return qp->raw_users ? BF_MLX5_CMD_RES_BUSY : bf_mlx5_qp_destroy(qp);
}

/* ---- capabilities ---- */

void bf_mlx5_eth_caps_general(uint8_t *cap)
{
	BF_MLX5_SET(cap, BF_CAP_ETH_OFFLOADS, 1);
	BF_MLX5_SET(cap, BF_CAP_NIC_FLOW_TABLE, 1);
	BF_MLX5_SET(cap, BF_CAP_LOG_MAX_DOMAIN, BF_MLX5_LOG_MAX_ETH);
	BF_MLX5_SET(cap, BF_CAP_LOG_MAX_RQ, BF_MLX5_LOG_MAX_ETH);
	BF_MLX5_SET(cap, BF_CAP_LOG_MAX_SQ, BF_MLX5_LOG_MAX_ETH);
	BF_MLX5_SET(cap, BF_CAP_LOG_MAX_TIR, BF_MLX5_LOG_MAX_ETH);
	BF_MLX5_SET(cap, BF_CAP_LOG_MAX_TIS, BF_MLX5_LOG_MAX_ETH);
	BF_MLX5_SET(cap, BF_CAP_LOG_MAX_RQT, BF_MLX5_LOG_MAX_ETH);
	BF_MLX5_SET(cap, BF_CAP_LOG_MAX_RQT_SIZE, BF_RQT_LOG_MAX);
}

void bf_mlx5_eth_caps(uint8_t *cap)
{
	BF_MLX5_SET(cap, BF_ETH_CAP_CHECKSUM, 1);
	BF_MLX5_SET(cap, BF_ETH_CAP_INLINE, 1);
	BF_MLX5_SET(cap, BF_ETH_CAP_RQT, BF_RQT_LOG_MAX);
}

void bf_mlx5_flow_caps(uint8_t *cap)
{
	uint8_t *rx = cap + BF_FLOW_CAP_RX;

	BF_MLX5_SET(rx, BF_FLOW_CAP_SUPPORT, 1);
	BF_MLX5_SET(rx, BF_FLOW_CAP_COUNTER, 1);
	BF_MLX5_SET(rx, BF_FLOW_CAP_LOG_SIZE, BF_FT_LOG_MAX);
	BF_MLX5_SET(rx, BF_FLOW_CAP_LEVEL, BF_FT_MAX_LEVEL);
	BF_MLX5_SET(rx, BF_FLOW_CAP_LOG_TABLES, BF_MLX5_LOG_MAX_TABLES);
	BF_MLX5_SET(rx, BF_FLOW_CAP_LOG_DESTINATIONS, 4);
	BF_MLX5_SET(rx, BF_FLOW_CAP_LOG_FLOWS, BF_FT_LOG_MAX);
}
