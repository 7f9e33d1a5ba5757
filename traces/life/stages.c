/*
 * The rows of all devices (traces/device.h) say where an entry is: which queue, which entries, which point. An entry's
 * times are kept until its last point, or until its slot is used again.
 */
#include "traces/life/stages.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "sim/grow.h"
#include "traces/container/number_map_internal.h"
#include "traces/device.h"
#include "traces/life/facts.h"

/* Slots of one entry: no entry of ours has more (PRM, WQE size: 16 WQEBBs), and a record may lie. */
#define SLOTS_MAX 16u
#define ROWS_MAX 6u /* of one record type that move entries */

/* ---- state ---- */

struct entry {
	uint64_t at[BF_STAGES_MAX]; /* plus 1; 0: not yet */
	uint64_t key[3];
	uint64_t next_free; /* plus 1 */
};

struct told {
	uint64_t upto, at_ps;
};

/* What was told of entries that come later, in order. */
struct told_list {
	struct told *told;
	size_t n, first, cap;
};

struct queue {
	struct bf_stage_queue q;
	const struct bf_life *life;
	uint32_t named;                       /* behind this point an entry goes by its second name; 0: it has none */
	uint64_t below;                       /* BELOW: so far */
	uint64_t size;                        /* indices wrap here */
	struct told_list told[BF_STAGES_MAX]; /* of each point */
};

struct busy {
	struct bf_stage_busy b;
	uint64_t until_ps;
};

/* A record type with its rows and fields. */
struct type {
	const struct bf_rec_schema *schema;
	uint32_t nrows;
	struct {
		const struct bf_life *life;
		uint32_t number; /* of the life, among all */
		const struct bf_life_row *row;
		const struct bf_rec_field *queue;
	} rows[ROWS_MAX];
	const struct bf_busy_row *busy;
	const struct bf_rec_field *other, *bytes, *size;
};

struct bf_stages {
	struct bf_trace *trace;
	struct bf_error *err;
	struct bf_number_map queues, entries, busies;
	struct queue **queue;
	struct busy **busy;
	uint32_t nqueues, queue_cap, nbusies, busy_cap;
	struct entry *entry;
	size_t nentries;
	uint64_t free_entry;
	uint64_t end_ps;
	struct type types[1024]; /* by number modulo this */
};

static int no_memory(struct bf_stages *s)
{
	return bf_fail(s->err, -ENOMEM, "out of memory for the stages");
}

/* ---- entries ---- */

static void finish(struct bf_stages *s, struct queue *q, struct entry *e)
{
	uint64_t first = 0, before = 0;

	for (uint32_t i = 0; i < q->q.nstages; i++) {
		if (!e->at[i])
			continue;
		if (before && e->at[i] >= before)
			bf_hist_add(&q->q.hist[i], e->at[i] - before);
		if (!first)
			first = e->at[i];
		before = e->at[i];
	}
	q->q.entries++;
	/* Without the device's last word it has not come to its end; software may not have looked. */
	if (!e->at[q->q.nstages - 1] && (q->q.nstages < 3 || !e->at[q->q.nstages - 2]) &&
	    !(q->life->device_last && e->at[q->life->device_last]))
		q->q.unfinished++;
	else
		bf_hist_add(&q->q.whole, before - first);
	bf_number_take_out(&s->entries, bf_number_find(&s->entries, e->key));
	memset(e->at, 0, sizeof(e->at));
	e->next_free = s->free_entry;
	s->free_entry = (uint64_t)(e - s->entry) + 1;
}

static struct entry *new_entry(struct bf_stages *s)
{
	struct entry *e;

	if (!s->free_entry) {
		const size_t had = s->nentries;

		if (BF_GROW(s->entry, s->nentries, had + 1))
			return NULL;
		for (size_t i = s->nentries; i-- > had;) {
			s->entry[i].next_free = s->free_entry;
			s->free_entry = i + 1;
		}
	}
	e = &s->entry[s->free_entry - 1];
	s->free_entry = e->next_free;
	return e;
}

/*
 * Entry `index` of queue number `at` is at `point`. Points of an entry that nobody knows open one when `begins`; a
 * point not behind the first that is known means that its slot is used again. What happens twice counts the first time.
 */
static int mark(struct bf_stages *s, uint32_t at, uint64_t index, uint32_t point, uint64_t time_ps, bool begins)
{
	struct queue *q = s->queue[at];
	const bool fetched = q->named && point > q->named;
	const uint64_t key[3] = { at, q->size && !fetched ? index % q->size : index, fetched };
	const uint64_t number = bf_number_get(&s->entries, key);
	struct entry *e = number ? &s->entry[number - 1] : NULL;
	uint32_t first = 0, last = q->q.nstages;

	while (e && !e->at[first])
		first++;
	while (e && !e->at[last - 1])
		last--;
	if (e && point <= first) {
		finish(s, q, e);
		e = NULL;
	} else if (e && point < last) {
		return 0;
	}
	if (!e && !begins)
		return 0;
	if (!e) {
		e = new_entry(s);
		if (!e)
			return no_memory(s);
		memcpy(e->key, key, sizeof(key));
		if (bf_number_put(&s->entries, key, (uint64_t)(e - s->entry) + 1))
			return no_memory(s);
	}
	e->at[point] = time_ps + 1;
	if (point + 1 == q->q.nstages)
		finish(s, q, e);
	return 0;
}

/* Who told of slots could not know that this one is no entry of its own but the rest of the one before. */
static void forget(struct bf_stages *s, uint32_t at, uint64_t index)
{
	const struct queue *q = s->queue[at];
	const uint64_t key[3] = { at, q->size ? index % q->size : index, 0 };
	const uint64_t number = bf_number_get(&s->entries, key);
	struct entry *e = number ? &s->entry[number - 1] : NULL;

	if (!e)
		return;
	bf_number_take_out(&s->entries, bf_number_find(&s->entries, e->key));
	memset(e->at, 0, sizeof(e->at));
	e->next_free = s->free_entry;
	s->free_entry = number;
}

/* The entry in `slot` goes by `cid` now. */
static int rename_entry(struct bf_stages *s, uint32_t at, uint64_t slot, uint64_t cid)
{
	struct queue *q = s->queue[at];
	const uint64_t old[3] = { at, q->size ? slot % q->size : slot, 0 }, key[3] = { at, cid, 1 };
	const uint64_t number = bf_number_get(&s->entries, old), other = bf_number_get(&s->entries, key);

	if (other)
		finish(s, q, &s->entry[other - 1]);
	if (!number)
		return 0;
	bf_number_take_out(&s->entries, bf_number_find(&s->entries, old));
	memcpy(s->entry[number - 1].key, key, sizeof(key));
	return bf_number_put(&s->entries, key, number) ? no_memory(s) : 0;
}

/* ---- queues ---- */

/* The number that a PE and its devices share: at the end of the first part of their names. */
static uint64_t number_of(const char *name)
{
	const char *dot = strchr(name, '.'), *end = dot ? dot : name + strlen(name), *digits = end;

	while (digits > name && digits[-1] >= '0' && digits[-1] <= '9')
		digits--;
	return digits < end ? strtoull(digits, NULL, 10) : UINT32_MAX;
}

/* The point at which entries of a life get their second name; 0: there is none. */
static uint32_t named_at(const struct bf_life *life)
{
	for (const struct bf_life_row *row = life->rows; row->type; row++)
		if (row->entries == BF_LIFE_NAMED)
			return row->point;
	return 0;
}

static int queue_of(struct bf_stages *s, const struct type *k, uint32_t n, const struct bf_trace_record *rec,
		    uint64_t qn, uint32_t *at)
{
	const struct bf_life_row *row = k->rows[n].row;
	const struct bf_life *life = k->rows[n].life;
	const char *actor = bf_trace_actor_name(s->trace, rec->actor);
	const bool numbered = row->queue || (life->prefix && bf_life_queue_number(life, actor, &qn));
	const uint64_t key[3] = { k->rows[n].number, numbered ? number_of(actor) : rec->actor, qn };
	struct queue *q;

	*at = (uint32_t)bf_number_get(&s->queues, key);
	if (!*at) {
		q = calloc(1, sizeof(*q));
		if (!q || BF_GROW(s->queue, s->queue_cap, s->nqueues + 1) ||
		    bf_number_put(&s->queues, key, s->nqueues + 1)) {
			free(q);
			return no_memory(s);
		}
		s->queue[s->nqueues++] = q;
		*at = s->nqueues;
		q->life = life;
		q->named = named_at(life);
		q->size = life->wrap;
		q->q.kind = life->name;
		while (q->q.nstages < BF_STAGES_MAX && life->points[q->q.nstages]) {
			q->q.stage[q->q.nstages] = life->points[q->q.nstages];
			q->q.basis[q->q.nstages] = life->basis[q->q.nstages];
			q->q.nstages++;
		}
	}
	q = s->queue[--*at];
	/* A thread knows a queue's number; the device, when it speaks, its name. */
	if ((row->software || row->elsewhere) && !*q->q.name)
		snprintf(q->q.name, sizeof(q->q.name), "%.16s queue 0x%llx", actor, (unsigned long long)qn);
	else if (!row->software && !row->elsewhere)
		snprintf(q->q.name, sizeof(q->q.name), "%.47s", actor);
	return 0;
}

static int tell_upto(struct bf_stages *s, struct told_list *l, uint64_t upto, uint64_t at_ps)
{
	if (l->first == l->n)
		l->first = l->n = 0;
	if (BF_GROW(l->told, l->cap, l->n + 1))
		return no_memory(s);
	l->told[l->n++] = (struct told){ upto, at_ps };
	return 0;
}

/* When entry `index` was told of, if somebody had told: plus 1. */
static uint64_t told_at(struct told_list *l, uint64_t index)
{
	while (l->first < l->n && l->told[l->first].upto <= index)
		l->first++;
	return l->first < l->n ? l->told[l->first].at_ps + 1 : 0;
}

/* An entry that comes now has what was told of it before. */
static int mark_told(struct bf_stages *s, uint32_t at, uint64_t index, uint32_t point)
{
	int rc = 0;

	if (bf_number_get(&s->entries, (const uint64_t[]){ at, index, 0 }))
		return 0;
	for (uint32_t p = 0; !rc && p < point; p++) {
		const uint64_t told = told_at(&s->queue[at]->told[p], index);

		if (told)
			rc = mark(s, at, index, p, told - 1, true);
	}
	return rc;
}

static uint64_t value_of(const struct bf_rec_field *f, const struct bf_trace_record *rec)
{
	return f ? bf_field_u64(f, rec->fixed) : 0;
}

static int take_row(struct bf_stages *s, const struct type *k, uint32_t n, const struct bf_trace_record *rec)
{
	const struct bf_life_row *row = k->rows[n].row;
	const uint64_t qn = value_of(k->rows[n].queue, rec);
	struct queue *q;
	uint64_t first, second, last;
	uint32_t at;
	bool begins; /* a completion of what nobody knows says nothing */
	int rc;

	if (!bf_life_holds(row, rec->type, rec->fixed))
		return 0;
	first = bf_life_u64(row->first, rec->type, rec->fixed);
	second = bf_life_u64(row->second, rec->type, rec->fixed);
	rc = queue_of(s, k, n, rec, qn, &at);
	if (rc)
		return rc;
	q = s->queue[at];
	begins = row->point == 0 || row->point + 2 < q->q.nstages;
	if (k->size && value_of(k->size, rec))
		q->size = value_of(k->size, rec);
	switch (row->entries) {
	case BF_LIFE_COUNT:
	case BF_LIFE_RANGE:
		last = row->entries == BF_LIFE_COUNT ? first + second : second;
		if (last < first && q->size)
			last += q->size;
		/* No ring is longer, and a record may lie. */
		for (uint64_t i = first; !rc && i < last && i - first < 65536; i++)
			rc = mark(s, at, i, row->point, rec->time_ps, begins);
		return rc;
	case BF_LIFE_BELOW:
		if (first > q->below + 65536)
			q->below = first - 65536;
		for (; !rc && q->below < first; q->below++)
			rc = mark(s, at, q->below, row->point, rec->time_ps, false);
		return rc;
	case BF_LIFE_UPTO:
		return tell_upto(s, &q->told[row->point], first, rec->time_ps);
	case BF_LIFE_BYTES:
		return tell_upto(s, &q->told[row->point], second, rec->time_ps);
	case BF_LIFE_BEHIND:
	case BF_LIFE_IN:
	case BF_LIFE_ALL:
		return 0;
	case BF_LIFE_ONE:
	case BF_LIFE_SLOTS:
	case BF_LIFE_NAMED:
	default:
		rc = mark_told(s, at, first, row->point);
		if (!rc)
			rc = mark(s, at, first, row->point, rec->time_ps, begins);
		for (uint64_t i = 1; row->entries == BF_LIFE_SLOTS && i < second && i < SLOTS_MAX; i++)
			forget(s, at, first + i);
		return rc || row->entries != BF_LIFE_NAMED ? rc : rename_entry(s, at, first, second);
	}
}

/* ---- what is busy ---- */

static int take_busy(struct bf_stages *s, const struct type *k, const struct bf_trace_record *rec)
{
	const uint64_t key[3] = { rec->actor, 0, 0 }, other = value_of(k->other, rec);
	const uint64_t begin = k->busy->since ? other : rec->time_ps, end = k->busy->since ? rec->time_ps : other;
	uint64_t at = bf_number_get(&s->busies, key);
	struct busy *b;

	if (!at) {
		b = calloc(1, sizeof(*b));
		if (!b || BF_GROW(s->busy, s->busy_cap, s->nbusies + 1) ||
		    bf_number_put(&s->busies, key, s->nbusies + 1)) {
			free(b);
			return no_memory(s);
		}
		s->busy[s->nbusies++] = b;
		at = s->nbusies;
		snprintf(b->b.name, sizeof(b->b.name), "%.47s", bf_trace_actor_name(s->trace, rec->actor));
	}
	b = s->busy[at - 1];
	b->b.count++;
	b->b.bytes += value_of(k->bytes, rec);
	/* What overlaps with before counts once. */
	if (end > b->until_ps) {
		b->b.busy_ps += end - (begin > b->until_ps ? begin : b->until_ps);
		b->until_ps = end;
	}
	return 0;
}

/* ---- reading ---- */

static const struct bf_rec_field *field_of(const struct bf_rec_schema *schema, const char *name)
{
	return name ? bf_schema_field(schema, name) : NULL;
}

static void add_row(struct type *k, const struct bf_life *life, uint32_t number, const struct bf_life_row *row)
{
	const struct bf_rec_schema *schema = k->schema;

	if (k->nrows == BF_ARRAY_LEN(k->rows) || row->role != BF_LIFE_POINT || row->story)
		return;
	k->rows[k->nrows].life = life;
	k->rows[k->nrows].number = number;
	k->rows[k->nrows].row = row;
	k->rows[k->nrows++].queue = field_of(schema, row->queue);
	k->size = field_of(schema, life->slots);
}

static void add_busy(struct type *k, const struct bf_busy_row *row)
{
	k->busy = row;
	k->other = field_of(k->schema, row->other);
	k->bytes = field_of(k->schema, row->bytes);
}

static struct type *type_of(struct bf_stages *s, const struct bf_rec_schema *schema)
{
	struct type *k = &s->types[schema->id % 1024];
	const struct bf_device *d;
	uint32_t number = 0;

	if (k->schema == schema)
		return k;
	*k = (struct type){ .schema = schema };
	for (uint32_t i = 0; (d = bf_device_at(i)) != NULL; i++) {
		for (const struct bf_life *const *life = d->lives; life && *life; life++, number++)
			for (const struct bf_life_row *row = (*life)->rows; row->type; row++)
				if (strcmp(row->type, schema->name) == 0)
					add_row(k, *life, number, row);
		for (const struct bf_busy_row *row = d->busy; row && row->type; row++)
			if (strcmp(row->type, schema->name) == 0)
				add_busy(k, row);
	}
	return k;
}

static int take(struct bf_stages *s, const struct bf_trace_record *rec)
{
	struct type *k = type_of(s, rec->type);
	int rc = 0;

	s->end_ps = rec->time_ps;
	for (uint32_t i = 0; !rc && i < k->nrows; i++)
		rc = take_row(s, k, i, rec);
	return !rc && k->busy && k->other ? take_busy(s, k, rec) : rc;
}

int bf_stages_read(struct bf_trace *t, struct bf_stages **out, struct bf_error *err)
{
	struct bf_stages *s = calloc(1, sizeof(*s));
	struct bf_trace_record rec;
	int rc = 0, damage = 0;

	*out = s;
	if (!s)
		return bf_fail(err, -ENOMEM, "out of memory for the stages");
	s->trace = t;
	s->err = err;
	while (!rc && (rc = bf_trace_next_good(t, &rec, &damage)) > 0)
		rc = take(s, &rec);
	for (size_t i = 0; !rc && i < s->nentries; i++) {
		struct entry *e = &s->entry[i];

		for (uint32_t p = 0; p < BF_STAGES_MAX; p++) {
			if (e->at[p]) {
				finish(s, s->queue[e->key[0]], e);
				break;
			}
		}
	}
	if (rc) {
		bf_stages_destroy(s);
		*out = NULL;
	}
	return rc ? rc : damage;
}

void bf_stages_destroy(struct bf_stages *s)
{
	if (!s)
		return;
	for (uint32_t i = 0; i < s->nqueues; i++) {
		for (uint32_t p = 0; p < BF_STAGES_MAX; p++)
			free(s->queue[i]->told[p].told);
		free(s->queue[i]);
	}
	for (uint32_t i = 0; i < s->nbusies; i++)
		free(s->busy[i]);
	free(s->queue);
	free(s->busy);
	free(s->entry);
	bf_number_map_free(&s->queues);
	bf_number_map_free(&s->entries);
	bf_number_map_free(&s->busies);
	free(s);
}

const struct bf_stage_queue *bf_stages_queue(const struct bf_stages *s, uint32_t i)
{
	return i < s->nqueues ? &s->queue[i]->q : NULL;
}

const struct bf_stage_busy *bf_stages_busy(const struct bf_stages *s, uint32_t i)
{
	return i < s->nbusies ? &s->busy[i]->b : NULL;
}

uint64_t bf_stages_end_ps(const struct bf_stages *s)
{
	return s->end_ps;
}
