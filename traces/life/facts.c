#include "traces/life/facts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "traces/life/label.h"

uint32_t bf_life_points(const struct bf_life *life)
{
	uint32_t n = 0;

	while (n < BF_LIFE_POINTS && life->points[n])
		n++;
	return n;
}

uint32_t bf_life_point(const struct bf_life *life, const char *name)
{
	uint32_t p = 0;

	while (p < BF_LIFE_POINTS && life->points[p] && strcmp(life->points[p], name) != 0)
		p++;
	return p;
}

uint32_t bf_life_named(const struct bf_life *life)
{
	for (const struct bf_life_row *row = life->rows; row->type; row++)
		if (row->entries == BF_LIFE_NAMED)
			return row->point;
	return BF_LIFE_POINTS;
}

bool bf_life_types(const struct bf_life *life, bool software, char *out, size_t cap)
{
	const uint32_t last = bf_life_points(life) - 1;
	size_t used = 0;

	for (const struct bf_life_row *row = life->rows; row->type; row++) {
		const struct bf_life_row *same = life->rows;

		while (strcmp(same->type, row->type) != 0)
			same++;
		if (same == row && row->role == BF_LIFE_POINT && row->software == software && !row->captured &&
		    used < cap && !(software && row->point == last))
			used += (size_t)snprintf(out + used, cap - used, "%s%s", used ? ", " : "", row->type);
	}
	return used != 0;
}

bool bf_life_queue_number(const struct bf_life *life, const char *actor, uint64_t *number)
{
	const char *dot = strrchr(actor, '.');
	const size_t len = strlen(life->prefix);
	char *end;

	if (!dot || strncmp(dot + 1, life->prefix, len) != 0 || dot[1 + len] < '0' || dot[1 + len] > '9')
		return false;
	*number = strtoull(dot + 1 + len, &end, 10);
	return *end == '\0';
}

uint64_t bf_life_u64(const char *expression, const struct bf_rec_schema *type, const void *fixed)
{
	return expression ? bf_label_u64(expression, type, fixed) : 0;
}

bool bf_life_holds(const struct bf_life_row *row, const struct bf_rec_schema *type, const void *fixed)
{
	return !row->when || bf_label_holds(row->when, row->is, type, fixed);
}

/* ---- what rows keep ---- */

/* A row's "signal=address" is about `name`. */
static bool keeps(const struct bf_life_row *row, const char *name, size_t len)
{
	return row->keep && strncmp(row->keep, name, len) == 0 && row->keep[len] == '=';
}

/* Where the value of that name is: names are numbered as they first appear. BF_LIFE_KEPT: nobody keeps one. */
static uint32_t kept_at(const struct bf_life *life, const char *name, size_t len)
{
	uint32_t at = 0;

	for (const struct bf_life_row *row = life->rows; row->type; row++) {
		const struct bf_life_row *first = life->rows;

		if (!row->keep)
			continue;
		if (keeps(row, name, len))
			return at < BF_LIFE_KEPT ? at : BF_LIFE_KEPT;
		while (!keeps(first, row->keep, strcspn(row->keep, "=")))
			first++;
		at += first == row;
	}
	return BF_LIFE_KEPT;
}

void bf_life_note(const struct bf_life *life, const struct bf_life_row *row, struct bf_life_facts *entry,
		  const struct bf_rec_schema *type, const void *fixed)
{
	const size_t len = row->keep ? strcspn(row->keep, "=") : 0;
	const uint32_t at = row->keep ? kept_at(life, row->keep, len) : BF_LIFE_KEPT;
	uint64_t value;

	if (row->entries == BF_LIFE_BYTES && row->role == BF_LIFE_POINT && entry->from == entry->to) {
		entry->from = bf_life_u64(row->first, type, fixed);
		entry->to = bf_life_u64(row->second, type, fixed);
	}
	if (row->second && (row->entries == BF_LIFE_NAMED || row->entries == BF_LIFE_ONE))
		entry->name = bf_life_u64(row->second, type, fixed);
	if (at == BF_LIFE_KEPT)
		return;
	value = bf_life_u64(row->keep + len + 1, type, fixed);
	/* What is needed may have come before. */
	if (life->needs && keeps(row, life->needs, strlen(life->needs)) && entry->has >> at & 1)
		value |= entry->kept[at];
	entry->kept[at] = value;
	entry->has |= 1u << at;
}

uint64_t bf_life_kept(const struct bf_life *life, const struct bf_life_facts *entry, const char *name)
{
	const uint32_t at = kept_at(life, name, strlen(name));

	return at < BF_LIFE_KEPT && entry->has >> at & 1 ? entry->kept[at] : 0;
}

bool bf_life_in_vain(const struct bf_life *life, const struct bf_life_facts *entry)
{
	return life->needs && entry->points & 1 && !bf_life_kept(life, entry, life->needs);
}

/* ---- which entries ---- */

/* A device's counter: `at` comes before `end`, by less than half of its range. */
static bool is_below(uint64_t at, uint64_t end, uint64_t wrap)
{
	return wrap ? (end - at - 1) % wrap < wrap / 2 : at < end;
}

/* `at` lies in from..to-1, of a ring that may wrap when `wraps`. */
static bool covers(uint64_t at, uint64_t from, uint64_t to, bool wraps)
{
	if (wraps && to < from)
		return at >= from || at < to;
	return at >= from && at < to;
}

bool bf_life_is_about(const struct bf_life *life, const struct bf_life_row *row, const struct bf_life_facts *entry,
		      const struct bf_rec_schema *type, const void *fixed)
{
	const uint64_t first = bf_life_u64(row->first, type, fixed), second = bf_life_u64(row->second, type, fixed);
	const uint32_t of = row->of ? kept_at(life, row->of, strlen(row->of)) : BF_LIFE_KEPT;
	/* Software counts on where the device's counter wraps. */
	const uint32_t wrap = row->software && !row->captured ? 0 : life->wrap;
	uint64_t index = row->point > bf_life_named(life) ? entry->name : wrap ? entry->index % wrap : entry->index;

	if (row->after && entry->points < 1u << bf_life_point(life, row->after))
		return false;
	if (row->of && (of == BF_LIFE_KEPT || !(entry->has >> of & 1)))
		return false;
	if (row->of)
		index = entry->kept[of];
	switch (row->entries) {
	case BF_LIFE_COUNT:
		return index - first < second;
	case BF_LIFE_RANGE:
		return covers(index, first, second, life->slots || wrap);
	case BF_LIFE_BELOW:
		return is_below(index, first, wrap);
	case BF_LIFE_UPTO:
	case BF_LIFE_BEHIND:
		return index < first;
	case BF_LIFE_BYTES:
		return covers(index, first, second, false);
	case BF_LIFE_IN:
		return first != index && covers(first, entry->from, entry->to, false);
	case BF_LIFE_ALL:
		return true;
	case BF_LIFE_ONE:
	case BF_LIFE_SLOTS:
	case BF_LIFE_NAMED:
	default:
		return index == first;
	}
}

/* ---- what is missing ---- */

static bool speaks_of(const char *says, const char *type)
{
	for (const char *c = says; (c = strstr(c, type)) != NULL; c += strlen(type))
		if (c > says && strchr("[@$#", c[-1]))
			return true;
	return false;
}

bool bf_life_mentions(const struct bf_life *life, const char *type)
{
	for (const struct bf_life_end *end = life->ends; end && end->name; end++)
		if (speaks_of(end->says, type))
			return true;
	for (const struct bf_life_row *row = life->rows; row->type; row++)
		if (row->about && strcmp(row->about, type) == 0)
			return true;
	return life->unheard && speaks_of(life->unheard, type);
}

int bf_life_note_queue(struct bf_life_queue *q, const struct bf_rec_schema *type, const void *fixed, const char *by)
{
	struct bf_life_last *last = q->last;

	while (last < q->last + BF_LIFE_KEPT && last->type && last->type != type)
		last++;
	if (last == q->last + BF_LIFE_KEPT)
		return 0;
	if (!last->type) {
		last->fixed = malloc(type->size ? type->size : 1);
		if (!last->fixed)
			return -ENOMEM;
		last->type = type;
	}
	memcpy(last->fixed, fixed, type->size);
	strncpy(last->by, by, sizeof(last->by) - 1);
	return 0;
}

void bf_life_free_queue(struct bf_life_queue *q)
{
	for (uint32_t i = 0; i < BF_LIFE_KEPT; i++)
		free(q->last[i].fixed);
}

const struct bf_life_last *bf_life_last_of(const struct bf_life_queue *q, const char *type, size_t len)
{
	for (uint32_t i = 0; i < BF_LIFE_KEPT && q->last[i].type; i++)
		if (strncmp(q->last[i].type->name, type, len) == 0 && !q->last[i].type->name[len])
			return &q->last[i];
	return NULL;
}

static bool number(const void *of, const char *name, struct bf_label_value *out)
{
	const struct bf_life_story *s = of;
	const size_t len = strcspn(name, ".");
	const struct bf_life_last *last = bf_life_last_of(s->q, name, len);
	const uint32_t at = kept_at(s->q->life, name, len);

	if (strcmp(name, "index") == 0 || (s->q->life->slot && strcmp(name, s->q->life->slot) == 0))
		out->value = s->entry->index;
	else if (s->q->life->id && strcmp(name, s->q->life->id) == 0)
		out->value = s->entry->name;
	else if (strcmp(name, "from") == 0)
		out->value = s->entry->from < s->entry->to ? s->entry->from : s->entry->index;
	else if (strcmp(name, "to") == 0)
		out->value = s->entry->from < s->entry->to ? s->entry->to : s->entry->index + 1;
	else if (strcmp(name, "early") == 0)
		out->value = s->entry->early;
	else if (strcmp(name, "tail") == 0)
		out->value = s->tail;
	else if (s->before && strcmp(name, "before") == 0)
		out->value = s->before->index;
	else if (s->before && len == 6 && strncmp(name, "before.", 7) == 0)
		out->value = s->before->points >> bf_life_point(s->q->life, name + 7) & 1;
	else if (at < BF_LIFE_KEPT && s->entry->has >> at & 1)
		out->value = s->entry->kept[at];
	else if (last && name[len] && (out->field = bf_schema_field(last->type, name + len + 1)) != NULL)
		out->value = bf_field_u64(out->field, out->fixed = last->fixed);
	else if (last)
		out->value = 1;
	else
		return name[len] != '\0'; /* of a record that has not come: 0 */
	return true;
}

static const char *thread(const void *of, const char *name)
{
	const struct bf_life_story *s = of;
	const struct bf_life_last *last = bf_life_last_of(s->q, name, strlen(name));

	if (s->before && strcmp(name, "before") == 0)
		return s->before_by;
	for (uint32_t p = 0; p < bf_life_points(s->q->life); p++)
		if (strcmp(s->q->life->points[p], name) == 0)
			return s->who(s->of, p);
	return last ? last->by : NULL;
}

void bf_life_say(const struct bf_life_story *s, const struct bf_rec_schema *type, const void *fixed, uint64_t time_ps,
		 const char *says, char *out, size_t cap)
{
	const struct bf_label_scope scope = {
		.type = type, .fixed = fixed, .time_ps = time_ps, .number = number, .thread = thread, .of = s
	};

	bf_label_say(&scope, says, out, cap);
}

const struct bf_life_end *bf_life_missing(const struct bf_life_story *s, uint32_t missing, char *out, size_t cap)
{
	const struct bf_life *life = s->q->life;
	const uint32_t n = bf_life_points(life);
	const struct bf_life_row *row = life->rows;

	for (const struct bf_life_end *end = life->ends; end && end->name; end++) {
		if (bf_life_point(life, end->name) != missing)
			continue;
		bf_life_say(s, NULL, NULL, 0, end->says, out, cap);
		return end;
	}
	while (row->type && (row->point != missing || row->role != BF_LIFE_POINT))
		row++;
	snprintf(out, cap, "no %s: no record %s of this entry has come", missing < n ? life->points[missing] : "end",
		 row->type ? row->type : "?");
	return NULL;
}
