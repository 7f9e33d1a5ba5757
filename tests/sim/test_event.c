/* The event queue against a naive sorted list, and the calls of sim/event.h. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "sim/event_queue.h"
#include "sim/sim.h"

/* One event and the place where the naive model says it stands. */
struct item {
	struct bf_event ev;
	uint64_t when, seq; /* the model's own copy */
};

/*
 * The model: an array of pending items in order of (when, seq), searched and shifted without any cleverness. The test
 * is that the queue agrees with it after every operation.
 */
struct model {
	struct item **at;
	uint32_t count;
	uint64_t seq;
};

/* Check's own assertions write to a file each time they pass, which a loop of millions cannot afford. */
#define AGREE(cond)                                                                                                    \
	do {                                                                                                           \
		if (!(cond))                                                                                           \
			ck_abort_msg("not true: %s", #cond);                                                           \
	} while (0)

static uint32_t model_find(const struct model *m, const struct item *it)
{
	uint32_t lo = 0, hi = m->count;

	while (lo < hi) {
		const uint32_t mid = lo + (hi - lo) / 2;
		const struct item *at = m->at[mid];

		if (at->when < it->when || (at->when == it->when && at->seq < it->seq))
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

static void model_remove(struct model *m, struct item *it)
{
	uint32_t i = model_find(m, it);

	memmove(&m->at[i], &m->at[i + 1], (--m->count - i) * sizeof(struct item *));
}

static void model_insert(struct model *m, struct item *it, uint64_t when)
{
	uint32_t i = m->count;

	it->when = when;
	it->seq = m->seq++;
	while (i > 0 && m->at[i - 1]->when > when)
		i--;
	memmove(&m->at[i + 1], &m->at[i], (m->count++ - i) * sizeof(struct item *));
	m->at[i] = it;
}

static void ignore(struct bf_event *ev)
{
	(void)ev;
}

/* Distances from now that a new event may have; `spread` grows the range. */
enum distance { UNIFORM, EQUAL, FEW_VALUES, BIMODAL, WIDE, NEAR_SORTED, HUGE_TIMERS, NDISTANCES };

static uint64_t draw(struct bf_rng *r, enum distance kind)
{
	switch (kind) {
	case UNIFORM:
		return bf_rng_below(r, 100000);
	case EQUAL:
		return 0;
	case FEW_VALUES:
		return bf_rng_below(r, 4) * 64;
	case BIMODAL:
		return bf_rng_chance(r, 900000) ? bf_rng_below(r, 50) : 1000000 + bf_rng_below(r, 1000000);
	case WIDE: /* any number of bits is as likely as any other, up to the 45 or so of hours */
		return bf_rng_next(r) >> (19 + bf_rng_below(r, 45));
	case NEAR_SORTED:
		return 100000 + bf_rng_below(r, 16);
	default:
		return bf_rng_below(r, 2) ? bf_rng_below(r, 1000) : 4096000000000ull + bf_rng_below(r, 1000);
	}
}

/* Takes the earliest event out of both and compares. Returns its time. */
static uint64_t pop_both(struct bf_queue *q, struct model *m)
{
	const uint64_t when = bf_queue_next(q);
	struct bf_event *ev = bf_queue_pop(q, when);
	struct item *first = m->at[0];

	AGREE(ev == &first->ev);
	AGREE(when == first->when);
	AGREE(!bf_event_pending(ev));
	model_remove(m, first);
	return when;
}

/* `ops` random operations on up to `nitems` pending events; `peek_ppm` is how often the next time is asked for. */
static void agree(enum distance kind, uint32_t nitems, uint32_t ops, uint32_t peek_ppm)
{
	struct bf_queue *q = malloc(sizeof(*q));
	struct item *items = calloc(nitems, sizeof(*items));
	struct model m = { .at = calloc(nitems + 1, sizeof(struct item *)) };
	struct bf_rng r;
	uint64_t now = 0;

	ck_assert(q && items && m.at);
	bf_queue_init(q);
	bf_rng_init(&r, kind * 1000u + nitems, "test_event");
	for (uint32_t i = 0; i < nitems; i++)
		bf_event_init(&items[i].ev, ignore);
	for (uint32_t op = 0; op < ops; op++) {
		/* Every tenth choice is the earliest, to lose slots their minimum far more often than chance would. */
		struct item *it = m.count && bf_rng_chance(&r, 100000) ? m.at[0] : &items[bf_rng_below(&r, nitems)];
		const uint64_t choice = bf_rng_below(&r, 100);

		if (choice < 35) {
			if (m.count)
				now = pop_both(q, &m);
		} else {
			if (bf_event_pending(&it->ev)) {
				bf_queue_remove(q, &it->ev);
				model_remove(&m, it);
				AGREE(!bf_event_pending(&it->ev));
			}
			if (choice < 85) {
				uint64_t when = now + draw(&r, kind);

				bf_queue_insert(q, &it->ev, when);
				model_insert(&m, it, when);
			}
		}
		if (bf_rng_chance(&r, peek_ppm))
			AGREE(bf_queue_next(q) == (m.count ? m.at[0]->when : BF_NEVER));
	}
	while (m.count)
		pop_both(q, &m);
	ck_assert_uint_eq(bf_queue_next(q), BF_NEVER);
	ck_assert_uint_eq(q->levels, 0);
	free(m.at);
	free(items);
	free(q);
}

START_TEST(agrees_with_sorted_list)
{
	static const struct {
		uint32_t nitems, ops;
	} size[] = { { 1, 20000 }, { 3, 100000 }, { 20, 300000 }, { 300, 200000 }, { 3000, 60000 } };

	for (uint32_t i = 0; i < BF_ARRAY_LEN(size); i++) {
		agree((enum distance)_i, size[i].nitems, size[i].ops, 1000000);
		agree((enum distance)_i, size[i].nitems, size[i].ops, 50000);
	}
}
END_TEST

/* All of time: digits of every level, the last picosecond that is not "never" included. */
START_TEST(spans_all_of_time)
{
	struct bf_queue *q = malloc(sizeof(*q));
	struct item items[129];
	struct model m = { .at = (struct item *[130]){ NULL } };

	ck_assert_ptr_nonnull(q);
	bf_queue_init(q);
	for (uint32_t i = 0; i < 129; i++) {
		/* 2^63, 2^62, .. 1, the same less one, and the end of time */
		const uint64_t power = 1ull << (63 - i % 64);
		const uint64_t when = i == 128 ? BF_NEVER - 1 : i < 64 ? power : power - 1;

		bf_event_init(&items[i].ev, ignore);
		bf_queue_insert(q, &items[i].ev, when);
		model_insert(&m, &items[i], when);
	}
	while (m.count)
		pop_both(q, &m);
	ck_assert_uint_eq(bf_queue_next(q), BF_NEVER);
	free(q);
}
END_TEST

/*
 * Re-arming the earliest of many far timers and asking for the next time after each: the case in which a slot loses its
 * minimum. It must be sorted once, not every time: the merge of the list would show as a settled bit that comes back.
 */
START_TEST(rearmed_timers_stay_sorted)
{
	enum { TIMERS = 1000 };
	struct bf_queue *q = malloc(sizeof(*q));
	struct item *items = calloc(TIMERS, sizeof(*items));
	struct bf_rng r;
	uint64_t deadline = 1ull << 40;
	uint32_t settled = 0;

	ck_assert(q && items);
	bf_queue_init(q);
	bf_rng_init(&r, 1, "timers");
	for (uint32_t i = 0; i < TIMERS; i++) {
		bf_event_init(&items[i].ev, ignore);
		bf_queue_insert(q, &items[i].ev, deadline + bf_rng_below(&r, 1000));
	}
	deadline += 1000;
	for (uint32_t i = 0; i < 10 * TIMERS; i++) {
		const uint64_t next = bf_queue_next(q);
		uint32_t level;

		/* The earliest one, found without the queue's help. */
		struct item *it = &items[0];
		for (uint32_t k = 1; k < TIMERS; k++)
			if (items[k].ev.when < it->ev.when)
				it = &items[k];
		AGREE(it->ev.when == next);
		bf_queue_remove(q, &it->ev);
		bf_queue_insert(q, &it->ev, deadline++);
		level = (uint32_t)__builtin_ctz(q->levels);
		settled += q->stale[level] != 0;
	}
	ck_assert_uint_le(settled, 1);
	free(items);
	free(q);
}
END_TEST

/* Events that note in which order they fired. */
struct note {
	struct bf_event ev;
	struct bf_sim *sim;
	char *log;
	uint64_t again_ps; /* schedules itself once more after this */
	struct note *cancels;
	char name;
};

static void write_note(struct bf_event *ev)
{
	struct note *n = BF_CONTAINER_OF(ev, struct note, ev);

	ck_assert(!bf_event_pending(ev));
	n->log[strlen(n->log)] = n->name;
	if (n->again_ps) {
		bf_sim_after(n->sim, ev, n->again_ps);
		n->again_ps = 0;
	}
	if (n->cancels)
		bf_sim_cancel(n->sim, &n->cancels->ev);
}

static struct bf_sim *sim;
static char fired[32];
static struct note a, b, c;

static void set_up(void)
{
	struct note *all[] = { &a, &b, &c };

	ck_assert_int_eq(bf_sim_create(1, &sim), 0);
	memset(fired, 0, sizeof(fired));
	for (uint32_t i = 0; i < 3; i++) {
		*all[i] = (struct note){ .sim = sim, .log = fired, .name = (char)('a' + i) };
		bf_event_init(&all[i]->ev, write_note);
	}
}

static void tear_down(void)
{
	bf_sim_destroy(sim);
}

START_TEST(ties_fire_in_order_of_scheduling)
{
	bf_sim_at(sim, &b.ev, 5);
	bf_sim_at(sim, &a.ev, 5);
	bf_sim_at(sim, &c.ev, 5);
	bf_sim_at(sim, &b.ev, 5); /* moved: counts as new */
	bf_sim_run(sim, BF_NEVER);
	ck_assert_str_eq(fired, "acb");
}
END_TEST

START_TEST(moves_and_cancels_pending_events)
{
	bf_sim_at(sim, &a.ev, 10);
	bf_sim_at(sim, &b.ev, 20);
	bf_sim_at(sim, &c.ev, 30);
	bf_sim_at(sim, &c.ev, 5);
	ck_assert_uint_eq(bf_sim_next(sim), 5);
	bf_sim_cancel(sim, &c.ev);
	bf_sim_cancel(sim, &c.ev);
	ck_assert(!bf_event_pending(&c.ev));
	ck_assert_uint_eq(bf_sim_next(sim), 10);
	bf_sim_at(sim, &a.ev, BF_NEVER);
	ck_assert(!bf_event_pending(&a.ev));
	ck_assert_uint_eq(bf_sim_next(sim), 20);
	bf_sim_run(sim, BF_NEVER);
	ck_assert_str_eq(fired, "b");
	ck_assert_uint_eq(bf_sim_next(sim), BF_NEVER);
}
END_TEST

/* An event that says what was asked for on its behalf: '1' and '2' before its letter. */
struct asked {
	struct bf_event ev;
	char says[4], letter;
};

static void write_letter(struct bf_event *ev)
{
	struct asked *x = BF_CONTAINER_OF(ev, struct asked, ev);

	x->says[strlen(x->says)] = x->letter;
}

static void write_only(struct bf_event *ev)
{
	write_letter(ev);
}

static void write_turn(const struct bf_event *ev, bool first)
{
	struct asked *x = BF_CONTAINER_OF(ev, struct asked, ev);

	ck_assert(bf_event_pending(ev));
	x->says[strlen(x->says)] = first ? '1' : '2';
}

START_TEST(asks_ahead_for_what_is_next_in_a_crowd)
{
	struct asked all[6];

	bf_sim_look_ahead(sim, write_letter, write_turn);
	for (int crowded = 0; crowded < 2; crowded++) {
		sim->crowded = crowded;
		for (uint32_t i = 0; i < BF_ARRAY_LEN(all); i++) {
			all[i] = (struct asked){ .letter = (char)('a' + i) };
			bf_event_init(&all[i].ev, i == 4 ? write_only : write_letter);
			bf_sim_at(sim, &all[i].ev, 100 * (uint64_t)(crowded + 1));
		}
		bf_sim_run(sim, BF_NEVER);
		ck_assert_str_eq(all[0].says, "a");
		ck_assert_str_eq(all[1].says, crowded ? "2b" : "b");
		ck_assert_str_eq(all[3].says, crowded ? "12d" : "d");
		ck_assert_str_eq(all[4].says, "e");
		ck_assert_str_eq(all[5].says, crowded ? "12f" : "f");
	}
}
END_TEST

START_TEST(clamps_the_past_and_the_end_of_time)
{
	bf_sim_at(sim, &a.ev, 100);
	bf_sim_run(sim, BF_NEVER);
	bf_sim_at(sim, &b.ev, 7);
	ck_assert_uint_eq(b.ev.when, 100);
	bf_sim_after(sim, &c.ev, BF_NEVER - 50);
	ck_assert(!bf_event_pending(&c.ev));
	bf_sim_after(sim, &c.ev, BF_NEVER - 101);
	ck_assert_uint_eq(c.ev.when, BF_NEVER - 1);
	bf_sim_run(sim, BF_NEVER);
	ck_assert_str_eq(fired, "abc");
	ck_assert_uint_eq(sim->now_ps, BF_NEVER - 1);
}
END_TEST

START_TEST(callbacks_schedule_and_cancel)
{
	a.again_ps = 3;
	b.cancels = &c;
	bf_sim_at(sim, &a.ev, 1);
	bf_sim_at(sim, &b.ev, 2);
	bf_sim_at(sim, &c.ev, 2); /* due now, but b comes first and takes it back */
	bf_sim_run(sim, BF_NEVER);
	ck_assert_str_eq(fired, "aba");
	ck_assert_uint_eq(sim->now_ps, 4);
	ck_assert_uint_eq(sim->events, 3);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("event");
	TCase *queue = tcase_create("queue"), *calls = tcase_create("calls");
	SRunner *sr = srunner_create(s);
	int failed;

	tcase_set_timeout(queue, 120);
	tcase_add_loop_test(queue, agrees_with_sorted_list, 0, NDISTANCES);
	tcase_add_test(queue, spans_all_of_time);
	tcase_add_test(queue, rearmed_timers_stay_sorted);
	suite_add_tcase(s, queue);
	tcase_add_checked_fixture(calls, set_up, tear_down);
	tcase_add_test(calls, ties_fire_in_order_of_scheduling);
	tcase_add_test(calls, moves_and_cancels_pending_events);
	tcase_add_test(calls, asks_ahead_for_what_is_next_in_a_crowd);
	tcase_add_test(calls, clamps_the_past_and_the_end_of_time);
	tcase_add_test(calls, callbacks_schedule_and_cancel);
	suite_add_tcase(s, calls);
	srunner_run_all(sr, CK_NORMAL);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed != 0;
}
