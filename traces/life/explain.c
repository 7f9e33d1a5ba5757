/*
 * Following one thing through a record stream. Entries are told by the rows of their device (rows.c); barriers have
 * handlers of their own.
 */
#include "traces/life/explain.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>

#include "traces/life/explain_internal.h"

#include "sim/grow.h"

#define MAX_STEPS 4096u

/* ---- steps ---- */

struct bf_explain_step bf_explain_make(const struct bf_explain_view *v, enum bf_explain_place place, const char *what,
				       const char *fmt, ...)
{
	struct bf_explain_step s = { .time_ps = v->time_ps, .record = v->number, .place = place, .what = what };
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(s.text, sizeof(s.text), fmt, ap);
	va_end(ap);
	if (place != BF_EXPLAIN_SOFTWARE && place != BF_EXPLAIN_CAPTURE)
		bf_explain_device_name(v->actor, s.device, sizeof(s.device));
	return s;
}

struct bf_explain_step bf_explain_by(const struct bf_explain_view *v, const char *what, const char *fmt, ...)
{
	struct bf_explain_step s = {
		.time_ps = v->time_ps, .record = v->number, .place = BF_EXPLAIN_SOFTWARE, .what = what
	};
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(s.text, sizeof(s.text), fmt, ap);
	va_end(ap);
	snprintf(s.actor, sizeof(s.actor), "%.47s", v->actor);
	return s;
}

void bf_explain_missing(struct bf_explain *l, enum bf_explain_place place, const char *what, const char *fmt, ...)
{
	struct bf_explain_step s = {
		.time_ps = l->last_ps, .record = UINT64_MAX, .place = place, .what = what, .missing = true
	};
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(s.text, sizeof(s.text), fmt, ap);
	va_end(ap);
	if (place == BF_EXPLAIN_DEVICE)
		snprintf(s.device, sizeof(s.device), "%s", l->device[0] ? l->device : "device");
	bf_explain_push(l, s);
}

void bf_explain_push(struct bf_explain *l, struct bf_explain_step s)
{
	if (l->nsteps == MAX_STEPS)
		return;
	if (BF_GROW(l->steps, l->cap, l->nsteps + 1)) {
		l->status = -ENOMEM;
		return;
	}
	if (s.place == BF_EXPLAIN_REMOTE)
		s.far = true;
	if (strcmp(s.device, l->device) != 0)
		s.far = false; /* another device: its name says so */
	l->steps[l->nsteps++] = s;
}

void bf_explain_detail(struct bf_explain *l, struct bf_explain_step s)
{
	s.detail = true;
	bf_explain_push(l, s);
}

uint64_t bf_explain_get(const struct bf_explain_view *v, const char *name)
{
	const struct bf_rec_field *f = bf_schema_field(v->type, name);

	return f ? bf_field_u64(f, v->fixed) : 0;
}

/* The name of an ENUM field's value, or its number. */
const char *bf_explain_get_name(const struct bf_explain_view *v, const char *name, char *buf, size_t cap)
{
	const struct bf_rec_field *f = bf_schema_field(v->type, name);
	size_t len = 0;
	const char *text = f ? bf_field_enum_name(f, bf_field_u64(f, v->fixed), &len) : NULL;

	if (text)
		snprintf(buf, cap, "%.*s", (int)len, text);
	else
		snprintf(buf, cap, "%" PRIu64, bf_explain_get(v, name));
	return buf;
}

const char *bf_explain_get_text(const struct bf_explain_view *v, const char *name, char *buf, size_t cap)
{
	const struct bf_rec_field *f = bf_schema_field(v->type, name);

	buf[0] = '\0';
	if (f && f->kind == BF_FIELD_TEXT) {
		const char *text = (const char *)v->fixed + f->offset;
		int n = (int)strnlen(text, f->size);
		bool cut = n + 1 >= f->size; /* the field had no room for more */

		while (cut && n > 0 && text[n - 1] == ' ')
			n--;
		snprintf(buf, cap, "%.*s%s", n, text, cut ? "..." : "");
	}
	return buf;
}

static bool belongs(const char *actor, const char *device)
{
	size_t n = strlen(device);

	return n == 0 || (strncmp(actor, device, n) == 0 && (actor[n] == '.' || actor[n] == '\0'));
}

int64_t bf_explain_pe(const char *actor)
{
	const char *digits = actor + strcspn(actor, "0123456789");

	return *digits ? (int64_t)(strtoull(digits, NULL, 10) & INT32_MAX) : -1;
}

void bf_explain_device_name(const char *actor, char *out, size_t cap)
{
	const char *dot = strrchr(actor, '.');

	snprintf(out, cap, "%.*s", (int)(dot ? dot - actor : (int)strlen(actor)), actor);
}

bool bf_explain_from_device(const struct bf_explain *l, const char *actor)
{
	return l->device[0] ? belongs(actor, l->device) : l->pe < 0 || bf_explain_pe(actor) == l->pe;
}

bool bf_explain_from_driver(const struct bf_explain *l, const struct bf_explain_view *v)
{
	return l->pe < 0 || bf_explain_pe(v->actor) == l->pe;
}

bool bf_explain_from_far(const struct bf_explain *l, const char *actor)
{
	return belongs(actor, l->far_device);
}

bool bf_explain_psn_is_mine(const struct bf_explain *l, uint32_t psn)
{
	uint32_t n = l->npsn ? l->npsn : 1;

	return l->has_psn && ((psn - l->psn) & BF_EXPLAIN_PSN_MASK) < n;
}

/* ---- records in ---- */

/* Who takes records of this type, and which rows of the life are about it. */
static uint32_t place_of(struct bf_explain *l, const struct bf_rec_schema *type)
{
	const uint32_t at = type->id % BF_EXPLAIN_TYPES;
	const struct bf_life_row *row = l->target.life ? l->target.life->rows : NULL;
	const struct bf_explain_handler *h = l->handlers;

	if (l->cache[at].type == type)
		return at;
	while (h->type && strcmp(h->type, type->name) != 0)
		h++;
	memset(&l->cache[at], 0, sizeof(l->cache[at]));
	l->cache[at].type = type;
	l->cache[at].on = h->on;
	l->cache[at].mentioned = row && bf_life_mentions(l->target.life, type->name);
	for (uint32_t i = 0; row && row[i].type && i < 64 * BF_EXPLAIN_ROW_WORDS; i++)
		if (strcmp(row[i].type, type->name) == 0)
			l->cache[at].rows[i / 64] |= 1ull << i % 64;
	return at;
}

static void feed(struct bf_explain *l, const struct bf_explain_view *v)
{
	bf_explain_on *on = l->cache[place_of(l, v->type)].on;

	l->last_ps = v->time_ps;
	if (strncmp(v->type->name, "capture_", 8) == 0) {
		l->capture_ps = v->time_ps;
		l->capture_line = bf_explain_get(v, "line");
	} else {
		l->ran = true;
	}
	if (on)
		on(l, v);
	if (l->target.life)
		bf_explain_rows_take(l, v);
}

static int declare_type(struct bf_sink *s, const struct bf_rec_schema *schema)
{
	struct bf_explain *l = (struct bf_explain *)s;

	if (schema->id < BF_EXPLAIN_TYPES)
		l->types[schema->id] = schema;
	return 0;
}

static int declare_actor(struct bf_sink *s, uint32_t actor, const char *kind, const char *name)
{
	struct bf_explain *l = (struct bf_explain *)s;
	uint32_t place;

	(void)kind;
	if (BF_GROW(l->actors, l->actors_cap, l->actor_places.count + 1))
		return -ENOMEM;
	place = bf_numbering_add(&l->actor_places, actor);
	if (!place)
		return -ENOMEM;
	snprintf(l->actors[place - 1], sizeof(*l->actors), "%s", name);
	return 0;
}

static int write_records(struct bf_sink *s, const void *records, size_t len)
{
	struct bf_explain *l = (struct bf_explain *)s;
	const uint8_t *p = records, *end = p + len;

	while (p < end) {
		const struct bf_rec_header *head = (const void *)p;
		const struct bf_rec_schema *type = head->type < BF_EXPLAIN_TYPES ? l->types[head->type] : NULL;

		if (type) {
			const uint32_t actor = bf_numbering_find(&l->actor_places, head->actor);
			struct bf_explain_view v = {
				.time_ps = head->time_ps,
				.number = l->number,
				.actor = actor ? l->actors[actor - 1] : "-",
				.type = type,
				.fixed = p + sizeof(*head),
				.tail = p + sizeof(*head) + head->fixed,
				.tail_len = head->tail,
			};

			feed(l, &v);
		}
		l->number++;
		p += bf_record_span(head);
	}
	return l->status;
}

int bf_explain_read(struct bf_explain *l, struct bf_trace *t)
{
	struct bf_trace_record rec;
	int rc, first = 0;

	while ((rc = bf_trace_next(t, &rec)) != 0) {
		if (rc < 0) {
			first = first ? first : rc;
			continue;
		}
		struct bf_explain_view v = {
			.time_ps = rec.time_ps,
			.number = rec.number,
			.actor = bf_trace_actor_name(t, rec.actor),
			.type = rec.type,
			.fixed = rec.fixed,
			.tail = rec.tail,
			.tail_len = rec.tail_len,
		};

		feed(l, &v);
	}
	bf_explain_finish(l);
	return l->status ? l->status : first;
}

bool bf_explain_never_ran(const struct bf_explain *l)
{
	return l->capture_line && !l->ran;
}

static int by_record(const void *a, const void *b)
{
	const struct bf_explain_step *x = a, *y = b;

	if (x->record != y->record)
		return x->record < y->record ? -1 : 1;
	return x->order < y->order ? -1 : x->order > y->order;
}

void bf_explain_sort(struct bf_explain *l)
{
	for (size_t i = 0; i < l->nsteps; i++)
		l->steps[i].order = (uint32_t)i;
	if (l->nsteps)
		qsort(l->steps, l->nsteps, sizeof(*l->steps), by_record);
}

/* Who takes the records of each kind, and what is missing at the end. */
static const struct {
	const struct bf_explain_handler *handlers;
	void (*end)(struct bf_explain *l);
} kinds[] = {
	[BF_EXPLAIN_ROWS] = { bf_explain_rows_handlers, bf_explain_rows_end },
	[BF_EXPLAIN_BARRIER] = { bf_explain_barrier_handlers, bf_explain_barrier_end },
	[BF_EXPLAIN_COMPLETION] = { NULL, NULL },
};

void bf_explain_finish(struct bf_explain *l)
{
	kinds[l->target.kind].end(l);
	bf_explain_sort(l);
}

int bf_explain_follow(const struct bf_explain_target *target, struct bf_explain **out)
{
	struct bf_explain *l;

	*out = NULL;
	if (target->kind >= BF_ARRAY_LEN(kinds) || !kinds[target->kind].handlers ||
	    (target->kind == BF_EXPLAIN_ROWS && !target->life))
		return -EINVAL;
	l = calloc(1, sizeof(*l));
	if (!l)
		return -ENOMEM;
	l->sink =
	    (struct bf_sink){ .declare_type = declare_type, .declare_actor = declare_actor, .write = write_records };
	l->target = *target;
	l->handlers = kinds[target->kind].handlers;
	snprintf(l->device, sizeof(l->device), "%s", target->device);
	l->pe = target->device[0] ? bf_explain_pe(target->device) : -1;
	l->facts.index = target->index;
	l->queue.life = target->life;
	l->device_only = target->life && !target->device[0];
	*out = l;
	return 0;
}

int bf_explain_create(const char *device, uint32_t qpn, uint16_t index, struct bf_explain **out)
{
	struct bf_explain_target t = { .kind = BF_EXPLAIN_ROWS, .queue = qpn, .index = index };

	t.life = bf_explain_plain_life();
	snprintf(t.device, sizeof(t.device), "%s", device ? device : "");
	return bf_explain_follow(&t, out);
}

void bf_explain_free(struct bf_explain *l)
{
	if (!l)
		return;
	bf_explain_barrier_free(l);
	bf_number_map_free(&l->last_read);
	bf_life_free_queue(&l->queue);
	free(l->steps);
	free(l->packets);
	free(l->actors);
	bf_numbering_free(&l->actor_places);
	free(l);
}

struct bf_sink *bf_explain_sink(struct bf_explain *l)
{
	return &l->sink;
}

const struct bf_explain_step *bf_explain_steps(const struct bf_explain *l, size_t *count)
{
	*count = l->nsteps;
	return l->steps;
}

const struct bf_explain_target *bf_explain_target_of(const struct bf_explain *l)
{
	return &l->target;
}

bool bf_explain_ended(const struct bf_explain *l)
{
	for (size_t i = 0; i < l->nsteps; i++)
		if (l->steps[i].missing)
			return false;
	return l->nsteps > 0;
}

const char *bf_explain_unknown(const struct bf_explain *l, unsigned i)
{
	return i < l->nunknown ? l->unknown[i] : NULL;
}
