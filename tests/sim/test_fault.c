/* The fault plan: what parses, where errors are, when rules fire. */
#include <check.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "sim/fault.h"
#include "sim/records_io.h"

static struct bf_sim *sim;
static uint32_t nic0, nic1;

static void setup(void)
{
	ck_assert_int_eq(bf_sim_create(1, &sim), 0);
	nic0 = bf_stream_actor(&sim->rec, "port", "nic0.p1");
	nic1 = bf_stream_actor(&sim->rec, "port", "nic1.p1");
}

static void teardown(void)
{
	bf_fault_plan_destroy(sim->faults);
	bf_sim_destroy(sim);
}

static void plan(const char *text)
{
	bf_fault_plan_destroy(sim->faults);
	sim->faults = NULL;
	ck_assert_msg(!bf_fault_plan_parse(text, 42, &sim->error, &sim->faults), "%s", sim->error.text);
}

static bool fires(enum bf_fault_kind kind, uint32_t actor, uint32_t queue)
{
	struct bf_fault f;

	return bf_fault_check(sim, kind, actor, queue, &f);
}

START_TEST(no_plan_no_fault)
{
	ck_assert(!fires(BF_FAULT_DROP, nic0, 0));
	plan("");
	ck_assert_uint_eq(bf_fault_plan_rules(sim->faults), 0);
	plan(" \n# nothing; drop\n;;\r\n");
	ck_assert_uint_eq(bf_fault_plan_rules(sim->faults), 0);
	ck_assert(!fires(BF_FAULT_DROP, nic0, 0));
}
END_TEST

START_TEST(a_rule_fires_once_by_default)
{
	plan("drop");
	ck_assert(!fires(BF_FAULT_CORRUPT, nic0, 0));
	ck_assert(fires(BF_FAULT_DROP, nic0, 0));
	ck_assert(!fires(BF_FAULT_DROP, nic0, 0));
	ck_assert_uint_eq(bf_fault_plan_fired(sim->faults, 0), 1);
	ck_assert_uint_eq(bf_fault_plan_seen(sim->faults, 0), 2);
	ck_assert_uint_eq(bf_fault_plan_seen(sim->faults, 1), 0);
}
END_TEST

START_TEST(skip_count_queue_and_name)
{
	plan("drop on=nic1* qp=0x41 skip=1 count=2 # comment\ndelay on=*p1 delay=1.5us count=inf; dma-fault on=nic?");
	ck_assert(!fires(BF_FAULT_DROP, nic0, 0x41));
	ck_assert(!fires(BF_FAULT_DROP, nic1, 0x42));
	ck_assert(!fires(BF_FAULT_DROP, nic1, 0x41));
	ck_assert(fires(BF_FAULT_DROP, nic1, 0x41));
	ck_assert(fires(BF_FAULT_DROP, nic1, 0x41));
	ck_assert(!fires(BF_FAULT_DROP, nic1, 0x41));
	for (int i = 0; i < 100; i++) {
		struct bf_fault f;

		ck_assert(bf_fault_check(sim, BF_FAULT_DELAY, nic0, 0, &f));
		ck_assert_uint_eq(f.delay_ps, 1500000);
		ck_assert_uint_eq(f.rule, 1);
		ck_assert_int_eq(f.kind, BF_FAULT_DELAY);
	}
	ck_assert(!fires(BF_FAULT_DMA, nic0, 0));
	ck_assert(!fires(BF_FAULT_DELAY, 0, 0));
}
END_TEST

START_TEST(wildcards)
{
	static const struct {
		const char *pattern;
		bool matches;
	} cases[] = { { "*", true },         { "nic0.p1", true }, { "nic0.p", false }, { "nic0.p11", false },
		      { "n*0*1", true },     { "**1", true },     { "*p1*", true },    { "*p2", false },
		      { "n*c*.p*2", false }, { "*.*.*", false } };

	for (size_t i = 0; i < BF_ARRAY_LEN(cases); i++) {
		char text[64];

		snprintf(text, sizeof(text), "drop on=%s", cases[i].pattern);
		plan(text);
		ck_assert_msg(fires(BF_FAULT_DROP, nic0, 0) == cases[i].matches, "%s", text);
	}
}
END_TEST

START_TEST(windows_of_time)
{
	int fired = 0;

	plan("device-stall after=10ns until=20ns delay=5us");
	for (sim->now_ps = 0; sim->now_ps < 30000; sim->now_ps += 1000)
		fired += fires(BF_FAULT_DEVICE_STALL, nic0, 0);
	ck_assert_int_eq(fired, 10);
}
END_TEST

static uint64_t pattern_of(const char *text, uint32_t rule)
{
	uint64_t bits = 0;

	plan(text);
	for (int i = 0; i < 64; i++) {
		struct bf_fault f;

		if (bf_fault_check(sim, BF_FAULT_DROP, nic0, 0, &f) && f.rule == rule)
			bits |= 1ull << i;
	}
	return bits;
}

START_TEST(probability_by_seed)
{
	uint64_t alone = pattern_of("drop prob=0.25", 0), second;
	int n = 0;

	for (int i = 0; i < 64; i++)
		n += (alone >> i & 1) != 0;
	ck_assert_int_gt(n, 4);
	ck_assert_int_lt(n, 30);
	ck_assert_uint_eq(pattern_of("drop prob=0.25", 0), alone);
	ck_assert_uint_ne(pattern_of("drop prob=0.25 seed=7", 0), alone);
	/* A rule for another actor or kind before or after it changes nothing but its index. */
	ck_assert_uint_eq(pattern_of("drop prob=0.25; drop prob=0.9 on=nic1*; corrupt prob=1", 0), alone);
	ck_assert_uint_eq(pattern_of("drop prob=0.25\ndrop prob=0.5", 0), alone);
	second = pattern_of("corrupt\ndrop prob=0.5", 1);
	ck_assert_uint_eq(pattern_of("drop prob=0.25\ndrop prob=0.5", 1), second & ~alone);
	ck_assert_uint_eq(pattern_of("drop prob=0", 0), 0);
	ck_assert_uint_eq(pattern_of("drop prob=1", 0), UINT64_MAX);
	ck_assert_uint_eq(pattern_of("drop prob=1.0 count=3", 0), 7);
}
END_TEST

START_TEST(probability_is_what_it_says)
{
	int n = 0;

	plan("drop prob=0.01");
	for (int i = 0; i < 100000; i++)
		n += fires(BF_FAULT_DROP, nic0, 0);
	ck_assert_int_gt(n, 850);
	ck_assert_int_lt(n, 1150);
}
END_TEST

START_TEST(errors_say_where)
{
	static const struct {
		const char *text, *where;
	} cases[] = {
		{ "dorp", "line 1, column 1: 'dorp' is not a known kind of fault; did you mean drop? There are drop, "
			  "duplicate" },
		{ "dorp", "access-error, qp-mute" },
		{ "drop\n  drip", "line 2, column 3" },
		{ "drop;delay foo=1", "line 1, column 12: 'foo' is not a known option; there are on, qp, after" },
		{ "drop on", "line 1, column 8" },
		{ "drop on=", "line 1, column 9" },
		{ "drop skip=1 skip=2", "line 1, column 13" },
		{ "drop skip=x", "line 1, column 11" },
		{ "drop skip=18446744073709551616", "line 1, column 11" },
		{ "drop skip=0x", "line 1, column 11" },
		{ "drop count=-1", "line 1, column 12" },
		{ "drop prob=1.000001", "line 1, column 11" },
		{ "drop prob=2", "line 1, column 11" },
		{ "drop prob=0.1234567", "line 1, column 11" },
		{ "drop prob=.5", "line 1, column 11" },
		{ "drop after=5", "line 1, column 13" },
		{ "drop after=5m", "line 1, column 13" },
		{ "drop after=0.5ps", "line 1, column 12" },
		{ "drop after=99999999999999999s", "line 1, column 12" },
		{ "drop after=2ns until=1ns", "line 1, column 1" },
		{ "drop delay=2ns", "line 1, column 1" },
		{ "drop at=2ns", "line 1, column 1" },
		{ "link-down at=2ns count=2", "line 1, column 1" },
		{ "link-down at=2", "line 1, column 15" },
		{ "# ok\n\ndrop on=abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyz",
		  "line 3, column 9" },
	};

	for (size_t i = 0; i < BF_ARRAY_LEN(cases); i++) {
		struct bf_fault_plan *p = NULL;
		struct bf_error err = { 0 };

		ck_assert_int_eq(bf_fault_plan_parse(cases[i].text, 0, &err, &p), -EINVAL);
		ck_assert_ptr_null(p);
		ck_assert_msg(strstr(err.text, cases[i].where) != NULL, "'%s' gives '%s'", cases[i].text, err.text);
	}
}
END_TEST

START_TEST(a_description_parses_to_the_same_plan)
{
	const char *text = "drop on=nic* qp=7 after=1ns until=2ms skip=3 count=inf prob=0.000250 seed=0xff\n"
			   "delay delay=0.25us count=4";
	char first[512], second[512], small[10];
	size_t len;

	plan(text);
	len = bf_fault_plan_describe(sim->faults, first, sizeof(first));
	ck_assert_uint_eq(len, strlen(first));
	ck_assert_uint_eq(bf_fault_plan_describe(sim->faults, NULL, 0), len);
	ck_assert_uint_eq(bf_fault_plan_describe(sim->faults, small, sizeof(small)), len);
	ck_assert_str_eq(small, "drop on=n");
	ck_assert_ptr_nonnull(strstr(first, "prob=0.000250"));
	ck_assert_ptr_nonnull(strstr(first, "delay=250000ps # fired 0 of 0"));
	plan(first);
	bf_fault_plan_describe(sim->faults, second, sizeof(second));
	ck_assert_str_eq(first, second);
}
END_TEST

START_TEST(a_fault_is_a_record)
{
	plan("drop count=2");
	ck_assert_int_eq(bf_stream_open(&sim->rec, &sim->now_ps, BF_CLASS_FAULT, NULL), 0);
	for (int i = 0; i < 5; i++)
		fires(BF_FAULT_DROP, nic0, 0);
	ck_assert_uint_eq(sim->rec.count, 2);
	bf_stream_close(&sim->rec);
}
END_TEST

/* ---- by the clock ---- */

struct place {
	struct bf_fault_timer timer;
	uint32_t actor, asked, fired;
	uint64_t last_ps;
};

static void due(struct bf_event *ev)
{
	struct place *p = BF_CONTAINER_OF(ev, struct place, timer.event);
	struct bf_fault f;

	p->asked++;
	if (bf_fault_check_at(sim, &p->timer, p->actor, 0, &f)) {
		p->fired++;
		p->last_ps = sim->now_ps;
		ck_assert_uint_eq(f.delay_ps, 7 * BF_US);
	}
	bf_fault_timer_next(sim, &p->timer);
}

START_TEST(rules_may_name_a_time)
{
	struct place a = { .actor = nic0 }, b = { .actor = nic1 };

	plan("link-down at=3us delay=7us on=nic1*; link-down at=1us delay=7us; qp-error at=2us; link-down");
	bf_fault_timer_start(sim, &a.timer, BF_FAULT_LINK_DOWN, due);
	bf_fault_timer_start(sim, &b.timer, BF_FAULT_LINK_DOWN, due);
	bf_sim_run(sim, 10 * BF_US);
	ck_assert_uint_eq(a.asked, 2);
	ck_assert_uint_eq(a.fired, 1);
	ck_assert_uint_eq(a.last_ps, BF_US);
	ck_assert_uint_eq(b.fired, 2);
	ck_assert_uint_eq(b.last_ps, 3 * BF_US);
	/* An opportunity is none for them. */
	ck_assert(fires(BF_FAULT_LINK_DOWN, nic0, 0));
	ck_assert_uint_eq(bf_fault_plan_fired(sim->faults, 0), 1);
	ck_assert_uint_eq(bf_fault_plan_fired(sim->faults, 3), 1);
	ck_assert(!bf_event_pending(&a.timer.event) && !bf_event_pending(&b.timer.event));
}
END_TEST

START_TEST(records_name_the_kinds_as_plans_do)
{
	char want[300] = "";

	/* What makes code weaker is no event. */
	for (int k = 0; k <= BF_FAULT_MUTE; k++)
		snprintf(want + strlen(want), sizeof(want) - strlen(want), "%s%d=%s", k ? ";" : "", k,
			 bf_fault_kind_name((enum bf_fault_kind)k));
	for (uint16_t i = 0; i < bf_rec_fault_injected_schema.nfields; i++)
		if (!strcmp(bf_rec_fault_injected_schema.fields[i].name, "kind"))
			ck_assert_str_eq(bf_rec_fault_injected_schema.fields[i].names, want);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("fault");
	TCase *t = tcase_create("fault");
	SRunner *runner = srunner_create(s);
	int failed;

	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_test(t, no_plan_no_fault);
	tcase_add_test(t, a_rule_fires_once_by_default);
	tcase_add_test(t, skip_count_queue_and_name);
	tcase_add_test(t, wildcards);
	tcase_add_test(t, windows_of_time);
	tcase_add_test(t, probability_by_seed);
	tcase_add_test(t, probability_is_what_it_says);
	tcase_add_test(t, errors_say_where);
	tcase_add_test(t, a_description_parses_to_the_same_plan);
	tcase_add_test(t, a_fault_is_a_record);
	tcase_add_test(t, rules_may_name_a_time);
	tcase_add_test(t, records_name_the_kinds_as_plans_do);
	suite_add_tcase(s, t);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed != 0;
}
