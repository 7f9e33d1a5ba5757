/*
 * Captured completions against simulated ones, queue by queue. Where they part, the next ones say whether one is
 * missing, one too many, or two changed places; so that one divergence does not make all that follow look wrong.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "models/mlx5/wqe.h"
#include "sim/grow.h"
#include "traces/replay/mlx5_internal.h"

const char *bf_replay_verdict_name(enum bf_replay_verdict v)
{
	static const char *const names[] = { "missing", "late", "extra", "swapped", "different", "numbering" };

	return names[v];
}

static bool same_entry(const struct bf_replay_cqe *a, const struct bf_replay_cqe *b)
{
	return a->qpn == b->qpn && a->counter == b->counter && bf_replay_cqe_side(a) == bf_replay_cqe_side(b);
}

/* The device defines the count for receives, READs and atomics (rdma-core providers/mlx5/cq.c handle_good_req). */
static bool has_byte_count(const struct bf_replay_cqe *c)
{
	if (c->opcode >= BF_MLX5_CQE_RESP_WRITE_IMM && c->opcode <= BF_MLX5_CQE_RESP_SEND_INV)
		return true;
	if (c->opcode != BF_MLX5_CQE_REQ)
		return false;
	switch (c->wqe_opcode) {
	case BF_MLX5_OP_RDMA_READ:
	case BF_MLX5_OP_ATOMIC_CS:
	case BF_MLX5_OP_ATOMIC_FA:
	case BF_MLX5_OP_ATOMIC_MASKED_CS:
	case BF_MLX5_OP_ATOMIC_MASKED_FA:
		return true;
	default:
		return false;
	}
}

static bool has_imm(const struct bf_replay_cqe *c)
{
	return c->opcode == BF_MLX5_CQE_RESP_WRITE_IMM || c->opcode == BF_MLX5_CQE_RESP_SEND_IMM ||
	       c->opcode == BF_MLX5_CQE_RESP_SEND_INV;
}

struct text {
	char *buf;
	size_t cap, used;
};

static void differs(struct text *t, const char *what, const char *format, uint64_t captured, uint64_t simulated)
{
	char a[24], b[24];
	int n;

	if (captured == simulated || t->used >= t->cap)
		return;
	if (format[0] == 'x') {
		snprintf(a, sizeof(a), "0x%" PRIx64, captured);
		snprintf(b, sizeof(b), "0x%" PRIx64, simulated);
	} else {
		snprintf(a, sizeof(a), "%" PRIu64, captured);
		snprintf(b, sizeof(b), "%" PRIu64, simulated);
	}
	n = snprintf(t->buf + t->used, t->cap - t->used, "%s%s captured %s, simulated %s", t->used ? "; " : "", what, a,
		     b);
	t->used += n > 0 ? (size_t)n : 0;
}

/* What is compared, field by field. True when all agree. */
static bool equal(const struct bf_replay_cqe *c, const struct bf_replay_cqe *s, char *buf, size_t cap)
{
	struct text t = { .buf = buf, .cap = cap };

	if (c->opcode != s->opcode) {
		int n = snprintf(buf, cap, "opcode captured %s, simulated %s", bf_mlx5_cqe_opcode_name(c->opcode),
				 bf_mlx5_cqe_opcode_name(s->opcode));

		if (s->syndrome && n > 0 && (size_t)n < cap)
			n += snprintf(buf + n, cap - (size_t)n, " (syndrome 0x%02x, %s)", s->syndrome,
				      bf_mlx5_syndrome_text(s->syndrome));
		t.used = (size_t)n;
	}
	differs(&t, "QP", "x", c->qpn, s->qpn);
	differs(&t, "wqe_counter", "d", c->counter, s->counter);
	if (bf_replay_cqe_side(c) == BF_REPLAY_SEND)
		differs(&t, "WQE opcode", "x", c->wqe_opcode, s->wqe_opcode);
	if (c->opcode == s->opcode) {
		differs(&t, "syndrome", "x", c->syndrome, s->syndrome);
		differs(&t, "vendor syndrome", "x", c->vendor, s->vendor);
		if (has_byte_count(c))
			differs(&t, "byte count", "d", c->byte_count, s->byte_count);
		if (has_imm(c))
			differs(&t, "immediate", "x", c->imm, s->imm);
	}
	return t.used == 0;
}

static struct bf_replay_queue *row_of(struct bf_replay_result *res, const struct bf_replay_cqe *c)
{
	enum bf_replay_side side = bf_replay_cqe_side(c);

	for (size_t i = 0; i < res->nqueues; i++) {
		if (res->queues[i].qpn == c->qpn && res->queues[i].side == side)
			return &res->queues[i];
	}
	return NULL;
}

static struct bf_replay_divergence *add(struct bf_replay *r, size_t *cap, const struct bf_replay_cq *cq,
					enum bf_replay_verdict verdict, const struct bf_replay_cqe *captured,
					const struct bf_replay_cqe *simulated)
{
	struct bf_replay_result *res = r->result;
	const struct bf_replay_cqe *about = captured ? captured : simulated;
	struct bf_replay_queue *row = row_of(res, about);
	struct bf_replay_divergence *d;

	if (BF_GROW(res->divergences, *cap, res->ndivergences + 1))
		return NULL;
	d = &res->divergences[res->ndivergences++];
	*d = (struct bf_replay_divergence){ .verdict = verdict, .cqn = cq->cqn, .number = about->number };
	if (captured)
		d->captured = *captured;
	if (simulated)
		d->simulated = *simulated;
	if (row)
		row->divergences++;
	return d;
}

/* Why the device had nothing to say of a captured completion, as far as the capture itself tells. */
static void explain_missing(const struct bf_replay *r, const struct bf_replay_cqe *c, char *buf, size_t cap)
{
	const struct bf_replay_qp *q = bf_replay_find_qp(r, c->qpn);
	bool known = false;

	if (bf_replay_cqe_side(c) == BF_REPLAY_RECV) {
		snprintf(buf, cap, "the device never wrote it: no message came for receive entry %u", c->counter);
		return;
	}
	for (size_t i = 0; i < q->nentries; i++) {
		if ((uint16_t)q->entries[i].at != c->counter)
			continue;
		if (i >= q->next_entry) {
			snprintf(
			    buf, cap,
			    "the device never wrote it: no doorbell of the capture covers entry %u (record %" PRIu64
			    ")",
			    c->counter, q->producer & 0xffff);
			return;
		}
		known = true;
	}
	snprintf(buf, cap, "the device never wrote it%s", known ? "" : ": the capture lacks the entry itself");
}

static void explain_extra(const struct bf_replay *r, const struct bf_replay_cqe *s, char *buf, size_t cap)
{
	const struct bf_capture_event *end = &r->capture->events[r->capture->count - 1];
	uint64_t ns = s->time_ps / BF_NS;

	snprintf(buf, cap,
		 "the device wrote it at %" PRIu64 ".%03" PRIu64 " us; the capture, which ends at %" PRIu64
		 ".%03" PRIu64 " us, has none",
		 ns / 1000, ns % 1000, end->t_ns / 1000, end->t_ns % 1000);
}

/* A stand-in has no room for a message: an error that comes of that is the capture's fault. */
static void explain_stand_in(const struct bf_replay *r, const struct bf_replay_cqe *c, const struct bf_replay_cqe *s,
			     char *buf, size_t cap)
{
	const struct bf_replay_qp *q = bf_replay_find_qp(r, c->qpn);
	size_t used = strlen(buf);

	if (s->opcode == BF_MLX5_CQE_RESP_ERR && s->syndrome != BF_MLX5_SYND_WR_FLUSH && s->counter < q->nrecv &&
	    !q->recv[s->counter])
		snprintf(buf + used, cap - used, "; the capture lacks receive entry %u, an empty one took its place",
			 s->counter);
}

/* All that completes there has a peer that was made up. */
static bool is_made_up(const struct bf_replay *r, const struct bf_replay_cq *cq)
{
	bool any = false;

	for (size_t i = 0; i < r->nqps; i++) {
		const struct bf_replay_qp *q = &r->qps[i];

		if (q->cap->send_cqn != cq->cqn && q->cap->recv_cqn != cq->cqn)
			continue;
		if (!q->peer)
			return false;
		any = true;
	}
	return any;
}

/*
 * When a made-up peer sends is our choice: between what it sends and what its messages complete here there is no order
 * to compare. Each side of each queue pair keeps its own, and the capture's says how they alternate.
 */
static int alternate_as_captured(struct bf_replay *r, struct bf_replay_cq *cq)
{
	const uint32_t nc = cq->ncaptured, ns = cq->nsimulated;
	struct bf_replay_cqe *out = calloc(ns + 1u, sizeof(*out));
	uint8_t *taken = calloc(ns + 1u, 1);
	uint32_t n = 0;

	if (!out || !taken) {
		free(out);
		free(taken);
		return bf_fail(r->err, -ENOMEM, "out of memory");
	}
	for (uint32_t i = 0, first = 0; i < nc; i++) {
		while (first < ns && taken[first])
			first++;
		for (uint32_t k = first; k < ns; k++) {
			const struct bf_replay_cqe *c = &cq->captured[i], *s = &cq->simulated[k];

			if (taken[k] || s->qpn != c->qpn || bf_replay_cqe_side(s) != bf_replay_cqe_side(c))
				continue;
			out[n++] = *s;
			taken[k] = 1;
			break;
		}
	}
	for (uint32_t k = 0; k < ns; k++)
		if (!taken[k])
			out[n++] = cq->simulated[k];
	if (ns)
		memcpy(cq->simulated, out, ns * sizeof(*out));
	free(out);
	free(taken);
	return 0;
}

static int compare_queue(struct bf_replay *r, const struct bf_replay_cq *cq, size_t *cap)
{
	const uint32_t nc = cq->ncaptured, ns = cq->nsimulated;
	struct bf_replay_divergence *d;
	uint32_t i = 0, k = 0;

	while (i < nc || k < ns) {
		const struct bf_replay_cqe *c = i < nc ? &cq->captured[i] : NULL,
					   *s = k < ns ? &cq->simulated[k] : NULL;
		char text[sizeof(d->text)];
		enum bf_replay_verdict verdict = BF_REPLAY_DIFFERENT;

		if (c && s && equal(c, s, text, sizeof(text))) {
			i++;
			k++;
			continue;
		}
		if (!s)
			verdict = BF_REPLAY_MISSING;
		else if (!c)
			verdict = BF_REPLAY_EXTRA;
		else if (i + 1 < nc && k + 1 < ns && same_entry(c, s + 1) && same_entry(c + 1, s))
			verdict = BF_REPLAY_SWAPPED;
		else if (!same_entry(c, s) && i + 1 < nc && same_entry(c + 1, s))
			verdict = BF_REPLAY_MISSING;
		else if (!same_entry(c, s) && k + 1 < ns && same_entry(c, s + 1))
			verdict = BF_REPLAY_EXTRA;
		d = add(r, cap, cq, verdict, verdict == BF_REPLAY_EXTRA ? NULL : c,
			verdict == BF_REPLAY_MISSING ? NULL : s);
		if (!d)
			return bf_fail(r->err, -ENOMEM, "out of memory");
		if (verdict == BF_REPLAY_DIFFERENT) {
			memcpy(d->text, text, sizeof(d->text));
			explain_stand_in(r, c, s, d->text, sizeof(d->text));
		}
		if (verdict == BF_REPLAY_MISSING)
			explain_missing(r, c, d->text, sizeof(d->text));
		if (verdict == BF_REPLAY_EXTRA)
			explain_extra(r, s, d->text, sizeof(d->text));
		if (verdict == BF_REPLAY_SWAPPED)
			snprintf(d->text, sizeof(d->text),
				 "the capture has wqe_counter %u and then %u, the device wrote them"
				 " the other way round",
				 c->counter, (c + 1)->counter);
		i += verdict == BF_REPLAY_SWAPPED ? 2 : verdict != BF_REPLAY_EXTRA;
		k += verdict == BF_REPLAY_SWAPPED ? 2 : verdict != BF_REPLAY_MISSING;
	}
	return 0;
}

static int add_late(struct bf_replay *r, const struct bf_replay_cq *cq, size_t *cap)
{
	const struct bf_replay_cqe *c = &cq->captured[cq->late_from];
	struct bf_replay_divergence *d = add(r, cap, cq, BF_REPLAY_LATE, c, &cq->simulated[cq->late_from]);
	char why[80];

	if (!d)
		return bf_fail(r->err, -ENOMEM, "out of memory");
	if (bf_replay_cqe_side(c) == BF_REPLAY_SEND &&
	    bf_replay_unwrap(cq->late_producer, c->counter) >= cq->late_producer)
		snprintf(why, sizeof(why), "no doorbell in front of it covers entry %u (record %" PRIu64 ")",
			 c->counter, cq->late_producer & 0xffff);
	else
		snprintf(why, sizeof(why), "with all doorbells in front of it rung, the device had nothing left to do");
	snprintf(d->text, sizeof(d->text), "%s; %" PRIu32 " completion%s came later than captured", why, cq->late_count,
		 cq->late_count == 1 ? "" : "s");
	return 0;
}

/* What the walk saw: completions that were not there yet, and numbers of the capture that do not follow each other. */
static int compare_walk(struct bf_replay *r, const struct bf_replay_cq *cq, size_t *cap)
{
	struct bf_replay_divergence *d;

	for (uint32_t i = 1; i < cq->ncaptured; i++) {
		if (cq->captured[i].number == cq->captured[i - 1].number + 1)
			continue;
		d = add(r, cap, cq, BF_REPLAY_NUMBERING, &cq->captured[i], NULL);
		if (!d)
			return bf_fail(r->err, -ENOMEM, "out of memory");
		snprintf(d->text, sizeof(d->text),
			 "completion %" PRIu32 " follows completion %" PRIu32 " in the capture", cq->captured[i].number,
			 cq->captured[i - 1].number);
	}
	return cq->late_count && cq->late_from < cq->nsimulated ? add_late(r, cq, cap) : 0;
}

/* ---- the summary ---- */

static void count_row(const struct bf_replay *r, struct bf_replay_queue *row)
{
	for (size_t i = 0; i < r->ncqs; i++) {
		const struct bf_replay_cq *cq = &r->cqs[i];

		for (uint32_t k = 0; k < cq->ncaptured; k++)
			row->captured +=
			    cq->captured[k].qpn == row->qpn && bf_replay_cqe_side(&cq->captured[k]) == row->side;
		for (uint32_t k = 0; k < cq->nsimulated; k++) {
			if (cq->simulated[k].qpn != row->qpn || bf_replay_cqe_side(&cq->simulated[k]) != row->side)
				continue;
			row->simulated++;
			row->errors += cq->simulated[k].opcode == BF_MLX5_CQE_REQ_ERR ||
				       cq->simulated[k].opcode == BF_MLX5_CQE_RESP_ERR;
		}
	}
}

static int summarise(struct bf_replay *r)
{
	struct bf_replay_result *res = r->result;

	res->queues = calloc(2 * r->nqps, sizeof(*res->queues));
	if (!res->queues)
		return bf_fail(r->err, -ENOMEM, "out of memory");
	for (size_t i = 0; i < r->nqps; i++) {
		const struct bf_replay_qp *q = &r->qps[i];
		struct bf_replay_queue send = {
			.qpn = q->cap->qpn,
			.cqn = q->cap->send_cqn,
			.depth = q->cap->sq_wqebbs,
			.side = BF_REPLAY_SEND,
			.entries = (uint32_t)q->nentries,
			.stand_ins = q->send_stand_ins,
			.doorbells = q->doorbells,
			.unrung = (uint32_t)(q->nentries - q->next_entry),
			.made_up_peer = q->peer != NULL,
		};
		struct bf_replay_queue recv = {
			.qpn = q->cap->qpn,
			.cqn = q->cap->recv_cqn,
			.depth = q->srq ? q->srq->cap->wqes : q->cap->rq_wqes,
			.side = BF_REPLAY_RECV,
			.entries = q->srq ? q->srq->entries : q->recv_captured,
			.stand_ins = q->nrecv - q->recv_captured,
			.made_up_peer = q->peer != NULL,
		};

		count_row(r, &send);
		count_row(r, &recv);
		if (send.entries || send.captured || send.simulated)
			res->queues[res->nqueues++] = send;
		if (recv.entries || recv.captured || recv.simulated)
			res->queues[res->nqueues++] = recv;
	}
	for (size_t i = 0; i < r->ncqs; i++) {
		res->captured += r->cqs[i].ncaptured;
		res->simulated += r->cqs[i].nsimulated;
	}
	return 0;
}

/* In the order of the capture, so that the first one listed is nearest to the cause; what it lacks comes last. */
static int by_line(const void *a, const void *b)
{
	const struct bf_replay_divergence *x = a, *y = b;
	uint32_t lx = x->captured.line - 1, ly = y->captured.line - 1;

	if (lx != ly)
		return lx < ly ? -1 : 1;
	if (x->cqn != y->cqn)
		return x->cqn < y->cqn ? -1 : 1;
	if (x->number != y->number)
		return x->number < y->number ? -1 : 1;
	return (int)x->verdict - (int)y->verdict;
}

/* ---- the entry whose life says most ---- */

static bool has_entry(const struct bf_replay *r, const struct bf_replay_cqe *c)
{
	const struct bf_replay_qp *q = bf_replay_find_qp(r, c->qpn);

	for (size_t i = 0; q && i < q->nentries; i++) {
		if ((uint16_t)q->entries[i].at == c->counter)
			return true;
	}
	return false;
}

static void set_example(struct bf_replay_result *res, enum bf_replay_example why, uint32_t qpn, uint16_t index)
{
	if (res->example != BF_REPLAY_EXAMPLE_NONE)
		return;
	res->example = why;
	res->example_qpn = qpn;
	res->example_index = index;
}

static void choose_diverged(const struct bf_replay *r)
{
	for (size_t i = 0; i < r->result->ndivergences; i++) {
		const struct bf_replay_divergence *d = &r->result->divergences[i];
		const struct bf_replay_cqe *c = d->captured.line ? &d->captured : &d->simulated;

		/* A jump in the capture's numbers says nothing of the entry that comes after it. */
		if (d->verdict == BF_REPLAY_NUMBERING || bf_replay_cqe_side(c) != BF_REPLAY_SEND || !has_entry(r, c))
			continue;
		set_example(r->result, BF_REPLAY_EXAMPLE_DIVERGED, c->qpn, c->counter);
		return;
	}
}

static void choose_unrung(const struct bf_replay *r)
{
	for (size_t i = 0; i < r->nqps; i++) {
		const struct bf_replay_qp *q = &r->qps[i];

		if (q->next_entry < q->nentries)
			set_example(r->result, BF_REPLAY_EXAMPLE_UNRUNG, q->cap->qpn,
				    (uint16_t)q->entries[q->next_entry].at);
	}
}

static void choose_example(struct bf_replay *r)
{
	const struct bf_replay_cqe *failed = NULL, *sent = NULL, *received = NULL;
	const struct bf_replay_qp *q;

	for (size_t i = 0; i < r->ncqs; i++) {
		for (uint32_t k = 0; k < r->cqs[i].nsimulated; k++) {
			const struct bf_replay_cqe *c = &r->cqs[i].simulated[k];
			const struct bf_replay_cqe **best = bf_replay_cqe_side(c) == BF_REPLAY_RECV ? &received
							    : c->opcode == BF_MLX5_CQE_REQ_ERR      ? &failed
												    : &sent;

			if (!*best || c->time_ps < (*best)->time_ps)
				*best = c;
		}
	}
	choose_diverged(r);
	if (failed)
		set_example(r->result, BF_REPLAY_EXAMPLE_FAILED, failed->qpn, failed->counter);
	choose_unrung(r);
	if (sent)
		set_example(r->result, BF_REPLAY_EXAMPLE_SENT, sent->qpn, sent->counter);
	q = received ? bf_replay_find_qp(r, received->qpn) : NULL;
	if (q)
		set_example(r->result, BF_REPLAY_EXAMPLE_PEER, q->cap->dest_qpn, received->counter);
}

int bf_replay_compare(struct bf_replay *r)
{
	size_t cap = 0;
	int rc = summarise(r);

	for (size_t i = 0; i < r->ncqs && !rc; i++) {
		if (is_made_up(r, &r->cqs[i]))
			rc = alternate_as_captured(r, &r->cqs[i]);
		if (!rc)
			rc = compare_queue(r, &r->cqs[i], &cap);
		if (!rc)
			rc = compare_walk(r, &r->cqs[i], &cap);
	}
	if (!rc && r->result->ndivergences)
		qsort(r->result->divergences, r->result->ndivergences, sizeof(*r->result->divergences), by_line);
	if (!rc)
		choose_example(r);
	return rc;
}
