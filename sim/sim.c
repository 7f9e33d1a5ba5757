/* The simulation context: its life, the calls that schedule events, and the loop that fires them. */
#include "sim/sim.h"

#include <errno.h>
#include <stdlib.h>

#include "sim/agent_internal.h"
#include "sim/event_queue.h"
#include "sim/mem.h"
#include "sim/pool.h"
#include "sim/sim_internal.h"
#include "sim/stats.h"
#include "sim/train.h"

/* One allocation; users see the first half. */
struct sim_block {
	struct bf_sim sim;
	struct bf_queue queue;
};

int bf_sim_create(uint64_t seed, struct bf_sim **out)
{
	struct sim_block *block = calloc(1, sizeof(*block));
	int rc;

	*out = NULL;
	if (!block)
		return -ENOMEM;
	bf_queue_init(&block->queue);
	block->sim.queue = &block->queue;
	block->sim.seed = seed;
	rc = bf_agents_init(&block->sim);
	if (rc) {
		free(block);
		return rc;
	}
	*out = &block->sim;
	return 0;
}

void bf_sim_destroy(struct bf_sim *sim)
{
	if (!sim)
		return;
	bf_agents_fini(sim);
	bf_stats_fini(sim);
	bf_stream_fini(&sim->rec);
	bf_pool_fini(sim);
	free(BF_CONTAINER_OF(sim, struct sim_block, sim));
}

void bf_sim_at(struct bf_sim *sim, struct bf_event *ev, uint64_t when_ps)
{
	if (bf_event_pending(ev))
		bf_queue_remove(sim->queue, ev);
	if (when_ps != BF_NEVER)
		bf_queue_insert(sim->queue, ev, when_ps > sim->now_ps ? when_ps : sim->now_ps);
}

void bf_sim_after(struct bf_sim *sim, struct bf_event *ev, uint64_t delay_ps)
{
	bf_sim_at(sim, ev, delay_ps < BF_NEVER - sim->now_ps ? sim->now_ps + delay_ps : BF_NEVER);
}

void bf_sim_cancel(struct bf_sim *sim, struct bf_event *ev)
{
	if (bf_event_pending(ev))
		bf_queue_remove(sim->queue, ev);
}

uint64_t bf_sim_next(struct bf_sim *sim)
{
	return bf_queue_next(sim->queue);
}

/* The event is not pending: it fires. */
static bool BF_NOINLINE step_later(struct bf_sim *sim, struct bf_event *ev, uint64_t when_ps)
{
	bf_queue_insert(sim->queue, ev, when_ps > sim->now_ps ? when_ps : sim->now_ps);
	return false;
}

bool bf_sim_step(struct bf_sim *sim, struct bf_event *ev, uint64_t when_ps)
{
	if (sim->stopped || when_ps > sim->run_until_ps || when_ps >= bf_queue_next(sim->queue))
		return step_later(sim, ev, when_ps);
	if (when_ps > sim->now_ps)
		sim->now_ps = when_ps;
	sim->events++;
	return true;
}

static bf_event_ahead_fn *ahead_of(const struct bf_queue *q, const struct bf_event *ev)
{
	for (uint32_t i = 0; i < q->naheads; i++) {
		if (q->aheads[i].fire == ev->fire)
			return q->aheads[i].ahead;
	}
	return NULL;
}

void bf_sim_look_ahead(struct bf_sim *sim, bf_event_fn *fire, bf_event_ahead_fn *ahead)
{
	struct bf_queue *q = sim->queue;
	uint32_t i = 0;

	while (i < q->naheads && q->aheads[i].fire != fire)
		i++;
	if (i == q->naheads && i < BF_ARRAY_LEN(q->aheads))
		q->naheads++;
	if (i < q->naheads) {
		q->aheads[i].fire = fire;
		q->aheads[i].ahead = ahead;
	}
}

/*
 * Among thousands of agents and queues, what an event needs is in no cache when its turn comes, and would come line
 * after line. The next events are known: what is asked for now comes while this one fires.
 */
static void look_ahead(const struct bf_queue *q)
{
	const struct bf_event *next = bf_queue_likely(q), *second, *third, *fourth;
	bf_event_ahead_fn *ahead;

	second = next ? next->next : NULL;
	third = second ? second->next : NULL;
	fourth = third ? third->next : NULL;
	for (size_t at = 0; fourth && at < 3 * BF_LINE; at += BF_LINE) /* with those of its owner that begin with it */
		__builtin_prefetch((const char *)fourth + at, 1);
	if (third && (ahead = ahead_of(q, third)))
		ahead(third, true);
	if (next && (ahead = ahead_of(q, next)))
		ahead(next, false);
}

uint64_t bf_sim_fire_due(struct bf_sim *sim, uint64_t until_ps)
{
	struct bf_queue *q = sim->queue;
	uint64_t when;

	sim->run_until_ps = until_ps;
	while ((when = bf_queue_next(q)) <= until_ps && when != BF_NEVER && !sim->stopped) {
		struct bf_event *ev = bf_queue_pop(q, when);

		if (when > sim->now_ps) /* not so when the caller has let time pass without it */
			sim->now_ps = when;
		sim->events++;
		if (sim->crowded)
			look_ahead(q);
		ev->fire(ev);
	}
	return when;
}

/* Which simulation runs on this thread: for code that is called without a word of it (bf_agent_here()). */
static _Thread_local const struct bf_sim *runs_here;

const struct bf_sim *bf_sim_here(void)
{
	return runs_here;
}

enum bf_run_end bf_sim_run(struct bf_sim *sim, uint64_t until_ps)
{
	const struct bf_sim *outer = runs_here;
	uint64_t next;

	sim->stopped = false;
	runs_here = sim;
	next = bf_sim_fire_due(sim, until_ps);
	runs_here = outer;
	if (sim->stopped && sim->error.code == -EINTR) { /* bf_wild_interrupt() */
		sim->error.code = 0;
		return BF_RUN_LIMIT;
	}
	/* Whatever a model did without memory is not what the hardware would have done. */
	if (sim->stopped || sim->error.code == -ENOMEM)
		return BF_RUN_STOPPED;
	if (next != BF_NEVER) {
		if (until_ps > sim->now_ps)
			sim->now_ps = until_ps;
		return BF_RUN_LIMIT;
	}
	if (bf_agents_alive(sim) == 0)
		return BF_RUN_IDLE;
	bf_agents_report(sim, &sim->error);
	return BF_RUN_DEADLOCK;
}

void bf_sim_stop(struct bf_sim *sim)
{
	sim->stopped = true;
}
