/*
 * Agents: coroutines that run driver code in simulated time.
 *
 * An agent is a CPU thread, one lane of a warp, a proxy thread. Its code calls the memory primitives of sim/view.h and
 * the calls below; each charges simulated time. Charged time accumulates in the agent; bf_agent_sync() lets the rest of
 * the world catch up (and costs nothing when no event is due before). Interactions that others can order against
 * (MMIO stores, atomics, fences, polling loads) sync by themselves.
 *
 * Instead of spinning, an agent sleeps on memory lines: it wakes when a write touches one of them, or at its time-out,
 * and time is charged as if it had polled. When no event is left and agents still sleep, bf_sim_run() returns
 * BF_RUN_DEADLOCK with a report of who waits for what.
 *
 * All calls from the simulation's thread; the ones marked "self" only from inside that agent.
 */
#ifndef BELFRY_SIM_AGENT_H
#define BELFRY_SIM_AGENT_H

#include "sim/compiler.h"
#include "sim/sim.h"

BF_API_BEGIN

struct bf_agent;
struct bf_view;

typedef void bf_agent_fn(struct bf_agent *self, void *arg);

struct bf_agent_opts {
	const char *name; /* copied; shows in reports and records */
	bf_agent_fn *main;
	void *arg;
	size_t stack_bytes;   /* 0: 64 KiB */
	struct bf_view *view; /* borrowed; NULL: sequentially consistent with zero costs */
};

/*
 * Everything that primitives need is in front. `charge_ps` is time spent but not yet synced. Read-only for drivers.
 */
struct bf_agent {
	struct bf_sim *sim;
	uint64_t charge_ps;
	struct bf_view *view;
	struct bf_event wake;
	struct bf_coro *coro;
	uint32_t actor;
	uint32_t state;
	/* Where the access at hand is in its code; NULL: where the call returns to. For those who make it on its
	 * behalf. */
	const void *from;
	const char *waits_for; /* text for the deadlock report, NULL = running */
	struct bf_agent_wait *wait;
	uintptr_t stack; /* about where its stack ends while it does not run */
	struct bf_agent *next;
	char name[32];
	/*
	 * Where its next access is in a program that is interpreted: a source file (a text that outlives the run) and
	 * line, for records of class where. NULL: it runs code of this process, whose own address tells.
	 */
	const char *file;
	uint32_t line;
	void *mine; /* for who runs code on it (tools/plain/cuda.c); NULL */
};

/* Creates an agent that starts at the current time. Freed by bf_sim_destroy(). Returns 0 or -ENOMEM. */
int bf_agent_create(struct bf_sim *sim, const struct bf_agent_opts *opts, struct bf_agent **out);

/* The agent that calls: the one that bf_sim_run() has running on this thread. NULL outside of agents. */
struct bf_agent *bf_agent_here(void);

/* Self: current local time in ps. */
static inline uint64_t bf_agent_now(const struct bf_agent *a)
{
	return a->sim->now_ps + a->charge_ps;
}

/* Self: spends time without giving way. */
static inline void bf_agent_charge(struct bf_agent *a, uint64_t ps)
{
	a->charge_ps += ps;
}

/* Self: everything due up to this agent's local time happens first; ties go by the order of scheduling. */
void bf_agent_sync(struct bf_agent *a);

/* Self: charge and sync. */
static inline void bf_agent_delay(struct bf_agent *a, uint64_t ps)
{
	a->charge_ps += ps;
	bf_agent_sync(a);
}

#define BF_WAIT_LINES 4      /* at most so many need no memory */
#define BF_WAIT_LINES_MAX 64 /* a warp's lanes, each with a line or two of its own */

/*
 * Self: sleeps until a write touches one of the `n` (0..BF_WAIT_LINES_MAX) lines that hold the given addresses (which
 * must lie in regions), somebody calls bf_agent_nudge(), or `timeout_ps` (BF_NEVER: none) has passed. A write between
 * the caller's last load and this call cannot be missed as long as no other primitive lies between. On waking, local
 * time is rounded up to a multiple of `poll_ps` since the call (0: none). Returns 0 or -ETIMEDOUT. `what` (borrowed)
 * says in the report what for, e.g. "CQE on CQ 0x41".
 */
int bf_agent_wait(struct bf_agent *a, const void *const *lines, uint32_t n, uint64_t timeout_ps, uint64_t poll_ps,
		  const char *what);

/* Ends a bf_agent_wait() of this agent, if it is in one, as a write would, but at once. */
void bf_agent_nudge(struct bf_agent *a);

/*
 * Self: `describe` adds to reports what the text of its waits cannot say; it writes at most `cap` bytes with the final
 * NUL and returns the length of the whole text as snprintf() does. NULL: nothing.
 */
typedef int bf_agent_describe_fn(const struct bf_agent *a, void *arg, char *buf, size_t cap);
void bf_agent_describe_by(struct bf_agent *a, bf_agent_describe_fn *describe, void *arg);

/* Self: sleeps until somebody calls bf_agent_unpark(). `what` as above. An unpark that came first is not lost. */
void bf_agent_park(struct bf_agent *a, const char *what);
void bf_agent_unpark(struct bf_agent *a);

/* True when its main function has returned. */
int bf_agent_done(const struct bf_agent *a);

/* Number of agents not yet done. */
uint32_t bf_agents_alive(const struct bf_sim *sim);

/*
 * Who waits for what and for ever: one line for each blocked agent (name, what for, where and what memory holds there,
 * since when). Writes at most `cap` bytes with the final NUL, returns the length of the whole text as snprintf() does.
 * For use after BF_RUN_DEADLOCK; sim->error.text has the short form.
 */
size_t bf_agents_describe(const struct bf_sim *sim, char *buf, size_t cap);

/* The agent that has slept longest on the memory line that holds `addr`; NULL if none sleeps there. */
const struct bf_agent *bf_agents_waiter(const struct bf_sim *sim, const void *addr);

/* Internal to sim/: called by bf_mem_touched_slow(). */
void bf_agents_touched(struct bf_sim *sim, const void *p, uint64_t len);
void bf_agents_line_touched(struct bf_sim *sim, const void *line);

BF_API_END

#endif
