/* Statistics: an array of entries in order of name, each allocated by itself so that handles stay valid. */
#include "sim/stats.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A count that its owner keeps. */
struct field {
	struct field *next;
	const void *owner;
	const uint64_t *value;
};

struct entry {
	char *name, *unit;
	struct bf_hist *hist; /* NULL: a counter */
	uint64_t counter;
	struct field *fields; /* count too */
};

struct bf_stats {
	struct entry **entry;
	uint32_t count, cap;
};

static int compare(const struct entry *e, const char *name, bool is_hist)
{
	int order = strcmp(e->name, name);

	return order ? order : (e->hist != NULL) - is_hist;
}

/* Index of the first entry that does not stand before (name, is_hist). */
static uint32_t lower_bound(const struct bf_stats *st, const char *name, bool is_hist)
{
	uint32_t lo = 0, hi = st->count;

	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;

		if (compare(st->entry[mid], name, is_hist) < 0)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
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

/* Makes room for one more at `at`. False on lack of memory, nothing changed. */
static bool make_room(struct bf_stats *st, uint32_t at)
{
	if (st->count == st->cap) {
		uint32_t cap = st->cap ? st->cap * 2 : 16;
		struct entry **more = realloc(st->entry, cap * sizeof(struct entry *));

		if (!more)
			return false;
		st->entry = more;
		st->cap = cap;
	}
	memmove(&st->entry[at + 1], &st->entry[at], (st->count - at) * sizeof(struct entry *));
	return true;
}

static struct entry *find_or_add(struct bf_sim *sim, const char *name, const char *unit, bool is_hist)
{
	struct bf_stats *st = sim->stats;
	struct entry *e;
	uint32_t at;

	if (!st && !(st = sim->stats = calloc(1, sizeof(*st))))
		return NULL;
	at = lower_bound(st, name, is_hist);
	if (at < st->count && compare(st->entry[at], name, is_hist) == 0)
		return st->entry[at];
	e = entry_new(name, unit, is_hist);
	if (!e || !make_room(st, at)) {
		entry_free(e);
		return NULL;
	}
	st->entry[at] = e;
	st->count++;
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
	*f = (struct field){ .next = e->fields, .owner = owner, .value = field };
	e->fields = f;
	return 0;
}

int bf_stats_attach_part(struct bf_sim *sim, const void *owner, const char *base, const char *part, const char *unit,
			 const uint64_t *field)
{
	char name[128];

	snprintf(name, sizeof(name), "%s.%s", base, part);
	return bf_stats_attach(sim, owner, name, unit, field);
}

static void detach(struct entry *e, const void *owner)
{
	struct field **link = &e->fields;

	while (*link) {
		struct field *f = *link;

		if (f->owner != owner) {
			link = &f->next;
			continue;
		}
		e->counter += *f->value;
		*link = f->next;
		free(f);
	}
}

void bf_stats_detach(struct bf_sim *sim, const void *owner)
{
	struct bf_stats *st = sim->stats;

	for (uint32_t i = 0; st && i < st->count; i++)
		detach(st->entry[i], owner);
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
	const struct bf_stats *st = sim->stats;

	for (uint32_t i = 0; st && i < st->count; i++) {
		const struct entry *e = st->entry[i];
		uint64_t count = e->counter;

		for (const struct field *f = e->fields; f; f = f->next)
			count += *f->value;
		fn(arg, e->name, e->unit, e->hist ? NULL : &count, e->hist);
	}
}

void bf_stats_free(struct bf_sim *sim)
{
	struct bf_stats *st = sim->stats;

	if (!st)
		return;
	for (uint32_t i = 0; i < st->count; i++)
		entry_free(st->entry[i]);
	free(st->entry);
	free(st);
	sim->stats = NULL;
}
