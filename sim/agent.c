#include "sim/agent.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "sim/agent_internal.h"
#include "sim/coro.h"
#include "sim/event_queue.h"
#include "sim/notice_internal.h"
#include "sim/pool.h"
#include "sim/records_agent.h"
#include "sim/sim_internal.h"
#include "sim/where_internal.h"

#define STACK_BYTES (64u * 1024)

/* Where the lines are that a switch to an agent, and what called it, touch next. */
#define STACK_LINES_BELOW 2
#define STACK_LINES_ABOVE 4
#define STACK_LINES_AHEAD 12
#define VIEW_LINES_AHEAD 6

/* An agent with what belongs to it, in one allocation. */
struct agent_block {
	struct bf_agent agent;
	struct bf_agent_wait wait;
	bf_agent_fn *main;
	void *arg;
	size_t stack_bytes;
	bool started;
};

int bf_agents_init(struct bf_sim *sim)
{
	struct bf_agents *ags = calloc(1, sizeof(*ags));

	if (!ags)
		return -ENOMEM;
	ags->last = &ags->first;
	sim->agents = ags;
	if (bf_watch_reserve(ags, 16) ||
	    bf_view_create(sim, &(struct bf_view_opts){ .cost = &bf_cost_zero, .name = "sc" }, &ags->sc_view)) {
		bf_agents_fini(sim);
		return -ENOMEM;
	}
	return 0;
}

/* Where stacks wait that somebody else no longer needs, which saves the system calls for new ones. */
static struct bf_stacks *stacks_of(struct bf_sim *sim)
{
	return sim->stacks ? sim->stacks : &sim->agents->stacks;
}

static void leave_stack(struct bf_sim *sim, struct bf_coro *co)
{
	if (!co)
		return;
	if (bf_coro_stack_bytes(co) == STACK_BYTES)
		bf_stacks_keep(stacks_of(sim), co);
	else
		bf_coro_destroy(co);
}

void bf_agents_fini(struct bf_sim *sim)
{
	struct bf_agents *ags = sim->agents;

	if (!ags)
		return;
	for (struct bf_agent *a = ags->first, *next; a; a = next) {
		next = a->next;
		bf_sim_cancel(sim, &a->wake);
		leave_stack(sim, a->coro);
		if (a->wait->watch != a->wait->few)
			free(a->wait->watch);
		bf_pool_give(sim, BF_CONTAINER_OF(a, struct agent_block, agent), sizeof(struct agent_block));
	}
	leave_stack(sim, ags->quit);
	bf_stacks_free(&ags->stacks);
	bf_view_destroy(ags->sc_view);
	bf_stores_free(ags);
	bf_where_free(ags->where);
	bf_notice_free(ags->notice);
	free(ags->bucket);
	free(ags);
	sim->agents = NULL;
}

/* The outermost function on an agent's stack. */
static void agent_main(void *arg)
{
	struct agent_block *b = arg;
	struct bf_agent *a = &b->agent;

	if (b->started) {
		b->wait.describe = NULL;
		a->waits_for = NULL;
	} else if (bf_probe(a->sim, BF_CLASS_AGENT)) {
		struct bf_rec_agent_start r = { .stack = bf_coro_stack_bytes(a->coro) };

		memcpy(r.name, a->name, sizeof(r.name));
		BF_EMIT_MADE(a->sim, a->actor, agent_start, r, NULL, 0);
	}
	b->started = true;
	b->main(a, b->arg);
	bf_agent_sync(a);
	BF_EMIT(a->sim, a->actor, agent_end, .ahead = a->charge_ps);
}

/*
 * An agent has a stack from when it first runs: of thousands of lanes, most come to their end, or to where another one
 * acts for them, one after the other on the same stack.
 */
static int take_stack(struct bf_agent *a)
{
	struct agent_block *b = BF_CONTAINER_OF(a, struct agent_block, agent);
	struct bf_agents *ags = a->sim->agents;

	leave_stack(a->sim, ags->quit);
	ags->quit = NULL;
	a->coro = b->stack_bytes == STACK_BYTES ? bf_stacks_take(stacks_of(a->sim)) : NULL;
	if (!a->coro)
		return bf_coro_create(&a->coro, agent_main, b, b->stack_bytes);
	bf_coro_reset(a->coro, agent_main, b);
	return 0;
}

/* The first of a line that has a stack, or gets one. Out of the way of switches. */
static BF_NOINLINE struct bf_agent *first_with_stack(struct bf_agent *a)
{
	while (a && !a->coro && take_stack(a)) {
		bf_fail(&a->sim->error, -ENOMEM, "no memory for a stack of agent '%s'", a->name);
		bf_sim_stop(a->sim);
		a->state = BF_AGENT_WAITING;
		a->waits_for = "memory for a stack";
		a = a->wait->behind;
	}
	return a;
}

static void finish(struct bf_agents *ags, struct bf_agent *a)
{
	a->state = BF_AGENT_DONE;
	ags->alive--;
	leave_stack(a->sim, a->coro);
	a->coro = NULL;
}

static BF_ALWAYS_INLINE struct bf_agent *next_in_line(struct bf_sim *sim)
{
	struct bf_agents *ags = sim->agents;
	struct bf_agent *a = ags->line;

	if (a && BF_UNLIKELY(sim->stopped) && ags->in_turn) { /* the others' turn comes when the run goes on */
		bf_sim_at(sim, &a->wake, sim->now_ps);
		a = NULL;
	}
	if (a && BF_UNLIKELY(!a->coro))
		a = first_with_stack(a);
	ags->running = a;
	if (a) {
		ags->line = a->wait->behind;
		a->state = BF_AGENT_RUNNING;
	}
	return a;
}

/* The one place where an agent stops running: the next in line takes its place, if there is one. */
static void leave(struct bf_agent *a)
{
	struct bf_agent *next = next_in_line(a->sim);

	a->stack = (uintptr_t)__builtin_frame_address(0);
	if (next)
		bf_coro_hand_over(a->coro, next->coro);
	else
		bf_coro_leave(a->coro);
}

void bf_agents_run(struct bf_sim *sim, struct bf_agent *first, bool in_turn)
{
	struct bf_agents *ags = sim->agents;
	struct bf_agent *a;

	bf_view_update_slow(sim);
	ags->line = first;
	ags->in_turn = in_turn;
	while ((a = next_in_line(sim))) {
		bf_coro_enter(a->coro);
		/* Somebody of the line left with nobody behind him, or came to his end. */
		if (ags->running)
			finish(ags, ags->running);
	}
}

/* Its stack and view, which would come line after line. */
static void prefetch(const struct bf_agent *a, intptr_t stack_lines, size_t view_lines)
{
	__builtin_prefetch(a->coro, 1);
	for (size_t at = 0; at < view_lines; at++)
		__builtin_prefetch((const char *)a->view + at * BF_LINE, 1);
	for (intptr_t at = -STACK_LINES_BELOW; at < stack_lines; at++)
		__builtin_prefetch((const void *)(a->stack + (uintptr_t)at * BF_LINE), 1);
}

static void ahead(const struct bf_event *ev, bool first)
{
	const struct bf_agent *a = BF_CONTAINER_OF(ev, struct bf_agent, wake);

	if (first)
		prefetch(a, STACK_LINES_AHEAD, VIEW_LINES_AHEAD);
	else
		__builtin_prefetch(&a->wait->since_ps, 1);
}

static void wake(struct bf_event *ev)
{
	struct bf_agent *a = BF_CONTAINER_OF(ev, struct bf_agent, wake);

	prefetch(a, STACK_LINES_ABOVE, 1);
	if (a->state != BF_AGENT_READY)
		a->wait->behind = NULL;
	bf_agents_run(a->sim, a, true);
}

/*
 * A thread that has work to do is due at `when_ps`. Lanes of a warp that go in step have the same time one after the
 * other: as long as nothing else is due between them, one event does for all.
 */
static void become_ready(struct bf_agent *a, uint64_t when_ps)
{
	struct bf_agents *ags = a->sim->agents;
	struct bf_agent *due = ags->due;

	a->state = BF_AGENT_READY;
	a->wait->behind = NULL;
	if (due && due->state == BF_AGENT_READY && due->wake.when == when_ps &&
	    bf_queue_is_last(a->sim->queue, &due->wake)) {
		ags->due_last->wait->behind = a;
		a->sim->events++; /* statistics count those who were due */
	} else {
		bf_sim_at(a->sim, &a->wake, when_ps);
		ags->due = a;
	}
	ags->due_last = a;
}

int bf_agent_create(struct bf_sim *sim, const struct bf_agent_opts *opts, struct bf_agent **out)
{
	struct bf_agents *ags = sim->agents;
	struct agent_block *b = bf_pool_take(sim, sizeof(*b));
	struct bf_agent *a = b ? &b->agent : NULL;

	if (out)
		*out = NULL;
	if (!b || bf_watch_reserve(ags, ags->count + 1) ||
	    !(a->actor = bf_stream_actor(&sim->rec, "agent", opts->name))) {
		bf_pool_give(sim, b, sizeof(*b));
		return bf_fail(&sim->error, -ENOMEM, "no memory for agent '%s'", opts->name);
	}
	b->main = opts->main;
	b->arg = opts->arg;
	b->stack_bytes = opts->stack_bytes ? opts->stack_bytes : STACK_BYTES;
	a->sim = sim;
	a->view = opts->view ? opts->view : ags->sc_view;
	a->wait = &b->wait;
	b->wait.watch = b->wait.few;
	b->wait.room = BF_WAIT_LINES;
	strncpy(a->name, opts->name, sizeof(a->name) - 1);
	*ags->last = a;
	ags->last = &a->next;
	ags->count++;
	ags->alive++;
	bf_event_init(&a->wake, wake);
	bf_sim_look_ahead(sim, wake, ahead);
	bf_sim_at(sim, &a->wake, bf_agents_now(sim));
	if (out)
		*out = a;
	return 0;
}

struct bf_agent *bf_agent_here(void)
{
	const struct bf_sim *sim = bf_sim_here();

	return sim ? sim->agents->running : NULL;
}

uint64_t bf_agents_now(const struct bf_sim *sim)
{
	const struct bf_agent *a = sim->agents->running;

	return sim->now_ps + (a ? a->charge_ps : 0);
}

uint32_t bf_agents_alive(const struct bf_sim *sim)
{
	return sim->agents->alive;
}

int bf_agent_done(const struct bf_agent *a)
{
	return a->state == BF_AGENT_DONE;
}

void bf_agent_sync(struct bf_agent *a)
{
	struct bf_sim *sim = a->sim;
	const uint64_t local = bf_agent_now(a);

	assert(sim->agents->running == a);
	/* Who stands in line behind this agent is due now: the clock may not go on without them. */
	if (BF_LIKELY(local < bf_sim_next(sim) && local <= sim->run_until_ps && !sim->stopped) &&
	    (!sim->agents->line || (local == sim->now_ps && !sim->agents->in_turn))) {
		sim->now_ps = local;
		a->charge_ps = 0;
		return;
	}
	become_ready(a, local);
	a->charge_ps = 0;
	leave(a);
}

void bf_agent_sleep(struct bf_agent *a, const char *what)
{
	assert(a->sim->agents->running == a);
	a->wait->since_ps = bf_agent_now(a);
	a->charge_ps = 0;
	a->state = BF_AGENT_WAITING;
	a->waits_for = what;
	leave(a);
	a->waits_for = NULL;
}

void bf_agent_sleep_anew(struct bf_agent *a, const char *what)
{
	struct bf_agents *ags = a->sim->agents;
	struct bf_coro *co = a->coro;
	struct bf_agent *next;

	assert(ags->running == a);
	a->wait->since_ps = bf_agent_now(a);
	a->charge_ps = 0;
	a->state = BF_AGENT_WAITING;
	a->waits_for = what;
	a->coro = NULL;
	next = next_in_line(a->sim);
	leave_stack(a->sim, ags->quit);
	ags->quit = co;
	bf_coro_quit(co, next ? next->coro : NULL);
}

void bf_agent_wake_at(struct bf_agent *a, uint64_t when_ps)
{
	const uint64_t since = a->wait->since_ps;

	assert(a->state == BF_AGENT_WAITING);
	bf_sim_at(a->sim, &a->wake, when_ps > since ? when_ps : since);
}

void bf_agent_runs_next(struct bf_agent *a)
{
	struct bf_agents *ags = a->sim->agents;

	assert(a->state == BF_AGENT_WAITING);
	a->charge_ps = a->wait->since_ps - a->sim->now_ps;
	a->wait->behind = ags->line;
	ags->line = a;
}

static void record_wait(struct bf_agent *a, const void *line, uint32_t n, uint64_t timeout_ps, const char *what)
{
	struct bf_region *r = a->view->space && line ? bf_space_find_host(a->view->space, line) : NULL;
	struct bf_rec_agent_wait rec = { .va = r ? bf_va(r, line) : 0, .timeout = timeout_ps, .lines = n };

	strncpy(rec.what, what ? what : "", sizeof(rec.what) - 1);
	BF_EMIT_MADE(a->sim, a->actor, agent_wait, rec, NULL, 0);
}

static void record_wake(struct bf_agent *a, int result)
{
	BF_EMIT(a->sim, a->actor, agent_wake, .slept = bf_agent_now(a) - a->wait->since_ps, .reason = result ? 1 : 0);
}

int bf_agent_wait(struct bf_agent *a, const void *const *lines, uint32_t n, uint64_t timeout_ps, uint64_t poll_ps,
		  const char *what)
{
	struct bf_agent_wait *w = a->wait;
	const uint64_t local = bf_agent_now(a);
	int result;

	assert(n <= BF_WAIT_LINES_MAX);
	if (BF_UNLIKELY(w->stalled)) { /* between its look and this call: it looks once more, as a loop would */
		w->stalled = false;
		bf_agent_delay(a, poll_ps);
		return 0;
	}
	if (BF_UNLIKELY(bf_watch_room(w, n))) { /* fewer lines than it takes would be a sleep for ever */
		bf_fail(&a->sim->error, -ENOMEM, "no memory for what agent '%s' waits for", a->name);
		bf_sim_stop(a->sim);
		n = w->room;
	}
	if (bf_probe_type(a->sim, agent_wait))
		record_wait(a, n ? lines[0] : NULL, n, timeout_ps, what);
	/* A write woke it, the driver looked and was not content: the same polling loop goes on in the same phase. */
	if (poll_ps != w->poll_ps || !w->touched || local - w->polled_ps >= poll_ps)
		w->origin_ps = local;
	w->poll_ps = poll_ps;
	w->touched = false;
	w->deadline_ps = timeout_ps >= BF_NEVER - local ? BF_NEVER : local + timeout_ps;
	bf_watch_add(a, lines, n);
	if (w->deadline_ps != BF_NEVER)
		bf_sim_at(a->sim, &a->wake, w->deadline_ps);
	w->nudgeable = true;
	bf_agent_sleep(a, what);
	w->nudgeable = false;
	bf_watch_remove(a);
	w->polled_ps = bf_agent_now(a);
	result = w->touched ? 0 : -ETIMEDOUT;
	record_wake(a, result);
	return result;
}

void bf_agent_nudge(struct bf_agent *a)
{
	struct bf_agent_wait *w = a->wait;

	if (!w->nudgeable || w->touched)
		return;
	bf_watch_remove(a);
	w->touched = true;
	bf_agent_wake_at(a, bf_agents_now(a->sim));
}

void bf_agent_describe_by(struct bf_agent *a, bf_agent_describe_fn *describe, void *arg)
{
	a->wait->describe = describe;
	a->wait->describe_arg = arg;
}

void bf_agent_park(struct bf_agent *a, const char *what)
{
	struct bf_agent_wait *w = a->wait;

	if (!w->unparked) {
		if (bf_probe_type(a->sim, agent_wait))
			record_wait(a, NULL, 0, BF_NEVER, what);
		w->parked = true;
		bf_agent_sleep(a, what);
		w->parked = false;
		record_wake(a, 0);
	}
	w->unparked = false;
}

void bf_agent_unpark(struct bf_agent *a)
{
	struct bf_agent_wait *w = a->wait;

	if (w->parked && !w->unparked)
		bf_agent_wake_at(a, bf_agents_now(a->sim));
	w->unparked = true;
}
