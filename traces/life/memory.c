/*
 * What was visible to whom: stores into the thing's memory, when each left its thread's buffer, and what the device
 * found when it read there. The rule engine knows where queues lie (traces/rules/rule.h).
 */
#include <errno.h>
#include <stdlib.h>

#include "sim/bytes.h"
#include "traces/device.h"
#include "traces/life/explain_internal.h"
#include "traces/rules/rule.h"

#define STORES 64u      /* of one thing that are followed */
#define BYTES_MAX 4096u /* of a range */
#define READS_MAX 8u    /* of a range that are told */

struct kept {
	char actor[48];
	uint64_t seq, at, len, issued_ps; /* `at`: offset in the range */
	uint32_t range;
	bool visible;
};

struct memory {
	struct bf_explain *l;
	struct bf_explain_range ranges[BF_EXPLAIN_RANGES];
	uint32_t nranges, reads[BF_EXPLAIN_RANGES];
	bool at_once; /* no store waited in a buffer, and no record says when one became visible */
	struct kept stores[STORES];
	uint32_t nstores;
	/* The step that may be joined by the next record: a run of stores, or several that became visible at once. */
	struct bf_explain_step run;
	uint64_t run_from, run_to;
	uint32_t run_range, run_count;
};

/* ---- which memory ---- */

static void add_range(struct memory *m, const char *name, uint64_t va, uint64_t len, bool value)
{
	const struct bf_explain *l = m->l;

	/* Fetched before it was reserved: whatever was there belongs to the story. */
	const bool early = l->fetch_record && l->fetch_record < l->begin_record;

	if (!va || !len || len > BYTES_MAX || va + len < va || m->nranges == BF_EXPLAIN_RANGES)
		return;
	m->ranges[m->nranges++] = (struct bf_explain_range){
		.name = name,
		.va = va,
		.len = len,
		.from = early ? 0 : l->begin_record,
		.to = l->fetch_record && (value || !early) ? l->fetch_record : UINT64_MAX,
		.value = value,
	};
}

/* The rules that know where entries of this life lie; NULL: its records tell. */
static const struct bf_rule_family *family_of(const struct bf_life *life)
{
	const struct bf_device *d;

	for (uint32_t i = 0; (d = bf_device_at(i)) != NULL; i++)
		for (const struct bf_life *const *own = d->lives; own && *own; own++)
			for (const struct bf_rule_family *const *f = d->families; *own == life && f && *f; f++)
				if ((*f)->memory)
					return *f;
	return NULL;
}

/* By what was stored there, as rules know it at the end of the stream. */
static int find_by_rules(struct memory *m, const struct bf_rule_family *family, struct bf_trace *t,
			 struct bf_error *err)
{
	struct bf_rules_opts opts = { .only = family->memory_rules };
	const struct bf_explain *l = m->l;
	struct bf_rule_memory at;
	struct bf_rule_queue *queue;
	struct bf_rules *r;
	int rc;

	while (family->memory_rules[opts.nonly])
		opts.nonly++;
	rc = bf_rules_create(&opts, &r, err);
	if (rc)
		return rc;
	rc = bf_trace_seek_time(t, 0);
	if (!rc)
		rc = bf_rules_trace(r, t, err);
	queue = l->pe >= 0 ? bf_rule_queue(r, family, (uint32_t)l->pe, l->target.queue, false) : NULL;
	for (unsigned n = 0; queue && family->memory(queue, l->target.index, l->entry_len, n, &at); n++)
		add_range(m, at.name, at.va, at.len, at.value);
	bf_rules_destroy(r);
	return rc == -EBADMSG ? 0 : rc;
}

/* ---- steps ---- */

static void flush(struct memory *m)
{
	if (m->run_count)
		bf_explain_push(m->l, m->run);
	m->run_count = 0;
}

static void bytes_text(const struct memory *m, uint32_t range, uint64_t from, uint64_t to, char *buf, size_t cap)
{
	if (m->ranges[range].value)
		snprintf(buf, cap, "%s", m->ranges[range].name);
	else
		snprintf(buf, cap, "bytes %" PRIu64 "-%" PRIu64 " of %s", from, to - 1, m->ranges[range].name);
}

static struct bf_explain_step step_at(const struct bf_trace_record *rec, const char *actor, const char *what)
{
	struct bf_explain_step s = {
		.time_ps = rec->time_ps, .record = rec->number, .place = BF_EXPLAIN_SOFTWARE, .what = what
	};

	snprintf(s.actor, sizeof(s.actor), "%.47s", actor);
	return s;
}

static uint64_t field(const struct bf_trace_record *rec, const char *name)
{
	uint64_t value = 0;

	bf_trace_field_u64(rec, name, &value);
	return value;
}

/* Goes on with the run when it is of the same kind, thread and range, and its bytes join; else begins a new one. */
static void join(struct memory *m, struct bf_explain_step s, uint32_t range, uint64_t from, uint64_t to)
{
	const bool joins = m->run_count && !m->ranges[range].value && m->run_range == range && m->run_to == from &&
			   strcmp(m->run.what, s.what) == 0 && strcmp(m->run.actor, s.actor) == 0 &&
			   m->run.time_ps == s.time_ps;

	if (joins) {
		m->run_to = to;
		m->run_count++;
	} else {
		flush(m);
		m->run = s;
		m->run_range = range;
		m->run_from = from;
		m->run_to = to;
		m->run_count = 1;
	}
}

/* A doorbell record's value is about the entry, or should be: the next free index, that of the entry at least. */
static bool tells_of(const struct bf_explain *l, const struct bf_trace_record *rec)
{
	const uint16_t value = rec->tail_len >= 4 ? bf_get_be16(rec->tail + 2) : 0;

	return (int16_t)(value - (uint16_t)l->target.index) >= 0;
}

static void on_store(struct memory *m, const struct bf_trace_record *rec, const char *actor)
{
	const uint64_t va = field(rec, "va"), len = field(rec, "len");
	struct bf_explain_step s = step_at(rec, actor, "store");
	char bytes[80];

	for (uint32_t i = 0; i < m->nranges; i++) {
		const struct bf_explain_range *g = &m->ranges[i];

		if (rec->number < g->from || rec->number > g->to || va < g->va || va - g->va >= g->len ||
		    m->nstores == STORES || len > g->len || (g->value && !tells_of(m->l, rec)))
			continue;
		m->stores[m->nstores] = (struct kept){ .seq = field(rec, "seq"),
						       .at = va - g->va,
						       .len = len,
						       .issued_ps = rec->time_ps + field(rec, "ahead"),
						       .range = i,
						       .visible = m->at_once };
		snprintf(m->stores[m->nstores++].actor, sizeof(s.actor), "%.47s", actor);
		join(m, s, i, va - g->va, va - g->va + len);
		bytes_text(m, i, m->run_from, m->run_to, bytes, sizeof(bytes));
		if (g->value && rec->tail_len >= 4)
			snprintf(m->run.text, sizeof(m->run.text), "stores %" PRIu32 " into %s", bf_get_be32(rec->tail),
				 bytes);
		else
			snprintf(m->run.text, sizeof(m->run.text), "stores %s (%" PRIu32 " store%s)", bytes,
				 m->run_count, m->run_count == 1 ? "" : "s");
	}
}

static void on_visible(struct memory *m, const struct bf_trace_record *rec, const char *actor)
{
	const uint64_t seq = field(rec, "seq"), age = field(rec, "age");
	const struct bf_rec_field *cause = bf_schema_field(rec->type, "cause");
	struct bf_explain_step s = step_at(rec, actor, "visible");
	const char *why;
	char bytes[80];
	size_t n = 0;

	for (uint32_t i = 0; i < m->nstores; i++) {
		struct kept *k = &m->stores[i];

		if (k->visible || k->seq != seq || strncmp(k->actor, actor, sizeof(k->actor) - 1) != 0)
			continue;
		k->visible = true;
		why = cause ? bf_field_enum_name(cause, bf_field_u64(cause, rec->fixed), &n) : NULL;
		join(m, s, k->range, k->at, k->at + k->len);
		bytes_text(m, k->range, m->run_from, m->run_to, bytes, sizeof(bytes));
		snprintf(m->run.text, sizeof(m->run.text),
			 "%s %s visible to all, %" PRIu64 ".%" PRIu64 " ns after the store (%.*s)", bytes,
			 m->ranges[k->range].value ? "is" : "are", age / 1000, age % 1000 / 100, (int)(why ? n : 0),
			 why ? why : "");
	}
}

/* Which of the bytes from `at` on that the device reads were not visible: the first such store, and how many bytes. */
static void read_text(const struct memory *m, uint32_t range, uint64_t at, uint64_t len, struct bf_explain_step *s)
{
	const struct kept *late = NULL;
	uint64_t bytes = 0, stored = 0;

	for (uint32_t i = 0; i < m->nstores; i++) {
		const struct kept *k = &m->stores[i];

		if (k->range != range || k->at + k->len <= at || k->at >= at + len)
			continue;
		stored++;
		if (!k->visible) {
			bytes += k->len;
			late = late ? late : k;
		}
	}
	if (late)
		snprintf(s->text, sizeof(s->text),
			 "reads %s: %" PRIu64 " bytes were not visible yet, from byte %" PRIu64
			 " on: in the store buffer of %s",
			 m->ranges[range].name, bytes, late->at, late->actor);
	else if (stored)
		snprintf(s->text, sizeof(s->text), "reads %s: all that was stored there was visible",
			 m->ranges[range].name);
	else
		snprintf(s->text, sizeof(s->text), "reads %s: nothing had been stored there since the slot was taken",
			 m->ranges[range].name);
}

static void on_dma_read(struct memory *m, const struct bf_trace_record *rec, const char *actor)
{
	const uint64_t va = field(rec, "va"), len = field(rec, "len");

	for (uint32_t i = 0; i < m->nranges; i++) {
		const struct bf_explain_range *g = &m->ranges[i];
		struct bf_explain_step s = step_at(rec, "", "read");
		uint64_t at;

		if (rec->number < g->from || rec->number > g->to || va >= g->va + g->len || g->va >= va + len ||
		    m->reads[i]++ >= READS_MAX)
			continue;
		flush(m);
		at = va > g->va ? va - g->va : 0;
		s.place = BF_EXPLAIN_MEMORY;
		bf_explain_device_name(actor, s.device, sizeof(s.device));
		read_text(m, i, at, va + len - g->va - at, &s);
		bf_explain_push(m->l, s);
	}
}

/* A store that is in a buffer when the records end will never be seen. */
static void still_buffered(struct memory *m, bool buffered)
{
	for (uint32_t i = 0; buffered && i < m->nstores; i++) {
		const struct kept *k = &m->stores[i];
		char bytes[80];

		if (k->visible)
			continue;
		bytes_text(m, k->range, k->at, k->at + k->len, bytes, sizeof(bytes));
		bf_explain_missing(m->l, BF_EXPLAIN_SOFTWARE, "visible", "%s never left the store buffer of %s", bytes,
				   k->actor);
	}
}

static bool is_at_once(const struct bf_trace *t)
{
	const char *ordering = bf_trace_meta_get(t, "ordering");

	return !bf_trace_type(t, "store_visible") || (ordering && strcmp(ordering, "sc") == 0);
}

int bf_explain_memory(struct bf_explain *l, struct bf_trace *t, struct bf_error *err)
{
	const struct bf_rule_family *family = l->target.life ? family_of(l->target.life) : NULL;
	struct memory *m = calloc(1, sizeof(*m));
	struct bf_trace_record rec;
	bool buffered = false, stored;
	char name[32];
	int rc = 0, damage;

	if (!m)
		return bf_fail(err, -ENOMEM, "out of memory");
	m->l = l;
	snprintf(name, sizeof(name), "the %.24s",
		 l->target.life && l->target.life->bytes ? l->target.life->bytes : bf_explain_thing(&l->target));
	if (family)
		rc = find_by_rules(m, family, t, err);
	else
		add_range(m, l->target.life ? name : "the entry", l->entry_va, l->entry_len, false);
	if (!rc && m->nranges)
		rc = bf_trace_seek_time(t, 0);
	/* Without records of stores a read tells nothing of what was there in time. */
	stored = bf_trace_type(t, "store") != NULL;
	m->at_once = is_at_once(t);
	while (!rc && m->nranges && (rc = bf_trace_next_good(t, &rec, &damage)) > 0) {
		const char *actor = bf_trace_actor_name(t, rec.actor);

		rc = 0;
		if (strcmp(rec.type->name, "store") == 0) {
			on_store(m, &rec, actor);
		} else if (strcmp(rec.type->name, "store_visible") == 0) {
			buffered = true;
			on_visible(m, &rec, actor);
		} else if (stored && strcmp(rec.type->name, "dma_read") == 0) {
			on_dma_read(m, &rec, actor);
		}
	}
	flush(m);
	still_buffered(m, buffered);
	free(m);
	bf_explain_sort(l);
	return rc;
}
