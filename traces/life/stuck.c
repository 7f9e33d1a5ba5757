/* Keeping what has begun and not ended. */
#include "traces/life/stuck.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include "sim/grow.h"
#include "traces/life/explain_internal.h"
#include "traces/life/stuck_internal.h"

#define OPEN_MAX (1u << 20) /* entries that are open at a time: a record may lie about thousands */

int bf_stuck_no_memory(struct bf_stuck *s)
{
	if (s->nentries == OPEN_MAX)
		return bf_fail(s->err, -E2BIG, "more than %u entries are unfinished", OPEN_MAX);
	return bf_fail(s->err, -ENOMEM, "out of memory for what is unfinished");
}

uint64_t bf_stuck_field(const struct bf_trace_record *rec, const char *name)
{
	uint64_t value = 0;

	bf_trace_field_u64(rec, name, &value);
	return value;
}

/* ---- queues ---- */

static void name_queue(struct bf_stuck_queue *q, const char *actor, bool device)
{
	if (device) {
		snprintf(q->name, sizeof(q->name), "%.47s", actor);
		bf_explain_device_name(actor, q->device, sizeof(q->device));
	} else if (!q->name[0]) {
		snprintf(q->name, sizeof(q->name), "queue 0x%" PRIx64 " of PE %" PRIu32, q->number, q->pe);
	}
}

struct bf_stuck_queue *bf_stuck_queue_of(struct bf_stuck *s, uint32_t kind, const char *actor, bool device,
					 uint64_t number)
{
	const int64_t pe = bf_explain_pe(actor);
	const uint64_t key[3] = { kind, pe < 0 ? UINT32_MAX : (uint64_t)pe, number };
	uint64_t at = bf_number_get(&s->queues, key);
	struct bf_stuck_queue *q;

	if (!at) {
		if (BF_GROW(s->queue, s->cap_queues, s->nqueues + 1))
			return NULL;
		q = &s->queue[s->nqueues++];
		if (bf_number_put(&s->queues, key, s->nqueues))
			return NULL;
		*q = (struct bf_stuck_queue){ .kind = kind, .pe = (uint32_t)key[1], .number = number };
		at = s->nqueues;
	}
	q = &s->queue[at - 1];
	if (device ? !q->device[0] : !q->name[0])
		name_queue(q, actor, device);
	return q;
}

/* ---- entries ---- */

static void entry_key(const struct bf_stuck *s, const struct bf_stuck_queue *q, uint64_t index, uint64_t space,
		      uint64_t key[3])
{
	key[0] = (uint64_t)(q - s->queue);
	key[1] = index;
	key[2] = space;
}

struct bf_stuck_entry *bf_stuck_find(struct bf_stuck *s, const struct bf_stuck_queue *q, uint64_t index, uint64_t space)
{
	uint64_t key[3], at;

	entry_key(s, q, index, space, key);
	at = bf_number_get(&s->entries, key);
	return at ? &s->entry[at - 1] : NULL;
}

void bf_stuck_end(struct bf_stuck *s, struct bf_stuck_entry *e)
{
	struct bf_number_entry *in_map = bf_number_find(&s->entries, e->key);

	if (in_map)
		bf_number_take_out(&s->entries, in_map);
	*e = (struct bf_stuck_entry){ .next_free = s->free_entry };
	s->free_entry = (uint64_t)(e - s->entry) + 1;
}

struct bf_stuck_entry *bf_stuck_begin(struct bf_stuck *s, const struct bf_stuck_queue *q, uint64_t index,
				      uint64_t space)
{
	struct bf_stuck_entry *e = bf_stuck_find(s, q, index, space);

	if (e)
		bf_stuck_end(s, e);
	if (s->nentries == OPEN_MAX && !s->free_entry)
		return NULL;
	if (s->free_entry) {
		assert(s->entry);
		e = &s->entry[s->free_entry - 1];
		s->free_entry = e->next_free;
	} else {
		if (BF_GROW(s->entry, s->cap_entries, s->nentries + 1))
			return NULL;
		e = &s->entry[s->nentries++];
	}
	*e = (struct bf_stuck_entry){ .index = index, .order = ++s->order, .open = true };
	entry_key(s, q, index, space, e->key);
	if (bf_number_put(&s->entries, e->key, (uint64_t)(e - s->entry) + 1))
		return NULL;
	return e;
}

int bf_stuck_rename(struct bf_stuck *s, struct bf_stuck_entry *e, uint64_t index, uint64_t space)
{
	const struct bf_stuck_queue *q = &s->queue[e->key[0]];
	struct bf_stuck_entry *other = bf_stuck_find(s, q, index, space);
	struct bf_number_entry *in_map;

	if (other == e)
		return 0;
	if (other)
		bf_stuck_end(s, other);
	in_map = bf_number_find(&s->entries, e->key);
	if (in_map)
		bf_number_take_out(&s->entries, in_map);
	entry_key(s, q, index, space, e->key);
	return bf_number_put(&s->entries, e->key, (uint64_t)(e - s->entry) + 1) ? bf_stuck_no_memory(s) : 0;
}

void bf_stuck_pass(struct bf_stuck_entry *e, uint32_t point, const struct bf_trace_record *rec)
{
	e->points |= 1u << point;
	e->last_ps = rec->time_ps;
	e->who[point] = rec->actor + 1;
}

void bf_stuck_forget(struct bf_stuck *s, const struct bf_stuck_queue *q)
{
	for (size_t i = 0; i < s->nentries; i++)
		if (s->entry[i].open && s->entry[i].key[0] == (uint64_t)(q - s->queue))
			bf_stuck_end(s, &s->entry[i]);
}

/* ---- threads ---- */

struct bf_stuck_thread *bf_stuck_thread_of(struct bf_stuck *s, uint32_t actor)
{
	const uint64_t key[3] = { actor, 0, 0 };
	struct bf_stuck_thread *t;
	uint64_t at;

	if (s->last_thread && s->last_actor == actor)
		return &s->thread[s->last_thread - 1];
	at = bf_number_get(&s->threads, key);
	if (!at) {
		if (BF_GROW(s->thread, s->cap_threads, s->nthreads + 1))
			return NULL;
		t = &s->thread[s->nthreads++];
		*t = (struct bf_stuck_thread){ .actor = actor };
		if (bf_number_put(&s->threads, key, s->nthreads))
			return NULL;
		at = s->nthreads;
	}
	s->last_actor = actor;
	s->last_thread = at;
	return &s->thread[at - 1];
}

/* ---- reading ---- */

static const struct bf_stuck_row *row_of(const char *type)
{
	static const struct bf_stuck_row *const tables[] = { bf_stuck_cm_rows, bf_stuck_barrier_rows,
							     bf_stuck_capture_rows, bf_stuck_thread_rows };

	for (size_t i = 0; i < BF_ARRAY_LEN(tables); i++)
		for (const struct bf_stuck_row *row = tables[i]; row->type; row++)
			if (strcmp(row->type, type) == 0)
				return row;
	return NULL;
}

static int take(struct bf_stuck *s, const struct bf_trace_record *rec)
{
	const uint32_t at = rec->type->id % BF_ARRAY_LEN(s->cache);
	int rc = 0;

	if (s->cache[at].type != rec->type) {
		s->cache[at].type = rec->type;
		s->cache[at].row = row_of(rec->type->name);
		s->cache[at].nmoves = bf_stuck_life_find(rec->type->name, s->cache[at].moves);
	}
	s->end_ps = rec->time_ps;
	for (uint32_t i = 0; i < s->cache[at].nmoves && !rc; i++)
		rc = bf_stuck_life_take(s, &s->cache[at].moves[i], rec, bf_trace_actor_name(s->trace, rec->actor));
	if (rc || s->cache[at].nmoves)
		return rc;
	return s->cache[at].row ? s->cache[at].row->on(s, rec, bf_trace_actor_name(s->trace, rec->actor)) : 0;
}

int bf_stuck_read(struct bf_trace *t, struct bf_stuck **out, struct bf_error *err)
{
	struct bf_stuck *s = calloc(1, sizeof(*s));
	struct bf_trace_record rec;
	int rc = 0, damage = 0;

	*out = NULL;
	if (!s)
		return bf_fail(err, -ENOMEM, "out of memory for what is unfinished");
	s->trace = t;
	s->err = err;
	while (!rc && (rc = bf_trace_next_good(t, &rec, &damage)) > 0)
		rc = take(s, &rec);
	if (!rc)
		rc = bf_stuck_conclude(s);
	if (rc) {
		bf_stuck_free(s);
		return rc;
	}
	*out = s;
	return damage;
}

void bf_stuck_free(struct bf_stuck *s)
{
	if (!s)
		return;
	for (size_t i = 0; i < s->nqueues; i++)
		bf_life_free_queue(&s->queue[i].life);
	bf_number_map_free(&s->queues);
	bf_number_map_free(&s->entries);
	bf_number_map_free(&s->barriers);
	bf_number_map_free(&s->threads);
	bf_number_map_free(&s->counts);
	bf_number_map_free(&s->conn_numbers);
	bf_number_map_free(&s->conns_made);
	free(s->queue);
	free(s->entry);
	free(s->barrier);
	free(s->thread);
	free(s->conn);
	free(s->groups);
	free(s->unknown);
	free(s);
}

const struct bf_stuck_group *bf_stuck_group(const struct bf_stuck *s, uint32_t i)
{
	return i < s->ngroups ? &s->groups[i] : NULL;
}

uint32_t bf_stuck_count(const struct bf_stuck *s)
{
	return s->ngroups;
}

const char *bf_stuck_unknown(const struct bf_stuck *s, uint32_t i)
{
	return i < s->nunknown ? s->unknown[i] : NULL;
}

uint64_t bf_stuck_end_ps(const struct bf_stuck *s)
{
	return s->end_ps;
}
