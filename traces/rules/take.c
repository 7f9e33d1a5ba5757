/* How a record gets to those that asked for its type: first to the engine's own tables, then to facts, then to rules.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "sim/records_agent.h"
#include "traces/rules/engine_internal.h"
#include "traces/container/trace.h"

/* The engine, with the record that is now at hand. */
static inline struct bf_rules *with(struct bf_sink *sink, const struct bf_rec_header *head)
{
	struct bf_rules *r = BF_CONTAINER_OF(sink, struct bf_rules, sink);

	r->now_ps = head->time_ps;
	errno = 0;
	return r;
}

/* It has been taken in. Facts that found no memory for it have no other way to say so: with() had cleared errno. */
static inline int done(struct bf_rules *r)
{
	r->records++;
	if (BF_UNLIKELY(errno == ENOMEM))
		r->status = -ENOMEM;
	return r->status;
}

/* Actors stay with a queue for long: each remembers its last one. False: no memory, which the stream learns. */
static bool find_queue(struct bf_rules *r, const struct bf_plan *p, struct bf_seen *e)
{
	struct bf_rules_actor *a = bf_rules_actor_of(r, e->actor);
	const struct bf_rule_family *family = r->listeners[p->kind].owner;
	struct bf_rule_queue *q;
	uint64_t number;

	if (!family)
		return false;
	number = p->key != -2 ? e->field[p->key] : a ? a->queue : 0;
	q = a ? a->latest : NULL;
	if (!q || q->number != number || q->pe != e->pe || q->family != family)
		q = bf_rule_queue(r, family, e->pe, number, true);
	e->queue = q;
	if (!a)
		return q != NULL;
	a->latest = q;
	if (q && a->is_queue && p->kind != BF_SEEN_cqe)
		q->actor = e->actor, q->unit = e->unit;
	return q != NULL;
}

static void note_fault(struct bf_rules *r, const struct bf_seen *e)
{
	char kind[32];

	if (r->faults++ == 0)
		snprintf(r->fault_text, sizeof(r->fault_text), "first %s at %s, %llu ps",
			 bf_seen_text(e, "kind", kind, sizeof(kind)), bf_rule_actor(r, e->actor),
			 (unsigned long long)e->time_ps);
}

static inline void issue(struct bf_rules *r, const struct bf_seen *e, uint64_t seq, uint64_t va)
{
	r->moved_ps = e->time_ps;
	if (BF_UNLIKELY(!bf_stores_issue(r->stores, e, seq, va)))
		r->status = -ENOMEM;
}

/* False: its store has not been seen, and nobody else is to see it. */
static inline bool show(struct bf_rules *r, const struct bf_rec_header *head, uint64_t seq)
{
	const struct bf_store *visible = bf_stores_show(r->stores, head->actor, seq, head->time_ps, r->records);

	if (visible && BF_UNLIKELY(r->nwatched))
		bf_findings_store_visible(r, visible);
	return visible;
}

/* What the engine itself takes in. False: nobody else is to see it. Fields are filled in by the type's plan. */
/* NOLINTBEGIN(clang-analyzer-core.CallAndMessage) */
static inline bool note(struct bf_rules *r, const struct bf_rec_header *head, const struct bf_seen *e)
{
	switch (e->kind) {
	case BF_SEEN_agent_start:
		r->started++;
		r->moved_ps = e->time_ps;
		break;
	case BF_SEEN_agent_end:
		r->ended++;
		break;
	case BF_SEEN_deadlock:
		r->deadlocked++;
		break;
	case BF_SEEN_store:
		issue(r, e, e->store.seq, e->store.va);
		break;
	case BF_SEEN_mmio_store:
		issue(r, e, e->mmio_store.seq, e->mmio_store.va);
		break;
	case BF_SEEN_store_visible:
		return show(r, head, e->store_visible.seq);
	case BF_SEEN_dma_read:
		bf_stores_sample(r->stores, e);
		break;
	case BF_SEEN_fault_injected:
		note_fault(r, e);
		break;
	default:
		break;
	}
	return true;
}
/* NOLINTEND(clang-analyzer-core.CallAndMessage) */

/* All of a record but its fields and its queue. */
static inline void begin(const struct bf_rules *r, const struct bf_rec_schema *type, const struct bf_rec_header *head,
			 const uint8_t *fixed, const uint8_t *tail, enum bf_seen_kind kind, struct bf_seen *e)
{
	const struct bf_rules_actor *a = bf_rules_actor_of(r, head->actor);

	e->time_ps = head->time_ps;
	e->number = r->records;
	e->actor = head->actor;
	e->pe = a ? a->pe : 0;
	e->unit = a ? a->unit : 0;
	e->kind = kind;
	e->fixed = fixed;
	e->tail = tail;
	e->tail_len = head->tail;
	e->type = type;
	e->queue = NULL;
}

static inline void hand_out(struct bf_rules *r, const struct bf_listeners *l, const struct bf_seen *e)
{
	r->noticed = 0;
	for (const struct bf_listening_facts *f = l->facts; f->on; f++)
		f->on(r, f->facts, e);
	if (!r->noticed)
		for (const struct bf_listening_rule *rule = l->always; rule->on; rule++)
			rule->on(rule->run, e);
	else
		for (const struct bf_listening_rule *rule = l->rules; rule->on; rule++)
			if (!rule->when || rule->when & r->noticed)
				rule->on(rule->run, e);
	if (BF_UNLIKELY(r->stale))
		bf_rules_listen_again(r);
}

void bf_rule_notice(struct bf_rules *r, uint16_t what)
{
	r->noticed |= what;
}

static int take(struct bf_sink *sink, const struct bf_rec_schema *type, const struct bf_rec_header *head,
		const void *fixed, const void *tail)
{
	struct bf_rules *r = with(sink, head);
	const struct bf_plan *p = r->plans[head->type];
	struct bf_seen e;

	begin(r, type, head, fixed, tail, p->kind, &e);
	bf_plan_read(p, fixed, &e);
	if ((p->kind > BF_SEEN_fault_injected || note(r, head, &e)) && (p->key == -1 || find_queue(r, p, &e)))
		hand_out(r, &r->listeners[p->kind], &e);
	return done(r);
}

/*
 * Stores and their becoming visible are most of all records of most runs. These two ways are the same as the one above,
 * for records that this program makes.
 */
static int take_store(struct bf_sink *sink, const struct bf_rec_schema *type, const struct bf_rec_header *head,
		      const void *fixed, const void *tail)
{
	struct bf_rules *r = with(sink, head);
	const struct bf_rec_store *s = fixed;
	struct bf_seen e;

	begin(r, type, head, fixed, tail, BF_SEEN_store, &e);
	e.store = (struct bf_seen_store){ .va = s->va, .seq = s->seq, .len = s->len, .sem = s->sem, .scope = s->scope };
	issue(r, &e, s->seq, s->va);
	hand_out(r, &r->listeners[BF_SEEN_store], &e);
	return done(r);
}

static int take_visible(struct bf_sink *sink, const struct bf_rec_schema *type, const struct bf_rec_header *head,
			const void *fixed, const void *tail)
{
	struct bf_rules *r = with(sink, head);
	const struct bf_listeners *l = &r->listeners[BF_SEEN_store_visible];
	const struct bf_rec_store_visible *s = fixed;
	struct bf_seen e;

	if (show(r, head, s->seq) && l->any) {
		begin(r, type, head, fixed, tail, BF_SEEN_store_visible, &e);
		e.store_visible = (struct bf_seen_store_visible){ .va = s->va, .seq = s->seq, .len = s->len };
		hand_out(r, l, &e);
	}
	return done(r);
}

/* Of a type that no rule of ours knows: the program's may. */
int bf_rules_take_device(struct bf_sink *sink, const struct bf_rec_schema *type, const struct bf_rec_header *head,
			 const void *fixed, const void *tail)
{
	struct bf_rules *r = with(sink, head);
	const struct bf_device_record e = { .time_ps = head->time_ps,
					    .number = r->records,
					    .actor = head->actor,
					    .type = type,
					    .fixed = fixed,
					    .tail = tail,
					    .tail_len = head->tail };

	bf_device_rules_take(r, &e);
	return done(r);
}

bf_take_fn *bf_rules_take_by(const struct bf_plan *p)
{
	if (p->read && p->kind == BF_SEEN_store)
		return take_store;
	return p->read && p->kind == BF_SEEN_store_visible ? take_visible : take;
}

int bf_rules_take_first(struct bf_sink *sink, const struct bf_rec_schema *type, const struct bf_rec_header *head,
			const void *fixed, const void *tail)
{
	struct bf_rules *r = BF_CONTAINER_OF(sink, struct bf_rules, sink);
	const int rc = sink->declare_type(sink, type);

	return rc || !r->take[head->type] ? rc : r->take[head->type](sink, type, head, fixed, tail);
}

int bf_rules_write(struct bf_sink *sink, const void *records, size_t len)
{
	struct bf_rules *r = BF_CONTAINER_OF(sink, struct bf_rules, sink);
	const uint8_t *at = records, *end = at + len;

	for (; at < end; at += bf_record_span((const void *)at)) {
		const struct bf_rec_header *head = (const void *)at;
		const uint8_t *fixed = (const uint8_t *)(head + 1);
		const uint32_t type = head->type;

		if (type < BF_RECORD_TYPES && r->take[type] && head->fixed == r->types[type]->size)
			r->take[type](sink, r->types[type], head, fixed, fixed + head->fixed);
		else
			done(with(sink, head));
	}
	if (!r->status && bf_stores_failed(r->stores))
		r->status = -ENOMEM;
	return r->status;
}

static bool ends_with(const char *text, const char *end)
{
	const size_t len = strlen(text), n = strlen(end);

	return len >= n && !strcmp(text + len - n, end);
}

/* Whether the record tells by itself that something went wrong, whatever came before it. */
static bool tells_of_error(const struct bf_trace_record *rec)
{
	const char *name = rec->type->name;
	uint64_t value;

	return ends_with(name, "_error") || ends_with(name, "_fault") || !strcmp(name, "run_failed") ||
	       !strcmp(name, "deadlock") || (bf_trace_field_u64(rec, "syndrome", &value) && value) ||
	       (bf_trace_field_u64(rec, "status", &value) && value);
}

/*
 * Behind a gap nobody knows what the missing records were: a rule that looked for one of them would accuse the
 * innocent. Only what is an error by itself counts there.
 */
static void note_behind(struct bf_rules *r, const struct bf_trace_record *rec)
{
	r->behind.records++;
	if (tells_of_error(rec) && !r->behind.errors++)
		snprintf(r->behind.first, sizeof(r->behind.first), "%s", rec->type->name);
}

const struct bf_rules_behind *bf_rules_behind(const struct bf_rules *r)
{
	return &r->behind;
}

int bf_rules_trace(struct bf_rules *r, struct bf_trace *t, struct bf_error *err)
{
	struct bf_trace_record rec;
	uint32_t actor = UINT32_MAX;
	int rc, damage = 0;

	while ((rc = bf_trace_next_good(t, &rec, &damage)) > 0) {
		const struct bf_trace_actor *a;

		if (damage) {
			note_behind(r, &rec);
			continue;
		}
		if (rec.actor != actor && !bf_rules_actor_of(r, rec.actor)) {
			a = bf_trace_actor(t, rec.actor);
			rc = a ? r->sink.declare_actor(&r->sink, a->number, a->kind, a->name) : 0;
		} else {
			rc = 0;
		}
		actor = rec.actor;
		if (!rc && (rec.type->id >= BF_RECORD_TYPES || r->types[rec.type->id] != rec.type))
			rc = r->sink.declare_type(&r->sink, rec.type);
		r->records = rec.number;
		if (!rc)
			rc = bf_rules_write(&r->sink, rec.raw, rec.raw_len);
		if (rc)
			return bf_fail(err, rc, "no memory for rules");
	}
	return rc ? rc : damage;
}
