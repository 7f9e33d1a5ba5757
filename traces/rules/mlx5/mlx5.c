/* Facts of mlx5 queue pairs, and the list of their rules. */
#include "traces/rules/mlx5/mlx5.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "models/mlx5/prm.h"
#include "models/mlx5/wqe.h"
#include "sim/bytes.h"
#include "sim/mem.h"
#include "traces/rules/machine/machine.h"
#include "traces/rules/mlx5/far.h"
#include "traces/rules/mlx5/polls.h"
#include "traces/rules/mlx5/ring.h"

#define READS 64u
#define FENCES 1024u

/* A DMA read that may have been of a doorbell record. */
struct dbrec_read {
	uint64_t va, sampled_ps, done_ps, record;
	uint32_t pe;
	uint16_t producer;
};

/* A thread's last fence; the table forgets threads that share a place. */
struct fence {
	uint32_t actor;
	uint64_t record;
};

struct run {
	struct dbrec_read reads[READS];
	uint32_t nreads;
	struct fence fences[FENCES];
	uint64_t started, ended; /* threads */
	struct bf_mlx5_polls polls;
	uint32_t widest; /* scope of all fences: threads that leave the posting to others fence for their block only */
};

struct bf_mlx5_name bf_mlx5_entry(const struct bf_rule_queue *q, uint64_t index)
{
	struct bf_mlx5_name n;

	snprintf(n.text, sizeof(n.text), "WQE %" PRIu64 " of QP 0x%" PRIx64 " on PE %" PRIu32, index, q->number, q->pe);
	return n;
}

void bf_mlx5_failed_with(struct bf_rule_run *r, const struct bf_seen *e, uint32_t syndrome, const char *more)
{
	struct bf_finding *f;
	char why[40];

	if (e->qp_error.syndrome != syndrome || e->qp_error.side != BF_MLX5_REQUESTER)
		return;
	f = bf_rule_find(r, e, e->queue);
	if (!f)
		return;
	bf_finding_index(f, e->qp_error.index);
	bf_seen_text(e, "why", why, sizeof(why));
	bf_finding_say(f, "WQE %" PRIu64 " on %s failed with syndrome %02" PRIx32 ", vendor %02" PRIx64 ": %s%s%s%s",
		       e->qp_error.index, bf_rule_actor(r->rules, e->actor), syndrome, e->qp_error.vendor,
		       bf_mlx5_syndrome(syndrome), why[0] ? ", " : "", why, more);
	if (e->qp_error.syndrome >= BF_MLX5_SYND_REM_INV_REQ)
		bf_mlx5_say_far(r->rules, f, e->queue);
}

const char *bf_mlx5_syndrome(uint64_t syndrome)
{
	return bf_mlx5_syndrome_text((uint8_t)syndrome);
}

bool bf_mlx5_fences_in_block(struct bf_rules *r, uint32_t actor, uint64_t record)
{
	const struct run *run = bf_rule_run_facts(r, &bf_rules_mlx5);
	const struct fence *f = &run->fences[actor % FENCES];

	return run->widest == 0 && f->actor == actor && f->record > record;
}

const struct bf_mlx5_polls *bf_mlx5_polls_of(struct bf_rules *r)
{
	const struct run *run = bf_rule_run_facts(r, &bf_rules_mlx5);

	return &run->polls;
}

bool bf_mlx5_all_ended(struct bf_rules *r)
{
	const struct run *run = bf_rule_run_facts(r, &bf_rules_mlx5);

	return run->started && run->started == run->ended;
}

bool bf_mlx5_is_completion(const char *what)
{
	return strstr(what, "completion") || strstr(what, "CQE");
}

const struct bf_machine_thread *bf_mlx5_completion_awaited(struct bf_rules *r, uint32_t pe)
{
	const struct bf_machine *m = bf_rule_run_facts(r, &bf_rules_machine);
	const struct bf_machine_thread *first = NULL;

	for (uint32_t i = 0; m && i < BF_MACHINE_THREADS; i++) {
		const struct bf_machine_thread *t = &m->thread[i];

		if (t->runs && t->waits && t->pe == pe && bf_mlx5_is_completion(t->what) &&
		    (!first || t->since_ps < first->since_ps))
			first = t;
	}
	return first;
}

/* Once some thread fences for more than its block, it is no longer asked who does not. */
static void note_fence(struct bf_rules *r, struct run *run, const struct bf_seen *e)
{
	run->fences[e->actor % FENCES] = (struct fence){ e->actor, e->number };
	if (e->fence.scope > run->widest)
		run->widest = (uint32_t)e->fence.scope;
	if (run->widest)
		bf_rule_enough(r, &bf_rules_mlx5, BF_SEEN_fence);
}

/* ---- entries ---- */

static void note_build(struct bf_rules *r, struct bf_mlx5_queue *q, const struct bf_seen *e)
{
	struct bf_mlx5_slot *slot;

	q->driver_speaks = true;
	if (!q->depth)
		return;
	if (!q->ring || (q->assumed && !q->dbrec.set))
		bf_mlx5_find_ring(r, q, e);
	slot = &q->slots[e->ibgda_build.index % q->depth];
	slot->built[1] = slot->built[0];
	slot->built[0] = (struct bf_mlx5_built){ e->ibgda_build.index + 1,
						 e->time_ps,
						 e->number,
						 e->actor,
						 (uint16_t)e->ibgda_build.ds,
						 slot->published == e->ibgda_build.index + 1 };
}

static const struct bf_store *late_part(struct bf_rules *r, const struct bf_mlx5_queue *q, uint64_t index,
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

static enum bf_mlx5_fetched judge(struct bf_rules *r, struct bf_mlx5_queue *q, struct bf_mlx5_rule_fetch *f,
				  const struct bf_seen *e)
{
	const bool wrong = e->wqe_fetch.verdict != 0;
	struct bf_mlx5_slot *slot = &q->slots[f->index % q->depth];
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

static void note_fetch(struct bf_rules *r, struct bf_mlx5_queue *q, const struct bf_seen *e)
{
	struct bf_mlx5_rule_fetch *f = &q->fetch;
	const struct bf_sample *x = NULL;

	*f = (struct bf_mlx5_rule_fetch){
		.index = q->fetched + (uint16_t)(e->wqe_fetch.index - (uint16_t)q->fetched),
		.blocks = (uint32_t)e->wqe_fetch.wqebbs,
		.sampled_ps = e->time_ps,
		.record = e->number,
	};
	q->fetched = f->index + f->blocks;
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
		struct bf_mlx5_slot *slot = &q->slots[f->index % q->depth];

		slot->early_index = f->index + 1;
		slot->early_ps = f->sampled_ps;
		slot->early_record = f->record;
		slot->early_wrong = e->wqe_fetch.verdict != 0;
		slot->early_published = slot->published == f->index + 1;
		slot->early_beyond = q->published <= f->index;
	}
}

/* ---- doorbell records ---- */

static void note_read(struct run *run, const struct bf_seen *e)
{
	if (e->dma_read.len != BF_MLX5_DBR_BYTES || e->tail_len < BF_MLX5_DBR_BYTES || e->dma_read.status)
		return;
	run->reads[run->nreads++ % READS] = (struct dbrec_read){
		.va = e->dma_read.va,
		.sampled_ps = e->time_ps,
		.done_ps = e->dma_read.done_ps,
		.record = e->number,
		.pe = e->pe,
		.producer = bf_get_be16(e->tail + 4 * BF_MLX5_DBR_SND + 2),
	};
}

/* Where the send word of the record at hand was read; 0: not known for sure. */
static uint64_t read_at(const struct run *run, const struct bf_seen *e)
{
	uint64_t at = 0;

	for (uint32_t back = 1; back <= READS && back <= run->nreads; back++) {
		const struct dbrec_read *d = &run->reads[(run->nreads - back) % READS];

		if (d->done_ps != e->time_ps || d->pe != e->pe || d->producer != e->dbrec.producer)
			continue;
		if (at && at != d->va + 4 * BF_MLX5_DBR_SND)
			return 0;
		at = d->va + 4 * BF_MLX5_DBR_SND;
	}
	return at;
}

/* A record is read in one piece of eight bytes, and the device speaks of it the moment it has it. */
static void note_dbrec(struct bf_rules *r, const struct run *run, struct bf_mlx5_queue *q, const struct bf_seen *e)
{
	const struct dbrec_read *d = NULL;

	for (uint32_t back = 1; back <= READS && back <= run->nreads && !d; back++) {
		d = &run->reads[(run->nreads - back) % READS];
		if (d->done_ps != e->time_ps || d->pe != e->pe || d->producer != e->dbrec.producer ||
		    (q->dbrec_ring && q->dbrec_ring->va != d->va))
			d = NULL;
	}
	if (!q->dbrec_read)
		q->dbrec_read = read_at(run, e);
	q->dbrec.set = true;
	q->dbrec.at_ps = e->time_ps;
	q->dbrec.sampled_ps = d ? d->sampled_ps : e->time_ps;
	q->dbrec.record = d ? d->record : e->number;
	q->dbrec.producer = (uint16_t)e->dbrec.producer;
	q->dbrec.doorbell = (uint16_t)e->dbrec.doorbell;
	if (d && !q->dbrec_ring)
		bf_mlx5_learn_dbrec(r, e->queue, d->va);
	/* What was visible when the device looked is seen; a store that was in a buffer then is still to come. */
	if (q->after.set && (int16_t)(q->after.value - q->dbrec.producer) <= 0)
		q->after.set = false;
	if (!q->after.set && q->most.set && (int16_t)(q->most.value - q->dbrec.producer) > 0)
		q->after = q->most;
}

/* ---- progress and configuration ---- */

static void note_reserve(struct bf_mlx5_queue *q, const struct bf_seen *e)
{
	const uint64_t base = e->ibgda_reserve.base, count = e->ibgda_reserve.count;

	for (uint64_t i = base; q->slots && i < base + count && i < base + q->depth; i++) {
		struct bf_mlx5_slot *slot = &q->slots[i % q->depth];

		slot->times = slot->reserved == i + 1 ? slot->times + 1 : 1;
		slot->reserved = i + 1;
		slot->first = base;
		slot->count = (uint32_t)count;
		slot->reserver = e->actor;
	}
	if (q->slots)
		bf_rule_expect(&q->slots[(base + count) % q->depth], sizeof(*q->slots));
	if (base + count > q->reserved) {
		q->reserved = base + count;
		q->reserved_ps = e->time_ps;
		q->reserved_record = e->number;
	}
}

static void note_driver(struct bf_rules *r, struct bf_mlx5_queue *q, const struct bf_seen *e)
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
			bf_mlx5_find_dbrec(r, q, e);
		if (e->ibgda_post.to > q->posted) {
			q->posted = e->ibgda_post.to;
			q->posted_ps = e->time_ps;
			q->posted_record = e->number;
		}
		break;
	case BF_SEEN_ibgda_publish:
		for (uint64_t i = 0; q->slots && i < e->ibgda_publish.count && i < q->depth; i++)
			q->slots[(e->ibgda_publish.base + i) % q->depth].published = e->ibgda_publish.base + i + 1;
		if (e->ibgda_publish.base + e->ibgda_publish.count > q->published) {
			q->published = e->ibgda_publish.base + e->ibgda_publish.count;
			q->published_ps = e->time_ps;
			q->published_record = e->number;
			q->publisher = e->actor;
		}
		break;
	case BF_SEEN_ibgda_poll:
		if (e->ibgda_poll.done > q->polled)
			q->polled = e->ibgda_poll.done;
		break;
	default:
		break;
	}
}

static void note_cqe(struct bf_mlx5_queue *q, const struct bf_seen *e)
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
		q->error_index = q->done > 0 ? q->done - 1 : 0;
		q->error_index += (uint16_t)((uint16_t)e->cqe.index - (uint16_t)q->error_index);
		q->error_ps = e->time_ps;
		q->error_record = e->number;
	}
}

static void note_again(struct bf_mlx5_queue *q, const struct bf_seen *e)
{
	struct bf_mlx5_rnr *rnr = &q->rnr;

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

static void note_config(struct bf_rules *r, struct bf_mlx5_queue *q, const struct bf_seen *e)
{
	if (e->kind == BF_SEEN_capture_qp) {
		q->send_cqn = (uint32_t)e->capture_qp.send_cqn;
		q->remote_qpn = (uint32_t)e->capture_qp.dest_qpn;
		bf_mlx5_set_depth(q, e->capture_qp.sq_wqebbs);
	} else {
		/* A number that is given out again names another queue. */
		struct bf_ring *dbrec = q->dbrec_ring && q->dbrec_ring->entries ? q->dbrec_ring : NULL;

		free(q->slots);
		*q = (struct bf_mlx5_queue){ .ring = q->ring, .dbrec_ring = dbrec, .assumed = q->assumed };
		q->send_cqn = (uint32_t)e->qp_config.send_cqn;
		q->pd = (uint32_t)e->qp_config.pd;
		q->sq = e->qp_config.sq;
		q->made = e->number;
		bf_mlx5_set_depth(q, e->qp_config.sq_wqebbs);
		bf_mlx5_assume_ring(r, e->queue);
	}
	q->configured = true;
}

static void note_path(struct bf_mlx5_queue *q, const struct bf_seen *e)
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
static void begin_at(struct bf_mlx5_queue *q, uint64_t index)
{
	q->seen_done = q->fetched = q->done = q->covered = q->polled = q->posted = q->published = q->reserved = index;
}

static void note_reset(struct bf_mlx5_queue *q)
{
	begin_at(q, 0);
	q->begins = q->was_reset = true;
	q->failed = q->started = false;
	q->rnr.times = 0;
	q->error_syndrome = 0;
	q->done_record = 0;
	q->dbrec.set = q->most.set = q->after.set = q->dbrec_shown = false;
	if (q->slots)
		memset(q->slots, 0, q->depth * sizeof(*q->slots));
}

static void note_begin(struct bf_mlx5_queue *q, const struct bf_seen *e)
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

static void on_queue(struct bf_rules *r, const struct run *run, const struct bf_seen *e)
{
	struct bf_mlx5_queue *q = bf_mlx5_of(e->queue);

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
		note_dbrec(r, run, q, e);
		break;
	case BF_SEEN_doorbell:
		q->doorbells++;
		break;
	case BF_SEEN_wqe_done:
		q->done += (uint16_t)(e->wqe_done.next - (uint16_t)q->done);
		q->done_ps = e->time_ps;
		q->done_record = e->number;
		if (e->wqe_done.signalled)
			q->covered = q->done;
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
		bf_mlx5_note_answer(q, e);
		break;
	case BF_SEEN_request_done:
		q->answers.taken++;
		break;
	case BF_SEEN_rx_drop:
	case BF_SEEN_nak_sent:
		bf_mlx5_note_answer(q, e);
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

/* Its traffic goes by another queue pair from now on: nobody waits here for what this one was given. */
static void note_move(struct bf_rules *r, const struct bf_seen *e)
{
	struct bf_rule_queue *from = bf_rule_queue(r, &bf_rules_mlx5, e->pe, e->ibgda_move.from_qpn, false);
	struct bf_rule_queue *to = bf_rule_queue(r, &bf_rules_mlx5, e->pe, e->ibgda_move.to_qpn, false);

	if (from) {
		struct bf_mlx5_queue *q = bf_mlx5_of(from);

		/* Who has a slot there and has not published gives it up; the next one to come gets it again. */
		for (uint32_t i = 0; q->slots && i < q->depth; i++)
			if (q->slots[i].reserved > q->published)
				q->slots[i].reserved = 0;
		q->moved = true;
	}
	if (to)
		bf_mlx5_of(to)->moved = false;
}

/* A doorbell carries the number of its queue pair in bytes 4-6, like a control segment. */
static void note_rung(struct bf_rules *r, const struct bf_seen *e)
{
	struct bf_rule_queue *queue;

	if (e->tail_len != 8 || e->mmio_store.va % BF_PAGE != BF_MLX5_UAR_BF)
		return;
	queue = bf_rule_queue(r, &bf_rules_mlx5, e->pe, bf_get_be24(e->tail + 4), false);
	if (queue)
		bf_mlx5_of(queue)->rung = true;
}

static void on(struct bf_rules *r, void *facts, const struct bf_seen *e)
{
	struct run *run = facts;

	switch (e->kind) {
	case BF_SEEN_mmio_store:
		note_rung(r, e);
		break;
	case BF_SEEN_store:
		if (e->store.len == 4)
			bf_mlx5_note_polls(r, &run->polls, e);
		bf_mlx5_note_store(r, e);
		break;
	case BF_SEEN_store_visible:
		bf_mlx5_note_visible(r, e);
		break;
	case BF_SEEN_cq_config:
	case BF_SEEN_load:
	case BF_SEEN_agent_wait:
	case BF_SEEN_agent_wake:
		bf_mlx5_note_polls(r, &run->polls, e);
		break;
	case BF_SEEN_fence:
		note_fence(r, run, e);
		break;
	case BF_SEEN_agent_start:
		run->started++;
		break;
	case BF_SEEN_agent_end:
		run->ended++;
		bf_mlx5_note_polls(r, &run->polls, e);
		break;
	case BF_SEEN_dma_read:
		note_read(run, e);
		break;
	case BF_SEEN_ibgda_move:
		note_move(r, e);
		break;
	case BF_SEEN_cmd:
		bf_mlx5_note_command(r, e);
		break;
	default:
		if (e->queue)
			on_queue(r, run, e);
		if (e->kind == BF_SEEN_cqe)
			bf_mlx5_note_polls(r, &run->polls, e);
		break;
	}
}

static bool left(const void *facts)
{
	return ((const struct bf_mlx5_queue *)facts)->moved;
}

static void forget(void *facts)
{
	free(((struct bf_mlx5_queue *)facts)->slots);
}

static void forget_run(void *facts)
{
	bf_mlx5_forget_polls(&((struct run *)facts)->polls);
}

/* clang-format off */
#define BF_MLX5_RULES(R)                                                                                               \
	R(entry_order) R(fence_scope) R(entry_early) R(publish_order) R(ring_overrun) R(dbrec_index)                   \
	R(dbrec_order) R(doorbell_first) R(dbrec_lock) R(not_rung) R(key_bounds) R(key_unknown) R(key_access)          \
	R(poll_early) R(poll_window) R(completion_lost) R(data_order) R(retry_exceeded) R(rnr_exceeded)                \
	R(remote_access) R(local_length) R(local_qp) R(local_protection) R(flushed) R(error_ignored)                   \
	R(quiet_early) R(doorbell_refused) R(doorbell_lost) R(wrong_peer) R(read_depth) R(rnr_finite)                  \
	R(cq_overrun) R(cq_config) R(entry_index) R(entry_qpn) R(capture_error) R(doorbell_each)                       \
	R(retransmits) R(read_zero) R(shared_queue) R(cq_too_small) R(cq_entry0) R(cq_not_cleared)                     \
	R(poll_back) R(astray) R(proxy_idle) R(dbrec_still) R(leak) R(dc_key) R(dc_unknown) R(dc_contexts)             \
	R(slot_shared) R(publish_count) R(not_published) R(entry_shape) R(get_early) R(ibuf_shared)                    \
	R(no_quiet) R(dbrec_unfenced) R(remote_invalid) R(remote_operation) R(peer_state)                         \
	R(peer_psn) R(peer_gone) R(error_completion) R(timeout_pending) R(command_refused) R(no_timeout) R(request_refused)                           \
	R(ring_overlap) R(ring_view) R(dbrec_view)                                                                    \
	R(sharing) R(cqe_not_asked) R(signal_passes) R(entry_unseen) R(dbrec_endian) R(cqe_owner) R(weak_poll)          \
	R(rnr_endless) R(error_unseen) R(unsignalled) R(key_elsewhere) R(cq_view) R(wait_unmet) R(wrong_bytes) R(descriptor_lost)      \
	R(ring_unrung) R(no_grh) R(cqe_compressed) R(poll_lapped) R(sport_shared) R(read_serial)         \
	R(descriptor_torn) R(window_aside) R(descriptor_slot) R(no_interrupt) R(signal_zero) R(bf_shared)
/* clang-format on */

#define DECLARE(name) extern const struct bf_rule bf_rule_mlx5_##name;
BF_MLX5_RULES(DECLARE)
#define LIST(name) &bf_rule_mlx5_##name,
static const struct bf_rule *const rules[] = { BF_MLX5_RULES(LIST) NULL };

static const uint16_t signs[] = { BF_SEEN_wqe_fetch, BF_SEEN_qp_config, BF_SEEN_ibgda_build, BF_SEEN_capture_wqe, 0 };

static const uint16_t records[] = {
	BF_SEEN_agent_start,
	BF_SEEN_agent_end,
	BF_SEEN_store,
	BF_SEEN_store_visible,
	BF_SEEN_fence,
	BF_SEEN_dma_read,
	BF_SEEN_doorbell,
	BF_SEEN_wqe_fetch,
	BF_SEEN_wqe_start,
	BF_SEEN_wqe_done,
	BF_SEEN_cqe,
	BF_SEEN_qp_state,
	BF_SEEN_mkey_error,
	BF_SEEN_qp_error,
	BF_SEEN_retransmit,
	BF_SEEN_dbrec,
	BF_SEEN_rx_drop,
	BF_SEEN_request_done,
	BF_SEEN_nak_sent,
	BF_SEEN_qp_config,
	BF_SEEN_qp_path,
	BF_SEEN_ibgda_reserve,
	BF_SEEN_ibgda_build,
	BF_SEEN_ibgda_publish,
	BF_SEEN_ibgda_post,
	BF_SEEN_ibgda_poll,
	BF_SEEN_ibgda_quiet,
	BF_SEEN_ibgda_handoff,
	BF_SEEN_ibgda_consume,
	BF_SEEN_ibgda_astray,
	BF_SEEN_ibgda_result,
	BF_SEEN_ibgda_ibuf,
	BF_SEEN_ibgda_mismatch,
	BF_SEEN_dc_wqe,
	BF_SEEN_ibgda_move,
	BF_SEEN_mmio_store,
	BF_SEEN_capture_qp,
	BF_SEEN_capture_doorbell,
	BF_SEEN_capture_wqe,
	BF_SEEN_gin_queue,
	BF_SEEN_gin_taken,
	BF_SEEN_gin_descriptor,
	BF_SEEN_d2p_descriptor,
	BF_SEEN_d2p_taken,
	BF_SEEN_gin_window,
	BF_SEEN_load,
	BF_SEEN_agent_wait,
	BF_SEEN_agent_wake,
	BF_SEEN_cq_config,
	BF_SEEN_cmd,
	0,
};

/* Where an entry and the record that announces it lie, by what was stored there. */
static bool memory(const struct bf_rule_queue *queue, uint64_t index, uint64_t bytes, unsigned n,
		   struct bf_rule_memory *out)
{
	const struct bf_mlx5_queue *q = bf_rule_facts(queue);

	*out = (struct bf_rule_memory){ .name = "the entry" };
	if (n == 0 && q->ring && q->ring->entries) {
		out->va = q->ring->va + index % q->ring->entries * BF_MLX5_WQEBB;
		out->len = bytes >= BF_MLX5_WQEBB && bytes <= 16ull * BF_MLX5_WQEBB ? bytes : BF_MLX5_WQEBB;
	} else if (n == 1 && q->dbrec_ring) {
		*out = (struct bf_rule_memory){
			.name = "the doorbell record", .va = q->dbrec_ring->va + 4, .len = 4, .value = true
		};
	}
	return n < 2;
}

static const char *const memory_rules[] = { "MLX5-ENTRY-ORDER", "MLX5-DBREC-ORDER", NULL };

const struct bf_rule_family bf_rules_mlx5 = {
	.name = "mlx5",
	.classes = BF_CLASS_AGENT | BF_CLASS_MEM | BF_CLASS_MMIO | BF_CLASS_DMA | BF_CLASS_QUEUE | BF_CLASS_FAULT |
		   BF_CLASS_DRIVER,
	.rules = rules,
	.signs = signs,
	.records = records,
	.run_bytes = sizeof(struct run),
	.queue_bytes = sizeof(struct bf_mlx5_queue),
	.on = on,
	.left = left,
	.forget = forget,
	.forget_run = forget_run,
	.memory = memory,
	.memory_rules = memory_rules,
};
