/* Which record moves which entry. */
#include <errno.h>
#include <stdlib.h>

#include "models/hopper/word.h"
#include "models/mlx5/prm.h"
#include "traces/explain_internal.h"
#include "traces/explain_stuck_internal.h"

#define ENTRIES_MAX 65536u /* of one record: no ring is longer, and a record may lie */
#define ASYNC_EVENT 0x0cu  /* an admin command that waits for something to report */

#define ROW(name) static int name(struct bf_stuck *s, const struct bf_trace_record *rec, const char *actor)

static uint64_t get(const struct bf_trace_record *rec, const char *name)
{
	return bf_stuck_field(rec, name);
}

static struct bf_stuck_queue *queue_of(struct bf_stuck *s, enum bf_stuck_kind kind, const struct bf_trace_record *rec,
				       const char *actor, const char *field)
{
	const bool device = rec->type->class_ != BF_CLASS_DRIVER;
	const char *dot = strrchr(actor, '.');
	uint64_t number = field ? get(rec, field) : 0;
	struct bf_stuck_queue *q;

	/* An SDMA queue's records have its number in the actor's name alone. */
	if (!field && dot && dot[1] == 'q')
		number = strtoull(dot + 2, NULL, 10);
	q = bf_stuck_queue_of(s, kind, actor, device, number);
	if (q && !device)
		q->driver = true;
	if (device)
		s->device = true;
	return q;
}

/* ---- mlx5: keys are the 16 bits that the device knows ---- */

static struct bf_stuck_entry *wqe(struct bf_stuck *s, const struct bf_stuck_queue *q, uint64_t index)
{
	return bf_stuck_find(s, q, index & 0xffff, 0);
}

ROW(on_reserve)
{
	struct bf_stuck_queue *q = queue_of(s, BF_STUCK_MLX5, rec, actor, "qpn");
	const uint64_t base = get(rec, "base"), count = get(rec, "count");

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
			e->posts = get(rec, "posts") != 0;
	}
	return 0;
}

ROW(on_build)
{
	struct bf_stuck_queue *q = queue_of(s, BF_STUCK_MLX5, rec, actor, "qpn");
	const uint64_t index = get(rec, "index"), blocks = (get(rec, "ds") + 3) / 4;

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
	struct bf_stuck_queue *q = queue_of(s, BF_STUCK_MLX5, rec, actor, "qpn");
	const uint64_t base = get(rec, "base");

	return q ? pass_range(s, q, base, base + (get(rec, "count") & 0xffff), BF_STUCK_PUBLISH, rec, false)
		 : bf_stuck_no_memory(s);
}

ROW(on_post)
{
	struct bf_stuck_queue *q = queue_of(s, BF_STUCK_MLX5, rec, actor, "qpn");
	const uint64_t to = get(rec, "to");

	if (!q)
		return bf_stuck_no_memory(s);
	if (to > q->rung) {
		q->rung = to;
		q->ringer = rec->actor + 1;
	}
	return pass_range(s, q, get(rec, "from"), to, BF_STUCK_RING, rec, false);
}

ROW(on_doorbell)
{
	struct bf_stuck_queue *q = queue_of(s, BF_STUCK_MLX5, rec, actor, "qpn");

	s->ran = true;
	if (q)
		q->doorbells++;
	return q ? 0 : bf_stuck_no_memory(s);
}

ROW(on_dbrec)
{
	struct bf_stuck_queue *q = queue_of(s, BF_STUCK_MLX5, rec, actor, "qpn");
	const uint16_t before = (uint16_t)get(rec, "before"), producer = (uint16_t)get(rec, "producer");

	if (!q)
		return bf_stuck_no_memory(s);
	q->dbrec = producer;
	q->known_dbrec = true;
	return pass_range(s, q, before, before + (uint64_t)(uint16_t)(producer - before), BF_STUCK_DOORBELL, rec, !q->driver);
}

ROW(on_fetch)
{
	struct bf_stuck_queue *q = queue_of(s, BF_STUCK_MLX5, rec, actor, "qpn");
	const uint64_t index = get(rec, "index"), blocks = get(rec, "wqebbs");
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
	struct bf_stuck_queue *q = queue_of(s, BF_STUCK_MLX5, rec, actor, "qpn");
	const uint64_t index = get(rec, "index");

	return q ? pass_range(s, q, index, index + 1, BF_STUCK_START, rec, false) : bf_stuck_no_memory(s);
}

/* An entry that asked for no completion has nothing more to come. */
ROW(on_done)
{
	struct bf_stuck_queue *q = queue_of(s, BF_STUCK_MLX5, rec, actor, "qpn");
	struct bf_stuck_entry *e = q ? wqe(s, q, get(rec, "index")) : NULL;

	if (!q)
		return bf_stuck_no_memory(s);
	if (!e)
		return 0;
	bf_stuck_pass(e, BF_STUCK_DONE, rec);
	e->signalled = get(rec, "signalled") != 0;
	if (!e->signalled)
		bf_stuck_end(s, e);
	return 0;
}

ROW(on_retransmit)
{
	struct bf_stuck_queue *q = queue_of(s, BF_STUCK_MLX5, rec, actor, "qpn");
	struct bf_stuck_entry *e = q ? wqe(s, q, get(rec, "index")) : NULL;

	if (e)
		e->retried = true;
	return q ? 0 : bf_stuck_no_memory(s);
}

/* The actor is the completion queue. Error completions need no wqe_done before them. */
ROW(on_cqe)
{
	const uint64_t kind = get(rec, "opcode"), index = get(rec, "index");
	const uint64_t key[3] = { BF_STUCK_MLX5, (uint64_t)(uint32_t)bf_explain_pe(actor), get(rec, "qpn") };
	const uint64_t at = bf_number_get(&s->queues, key);
	struct bf_stuck_queue *q = at ? &s->queue[at - 1] : NULL;
	struct bf_stuck_entry *e = q ? wqe(s, q, index) : NULL;

	if (!q || (kind != BF_MLX5_CQE_REQ && kind != BF_MLX5_CQE_REQ_ERR))
		return 0;
	if (get(rec, "verdict")) {
		if (e)
			e->lost = true;
		return 0;
	}
	if (e && q->driver && e->index + 1 > q->completed) {
		q->completed = e->index + 1;
		q->completed_ps = rec->time_ps;
	}
	if (e)
		bf_stuck_end(s, e);
	return 0;
}

ROW(on_poll)
{
	struct bf_stuck_queue *q = queue_of(s, BF_STUCK_MLX5, rec, actor, "qpn");

	if (q && get(rec, "done") > q->polled)
		q->polled = get(rec, "done");
	return q ? 0 : bf_stuck_no_memory(s);
}

/* What a failed queue had is another one's now, or accounted for. */
ROW(on_replay)
{
	struct bf_stuck_queue *q = queue_of(s, BF_STUCK_MLX5, rec, actor, "from_qpn");
	struct bf_stuck_entry *e = q ? wqe(s, q, get(rec, "index")) : NULL;

	if (e)
		bf_stuck_end(s, e);
	return q ? 0 : bf_stuck_no_memory(s);
}

ROW(on_qp_config)
{
	struct bf_stuck_queue *q = queue_of(s, BF_STUCK_MLX5, rec, actor, "qpn");

	if (q)
		q->size = get(rec, "sq_wqebbs");
	return q ? 0 : bf_stuck_no_memory(s);
}

static void forget(struct bf_stuck *s, const struct bf_stuck_queue *q)
{
	for (size_t i = 0; i < s->nentries; i++)
		if (s->entry[i].open && s->entry[i].key[0] == (uint64_t)(q - s->queue))
			bf_stuck_end(s, &s->entry[i]);
}

ROW(on_qp_state)
{
	struct bf_stuck_queue *q = queue_of(s, BF_STUCK_MLX5, rec, actor, "qpn");

	if (!q)
		return bf_stuck_no_memory(s);
	q->state = (uint32_t)get(rec, "to");
	if (q->state == 0)
		forget(s, q);
	return 0;
}

ROW(on_qp_path)
{
	struct bf_stuck_queue *q = queue_of(s, BF_STUCK_MLX5, rec, actor, "qpn");

	if (!q)
		return bf_stuck_no_memory(s);
	q->remote_qpn = get(rec, "remote_qpn");
	q->remote_ipv4 = get(rec, "remote_ipv4");
	q->ipv4 = get(rec, "ipv4");
	return 0;
}

ROW(on_qp_error)
{
	struct bf_stuck_queue *q = queue_of(s, BF_STUCK_MLX5, rec, actor, "qpn");
	char why[40] = "";

	if (!q)
		return bf_stuck_no_memory(s);
	bf_trace_field_text(rec, "why", why, sizeof(why));
	if (!q->error)
		snprintf(q->trouble, sizeof(q->trouble), "the queue pair failed at entry %" PRIu64 ": %.39s",
			 get(rec, "index"), why);
	q->error = true;
	return 0;
}

/* ---- NVMe: an entry goes by its slot until it is fetched, by its identifier from then on ---- */

static struct bf_stuck_entry *in_slot(struct bf_stuck *s, const struct bf_stuck_queue *q, uint64_t slot)
{
	return bf_stuck_find(s, q, slot, 0);
}

static struct bf_stuck_entry *by_cid(struct bf_stuck *s, const struct bf_stuck_queue *q, uint64_t cid)
{
	return bf_stuck_find(s, q, cid, 1);
}

/* How many commands the slot has had, this one included. */
static uint32_t count_slot(struct bf_stuck *s, const struct bf_stuck_queue *q, uint64_t slot)
{
	const uint64_t key[3] = { (uint64_t)(q - s->queue), slot, 0 };
	const uint64_t n = bf_number_get(&s->counts, key) + 1;

	return bf_number_put(&s->counts, key, n) ? 1 : (uint32_t)n;
}

ROW(on_nvm_build)
{
	struct bf_stuck_queue *q = queue_of(s, BF_STUCK_NVME, rec, actor, "qid");
	struct bf_stuck_entry *e = q ? bf_stuck_begin(s, q, get(rec, "slot"), 0) : NULL;

	if (!e)
		return bf_stuck_no_memory(s);
	e->slot = (uint32_t)get(rec, "slot");
	e->cid = (uint32_t)(get(rec, "q0") >> 16 & 0xffff);
	e->nth = count_slot(s, q, e->slot);
	q->size = get(rec, "entries");
	bf_stuck_pass(e, BF_STUCK_BUILD, rec);
	/* Asynchronous event requests wait until there is something to say. */
	if (q->number == 0 && (get(rec, "q0") & 0xff) == ASYNC_EVENT)
		bf_stuck_end(s, e);
	return 0;
}

/* Slots from..to-1 of a ring that wraps. */
static void pass_slots(struct bf_stuck *s, const struct bf_stuck_queue *q, uint64_t from, uint64_t to,
		       enum bf_stuck_point p, const struct bf_trace_record *rec)
{
	const uint64_t size = q->size && q->size <= ENTRIES_MAX ? q->size : ENTRIES_MAX;

	for (uint64_t i = from % size, n = 0; i != to % size && n < size; i = (i + 1) % size, n++) {
		struct bf_stuck_entry *e = in_slot(s, q, i);

		if (e)
			bf_stuck_pass(e, p, rec);
	}
}

ROW(on_nvm_ring)
{
	struct bf_stuck_queue *q = queue_of(s, BF_STUCK_NVME, rec, actor, "qid");

	if (!q)
		return bf_stuck_no_memory(s);
	if (get(rec, "queue"))
		return 0;
	q->rung = get(rec, "to");
	q->ringer = rec->actor + 1;
	pass_slots(s, q, get(rec, "from"), q->rung, BF_STUCK_RING, rec);
	return 0;
}

ROW(on_nvme_doorbell)
{
	struct bf_stuck_queue *q;

	s->ran = true;
	if (get(rec, "queue"))
		return 0;
	q = queue_of(s, BF_STUCK_NVME, rec, actor, "qid");
	if (!q)
		return bf_stuck_no_memory(s);
	q->doorbells++;
	q->dbrec = get(rec, "value");
	q->known_dbrec = true;
	if (get(rec, "accepted"))
		pass_slots(s, q, get(rec, "before"), q->dbrec, BF_STUCK_DOORBELL, rec);
	return 0;
}

ROW(on_nvme_fetch)
{
	struct bf_stuck_queue *q = queue_of(s, BF_STUCK_NVME, rec, actor, "sqid");
	const uint64_t slot = get(rec, "slot"), cid = get(rec, "cid");
	struct bf_stuck_entry *e = q ? in_slot(s, q, slot) : NULL;
	int rc = 0;

	s->ran = true;
	if (!q)
		return bf_stuck_no_memory(s);
	if (e)
		rc = bf_stuck_rename(s, e, cid, 1);
	else
		e = bf_stuck_begin(s, q, cid, 1);
	if (rc || !e)
		return rc ? rc : bf_stuck_no_memory(s);
	if (!e->nth)
		e->nth = count_slot(s, q, slot);
	e->slot = (uint32_t)slot;
	e->cid = (uint32_t)cid;
	bf_stuck_pass(e, BF_STUCK_FETCH, rec);
	if (q->number == 0 && get(rec, "opcode") == ASYNC_EVENT)
		bf_stuck_end(s, e);
	return 0;
}

ROW(on_nvme_start)
{
	struct bf_stuck_queue *q = queue_of(s, BF_STUCK_NVME, rec, actor, "sqid");
	struct bf_stuck_entry *e = q ? by_cid(s, q, get(rec, "cid")) : NULL;

	if (e)
		bf_stuck_pass(e, BF_STUCK_START, rec);
	return q ? 0 : bf_stuck_no_memory(s);
}

ROW(on_nvme_held)
{
	struct bf_stuck_queue *q = bf_stuck_queue_of(s, BF_STUCK_NVME, actor, false, get(rec, "sqid"));
	struct bf_stuck_entry *e = q ? by_cid(s, q, get(rec, "cid")) : NULL;

	if (e)
		e->held = true;
	return q ? 0 : bf_stuck_no_memory(s);
}

/* The actor may be the completion queue. Who has a driver that speaks waits for its word as well. */
ROW(on_nvme_completion)
{
	struct bf_stuck_queue *q = bf_stuck_queue_of(s, BF_STUCK_NVME, actor, false, get(rec, "sqid"));
	struct bf_stuck_entry *e = q ? by_cid(s, q, get(rec, "cid")) : NULL;

	if (!e)
		return q ? 0 : bf_stuck_no_memory(s);
	bf_stuck_pass(e, BF_STUCK_COMPLETION, rec);
	if (!(e->points & 1u << BF_STUCK_BUILD))
		bf_stuck_end(s, e);
	return 0;
}

ROW(on_nvm_completion)
{
	struct bf_stuck_queue *q = queue_of(s, BF_STUCK_NVME, rec, actor, "qid");
	struct bf_stuck_entry *e = q ? by_cid(s, q, get(rec, "cid")) : NULL;

	if (e && (e->points & 1u << BF_STUCK_COMPLETION))
		bf_stuck_end(s, e);
	return q ? 0 : bf_stuck_no_memory(s);
}

ROW(on_nvm_timeout)
{
	struct bf_stuck_queue *q = queue_of(s, BF_STUCK_NVME, rec, actor, "qid");

	if (!q)
		return bf_stuck_no_memory(s);
	if (!q->gave_up)
		snprintf(q->trouble, sizeof(q->trouble), "%.47s gave up after %" PRIu64 " ns", actor, get(rec, "waited"));
	q->gave_up = true;
	return 0;
}

/* A queue that goes takes its commands along, unless its driver has given up on them before. */
ROW(on_nvme_queue)
{
	struct bf_stuck_queue *q;

	if (get(rec, "queue") || get(rec, "what") < 2)
		return 0;
	q = queue_of(s, BF_STUCK_NVME, rec, actor, "qid");
	if (q && !q->gave_up)
		forget(s, q);
	return q ? 0 : bf_stuck_no_memory(s);
}

/* ---- SDMA: an entry is a submission ---- */

ROW(on_sdma_reserve)
{
	struct bf_stuck_queue *q = queue_of(s, BF_STUCK_SDMA, rec, actor, "queue");
	struct bf_stuck_entry *e = q ? bf_stuck_begin(s, q, get(rec, "from"), 0) : NULL;

	if (!e)
		return bf_stuck_no_memory(s);
	e->to = get(rec, "to");
	e->empty = !get(rec, "pad"); /* until the engine finds more than NOPs; padding is nothing else */
	bf_stuck_pass(e, BF_STUCK_RESERVE, rec);
	return 0;
}

/* Calls for each open submission of the queue that lies in from..to-1. */
static void pass_bytes(struct bf_stuck *s, const struct bf_stuck_queue *q, uint64_t from, uint64_t to,
		       enum bf_stuck_point p, const struct bf_trace_record *rec)
{
	for (size_t i = 0; i < s->nentries; i++) {
		struct bf_stuck_entry *e = &s->entry[i];

		if (e->open && e->key[0] == (uint64_t)(q - s->queue) && e->index < to && e->to > from)
			bf_stuck_pass(e, p, rec);
	}
}

ROW(on_sdma_publish)
{
	struct bf_stuck_queue *q = queue_of(s, BF_STUCK_SDMA, rec, actor, "queue");

	if (!q)
		return bf_stuck_no_memory(s);
	q->rung = get(rec, "to");
	q->ringer = rec->actor + 1;
	pass_bytes(s, q, get(rec, "from"), q->rung, BF_STUCK_RING, rec);
	return 0;
}

ROW(on_sdma_doorbell)
{
	struct bf_stuck_queue *q = queue_of(s, BF_STUCK_SDMA, rec, actor, NULL);
	const uint64_t before = get(rec, "before"), published = get(rec, "published");
	struct bf_stuck_entry *e;

	s->ran = true;
	if (!q)
		return bf_stuck_no_memory(s);
	q->doorbells++;
	q->dbrec = published;
	q->known_dbrec = true;
	if (!q->driver && published > before) {
		e = bf_stuck_begin(s, q, before, 0);
		if (!e)
			return bf_stuck_no_memory(s);
		e->to = published;
	}
	if (published > before)
		pass_bytes(s, q, before, published, BF_STUCK_DOORBELL, rec);
	return 0;
}

ROW(on_sdma_packet)
{
	struct bf_stuck_queue *q = queue_of(s, BF_STUCK_SDMA, rec, actor, NULL);
	const uint64_t index = get(rec, "index");

	s->ran = true;
	if (!q)
		return bf_stuck_no_memory(s);
	q->packets++;
	pass_bytes(s, q, index, index + 1, BF_STUCK_START, rec);
	/* Anything but a NOP: the submission does something. */
	for (size_t i = 0; get(rec, "op") && i < s->nentries; i++)
		if (s->entry[i].open && s->entry[i].key[0] == (uint64_t)(q - s->queue) && s->entry[i].index <= index &&
		    s->entry[i].to > index)
			s->entry[i].empty = false;
	return 0;
}

ROW(on_sdma_rptr)
{
	struct bf_stuck_queue *q = queue_of(s, BF_STUCK_SDMA, rec, actor, NULL);
	const uint64_t index = get(rec, "index");

	if (!q)
		return bf_stuck_no_memory(s);
	q->passed = index;
	for (size_t i = 0; i < s->nentries; i++) {
		struct bf_stuck_entry *e = &s->entry[i];

		if (!e->open || e->key[0] != (uint64_t)(q - s->queue) || e->to > index)
			continue;
		/* One that its publisher has not spoken of, or that was all NOPs, may be waited for in vain. */
		bf_stuck_pass(e, BF_STUCK_DONE, rec);
		if (!e->empty)
			bf_stuck_end(s, e);
	}
	return 0;
}

ROW(on_sdma_fault)
{
	struct bf_stuck_queue *q = queue_of(s, BF_STUCK_SDMA, rec, actor, NULL);
	const struct bf_rec_field *f = bf_schema_field(rec->type, "reason");
	const char *why;
	size_t len = 0;

	if (!q)
		return bf_stuck_no_memory(s);
	why = f ? bf_field_enum_name(f, bf_field_u64(f, rec->fixed), &len) : NULL;
	if (!q->stopped)
		snprintf(q->trouble, sizeof(q->trouble), "the queue stopped at packet 0x%" PRIx64 ", dword %" PRIu64 ": %.*s",
			 get(rec, "index"), get(rec, "dword"), (int)(why ? len : 0), why ? why : "");
	q->stopped = true;
	return 0;
}

ROW(on_sdma_queue)
{
	struct bf_stuck_queue *q = queue_of(s, BF_STUCK_SDMA, rec, actor, NULL);

	if (!q)
		return bf_stuck_no_memory(s);
	q->size = get(rec, "bytes");
	if (get(rec, "event") == 0 || (get(rec, "event") == 3 && !q->stopped && !s->deadlock))
		forget(s, q);
	return 0;
}

/* ---- captures ---- */

ROW(on_capture_doorbell)
{
	struct bf_stuck_queue *q = bf_stuck_queue_of(s, BF_STUCK_CAPTURE, actor, true, get(rec, "qpn"));

	if (!q)
		return bf_stuck_no_memory(s);
	snprintf(q->name, sizeof(q->name), "qp0x%" PRIx64, q->number);
	q->dbrec = get(rec, "dbrec") & 0xffff;
	q->known_dbrec = true;
	q->doorbells++;
	return 0;
}

ROW(on_capture_wqe)
{
	struct bf_stuck_queue *q = bf_stuck_queue_of(s, BF_STUCK_CAPTURE, actor, true, get(rec, "qpn"));
	struct bf_stuck_entry *e;

	if (!q)
		return bf_stuck_no_memory(s);
	snprintf(q->name, sizeof(q->name), "qp0x%" PRIx64, q->number);
	e = bf_stuck_begin(s, q, get(rec, "index") & 0xffff, 0);
	if (!e)
		return bf_stuck_no_memory(s);
	e->line = (uint32_t)get(rec, "line");
	/* Byte 11 of the control segment: whether it asks for a completion (mlx5dv.h, MLX5_WQE_CTRL_CQ_UPDATE). */
	e->signalled = rec->tail_len >= 12 && (rec->tail[11] & 0x0c) == 0x08;
	bf_stuck_pass(e, BF_STUCK_BUILD, rec);
	return 0;
}

ROW(on_capture_cqe)
{
	const struct bf_mlx5_cqe *c = (const void *)rec->tail;
	struct bf_stuck_queue *q;
	struct bf_stuck_entry *e;
	uint8_t kind;

	if (rec->tail_len != sizeof(*c))
		return 0;
	kind = (uint8_t)BF_FIELD_GET(BF_MLX5_CQE_OPCODE, c->op_own);
	if (kind != BF_MLX5_CQE_REQ && kind != BF_MLX5_CQE_REQ_ERR)
		return 0;
	q = bf_stuck_queue_of(s, BF_STUCK_CAPTURE, actor, true, BF_FIELD_GET(BF_MLX5_CQE_QPN, bf_be32(c->sop_drop_qpn)));
	e = q ? bf_stuck_find(s, q, bf_be16(c->wqe_counter), 0) : NULL;
	if (e)
		bf_stuck_end(s, e);
	return q ? 0 : bf_stuck_no_memory(s);
}

ROW(on_ftrace_setup)
{
	struct bf_stuck_queue *q;
	struct bf_stuck_entry *e;

	if (get(rec, "side"))
		return 0;
	q = bf_stuck_queue_of(s, BF_STUCK_FTRACE, actor, true, get(rec, "qid"));
	e = q ? bf_stuck_begin(s, q, get(rec, "cid"), 1) : NULL;
	if (!e)
		return bf_stuck_no_memory(s);
	e->cid = (uint32_t)get(rec, "cid");
	e->line = (uint32_t)get(rec, "line");
	bf_stuck_pass(e, BF_STUCK_BUILD, rec);
	if (q->number == 0 && get(rec, "opcode") == ASYNC_EVENT)
		bf_stuck_end(s, e);
	return 0;
}

ROW(on_ftrace_complete)
{
	struct bf_stuck_queue *q;
	struct bf_stuck_entry *e;

	if (get(rec, "side"))
		return 0;
	q = bf_stuck_queue_of(s, BF_STUCK_FTRACE, actor, true, get(rec, "qid"));
	e = q ? bf_stuck_find(s, q, get(rec, "cid"), 1) : NULL;
	if (e)
		bf_stuck_end(s, e);
	return q ? 0 : bf_stuck_no_memory(s);
}

/* ---- barriers ---- */

enum { OP_INIT, OP_INVAL, OP_ARRIVE, OP_ARRIVE_DROP, OP_FIRST_WAIT = 6, OP_LAST_WAIT = 9 };

ROW(on_hopper_op)
{
	struct bf_stuck_barrier *b = bf_stuck_barrier_of(s, rec->actor, get(rec, "address"));
	const uint64_t op = get(rec, "op"), before = get(rec, "before"), after = get(rec, "after");
	const uint64_t warp = 1ull << (get(rec, "warp") & 63);

	(void)actor;
	s->ran = true;
	if (!b)
		return bf_stuck_no_memory(s);
	if (op >= OP_FIRST_WAIT && op <= OP_LAST_WAIT) {
		if (get(rec, "result"))
			b->asking &= ~warp;
		else if (!(b->asking & warp))
			b->asking |= warp;
		return 0;
	}
	if (op > OP_ARRIVE_DROP + 2)
		return 0;
	b->word = after;
	b->live = op != OP_INVAL;
	if (op == OP_INIT) {
		b->phases = b->parked = b->asking = b->arrived = b->arrived_before = 0;
		b->since_ps = rec->time_ps;
	} else if (op == OP_ARRIVE || op == OP_ARRIVE_DROP) {
		b->arrived |= get(rec, "remote") ? 0 : warp;
	}
	if (op != OP_INIT && bf_mbar_phase(before) != bf_mbar_phase(after)) {
		b->phases++;
		b->arrived_before = b->arrived;
		b->arrived = b->asking = 0;
		b->since_ps = rec->time_ps;
	}
	return 0;
}

ROW(on_hopper_wait)
{
	struct bf_stuck_barrier *b = bf_stuck_barrier_of(s, rec->actor, get(rec, "address"));
	const uint64_t event = get(rec, "event"), warp = 1ull << (get(rec, "warp") & 63);

	(void)actor;
	if (!b)
		return bf_stuck_no_memory(s);
	if (event == 0)
		b->parked |= warp;
	else if (event >= 2 && event != 5)
		b->parked &= ~warp;
	return 0;
}

/* ---- threads ---- */

ROW(on_agent_wait)
{
	struct bf_stuck_thread *t = bf_stuck_thread_of(s, rec->actor);

	(void)actor;
	if (!t)
		return bf_stuck_no_memory(s);
	t->waits = true;
	t->since_ps = rec->time_ps;
	t->va = get(rec, "va");
	bf_trace_field_text(rec, "what", t->what, sizeof(t->what));
	return 0;
}

ROW(on_agent_wake)
{
	struct bf_stuck_thread *t = bf_stuck_thread_of(s, rec->actor);

	(void)actor;
	if (t)
		t->waits = false;
	return t ? 0 : bf_stuck_no_memory(s);
}

ROW(on_agent_end)
{
	struct bf_stuck_thread *t = bf_stuck_thread_of(s, rec->actor);

	(void)actor;
	if (!t)
		return bf_stuck_no_memory(s);
	t->waits = false;
	t->ended = true;
	return 0;
}

ROW(on_deadlock)
{
	struct bf_stuck_thread *t = bf_stuck_thread_of(s, rec->actor);

	(void)actor;
	if (!t)
		return bf_stuck_no_memory(s);
	s->deadlock = true;
	t->waits = t->deadlock = true;
	t->since_ps = get(rec, "since");
	t->va = get(rec, "va");
	t->value = get(rec, "value");
	bf_trace_field_text(rec, "what", t->what, sizeof(t->what));
	return 0;
}

const struct bf_stuck_row bf_stuck_rows[] = {
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
	{ "nvm_build", on_nvm_build },
	{ "nvm_ring", on_nvm_ring },
	{ "nvm_completion", on_nvm_completion },
	{ "nvm_timeout", on_nvm_timeout },
	{ "nvme_doorbell", on_nvme_doorbell },
	{ "nvme_fetch", on_nvme_fetch },
	{ "nvme_start", on_nvme_start },
	{ "nvme_held", on_nvme_held },
	{ "nvme_completion", on_nvme_completion },
	{ "nvme_queue", on_nvme_queue },
	{ "sdma_reserve", on_sdma_reserve },
	{ "sdma_publish", on_sdma_publish },
	{ "sdma_doorbell", on_sdma_doorbell },
	{ "sdma_packet", on_sdma_packet },
	{ "sdma_rptr", on_sdma_rptr },
	{ "sdma_fault", on_sdma_fault },
	{ "sdma_queue", on_sdma_queue },
	{ "capture_doorbell", on_capture_doorbell },
	{ "capture_wqe", on_capture_wqe },
	{ "capture_cqe", on_capture_cqe },
	{ "ftrace_setup", on_ftrace_setup },
	{ "ftrace_complete", on_ftrace_complete },
	{ "hopper_op", on_hopper_op },
	{ "hopper_wait", on_hopper_wait },
	{ "agent_wait", on_agent_wait },
	{ "agent_wake", on_agent_wake },
	{ "agent_end", on_agent_end },
	{ "deadlock", on_deadlock },
	{ NULL, NULL },
};
