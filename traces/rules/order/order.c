/* Facts of happens-before, and the list of their rules. The order of functions is that of an entry's way to its device.
 */
#include "traces/rules/order/order_internal.h"

#include <stdlib.h>
#include <string.h>

#include "sim/bytes.h"

#define COMPLETION 128u /* bytes; what is longer is data */
#define INDEX 16u       /* bytes of the longest read of an index; what is longer is an entry, or data */

const struct bf_order_race *bf_order_race(const struct bf_order *o)
{
	return &o->race;
}

/* Its machine keeps the order of its stores by itself (x86). */
static bool keeps_order(const struct bf_rules *r, const struct bf_order_thread *t)
{
	return !t->block && bf_rules_processors_keep_order(r);
}

/* ---- what threads do ---- */

static void stored(struct bf_order *o, struct bf_order_thread *t, const struct bf_seen *e, uint64_t va, uint64_t len,
		   uint64_t sem, enum bf_scope scope)
{
	struct bf_order_store s = { .thread = bf_order_number(o, t) + 1,
				    .count = ++t->stores,
				    .lane = e->actor,
				    .fenced = { bf_order_at(&t->released[0], bf_order_number(o, t)),
						bf_order_at(&t->released[1], bf_order_number(o, t)),
						bf_order_at(&t->released[2], bf_order_number(o, t)) },
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
		bf_order_no_memory(o);
	for (uint64_t word = va / BF_ORDER_WORD; word <= (va + len - 1) / BF_ORDER_WORD; word++) {
		struct bf_order_line *l = bf_order_make_line(o, word / BF_ORDER_WORDS);

		if (!l)
			return;
		l->word[word % BF_ORDER_WORDS] = s;
	}
}

/* The scope that holds both the thread and who changed the place last. */
static enum bf_scope scope_between(const struct bf_order_place *p, const struct bf_order_thread *t)
{
	if (!p->block || !t->block || p->pe != t->pe)
		return BF_SCOPE_SYS;
	return p->block != t->block ? BF_SCOPE_GPU : BF_SCOPE_CTA;
}

/* What was released to a narrower scope than the one that holds the thread, it does not hand on. */
static void narrow(struct bf_order *o, struct bf_order_place *p, const struct bf_order_thread *t)
{
	const enum bf_scope between = scope_between(p, t);

	/* A processor sees, and leaves as it is, what lies in GPUs' memory. */
	if (between == BF_SCOPE_SYS && p->block && t->block)
		bf_order_become(o, &p->clock[BF_SCOPE_GPU], &p->clock[BF_SCOPE_SYS]);
	if (between != BF_SCOPE_CTA)
		bf_order_become(o, &p->clock[BF_SCOPE_CTA], &p->clock[BF_SCOPE_GPU]);
	p->block = t->block;
	p->pe = t->pe;
}

/* A strong store or an atomic of the thread hands on what it has released; as a release, all that it knows. */
static void hand_on(struct bf_order *o, struct bf_order_thread *t, uint64_t va, enum bf_scope scope, bool release)
{
	struct bf_order_place *p = bf_order_make_place(o, va);

	if (!p)
		return;
	narrow(o, p, t);
	p->served = p->served > t->served ? p->served : t->served;
	for (uint32_t level = 0; level <= (uint32_t)scope; level++)
		bf_order_add(o, &p->clock[level], release ? &t->knows : &t->released[level]);
	if (release && !t->block)
		bf_order_add(o, &p->clock[BF_SCOPE_GPU], &t->in_gpus);
}

/* The last store to the word at `va`; NULL: none is known. */
static const struct bf_order_store *last_at(const struct bf_order *o, uint64_t va)
{
	const struct bf_order_line *l = bf_order_line_at(o, va / BF_LINE);
	const struct bf_order_store *s = l ? &l->word[va % BF_LINE / BF_ORDER_WORD] : NULL;

	return s && s->thread ? s : NULL;
}

/* It has seen what is at `va`, and learns what was released there as far as it, the thread, is reached. */
static void learn(struct bf_order *o, struct bf_order_thread *t, uint64_t va, enum bf_scope scope, bool acquire)
{
	const struct bf_order_line *l = bf_order_line_at(o, va / BF_LINE);
	const struct bf_order_store *s = last_at(o, va);
	const struct bf_order_place *p = bf_order_place_at(o, s ? s->va : va);
	enum bf_scope between;

	if (l && l->served > t->served)
		t->served = l->served;
	if (!p)
		return;
	t->served = t->served > p->served ? t->served : p->served;
	if (!t->block)
		bf_order_add(o, &t->in_gpus, &p->clock[BF_SCOPE_GPU]);
	if (!t->block && acquire)
		bf_order_add(o, &t->released[BF_SCOPE_GPU], &p->clock[BF_SCOPE_GPU]);
	between = scope_between(p, t);
	if (scope < between)
		return;
	bf_order_add(o, &t->knows, &p->clock[between]);
	/* What was released that far is there already: behind an acquire it needs no second fence. */
	for (uint32_t level = 0; acquire && level < BF_ORDER_LEVELS; level++)
		bf_order_add(o, &t->released[level], &p->clock[level > (uint32_t)between ? level : (uint32_t)between]);
	t->stirred = true;
}

static void on_store(struct bf_rules *r, struct bf_order *o, const struct bf_seen *e)
{
	struct bf_order_thread *t = bf_order_thread_of(r, o, e);

	if (!t || !e->store.len || e->store.len > BF_LINE)
		return;
	if (e->store.sem != BF_WEAK)
		hand_on(o, t, e->store.va, bf_order_reach(t, e->store.scope), e->store.sem >= BF_RELEASE);
	stored(o, t, e, e->store.va, e->store.len, e->store.sem, bf_order_reach(t, e->store.scope));
}

/* A poll that sees the same again makes no record: what it has seen since is learned when it matters. */
static void catch_up(struct bf_order *o, struct bf_order_thread *t)
{
	if (t->polled)
		learn(o, t, t->polled, BF_SCOPE_SYS, false);
	if (t->block)
		bf_order_add(o, &t->knows, &o->blocks[t->block - 1].clock);
	if (!t->block) /* it may have waited for a kernel */
		bf_order_add(o, &t->knows, &o->ended);
}

/* Somebody else's weak store, and nothing orders it before the thread. */
static void look_for_flag(struct bf_rules *r, struct bf_order *o, struct bf_order_thread *t, uint64_t va)
{
	const struct bf_order_store *s = last_at(o, va);

	if (!s || s->sem != BF_WEAK || s->thread == bf_order_number(o, t) + 1 || (o->barriers && t->block))
		return;
	catch_up(o, t);
	if (s->count <= bf_order_at(&t->knows, s->thread - 1) || keeps_order(r, &o->threads[s->thread - 1]))
		return;
	o->race =
	    (struct bf_order_race){ .store = *s, .by = &o->threads[s->thread - 1], .vram = bf_order_in_vram(o, va) };
	bf_rule_notice(r, BF_ORDER_WEAK_FLAG);
}

static void on_load(struct bf_rules *r, struct bf_order *o, const struct bf_seen *e)
{
	struct bf_order_thread *t = bf_order_thread_of(r, o, e);

	if (!t)
		return;
	learn(o, t, e->load.va, bf_order_reach(t, e->load.scope),
	      e->load.sem == BF_ACQUIRE || e->load.sem == BF_ACQ_REL);
	t->polled = e->load.va;
	look_for_flag(r, o, t, e->load.va);
}

static void on_atomic(struct bf_rules *r, struct bf_order *o, const struct bf_seen *e)
{
	const bool release = e->atomic.sem == BF_RELEASE || e->atomic.sem == BF_ACQ_REL;
	const bool acquire = e->atomic.sem == BF_ACQUIRE || e->atomic.sem == BF_ACQ_REL;
	struct bf_order_thread *t = bf_order_thread_of(r, o, e);

	if (!t)
		return;
	learn(o, t, e->atomic.va, bf_order_reach(t, e->atomic.scope), acquire);
	if (e->atomic.op == BF_ATOMIC_CAS && e->atomic.old != e->atomic.compare)
		return;
	hand_on(o, t, e->atomic.va, bf_order_reach(t, e->atomic.scope), release);
	stored(o, t, e, e->atomic.va, e->atomic.len, release ? BF_RELEASE : BF_RELAXED,
	       bf_order_reach(t, e->atomic.scope));
}

static void on_fence(struct bf_rules *r, struct bf_order *o, const struct bf_seen *e)
{
	struct bf_order_thread *t = bf_order_thread_of(r, o, e);
	enum bf_scope scope;

	if (!t)
		return;
	scope = bf_order_reach(t, e->fence.scope);
	catch_up(o, t);
	if (t->block && t->stirred)
		bf_order_add(o, &o->blocks[t->block - 1].clock, &t->knows);
	for (uint32_t level = 0; level <= (uint32_t)scope; level++)
		bf_order_add(o, &t->released[level], &t->knows);
	bf_order_add(o, &t->released[BF_SCOPE_GPU], &t->in_gpus);
	if (t->stirred || t->fence.scope < scope)
		t->fence = (struct bf_order_mark){ t->stores, scope, e->time_ps, e->number };
	t->stirred = false;
}

/* A kernel begins when those before it have ended. */
static void on_start(struct bf_rules *r, struct bf_order *o, const struct bf_seen *e)
{
	struct bf_order_thread *t = bf_order_thread_of(r, o, e);

	if (t)
		bf_order_add(o, &t->knows, &o->ended);
}

static void on_end(struct bf_rules *r, struct bf_order *o, const struct bf_seen *e)
{
	struct bf_order_thread *t = bf_order_thread_of(r, o, e);

	if (t)
		bf_order_add(o, &o->ended, &t->knows);
}

/* ---- what devices get ---- */

static void arrived(struct bf_order *o, struct bf_order_posted *p)
{
	struct bf_order_thread *t = &o->threads[p->thread];

	for (uint32_t level = BF_SCOPE_GPU; level < BF_ORDER_LEVELS; level++)
		bf_order_add(o, &o->devices[level], &p->clock[level]);
	t->arrived = (struct bf_order_mark){ p->stores, 0, p->at_ps, p->record };
	o->rang = p->thread + 1;
	o->wanted = o->reads + 1;
	o->under_way--;
	p->waits = false;
}

/* A store to a device, as the thread makes it or as its write-combining buffer leaves. */
static void posts(struct bf_rules *r, struct bf_order *o, const struct bf_seen *e, uint64_t va, bool release)
{
	struct bf_order_thread *t = bf_order_thread_of(r, o, e);
	struct bf_order_posted *p;

	if (!t)
		return;
	p = &o->posted[o->nposted++ % BF_ORDER_POSTED];
	if (p->waits) /* it got lost, or left no record */
		arrived(o, p);
	catch_up(o, t);
	for (uint32_t level = BF_SCOPE_GPU; level < BF_ORDER_LEVELS; level++)
		bf_order_become(o, &p->clock[level], release ? &t->knows : &t->released[level]);
	if (release)
		bf_order_add(o, &p->clock[BF_SCOPE_GPU], &t->in_gpus);
	p->va = va;
	p->value = e->tail_len >= 8 ? bf_get_le64(e->tail) : e->tail_len >= 4 ? bf_get_le32(e->tail) : 0;
	p->thread = bf_order_number(o, t);
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
	struct bf_order_posted *first = NULL;

	for (uint32_t i = 0; i < BF_ORDER_POSTED && i < o->nposted; i++) {
		struct bf_order_posted *p = &o->posted[(o->nposted - 1 - i) % BF_ORDER_POSTED];

		if (!p->waits || p->va != e->mmio_arrive.va)
			continue;
		if (!first || p->value == value || first->value != value)
			first = p;
	}
	if (first)
		arrived(o, first);
}

/* What the device has read, a strong store, tells it what was released there. */
static void device_learns(struct bf_order *o, const struct bf_order_store *s, bool index)
{
	const struct bf_order_place *p = bf_order_place_at(o, s->va);

	if (index)
		o->threads[s->thread - 1].index = *s;
	if (!p)
		return;
	bf_order_add(o, &o->devices[BF_SCOPE_SYS], &p->clock[BF_SCOPE_SYS]);
	bf_order_add(o, &o->devices[BF_SCOPE_GPU], &p->clock[BF_SCOPE_GPU]);
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
	const bool vram = bf_order_in_vram(o, va);
	bool record = false;

	if (e->dma_read.status || end <= va || end - va > (uint64_t)BF_ORDER_LINES_MAX * BF_LINE)
		return;
	for (uint64_t word = va / BF_ORDER_WORD; word <= (end - 1) / BF_ORDER_WORD; word++) {
		const struct bf_order_line *l = bf_order_line_at(o, word / BF_ORDER_WORDS);

		if (!l) {
			word |= BF_ORDER_WORDS - 1;
			continue;
		}
		if (!l->word[word % BF_ORDER_WORDS].thread)
			continue;
		if (l->word[word % BF_ORDER_WORDS].sem != BF_WEAK) {
			record |= end - va <= INDEX;
			device_learns(o, &l->word[word % BF_ORDER_WORDS], record);
		}
		judge(r, o, &l->word[word % BF_ORDER_WORDS], vram);
	}
	o->reads += record;
}

/* A device has written there: the threads' stores are gone. */
static void overwritten(struct bf_order *o, uint64_t va, uint64_t len)
{
	struct bf_order_line *l;

	for (uint64_t word = va / BF_ORDER_WORD;
	     len && len <= (uint64_t)BF_ORDER_LINES_MAX * BF_LINE && word <= (va + len - 1) / BF_ORDER_WORD; word++) {
		l = bf_order_line_at(o, word / BF_ORDER_WORDS);
		if (l)
			l->word[word % BF_ORDER_WORDS] = (struct bf_order_store){ 0 };
		else
			word |= BF_ORDER_WORDS - 1;
	}
	if (len <= COMPLETION && o->reads && (l = bf_order_make_line(o, va / BF_LINE)) != NULL)
		l->served = o->reads;
}

static void on(struct bf_rules *r, void *facts, const struct bf_seen *e)
{
	struct bf_order *o = facts;

	if (o->gave_up)
		return;
	switch (e->kind) {
	case BF_SEEN_region:
		bf_order_note_region(o, e);
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
	for (uint32_t i = 0; i < BF_ORDER_POSTED; i++)
		for (uint32_t level = 0; level < BF_ORDER_LEVELS; level++)
			free(o->posted[i].clock[level].at);
	for (uint32_t i = 0; i < o->nblocks; i++)
		free(o->blocks[i].clock.at);
	for (uint32_t level = 0; level < BF_ORDER_LEVELS; level++)
		free(o->devices[level].at);
	free(o->ended.at);
	free(o->thread_of);
	bf_numbering_free(&o->actors);
	free(o->threads);
	free(o->blocks);
	free(o->lines);
	bf_number_map_free(&o->line_of);
	free(o->places);
	bf_number_map_free(&o->place_of);
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
