/*
 * Memory visibility: what a thread has stored and who can see it yet.
 *
 * Agents store through a view. With BF_ORDER_SC a store is visible at once: the fast path below is one predicted
 * branch and a plain store. With the other orderings stores sit in buffers and reach memory by a fence, by an atomic or
 * release with the right scope, or by a seeded drain:
 *   tso          one FIFO per agent (x86: Intel SDM vol. 3, "Memory Ordering"); stores drain in order, late.
 *   gpu          stores to different lines drain in any order (PTX ISA, "Memory Consistency Model"); scopes matter.
 *   adversarial  like gpu, but by seed each store becomes visible either at once or only when something forces it.
 * Buffers form the tree of scopes: thread -> block (CTA) -> GPU -> system. A fence of a scope pushes the thread's
 * earlier stores up to that level. Members of a level see what has reached it. VRAM's point of coherence is the GPU
 * level: what has reached it is in memory. DMA sees memory only. Same-address order is always kept and a thread always
 * sees its own stores.
 * Weak loads may be served from the block's stale copy (L1) under gpu and adversarial; relaxed, volatile and acquire
 * loads are not. An acquire or a fence of GPU or system scope drops the block's stale copies; one of block scope has no
 * need to, since a copy never lacks what its own block has stored.
 * Fences and releases are cumulative: they push what the thread may have seen of its block (its GPU) as well.
 * MMIO stores go to the device by bf_mmio_post() when they drain. Stores to a write-combining mapping (BlueFlame)
 * gather in a 64-byte buffer which leaves when full, on a fence, or by a seeded eviction, possibly in pieces.
 * Every buffered store drains in the end, so a missing fence is a race, never a hang by itself.
 */
#ifndef BELFRY_SIM_VIEW_H
#define BELFRY_SIM_VIEW_H

#include <string.h>

#include "sim/agent.h"
#include "sim/compiler.h"
#include "sim/mem.h"

BF_API_BEGIN

enum bf_ordering { BF_ORDER_SC, BF_ORDER_TSO, BF_ORDER_GPU, BF_ORDER_ADVERSARIAL };

/* "sc", "tso", "gpu", "adversarial" <-> enum. Parse returns -EINVAL for other text. */
int bf_ordering_parse(const char *text, enum bf_ordering *out);
const char *bf_ordering_name(enum bf_ordering o);

enum bf_scope { BF_SCOPE_CTA, BF_SCOPE_GPU, BF_SCOPE_SYS };

/* Memory semantics of one access. */
enum bf_sem { BF_WEAK, BF_RELAXED, BF_ACQUIRE, BF_RELEASE, BF_ACQ_REL };

enum bf_atomic_op { BF_ATOMIC_ADD, BF_ATOMIC_MAX, BF_ATOMIC_EXCH, BF_ATOMIC_CAS, BF_ATOMIC_AND, BF_ATOMIC_OR };

/*
 * What each primitive costs its thread, ps. A profile of the platform, with its source where defined. The primitives
 * below charge all but `load_dram` and `poll`: those are for callers who know that a load goes to host memory (charge
 * the difference to `load`) and for the period of bf_agent_wait().
 */
struct bf_cost {
	uint64_t load, load_dram, store, atomic, fence_cta, fence_gpu, fence_sys, mmio, poll;
};
extern const struct bf_cost bf_cost_zero;
extern const struct bf_cost bf_cost_gpu; /* an H200; sources in view_cost.c */
extern const struct bf_cost bf_cost_cpu;

/*
 * One node of the tree of scopes: a GPU (parent NULL) or a block (parent: its GPU). CPU threads use a node of their own
 * with parent NULL whose GPU and CTA levels are the system level.
 */
struct bf_domain;
int bf_domain_create(struct bf_sim *sim, enum bf_scope level, struct bf_domain *parent, struct bf_domain **out);
/* After the run and after its views; blocks before their GPU; drains what is left while the regions still exist. */
void bf_domain_destroy(struct bf_domain *d);
/* Everything that waits in it becomes visible now, in one of its orders; stores to registers set out. */
void bf_domain_flush(struct bf_domain *d);

struct bf_view_opts {
	enum bf_ordering ordering;
	struct bf_space *space;
	struct bf_domain *domain; /* NULL: system level (CPU thread) */
	const struct bf_cost *cost;
	const char *name; /* names the random stream of drains */
};

/*
 * A view per agent. Freed after the run, while its regions still exist, with bf_view_destroy(): stores that a stopped
 * run left in the buffer reach memory, those to devices are dropped. -ENOMEM with sim->error set.
 */
int bf_view_create(struct bf_sim *sim, const struct bf_view_opts *opts, struct bf_view **out);
void bf_view_destroy(struct bf_view *v);
/* As bf_domain_flush(). */
void bf_view_flush(struct bf_view *v);

/*
 * For a chooser that is untimed (sim/choice.h): how many stores of this view, or of this level, may move on now, and
 * moving one of them, the `i`th.
 */
uint32_t bf_view_ready(const struct bf_view *v);
void bf_view_drain(struct bf_view *v, uint32_t i);
uint32_t bf_domain_ready(const struct bf_domain *d);
void bf_domain_drain(struct bf_domain *d, uint32_t i);
/* Its stale copies are gone. */
void bf_domain_forget(struct bf_domain *d);

/* The part that the fast paths read. */
struct bf_view {
	const struct bf_cost *cost;
	struct bf_space *space;
	enum bf_ordering ordering;
	/* the private part follows in view_internal.h */
};

/* Slow paths: any ordering, records, watchers. `len` 1..64, not crossing a line. */
void bf_store_slow(struct bf_agent *a, void *p, const void *data, uint32_t len, enum bf_sem sem, enum bf_scope scope);
void bf_load_slow(struct bf_agent *a, const void *p, void *data, uint32_t len, enum bf_sem sem, enum bf_scope scope);

/* Self: stores `len` bytes (1..64, within one line). Plain memory only; MMIO has its own call. */
static BF_ALWAYS_INLINE void bf_store(struct bf_agent *a, void *p, const void *data, uint32_t len, enum bf_sem sem,
				      enum bf_scope scope)
{
	if (BF_UNLIKELY(a->sim->slow)) {
		bf_store_slow(a, p, data, len, sem, scope);
		return;
	}
	a->charge_ps += a->view->cost->store;
	memcpy(p, data, len);
}

/* `n` weak stores of agent `a` were made in another form: they count, where its stores do. */
void bf_view_stored(struct bf_agent *a, uint64_t n);

/* Self: loads `len` bytes (1..64, within one line). Non-weak loads sync first: they poll. */
static BF_ALWAYS_INLINE void bf_load(struct bf_agent *a, const void *p, void *data, uint32_t len, enum bf_sem sem,
				     enum bf_scope scope)
{
	a->charge_ps += a->view->cost->load;
	if (sem != BF_WEAK)
		bf_agent_sync(a);
	if (BF_UNLIKELY(a->sim->slow & ~BF_SLOW_WATCH)) {
		bf_load_slow(a, p, data, len, sem, scope);
		return;
	}
	memcpy(data, p, len);
}

/*
 * Except under sc, an access to memory outside every region of the view's space, or of the wrong kind, is what a real
 * processor answers with a fault: sim->error says whose it was and bf_sim_run() returns BF_RUN_STOPPED.
 */

/* Self: a fence of `scope`. Everything this thread stored before is visible there afterwards; stale copies are gone. */
void bf_fence(struct bf_agent *a, enum bf_scope scope);
/*
 * Self: fence.acq_rel. bf_fence() is fence.sc; in the buffers both are one, and only an execution graph (sim/graph.h)
 * tells them apart.
 */
void bf_fence_acq_rel(struct bf_agent *a, enum bf_scope scope);

/*
 * Self: an atomic on 4 or 8 bytes at scope `scope`; returns the old value. `sem` BF_RELAXED orders nothing else,
 * release and acquire as named. For CAS `compare` is compared and `operand` stored. It acts where its scope has its
 * point of coherence: a scope too narrow for those who take part makes it lose updates, as the PTX ISA permits. Under
 * tso it is a locked instruction: all of the thread's stores are visible first.
 */
uint64_t bf_atomic(struct bf_agent *a, void *p, uint32_t len, enum bf_atomic_op op, uint64_t operand, uint64_t compare,
		   enum bf_sem sem, enum bf_scope scope);

/*
 * Self: the same for an operation of the caller's own on 1..16 bytes, which gets the old value and says in `now` what
 * is to be there, or returns false: nothing; again, if a thread of the process outside of the simulation came between.
 * `old` gets the old value. Its record has it as an exchange for the first 8
 * bytes of `now`.
 */
typedef bool bf_atomic_fn(void *arg, const void *old, void *now);
void bf_atomic_apply(struct bf_agent *a, void *p, uint32_t len, bf_atomic_fn *fn, void *arg, void *old, enum bf_sem sem,
		     enum bf_scope scope);

/*
 * What a load that is not weak would find now, `len` bytes (1..64, within one line) of memory: no time passes, nothing
 * is recorded, no stale copy is dropped. For those who ask whether it is worth to look again.
 */
void bf_load_peek(struct bf_agent *a, const void *p, void *data, uint32_t len);

/*
 * Self: a store to an MMIO region, of 4 or 8 bytes, or of 16 as one write. Buffered like any store; release semantics
 * flush earlier ones, as far as the scope reaches (bf_mmio_store(): all of them).
 */
void bf_mmio_store(struct bf_agent *a, void *p, const void *data, uint32_t len, enum bf_sem sem);
void bf_mmio_store_scoped(struct bf_agent *a, void *p, const void *data, uint32_t len, enum bf_sem sem,
			  enum bf_scope scope);

/*
 * Self: a load of 1..8 bytes from a device, which returns what the device holds after all that this thread stored
 * before: a fence of system scope comes first. All ones outside of every region.
 */
uint64_t bf_mmio_read(struct bf_agent *a, const void *p, uint32_t len);

/*
 * Self: a store of any length into a write-combining mapping of an MMIO region. bf_wc_flush() empties the buffer (it
 * orders nothing else); so does a fence that reaches the system level, and under tso any atomic or MMIO store. Under sc
 * a part of a line that nothing flushes leaves after 1 us.
 */
void bf_wc_store(struct bf_agent *a, void *p, const void *data, uint32_t len);
void bf_wc_flush(struct bf_agent *a);

BF_API_END

#endif
