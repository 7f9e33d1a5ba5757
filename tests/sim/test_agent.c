#include <check.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/agent.h"
#include "sim/mem.h"
#include "sim/sim.h"
#include "sim/view.h"

/* One simulation with a page of memory; what happened is noted as (what, when). */
struct world {
	struct bf_sim *sim;
	struct bf_space space;
	struct bf_region *mem;
	struct bf_view *view;
	struct {
		int what;
		uint64_t when;
	} note[64];
	unsigned notes;
	int rc;
	struct bf_agent *a;
	struct bf_event ev;
	uint64_t *line[4];
};

static void setup(struct world *w)
{
	const struct bf_region_opts ro = { .name = "ring", .kind = BF_MEM_DRAM, .size = 4096 };

	*w = (struct world){ 0 };
	ck_assert_int_eq(bf_sim_create(1, &w->sim), 0);
	ck_assert_int_eq(bf_space_init(&w->space, w->sim, "pe0", 0), 0);
	ck_assert_int_eq(bf_region_create(&w->space, &ro, &w->mem), 0);
	ck_assert_int_eq(
	    bf_view_create(w->sim, &(struct bf_view_opts){ .cost = &bf_cost_zero, .space = &w->space, .name = "v" },
			   &w->view),
	    0);
	for (unsigned i = 0; i < 4; i++)
		w->line[i] = (uint64_t *)(void *)(w->mem->bytes + 64 * i);
}

static void teardown(struct world *w)
{
	bf_view_destroy(w->view);
	bf_space_fini(&w->space);
	bf_sim_destroy(w->sim);
}

static struct bf_agent *spawn(struct world *w, const char *name, bf_agent_fn *fn, void *arg)
{
	struct bf_agent *a;

	ck_assert_int_eq(
	    bf_agent_create(w->sim, &(struct bf_agent_opts){ .name = name, .main = fn, .arg = arg, .view = w->view },
			    &a),
	    0);
	return a;
}

static void note(struct world *w, int what, uint64_t when)
{
	ck_assert_uint_lt(w->notes, BF_ARRAY_LEN(w->note));
	w->note[w->notes].what = what;
	w->note[w->notes++].when = when;
}

static void check_notes(const struct world *w, const int (*expected)[2], unsigned n)
{
	ck_assert_uint_eq(w->notes, n);
	for (unsigned i = 0; i < n; i++) {
		ck_assert_int_eq(w->note[i].what, expected[i][0]);
		ck_assert_uint_eq(w->note[i].when, (uint64_t)expected[i][1]);
	}
}

static void write_line(struct world *w, unsigned i, uint64_t v)
{
	*w->line[i] = v;
	bf_mem_touched(w->mem, w->line[i], 8);
}

/* Charging gives way to nobody; syncing lets all that comes before happen, ties in the order of scheduling. */
static void charger(struct bf_agent *a, void *arg)
{
	struct world *w = arg;

	bf_agent_charge(a, 100);
	note(w, 1, bf_agent_now(a));
	bf_agent_charge(a, 100);
	ck_assert_uint_eq(w->sim->now_ps, 0);
	bf_agent_sync(a);
	note(w, 2, bf_agent_now(a));
	ck_assert_uint_eq(w->sim->now_ps, 200);
	bf_agent_delay(a, 1000);
	note(w, 3, bf_agent_now(a));
	bf_agent_charge(a, 50);
}

static void tick(struct bf_event *ev)
{
	struct world *w = BF_CONTAINER_OF(ev, struct world, ev);

	note(w, 9, w->sim->now_ps);
	if (w->sim->now_ps < 1500)
		bf_sim_after(w->sim, ev, 500);
}

START_TEST(time)
{
	static const int expected[][2] = { { 1, 100 },  { 9, 200 },  { 2, 200 }, { 9, 700 },
					   { 3, 1200 }, { 9, 1200 }, { 9, 1700 } };
	struct world w;
	struct bf_agent *a;

	setup(&w);
	a = spawn(&w, "a", charger, &w);
	bf_event_init(&w.ev, tick);
	bf_sim_at(w.sim, &w.ev, 200);
	ck_assert_uint_eq(bf_agents_alive(w.sim), 1);
	ck_assert_int_eq(bf_sim_run(w.sim, BF_NEVER), BF_RUN_IDLE);
	check_notes(&w, expected, BF_ARRAY_LEN(expected));
	ck_assert(bf_agent_done(a));
	ck_assert_uint_eq(bf_agents_alive(w.sim), 0);
	teardown(&w);
}
END_TEST

/* An agent alone must not run past the limit, nor through a stop. */
static void runner(struct bf_agent *a, void *arg)
{
	struct world *w = arg;

	for (int i = 1; i <= 10; i++) {
		bf_agent_delay(a, 100);
		note(w, i, bf_agent_now(a));
		if (i == 8)
			bf_sim_stop(w->sim);
	}
}

START_TEST(limit_and_stop)
{
	struct world w;

	setup(&w);
	spawn(&w, "a", runner, &w);
	ck_assert_int_eq(bf_sim_run(w.sim, 350), BF_RUN_LIMIT);
	ck_assert_uint_eq(w.notes, 3);
	ck_assert_uint_eq(w.sim->now_ps, 350);
	ck_assert_int_eq(bf_sim_run(w.sim, 500), BF_RUN_LIMIT);
	ck_assert_uint_eq(w.notes, 5);
	ck_assert_int_eq(bf_sim_run(w.sim, BF_NEVER), BF_RUN_STOPPED);
	ck_assert_uint_eq(w.notes, 8);
	ck_assert_int_eq(bf_sim_run(w.sim, BF_NEVER), BF_RUN_IDLE);
	ck_assert_uint_eq(w.notes, 10);
	ck_assert_uint_eq(w.sim->now_ps, 1000);
	teardown(&w);
}
END_TEST

/* Sleeps on line 0 with a polling period until it holds 2. */
static void sleeper(struct bf_agent *a, void *arg)
{
	struct world *w = arg;
	const void *lines[1] = { w->line[0] };
	uint64_t v = 0;

	bf_agent_delay(a, 1000);
	while (v != 2) {
		ck_assert_int_eq(bf_agent_wait(a, lines, 1, BF_NEVER, 300, "two"), 0);
		bf_agent_charge(a, 40); /* looking costs something */
		bf_load(a, w->line[0], &v, 8, BF_ACQUIRE, BF_SCOPE_SYS);
		note(w, (int)v, bf_agent_now(a));
	}
}

static void write_one_then_two(struct bf_event *ev)
{
	struct world *w = BF_CONTAINER_OF(ev, struct world, ev);
	const uint64_t v = *w->line[0] + 1;

	write_line(w, 0, v);
	if (v == 1)
		bf_sim_after(w->sim, ev, 1000);
}

START_TEST(waking_falls_on_polls)
{
	/* Polls at 1000 + 300 k; writes at 1400 and 2400; the second sleep goes on in the phase of the first. */
	static const int expected[][2] = { { 1, 1640 }, { 2, 2540 } };
	struct world w;

	setup(&w);
	spawn(&w, "a", sleeper, &w);
	bf_event_init(&w.ev, write_one_then_two);
	bf_sim_at(w.sim, &w.ev, 1400);
	ck_assert_int_eq(bf_sim_run(w.sim, 1100), BF_RUN_LIMIT);
	ck_assert(w.sim->slow & BF_SLOW_WATCH);
	ck_assert_int_eq(bf_sim_run(w.sim, BF_NEVER), BF_RUN_IDLE);
	check_notes(&w, expected, BF_ARRAY_LEN(expected));
	ck_assert(!(w.sim->slow & BF_SLOW_WATCH));
	teardown(&w);
}
END_TEST

static void timed(struct bf_agent *a, void *arg)
{
	struct world *w = arg;
	const void *lines[3] = { w->line[0], w->line[1], (uint8_t *)w->line[1] + 40 };

	bf_agent_charge(a, 10);
	w->rc = bf_agent_wait(a, lines, 2, 500, 0, "x");
	note(w, w->rc, bf_agent_now(a));
	/* Any of the lines; two addresses on one line. */
	w->rc = bf_agent_wait(a, lines, 3, 5000, 0, "x");
	note(w, w->rc, bf_agent_now(a));
	/* Written after the time-out's poll would have come: still a write, at the deadline. */
	w->rc = bf_agent_wait(a, lines, 1, 250, 200, "x");
	note(w, w->rc, bf_agent_now(a));
	w->rc = bf_agent_wait(a, lines, 1, 0, 0, "x");
	note(w, w->rc, bf_agent_now(a));
}

static void write_lines(struct bf_event *ev)
{
	struct world *w = BF_CONTAINER_OF(ev, struct world, ev);

	write_line(w, w->sim->now_ps == 1000, 1);
	if (w->sim->now_ps == 1000)
		bf_sim_after(w->sim, ev, 220);
}

START_TEST(time_outs)
{
	static const int expected[][2] = { { -ETIMEDOUT, 510 }, { 0, 1000 }, { 0, 1250 }, { -ETIMEDOUT, 1250 } };
	struct world w;

	setup(&w);
	spawn(&w, "a", timed, &w);
	bf_event_init(&w.ev, write_lines);
	bf_sim_at(w.sim, &w.ev, 1000);
	ck_assert_int_eq(bf_sim_run(w.sim, BF_NEVER), BF_RUN_IDLE);
	check_notes(&w, expected, BF_ARRAY_LEN(expected));
	ck_assert(!(w.sim->slow & BF_SLOW_WATCH));
	teardown(&w);
}
END_TEST

/* Waiters of one line wake in the order in which they came, whatever else they watch. */
struct waiter {
	struct world *w;
	int id;
	unsigned n;
	const void *lines[4];
};

static void waiter(struct bf_agent *a, void *arg)
{
	struct waiter *me = arg;

	bf_agent_delay(a, (uint64_t)(me->id * 7 % 40)); /* not in order of creation */
	bf_agent_wait(a, me->lines, me->n, BF_NEVER, 0, "turn");
	note(me->w, me->id, bf_agent_now(a));
}

static void storer(struct bf_agent *a, void *arg)
{
	struct world *w = arg;

	bf_agent_delay(a, 1000);
	bf_agent_charge(a, 5);
	bf_store(a, w->line[2], &(uint64_t){ 1 }, 8, BF_WEAK, BF_SCOPE_SYS);
	bf_agent_delay(a, 1000);
	bf_atomic(a, w->line[0], 8, BF_ATOMIC_ADD, 1, 0, BF_RELAXED, BF_SCOPE_SYS);
}

START_TEST(wakes_in_order_of_arrival)
{
	struct world w;
	struct waiter *a = calloc(40, sizeof(*a));
	int before = -1;

	ck_assert_ptr_nonnull(a);
	setup(&w);
	for (int i = 0; i < 40; i++) {
		char name[16];

		a[i] = (struct waiter){ &w, i, 1 + (unsigned)i % 3, { w.line[2], w.line[3], w.line[2] } };
		if (i % 4 == 3)
			a[i].lines[0] = w.line[0], a[i].n = 1;
		snprintf(name, sizeof(name), "w%d", i);
		spawn(&w, name, waiter, &a[i]);
	}
	spawn(&w, "storer", storer, &w);
	ck_assert_int_eq(bf_sim_run(w.sim, BF_NEVER), BF_RUN_IDLE);
	ck_assert_uint_eq(w.notes, 40);
	for (unsigned i = 0; i < 40; i++) {
		if (i == 30)
			before = -1;
		/* The store counts from the storer's own time, which is ahead of the clock. */
		ck_assert_uint_eq(w.note[i].when, i < 30 ? 1005 : 2005);
		ck_assert_int_gt(w.note[i].what * 7 % 40, before);
		before = w.note[i].what * 7 % 40;
	}
	teardown(&w);
	free(a);
}
END_TEST

static void parker(struct bf_agent *a, void *arg)
{
	struct world *w = arg;

	bf_agent_delay(a, 100);
	bf_agent_park(a, "early"); /* unparked before */
	note(w, 1, bf_agent_now(a));
	bf_agent_park(a, "late");
	note(w, 2, bf_agent_now(a));
	bf_agent_wait(a, (const void *[]){ w->line[0] }, 1, 1000, 0, "x"); /* an unpark is no write */
	note(w, 3, bf_agent_now(a));
	bf_agent_park(a, "meanwhile");
	note(w, 4, bf_agent_now(a));
}

static void unparker(struct bf_agent *a, void *arg)
{
	struct world *w = arg;

	bf_agent_unpark(w->a);
	bf_agent_delay(a, 400);
	bf_agent_charge(a, 50);
	bf_agent_unpark(w->a);
	bf_agent_unpark(w->a);
	bf_agent_delay(a, 100);
	bf_agent_unpark(w->a);
}

START_TEST(parking)
{
	static const int expected[][2] = { { 1, 100 }, { 2, 450 }, { 3, 1450 }, { 4, 1450 } };
	struct world w;

	setup(&w);
	w.a = spawn(&w, "a", parker, &w);
	spawn(&w, "b", unparker, &w);
	ck_assert_int_eq(bf_sim_run(w.sim, BF_NEVER), BF_RUN_IDLE);
	check_notes(&w, expected, BF_ARRAY_LEN(expected));
	teardown(&w);
}
END_TEST

static void stuck(struct bf_agent *a, void *arg)
{
	struct world *w = arg;

	bf_agent_delay(a, 1500);
	bf_agent_wait(a, (const void *[]){ w->line[1], (uint8_t *)w->line[3] + 4 }, 2, BF_NEVER, 10, "CQE on CQ 0x41");
}

static void stuck_parked(struct bf_agent *a, void *arg)
{
	(void)arg;
	bf_agent_park(a, "a free slot");
}

static void fine(struct bf_agent *a, void *arg)
{
	(void)arg;
	bf_agent_delay(a, 3000000);
}

START_TEST(deadlock)
{
	struct world w;
	char text[512];
	size_t len;
	uint64_t records;

	setup(&w);
	ck_assert_int_eq(bf_stream_open(&w.sim->rec, &w.sim->now_ps, BF_CLASS_AGENT, NULL), 0);
	*w.line[1] = 0xff;
	spawn(&w, "pe0/t0", stuck, &w);
	spawn(&w, "pe0/t1", stuck_parked, &w);
	spawn(&w, "pe0/t2", fine, &w);
	ck_assert_int_eq(bf_sim_run(w.sim, 2000), BF_RUN_LIMIT);
	records = w.sim->rec.count;
	ck_assert_int_eq(bf_sim_run(w.sim, BF_NEVER), BF_RUN_DEADLOCK);
	ck_assert_uint_eq(w.sim->rec.count, records + 3); /* the end of t2, two deadlock records */
	ck_assert_int_eq(w.sim->error.code, -EDEADLK);
	ck_assert_str_eq(w.sim->error.text,
			 "deadlock at 3.000000 us, 2 blocked: 'pe0/t0' waits for CQE on CQ 0x41 at "
			 "ring+0x40 (holds 0xff), ring+0xc4 (holds 0x0); 'pe0/t1' waits for a free slot");
	len = bf_agents_describe(w.sim, text, sizeof(text));
	ck_assert_str_eq(text, "'pe0/t0' waits for CQE on CQ 0x41 at ring+0x40 (holds 0xff), ring+0xc4 (holds 0x0), "
			       "since 0.001500 us\n'pe0/t1' waits for a free slot, since 0.000000 us\n");
	ck_assert_uint_eq(len, strlen(text));
	ck_assert_uint_eq(bf_agents_describe(w.sim, text, 20), len);
	ck_assert_uint_eq(strlen(text), 19);
	ck_assert_uint_eq(bf_agents_describe(w.sim, NULL, 0), len);
	teardown(&w);
}
END_TEST

/* More blocked agents than the short text holds: whole entries and a count. */
START_TEST(deadlock_of_many)
{
	struct world w;

	setup(&w);
	for (int i = 0; i < 100; i++)
		spawn(&w, "a thread with a rather long name", stuck_parked, &w);
	ck_assert_int_eq(bf_sim_run(w.sim, BF_NEVER), BF_RUN_DEADLOCK);
	ck_assert_ptr_nonnull(strstr(w.sim->error.text, "100 blocked: 'a thread with a rather long nam' waits"));
	ck_assert_ptr_nonnull(strstr(w.sim->error.text, "slot; and 97 more"));
	teardown(&w);
}
END_TEST

/* Agents create agents; stacks are used again; the end is clean with some never finished. */
static void child(struct bf_agent *a, void *arg)
{
	unsigned *left = arg;

	bf_agent_delay(a, 10);
	if (*left) {
		--*left;
		ck_assert_int_eq(bf_agent_create(a->sim,
						 &(struct bf_agent_opts){ .name = "child", .main = child, .arg = left },
						 NULL),
				 0);
	}
}

START_TEST(generations)
{
	struct world w;
	unsigned left = 3000;

	setup(&w);
	for (int i = 0; i < 64; i++)
		spawn(&w, "first", child, &left);
	ck_assert_int_eq(bf_sim_run(w.sim, 50), BF_RUN_LIMIT);
	ck_assert_uint_gt(bf_agents_alive(w.sim), 0);
	ck_assert_int_eq(bf_sim_run(w.sim, BF_NEVER), BF_RUN_IDLE);
	ck_assert_uint_eq(left, 0);
	spawn(&w, "late", stuck_parked, &w);
	spawn(&w, "later", fine, &w);
	bf_sim_run(w.sim, w.sim->now_ps + 100);
	teardown(&w);
}
END_TEST

/* A warp's lanes may each poll a line of their own. */
static void many_lines(struct bf_agent *a, void *arg)
{
	struct world *w = arg;
	const void *lines[BF_WAIT_LINES_MAX];

	for (unsigned i = 0; i < BF_WAIT_LINES_MAX; i++)
		lines[i] = w->mem->bytes + 64 * i;
	w->rc = bf_agent_wait(a, lines, BF_WAIT_LINES_MAX, BF_NEVER, 0, "any");
	note(w, w->rc, bf_agent_now(a));
	w->rc = bf_agent_wait(a, lines, 2, 100, 0, "a few");
	note(w, w->rc, bf_agent_now(a));
}

static void write_last_line(struct bf_event *ev)
{
	struct world *w = BF_CONTAINER_OF(ev, struct world, ev);
	uint8_t *line = w->mem->bytes + 64 * (BF_WAIT_LINES_MAX - 1);

	line[63] = 1;
	bf_mem_touched(w->mem, line + 63, 1);
}

START_TEST(waits_for_many_lines)
{
	struct world w;

	setup(&w);
	spawn(&w, "a", many_lines, &w);
	bf_event_init(&w.ev, write_last_line);
	bf_sim_at(w.sim, &w.ev, 1000);
	ck_assert_int_eq(bf_sim_run(w.sim, BF_NEVER), BF_RUN_IDLE);
	ck_assert_uint_eq(w.notes, 2);
	ck_assert_int_eq(w.note[0].what, 0);
	ck_assert_uint_eq(w.note[0].when, 1000);
	ck_assert_int_eq(w.note[1].what, -ETIMEDOUT);
	ck_assert_uint_eq(w.note[1].when, 1100);
	teardown(&w);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("agent");
	TCase *t = tcase_create("agent");
	SRunner *r;
	int failed;

	tcase_set_timeout(t, 60);
	tcase_add_test(t, time);
	tcase_add_test(t, limit_and_stop);
	tcase_add_test(t, waking_falls_on_polls);
	tcase_add_test(t, time_outs);
	tcase_add_test(t, waits_for_many_lines);
	tcase_add_test(t, wakes_in_order_of_arrival);
	tcase_add_test(t, parking);
	tcase_add_test(t, deadlock);
	tcase_add_test(t, deadlock_of_many);
	tcase_add_test(t, generations);
	suite_add_tcase(s, t);
	r = srunner_create(s);
	srunner_run_all(r, CK_NORMAL);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed ? 1 : 0;
}
