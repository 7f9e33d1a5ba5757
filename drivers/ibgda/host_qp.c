/*
 * IBGDA, host side: completion queues and queue pairs, from nothing to RTS, by command mailboxes.
 *
 * Parameters as NVSHMEM sets them (src/modules/transport/ibgda/ibgda.cpp: ibgda_create_cq, ibgda_create_qp,
 * ibgda_rc_init2rtr, ibgda_rc_rtr2rts).
 */
#include <string.h>

#include "drivers/ibgda/host_internal.h"
#include "drivers/ibgda/ibgda.h"

#define MTU_4096 5u
#define LOG_MSG_MAX 30u
#define LOG_READS 4u    /* READs and atomics in flight: 16, what ConnectX reports as its limit */
#define MIN_RNR_NAK 12u /* 0.64 ms */
#define RNR_RETRY 7u    /* for ever */
#define ACK_TIMEOUT 20u /* 4.096 us * 2^20 */
#define RETRY_COUNT 7u
#define HOP_LIMIT 255u
#define UDP_SPORT 0xc000u /* base of the RoCEv2 range (IBTA annex A17) */
#define ATOMIC_MODE_8B 3u
#define PM_MIGRATED 3u
#define RQ_TYPE_SRQ 1u /* no receive queue of its own */

/* The control blocks of a QP lie side by side in three memories: its ring, its records, its completion queue. */
#define DBR_STRIDE 128u /* the send queue's record, and a line further the completion queue's */
#define DBR_CQ 64u

static uint32_t log2_of(uint32_t v)
{
	uint32_t n = 0;

	while (v >>= 1)
		n++;
	return n;
}

static uint32_t cq_entries(const struct bf_ibgda_host *h)
{
	/* A plain queue is twice as deep as the ring: its consumer index reaches the device late. */
	return h->opts.plain_cq ? h->opts.qp_depth * 2 : h->opts.qp_depth;
}

uint64_t bf_ibgda_cq_bytes(const struct bf_ibgda_host *h)
{
	return h->opts.plain_cq ? cq_entries(h) * 64ull : 64;
}

static int create_cq(struct bf_ibgda_host *h, uint32_t pe, uint32_t ordinal)
{
	struct bf_ibgda_pe *p = &h->pe[pe];
	uint8_t in[BF_CREATE_CQ_LEN] = { 0 };
	uint8_t *cqc = in + BF_CREATE_CQ_CQC;
	uint8_t *bytes = (uint8_t *)p->mem[BF_IBGDA_UMEM_CQ].ptr + ordinal * bf_ibgda_cq_bytes(h);

	/* All ones: opcode 15 is "invalid", and counter 0xffff reads as "nothing completed" (cq.h). */
	memset(bytes, 0xff, bf_ibgda_cq_bytes(h));
	BF_MLX5_SET(cqc, BF_CQC_CC, !h->opts.plain_cq);
	BF_MLX5_SET(cqc, BF_CQC_OI, !h->opts.plain_cq);
	BF_MLX5_SET(cqc, BF_CQC_LOG_SIZE, log2_of(cq_entries(h)));
	BF_MLX5_SET(cqc, BF_CQC_UAR_PAGE, p->obj[ordinal].uar);
	BF_MLX5_SET(cqc, BF_CQC_DBR_UMEM_VALID, 1);
	BF_MLX5_SET(cqc, BF_CQC_DBR_UMEM_ID, p->umem[BF_IBGDA_UMEM_DBR]);
	bf_put_be64(cqc + BF_CQC_DBR_ADDR, ordinal * DBR_STRIDE + DBR_CQ);
	bf_put_be64(in + BF_CREATE_CQ_UMEM_OFFSET, ordinal * bf_ibgda_cq_bytes(h));
	BF_MLX5_SET(in, BF_CREATE_CQ_UMEM_ID, p->umem[BF_IBGDA_UMEM_CQ]);
	BF_MLX5_SET(in, BF_CREATE_CQ_UMEM_VALID, 1);
	return bf_ibgda_cmd(h, pe, BF_MLX5_CMD_CREATE_CQ, "CREATE_CQ", in, sizeof(in), &p->obj[ordinal].cqn);
}

static int create_qp(struct bf_ibgda_host *h, uint32_t pe, uint32_t ordinal)
{
	struct bf_ibgda_pe *p = &h->pe[pe];
	uint8_t in[BF_CREATE_QP_LEN] = { 0 };
	uint8_t *qpc = in + BF_QP_QPC;

	BF_MLX5_SET(qpc, BF_QPC_PM_STATE, PM_MIGRATED);
	BF_MLX5_SET(qpc, BF_QPC_PD, p->pd);
	BF_MLX5_SET(qpc, BF_QPC_LOG_SQ_SIZE, log2_of(h->opts.qp_depth));
	BF_MLX5_SET(qpc, BF_QPC_UAR_PAGE, p->obj[ordinal].uar);
	BF_MLX5_SET(qpc, BF_QPC_USER_INDEX, ordinal);
	BF_MLX5_SET(qpc, BF_QPC_RQ_TYPE, RQ_TYPE_SRQ);
	BF_MLX5_SET(qpc, BF_QPC_CQN_SND, p->obj[ordinal].cqn);
	BF_MLX5_SET(qpc, BF_QPC_CQN_RCV, p->obj[ordinal].cqn);
	BF_MLX5_SET(qpc, BF_QPC_DBR_UMEM_VALID, 1);
	BF_MLX5_SET(qpc, BF_QPC_DBR_UMEM_ID, p->umem[BF_IBGDA_UMEM_DBR]);
	bf_put_be64(qpc + BF_QPC_DBR_ADDR, ordinal * DBR_STRIDE);
	bf_put_be64(in + BF_CREATE_QP_UMEM_OFFSET, (uint64_t)ordinal * h->opts.qp_depth * BF_MLX5_WQEBB);
	BF_MLX5_SET(in, BF_CREATE_QP_UMEM_ID, p->umem[BF_IBGDA_UMEM_RING]);
	BF_MLX5_SET(in, BF_CREATE_QP_UMEM_VALID, 1);
	return bf_ibgda_cmd(h, pe, BF_MLX5_CMD_CREATE_QP, "CREATE_QP", in, sizeof(in), &p->obj[ordinal].qpn);
}

/* What device code sees of the queue pair. */
static void fill_qp(struct bf_ibgda_host *h, uint32_t pe, uint32_t ordinal, const struct bf_uar *uar)
{
	struct bf_ibgda_pe *p = &h->pe[pe];
	const struct bf_ibgda_counts counts = bf_ibgda_counts_of(h, pe);
	struct bf_ibgda_qp *qp = &p->rcs[ordinal];
	struct bf_ibgda_cq *cq = &p->cqs[bf_ibgda_cq_index(&counts, ordinal, 0)];
	const uint64_t ibuf = (h->opts.ibuf_slots + 1ull) * 256;
	uint8_t *dbr = (uint8_t *)p->mem[BF_IBGDA_UMEM_DBR].ptr + ordinal * DBR_STRIDE;
	uint8_t *ring =
	    (uint8_t *)p->mem[BF_IBGDA_UMEM_RING].ptr + (uint64_t)ordinal * h->opts.qp_depth * BF_MLX5_WQEBB;

	qp->version = BF_IBGDA_VERSION(BF_IBGDA_L3, *qp);
	qp->qp_type = BF_IBGDA_RC;
	qp->qpn = p->obj[ordinal].qpn;
	qp->peer = (uint16_t)bf_ibgda_rc_pe(BF_IBGDA_L3, h->npes, h->opts.num_rc_per_pe, ordinal);
	qp->ordinal = ordinal;
	qp->tx_wq.nwqes = (uint16_t)h->opts.qp_depth;
	qp->tx_wq.wqe = ring;
	qp->tx_wq.dbrec = (uint32_t *)(void *)dbr + BF_MLX5_DBR_SND;
	qp->tx_wq.bf = (uint8_t *)uar->page + BF_MLX5_UAR_BF;
	qp->tx_wq.cq = cq;
	qp->tx_wq.prod_idx = &qp->mvars.prod_idx;
	cq->version = BF_IBGDA_VERSION(BF_IBGDA_L3, *cq);
	cq->qp_type = BF_IBGDA_RC;
	cq->plain = h->opts.plain_cq;
	cq->cqe = (uint8_t *)p->mem[BF_IBGDA_UMEM_CQ].ptr + ordinal * bf_ibgda_cq_bytes(h);
	cq->dbrec = (uint32_t *)(void *)(dbr + DBR_CQ) + BF_MLX5_CQ_DBR_CI;
	cq->prod_idx = &qp->mvars.prod_idx;
	cq->cons_idx = &qp->mvars.cons_idx;
	cq->resv_head = &qp->mvars.resv_head;
	cq->ready_head = &qp->mvars.ready_head;
	cq->ncqes = cq_entries(h);
	cq->cqn = p->obj[ordinal].cqn;
	cq->qpn = qp->qpn;
	qp->ibuf.nslots = h->opts.ibuf_slots;
	qp->ibuf.lkey = qp->ibuf.rkey = bf_htobe32(p->obj[ordinal].ibuf_key);
	qp->ibuf.buf = (uint8_t *)p->ibuf.ptr + ordinal * ibuf;
	qp->ibuf.va = p->ibuf.va + ordinal * ibuf;
}

static int create_queue(struct bf_ibgda_host *h, uint32_t pe, uint32_t ordinal)
{
	struct bf_ibgda_pe *p = &h->pe[pe];
	const uint64_t ibuf = (h->opts.ibuf_slots + 1ull) * 256;
	struct bf_uar uar;
	int rc;

	rc = h->be->map_uar(h->world, pe, 0, &uar);
	if (rc)
		return rc;
	p->obj[ordinal].uar = uar.index;
	rc = bf_ibgda_create_key(h, pe, p->ibuf.va + ordinal * ibuf, ibuf, (uint8_t)(0x80 + ordinal % 0x80),
				 &p->obj[ordinal].ibuf_key);
	if (!rc)
		rc = create_cq(h, pe, ordinal);
	if (!rc)
		rc = create_qp(h, pe, ordinal);
	if (!rc)
		fill_qp(h, pe, ordinal, &uar);
	return rc;
}

/* NVSHMEM's order: for each i, the peers in ascending order from the next PE on, without oneself. */
int bf_ibgda_create_queues(struct bf_ibgda_host *h, uint32_t pe)
{
	int rc = 0;

	for (uint32_t i = 0; !rc && i < h->opts.num_rc_per_pe; i++)
		for (uint32_t j = 1; !rc && j < h->npes; j++)
			rc = create_queue(
			    h, pe,
			    bf_ibgda_rc_index(BF_IBGDA_L3, h->npes, h->opts.num_rc_per_pe, (pe + j) % h->npes, i));
	return rc;
}

static int init_qp(struct bf_ibgda_host *h, uint32_t pe, uint32_t qpn)
{
	uint8_t in[BF_MODIFY_QP_LEN] = { 0 };
	uint8_t *qpc = in + BF_QP_QPC;

	BF_MLX5_SET(in, BF_CMD_IN_NUMBER, qpn);
	BF_MLX5_SET(qpc, BF_QPC_PM_STATE, PM_MIGRATED);
	BF_MLX5_SET(qpc, BF_QPC_RRE, 1);
	BF_MLX5_SET(qpc, BF_QPC_RWE, 1);
	BF_MLX5_SET(qpc, BF_QPC_RAE, 1);
	BF_MLX5_SET(qpc, BF_QPC_ATOMIC_MODE, ATOMIC_MODE_8B);
	BF_MLX5_SET(qpc + BF_QPC_PATH, BF_PATH_PORT, 1);
	return bf_ibgda_cmd(h, pe, BF_MLX5_CMD_RST2INIT_QP, "RST2INIT_QP", in, sizeof(in), NULL);
}

static int ready_to_receive(struct bf_ibgda_host *h, uint32_t pe, uint32_t qpn, const struct bf_ibgda_pe *peer,
			    uint32_t remote_qpn)
{
	uint8_t in[BF_MODIFY_QP_LEN] = { 0 };
	uint8_t *qpc = in + BF_QP_QPC, *path = qpc + BF_QPC_PATH;

	BF_MLX5_SET(in, BF_CMD_IN_NUMBER, qpn);
	BF_MLX5_SET(qpc, BF_QPC_MTU, MTU_4096);
	BF_MLX5_SET(qpc, BF_QPC_LOG_MSG_MAX, LOG_MSG_MAX);
	BF_MLX5_SET(qpc, BF_QPC_REMOTE_QPN, remote_qpn);
	BF_MLX5_SET(qpc, BF_QPC_NEXT_RCV_PSN, 0);
	BF_MLX5_SET(qpc, BF_QPC_LOG_RRA_MAX, LOG_READS);
	BF_MLX5_SET(qpc, BF_QPC_MIN_RNR_NAK, MIN_RNR_NAK);
	BF_MLX5_SET(path, BF_PATH_HOP_LIMIT, HOP_LIMIT);
	BF_MLX5_SET(path, BF_PATH_UDP_SPORT, UDP_SPORT | (qpn & 0x3fff));
	BF_MLX5_SET(path, BF_PATH_PORT, 1);
	memcpy(path + BF_PATH_RGID, peer->gid, sizeof(peer->gid));
	BF_MLX5_SET(path, BF_PATH_RMAC_HI, (uint32_t)peer->mac[0] << 8 | peer->mac[1]);
	BF_MLX5_SET(path, BF_PATH_RMAC_LO, bf_get_be32(peer->mac + 2));
	return bf_ibgda_cmd(h, pe, BF_MLX5_CMD_INIT2RTR_QP, "INIT2RTR_QP", in, sizeof(in), NULL);
}

static int ready_to_send(struct bf_ibgda_host *h, uint32_t pe, uint32_t qpn)
{
	uint8_t in[BF_MODIFY_QP_LEN] = { 0 };
	uint8_t *qpc = in + BF_QP_QPC;

	BF_MLX5_SET(in, BF_CMD_IN_NUMBER, qpn);
	BF_MLX5_SET(qpc, BF_QPC_LOG_ACK_REQ_FREQ, 0);
	BF_MLX5_SET(qpc, BF_QPC_LOG_SRA_MAX, LOG_READS);
	BF_MLX5_SET(qpc, BF_QPC_RETRY_COUNT, h->opts.retry_count ? h->opts.retry_count : RETRY_COUNT);
	BF_MLX5_SET(qpc, BF_QPC_RNR_RETRY, RNR_RETRY);
	BF_MLX5_SET(qpc, BF_QPC_NEXT_SEND_PSN, 0);
	BF_MLX5_SET(qpc + BF_QPC_PATH, BF_PATH_ACK_TIMEOUT, h->opts.ack_timeout ? h->opts.ack_timeout : ACK_TIMEOUT);
	return bf_ibgda_cmd(h, pe, BF_MLX5_CMD_RTR2RTS_QP, "RTR2RTS_QP", in, sizeof(in), NULL);
}

int bf_ibgda_connect(struct bf_ibgda_host *h, uint32_t pe, uint32_t ordinal)
{
	const uint32_t rcs = h->opts.num_rc_per_pe;
	const uint32_t peer = bf_ibgda_rc_pe(BF_IBGDA_L3, h->npes, rcs, ordinal);
	const uint32_t i = bf_ibgda_rc_number(BF_IBGDA_L3, h->npes, rcs, ordinal);
	const uint32_t qpn = h->pe[pe].obj[ordinal].qpn;
	const uint32_t remote = h->pe[peer].obj[bf_ibgda_rc_index(BF_IBGDA_L3, h->npes, rcs, pe, i)].qpn;
	int rc = init_qp(h, pe, qpn);

	if (!rc)
		rc = ready_to_receive(h, pe, qpn, &h->pe[peer], remote);
	if (!rc)
		rc = ready_to_send(h, pe, qpn);
	return rc;
}

void bf_ibgda_destroy_queues(struct bf_ibgda_host *h, uint32_t pe)
{
	for (uint32_t i = 0; h->pe[pe].obj && i < h->npes * h->opts.num_rc_per_pe; i++) {
		struct bf_ibgda_objects *o = &h->pe[pe].obj[i];

		if (o->qpn != BF_IBGDA_NONE)
			bf_ibgda_cmd_number(h, pe, BF_MLX5_CMD_DESTROY_QP, "DESTROY_QP", o->qpn);
		if (o->cqn != BF_IBGDA_NONE)
			bf_ibgda_cmd_number(h, pe, BF_MLX5_CMD_DESTROY_CQ, "DESTROY_CQ", o->cqn);
		if (o->uar != BF_IBGDA_NONE)
			bf_ibgda_cmd_number(h, pe, BF_MLX5_CMD_DEALLOC_UAR, "DEALLOC_UAR", o->uar);
		if (o->ibuf_key != BF_IBGDA_NONE)
			bf_ibgda_cmd_number(h, pe, BF_MLX5_CMD_DESTROY_MKEY, "DESTROY_MKEY", o->ibuf_key >> 8);
	}
}
