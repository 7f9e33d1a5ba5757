/*
 * Stores that others could not see at once, with the reads of devices that fell into that time. First those that were
 * read too early, then those that waited longest.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "sim/event.h"
#include "sim/grow.h"
#include "tools/pictures/page_internal.h"
#include "traces/container/number_map_internal.h"

#define READS_MAX 8u /* of one store, in the page */

struct store {
	uint64_t va, len, issued_ps, visible_ps; /* BF_NEVER: not visible when the trace ends */
	uint64_t reads[READS_MAX];
	uint32_t actor, nreads;
	bool late; /* a device read what was there before */
};

struct stores {
	struct store *all;
	size_t count, cap;
	uint32_t *waiting; /* numbers of those that are not visible yet */
	size_t nwaiting, cap_waiting;
	struct bf_number_map by_seq; /* thread and its count of stores: number plus 1 */
	bool buffered;               /* some store was visible later than it was issued */
};

static int add_store(struct stores *s, const struct bf_trace_record *rec)
{
	uint64_t seq = 0;
	struct store *st;

	if (BF_GROW(s->all, s->cap, s->count + 1))
		return -ENOMEM;
	if (BF_GROW(s->waiting, s->cap_waiting, s->nwaiting + 1))
		return -ENOMEM;
	st = &s->all[s->count];
	*st = (struct store){ .actor = rec->actor, .issued_ps = rec->time_ps, .visible_ps = BF_NEVER };
	bf_trace_field_u64(rec, "va", &st->va);
	bf_trace_field_u64(rec, "len", &st->len);
	bf_trace_field_u64(rec, "seq", &seq);
	s->waiting[s->nwaiting++] = (uint32_t)s->count++;
	return bf_number_put(&s->by_seq, (uint64_t[3]){ rec->actor, seq, 0 }, s->count);
}

static void make_visible(struct stores *s, const struct bf_trace_record *rec)
{
	uint64_t seq = 0, at;

	bf_trace_field_u64(rec, "seq", &seq);
	at = bf_number_get(&s->by_seq, (uint64_t[3]){ rec->actor, seq, 0 });
	if (!at)
		return;
	bf_number_take_out(&s->by_seq, bf_number_find(&s->by_seq, (uint64_t[3]){ rec->actor, seq, 0 }));
	s->all[at - 1].visible_ps = rec->time_ps;
	s->buffered |= rec->time_ps > s->all[at - 1].issued_ps;
	for (size_t i = 0; i < s->nwaiting; i++) {
		if (s->waiting[i] == at - 1) {
			s->waiting[i] = s->waiting[--s->nwaiting];
			return;
		}
	}
}

static void note_read(struct stores *s, const struct bf_trace_record *rec)
{
	uint64_t va = 0, len = 0;

	bf_trace_field_u64(rec, "va", &va);
	bf_trace_field_u64(rec, "len", &len);
	for (size_t i = 0; i < s->nwaiting; i++) {
		struct store *st = &s->all[s->waiting[i]];

		if (st->va >= va + len || va >= st->va + st->len)
			continue;
		st->late = true;
		if (st->nreads < READS_MAX)
			st->reads[st->nreads++] = rec->time_ps;
	}
}

static int compare(const void *a, const void *b)
{
	const struct store *x = a, *y = b;
	const uint64_t xw = x->visible_ps - x->issued_ps, yw = y->visible_ps - y->issued_ps;

	if (x->late != y->late)
		return x->late ? -1 : 1;
	if (xw != yw)
		return xw > yw ? -1 : 1;
	return x->issued_ps != y->issued_ps ? (x->issued_ps < y->issued_ps ? -1 : 1)
					    : (x->va > y->va) - (x->va < y->va);
}

static void put_store(struct bf_json *j, const struct bf_trace *t, const struct store *s)
{
	bf_json_open(j, NULL, '[');
	bf_json_text(j, NULL, bf_trace_actor_name(t, s->actor));
	bf_json_hex(j, NULL, s->va);
	bf_json_u64(j, NULL, s->len);
	bf_json_u64(j, NULL, s->issued_ps);
	fprintf(j->out, ",%lld", s->visible_ps == BF_NEVER ? -1ll : (long long)s->visible_ps);
	bf_json_open(j, NULL, '[');
	for (uint32_t i = 0; i < s->nreads; i++)
		bf_json_u64(j, NULL, s->reads[i]);
	bf_json_close(j, ']');
	bf_json_close(j, ']');
}

static int read_all(struct stores *s, struct bf_trace *t)
{
	struct bf_trace_record rec;
	int rc = 0, damage = 0;

	while (!rc && (rc = bf_trace_next_good(t, &rec, &damage)) > 0) {
		rc = 0;
		if (strcmp(rec.type->name, "store") == 0)
			rc = add_store(s, &rec);
		else if (strcmp(rec.type->name, "store_visible") == 0)
			make_visible(s, &rec);
		else if (strcmp(rec.type->name, "dma_read") == 0)
			note_read(s, &rec);
	}
	return rc ? rc : damage;
}

int bf_page_stores(struct bf_json *j, struct bf_trace *t, const struct bf_page_job *job)
{
	struct stores s = { 0 };
	int rc = read_all(&s, t);
	size_t n = 0;

	if (rc == -ENOMEM)
		bf_fail(job->err, rc, "out of memory for the page");
	/* Where nothing ever waited, stores are visible at once, and no record says so. */
	for (size_t i = 0; s.buffered && i < s.count; i++) {
		if (s.all[i].visible_ps > s.all[i].issued_ps)
			s.all[n++] = s.all[i];
	}
	if (n)
		qsort(s.all, n, sizeof(*s.all), compare);
	bf_json_open(j, "stores", '[');
	for (size_t i = 0; i < n && i < BF_PAGE_STORES; i++)
		put_store(j, t, &s.all[i]);
	bf_json_close(j, ']');
	bf_json_u64(j, "storesLeft", n > BF_PAGE_STORES ? n - BF_PAGE_STORES : 0);
	free(s.all);
	free(s.waiting);
	bf_number_map_free(&s.by_seq);
	return rc;
}
