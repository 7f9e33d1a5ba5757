/*
 * The live loop with foreign threads. Every wait has an end that another thread or the clock brings about, so a broken
 * wake-up shows as Check's time-out; how fast the machine is does not matter.
 */
#include <arpa/inet.h>
#include <check.h>
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "sim/live.h"

static struct bf_sim *sim;
static struct bf_live *live;

static void set_up(void)
{
	ck_assert_int_eq(bf_sim_create(1, &sim), 0);
	ck_assert_int_eq(bf_live_create(sim, &live), 0);
}

static void tear_down(void)
{
	bf_live_destroy(live);
	bf_sim_destroy(sim);
}

static uint64_t wall_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static void sleep_us(long us)
{
	nanosleep(&(struct timespec){ .tv_nsec = us * 1000 }, NULL);
}

struct alarm {
	struct bf_event ev;
	uint64_t due_ps;
	uint32_t order;
	bool stops;
};

static uint32_t alarms_fired;

static void ring(struct bf_event *ev)
{
	struct alarm *a = BF_CONTAINER_OF(ev, struct alarm, ev);

	ck_assert_uint_eq(sim->now_ps, a->due_ps);
	ck_assert_uint_eq(alarms_fired++, a->order);
	if (a->stops)
		bf_sim_stop(sim);
}

static void set_alarm(struct alarm *a, uint64_t due_ps, uint32_t order, bool stops)
{
	*a = (struct alarm){ .due_ps = due_ps, .order = order, .stops = stops };
	bf_event_init(&a->ev, ring);
	bf_sim_at(sim, &a->ev, due_ps);
}

/* Spinning (0) and sleeping (after 1 us) alike. The second run goes on where the first one stopped. */
START_TEST(events_follow_the_wall_clock)
{
	const uint32_t idle_us = (uint32_t)_i;
	struct alarm late, early, last;
	uint64_t start = wall_ns();

	alarms_fired = 0;
	set_alarm(&late, 5 * BF_MS, 1, true);
	set_alarm(&early, 2 * BF_MS + 3, 0, false);
	ck_assert_int_eq(bf_live_run(live, idle_us), 0);
	ck_assert_uint_eq(alarms_fired, 2);
	ck_assert_uint_ge(wall_ns() - start, 5000000);
	ck_assert_uint_eq(sim->now_ps, 5 * BF_MS);

	start = wall_ns();
	set_alarm(&last, 8 * BF_MS, 2, true);
	ck_assert_int_eq(bf_live_run(live, idle_us), 0);
	ck_assert_uint_eq(alarms_fired, 3);
	ck_assert_uint_ge(wall_ns() - start, 3000000);
}
END_TEST

/*
 * A client in another thread rings a doorbell: payload, then a release store to the cell; the poller answers with an
 * atomic store that the client waits for before the next one.
 */
struct doorbell {
	uint64_t payload; /* plain: ordered by the cell */
	_Atomic uint64_t cell;
	_Atomic uint64_t answered;
	struct bf_live_cell look;
	uint64_t rounds;
	bool wakes;
};

static void *ring_doorbell(void *arg)
{
	struct doorbell *d = arg;

	for (uint64_t i = 1; i <= d->rounds; i++) {
		d->payload = i * i;
		atomic_store_explicit(&d->cell, i, memory_order_release);
		if (d->wakes)
			bf_live_wake(live);
		while (atomic_load_explicit(&d->answered, memory_order_acquire) != i)
			sched_yield();
	}
	bf_live_stop(live);
	return NULL;
}

static int poll_doorbell(void *arg)
{
	struct doorbell *d = arg;

	if (!bf_live_cell_changed(&d->look))
		return 0;
	ck_assert_uint_eq(d->payload, d->look.seen * d->look.seen);
	atomic_store_explicit(&d->answered, d->look.seen, memory_order_release);
	return 1;
}

START_TEST(pollers_see_other_threads)
{
	static const struct {
		uint32_t idle_us;
		uint64_t rounds;
		bool wakes;
	} mode[] = { { 0, 2000, false }, { 1, 20, false }, { 1, 200, true } };
	struct doorbell d = { .rounds = mode[_i].rounds, .wakes = mode[_i].wakes };
	pthread_t client;

	d.look.cell = &d.cell;
	ck_assert_int_eq(bf_live_add_poller(live, poll_doorbell, &d), 0);
	ck_assert_int_eq(pthread_create(&client, NULL, ring_doorbell, &d), 0);
	ck_assert_int_eq(bf_live_run(live, mode[_i].idle_us), 0);
	pthread_join(client, NULL);
	ck_assert_uint_eq(d.look.seen, d.rounds);
}
END_TEST

/* What a model does with a doorbell: an event at the current time, before the poller is asked again. */
struct kick {
	struct bf_event ev;
	uint32_t polls, fired;
};

static void kicked(struct bf_event *ev)
{
	struct kick *k = BF_CONTAINER_OF(ev, struct kick, ev);

	ck_assert_uint_eq(++k->fired, k->polls);
	if (k->fired == 5)
		bf_sim_stop(sim);
}

static int kick(void *arg)
{
	struct kick *k = arg;

	ck_assert_uint_eq(k->fired, k->polls);
	k->polls++;
	bf_sim_after(sim, &k->ev, 0);
	return 1;
}

START_TEST(what_a_poller_starts_fires_before_its_next_call)
{
	struct kick k = { 0 };

	bf_event_init(&k.ev, kicked);
	ck_assert_int_eq(bf_live_add_poller(live, kick, &k), 0);
	ck_assert_int_eq(bf_live_run(live, 0), 0);
	ck_assert_uint_eq(k.fired, 5);
}
END_TEST

/* A pipe that a thread fills slowly: no pollers, no events, so between bytes the loop sleeps without limit. */
struct reader {
	char text[16];
	size_t len;
	bool ended;
};

static void *write_pipe(void *arg)
{
	const int fd = *(int *)arg;

	for (const char *p = "ding dong"; *p; p++) {
		ck_assert_int_eq((int)write(fd, p, 1), 1);
		sleep_us(500);
	}
	close(fd);
	return NULL;
}

static void read_pipe(void *arg, int fd)
{
	struct reader *r = arg;
	ssize_t n = read(fd, r->text + r->len, sizeof(r->text) - r->len);

	ck_assert_int_ge((int)n, 0);
	r->len += (size_t)n;
	if (n > 0)
		return;
	r->ended = true;
	bf_live_remove_fd(live, fd);
	close(fd);
	bf_sim_stop(sim);
}

START_TEST(descriptors_wake_the_loop)
{
	struct reader r = { .len = 0 };
	pthread_t writer;
	int fds[2];

	ck_assert_int_eq(pipe(fds), 0);
	ck_assert_int_eq(bf_live_add_fd(live, fds[0], read_pipe, &r), 0);
	ck_assert_int_eq(pthread_create(&writer, NULL, write_pipe, &fds[1]), 0);
	ck_assert_int_eq(bf_live_run(live, _i ? 1 : 0), 0);
	pthread_join(writer, NULL);
	ck_assert(r.ended);
	ck_assert_uint_eq(r.len, 9);
	ck_assert_int_eq(memcmp(r.text, "ding dong", 9), 0);
}
END_TEST

static int always_busy(void *arg)
{
	(void)arg;
	return 1;
}

static void read_eventfd(void *arg, int fd)
{
	uint64_t value = 0;

	ck_assert_int_eq((int)read(fd, &value, sizeof(value)), (int)sizeof(value));
	*(uint64_t *)arg += value;
	bf_sim_stop(sim);
}

START_TEST(busy_pollers_do_not_starve_descriptors)
{
	uint64_t got = 0;
	int fd = eventfd(3, 0);

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(bf_live_add_poller(live, always_busy, NULL), 0);
	ck_assert_int_eq(bf_live_add_fd(live, fd, read_eventfd, &got), 0);
	ck_assert_int_eq(bf_live_run(live, 0), 0);
	ck_assert_uint_eq(got, 3);
	bf_live_remove_fd(live, fd);
	close(fd);
}
END_TEST

/* A connected UDP socket whose peer is gone reports an error, not data, and must stay watched after it. */
static int udp_errors;

static void read_udp(void *arg, int fd)
{
	char byte;

	(void)arg;
	ck_assert_int_eq((int)recv(fd, &byte, 1, 0), -1);
	ck_assert_int_eq(errno, ECONNREFUSED);
	if (++udp_errors == 2)
		bf_sim_stop(sim);
	else
		ck_assert_int_eq((int)send(fd, "x", 1, 0), 1);
}

START_TEST(descriptor_errors_reach_the_callback)
{
	struct sockaddr_in to = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t len = sizeof(to);
	int gone = socket(AF_INET, SOCK_DGRAM, 0), fd = socket(AF_INET, SOCK_DGRAM, 0);

	ck_assert_int_eq(bind(gone, (struct sockaddr *)&to, sizeof(to)), 0);
	ck_assert_int_eq(getsockname(gone, (struct sockaddr *)&to, &len), 0);
	ck_assert_int_eq(connect(fd, (struct sockaddr *)&to, sizeof(to)), 0);
	close(gone);
	udp_errors = 0;
	ck_assert_int_eq(bf_live_add_fd(live, fd, read_udp, NULL), 0);
	ck_assert_int_eq((int)send(fd, "x", 1, 0), 1);
	ck_assert_int_eq(bf_live_run(live, 1), 0);
	ck_assert_int_eq(udp_errors, 2);
	bf_live_remove_fd(live, fd);
	close(fd);
}
END_TEST

static void *stop_later(void *arg)
{
	sleep_us(*(long *)arg);
	bf_live_stop(live);
	return NULL;
}

/* At once (before or during the start), and when it has fallen asleep with nothing to wait for. */
START_TEST(stops_from_another_thread)
{
	static const long after_us[] = { 0, 3000 };

	for (int round = 0; round < (_i ? 3 : 50); round++) {
		long us = after_us[_i];
		pthread_t thread;

		ck_assert_int_eq(pthread_create(&thread, NULL, stop_later, &us), 0);
		ck_assert_int_eq(bf_live_run(live, 1), 0);
		pthread_join(thread, NULL);
	}
}
END_TEST

START_TEST(stop_before_the_run_counts)
{
	struct alarm never;

	bf_live_stop(live);
	ck_assert_int_eq(bf_live_run(live, 1), 0);
	/* ... and only once: this run ends by its event. */
	alarms_fired = 0;
	set_alarm(&never, sim->now_ps + BF_MS, 0, true);
	ck_assert_int_eq(bf_live_run(live, 1), 0);
	ck_assert_uint_eq(alarms_fired, 1);
}
END_TEST

static int count_and_stop(void *arg)
{
	++*(int *)arg;
	bf_sim_stop(sim);
	return 1;
}

START_TEST(pollers_come_and_go)
{
	int calls[BF_LIVE_POLLERS + 1] = { 0 };

	for (int i = 0; i < BF_LIVE_POLLERS; i++)
		ck_assert_int_eq(bf_live_add_poller(live, count_and_stop, &calls[i]), 0);
	ck_assert_int_eq(bf_live_add_poller(live, count_and_stop, &calls[BF_LIVE_POLLERS]), -ENOSPC);
	ck_assert_int_eq(sim->error.code, -ENOSPC);
	bf_live_remove_poller(live, count_and_stop, &calls[0]);
	bf_live_remove_poller(live, count_and_stop, &calls[0]);
	ck_assert_int_eq(bf_live_run(live, 0), 0);
	ck_assert_int_eq(calls[0], 0);
	ck_assert_int_eq(calls[1], 1); /* the first one left stops the rest of the turn */
	ck_assert_int_eq(calls[2], 0);
	ck_assert_int_eq(bf_live_add_poller(live, count_and_stop, &calls[0]), 0);
}
END_TEST

struct call {
	struct bf_live_work work;
	pthread_t ran_on;
	uint32_t rounds;
	bool ran, done;
};

static uint32_t calls_done;

static void run_call(struct bf_live_work *w)
{
	struct call *c = BF_CONTAINER_OF(w, struct call, work);

	sleep_us(500);
	c->ran_on = pthread_self();
	c->ran = true;
}

static void call_done(struct bf_live_work *w)
{
	struct call *c = BF_CONTAINER_OF(w, struct call, work);

	ck_assert(c->ran && !pthread_equal(c->ran_on, pthread_self()));
	c->ran = false;
	c->done = true;
	if (c->rounds--)
		ck_assert_int_eq(bf_live_work(live, w), 0);
	else if (++calls_done == 8)
		bf_live_stop(live);
}

/* Calls run elsewhere and end here, sleeping loop or not; what is under way when the loop goes ends with it. */
START_TEST(calls_run_on_other_threads)
{
	struct call calls[8] = { 0 };

	calls_done = 0;
	for (uint32_t i = 0; i < 8; i++) {
		calls[i] = (struct call){ .work = { .run = run_call, .done = call_done }, .rounds = i };
		ck_assert_int_eq(bf_live_work(live, &calls[i].work), 0);
	}
	ck_assert_int_eq(bf_live_run(live, _i ? 10 : 0), 0);
	ck_assert_uint_eq(calls_done, 8);
	calls[0].rounds = 0;
	calls[0].done = false;
	ck_assert_int_eq(bf_live_work(live, &calls[0].work), 0);
	bf_live_settle(live);
	ck_assert(calls[0].ran && !calls[0].done);
	tear_down();
	ck_assert(calls[0].done);
	set_up();
}
END_TEST

START_TEST(refuses_what_cannot_be_watched)
{
	FILE *regular = tmpfile();
	uint64_t got = 0;
	int fd = eventfd(0, 0);

	ck_assert_ptr_nonnull(regular);
	ck_assert_int_eq(bf_live_add_fd(live, -1, read_eventfd, &got), -EBADF);
	ck_assert_int_eq(bf_live_add_fd(live, 1 << 20, read_eventfd, &got), -EBADF);
	ck_assert_int_eq(bf_live_add_fd(live, fileno(regular), read_eventfd, &got), -EPERM);
	ck_assert_int_eq(bf_live_add_fd(live, fd, read_eventfd, &got), 0);
	ck_assert_int_eq(bf_live_add_fd(live, fd, read_eventfd, &got), -EEXIST);
	ck_assert_int_eq(sim->error.code, -EEXIST);
	bf_live_remove_fd(live, fd);
	bf_live_remove_fd(live, fd);
	ck_assert_int_eq(bf_live_add_fd(live, fd, read_eventfd, &got), 0); /* destroyed with the loop */
	fclose(regular);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("live");
	TCase *tc = tcase_create("live");
	SRunner *sr;
	int failed;

	if (bf_sim_create(1, &sim) == 0 && bf_live_create(sim, &live) == -ENOTSUP) {
		printf("live: nothing to test: %s\n", sim->error.text);
		bf_sim_destroy(sim);
		return 0;
	}
	tear_down();
	sr = srunner_create(s);
	tcase_set_timeout(tc, 60);
	tcase_add_checked_fixture(tc, set_up, tear_down);
	tcase_add_loop_test(tc, events_follow_the_wall_clock, 0, 2);
	tcase_add_loop_test(tc, pollers_see_other_threads, 0, 3);
	tcase_add_test(tc, what_a_poller_starts_fires_before_its_next_call);
	tcase_add_loop_test(tc, descriptors_wake_the_loop, 0, 2);
	tcase_add_test(tc, busy_pollers_do_not_starve_descriptors);
	tcase_add_test(tc, descriptor_errors_reach_the_callback);
	tcase_add_loop_test(tc, stops_from_another_thread, 0, 2);
	tcase_add_test(tc, stop_before_the_run_counts);
	tcase_add_test(tc, pollers_come_and_go);
	tcase_add_loop_test(tc, calls_run_on_other_threads, 0, 2);
	tcase_add_test(tc, refuses_what_cannot_be_watched);
	suite_add_tcase(s, tc);
	srunner_run_all(sr, CK_NORMAL);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed != 0;
}
