/*
 * From facts to a cause. Each question below is asked in turn; the first that has an answer names the cause. Questions
 * about single entries come first: what the device did with wrong bytes explains everything after it.
 */
#include "tools/cause.h"

#include <inttypes.h>
#include <stdarg.h>
#include <string.h>

#include "drivers/ibgda/records.h"
#include "models/mlx5/records.h"
#include "models/mlx5/wqe.h"
#include "sim/records_agent.h"
#include "sim/records_io.h"
#include "sim/sim.h"
#include "tools/cause_facts.h"

void bf_cause_say(struct bf_cause *c, uint64_t begin_ps, uint64_t end_ps, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(c->text, sizeof(c->text), fmt, ap);
	va_end(ap);
	c->begin_ps = begin_ps;
	c->end_ps = end_ps;
}

/* "became visible 1.8 us after", or "never became visible after": how late a store was for something at `at_ps`. */
static struct bf_span lateness(const struct bf_fact_store *s, uint64_t at_ps)
{
	struct bf_span never = { "not at all, before or" };

	return s->visible_ps == BF_NEVER ? never : bf_span_of(s->visible_ps - at_ps);
}

static uint64_t visible_by(const struct bf_facts *f, const struct bf_fact_store *s)
{
	return s->visible_ps == BF_NEVER ? f->end_ps : s->visible_ps;
}

/* The slot was reused: the entry a ring further on was stored before this one was fetched. */
static bool overwritten(const struct bf_facts *f, const struct bf_fact_fetch *w, uint32_t depth, struct bf_cause *out)
{
	const struct bf_fact_build *next = bf_facts_build(f, w->pe, w->qpn, w->index + depth);

	if (!w->wrong || !next || next->at_ps > w->sampled_ps)
		return false;
	bf_cause_say(out, next->at_ps, w->at_ps,
	    "%s overwrote WQE %" PRIu64 " of QP 0x%" PRIx32 " on PE %" PRIu32 " with WQE %" PRIu64
	    ", %s before the device fetched it: the ring holds %" PRIu32 " and nobody waited for room",
	    bf_record_log_name(f->log, next->actor), w->index, w->qpn, w->pe, next->index,
	    bf_span_of(w->sampled_ps - next->at_ps).text, depth);
	return true;
}

/* The entry was announced before its driver had stored it. */
static bool unwritten(const struct bf_facts *f, const struct bf_fact_fetch *w, struct bf_cause *out)
{
	const struct bf_fact_build *own = bf_facts_build(f, w->pe, w->qpn, w->index);

	if (own && own->at_ps <= w->sampled_ps)
		return false;
	if (!own) {
		/* Blocks of a longer entry have no build of their own; only wrong bytes make this one suspect. */
		if (!w->wrong)
			return false;
		bf_cause_say(out, w->sampled_ps, f->end_ps,
		    "the device fetched WQE %" PRIu64 " of QP 0x%" PRIx32 " on PE %" PRIu32
		    ", which was announced and never written",
		    w->index, w->qpn, w->pe);
		return true;
	}
	bf_cause_say(out, w->sampled_ps, own->at_ps,
	    "the device fetched WQE %" PRIu64 " of QP 0x%" PRIx32 " on PE %" PRIu32
	    " %s before %s wrote it: it was announced "
	    "too early",
	    w->index, w->qpn, w->pe, bf_span_of(own->at_ps - w->sampled_ps).text, bf_record_log_name(f->log, own->actor));
	return true;
}

/* Bytes of the entry were stored, and still in somebody's buffer. */
static bool late_entry(const struct bf_facts *f, const struct bf_fact_fetch *w, struct bf_cause *out)
{
	const struct bf_fact_store *s;

	s = w->slot_va ? bf_facts_late(f, w->slot_va, w->blocks * BF_MLX5_WQEBB, w->sampled_ps) : NULL;
	if (!s)
		return false;
	bf_cause_say(out, s->issued_ps, visible_by(f, s),
	    "store of WQE %" PRIu64 " (its bytes %" PRIu64 "-%" PRIu64 ") of QP 0x%" PRIx32
	    " by %s became visible %s after the device, told by the doorbell record, had fetched the "
	    "entry: no fence that reaches it stands between the entry and the index that announces it",
	    w->index, s->va - w->slot_va, s->va - w->slot_va + s->len - 1, w->qpn, bf_record_log_name(f->log, s->actor),
	    lateness(s, w->sampled_ps).text);
	return true;
}

static bool wrong_entry(const struct bf_facts *f, uint32_t depth, struct bf_cause *out)
{
	for (size_t i = 0; i < f->nfetches; i++) {
		const struct bf_fact_fetch *w = &f->fetches[i];

		if (overwritten(f, w, depth, out) || unwritten(f, w, out) || late_entry(f, w, out))
			return true;
	}
	return false;
}

/* True for the last time the device read this queue's doorbell record. */
static bool last_read(const struct bf_facts *f, size_t i)
{
	for (size_t k = i + 1; k < f->ndbrecs; k++)
		if (f->dbrecs[k].pe == f->dbrecs[i].pe && f->dbrecs[k].qpn == f->dbrecs[i].qpn)
			return false;
	return true;
}

/* What the record said in the end is not the most that was stored: two threads' stores crossed. */
static bool crossed_record(const struct bf_facts *f, const struct bf_fact_dbrec *d, struct bf_cause *out)
{
	const struct bf_fact_store *most = NULL, *last = NULL;

	for (size_t i = 0; i < f->nstores; i++) {
		const struct bf_fact_store *s = &f->stores[i];

		if (s->va != d->va || s->len != 4)
			continue;
		if (!most || (int16_t)(bf_get_be16(s->bytes + 2) - bf_get_be16(most->bytes + 2)) > 0)
			most = s;
		if (!last || s->turn >= last->turn)
			last = s;
	}
	if (!most || bf_get_be16(last->bytes + 2) == bf_get_be16(most->bytes + 2))
		return false;
	bf_cause_say(out, most->issued_ps, visible_by(f, last),
	    "the doorbell record of QP 0x%" PRIx32 " on PE %" PRIu32 " went back from %" PRIu16 " to %" PRIu16
	    ": the store by %s became visible %s after the later one by %s",
	    d->qpn, d->pe, bf_get_be16(most->bytes + 2), bf_get_be16(last->bytes + 2),
	    bf_record_log_name(f->log, last->actor), lateness(last, most->visible_ps).text,
	    bf_record_log_name(f->log, most->actor));
	return true;
}

/* Whether the thread that stored `record` had rung the doorbell for the same index before. */
static bool rang_before(const struct bf_facts *f, const struct bf_fact_store *record)
{
	for (size_t i = 0; i < f->nstores && &f->stores[i] != record; i++) {
		const struct bf_fact_store *s = &f->stores[i];

		/* A doorbell carries the index in bytes 1-2, like a control segment. */
		if (s->actor == record->actor && s->len == 8 && s->va % BF_PAGE == BF_MLX5_UAR_BF &&
		    bf_get_be16(s->bytes + 1) == bf_get_be16(record->bytes + 2))
			return true;
	}
	return false;
}

/* The device looked at the record for the last time before its last value was there. */
static bool late_record(const struct bf_facts *f, const struct bf_fact_dbrec *d, struct bf_cause *out)
{
	const struct bf_fact_store *s = NULL;

	for (size_t i = 0; i < f->nstores && !s; i++)
		if (f->stores[i].va == d->va && f->stores[i].len == 4 && f->stores[i].visible_ps > d->sampled_ps)
			s = &f->stores[i];
	if (!s)
		return false;
	bf_cause_say(out, s->issued_ps < d->sampled_ps ? s->issued_ps : d->sampled_ps, visible_by(f, s),
	    "store of %" PRIu16 " into the doorbell record of QP 0x%" PRIx32
	    " by %s became visible %s after the device, "
	    "rung for %" PRIu16 ", had read %" PRIu16 " there, and no doorbell followed: %s",
	    bf_get_be16(s->bytes + 2), d->qpn, bf_record_log_name(f->log, s->actor), lateness(s, d->sampled_ps).text,
	    d->doorbell, d->producer,
	    rang_before(f, s) ? "the doorbell was rung before the record was stored"
			      : "no fence that reaches the device stands between record and doorbell");
	return true;
}

static bool wrong_record(const struct bf_facts *f, struct bf_cause *out)
{
	for (size_t i = 0; i < f->ndbrecs; i++) {
		const struct bf_fact_dbrec *d = &f->dbrecs[i];

		if (d->va && last_read(f, i) && (crossed_record(f, d, out) || late_record(f, d, out)))
			return true;
	}
	return false;
}

/* What the driver's own records show: a wrong index stored, entries that nobody rang for. */
static bool wrong_post(const struct bf_facts *f, struct bf_cause *out)
{
	const struct bf_rec_header *head;
	size_t offset = 0;

	while ((head = bf_record_log_next(f->log, &offset)) != NULL) {
		const struct bf_rec_ibgda_post *p = (const void *)(head + 1);

		if (head->type != BF_REC_ID_ibgda_post || p->dbrec == (p->to & 0xffff))
			continue;
		bf_cause_say(out, head->time_ps, f->end_ps,
		    "%s stored %" PRIu32 " into the doorbell record of QP 0x%" PRIx32
		    ", where the index of the next free slot "
		    "belongs, %" PRIu64 ": the last entry is never fetched",
		    bf_record_log_name(f->log, head->actor), p->dbrec, p->qpn, p->to & 0xffff);
		return true;
	}
	return false;
}

/* How far a queue has come, by the driver's and the device's records. */
struct progress {
	uint32_t pe, qpn, publisher;
	uint64_t published, published_ps, posted, done, done_ps, polled;
	uint16_t counter; /* of the last completion */
	bool lost;        /* which a fault swallowed */
};

#define QUEUES_MAX 256

struct progress_table {
	const struct bf_facts *f;
	struct progress q[QUEUES_MAX];
	uint32_t n;
};

/* The queue's row, made when it is new; a full table gives rows that nobody looks at. */
static struct progress *progress_of(struct progress_table *t, uint32_t actor, uint32_t qpn)
{
	const uint32_t pe = bf_facts_pe(t->f, actor);
	struct progress *q = t->q;

	for (; q < t->q + t->n; q++)
		if (q->pe == pe && q->qpn == qpn)
			return q;
	if (t->n + 1 < QUEUES_MAX)
		t->n++;
	*q = (struct progress){ .pe = pe, .qpn = qpn };
	return q;
}

static void take_driver(struct progress_table *t, const struct bf_rec_header *head)
{
	const void *fixed = head + 1;

	if (head->type == BF_REC_ID_ibgda_publish) {
		const struct bf_rec_ibgda_publish *p = fixed;
		struct progress *q = progress_of(t, head->actor, p->qpn);

		if (p->base + p->count > q->published) {
			q->published = p->base + p->count;
			q->published_ps = head->time_ps;
			q->publisher = head->actor;
		}
	} else if (head->type == BF_REC_ID_ibgda_post) {
		const struct bf_rec_ibgda_post *p = fixed;
		struct progress *q = progress_of(t, head->actor, p->qpn);

		if (p->to > q->posted)
			q->posted = p->to;
	} else if (head->type == BF_REC_ID_ibgda_poll) {
		const struct bf_rec_ibgda_poll *p = fixed;
		struct progress *q = progress_of(t, head->actor, p->qpn);

		if (p->done > q->polled)
			q->polled = p->done;
	}
}

static void take_device(struct progress_table *t, const struct bf_rec_header *head)
{
	const void *fixed = head + 1;

	if (head->type == BF_REC_ID_wqe_done) {
		const struct bf_rec_wqe_done *d = fixed;
		struct progress *q = progress_of(t, head->actor, d->qpn);

		q->done += (uint16_t)(d->next - (uint16_t)q->done);
		q->done_ps = head->time_ps;
	} else if (head->type == BF_REC_ID_cqe) {
		const struct bf_rec_cqe *c = fixed;
		struct progress *q = progress_of(t, head->actor, c->qpn);

		q->counter = c->index;
		q->lost = c->verdict != 0;
	}
}

/* A poller took entries for complete that the device had not completed. */
static bool early_poll(const struct bf_facts *f, struct bf_cause *out)
{
	struct progress_table t = { .f = f };
	const struct bf_rec_header *head;
	size_t offset = 0;

	while ((head = bf_record_log_next(f->log, &offset)) != NULL) {
		const struct bf_rec_ibgda_poll *p = (const void *)(head + 1);
		const struct progress *q;

		take_device(&t, head);
		if (head->type != BF_REC_ID_ibgda_poll)
			continue;
		q = progress_of(&t, head->actor, p->qpn);
		if (p->done <= q->done)
			continue;
		bf_cause_say(out, q->done_ps, head->time_ps,
		    "%s took all entries of QP 0x%" PRIx32 " below %" PRIu64
		    " for complete when the device had completed those below %" PRIu64
		    ": it misread the completion's counter",
		    bf_record_log_name(f->log, head->actor), p->qpn, p->done, q->done);
		return true;
	}
	return false;
}

/* Entries that nobody rang for, or a completion that nobody understood. */
static bool stuck_queue(const struct bf_facts *f, struct bf_cause *out)
{
	struct progress_table t = { .f = f };
	const struct bf_rec_header *head;
	size_t offset = 0;

	while ((head = bf_record_log_next(f->log, &offset)) != NULL) {
		take_driver(&t, head);
		take_device(&t, head);
	}
	for (const struct progress *q = t.q; q < t.q + t.n; q++) {
		if (q->published > q->posted) {
			bf_cause_say(out, q->published_ps, f->end_ps,
			    "%s published the entries of QP 0x%" PRIx32 " below %" PRIu64
			    ", and nobody rang: the last doorbell covered those below %" PRIu64,
			    bf_record_log_name(f->log, q->publisher), q->qpn, q->published, q->posted);
			return true;
		}
		if (q->posted && q->done == q->posted && q->polled < q->posted) {
			bf_cause_say(out, q->done_ps, f->end_ps,
			    q->lost ? "the device completed all entries of QP 0x%" PRIx32 " on PE %" PRIu32
				      " below %" PRIu64 " and its last completion, for entry %" PRIu16 ", was lost"
				    : "the device completed all entries of QP 0x%" PRIx32 " on PE %" PRIu32
				      " below %" PRIu64
				      ", and no poller takes the counter of the last completion, %" PRIu16 ", for that",
			    q->qpn, q->pe, q->posted, q->counter);
			return true;
		}
	}
	return false;
}

/* The device found fault with an entry or a packet. */
static bool device_error(const struct bf_facts *f, struct bf_cause *out)
{
	const struct bf_rec_mkey_error *key = NULL;
	const struct bf_rec_header *head;
	size_t offset = 0;

	while ((head = bf_record_log_next(f->log, &offset)) != NULL) {
		const struct bf_rec_qp_error *e = (const void *)(head + 1);
		char bounds[128] = "";

		if (head->type == BF_REC_ID_mkey_error)
			key = (const void *)(head + 1);
		if (head->type != BF_REC_ID_qp_error)
			continue;
		if (key)
			snprintf(bounds, sizeof(bounds),
				 " (%" PRIu32 " bytes at 0x%" PRIx64 ", key 0x%" PRIx32 " covers %" PRIu64
				 " bytes at 0x%" PRIx64 ")",
				 key->length, key->va, key->key, key->size, key->start);
		if (e->side == 1) /* the responder's: it has the request, not the entry */
			bf_cause_say(out, head->time_ps, head->time_ps, "%s refused a request: %.32s%s",
			    bf_record_log_name(f->log, head->actor), e->why, bounds);
		else
			bf_cause_say(out, head->time_ps, head->time_ps, "WQE %" PRIu16 " on %s failed: %s%s%.32s%s", e->index,
			    bf_record_log_name(f->log, head->actor), bf_mlx5_syndrome_text(e->syndrome),
			    e->why[0] ? ", " : "", e->why, bounds);
		return true;
	}
	return false;
}

/* Wrong entries make pollers err and the other way round: what came first is the cause. */
static bool first_misstep(const struct bf_facts *f, uint32_t depth, struct bf_cause *out)
{
	struct bf_cause poll = { 0 };
	const bool entry = wrong_entry(f, depth, out);

	if (early_poll(f, &poll) && (!entry || poll.end_ps < out->begin_ps)) {
		*out = poll;
		return true;
	}
	return entry;
}

/* The device read data that the driver had stored before and that nobody could see yet. */
static bool late_payload(const struct bf_facts *f, struct bf_cause *out)
{
	const struct bf_rec_header *head;
	size_t offset = 0;

	while ((head = bf_record_log_next(f->log, &offset)) != NULL) {
		const struct bf_rec_dma_read *d = (const void *)(head + 1);
		const struct bf_fact_store *s;

		if (head->type != BF_REC_ID_dma_read || d->status != 0 || d->len == BF_MLX5_DBR_BYTES)
			continue;
		s = bf_facts_late(f, d->va, d->len, head->time_ps);
		if (!s)
			continue;
		bf_cause_say(out, s->issued_ps, visible_by(f, s),
		    "store of %" PRIu64 " bytes at 0x%" PRIx64 " by %s became visible %s after the device had read "
		    "them: no fence that reaches it stands between the data and the entry that sends them",
		    s->len, s->va, bf_record_log_name(f->log, s->actor), lateness(s, head->time_ps).text);
		return true;
	}
	return false;
}

void bf_cause_mention_faults(const struct bf_record_log *log, uint64_t end_ps, struct bf_cause *out)
{
	const struct bf_rec_header *head, *first = NULL;
	const struct bf_rec_fault_injected *fault;
	const size_t used = strlen(out->text);
	uint64_t count = 0;
	size_t offset = 0, len;
	const char *kind;

	while ((head = bf_record_log_next(log, &offset)) != NULL) {
		if (head->type != BF_REC_ID_fault_injected)
			continue;
		first = first ? first : head;
		count++;
	}
	if (!first)
		return;
	fault = (const void *)(first + 1);
	kind = bf_field_enum_name(bf_schema_field(&bf_rec_fault_injected_schema, "kind"), fault->kind, &len);
	if (used == 0) {
		out->begin_ps = first->time_ps;
		out->end_ps = end_ps;
	}
	snprintf(out->text + used, sizeof(out->text) - used,
		 "%sthe fault plan fired %" PRIu64 " time%s, first %.*s at %s, %" PRIu64 " ps", used ? "; " : "", count,
		 count == 1 ? "" : "s", (int)(kind ? len : 1), kind ? kind : "?",
		 bf_record_log_name(log, first->actor), first->time_ps);
}

void bf_cause_count(const struct bf_record_log *log, struct bf_cause *c)
{
	const struct bf_rec_header *head;
	size_t offset = 0;

	c->records = 0;
	while (c->text[0] && (head = bf_record_log_next(log, &offset)) != NULL)
		c->records += head->time_ps >= c->begin_ps && head->time_ps <= c->end_ps;
}

void bf_cause_read(const struct bf_record_log *log, uint32_t depth, struct bf_cause *out)
{
	struct bf_facts f;

	*out = (struct bf_cause){ 0 };
	if (bf_facts_read(&f, log, depth) != 0)
		return;
	if (!first_misstep(&f, depth, out) && !wrong_post(&f, out) && !wrong_record(&f, out) &&
	    !device_error(&f, out) && !stuck_queue(&f, out))
		late_payload(&f, out);
	bf_cause_mention_faults(log, f.end_ps, out);
	bf_cause_count(log, out);
	bf_facts_free(&f);
}
