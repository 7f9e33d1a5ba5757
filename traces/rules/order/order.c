/* Facts of happens-before, and the list of their rules. The order of functions is that of an entry's way to its device.
 */
#include "traces/rules/order/order.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "sim/bytes.h"
#include "sim/grow.h"
#include "sim/view.h"

#define WORD 4u /* bytes that a store is kept for */
#define WORDS (BF_LINE / WORD)
#define LINES_MAX (1u << 15)  /* what lies in more is forgotten: it counts as ordered */
#define PLACES_MAX (1u << 14) /* more locations that order, and nothing is judged from there on */
#define POSTED 1024u
#define COMPLETION 128u /* bytes; what is longer is data */

struct line {
	uint64_t number;
	uint64_t served; /* reads of records that the device had made when it wrote here: a completion */
	struct bf_order_store word[WORDS];
};

/* A location that strong stores and atomics have changed, and what they released, as far as each scope. */
struct place {
	uint64_t va;
	uint32_t block, pe; /* who changed it last; 0 and any: a processor */
	uint64_t served;    /* as threads that changed it knew */
	struct bf_order_clock clock[BF_ORDER_LEVELS];
};

/* A store to a device that has not arrived. */
struct posted {
	uint64_t va, value;
	uint32_t thread, stores;
	uint64_t at_ps, record;
	struct bf_order_clock clock[BF_ORDER_LEVELS]; /* [0] is not used */
	bool waits;
};

struct block {
	char name[48];
	struct bf_order_clock clock;
};

struct region {
	uint64_t va, end;
};

struct bf_order {
	uint32_t *thread_of; /* by actor: its number plus one */
	uint32_t nthread_of;
	struct bf_order_thread *threads;
	uint32_t nthreads, threads_cap;
	struct block *blocks;
	uint32_t nblocks, blocks_cap;
	struct line *lines;
	uint32_t nlines, lines_cap;
	uint32_t *line_table; /* open addressing: number plus one */
	uint32_t line_slots;
	struct place *places;
	uint32_t nplaces, places_cap;
	uint32_t *place_table;
	uint32_t place_slots;
	struct region *regions; /* in GPUs' memory, by address */
	uint32_t nregions, regions_cap;
	struct posted posted[POSTED];
	uint32_t nposted;
	struct bf_order_clock devices[BF_ORDER_LEVELS]; /* for memory behind the system's level, and the GPU's */
	struct bf_order_clock ended;                    /* what threads that have ended knew */
	uint32_t rang;                                  /* whose doorbell came last, plus one */
	uint64_t reads;                                 /* of records, by devices */
	uint64_t wanted;                                /* so many are enough for the doorbells that have arrived */
	uint32_t under_way;                             /* doorbells that have not */
	bool barriers; /* threads may meet where no record names them: blocks are taken for ordered */
	bool gave_up;
	struct bf_order_race race;
};

const struct bf_order_race *bf_order_race(const struct bf_order *o)
{
	return &o->race;
}

static void no_memory(struct bf_order *o)
{
	o->gave_up = true;
	errno = ENOMEM;
}

static void join(struct bf_order *o, struct bf_order_clock *to, const struct bf_order_clock *from)
{
	if (!bf_order_join(to, from))
		no_memory(o);
}

static void become(struct bf_order *o, struct bf_order_clock *to, const struct bf_order_clock *from)
{
	if (to->n)
		memset(to->at, 0, to->n * sizeof(*to->at));
	join(o, to, from);
}

/* ---- threads ---- */

/* Where the part of a name begins that is `letter` and a number, ".b12"; `*end` is behind it. NULL: nowhere. */
static const char *part(const char *name, char letter, const char **end)
{
	for (const char *p = name; p; p = strchr(p, '.') ? strchr(p, '.') + 1 : NULL) {
		const size_t digits = *p == letter ? strspn(p + 1, "0123456789") : 0;

		if (!digits || (p[1 + digits] && p[1 + digits] != '.'))
			continue;
		*end = p + 1 + digits;
		return p;
	}
	return NULL;
}

static uint32_t find_block(struct bf_order *o, const char *name, size_t len)
{
	for (uint32_t i = 0; i < o->nblocks; i++)
		if (strlen(o->blocks[i].name) == len && !memcmp(o->blocks[i].name, name, len))
			return i + 1;
	if (BF_GROW(o->blocks, o->blocks_cap, o->nblocks + 1)) {
		no_memory(o);
		return 0;
	}
	memcpy(o->blocks[o->nblocks].name, name, len);
	return ++o->nblocks;
}

static uint32_t new_thread(struct bf_order *o, const struct bf_seen *e, const char *name, size_t len)
{
	struct bf_order_thread *t;
	const char *end;

	if (BF_GROW(o->threads, o->threads_cap, o->nthreads + 1)) {
		no_memory(o);
		return 0;
	}
	t = &o->threads[o->nthreads++];
	memcpy(t->name, name, len);
	t->pe = e->pe;
	t->actor = e->actor;
	t->stirred = true;
	if (part(t->name, 'b', &end))
		t->block = find_block(o, t->name, (size_t)(end - t->name));
	/* Drivers' threads ("pe0.b1.w2.l3") meet in their warp alone; those of kernels at barriers as well. */
	o->barriers |= t->block && memcmp(t->name, "pe", 2) != 0;
	join(o, &t->knows, &o->ended);
	/* Whoever started it was a processor. */
	for (uint32_t i = 0; t->block && i < o->nthreads; i++)
		if (!o->threads[i].block)
			join(o, &t->knows, &o->threads[i].knows);
	return o->nthreads;
}

/* The thread of a record; NULL for lack of memory. */
static struct bf_order_thread *thread_of(struct bf_rules *r, struct bf_order *o, const struct bf_seen *e)
{
	const char *name, *lane, *end;
	size_t len;

	if (e->actor < o->nthread_of && o->thread_of[e->actor])
		return &o->threads[o->thread_of[e->actor] - 1];
	if (BF_GROW(o->thread_of, o->nthread_of, (size_t)e->actor + 1)) {
		no_memory(o);
		return NULL;
	}
	name = bf_rule_actor(r, e->actor);
	lane = part(name, 'l', &end);
	len = lane && !*end && lane > name && part(name, 'b', &end) ? (size_t)(lane - 1 - name) : strlen(name);
	len = len < sizeof(o->threads->name) ? len : sizeof(o->threads->name) - 1;
	for (uint32_t i = 0; i < o->nthreads && !o->thread_of[e->actor]; i++)
		if (strlen(o->threads[i].name) == len && !memcmp(o->threads[i].name, name, len))
			o->thread_of[e->actor] = i + 1;
	if (!o->thread_of[e->actor])
		o->thread_of[e->actor] = new_thread(o, e, name, len);
	return o->thread_of[e->actor] ? &o->threads[o->thread_of[e->actor] - 1] : NULL;
}

static uint32_t number_of(const struct bf_order *o, const struct bf_order_thread *t)
{
	return (uint32_t)(t - o->threads);
}

/* A processor's accesses reach everybody, whatever scope they name. */
static enum bf_scope reach(const struct bf_order_thread *t, uint64_t scope)
{
	return !t->block ? BF_SCOPE_SYS : scope < BF_ORDER_LEVELS ? (enum bf_scope)scope : BF_SCOPE_SYS;
}

/* Its machine keeps the order of its stores by itself (x86). */
static bool keeps_order(const struct bf_rules *r, const struct bf_order_thread *t)
{
	return !t->block && bf_rules_processors_keep_order(r);
}

/* ---- tables by address ---- */

static uint32_t slot_of(uint64_t number, uint32_t slots)
{
	return (uint32_t)(number * 0x9e3779b97f4a7c15ull >> 32) & (slots - 1);
}

/* Room for one more of `n` in a table whose entries are numbers plus one; `key` tells the numbers' keys. */
static bool table_room(uint32_t **table, uint32_t *slots, uint32_t n, const void *of, size_t size)
{
	const uint32_t grown = *slots ? *slots * 2 : 1024;
	uint32_t *t;

	if ((n + 1) * 2 <= *slots)
		return true;
	t = calloc(grown, sizeof(*t));
	if (!t)
		return false;
	for (uint32_t i = 0; i < n; i++) {
		uint64_t key;
		uint32_t at;

		memcpy(&key, (const uint8_t *)of + i * size, sizeof(key));
		for (at = slot_of(key, grown); t[at]; at = (at + 1) & (grown - 1))
			;
		t[at] = i + 1;
	}
	free(*table);
	*table = t;
	*slots = grown;
	return true;
}

static struct line *line_at(const struct bf_order *o, uint64_t number)
{
	if (!o->line_slots)
		return NULL;
	for (uint32_t at = slot_of(number, o->line_slots); o->line_table[at]; at = (at + 1) & (o->line_slots - 1))
		if (o->lines[o->line_table[at] - 1].number == number)
			return &o->lines[o->line_table[at] - 1];
	return NULL;
}

static struct line *make_line(struct bf_order *o, uint64_t number)
{
	struct line *l = line_at(o, number);
	uint32_t at;

	if (l)
		return l;
	if (o->nlines == LINES_MAX) {
		memset(o->line_table, 0, o->line_slots * sizeof(*o->line_table));
		memset(o->lines, 0, o->nlines * sizeof(*o->lines));
		o->nlines = 0;
	}
	if (BF_GROW(o->lines, o->lines_cap, o->nlines + 1) ||
	    !table_room(&o->line_table, &o->line_slots, o->nlines, o->lines, sizeof(*o->lines))) {
		no_memory(o);
		return NULL;
	}
	for (at = slot_of(number, o->line_slots); o->line_table[at]; at = (at + 1) & (o->line_slots - 1))
		;
	l = &o->lines[o->nlines++];
	l->number = number;
	o->line_table[at] = o->nlines;
	return l;
}

static struct place *place_at(const struct bf_order *o, uint64_t va)
{
	if (!o->place_slots)
		return NULL;
	for (uint32_t at = slot_of(va, o->place_slots); o->place_table[at]; at = (at + 1) & (o->place_slots - 1))
		if (o->places[o->place_table[at] - 1].va == va)
			return &o->places[o->place_table[at] - 1];
	return NULL;
}

static struct place *make_place(struct bf_order *o, uint64_t va)
{
	struct place *p = place_at(o, va);
	uint32_t at;

	if (p)
		return p;
	if (o->nplaces == PLACES_MAX) {
		o->gave_up = true;
		return NULL;
	}
	if (BF_GROW(o->places, o->places_cap, o->nplaces + 1) ||
	    !table_room(&o->place_table, &o->place_slots, o->nplaces, o->places, sizeof(*o->places))) {
		no_memory(o);
		return NULL;
	}
	for (at = slot_of(va, o->place_slots); o->place_table[at]; at = (at + 1) & (o->place_slots - 1))
		;
	p = &o->places[o->nplaces++];
	p->va = va;
	o->place_table[at] = o->nplaces;
	return p;
}

static void note_region(struct bf_order *o, const struct bf_seen *e)
{
	uint32_t i;

	if (e->region.kind != BF_MEM_VRAM)
		return;
	if (BF_GROW(o->regions, o->regions_cap, o->nregions + 1)) {
		no_memory(o);
		return;
	}
	for (i = o->nregions++; i && o->regions[i - 1].va > e->region.va; i--)
		o->regions[i] = o->regions[i - 1];
	o->regions[i] = (struct region){ .va = e->region.va, .end = e->region.va + e->region.size };
}

static bool in_vram(const struct bf_order *o, uint64_t va)
{
	uint32_t low = 0, high = o->nregions;

	while (low < high) {
		const uint32_t mid = low + (high - low) / 2;

		if (o->regions[mid].end <= va)
			low = mid + 1;
		else
			high = mid;
	}
	return low < o->nregions && o->regions[low].va <= va;
}

/* ---- what threads do ---- */

static void stored(struct bf_order *o, struct bf_order_thread *t, const struct bf_seen *e, uint64_t va, uint64_t len,
		   uint64_t sem, enum bf_scope scope)
{
	struct bf_order_store s = { .thread = number_of(o, t) + 1,
				    .count = ++t->stores,
				    .lane = e->actor,
				    .fenced = { bf_order_at(&t->released[0], number_of(o, t)),
						bf_order_at(&t->released[1], number_of(o, t)),
						bf_order_at(&t->released[2], number_of(o, t)) },
				    .sem = (uint16_t)sem,
				    .len = (uint8_t)len,
				    .pending = o->under_way || t->served < o->wanted,
				    .va = va,
				    .at_ps = e->time_ps,
				    .record = e->number };

	for (uint32_t level = 0; sem >= BF_RELEASE && level <= (uint32_t)scope; level++)
		s.fenced[level] = s.count - 1;
	t->stirred = true;
	if (!bf_order_set(&t->knows, s.thread - 1, s.count) ||
	    (o->barriers && t->block && !bf_order_set(&o->blocks[t->block - 1].clock, s.thread - 1, s.count)))
		no_memory(o);
	for (uint64_t word = va / WORD; word <= (va + len - 1) / WORD; word++) {
		struct line *l = make_line(o, word / WORDS);

		if (!l)
			return;
		l->word[word % WORDS] = s;
	}
}

/* The scope that holds both the thread and who changed the place last. */
static enum bf_scope scope_between(const struct place *p, const struct bf_order_thread *t)
{
	if (!p->block || !t->block || p->pe != t->pe)
		return BF_SCOPE_SYS;
	return p->block != t->block ? BF_SCOPE_GPU : BF_SCOPE_CTA;
}

/* What was released to a narrower scope than the one that holds the thread, it does not hand on. */
static void narrow(struct bf_order *o, struct place *p, const struct bf_order_thread *t)
{
	const enum bf_scope between = scope_between(p, t);

	/* A processor sees, and leaves as it is, what lies in GPUs' memory. */
	if (between == BF_SCOPE_SYS && p->block && t->block)
		become(o, &p->clock[BF_SCOPE_GPU], &p->clock[BF_SCOPE_SYS]);
	if (between != BF_SCOPE_CTA)
		become(o, &p->clock[BF_SCOPE_CTA], &p->clock[BF_SCOPE_GPU]);
	p->block = t->block;
	p->pe = t->pe;
}

/* A strong store or an atomic of the thread hands on what it has released; as a release, all that it knows. */
static void hand_on(struct bf_order *o, struct bf_order_thread *t, uint64_t va, enum bf_scope scope, bool release)
{
	struct place *p = make_place(o, va);

	if (!p)
		return;
	narrow(o, p, t);
	p->served = p->served > t->served ? p->served : t->served;
	for (uint32_t level = 0; level <= (uint32_t)scope; level++)
		join(o, &p->clock[level], release ? &t->knows : &t->released[level]);
	if (release && !t->block)
		join(o, &p->clock[BF_SCOPE_GPU], &t->in_gpus);
}

/* The last store to the word at `va`; NULL: none is known. */
static const struct bf_order_store *last_at(const struct bf_order *o, uint64_t va)
{
	const struct line *l = line_at(o, va / BF_LINE);
	const struct bf_order_store *s = l ? &l->word[va % BF_LINE / WORD] : NULL;

	return s && s->thread ? s : NULL;
}

/* It has seen what is at `va`, and learns what was released there as far as it, the thread, is reached. */
static void learn(struct bf_order *o, struct bf_order_thread *t, uint64_t va, enum bf_scope scope, bool acquire)
{
	const struct line *l = line_at(o, va / BF_LINE);
	const struct bf_order_store *s = last_at(o, va);
	const struct place *p = place_at(o, s ? s->va : va);
	enum bf_scope between;

	if (l && l->served > t->served)
		t->served = l->served;
	if (!p)
		return;
	t->served = t->served > p->served ? t->served : p->served;
	if (!t->block)
		join(o, &t->in_gpus, &p->clock[BF_SCOPE_GPU]);
	if (!t->block && acquire)
		join(o, &t->released[BF_SCOPE_GPU], &p->clock[BF_SCOPE_GPU]);
	between = scope_between(p, t);
	if (scope < between)
		return;
	join(o, &t->knows, &p->clock[between]);
	/* What was released that far is there already: behind an acquire it needs no second fence. */
	for (uint32_t level = 0; acquire && level < BF_ORDER_LEVELS; level++)
		join(o, &t->released[level], &p->clock[level > (uint32_t)between ? level : (uint32_t)between]);
	t->stirred = true;
}

static void on_store(struct bf_rules *r, struct bf_order *o, const struct bf_seen *e)
{
	struct bf_order_thread *t = thread_of(r, o, e);

	if (!t || !e->store.len || e->store.len > BF_LINE)
		return;
	if (e->store.sem != BF_WEAK)
		hand_on(o, t, e->store.va, reach(t, e->store.scope), e->store.sem >= BF_RELEASE);
	stored(o, t, e, e->store.va, e->store.len, e->store.sem, reach(t, e->store.scope));
}

/* A poll that sees the same again makes no record: what it has seen since is learned when it matters. */
static void catch_up(struct bf_order *o, struct bf_order_thread *t)
{
	if (t->polled)
		learn(o, t, t->polled, BF_SCOPE_SYS, false);
	if (t->block)
		join(o, &t->knows, &o->blocks[t->block - 1].clock);
	if (!t->block) /* it may have waited for a kernel */
		join(o, &t->knows, &o->ended);
}

/* Somebody else's weak store, and nothing orders it before the thread. */
static void look_for_flag(struct bf_rules *r, struct bf_order *o, struct bf_order_thread *t, uint64_t va)
{
	const struct bf_order_store *s = last_at(o, va);

	if (!s || s->sem != BF_WEAK || s->thread == number_of(o, t) + 1 || (o->barriers && t->block))
		return;
	catch_up(o, t);
	if (s->count <= bf_order_at(&t->knows, s->thread - 1) || keeps_order(r, &o->threads[s->thread - 1]))
		return;
	o->race = (struct bf_order_race){ .store = *s, .by = &o->threads[s->thread - 1], .vram = in_vram(o, va) };
	bf_rule_notice(r, BF_ORDER_WEAK_FLAG);
}

static void on_load(struct bf_rules *r, struct bf_order *o, const struct bf_seen *e)
{
	struct bf_order_thread *t = thread_of(r, o, e);

	if (!t)
		return;
	learn(o, t, e->load.va, reach(t, e->load.scope), e->load.sem == BF_ACQUIRE || e->load.sem == BF_ACQ_REL);
	t->polled = e->load.va;
	look_for_flag(r, o, t, e->load.va);
}

static void on_atomic(struct bf_rules *r, struct bf_order *o, const struct bf_seen *e)
{
	const bool release = e->atomic.sem == BF_RELEASE || e->atomic.sem == BF_ACQ_REL;
	const bool acquire = e->atomic.sem == BF_ACQUIRE || e->atomic.sem == BF_ACQ_REL;
	struct bf_order_thread *t = thread_of(r, o, e);

	if (!t)
		return;
	learn(o, t, e->atomic.va, reach(t, e->atomic.scope), acquire);
	if (e->atomic.op == BF_ATOMIC_CAS && e->atomic.old != e->atomic.compare)
		return;
	hand_on(o, t, e->atomic.va, reach(t, e->atomic.scope), release);
	stored(o, t, e, e->atomic.va, e->atomic.len, release ? BF_RELEASE : BF_RELAXED, reach(t, e->atomic.scope));
}

static void on_fence(struct bf_rules *r, struct bf_order *o, const struct bf_seen *e)
{
	struct bf_order_thread *t = thread_of(r, o, e);
	enum bf_scope scope;

	if (!t)
		return;
	scope = reach(t, e->fence.scope);
	catch_up(o, t);
	if (t->block && t->stirred)
		join(o, &o->blocks[t->block - 1].clock, &t->knows);
	for (uint32_t level = 0; level <= (uint32_t)scope; level++)
		join(o, &t->released[level], &t->knows);
	join(o, &t->released[BF_SCOPE_GPU], &t->in_gpus);
	if (t->stirred || t->fence.scope < scope)
		t->fence = (struct bf_order_mark){ t->stores, scope, e->time_ps, e->number };
	t->stirred = false;
}

/* A kernel begins when those before it have ended. */
static void on_start(struct bf_rules *r, struct bf_order *o, const struct bf_seen *e)
{
	struct bf_order_thread *t = thread_of(r, o, e);

	if (t)
		join(o, &t->knows, &o->ended);
}

static void on_end(struct bf_rules *r, struct bf_order *o, const struct bf_seen *e)
{
	struct bf_order_thread *t = thread_of(r, o, e);

	if (t)
		join(o, &o->ended, &t->knows);
}

/* ---- what devices get ---- */

static void arrived(struct bf_order *o, struct posted *p)
{
	struct bf_order_thread *t = &o->threads[p->thread];

	for (uint32_t level = BF_SCOPE_GPU; level < BF_ORDER_LEVELS; level++)
		join(o, &o->devices[level], &p->clock[level]);
	t->arrived = (struct bf_order_mark){ p->stores, 0, p->at_ps, p->record };
	o->rang = p->thread + 1;
	o->wanted = o->reads + 1;
	o->under_way--;
	p->waits = false;
}

/* A store to a device, as the thread makes it or as its write-combining buffer leaves. */
static void posts(struct bf_rules *r, struct bf_order *o, const struct bf_seen *e, uint64_t va, bool release)
{
	struct bf_order_thread *t = thread_of(r, o, e);
	struct posted *p;

	if (!t)
		return;
	p = &o->posted[o->nposted++ % POSTED];
	if (p->waits) /* it got lost, or left no record */
		arrived(o, p);
	catch_up(o, t);
	for (uint32_t level = BF_SCOPE_GPU; level < BF_ORDER_LEVELS; level++)
		become(o, &p->clock[level], release ? &t->knows : &t->released[level]);
	if (release)
		join(o, &p->clock[BF_SCOPE_GPU], &t->in_gpus);
	p->va = va;
	p->value = e->tail_len >= 8 ? bf_get_le64(e->tail) : e->tail_len >= 4 ? bf_get_le32(e->tail) : 0;
	p->thread = number_of(o, t);
	p->stores = t->stores;
	p->at_ps = e->time_ps;
	p->record = e->number;
	p->waits = true;
	o->under_way++;
	t->ring = (struct bf_order_mark){ t->stores, 0, e->time_ps, e->number };
}

static void on_arrive(struct bf_order *o, const struct bf_seen *e)
{
	const uint64_t value = e->tail_len >= 8 ? bf_get_le64(e->tail) : e->tail_len >= 4 ? bf_get_le32(e->tail) : 0;
	struct posted *first = NULL;

	for (uint32_t i = 0; i < POSTED && i < o->nposted; i++) {
		struct posted *p = &o->posted[(o->nposted - 1 - i) % POSTED];

		if (!p->waits || p->va != e->mmio_arrive.va)
			continue;
		if (!first || p->value == value || first->value != value)
			first = p;
	}
	if (first)
		arrived(o, first);
}

/* What the device has read, a strong store, tells it what was released there. */
static void device_learns(struct bf_order *o, const struct bf_order_store *s)
{
	const struct place *p = place_at(o, s->va);

	o->threads[s->thread - 1].index = *s;
	if (!p)
		return;
	join(o, &o->devices[BF_SCOPE_SYS], &p->clock[BF_SCOPE_SYS]);
	join(o, &o->devices[BF_SCOPE_GPU], &p->clock[BF_SCOPE_GPU]);
}

/* Whether this store is one that the device might have missed. */
static void judge(struct bf_rules *r, struct bf_order *o, const struct bf_order_store *s, bool vram)
{
	const struct bf_order_thread *t = &o->threads[s->thread - 1];
	const enum bf_scope level = vram && t->block ? BF_SCOPE_GPU : BF_SCOPE_SYS;
	uint16_t what;

	if (s->count > bf_order_at(&o->devices[level], s->thread - 1))
		what = s->sem == BF_WEAK               ? BF_ORDER_UNORDERED_READ
		       : t->arrived.stores >= s->count ? BF_ORDER_RECORD_BEHIND
						       : 0;
	else
		what = s->sem == BF_WEAK && s->count < t->index.count && s->count > t->index.fenced[level] &&
			       s->lane == t->index.lane && t->index.pending
			   ? BF_ORDER_UNORDERED_INDEX
			   : 0;
	if (!what || keeps_order(r, t))
		return;
	o->race = (struct bf_order_race){
		.store = *s, .by = t, .rang = o->rang ? &o->threads[o->rang - 1] : NULL, .index = t->index, .vram = vram
	};
	bf_rule_notice(r, what);
}

static void on_dma_read(struct bf_rules *r, struct bf_order *o, const struct bf_seen *e)
{
	const uint64_t va = e->dma_read.va, end = va + e->dma_read.len;
	const bool vram = in_vram(o, va);
	bool record = false;

	if (e->dma_read.status || end <= va || end - va > (uint64_t)LINES_MAX * BF_LINE)
		return;
	for (uint64_t word = va / WORD; word <= (end - 1) / WORD; word++) {
		const struct line *l = line_at(o, word / WORDS);

		if (!l) {
			word |= WORDS - 1;
			continue;
		}
		if (!l->word[word % WORDS].thread)
			continue;
		if (l->word[word % WORDS].sem != BF_WEAK) {
			device_learns(o, &l->word[word % WORDS]);
			record = true;
		}
		judge(r, o, &l->word[word % WORDS], vram);
	}
	o->reads += record;
}

/* A device has written there: the threads' stores are gone. */
static void overwritten(struct bf_order *o, uint64_t va, uint64_t len)
{
	struct line *l;

	for (uint64_t word = va / WORD; len && len <= (uint64_t)LINES_MAX * BF_LINE && word <= (va + len - 1) / WORD;
	     word++) {
		l = line_at(o, word / WORDS);
		if (l)
			l->word[word % WORDS] = (struct bf_order_store){ 0 };
		else
			word |= WORDS - 1;
	}
	if (len <= COMPLETION && o->reads && (l = make_line(o, va / BF_LINE)) != NULL)
		l->served = o->reads;
}

static void on(struct bf_rules *r, void *facts, const struct bf_seen *e)
{
	struct bf_order *o = facts;

	if (o->gave_up)
		return;
	switch (e->kind) {
	case BF_SEEN_region:
		note_region(o, e);
		break;
	case BF_SEEN_store:
		on_store(r, o, e);
		break;
	case BF_SEEN_load:
		on_load(r, o, e);
		break;
	case BF_SEEN_atomic:
		on_atomic(r, o, e);
		break;
	case BF_SEEN_fence:
		on_fence(r, o, e);
		break;
	case BF_SEEN_agent_start:
		on_start(r, o, e);
		break;
	case BF_SEEN_agent_end:
		on_end(r, o, e);
		break;
	case BF_SEEN_mmio_store:
		posts(r, o, e, e->mmio_store.va, e->mmio_store.sem >= BF_RELEASE);
		break;
	case BF_SEEN_wc_evict:
		posts(r, o, e, e->wc_evict.va, false);
		break;
	case BF_SEEN_mmio_arrive:
		on_arrive(o, e);
		break;
	case BF_SEEN_dma_read:
		on_dma_read(r, o, e);
		break;
	case BF_SEEN_dma_write:
		overwritten(o, e->dma_write.va, e->dma_write.len);
		break;
	case BF_SEEN_dma_rmw:
		overwritten(o, e->dma_rmw.va, e->dma_rmw.len);
		break;
	default:
		break;
	}
}

static void forget(void *facts)
{
	struct bf_order *o = facts;

	for (uint32_t i = 0; i < o->nthreads; i++) {
		free(o->threads[i].knows.at);
		free(o->threads[i].in_gpus.at);
		for (uint32_t level = 0; level < BF_ORDER_LEVELS; level++)
			free(o->threads[i].released[level].at);
	}
	for (uint32_t i = 0; i < o->nplaces; i++)
		for (uint32_t level = 0; level < BF_ORDER_LEVELS; level++)
			free(o->places[i].clock[level].at);
	for (uint32_t i = 0; i < POSTED; i++)
		for (uint32_t level = 0; level < BF_ORDER_LEVELS; level++)
			free(o->posted[i].clock[level].at);
	for (uint32_t i = 0; i < o->nblocks; i++)
		free(o->blocks[i].clock.at);
	for (uint32_t level = 0; level < BF_ORDER_LEVELS; level++)
		free(o->devices[level].at);
	free(o->ended.at);
	free(o->thread_of);
	free(o->threads);
	free(o->blocks);
	free(o->lines);
	free(o->line_table);
	free(o->places);
	free(o->place_table);
	free(o->regions);
}

extern const struct bf_rule bf_rule_order_device_read, bf_rule_order_doorbell, bf_rule_order_index,
    bf_rule_order_weak_flag;

static const struct bf_rule *const rules[] = { &bf_rule_order_device_read, &bf_rule_order_doorbell,
					       &bf_rule_order_index, &bf_rule_order_weak_flag, NULL };

static const uint16_t signs[] = { BF_SEEN_region, 0 };
static const uint16_t records[] = { BF_SEEN_agent_start, BF_SEEN_region,
				    BF_SEEN_store,       BF_SEEN_load,
				    BF_SEEN_atomic,      BF_SEEN_fence,
				    BF_SEEN_agent_end,   BF_SEEN_mmio_store,
				    BF_SEEN_wc_evict,    BF_SEEN_mmio_arrive,
				    BF_SEEN_dma_read,    BF_SEEN_dma_write,
				    BF_SEEN_dma_rmw,     0 };

const struct bf_rule_family bf_rules_order = {
	.name = "order",
	.classes = BF_CLASS_AGENT | BF_CLASS_MEM | BF_CLASS_MMIO | BF_CLASS_DMA,
	.rules = rules,
	.signs = signs,
	.records = records,
	.run_bytes = sizeof(struct bf_order),
	.on = on,
	.forget_run = forget,
};
