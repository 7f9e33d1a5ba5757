/* Comparing two traces: a window of records on each side, and the nearest place where they agree again. */
#include "traces/container/diff.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "traces/container/dump.h"
#include "traces/container/jsonl.h"
#include "traces/container/trace_internal.h"

#define WINDOW 64u /* records looked ahead: a burst longer than this counts as changed one by one */
#define CONTEXT_MAX 16u

/* A record kept beyond the reader's next step. */
struct kept {
	struct bf_trace_record rec;
	struct bf_bytes raw;
	uint64_t key; /* of what is compared */
};

struct side {
	struct bf_trace *t;
	struct kept ring[WINDOW];
	size_t first, count;
	bool ended;
};

struct differ {
	const struct bf_diff_options *o;
	FILE *out;
	struct bf_error *err;
	struct bf_diff_result result;
	struct bf_bytes room;
	struct side a, b;
	struct kept context[CONTEXT_MAX]; /* the last equal records, of side a */
	size_t context_first, context_count;
};

static bool ignored(const struct bf_diff_options *o, const char *type, const char *field)
{
	char both[160];
	snprintf(both, sizeof(both), "%s.%s", type, field);
	return bf_dump_listed(o->ignore_fields, field) || bf_dump_listed(o->ignore_fields, both);
}

/* What is compared of a record, as bytes: names, so that numbers given in another order do not matter. */
static int make_key(struct differ *d, const struct bf_trace *t, struct kept *k)
{
	const struct bf_trace_record *r = &k->rec;
	const char *actor = bf_trace_actor_name(t, r->actor), *type = r->type->name;
	d->room.len = 0;
	int rc = bf_bytes_add(&d->room, actor, strlen(actor) + 1);
	if (!rc)
		rc = bf_bytes_add(&d->room, type, strlen(type) + 1);
	if (!rc && !ignored(d->o, type, "time"))
		rc = bf_bytes_add(&d->room, &r->time_ps, sizeof(r->time_ps));
	for (unsigned i = 0; i < r->type->nfields && !rc; i++) {
		const struct bf_rec_field *f = &r->type->fields[i];
		if (ignored(d->o, type, f->name))
			continue;
		rc = bf_bytes_add(&d->room, f->name, strlen(f->name) + 1);
		if (!rc)
			rc = bf_bytes_add(&d->room, r->fixed + f->offset, f->size);
	}
	if (!rc && !ignored(d->o, type, "tail"))
		rc = bf_bytes_add(&d->room, r->tail, r->tail_len);
	k->key = rc ? 0 : bf_hash_bytes(d->room.at, d->room.len);
	return rc;
}

static int keep(struct kept *k, const struct bf_trace_record *rec)
{
	k->raw.len = 0;
	if (bf_bytes_add(&k->raw, rec->raw, rec->raw_len))
		return -ENOMEM;
	k->rec = *rec;
	k->rec.raw = k->raw.at;
	k->rec.fixed = k->raw.at + sizeof(struct bf_rec_header);
	k->rec.tail = k->rec.fixed + rec->type->size;
	return 0;
}

static int fill(struct differ *d, struct side *s)
{
	while (s->count < WINDOW && !s->ended) {
		struct bf_trace_record rec;
		int rc = bf_trace_next(s->t, &rec);
		if (rc == -EBADMSG)
			d->result.damage++;
		else if (rc < 0)
			return rc;
		s->ended = !rc;
		if (rc != 1 || bf_dump_listed(d->o->ignore_types, rec.type->name))
			continue;
		struct kept *k = &s->ring[(s->first + s->count) % WINDOW];
		if (keep(k, &rec) || make_key(d, s->t, k))
			return bf_fail(d->err, -ENOMEM, "no memory to compare traces");
		s->count++;
	}
	return 0;
}

static struct kept *peek(struct side *s, size_t i)
{
	return &s->ring[(s->first + i) % WINDOW];
}

static void drop(struct side *s)
{
	s->first = (s->first + 1) % WINDOW;
	s->count--;
}

/* Printing. */

static bool same_field(const struct bf_rec_field *fa, const uint8_t *a, const struct bf_rec_field *fb, const uint8_t *b)
{
	return fa && fb && fa->size == fb->size && !memcmp(a + fa->offset, b + fb->offset, fa->size);
}

static void print_value(struct differ *d, const struct bf_rec_field *f, const uint8_t *fixed)
{
	if (!f)
		fputs(d->o->json ? "null" : "(no such field)", d->out);
	else if (d->o->json)
		bf_json_field(d->out, f, fixed);
	else
		bf_dump_field(d->out, f, fixed);
}

static void print_pair(struct differ *d, const char *name, const struct bf_rec_field *fa, const uint8_t *a,
		       const struct bf_rec_field *fb, const uint8_t *b, unsigned *n)
{
	fprintf(d->out, d->o->json ? "%s\"%s\":[" : "%s%s ", d->o->json && *n ? "," : d->o->json ? "" : "    ", name);
	print_value(d, fa, a);
	fputs(d->o->json ? "," : " -> ", d->out);
	print_value(d, fb, b);
	fputs(d->o->json ? "]" : "\n", d->out);
	++*n;
}

static const struct bf_rec_field time_field = { .name = "time", .unit = "", .size = 8, .kind = BF_FIELD_TIME };
static const struct bf_rec_field length_field = { .name = "tail", .unit = "B", .size = 4, .kind = BF_FIELD_DEC };
static const struct bf_rec_field byte_field = { .unit = "", .size = 1, .kind = BF_FIELD_HEX };

static void print_tails(struct differ *d, const struct bf_trace_record *a, const struct bf_trace_record *b, unsigned *n)
{
	if (a->tail_len != b->tail_len)
		print_pair(d, "tail_length", &length_field, (const uint8_t *)&a->tail_len, &length_field,
			   (const uint8_t *)&b->tail_len, n);
	for (uint32_t i = 0; i < a->tail_len && i < b->tail_len; i++) {
		char name[32];
		if (a->tail[i] == b->tail[i])
			continue;
		snprintf(name, sizeof(name), "tail[%" PRIu32 "]", i);
		print_pair(d, name, &byte_field, a->tail + i, &byte_field, b->tail + i, n);
		return; /* the first byte says where to look */
	}
}

static void print_fields(struct differ *d, const struct bf_trace_record *a, const struct bf_trace_record *b)
{
	const char *type = a->type->name;
	unsigned n = 0;
	if (a->time_ps != b->time_ps && !ignored(d->o, type, "time"))
		print_pair(d, "time", &time_field, (const uint8_t *)&a->time_ps, &time_field,
			   (const uint8_t *)&b->time_ps, &n);
	for (unsigned i = 0; i < a->type->nfields; i++) {
		const struct bf_rec_field *fa = &a->type->fields[i], *fb = bf_schema_field(b->type, fa->name);
		if (!same_field(fa, a->fixed, fb, b->fixed) && !ignored(d->o, type, fa->name))
			print_pair(d, fa->name, fa, a->fixed, fb, b->fixed, &n);
	}
	for (unsigned i = 0; i < b->type->nfields; i++) {
		const struct bf_rec_field *fb = &b->type->fields[i];
		if (!bf_schema_field(a->type, fb->name) && !ignored(d->o, type, fb->name))
			print_pair(d, fb->name, NULL, a->fixed, fb, b->fixed, &n);
	}
	if (!ignored(d->o, type, "tail"))
		print_tails(d, a, b, &n);
}

static void print_record(struct differ *d, const struct bf_trace *t, const struct bf_trace_record *rec,
			 const char *sign)
{
	if (d->o->json) {
		fprintf(d->out, "\"%s\":", sign);
		bf_json_record(d->out, rec, bf_trace_actor_name(t, rec->actor));
	} else {
		fprintf(d->out, "%s #%" PRIu64 " ", sign, rec->number);
		bf_dump_record(d->out, t, rec, false);
	}
}

static void print_context(struct differ *d)
{
	for (; d->context_count && !d->o->json; d->context_count--) {
		struct kept *k = &d->context[d->context_first];
		print_record(d, d->a.t, &k->rec, " ");
		d->context_first = (d->context_first + 1) % CONTEXT_MAX;
	}
}

/* One divergence: `a` and `b`, of which one may be NULL. */
static void print_divergence(struct differ *d, const struct bf_trace_record *a, const struct bf_trace_record *b)
{
	uint64_t limit = d->o->limit ? d->o->limit : 10;
	if (d->result.changed + d->result.only_a + d->result.only_b > limit)
		return;
	print_context(d);
	if (d->o->json)
		fprintf(d->out, "{\"divergence\":\"%s\",", a && b ? "changed" : a ? "only_a" : "only_b");
	if (a)
		print_record(d, d->a.t, a, d->o->json ? "a" : "-");
	if (a && b && d->o->json)
		putc(',', d->out);
	if (b)
		print_record(d, d->b.t, b, d->o->json ? "b" : "+");
	if (a && b) {
		fputs(d->o->json ? ",\"fields\":{" : "", d->out);
		print_fields(d, a, b);
		fputs(d->o->json ? "}" : "", d->out);
	}
	fputs(d->o->json ? "}\n" : "", d->out);
}

/* Comparing. */

/* `key` is a hash; two records are only called equal when all that is compared is. */
static bool equal(const struct differ *d, const struct kept *a, const struct kept *b)
{
	const struct bf_trace_record *ra = &a->rec, *rb = &b->rec;
	if (a->key != b->key || strcmp(ra->type->name, rb->type->name) || ra->type->nfields != rb->type->nfields ||
	    strcmp(bf_trace_actor_name(d->a.t, ra->actor), bf_trace_actor_name(d->b.t, rb->actor)))
		return false;
	const char *type = ra->type->name;
	if (ra->time_ps != rb->time_ps && !ignored(d->o, type, "time"))
		return false;
	for (unsigned i = 0; i < ra->type->nfields; i++) {
		const struct bf_rec_field *fa = &ra->type->fields[i], *fb = bf_schema_field(rb->type, fa->name);
		if (!same_field(fa, ra->fixed, fb, rb->fixed) && !ignored(d->o, type, fa->name))
			return false;
	}
	return ignored(d->o, type, "tail") ||
	       (ra->tail_len == rb->tail_len && !memcmp(ra->tail, rb->tail, ra->tail_len));
}

/* A meeting point must hold for two records, or one at the end: single records repeat too often. */
static bool meets(struct differ *d, size_t i, size_t j)
{
	if (peek(&d->a, i)->key != peek(&d->b, j)->key)
		return false;
	if (i + 1 >= d->a.count || j + 1 >= d->b.count)
		return true;
	return peek(&d->a, i + 1)->key == peek(&d->b, j + 1)->key;
}

/* The fewest records to skip on both sides until they agree; with none in sight, one on each. */
static void find_meeting(struct differ *d, size_t *skip_a, size_t *skip_b)
{
	for (size_t sum = 1; sum < d->a.count + d->b.count; sum++) {
		for (size_t i = 0; i <= sum; i++) {
			size_t j = sum - i;
			if (i < d->a.count && j < d->b.count && meets(d, i, j)) {
				*skip_a = i;
				*skip_b = j;
				return;
			}
		}
	}
	*skip_a = d->a.count != 0;
	*skip_b = d->b.count != 0;
}

static void diverge(struct differ *d)
{
	size_t skip_a, skip_b;
	find_meeting(d, &skip_a, &skip_b);
	while (skip_a || skip_b) {
		const struct bf_trace_record *a = skip_a ? &peek(&d->a, 0)->rec : NULL;
		const struct bf_trace_record *b = skip_b ? &peek(&d->b, 0)->rec : NULL;
		bool pair = a && b && !strcmp(a->type->name, b->type->name) &&
			    !strcmp(bf_trace_actor_name(d->a.t, a->actor), bf_trace_actor_name(d->b.t, b->actor));
		if (a && b && !pair) {
			if (skip_a >= skip_b)
				b = NULL;
			else
				a = NULL;
		}
		d->result.changed += pair;
		d->result.only_a += !b;
		d->result.only_b += !a;
		print_divergence(d, a, b);
		if (a)
			drop(&d->a), skip_a--;
		if (b)
			drop(&d->b), skip_b--;
	}
}

static int agree(struct differ *d)
{
	unsigned want = d->o->context < CONTEXT_MAX ? d->o->context : CONTEXT_MAX;
	d->result.equal++;
	if (want) {
		if (d->context_count == want) {
			d->context_first = (d->context_first + 1) % CONTEXT_MAX;
			d->context_count--;
		}
		struct kept *k = &d->context[(d->context_first + d->context_count++) % CONTEXT_MAX];
		if (keep(k, &peek(&d->a, 0)->rec))
			return bf_fail(d->err, -ENOMEM, "no memory to compare traces");
	}
	drop(&d->a);
	drop(&d->b);
	return 0;
}

static int compare(struct differ *d)
{
	for (;;) {
		int rc = fill(d, &d->a);
		if (!rc)
			rc = fill(d, &d->b);
		if (rc)
			return rc;
		if (!d->a.count && !d->b.count)
			return 0;
		if (d->a.count && d->b.count && equal(d, peek(&d->a, 0), peek(&d->b, 0)))
			rc = agree(d);
		else
			diverge(d);
		if (rc)
			return rc;
	}
}

int bf_diff(struct bf_trace *a, struct bf_trace *b, const struct bf_diff_options *options, FILE *out,
	    struct bf_diff_result *result, struct bf_error *err)
{
	static const struct bf_diff_options defaults;
	struct differ *d = calloc(1, sizeof(*d));
	if (!d)
		return bf_fail(err, -ENOMEM, "no memory to compare traces");
	d->o = options ? options : &defaults;
	d->out = out;
	d->err = err;
	d->a.t = a;
	d->b.t = b;
	int rc = compare(d);
	const struct bf_diff_result r = d->result;
	if (result)
		*result = r;
	for (size_t i = 0; i < WINDOW; i++) {
		free(d->a.ring[i].raw.at);
		free(d->b.ring[i].raw.at);
	}
	for (size_t i = 0; i < CONTEXT_MAX; i++)
		free(d->context[i].raw.at);
	free(d->room.at);
	free(d);
	if (rc)
		return rc;
	if (r.damage)
		return bf_fail(err, -EBADMSG, "%" PRIu64 " damaged stretch%s in the traces; the rest was compared",
			       r.damage, r.damage == 1 ? "" : "es");
	return r.changed || r.only_a || r.only_b;
}
