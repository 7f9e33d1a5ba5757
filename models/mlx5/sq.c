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
/* Flushed: docs/hardware/mlx5.md#vendor-syndromes-7. */
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
	qp->rdma.inflight++;
	x->qp = qp;
	x->epoch = qp->rdma.epoch;
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

	if (BF_UNLIKELY(qp->no_record || qp->dev->profile.traits.bell_leads))
		bf_mlx5_bell_index(qp, qp->bell_index);
	if (BF_LIKELY(!qp->no_record))
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
		.qpn = qp->rdma.qpn,
		.before = before,
		.producer = qp->producer,
		.doorbell = qp->bell_index,
		.rq_producer = (uint16_t)bf_get_be32(x->record + 4 * BF_MLX5_DBR_RCV),
		.verdict = verdict,
		.in_ring = (uint16_t)(qp->producer - qp->rdma.head),
	};

	/* libmlx5 rings with the index of its last WQE, which is at most 16 WQEBBs behind the producer index. */
	rec.mismatch = (uint16_t)(qp->producer - qp->bell_index) > BF_MLX5_MAX_WQEBBS;
	BF_EMIT_MADE(qp->dev->sim, qp->rdma.actor, dbrec, rec, NULL, 0);
}

/*
 * What was not fetched yet is taken back, where the device believes that. Nobody does (docs/hardware/mlx5.md#
 * gpu-initiated-4).
 */
static uint8_t step_back(struct bf_mlx5_qp *qp, uint16_t value)
{
	if (BF_UNLIKELY(qp->dev->profile.traits.bell_back))
		qp->producer = (int16_t)(value - qp->fetch_issued) > 0 ? value : qp->fetch_issued;
	return BF_MLX5_DBREC_BACK;
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
		return step_back(qp, value);
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
	if (qp->rdma.state == BF_MLX5_QPS_ERR)
		return;
	bf_mlx5_qp_report(qp, 0, qp->rdma.head, 0, qp->rdma.send_psn, 0, err_fetch, "doorbell record cannot be read");
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
	if (qp->rdma.state == BF_MLX5_QPS_ERR && !status)
		bf_mlx5_rq_flush(qp);
	if (verdict == BF_MLX5_DBREC_FAILED && (status || qp->has_sq))
		dbrec_failed(qp);
	if (verdict == BF_MLX5_DBREC_ADVANCED)
		use_blueflame(qp);
}

/*
 * An index that a register said. Of queue pairs with a record it is a hint (and libmlx5's is that of its last WQE): one
 * that leads nowhere in the ring is left to the record.
 */
void bf_mlx5_bell_index(struct bf_mlx5_qp *qp, uint16_t value)
{
	const uint16_t before = qp->producer;
	uint8_t verdict;

	if (!qp->no_record && ((uint16_t)(value - qp->producer) > qp->rdma.sq_mask + 1u || value == qp->producer))
		return;
	verdict = take_producer(qp, value, qp->bell_ps);
	BF_EMIT(qp->dev->sim, qp->rdma.actor, dbrec, .qpn = qp->rdma.qpn, .before = before, .producer = qp->producer,
		.doorbell = value, .verdict = verdict, .in_ring = (uint16_t)(qp->producer - qp->rdma.head));
	if (verdict == BF_MLX5_DBREC_ADVANCED)
		use_blueflame(qp);
	bf_mlx5_sq_run(qp);
}

static void dbrec_done(struct bf_dma_op *op)
{
	struct bf_mlx5_xfer *x = BF_CONTAINER_OF(op, struct bf_mlx5_xfer, op);
	struct bf_mlx5_qp *qp = x->qp;
	const bool stale = x->epoch != qp->rdma.epoch;

	qp->dbr_busy = false;
	qp->rdma.inflight--;
	if (!qp->rdma.dead && !stale)
		take_record(qp, x);
	bf_mlx5_xfer_put(qp->dev, x);
	if (qp->rdma.dead) {
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
		       qp->sq_bytes + ((size_t)((uint16_t)(index + i) & qp->rdma.sq_mask) << BF_MLX5_WQEBB_SHIFT),
		       BF_MLX5_WQEBB);
}

static void record_fetch(const struct bf_mlx5_qp *qp, const uint8_t *bytes, uint32_t wqebbs, uint8_t source,
			 uint8_t verdict, const char *why)
{
	const struct bf_mlx5_wqe *w = &qp->dev->decoded;
	struct bf_rec_wqe_fetch rec = {
		.qpn = qp->rdma.qpn,
		.ctrl_qpn = w->qpn,
		.length = verdict >= BF_MLX5_FETCH_MALFORMED ? 0 : w->length,
		.index = qp->rdma.decoded,
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
		bf_mlx5_short_reason(rec.why, sizeof(rec.why), why);
	BF_EMIT_MADE(qp->dev->sim, qp->rdma.actor, wqe_fetch, rec, bytes, wqebbs * BF_MLX5_WQEBB);
}

static void record_datagram(const struct bf_mlx5_qp *qp, const struct bf_mlx5_wqe *w, uint16_t index)
{
	BF_EMIT(qp->dev->sim, qp->rdma.actor, ud_wqe, .qpn = qp->rdma.qpn, .dest_qp = w->dct,
		.ipv4 = w->av_len == BF_MLX5_AV_FULL ? bf_mlx5_gid_ipv4(w->rgid) : w->udp_sport,
		.qkey = (uint32_t)(w->dc_key >> 32), .index = index, .av_len = w->av_len);
}

static void record_av(const struct bf_mlx5_qp *qp, const struct bf_mlx5_wqe *w, uint16_t index)
{
	BF_EMIT(qp->dev->sim, qp->rdma.actor, dc_wqe, .dc_key = w->dc_key, .qpn = qp->rdma.qpn, .dct = w->dct,
		.ipv4 = w->av_len == BF_MLX5_AV_FULL ? bf_mlx5_gid_ipv4(w->rgid) : w->udp_sport, .index = index,
		.stream = w->stream, .av_len = w->av_len);
}

static uint8_t operation(uint8_t opcode)
{
	switch (opcode) {
	case BF_MLX5_OP_SEND:
		return BF_RDMA_OP_SEND;
	case BF_MLX5_OP_SEND_IMM:
		return BF_RDMA_OP_SEND_IMM;
	case BF_MLX5_OP_SEND_INVAL:
		return BF_RDMA_OP_SEND_INVAL;
	case BF_MLX5_OP_RDMA_WRITE:
		return BF_RDMA_OP_WRITE;
	case BF_MLX5_OP_RDMA_WRITE_IMM:
		return BF_RDMA_OP_WRITE_IMM;
	case BF_MLX5_OP_RDMA_READ:
		return BF_RDMA_OP_READ;
	case BF_MLX5_OP_ATOMIC_CS:
		return BF_RDMA_OP_COMPARE_SWAP;
	case BF_MLX5_OP_ATOMIC_FA:
		return BF_RDMA_OP_FETCH_ADD;
	case BF_MLX5_OP_ATOMIC_MASKED_CS:
		return BF_RDMA_OP_MASKED_COMPARE_SWAP;
	case BF_MLX5_OP_ATOMIC_MASKED_FA:
		return BF_RDMA_OP_MASKED_FETCH_ADD;
	default:
		return BF_RDMA_OP_LOCAL;
	}
}

/* What each fence mode waits for: docs/hardware/mlx5.md#send-entry-6. */
static uint8_t fence(uint8_t fm)
{
	switch (fm) {
	case BF_MLX5_FM_NONE:
		return 0;
	case BF_MLX5_FM_SMALL:
		return BF_RDMA_FENCE_LOCAL;
	case BF_MLX5_FM_FENCE:
		return BF_RDMA_FENCE_READS;
	case BF_MLX5_FM_FENCE_SMALL:
		return BF_RDMA_FENCE_READS | BF_RDMA_FENCE_LOCAL;
	default:
		return BF_RDMA_FENCE_ALL;
	}
}

static void fill_send(struct bf_mlx5_send *s, const struct bf_mlx5_wqe *w, uint16_t index)
{
	*s = (struct bf_mlx5_send){
		.rdma = {
			.raddr = w->raddr,
			.rkey = w->rkey,
			.length = w->length,
			.imm = w->imm,
			.inline_len = w->inline_len,
			.slot = index,
			.slots = w->wqebbs,
			.op = operation(w->opcode),
			.fence = fence(w->fm),
			.atomic_size = w->atomic_size,
		},
		.told_ps = s->told_ps,
		.index = index,
		.inline_at = (uint16_t)w->inline_offset,
		.opcode = w->opcode,
		.opmod = w->opmod,
		.nsge = (uint8_t)w->nsge,
		.ce = w->ce,
		.av = w->av_len,
	};
	if (w->nsge) {
		s->va = w->sge[0].va;
		s->lkey = w->sge[0].lkey;
		s->payload = (uint16_t)((w->ds - w->nsge) * BF_MLX5_DS);
	}
	if (w->checksums & BF_MLX5_ETH_L3)
		s->rdma.flags |= BF_RDMA_SEND_L3_CHECKSUM;
	if (w->checksums & BF_MLX5_ETH_L4)
		s->rdma.flags |= BF_RDMA_SEND_L4_CHECKSUM;
	if (w->solicited)
		s->rdma.flags |= BF_RDMA_SEND_SOLICITED;
	if (w->opcode == BF_MLX5_OP_RDMA_READ || w->atomic_size)
		s->rdma.flags |= BF_RDMA_SEND_RDATOMIC;
}

/* Bytes that drivers leave as the stack had them (docs/hardware/mlx5.md#gpu-initiated-12). */
static bool reserved_is_used(const struct bf_mlx5_wqe *w, const uint8_t *bytes)
{
	const bool has_raddr =
	    w->opcode == BF_MLX5_OP_RDMA_WRITE || w->opcode == BF_MLX5_OP_RDMA_READ || w->atomic_size;

	if (w->signature || w->stream || (w->imm && (has_raddr || w->opcode == BF_MLX5_OP_WAIT)))
		return true;
	if (w->opcode == BF_MLX5_OP_WAIT)
		return bf_get_be64(bytes + sizeof(struct bf_mlx5_ctrl)) != 0;
	return has_raddr && bf_get_be32(bytes + sizeof(struct bf_mlx5_ctrl) + w->av_len + 12) != 0;
}

/* Decodes the WQE at `decoded`. False: more of it has to come first. */
static bool decode_one(struct bf_mlx5_qp *qp, uint8_t source)
{
	struct bf_mlx5 *dev = qp->dev;
	struct bf_mlx5_wqe *w = &dev->decoded;
	uint16_t index = qp->rdma.decoded;
	struct bf_mlx5_send *s = bf_mlx5_send_at(qp, index);
	uint8_t *bytes = qp->sq_bytes + ((size_t)(index & qp->rdma.sq_mask) << BF_MLX5_WQEBB_SHIFT);
	uint8_t whole[BF_MLX5_MAX_WQEBBS * BF_MLX5_WQEBB];
	uint32_t ds = bytes[7] & 0x3f, wqebbs = ds ? (ds + 3) / 4 : 1;
	struct bf_error why; /* set when decoding fails */
	int status;

	if ((uint16_t)(qp->fetched - index) < wqebbs && wqebbs <= qp->rdma.sq_mask + 1u)
		return false;
	if (wqebbs > qp->rdma.sq_mask + 1u)
		wqebbs = 1; /* cannot be: DS is garbage, and decoding will say so */
	if ((index & qp->rdma.sq_mask) + wqebbs > qp->rdma.sq_mask + 1u) {
		copy_from_ring(qp, index, whole, wqebbs);
		bytes = whole;
	}
	status = qp->raw                            ? bf_mlx5_eth_wqe_decode(bytes, wqebbs * BF_MLX5_WQEBB, w, &why)
		 : qp->xrc                          ? bf_mlx5_xrc_wqe_decode(bytes, wqebbs * BF_MLX5_WQEBB, w, &why)
		 : qp->dci                          ? bf_mlx5_dc_wqe_decode(bytes, wqebbs * BF_MLX5_WQEBB, w, &why)
		 : qp->rdma.service == BF_QPC_ST_UD ? bf_mlx5_ud_wqe_decode(bytes, wqebbs * BF_MLX5_WQEBB, w, &why)
						    : bf_mlx5_wqe_decode(bytes, wqebbs * BF_MLX5_WQEBB, w, &why);
	if (BF_UNLIKELY(dev->profile.traits.looks_at_reserved) && !status && reserved_is_used(w, bytes))
		status = bf_fail(&why, -EINVAL, "reserved bytes are not 0");
	if (BF_LIKELY(!status)) {
		fill_send(s, w, index);
	} else {
		*s = (struct bf_mlx5_send){
			.rdma = { .slot = index, .slots = (uint8_t)wqebbs, .flags = BF_RDMA_SEND_FAILED },
			.index = index,
			.opcode = w->opcode,
			.err = err_malformed,
		};
	}
	if (BF_UNLIKELY(w->av_len && !status && !qp->xrc && !qp->raw) && bf_probe(dev->sim, BF_CLASS_QUEUE))
		(qp->dci ? record_av : record_datagram)(qp, w, index);
	if (bf_probe(dev->sim, BF_CLASS_QUEUE)) {
		uint8_t verdict = status                   ? BF_MLX5_FETCH_MALFORMED
				  : w->index != index      ? BF_MLX5_FETCH_INDEX
				  : w->qpn != qp->rdma.qpn ? BF_MLX5_FETCH_QPN
							   : BF_MLX5_FETCH_OK;

		record_fetch(qp, bytes, wqebbs, source, verdict, status ? why.text : NULL);
	}
	if (status && qp->rdma.state == BF_MLX5_QPS_RTS && !qp->rdma.halted)
		bf_mlx5_qp_report(qp, 0, index, w->opcode, qp->rdma.send_psn, 0, err_malformed, why.text);
	qp->rdma.decoded = (uint16_t)(index + wqebbs);
	if (BF_UNLIKELY(qp->dci && qp->dci->stream_count) && qp->rdma.state != BF_MLX5_QPS_ERR)
		bf_mlx5_dci_deal(qp, s, w->stream);
	dev->count.wqes_fetched++;
	return true;
}

static void decode(struct bf_mlx5_qp *qp, uint8_t source)
{
	uint16_t from = qp->rdma.decoded;

	while (qp->rdma.decoded != qp->fetched && decode_one(qp, source))
		;
	qp->dev->rdma.tx_busy_ps =
	    (qp->dev->rdma.tx_busy_ps > qp->dev->sim->now_ps ? qp->dev->rdma.tx_busy_ps : qp->dev->sim->now_ps) +
	    (uint16_t)(qp->rdma.decoded - from) * qp->dev->profile.wqe_ps;
}

/* WQEBBs of the WQE in `bf->copy` that came with the doorbell: all of them, or the first. */
static uint16_t blueflame_wqebbs(const struct bf_mlx5_qp *qp, const struct bf_mlx5_bf *bf)
{
	const uint32_t ds = bf_get_be32(bf->copy + 4) & 0x3f, wqebbs = (ds + 3) / 4;
	const uint32_t words = wqebbs > 1 ? (wqebbs - 1) * (BF_MLX5_WQEBB / 8) : 0;

	if (!words || wqebbs * BF_MLX5_WQEBB > qp->dev->profile.bf_bytes || bf->have != ~0ull ||
	    memcmp(bf->bytes, bf->copy, 8))
		return 1;
	return (~bf->tail_have & ((1u << words) - 1)) ? 1 : (uint16_t)wqebbs;
}

/*
 * The first WQEBB of the next expected WQE came with the doorbell, or all of them: no fetch is needed for it. Only when
 * nothing is being fetched, so that WQEs stay in order. The doorbell record still bounds what exists.
 */
static void use_blueflame(struct bf_mlx5_qp *qp)
{
	struct bf_mlx5_bf *bf = qp->bf;
	uint16_t wqebbs;
	bool next;

	qp->bf = NULL;
	if (!bf || !bf->whole || bf_get_be32(bf->copy + 4) >> 8 != qp->rdma.qpn)
		return;
	bf->whole = false; /* now or never: the index comes again */
	if (!qp->rdma.sends || qp->rdma.state != BF_MLX5_QPS_RTS || qp->fetch_issued != qp->fetched ||
	    qp->fetched != qp->rdma.decoded)
		return;
	next = BF_FIELD_GET(BF_MLX5_CTRL_INDEX, bf_get_be32(bf->copy)) == qp->fetched;
	if (!next || (uint16_t)(qp->fetched - qp->rdma.head) > qp->rdma.sq_mask)
		return;
	wqebbs = blueflame_wqebbs(qp, bf);
	if ((uint16_t)(qp->producer - qp->fetched) < wqebbs ||
	    (uint16_t)(qp->fetched + wqebbs - qp->rdma.head) > qp->rdma.sq_mask + 1u)
		wqebbs = 1;
	for (uint16_t i = 0; i < wqebbs; i++)
		memcpy(qp->sq_bytes + ((size_t)((qp->fetched + i) & qp->rdma.sq_mask) << BF_MLX5_WQEBB_SHIFT),
		       i ? bf->tail + (i - 1) * BF_MLX5_WQEBB : bf->copy, BF_MLX5_WQEBB);
	qp->fetch_issued = (uint16_t)(qp->fetch_issued + wqebbs);
	qp->fetched = (uint16_t)(qp->fetched + wqebbs);
	decode(qp, BF_MLX5_FROM_BLUEFLAME);
}

/* The ring's memory is gone: each WQE of the fetch is one that cannot be executed. */
static void fetch_failed(struct bf_mlx5_qp *qp, const struct bf_mlx5_fetch *f)
{
	for (uint16_t index = qp->rdma.decoded; index != qp->fetched; index++) {
		memset(qp->sq_bytes + ((size_t)(index & qp->rdma.sq_mask) << BF_MLX5_WQEBB_SHIFT), 0, BF_MLX5_WQEBB);
		*bf_mlx5_send_at(qp, index) = (struct bf_mlx5_send){
			.rdma = { .slot = index, .slots = 1, .flags = BF_RDMA_SEND_FAILED },
			.index = index,
			.err = err_fetch,
		};
	}
	if (qp->rdma.state == BF_MLX5_QPS_RTS)
		bf_mlx5_qp_report(qp, 0, f->start, 0, qp->rdma.send_psn, 0, err_fetch, "send queue cannot be read");
	qp->rdma.decoded = qp->fetched;
}

static void fetch_done(struct bf_dma_op *op)
{
	struct bf_mlx5_fetch *f = BF_CONTAINER_OF(op, struct bf_mlx5_fetch, op);
	struct bf_mlx5_qp *qp = f->qp;

	f->busy = false;
	qp->rdma.inflight--;
	if (qp->rdma.dead) {
		bf_mlx5_qp_release(qp);
		return;
	}
	if (f->epoch == qp->rdma.epoch) {
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
	struct bf_mlx5_fetch *f = &bf_mlx5_sq_copy_of(qp)->fetch[qp->fetch_next];
	uint32_t slot = qp->fetch_issued & qp->rdma.sq_mask, size = qp->rdma.sq_mask + 1u;
	uint32_t n = (uint16_t)(qp->producer - qp->fetch_issued);
	uint32_t room = size - (uint16_t)(qp->fetch_issued - qp->rdma.head);
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
	f->epoch = qp->rdma.epoch;
	f->start = qp->fetch_issued;
	f->count = (uint16_t)n;
	f->busy = true;
	qp->fetch_issued = (uint16_t)(qp->fetch_issued + n);
	qp->fetch_next = (uint8_t)((qp->fetch_next + 1u) % BF_MLX5_FETCHES);
	qp->rdma.inflight++;
	qp->dev->count.ring_reads++;
	bf_dma_read(&qp->dev->dma, &f->op);
	return true;
}

/* In error, too: WQEs are read to learn where they end, so that each gets its flush completion. */
static void fetch_more(struct bf_mlx5_qp *qp)
{
	if (qp->rdma.state != BF_MLX5_QPS_RTS && !bf_rdma_flushes(&qp->rdma))
		return;
	while (qp->fetch_issued != qp->producer && fetch_next(qp))
		;
}

/* The WQE is over: its CQE, if it is to have one. */
void bf_mlx5_sq_complete(struct bf_rdma_qp *rdma, struct bf_rdma_send *send, enum bf_rdma_end end)
{
	struct bf_mlx5_qp *qp = bf_mlx5_qp_of(rdma);
	struct bf_mlx5_send *s = bf_mlx5_send_of(send);
	struct bf_mlx5_completion c = {
		.opcode = end ? BF_MLX5_CQE_REQ_ERR : BF_MLX5_CQE_REQ,
		.wqe_opcode = s->opcode,
		.index = s->index,
		.byte_cnt = send->length,
	};
	const bool signalled = end || s->ce >= 2;

	qp->dev->count.wqes_completed++;
	if (end)
		c.err = end == BF_RDMA_FLUSHED ? err_flush : s->err;
	else
		c.told_ps = s->told_ps;
	if (BF_UNLIKELY(s->in_cqe) && !end) {
		c.data = qp->sq_bytes + ((size_t)(s->index & rdma->sq_mask) << BF_MLX5_WQEBB_SHIFT);
		c.data_len = send->atomic_size ? send->atomic_size : (uint8_t)send->length;
		c.format = bf_mlx5_cqe_format(qp->cs_req);
	}
	BF_EMIT(qp->dev->sim, rdma->actor, wqe_done, .qpn = rdma->qpn,
		.psn = send->npsn ? bf_psn_add(send->psn, send->npsn - 1) : send->psn, .length = send->length,
		.index = s->index, .next = (uint16_t)(s->index + send->slots), .opcode = s->opcode,
		.signalled = signalled, .syndrome = c.err.syndrome, .vendor = c.err.vendor);
	if (signalled)
		bf_mlx5_cq_write(qp->send_cq, qp, &c);
	if (BF_UNLIKELY(qp->dci && qp->dci->parent))
		bf_mlx5_dci_told(qp, s);
}

/* In SQD what was started is finished, then there is an event, once (IBA vol. 1 section 10.3.1.5). */
static void check_drained(struct bf_mlx5_qp *qp)
{
	if (qp->drained)
		return;
	if (qp->rdma.head != qp->rdma.decoded &&
	    bf_rdma_send_at(&qp->rdma, qp->rdma.head)->flags & BF_RDMA_SEND_STARTED)
		return;
	bf_mlx5_qp_set_state(qp, BF_MLX5_QPS_SQD, BF_MLX5_BY_DRAINED);
	qp->drained = true;
	bf_mlx5_event_qp(qp, BF_MLX5_EVENT_SQ_DRAINED);
}

/* Nothing is left to do with the copy, and nothing that is under way will ask for it. */
static bool is_idle(const struct bf_mlx5_qp *qp)
{
	return qp->rdma.head == qp->producer && !qp->rdma.inflight && qp->rdma.state == BF_MLX5_QPS_RTS;
}

void bf_mlx5_sq_run(struct bf_mlx5_qp *qp)
{
	if (qp->in_progress)
		return;
	if (!qp->rdma.sends) {
		if (BF_UNLIKELY(qp->rdma.state == BF_MLX5_QPS_SQD))
			check_drained(qp);
		return;
	}
	qp->in_progress = true;
	if (BF_UNLIKELY(qp->dci && qp->dci->stream_count)) {
		do
			bf_mlx5_dci_run(qp);
		while (bf_rdma_retire(&qp->rdma) && qp->rdma.head != qp->rdma.decoded);
	} else {
		bf_rdma_progress(&qp->rdma);
	}
	fetch_more(qp);
	if (BF_UNLIKELY(qp->rdma.state == BF_MLX5_QPS_SQD))
		check_drained(qp);
	qp->in_progress = false;
	if (is_idle(qp) && !qp->dci)
		bf_mlx5_sq_copy_give(qp);
	/* A stream has made progress, perhaps: its DCI may have room for more WQEs. */
	if (BF_UNLIKELY(qp->dci && qp->dci->parent))
		bf_mlx5_sq_run(qp->dci->parent);
}
