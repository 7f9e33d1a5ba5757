/*
 * The send queue: doorbell record, fetch, decode, and the completion of WQEs in order.
 *
 * The producer index comes from the doorbell record, read by DMA after the doorbell has arrived. The device makes no
 * overflow check (docs/hardware/mlx5.md#ring-3): a slot that was written over too early executes what is there by then.
 */
#include "models/mlx5/device_internal.h"

#include <errno.h>
#include <stdio.h>

/* WQE rejected by the requester: docs/hardware/mlx5.md#vendor-syndromes-5. */
static const struct bf_mlx5_err err_malformed = { BF_MLX5_SYND_LOCAL_QP_OP, 0x61, 0x01 };
/* The ring itself could not be read: the vendor code of a data fetch that failed on PCIe, assumed for WQEs too. */
static const struct bf_mlx5_err err_fetch = { BF_MLX5_SYND_LOCAL_QP_OP, 0x51, 0x01 };
/* Flushed (dLSM#7, nccl#1405, nvme-cli#3268). */
static const struct bf_mlx5_err err_flush = { BF_MLX5_SYND_WR_FLUSH, 0xf9, 0x00 };

static void dbrec_done(struct bf_dma_op *op);

void bf_mlx5_dbrec_read(struct bf_mlx5_qp *qp)
{
	struct bf_mlx5_xfer *x;
	uint32_t run;

	if (qp->dbr_busy) {
		qp->dbr_again = true;
		return;
	}
	x = bf_mlx5_xfer_get(qp->dev);
	if (!x)
		return; /* a doorbell that is lost: the next one tells more */
	qp->dbr_busy = true;
	qp->dbr_again = false;
	qp->dev->count.dbrec_reads++;
	qp->inflight++;
	x->qp = qp;
	x->epoch = qp->epoch;
	x->bell_ps = qp->bell_ps;
	x->op = (struct bf_dma_op){
		.iova = bf_mlx5_buf_iova(&qp->dbr, 0, BF_MLX5_DBR_BYTES, &run),
		.len = BF_MLX5_DBR_BYTES,
		.dst = x->record,
		.done = dbrec_done,
	};
	bf_dma_read(&qp->dev->dma, &x->op);
}

void bf_mlx5_bell_fired(struct bf_event *ev)
{
	struct bf_mlx5_qp *qp = BF_CONTAINER_OF(ev, struct bf_mlx5_qp, bell_event);

	bf_mlx5_dbrec_read(qp);
	if (qp->bell_again) {
		qp->bell_again = false;
		qp->bell_ps = qp->again_ps;
		bf_sim_after(qp->dev->sim, ev, qp->dev->profile.doorbell_ps);
	}
}

static void record_dbrec(const struct bf_mlx5_qp *qp, const struct bf_mlx5_xfer *x, uint16_t before, uint8_t verdict)
{
	struct bf_rec_dbrec rec = {
		.qpn = qp->qpn,
		.before = before,
		.producer = qp->producer,
		.doorbell = qp->bell_index,
		.rq_producer = (uint16_t)bf_get_be32(x->record + 4 * BF_MLX5_DBR_RCV),
		.verdict = verdict,
		.in_ring = (uint16_t)(qp->producer - qp->head),
	};

	/* libmlx5 rings with the index of its last WQE, which is at most 16 WQEBBs behind the producer index. */
	rec.mismatch = (uint16_t)(qp->producer - qp->bell_index) > BF_MLX5_MAX_WQEBBS;
	BF_EMIT_MADE(qp->dev->sim, qp->actor, dbrec, rec, NULL, 0);
}

/*
 * 16-bit arithmetic. A ring has at most 32768 WQEBBs, so a longer way forward is a way back: an older record was read.
 * It is not followed (assumed).
 */
static uint8_t take_producer(struct bf_mlx5_qp *qp, uint16_t value, uint64_t bell_ps)
{
	uint16_t ahead = (uint16_t)(value - qp->producer);

	if (!ahead)
		return BF_MLX5_DBREC_UNCHANGED;
	if (ahead > 0x8000)
		return BF_MLX5_DBREC_BACK;
	if (!bf_mlx5_sq_copy_take(qp))
		return BF_MLX5_DBREC_FAILED;
	for (uint16_t i = qp->producer; i != value; i++)
		bf_mlx5_send_at(qp, i)->told_ps = bell_ps;
	qp->producer = value;
	return BF_MLX5_DBREC_ADVANCED;
}

static void use_blueflame(struct bf_mlx5_qp *qp);

/*
 * No WQE is known that could be blamed in a CQE: the queue pair fails as a whole (IBA vol. 1 section 11.6.3.1;
 * assumed).
 */
static void dbrec_failed(struct bf_mlx5_qp *qp)
{
	if (qp->state == BF_MLX5_QPS_ERR)
		return;
	bf_mlx5_qp_report(qp, 0, qp->head, 0, qp->send_psn, 0, err_fetch, "doorbell record cannot be read");
	bf_mlx5_event_qp(qp, BF_MLX5_EVENT_WQ_CATAS_ERROR);
	bf_mlx5_qp_error(qp, BF_MLX5_BY_REQUESTER);
}

/* Producer indices are taken over from the record. */
static void take_record(struct bf_mlx5_qp *qp, const struct bf_mlx5_xfer *x)
{
	const int32_t status = x->op.status;
	uint16_t before = qp->producer;
	uint8_t verdict = BF_MLX5_DBREC_FAILED;

	if (!status && qp->has_sq)
		verdict = take_producer(qp, (uint16_t)bf_get_be32(x->record + 4 * BF_MLX5_DBR_SND), x->bell_ps);
	if (!status && qp->has_rq)
		qp->rq_producer = (uint16_t)bf_get_be32(x->record + 4 * BF_MLX5_DBR_RCV);
	if (bf_probe(qp->dev->sim, BF_CLASS_QUEUE))
		record_dbrec(qp, x, before, verdict);
	if (qp->state == BF_MLX5_QPS_ERR && !status)
		bf_mlx5_rq_flush(qp);
	if (verdict == BF_MLX5_DBREC_FAILED && (status || qp->has_sq))
		dbrec_failed(qp);
	if (verdict == BF_MLX5_DBREC_ADVANCED)
		use_blueflame(qp);
}

static void dbrec_done(struct bf_dma_op *op)
{
	struct bf_mlx5_xfer *x = BF_CONTAINER_OF(op, struct bf_mlx5_xfer, op);
	struct bf_mlx5_qp *qp = x->qp;
	const bool stale = x->epoch != qp->epoch;

	qp->dbr_busy = false;
	qp->inflight--;
	if (!qp->dead && !stale)
		take_record(qp, x);
	bf_mlx5_xfer_put(qp->dev, x);
	if (qp->dead) {
		bf_mlx5_qp_release(qp);
		return;
	}
	if (qp->dbr_again)
		bf_mlx5_dbrec_read(qp);
	if (!stale)
		bf_mlx5_sq_run(qp);
}

static void copy_from_ring(const struct bf_mlx5_qp *qp, uint16_t index, uint8_t *to, uint32_t wqebbs)
{
	for (uint32_t i = 0; i < wqebbs; i++)
		memcpy(to + i * BF_MLX5_WQEBB,
		       qp->sq_bytes + ((size_t)((uint16_t)(index + i) & qp->sq_mask) << BF_MLX5_WQEBB_SHIFT),
		       BF_MLX5_WQEBB);
}

static void record_fetch(const struct bf_mlx5_qp *qp, const uint8_t *bytes, uint32_t wqebbs, uint8_t source,
			 uint8_t verdict, const char *why)
{
	const struct bf_mlx5_wqe *w = &qp->dev->decoded;
	struct bf_rec_wqe_fetch rec = {
		.qpn = qp->qpn,
		.ctrl_qpn = w->qpn,
		.length = verdict >= BF_MLX5_FETCH_MALFORMED ? 0 : w->length,
		.index = qp->decoded,
		.ctrl_index = w->index,
		.producer = qp->producer,
		.opcode = w->opcode,
		.ds = w->ds,
		.wqebbs = (uint8_t)wqebbs,
		.fm_ce_se = bytes[11],
		.source = source,
		.verdict = verdict,
	};

	if (why)
		snprintf(rec.why, sizeof(rec.why), "%.31s", why);
	BF_EMIT_MADE(qp->dev->sim, qp->actor, wqe_fetch, rec, bytes, wqebbs * BF_MLX5_WQEBB);
}

static void record_datagram(const struct bf_mlx5_qp *qp, const struct bf_mlx5_wqe *w, uint16_t index)
{
	BF_EMIT(qp->dev->sim, qp->actor, ud_wqe, .qpn = qp->qpn, .dest_qp = w->dct,
		.ipv4 = w->av_len == BF_MLX5_AV_FULL ? bf_mlx5_gid_ipv4(w->rgid) : w->udp_sport,
		.qkey = (uint32_t)(w->dc_key >> 32), .index = index, .av_len = w->av_len);
}

static void record_av(const struct bf_mlx5_qp *qp, const struct bf_mlx5_wqe *w, uint16_t index)
{
	BF_EMIT(qp->dev->sim, qp->actor, dc_wqe, .dc_key = w->dc_key, .qpn = qp->qpn, .dct = w->dct,
		.ipv4 = w->av_len == BF_MLX5_AV_FULL ? bf_mlx5_gid_ipv4(w->rgid) : w->udp_sport, .index = index,
		.stream = w->stream, .av_len = w->av_len);
}

static void fill_send(struct bf_mlx5_send *s, const struct bf_mlx5_wqe *w, uint16_t index)
{
	*s = (struct bf_mlx5_send){
		.told_ps = s->told_ps,
		.raddr = w->raddr,
		.rkey = w->rkey,
		.length = w->length,
		.imm = w->imm,
		.index = index,
		.opcode = w->opcode,
		.opmod = w->opmod,
		.wqebbs = w->wqebbs,
		.nsge = (uint8_t)w->nsge,
		.fm = w->fm,
		.ce = w->ce,
		.atomic_size = w->atomic_size,
		.payload = (uint16_t)w->inline_offset,
		.slot = index,
		.av = w->av_len,
	};
	if (w->has_inline && !w->nsge) {
		s->flags |= BF_SEND_INLINE;
	} else if (w->nsge) {
		s->inline_at = (uint16_t)w->inline_offset;
		s->inline_len = (uint16_t)w->inline_len;
		s->va = w->sge[0].va;
		s->lkey = w->sge[0].lkey;
		s->payload = (uint16_t)((w->ds - w->nsge) * BF_MLX5_DS);
	}
	if (w->solicited)
		s->flags |= BF_SEND_SOLICITED;
	if (w->opcode == BF_MLX5_OP_RDMA_READ || w->atomic_size)
		s->flags |= BF_SEND_RDATOMIC;
}

/* Decodes the WQE at `decoded`. False: more of it has to come first. */
static bool decode_one(struct bf_mlx5_qp *qp, uint8_t source)
{
	struct bf_mlx5 *dev = qp->dev;
	struct bf_mlx5_wqe *w = &dev->decoded;
	uint16_t index = qp->decoded;
	struct bf_mlx5_send *s = bf_mlx5_send_at(qp, index);
	uint8_t *bytes = qp->sq_bytes + ((size_t)(index & qp->sq_mask) << BF_MLX5_WQEBB_SHIFT);
	uint8_t whole[BF_MLX5_MAX_WQEBBS * BF_MLX5_WQEBB];
	uint32_t ds = bytes[7] & 0x3f, wqebbs = ds ? (ds + 3) / 4 : 1;
	struct bf_error why; /* set when decoding fails */
	int status;

	if ((uint16_t)(qp->fetched - index) < wqebbs && wqebbs <= qp->sq_mask + 1u)
		return false;
	if (wqebbs > qp->sq_mask + 1u)
		wqebbs = 1; /* cannot be: DS is garbage, and decoding will say so */
	if ((index & qp->sq_mask) + wqebbs > qp->sq_mask + 1u) {
		copy_from_ring(qp, index, whole, wqebbs);
		bytes = whole;
	}
	status = qp->dci                       ? bf_mlx5_dc_wqe_decode(bytes, wqebbs * BF_MLX5_WQEBB, w, &why)
		 : qp->service == BF_QPC_ST_UD ? bf_mlx5_ud_wqe_decode(bytes, wqebbs * BF_MLX5_WQEBB, w, &why)
					       : bf_mlx5_wqe_decode(bytes, wqebbs * BF_MLX5_WQEBB, w, &why);
	if (BF_LIKELY(!status)) {
		fill_send(s, w, index);
	} else {
		*s = (struct bf_mlx5_send){
			.index = index, .slot = index, .opcode = w->opcode, .wqebbs = (uint8_t)wqebbs
		};
		s->err = err_malformed;
		s->flags = BF_SEND_FAILED;
	}
	if (BF_UNLIKELY(w->av_len && !status) && bf_probe(dev->sim, BF_CLASS_QUEUE))
		(qp->dci ? record_av : record_datagram)(qp, w, index);
	if (bf_probe(dev->sim, BF_CLASS_QUEUE)) {
		uint8_t verdict = status              ? BF_MLX5_FETCH_MALFORMED
				  : w->index != index ? BF_MLX5_FETCH_INDEX
				  : w->qpn != qp->qpn ? BF_MLX5_FETCH_QPN
						      : BF_MLX5_FETCH_OK;

		record_fetch(qp, bytes, wqebbs, source, verdict, status ? why.text : NULL);
	}
	if (status && qp->state == BF_MLX5_QPS_RTS && !qp->halted)
		bf_mlx5_qp_report(qp, 0, index, w->opcode, qp->send_psn, 0, err_malformed, why.text);
	qp->decoded = (uint16_t)(index + wqebbs);
	if (BF_UNLIKELY(qp->dci && qp->dci->stream_count) && qp->state != BF_MLX5_QPS_ERR)
		bf_mlx5_dci_deal(qp, s, w->stream);
	dev->count.wqes_fetched++;
	return true;
}

static void decode(struct bf_mlx5_qp *qp, uint8_t source)
{
	uint16_t from = qp->decoded;

	while (qp->decoded != qp->fetched && decode_one(qp, source))
		;
	qp->dev->tx_busy_ps =
	    (qp->dev->tx_busy_ps > qp->dev->sim->now_ps ? qp->dev->tx_busy_ps : qp->dev->sim->now_ps) +
	    (uint16_t)(qp->decoded - from) * qp->dev->profile.wqe_ps;
}

/*
 * The first WQEBB of the next expected WQE came with the doorbell: no fetch is needed for it. Only when nothing is
 * being fetched, so that WQEs stay in order. The doorbell record still bounds what exists.
 */
static void use_blueflame(struct bf_mlx5_qp *qp)
{
	struct bf_mlx5_bf *bf = qp->bf;
	bool next;

	qp->bf = NULL;
	if (!bf || !qp->sends || bf->have != ~0ull || qp->state != BF_MLX5_QPS_RTS || qp->fetch_issued != qp->fetched ||
	    qp->fetched != qp->decoded)
		return;
	next = bf_get_be32(bf->bytes + 4) >> 8 == qp->qpn &&
	       BF_FIELD_GET(BF_MLX5_CTRL_INDEX, bf_get_be32(bf->bytes)) == qp->fetched;
	if (!next || (uint16_t)(qp->fetched - qp->head) > qp->sq_mask)
		return;
	memcpy(qp->sq_bytes + ((size_t)(qp->fetched & qp->sq_mask) << BF_MLX5_WQEBB_SHIFT), bf->bytes, BF_MLX5_WQEBB);
	bf->have = 0;
	qp->fetch_issued++;
	qp->fetched++;
	decode(qp, BF_MLX5_FROM_BLUEFLAME);
}

/* The ring's memory is gone: each WQE of the fetch is one that cannot be executed. */
static void fetch_failed(struct bf_mlx5_qp *qp, const struct bf_mlx5_fetch *f)
{
	for (uint16_t index = qp->decoded; index != qp->fetched; index++) {
		memset(qp->sq_bytes + ((size_t)(index & qp->sq_mask) << BF_MLX5_WQEBB_SHIFT), 0, BF_MLX5_WQEBB);
		*bf_mlx5_send_at(qp, index) = (struct bf_mlx5_send){
			.index = index, .slot = index, .wqebbs = 1, .flags = BF_SEND_FAILED, .err = err_fetch
		};
	}
	if (qp->state == BF_MLX5_QPS_RTS)
		bf_mlx5_qp_report(qp, 0, f->start, 0, qp->send_psn, 0, err_fetch, "send queue cannot be read");
	qp->decoded = qp->fetched;
}

static void fetch_done(struct bf_dma_op *op)
{
	struct bf_mlx5_fetch *f = BF_CONTAINER_OF(op, struct bf_mlx5_fetch, op);
	struct bf_mlx5_qp *qp = f->qp;

	f->busy = false;
	qp->inflight--;
	if (qp->dead) {
		bf_mlx5_qp_release(qp);
		return;
	}
	if (f->epoch == qp->epoch) {
		qp->fetched = (uint16_t)(qp->fetched + f->count);
		if (BF_UNLIKELY(op->status))
			fetch_failed(qp, f);
		else
			decode(qp, BF_MLX5_FROM_RING);
	}
	bf_mlx5_sq_run(qp);
}

/* Starts the next fetch: what is posted, in one piece of the ring, and no slot whose last WQE is not complete. */
static bool fetch_next(struct bf_mlx5_qp *qp)
{
	struct bf_mlx5_fetch *f = &qp->fetch[qp->fetch_next];
	uint32_t slot = qp->fetch_issued & qp->sq_mask, size = qp->sq_mask + 1u;
	uint32_t n = (uint16_t)(qp->producer - qp->fetch_issued);
	uint32_t room = size - (uint16_t)(qp->fetch_issued - qp->head);
	uint32_t run;

	if (f->busy)
		return false;
	n = n < room ? n : room;
	n = n < qp->dev->profile.fetch_wqebbs ? n : qp->dev->profile.fetch_wqebbs;
	n = n < size - slot ? n : size - slot;
	if (!n)
		return false;
	f->op.iova = bf_mlx5_buf_iova(&qp->sq, (uint64_t)slot << BF_MLX5_WQEBB_SHIFT, n << BF_MLX5_WQEBB_SHIFT, &run);
	n = run >> BF_MLX5_WQEBB_SHIFT;
	f->op.len = n << BF_MLX5_WQEBB_SHIFT;
	f->op.dst = qp->sq_bytes + ((size_t)slot << BF_MLX5_WQEBB_SHIFT);
	f->op.done = fetch_done;
	f->qp = qp;
	f->epoch = qp->epoch;
	f->start = qp->fetch_issued;
	f->count = (uint16_t)n;
	f->busy = true;
	qp->fetch_issued = (uint16_t)(qp->fetch_issued + n);
	qp->fetch_next = (uint8_t)((qp->fetch_next + 1u) % BF_MLX5_FETCHES);
	qp->inflight++;
	qp->dev->count.ring_reads++;
	bf_dma_read(&qp->dev->dma, &f->op);
	return true;
}

/* WQEs that are posted now are not executed. */
static bool flushes(const struct bf_mlx5_qp *qp)
{
	return qp->state == BF_MLX5_QPS_ERR || qp->state == BF_MLX5_QPS_SQER;
}

/* In error, too: WQEs are read to learn where they end, so that each gets its flush completion. */
static void fetch_more(struct bf_mlx5_qp *qp)
{
	if (qp->state != BF_MLX5_QPS_RTS && !flushes(qp))
		return;
	while (qp->fetch_issued != qp->producer && fetch_next(qp))
		;
}

static void complete(struct bf_mlx5_qp *qp, const struct bf_mlx5_send *s, const struct bf_mlx5_err *err)
{
	struct bf_mlx5_completion c = {
		.opcode = err ? BF_MLX5_CQE_REQ_ERR : BF_MLX5_CQE_REQ,
		.wqe_opcode = s->opcode,
		.index = s->index,
		.byte_cnt = s->length,
	};
	bool signalled = err || s->ce >= 2;

	qp->dev->count.wqes_completed++;
	if (err)
		c.err = *err;
	else
		c.told_ps = s->told_ps;
	if (BF_UNLIKELY(s->flags & BF_SEND_IN_CQE) && !err) {
		c.data = qp->sq_bytes + ((size_t)(s->index & qp->sq_mask) << BF_MLX5_WQEBB_SHIFT);
		c.data_len = s->atomic_size ? s->atomic_size : (uint8_t)s->length;
		c.format = bf_mlx5_cqe_format(qp->cs_req);
	}
	BF_EMIT(qp->dev->sim, qp->actor, wqe_done, .qpn = qp->qpn,
		.psn = s->npsn ? bf_psn_add(s->psn, s->npsn - 1) : s->psn, .length = s->length, .index = s->index,
		.next = (uint16_t)(s->index + s->wqebbs), .opcode = s->opcode, .signalled = signalled,
		.syndrome = c.err.syndrome, .vendor = c.err.vendor);
	if (signalled)
		bf_mlx5_cq_write(qp->send_cq, qp, &c);
}

/*
 * A send that failed takes the whole queue pair down, or the send queue alone where no peer counts on it (IBA vol. 1
 * section 10.3.1.6).
 */
static void send_failed(struct bf_mlx5_qp *qp)
{
	if (flushes(qp))
		return;
	if (bf_mlx5_is_unreliable(qp))
		bf_mlx5_qp_set_state(qp, BF_MLX5_QPS_SQER, BF_MLX5_BY_REQUESTER);
	else
		bf_mlx5_qp_error(qp, BF_MLX5_BY_REQUESTER);
}

/* Completes WQEs in order. True when at least one was. */
static bool retire(struct bf_mlx5_qp *qp)
{
	uint16_t from = qp->head;

	while (qp->head != qp->decoded) {
		struct bf_mlx5_send *s = bf_mlx5_send_at(qp, qp->head);
		const struct bf_mlx5_err *err = NULL;

		if (BF_UNLIKELY(s->flags & BF_SEND_TOLD)) {
			qp->head = qp->ack_index = qp->tx_index = (uint16_t)(qp->head + s->wqebbs);
			continue;
		}
		if (flushes(qp))
			err = &err_flush;
		else if (s->flags & BF_SEND_FAILED && qp->halted)
			err = &s->err;
		else if (!(s->flags & BF_SEND_DONE))
			break;
		if (qp->ack_index == qp->head)
			qp->ack_index = (uint16_t)(qp->head + s->wqebbs);
		qp->head = (uint16_t)(qp->head + s->wqebbs);
		complete(qp, s, err);
		if (BF_UNLIKELY(qp->dci && qp->dci->parent))
			bf_mlx5_dci_told(qp, s);
		if (err)
			send_failed(qp);
	}
	return qp->head != from;
}

/* In SQD what was started is finished, then there is an event, once (IBA vol. 1 section 10.3.1.5). */
static void check_drained(struct bf_mlx5_qp *qp)
{
	if (qp->drained)
		return;
	if (qp->head != qp->decoded && bf_mlx5_send_at(qp, qp->head)->flags & BF_SEND_STARTED)
		return;
	bf_mlx5_qp_set_state(qp, BF_MLX5_QPS_SQD, BF_MLX5_BY_DRAINED);
	qp->drained = true;
	bf_mlx5_event_qp(qp, BF_MLX5_EVENT_SQ_DRAINED);
}

/* Nothing is left to do with the copy, and nothing that is under way will ask for it. */
static bool is_idle(const struct bf_mlx5_qp *qp)
{
	return qp->head == qp->producer && !qp->inflight && qp->state == BF_MLX5_QPS_RTS;
}

void bf_mlx5_sq_run(struct bf_mlx5_qp *qp)
{
	if (qp->in_progress)
		return;
	if (!qp->sends) {
		if (BF_UNLIKELY(qp->state == BF_MLX5_QPS_SQD))
			check_drained(qp);
		return;
	}
	qp->in_progress = true;
	do {
		if (BF_UNLIKELY(qp->dci && qp->dci->stream_count))
			bf_mlx5_dci_run(qp);
		else
			bf_mlx5_tx_run(qp);
	} while (retire(qp) && qp->head != qp->decoded);
	fetch_more(qp);
	if (BF_UNLIKELY(qp->state == BF_MLX5_QPS_SQD))
		check_drained(qp);
	qp->in_progress = false;
	if (is_idle(qp) && !qp->dci)
		bf_mlx5_sq_copy_give(qp);
	/* A stream has made progress, perhaps: its DCI may have room for more WQEs. */
	if (BF_UNLIKELY(qp->dci && qp->dci->parent))
		bf_mlx5_sq_run(qp->dci->parent);
}
