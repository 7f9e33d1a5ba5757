#include "sim/view.h"

#include <errno.h>
#include <string.h>

#include "sim/fault.h"
#include "sim/graph.h"
#include "sim/known_internal.h"
#include "sim/notice_internal.h"
#include "sim/pcie.h"
#include "sim/pool.h"
#include "sim/records_agent.h"
#include "sim/view_internal.h"
#include "sim/where_internal.h"
#include "sim/wild.h"

#define THREAD_STORES 64 /* a thread's buffer; x86 cores have 42 to 114 entries, the size matters little */
#define ALL_STORES 16384 /* a simulation's: what thousands of threads store at once does not all wait */

static struct bf_region *region_at(const struct bf_agent *a, const void *p)
{
	return a->view->space ? bf_space_find_host(a->view->space, p) : NULL;
}

/* `r` is where the access is; false: it cannot be, and the run stops. */
static bool may_access(struct bf_agent *a, const struct bf_region *r, const void *p, uint32_t len, bool mmio)
{
	if (BF_LIKELY(r && (r->kind == BF_MEM_MMIO) == mmio && len <= r->size - (bf_va(r, p) - r->va)))
		return true;
	bf_wild_access(a, r, p, len, mmio);
	return false;
}

struct bf_region *bf_view_region(struct bf_agent *a, const void *p, uint32_t len, bool mmio)
{
	struct bf_region *r = region_at(a, p);

	return may_access(a, r, p, len, mmio) ? r : NULL;
}

uint64_t bf_view_late(struct bf_rng *rng)
{
	const uint64_t power = BF_US << bf_rng_below(rng, 8);

	return power + bf_rng_below(rng, power);
}

/*
 * One hop's time. tso: store buffers drain within a fraction of a microsecond. gpu: the hops of one store add up to a
 * few microseconds, and a store to a device needs no cache to make room. adversarial: at once, or as late as the fabric
 * of a busy machine might ever make it; a doorbell tends to overtake all else.
 */
static uint64_t hop_delay(struct bf_view_full *v, bool mmio)
{
	switch (v->pub.ordering) {
	case BF_ORDER_TSO:
		return bf_rng_below(&v->rng, 500 * BF_NS);
	case BF_ORDER_GPU:
		return bf_rng_below(&v->rng, mmio ? 250 * BF_NS : BF_US);
	default:
		return bf_rng_chance(&v->rng, mmio ? 62500 : 333333) ? bf_view_late(&v->rng) : 0;
	}
}

/* A store as it enters the model; NULL on lack of memory. */
static struct bf_buffered *new_store(struct bf_agent *a, struct bf_region *r, void *p, const void *data, uint32_t len,
				     enum bf_path path)
{
	struct bf_view_full *v = bf_view_full(a->view);
	struct bf_buffered *e = bf_stores_take(a->sim);

	if (!e)
		return NULL;
	bf_event_init(&e->drain, bf_buffer_drain);
	e->region = r;
	e->at = p;
	e->seq = v->seq;
	e->issued_ps = bf_agent_now(a);
	for (uint32_t i = 0; i < BF_LEVEL_MEMORY; i++)
		e->delay_ps[i] = BF_LIKELY(!a->sim->chooser) ? hop_delay(v, r->kind == BF_MEM_MMIO) : 0;
	e->origin = &v->thread;
	e->actor = a->actor;
	e->len = (uint8_t)len;
	e->ordering = (uint8_t)v->pub.ordering;
	e->path = (uint8_t)path;
	memcpy(e->data, data, len);
	return e;
}

static enum bf_level level_of(enum bf_scope scope)
{
	return scope == BF_SCOPE_CTA ? BF_LEVEL_CTA : scope == BF_SCOPE_GPU ? BF_LEVEL_GPU : BF_LEVEL_MEMORY;
}

/* The buffer in which bytes of `r` are visible at `level`; NULL: memory. */
static struct bf_buffer *buffer_at(struct bf_view_full *v, const struct bf_region *r, enum bf_level level)
{
	struct bf_buffer *b = &v->thread;

	while (b && b->level < level)
		b = bf_buffer_above(b, r);
	return b;
}

/* Its block may have copies: some view of the simulation is weak. */
static bool has_stale(const struct bf_view_full *v)
{
	return v->block && v->thread.sim->slow & BF_SLOW_ORDER;
}

static void drop_stale_line(struct bf_view_full *v, const void *p)
{
	if (has_stale(v))
		bf_stale_drop_line(v->block, bf_line_of(p));
}

/* A block's own stores never make its copies stale, so an acquire that looks no further leaves them. */
static void drop_stale(struct bf_view_full *v, enum bf_scope scope)
{
	if (scope != BF_SCOPE_CTA && has_stale(v))
		bf_stale_drop_all(v->block);
}

/*
 * Where somebody chooses, a store may be late at each level on its way. Nobody but its device sees a store to a
 * register: it is late at the last level, from which the fewest fences push it.
 */
static void choose_delays(struct bf_view_full *v, struct bf_buffered *e, enum bf_level from)
{
	struct bf_sim *sim = v->sim;

	for (struct bf_buffer *b = buffer_at(v, e->region, from), *above; b; b = above) {
		const uint64_t key = bf_view_key(BF_CHOICE_DRAIN, e->actor, b->level, e->seq);

		above = bf_buffer_above(b, e->region);
		if (e->region->kind != BF_MEM_MMIO)
			e->delay_ps[b->level] = bf_choose_watched(sim, BF_CHOICE_DRAIN, key);
		else if (!above)
			e->delay_ps[b->level] = bf_choose_named(sim, BF_CHOICE_DRAIN, 2, key);
	}
}

/* Makes a store, with everything older on its line already out of its way, visible at `level` now. */
static void store_at(struct bf_agent *a, struct bf_region *r, void *p, const void *data, uint32_t len,
		     enum bf_level level, enum bf_path path, enum bf_view_cause cause)
{
	struct bf_view_full *v = bf_view_full(a->view);
	struct bf_buffered *e = new_store(a, r, p, data, len, path);

	if (e) {
		if (BF_UNLIKELY(a->sim->chooser) && !a->sim->chooser->untimed)
			choose_delays(v, e, level);
		if (bf_noticing(a->sim))
			bf_notice_issue(a->sim, &v->thread, e);
		bf_buffer_place(buffer_at(v, r, level), e, cause);
	} else { /* no memory to be late with */
		bf_buffer_push(&v->thread, BF_LEVEL_MEMORY, bf_line_of(p), cause);
		if (r->kind == BF_MEM_MMIO) {
			bf_mmio_post(r, bf_va(r, p) - r->va, data, len);
		} else {
			bf_memory_store(r, p, data, len, path, a->actor);
			bf_mem_touched(r, p, len);
		}
	}
	if (level > BF_LEVEL_CTA)
		drop_stale_line(v, p);
	bf_buffer_trim(&v->thread, THREAD_STORES);
	if (BF_UNLIKELY(a->sim->agents->stores > ALL_STORES))
		bf_buffer_push(&v->thread, BF_LEVEL_MEMORY, NULL, BF_CAUSE_FULL);
}

/* Its accesses are answered by an execution graph, not by buffers. */
static bool by_graph(const struct bf_view_full *v)
{
	return BF_UNLIKELY(v->sim->graph) && v->pub.ordering >= BF_ORDER_GPU;
}

static uint64_t va_of(struct bf_agent *a, const void *p)
{
	const struct bf_region *r = region_at(a, p);

	return r ? bf_va(r, p) : 0;
}

/*
 * What the fault plan makes of an access at `pc` that orders others: it orders nothing, or reaches less far. Returns
 * false for nothing.
 */
static BF_NOINLINE bool keeps_order(struct bf_agent *a, const void *pc, enum bf_scope *scope)
{
	struct bf_sim *sim = a->sim;
	struct bf_fault hit;
	uint32_t site;

	if (!bf_fault_plan_weakens(sim->faults))
		return true;
	site = bf_where_site(a, pc);
	if (bf_fault_check(sim, BF_FAULT_FENCE_NONE, a->actor, site, &hit))
		return false;
	if (*scope == BF_SCOPE_SYS && bf_fault_check(sim, BF_FAULT_FENCE_GPU, a->actor, site, &hit))
		*scope = BF_SCOPE_GPU;
	if (*scope != BF_SCOPE_CTA && bf_fault_check(sim, BF_FAULT_FENCE_CTA, a->actor, site, &hit))
		*scope = BF_SCOPE_CTA;
	return true;
}

#define MAY_WEAKEN(a) BF_UNLIKELY((a)->sim->faults != NULL)

/* Visible at once, as far as the cache of its region lets it be. */
static void store_sc(struct bf_agent *a, void *p, const void *data, uint32_t len, enum bf_path path)
{
	struct bf_region *r = NULL;

	if (BF_UNLIKELY(a->sim->slow & (BF_SLOW_CACHE | BF_SLOW_KNOWN)) && a->view->space)
		r = bf_space_find_host(a->view->space, p);
	bf_memory_store(r, p, data, len, path, a->actor);
	if (r && r->known)
		bf_known_wrote(r, p, len);
	bf_agents_line_touched(a->sim, p);
}

/*
 * Where somebody chooses, a thread may stall before any access by which it learns something, before a fence or a
 * release that reaches further than its block, and after an atomic (`p` NULL): that is where another thread or a device
 * can slip in between two steps of a protocol.
 */
static BF_NOINLINE void stall(struct bf_agent *a, const void *p, uint32_t len, bool loads)
{
	struct bf_view_full *v = bf_view_full(a->view);
	const uint64_t key = bf_view_key(BF_CHOICE_SCHEDULE, a->actor, 1, v->asked++);

	if (bf_choose_watched(a->sim, BF_CHOICE_SCHEDULE, key)) {
		bf_agent_delay(a, BF_CHOSEN_STALL);
		a->wait->stalled = true;
	} else if (bf_noticing(a->sim))
		bf_notice_stall(a->sim, &v->thread, p, len, loads, key, bf_agents_now(a->sim) + BF_CHOSEN_STALL);
}

static bool may_stall(const struct bf_view_full *v)
{
	return BF_UNLIKELY(v->sim->chooser) && !v->sim->chooser->untimed && v->pub.ordering >= BF_ORDER_GPU;
}

/*
 * Where a release store itself is visible at once. It orders what is before it; what comes after may overtake it, and
 * where somebody chooses, it does.
 */
static enum bf_level released_at(const struct bf_view_full *v, enum bf_scope scope)
{
	return may_stall(v) ? BF_LEVEL_THREAD : level_of(scope);
}

void bf_store_slow(struct bf_agent *a, void *p, const void *data, uint32_t len, enum bf_sem sem, enum bf_scope scope)
{
	struct bf_view_full *v = bf_view_full(a->view);
	const bool asked = sem == BF_RELEASE || sem == BF_ACQ_REL;
	const bool release = asked && (!MAY_WEAKEN(a) || keeps_order(a, __builtin_return_address(0), &scope));
	const enum bf_path path = bf_path_of(v, sem, scope);
	const bool recorded = bf_probe(a->sim, BF_CLASS_MEM);
	struct bf_region *r = NULL;

	a->charge_ps += v->pub.cost->store;
	v->seq++;
	if (by_graph(v)) {
		bf_graph_store(a, p, data, len, sem, scope);
		return;
	}
	BF_WHERE(a);
	if (recorded || v->pub.ordering != BF_ORDER_SC)
		r = region_at(a, p);
	if (recorded) {
		struct bf_rec_store rec = { .va = r ? bf_va(r, p) : 0,
					    .seq = v->seq,
					    .ahead = a->charge_ps,
					    .len = len,
					    .sem = (uint16_t)sem,
					    .scope = (uint16_t)scope };

		BF_EMIT_MADE(a->sim, a->actor, store, rec, data, len);
	}
	if (release && scope == BF_SCOPE_SYS)
		bf_memory_write_back(v, BF_CAUSE_RELEASE);
	if (v->pub.ordering == BF_ORDER_SC) {
		store_sc(a, p, data, len, path);
		return;
	}
	if (!may_access(a, r, p, len, false))
		return;
	if (release && scope != BF_SCOPE_CTA && may_stall(v))
		stall(a, NULL, 0, false);
	/* On x86 a plain store is a release: the FIFO keeps the order by itself. */
	if (release && v->pub.ordering != BF_ORDER_TSO) {
		bf_buffer_push(&v->thread, level_of(scope), NULL, BF_CAUSE_RELEASE);
		store_at(a, r, p, data, len, released_at(v, scope), path, BF_CAUSE_RELEASE);
	} else {
		store_at(a, r, p, data, len, BF_LEVEL_THREAD, path, BF_CAUSE_DRAIN);
	}
}

void bf_view_stored(struct bf_agent *a, uint64_t n)
{
	bf_view_full(a->view)->seq += n;
}

/* What this thread's buffers hold of `p` from buffer `b` up, over what `out` has of memory. */
static void overlay_from(const struct bf_buffer *b, const uint8_t *p, uint32_t len, uint8_t *out)
{
	if (!b)
		return;
	overlay_from(b->above, p, len, out);
	bf_buffer_overlay(b, p, len, out);
}

/* First bytes of a load as a number, for records. */
static uint64_t head_of(const void *data, uint32_t len)
{
	uint64_t v = 0;

	memcpy(&v, data, len < 8 ? len : 8);
	return v;
}

static bool leaves_copy(struct bf_view_full *v, uint64_t key)
{
	if (BF_UNLIKELY(v->sim->chooser))
		return v->sim->chooser->untimed ? bf_choose(v->sim, BF_CHOICE_STALE, 2)
						: bf_choose_watched(v->sim, BF_CHOICE_STALE, key);
	return bf_rng_chance(&v->rng, 500000);
}

static uint64_t copy_life(struct bf_view_full *v)
{
	if (BF_UNLIKELY(v->sim->chooser))
		return v->sim->chooser->untimed ? BF_NEVER / 2 : BF_CHOSEN_LATE;
	return v->pub.ordering == BF_ORDER_GPU ? bf_rng_below(&v->rng, 4 * BF_US) : bf_view_late(&v->rng);
}

/* It left no copy: what that would have changed, and what an earlier copy would have. */
static void notice_weak_load(struct bf_agent *a, const uint8_t *p, uint32_t len, const uint8_t *fresh, uint64_t key)
{
	struct bf_view_full *v = bf_view_full(a->view);
	const uint8_t *line = bf_line_of(p);

	bf_notice_read(a->sim, &v->thread, line, BF_LINE);
	bf_notice_copy_read(v->block, p, len, fresh + (p - line));
	bf_notice_copy(v->block, line, fresh, key, bf_agents_now(a->sim) + BF_CHOSEN_LATE);
}

/* A weak load through the block's copies: true when one of them answered for what lies above the block. */
static bool load_stale(struct bf_agent *a, const uint8_t *p, uint32_t len, uint8_t *out)
{
	struct bf_view_full *v = bf_view_full(a->view);
	uint8_t *line = bf_line_of(p);
	const uint8_t *copy = bf_stale_find(v->block, line);
	const uint64_t key = bf_view_key(BF_CHOICE_STALE, a->actor, 0, v->asked++);
	uint8_t fresh[BF_LINE];
	bool leaves;

	if (copy && BF_UNLIKELY(v->sim->chooser) && v->sim->chooser->untimed &&
	    !bf_choose(v->sim, BF_CHOICE_STALE, 2)) { /* it had expired */
		bf_stale_drop_line(v->block, line);
		copy = NULL;
	}
	if (copy) {
		memcpy(out, copy + (p - line), len);
		if (!bf_probe(a->sim, BF_CLASS_MEM))
			return true;
		bf_memory_load(a, p, fresh, len, false);
		overlay_from(v->block->above, p, len, fresh);
		if (memcmp(fresh, out, len)) {
			struct bf_rec_stale_load r = {
				.va = va_of(a, p), .value = head_of(out, len), .fresh = head_of(fresh, len), .len = len
			};

			BF_EMIT_MADE(a->sim, a->actor, stale_load, r, NULL, 0);
		}
		return true;
	}
	leaves = leaves_copy(v, key);
	if ((leaves || bf_noticing(a->sim)) && bf_view_region(a, p, len, false)) {
		bf_memory_load(a, line, fresh, BF_LINE, false);
		overlay_from(v->block->above, line, BF_LINE, fresh);
		if (leaves)
			bf_stale_keep(v->block, line, fresh, copy_life(v));
		else
			notice_weak_load(a, p, len, fresh, key);
	}
	return false;
}

static void record_load(struct bf_agent *a, const void *p, const void *data, uint32_t len, enum bf_sem sem,
			enum bf_scope scope)
{
	struct bf_view_full *v = bf_view_full(a->view);
	struct bf_rec_load r = { .va = va_of(a, p),
				 .value = head_of(data, len),
				 .len = len,
				 .sem = (uint16_t)sem,
				 .scope = (uint16_t)scope };

	if (r.va == v->polled_va && r.value == v->polled_value)
		return;
	v->polled_va = r.va;
	v->polled_value = r.value;
	BF_EMIT_MADE(a->sim, a->actor, load, r, NULL, 0);
}

void bf_load_slow(struct bf_agent *a, const void *p, void *data, uint32_t len, enum bf_sem sem, enum bf_scope scope)
{
	struct bf_view_full *v = bf_view_full(a->view);
	bool through;

	if (MAY_WEAKEN(a) && (sem == BF_ACQUIRE || sem == BF_ACQ_REL) &&
	    !keeps_order(a, __builtin_return_address(0), &scope))
		sem = BF_RELAXED;
	through = bf_path_of(v, sem, scope) == BF_PATH_THROUGH;
	if (by_graph(v)) {
		bf_graph_load(a, p, data, len, sem, scope);
		return;
	}
	if (may_stall(v))
		stall(a, p, len, true);
	if (bf_noticing(a->sim))
		bf_notice_read(a->sim, &v->thread, p, len);
	if (v->pub.ordering == BF_ORDER_SC) {
		bf_memory_load(a, p, data, len, through);
	} else if (sem == BF_WEAK && v->block && load_stale(a, p, len, data)) {
		bf_buffer_overlay(v->block, p, len, data);
		bf_buffer_overlay(&v->thread, p, len, data);
	} else {
		bf_memory_load(a, p, data, len, through);
		overlay_from(&v->thread, p, len, data);
	}
	if (sem == BF_WEAK)
		return;
	drop_stale_line(v, p);
	if (sem != BF_RELAXED)
		drop_stale(v, scope);
	BF_WHERE(a);
	if (bf_probe_type(a->sim, load))
		record_load(a, p, data, len, sem, scope);
}

static BF_ALWAYS_INLINE void fence(struct bf_agent *a, bool sc, enum bf_scope scope, const void *pc)
{
	struct bf_view_full *v = bf_view_full(a->view);
	const struct bf_cost *c = v->pub.cost;
	uint32_t pushed;

	if (by_graph(v)) {
		bf_graph_fence(a, sc, scope);
		return;
	}
	if (MAY_WEAKEN(a) && !keeps_order(a, pc, &scope))
		return;
	if (may_stall(v) && scope != BF_SCOPE_CTA)
		stall(a, NULL, 0, false);
	bf_agent_delay(a, scope == BF_SCOPE_CTA ? c->fence_cta : scope == BF_SCOPE_GPU ? c->fence_gpu : c->fence_sys);
	pushed = bf_buffer_push(&v->thread, level_of(scope), NULL, BF_CAUSE_FENCE);
	if (scope == BF_SCOPE_SYS)
		bf_memory_write_back(v, BF_CAUSE_FENCE);
	if (scope == BF_SCOPE_SYS || !v->thread.above)
		bf_wc_evict(v, BF_WC_FENCE);
	if (BF_UNLIKELY(a->sim->shared)) /* for them, no load behind it passes a store before it */
		__atomic_thread_fence(__ATOMIC_SEQ_CST);
	drop_stale(v, scope);
	BF_WHERE(a);
	BF_EMIT(a->sim, a->actor, fence, .pushed = pushed, .scope = scope);
}

void bf_fence(struct bf_agent *a, enum bf_scope scope)
{
	fence(a, true, scope, __builtin_return_address(0));
}

void bf_fence_acq_rel(struct bf_agent *a, enum bf_scope scope)
{
	fence(a, false, scope, __builtin_return_address(0));
}

static uint64_t combine(enum bf_atomic_op op, uint64_t old, uint64_t operand, uint64_t compare)
{
	switch (op) {
	case BF_ATOMIC_ADD:
		return old + operand;
	case BF_ATOMIC_MAX:
		return old > operand ? old : operand;
	case BF_ATOMIC_EXCH:
		return operand;
	case BF_ATOMIC_CAS:
		return old == compare ? operand : old;
	case BF_ATOMIC_AND:
		return old & operand;
	case BF_ATOMIC_OR:
		return old | operand;
	}
	return old;
}

#define ATOMIC_MAX 16u

/*
 * The read-modify-write where its scope has its point of coherence. No agent comes between, since nobody else runs; at
 * memory that threads outside of the simulation share, the word is changed again if one of them did.
 */
static BF_ALWAYS_INLINE void modify(struct bf_agent *a, void *p, uint32_t len, bf_atomic_fn *fn, void *arg, void *old,
				    void *now, enum bf_level level)
{
	struct bf_view_full *v = bf_view_full(a->view);
	const bool sc = v->pub.ordering == BF_ORDER_SC;
	const bool through = v->on_gpu && level == BF_LEVEL_MEMORY;
	enum bf_path path = !v->on_gpu ? BF_PATH_OUTSIDE : through ? BF_PATH_THROUGH : BF_PATH_CACHED;
	struct bf_region *r = sc ? NULL : bf_view_region(a, p, len, false);
	struct bf_buffer *b = sc || !r ? NULL : buffer_at(v, r, level);
	const bool meets_threads = a->sim->shared && !b && !(a->sim->slow & BF_SLOW_CACHE);

	if (!sc && !r)
		return;
	bf_memory_load(a, p, old, len, through);
	overlay_from(b, p, len, old);
	do
		if (!fn(arg, old, now))
			return;
	while (BF_UNLIKELY(meets_threads) && !bf_word_swap(p, old, now, len));
	if (BF_UNLIKELY(meets_threads))
		path = BF_PATH_THERE;
	if (!sc)
		store_at(a, r, p, now, len, level, path, BF_CAUSE_ATOMIC);
	else if (memcmp(now, old, len) != 0)
		store_sc(a, p, now, len, path);
}

/* Everything about an atomic but its operation and its record. */
static BF_ALWAYS_INLINE void apply(struct bf_agent *a, void *p, uint32_t len, bf_atomic_fn *fn, void *arg, void *old,
				   void *now, enum bf_sem sem, enum bf_scope scope)
{
	struct bf_view_full *v = bf_view_full(a->view);
	const bool locked = v->pub.ordering == BF_ORDER_TSO; /* LOCK drains all buffers, whatever the code asked for */
	const enum bf_level level = locked ? BF_LEVEL_MEMORY : level_of(scope);

	if (by_graph(v)) {
		bf_graph_modify(a, p, len, fn, arg, old, now, sem, scope);
		return;
	}
	bf_agent_delay(a, v->pub.cost->atomic);
	if (may_stall(v))
		stall(a, p, len, false);
	if (bf_noticing(a->sim))
		bf_notice_read(a->sim, &v->thread, p, len);
	v->seq++;
	if (locked)
		bf_wc_evict(v, BF_WC_ORDERED);
	if (locked || sem == BF_RELEASE || sem == BF_ACQ_REL)
		bf_buffer_push(&v->thread, level, NULL, BF_CAUSE_ATOMIC);
	else
		bf_buffer_push(&v->thread, level, bf_line_of(p), BF_CAUSE_ATOMIC);
	if (scope == BF_SCOPE_SYS && (sem == BF_RELEASE || sem == BF_ACQ_REL))
		bf_memory_write_back(v, BF_CAUSE_ATOMIC);
	modify(a, p, len, fn, arg, old, now, level);
	drop_stale_line(v, p);
	if (sem == BF_ACQUIRE || sem == BF_ACQ_REL)
		drop_stale(v, scope);
	if (may_stall(v))
		stall(a, NULL, 0, false);
}

struct operation {
	enum bf_atomic_op op;
	uint64_t operand, compare, bits;
};

static bool operate(void *arg, const void *was, void *now)
{
	const struct operation *o = arg;
	uint64_t old, result;

	memcpy(&old, was, sizeof(old));
	result = combine(o->op, old, o->operand & o->bits, o->compare & o->bits) & o->bits;
	memcpy(now, &result, sizeof(result));
	return o->op != BF_ATOMIC_CAS || old == (o->compare & o->bits);
}

uint64_t bf_atomic(struct bf_agent *a, void *p, uint32_t len, enum bf_atomic_op op, uint64_t operand, uint64_t compare,
		   enum bf_sem sem, enum bf_scope scope)
{
	struct operation o = {
		.op = op, .operand = operand, .compare = compare, .bits = len == 8 ? UINT64_MAX : UINT32_MAX
	};
	uint64_t old = 0, now = 0;

	if (MAY_WEAKEN(a) && !keeps_order(a, __builtin_return_address(0), &scope))
		sem = BF_RELAXED;
	apply(a, p, len, operate, &o, &old, &now, sem, scope);
	BF_WHERE(a);
	BF_EMIT(a->sim, a->actor, atomic, .va = va_of(a, p), .old = old, .operand = operand, .compare = compare,
		.op = (uint16_t)op, .len = (uint16_t)len, .sem = (uint16_t)sem, .scope = (uint16_t)scope);
	return old;
}

void bf_atomic_apply(struct bf_agent *a, void *p, uint32_t len, bf_atomic_fn *fn, void *arg, void *old, enum bf_sem sem,
		     enum bf_scope scope)
{
	uint8_t was[ATOMIC_MAX] = { 0 }, now[ATOMIC_MAX] = { 0 };

	if (MAY_WEAKEN(a) && !keeps_order(a, __builtin_return_address(0), &scope))
		sem = BF_RELAXED;
	apply(a, p, len, fn, arg, was, now, sem, scope);
	memcpy(old, was, len);
	BF_WHERE(a);
	BF_EMIT(a->sim, a->actor, atomic, .va = va_of(a, p), .old = head_of(was, len), .operand = head_of(now, len),
		.op = BF_ATOMIC_EXCH, .len = (uint16_t)len, .sem = (uint16_t)sem, .scope = (uint16_t)scope);
}

void bf_load_peek(struct bf_agent *a, const void *p, void *data, uint32_t len)
{
	struct bf_view_full *v = bf_view_full(a->view);

	if (bf_noticing(a->sim))
		bf_notice_read(a->sim, &v->thread, p, len);
	bf_memory_load(a, p, data, len, true);
	if (v->pub.ordering != BF_ORDER_SC)
		overlay_from(&v->thread, p, len, data);
}

/* Buffered like any other; a release that reaches less than all is one for those that it reaches. */
static BF_ALWAYS_INLINE void mmio_store(struct bf_agent *a, void *p, const void *data, uint32_t len, enum bf_sem sem,
					enum bf_scope scope, const void *pc)
{
	struct bf_view_full *v = bf_view_full(a->view);
	const enum bf_ordering o = v->pub.ordering;
	const bool asked = sem == BF_RELEASE || sem == BF_ACQ_REL;
	const bool release = asked && (!MAY_WEAKEN(a) || keeps_order(a, pc, &scope));
	struct bf_region *r = bf_view_region(a, p, len, true);

	bf_agent_delay(a, v->pub.cost->mmio);
	if (!r)
		return;
	if (may_stall(v) &&
	    bf_choose_named(a->sim, BF_CHOICE_SCHEDULE, 2, bf_view_key(BF_CHOICE_SCHEDULE, a->actor, 1, v->asked++)))
		bf_agent_delay(a, BF_CHOSEN_STALL);
	v->seq++;
	BF_WHERE(a);
	BF_EMIT_TAIL(a->sim, a->actor, mmio_store, data, len, .va = bf_va(r, p), .seq = v->seq, .len = len, .sem = sem);
	/* An uncached store drives write-combining buffers out (Intel SDM vol. 3, "Memory Cache Control"). */
	if (o == BF_ORDER_TSO)
		bf_wc_evict(v, BF_WC_ORDERED);
	if (release && scope == BF_SCOPE_SYS)
		bf_memory_write_back(v, BF_CAUSE_RELEASE);
	if (o == BF_ORDER_SC) {
		bf_mmio_post(r, bf_va(r, p) - r->va, data, len);
	} else if (release && o != BF_ORDER_TSO) {
		bf_buffer_push(&v->thread, level_of(scope), NULL, BF_CAUSE_RELEASE);
		store_at(a, r, p, data, len, released_at(v, scope), BF_PATH_OUTSIDE, BF_CAUSE_RELEASE);
	} else {
		store_at(a, r, p, data, len, BF_LEVEL_THREAD, BF_PATH_OUTSIDE, BF_CAUSE_DRAIN);
	}
}

void bf_mmio_store(struct bf_agent *a, void *p, const void *data, uint32_t len, enum bf_sem sem)
{
	mmio_store(a, p, data, len, sem, BF_SCOPE_SYS, __builtin_return_address(0));
}

void bf_mmio_store_scoped(struct bf_agent *a, void *p, const void *data, uint32_t len, enum bf_sem sem,
			  enum bf_scope scope)
{
	mmio_store(a, p, data, len, sem, scope, __builtin_return_address(0));
}

uint64_t bf_mmio_read(struct bf_agent *a, const void *p, uint32_t len)
{
	struct bf_region *r = region_at(a, p);
	uint64_t value, done_ps;

	bf_fence(a, BF_SCOPE_SYS);
	bf_agent_sync(a);
	if (!r || !r->mmio)
		return ~0ull;
	value = bf_mmio_load(r, bf_va(r, p) - r->va, len, &done_ps);
	if (done_ps > bf_agent_now(a))
		bf_agent_delay(a, done_ps - bf_agent_now(a));
	return value;
}
