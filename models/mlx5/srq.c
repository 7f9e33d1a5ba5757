/*
 * Shared receive queues: SRQs and, as the kernel makes them, receive memory pools (RMPs). One number space has both.
 *
 * As with a receive queue nothing rings when WQEs are posted: when a request needs one and none is known the doorbell
 * record is read, then WQEs. A linked list starts at WQE 0 and goes on where each WQE's first segment says, which the
 * poster fixes before the record counts the WQE (rdma-core providers/mlx5/srq.c). Queue pairs stand in line for what a
 * read brings.
 */
#include "models/mlx5/device_internal.h"

#include <inttypes.h>
#include <stdlib.h>

enum { IDLE, RECORD, FETCH };

#define LOG_STRIDE_MIN 5u
#define LOG_STRIDE_MAX 11u
BF_STATIC_ASSERT(1u << LOG_STRIDE_MAX == BF_MLX5_SRQ_STRIDE_MAX, "room for any receive WQE");
#define CACHE_BYTES 4096u /* at most, as much as a receive queue's: assumed */

/* SRQC.state, RMPC.state. */
#define SRQ_STATE_ERROR 1u
#define RMP_STATE_ERROR 3u

/* What CREATE_SRQ and CREATE_RMP have in common. */
struct shape {
	uint32_t pd, limit;
	uint32_t log_size, log_stride;
	bool cyclic, signature, ring_valid, dbr_valid;
	uint32_t ring_umem, dbr_umem;
	uint64_t ring, dbr;
	uint32_t log_page, page_offset; /* of pages that come with the command: bf_mlx5_buf_pages() */
};

static void read_done(struct bf_dma_op *op);

static uint16_t left(const struct bf_mlx5_srq *srq)
{
	return (uint16_t)(srq->producer - srq->consumed);
}

static void start(struct bf_mlx5_srq *srq, uint8_t what, uint64_t iova, uint32_t len, void *to)
{
	srq->busy = what;
	srq->op.iova = iova;
	srq->op.len = len;
	srq->op.dst = to;
	srq->op.done = read_done;
	bf_dma_read(&srq->dev->dma, &srq->op);
}

static void read_record(struct bf_mlx5_srq *srq)
{
	uint32_t run;

	start(srq, RECORD, bf_mlx5_buf_iova(&srq->dbr, 0, sizeof(srq->record), &run), sizeof(srq->record), srq->record);
}

/* WQEs that lie behind one another are read at once; whether the list goes that way is seen as it is followed. */
static void read_wqes(struct bf_mlx5_srq *srq)
{
	uint32_t n = srq->mask + 1u - srq->at, most = CACHE_BYTES / srq->stride, run;
	uint64_t iova;

	n = n < left(srq) ? n : left(srq);
	n = n < most ? n : most;
	iova = bf_mlx5_buf_iova(&srq->ring, (uint64_t)srq->at * srq->stride, n * srq->stride, &run);
	srq->cached = 0;
	srq->cached_at = srq->at;
	start(srq, FETCH, iova, run - run % srq->stride, srq->bytes);
}

/* Something is to be learned: by those in line, or of a limit that may have been reached. */
static void look(struct bf_mlx5_srq *srq)
{
	if (srq->busy != IDLE || srq->error)
		return;
	if (srq->check_limit || (srq->first && !left(srq)))
		read_record(srq);
	else if (srq->first)
		read_wqes(srq);
}

static void fail(struct bf_mlx5_srq *srq)
{
	if (srq->error)
		return;
	srq->error = true;
	bf_mlx5_event_number(srq->dev, BF_MLX5_EVENT_SRQ_CATAS_ERROR, srq->srqn);
}

/* The limit is an event once; then it must be set anew (IBA vol. 1 section 10.2.9.1). */
static void check_limit(struct bf_mlx5_srq *srq)
{
	srq->check_limit = false;
	if (!srq->limit || left(srq) >= srq->limit)
		return;
	srq->limit = 0;
	bf_mlx5_event_number(srq->dev, BF_MLX5_EVENT_SRQ_RQ_LIMIT, srq->srqn);
}

static void stand_in_line(struct bf_mlx5_srq *srq, struct bf_mlx5_receive *rx)
{
	rx->in_line = true;
	rx->next = NULL;
	*srq->last = rx;
	srq->last = &rx->next;
}

void bf_mlx5_srq_leave_line(struct bf_mlx5_qp *qp)
{
	struct bf_mlx5_srq *srq = qp->srq;
	struct bf_mlx5_receive **link, *rx = qp->receive;

	if (!rx || !rx->in_line)
		return;
	for (link = &srq->first; *link != rx;)
		link = &(*link)->next;
	*link = rx->next;
	if (!rx->next)
		srq->last = link;
	rx->in_line = false;
}

/* Everyone who stands in line now looks again; who finds nothing stands in line anew, behind them. */
static void call_line(struct bf_mlx5_srq *srq, enum bf_rdma_take found)
{
	uint32_t n = 0;

	for (const struct bf_mlx5_receive *rx = srq->first; rx; rx = rx->next)
		n++;
	while (n-- && srq->first) {
		struct bf_mlx5_qp *qp = srq->first->qp;

		bf_mlx5_srq_leave_line(qp);
		qp->rq_found = (uint8_t)found;
		bf_rdma_rx_resume(&qp->rdma);
		qp->rq_found = BF_RDMA_TAKE_WAIT;
	}
}

static void forget_zombie(struct bf_mlx5_srq *srq)
{
	struct bf_mlx5_srq **link = &srq->dev->zombie_srqs;

	while (*link != srq)
		link = &(*link)->next_zombie;
	*link = srq->next_zombie;
	free(srq);
}

static void read_done(struct bf_dma_op *op)
{
	struct bf_mlx5_srq *srq = BF_CONTAINER_OF(op, struct bf_mlx5_srq, op);
	uint8_t what = srq->busy;

	srq->busy = IDLE;
	if (srq->dead) {
		forget_zombie(srq);
		return;
	}
	if (op->status) {
		fail(srq);
		call_line(srq, BF_RDMA_TAKE_BROKEN);
		return;
	}
	if (what == RECORD) {
		srq->producer = (uint16_t)bf_get_be32(srq->record);
		check_limit(srq);
		if (!left(srq))
			call_line(srq, BF_RDMA_TAKE_EMPTY);
	} else {
		srq->cached = (uint16_t)(op->len / srq->stride);
		call_line(srq, BF_RDMA_TAKE_WAIT);
	}
	look(srq);
}

/*
 * Takes the WQE at `at`, which is cached. Those of a cyclic queue begin with the link as well, which nobody follows
 * (UCX, src/uct/ib/mlx5, uct_ib_mlx5_srq_stride()).
 */
static void take(struct bf_mlx5_srq *srq, struct bf_mlx5_qp *qp)
{
	const uint8_t *wqe = srq->bytes + (size_t)(srq->at - srq->cached_at) * srq->stride;
	const struct bf_mlx5_srq_next *link = (const void *)wqe;
	const uint16_t index = srq->at;

	srq->at = srq->cyclic ? (uint16_t)((index + 1u) & srq->mask) : bf_be16(link->next_wqe_index);
	srq->consumed++;
	if (srq->at != index + 1u)
		srq->cached = 0; /* what lies there may have been reused by the time the list comes back */
	BF_EMIT(srq->dev->sim, srq->actor, srq_take, .srqn = srq->srqn, .qpn = qp->rdma.qpn, .index = index,
		.next = srq->at, .left = left(srq), .limit = srq->limit);
	bf_mlx5_rq_begin(qp, wqe + sizeof(*link), srq->stride - (uint32_t)sizeof(*link), index, srq->producer);
	if (srq->at > srq->mask)
		fail(srq); /* the list leads out of the ring */
	if (srq->limit && left(srq) < srq->limit) {
		srq->check_limit = true; /* more may have been posted since the record was read */
		look(srq);
	}
}

enum bf_rdma_take bf_mlx5_srq_take(struct bf_mlx5_qp *qp)
{
	struct bf_mlx5_srq *srq = qp->srq;
	enum bf_rdma_take found = qp->rq_found;

	/* Without memory no receive can be had; the requester tries again later. */
	if (!bf_mlx5_qp_make_receives(qp))
		return BF_RDMA_TAKE_EMPTY;
	if (srq->error)
		return BF_RDMA_TAKE_BROKEN;
	if (left(srq) && (uint16_t)(srq->at - srq->cached_at) < srq->cached) {
		take(srq, qp);
		return BF_RDMA_TAKE_TAKEN;
	}
	qp->rq_found = BF_RDMA_TAKE_WAIT;
	if (found == BF_RDMA_TAKE_WAIT) {
		stand_in_line(srq, qp->receive);
		look(srq);
	}
	return found;
}

static uint8_t srq_buffers(struct bf_mlx5_srq *srq, const struct bf_mlx5_mail *m, const struct shape *s)
{
	uint64_t bytes = (uint64_t)srq->stride << s->log_size;
	uint8_t status;

	if (s->dbr & 7)
		return bf_mlx5_refuse(srq->dev, BF_MLX5_CMD_BAD_PARAM,
				      "dbr_addr 0x%" PRIx64 ": must be a multiple of 8", s->dbr);
	if (!s->ring_valid && bf_mlx5_has_pages(m))
		status = bf_mlx5_buf_pages(m, &srq->ring, s->log_page, s->page_offset, bytes);
	else
		status = bf_mlx5_buf_init(srq->dev, &srq->ring, s->ring_valid, s->ring_umem, s->ring, bytes);
	if (!status)
		status = bf_mlx5_buf_init(srq->dev, &srq->dbr, s->dbr_valid, s->dbr_umem, s->dbr, BF_MLX5_DBR_BYTES);
	return status;
}

static void hold(struct bf_mlx5_srq *srq, uint32_t by)
{
	struct bf_mlx5_pd *pd = bf_mlx5_table_get(&srq->dev->pds, srq->pd);

	pd->users += by;
	bf_mlx5_buf_hold(srq->dev, &srq->ring, by);
	bf_mlx5_buf_hold(srq->dev, &srq->dbr, by);
}

static void record_config(const struct bf_mlx5_srq *srq, const struct shape *s)
{
	BF_EMIT(srq->dev->sim, srq->actor, srq_config, .dbrec = s->dbr,
		.ring = bf_mlx5_buf_linear(&srq->ring) ? srq->ring.at : 0, .srqn = srq->srqn, .wqes = srq->mask + 1u,
		.stride = srq->stride, .pd = srq->pd, .cyclic = srq->cyclic);
}

/* `context` is kept for QUERY. */
static uint8_t create(struct bf_mlx5_mail *m, const struct shape *s, const uint8_t *context, uint32_t len)
{
	struct bf_mlx5 *dev = m->dev;
	struct bf_mlx5_srq *srq;
	char name[64];
	uint8_t status;

	if (!bf_mlx5_table_get(&dev->pds, s->pd))
		return bf_mlx5_refuse(dev, BF_MLX5_CMD_BAD_RES, "pd 0x%x: there is no such protection domain", s->pd);
	if (s->log_size > 15 || s->log_stride < LOG_STRIDE_MIN || s->log_stride > LOG_STRIDE_MAX || s->signature)
		return bf_mlx5_refuse(
		    dev, BF_MLX5_CMD_BAD_PARAM,
		    "log_size %u, stride 2^%u, wq_signature %u: must be 15 at most, 2^%u to 2^%u, and 0", s->log_size,
		    s->log_stride, s->signature, LOG_STRIDE_MIN, LOG_STRIDE_MAX);
	srq = calloc(1, sizeof(*srq) + CACHE_BYTES);
	if (!srq)
		return BF_MLX5_CMD_NO_RES;
	srq->dev = dev;
	srq->last = &srq->first;
	srq->pd = s->pd;
	srq->stride = (uint16_t)(1u << s->log_stride);
	srq->mask = (uint16_t)((1u << s->log_size) - 1);
	srq->cyclic = s->cyclic;
	srq->limit = (uint16_t)s->limit;
	srq->context_len = (uint16_t)len;
	memcpy(srq->context, context, len);
	status = srq_buffers(srq, m, s);
	if (!status && bf_mlx5_table_add(&dev->srqs, srq, &srq->srqn))
		status = BF_MLX5_CMD_LIM;
	if (status) {
		bf_mlx5_buf_hold(dev, &srq->ring, 0);
		free(srq);
		return status;
	}
	hold(srq, 1);
	snprintf(name, sizeof(name), "%s.srq0x%x", dev->name, srq->srqn);
	srq->actor = bf_stream_actor(&dev->sim->rec, "queue", name);
	record_config(srq, s);
	m->number = srq->srqn;
	return BF_MLX5_CMD_OK;
}

/* An XRC SRQ completes to a CQ of its own. Queues that the kernel makes only to have one may name none. */
static void join_xrc(struct bf_mlx5_mail *m, const uint8_t *srqc)
{
	struct bf_mlx5_srq *srq = bf_mlx5_table_get(&m->dev->srqs, m->number);

	srq->xrcd = BF_MLX5_GET(srqc, BF_XRC_SRQC_XRCD);
	srq->user_index = BF_MLX5_GET(srqc, BF_XRC_SRQC_USER_INDEX);
	srq->cq = bf_mlx5_table_get(&m->dev->cqs, BF_MLX5_GET(srqc, BF_XRC_SRQC_CQN));
	if (srq->cq)
		srq->cq->users++;
}

uint8_t bf_mlx5_cmd_create_srq(struct bf_mlx5_mail *m)
{
	const uint8_t *srqc = m->in + BF_SRQ_SRQC;
	uint8_t status;
	struct shape s = {
		.pd = BF_MLX5_GET(srqc, BF_SRQC_PD),
		.limit = BF_MLX5_GET(srqc, BF_SRQC_LWM),
		.log_size = BF_MLX5_GET(srqc, BF_SRQC_LOG_SIZE),
		.log_stride = BF_MLX5_GET(srqc, BF_SRQC_LOG_STRIDE) + 4,
		.signature = BF_MLX5_GET(srqc, BF_SRQC_WQ_SIGNATURE),
		.ring_valid = BF_MLX5_GET(m->in, BF_CREATE_SRQ_UMEM_VALID),
		.ring_umem = BF_MLX5_GET(m->in, BF_CREATE_SRQ_UMEM_ID),
		.ring = bf_get_be64(m->in + BF_CREATE_SRQ_UMEM_OFFSET),
		.dbr = bf_get_be64(srqc + BF_SRQC_DBR_ADDR),
		.log_page = BF_MLX5_GET(srqc, BF_SRQC_LOG_PAGE_SIZE),
		.page_offset = BF_MLX5_GET(srqc, BF_SRQC_PAGE_OFFSET),
	};

	status = create(m, &s, srqc, BF_SRQC_LEN);
	if (!status && m->opcode == BF_MLX5_CMD_CREATE_XRC_SRQ)
		join_xrc(m, srqc);
	return status;
}

uint8_t bf_mlx5_cmd_create_rmp(struct bf_mlx5_mail *m)
{
	const uint8_t *rmpc = m->in + BF_RMP_RMPC, *wq = rmpc + BF_RMPC_WQ;
	uint32_t type = BF_MLX5_GET(wq, BF_WQ_TYPE);
	struct shape s = {
		.pd = BF_MLX5_GET(wq, BF_WQ_PD),
		.limit = BF_MLX5_GET(wq, BF_WQ_LWM),
		.log_size = BF_MLX5_GET(wq, BF_WQ_LOG_SIZE),
		.log_stride = BF_MLX5_GET(wq, BF_WQ_LOG_STRIDE),
		.cyclic = type == BF_WQ_CYCLIC,
		.signature = BF_MLX5_GET(wq, BF_WQ_SIGNATURE),
		.ring_valid = BF_MLX5_GET(wq, BF_WQ_UMEM_VALID),
		.ring_umem = BF_MLX5_GET(wq, BF_WQ_UMEM_ID),
		.ring = bf_get_be64(wq + BF_WQ_UMEM_OFFSET),
		.dbr_valid = BF_MLX5_GET(wq, BF_WQ_DBR_UMEM_VALID),
		.dbr_umem = BF_MLX5_GET(wq, BF_WQ_DBR_UMEM_ID),
		.dbr = bf_get_be64(wq + BF_WQ_DBR_ADDR),
		.log_page = BF_MLX5_GET(wq, BF_WQ_LOG_PAGE_SIZE),
		.page_offset = BF_MLX5_GET(wq, BF_WQ_PAGE_OFFSET),
	};

	if (type != BF_WQ_LINKED_LIST && type != BF_WQ_CYCLIC)
		return bf_mlx5_refuse(m->dev, BF_MLX5_CMD_BAD_PARAM,
				      "wq_type %u: must be LINKED_LIST, %u, or CYCLIC, %u", type, BF_WQ_LINKED_LIST,
				      BF_WQ_CYCLIC);
	return create(m, &s, rmpc, BF_RMPC_LEN);
}

/* The object that the command may speak of: an SRQ, or an RMP. */
static struct bf_mlx5_srq *find(const struct bf_mlx5_mail *m, bool rmp)
{
	struct bf_mlx5_srq *srq = bf_mlx5_table_get(&m->dev->srqs, m->number);

	return srq && (srq->context_len == BF_RMPC_LEN) == rmp ? srq : NULL;
}

uint8_t bf_mlx5_cmd_destroy_srq(struct bf_mlx5_mail *m)
{
	struct bf_mlx5_srq *srq = find(m, m->opcode == BF_MLX5_CMD_DESTROY_RMP);

	if (!srq)
		return BF_MLX5_CMD_BAD_RES;
	if (srq->users)
		return BF_MLX5_CMD_RES_BUSY;
	hold(srq, UINT32_MAX); /* minus one */
	bf_mlx5_table_remove(&m->dev->srqs, srq->srqn);
	if (srq->cq) {
		srq->cq->users--;
		bf_mlx5_xrc_forget(srq);
	}
	if (srq->busy == IDLE) {
		free(srq);
		return BF_MLX5_CMD_OK;
	}
	srq->dead = true;
	srq->next_zombie = m->dev->zombie_srqs;
	m->dev->zombie_srqs = srq;
	return BF_MLX5_CMD_OK;
}

/* A limit that was reached already is an event at once. */
static uint8_t set_limit(struct bf_mlx5_srq *srq, uint32_t limit)
{
	if (!srq)
		return BF_MLX5_CMD_BAD_RES;
	if (srq->error)
		return bf_mlx5_refuse(srq->dev, BF_MLX5_CMD_BAD_RES_STATE, "SRQ 0x%x is in error", srq->srqn);
	if (limit > srq->mask + 1u)
		return bf_mlx5_refuse(srq->dev, BF_MLX5_CMD_BAD_PARAM, "lwm %u: must be %u at most, its entries", limit,
				      srq->mask + 1u);
	srq->limit = (uint16_t)limit;
	srq->check_limit = limit != 0;
	look(srq);
	return BF_MLX5_CMD_OK;
}

uint8_t bf_mlx5_cmd_arm_rq(struct bf_mlx5_mail *m)
{
	if (BF_MLX5_GET(m->in, BF_CMD_OP_MOD) != BF_ARM_RQ_SRQ)
		return bf_mlx5_refuse(m->dev, BF_MLX5_CMD_BAD_PARAM, "op_mod %u: must be %u, an SRQ",
				      BF_MLX5_GET(m->in, BF_CMD_OP_MOD), BF_ARM_RQ_SRQ);
	return set_limit(find(m, false), BF_MLX5_GET(m->in, BF_ARM_RQ_LWM));
}

uint8_t bf_mlx5_cmd_modify_rmp(struct bf_mlx5_mail *m)
{
	const uint8_t *wq = m->in + BF_RMP_RMPC + BF_RMPC_WQ;

	if (!BF_MLX5_GET(m->in, BF_MODIFY_RMP_BITMASK))
		return find(m, true) ? BF_MLX5_CMD_OK : BF_MLX5_CMD_BAD_RES;
	return set_limit(find(m, true), BF_MLX5_GET(wq, BF_WQ_LWM));
}

uint8_t bf_mlx5_cmd_query_srq(struct bf_mlx5_mail *m)
{
	const struct bf_mlx5_srq *srq = find(m, false);
	uint8_t *srqc = m->out + BF_SRQ_SRQC;

	if (!srq)
		return BF_MLX5_CMD_BAD_RES;
	memcpy(srqc, srq->context, srq->context_len);
	BF_MLX5_SET(srqc, BF_SRQC_STATE, srq->error ? SRQ_STATE_ERROR : 0);
	BF_MLX5_SET(srqc, BF_SRQC_LWM, srq->limit);
	BF_MLX5_SET(srqc, BF_SRQC_WQE_COUNT, left(srq));
	return BF_MLX5_CMD_OK;
}

uint8_t bf_mlx5_cmd_query_rmp(struct bf_mlx5_mail *m)
{
	const struct bf_mlx5_srq *srq = find(m, true);
	uint8_t *rmpc = m->out + BF_RMP_RMPC, *wq = rmpc + BF_RMPC_WQ;

	if (!srq)
		return BF_MLX5_CMD_BAD_RES;
	memcpy(rmpc, srq->context, srq->context_len);
	BF_MLX5_SET(rmpc, BF_RMPC_STATE, srq->error ? RMP_STATE_ERROR : BF_RMPC_READY);
	BF_MLX5_SET(wq, BF_WQ_LWM, srq->limit);
	BF_MLX5_SET(wq, BF_WQ_HW_COUNTER, srq->consumed);
	BF_MLX5_SET(wq, BF_WQ_SW_COUNTER, srq->producer);
	return BF_MLX5_CMD_OK;
}
