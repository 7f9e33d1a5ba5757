/*
 * What the rest of sim/ knows of agents: set-up, the deadlock report, and how teams put members to sleep.
 */
#ifndef BELFRY_SIM_AGENT_INTERNAL_H
#define BELFRY_SIM_AGENT_INTERNAL_H

#include "sim/agent.h"
#include "sim/coro.h"
#include "sim/view.h"

/* bf_sim_create() and bf_sim_destroy(). Init returns 0 or -ENOMEM. Fini needs the event queue alive: it cancels. */
int bf_agents_init(struct bf_sim *sim);
void bf_agents_fini(struct bf_sim *sim);

/*
 * A run ended with no event left and agents unfinished: emits one `deadlock` record for each of them and puts a summary
 * into `err` with code -EDEADLK. The full text comes from bf_agents_describe().
 */
void bf_agents_report(struct bf_sim *sim, struct bf_error *err);

enum bf_agent_state { BF_AGENT_READY, BF_AGENT_RUNNING, BF_AGENT_WAITING, BF_AGENT_DONE };

/* One agent's place in the queue of those that wait for one line. */
struct bf_watch {
	struct bf_agent *agent;
	struct bf_watch *next, *prev; /* same bucket, in order of arrival */
	const void *addr;             /* as the caller gave it, for reports */
};

/* What an agent is asleep for. One per agent, allocated with it. */
struct bf_agent_wait {
	struct bf_watch few[BF_WAIT_LINES];
	struct bf_watch *watch; /* [room]: few, or memory of its own */
	uint32_t room;
	uint32_t n;           /* watches in the table */
	bool touched;         /* a write or a nudge ended the last wait */
	bool stalled;         /* since the last wait: what it looked at may have changed meanwhile */
	bool nudgeable;       /* asleep in bf_agent_wait() */
	bool parked;          /* asleep in bf_agent_park() */
	bool unparked;        /* not to sleep in the next one */
	uint64_t since_ps;    /* local time of the call */
	uint64_t deadline_ps; /* BF_NEVER: none */
	uint64_t poll_ps;
	uint64_t origin_ps;        /* polls happen at origin + k * poll */
	uint64_t polled_ps;        /* when the last one that a write had caused happened */
	struct bf_agent *behind;   /* next in the line of bf_agents_run(), or in the one that begins with it */
	struct bf_agent *stand_in; /* whoever does what it would do, so that its place in reports is that one's; NULL */
	/* Writes what the bare text cannot say; NULL: nothing to add. Returns the length as snprintf() does. */
	bf_agent_describe_fn *describe;
	void *describe_arg;
};

#define BF_WATCH_PAGES 1024u
#define BF_WATCH_PAGE 4096u

struct bf_watch_bucket {
	struct bf_watch *first, *last;
};

struct bf_agents {
	struct bf_agent *first, **last; /* all, in order of creation */
	struct bf_agent *running;       /* whose code runs right now; NULL in an event of a model */
	struct bf_agent *line;          /* who runs next, in this same event; linked by wait->behind */
	bool in_turn;                   /* each in the line was due on its own: who syncs goes behind them all */
	/* The last to be scheduled by bf_agent_sync(), and who stands behind it at the end of its line. */
	struct bf_agent *due, *due_last;
	uint32_t count, alive;
	struct bf_watch_bucket *bucket; /* by line; looked up, never walked, so that addresses decide nothing */
	uint32_t bucket_bits, watches;
	/* Watches in pages, by a hash of the page's number: most writes are to pages without. */
	uint32_t watched[BF_WATCH_PAGES];
	uintptr_t watch_low,
	    watch_high;              /* no watch is outside while there are any: most writes are of data, far away */
	struct bf_stacks stacks;     /* of agents that ended, for the next ones, unless the simulation has others' */
	struct bf_coro *quit;        /* the stack that was given up last: its code may still be leaving it */
	struct bf_view *sc_view;     /* for agents without a view of their own */
	uint32_t weak_views;         /* views with an ordering other than sc: BF_SLOW_ORDER */
	struct bf_store_slab *slabs; /* sim/view_buffer.c: memory of buffered stores */
	struct bf_buffered *free_store;
	uint32_t stores;                  /* that are buffered somewhere */
	struct bf_where *where;           /* NULL until somebody wants to know */
	struct bf_notice *notice;         /* likewise */
	const struct bf_buffer *draining; /* whose store is reaching memory; NULL: a device writes */
};

/* Self: leaves until bf_agent_wake_at(). */
void bf_agent_sleep(struct bf_agent *a, const char *what);

/*
 * The same, but gives up the stack meanwhile: does not return, and the agent's function is called anew when it goes
 * on.
 */
void bf_agent_sleep_anew(struct bf_agent *a, const char *what);

/* Wakes an agent that is in bf_agent_sleep(), at `when_ps` or at the local time at which it fell asleep. */
void bf_agent_wake_at(struct bf_agent *a, uint64_t when_ps);

/* Self: another agent, which is in bf_agent_sleep(), runs as soon as this one leaves, from the time at which it fell
 * asleep. */
void bf_agent_runs_next(struct bf_agent *a);

/*
 * In an event, at or after the local times at which they fell asleep: runs the agents of a list that is linked by
 * wait->behind, one after the other, each until it leaves. `in_turn`: as if each had an event of its own.
 */
void bf_agents_run(struct bf_sim *sim, struct bf_agent *first, bool in_turn);

/* Local time of the running agent, or the clock. */
uint64_t bf_agents_now(const struct bf_sim *sim);

/* Frees the memory of buffered stores (sim/view_buffer.c). */
void bf_stores_free(struct bf_agents *ags);

/* Memory primitives take their slow path while the record stream wants them; it can be switched at any time. */
static inline void bf_view_update_slow(struct bf_sim *sim)
{
	if (BF_UNLIKELY(sim->rec.mask & BF_CLASS_MEM))
		sim->slow |= BF_SLOW_RECORD;
	else
		sim->slow &= ~BF_SLOW_RECORD;
}

/*
 * sim/agent_watch.c: room for the watches of `agents` agents, and for `n` of one agent (0 or -ENOMEM); enter, take out.
 */
int bf_watch_reserve(struct bf_agents *ags, uint32_t agents);
int bf_watch_room(struct bf_agent_wait *wait, uint32_t n);
void bf_watch_add(struct bf_agent *a, const void *const *lines, uint32_t n);
void bf_watch_remove(struct bf_agent *a);

#endif
