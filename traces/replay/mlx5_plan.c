/*
 * From a capture's lines to queues: which entries each queue pair posts, which receive entries it needs, which
 * completions each CQ must show. What memory and keys all that reaches is for mlx5_plan_memory.c.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "models/mlx5/wqe.h"
#include "sim/grow.h"
#include "traces/replay/mlx5_internal.h"

int bf_replay_no_memory(struct bf_replay *r)
{
	return bf_fail(r->err, -ENOMEM, "out of memory");
}

struct bf_replay_qp *bf_replay_find_qp(const struct bf_replay *r, uint32_t qpn)
{
	for (size_t i = 0; i < r->nqps; i++) {
		if (r->qps[i].cap->qpn == qpn)
			return &r->qps[i];
	}
	return NULL;
}

struct bf_replay_cq *bf_replay_find_cq(const struct bf_replay *r, uint32_t cqn)
{
	for (size_t i = 0; i < r->ncqs; i++) {
		if (r->cqs[i].cqn == cqn)
			return &r->cqs[i];
	}
	return NULL;
}

struct bf_replay_srq *bf_replay_find_srq(const struct bf_replay *r, uint32_t srqn)
{
	for (size_t i = 0; i < r->nsrqs; i++) {
		if (r->srqs[i].cap->srqn == srqn)
			return &r->srqs[i];
	}
	return NULL;
}

uint64_t bf_replay_unwrap(uint64_t last, uint32_t low)
{
	return last + (uint64_t)(int64_t)(int16_t)(uint16_t)(low - (uint32_t)last);
}

/* ---- queue pairs and completion queues ---- */

static int plan_cq(struct bf_replay *r, uint32_t cqn, uint32_t entries, uint32_t line)
{
	struct bf_replay_cq *cq = bf_replay_find_cq(r, cqn);

	if (!cq) {
		r->cqs[r->ncqs++] = (struct bf_replay_cq){ .cqn = cqn, .entries = entries };
		return 0;
	}
	if (cq->entries != entries)
		return bf_fail(r->err, -EBADMSG,
			       "line %" PRIu32 ": CQ 0x%" PRIx32 " has %" PRIu32 " entries here and %" PRIu32 " before",
			       line, cqn, entries, cq->entries);
	return 0;
}

static int plan_qp(struct bf_replay *r, const struct bf_capture_event *ev)
{
	const struct bf_capture_qp *q = &ev->qp;
	struct bf_replay_qp *known = bf_replay_find_qp(r, q->qpn);
	int rc;

	if (known) {
		/* Listed again as it moves on; only its state may have changed. */
		struct bf_capture_qp same = *q;

		same.state = known->cap->state;
		if (memcmp(&same, known->cap, sizeof(same)) != 0)
			return bf_fail(r->err, -EBADMSG,
				       "line %" PRIu32 ": QP 0x%" PRIx32 " is another one than in line %" PRIu32,
				       ev->line, q->qpn, known->line);
		return 0;
	}
	rc = plan_cq(r, q->send_cqn, q->send_cqes, ev->line);
	if (!rc)
		rc = plan_cq(r, q->recv_cqn, q->recv_cqes, ev->line);
	if (!rc)
		r->qps[r->nqps++] = (struct bf_replay_qp){ .cap = q, .line = ev->line };
	return rc;
}

/* Queue pairs that never got far enough to be listed take nothing. */
static int plan_srq(struct bf_replay *r, const struct bf_capture_event *ev)
{
	const struct bf_capture_srq *cap = &ev->srq;
	struct bf_replay_qp *q = bf_replay_find_qp(r, cap->qpn);
	struct bf_replay_srq *srq = bf_replay_find_srq(r, cap->srqn);

	if (srq && (srq->cap->wqes != cap->wqes || srq->cap->stride_log2 != cap->stride_log2))
		return bf_fail(r->err, -EBADMSG, "line %" PRIu32 ": SRQ 0x%" PRIx32 " is another one than before",
			       ev->line, cap->srqn);
	if (!q)
		return 0;
	if (q->cap->rq_wqes)
		return bf_fail(r->err, -EBADMSG, "line %" PRIu32 ": QP 0x%" PRIx32 " has receives of its own", ev->line,
			       cap->qpn);
	if (!srq) {
		srq = &r->srqs[r->nsrqs++];
		srq->cap = cap;
	}
	q->srq = srq;
	return 0;
}

static int plan_srqs(struct bf_replay *r)
{
	size_t n = 0;
	int rc = 0;

	for (size_t i = 0; i < r->capture->count; i++)
		n += r->capture->events[i].kind == BF_CAPTURE_SRQ;
	r->srqs = calloc(n + 1, sizeof(*r->srqs));
	if (!r->srqs)
		return bf_replay_no_memory(r);
	for (size_t i = 0; i < r->capture->count && !rc; i++) {
		if (r->capture->events[i].kind == BF_CAPTURE_SRQ)
			rc = plan_srq(r, &r->capture->events[i]);
	}
	return rc;
}

static int plan_queues(struct bf_replay *r)
{
	size_t n = 0;
	int rc = 0;

	for (size_t i = 0; i < r->capture->count; i++)
		n += r->capture->events[i].kind == BF_CAPTURE_QP;
	r->qps = calloc(n + 1, sizeof(*r->qps));
	r->cqs = calloc(2 * n + 1, sizeof(*r->cqs));
	if (!r->qps || !r->cqs)
		return bf_replay_no_memory(r);
	for (size_t i = 0; i < r->capture->count && !rc; i++) {
		if (r->capture->events[i].kind == BF_CAPTURE_QP)
			rc = plan_qp(r, &r->capture->events[i]);
	}
	if (!rc && r->nqps == 0)
		return bf_fail(r->err, -EBADMSG, "the capture lists no queue pair");
	for (size_t i = 0; i < r->nqps && !rc; i++) {
		struct bf_replay_qp *q = &r->qps[i], *other = bf_replay_find_qp(r, q->cap->dest_qpn);

		if (other && other->cap->dest_qpn == q->cap->qpn)
			q->loop = other;
		else
			r->needs_peer = true;
	}
	return rc;
}

/* ---- entries and completions, in the capture's order ---- */

static int need_qp(struct bf_replay *r, const struct bf_capture_event *ev, uint32_t qpn, struct bf_replay_qp **out)
{
	*out = bf_replay_find_qp(r, qpn);
	if (*out)
		return 0;
	return bf_fail(r->err, -EBADMSG, "line %" PRIu32 ": the capture lists no QP 0x%" PRIx32, ev->line, qpn);
}

static int plan_entry(struct bf_replay *r, const struct bf_capture_event *ev)
{
	struct bf_replay_entry e = { .ev = ev, .blocks = ev->len / BF_MLX5_WQEBB, .opcode = ev->bytes[3] };
	struct bf_replay_qp *q;
	uint64_t expected = 0;
	int rc = need_qp(r, ev, ev->queue.qpn, &q);

	if (rc)
		return rc;
	if (q->nentries)
		expected = q->entries[q->nentries - 1].at + q->entries[q->nentries - 1].blocks;
	e.at = bf_replay_unwrap(expected, ev->queue.index);
	if (q->nentries == 0)
		expected = e.at = q->sq_base;
	if (e.at != expected)
		return bf_fail(r->err, -EBADMSG,
			       "line %" PRIu32 ": entry %" PRIu32 " of QP 0x%" PRIx32 " should be entry %" PRIu32
			       ": a line is missing or out of place",
			       ev->line, ev->queue.index, q->cap->qpn, (uint32_t)(expected & 0xffff));
	if (e.blocks > q->cap->sq_wqebbs)
		return bf_fail(r->err, -EBADMSG, "line %" PRIu32 ": the entry is larger than the ring of QP 0x%" PRIx32,
			       ev->line, q->cap->qpn);
	if (BF_GROW(q->entries, q->entries_cap, q->nentries + 1))
		return bf_replay_no_memory(r);
	q->entries[q->nentries++] = e;
	return 0;
}

static int add_recv(struct bf_replay *r, struct bf_replay_qp *q, const struct bf_capture_event *ev)
{
	if (BF_GROW(q->recv, q->recv_cap, q->nrecv + 1))
		return bf_replay_no_memory(r);
	q->recv[q->nrecv++] = ev;
	return 0;
}

/* Indices have 16 bits and wrap. */
static bool lies_before(uint32_t index, uint32_t base)
{
	return (int16_t)(uint16_t)(index - base) < 0;
}

static bool is_earlier_receive(const struct bf_replay_qp *q, uint32_t index)
{
	return q->rq_base && q->nrecv - q->rq_base <= q->cap->rq_wqes && lies_before(index, q->rq_base);
}

static int plan_recv_entry(struct bf_replay *r, const struct bf_capture_event *ev)
{
	struct bf_replay_qp *q;
	int rc = need_qp(r, ev, ev->queue.qpn, &q);
	uint64_t at;

	if (rc)
		return rc;
	if (q->cap->rq_wqes == 0 || ev->len > 1u << q->cap->rq_stride_log2)
		return bf_fail(r->err, -EBADMSG,
			       "line %" PRIu32 ": the entry does not fit into the receive ring of QP 0x%" PRIx32,
			       ev->line, q->cap->qpn);
	if (is_earlier_receive(q, ev->queue.index))
		return 0;
	at = bf_replay_unwrap(q->nrecv, ev->queue.index);
	if (at < q->nrecv || at - q->nrecv >= q->cap->rq_wqes)
		return bf_fail(r->err, -EBADMSG,
			       "line %" PRIu32 ": receive entry %" PRIu32 " of QP 0x%" PRIx32
			       " should be entry %" PRIu32 ": a line is missing or out of place",
			       ev->line, ev->queue.index, q->cap->qpn, q->nrecv & 0xffff);
	/* Consumed without being read, by messages whose completions the capture lacks as well. */
	while (q->nrecv < at) {
		rc = add_recv(r, q, NULL);
		if (rc)
			return rc;
	}
	q->recv_captured++;
	return add_recv(r, q, ev);
}

static void count_messages(const struct bf_replay *r, const struct bf_capture_event *ev)
{
	struct bf_replay_cqe c;
	struct bf_replay_qp *q = NULL;

	if (ev->kind == BF_CAPTURE_WQE && bf_replay_takes_receive(ev->bytes[3])) {
		q = bf_replay_find_qp(r, ev->queue.qpn);
		if (q && q->loop)
			q->loop->in_flight--;
	} else if (ev->kind == BF_CAPTURE_CQE) {
		bf_replay_read_cqe(ev->bytes, &c);
		q = bf_replay_cqe_side(&c) == BF_REPLAY_RECV ? bf_replay_find_qp(r, c.qpn) : NULL;
		if (q && c.opcode != BF_MLX5_CQE_RESP_ERR)
			q->in_flight++;
	}
}

/*
 * A message of a capture that begins in the middle of a queue's life, whose beginning stands in front of the capture:
 * data went where an entry said that has no line, or the other end has sent no more than was received.
 */
static bool earlier_message(const struct bf_replay_qp *q, const struct bf_replay_cqe *c)
{
	const bool sent = c->opcode == BF_MLX5_CQE_RESP_SEND || c->opcode == BF_MLX5_CQE_RESP_SEND_IMM;

	if ((q->rq_begun ? q->rq_base : c->counter) == 0 && !(q->loop && q->loop->sq_base))
		return false;
	if (q->loop && c->opcode != BF_MLX5_CQE_RESP_ERR)
		return q->in_flight > 0 || q->received >= q->loop->messages;
	return sent && c->byte_count && !q->rq_lines;
}

/* The first send and receive entries of each queue pair that the capture speaks of. */
static int plan_begin(struct bf_replay *r, const struct bf_capture_event *ev)
{
	struct bf_replay_cqe c = { 0 };
	struct bf_replay_qp *q;
	uint32_t index = ev->queue.index;

	if (ev->kind == BF_CAPTURE_CQE)
		bf_replay_read_cqe(ev->bytes, &c);
	else if (ev->kind != BF_CAPTURE_WQE && ev->kind != BF_CAPTURE_RECV_WQE)
		return 0;
	q = bf_replay_find_qp(r, ev->kind == BF_CAPTURE_CQE ? c.qpn : ev->queue.qpn);
	if (!q)
		return 0; /* said where it is planned */
	if (ev->kind == BF_CAPTURE_WQE) {
		q->sq_base = q->sq_begun ? q->sq_base : index & 0xffff;
		q->sq_begun = true;
		q->messages += bf_replay_takes_receive(ev->bytes[3]);
		return 0;
	}
	if (!q->cap->rq_wqes || (ev->kind == BF_CAPTURE_CQE && bf_replay_cqe_side(&c) != BF_REPLAY_RECV))
		return 0;
	q->rq_lines |= ev->kind == BF_CAPTURE_RECV_WQE;
	if (ev->kind == BF_CAPTURE_CQE) {
		index = c.counter;
		if (earlier_message(q, &c)) {
			q->in_flight--;
			q->rq_base = (index + 1) & 0xffff;
			q->rq_begun = true;
			return 0;
		}
		q->received++;
	}
	if (!q->rq_begun || (q->rq_base && lies_before(index, q->rq_base)))
		q->rq_base = index & 0xffff;
	q->rq_begun = true;
	return 0;
}

/*
 * Receives in front of the capture are consumed before it, by messages that the made-up peer sends for them, or the
 * other end: as many of its earlier entries as there are receives become messages.
 */
static int plan_earlier_receives(struct bf_replay *r, struct bf_replay_qp *q)
{
	int rc = 0;

	if (q->rq_base && q->loop && !q->loop->sq_begun)
		q->loop->sq_base = q->rq_base;
	if (q->rq_base && q->loop && q->loop->sq_base < q->rq_base)
		return bf_fail(r->err, -ENOTSUP,
			       "line %" PRIu32 ": the receive queue of QP 0x%" PRIx32 " begins at entry %" PRIu32
			       ", and the send queue of its other end at block %" PRIu32
			       ": one of them has wrapped in front of the capture",
			       q->line, q->cap->qpn, q->rq_base, q->loop->sq_base);
	while (!rc && q->nrecv < q->rq_base)
		rc = add_recv(r, q, NULL);
	return rc;
}

/* What nobody takes from may hold anything. */
static int plan_srq_entry(struct bf_replay *r, const struct bf_capture_event *ev)
{
	struct bf_replay_srq *srq = bf_replay_find_srq(r, ev->queue.srqn);
	struct bf_mlx5_sge sge[BF_MLX5_MAX_SGE];
	const uint32_t next = sizeof(struct bf_mlx5_srq_next);
	uint64_t total;
	uint32_t n;

	if (!srq)
		return 0;
	if (ev->queue.index >= srq->cap->wqes || ev->len > 1u << srq->cap->stride_log2)
		return bf_fail(r->err, -EBADMSG,
			       "line %" PRIu32 ": the entry does not fit into the ring of SRQ 0x%" PRIx32, ev->line,
			       srq->cap->srqn);
	srq->entries++;
	n = bf_mlx5_recv_decode(ev->bytes + next, ev->len - next, sge, BF_MLX5_MAX_SGE, &total);
	return bf_replay_plan_sges(r, sge, n < BF_MLX5_MAX_SGE ? n : BF_MLX5_MAX_SGE);
}

void bf_replay_read_cqe(const uint8_t *bytes, struct bf_replay_cqe *out)
{
	const struct bf_mlx5_cqe *c = (const void *)bytes;
	const struct bf_mlx5_err_cqe *e = (const void *)bytes;
	uint32_t sop_qpn = bf_be32(c->sop_drop_qpn);

	*out = (struct bf_replay_cqe){
		.opcode = (uint8_t)BF_FIELD_GET(BF_MLX5_CQE_OPCODE, c->op_own),
		.wqe_opcode = (uint8_t)BF_FIELD_GET(BF_MLX5_CQE_SOP, sop_qpn),
		.qpn = (uint32_t)BF_FIELD_GET(BF_MLX5_CQE_QPN, sop_qpn),
		.counter = bf_be16(c->wqe_counter),
	};
	if (out->opcode == BF_MLX5_CQE_REQ_ERR || out->opcode == BF_MLX5_CQE_RESP_ERR) {
		out->syndrome = e->syndrome;
		out->vendor = e->vendor_err_synd;
	} else {
		out->byte_count = bf_be32(c->byte_cnt);
		out->imm = bf_be32(c->imm_inval_pkey);
	}
}

enum bf_replay_side bf_replay_cqe_side(const struct bf_replay_cqe *c)
{
	return c->opcode == BF_MLX5_CQE_REQ || c->opcode == BF_MLX5_CQE_REQ_ERR ? BF_REPLAY_SEND : BF_REPLAY_RECV;
}

bool bf_replay_takes_receive(uint8_t opcode)
{
	return opcode == BF_MLX5_OP_SEND || opcode == BF_MLX5_OP_SEND_IMM || opcode == BF_MLX5_OP_SEND_INVAL ||
	       opcode == BF_MLX5_OP_RDMA_WRITE_IMM;
}

static void plan_outcome(struct bf_replay_qp *q, const struct bf_replay_cqe *cqe)
{
	uint64_t at = bf_replay_unwrap(q->send_last, cqe->counter);
	size_t lo = 0, hi = q->nentries;

	while (lo < hi) {
		size_t mid = (lo + hi) / 2;

		if (q->entries[mid].at < at)
			lo = mid + 1;
		else
			hi = mid;
	}
	if (lo == q->nentries || q->entries[lo].at != at)
		return;
	q->entries[lo].outcome = cqe->syndrome;
	q->send_last = at;
	if (cqe->syndrome == BF_MLX5_SYND_RNR_EXC)
		q->rnr_error = true;
}

/* A message that consumes a receive entry without reading it (WRITE with immediate) leaves no line of the entry's own.
 */
static int plan_consumed(struct bf_replay *r, struct bf_replay_qp *q, const struct bf_replay_cqe *cqe)
{
	uint64_t at = bf_replay_unwrap(q->nrecv, cqe->counter);

	if (!q->loop && cqe->byte_count > r->max_scratch)
		r->max_scratch = cqe->byte_count;
	return at == q->nrecv && q->cap->rq_wqes ? add_recv(r, q, NULL) : 0;
}

bool bf_replay_is_earlier(const struct bf_replay *r, const struct bf_replay_cqe *c)
{
	const struct bf_replay_qp *q = bf_replay_find_qp(r, c->qpn);

	if (!q)
		return false;
	if (bf_replay_cqe_side(c) == BF_REPLAY_RECV)
		return is_earlier_receive(q, c->counter);
	return q->sq_base && q->nentries <= q->cap->sq_wqebbs && lies_before(c->counter, q->sq_base);
}

static int plan_cqe(struct bf_replay *r, const struct bf_capture_event *ev)
{
	struct bf_replay_cq *cq = bf_replay_find_cq(r, ev->queue.cqn);
	struct bf_replay_cqe c;
	struct bf_replay_qp *q;
	int rc;

	if (!cq)
		return bf_fail(r->err, -EBADMSG, "line %" PRIu32 ": no queue pair of the capture uses CQ 0x%" PRIx32,
			       ev->line, ev->queue.cqn);
	bf_replay_read_cqe(ev->bytes, &c);
	if (bf_replay_is_earlier(r, &c))
		return 0;
	c.line = ev->line;
	c.number = ev->queue.index;
	c.time_ps = ev->t_ns * BF_NS;
	rc = need_qp(r, ev, c.qpn, &q);
	if (rc)
		return rc;
	if (BF_GROW(cq->captured, cq->captured_cap, cq->ncaptured + 1))
		return bf_replay_no_memory(r);
	cq->captured[cq->ncaptured++] = c;
	if (bf_replay_cqe_side(&c) == BF_REPLAY_RECV)
		return plan_consumed(r, q, &c);
	plan_outcome(q, &c);
	return 0;
}

static int plan_event(struct bf_replay *r, const struct bf_capture_event *ev)
{
	struct bf_replay_qp *q;
	int rc;

	switch (ev->kind) {
	case BF_CAPTURE_WQE:
		return plan_entry(r, ev);
	case BF_CAPTURE_RECV_WQE:
		return plan_recv_entry(r, ev);
	case BF_CAPTURE_SRQ_WQE:
		return plan_srq_entry(r, ev);
	case BF_CAPTURE_CQE:
		return plan_cqe(r, ev);
	case BF_CAPTURE_DOORBELL:
		rc = need_qp(r, ev, ev->queue.qpn, &q);
		if (rc)
			return rc;
		if (q->cap->sq_wqebbs == 0)
			return bf_fail(r->err, -EBADMSG, "line %" PRIu32 ": QP 0x%" PRIx32 " has no send queue",
				       ev->line, q->cap->qpn);
		q->sends = true;
		return 0;
	default:
		return 0;
	}
}

int bf_replay_plan(struct bf_replay *r)
{
	int rc = plan_queues(r);

	if (!rc)
		rc = plan_srqs(r);
	for (size_t i = 0; i < r->capture->count && !rc; i++) {
		if (r->capture->events[i].kind == BF_CAPTURE_MKEY)
			rc = bf_replay_plan_key(r, &r->capture->events[i]);
	}
	for (size_t i = 0; i < r->capture->count; i++)
		count_messages(r, &r->capture->events[i]);
	for (size_t i = 0; i < r->capture->count && !rc; i++)
		rc = plan_begin(r, &r->capture->events[i]);
	for (size_t i = 0; i < r->nqps && !rc; i++)
		rc = plan_earlier_receives(r, &r->qps[i]);
	for (size_t i = 0; i < r->capture->count && !rc; i++)
		rc = plan_event(r, &r->capture->events[i]);
	return rc ? rc : bf_replay_plan_memory(r);
}

void bf_replay_plan_free(struct bf_replay *r)
{
	for (size_t i = 0; i < r->nqps; i++) {
		free(r->qps[i].entries);
		free(r->qps[i].recv);
		free(r->qps[i].peer);
	}
	for (size_t i = 0; i < r->ncqs; i++) {
		free(r->cqs[i].captured);
		free(r->cqs[i].simulated);
	}
	for (int i = 0; i < 2; i++) {
		free(r->host[i].memory.span);
		free(r->host[i].keys.key);
	}
	free(r->qps);
	free(r->cqs);
	free(r->srqs);
	bf_capture_actors_free(&r->actors);
}
