/*
 * Statistics: entries by name, each allocated by itself so that handles stay valid. A simulation of thousands of
 * devices has some forty of them each, so they are found by hash, and put in order when somebody asks for all.
 */
#include "sim/stats.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/rng.h"
#include "sim/sim_internal.h"

struct entry;

/* A count that its owner keeps. */
struct field {
	struct field *next;       /* of its entry */
	struct field *owner_next; /* in the bucket of its owner */
	struct entry *entry;
	const void *owner;
	const uint64_t *value;
};

struct entry {
	struct entry *next; /* in the bucket of its name */
	char *name, *unit;
	struct bf_hist *hist; /* NULL: a counter */
	uint64_t counter;
	struct field *fields; /* count too */
};

struct bf_stats {
	struct entry **entry; /* in order of name as far as `sorted` says */
	uint32_t count, cap;
	uint32_t sorted; /* `count` when all are in order, less otherwise */
	/* Buckets, `cap` of each, a power of two; looked up, never walked, so that addresses decide nothing. */
	struct entry **by_name;
	struct field **by_owner;
};

static struct entry **name_bucket(const struct bf_stats *st, const char *name)
{
	return &st->by_name[bf_fnv1a64(name) & (st->cap - 1)];
}

static struct field **owner_bucket(const struct bf_stats *st, const void *owner)
{
	return &st->by_owner[((uint64_t)(uintptr_t)owner * 0x9e3779b97f4a7c15ull >> 32) & (st->cap - 1)];
}

static int compare(const void *a, const void *b)
{
	const struct entry *x = *(struct entry *const *)a, *y = *(struct entry *const *)b;
	const int order = strcmp(x->name, y->name);

	return order ? order : (x->hist != NULL) - (y->hist != NULL);
}

static void entry_free(struct entry *e)
{
	if (!e)
		return;
	while (e->fields) {
		struct field *next = e->fields->next;

		free(e->fields);
		e->fields = next;
	}
	free(e->name);
	free(e->unit);
	free(e->hist);
	free(e);
}

static struct entry *entry_new(const char *name, const char *unit, bool is_hist)
{
	struct entry *e = calloc(1, sizeof(*e));

	if (!e)
		return NULL;
	e->name = strdup(name);
	e->unit = strdup(unit);
	e->hist = is_hist ? calloc(1, sizeof(*e->hist)) : NULL;
	if (e->name && e->unit && (e->hist || !is_hist))
		return e;
	entry_free(e);
	return NULL;
}

static void enter_name(struct bf_stats *st, struct entry *e)
{
	struct entry **bucket = name_bucket(st, e->name);

	e->next = *bucket;
	*bucket = e;
}

static void enter_owner(struct bf_stats *st, struct field *f)
{
	struct field **bucket = owner_bucket(st, f->owner);

	f->owner_next = *bucket;
	*bucket = f;
}

/* Makes room for one more. False on lack of memory, nothing changed. */
static bool make_room(struct bf_stats *st)
{
	const uint32_t cap = st->cap ? st->cap * 2 : 64;
	struct entry **more, **by_name;
	struct field **by_owner;

	if (st->count < st->cap)
		return true;
	more = realloc(st->entry, cap * sizeof(struct entry *));
	if (more)
		st->entry = more;
	by_name = calloc(cap, sizeof(struct entry *));
	by_owner = calloc(cap, sizeof(struct field *));
	if (!more || !by_name || !by_owner) {
		free(by_name);
		free(by_owner);
		return false;
	}
	free(st->by_name);
	free(st->by_owner);
	st->by_name = by_name;
	st->by_owner = by_owner;
	st->cap = cap;
	for (uint32_t i = 0; i < st->count; i++) {
		enter_name(st, st->entry[i]);
		for (struct field *f = st->entry[i]->fields; f; f = f->next)
			enter_owner(st, f);
	}
	return true;
}

static struct entry *find_or_add(struct bf_sim *sim, const char *name, const char *unit, bool is_hist)
{
	struct bf_stats *st = sim->stats;
	struct entry *e;

	if (!st && !(st = sim->stats = calloc(1, sizeof(*st))))
		return NULL;
	for (e = st->cap ? *name_bucket(st, name) : NULL; e; e = e->next)
		if ((e->hist != NULL) == is_hist && !strcmp(e->name, name))
			return e;
	e = entry_new(name, unit, is_hist);
	if (!e || !make_room(st)) {
		entry_free(e);
		return NULL;
	}
	st->entry[st->count++] = e;
	enter_name(st, e);
	return e;
}

uint64_t *bf_stats_counter(struct bf_sim *sim, const char *name, const char *unit)
{
	struct entry *e = find_or_add(sim, name, unit, false);

	return e ? &e->counter : NULL;
}

struct bf_hist *bf_stats_hist(struct bf_sim *sim, const char *name, const char *unit)
{
	struct entry *e = find_or_add(sim, name, unit, true);

	return e ? e->hist : NULL;
}

int bf_stats_attach(struct bf_sim *sim, const void *owner, const char *name, const char *unit, const uint64_t *field)
{
	struct entry *e = find_or_add(sim, name, unit, false);
	struct field *f = e ? malloc(sizeof(*f)) : NULL;

	if (!f)
		return bf_fail(&sim->error, -ENOMEM, "statistic '%s': no memory", name);
	*f = (struct field){ .next = e->fields, .entry = e, .owner = owner, .value = field };
	e->fields = f;
	enter_owner(sim->stats, f);
	return 0;
}

int bf_stats_attach_part(struct bf_sim *sim, const void *owner, const char *base, const char *part, const char *unit,
			 const uint64_t *field)
{
	char name[128];

	snprintf(name, sizeof(name), "%s.%s", base, part);
	return bf_stats_attach(sim, owner, name, unit, field);
}

/* Its entry keeps the last value. */
static void detach(struct field *f)
{
	struct field **link = &f->entry->fields;

	while (*link != f)
		link = &(*link)->next;
	*link = f->next;
	f->entry->counter += *f->value;
	free(f);
}

void bf_stats_detach(struct bf_sim *sim, const void *owner)
{
	struct bf_stats *st = sim->stats;
	struct field **link = st && st->cap ? owner_bucket(st, owner) : NULL;

	while (link && *link) {
		struct field *f = *link;

		if (f->owner != owner) {
			link = &f->owner_next;
			continue;
		}
		*link = f->owner_next;
		detach(f);
	}
}

/*
 * Values below 16 have a bucket each. Above, a value with its highest bit at `top` falls into one of the 16 equal parts
 * of 2^top .. 2^(top+1)-1.
 */
static uint32_t bucket_of(uint64_t value)
{
	uint32_t top;

	if (value < BF_HIST_SUB)
		return (uint32_t)value;
	top = (uint32_t)(63 - __builtin_clzll(value));
	return (top - 3) * BF_HIST_SUB + (uint32_t)(value >> (top - 4)) % BF_HIST_SUB;
}

static uint64_t bucket_highest(uint32_t bucket)
{
	const uint32_t row = bucket / BF_HIST_SUB;

	if (row == 0)
		return bucket;
	/* The highest bucket of all ends at 2^64 - 1: the shift drops the carry. */
	return ((uint64_t)(BF_HIST_SUB + bucket % BF_HIST_SUB + 1) << (row - 1)) - 1;
}

void bf_hist_add(struct bf_hist *h, uint64_t value)
{
	if (h->count == 0 || value < h->min)
		h->min = value;
	if (value > h->max)
		h->max = value;
	h->count++;
	h->sum += value;
	h->bucket[bucket_of(value)]++;
}

uint64_t bf_hist_quantile(const struct bf_hist *h, uint32_t ppm)
{
	uint64_t rank, below = 0, highest;
	uint32_t bucket = 0;

	if (h->count == 0)
		return 0;
	if (ppm > 1000000)
		ppm = 1000000;
	rank = (uint64_t)(((bf_u128)h->count * ppm + 999999) / 1000000);
	if (rank == 0)
		rank = 1;
	while ((below += h->bucket[bucket]) < rank)
		bucket++;
	highest = bucket_highest(bucket);
	return highest < h->max ? highest : h->max;
}

void bf_stats_each(const struct bf_sim *sim,
		   void (*fn)(void *arg, const char *name, const char *unit, const uint64_t *counter,
			      const struct bf_hist *hist),
		   void *arg)
{
	struct bf_stats *st = sim->stats;

	if (st && st->sorted < st->count) {
		qsort(st->entry, st->count, sizeof(struct entry *), compare);
		st->sorted = st->count;
	}
	for (uint32_t i = 0; st && i < st->count; i++) {
		const struct entry *e = st->entry[i];
		uint64_t count = e->counter;

		for (const struct field *f = e->fields; f; f = f->next)
			count += *f->value;
		fn(arg, e->name, e->unit, e->hist ? NULL : &count, e->hist);
	}
}

void bf_stats_fini(struct bf_sim *sim)
{
	struct bf_stats *st = sim->stats;

	if (!st)
		return;
	for (uint32_t i = 0; i < st->count; i++)
		entry_free(st->entry[i]);
	free(st->entry);
	free(st->by_name);
	free(st->by_owner);
	free(st);
	sim->stats = NULL;
}
