/*
 * The try-wait buffer: warps that wait in the unit instead of asking again and again (row kinds wake, wake_order, pool,
 * timeout, limit_many, limit_pair).
 *
 * A tick counter runs while somebody waits; it starts when an entry enters an empty buffer. An entry ends with false at
 * the limit_ticks-th tick after it came.
 *
 * When a phase flips, its waiters are called, and wake_begin later the unit begins to look through the entries from the
 * oldest on, one every wake_scan. A phase that flips meanwhile joins the search where it is, and holds it up
 * (wake_join); behind the youngest entry it begins again with the oldest, wake_again later. Those found are let go one
 * every wake_next, each sub-partition once every wake_part: one that must wait for its sub-partition is overtaken.
 */
#include "models/hopper/records.h"
#include "models/hopper/unit_internal.h"

static void record_wait(const struct bf_sync_unit *u, const struct bf_sync_instr *in, uint64_t at_ps, uint32_t event)
{
	if (bf_probe(u->sim, BF_CLASS_QUEUE)) {
		const uint32_t address = bf_sync_lane_address(in, bf_sync_first_lane(in));
		struct bf_rec_hopper_wait r = {
			.word = bf_sync_peek(u, address, NULL),
			.at_ps = at_ps,
			.address = address,
			.warp = in->warp,
			.entries = u->parked,
			.event = event,
		};

		BF_EMIT_MADE(u->sim, u->opts.actor, hopper_wait, r, NULL, 0);
	}
}

/* The entry behind `in`; behind the youngest the oldest. */
static struct bf_sync_instr *behind(const struct bf_sync_unit *u, const struct bf_sync_instr *in)
{
	return in->next_waiter ? in->next_waiter : u->first;
}

static void leave(struct bf_sync_unit *u, struct bf_sync_instr *in)
{
	if (u->look == in)
		u->look = behind(u, in) == in ? NULL : behind(u, in);
	u->called -= in->called;
	if (u->called == 0)
		bf_sim_cancel(u->sim, &u->search);
	*in->waiter_link = in->next_waiter;
	if (in->next_waiter)
		in->next_waiter->waiter_link = in->waiter_link;
	else
		u->last = in->waiter_link;
	u->parked--;
}

/* Software behind a wait with a hint that timed out: NANOSLEEP, which comes back at once, then a second check. */
static void check_again(struct bf_event *ev)
{
	struct bf_sync_instr *in = BF_CONTAINER_OF(ev, struct bf_sync_instr, event);
	struct bf_sync_unit *u = in->unit;
	const uint32_t lane = bf_sync_first_lane(in);
	const uint64_t word = bf_sync_peek(u, bf_sync_lane_address(in, lane), NULL);
	bool over = false;

	if (in->op == BF_SYNC_TRY_STATE)
		bf_mbar_test_state(word, in->token[lane], &over);
	else
		bf_mbar_test_parity(word, in->count[lane], &over);
	in->result = over ? in->active : 0;
	bf_sync_finish(u, in, u->sim->now_ps + u->t.test);
}

/* `in` leaves the buffer for good at `at_ps`. */
static void go_on(struct bf_sync_unit *u, struct bf_sync_instr *in, uint64_t at_ps)
{
	if (in->hinted && !in->result && !in->killed && !u->killed) {
		bf_event_init(&in->event, check_again);
		bf_sim_at(u->sim, &in->event, at_ps + u->t.hint_false - u->t.test);
		return;
	}
	if (in->result)
		at_ps += (in->hinted ? u->t.hint_true : 0) + (in->release ? u->t.acquire : 0);
	bf_sync_finish(u, in, at_ps);
}

/*
 * The first time from `t` on at which the port is free: it lets one waiter go every `next_ps`, and some may have their
 * turn already.
 */
static uint64_t port_turn(struct bf_sync_unit *u, uint64_t t, uint64_t next_ps)
{
	for (uint32_t i = 0; i < u->turns;) {
		if (t >= u->turn[i] + next_ps || u->turn[i] >= t + next_ps) {
			i++;
			continue;
		}
		t = u->turn[i] + next_ps;
		i = 0;
	}
	if (u->turns == BF_HOPPER_POOL_MAX)
		u->turns = 0;
	u->turn[u->turns++] = t;
	u->port_last_ps = t > u->port_last_ps ? t : u->port_last_ps;
	return t;
}

/* Those of `batch` may go from `at_ps` on, in order, as the port and their sub-partitions are free. */
static void let_go(struct bf_sync_unit *u, struct bf_sync_instr *batch, uint64_t at_ps, uint64_t next_ps)
{
	if (at_ps >= u->port_last_ps + next_ps)
		u->turns = 0;
	for (struct bf_sync_instr *in = batch, *next; in; in = next) {
		uint64_t *part = &u->part_ps[in->warp % BF_SYNC_PARTS];
		const uint64_t t = port_turn(u, at_ps > *part ? at_ps : *part, next_ps);

		next = in->next_waiter;
		*part = t + u->t.wake_part;
		go_on(u, in, t);
	}
}

/* The next tick that ends a wait: of the oldest entry that nobody has called. */
static void set_limit(struct bf_sync_unit *u)
{
	const struct bf_sync_instr *in = u->first;

	while (in && in->called)
		in = in->next_waiter;
	bf_sim_at(u->sim, &u->limit, in ? in->limit_ps : BF_NEVER);
}

static void expire(struct bf_event *ev)
{
	struct bf_sync_unit *u = BF_CONTAINER_OF(ev, struct bf_sync_unit, limit);
	const uint64_t now = u->sim->now_ps;
	struct bf_sync_instr *batch = NULL, **end = &batch, *next;

	for (struct bf_sync_instr *in = u->first; in && in->limit_ps <= now; in = next) {
		next = in->next_waiter;
		if (in->called)
			continue;
		leave(u, in);
		u->counts.expired++;
		record_wait(u, in, now, BF_HOPPER_EXPIRED);
		in->next_waiter = NULL;
		*end = in;
		end = &in->next_waiter;
	}
	let_go(u, batch, now + u->t.limit, u->t.limit_next);
	set_limit(u);
}

/* ---- the search for those whose phase is over ---- */

/* From a look at `in` to the next one. */
static uint64_t step(const struct bf_sync_unit *u, const struct bf_sync_instr *in)
{
	return u->t.wake_scan + (in->next_waiter ? 0 : u->t.wake_again);
}

/* On the wall clock this may come late, by many rounds: each round ends where it began. */
static void look_on(struct bf_sync_unit *u)
{
	const uint64_t round = u->parked * u->t.wake_scan + u->t.wake_again;

	if (u->look_ps + round < u->sim->now_ps)
		u->look_ps += (u->sim->now_ps - u->look_ps) / round * round;
	while (u->look_ps + step(u, u->look) <= u->sim->now_ps) {
		u->look_ps += step(u, u->look);
		u->look = behind(u, u->look);
	}
}

static void set_search(struct bf_sync_unit *u)
{
	const struct bf_sync_instr *in = u->look;
	uint64_t at = u->look_ps;

	while (!in->called || in->flip_ps > at) {
		at += step(u, in);
		in = behind(u, in);
	}
	bf_sim_at(u->sim, &u->search, at > u->sim->now_ps ? at : u->sim->now_ps);
}

static void find(struct bf_event *ev)
{
	struct bf_sync_unit *u = BF_CONTAINER_OF(ev, struct bf_sync_unit, search);
	const uint64_t now = u->sim->now_ps;
	struct bf_sync_instr *in;

	look_on(u);
	in = u->look;
	u->look_ps = now + step(u, in) + u->t.wake_found;
	leave(u, in);
	u->counts.woken++;
	record_wait(u, in, now + in->wake_ps, BF_HOPPER_WOKEN);
	in->next_waiter = NULL;
	let_go(u, in, now + in->wake_ps, u->t.wake_next);
	u->waking_ps = (u->waking_ps > now ? u->waking_ps : now) + u->t.wake_op;
	if (u->called)
		set_search(u);
}

void bf_sync_pool_init(struct bf_sync_unit *u)
{
	u->last = &u->first;
	bf_event_init(&u->limit, expire);
	bf_event_init(&u->search, find);
}

bool bf_sync_pool_park(struct bf_sync_unit *u, struct bf_sync_instr *in, uint64_t at_ps)
{
	if (u->parked >= u->profile->pool_entries) {
		u->counts.refused++;
		u->free_ps += u->t.refuse_op;
		record_wait(u, in, at_ps, BF_HOPPER_REFUSED);
		return false;
	}
	if (u->parked == 0)
		u->tick_ps = at_ps;
	in->limit_ps = u->tick_ps + ((at_ps - u->tick_ps) / u->t.tick + u->profile->limit_ticks) * u->t.tick;
	in->parked = true;
	in->called = false;
	in->next_waiter = NULL;
	in->waiter_link = u->last;
	*u->last = in;
	u->last = &in->next_waiter;
	u->parked++;
	u->counts.parked++;
	record_wait(u, in, at_ps, BF_HOPPER_PARKED);
	if (u->first == in)
		bf_sim_at(u->sim, &u->limit, in->limit_ps);
	return true;
}

void bf_sync_pool_wake(struct bf_sync_unit *u, uint32_t address, uint64_t flip_ps, uint64_t wake_ps)
{
	const uint64_t now = u->sim->now_ps;
	const uint64_t begin = u->t.wake_begin < wake_ps ? u->t.wake_begin : wake_ps;

	if (u->called) {
		look_on(u);
		u->look_ps += u->look_ps <= now ? u->t.wake_join : 0;
	} else {
		u->look = u->first;
		u->look_ps = flip_ps + begin;
	}
	for (struct bf_sync_instr *in = u->first; in; in = in->next_waiter) {
		if (in->called || bf_sync_lane_address(in, bf_sync_first_lane(in)) != address)
			continue;
		in->result = in->active;
		in->called = true;
		in->flip_ps = flip_ps;
		in->wake_ps = wake_ps - begin;
		u->called++;
	}
	if (u->called)
		set_search(u);
	set_limit(u);
}

void bf_sync_pool_evict(struct bf_sync_unit *u, uint32_t address, uint32_t bytes, bool kill)
{
	struct bf_sync_instr *batch = NULL, **end = &batch, *next;

	for (struct bf_sync_instr *in = u->first; in; in = next) {
		next = in->next_waiter;
		if (bf_sync_lane_address(in, bf_sync_first_lane(in)) - address >= bytes || (in->called && !kill))
			continue;
		leave(u, in);
		in->killed = kill;
		record_wait(u, in, u->sim->now_ps, kill ? BF_HOPPER_KILLED : BF_HOPPER_EVICTED);
		in->next_waiter = NULL;
		*end = in;
		end = &in->next_waiter;
	}
	let_go(u, batch, u->sim->now_ps + (kill ? 0 : u->t.wake), kill ? 0 : u->t.wake_next);
	set_limit(u);
}

const struct bf_sync_instr *bf_sync_waiter(const struct bf_sync_unit *u, uint32_t index)
{
	const struct bf_sync_instr *in = u->first;

	while (in && index--)
		in = in->next_waiter;
	return in;
}
