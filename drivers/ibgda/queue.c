/*
 * IBGDA, host side: control memory, completion queues and queue pairs, from nothing to RTS.
 *
 * Parameters as NVSHMEM sets them (src/modules/transport/ibgda/ibgda.cpp: ibgda_create_cq, ibgda_create_qp,
 * ibgda_qp_rst2init, ibgda_rc_init2rtr, ibgda_dci_init2rtr, ibgda_qp_rtr2rts). A collapsed CQ only ever uses its entry
 * 0, so that is all that is carved for it; NVSHMEM carves its nominal depth.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "drivers/ibgda/host_internal.h"

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
#define RQ_TYPE_OWN 0u
#define RQ_TYPE_SRQ 1u     /* no receive queue of its own */
#define RQ_STRIDE 16u      /* DeepEP's patch: one data segment an entry */
#define DC_ACCESS_KEY 0xc8 /* be64 in the context */
#define CQE_BYTES 64u
#define IBUF_SLOT 256u
#define LEFT_THERE 0xdd /* bytes of somebody else's past: they read as an error completion */

static uint32_t log2_of(uint32_t v)
{
	uint32_t n = 0;

	while (v >>= 1)
		n++;
	return n;
}

/* ---- shapes ---- */

uint64_t bf_ibgda_rq_bytes(const struct bf_ibgda_transport *t, enum bf_ibgda_qp_type type)
{
	return type == BF_IBGDA_RC && t->opts.layout == BF_IBGDA_L3 ? (uint64_t)t->opts.qp_depth * RQ_STRIDE : 0;
}

uint32_t bf_ibgda_cqs_of(const struct bf_ibgda_transport *t, enum bf_ibgda_qp_type type)
{
	return bf_ibgda_rq_bytes(t, type) ? 2 : 1;
}

uint32_t bf_ibgda_cq_entries(const struct bf_ibgda_transport *t)
{
	/* A plain queue is twice as deep as the ring: its consumer index reaches the device late. */
	if (t->opts.plain_cq && t->opts.bugs & BF_IBGDA_BUG_CQ_TOO_SMALL)
		return t->opts.qp_depth / 8;
	return t->opts.plain_cq ? t->opts.qp_depth * 2 : t->opts.qp_depth;
}

/* Whether the device takes CQs for rings. */
static bool is_ring(const struct bf_ibgda_transport *t)
{
	return t->opts.plain_cq || t->opts.bugs & BF_IBGDA_BUG_CQ_NOT_COLLAPSED;
}

uint64_t bf_ibgda_cq_bytes(const struct bf_ibgda_transport *t)
{
	return is_ring(t) ? (uint64_t)bf_ibgda_cq_entries(t) * CQE_BYTES : CQE_BYTES;
}

/* ---- control memory ---- */

uint8_t *bf_ibgda_wq_at(const struct bf_ibgda_block *b, uint32_t slot)
{
	return (uint8_t *)b->wq.ptr + slot * b->wq_bytes;
}

uint32_t *bf_ibgda_dbr_at(const struct bf_ibgda_block *b, uint32_t slot)
{
	return (uint32_t *)(void *)((uint8_t *)b->dbr.ptr + (size_t)slot * BF_MLX5_DBR_BYTES);
}

static uint64_t cq_dbr_offset(const struct bf_ibgda_block *b, uint32_t slot, uint32_t index)
{
	return (b->slots + (uint64_t)slot * b->cqs + index) * BF_MLX5_DBR_BYTES;
}

uint32_t *bf_ibgda_cq_dbr_at(const struct bf_ibgda_block *b, uint32_t slot, uint32_t index)
{
	return (uint32_t *)(void *)((uint8_t *)b->dbr.ptr + cq_dbr_offset(b, slot, index));
}

static uint64_t cq_offset(const struct bf_ibgda_transport *t, const struct bf_ibgda_block *b, uint32_t slot,
			  uint32_t index)
{
	return ((uint64_t)slot * b->cqs + index) * bf_ibgda_cq_bytes(t);
}

uint8_t *bf_ibgda_cq_at(const struct bf_ibgda_transport *t, const struct bf_ibgda_block *b, uint32_t slot,
			uint32_t index)
{
	return (uint8_t *)b->cq.ptr + cq_offset(t, b, slot, index);
}

static int map_part(struct bf_ibgda_transport *t, const struct bf_ibgda_nic *nic, enum bf_placement place,
		    uint64_t bytes, const char *name, struct bf_memory *m, uint32_t *umem)
{
	int rc = 0;

	if (!bytes)
		return 0;
	if (place != BF_PLACE_HOST)
		rc = bf_ibgda_precheck(t, BF_IBGDA_LACKS_GPU_BUFFERS);
	if (!rc)
		rc = bf_ibgda_alloc(t, place, bytes, name, m);
	return rc ? rc : bf_ibgda_create_umem(t, nic, m, umem);
}

int bf_ibgda_create_block(struct bf_ibgda_transport *t, const struct bf_ibgda_nic *nic, uint32_t slots,
			  uint64_t wq_bytes, uint32_t cqs, enum bf_placement place, struct bf_ibgda_block **list)
{
	struct bf_ibgda_block *b = malloc(sizeof(*b));
	int rc;

	if (!b)
		return bf_fail(t->err, -ENOMEM, "PE %u: no memory for queues", t->pe);
	*b = (struct bf_ibgda_block){ .next = *list,
				      .wq_umem = BF_IBGDA_NONE,
				      .dbr_umem = BF_IBGDA_NONE,
				      .cq_umem = BF_IBGDA_NONE,
				      .wq_bytes = wq_bytes,
				      .cqs = cqs,
				      .slots = slots };
	*list = b;
	t->host_bytes += sizeof(*b);
	rc = map_part(t, nic, place, slots * bf_ibgda_cq_bytes(t) * cqs, "completion queues", &b->cq, &b->cq_umem);
	if (!rc)
		rc = map_part(t, nic, place, (uint64_t)slots * (1 + cqs) * BF_MLX5_DBR_BYTES, "doorbell records",
			      &b->dbr, &b->dbr_umem);
	if (!rc)
		rc = map_part(t, nic, place, slots * wq_bytes, "rings", &b->wq, &b->wq_umem);
	return rc;
}

void bf_ibgda_destroy_blocks(struct bf_ibgda_transport *t, const struct bf_ibgda_nic *nic, struct bf_ibgda_block **list)
{
	struct bf_ibgda_block *b;

	while ((b = *list)) {
		*list = b->next;
		bf_ibgda_destroy(t, nic, BF_MLX5_CMD_DESTROY_UMEM, "DESTROY_UMEM", BF_IBGDA_KIND_UMEM, &b->wq_umem);
		bf_ibgda_destroy(t, nic, BF_MLX5_CMD_DESTROY_UMEM, "DESTROY_UMEM", BF_IBGDA_KIND_UMEM, &b->dbr_umem);
		bf_ibgda_destroy(t, nic, BF_MLX5_CMD_DESTROY_UMEM, "DESTROY_UMEM", BF_IBGDA_KIND_UMEM, &b->cq_umem);
		bf_ibgda_release(t, &b->wq);
		bf_ibgda_release(t, &b->dbr);
		bf_ibgda_release(t, &b->cq);
		t->host_bytes -= sizeof(*b);
		free(b);
	}
}

/* NVSHMEM puts control buffers into GPU memory unless told otherwise; then fences of GPU scope do. */
static enum bf_placement control_place(const struct bf_ibgda_transport *t)
{
	if (t->opts.cuda_rings)
		return BF_PLACE_CUDA;
	return t->opts.system_scope ? BF_PLACE_HOST : BF_PLACE_GPU;
}

static uint64_t wq_bytes_of(const struct bf_ibgda_transport *t, enum bf_ibgda_qp_type type)
{
	return bf_ibgda_rq_bytes(t, type) + (uint64_t)t->opts.qp_depth * BF_MLX5_WQEBB;
}

/* ---- batches ---- */

static size_t batch_bytes(const struct bf_ibgda_batch *b)
{
	return sizeof(*b) + b->eps * sizeof(b->ep[0]);
}

/* Places that lead somewhere: an RC to oneself does not. */
static uint32_t real_eps(const struct bf_ibgda_transport *t, const struct bf_ibgda_batch *b)
{
	return b->type == BF_IBGDA_RC ? b->n * (t->npes - 1) : b->n;
}

int bf_ibgda_create_batch(struct bf_ibgda_transport *t, const struct bf_ibgda_batch *like, struct bf_ibgda_batch **list,
			  struct bf_ibgda_batch **out)
{
	const uint64_t ibuf = real_eps(t, like) * (like->nslots + 1ull) * IBUF_SLOT;
	struct bf_ibgda_batch *b = calloc(1, batch_bytes(like));
	int rc;

	if (!b)
		return bf_fail(t->err, -ENOMEM, "PE %u: no memory for %u queue pairs", t->pe, like->eps);
	*b = *like;
	b->next = NULL;
	b->ibuf_key = BF_IBGDA_NONE;
	while (*list)
		list = &(*list)->next;
	*list = b;
	*out = b;
	t->host_bytes += batch_bytes(b);
	b->nic->uar_room = 0; /* pages are not shared with earlier batches */
	rc = bf_ibgda_alloc(t, t->opts.cuda_rings ? BF_PLACE_CUDA : BF_PLACE_GPU, ibuf, "ibuf", &b->ibuf);
	if (!rc)
		rc = bf_ibgda_create_key(t, b->nic, b->ibuf.va, ibuf, &b->ibuf_key);
	if (!rc && t->opts.layout != BF_IBGDA_L1)
		rc = bf_ibgda_create_block(t, b->nic, real_eps(t, b), wq_bytes_of(t, b->type),
					   bf_ibgda_cqs_of(t, b->type), control_place(t), &b->blocks);
	return rc;
}

static void destroy_ep(struct bf_ibgda_transport *t, const struct bf_ibgda_nic *nic, struct bf_ibgda_ep *ep)
{
	if (!ep->block)
		return;
	if (!(t->opts.bugs & BF_IBGDA_BUG_QP_LEAK))
		bf_ibgda_destroy(t, nic, BF_MLX5_CMD_DESTROY_QP, "DESTROY_QP", BF_IBGDA_KIND_QP, &ep->qpn);
	bf_ibgda_destroy(t, nic, BF_MLX5_CMD_DESTROY_CQ, "DESTROY_CQ", BF_IBGDA_KIND_CQ, &ep->send_cqn);
	bf_ibgda_destroy(t, nic, BF_MLX5_CMD_DESTROY_CQ, "DESTROY_CQ", BF_IBGDA_KIND_CQ, &ep->recv_cqn);
	t->live[BF_IBGDA_KIND_EP]--;
}

/* QPs before their CQs, CQs before umems, umems before memory; doorbell pages when nobody uses them any more. */
static void destroy_batch(struct bf_ibgda_transport *t, struct bf_ibgda_batch *b)
{
	for (uint32_t i = 0; i < b->eps; i++)
		destroy_ep(t, b->nic, &b->ep[i]);
	for (uint32_t i = 0; i < b->eps; i++)
		if (b->ep[i].block)
			bf_ibgda_destroy(t, b->nic, BF_MLX5_CMD_DEALLOC_UAR, "DEALLOC_UAR", BF_IBGDA_KIND_UAR,
					 &b->ep[i].uar);
	bf_ibgda_destroy_blocks(t, b->nic, &b->blocks);
	bf_ibgda_destroy_key(t, b->nic, &b->ibuf_key);
	bf_ibgda_release(t, &b->ibuf);
	t->host_bytes -= batch_bytes(b) + (b->peers ? b->eps * sizeof(*b->peers) : 0);
	free(b->peers);
	free(b);
}

void bf_ibgda_destroy_batches(struct bf_ibgda_transport *t, struct bf_ibgda_batch **list)
{
	struct bf_ibgda_batch *b;

	while ((b = *list)) {
		*list = b->next;
		destroy_batch(t, b);
	}
}

/* ---- queues ---- */

int bf_ibgda_create_cq(struct bf_ibgda_transport *t, const struct bf_ibgda_nic *nic, const struct bf_ibgda_block *b,
		       uint32_t slot, uint32_t index, uint32_t uar, uint32_t *cqn)
{
	uint8_t in[BF_CREATE_CQ_LEN] = { 0 };
	uint8_t *cqc = in + BF_CREATE_CQ_CQC;

	/* All ones: opcode 15 is "invalid", and counter 0xffff reads as "nothing completed" (cq.h). */
	memset(bf_ibgda_cq_at(t, b, slot, index), t->opts.bugs & BF_IBGDA_BUG_CQ_NOT_CLEARED ? LEFT_THERE : 0xff,
	       bf_ibgda_cq_bytes(t));
	BF_MLX5_SET(cqc, BF_CQC_CC, !is_ring(t));
	BF_MLX5_SET(cqc, BF_CQC_COMP_EN, t->opts.plain_cq && t->opts.bugs & BF_IBGDA_BUG_CQ_COMPRESSED);
	BF_MLX5_SET(cqc, BF_CQC_OI, !t->opts.plain_cq && !(t->opts.bugs & BF_IBGDA_BUG_CQ_NO_OI));
	BF_MLX5_SET(cqc, BF_CQC_LOG_SIZE, log2_of(bf_ibgda_cq_entries(t)));
	BF_MLX5_SET(cqc, BF_CQC_UAR_PAGE, uar);
	BF_MLX5_SET(cqc, BF_CQC_DBR_UMEM_VALID, 1);
	BF_MLX5_SET(cqc, BF_CQC_DBR_UMEM_ID, b->dbr_umem);
	bf_put_be64(cqc + BF_CQC_DBR_ADDR, cq_dbr_offset(b, slot, index));
	bf_put_be64(in + BF_CREATE_CQ_UMEM_OFFSET, cq_offset(t, b, slot, index));
	BF_MLX5_SET(in, BF_CREATE_CQ_UMEM_ID, b->cq_umem);
	BF_MLX5_SET(in, BF_CREATE_CQ_UMEM_VALID, 1);
	return bf_ibgda_create(t, nic, BF_MLX5_CMD_CREATE_CQ, "CREATE_CQ", in, sizeof(in), BF_IBGDA_KIND_CQ, cqn);
}

static int create_qp(struct bf_ibgda_transport *t, const struct bf_ibgda_batch *b, struct bf_ibgda_ep *ep)
{
	const bool rq = bf_ibgda_rq_bytes(t, b->type) != 0;
	uint8_t in[BF_CREATE_QP_LEN] = { 0 };
	uint8_t *qpc = in + BF_QP_QPC;

	BF_MLX5_SET(qpc, BF_QPC_ST, b->type == BF_IBGDA_DCI ? BF_QPC_ST_DCI : BF_QPC_ST_RC);
	BF_MLX5_SET(qpc, BF_QPC_PM_STATE, PM_MIGRATED);
	BF_MLX5_SET(qpc, BF_QPC_PD, b->nic->pd);
	BF_MLX5_SET(qpc, BF_QPC_LOG_SQ_SIZE, log2_of(t->opts.qp_depth));
	BF_MLX5_SET(qpc, BF_QPC_LOG_RQ_SIZE, rq ? log2_of(t->opts.qp_depth) : 0);
	BF_MLX5_SET(qpc, BF_QPC_UAR_PAGE, b->nic->uar_index);
	BF_MLX5_SET(qpc, BF_QPC_USER_INDEX, ep->ordinal);
	BF_MLX5_SET(qpc, BF_QPC_RQ_TYPE, rq ? RQ_TYPE_OWN : RQ_TYPE_SRQ);
	BF_MLX5_SET(qpc, BF_QPC_CQN_SND, ep->send_cqn);
	BF_MLX5_SET(qpc, BF_QPC_CQN_RCV, rq ? ep->recv_cqn : ep->send_cqn);
	BF_MLX5_SET(qpc, BF_QPC_DBR_UMEM_VALID, 1);
	BF_MLX5_SET(qpc, BF_QPC_DBR_UMEM_ID, ep->block->dbr_umem);
	bf_put_be64(qpc + BF_QPC_DBR_ADDR, (uint64_t)ep->slot * BF_MLX5_DBR_BYTES);
	if (b->type == BF_IBGDA_DCI)
		bf_put_be64(qpc + DC_ACCESS_KEY, BF_IBGDA_DC_KEY);
	bf_put_be64(in + BF_CREATE_QP_UMEM_OFFSET, ep->slot * ep->block->wq_bytes);
	BF_MLX5_SET(in, BF_CREATE_QP_UMEM_ID, ep->block->wq_umem);
	BF_MLX5_SET(in, BF_CREATE_QP_UMEM_VALID, 1);
	return bf_ibgda_create(t, b->nic, BF_MLX5_CMD_CREATE_QP, "CREATE_QP", in, sizeof(in), BF_IBGDA_KIND_QP,
			       &ep->qpn);
}

/* The doorbell page that the next queue pair uses: a new one, unless they are shared. */
static int take_uar(struct bf_ibgda_transport *t, struct bf_ibgda_nic *nic, struct bf_ibgda_ep *ep)
{
	struct bf_uar uar;
	int rc;

	if (!nic->uar_room) {
		rc = bf_ibgda_precheck(t, BF_IBGDA_LACKS_GPU_UAR);
		if (rc)
			return rc;
		rc = t->be->map_uar(t->world, t->pe, nic->index, &uar);
		if (rc)
			return bf_fail(t->err, rc, "PE %u, %s: no doorbell page for another queue pair", t->pe,
				       nic->info.name);
		t->live[BF_IBGDA_KIND_UAR]++;
		ep->uar = nic->uar_index = uar.index;
		nic->uar_page = uar.page;
		nic->uar_room = t->opts.qps_per_uar;
	}
	nic->uar_room--;
	ep->bf = (uint8_t *)nic->uar_page + BF_MLX5_UAR_BF;
	return 0;
}

int bf_ibgda_create_ep(struct bf_ibgda_transport *t, struct bf_ibgda_batch *b, uint32_t i, uint32_t ordinal)
{
	struct bf_ibgda_ep *ep = &b->ep[i];
	int rc = 0;

	if (t->opts.layout == BF_IBGDA_L1)
		rc = bf_ibgda_create_block(t, b->nic, 1, wq_bytes_of(t, b->type), bf_ibgda_cqs_of(t, b->type),
					   control_place(t), &b->blocks);
	if (rc)
		return rc;
	*ep = (struct bf_ibgda_ep){ .block = b->blocks,
				    .slot = b->blocks->used++,
				    .qpn = BF_IBGDA_NONE,
				    .send_cqn = BF_IBGDA_NONE,
				    .recv_cqn = BF_IBGDA_NONE,
				    .uar = BF_IBGDA_NONE,
				    .ordinal = ordinal };
	t->live[BF_IBGDA_KIND_EP]++;
	rc = take_uar(t, b->nic, ep);
	if (!rc)
		rc = bf_ibgda_create_cq(t, b->nic, ep->block, ep->slot, 0, b->nic->uar_index, &ep->send_cqn);
	if (!rc && ep->block->cqs > 1)
		rc = bf_ibgda_create_cq(t, b->nic, ep->block, ep->slot, 1, b->nic->uar_index, &ep->recv_cqn);
	if (!rc)
		rc = create_qp(t, b, ep);
	return rc;
}

/* ---- transitions ---- */

static int modify(struct bf_ibgda_transport *t, const struct bf_ibgda_batch *b, const struct bf_ibgda_ep *ep,
		  enum bf_mlx5_cmd_op op, const char *name, uint8_t in[BF_MODIFY_QP_LEN])
{
	BF_MLX5_SET(in, BF_CMD_IN_NUMBER, ep->qpn);
	return bf_ibgda_cmd(t, b->nic, op, name, in, BF_MODIFY_QP_LEN, NULL);
}

int bf_ibgda_rst2init(struct bf_ibgda_transport *t, const struct bf_ibgda_batch *b, const struct bf_ibgda_ep *ep)
{
	uint8_t in[BF_MODIFY_QP_LEN] = { 0 };
	uint8_t *qpc = in + BF_QP_QPC;

	BF_MLX5_SET(qpc, BF_QPC_PM_STATE, PM_MIGRATED);
	if (b->type == BF_IBGDA_RC) {
		BF_MLX5_SET(qpc, BF_QPC_RRE, 1);
		BF_MLX5_SET(qpc, BF_QPC_RWE, 1);
		BF_MLX5_SET(qpc, BF_QPC_RAE, 1);
		BF_MLX5_SET(qpc, BF_QPC_ATOMIC_MODE, ATOMIC_MODE_8B);
	} else {
		bf_put_be64(qpc + DC_ACCESS_KEY, BF_IBGDA_DC_KEY);
	}
	BF_MLX5_SET(qpc + BF_QPC_PATH, BF_PATH_PORT, b->port + 1);
	return modify(t, b, ep, BF_MLX5_CMD_RST2INIT_QP, "RST2INIT_QP", in);
}

static void put_path(uint8_t *path, uint32_t port, const struct bf_ibgda_address *to)
{
	BF_MLX5_SET(path, BF_PATH_HOP_LIMIT, HOP_LIMIT);
	BF_MLX5_SET(path, BF_PATH_PORT, port + 1);
	if (!to)
		return;
	memcpy(path + BF_PATH_RGID, to->gid, sizeof(to->gid));
	BF_MLX5_SET(path, BF_PATH_RMAC_HI, (uint32_t)to->mac[0] << 8 | to->mac[1]);
	BF_MLX5_SET(path, BF_PATH_RMAC_LO, bf_get_be32(to->mac + 2));
}

int bf_ibgda_init2rtr(struct bf_ibgda_transport *t, const struct bf_ibgda_batch *b, const struct bf_ibgda_ep *ep,
		      const struct bf_ibgda_rc_handle *to)
{
	uint8_t in[BF_MODIFY_QP_LEN] = { 0 };
	uint8_t *qpc = in + BF_QP_QPC, *path = qpc + BF_QPC_PATH;

	BF_MLX5_SET(qpc, BF_QPC_MTU, MTU_4096);
	BF_MLX5_SET(qpc, BF_QPC_LOG_MSG_MAX, LOG_MSG_MAX);
	BF_MLX5_SET(path, BF_PATH_DSCP, (uint32_t)t->env->ib_traffic_class >> 2);
	BF_MLX5_SET(path, BF_PATH_ETH_PRIO, (uint32_t)t->env->ib_sl);
	BF_MLX5_SET(path, BF_PATH_UDP_SPORT, UDP_SPORT | (ep->qpn & 0x3fff));
	if (to) {
		BF_MLX5_SET(qpc, BF_QPC_REMOTE_QPN, to->qpn);
		BF_MLX5_SET(qpc, BF_QPC_NEXT_RCV_PSN, 0);
		BF_MLX5_SET(qpc, BF_QPC_LOG_RRA_MAX, t->opts.bugs & BF_IBGDA_BUG_READ_DEPTH ? 0 : LOG_READS);
		BF_MLX5_SET(qpc, BF_QPC_MIN_RNR_NAK, MIN_RNR_NAK);
	}
	put_path(path, b->port, to ? &to->at : NULL);
	return modify(t, b, ep, BF_MLX5_CMD_INIT2RTR_QP, "INIT2RTR_QP", in);
}

int bf_ibgda_rtr2rts(struct bf_ibgda_transport *t, const struct bf_ibgda_batch *b, const struct bf_ibgda_ep *ep)
{
	const uint32_t timeout = t->opts.ack_timeout ? t->opts.ack_timeout : ACK_TIMEOUT;
	uint8_t in[BF_MODIFY_QP_LEN] = { 0 };
	uint8_t *qpc = in + BF_QP_QPC;

	BF_MLX5_SET(qpc, BF_QPC_LOG_ACK_REQ_FREQ, 0);
	BF_MLX5_SET(qpc, BF_QPC_LOG_SRA_MAX, LOG_READS);
	BF_MLX5_SET(qpc, BF_QPC_RETRY_COUNT, t->opts.retry_count ? t->opts.retry_count : RETRY_COUNT);
	BF_MLX5_SET(qpc, BF_QPC_RNR_RETRY, t->opts.bugs & BF_IBGDA_BUG_RNR_FINITE ? 1 : RNR_RETRY);
	BF_MLX5_SET(qpc, BF_QPC_NEXT_SEND_PSN, 0);
	BF_MLX5_SET(qpc + BF_QPC_PATH, BF_PATH_ACK_TIMEOUT, timeout);
	return modify(t, b, ep, BF_MLX5_CMD_RTR2RTS_QP, "RTR2RTS_QP", in);
}
