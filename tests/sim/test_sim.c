/* bf_sim_run(): why it comes back, and where the clock stands then. */
#include <check.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "sim/agent.h"
#include "sim/stats.h"

static struct bf_sim *sim;

static void set_up(void)
{
	ck_assert_int_eq(bf_sim_create(77, &sim), 0);
}

static void tear_down(void)
{
	bf_sim_destroy(sim);
}

/* Fires every `period_ps` until `left` is used up. */
struct ticker {
	struct bf_event ev;
	uint64_t period_ps, last_ps;
	uint32_t left, ticks, stop_at;
};

static void tick(struct bf_event *ev)
{
	struct ticker *t = BF_CONTAINER_OF(ev, struct ticker, ev);

	t->last_ps = sim->now_ps;
	t->ticks++;
	if (t->ticks == t->stop_at)
		bf_sim_stop(sim);
	if (--t->left)
		bf_sim_after(sim, ev, t->period_ps);
}

static void start_ticker(struct ticker *t, uint64_t period_ps, uint32_t ticks)
{
	*t = (struct ticker){ .period_ps = period_ps, .left = ticks };
	bf_event_init(&t->ev, tick);
	bf_sim_after(sim, &t->ev, period_ps);
}

START_TEST(starts_empty)
{
	ck_assert_uint_eq(sim->now_ps, 0);
	ck_assert_uint_eq(sim->seed, 77);
	ck_assert_uint_eq(sim->rec.mask, 0);
	ck_assert_uint_eq(bf_sim_next(sim), BF_NEVER);
	ck_assert_int_eq(bf_sim_run(sim, BF_NEVER), BF_RUN_IDLE);
	ck_assert_int_eq(bf_sim_run(sim, 1000), BF_RUN_IDLE);
	ck_assert_uint_eq(sim->now_ps, 0);
}
END_TEST

START_TEST(runs_until_idle)
{
	struct ticker t;

	start_ticker(&t, 10, 5);
	ck_assert_int_eq(bf_sim_run(sim, BF_NEVER), BF_RUN_IDLE);
	ck_assert_uint_eq(t.ticks, 5);
	ck_assert_uint_eq(sim->now_ps, 50);
	ck_assert_uint_eq(sim->events, 5);
}
END_TEST

START_TEST(limit_is_inclusive_and_moves_the_clock)
{
	struct ticker t;

	start_ticker(&t, 10, 5);
	ck_assert_int_eq(bf_sim_run(sim, 9), BF_RUN_LIMIT);
	ck_assert_uint_eq(t.ticks, 0);
	ck_assert_uint_eq(sim->now_ps, 9);
	ck_assert_int_eq(bf_sim_run(sim, 20), BF_RUN_LIMIT);
	ck_assert_uint_eq(t.ticks, 2);
	ck_assert_int_eq(bf_sim_run(sim, 25), BF_RUN_LIMIT);
	ck_assert_uint_eq(sim->now_ps, 25);
	ck_assert_int_eq(bf_sim_run(sim, 5), BF_RUN_LIMIT); /* the past: nothing happens */
	ck_assert_uint_eq(sim->now_ps, 25);
	bf_sim_after(sim, &t.ev, 1); /* counts from the limit, not from the last event */
	ck_assert_uint_eq(t.ev.when, 26);
	ck_assert_int_eq(bf_sim_run(sim, 1000), BF_RUN_IDLE);
	ck_assert_uint_eq(t.ticks, 5);
	ck_assert_uint_eq(sim->now_ps, 46);
}
END_TEST

START_TEST(stop_ends_after_the_current_event)
{
	struct ticker t, u;

	start_ticker(&t, 10, 5);
	start_ticker(&u, 10, 5);
	t.stop_at = 2;
	ck_assert_int_eq(bf_sim_run(sim, BF_NEVER), BF_RUN_STOPPED);
	ck_assert_uint_eq(t.ticks, 2);
	ck_assert_uint_eq(u.ticks, 1);
	ck_assert_uint_eq(sim->now_ps, 20);
	ck_assert_int_eq(bf_sim_run(sim, BF_NEVER), BF_RUN_IDLE);
	ck_assert_uint_eq(u.ticks, 5);
}
END_TEST

START_TEST(stop_in_the_last_event_is_still_a_stop)
{
	struct ticker t;

	start_ticker(&t, 10, 1);
	t.stop_at = 1;
	ck_assert_int_eq(bf_sim_run(sim, BF_NEVER), BF_RUN_STOPPED);
	ck_assert_int_eq(bf_sim_run(sim, BF_NEVER), BF_RUN_IDLE);
}
END_TEST

static void park(struct bf_agent *self, void *arg)
{
	bf_agent_park(self, arg);
}

START_TEST(waiting_agents_are_a_deadlock)
{
	struct bf_agent_opts opts = { .name = "cpu0", .main = park, .arg = "a bell that nobody rings" };
	struct bf_agent *agent;
	struct ticker t;

	ck_assert_int_eq(bf_agent_create(sim, &opts, &agent), 0);
	start_ticker(&t, 10, 3);
	ck_assert_int_eq(bf_sim_run(sim, 15), BF_RUN_LIMIT); /* something may still wake it */
	ck_assert_int_eq(sim->error.code, 0);
	ck_assert_int_eq(bf_sim_run(sim, BF_NEVER), BF_RUN_DEADLOCK);
	ck_assert_int_eq(sim->error.code, -EDEADLK);
	ck_assert_ptr_nonnull(strstr(sim->error.text, "cpu0"));
	ck_assert_ptr_nonnull(strstr(sim->error.text, "a bell that nobody rings"));
	ck_assert_uint_eq(t.ticks, 3);
	bf_agent_unpark(agent);
	ck_assert_int_eq(bf_sim_run(sim, BF_NEVER), BF_RUN_IDLE);
}
END_TEST

START_TEST(destroy_frees_agents_that_wait)
{
	struct bf_agent_opts opts = { .name = "cpu0", .main = park, .arg = "forever" };
	struct bf_agent *agent;
	struct ticker t;

	ck_assert_int_eq(bf_agent_create(sim, &opts, &agent), 0);
	ck_assert_uint_ne(bf_stream_actor(&sim->rec, "device", "nic0"), 0);
	ck_assert_ptr_nonnull(bf_stats_counter(sim, "rings", ""));
	ck_assert_int_eq(bf_sim_run(sim, BF_NEVER), BF_RUN_DEADLOCK);
	start_ticker(&t, 10, 3); /* pending when the simulation goes: the sanitizers watch */
}
END_TEST

/* A run begins with all its agents due at time 0. With work for each of them at each step this would take hours. */
START_TEST(a_crowd_at_time_zero)
{
	enum { CROWD = 300000 };
	struct ticker *t = calloc(CROWD, sizeof(*t));

	ck_assert_ptr_nonnull(t);
	for (uint32_t i = 0; i < CROWD; i++) {
		t[i].left = 1;
		bf_event_init(&t[i].ev, tick);
		bf_sim_at(sim, &t[i].ev, 0);
	}
	ck_assert_int_eq(bf_sim_run(sim, BF_NEVER), BF_RUN_IDLE);
	ck_assert_uint_eq(sim->events, CROWD);
	ck_assert_uint_eq(sim->now_ps, 0);
	free(t);
}
END_TEST

START_TEST(simulations_are_independent)
{
	struct bf_sim *first = sim, *second;
	struct ticker t, u;

	ck_assert_int_eq(bf_sim_create(78, &second), 0);
	start_ticker(&t, 10, 3);
	sim = second;
	start_ticker(&u, 7, 2);
	ck_assert_int_eq(bf_sim_run(second, BF_NEVER), BF_RUN_IDLE);
	ck_assert_uint_eq(second->now_ps, 14);
	ck_assert_uint_eq(first->now_ps, 0);
	sim = first;
	ck_assert_int_eq(bf_sim_run(first, BF_NEVER), BF_RUN_IDLE);
	ck_assert_uint_eq(first->now_ps, 30);
	bf_sim_destroy(second);
	bf_sim_destroy(NULL);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("sim");
	TCase *tc = tcase_create("sim");
	SRunner *sr = srunner_create(s);
	int failed;

	tcase_add_checked_fixture(tc, set_up, tear_down);
	tcase_add_test(tc, starts_empty);
	tcase_add_test(tc, runs_until_idle);
	tcase_add_test(tc, limit_is_inclusive_and_moves_the_clock);
	tcase_add_test(tc, stop_ends_after_the_current_event);
	tcase_add_test(tc, stop_in_the_last_event_is_still_a_stop);
	tcase_add_test(tc, waiting_agents_are_a_deadlock);
	tcase_add_test(tc, destroy_frees_agents_that_wait);
	tcase_add_test(tc, a_crowd_at_time_zero);
	tcase_add_test(tc, simulations_are_independent);
	suite_add_tcase(s, tc);
	srunner_run_all(sr, CK_NORMAL);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed != 0;
}
