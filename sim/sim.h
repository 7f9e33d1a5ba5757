/*
 * The simulation context: one clock, one queue, one record stream, one seed.
 *
 * Everything hangs off a struct bf_sim; there are no global variables, so a process may run many simulations, each on
 * one thread. In virtual time bf_sim_run() jumps from event to event. In live mode (sim/live.h) the same events fire
 * when the wall clock reaches them. Models cannot tell.
 */
#ifndef BELFRY_SIM_SIM_H
#define BELFRY_SIM_SIM_H

#include <stdint.h>

#include "sim/choice.h"
#include "sim/compiler.h"
#include "sim/error.h"
#include "sim/event.h"
#include "sim/record.h"
#include "sim/rng.h"

BF_API_BEGIN

#define BF_PS 1ull
#define BF_NS 1000ull
#define BF_US 1000000ull
#define BF_MS 1000000000ull
#define BF_S 1000000000000ull

/* Reasons why memory primitives must leave their fast path (struct bf_sim.slow). */
#define BF_SLOW_ORDER 1u   /* an ordering other than sc is in force */
#define BF_SLOW_RECORD 2u  /* the record stream wants memory records */
#define BF_SLOW_WATCH 4u   /* some agent sleeps on a memory line */
#define BF_SLOW_NOTICE 16u /* a search wants to know which delays would be noticed (struct bf_chooser) */
#define BF_SLOW_CACHE 8u   /* some region lies behind a cache that DMA does not keep coherent */
#define BF_SLOW_KNOWN 32u  /* bytes that no record tells of are looked for (bf_space_know()) */

struct bf_agents;     /* sim/agent.h: all coroutines and who waits for what */
struct bf_fault_plan; /* sim/fault.h */
struct bf_stats;      /* sim/stats.h */
struct bf_pool;       /* sim/pool.h */
struct bf_stacks;     /* sim/coro.h */
struct bf_graph;      /* sim/graph.h */
struct bf_queue;

struct bf_sim {
	uint64_t now_ps;
	uint32_t slow;    /* BF_SLOW_* */
	uint32_t caches;  /* regions behind a cache (struct bf_region.cache) */
	uint32_t regions; /* that have a mapping of their own */
	/*
	 * Up to here callbacks may advance now_ps by themselves while no event lies before (a DMA port handles a train
	 * of completions that way). Set by whoever fires events: bf_sim_run() to its limit, the live loop to the wall
	 * clock.
	 */
	uint64_t run_until_ps;
	bool stopped; /* bf_sim_stop() was called */
	bool shared;  /* live mode: other threads look at region bytes meanwhile */
	struct bf_queue *queue;
	struct bf_stream rec;
	struct bf_agents *agents;
	struct bf_fault_plan *faults; /* NULL: no faults. Not owned. */
	struct bf_stats *stats;       /* NULL until the first statistic is asked for */
	struct bf_pool *pool;         /* sim/pool.h; NULL until something is taken from it */
	struct bf_chooser *chooser;   /* NULL: the seed answers. Not owned. */
	struct bf_stacks *stacks;     /* sim/coro.h: stacks and memory that earlier runs left; NULL: none. Not owned. */
	struct bf_graph *graph;       /* NULL: views keep buffers */
	uint64_t seed;
	uint64_t events; /* fired so far */
	bool crowded;    /* so many ports that no cache holds what belongs to them */
	struct bf_error error;
};

/* Why bf_sim_run() came back. */
enum bf_run_end {
	BF_RUN_IDLE,     /* no event left and no agent unfinished: the work is done */
	BF_RUN_LIMIT,    /* the time limit was reached with work left */
	BF_RUN_STOPPED,  /* bf_sim_stop(), or memory ran out on the way: sim->error says -ENOMEM, and the run is no
			    evidence */
	BF_RUN_DEADLOCK, /* agents wait and nothing can wake them; sim->error.text says who waits for what */
};

/*
 * A new context at time 0 with the record stream off; all randomness derives from `seed`. Returns 0 or -ENOMEM. Free
 * with bf_sim_destroy(), which also frees agents (wherever they are), statistics and the stream. Events that are still
 * pending just never fire; they belong to their owners.
 */
int bf_sim_create(uint64_t seed, struct bf_sim **out);
void bf_sim_destroy(struct bf_sim *sim);

/*
 * Fires events in order until none is left, bf_sim_stop() is called or the next event lies after `until_ps`
 * (BF_NEVER: no limit). On BF_RUN_LIMIT the clock stands at `until_ps` (never behind where it stood); otherwise at the
 * last event. On BF_RUN_DEADLOCK sim->error has -EDEADLK and the report. May be called again in every case. Not from
 * inside an event or agent.
 */
enum bf_run_end bf_sim_run(struct bf_sim *sim, uint64_t until_ps);

/* From now on `c` answers; not owned. NULL: the seed. */
static inline void bf_sim_chosen_by(struct bf_sim *sim, struct bf_chooser *c)
{
	sim->chooser = c;
	sim->slow = c && c->noticed ? sim->slow | BF_SLOW_NOTICE : sim->slow & ~BF_SLOW_NOTICE;
}

/* Asks the chooser, which must be there, for one of `n` >= 1 alternatives. */
static inline uint32_t bf_choose(struct bf_sim *sim, enum bf_choice_kind kind, uint32_t n)
{
	return n < 2 ? 0 : sim->chooser->choose(sim->chooser, kind, n);
}

/* The same for a choice that has a name (struct bf_chooser). */
static inline uint32_t bf_choose_named(struct bf_sim *sim, enum bf_choice_kind kind, uint32_t n, uint64_t key)
{
	uint32_t taken;

	sim->chooser->key = key;
	taken = bf_choose(sim, kind, n);
	sim->chooser->key = 0;
	return taken;
}

/* Makes bf_sim_run() return after the current event. Callable from events and agents of this simulation only. */
void bf_sim_stop(struct bf_sim *sim);

BF_API_END

#endif
