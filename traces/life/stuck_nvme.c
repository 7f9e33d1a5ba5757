/* Which record moves which command: it goes by its slot until it is fetched, by its identifier from then on. */
#include "traces/life/explain_internal.h"
#include "traces/life/stuck_internal.h"
#include "traces/rules/rules.h"

#define ENTRIES_MAX 65536u /* of one record: no ring is longer, and a record may lie */
#define ASYNC_EVENT 0x0cu  /* an admin command that waits for something to report */

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
	struct bf_stuck_queue *q = bf_stuck_queue_by(s, BF_STUCK_NVME, rec, actor, "qid");
	struct bf_stuck_entry *e = q ? bf_stuck_begin(s, q, bf_stuck_field(rec, "slot"), 0) : NULL;

	if (!e)
		return bf_stuck_no_memory(s);
	e->slot = (uint32_t)bf_stuck_field(rec, "slot");
	e->cid = (uint32_t)(bf_stuck_field(rec, "q0") >> 16 & 0xffff);
	e->nth = count_slot(s, q, e->slot);
	q->size = bf_stuck_field(rec, "entries");
	bf_stuck_pass(e, BF_STUCK_BUILD, rec);
	/* Asynchronous event requests wait until there is something to say. */
	if (q->number == 0 && (bf_stuck_field(rec, "q0") & 0xff) == ASYNC_EVENT)
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
	struct bf_stuck_queue *q = bf_stuck_queue_by(s, BF_STUCK_NVME, rec, actor, "qid");

	if (!q)
		return bf_stuck_no_memory(s);
	if (bf_stuck_field(rec, "queue"))
		return 0;
	q->rung = bf_stuck_field(rec, "to");
	q->ringer = rec->actor + 1;
	pass_slots(s, q, bf_stuck_field(rec, "from"), q->rung, BF_STUCK_RING, rec);
	return 0;
}

ROW(on_nvme_doorbell)
{
	struct bf_stuck_queue *q;

	s->ran = true;
	if (bf_stuck_field(rec, "queue"))
		return 0;
	q = bf_stuck_queue_by(s, BF_STUCK_NVME, rec, actor, "qid");
	if (!q)
		return bf_stuck_no_memory(s);
	q->doorbells++;
	q->dbrec = bf_stuck_field(rec, "value");
	q->known_dbrec = true;
	if (bf_stuck_field(rec, "accepted"))
		pass_slots(s, q, bf_stuck_field(rec, "before"), q->dbrec, BF_STUCK_DOORBELL, rec);
	return 0;
}

ROW(on_nvme_fetch)
{
	struct bf_stuck_queue *q = bf_stuck_queue_by(s, BF_STUCK_NVME, rec, actor, "sqid");
	const uint64_t slot = bf_stuck_field(rec, "slot"), cid = bf_stuck_field(rec, "cid");
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
	if (q->number == 0 && bf_stuck_field(rec, "opcode") == ASYNC_EVENT)
		bf_stuck_end(s, e);
	return 0;
}

ROW(on_nvme_start)
{
	struct bf_stuck_queue *q = bf_stuck_queue_by(s, BF_STUCK_NVME, rec, actor, "sqid");
	struct bf_stuck_entry *e = q ? by_cid(s, q, bf_stuck_field(rec, "cid")) : NULL;

	if (e)
		bf_stuck_pass(e, BF_STUCK_START, rec);
	return q ? 0 : bf_stuck_no_memory(s);
}

ROW(on_nvme_held)
{
	struct bf_stuck_queue *q = bf_stuck_queue_of(s, BF_STUCK_NVME, actor, false, bf_stuck_field(rec, "sqid"));
	struct bf_stuck_entry *e = q ? by_cid(s, q, bf_stuck_field(rec, "cid")) : NULL;

	if (e)
		e->held = true;
	return q ? 0 : bf_stuck_no_memory(s);
}

/* The actor may be the completion queue. Who has a driver that speaks waits for its word as well. */
ROW(on_nvme_completion)
{
	struct bf_stuck_queue *q = bf_stuck_queue_of(s, BF_STUCK_NVME, actor, false, bf_stuck_field(rec, "sqid"));
	struct bf_stuck_entry *e = q ? by_cid(s, q, bf_stuck_field(rec, "cid")) : NULL;

	if (!e)
		return q ? 0 : bf_stuck_no_memory(s);
	bf_stuck_pass(e, BF_STUCK_COMPLETION, rec);
	if (!(e->points & 1u << BF_STUCK_BUILD))
		bf_stuck_end(s, e);
	return 0;
}

ROW(on_nvm_completion)
{
	struct bf_stuck_queue *q = bf_stuck_queue_by(s, BF_STUCK_NVME, rec, actor, "qid");
	struct bf_stuck_entry *e = q ? by_cid(s, q, bf_stuck_field(rec, "cid")) : NULL;

	if (e && (e->points & 1u << BF_STUCK_COMPLETION))
		bf_stuck_end(s, e);
	return q ? 0 : bf_stuck_no_memory(s);
}

ROW(on_nvm_timeout)
{
	struct bf_stuck_queue *q = bf_stuck_queue_by(s, BF_STUCK_NVME, rec, actor, "qid");

	if (!q)
		return bf_stuck_no_memory(s);
	if (!q->gave_up)
		snprintf(q->trouble, sizeof(q->trouble), "%.47s gave up after %s", actor,
			 bf_span_of(bf_stuck_field(rec, "waited") * 1000).text);
	q->gave_up = true;
	return 0;
}

/* A queue that goes takes its commands along, unless its driver has given up on them before. */
ROW(on_nvme_queue)
{
	struct bf_stuck_queue *q;

	if (bf_stuck_field(rec, "queue") || bf_stuck_field(rec, "what") < 2)
		return 0;
	q = bf_stuck_queue_by(s, BF_STUCK_NVME, rec, actor, "qid");
	if (q && !q->gave_up)
		bf_stuck_forget(s, q);
	return q ? 0 : bf_stuck_no_memory(s);
}

const struct bf_stuck_row bf_stuck_nvme_rows[] = {
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
	{ NULL, NULL },
};
