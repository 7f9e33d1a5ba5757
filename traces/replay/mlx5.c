/*
 * The walk: each line of the capture in its turn. Doorbells ring when the capture's clock says so and not before the
 * completions that the capture has in front of them.
 */
#include "traces/replay/mlx5.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "traces/replay/mlx5_internal.h"

#include "sim/grow.h"

/* A step that waits longer than this in simulated time waits for ever: the longest retry sequence takes half a second.
 */
#define PATIENCE_PS (2 * BF_S)

/* Puts the captured event into the record stream, where the replay comes to it. */
static void mark(struct bf_replay *r, const struct bf_capture_event *ev)
{
	if (bf_probe(r->sim, BF_CLASS_QUEUE))
		bf_capture_record(&r->sim->rec, &r->actors, ev);
}

static void set_dbrec(struct bf_region *records, uint8_t *dbrec, int word, uint32_t value)
{
	bf_put_be32(dbrec + 4 * word, value);
	bf_mem_touched(records, dbrec + 4 * word, 4);
}

static void copy_in(struct bf_region *r, uint64_t offset, const void *bytes, uint32_t len)
{
	memcpy(r->bytes + offset, bytes, len);
	bf_mem_touched(r, r->bytes + offset, len);
}

/* ---- completions ---- */

static int keep_cqe(struct bf_replay *r, struct bf_replay_cq *cq, const uint8_t *bytes)
{
	struct bf_replay_cqe c;
	struct bf_replay_qp *q;

	if (BF_GROW(cq->simulated, cq->simulated_cap, cq->nsimulated + 1))
		return bf_fail(r->err, -ENOMEM, "out of memory");
	bf_replay_read_cqe(bytes, &c);
	c.time_ps = r->sim->now_ps;
	c.number = cq->nsimulated;
	cq->simulated[cq->nsimulated++] = c;
	q = bf_replay_find_qp(r, c.qpn);
	if (q && bf_replay_cqe_side(&c) == BF_REPLAY_RECV)
		q->recv_consumed++;
	return 0;
}

/* Takes what is in software's hands (opcode valid, owner bit of this pass) and returns the entries to the device. */
static int poll_cq(struct bf_replay *r, struct bf_replay_cq *cq)
{
	uint32_t before = cq->consumer;
	int rc = 0;

	while (!rc) {
		const uint8_t *cqe = cq->ring->bytes + (uint64_t)(cq->consumer & (cq->entries - 1)) * 64;
		uint8_t owner = (cq->consumer / cq->entries) & 1;

		if (cqe[63] >> 4 == BF_MLX5_CQE_INVALID || (cqe[63] & BF_MLX5_CQE_OWNER) != owner)
			break;
		rc = keep_cqe(r, cq, cqe);
		cq->consumer++;
	}
	if (cq->consumer != before)
		set_dbrec(r->host[0].records, cq->dbrec, BF_MLX5_CQ_DBR_CI, cq->consumer & 0xffffff);
	return rc;
}

/* ---- receive entries ---- */

/* Posts receive entries as far as the ring has room, the captured bytes at the captured numbers. */
static void post_receives(struct bf_replay *r, struct bf_replay_qp *q)
{
	/* An empty list: what consumes this entry does not look at it. */
	static const struct bf_mlx5_data none = { .lkey = { { 0, 0, 1, 0 } } };
	uint32_t before = q->recv_posted;

	while (q->recv_posted < q->nrecv && q->recv_posted - q->recv_consumed < q->cap->rq_wqes) {
		const struct bf_capture_event *ev = q->recv[q->recv_posted];
		uint64_t offset = (uint64_t)(q->recv_posted & (q->cap->rq_wqes - 1)) << q->cap->rq_stride_log2;

		copy_in(q->ring, offset, ev ? ev->bytes : (const void *)&none, ev ? ev->len : sizeof(none));
		q->recv_posted++;
	}
	if (q->recv_posted != before)
		set_dbrec(r->host[0].records, q->dbrec, BF_MLX5_DBR_RCV, q->recv_posted & 0xffff);
}

static void post_to_srq(struct bf_replay *r, const struct bf_capture_event *ev)
{
	struct bf_replay_srq *srq = bf_replay_find_srq(r, ev->queue.srqn);

	if (!srq)
		return;
	copy_in(srq->ring, (uint64_t)ev->queue.index << srq->cap->stride_log2, ev->bytes, ev->len);
	set_dbrec(r->host[0].records, srq->dbrec, BF_MLX5_DBR_RCV, ++srq->posted & 0xffff);
}

static int poll_all(struct bf_replay *r)
{
	int rc = 0;

	for (size_t i = 0; i < r->ncqs && !rc; i++)
		rc = poll_cq(r, &r->cqs[i]);
	for (size_t i = 0; i < r->nqps && !rc; i++) {
		if (r->qps[i].recv_posted < r->qps[i].nrecv)
			post_receives(r, &r->qps[i]);
	}
	return rc;
}

/* ---- time ---- */

/* Runs what is due up to `until_ps`, polling after each moment at which something happened. */
static int run_until(struct bf_replay *r, uint64_t until_ps)
{
	int rc = 0;

	while (!rc && bf_sim_next(r->sim) <= until_ps) {
		bf_sim_run(r->sim, bf_sim_next(r->sim));
		rc = poll_all(r);
	}
	return rc;
}

/* An event of our own takes the clock through times at which nobody else has anything to do. */
static void on_tick(struct bf_event *ev)
{
	(void)ev;
}

static int wait_until(struct bf_replay *r, uint64_t until_ps)
{
	if (until_ps > r->sim->now_ps)
		bf_sim_at(r->sim, &r->tick, until_ps);
	return run_until(r, until_ps);
}

/* Runs until `cq` has shown `count` completions, nothing is left to do or patience ends. */
static int run_for(struct bf_replay *r, const struct bf_replay_cq *cq, uint32_t count)
{
	uint64_t limit = r->sim->now_ps + PATIENCE_PS;
	int rc = poll_all(r);

	while (!rc && cq->nsimulated < count && bf_sim_next(r->sim) <= limit) {
		bf_sim_run(r->sim, bf_sim_next(r->sim));
		rc = poll_all(r);
	}
	return rc;
}

/* ---- the made-up peer ---- */

/* A receive entry of the peer for a message of the captured side, unless the capture says that there was none. */
static void peer_receives(struct bf_replay *r, struct bf_replay_peer *p)
{
	struct bf_replay_side_state *host = &r->host[1];
	const struct bf_mlx5_data d = {
		.byte_count = bf_to_be32((uint32_t)host->scratch->size),
		.lkey = bf_to_be32(host->scratch_key),
		.va = bf_to_be64(host->scratch->va),
	};

	copy_in(p->ring, (uint64_t)(p->rq_producer & p->rq_mask) * sizeof(d), &d, sizeof(d));
	p->rq_producer++;
	set_dbrec(host->records, p->dbrec, BF_MLX5_DBR_RCV, p->rq_producer);
}

/* What the peer must have sent for a captured receive completion; false when it had no part in it. */
static bool peer_message(const struct bf_replay_qp *q, const struct bf_replay_cqe *c, uint8_t *opcode, uint32_t *len)
{
	static const uint8_t opcodes[] = {
		[BF_MLX5_CQE_RESP_WRITE_IMM] = BF_MLX5_OP_RDMA_WRITE_IMM,
		[BF_MLX5_CQE_RESP_SEND] = BF_MLX5_OP_SEND,
		[BF_MLX5_CQE_RESP_SEND_IMM] = BF_MLX5_OP_SEND_IMM,
		[BF_MLX5_CQE_RESP_SEND_INV] = BF_MLX5_OP_SEND_INVAL,
	};

	if (q->loop || c->opcode == BF_MLX5_CQE_REQ || c->opcode == BF_MLX5_CQE_REQ_ERR)
		return false;
	*len = c->byte_count;
	if (c->opcode < BF_ARRAY_LEN(opcodes)) {
		*opcode = opcodes[c->opcode];
		return true;
	}
	*opcode = BF_MLX5_OP_SEND;
	*len = 1;
	return c->opcode == BF_MLX5_CQE_RESP_ERR && c->syndrome != BF_MLX5_SYND_WR_FLUSH;
}

static void ring_doorbell(struct bf_replay_side_state *host, const void *ctrl)
{
	bf_mmio_post(host->uar, BF_MLX5_UAR_BF, ctrl, 8);
}

static void peer_sends(struct bf_replay *r, struct bf_replay_qp *q, const struct bf_replay_cqe *c)
{
	struct bf_replay_side_state *host = &r->host[1];
	struct bf_replay_peer *p = q->peer;
	bool write;
	uint8_t opcode;
	uint32_t len;
	struct {
		struct bf_mlx5_ctrl ctrl;
		struct bf_mlx5_raddr raddr;
		struct bf_mlx5_data data, pad;
	} w = { 0 };

	if (!peer_message(q, c, &opcode, &len))
		return;
	write = opcode == BF_MLX5_OP_RDMA_WRITE_IMM;
	w.ctrl.opmod_idx_opcode = bf_to_be32((uint32_t)p->sq_producer << 8 | opcode);
	w.ctrl.qpn_ds = bf_to_be32(p->qpn << 8 | ((len ? 2u : 1u) + write));
	w.ctrl.fm_ce_se = BF_MLX5_CTRL_CQ_UPDATE;
	w.ctrl.imm = bf_to_be32(c->imm);
	struct bf_mlx5_data d = {
		.byte_count = bf_to_be32(len),
		.lkey = bf_to_be32(host->scratch_key),
		.va = bf_to_be64(host->scratch->va),
	};
	if (write) {
		w.raddr.va = bf_to_be64(r->host[0].scratch->va);
		w.raddr.rkey = bf_to_be32(r->host[0].scratch_key);
		w.data = d;
	} else {
		memcpy(&w.raddr, &d, sizeof(d));
	}
	BF_STATIC_ASSERT(sizeof(w) == BF_MLX5_WQEBB, "one block");
	copy_in(p->ring, (uint64_t)(p->rq_mask + 1) * 16 + (uint64_t)(p->sq_producer & p->sq_mask) * sizeof(w), &w,
		sizeof(w));
	p->sq_producer++;
	set_dbrec(host->records, p->dbrec, BF_MLX5_DBR_SND, p->sq_producer);
	ring_doorbell(host, &w);
}

/* ---- send entries ---- */

static void write_blocks(struct bf_replay_qp *q, uint64_t at, const uint8_t *bytes, uint32_t blocks)
{
	uint64_t base = (uint64_t)q->cap->rq_wqes << q->cap->rq_stride_log2;

	for (uint32_t i = 0; i < blocks; i++)
		copy_in(q->ring, base + (((at + i) & (q->cap->sq_wqebbs - 1)) << BF_MLX5_WQEBB_SHIFT),
			bytes + (uint64_t)i * BF_MLX5_WQEBB, BF_MLX5_WQEBB);
}

static void post_entry(struct bf_replay *r, struct bf_replay_qp *q, const struct bf_replay_entry *e)
{
	write_blocks(q, e->at, e->ev->bytes, e->blocks);
	if (q->peer && bf_replay_takes_receive(e->opcode) && e->outcome != BF_MLX5_SYND_RNR_EXC)
		peer_receives(r, q->peer);
	mark(r, e->ev);
}

static void publish(struct bf_replay *r, struct bf_replay_qp *q, uint64_t producer, const uint8_t *ctrl)
{
	q->producer = producer;
	set_dbrec(r->host[0].records, q->dbrec, BF_MLX5_DBR_SND, (uint32_t)(producer & 0xffff));
	ring_doorbell(&r->host[0], ctrl);
}

/*
 * Rings as captured: the entries in front of the record's value are in the ring by then. A capture that ends before
 * those entries' lines rings for what it has. A value that lies behind the one before rings for nothing new.
 */
static int walk_doorbell(struct bf_replay *r, const struct bf_capture_event *ev)
{
	struct bf_replay_qp *q = bf_replay_find_qp(r, ev->queue.qpn);
	const uint16_t ahead = (uint16_t)(ev->queue.dbrec - (uint32_t)q->producer);
	const bool back = ahead > q->cap->sq_wqebbs && (uint16_t)-ahead <= q->cap->sq_wqebbs;
	const uint64_t target = q->producer + (back ? 0 : ahead);
	const struct bf_replay_entry *last = NULL;

	if (!back && ahead > q->cap->sq_wqebbs && q->next_entry < q->nentries)
		return bf_fail(r->err, -EBADMSG,
			       "line %" PRIu32 ": the doorbell record of QP 0x%" PRIx32 " goes from %" PRIu64
			       " to %" PRIu32 ", further than its ring of %" PRIu32 " blocks",
			       ev->line, q->cap->qpn, q->producer & 0xffff, ev->queue.dbrec, q->cap->sq_wqebbs);
	mark(r, ev);
	while (q->next_entry < q->nentries) {
		const struct bf_replay_entry *e = &q->entries[q->next_entry];

		if (e->at + e->blocks > target)
			break;
		post_entry(r, q, e);
		last = e;
		q->next_entry++;
	}
	q->doorbells++;
	if (last)
		publish(r, q, last->at + last->blocks, last->ev->bytes);
	else if (q->next_entry)
		ring_doorbell(&r->host[0], q->entries[q->next_entry - 1].ev->bytes);
	return 0;
}

/* An entry that the device fetched before any doorbell of the capture: its doorbell stands in front of the capture. */
static void walk_wqe(struct bf_replay *r, const struct bf_capture_event *ev)
{
	struct bf_replay_qp *q = bf_replay_find_qp(r, ev->queue.qpn);

	if (!q->sq_base || q->doorbells)
		return;
	while (q->next_entry < q->nentries && q->entries[q->next_entry].ev->line <= ev->line) {
		const struct bf_replay_entry *e = &q->entries[q->next_entry++];

		post_entry(r, q, e);
		publish(r, q, e->at + e->blocks, e->ev->bytes);
	}
}

/*
 * The device of the capture no longer fetched entries once it had failed, so they have no line; their flush completions
 * do. What stands in for such an entry has its opcode and place, and asks for a completion.
 */
static void stand_in(struct bf_replay *r, const struct bf_replay_cqe *c)
{
	struct bf_replay_qp *q = bf_replay_find_qp(r, c->qpn);
	uint8_t wqe[BF_MLX5_WQEBB] = { 0 };
	struct bf_mlx5_ctrl *ctrl = (void *)wqe;
	uint16_t ahead = (uint16_t)(c->counter - (uint32_t)q->producer);

	if (c->opcode != BF_MLX5_CQE_REQ_ERR || c->syndrome != BF_MLX5_SYND_WR_FLUSH)
		return;
	if (q->next_entry < q->nentries || ahead >= q->cap->sq_wqebbs)
		return;
	/* Entries of more than one block leave a gap in front of the next: as many NOPs fill it. */
	for (uint16_t i = 0; i <= ahead; i++) {
		uint32_t index = (uint32_t)(q->producer + i) & 0xffff;
		uint8_t opcode = i == ahead ? c->wqe_opcode : BF_MLX5_OP_NOP;

		ctrl->opmod_idx_opcode = bf_to_be32(index << 8 | opcode);
		ctrl->qpn_ds = bf_to_be32(c->qpn << 8 | 1);
		ctrl->fm_ce_se = i == ahead ? BF_MLX5_CTRL_CQ_UPDATE : 0;
		write_blocks(q, q->producer + i, wqe, 1);
	}
	q->send_stand_ins++;
	publish(r, q, q->producer + ahead + 1u, wqe);
}

static int walk_cqe(struct bf_replay *r, const struct bf_capture_event *ev)
{
	struct bf_replay_cq *cq = bf_replay_find_cq(r, ev->queue.cqn);
	const struct bf_replay_cqe *c;
	struct bf_replay_qp *q;
	int rc;

	if (cq->seen == cq->ncaptured || cq->captured[cq->seen].line != ev->line)
		return 0; /* of an entry in front of the capture */
	c = &cq->captured[cq->seen++];
	q = bf_replay_find_qp(r, c->qpn);
	if (bf_replay_cqe_side(c) == BF_REPLAY_SEND)
		stand_in(r, c);
	else if (q->peer)
		peer_sends(r, q, c);
	rc = run_for(r, cq, cq->seen);
	if (!rc && cq->nsimulated < cq->seen) {
		if (cq->late_count == 0) {
			cq->late_from = cq->seen - 1;
			cq->late_producer = q->producer;
		}
		cq->late_count++;
	}
	mark(r, ev);
	return rc;
}

/* Entries that no doorbell of the capture covers stay where the software left them. */
static void mark_unrung(struct bf_replay *r, const struct bf_replay_qp *q)
{
	for (size_t i = q->next_entry; i < q->nentries; i++)
		mark(r, q->entries[i].ev);
}

/*
 * A capture that begins in the middle of a queue's life: NOPs take the places of entries before it, and empty messages
 * where the other end has receives before it. What they complete is forgotten.
 */
static int take_earlier(struct bf_replay *r, struct bf_replay_qp *q)
{
	const struct bf_replay_cqe empty = { .opcode = BF_MLX5_CQE_RESP_SEND, .qpn = q->cap->qpn };
	struct bf_mlx5_ctrl entry[BF_MLX5_WQEBB / sizeof(struct bf_mlx5_ctrl)] = { 0 };
	const uint32_t messages = q->loop ? q->loop->rq_base : 0;
	uint64_t room = q->cap->sq_wqebbs, end;
	int rc = 0;

	if (messages && q->loop->cap->rq_wqes < room)
		room = q->loop->cap->rq_wqes;
	while (!rc && q->producer < q->sq_base) {
		end = q->producer + room < q->sq_base ? q->producer + room : q->sq_base;
		for (uint64_t at = q->producer; at < end; at++) {
			entry->opmod_idx_opcode =
			    bf_to_be32((uint32_t)at << 8 | (at < messages ? BF_MLX5_OP_SEND : BF_MLX5_OP_NOP));
			entry->qpn_ds = bf_to_be32(q->cap->qpn << 8 | 1);
			write_blocks(q, at, (const void *)entry, 1);
		}
		publish(r, q, end, (const void *)entry);
		rc = run_until(r, r->sim->now_ps + PATIENCE_PS);
	}
	for (uint32_t i = 0; !rc && !q->loop && i < q->rq_base; i++) {
		peer_sends(r, q, &empty);
		rc = run_until(r, r->sim->now_ps + PATIENCE_PS);
	}
	return rc;
}

static int take_all_earlier(struct bf_replay *r)
{
	int rc = 0;

	for (size_t i = 0; i < r->nqps && !rc; i++)
		rc = take_earlier(r, &r->qps[i]);
	for (size_t i = 0; i < r->ncqs; i++)
		r->cqs[i].nsimulated = 0;
	return rc;
}

static int walk(struct bf_replay *r)
{
	const struct bf_capture *c = r->capture;
	uint64_t limit;
	int rc = poll_all(r);

	if (!rc)
		rc = take_all_earlier(r);
	for (size_t i = 0; i < c->count && !rc; i++) {
		const struct bf_capture_event *ev = &c->events[i];

		if (r->opts->progress)
			r->opts->progress(r->opts->progress_arg, i, c->count);
		rc = wait_until(r, ev->t_ns * BF_NS);
		if (rc)
			break;
		switch (ev->kind) {
		case BF_CAPTURE_DOORBELL:
			rc = walk_doorbell(r, ev);
			break;
		case BF_CAPTURE_CQE:
			rc = walk_cqe(r, ev);
			break;
		case BF_CAPTURE_MKEY:
			mark(r, ev);
			rc = bf_replay_change_key(r, &ev->mkey);
			break;
		case BF_CAPTURE_SRQ_WQE:
			mark(r, ev);
			post_to_srq(r, ev);
			break;
		case BF_CAPTURE_WQE:
			walk_wqe(r, ev); /* most went in with their doorbell */
			break;
		default:
			mark(r, ev); /* receive entries go in when there is room */
			break;
		}
	}
	for (size_t i = 0; i < r->nqps && !rc; i++)
		mark_unrung(r, &r->qps[i]);
	/* What is still under way comes to its end: the device may say more than the capture does. */
	limit = r->sim->now_ps + PATIENCE_PS;
	while (!rc && bf_sim_next(r->sim) <= limit) {
		bf_sim_run(r->sim, bf_sim_next(r->sim));
		rc = poll_all(r);
	}
	return rc;
}

/* ---- the whole ---- */

static uint64_t packets_sent(const struct bf_replay *r)
{
	uint64_t n = 0;

	for (int i = 0; i < 2; i++) {
		struct bf_port_info info;

		if (!r->host[i].dev)
			continue;
		bf_port_info(bf_mlx5_port(r->host[i].dev, 1), &info);
		n += info.tx_packets;
	}
	return n;
}

static int replay(struct bf_replay *r)
{
	int rc = bf_replay_plan(r), closed;

	if (!rc && r->opts->record_mask) {
		rc = bf_stream_open(&r->sim->rec, &r->sim->now_ps, r->opts->record_mask, r->opts->sink);
		if (rc)
			bf_fail(r->err, rc, "cannot record: %s", strerror(-rc));
	}
	if (!rc)
		rc = bf_replay_world_open(r);
	if (!rc)
		rc = walk(r);
	if (!rc && r->sim->error.code == -ENOMEM)
		rc = bf_fail(r->err, -ENOMEM, "the replay was stopped: %s", r->sim->error.text);
	if (!rc)
		rc = bf_replay_compare(r);
	bf_sim_cancel(r->sim, &r->tick);
	closed = bf_stream_close(&r->sim->rec);
	if (!rc && closed)
		rc = bf_fail(r->err, closed, "cannot record: %s", strerror(-closed));
	if (rc)
		return rc;
	r->result->time_ps = r->sim->now_ps;
	r->result->events = r->sim->events;
	r->result->records = r->sim->rec.count;
	r->result->hash = bf_stream_hash(&r->sim->rec);
	r->result->packets = packets_sent(r);
	if (r->opts->done)
		r->opts->done(r->opts->done_arg, r->sim);
	return 0;
}

int bf_replay_run(const struct bf_capture *c, const struct bf_replay_opts *opts, struct bf_replay_result **out,
		  struct bf_error *err)
{
	struct bf_replay r = { .capture = c, .opts = opts, .err = err, .mtu = opts->mtu ? opts->mtu : 1024 };
	int rc;

	*out = NULL;
	if (r.mtu < 256 || r.mtu > 4096 || (r.mtu & (r.mtu - 1)))
		return bf_fail(err, -EINVAL, "an MTU is 256, 512, 1024, 2048 or 4096, not %" PRIu32, r.mtu);
	r.result = calloc(1, sizeof(*r.result));
	if (!r.result || bf_sim_create(opts->seed, &r.sim)) {
		free(r.result);
		return bf_fail(err, -ENOMEM, "out of memory");
	}
	bf_event_init(&r.tick, on_tick);
	rc = replay(&r);
	bf_replay_world_close(&r);
	bf_sim_destroy(r.sim);
	bf_replay_plan_free(&r);
	if (rc)
		bf_replay_free(r.result);
	else
		*out = r.result;
	return rc;
}

void bf_replay_free(struct bf_replay_result *r)
{
	if (!r)
		return;
	free(r->queues);
	free(r->divergences);
	free(r);
}
