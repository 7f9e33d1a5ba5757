/* Completion queues: CQEs, the owner bit, overrun, arming; and the commands that make and destroy CQs. */
#include "models/mlx5/device_internal.h"

#include <stdlib.h>

#include "sim/fault.h"

/* Every ConnectX-4 and later requester-error dump has bit 1 of op_own set (mlx5.md section 4.1). */
#define ERROR_OP_OWN 0x02u

enum { CQE_WRITTEN, CQE_LOST, CQE_OVERRUN, CQE_IN_ERROR, CQE_FAILED };
enum { EVENT_COMPLETION, EVENT_OVERRUN, EVENT_FAILED };

/* CQC.status (mlx5_ifc.h MLX5_CQC_STATUS_*). */
enum { CQ_STATUS_OK = 0, CQ_STATUS_OVERRUN = 9, CQ_STATUS_WRITE_FAIL = 10 };

struct bf_mlx5_cq_wait {
	struct bf_mlx5_cq_wait *next;
	struct bf_mlx5_completion c;
	uint32_t qpn;
	uint32_t user_index;
	uint32_t actor;
	uint64_t made_ns;
};

/* All that a CQE says of its queue. */
struct source {
	uint32_t qpn, user_index;
	uint64_t ns;
};

static uint8_t xor_of_bytes(uint64_t x)
{
	x ^= x >> 32;
	x ^= x >> 16;
	return (uint8_t)(x ^ x >> 8);
}

/*
 * The signature byte makes the XOR of all bytes of the CQE equal to 0xff XOR the bytes of the slot counter: inferred
 * from dumps (mlx5.md section 4.1). `x` collects the fields as numbers: the XOR of their bytes is the same in any
 * order.
 */
static void build(const struct bf_mlx5_cq *cq, const struct source *from, const struct bf_mlx5_completion *c,
		  struct bf_mlx5_cqe *cqe)
{
	uint8_t owner = (cq->producer & (cq->mask + 1)) != 0;
	uint32_t sop_drop_qpn = (uint32_t)c->wqe_opcode << 24 | from->qpn;
	uint64_t x = from->user_index ^ sop_drop_qpn ^ c->index ^ cq->producer;

	memset(cqe, 0, sizeof(*cqe));
	cqe->srqn_uidx = bf_to_be32(from->user_index);
	cqe->sop_drop_qpn = bf_to_be32(sop_drop_qpn);
	cqe->wqe_counter = bf_to_be16(c->index);
	cqe->op_own = (uint8_t)(c->opcode << 4 | owner);
	if (c->err.syndrome) {
		struct bf_mlx5_err_cqe *e = (void *)cqe;

		e->hw_err_synd = c->err.hw;
		e->vendor_err_synd = c->err.vendor;
		e->syndrome = c->err.syndrome;
		e->op_own |= ERROR_OP_OWN;
		x ^= c->err.hw ^ c->err.vendor ^ c->err.syndrome;
	} else {
		cqe->imm_inval_pkey = bf_to_be32(c->imm);
		cqe->byte_cnt = bf_to_be32(c->byte_cnt);
		cqe->timestamp = bf_to_be64(from->ns);
		if (c->solicited)
			cqe->op_own |= BF_MLX5_CQE_SE;
		x ^= c->imm ^ c->byte_cnt ^ from->ns;
	}
	cqe->signature = (uint8_t)(0xff ^ cqe->op_own ^ xor_of_bytes(x));
}

static void record_cqe(const struct bf_mlx5_cq *cq, uint32_t qpn, const struct bf_mlx5_completion *c, uint64_t iova,
		       uint8_t verdict, const struct bf_mlx5_cqe *cqe)
{
	struct bf_rec_cqe rec = {
		.iova = iova,
		.cqn = cq->cqn,
		.qpn = qpn,
		.count = cq->producer,
		.slot = cq->collapsed ? 0 : cq->producer & cq->mask,
		.byte_cnt = c->byte_cnt,
		.imm = c->imm,
		.index = c->index,
		.opcode = c->opcode,
		.syndrome = c->err.syndrome,
		.vendor = c->err.vendor,
		.wqe_opcode = c->wqe_opcode,
		.solicited = c->solicited,
		.verdict = verdict,
	};

	bf_record(&cq->dev->sim->rec, &bf_rec_cqe_schema, cq->actor, &rec, cqe, cqe ? sizeof(*cqe) : 0);
}

static void event(struct bf_mlx5_cq *cq, uint8_t kind)
{
	if (bf_probe(cq->dev->sim, BF_CLASS_QUEUE)) {
		struct bf_rec_cq_event rec = {
			.cqn = cq->cqn,
			.producer = cq->producer & 0xffffff,
			.consumer = cq->consumer,
			.kind = kind,
			.sn = cq->arm_sn,
		};

		bf_record(&cq->dev->sim->rec, &bf_rec_cq_event_schema, cq->actor, &rec, NULL, 0);
	}
	if (kind == EVENT_COMPLETION)
		bf_mlx5_event_comp(cq);
}

/* The CQ accepts nothing any more and its queue pairs fail (libfabric#4525 in mlx5.md section 4.5). */
static void fail(struct bf_mlx5_cq *cq, uint8_t kind)
{
	struct bf_mlx5_qp *qp;

	if (cq->error)
		return;
	cq->error = true;
	cq->status = kind == EVENT_OVERRUN ? CQ_STATUS_OVERRUN : CQ_STATUS_WRITE_FAIL;
	event(cq, kind);
	bf_mlx5_event_cq_error(cq, kind == EVENT_OVERRUN ? BF_EQE_CQ_ERR_OVERRUN : BF_EQE_CQ_ERR_ACCESS);
	for (uint32_t n = 0; (qp = bf_mlx5_table_next(&cq->dev->qps, &n)); n++) {
		if (qp->state != BF_MLX5_QPS_RST && qp->state != BF_MLX5_QPS_ERR &&
		    (qp->send_cq == cq || qp->recv_cq == cq)) {
			bf_mlx5_event_qp(qp, BF_MLX5_EVENT_WQ_CATAS_ERROR);
			bf_mlx5_qp_error(qp, 3);
		}
	}
}

/* Called right after the CQE was written: the last posted write on the link is it. */
static void count_cqe(struct bf_mlx5 *dev, const struct bf_mlx5_completion *c)
{
	dev->count.cqes++;
	if (BF_UNLIKELY(c->err.syndrome))
		dev->count.error_cqes++;
	else if (c->told_ps)
		bf_hist_add(dev->latency, dev->link.posted_ps - c->told_ps);
}

static void put(struct bf_mlx5_cq *cq, const struct source *from, const struct bf_mlx5_completion *c)
{
	struct bf_mlx5 *dev = cq->dev;
	uint32_t slot = cq->collapsed ? 0 : cq->producer & cq->mask, run;
	uint64_t at = (uint64_t)slot * cq->cqe_size + (cq->cqe_size - sizeof(struct bf_mlx5_cqe));
	uint64_t iova = bf_mlx5_buf_iova(&cq->buf, at, sizeof(struct bf_mlx5_cqe), &run);
	uint8_t verdict = CQE_WRITTEN;
	struct bf_mlx5_cqe cqe;
	struct bf_fault lost;

	build(cq, from, c, &cqe);
	if (bf_fault_check(dev->sim, BF_FAULT_LOST_COMPLETION, cq->actor, from->qpn, &lost))
		verdict = CQE_LOST;
	else if (bf_dma_write(&dev->dma, iova, &cqe, sizeof(cqe), 0))
		verdict = CQE_FAILED;
	if (bf_probe(dev->sim, BF_CLASS_QUEUE))
		record_cqe(cq, from->qpn, c, iova, verdict, &cqe);
	if (verdict == CQE_WRITTEN)
		count_cqe(dev, c);
	cq->producer++;
	if (cq->arm && verdict == CQE_WRITTEN && (cq->arm == 1 || c->solicited || c->err.syndrome)) {
		cq->arm = 0;
		event(cq, EVENT_COMPLETION);
	}
	if (verdict == CQE_FAILED)
		fail(cq, EVENT_FAILED);
}

static bool full(const struct bf_mlx5_cq *cq)
{
	return ((cq->producer - cq->consumer) & 0xffffff) > cq->mask;
}

static void drop_waiting(struct bf_mlx5_cq *cq, uint8_t verdict)
{
	struct bf_mlx5_cq_room *room = cq->room;

	while (room->wait) {
		struct bf_mlx5_cq_wait *w = room->wait;

		room->wait = w->next;
		if (verdict && bf_probe(cq->dev->sim, BF_CLASS_QUEUE))
			record_cqe(cq, w->qpn, &w->c, 0, verdict, NULL);
		free(w);
	}
	room->wait_tail = &room->wait;
}

static void consumer_read(struct bf_dma_op *op)
{
	struct bf_mlx5_cq_room *room = BF_CONTAINER_OF(op, struct bf_mlx5_cq_room, op);
	struct bf_mlx5_cq *cq = room->cq;

	room->reading = false;
	if (cq->dead) {
		struct bf_mlx5_cq **link = &cq->dev->zombie_cqs;

		while (*link != cq)
			link = &(*link)->room->next_zombie;
		*link = room->next_zombie;
		bf_mlx5_cq_free(cq);
		return;
	}
	if (!op->status)
		cq->consumer = bf_get_be32(room->dbr_bytes + 4 * BF_MLX5_CQ_DBR_CI) & 0xffffff;
	while (room->wait && !cq->error && !full(cq)) {
		struct bf_mlx5_cq_wait *w = room->wait;
		struct source from = { w->qpn, w->user_index, w->made_ns };

		room->wait = w->next;
		if (!room->wait)
			room->wait_tail = &room->wait;
		put(cq, &from, &w->c);
		free(w);
	}
	if (room->wait) {
		fail(cq, EVENT_OVERRUN);
		drop_waiting(cq, CQE_OVERRUN);
	}
}

/* The consumer index is read from the doorbell record when the queue looks half full, and before it looks full. */
static void refresh_consumer(struct bf_mlx5_cq *cq)
{
	struct bf_mlx5_cq_room *room = cq->room;
	uint32_t run;

	if (room->reading)
		return;
	room->reading = true;
	room->op.iova = bf_mlx5_buf_iova(&room->dbr, 0, BF_MLX5_DBR_BYTES, &run);
	room->op.len = BF_MLX5_DBR_BYTES;
	room->op.dst = room->dbr_bytes;
	room->op.done = consumer_read;
	bf_dma_read(&cq->dev->dma, &room->op);
}

static void wait_for_room(struct bf_mlx5_cq *cq, const struct source *from, const struct bf_mlx5_completion *c)
{
	struct bf_mlx5_cq_wait *w = malloc(sizeof(*w));

	if (!w) {
		fail(cq, EVENT_OVERRUN);
		return;
	}
	*w = (struct bf_mlx5_cq_wait){ .c = *c, .qpn = from->qpn, .user_index = from->user_index, .made_ns = from->ns };
	*cq->room->wait_tail = w;
	cq->room->wait_tail = &w->next;
	refresh_consumer(cq);
}

void bf_mlx5_cq_write(struct bf_mlx5_cq *cq, struct bf_mlx5_qp *qp, const struct bf_mlx5_completion *c)
{
	struct source from = { qp->qpn, qp->user_index, cq->dev->sim->now_ps / BF_NS };

	if (BF_UNLIKELY(cq->error)) {
		if (bf_probe(cq->dev->sim, BF_CLASS_QUEUE))
			record_cqe(cq, qp->qpn, c, 0, CQE_IN_ERROR, NULL);
		return;
	}
	if (!cq->ignore_overrun) {
		if (cq->room->wait || full(cq)) {
			wait_for_room(cq, &from, c);
			return;
		}
		if (((cq->producer - cq->consumer) & 0xffffff) > cq->mask / 2)
			refresh_consumer(cq);
	}
	put(cq, &from, c);
}

/* be64: sn << 60 | solicited only << 56 | consumer << 32 | cqn (mlx5.md section 4.3). */
void bf_mlx5_cq_arm(struct bf_mlx5_uar *uar, uint64_t doorbell)
{
	struct bf_mlx5 *dev = uar->dev;
	uint32_t word = (uint32_t)(doorbell >> 32), cqn = (uint32_t)doorbell & 0xffffff;
	struct bf_mlx5_cq *cq = bf_mlx5_table_get(&dev->cqs, cqn);
	uint8_t verdict = !cq ? 1 : cq->uar != uar->index ? 2 : 0;

	if (bf_probe(dev->sim, BF_CLASS_QUEUE)) {
		struct bf_rec_cq_arm rec = {
			.cqn = cqn,
			.consumer = word & 0xffffff,
			.sn = word >> 28 & 3,
			.solicited_only = word >> 24 & 1,
			.verdict = verdict,
		};

		bf_record(&dev->sim->rec, &bf_rec_cq_arm_schema, cq ? cq->actor : dev->actor, &rec, NULL, 0);
	}
	if (verdict)
		return;
	cq->arm = word >> 24 & 1 ? 2 : 1;
	cq->arm_sn = word >> 28 & 3;
	/* CQEs that the driver had not seen when it armed raise the event at once. */
	if (cq->arm == 1 && ((cq->producer - word) & 0xffffff)) {
		cq->arm = 0;
		event(cq, EVENT_COMPLETION);
	}
}

void bf_mlx5_cq_free(struct bf_mlx5_cq *cq)
{
	if (cq->room)
		drop_waiting(cq, 0);
	free(cq->room);
	free(cq);
}

static uint8_t cq_buffers(struct bf_mlx5 *dev, struct bf_mlx5_cq *cq, const struct bf_mlx5_mail *m, const uint8_t *cqc)
{
	uint64_t bytes = cq->collapsed ? cq->cqe_size : (uint64_t)cq->cqe_size << BF_MLX5_GET(cqc, BF_CQC_LOG_SIZE);
	uint64_t dbr = bf_get_be64(cqc + BF_CQC_DBR_ADDR);
	struct bf_mlx5_buf record;
	uint8_t status;

	if (dbr & 7)
		return BF_MLX5_CMD_BAD_PARAM;
	status = bf_mlx5_buf_init(dev, &cq->buf, BF_MLX5_GET(m->in, BF_CREATE_CQ_UMEM_VALID),
				  BF_MLX5_GET(m->in, BF_CREATE_CQ_UMEM_ID),
				  bf_get_be64(m->in + BF_CREATE_CQ_UMEM_OFFSET), bytes);
	if (!status)
		status = bf_mlx5_buf_init(dev, &record, BF_MLX5_GET(cqc, BF_CQC_DBR_UMEM_VALID),
					  BF_MLX5_GET(cqc, BF_CQC_DBR_UMEM_ID), dbr, BF_MLX5_DBR_BYTES);
	if (!status && cq->room)
		cq->room->dbr = record;
	return status;
}

/* The context lies behind the queue. */
static struct bf_mlx5_packed *packed_of(const struct bf_mlx5_cq *cq)
{
	return (struct bf_mlx5_packed *)(uintptr_t)(cq + 1);
}

static void hold(struct bf_mlx5 *dev, const struct bf_mlx5_cq *cq, uint32_t by)
{
	uint8_t cqc[BF_CQC_LEN];

	bf_mlx5_unpack(packed_of(cq), cqc, sizeof(cqc));
	if (BF_MLX5_GET(cqc, BF_CQC_DBR_UMEM_VALID)) {
		struct bf_mlx5_umem *u = bf_mlx5_table_get(&dev->umems, BF_MLX5_GET(cqc, BF_CQC_DBR_UMEM_ID));

		u->users += by;
	}
	if (cq->buf.umem)
		cq->buf.umem->users += by;
	dev->uars[cq->uar]->users += by;
	if (cq->eq)
		cq->eq->users += by;
}

static void record_config(const struct bf_mlx5_cq *cq, const uint8_t *cqc)
{
	struct bf_rec_cq_config rec = {
		.dbrec = bf_get_be64(cqc + BF_CQC_DBR_ADDR),
		.cqn = cq->cqn,
		.cqes = cq->mask + 1,
		.cqe_size = cq->cqe_size,
		.uar = cq->uar,
		.collapsed = cq->collapsed,
		.overrun_ignore = cq->ignore_overrun,
	};

	bf_record(&cq->dev->sim->rec, &bf_rec_cq_config_schema, cq->actor, &rec, NULL, 0);
}

/* A CQ with its context, and with what it needs against overrun unless it is to ignore that. NULL: no memory. */
static struct bf_mlx5_cq *make(const uint8_t *cqc)
{
	struct bf_mlx5_cq *cq = calloc(1, sizeof(*cq) + bf_mlx5_packed_size(cqc, BF_CQC_LEN));

	if (!cq)
		return NULL;
	bf_mlx5_pack(packed_of(cq), cqc, BF_CQC_LEN);
	cq->ignore_overrun = BF_MLX5_GET(cqc, BF_CQC_OI);
	if (cq->ignore_overrun)
		return cq;
	cq->room = calloc(1, sizeof(*cq->room));
	if (!cq->room) {
		free(cq);
		return NULL;
	}
	cq->room->cq = cq;
	cq->room->wait_tail = &cq->room->wait;
	return cq;
}

uint8_t bf_mlx5_cmd_create_cq(struct bf_mlx5_mail *m)
{
	struct bf_mlx5 *dev = m->dev;
	const uint8_t *cqc = m->in + BF_CREATE_CQ_CQC;
	uint32_t uar = BF_MLX5_GET(cqc, BF_CQC_UAR_PAGE), log_size = BF_MLX5_GET(cqc, BF_CQC_LOG_SIZE);
	uint32_t eqn = BF_MLX5_GET(cqc, BF_CQC_EQN);
	struct bf_mlx5_cq *cq;
	char name[64];
	uint8_t status;

	/* Event queue 0 is none: drivers that never arm need not make one (the model's own liberty). */
	if (!bf_mlx5_uar_find(dev, uar) || (eqn && !bf_mlx5_table_get(&dev->eqs, eqn)))
		return BF_MLX5_CMD_BAD_RES;
	/* Compressed CQEs are not modelled. */
	if (log_size > 22 || BF_MLX5_GET(cqc, BF_CQC_CQE_SZ) > 1 || BF_MLX5_GET(cqc, BF_CQC_COMP_EN))
		return BF_MLX5_CMD_BAD_PARAM;
	cq = make(cqc);
	if (!cq)
		return BF_MLX5_CMD_NO_RES;
	cq->dev = dev;
	cq->eq = bf_mlx5_table_get(&dev->eqs, eqn);
	cq->uar = uar;
	cq->mask = (1u << log_size) - 1;
	cq->cqe_size = BF_MLX5_GET(cqc, BF_CQC_CQE_SZ) ? 128 : 64;
	cq->collapsed = BF_MLX5_GET(cqc, BF_CQC_CC);
	status = cq_buffers(dev, cq, m, cqc);
	if (!status && bf_mlx5_table_add(&dev->cqs, cq, &cq->cqn))
		status = BF_MLX5_CMD_LIM;
	if (status) {
		bf_mlx5_cq_free(cq);
		return status;
	}
	hold(dev, cq, 1);
	snprintf(name, sizeof(name), "%s.cq0x%x", dev->name, cq->cqn);
	cq->actor = bf_stream_actor(&dev->sim->rec, "queue", name);
	if (bf_probe(dev->sim, BF_CLASS_QUEUE))
		record_config(cq, cqc);
	m->number = cq->cqn;
	return BF_MLX5_CMD_OK;
}

uint8_t bf_mlx5_cmd_destroy_cq(struct bf_mlx5_mail *m)
{
	struct bf_mlx5_cq *cq = bf_mlx5_table_get(&m->dev->cqs, m->number);

	if (!cq)
		return BF_MLX5_CMD_BAD_RES;
	if (cq->users)
		return BF_MLX5_CMD_RES_BUSY;
	hold(m->dev, cq, UINT32_MAX); /* minus one */
	bf_mlx5_table_remove(&m->dev->cqs, cq->cqn);
	if (cq->room && cq->room->reading) {
		cq->dead = true;
		cq->room->next_zombie = m->dev->zombie_cqs;
		m->dev->zombie_cqs = cq;
	} else {
		bf_mlx5_cq_free(cq);
	}
	return BF_MLX5_CMD_OK;
}

uint8_t bf_mlx5_cmd_query_cq(struct bf_mlx5_mail *m)
{
	const struct bf_mlx5_cq *cq = bf_mlx5_table_get(&m->dev->cqs, m->number);
	uint8_t *cqc = m->out + 16;

	if (!cq)
		return BF_MLX5_CMD_BAD_RES;
	bf_mlx5_unpack(packed_of(cq), cqc, BF_CQC_LEN);
	BF_MLX5_SET(cqc, BF_CQC_STATUS, cq->status);
	BF_MLX5_SET(cqc, BF_CQC_ST, cq->arm == 1 ? 9 : cq->arm == 2 ? 6 : 10);
	BF_MLX5_SET(cqc, BF_CQC_CONSUMER, cq->consumer);
	BF_MLX5_SET(cqc, BF_CQC_PRODUCER, cq->producer & 0xffffff);
	return BF_MLX5_CMD_OK;
}
