/* Which record moves which send entry. Keys are the 16 bits of an index that the device knows. */
#include "models/mlx5/prm.h"
#include "traces/life/explain_internal.h"
#include "traces/life/stuck_internal.h"

#define ENTRIES_MAX 65536u /* of one record: no ring is longer, and a record may lie */

static struct bf_stuck_entry *wqe(struct bf_stuck *s, const struct bf_stuck_queue *q, uint64_t index)
{
	return bf_stuck_find(s, q, index & 0xffff, 0);
}

ROW(on_reserve)
{
	struct bf_stuck_queue *q = bf_stuck_queue_by(s, BF_STUCK_MLX5, rec, actor, "qpn");
	const uint64_t base = bf_stuck_field(rec, "base"), count = bf_stuck_field(rec, "count");

	for (uint64_t i = 0; q && i < count && i < ENTRIES_MAX; i++) {
		struct bf_stuck_entry *e = bf_stuck_begin(s, q, (base + i) & 0xffff, 0);

		if (!e)
			return bf_stuck_no_memory(s);
		e->index = base + i;
		e->early = q->has_fetched && e->index < q->fetched;
		bf_stuck_pass(e, BF_STUCK_RESERVE, rec);
	}
	return q ? 0 : bf_stuck_no_memory(s);
}

/* Entries from..to-1 have passed a point; those that nobody knows begin when `begins`. */
static int pass_range(struct bf_stuck *s, struct bf_stuck_queue *q, uint64_t from, uint64_t to, enum bf_stuck_point p,
		      const struct bf_trace_record *rec, bool begins)
{
	for (uint64_t i = from; i < to && i - from < ENTRIES_MAX; i++) {
		struct bf_stuck_entry *e = wqe(s, q, i);

		if (!e && begins) {
			e = bf_stuck_begin(s, q, i & 0xffff, 0);
			if (!e)
				return bf_stuck_no_memory(s);
		}
		if (!e)
			continue;
		bf_stuck_pass(e, p, rec);
		if (p == BF_STUCK_PUBLISH)
			e->posts = bf_stuck_field(rec, "posts") != 0;
	}
	return 0;
}

ROW(on_build)
{
	struct bf_stuck_queue *q = bf_stuck_queue_by(s, BF_STUCK_MLX5, rec, actor, "qpn");
	const uint64_t index = bf_stuck_field(rec, "index"), blocks = (bf_stuck_field(rec, "ds") + 3) / 4;

	/* Further blocks of an entry have no life of their own. */
	for (uint64_t i = 1; q && i < blocks && i < 16; i++) {
		struct bf_stuck_entry *more = wqe(s, q, index + i);

		if (more && more->index == index + i)
			bf_stuck_end(s, more);
	}
	return q ? pass_range(s, q, index, index + 1, BF_STUCK_BUILD, rec, false) : bf_stuck_no_memory(s);
}

ROW(on_publish)
{
	struct bf_stuck_queue *q = bf_stuck_queue_by(s, BF_STUCK_MLX5, rec, actor, "qpn");
	const uint64_t base = bf_stuck_field(rec, "base");

	return q ? pass_range(s, q, base, base + (bf_stuck_field(rec, "count") & 0xffff), BF_STUCK_PUBLISH, rec, false)
		 : bf_stuck_no_memory(s);
}

ROW(on_post)
{
	struct bf_stuck_queue *q = bf_stuck_queue_by(s, BF_STUCK_MLX5, rec, actor, "qpn");
	const uint64_t to = bf_stuck_field(rec, "to");

	if (!q)
		return bf_stuck_no_memory(s);
	if (to > q->rung) {
		q->rung = to;
		q->ringer = rec->actor + 1;
	}
	return pass_range(s, q, bf_stuck_field(rec, "from"), to, BF_STUCK_RING, rec, false);
}

ROW(on_doorbell)
{
	struct bf_stuck_queue *q = bf_stuck_queue_by(s, BF_STUCK_MLX5, rec, actor, "qpn");

	s->ran = true;
	if (q)
		q->doorbells++;
	return q ? 0 : bf_stuck_no_memory(s);
}

ROW(on_dbrec)
{
	struct bf_stuck_queue *q = bf_stuck_queue_by(s, BF_STUCK_MLX5, rec, actor, "qpn");
	const uint16_t before = (uint16_t)bf_stuck_field(rec, "before"),
		       producer = (uint16_t)bf_stuck_field(rec, "producer");

	if (!q)
		return bf_stuck_no_memory(s);
	q->dbrec = producer;
	q->known_dbrec = true;
	return pass_range(s, q, before, before + (uint64_t)(uint16_t)(producer - before), BF_STUCK_DOORBELL, rec,
			  !q->driver);
}

ROW(on_fetch)
{
	struct bf_stuck_queue *q = bf_stuck_queue_by(s, BF_STUCK_MLX5, rec, actor, "qpn");
	const uint64_t index = bf_stuck_field(rec, "index"), blocks = bf_stuck_field(rec, "wqebbs");
	struct bf_stuck_entry *e;

	s->ran = true;
	if (!q)
		return bf_stuck_no_memory(s);
	for (uint64_t i = 1; i < blocks && i < 16; i++) {
		e = wqe(s, q, index + i);
		if (e)
			bf_stuck_end(s, e);
	}
	/* Beyond the 16 bits of the counter, which never goes back by more than a ring. */
	if (!q->has_fetched)
		q->fetched = index;
	if ((int16_t)(uint16_t)(index + blocks - q->fetched) > 0)
		q->fetched += (uint16_t)(index + blocks - q->fetched);
	q->has_fetched = true;
	return pass_range(s, q, index, index + 1, BF_STUCK_FETCH, rec, true);
}

ROW(on_start)
{
	struct bf_stuck_queue *q = bf_stuck_queue_by(s, BF_STUCK_MLX5, rec, actor, "qpn");
	const uint64_t index = bf_stuck_field(rec, "index");

	return q ? pass_range(s, q, index, index + 1, BF_STUCK_START, rec, false) : bf_stuck_no_memory(s);
}

/* An entry that asked for no completion has nothing more to come. */
ROW(on_done)
{
	struct bf_stuck_queue *q = bf_stuck_queue_by(s, BF_STUCK_MLX5, rec, actor, "qpn");
	struct bf_stuck_entry *e = q ? wqe(s, q, bf_stuck_field(rec, "index")) : NULL;

	if (!q)
		return bf_stuck_no_memory(s);
	if (!e)
		return 0;
	bf_stuck_pass(e, BF_STUCK_DONE, rec);
	e->signalled = bf_stuck_field(rec, "signalled") != 0;
	if (!e->signalled)
		bf_stuck_end(s, e);
	return 0;
}

ROW(on_retransmit)
{
	struct bf_stuck_queue *q = bf_stuck_queue_by(s, BF_STUCK_MLX5, rec, actor, "qpn");
	struct bf_stuck_entry *e = q ? wqe(s, q, bf_stuck_field(rec, "index")) : NULL;

	if (e)
		e->retried = true;
	return q ? 0 : bf_stuck_no_memory(s);
}

/* A completion speaks for all entries before its own, also for those that lost theirs. */
static void end_covered(struct bf_stuck *s, struct bf_stuck_queue *q, uint64_t index)
{
	for (size_t i = 0; i < s->nentries; i++) {
		struct bf_stuck_entry *e = &s->entry[i];

		if (e->open && e->lost && e->key[0] == (uint64_t)(q - s->queue) &&
		    (int16_t)(uint16_t)(index - e->index) > 0) {
			bf_stuck_end(s, e);
			q->lost--;
		}
	}
}

/* The actor is the completion queue. Error completions need no wqe_done before them. */
ROW(on_cqe)
{
	const uint64_t kind = bf_stuck_field(rec, "opcode"), index = bf_stuck_field(rec, "index");
	const uint64_t key[3] = { BF_STUCK_MLX5, (uint64_t)(uint32_t)bf_explain_pe(actor), bf_stuck_field(rec, "qpn") };
	const uint64_t at = bf_number_get(&s->queues, key);
	struct bf_stuck_queue *q = at ? &s->queue[at - 1] : NULL;
	struct bf_stuck_entry *e = q ? wqe(s, q, index) : NULL;

	if (!q || (kind != BF_MLX5_CQE_REQ && kind != BF_MLX5_CQE_REQ_ERR))
		return 0;
	if (bf_stuck_field(rec, "verdict")) {
		if (e)
			e->lost = true;
		q->lost += e != NULL;
		return 0;
	}
	if (e && q->driver && e->index + 1 > q->completed) {
		q->completed = e->index + 1;
		q->completed_ps = rec->time_ps;
	}
	if (q->lost)
		end_covered(s, q, index);
	if (e)
		bf_stuck_end(s, e);
	return 0;
}

ROW(on_poll)
{
	struct bf_stuck_queue *q = bf_stuck_queue_by(s, BF_STUCK_MLX5, rec, actor, "qpn");

	if (q && bf_stuck_field(rec, "done") > q->polled)
		q->polled = bf_stuck_field(rec, "done");
	return q ? 0 : bf_stuck_no_memory(s);
}

/* What a failed queue had is another one's now, or accounted for. */
ROW(on_replay)
{
	struct bf_stuck_queue *q = bf_stuck_queue_by(s, BF_STUCK_MLX5, rec, actor, "from_qpn");
	struct bf_stuck_entry *e = q ? wqe(s, q, bf_stuck_field(rec, "index")) : NULL;

	if (e)
		bf_stuck_end(s, e);
	return q ? 0 : bf_stuck_no_memory(s);
}

ROW(on_qp_config)
{
	struct bf_stuck_queue *q = bf_stuck_queue_by(s, BF_STUCK_MLX5, rec, actor, "qpn");

	if (q)
		q->size = bf_stuck_field(rec, "sq_wqebbs");
	return q ? 0 : bf_stuck_no_memory(s);
}

ROW(on_qp_state)
{
	struct bf_stuck_queue *q = bf_stuck_queue_by(s, BF_STUCK_MLX5, rec, actor, "qpn");

	if (!q)
		return bf_stuck_no_memory(s);
	q->state = (uint32_t)bf_stuck_field(rec, "to");
	if (q->state == 0)
		bf_stuck_forget(s, q);
	return 0;
}

ROW(on_qp_path)
{
	struct bf_stuck_queue *q = bf_stuck_queue_by(s, BF_STUCK_MLX5, rec, actor, "qpn");

	if (!q)
		return bf_stuck_no_memory(s);
	q->remote_qpn = bf_stuck_field(rec, "remote_qpn");
	q->remote_ipv4 = bf_stuck_field(rec, "remote_ipv4");
	q->ipv4 = bf_stuck_field(rec, "ipv4");
	return 0;
}

ROW(on_qp_error)
{
	struct bf_stuck_queue *q = bf_stuck_queue_by(s, BF_STUCK_MLX5, rec, actor, "qpn");
	char why[40] = "";

	if (!q)
		return bf_stuck_no_memory(s);
	bf_trace_field_text(rec, "why", why, sizeof(why));
	if (!q->error)
		snprintf(q->trouble, sizeof(q->trouble), "the queue pair failed at entry %" PRIu64 ": %.39s",
			 bf_stuck_field(rec, "index"), why);
	q->error = true;
	return 0;
}

const struct bf_stuck_row bf_stuck_mlx5_rows[] = {
	{ "ibgda_reserve", on_reserve },
	{ "ibgda_build", on_build },
	{ "ibgda_publish", on_publish },
	{ "ibgda_post", on_post },
	{ "ibgda_poll", on_poll },
	{ "ibgda_replay", on_replay },
	{ "doorbell", on_doorbell },
	{ "dbrec", on_dbrec },
	{ "wqe_fetch", on_fetch },
	{ "wqe_start", on_start },
	{ "wqe_done", on_done },
	{ "retransmit", on_retransmit },
	{ "cqe", on_cqe },
	{ "qp_config", on_qp_config },
	{ "qp_path", on_qp_path },
	{ "qp_state", on_qp_state },
	{ "qp_error", on_qp_error },
	{ NULL, NULL },
};
