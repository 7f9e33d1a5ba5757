#include "traces/life/places.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "sim/grow.h"
#include "traces/container/numbering_internal.h"

#define IMAGES_MAX 256u /* a stream with more has nonsense in it */

struct image {
	char *path;
	uint64_t build_id;
};

/* The last place of a thread, or of any thread of a processing element. */
struct latest {
	uint64_t offset;
	uint32_t image; /* 0: none yet */
};

struct actor {
	char name[48];
	uint32_t pe; /* its place */
	struct latest at;
};

/* What is asked of one finding, and the answer. */
struct question {
	struct bf_place place;
	const struct bf_found *found;
	uint32_t image; /* 0: not known */
	bool settled;
};

struct bf_places {
	struct bf_sink sink;
	uint32_t type_where, type_image, type_load;
	uint16_t offset_at, image_at, id_at, number_at;
	struct actor *actors;
	uint32_t actors_cap;
	struct bf_numbering actor_places; /* among them */
	struct latest *pes;
	uint32_t pes_cap;
	struct bf_numbering pe_places; /* among them */
	struct image images[IMAGES_MAX];
	struct question *questions;
	uint32_t nquestions;
	struct question **by_first, **by_last; /* in order of those records */
	uint32_t first, last;                  /* those that are still to come */
	struct latest pending;                 /* the place of the access whose record comes next */
	uint32_t pending_actor;
	uint64_t records;
};

static uint32_t pe_of(const char *name)
{
	return (uint32_t)strtoul(name + strcspn(name, "0123456789"), NULL, 10);
}

/* ---- what the stream declares ---- */

static int declare_type(struct bf_sink *sink, const struct bf_rec_schema *type)
{
	struct bf_places *p = BF_CONTAINER_OF(sink, struct bf_places, sink);
	const struct bf_rec_field *a, *b;

	if (strcmp(type->name, "where") == 0) {
		a = bf_schema_field(type, "offset");
		b = bf_schema_field(type, "image");
		if (a && b && a->size == 8 && b->size == 8) {
			p->type_where = type->id;
			p->offset_at = a->offset;
			p->image_at = b->offset;
		}
	} else if (strcmp(type->name, "image") == 0) {
		a = bf_schema_field(type, "build_id");
		b = bf_schema_field(type, "image");
		if (a && b && a->size == 8 && b->size == 8) {
			p->type_image = type->id;
			p->id_at = a->offset;
			p->number_at = b->offset;
		}
	} else if (strcmp(type->name, "load") == 0) {
		p->type_load = type->id;
	}
	return 0;
}

static int declare_actor(struct bf_sink *sink, uint32_t number, const char *kind, const char *name)
{
	struct bf_places *p = BF_CONTAINER_OF(sink, struct bf_places, sink);
	uint32_t place, pe;
	struct actor *a;

	(void)kind;
	if (BF_GROW(p->actors, p->actors_cap, p->actor_places.count + 1) ||
	    BF_GROW(p->pes, p->pes_cap, p->pe_places.count + 1))
		return -ENOMEM;
	place = bf_numbering_add(&p->actor_places, number);
	pe = bf_numbering_add(&p->pe_places, pe_of(name));
	if (!place || !pe)
		return -ENOMEM;
	a = &p->actors[place - 1];
	strncpy(a->name, name, sizeof(a->name) - 1);
	a->pe = pe - 1;
	return 0;
}

static struct actor *actor_of(const struct bf_places *p, uint32_t number)
{
	const uint32_t place = bf_numbering_find(&p->actor_places, number);

	return place ? &p->actors[place - 1] : NULL;
}

/* ---- records ---- */

/* The thread that a finding is about is its `where`, or the first word of its text. */
static bool is_about(const struct bf_found *f, const char *thread)
{
	const size_t len = strlen(thread);

	return strcmp(f->where, thread) == 0 ||
	       (len && strncmp(f->text, thread, len) == 0 && (f->text[len] == ' ' || f->text[len] == ','));
}

static void settle(struct bf_places *p, struct question *q)
{
	const uint32_t pe = bf_numbering_find(&p->pe_places, pe_of(q->found->where));
	struct latest at = pe ? p->pes[pe - 1] : (struct latest){ 0 };

	for (uint32_t i = 0; i < p->actor_places.count; i++)
		if (p->actors[i].at.image && is_about(q->found, p->actors[i].name))
			at = p->actors[i].at;
	q->settled = true;
	q->image = at.image;
	q->place.offset = at.offset;
}

/* Questions whose finding begins with this record, which is the access at `pending`. */
static void answer_exactly(struct bf_places *p)
{
	for (; p->first < p->nquestions && p->by_first[p->first]->found->first_record <= p->records; p->first++) {
		struct question *q = p->by_first[p->first];

		if (!p->pending.image || q->found->first_record != p->records)
			continue;
		q->settled = q->place.exact = true;
		q->image = p->pending.image;
		q->place.offset = p->pending.offset;
	}
}

static void take_image(struct bf_places *p, const struct bf_rec_header *head, const uint8_t *fixed)
{
	uint64_t number, id;
	struct image *i;

	memcpy(&number, fixed + p->number_at, 8);
	memcpy(&id, fixed + p->id_at, 8);
	if (!number || number > IMAGES_MAX)
		return;
	i = &p->images[number - 1];
	free(i->path);
	i->path = strndup((const char *)fixed + head->fixed, head->tail);
	i->build_id = id;
}

static void take(struct bf_places *p, const struct bf_rec_header *head)
{
	const uint8_t *fixed = (const uint8_t *)(head + 1);
	struct actor *a;
	uint64_t image;

	answer_exactly(p);
	/* Loads poll: what a thread did last is what it stored, ordered or rang. */
	if (p->pending.image && head->type != p->type_load && head->actor == p->pending_actor &&
	    (a = actor_of(p, head->actor)) != NULL) {
		a->at = p->pending;
		p->pes[a->pe] = p->pending;
	}
	p->pending.image = 0;
	for (; p->last < p->nquestions && p->by_last[p->last]->found->last_record <= p->records; p->last++)
		if (!p->by_last[p->last]->settled)
			settle(p, p->by_last[p->last]);
	if (p->type_where && head->type == p->type_where) {
		memcpy(&p->pending.offset, fixed + p->offset_at, 8);
		memcpy(&image, fixed + p->image_at, 8);
		p->pending.image = image <= IMAGES_MAX ? (uint32_t)image : 0;
		p->pending_actor = head->actor;
	} else if (p->type_image && head->type == p->type_image) {
		take_image(p, head, fixed);
	}
}

static int write_records(struct bf_sink *sink, const void *records, size_t len)
{
	struct bf_places *p = BF_CONTAINER_OF(sink, struct bf_places, sink);

	for (const uint8_t *at = records, *end = at + len; at < end; p->records++) {
		const struct bf_rec_header *head = (const void *)at;

		take(p, head);
		at += bf_record_span(head);
	}
	return 0;
}

/* ---- the second look ---- */

static int compare_first(const void *a, const void *b)
{
	const uint64_t x = (*(struct question *const *)a)->found->first_record;
	const uint64_t y = (*(struct question *const *)b)->found->first_record;

	return x < y ? -1 : x > y;
}

static int compare_last(const void *a, const void *b)
{
	const uint64_t x = (*(struct question *const *)a)->found->last_record;
	const uint64_t y = (*(struct question *const *)b)->found->last_record;

	return x < y ? -1 : x > y;
}

int bf_places_open(const struct bf_rules *r, struct bf_places **out)
{
	struct bf_places *p = calloc(1, sizeof(*p));
	const uint32_t n = bf_rules_count(r);

	*out = p;
	if (!p)
		return -ENOMEM;
	p->sink =
	    (struct bf_sink){ .declare_type = declare_type, .declare_actor = declare_actor, .write = write_records };
	p->questions = calloc(n + 1u, sizeof(*p->questions));
	p->by_first = calloc(n + 1u, sizeof(struct question *));
	p->by_last = calloc(n + 1u, sizeof(struct question *));
	if (!p->questions || !p->by_first || !p->by_last) {
		bf_places_free(p);
		*out = NULL;
		return -ENOMEM;
	}
	p->nquestions = n;
	for (uint32_t i = 0; i < n; i++) {
		p->questions[i].found = bf_rules_found(r, i);
		p->by_first[i] = p->by_last[i] = &p->questions[i];
	}
	qsort(p->by_first, n, sizeof(struct question *), compare_first);
	qsort(p->by_last, n, sizeof(struct question *), compare_last);
	return 0;
}

void bf_places_free(struct bf_places *p)
{
	if (!p)
		return;
	for (uint32_t i = 0; i < IMAGES_MAX; i++)
		free(p->images[i].path);
	free(p->questions);
	free(p->by_first);
	free(p->by_last);
	free(p->actors);
	free(p->pes);
	bf_numbering_free(&p->actor_places);
	bf_numbering_free(&p->pe_places);
	free(p);
}

struct bf_sink *bf_places_sink(struct bf_places *p)
{
	return &p->sink;
}

int bf_places_trace(struct bf_places *p, struct bf_trace *t)
{
	const struct bf_rec_schema *type;
	struct bf_trace_record rec;
	int damage, rc = bf_trace_seek_time(t, 0);

	for (size_t i = 0; !rc && (type = bf_trace_type_at(t, i)) != NULL; i++)
		declare_type(&p->sink, type);
	while (!rc && (rc = bf_trace_next_good(t, &rec, &damage)) > 0) {
		const struct bf_trace_actor *a = bf_trace_actor(t, rec.actor);

		rc = 0;
		if (a && !actor_of(p, rec.actor))
			rc = declare_actor(&p->sink, a->number, a->kind, a->name);
		if (rec.type != type)
			declare_type(&p->sink, rec.type);
		type = rec.type;
		p->records = rec.number;
		if (!rc)
			rc = write_records(&p->sink, rec.raw, rec.raw_len);
	}
	return rc;
}

const struct bf_place *bf_places_of(struct bf_places *p, uint32_t i)
{
	struct question *q = i < p->nquestions ? &p->questions[i] : NULL;

	if (!q)
		return NULL;
	if (!q->settled) /* it lasts to the end of the stream */
		settle(p, q);
	if (!q->image || !p->images[q->image - 1].path)
		return NULL;
	q->place.path = p->images[q->image - 1].path;
	q->place.build_id = p->images[q->image - 1].build_id;
	return &q->place;
}
