/* Commands on queue pairs: create, query, destroy. The state machine is in cmd_modify_qp.c. */
#include "models/mlx5/device_internal.h"

#include <inttypes.h>
#include <stdlib.h>

#define WORDS_OF_A_PATH 7u /* of an address, ports, timeout, and how many READs each side takes */

/* Both rings lie in one buffer. */
static const struct bf_mlx5_buf *rings(const struct bf_mlx5_qp *qp)
{
	return qp->has_sq ? &qp->sq : &qp->rq;
}

static void hold(struct bf_mlx5_qp *qp, uint32_t by)
{
	struct bf_mlx5_pd *pd = bf_mlx5_table_get(&qp->dev->pds, qp->pd);

	bf_mlx5_buf_hold(qp->dev, rings(qp), by);
	bf_mlx5_buf_hold(qp->dev, &qp->dbr, by);
	qp->send_cq->users += by;
	if (qp->raw != BF_MLX5_RAW_RQ)
		qp->dev->uars[qp->uar]->users += by;
	if (qp->xrc)
		return; /* the rest is whose the last request was: bf_mlx5_xrc_forget() */
	qp->recv_cq->users += by;
	if (qp->srq)
		qp->srq->users += by;
	if (pd)
		pd->users += by;
}

static uint8_t rings_in_pages(struct bf_mlx5_qp *qp, const struct bf_mlx5_mail *m, const uint8_t *qpc,
			      uint64_t rq_bytes, uint64_t sq_at, uint64_t sq_bytes)
{
	struct bf_mlx5_buf all;
	uint8_t status;

	if (!rq_bytes && !sq_bytes)
		return BF_MLX5_CMD_OK;
	status = bf_mlx5_buf_pages(m, &all, BF_MLX5_GET(qpc, BF_QPC_LOG_PAGE_SIZE),
				   BF_MLX5_GET(qpc, BF_QPC_PAGE_OFFSET), sq_bytes ? sq_at + sq_bytes : rq_bytes);
	if (!status && rq_bytes)
		status = bf_mlx5_buf_in(&qp->rq, all.umem, 0, rq_bytes);
	if (!status && sq_bytes)
		status = bf_mlx5_buf_in(&qp->sq, all.umem, sq_at, sq_bytes);
	return status;
}

/*
 * Receive ring first, then the send ring in the same buffer (docs/hardware/mlx5.md#commands-3), the latter on a WQEBB
 * boundary (assumed for receive rings below 64 bytes).
 */
static uint8_t qp_buffers(struct bf_mlx5_qp *qp, const struct bf_mlx5_mail *m, const uint8_t *qpc)
{
	uint64_t rq_bytes = qp->has_rq ? (uint64_t)qp->rq_stride * (qp->rq_mask + 1u) : 0;
	uint64_t sq_at = (rq_bytes + BF_MLX5_WQEBB - 1) & ~(uint64_t)(BF_MLX5_WQEBB - 1);
	uint64_t sq_bytes = qp->has_sq ? (uint64_t)(qp->rdma.sq_mask + 1u) << BF_MLX5_WQEBB_SHIFT : 0;
	uint64_t offset = bf_get_be64(m->in + BF_CREATE_QP_UMEM_OFFSET), dbr = bf_get_be64(qpc + BF_QPC_DBR_ADDR);
	uint32_t id = BF_MLX5_GET(m->in, BF_CREATE_QP_UMEM_ID);
	bool valid = BF_MLX5_GET(m->in, BF_CREATE_QP_UMEM_VALID);
	uint8_t status;

	if (dbr & 7)
		return bf_mlx5_refuse(qp->dev, BF_MLX5_CMD_BAD_PARAM,
				      "doorbell record at 0x%" PRIx64 ": must be a multiple of 8", dbr);
	if ((offset & (BF_MLX5_WQEBB - 1)) || offset + sq_at < offset)
		return bf_mlx5_refuse(qp->dev, BF_MLX5_CMD_BAD_PARAM,
				      "rings at offset 0x%" PRIx64 " of their memory: must be a multiple of 64",
				      offset);
	if (!valid && bf_mlx5_has_pages(m)) {
		status = rings_in_pages(qp, m, qpc, rq_bytes, sq_at, sq_bytes);
	} else {
		status = rq_bytes ? bf_mlx5_buf_init(qp->dev, &qp->rq, valid, id, offset, rq_bytes) : 0;
		if (!status && sq_bytes)
			status = bf_mlx5_buf_init(qp->dev, &qp->sq, valid, id, offset + sq_at, sq_bytes);
	}
	if (!status)
		status = bf_mlx5_buf_init(qp->dev, &qp->dbr, BF_MLX5_GET(qpc, BF_QPC_DBR_UMEM_VALID),
					  BF_MLX5_GET(qpc, BF_QPC_DBR_UMEM_ID), dbr, BF_MLX5_DBR_BYTES);
	return status;
}

/* How many bytes of data CQEs carry, as asked for and as the CQs' entries have room. */
static void scatter_to_cqe(struct bf_mlx5_qp *qp, const uint8_t *qpc)
{
	uint32_t req = BF_MLX5_GET(qpc, BF_QPC_CS_REQ), res = BF_MLX5_GET(qpc, BF_QPC_CS_RES);

	qp->cs_req = bf_mlx5_cq_carries(qp->send_cq, req == BF_CS_REQ_64 ? 64 : req == BF_CS_REQ_32 ? 32 : 0);
	qp->cs_res = bf_mlx5_cq_carries(qp->recv_cq, res == BF_CS_RES_64 ? 64 : res == BF_CS_RES_32 ? 32 : 0);
}

static uint8_t qp_resources(struct bf_mlx5_qp *qp, const uint8_t *qpc)
{
	struct bf_mlx5 *dev = qp->dev;
	uint32_t srqn = BF_MLX5_GET(qpc, BF_QPC_RQ_TYPE) == BF_QPC_RQ_SRQ ? BF_MLX5_GET(qpc, BF_QPC_SRQN) : 0;

	/* Number 0 is none: queue pairs that never receive need no shared queue (the model's own liberty). */
	qp->srq = qp->xrc ? NULL : bf_mlx5_table_get(&dev->srqs, srqn);
	qp->pd = BF_MLX5_GET(qpc, BF_QPC_PD);
	qp->uar = BF_MLX5_GET(qpc, BF_QPC_UAR_PAGE);
	qp->send_cq = bf_mlx5_table_get(&dev->cqs, BF_MLX5_GET(qpc, BF_QPC_CQN_SND));
	qp->recv_cq = bf_mlx5_table_get(&dev->cqs, BF_MLX5_GET(qpc, BF_QPC_CQN_RCV));
	if (!bf_mlx5_table_get(&dev->pds, qp->pd) && BF_MLX5_GET(qpc, BF_QPC_ST) != BF_QPC_ST_REG_UMR)
		return bf_mlx5_refuse(dev, BF_MLX5_CMD_BAD_RES, "pd 0x%x: there is no such protection domain", qp->pd);
	if (srqn && !qp->srq && !qp->xrc)
		return bf_mlx5_refuse(dev, BF_MLX5_CMD_BAD_RES, "srqn 0x%x: there is no such shared receive queue",
				      srqn);
	/* Who never receives need not say where to: GPUNetIO's queue pairs have number 0 there. */
	if (!qp->recv_cq && !BF_MLX5_GET(qpc, BF_QPC_CQN_RCV) && !qp->has_rq && !qp->srq)
		qp->recv_cq = qp->send_cq;
	if (!qp->send_cq || !qp->recv_cq)
		return bf_mlx5_refuse(dev, BF_MLX5_CMD_BAD_RES, "%s 0x%x: there is no such completion queue",
				      qp->send_cq ? "cqn_rcv" : "cqn_snd",
				      BF_MLX5_GET(qpc, BF_QPC_CQN_SND) * !qp->send_cq +
					  BF_MLX5_GET(qpc, BF_QPC_CQN_RCV) * (qp->send_cq != NULL));
	if (qp->raw == BF_MLX5_RAW_RQ)
		qp->uar = UINT32_MAX; /* nobody rings */
	else if (!bf_mlx5_uar_find(dev, qp->uar))
		return bf_mlx5_refuse(dev, BF_MLX5_CMD_BAD_RES, "uar_page 0x%x: there is no such doorbell page",
				      qp->uar);
	qp->rdma.receives = qp->has_rq || qp->srq || qp->xrc;
	if (qp->xrc && !bf_mlx5_table_get(&dev->xrcds, qp->xrcd) && !qp->has_sq)
		return bf_mlx5_refuse(dev, BF_MLX5_CMD_BAD_RES, "xrcd 0x%x: there is no such XRC domain", qp->xrcd);
	scatter_to_cqe(qp, qpc);
	return BF_MLX5_CMD_OK;
}

static uint8_t qp_shape(struct bf_mlx5_qp *qp, const uint8_t *qpc)
{
	uint32_t st = BF_MLX5_GET(qpc, BF_QPC_ST);

	if (st == BF_QPC_ST_QP0 || st == BF_QPC_ST_QP1 || st == BF_QPC_ST_REG_UMR)
		st = BF_QPC_ST_UD;
	/* WQE signatures are not modelled; raw packets have queues of their own. */
	if ((st != BF_QPC_ST_RC && st != BF_QPC_ST_UC && st != BF_QPC_ST_UD && st != BF_QPC_ST_XRC &&
	     st != BF_QPC_ST_DCI) ||
	    BF_MLX5_GET(qpc, BF_QPC_WQ_SIGNATURE))
		return bf_mlx5_refuse(qp->dev, BF_MLX5_CMD_BAD_PARAM,
				      "st %u%s: the model has RC 0, UC 1, UD 2, XRC 3, DCI 5, without signatures", st,
				      BF_MLX5_GET(qpc, BF_QPC_WQ_SIGNATURE) ? " with wq_signature" : "");
	qp->rdma.service = qp->raw              ? BF_RDMA_RAW
			   : st == BF_QPC_ST_UD ? BF_RDMA_UD
			   : st == BF_QPC_ST_UC ? BF_RDMA_UC
						: BF_RDMA_RC;
	qp->xrc = st == BF_QPC_ST_XRC;
	qp->xrcd = BF_MLX5_GET(qpc, BF_QPC_XRCD);
	qp->rdma.asks = st == BF_QPC_ST_UD || qp->xrc ? BF_RDMA_ASKS_ADDRESS : 0;
	qp->user_index = BF_MLX5_GET(qpc, BF_QPC_USER_INDEX);
	qp->has_sq = !BF_MLX5_GET(qpc, BF_QPC_NO_SQ);
	qp->has_rq = BF_MLX5_GET(qpc, BF_QPC_RQ_TYPE) == BF_QPC_RQ_OWN && st != BF_QPC_ST_DCI && !qp->xrc;
	qp->rdma.sq_mask = (uint16_t)((1u << BF_MLX5_GET(qpc, BF_QPC_LOG_SQ_SIZE)) - 1);
	qp->rq_mask = (uint16_t)((1u << BF_MLX5_GET(qpc, BF_QPC_LOG_RQ_SIZE)) - 1);
	qp->rq_stride = (uint16_t)(16u << BF_MLX5_GET(qpc, BF_QPC_LOG_RQ_STRIDE));
	return st == BF_QPC_ST_DCI ? (uint8_t)bf_mlx5_dci_create(qp, qpc) : BF_MLX5_CMD_OK;
}

/* Whom nothing but the register rings; there are only so many (docs/hardware/mlx5.md#gpu-initiated-2 and 3). */
static uint8_t dbr_mode(struct bf_mlx5_qp *qp, const uint8_t *qpc)
{
	const struct bf_mlx5_traits *traits = &qp->dev->profile.traits;
	const uint32_t mode = BF_MLX5_GET(qpc, BF_QPC_SEND_DBR_MODE);

	if (mode == BF_DBR_VALID)
		return BF_MLX5_CMD_OK;
	if (mode != BF_DBR_NONE || !traits->no_record)
		return bf_mlx5_refuse(qp->dev, traits->mode_refused_res ? BF_MLX5_CMD_NO_RES : BF_MLX5_CMD_BAD_PARAM,
				      "send_dbr_mode %u: %s takes %u%s", mode, qp->dev->profile.name, BF_DBR_VALID,
				      traits->no_record ? " and 2"
							: "; queue pairs without a doorbell record need a "
							  "ConnectX-8 (HCA_CAP_2.send_dbr_mode_no_dbr_ext)");
	if (traits->no_record_max && qp->dev->no_record_qps >= traits->no_record_max)
		return bf_mlx5_refuse(
		    qp->dev, traits->limit_is_lim ? BF_MLX5_CMD_LIM : BF_MLX5_CMD_NO_RES,
		    "send_dbr_mode %u: %u queue pairs without a doorbell record exist, and there are no "
		    "more",
		    mode, qp->dev->no_record_qps);
	qp->no_record = true;
	return BF_MLX5_CMD_OK;
}

/* What else a context asks for that some devices have (docs/hardware/mlx5.md#gpu-initiated-9 and 15). */
static uint8_t abilities(struct bf_mlx5_qp *qp, const uint8_t *qpc)
{
	const struct bf_mlx5_traits *traits = &qp->dev->profile.traits;
	const uint32_t order = BF_MLX5_GET(qpc, BF_QPC_DP_ORDERING_1) << 1 | BF_MLX5_GET(qpc, BF_QPC_DP_ORDERING_0);
	const bool has_order = order == BF_DP_ORDERING_IBTA || (order == BF_DP_ORDERING_OOO_RW && traits->ooo_rw) ||
			       (order == BF_DP_ORDERING_OOO_ALL && traits->ooo_all);
	const bool force = BF_MLX5_GET(qpc, BF_QPC_DP_ORDERING_FORCE);

	qp->companion = BF_MLX5_GET(qpc, BF_QPC_CD_MASTER);
	qp->ooo = order && has_order;
	if (qp->companion && !traits->core_direct)
		return bf_mlx5_refuse(qp->dev, BF_MLX5_CMD_BAD_PARAM, "cd_master 1: %s has no core direct (HCA_CAP.cd)",
				      qp->dev->profile.name);
	if ((!has_order || (force && !traits->ordering_force)) && !traits->order_ignored)
		return bf_mlx5_refuse(qp->dev, BF_MLX5_CMD_BAD_PARAM,
				      "dp_ordering %u%s: %s takes %s; later generations have more "
				      "(HCA_CAP.dp_ordering_ooo_*)",
				      order, force ? ", forced" : "", qp->dev->profile.name,
				      traits->ooo_all  ? "0 to 2"
				      : traits->ooo_rw ? "0 and 1"
						       : "0");
	return dbr_mode(qp, qpc);
}

static void record_config(const struct bf_mlx5_qp *qp, const uint8_t *qpc)
{
	BF_EMIT(qp->dev->sim, qp->rdma.actor, qp_config, .dbrec = bf_get_be64(qpc + BF_QPC_DBR_ADDR),
		.sq = qp->has_sq && bf_mlx5_buf_linear(&qp->sq) ? qp->sq.at : 0, .qpn = qp->rdma.qpn,
		.sq_wqebbs = qp->has_sq ? qp->rdma.sq_mask + 1u : 0, .rq_wqes = qp->has_rq ? qp->rq_mask + 1u : 0,
		.rq_stride = qp->rq_stride, .send_cqn = BF_MLX5_GET(qpc, BF_QPC_CQN_SND),
		.recv_cqn = BF_MLX5_GET(qpc, BF_QPC_CQN_RCV), .pd = qp->pd, .uar = qp->uar);
}

/*
 * Keeps the context for QUERY. The words that connecting adds get their room at once: if each context of a mesh moved
 * then, what it leaves behind would be as large again.
 */
uint8_t bf_mlx5_qp_keep(struct bf_mlx5_qp *qp, const uint8_t *qpc)
{
	const size_t room = qp->context ? 0 : WORDS_OF_A_PATH * sizeof(uint32_t);
	struct bf_mlx5_packed *packed = realloc(qp->context, bf_mlx5_packed_size(qpc, BF_QPC_LEN) + room);

	if (!packed)
		return BF_MLX5_CMD_NO_RES;
	bf_mlx5_pack(packed, qpc, BF_QPC_LEN);
	qp->context = packed;
	return BF_MLX5_CMD_OK;
}

uint8_t bf_mlx5_qp_create(struct bf_mlx5_mail *m, enum bf_mlx5_raw raw)
{
	static const char *const kinds[] = {
		[BF_MLX5_NOT_RAW] = "qp", [BF_MLX5_RAW_SQ] = "sq", [BF_MLX5_RAW_RQ] = "rq"
	};
	const uint8_t *qpc = m->in + BF_QP_QPC;
	struct bf_mlx5_qp *qp = bf_pool_take(m->dev->sim, sizeof(*qp));
	char name[64];
	uint8_t status;

	if (!qp)
		return BF_MLX5_CMD_NO_RES;
	bf_mlx5_qp_init(qp, m->dev);
	bf_mlx5_qp_use_port(qp, &m->dev->ports[0]);
	qp->raw = (uint8_t)raw;
	status = qp_shape(qp, qpc);
	if (!status)
		status = qp_resources(qp, qpc);
	if (!status)
		status = abilities(qp, qpc);
	if (!status)
		status = qp_buffers(qp, m, qpc);
	if (!status)
		status = bf_mlx5_qp_keep(qp, qpc);
	if (!status && bf_mlx5_table_add(&m->dev->qps, qp, &qp->rdma.qpn))
		status = bf_mlx5_refuse(m->dev, BF_MLX5_CMD_LIM, "log_max_qp %u: there are as many queue pairs as fit",
					m->dev->profile.log_max_qp);
	if (status) {
		bf_mlx5_buf_hold(qp->dev, rings(qp), 0);
		bf_mlx5_qp_free(qp);
		return status;
	}
	hold(qp, 1);
	m->dev->no_record_qps += qp->no_record;
	snprintf(name, sizeof(name), "%s.%s0x%x", m->dev->name, kinds[raw], qp->rdma.qpn);
	qp->rdma.actor = bf_stream_actor(&m->dev->sim->rec, "queue", name);
	record_config(qp, qpc);
	m->number = qp->rdma.qpn;
	return BF_MLX5_CMD_OK;
}

uint8_t bf_mlx5_cmd_create_qp(struct bf_mlx5_mail *m)
{
	return bf_mlx5_qp_create(m, BF_MLX5_NOT_RAW);
}

uint8_t bf_mlx5_cmd_destroy_qp(struct bf_mlx5_mail *m)
{
	struct bf_mlx5_qp *qp = bf_mlx5_table_get(&m->dev->qps, m->number);

	return qp && !qp->raw ? bf_mlx5_qp_destroy(qp) : BF_MLX5_CMD_BAD_RES;
}

uint8_t bf_mlx5_qp_destroy(struct bf_mlx5_qp *qp)
{
	struct bf_mlx5 *dev = qp->dev;

	bf_mlx5_qp_reset(qp);
	hold(qp, UINT32_MAX); /* minus one */
	qp->dev->no_record_qps -= qp->no_record;
	bf_mlx5_table_remove(&dev->qps, qp->rdma.qpn);
	if (qp->rdma.service == BF_RDMA_UD)
		bf_mlx5_groups_forget(dev, qp);
	if (!qp->rdma.inflight) {
		bf_mlx5_qp_free(qp);
		return BF_MLX5_CMD_OK;
	}
	qp->rdma.dead = true;
	qp->next_zombie = dev->zombie_qps;
	dev->zombie_qps = qp;
	return BF_MLX5_CMD_OK;
}

uint8_t bf_mlx5_cmd_query_qp(struct bf_mlx5_mail *m)
{
	const struct bf_mlx5_qp *qp = bf_mlx5_table_get(&m->dev->qps, m->number);
	uint8_t *qpc = m->out + BF_QP_QPC;

	if (!qp || qp->raw)
		return BF_MLX5_CMD_BAD_RES;
	bf_mlx5_unpack(qp->context, qpc, BF_QPC_LEN);
	BF_MLX5_SET(qpc, BF_QPC_STATE,
		    qp->rdma.state == BF_MLX5_QPS_SQD && !qp->drained ? BF_MLX5_QPS_SQ_DRAINING : qp->rdma.state);
	BF_MLX5_SET(qpc, BF_QPC_MTU, qp->rdma.mtu_shift ? qp->rdma.mtu_shift - 7u : 1);
	BF_MLX5_SET(qpc, BF_QPC_LOG_MSG_MAX, qp->rdma.log_msg_max);
	BF_MLX5_SET(qpc, BF_QPC_REMOTE_QPN, qp->rdma.remote_qpn);
	BF_MLX5_SET(qpc, BF_QPC_RETRY_COUNT, qp->rdma.retry_count);
	BF_MLX5_SET(qpc, BF_QPC_RNR_RETRY, qp->rdma.rnr_retry);
	BF_MLX5_SET(qpc, BF_QPC_NEXT_SEND_PSN, qp->rdma.send_psn);
	BF_MLX5_SET(qpc, BF_QPC_LAST_ACKED_PSN, bf_psn_add(qp->rdma.una_psn, BF_PSN_MASK));
	BF_MLX5_SET(qpc, BF_QPC_ATOMIC_MODE, qp->rdma.atomic_mode);
	BF_MLX5_SET(qpc, BF_QPC_RRE, (qp->rdma.access & BF_MLX5_ACCESS_REMOTE_READ) != 0);
	BF_MLX5_SET(qpc, BF_QPC_RWE, (qp->rdma.access & BF_MLX5_ACCESS_REMOTE_WRITE) != 0);
	BF_MLX5_SET(qpc, BF_QPC_RAE, (qp->rdma.access & BF_MLX5_ACCESS_ATOMIC) != 0);
	BF_MLX5_SET(qpc, BF_QPC_MIN_RNR_NAK, qp->rdma.min_rnr_nak);
	BF_MLX5_SET(qpc, BF_QPC_NEXT_RCV_PSN, qp->rdma.expected_psn);
	BF_MLX5_SET(qpc, BF_QPC_Q_KEY, qp->qkey);
	BF_MLX5_SET(qpc, BF_QPC_HW_SQ_COUNTER, qp->rdma.head);
	BF_MLX5_SET(qpc, BF_QPC_SW_SQ_COUNTER, qp->producer);
	BF_MLX5_SET(qpc, BF_QPC_HW_RQ_COUNTER, qp->rq_consumed);
	BF_MLX5_SET(qpc, BF_QPC_SW_RQ_COUNTER, qp->rq_producer);
	return BF_MLX5_CMD_OK;
}
