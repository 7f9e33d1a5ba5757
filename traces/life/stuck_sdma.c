/* Which record moves which submission of an SDMA queue. */
#include "traces/life/explain_internal.h"
#include "traces/life/stuck_internal.h"

ROW(on_sdma_reserve)
{
	struct bf_stuck_queue *q = bf_stuck_queue_by(s, BF_STUCK_SDMA, rec, actor, "queue");
	struct bf_stuck_entry *e = q ? bf_stuck_begin(s, q, bf_stuck_field(rec, "from"), 0) : NULL;

	if (!e)
		return bf_stuck_no_memory(s);
	e->to = bf_stuck_field(rec, "to");
	e->empty = !bf_stuck_field(rec, "pad"); /* until the engine finds more than NOPs; padding is nothing else */
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
	struct bf_stuck_queue *q = bf_stuck_queue_by(s, BF_STUCK_SDMA, rec, actor, "queue");

	if (!q)
		return bf_stuck_no_memory(s);
	q->rung = bf_stuck_field(rec, "to");
	q->ringer = rec->actor + 1;
	pass_bytes(s, q, bf_stuck_field(rec, "from"), q->rung, BF_STUCK_RING, rec);
	return 0;
}

ROW(on_sdma_doorbell)
{
	struct bf_stuck_queue *q = bf_stuck_queue_by(s, BF_STUCK_SDMA, rec, actor, NULL);
	const uint64_t before = bf_stuck_field(rec, "before"), published = bf_stuck_field(rec, "published");
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
	struct bf_stuck_queue *q = bf_stuck_queue_by(s, BF_STUCK_SDMA, rec, actor, NULL);
	const uint64_t index = bf_stuck_field(rec, "index");

	s->ran = true;
	if (!q)
		return bf_stuck_no_memory(s);
	q->packets++;
	pass_bytes(s, q, index, index + 1, BF_STUCK_START, rec);
	/* Anything but a NOP: the submission does something. */
	for (size_t i = 0; bf_stuck_field(rec, "op") && i < s->nentries; i++)
		if (s->entry[i].open && s->entry[i].key[0] == (uint64_t)(q - s->queue) && s->entry[i].index <= index &&
		    s->entry[i].to > index)
			s->entry[i].empty = false;
	return 0;
}

ROW(on_sdma_rptr)
{
	struct bf_stuck_queue *q = bf_stuck_queue_by(s, BF_STUCK_SDMA, rec, actor, NULL);
	const uint64_t index = bf_stuck_field(rec, "index");

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
	struct bf_stuck_queue *q = bf_stuck_queue_by(s, BF_STUCK_SDMA, rec, actor, NULL);
	const struct bf_rec_field *f = bf_schema_field(rec->type, "reason");
	const char *why;
	size_t len = 0;

	if (!q)
		return bf_stuck_no_memory(s);
	why = f ? bf_field_enum_name(f, bf_field_u64(f, rec->fixed), &len) : NULL;
	if (!q->stopped)
		snprintf(q->trouble, sizeof(q->trouble),
			 "the queue stopped at packet 0x%" PRIx64 ", dword %" PRIu64 ": %.*s",
			 bf_stuck_field(rec, "index"), bf_stuck_field(rec, "dword"), (int)(why ? len : 0),
			 why ? why : "");
	if (!q->stopped)
		q->fault_index = bf_stuck_field(rec, "index");
	q->stopped = true;
	return 0;
}

ROW(on_sdma_queue)
{
	struct bf_stuck_queue *q = bf_stuck_queue_by(s, BF_STUCK_SDMA, rec, actor, NULL);

	if (!q)
		return bf_stuck_no_memory(s);
	q->size = bf_stuck_field(rec, "bytes");
	if (bf_stuck_field(rec, "event") == 0 || (bf_stuck_field(rec, "event") == 3 && !q->stopped && !s->deadlock))
		bf_stuck_forget(s, q);
	return 0;
}

const struct bf_stuck_row bf_stuck_sdma_rows[] = {
	{ "sdma_reserve", on_sdma_reserve },   { "sdma_publish", on_sdma_publish },
	{ "sdma_doorbell", on_sdma_doorbell }, { "sdma_packet", on_sdma_packet },
	{ "sdma_rptr", on_sdma_rptr },         { "sdma_fault", on_sdma_fault },
	{ "sdma_queue", on_sdma_queue },       { NULL, NULL },
};
