/* Completion queues: CQEs, the owner bit, overrun, arming and events. The commands are in cmd_cq.c. */
#include "models/mlx5/device_internal.h"

#include <errno.h>
#include <stdlib.h>

#include "sim/fault.h"

/* Every ConnectX-4 and later requester-error dump has bit 1 of op_own set (docs/hardware/mlx5.md#cqe-8). */
#define ERROR_OP_OWN 0x02u

/* CQC.status (mlx5_ifc.h MLX5_CQC_STATUS_*). */
enum { CQ_STATUS_OK = 0, CQ_STATUS_OVERRUN = 9, CQ_STATUS_WRITE_FAIL = 10 };

struct bf_mlx5_cq_wait {
	struct bf_mlx5_cq_wait *next;
	struct bf_mlx5_completion c;
	uint32_t qpn;
	uint32_t user_index;
	uint32_t actor;
	uint64_t made_ns;
	uint8_t data[64]; /* what c.data points to */
};

static uint8_t xor_of_bytes(uint64_t x)
{
	x ^= x >> 32;
	x ^= x >> 16;
	return (uint8_t)(x ^ x >> 8);
}

/* The data go into a CQE of 64 bytes, or in front of it (put_front()). Returns their share of the signature. */
static uint64_t scatter(struct bf_mlx5_cqe *cqe, const struct bf_mlx5_completion *c)
{
	uint64_t x = 0;

	cqe->op_own |= c->format;
	if (c->format != BF_MLX5_CQE_INLINE_32)
		return 0;
	memcpy(cqe->rx, c->data, c->data_len);
	for (uint32_t i = 0; i < c->data_len; i++)
		x ^= c->data[i];
	return x;
}

/*
 * The signature byte makes the XOR of all bytes of the CQE equal to 0xff XOR the bytes of the slot counter: inferred
 * from dumps (docs/hardware/mlx5.md#cqe-10). `x` collects the fields as numbers: the XOR of their bytes is the same in
 * any order.
 */
/* What the entry of a received frame says of it. Returns what its signature is made of. */
static uint64_t describe_frame(struct bf_mlx5_cqe *cqe, const struct bf_mlx5_completion *c)
{
	bf_put_be32(cqe->rx + BF_MLX5_CQE_HASH, c->frame.hash);
	cqe->rx[BF_MLX5_CQE_HASH_TYPE] = c->frame.hash_type;
	cqe->rx[BF_MLX5_CQE_HDS] = c->frame.checks;
	cqe->rx[BF_MLX5_CQE_L4_TYPE] = c->frame.types;
	return c->frame.hash ^ c->frame.hash_type ^ c->frame.checks ^ c->frame.types;
}

void bf_mlx5_cqe_build(const struct bf_mlx5_cq *cq, const struct bf_mlx5_cqe_source *from,
		       const struct bf_mlx5_completion *c, struct bf_mlx5_cqe *cqe)
{
	uint8_t owner = (cq->producer & (cq->mask + 1)) != 0;
	uint32_t sop_drop_qpn = (uint32_t)c->wqe_opcode << 24 | (BF_UNLIKELY(c->is_frame) ? c->frame.tag : from->qpn);
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
		bf_put_be16(cqe->rx + BF_MLX5_CQE_SLID, c->slid);
		bf_put_be32(cqe->rx + BF_MLX5_CQE_FLAGS_RQPN, c->flags_rqpn);
		if (c->solicited)
			cqe->op_own |= BF_MLX5_CQE_SE;
		x ^= c->imm ^ c->byte_cnt ^ c->flags_rqpn ^ c->slid ^ from->ns;
		if (BF_UNLIKELY(c->is_frame))
			x ^= describe_frame(cqe, c);
		if (BF_UNLIKELY(c->data != NULL))
			x ^= scatter(cqe, c);
	}
	cqe->signature = (uint8_t)(0xff ^ cqe->op_own ^ xor_of_bytes(x));
}

static void record_cqe(const struct bf_mlx5_cq *cq, uint32_t qpn, const struct bf_mlx5_completion *c, uint64_t iova,
		       uint8_t verdict, const struct bf_mlx5_cqe *cqe)
{
	BF_EMIT_TAIL(cq->dev->sim, cq->actor, cqe, cqe, cqe ? sizeof(*cqe) : 0, .iova = iova, .cqn = cq->cqn,
		     .qpn = qpn, .count = cq->producer, .slot = cq->collapsed ? 0 : cq->producer & cq->mask,
		     .byte_cnt = c->byte_cnt, .imm = c->imm, .index = c->index, .opcode = c->opcode,
		     .syndrome = c->err.syndrome, .vendor = c->err.vendor, .wqe_opcode = c->wqe_opcode,
		     .solicited = c->solicited, .verdict = verdict);
}

static uint32_t consumer_of(const struct bf_mlx5_cq *cq)
{
	return cq->extra ? cq->extra->consumer : 0;
}

static void event(struct bf_mlx5_cq *cq, uint8_t kind)
{
	BF_EMIT(cq->dev->sim, cq->actor, cq_event, .cqn = cq->cqn, .producer = cq->producer & 0xffffff,
		.consumer = consumer_of(cq), .kind = kind, .sn = cq->arm_sn);
	if (kind == BF_MLX5_CQ_EVENT_COMPLETION)
		bf_mlx5_event_comp(cq);
}

/* The CQ accepts nothing any more and its queue pairs fail (docs/hardware/mlx5.md#overrun-1). */
static void fail(struct bf_mlx5_cq *cq, uint8_t kind)
{
	struct bf_mlx5_qp *qp;

	if (cq->error)
		return;
	cq->error = true;
	cq->status = kind == BF_MLX5_CQ_EVENT_OVERRUN ? CQ_STATUS_OVERRUN : CQ_STATUS_WRITE_FAIL;
	event(cq, kind);
	bf_mlx5_event_cq_error(cq, kind == BF_MLX5_CQ_EVENT_OVERRUN ? BF_EQE_CQ_ERR_OVERRUN : BF_EQE_CQ_ERR_ACCESS);
	for (uint32_t n = 0; (qp = bf_mlx5_table_next(&cq->dev->qps, &n)); n++) {
		if (qp->rdma.state != BF_MLX5_QPS_RST && qp->rdma.state != BF_MLX5_QPS_ERR &&
		    (qp->send_cq == cq || qp->recv_cq == cq)) {
			bf_mlx5_event_qp(qp, BF_MLX5_EVENT_WQ_CATAS_ERROR);
			bf_mlx5_qp_error(qp, BF_MLX5_BY_CQ);
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

static void fire(struct bf_mlx5_cq *cq)
{
	cq->arm = 0;
	cq->fired = true;
	cq->fired_sn = cq->arm_sn;
	cq->notified_end = cq->producer & 0xffffff;
	if (cq->extra) {
		bf_sim_cancel(cq->dev->sim, &cq->extra->timer);
		cq->extra->count = 0;
	}
	event(cq, BF_MLX5_CQ_EVENT_COMPLETION);
}

/* An armed CQ has got an entry that counts: its event comes now, or when there are more of them, or it was long ago. */
static void moderate(struct bf_mlx5_cq *cq)
{
	struct bf_mlx5_cq_extra *x = cq->extra;

	if (!x || !x->period_us || !x->max_count || ++x->count >= x->max_count)
		fire(cq);
	else if (!bf_event_pending(&x->timer))
		bf_sim_after(cq->dev->sim, &x->timer, x->period_us * BF_US);
}

static void waited_long(struct bf_event *ev)
{
	struct bf_mlx5_cq *cq = BF_CONTAINER_OF(ev, struct bf_mlx5_cq_extra, timer)->cq;

	if (cq->arm)
		fire(cq);
}

bool bf_mlx5_cq_extend(struct bf_mlx5_cq *cq)
{
	struct bf_mlx5_cq_extra *x = cq->extra;

	if (x)
		return true;
	x = cq->extra = calloc(1, sizeof(*x));
	if (!x) {
		bf_fail(&cq->dev->sim->error, -ENOMEM, "%s: no memory for a CQ", cq->dev->name);
		return false;
	}
	x->cq = cq;
	bf_event_init(&x->timer, waited_long);
	x->arm_word = UINT32_MAX;
	x->wait_tail = &x->wait;
	return true;
}

bool bf_mlx5_cq_moderate(struct bf_mlx5_cq *cq, uint32_t period_us, uint32_t max_count)
{
	if (!cq->extra && !period_us && !max_count)
		return true;
	if (!bf_mlx5_cq_extend(cq))
		return false;
	cq->extra->period_us = (uint16_t)period_us;
	cq->extra->max_count = (uint16_t)max_count;
	return true;
}

/*
 * Up to 64 bytes of data lie in the first half of a CQE of 128 bytes, and are there before the second. A queue that
 * pads writes the first half in any case.
 */
static int put_front(struct bf_mlx5_cq *cq, uint64_t at, const struct bf_mlx5_completion *c)
{
	uint8_t front[64] = { 0 };
	uint32_t run;

	if (c->format == BF_MLX5_CQE_INLINE_64)
		memcpy(front, c->data, c->data_len);
	return bf_dma_write(&cq->dev->dma, bf_mlx5_buf_iova(&cq->buf, at - sizeof(front), sizeof(front), &run), front,
			    sizeof(front), 0);
}

/* What entries that came up to the producer, the last of them `c`, mean to those who wait. */
static inline void settle(struct bf_mlx5_cq *cq, const struct bf_mlx5_completion *c, uint8_t verdict)
{
	const bool tells = c->solicited || c->err.syndrome;

	if (tells)
		cq->solicited_end = cq->producer & 0xffffff;
	if (cq->arm && verdict == BF_MLX5_POST_WRITTEN && (cq->arm == ARMED_ANY || tells))
		moderate(cq);
	if (verdict == BF_MLX5_POST_FAILED)
		fail(cq, BF_MLX5_CQ_EVENT_FAILED);
	if (BF_UNLIKELY(cq->extra && cq->extra->waiters))
		bf_mlx5_wait_wake(cq);
}

void bf_mlx5_cq_put(struct bf_mlx5_cq *cq, const struct bf_mlx5_cqe_source *from, const struct bf_mlx5_completion *c)
{
	struct bf_mlx5 *dev = cq->dev;
	uint32_t slot = cq->collapsed ? 0 : cq->producer & cq->mask, run;
	uint64_t at = (uint64_t)slot * cq->cqe_size + (cq->cqe_size - sizeof(struct bf_mlx5_cqe));
	uint64_t iova = bf_mlx5_buf_iova(&cq->buf, at, sizeof(struct bf_mlx5_cqe), &run);
	uint8_t verdict = BF_MLX5_POST_WRITTEN;
	struct bf_mlx5_cqe cqe;
	struct bf_fault lost;

	bf_mlx5_cqe_build(cq, from, c, &cqe);
	if (bf_fault_check(dev->sim, BF_FAULT_LOST_COMPLETION, cq->actor, from->qpn, &lost))
		verdict = BF_MLX5_POST_LOST;
	else if ((BF_UNLIKELY(c->format == BF_MLX5_CQE_INLINE_64 || cq->pad) && put_front(cq, at, c)) ||
		 bf_dma_write(&dev->dma, iova, &cqe, sizeof(cqe), 0))
		verdict = BF_MLX5_POST_FAILED;
	record_cqe(cq, from->qpn, c, iova, verdict, &cqe);
	if (verdict == BF_MLX5_POST_WRITTEN)
		count_cqe(dev, c);
	cq->producer++;
	if (cq->extra && c->err.syndrome)
		cq->extra->errors++;
	settle(cq, c, verdict);
}

void bf_mlx5_cq_put_block(struct bf_mlx5_cq *cq, uint32_t n, const struct bf_mlx5_cqe_source *from,
			  const struct bf_mlx5_completion *c, struct bf_mlx5_cqe *title)
{
	uint64_t at = (uint64_t)(cq->producer & cq->mask) * cq->cqe_size + (cq->cqe_size - sizeof(*title));
	uint8_t verdict = BF_MLX5_POST_WRITTEN;
	struct bf_fault lost;
	uint64_t iova;
	uint32_t run;

	iova = bf_mlx5_buf_iova(&cq->buf, at, sizeof(*title), &run);
	if (bf_fault_check(cq->dev->sim, BF_FAULT_LOST_COMPLETION, cq->actor, from->qpn, &lost))
		verdict = BF_MLX5_POST_LOST;
	else if (bf_dma_write(&cq->dev->dma, iova, title, sizeof(*title), 0))
		verdict = BF_MLX5_POST_FAILED;
	for (uint32_t i = 0; i < n; i++) {
		record_cqe(cq, from->qpn, &c[i], iova, verdict, i ? NULL : title);
		if (verdict == BF_MLX5_POST_WRITTEN)
			count_cqe(cq->dev, &c[i]);
		cq->producer++;
	}
	settle(cq, c, verdict);
}

/* Entries that wait to become a block have their places. */
static bool full(const struct bf_mlx5_cq *cq)
{
	return ((cq->producer + bf_mlx5_session_count(cq) - cq->extra->consumer) & 0xffffff) > cq->mask;
}

static void drop_waiting(struct bf_mlx5_cq *cq, uint8_t verdict)
{
	struct bf_mlx5_cq_extra *x = cq->extra;

	while (x->wait) {
		struct bf_mlx5_cq_wait *w = x->wait;

		x->wait = w->next;
		if (verdict && bf_probe(cq->dev->sim, BF_CLASS_QUEUE))
			record_cqe(cq, w->qpn, &w->c, 0, verdict, NULL);
		free(w);
	}
	x->wait_tail = &x->wait;
}

static void consumer_read(struct bf_dma_op *op)
{
	struct bf_mlx5_cq_extra *x = BF_CONTAINER_OF(op, struct bf_mlx5_cq_extra, op);
	struct bf_mlx5_cq *cq = x->cq;

	x->reading = false;
	if (cq->dead) {
		struct bf_mlx5_cq **link = &cq->dev->zombie_cqs;

		while (*link != cq)
			link = &(*link)->extra->next_zombie;
		*link = x->next_zombie;
		bf_mlx5_cq_free(cq);
		return;
	}
	if (!op->status)
		x->consumer = bf_get_be32(x->dbr_bytes + 4 * BF_MLX5_CQ_DBR_CI) & 0xffffff;
	while (x->wait && !cq->error && !full(cq)) {
		struct bf_mlx5_cq_wait *w = x->wait;
		struct bf_mlx5_cqe_source from = { w->qpn, w->user_index, w->made_ns };

		x->wait = w->next;
		if (!x->wait)
			x->wait_tail = &x->wait;
		bf_mlx5_cq_put(cq, &from, &w->c);
		free(w);
	}
	if (x->wait) {
		fail(cq, BF_MLX5_CQ_EVENT_OVERRUN);
		drop_waiting(cq, BF_MLX5_POST_OVERRUN);
	}
}

/* The consumer index is read from the doorbell record when the queue looks half full, and before it looks full. */
static void refresh_consumer(struct bf_mlx5_cq *cq)
{
	struct bf_mlx5_cq_extra *x = cq->extra;
	uint32_t run;

	if (x->reading)
		return;
	x->reading = true;
	x->op.iova = bf_mlx5_buf_iova(&x->dbr, 0, BF_MLX5_DBR_BYTES, &run);
	x->op.len = BF_MLX5_DBR_BYTES;
	x->op.dst = x->dbr_bytes;
	x->op.done = consumer_read;
	bf_dma_read(&cq->dev->dma, &x->op);
}

static void wait_for_room(struct bf_mlx5_cq *cq, const struct bf_mlx5_cqe_source *from,
			  const struct bf_mlx5_completion *c)
{
	struct bf_mlx5_cq_wait *w = malloc(sizeof(*w));

	if (!w) {
		bf_fail(&cq->dev->sim->error, -ENOMEM, "%s: no memory for a completion that waits", cq->dev->name);
		fail(cq, BF_MLX5_CQ_EVENT_OVERRUN);
		return;
	}
	*w = (struct bf_mlx5_cq_wait){ .c = *c, .qpn = from->qpn, .user_index = from->user_index, .made_ns = from->ns };
	if (c->data) {
		memcpy(w->data, c->data, c->data_len);
		w->c.data = w->data;
	}
	*cq->extra->wait_tail = w;
	cq->extra->wait_tail = &w->next;
	refresh_consumer(cq);
}

void bf_mlx5_cq_write(struct bf_mlx5_cq *cq, struct bf_mlx5_qp *qp, const struct bf_mlx5_completion *c)
{
	struct bf_mlx5_cqe_source from = { qp->rdma.qpn, qp->user_index, cq->dev->sim->now_ps / BF_NS };
	struct bf_fault overrun;

	if (BF_UNLIKELY(cq->error)) {
		record_cqe(cq, qp->rdma.qpn, c, 0, BF_MLX5_POST_IN_ERROR, NULL);
		return;
	}
	if (!cq->ignore_overrun) {
		if (bf_fault_check(cq->dev->sim, BF_FAULT_CQ_OVERRUN, cq->actor, qp->rdma.qpn, &overrun)) {
			record_cqe(cq, qp->rdma.qpn, c, 0, BF_MLX5_POST_OVERRUN, NULL);
			fail(cq, BF_MLX5_CQ_EVENT_OVERRUN);
			return;
		}
		if (cq->extra->wait || full(cq)) {
			bf_mlx5_session_flush(cq);
			wait_for_room(cq, &from, c);
			return;
		}
		if (((cq->producer - cq->extra->consumer) & 0xffffff) > cq->mask / 2)
			refresh_consumer(cq);
	}
	if (BF_UNLIKELY(cq->extra && cq->extra->session))
		bf_mlx5_session_take(cq, &from, c);
	else
		bf_mlx5_cq_put(cq, &from, c);
}

/*
 * Entries that the driver has neither seen nor heard of when it arms raise the event at once. Those that an event told
 * of do not, seen or not: the device keeps that index (CQC.last_notified_index in mlx5_ifc.h), and perftest, which arms
 * before it polls, gets one event for each entry from real devices.
 */
static uint32_t seen(const struct bf_mlx5_cq *cq, uint32_t consumer)
{
	return cq->fired && bf_psn_diff(cq->notified_end, consumer) > 0 ? cq->notified_end : consumer;
}

/*
 * be64: sn << 60 | solicited only << 56 | consumer << 32 | cqn (docs/hardware/mlx5.md#arming-2). Software counts the
 * sequence number up with each event that it has got, so one that has raised its event was sent before that was known:
 * it is void (assumed, from rdma-core's and Linux' use of arm_sn).
 */
void bf_mlx5_cq_arm(struct bf_mlx5_uar *uar, uint64_t doorbell)
{
	struct bf_mlx5 *dev = uar->dev;
	uint32_t word = (uint32_t)(doorbell >> 32), cqn = (uint32_t)doorbell & 0xffffff;
	struct bf_mlx5_cq *cq = bf_mlx5_table_get(&dev->cqs, cqn);
	uint32_t consumer = word & 0xffffff, sn = word >> 28 & 3;
	uint8_t verdict = !cq                               ? BF_MLX5_ARM_NO_CQ
			  : cq->uar != uar->index           ? BF_MLX5_ARM_WRONG_UAR
			  : cq->fired && sn == cq->fired_sn ? BF_MLX5_ARM_STALE
							    : BF_MLX5_ARM_OK;

	BF_EMIT(dev->sim, cq ? cq->actor : dev->actor, cq_arm, .cqn = cqn, .consumer = consumer, .sn = (uint8_t)sn,
		.solicited_only = word >> 24 & 1, .verdict = verdict);
	if (cq && cq->extra && verdict != BF_MLX5_ARM_WRONG_UAR)
		cq->extra->arm_word = word;
	if (verdict)
		return;
	cq->arm = word >> 24 & 1 ? ARMED_SOLICITED : ARMED_ANY;
	cq->arm_sn = (uint8_t)sn;
	if (bf_psn_diff(cq->arm == ARMED_ANY ? cq->producer : cq->solicited_end, seen(cq, consumer)) > 0)
		fire(cq);
}

/*
 * The ring's last entry says that it goes on elsewhere (rdma-core providers/mlx5/cq.c mlx5_cq_resize_copy_cqes() looks
 * for it); it takes an index like every other.
 */
bool bf_mlx5_cq_end_ring(struct bf_mlx5_cq *cq)
{
	const struct bf_mlx5_completion c = { .opcode = BF_MLX5_CQE_RESIZE };
	const struct bf_mlx5_cqe_source from = { 0 };
	uint64_t at = (uint64_t)(cq->producer & cq->mask) * cq->cqe_size + (cq->cqe_size - sizeof(struct bf_mlx5_cqe));
	struct bf_mlx5_cqe cqe;
	uint32_t run;

	bf_mlx5_cqe_build(cq, &from, &c, &cqe);
	if (bf_dma_write(&cq->dev->dma, bf_mlx5_buf_iova(&cq->buf, at, sizeof(cqe), &run), &cqe, sizeof(cqe), 0))
		return false;
	cq->producer++;
	return true;
}

void bf_mlx5_cq_free(struct bf_mlx5_cq *cq)
{
	bf_mlx5_wait_forget_cq(cq);
	if (cq->extra) {
		bf_mlx5_session_close(cq);
		drop_waiting(cq, 0);
		bf_sim_cancel(cq->dev->sim, &cq->extra->timer);
	}
	free(cq->extra);
	bf_pool_give(cq->dev->sim, cq, cq->bytes);
}
