#include <check.h>
#include <fenv.h>
#include <stdlib.h>
#include <string.h>

#include "sim/compiler.h"
#include "sim/coro.h"
#include "sim/sanitizers.h"

struct counter {
	struct bf_coro *co;
	int steps, limit;
};

static void count(void *arg)
{
	struct counter *c = arg;

	while (c->steps < c->limit) {
		c->steps++;
		bf_coro_leave(c->co);
	}
}

START_TEST(runs_in_steps_and_finishes)
{
	struct counter c = { .limit = 3 };

	ck_assert_int_eq(bf_coro_create(&c.co, count, &c, 1), 0);
	ck_assert_uint_ge(bf_coro_stack_bytes(c.co), 1);
	for (int i = 1; i <= 3; i++) {
		bf_coro_enter(c.co);
		ck_assert_int_eq(c.steps, i);
		ck_assert(!bf_coro_finished(c.co));
	}
	bf_coro_enter(c.co);
	ck_assert(bf_coro_finished(c.co));

	c.limit = 5;
	bf_coro_reset(c.co, count, &c);
	ck_assert(!bf_coro_finished(c.co));
	bf_coro_enter(c.co);
	ck_assert_int_eq(c.steps, 4);
	/* In the middle of its function: only the stack goes. */
	bf_coro_destroy(c.co);
}
END_TEST

/* A tree of coroutines, each entered by the one before. */
struct nest {
	struct bf_coro *co;
	struct nest *inner;
	int *trace, *used;
	int id;
};

static void nested(void *arg)
{
	struct nest *n = arg;

	for (int round = 0; round < 2; round++) {
		n->trace[(*n->used)++] = n->id;
		if (n->inner)
			bf_coro_enter(n->inner->co);
		n->trace[(*n->used)++] = -n->id;
		bf_coro_leave(n->co);
	}
}

START_TEST(nests)
{
	static const int expected[] = { 1, 2, 3, -3, -2, -1, 1, 2, 3, -3, -2, -1 };
	int trace[16], used = 0;
	struct nest n[3];

	for (int i = 2; i >= 0; i--) {
		n[i] = (struct nest){ .inner = i < 2 ? &n[i + 1] : NULL, .trace = trace, .used = &used, .id = i + 1 };
		ck_assert_int_eq(bf_coro_create(&n[i].co, nested, &n[i], 32768), 0);
	}
	bf_coro_enter(n[0].co);
	bf_coro_enter(n[0].co);
	ck_assert_int_eq(used, 12);
	ck_assert_mem_eq(trace, expected, sizeof(expected));
	for (int i = 0; i < 3; i++)
		bf_coro_destroy(n[i].co);
}
END_TEST

/* A ring of three in which each hands over to the next; the last of a round leaves. */
struct ring {
	struct bf_coro *co;
	struct ring *next;
	int *trace, *used;
	int id;
};

static void pass_on(void *arg)
{
	struct ring *r = arg;

	for (int round = 0; round < 2; round++) {
		r->trace[(*r->used)++] = r->id;
		if (r->next)
			bf_coro_hand_over(r->co, r->next->co);
		else
			bf_coro_leave(r->co);
	}
	r->trace[(*r->used)++] = -r->id;
}

START_TEST(hands_over)
{
	static const int expected[] = { 1, 2, 3, 1, 2, 3, -1, -2, -3 };
	int trace[16], used = 0;
	struct ring r[3];

	for (int i = 2; i >= 0; i--) {
		r[i] = (struct ring){ .next = i < 2 ? &r[i + 1] : NULL, .trace = trace, .used = &used, .id = i + 1 };
		ck_assert_int_eq(bf_coro_create(&r[i].co, pass_on, &r[i], 32768), 0);
	}
	bf_coro_enter(r[0].co);
	ck_assert_int_eq(used, 3);
	bf_coro_enter(r[0].co);
	ck_assert_int_eq(used, 6);
	for (int i = 0; i < 3; i++) {
		ck_assert(!bf_coro_finished(r[i].co));
		bf_coro_enter(r[i].co);
		ck_assert(bf_coro_finished(r[i].co));
		bf_coro_destroy(r[i].co);
	}
	ck_assert_int_eq(used, 9);
	ck_assert_mem_eq(trace, expected, sizeof(expected));
}
END_TEST

/* Two stacks in turns, each given up deep inside a function, more often than their frames could pile up. */
#define QUITS 20000

struct quitter {
	struct bf_coro *co[2];
	int runs, aligned;
};

static void quit_deep(void *arg);

static BF_NOINLINE int quit_at(struct quitter *q, int depth)
{
	struct bf_coro *self = q->co[q->runs & 1], *other = q->co[(q->runs + 1) & 1];
	_Alignas(16) char local[64];
	volatile char *p = local;

	*p = (char)depth;
	if (depth)
		return quit_at(q, depth - 1) + *p;
	q->aligned += ((unsigned long)p & 15) == 0;
	if (++q->runs % 3 == 0)
		bf_coro_quit(self, NULL);
	bf_coro_reset(other, quit_deep, q);
	bf_coro_quit(self, other);
	return *p;
}

static void quit_deep(void *arg)
{
	struct quitter *q = arg;

	quit_at(q, 8);
	ck_abort_msg("went on after it had quit");
}

START_TEST(quits)
{
	struct quitter q = { 0 };

	for (int i = 0; i < 2; i++)
		ck_assert_int_eq(bf_coro_create(&q.co[i], quit_deep, &q, 32768), 0);
	while (q.runs < QUITS) {
		struct bf_coro *next = q.co[q.runs & 1];

		bf_coro_reset(next, quit_deep, &q);
		bf_coro_enter(next);
		ck_assert_int_eq(q.runs % 3, 0);
		ck_assert(bf_coro_finished(q.co[0]) && bf_coro_finished(q.co[1]));
	}
	ck_assert_int_eq(q.aligned, q.runs);
	for (int i = 0; i < 2; i++)
		bf_coro_destroy(q.co[i]);
}
END_TEST

/* Callee-saved registers, the stack's alignment and rounding modes are each side's own. */
struct keeper {
	struct bf_coro *co;
	double sum;
	int mode, aligned;
	unsigned long hash;
};

static void keep(void *arg)
{
	struct keeper *k = arg;
	_Alignas(16) char local[16];
	volatile char *p = local;
	unsigned long a = 1, b = 2, c = 3, d = 4, e = 5, f = 6;
	double x = 1.0, y = 1.0;

	*p = 0;
	k->aligned = ((unsigned long)p & 15) == 0;
	fesetround(FE_UPWARD);
	for (int i = 0; i < 100; i++) {
		a = a * 3 + f;
		b ^= a << 1;
		c += b;
		d = d * 5 + c;
		e ^= d >> 3;
		f += e;
		x += y / 3.0;
		y = x / 2.0;
		k->hash = a ^ b ^ c ^ d ^ e ^ f;
		k->sum = x;
		bf_coro_leave(k->co);
		k->mode = fegetround();
	}
}

START_TEST(keeps_registers_and_modes)
{
	struct keeper k[2] = { 0 };
	unsigned long outside[6] = { 1, 2, 3, 4, 5, 6 }, check[6] = { 1, 2, 3, 4, 5, 6 };

	for (int i = 0; i < 2; i++)
		ck_assert_int_eq(bf_coro_create(&k[i].co, keep, &k[i], 65536), 0);
	/* One runs in long stretches, one in turns with arithmetic on this side; both must come to the same. */
	for (int i = 0; i < 100; i++)
		bf_coro_enter(k[0].co);
	for (int i = 0; i < 100; i++) {
		bf_coro_enter(k[1].co);
		for (int j = 0; j < 6; j++)
			outside[j] = outside[j] * 7 + outside[(j + 1) % 6];
		ck_assert_int_eq(fegetround(), FE_TONEAREST);
	}
	for (int i = 0; i < 100; i++) {
		for (int j = 0; j < 6; j++)
			check[j] = check[j] * 7 + check[(j + 1) % 6];
	}
	ck_assert_mem_eq(outside, check, sizeof(check));
	ck_assert_uint_eq(k[0].hash, k[1].hash);
	ck_assert(k[0].sum == k[1].sum);
	ck_assert_int_eq(k[0].mode, FE_UPWARD);
	ck_assert(k[0].aligned && k[1].aligned);
	for (int i = 0; i < 2; i++)
		bf_coro_destroy(k[i].co);
}
END_TEST

static int deep(int n)
{
	volatile char fill[128];

	memset((char *)fill, n, sizeof(fill));
	return n ? deep(n - 1) + fill[0] - (char)n + 1 : 0;
}

static void use_stack(void *arg)
{
	*(int *)arg = deep(200);
}

static void overflow(void *arg)
{
	*(int *)arg = deep(1 << 20);
}

START_TEST(stack_is_as_large_as_asked)
{
	struct bf_coro *co;
	int depth = 0;

	ck_assert_int_eq(bf_coro_create(&co, use_stack, &depth, 200 * 1024), 0);
	bf_coro_enter(co);
	ck_assert(bf_coro_finished(co));
	ck_assert_int_eq(depth, 200);
	bf_coro_destroy(co);
}
END_TEST

/* Ends by the guard page's signal. */
START_TEST(guard_page_stops_an_overflow)
{
	struct bf_coro *co;
	int depth = 0;

	ck_assert_int_eq(bf_coro_create(&co, overflow, &depth, 16384), 0);
	bf_coro_enter(co);
	exit(0);
}
END_TEST

START_TEST(many)
{
#if defined(__SANITIZE_THREAD__)
	enum { N = 100 }; /* a fiber costs TSan a megabyte or so */
#else
	enum { N = 4000 };
#endif
	struct counter *c = calloc(N, sizeof(*c));
	int rc;

	ck_assert_ptr_nonnull(c);
	for (int i = 0; i < N; i++) {
		c[i].limit = 2;
		rc = bf_coro_create(&c[i].co, count, &c[i], 65536);
		ck_assert_int_eq(rc, 0);
	}
	for (int round = 0; round < 3; round++) {
		for (int i = 0; i < N; i++)
			bf_coro_enter(c[i].co);
	}
	for (int i = 0; i < N; i++) {
		ck_assert(bf_coro_finished(c[i].co));
		ck_assert_int_eq(c[i].steps, 2);
		bf_coro_destroy(c[i].co);
	}
	free(c);
}
END_TEST

START_TEST(refuses_what_cannot_be_had)
{
	struct bf_coro *co = (struct bf_coro *)&co;

	ck_assert_int_lt(bf_coro_create(&co, count, NULL, (size_t)-1), 0);
	ck_assert_ptr_null(co);
	ck_assert_int_lt(bf_coro_create(&co, count, NULL, (size_t)1 << 60), 0);
	ck_assert_ptr_null(co);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("coro");
	TCase *t = tcase_create("coro");
	SRunner *r;
	int failed;

	tcase_add_test(t, runs_in_steps_and_finishes);
	tcase_add_test(t, nests);
	tcase_add_test(t, hands_over);
	tcase_add_test(t, quits);
	tcase_add_test(t, keeps_registers_and_modes);
	tcase_add_test(t, stack_is_as_large_as_asked);
	tcase_add_test(t, many);
	tcase_add_test(t, refuses_what_cannot_be_had);
#if BF_ASAN || BF_TSAN
	/* The sanitizers turn the signal into their own report. */
	(void)guard_page_stops_an_overflow;
#else
	tcase_add_test_raise_signal(t, guard_page_stops_an_overflow, 11);
#endif
	suite_add_tcase(s, t);
	r = srunner_create(s);
	srunner_run_all(r, CK_NORMAL);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed ? 1 : 0;
}
