/* Facts of a queue pair: its entries, its doorbell record, how far it has come. */
#include "traces/rules/mlx5/queue.h"

#include <stdlib.h>
#include <string.h>

#include "models/mlx5/prm.h"
#include "sim/bytes.h"
#include "traces/devices/points.h"
#include "traces/rules/mlx5/far.h"
#include "traces/rules/mlx5/ring.h"

/* ---- how far it has come ---- */

static struct bf_rule_way *way_to(struct bf_mlx5_rule_queue *q, enum bf_mlx5_at at)
{
	switch (at) {
	case BF_MLX5_AT_RESERVE:
		return &q->reserved;
	case BF_MLX5_AT_PUBLISH:
		return &q->published;
	case BF_MLX5_AT_RING:
		return &q->posted;
	case BF_MLX5_AT_FETCH:
		return &q->fetched;
	case BF_MLX5_AT_DONE:
		return &q->done;
	case BF_MLX5_AT_SEEN:
	default:
		return &q->polled;
	}
}

/* The device's counters have 16 bits. */
static inline void came(struct bf_mlx5_rule_queue *q, enum bf_mlx5_at at, bool device, uint64_t from, uint64_t upto,
			const struct bf_seen *e)
{
	struct bf_rule_way *way = way_to(q, at);

	(void)from;
	bf_rule_way_to(way, device, device ? way->upto + (uint16_t)(upto - way->upto) : upto, e);
}

static inline void come(struct bf_mlx5_rule_queue *q, const struct bf_seen *e, enum bf_seen_kind kind)
{
#include "traces/devices/mlx5_sends.def"
}

/* ---- entries ---- */

static void note_build(struct bf_rules *r, struct bf_mlx5_rule_queue *q, const struct bf_seen *e)
{
	struct bf_mlx5_rule_slot *slot;

	q->driver_speaks = true;
	if (!q->depth)
		return;
	if (!q->ring || (q->assumed && !q->dbrec.set))
		bf_mlx5_rule_find_ring(r, q, e);
	slot = &q->slots[e->ibgda_build.index % q->depth];
	slot->built[1] = slot->built[0];
	slot->built[0] = (struct bf_mlx5_rule_built){ e->ibgda_build.index + 1,
						      e->time_ps,
						      e->number,
						      e->actor,
						      (uint16_t)e->ibgda_build.ds,
						      slot->published == e->ibgda_build.index + 1 };
}

static const struct bf_store *late_part(struct bf_rules *r, const struct bf_mlx5_rule_queue *q, uint64_t index,
					uint64_t blocks, uint64_t by_ps)
{
	for (uint64_t i = 0; q->ring && i < blocks; i++) {
		const struct bf_sample *x = bf_ring_sample(q->ring, (uint32_t)((index + i) % q->depth), by_ps);
		const struct bf_store *late = x ? bf_sample_late(bf_rule_stores(r), x) : NULL;

		if (late)
			return late;
	}
	return NULL;
}

/* Its bytes came with the doorbell: what lies in the ring does not matter. */
static bool by_register(const struct bf_seen *e)
{
	return e->wqe_fetch.source == BF_MLX5_FROM_BLUEFLAME;
}

static enum bf_mlx5_rule_fetched judge(struct bf_rules *r, struct bf_mlx5_rule_queue *q, struct bf_mlx5_rule_fetch *f,
				       const struct bf_seen *e)
{
	const bool wrong = e->wqe_fetch.verdict != 0;
	struct bf_mlx5_rule_slot *slot = &q->slots[f->index % q->depth];
	const struct bf_store *late;

	for (int i = 0; i < 2; i++) {
		if (slot->built[i].index == f->index + 1)
			f->own = slot->built[i];
		else if (slot->built[i].index > f->index + 1 && slot->built[i].at_ps <= f->sampled_ps)
			f->over = slot->built[i];
	}
	if (wrong && f->over.index)
		return BF_MLX5_FETCHED_OVERWRITTEN;
	if ((q->driver_speaks && !f->own.index && !f->over.index && wrong) ||
	    (f->own.index && f->own.at_ps > f->sampled_ps))
		return BF_MLX5_FETCHED_UNBUILT;
	late = by_register(e) ? NULL : late_part(r, q, f->index, f->blocks, e->time_ps);
	if (late && f->own.after_publish)
		return BF_MLX5_FETCHED_UNBUILT;
	if (late) {
		f->late = *late;
		return BF_MLX5_FETCHED_LATE;
	}
	return wrong ? BF_MLX5_FETCHED_OTHER : BF_MLX5_FETCHED_GOOD;
}

static void note_fetch(struct bf_rules *r, struct bf_mlx5_rule_queue *q, const struct bf_seen *e)
{
	struct bf_mlx5_rule_fetch *f = &q->fetch;
	const struct bf_sample *x = NULL;

	come(q, e, BF_SEEN_wqe_fetch);
	*f = (struct bf_mlx5_rule_fetch){
		.index = q->fetched.upto - e->wqe_fetch.wqebbs,
		.blocks = (uint32_t)e->wqe_fetch.wqebbs,
		.sampled_ps = e->time_ps,
		.record = e->number,
	};
	if (!q->depth) {
		f->what = e->wqe_fetch.verdict ? BF_MLX5_FETCHED_OTHER : BF_MLX5_FETCHED_GOOD;
		return;
	}
	if (q->ring && !by_register(e))
		x = bf_ring_sample(q->ring, (uint32_t)(f->index % q->depth), e->time_ps);
	if (x) {
		f->sampled_ps = x->sampled_ps;
		f->record = x->record - 1;
		f->slot_va = q->ring->va + f->index % q->depth * BF_MLX5_WQEBB;
	}
	f->what = judge(r, q, f, e);
	if (f->what == BF_MLX5_FETCHED_UNBUILT || !f->own.index) {
		struct bf_mlx5_rule_slot *slot = &q->slots[f->index % q->depth];

		slot->early_index = f->index + 1;
		slot->early_ps = f->sampled_ps;
		slot->early_record = f->record;
		slot->early_wrong = e->wqe_fetch.verdict != 0;
		slot->early_published = slot->published == f->index + 1;
		slot->early_beyond = q->published.upto <= f->index;
	}
}

/* ---- doorbell records ---- */

void bf_mlx5_rule_note_read(struct bf_mlx5_rule_reads *reads, const struct bf_seen *e)
{
	if (e->dma_read.len != BF_MLX5_DBR_BYTES || e->tail_len < BF_MLX5_DBR_BYTES || e->dma_read.status)
		return;
	reads->read[reads->n++ % BF_MLX5_READS] = (struct bf_mlx5_rule_dbrec_read){
		.va = e->dma_read.va,
		.sampled_ps = e->time_ps,
		.done_ps = e->dma_read.done_ps,
		.record = e->number,
		.pe = e->pe,
		.producer = bf_get_be16(e->tail + 4 * BF_MLX5_DBR_SND + 2),
	};
}

/* Where the send word of the record at hand was read; 0: not known for sure. */
static uint64_t read_at(const struct bf_mlx5_rule_reads *reads, const struct bf_seen *e)
{
	uint64_t at = 0;

	for (uint32_t back = 1; back <= BF_MLX5_READS && back <= reads->n; back++) {
		const struct bf_mlx5_rule_dbrec_read *d = &reads->read[(reads->n - back) % BF_MLX5_READS];

		if (d->done_ps != e->time_ps || d->pe != e->pe || d->producer != e->dbrec.producer)
			continue;
		if (at && at != d->va + 4 * BF_MLX5_DBR_SND)
			return 0;
		at = d->va + 4 * BF_MLX5_DBR_SND;
	}
	return at;
}

/* A record is read in one piece of eight bytes, and the device speaks of it the moment it has it. */
static void note_dbrec(struct bf_rules *r, const struct bf_mlx5_rule_reads *reads, struct bf_mlx5_rule_queue *q,
		       const struct bf_seen *e)
{
	const struct bf_mlx5_rule_dbrec_read *d = NULL;

	for (uint32_t back = 1; back <= BF_MLX5_READS && back <= reads->n && !d; back++) {
		d = &reads->read[(reads->n - back) % BF_MLX5_READS];
		if (d->done_ps != e->time_ps || d->pe != e->pe || d->producer != e->dbrec.producer ||
		    (q->dbrec_ring && q->dbrec_ring->va != d->va))
			d = NULL;
	}
	if (!q->dbrec_read)
		q->dbrec_read = read_at(reads, e);
	q->dbrec.set = true;
	q->dbrec.at_ps = e->time_ps;
	q->dbrec.sampled_ps = d ? d->sampled_ps : e->time_ps;
	q->dbrec.record = d ? d->record : e->number;
	q->dbrec.producer = (uint16_t)e->dbrec.producer;
	q->dbrec.doorbell = (uint16_t)e->dbrec.doorbell;
	if (d && !q->dbrec_ring)
		bf_mlx5_rule_learn_dbrec(r, e->queue, d->va);
	/* What was visible when the device looked is seen; a store that was in a buffer then is still to come. */
	if (q->after.set && (int16_t)(q->after.value - q->dbrec.producer) <= 0)
		q->after.set = false;
	if (!q->after.set && q->most.set && (int16_t)(q->most.value - q->dbrec.producer) > 0)
		q->after = q->most;
}

/* ---- progress and configuration ---- */

static void note_reserve(struct bf_mlx5_rule_queue *q, const struct bf_seen *e)
{
	const uint64_t base = e->ibgda_reserve.base, count = e->ibgda_reserve.count;

	for (uint64_t i = base; q->slots && i < base + count && i < base + q->depth; i++) {
		struct bf_mlx5_rule_slot *slot = &q->slots[i % q->depth];

		slot->times = slot->reserved == i + 1 ? slot->times + 1 : 1;
		slot->reserved = i + 1;
		slot->first = base;
		slot->count = (uint32_t)count;
		slot->reserver = e->actor;
	}
	if (q->slots)
		bf_rule_expect(&q->slots[(base + count) % q->depth], sizeof(*q->slots));
	come(q, e, BF_SEEN_ibgda_reserve);
}

static void note_driver(struct bf_rules *r, struct bf_mlx5_rule_queue *q, const struct bf_seen *e)
{
	switch (e->kind) {
	case BF_SEEN_ibgda_reserve:
		note_reserve(q, e);
		break;
	case BF_SEEN_gin_queue:
		q->tells.first = true;
		break;
	case BF_SEEN_ibgda_post:
		if (!q->dbrec_stored)
			bf_mlx5_rule_find_dbrec(r, q, e);
		come(q, e, BF_SEEN_ibgda_post);
		break;
	case BF_SEEN_ibgda_publish:
		for (uint64_t i = 0; q->slots && i < e->ibgda_publish.count && i < q->depth; i++)
			q->slots[(e->ibgda_publish.base + i) % q->depth].published = e->ibgda_publish.base + i + 1;
		come(q, e, BF_SEEN_ibgda_publish);
		break;
	case BF_SEEN_ibgda_poll:
		come(q, e, BF_SEEN_ibgda_poll);
		break;
	default:
		break;
	}
}

static void note_cqe(struct bf_mlx5_rule_queue *q, const struct bf_seen *e)
{
	const uint16_t after = (uint16_t)(e->cqe.index + 1);

	/* Whichever is told first, this or that the entry is done. */
	if ((e->cqe.opcode == BF_MLX5_CQE_REQ || e->cqe.opcode == BF_MLX5_CQE_REQ_ERR) &&
	    (int16_t)(after - (uint16_t)q->covered) > 0)
		q->covered += (uint16_t)(after - (uint16_t)q->covered);
	q->cqe_counter = (uint16_t)e->cqe.index;
	q->cqe_verdict = (uint8_t)e->cqe.verdict;
	q->cqe_opcode = (uint8_t)e->cqe.opcode;
	q->cqe_syndrome = (uint8_t)e->cqe.syndrome;
	q->cqe_record = e->number;
	q->cqes++;
	if (q->cqe_syndrome && !q->error_syndrome) {
		q->error_syndrome = q->cqe_syndrome;
		q->error_index = q->done.upto > 0 ? q->done.upto - 1 : 0;
		q->error_index += (uint16_t)((uint16_t)e->cqe.index - (uint16_t)q->error_index);
		q->error_ps = e->time_ps;
		q->error_record = e->number;
	}
}

static void note_again(struct bf_mlx5_rule_queue *q, const struct bf_seen *e)
{
	struct bf_mlx5_rule_rnr *rnr = &q->rnr;

	if (!q->again_record)
		q->again_record = e->number;
	if (e->retransmit.cause != BF_RDMA_AGAIN_RNR) {
		rnr->times = 0;
		return;
	}
	if (!rnr->times++) {
		rnr->first_ps = e->time_ps;
		rnr->first_record = e->number;
	}
	rnr->last_ps = e->time_ps;
	rnr->last_record = e->number;
	rnr->psn = (uint32_t)e->retransmit.psn;
}

static void note_config(struct bf_rules *r, struct bf_mlx5_rule_queue *q, const struct bf_seen *e)
{
	if (e->kind == BF_SEEN_capture_qp) {
		q->send_cqn = (uint32_t)e->capture_qp.send_cqn;
		q->remote_qpn = (uint32_t)e->capture_qp.dest_qpn;
		bf_mlx5_rule_set_depth(q, e->capture_qp.sq_wqebbs);
	} else {
		/* A number that is given out again names another queue. */
		struct bf_ring *dbrec = q->dbrec_ring && q->dbrec_ring->entries ? q->dbrec_ring : NULL;

		free(q->slots);
		*q = (struct bf_mlx5_rule_queue){ .ring = q->ring, .dbrec_ring = dbrec, .assumed = q->assumed };
		q->send_cqn = (uint32_t)e->qp_config.send_cqn;
		q->pd = (uint32_t)e->qp_config.pd;
		q->sq = e->qp_config.sq;
		q->made = e->number;
		bf_mlx5_rule_set_depth(q, e->qp_config.sq_wqebbs);
		bf_mlx5_rule_assume_ring(r, e->queue);
	}
	q->configured = true;
}

static void note_path(struct bf_mlx5_rule_queue *q, const struct bf_seen *e)
{
	q->connected = true;
	q->remote_qpn = (uint32_t)e->qp_path.remote_qpn;
	q->remote_ipv4 = (uint32_t)e->qp_path.remote_ipv4;
	q->ipv4 = (uint32_t)e->qp_path.ipv4;
	q->max_reads = (uint32_t)e->qp_path.max_reads;
	q->max_answers = (uint32_t)e->qp_path.max_answers;
	q->retries = (uint32_t)e->qp_path.retries;
	q->rnr_retries = (uint32_t)e->qp_path.rnr_retries;
	q->timeout = (uint32_t)e->qp_path.timeout;
	q->mtu = (uint32_t)e->qp_path.mtu;
	q->access = (uint32_t)e->qp_path.access;
}

/*
 * A queue pair that was reset begins anew, for the device at 0: nothing of it has failed or waits to be rung for. A
 * driver whose counters never go back goes on at the next multiple of 2^16.
 */
static void begin_at(struct bf_mlx5_rule_queue *q, uint64_t index)
{
	q->seen_done = q->covered = q->reserved.upto = q->published.upto = q->posted.upto = index;
	q->fetched.upto = q->done.upto = q->polled.upto = index;
}

static void note_reset(struct bf_mlx5_rule_queue *q)
{
	begin_at(q, 0);
	q->begins = q->was_reset = true;
	q->failed = q->started = false;
	q->rnr.times = 0;
	q->error_syndrome = 0;
	q->done.record = 0;
	q->dbrec.set = q->most.set = q->after.set = q->dbrec_shown = false;
	if (q->slots)
		memset(q->slots, 0, q->depth * sizeof(*q->slots));
}

static void note_begin(struct bf_mlx5_rule_queue *q, const struct bf_seen *e)
{
	const uint64_t first = e->kind == BF_SEEN_ibgda_reserve   ? e->ibgda_reserve.base
			       : e->kind == BF_SEEN_ibgda_build   ? e->ibgda_build.index
			       : e->kind == BF_SEEN_ibgda_publish ? e->ibgda_publish.base
			       : e->kind == BF_SEEN_ibgda_post    ? e->ibgda_post.from
								  : UINT64_MAX;

	if (first == UINT64_MAX)
		return;
	q->begins = false;
	begin_at(q, first & ~(uint64_t)0xffff);
}

void bf_mlx5_rule_note_queue(struct bf_rules *r, const struct bf_mlx5_rule_reads *reads, const struct bf_seen *e)
{
	struct bf_mlx5_rule_queue *q = bf_mlx5_rule_of(e->queue);

	if (BF_UNLIKELY(q->begins))
		note_begin(q, e);
	switch (e->kind) {
	case BF_SEEN_ibgda_build:
		note_build(r, q, e);
		break;
	case BF_SEEN_wqe_fetch:
		note_fetch(r, q, e);
		break;
	case BF_SEEN_dbrec:
		note_dbrec(r, reads, q, e);
		break;
	case BF_SEEN_doorbell:
		q->doorbells++;
		break;
	case BF_SEEN_wqe_done:
		come(q, e, BF_SEEN_wqe_done);
		if (e->wqe_done.signalled)
			q->covered = q->done.upto;
		q->rnr.times = 0;
		q->waits |= e->wqe_done.opcode == BF_MLX5_OP_WAIT;
		q->sent += !e->wqe_done.syndrome && e->wqe_done.opcode >= BF_MLX5_OP_RDMA_WRITE &&
			   e->wqe_done.opcode <= BF_MLX5_OP_SEND_IMM;
		break;
	case BF_SEEN_wqe_start:
		q->lkey = (uint32_t)e->wqe_start.lkey;
		if (!e->wqe_start.npsn)
			break;
		if (!q->started)
			q->first_psn = (uint32_t)e->wqe_start.psn;
		q->started = true;
		q->end_psn = (uint32_t)(e->wqe_start.psn + e->wqe_start.npsn) & 0xffffffu;
		break;
	case BF_SEEN_retransmit:
		note_again(q, e);
		break;
	case BF_SEEN_cqe:
		note_cqe(q, e);
		break;
	case BF_SEEN_qp_error:
		q->failed = true;
		bf_mlx5_rule_note_answer(q, e);
		break;
	case BF_SEEN_request_done:
		q->answers.taken++;
		break;
	case BF_SEEN_rx_drop:
	case BF_SEEN_nak_sent:
		bf_mlx5_rule_note_answer(q, e);
		break;
	case BF_SEEN_qp_state:
		q->state = (uint8_t)e->qp_state.to;
		q->stopped = q->state == BF_MLX5_QPS_ERR && e->qp_state.cause == BF_MLX5_BY_COMMAND;
		if (q->state == BF_MLX5_QPS_RST)
			note_reset(q);
		break;
	case BF_SEEN_qp_config:
	case BF_SEEN_capture_qp:
		note_config(r, q, e);
		break;
	case BF_SEEN_qp_path:
		note_path(q, e);
		break;
	default:
		note_driver(r, q, e);
		break;
	}
}
