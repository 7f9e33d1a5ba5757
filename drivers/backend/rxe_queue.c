/* Backend "rxe": completion queues and queue pairs, from command blocks to verbs. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "drivers/backend/rxe_internal.h"

#define CQE_BYTES 64u
#define BASE_STRIDE 16u

static uint8_t *in_umem(const struct bf_rxe_block *b, uint32_t id, uint64_t offset, uint64_t len)
{
	const struct bf_rxe_umem *u = bf_rxe_table_get(&b->w->umems, id);

	return u && offset <= u->size && len <= u->size - offset ? u->at + offset : NULL;
}

int bf_rxe_create_cq(struct bf_rxe_block *b)
{
	const uint8_t *cqc = b->in + BF_CREATE_CQ_CQC;
	const uint32_t entries = 1u << BF_MLX5_GET(cqc, BF_CQC_LOG_SIZE);
	const bool collapsed = BF_MLX5_GET(cqc, BF_CQC_CC);
	struct bf_rxe_cq *cq;
	uint8_t *ring, *dbr;
	int rc;

	ring = in_umem(b, BF_MLX5_GET(b->in, BF_CREATE_CQ_UMEM_ID), bf_get_be64(b->in + BF_CREATE_CQ_UMEM_OFFSET),
		       (collapsed ? 1u : (uint64_t)entries) * CQE_BYTES);
	dbr = in_umem(b, BF_MLX5_GET(cqc, BF_CQC_DBR_UMEM_ID), bf_get_be64(cqc + BF_CQC_DBR_ADDR), BF_MLX5_DBR_BYTES);
	if (!ring || !dbr) {
		bf_rxe_refuse(b, BF_MLX5_CMD_BAD_RES);
		return 0;
	}
	cq = malloc(sizeof(*cq));
	if (!cq)
		return -ENOMEM;
	*cq = (struct bf_rxe_cq){ .nic = b->nic,
				  .ring = (struct bf_mlx5_cqe *)(void *)ring,
				  .dbr = (const uint32_t *)(const void *)dbr,
				  .entries = entries,
				  .collapsed = collapsed,
				  .ignore_overrun = BF_MLX5_GET(cqc, BF_CQC_OI) };
	rc = bf_rxe_add(b, &b->w->cqs, cq);
	if (rc)
		return rc;
	cq->number = b->number;
	if (bf_rxe_recorded(b->w))
		bf_rxe_record_cq(b->w, cq, cqc);
	return 0;
}

void bf_rxe_free_qp(struct bf_rxe_world *w, struct bf_rxe_qp *qp)
{
	if (qp->vqp)
		w->v.api->qp_destroy(qp->vqp);
	if (qp->scratch_mr)
		w->v.api->mr_destroy(qp->scratch_mr);
	if (qp->scratch)
		munmap(qp->scratch, BF_PAGE);
	free(qp->entry);
	free(qp);
}

/* Where the rings are, as the device reads its context: receives first, then sends (models/mlx5/cmd_qp.c). */
static bool take_rings(struct bf_rxe_block *b, struct bf_rxe_qp *qp)
{
	const uint8_t *qpc = b->in + BF_QP_QPC;
	const uint64_t offset = bf_get_be64(b->in + BF_CREATE_QP_UMEM_OFFSET);
	uint64_t rq = 0;

	qp->depth = 1u << BF_MLX5_GET(qpc, BF_QPC_LOG_SQ_SIZE);
	if (BF_MLX5_GET(qpc, BF_QPC_RQ_TYPE) == BF_QPC_RQ_OWN) {
		qp->rq_depth = 1u << BF_MLX5_GET(qpc, BF_QPC_LOG_RQ_SIZE);
		qp->rq_stride = BASE_STRIDE << BF_MLX5_GET(qpc, BF_QPC_LOG_RQ_STRIDE);
		rq = ((uint64_t)qp->rq_depth * qp->rq_stride + BF_MLX5_WQEBB - 1) & ~(uint64_t)(BF_MLX5_WQEBB - 1);
	}
	qp->rq = in_umem(b, BF_MLX5_GET(b->in, BF_CREATE_QP_UMEM_ID), offset, rq + (uint64_t)qp->depth * BF_MLX5_WQEBB);
	qp->sq = qp->rq ? qp->rq + rq : NULL;
	qp->dbr = (const uint32_t *)(const void *)in_umem(b, BF_MLX5_GET(qpc, BF_QPC_DBR_UMEM_ID),
							  bf_get_be64(qpc + BF_QPC_DBR_ADDR), BF_MLX5_DBR_BYTES);
	qp->send_cq = bf_rxe_table_get(&b->w->cqs, BF_MLX5_GET(qpc, BF_QPC_CQN_SND));
	qp->recv_cq = bf_rxe_table_get(&b->w->cqs, BF_MLX5_GET(qpc, BF_QPC_CQN_RCV));
	qp->uar = bf_rxe_table_get(&b->w->uars, BF_MLX5_GET(qpc, BF_QPC_UAR_PAGE));
	return qp->sq && qp->dbr && qp->send_cq && qp->recv_cq && qp->uar;
}

static int open_qp(struct bf_rxe_block *b, struct bf_rxe_qp *qp)
{
	const struct bf_verbs_api *api = b->w->v.api;
	const struct bf_verbs_qp_opts opts = {
		.sends = qp->depth < BF_RXE_SENDS_MAX ? qp->depth : BF_RXE_SENDS_MAX,
		.receives = qp->rq_depth,
		.inline_bytes = BF_RXE_INLINE,
	};
	uint32_t rkey;
	int rc;

	qp->entry = calloc(qp->depth, sizeof(*qp->entry));
	qp->scratch = mmap(NULL, BF_PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (qp->scratch == MAP_FAILED)
		qp->scratch = NULL;
	if (!qp->entry || !qp->scratch)
		return -ENOMEM;
	rc = api->mr_create(b->nic->dev, qp->scratch, BF_PAGE, BF_VERBS_LOCAL_WRITE, &qp->scratch_lkey, &rkey,
			    &qp->scratch_mr);
	return rc ? rc : api->qp_create(b->nic->dev, &opts, &qp->qpn, &qp->vqp);
}

int bf_rxe_create_qp(struct bf_rxe_block *b)
{
	const uint8_t *qpc = b->in + BF_QP_QPC;
	struct bf_rxe_qp *qp;
	int rc;

	if (BF_MLX5_GET(qpc, BF_QPC_ST) != BF_QPC_ST_RC) {
		bf_rxe_refuse(b, BF_MLX5_CMD_BAD_PARAM);
		return 0;
	}
	qp = calloc(1, sizeof(*qp));
	if (!qp)
		return -ENOMEM;
	qp->nic = b->nic;
	qp->user_index = BF_MLX5_GET(qpc, BF_QPC_USER_INDEX);
	if (!take_rings(b, qp)) {
		bf_rxe_refuse(b, BF_MLX5_CMD_BAD_RES);
		free(qp);
		return 0;
	}
	rc = open_qp(b, qp);
	if (rc) {
		bf_rxe_free_qp(b->w, qp);
		return rc;
	}
	qp->next = b->w->qps;
	b->w->qps = qp;
	if (bf_rxe_recorded(b->w))
		bf_rxe_record_qp(b->w, qp, qpc);
	BF_MLX5_SET(b->out, BF_CMD_OUT_NUMBER, qp->qpn);
	return 0;
}

static struct bf_rxe_qp *find_qp(const struct bf_rxe_block *b)
{
	struct bf_rxe_qp *qp = b->w->qps;

	while (qp && (qp->nic != b->nic || qp->qpn != b->number || !qp->vqp))
		qp = qp->next;
	return qp;
}

/* A life ends: what the device has of it does not count any more. */
static void reset(struct bf_rxe_world *w, struct bf_rxe_qp *qp)
{
	struct bf_rxe_nic *load = bf_rxe_load(w, qp->nic);

	load->sends -= qp->sends;
	load->receives -= (uint16_t)(qp->given - qp->received);
	qp->epoch++;
	qp->sends = qp->head = qp->tail = 0;
	qp->producer = qp->fetched = qp->received = qp->given = 0;
	qp->emulation.runs = qp->refused = false;
}

/* Its memory stays until the end: a device may still tell of it. */
static int destroy_qp(struct bf_rxe_block *b, struct bf_rxe_qp *qp)
{
	int rc = b->w->v.api->qp_destroy(qp->vqp);

	if (rc)
		return rc;
	qp->vqp = NULL;
	reset(b->w, qp);
	return 0;
}

/* ---- transitions ---- */

static void take_rtr(const struct bf_rxe_block *b, struct bf_verbs_path *p)
{
	const uint8_t *qpc = b->in + BF_QP_QPC, *path = qpc + BF_QPC_PATH;
	const uint32_t reads = 1u << BF_MLX5_GET(qpc, BF_QPC_LOG_RRA_MAX);
	const struct bf_verbs_port *port;

	p->port = (uint8_t)BF_MLX5_GET(path, BF_PATH_PORT);
	port = &b->nic->port[p->port && p->port <= BF_NIC_PORTS_MAX ? p->port - 1 : 0];
	p->remote_qpn = BF_MLX5_GET(qpc, BF_QPC_REMOTE_QPN);
	p->next_psn = BF_MLX5_GET(qpc, BF_QPC_NEXT_RCV_PSN);
	p->mtu = (uint8_t)BF_MLX5_GET(qpc, BF_QPC_MTU);
	if (p->mtu > port->mtu)
		p->mtu = port->mtu;
	p->min_rnr = (uint8_t)BF_MLX5_GET(qpc, BF_QPC_MIN_RNR_NAK);
	p->reads = (uint8_t)(reads < b->nic->info.max_rd_atom ? reads : b->nic->info.max_rd_atom);
	p->hop_limit = (uint8_t)BF_MLX5_GET(path, BF_PATH_HOP_LIMIT);
	p->tclass = (uint8_t)(BF_MLX5_GET(path, BF_PATH_DSCP) << 2);
	p->sl = (uint8_t)BF_MLX5_GET(path, BF_PATH_ETH_PRIO);
	p->gid_index = port->gid_index;
	memcpy(p->gid, path + BF_PATH_RGID, sizeof(p->gid));
}

static void take_rts(const struct bf_rxe_block *b, struct bf_verbs_path *p)
{
	const uint8_t *qpc = b->in + BF_QP_QPC;
	const uint32_t reads = 1u << BF_MLX5_GET(qpc, BF_QPC_LOG_SRA_MAX);

	p->next_psn = BF_MLX5_GET(qpc, BF_QPC_NEXT_SEND_PSN);
	p->timeout = (uint8_t)BF_MLX5_GET(qpc + BF_QPC_PATH, BF_PATH_ACK_TIMEOUT);
	p->retries = (uint8_t)BF_MLX5_GET(qpc, BF_QPC_RETRY_COUNT);
	p->rnr_retries = (uint8_t)BF_MLX5_GET(qpc, BF_QPC_RNR_RETRY);
	p->reads = (uint8_t)(reads < b->nic->info.max_rd_atom ? reads : b->nic->info.max_rd_atom);
}

static int modify(struct bf_rxe_block *b, struct bf_rxe_qp *qp)
{
	uint8_t from = qp->state, to;
	int rc;

	switch (b->opcode) {
	case BF_MLX5_CMD_RST2INIT_QP:
		from = BF_MLX5_QPS_RST;
		to = BF_MLX5_QPS_INIT;
		qp->path.port = (uint8_t)BF_MLX5_GET(b->in + BF_QP_QPC + BF_QPC_PATH, BF_PATH_PORT);
		break;
	case BF_MLX5_CMD_INIT2RTR_QP:
		from = BF_MLX5_QPS_INIT;
		to = BF_MLX5_QPS_RTR;
		take_rtr(b, &qp->path);
		break;
	case BF_MLX5_CMD_RTR2RTS_QP:
		from = BF_MLX5_QPS_RTR;
		to = BF_MLX5_QPS_RTS;
		take_rts(b, &qp->path);
		break;
	case BF_MLX5_CMD_2RST_QP:
		to = BF_MLX5_QPS_RST;
		break;
	default:
		bf_rxe_qp_error(b->w, qp);
		return 0;
	}
	if (qp->state != from) {
		bf_rxe_refuse(b, BF_MLX5_CMD_BAD_QP_STATE);
		return 0;
	}
	rc = b->w->v.api->qp_modify(qp->vqp, to, &qp->path);
	if (rc)
		return rc;
	qp->state = to;
	if (to == BF_MLX5_QPS_RST)
		reset(b->w, qp);
	if (to == BF_MLX5_QPS_RTS && bf_rxe_recorded(b->w))
		bf_rxe_record_path(b->w, qp);
	return 0;
}

int bf_rxe_query_cq(struct bf_rxe_block *b)
{
	const struct bf_rxe_cq *cq = bf_rxe_table_get(&b->w->cqs, b->number);

	if (!cq)
		bf_rxe_refuse(b, BF_MLX5_CMD_BAD_RES);
	else
		BF_MLX5_SET(b->out + BF_CREATE_CQ_CQC, BF_CQC_PRODUCER, cq->producer & 0xffffff);
	return 0;
}

int bf_rxe_on_qp(struct bf_rxe_block *b)
{
	struct bf_rxe_qp *qp = find_qp(b);

	if (!qp) {
		bf_rxe_refuse(b, BF_MLX5_CMD_BAD_RES);
		return 0;
	}
	if (b->opcode == BF_MLX5_CMD_DESTROY_QP)
		return destroy_qp(b, qp);
	if (b->opcode != BF_MLX5_CMD_QUERY_QP)
		return modify(b, qp);
	BF_MLX5_SET(b->out + BF_QP_QPC, BF_QPC_STATE, qp->state);
	return 0;
}
