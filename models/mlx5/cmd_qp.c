/* Commands on queue pairs: create, the state machine, query, destroy. */
#include "models/mlx5/device_internal.h"

#include <stdlib.h>

#define PM_STATE_MIGRATED 3u
#define MTU_MIN 1u
#define MTU_MAX 5u
#define LOG_MSG_MAX 30u

/* Optional parameters of the modify commands (Linux include/linux/mlx5/qp.h enum mlx5_qp_optpar). */
#define OPTPAR_RRE (1u << 1)
#define OPTPAR_RAE (1u << 2)
#define OPTPAR_RWE (1u << 3)
#define OPTPAR_Q_KEY (1u << 5)
#define OPTPAR_RNR_TIMEOUT (1u << 6)
#define OPT_PARAM_MASK 0x10, 0xffffffffu

#define WORDS_OF_A_PATH 7u /* of an address, ports, timeout, and how many READs each side takes */

static void hold(struct bf_mlx5_qp *qp, uint32_t by)
{
	struct bf_mlx5_pd *pd = bf_mlx5_table_get(&qp->dev->pds, qp->pd);

	if (qp->sq.umem)
		qp->sq.umem->users += by;
	if (qp->dbr.umem)
		qp->dbr.umem->users += by;
	qp->send_cq->users += by;
	qp->recv_cq->users += by;
	if (qp->srq)
		qp->srq->users += by;
	pd->users += by;
	qp->dev->uars[qp->uar]->users += by;
}

/*
 * Receive ring first, then the send ring in the same buffer (mlx5.md section 10), the latter on a WQEBB boundary
 * (assumed for receive rings below 64 bytes).
 */
static uint8_t qp_buffers(struct bf_mlx5_qp *qp, const struct bf_mlx5_mail *m, const uint8_t *qpc)
{
	uint64_t rq_bytes = qp->has_rq ? (uint64_t)qp->rq_stride * (qp->rq_mask + 1u) : 0;
	uint64_t sq_at = (rq_bytes + BF_MLX5_WQEBB - 1) & ~(uint64_t)(BF_MLX5_WQEBB - 1);
	uint64_t sq_bytes = qp->has_sq ? (uint64_t)(qp->sq_mask + 1u) << BF_MLX5_WQEBB_SHIFT : 0;
	uint64_t offset = bf_get_be64(m->in + BF_CREATE_QP_UMEM_OFFSET), dbr = bf_get_be64(qpc + BF_QPC_DBR_ADDR);
	uint32_t id = BF_MLX5_GET(m->in, BF_CREATE_QP_UMEM_ID);
	bool valid = BF_MLX5_GET(m->in, BF_CREATE_QP_UMEM_VALID);
	uint8_t status;

	if ((dbr & 7) || (offset & (BF_MLX5_WQEBB - 1)) || offset + sq_at < offset)
		return BF_MLX5_CMD_BAD_PARAM;
	status = rq_bytes ? bf_mlx5_buf_init(qp->dev, &qp->rq, valid, id, offset, rq_bytes) : 0;
	if (!status && sq_bytes)
		status = bf_mlx5_buf_init(qp->dev, &qp->sq, valid, id, offset + sq_at, sq_bytes);
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
	qp->srq = bf_mlx5_table_get(&dev->srqs, srqn);
	qp->pd = BF_MLX5_GET(qpc, BF_QPC_PD);
	qp->uar = BF_MLX5_GET(qpc, BF_QPC_UAR_PAGE);
	qp->send_cq = bf_mlx5_table_get(&dev->cqs, BF_MLX5_GET(qpc, BF_QPC_CQN_SND));
	qp->recv_cq = bf_mlx5_table_get(&dev->cqs, BF_MLX5_GET(qpc, BF_QPC_CQN_RCV));
	if ((srqn && !qp->srq) || !bf_mlx5_table_get(&dev->pds, qp->pd) || !qp->send_cq || !qp->recv_cq || !bf_mlx5_uar_find(dev, qp->uar))
		return BF_MLX5_CMD_BAD_RES;
	scatter_to_cqe(qp, qpc);
	return BF_MLX5_CMD_OK;
}

static uint8_t qp_shape(struct bf_mlx5_qp *qp, const uint8_t *qpc)
{
	uint32_t st = BF_MLX5_GET(qpc, BF_QPC_ST);

	/* XRC, raw packets and WQE signatures are not modelled. */
	if ((st != BF_QPC_ST_RC && st != BF_QPC_ST_UC && st != BF_QPC_ST_UD && st != BF_QPC_ST_DCI) ||
	    BF_MLX5_GET(qpc, BF_QPC_WQ_SIGNATURE))
		return BF_MLX5_CMD_BAD_PARAM;
	qp->service = (uint8_t)st;
	qp->user_index = BF_MLX5_GET(qpc, BF_QPC_USER_INDEX);
	qp->has_sq = !BF_MLX5_GET(qpc, BF_QPC_NO_SQ);
	qp->has_rq = BF_MLX5_GET(qpc, BF_QPC_RQ_TYPE) == BF_QPC_RQ_OWN && st != BF_QPC_ST_DCI;
	qp->sq_mask = (uint16_t)((1u << BF_MLX5_GET(qpc, BF_QPC_LOG_SQ_SIZE)) - 1);
	qp->rq_mask = (uint16_t)((1u << BF_MLX5_GET(qpc, BF_QPC_LOG_RQ_SIZE)) - 1);
	qp->rq_stride = (uint16_t)(16u << BF_MLX5_GET(qpc, BF_QPC_LOG_RQ_STRIDE));
	return st == BF_QPC_ST_DCI ? (uint8_t)bf_mlx5_dci_create(qp, qpc) : BF_MLX5_CMD_OK;
}

static void record_config(const struct bf_mlx5_qp *qp, const uint8_t *qpc)
{
	struct bf_rec_qp_config rec = {
		.dbrec = bf_get_be64(qpc + BF_QPC_DBR_ADDR),
		.sq = qp->has_sq && bf_mlx5_buf_linear(&qp->sq) ? qp->sq.at : 0,
		.qpn = qp->qpn,
		.sq_wqebbs = qp->has_sq ? qp->sq_mask + 1u : 0,
		.rq_wqes = qp->has_rq ? qp->rq_mask + 1u : 0,
		.rq_stride = qp->rq_stride,
		.send_cqn = BF_MLX5_GET(qpc, BF_QPC_CQN_SND),
		.recv_cqn = BF_MLX5_GET(qpc, BF_QPC_CQN_RCV),
		.pd = qp->pd,
		.uar = qp->uar,
	};

	bf_record(&qp->dev->sim->rec, &bf_rec_qp_config_schema, qp->actor, &rec, NULL, 0);
}

/*
 * Keeps the context for QUERY. The words that connecting adds get their room at once: if each context of a mesh moved
 * then, what it leaves behind would be as large again.
 */
static uint8_t keep(struct bf_mlx5_qp *qp, const uint8_t *qpc)
{
	const size_t room = qp->context ? 0 : WORDS_OF_A_PATH * sizeof(uint32_t);
	struct bf_mlx5_packed *packed = realloc(qp->context, bf_mlx5_packed_size(qpc, BF_QPC_LEN) + room);

	if (!packed)
		return BF_MLX5_CMD_NO_RES;
	bf_mlx5_pack(packed, qpc, BF_QPC_LEN);
	qp->context = packed;
	return BF_MLX5_CMD_OK;
}

uint8_t bf_mlx5_cmd_create_qp(struct bf_mlx5_mail *m)
{
	const uint8_t *qpc = m->in + BF_QP_QPC;
	struct bf_mlx5_qp *qp = calloc(1, sizeof(*qp));
	char name[64];
	uint8_t status;

	if (!qp)
		return BF_MLX5_CMD_NO_RES;
	qp->dev = m->dev;
	qp->port = &m->dev->ports[0];
	bf_mlx5_qp_init(qp);
	status = qp_shape(qp, qpc);
	if (!status)
		status = qp_resources(qp, qpc);
	if (!status)
		status = qp_buffers(qp, m, qpc);
	if (!status)
		status = keep(qp, qpc);
	if (!status && bf_mlx5_table_add(&m->dev->qps, qp, &qp->qpn))
		status = BF_MLX5_CMD_LIM;
	if (status) {
		bf_mlx5_qp_free(qp);
		return status;
	}
	hold(qp, 1);
	snprintf(name, sizeof(name), "%s.qp0x%x", m->dev->name, qp->qpn);
	qp->actor = bf_stream_actor(&m->dev->sim->rec, "queue", name);
	if (bf_probe(m->dev->sim, BF_CLASS_QUEUE))
		record_config(qp, qpc);
	m->number = qp->qpn;
	return BF_MLX5_CMD_OK;
}

uint8_t bf_mlx5_cmd_destroy_qp(struct bf_mlx5_mail *m)
{
	struct bf_mlx5_qp *qp = bf_mlx5_table_get(&m->dev->qps, m->number);

	if (!qp)
		return BF_MLX5_CMD_BAD_RES;
	bf_mlx5_qp_reset(qp);
	hold(qp, UINT32_MAX); /* minus one */
	bf_mlx5_table_remove(&m->dev->qps, qp->qpn);
	if (m->dev->last_qp == qp)
		m->dev->last_qp = NULL;
	if (!qp->inflight) {
		bf_mlx5_qp_free(qp);
		return BF_MLX5_CMD_OK;
	}
	qp->dead = true;
	qp->next_zombie = m->dev->zombie_qps;
	m->dev->zombie_qps = qp;
	return BF_MLX5_CMD_OK;
}

static uint8_t with(uint32_t set, uint32_t bit, bool on)
{
	return (uint8_t)(on ? set | bit : set & ~bit);
}

static void take_access(struct bf_mlx5_qp *qp, const uint8_t *qpc, uint32_t which)
{
	if (which & OPTPAR_RRE)
		qp->access = with(qp->access, BF_MLX5_ACCESS_REMOTE_READ, BF_MLX5_GET(qpc, BF_QPC_RRE));
	if (which & OPTPAR_RWE)
		qp->access = with(qp->access, BF_MLX5_ACCESS_REMOTE_WRITE, BF_MLX5_GET(qpc, BF_QPC_RWE));
	if (which & OPTPAR_RAE) {
		qp->access = with(qp->access, BF_MLX5_ACCESS_ATOMIC, BF_MLX5_GET(qpc, BF_QPC_RAE));
		qp->atomic_mode = (uint8_t)BF_MLX5_GET(qpc, BF_QPC_ATOMIC_MODE);
	}
	if (which & OPTPAR_RNR_TIMEOUT)
		qp->min_rnr_nak = (uint8_t)BF_MLX5_GET(qpc, BF_QPC_MIN_RNR_NAK);
	if (which & OPTPAR_Q_KEY)
		qp->qkey = BF_MLX5_GET(qpc, BF_QPC_Q_KEY);
}

/* Port 0 in a path leaves what was said before; at first that is port 1. */
static uint8_t set_port(struct bf_mlx5_qp *qp, uint8_t *kept, uint32_t port)
{
	if (!port)
		return BF_MLX5_CMD_OK;
	if (port > qp->dev->port_count)
		return BF_MLX5_CMD_BAD_PARAM;
	qp->port = &qp->dev->ports[port - 1];
	BF_MLX5_SET(kept + BF_QPC_PATH, BF_PATH_PORT, port);
	return BF_MLX5_CMD_OK;
}

static uint8_t rst_to_init(struct bf_mlx5_qp *qp, uint8_t *kept, const uint8_t *qpc, uint32_t optional)
{
	uint32_t port = BF_MLX5_GET(qpc + BF_QPC_PATH, BF_PATH_PORT);

	(void)optional;
	if (set_port(qp, kept, port ? port : 1) || BF_MLX5_GET(qpc, BF_QPC_PM_STATE) != PM_STATE_MIGRATED)
		return BF_MLX5_CMD_BAD_PARAM;
	if (bf_mlx5_qp_prepare(qp))
		return BF_MLX5_CMD_NO_RES;
	take_access(qp, qpc, OPTPAR_RRE | OPTPAR_RWE | OPTPAR_RAE | OPTPAR_Q_KEY);
	return BF_MLX5_CMD_OK;
}

/*
 * The address path: RoCEv2 over IPv4, so the GID is ::ffff:a.b.c.d. A source port of 0 leaves the choice to the
 * device; it takes one from the range that annex A17 names.
 */
static uint8_t set_path(struct bf_mlx5_qp *qp, uint8_t *kept, const uint8_t *path)
{
	static const uint8_t mapped[12] = { 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff };
	uint32_t port = BF_MLX5_GET(path, BF_PATH_PORT);
	struct bf_roce_path_opts opts = {
		.dst_ipv4 = bf_get_be32(path + BF_PATH_RGID + 12),
		.udp_src_port = (uint16_t)BF_MLX5_GET(path, BF_PATH_UDP_SPORT),
		.dscp = (uint8_t)BF_MLX5_GET(path, BF_PATH_DSCP),
		.ttl = (uint8_t)BF_MLX5_GET(path, BF_PATH_HOP_LIMIT),
	};

	if (memcmp(path + BF_PATH_RGID, mapped, sizeof(mapped)) || !opts.dst_ipv4 || port > qp->dev->port_count)
		return BF_MLX5_CMD_BAD_PARAM;
	if (!opts.udp_src_port)
		opts.udp_src_port = (uint16_t)(0xc000 | (qp->qpn & 0x3fff));
	set_port(qp, kept, port);
	opts.ecn = bf_port_ecn(qp->port->port);
	port = BF_MLX5_GET(kept + BF_QPC_PATH, BF_PATH_PORT);
	memcpy(kept + BF_QPC_PATH, path, BF_PATH_LEN);
	BF_MLX5_SET(kept + BF_QPC_PATH, BF_PATH_PORT, port);
	opts.src_ipv4 = qp->port->ipv4;
	memcpy(opts.src_mac, qp->port->mac, sizeof(opts.src_mac));
	bf_put_be16(opts.dst_mac, (uint16_t)BF_MLX5_GET(path, BF_PATH_RMAC_HI));
	bf_put_be32(opts.dst_mac + 2, BF_MLX5_GET(path, BF_PATH_RMAC_LO));
	qp->remote_ipv4 = opts.dst_ipv4;
	bf_roce_path_init(&qp->path, &opts);
	return BF_MLX5_CMD_OK;
}

static uint8_t init_to_rtr(struct bf_mlx5_qp *qp, uint8_t *kept, const uint8_t *qpc, uint32_t optional)
{
	uint32_t mtu = BF_MLX5_GET(qpc, BF_QPC_MTU), msg = BF_MLX5_GET(qpc, BF_QPC_LOG_MSG_MAX);

	if (mtu < MTU_MIN || mtu > MTU_MAX || !msg || msg > LOG_MSG_MAX)
		return BF_MLX5_CMD_BAD_PARAM;
	/* DC initiators and datagrams get their address from each WQE. */
	if (!qp->dci && qp->service != BF_QPC_ST_UD && set_path(qp, kept, qpc + BF_QPC_PATH))
		return BF_MLX5_CMD_BAD_PARAM;
	qp->mtu_shift = (uint8_t)(7 + mtu);
	qp->log_msg_max = (uint8_t)msg;
	qp->remote_qpn = BF_MLX5_GET(qpc, BF_QPC_REMOTE_QPN);
	qp->expected_psn = BF_MLX5_GET(qpc, BF_QPC_NEXT_RCV_PSN);
	qp->max_answers = (uint16_t)(1u << BF_MLX5_GET(qpc, BF_QPC_LOG_RRA_MAX));
	BF_MLX5_SET(kept, BF_QPC_LOG_RRA_MAX, BF_MLX5_GET(qpc, BF_QPC_LOG_RRA_MAX));
	take_access(qp, qpc, optional | OPTPAR_RNR_TIMEOUT);
	return BF_MLX5_CMD_OK;
}

static void record_path(const struct bf_mlx5_qp *qp)
{
	struct bf_rec_qp_path rec = {
		.qpn = qp->qpn,
		.remote_qpn = qp->remote_qpn,
		.remote_ipv4 = qp->remote_ipv4,
		.ipv4 = qp->port->ipv4,
		.max_reads = qp->max_rdatomic,
		.max_answers = qp->max_answers,
		.mtu = 1u << qp->mtu_shift,
		.access = qp->access,
		.retries = qp->retry_count,
		.rnr_retries = qp->rnr_retry,
		.timeout = qp->ack_timeout,
		.min_rnr_timer = qp->min_rnr_nak,
	};

	bf_record(&qp->dev->sim->rec, &bf_rec_qp_path_schema, qp->actor, &rec, NULL, 0);
}

static uint8_t rtr_to_rts(struct bf_mlx5_qp *qp, uint8_t *kept, const uint8_t *qpc, uint32_t optional)
{
	uint32_t timeout = BF_MLX5_GET(qpc + BF_QPC_PATH, BF_PATH_ACK_TIMEOUT);

	qp->ack_timeout = bf_mlx5_is_unreliable(qp) ? 0 : (uint8_t)timeout;
	qp->send_psn = qp->tx_psn = qp->una_psn = BF_MLX5_GET(qpc, BF_QPC_NEXT_SEND_PSN);
	qp->retry_count = qp->retries_left = (uint8_t)BF_MLX5_GET(qpc, BF_QPC_RETRY_COUNT);
	qp->rnr_retry = qp->rnr_left = (uint8_t)BF_MLX5_GET(qpc, BF_QPC_RNR_RETRY);
	qp->max_rdatomic = (uint16_t)(1u << BF_MLX5_GET(qpc, BF_QPC_LOG_SRA_MAX));
	BF_MLX5_SET(kept, BF_QPC_LOG_SRA_MAX, BF_MLX5_GET(qpc, BF_QPC_LOG_SRA_MAX));
	BF_MLX5_SET(kept + BF_QPC_PATH, BF_PATH_ACK_TIMEOUT, timeout);
	take_access(qp, qpc, optional);
	if (bf_probe(qp->dev->sim, BF_CLASS_QUEUE))
		record_path(qp);
	return BF_MLX5_CMD_OK;
}

static uint8_t to_rst(struct bf_mlx5_qp *qp, uint8_t *kept, const uint8_t *qpc, uint32_t optional)
{
	(void)kept;
	(void)qpc;
	(void)optional;
	bf_mlx5_qp_reset(qp);
	return BF_MLX5_CMD_OK;
}

static uint8_t rts_to_rts(struct bf_mlx5_qp *qp, uint8_t *kept, const uint8_t *qpc, uint32_t optional)
{
	(void)kept;
	take_access(qp, qpc, optional);
	return BF_MLX5_CMD_OK;
}

/* An extended context asks for one thing that is modelled: a stream out of its error. */
static uint8_t take_extension(struct bf_mlx5_qp *qp, const struct bf_mlx5_mail *m)
{
	if (m->in_len < BF_MODIFY_QP_EXT_STREAM_END)
		return BF_MLX5_CMD_BAD_INP_LEN;
	if (!qp->dci || bf_get_be64(m->in + BF_MODIFY_QP_EXT_MASK) != BF_MODIFY_QP_EXT_MASK_STREAM)
		return BF_MLX5_CMD_BAD_PARAM;
	return bf_mlx5_dci_stream_reset(qp, BF_MLX5_GET(m->in, BF_MODIFY_QP_EXT_STREAM));
}

#define FROM(s) (1u << BF_MLX5_QPS_##s)
#define FROM_ANY 0xffu

/* Which states a command starts from, and where it leads (mlx5.md section 5). */
static const struct transition {
	uint16_t opcode;
	uint8_t from, to;
	uint8_t (*step)(struct bf_mlx5_qp *qp, uint8_t *kept, const uint8_t *qpc, uint32_t optional);
} transitions[] = {
	{ BF_MLX5_CMD_RST2INIT_QP, FROM(RST), BF_MLX5_QPS_INIT, rst_to_init },
	{ BF_MLX5_CMD_INIT2RTR_QP, FROM(INIT), BF_MLX5_QPS_RTR, init_to_rtr },
	{ BF_MLX5_CMD_RTR2RTS_QP, FROM(RTR), BF_MLX5_QPS_RTS, rtr_to_rts },
	{ BF_MLX5_CMD_RTS2RTS_QP, FROM(RTS), BF_MLX5_QPS_RTS, rts_to_rts },
	{ BF_MLX5_CMD_SQERR2RTS_QP, FROM(SQER), BF_MLX5_QPS_RTS, NULL },
	{ BF_MLX5_CMD_RTS2SQD_QP, FROM(RTS), BF_MLX5_QPS_SQD, NULL },
	{ BF_MLX5_CMD_SQD_RTS_QP, FROM(SQD), BF_MLX5_QPS_RTS, NULL },
	{ BF_MLX5_CMD_2ERR_QP, FROM_ANY, BF_MLX5_QPS_ERR, NULL },
	{ BF_MLX5_CMD_2RST_QP, FROM_ANY, BF_MLX5_QPS_RST, to_rst },
};

static const struct transition *find_transition(uint32_t opcode)
{
	const struct transition *t = transitions;

	while (t->opcode != opcode)
		t++;
	return t; /* the table of commands lists no other */
}

static void enter(struct bf_mlx5_qp *qp, uint8_t state)
{
	/* A queue pair that never left RESET has no rings to flush. */
	if (state == BF_MLX5_QPS_ERR && qp->state != BF_MLX5_QPS_RST)
		bf_mlx5_qp_error(qp, 0);
	else if (state != qp->state)
		bf_mlx5_qp_set_state(qp, state, 0);
	bf_mlx5_sq_run(qp);
}

/* A step changes the context that QUERY shows, whether it ends well or not. */
static uint8_t do_step(struct bf_mlx5_qp *qp, const struct transition *t, const struct bf_mlx5_mail *m)
{
	uint8_t kept[BF_QPC_LEN], status;

	bf_mlx5_unpack(qp->context, kept, sizeof(kept));
	status = t->step(qp, kept, m->in + BF_QP_QPC, m->in_len > BF_QP_QPC ? BF_MLX5_GET(m->in, OPT_PARAM_MASK) : 0);
	return keep(qp, kept) ? BF_MLX5_CMD_NO_RES : status;
}

uint8_t bf_mlx5_cmd_modify_qp(struct bf_mlx5_mail *m)
{
	const struct transition *t = find_transition(m->opcode);
	struct bf_mlx5_qp *qp = bf_mlx5_table_get(&m->dev->qps, m->number);
	uint8_t status = BF_MLX5_CMD_OK;

	if (!qp)
		return BF_MLX5_CMD_BAD_RES;
	if (!(t->from >> qp->state & 1))
		return BF_MLX5_CMD_BAD_QP_STATE;
	if (t->step)
		status = do_step(qp, t, m);
	if (!status && m->opcode == BF_MLX5_CMD_RTS2RTS_QP && BF_MLX5_GET(m->in, BF_MODIFY_QP_EXT))
		status = take_extension(qp, m);
	if (!status)
		enter(qp, t->to);
	return status;
}

uint8_t bf_mlx5_cmd_query_qp(struct bf_mlx5_mail *m)
{
	const struct bf_mlx5_qp *qp = bf_mlx5_table_get(&m->dev->qps, m->number);
	uint8_t *qpc = m->out + BF_QP_QPC;

	if (!qp)
		return BF_MLX5_CMD_BAD_RES;
	bf_mlx5_unpack(qp->context, qpc, BF_QPC_LEN);
	BF_MLX5_SET(qpc, BF_QPC_STATE, qp->state);
	BF_MLX5_SET(qpc, BF_QPC_MTU, qp->mtu_shift ? qp->mtu_shift - 7u : 0);
	BF_MLX5_SET(qpc, BF_QPC_LOG_MSG_MAX, qp->log_msg_max);
	BF_MLX5_SET(qpc, BF_QPC_REMOTE_QPN, qp->remote_qpn);
	BF_MLX5_SET(qpc, BF_QPC_RETRY_COUNT, qp->retry_count);
	BF_MLX5_SET(qpc, BF_QPC_RNR_RETRY, qp->rnr_retry);
	BF_MLX5_SET(qpc, BF_QPC_NEXT_SEND_PSN, qp->send_psn);
	BF_MLX5_SET(qpc, BF_QPC_LAST_ACKED_PSN, bf_psn_add(qp->una_psn, BF_PSN_MASK));
	BF_MLX5_SET(qpc, BF_QPC_ATOMIC_MODE, qp->atomic_mode);
	BF_MLX5_SET(qpc, BF_QPC_RRE, (qp->access & BF_MLX5_ACCESS_REMOTE_READ) != 0);
	BF_MLX5_SET(qpc, BF_QPC_RWE, (qp->access & BF_MLX5_ACCESS_REMOTE_WRITE) != 0);
	BF_MLX5_SET(qpc, BF_QPC_RAE, (qp->access & BF_MLX5_ACCESS_ATOMIC) != 0);
	BF_MLX5_SET(qpc, BF_QPC_MIN_RNR_NAK, qp->min_rnr_nak);
	BF_MLX5_SET(qpc, BF_QPC_NEXT_RCV_PSN, qp->expected_psn);
	BF_MLX5_SET(qpc, BF_QPC_Q_KEY, qp->qkey);
	BF_MLX5_SET(qpc, BF_QPC_HW_SQ_COUNTER, qp->head);
	BF_MLX5_SET(qpc, BF_QPC_SW_SQ_COUNTER, qp->producer);
	BF_MLX5_SET(qpc, BF_QPC_HW_RQ_COUNTER, qp->rq_consumed);
	BF_MLX5_SET(qpc, BF_QPC_SW_RQ_COUNTER, qp->rq_producer);
	return BF_MLX5_CMD_OK;
}
