#include "traces/rules/stores_internal.h"

#include <stdlib.h>
#include <string.h>

#include "sim/bytes.h"
#include "sim/mem.h"

#define NONE UINT32_MAX
/* Few stores are in buffers at a time: tables that stay in a first-level cache are worth more than short chains. */
#define HASH_BITS 10u
#define BUCKETS (1u << HASH_BITS)
#define RECENT 128u
#define LATES 1024u
#define SHOWN 64u
/* More stores than any machine buffers: a stream that comes here has no store_visible records. */
#define PENDING_MAX (1u << 16)
#define PAGE_BITS 12u
#define PLACES 64u
#define RING_ENTRIES_MAX (1u << 20)
#define AREA_MAX (64u << 20)
#define PAGES_MAX (1u << 22) /* of all rings, 16 GiB: what a stream says of rings asks for no more memory than this */
#define NEAR 16u

struct entry {
	uint32_t next_key;             /* in its bucket, or of the free ones */
	uint32_t next_line, prev_line; /* in its bucket; NONE: the first or last */
	bool pending;                  /* it is in the buckets */
	struct bf_store store;
	uint64_t late; /* its latest number in `lates`, 0: none */
};

struct page {
	uint64_t number;
	struct bf_ring *ring; /* NULL: free */
};

struct bf_stores {
	struct entry *pool;
	/*
	 * Free entries are used again in the order in which they became free, and never the last RECENT of them: they
	 * still hold the stores of `recent` and `shown`.
	 */
	uint32_t npool, nfree, first_free, last_free, count;
	bool buffered, unbuffered, failed;
	uint64_t nrecent, nshown, nlates;
	uint32_t recent[RECENT];                    /* the last ones that were issued */
	uint32_t shown[SHOWN];                      /* the last ones that became visible */
	uint32_t in_page[PLACES], of_actor[PLACES]; /* how many are in the buckets, by a page's or thread's number */
	uint32_t by_key[BUCKETS], by_line[BUCKETS];
	struct bf_store lates[LATES]; /* number n, from 1, at n % LATES */
	struct bf_ring *rings;
	struct page *pages; /* open addressing */
	uint32_t npages, page_cap;
	/* The only ring on a page, or NULL for none, of pages that were asked about: at number % NEAR. */
	struct page near[NEAR];
};

/* No page has such a number. */
static void forget_pages(struct bf_stores *s)
{
	for (uint32_t i = 0; i < NEAR; i++)
		s->near[i] = (struct page){ .number = UINT64_MAX };
}

/* Neighbours stay neighbours: what a thread stores one after the other shares lines of the tables. */
static uint32_t key_of(uint32_t actor, uint64_t seq)
{
	return (uint32_t)(seq + actor * 89) % BUCKETS;
}

static uint32_t line_of(uint64_t va)
{
	const uint64_t line = va / BF_LINE;

	return (uint32_t)(line ^ line >> HASH_BITS ^ line >> 2 * HASH_BITS) % BUCKETS;
}

struct bf_stores *bf_stores_open(void)
{
	struct bf_stores *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	for (uint32_t i = 0; i < BUCKETS; i++)
		s->by_key[i] = s->by_line[i] = NONE;
	forget_pages(s);
	return s;
}

void bf_stores_close(struct bf_stores *s)
{
	struct bf_ring *next;

	if (!s)
		return;
	for (struct bf_ring *r = s->rings; r; r = next) {
		next = r->next;
		free(r->samples);
		free(r);
	}
	free(s->pages);
	free(s->pool);
	free(s);
}

bool bf_stores_failed(const struct bf_stores *s)
{
	return s->failed;
}

bool bf_stores_buffered(const struct bf_stores *s)
{
	return s->buffered;
}

/* ---- stores ---- */

/* More free entries, to be used before those that are free already. */
static bool grow(struct bf_stores *s)
{
	const uint32_t n = s->npool + s->npool / 2 + 2 * RECENT;
	struct entry *grown = realloc(s->pool, n * sizeof(*grown));

	if (!grown)
		return false;
	for (uint32_t i = n; i-- > s->npool;) {
		grown[i] = (struct entry){ .next_key = s->nfree ? s->first_free : NONE };
		s->last_free = s->nfree++ ? s->last_free : i;
		s->first_free = i;
	}
	s->pool = grown;
	s->npool = n;
	return true;
}

static struct entry *take_free(struct bf_stores *s)
{
	struct entry *x;

	if (BF_UNLIKELY(s->nfree <= RECENT) && !grow(s)) {
		s->failed = true;
		return NULL;
	}
	x = &s->pool[s->first_free];
	s->recent[s->nrecent++ % RECENT] = s->first_free;
	s->first_free = x->next_key;
	s->nfree--;
	bf_rule_expect(&s->pool[s->first_free], sizeof(*x));
	return x;
}

static void give_back(struct bf_stores *s, uint32_t i)
{
	s->pool[i].pending = false;
	s->pool[s->last_free].next_key = i;
	s->last_free = i;
	s->nfree++;
}

/* None is waited for any longer. */
static void forget_pending(struct bf_stores *s)
{
	for (uint32_t i = 0; i < BUCKETS; i++)
		s->by_key[i] = s->by_line[i] = NONE;
	for (uint32_t i = 0; i < s->npool; i++)
		if (s->pool[i].pending)
			give_back(s, i);
	memset(s->in_page, 0, sizeof(s->in_page));
	memset(s->of_actor, 0, sizeof(s->of_actor));
	s->count = 0;
}

/* The first bytes of a store. Nearly all are of 4 or 8. */
static void take_bytes(uint8_t *to, const uint8_t *from, uint32_t len)
{
	const uint64_t first = len == 8 ? bf_get_le64(from) : len == 4 ? bf_get_le32(from) : 0;

	bf_put_le64(to, first);
	bf_put_le64(to + 8, 0);
	if (len != 4 && len != 8)
		memcpy(to, from, len < 16 ? len : 16);
}

static void enter(struct bf_stores *s, struct entry *x)
{
	uint32_t *key = &s->by_key[key_of(x->store.actor, x->store.seq)], *line = &s->by_line[line_of(x->store.va)];
	const uint32_t i = (uint32_t)(x - s->pool);

	x->late = 0;
	x->pending = true;
	x->next_key = *key;
	x->next_line = *line;
	x->prev_line = NONE;
	if (*line != NONE)
		s->pool[*line].prev_line = i;
	*key = *line = i;
	s->in_page[(x->store.va >> PAGE_BITS) % PLACES]++;
	s->of_actor[x->store.actor % PLACES]++;
	s->count++;
}

bool bf_stores_issue(struct bf_stores *s, const struct bf_seen *e, uint64_t seq, uint64_t va)
{
	struct entry *x = take_free(s);

	if (!x)
		return false;
	x->store.actor = e->actor;
	x->store.len = e->tail_len;
	x->store.seq = seq;
	x->store.va = va;
	x->store.issued_ps = e->time_ps;
	x->store.visible_ps = BF_NEVER;
	x->store.record = e->number;
	x->store.visible_record = UINT64_MAX;
	take_bytes(x->store.bytes, e->tail, e->tail_len);
	if (s->unbuffered) {
		give_back(s, (uint32_t)(x - s->pool));
		return true;
	}
	if (BF_UNLIKELY(s->count == PENDING_MAX)) {
		s->unbuffered = !s->buffered;
		forget_pending(s);
	}
	enter(s, x);
	return true;
}

static void unlink_line(struct bf_stores *s, const struct entry *p)
{
	if (p->next_line != NONE)
		s->pool[p->next_line].prev_line = p->prev_line;
	if (p->prev_line != NONE)
		s->pool[p->prev_line].next_line = p->next_line;
	else
		s->by_line[line_of(p->store.va)] = p->next_line;
}

const struct bf_store *bf_stores_show(struct bf_stores *s, uint32_t actor, uint64_t seq, uint64_t now_ps,
				      uint64_t record)
{
	uint32_t *at = &s->by_key[key_of(actor, seq)], i;
	struct entry *x;

	s->buffered = true;
	s->unbuffered = false;
	for (; (i = *at) != NONE; at = &s->pool[i].next_key)
		if (s->pool[i].store.seq == seq && s->pool[i].store.actor == actor)
			break;
	if (i == NONE)
		return NULL;
	x = &s->pool[i];
	*at = x->next_key;
	unlink_line(s, x);
	give_back(s, i);
	s->in_page[(x->store.va >> PAGE_BITS) % PLACES]--;
	s->of_actor[x->store.actor % PLACES]--;
	s->count--;
	s->shown[s->nshown++ % SHOWN] = i;
	x->store.visible_ps = now_ps;
	x->store.visible_record = record;
	if (BF_UNLIKELY(x->late) && s->nlates - x->late < LATES)
		s->lates[x->late % LATES] = x->store;
	return &x->store;
}

const struct bf_store *bf_stores_shown(const struct bf_stores *s, uint32_t back)
{
	return back < s->nshown && back < SHOWN ? &s->pool[s->shown[(s->nshown - 1 - back) % SHOWN]].store : NULL;
}

/* A store is at most a line long and may begin in the line before. */
static uint64_t first_line(uint64_t va)
{
	return va / BF_LINE - (va >= BF_LINE);
}

/* No store that is not visible begins in or just before these pages. */
static bool none_late(const struct bf_stores *s, uint64_t va, uint64_t len)
{
	const uint64_t first = first_line(va) * BF_LINE >> PAGE_BITS, last = (va + len - 1) >> PAGE_BITS;

	for (uint64_t page = first; page <= last && page - first < PLACES; page++)
		if (s->in_page[page % PLACES])
			return false;
	return true;
}

uint32_t bf_stores_waiting(const struct bf_stores *s, uint32_t actor)
{
	return s->of_actor[actor % PLACES];
}

/* The latest store of a bucket that lies in [va, va + len), of those that begin in `line`, or in any line. */
static const struct bf_store *latest_in(const struct bf_stores *s, uint32_t bucket, uint64_t va, uint64_t len,
					uint64_t line, bool any_line, const struct bf_store *late)
{
	for (uint32_t i = s->by_line[bucket]; i != NONE; i = s->pool[i].next_line) {
		const struct bf_store *x = &s->pool[i].store;

		if (x->va < va + len && va < x->va + x->len && (any_line || x->va / BF_LINE == line) &&
		    (!late || x->record > late->record))
			late = x;
	}
	return late;
}

const struct bf_store *bf_stores_late(const struct bf_stores *s, uint64_t va, uint64_t len)
{
	const struct bf_store *late = NULL;

	if (len == 0 || va + len < va || none_late(s, va, len))
		return NULL;
	if (len / BF_LINE > BUCKETS) {
		for (uint32_t bucket = 0; bucket < BUCKETS; bucket++)
			late = latest_in(s, bucket, va, len, 0, true, late);
		return late;
	}
	for (uint64_t line = first_line(va); line <= (va + len - 1) / BF_LINE; line++)
		late = latest_in(s, line_of(line * BF_LINE), va, len, line, false, late);
	return late;
}

const struct bf_store *bf_stores_recent(const struct bf_stores *s, uint32_t back)
{
	return back < s->nrecent && back < RECENT ? &s->pool[s->recent[(s->nrecent - 1 - back) % RECENT]].store : NULL;
}

/* ---- rings ---- */

static uint32_t page_place(const struct bf_stores *s, uint64_t number)
{
	return (uint32_t)(number * 0x9e3779b97f4a7c15ull >> 32) & (s->page_cap - 1);
}

static void put_page(struct bf_stores *s, uint64_t number, struct bf_ring *ring)
{
	uint32_t i = page_place(s, number);

	while (s->pages[i].ring)
		i = (i + 1) & (s->page_cap - 1);
	s->pages[i] = (struct page){ number, ring };
	s->npages++;
}

static bool grow_pages(struct bf_stores *s, uint32_t more)
{
	const uint32_t old_cap = s->page_cap;
	struct page *old = s->pages;

	if ((s->npages + more) * 2 <= s->page_cap)
		return true;
	if (s->npages + more > PAGES_MAX)
		return false;
	while ((s->npages + more) * 2 > s->page_cap)
		s->page_cap = s->page_cap ? s->page_cap * 2 : 64;
	s->pages = calloc(s->page_cap, sizeof(*s->pages));
	if (!s->pages) {
		s->pages = old;
		s->page_cap = old_cap;
		return false;
	}
	s->npages = 0;
	for (uint32_t i = 0; i < old_cap; i++)
		if (old[i].ring)
			put_page(s, old[i].number, old[i].ring);
	free(old);
	return true;
}

static void drop_pages(struct bf_stores *s, const struct bf_ring *ring)
{
	const uint32_t cap = s->page_cap;
	struct page *old = s->pages;

	/* Rings are replaced rarely: building the table anew is simpler than deleting from it. */
	s->pages = calloc(cap, sizeof(*s->pages));
	if (!s->pages) {
		s->pages = old;
		s->failed = true;
		return;
	}
	s->npages = 0;
	for (uint32_t i = 0; i < cap; i++)
		if (old[i].ring && old[i].ring != ring)
			put_page(s, old[i].number, old[i].ring);
	free(old);
}

static struct bf_ring *empty_ring(struct bf_stores *s, struct bf_ring *old)
{
	struct bf_ring *r = old ? old : calloc(1, sizeof(*r));

	if (old) {
		drop_pages(s, old);
		free(old->samples);
		old->samples = NULL;
	} else if (r) {
		r->next = s->rings;
		s->rings = r;
	}
	return r;
}

static struct bf_ring *note_ring(struct bf_stores *s, struct bf_ring *old, const struct bf_ring *is, bool sampled)
{
	const uint64_t len = (uint64_t)is->bytes * is->entries;
	struct bf_ring *r, *next;

	forget_pages(s);
	r = empty_ring(s, old);
	if (!r)
		return NULL;
	next = r->next;
	*r = *is;
	r->next = next;
	r->samples = sampled ? calloc((size_t)r->entries * 2, sizeof(*r->samples)) : NULL;
	if ((sampled && !r->samples) || !grow_pages(s, (uint32_t)(len >> PAGE_BITS) + 2)) {
		r->entries = 0;
		s->failed = true;
		return NULL;
	}
	for (uint64_t page = r->va >> PAGE_BITS; page <= (r->va + len - 1) >> PAGE_BITS; page++)
		put_page(s, page, r);
	return r;
}

struct bf_ring *bf_stores_ring(struct bf_stores *s, struct bf_ring *old, struct bf_rule_queue *queue, uint64_t va,
			       uint32_t bytes, uint32_t entries)
{
	const struct bf_ring is = { .queue = queue, .va = va, .bytes = bytes, .entries = entries };

	if (!bytes || !entries || entries > RING_ENTRIES_MAX || bytes > 4096 || va + (uint64_t)bytes * entries < va)
		return NULL;
	return note_ring(s, old, &is, true);
}

struct bf_ring *bf_stores_area(struct bf_stores *s, struct bf_ring *old, struct bf_rule_queue *queue, uint64_t va,
			       uint64_t len)
{
	const struct bf_ring is = { .queue = queue, .va = va, .bytes = (uint32_t)len, .entries = 1 };

	if (!len || len > AREA_MAX || va + len < va)
		return NULL;
	return note_ring(s, old, &is, false);
}

void bf_stores_drop(struct bf_stores *s, struct bf_ring *r)
{
	forget_pages(s);
	drop_pages(s, r);
	r->entries = 0;
}

/* `*i` is where to go on looking; start with page_place(). */
static struct bf_ring *next_on_page(const struct bf_stores *s, uint64_t number, uint32_t *i)
{
	while (s->pages[*i].ring) {
		const struct page *p = &s->pages[*i];

		*i = (*i + 1) & (s->page_cap - 1);
		if (p->number == number)
			return p->ring;
	}
	return NULL;
}

static bool lies_in(const struct bf_ring *r, uint64_t va)
{
	return va - r->va < (uint64_t)r->bytes * r->entries;
}

struct bf_ring *bf_stores_ring_at(struct bf_stores *s, uint64_t va)
{
	const uint64_t number = va >> PAGE_BITS;
	struct page *near = &s->near[number % NEAR];
	struct bf_ring *r, *first;
	uint32_t i;

	if (near->number == number)
		return near->ring && lies_in(near->ring, va) ? near->ring : NULL;
	if (!s->npages)
		return NULL;
	i = page_place(s, number);
	first = r = next_on_page(s, number, &i);
	while (r && !lies_in(r, va))
		r = next_on_page(s, number, &i);
	if (!first || (r == first && !next_on_page(s, number, &i)))
		*near = (struct page){ number, first };
	return r;
}

/* Remembers the late store in these bytes. Its number; 0: all is visible. */
static uint64_t note_late(struct bf_stores *s, uint64_t va, uint64_t len)
{
	const struct bf_store *late = bf_stores_late(s, va, len);
	struct entry *p = late ? BF_CONTAINER_OF(late, struct entry, store) : NULL;

	if (!p)
		return 0;
	if (!p->late || s->nlates - p->late >= LATES) {
		p->late = ++s->nlates;
		s->lates[p->late % LATES] = *late;
	}
	return p->late;
}

const struct bf_store *bf_sample_late(const struct bf_stores *s, const struct bf_sample *sample)
{
	return sample->late && s->nlates - sample->late < LATES ? &s->lates[sample->late % LATES] : NULL;
}

static void sample(struct bf_stores *s, struct bf_ring *r, uint64_t va, uint64_t end, const struct bf_seen *e)
{
	const uint64_t ring_end = r->va + (uint64_t)r->bytes * r->entries;
	const uint64_t from = va > r->va ? va : r->va, to = end < ring_end ? end : ring_end;

	if (from >= to || !r->samples)
		return;
	for (uint64_t slot = (from - r->va) / r->bytes; slot <= (to - 1 - r->va) / r->bytes; slot++) {
		struct bf_sample *two = &r->samples[slot * 2];

		two[1] = two[0];
		two[0] = (struct bf_sample){ .sampled_ps = e->time_ps,
					     .done_ps = e->dma_read.done_ps,
					     .record = e->number + 1,
					     .late = note_late(s, r->va + slot * r->bytes, r->bytes) };
	}
}

void bf_stores_sample(struct bf_stores *s, const struct bf_seen *e)
{
	const uint64_t va = e->dma_read.va, end = va + e->dma_read.len;

	/* No fetch of entries is much longer than all rings together. */
	if (!s->npages || e->dma_read.status || end <= va || (end - va) >> PAGE_BITS > s->npages + 16)
		return;
	for (uint64_t page = va >> PAGE_BITS; page <= (end - 1) >> PAGE_BITS; page++) {
		const uint64_t from = page << PAGE_BITS, to = from + (1u << PAGE_BITS);
		uint32_t i = page_place(s, page);
		struct bf_ring *r;

		while ((r = next_on_page(s, page, &i)) != NULL)
			sample(s, r, va > from ? va : from, end < to ? end : to, e);
	}
}

const struct bf_sample *bf_ring_sample(const struct bf_ring *r, uint32_t slot, uint64_t by_ps)
{
	if (slot >= r->entries || !r->samples)
		return NULL;
	for (uint32_t i = 0; i < 2; i++) {
		const struct bf_sample *x = &r->samples[slot * 2 + i];

		if (x->record && x->done_ps <= by_ps)
			return x;
	}
	return NULL;
}
