/*
 * Inside the visibility model: buffers of stores and stale copies.
 *
 *   thread ---> block (CTA) ---> GPU ---> memory
 *
 * Each arrow is a hop that a store makes by itself after a random time, or at once when a fence, a release or an atomic
 * pushes it. A thread looks for bytes from its own end: the nearest buffer that holds them wins. VRAM has no GPU buffer
 * (its L2 is memory); threads outside a GPU hop straight to memory; so do all threads under tso.
 */
#ifndef BELFRY_SIM_VIEW_INTERNAL_H
#define BELFRY_SIM_VIEW_INTERNAL_H

#include "sim/agent_internal.h"
#include "sim/mem.h"
#include "sim/view.h"
#include "sim/word.h"

enum bf_level { BF_LEVEL_THREAD, BF_LEVEL_CTA, BF_LEVEL_GPU, BF_LEVEL_MEMORY };

/* Why a store moved: values of the field `cause` of record store_visible. */
enum bf_view_cause {
	BF_CAUSE_DRAIN,
	BF_CAUSE_FENCE,
	BF_CAUSE_RELEASE,
	BF_CAUSE_ATOMIC,
	BF_CAUSE_FULL,
	BF_CAUSE_END,
	BF_CAUSE_MERGED,
};

/*
 * How an access gets past the cache of its region: it is not the GPU's, it is, or it is and passes the cache by. THERE:
 * a store whose bytes are in memory already.
 */
enum bf_path { BF_PATH_OUTSIDE, BF_PATH_CACHED, BF_PATH_THROUGH, BF_PATH_THERE };

/* One store on its way. Lies in exactly one buffer. */
struct bf_buffered {
	struct bf_event drain;                     /* its next hop */
	struct bf_buffered *next, *prev;           /* the buffer, in order of arrival */
	struct bf_buffered *line_next, *line_prev; /* the same bucket, likewise */
	struct bf_buffer *in;
	const struct bf_buffer *origin; /* its thread's */
	struct bf_region *region;
	uint8_t *at; /* host address */
	uint64_t seq, issued_ps;
	uint64_t
	    delay_ps[BF_LEVEL_MEMORY]; /* time in each level; drawn when issued, so that nobody else matters.
					  Where somebody chooses: not 0 is until BF_CHOSEN_LATE after it was issued */
	uint32_t actor;
	uint8_t len;
	uint8_t ordering;
	uint8_t path; /* enum bf_path */
	uint8_t data[BF_LINE];
};

struct bf_bucket {
	struct bf_buffered *first, *last;
};

struct bf_stale;

struct bf_buffer {
	struct bf_sim *sim;
	struct bf_buffer *above; /* NULL: memory */
	enum bf_level level;
	uint32_t count;
	struct bf_buffered *first, *last;
	struct bf_bucket *bucket; /* by line; looked up, never walked, so that addresses decide nothing */
	uint32_t bucket_bits;
	struct bf_stale *stale; /* blocks only: copies that weak loads may see */
};

/* Begins with 1 << `bucket_bits` buckets, which grow with what it holds. */
int bf_buffer_init(struct bf_buffer *b, struct bf_sim *sim, enum bf_level level, struct bf_buffer *above,
		   uint32_t bucket_bits);
void bf_buffer_fini(struct bf_buffer *b); /* drains */

static inline uint8_t *bf_line_of(const void *p)
{
	return (uint8_t *)(uintptr_t)p - ((uintptr_t)p & (BF_LINE - 1));
}

/* Takes a store from the simulation's stock; NULL on lack of memory. */
struct bf_buffered *bf_stores_take(struct bf_sim *sim);

/* The event of a buffered store: its next hop. */
void bf_buffer_drain(struct bf_event *ev);

/* Stores that none before them in their buffer holds back, and the next hop of one of them. */
uint32_t bf_buffer_ready(const struct bf_buffer *b);
void bf_buffer_drain_ready(struct bf_buffer *b, uint32_t i);

/* Lays `e` into `b` (NULL: memory), from where it hops on by itself. */
void bf_buffer_place(struct bf_buffer *b, struct bf_buffered *e, enum bf_view_cause cause);

/* The buffer above `b` for bytes of `r`, NULL for memory. */
struct bf_buffer *bf_buffer_above(const struct bf_buffer *b, const struct bf_region *r);

/* Pushes all that lies below `level` on the way from `b` up to there; of one line only when `line` is set. Counts. */
uint32_t bf_buffer_push(struct bf_buffer *b, enum bf_level level, const uint8_t *line, enum bf_view_cause cause);

/* Lays what `b` holds of `p`..`p + len` over `out`. */
void bf_buffer_overlay(const struct bf_buffer *b, const uint8_t *p, uint32_t len, uint8_t *out);

/* Lets the oldest store of a full buffer go. */
void bf_buffer_trim(struct bf_buffer *b, uint32_t limit);

/* sim/view_stale.c: a block's copies of lines as they were. */
int bf_stale_init(struct bf_buffer *block);
void bf_stale_fini(struct bf_buffer *block);
void bf_stale_drop_line(struct bf_buffer *block, const uint8_t *line);
void bf_stale_drop_all(struct bf_buffer *block);
/* The copy of `line`, NULL when there is none. */
const uint8_t *bf_stale_find(const struct bf_buffer *block, const uint8_t *line);
/* Keeps a copy of `line`, whose bytes are `bytes`, for `life_ps`. */
void bf_stale_keep(struct bf_buffer *block, uint8_t *line, const uint8_t *bytes, uint64_t life_ps);

/* The write-combining buffer of one thread (sim/view_wc.c). */
struct bf_wc {
	struct bf_event evict;
	struct bf_region *region;
	uint64_t offset; /* of the line in its region */
	uint64_t mask;   /* bit per byte present */
	uint32_t actor;
	uint8_t data[BF_LINE];
};

/* Why it leaves: values of the field `cause` of record wc_evict. */
enum bf_wc_cause {
	BF_WC_DRAIN,
	BF_WC_FENCE,
	BF_WC_FLUSH,
	BF_WC_ORDERED,
	BF_WC_FULL,
	BF_WC_OTHER_LINE,
};

/* The whole view. The fast paths see the front. */
struct bf_view_full {
	struct bf_view pub;
	struct bf_sim *sim;
	struct bf_buffer thread;
	struct bf_buffer *block; /* its CTA's buffer, NULL without one */
	struct bf_rng rng;
	struct bf_wc wc;
	bool on_gpu; /* its domain belongs to a GPU */
	uint64_t seq;
	uint64_t polled_va, polled_value; /* what the last record of a load said */
	uint64_t asked;                   /* choices, for their names */
};

static inline struct bf_view_full *bf_view_full(struct bf_view *v)
{
	return BF_CONTAINER_OF(v, struct bf_view_full, pub);
}

void bf_wc_init(struct bf_view_full *v);
void bf_wc_evict(struct bf_view_full *v, enum bf_wc_cause cause);

/* The name of a choice of this view's thread: the `n`th of its kind, or that of its store `n` at `level`. */
static inline uint64_t bf_view_key(enum bf_choice_kind kind, uint32_t actor, uint32_t level, uint64_t n)
{
	return (uint64_t)(kind + 1) << 60 | (uint64_t)(actor & 0x3ffff) << 42 | (uint64_t)level << 40 |
	       (n & 0xffffffffff);
}

#define BF_CHOSEN_STALL (5 * BF_US)  /* a message to a peer and back */
#define BF_CHOSEN_LATE (256 * BF_US) /* chosen to be late: as late as adversarial makes a store */

/* A heavy-tailed delay: evenly over the powers of two from 1 to 256 us. */
uint64_t bf_view_late(struct bf_rng *rng);

/*
 * sim/view_cache.c: memory as an agent reaches it, past the cache of its region. `r` may be NULL: unknown, coherent.
 * Slow paths only; nobody is told that the line has changed.
 */
void bf_memory_load_cached(struct bf_agent *a, const void *p, void *data, uint32_t len, bool through);
static inline void bf_memory_load(struct bf_agent *a, const void *p, void *data, uint32_t len, bool through)
{
	if (BF_UNLIKELY(a->sim->slow & BF_SLOW_CACHE))
		bf_memory_load_cached(a, p, data, len, through);
	else
		memcpy(data, p, len);
}
void bf_memory_store_cached(struct bf_region *r, void *p, const void *data, uint32_t len, enum bf_path path,
			    uint32_t actor);
static inline void bf_memory_store(struct bf_region *r, void *p, const void *data, uint32_t len, enum bf_path path,
				   uint32_t actor)
{
	if (BF_UNLIKELY(r && r->cache))
		bf_memory_store_cached(r, p, data, len, path, actor);
	else if (path != BF_PATH_THERE)
		bf_whole_store(p, data, len);
}
enum bf_path bf_path_of(const struct bf_view_full *v, enum bf_sem sem, enum bf_scope scope);
/* A fence or release of system scope of a GPU thread: what its caches hold goes to memory. */
void bf_memory_write_back(struct bf_view_full *v, enum bf_view_cause cause);

/* The region of a driver's address. NULL: none, and the run stops with an error. `mmio`: of that kind, or not. */
struct bf_region *bf_view_region(struct bf_agent *a, const void *p, uint32_t len, bool mmio);

#endif
