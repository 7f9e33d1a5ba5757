/* Store buffers: how a store waits, moves up and becomes visible. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "sim/notice_internal.h"
#include "sim/pcie.h"
#include "sim/records_agent.h"
#include "sim/view_internal.h"

#define CHOSEN_NEVER BF_S /* somebody moves it on before */
#define SLAB_STORES 64
#define BUCKET_STORES 10 /* on average, at most */

struct bf_store_slab {
	struct bf_store_slab *next;
	struct bf_buffered store[SLAB_STORES];
};

struct bf_buffered *bf_stores_take(struct bf_sim *sim)
{
	struct bf_agents *ags = sim->agents;
	struct bf_buffered *e = ags->free_store;

	if (BF_UNLIKELY(!e)) {
		struct bf_store_slab *slab = malloc(sizeof(*slab));

		if (!slab) {
			bf_fail(&sim->error, -ENOMEM, "no memory for stores that are under way");
			return NULL;
		}
		slab->next = ags->slabs;
		ags->slabs = slab;
		for (uint32_t i = 0; i < SLAB_STORES; i++) {
			slab->store[i].next = e;
			e = &slab->store[i];
		}
	}
	ags->free_store = e->next;
	ags->stores++;
	return e;
}

static void give_back(struct bf_sim *sim, struct bf_buffered *e)
{
	e->next = sim->agents->free_store;
	sim->agents->free_store = e;
	sim->agents->stores--;
}

void bf_stores_free(struct bf_agents *ags)
{
	while (ags->slabs) {
		struct bf_store_slab *slab = ags->slabs;

		ags->slabs = slab->next;
		free(slab);
	}
}

int bf_buffer_init(struct bf_buffer *b, struct bf_sim *sim, enum bf_level level, struct bf_buffer *above,
		   uint32_t bucket_bits)
{
	*b = (struct bf_buffer){ .sim = sim, .level = level, .above = above, .bucket_bits = bucket_bits };
	b->bucket = calloc((size_t)1 << bucket_bits, sizeof(*b->bucket));
	return b->bucket ? 0 : -ENOMEM;
}

void bf_buffer_fini(struct bf_buffer *b)
{
	bf_buffer_push(b, BF_LEVEL_MEMORY, NULL, BF_CAUSE_END);
	free(b->bucket);
	b->bucket = NULL;
}

static struct bf_bucket *bucket_of(const struct bf_buffer *b, const uint8_t *line)
{
	const uint64_t x = (uintptr_t)line / BF_LINE;

	/* Neighbours stay neighbours, and rings a power of two apart do not meet. */
	return &b->bucket[(x ^ x >> b->bucket_bits ^ x >> 2 * b->bucket_bits) & ((1u << b->bucket_bits) - 1)];
}

static void enter_bucket(struct bf_buffer *b, struct bf_buffered *e)
{
	struct bf_bucket *k = bucket_of(b, bf_line_of(e->at));

	e->line_next = NULL;
	e->line_prev = k->last;
	*(k->last ? &k->last->line_next : &k->first) = e;
	k->last = e;
}

/* Buckets stay short however many threads share a GPU. On lack of memory they grow long instead. */
static void grow(struct bf_buffer *b)
{
	const uint32_t bits = b->bucket_bits + 1;
	struct bf_bucket *bucket = calloc((size_t)1 << bits, sizeof(*bucket));

	if (!bucket)
		return;
	free(b->bucket);
	b->bucket = bucket;
	b->bucket_bits = bits;
	for (struct bf_buffered *e = b->first; e; e = e->next)
		enter_bucket(b, e);
}

static void append(struct bf_buffer *b, struct bf_buffered *e)
{
	if (BF_UNLIKELY(b->count >> b->bucket_bits >= BUCKET_STORES))
		grow(b);
	e->in = b;
	e->next = NULL;
	e->prev = b->last;
	*(b->last ? &b->last->next : &b->first) = e;
	b->last = e;
	enter_bucket(b, e);
	b->count++;
}

static void detach(struct bf_buffered *e)
{
	struct bf_buffer *b = e->in;
	struct bf_bucket *k = bucket_of(b, bf_line_of(e->at));

	*(e->prev ? &e->prev->next : &b->first) = e->next;
	*(e->next ? &e->next->prev : &b->last) = e->prev;
	*(e->line_prev ? &e->line_prev->line_next : &k->first) = e->line_next;
	*(e->line_next ? &e->line_next->line_prev : &k->last) = e->line_prev;
	b->count--;
	bf_sim_cancel(b->sim, &e->drain);
}

static void record_visible(struct bf_sim *sim, const struct bf_buffered *e, enum bf_view_cause cause)
{
	const uint64_t now = bf_agents_now(sim);

	BF_EMIT(sim, e->actor, store_visible, .va = bf_va(e->region, e->at), .seq = e->seq,
		.age = now > e->issued_ps ? now - e->issued_ps : 0, .len = e->len, .cause = cause);
}

/* Memory has it, or the device is about to: the end of a store's way. */
static void commit(struct bf_sim *sim, struct bf_buffered *e, enum bf_view_cause cause)
{
	/* Who wants no stores to registers is not told when they set out. */
	if (bf_probe(sim, BF_CLASS_MEM) &&
	    (e->region->kind != BF_MEM_MMIO || bf_stream_wants(&sim->rec, BF_REC_ID_mmio_store)))
		record_visible(sim, e, cause);
	if (e->region->kind != BF_MEM_MMIO) {
		bf_memory_store(e->region, e->at, e->data, e->len, (enum bf_path)e->path, e->actor);
		sim->agents->draining = e->origin;
		bf_mem_touched(e->region, e->at, e->len);
		sim->agents->draining = NULL;
	} else if (cause != BF_CAUSE_END) {
		bf_mmio_post(e->region, (uint64_t)(e->at - e->region->bytes), e->data, e->len);
	}
	give_back(sim, e);
}

/* May `later` not become visible before `earlier`? */
static bool ordered(const struct bf_buffered *earlier, const struct bf_buffered *later)
{
	if (later->ordering == BF_ORDER_TSO)
		return true;
	if (later->ordering == BF_ORDER_GPU || later->region->kind == BF_MEM_MMIO)
		return bf_line_of(earlier->at) == bf_line_of(later->at);
	return earlier->at < later->at + later->len && later->at < earlier->at + earlier->len;
}

static bool covers(const struct bf_buffered *later, const struct bf_buffered *earlier)
{
	return later->at <= earlier->at && earlier->at + earlier->len <= later->at + later->len;
}

/* A newer store of the same bytes takes over the older one's turn: nobody above will see the older value. */
static uint64_t merge(struct bf_buffered *e, uint64_t due)
{
	struct bf_sim *sim = e->in->sim;

	for (struct bf_buffered *o = e->line_prev, *prev; o; o = prev) {
		prev = o->line_prev;
		if (!covers(e, o))
			continue;
		if (o->drain.when < due)
			due = o->drain.when;
		record_visible(sim, o, BF_CAUSE_MERGED);
		detach(o);
		give_back(sim, o);
	}
	return due;
}

static void hop(struct bf_buffered *e, enum bf_level stop, enum bf_view_cause cause);

void bf_buffer_drain(struct bf_event *ev)
{
	struct bf_buffered *e = BF_CONTAINER_OF(ev, struct bf_buffered, drain);

	hop(e, e->in->level, BF_CAUSE_DRAIN);
}

static bool is_ready(const struct bf_buffered *e)
{
	const struct bf_buffered *o = e->prev;

	while (o && !ordered(o, e))
		o = o->prev;
	return !o;
}

uint32_t bf_buffer_ready(const struct bf_buffer *b)
{
	uint32_t n = 0;

	for (const struct bf_buffered *e = b->first; e; e = e->next)
		n += is_ready(e);
	return n;
}

void bf_buffer_drain_ready(struct bf_buffer *b, uint32_t i)
{
	struct bf_buffered *e = b->first;

	while (e && (!is_ready(e) || i--))
		e = e->next;
	if (e)
		hop(e, b->level, BF_CAUSE_DRAIN);
}

/* Where somebody chooses, a store moves on at once, or as late as nothing forces it. */
static uint64_t delay_of(const struct bf_buffered *e, const struct bf_buffer *b, uint64_t now)
{
	const uint64_t until = e->issued_ps + BF_CHOSEN_LATE;
	struct bf_chooser *c = b->sim->chooser;

	if (BF_LIKELY(!c))
		return e->delay_ps[b->level];
	if (c->untimed)
		return CHOSEN_NEVER;
	return !e->delay_ps[b->level] || now >= until ? 0 : until - now;
}

/* It has arrived in its buffer: who would see that, and what if it stayed. */
static void notice(const struct bf_buffered *e, struct bf_buffer *b, uint64_t now)
{
	const uint64_t until = e->issued_ps + BF_CHOSEN_LATE;

	if (b->level != BF_LEVEL_THREAD)
		bf_notice_write(b->sim, e->origin, e->at, e->len);
	bf_notice_arrival(b, e, until);
	if (e->region->kind != BF_MEM_MMIO && !e->delay_ps[b->level] && until > now)
		bf_notice_store(b, e, bf_view_key(BF_CHOICE_DRAIN, e->actor, b->level, e->seq), until);
}

/* Decides when a store that has arrived in its buffer goes on: after its delay, and not before those it must follow. */
static void settle(struct bf_buffered *e)
{
	struct bf_buffer *b = e->in;
	const uint64_t now = bf_agents_now(b->sim);
	const bool fifo = e->ordering == BF_ORDER_TSO;
	uint64_t due = now + delay_of(e, b, now);
	bool follows = false;

	if (bf_noticing(b->sim))
		notice(e, b, now);
	if (!fifo && e->region->kind != BF_MEM_MMIO)
		due = merge(e, due);
	for (const struct bf_buffered *o = fifo ? e->prev : e->line_prev; o; o = fifo ? NULL : o->line_prev) {
		if (!ordered(o, e))
			continue;
		follows = true;
		if (o->drain.when > due)
			due = o->drain.when;
	}
	if (due <= now && !follows)
		hop(e, b->level, BF_CAUSE_DRAIN);
	else
		bf_sim_at(b->sim, &e->drain, due);
}

struct bf_buffer *bf_buffer_above(const struct bf_buffer *b, const struct bf_region *r)
{
	if (b->above && b->above->level == BF_LEVEL_GPU && r->kind == BF_MEM_VRAM)
		return NULL;
	return b->above;
}

/* Moves a store one level up. Short of level `stop` it is about to be moved again and needs no time of its own. */
static void hop(struct bf_buffered *e, enum bf_level stop, enum bf_view_cause cause)
{
	struct bf_buffer *from = e->in, *to = bf_buffer_above(from, e->region);

	detach(e);
	if (from->stale)
		bf_stale_drop_line(from, bf_line_of(e->at));
	if (to && to->level < stop)
		append(to, e);
	else
		bf_buffer_place(to, e, cause);
}

void bf_buffer_place(struct bf_buffer *b, struct bf_buffered *e, enum bf_view_cause cause)
{
	struct bf_sim *sim = e->region->space->sim;

	if (!b) {
		commit(sim, e, cause);
		return;
	}
	append(b, e);
	if (b->level != BF_LEVEL_THREAD && BF_UNLIKELY(sim->slow & BF_SLOW_WATCH))
		bf_agents_line_touched(sim, bf_line_of(e->at));
	settle(e);
}

static uint32_t push_all(struct bf_buffer *b, enum bf_level level, enum bf_view_cause cause)
{
	uint32_t n = 0;

	for (struct bf_buffered *e = b->first, *next; e; e = next, n++) {
		next = e->next;
		hop(e, level, cause);
	}
	return n;
}

static uint32_t push_line(struct bf_buffer *b, enum bf_level level, const uint8_t *line, enum bf_view_cause cause)
{
	uint32_t n = 0;

	for (struct bf_buffered *e = bucket_of(b, line)->first, *next; e; e = next) {
		next = e->line_next;
		if (bf_line_of(e->at) != line)
			continue;
		hop(e, level, cause);
		n++;
	}
	return n;
}

/* What is pushed is seen now: a stall before would have made that later. */
static void notice_push(struct bf_buffer *b, enum bf_level level, const uint8_t *line)
{
	bf_notice_push(b, (int)level, line);
	for (const struct bf_buffer *in = b; in && in->level < level; in = in->above)
		for (const struct bf_buffered *e = in->first; e; e = e->next)
			if (!line || bf_line_of(e->at) == line)
				bf_notice_issue(b->sim, b, e);
}

uint32_t bf_buffer_push(struct bf_buffer *b, enum bf_level level, const uint8_t *line, enum bf_view_cause cause)
{
	uint32_t n = 0;

	if (bf_noticing(b->sim))
		notice_push(b, level, line);
	if (BF_LIKELY(!b->sim->agents->stores)) /* nobody's: the usual case under sc, which need not look further up */
		return 0;
	for (; b && b->level < level; b = b->above) {
		if (b->count)
			n += line ? push_line(b, level, line, cause) : push_all(b, level, cause);
	}
	return n;
}

void bf_buffer_trim(struct bf_buffer *b, uint32_t limit)
{
	if (b->count > limit)
		hop(b->first, b->level, BF_CAUSE_FULL);
}

void bf_buffer_overlay(const struct bf_buffer *b, const uint8_t *p, uint32_t len, uint8_t *out)
{
	if (!b || !b->count)
		return;
	for (const struct bf_buffered *e = bucket_of(b, bf_line_of(p))->first; e; e = e->line_next) {
		const uint8_t *from = e->at > p ? e->at : p;
		const uint8_t *to = e->at + e->len < p + len ? e->at + e->len : p + len;

		if (from < to)
			memcpy(out + (from - p), e->data + (from - e->at), (size_t)(to - from));
	}
}
