/* Litmus tests of threads: what one sees of another's stores, and atomics. */
#include "tests/sim/litmus.h"

/* Message passing: data, then flag; the reader has an old copy of the data at hand. */
static void mp_write(struct world *w, struct bf_agent *a, unsigned id)
{
	(void)id;
	bf_agent_delay(a, 2 * BF_US);
	put(a, var(w, 0), 1, BF_WEAK, BF_SCOPE_CTA);
	put(a, var(w, 1), 1, BF_WEAK, BF_SCOPE_CTA);
	publish(w, a, flag(w, 0), 1);
}

static bool mp_bad(struct world *w)
{
	/* Whatever was seen, in the end all is in memory. */
	ck_assert_uint_eq(*var(w, 0), 1);
	ck_assert_uint_eq(*flag(w, 0), 1);
	return !w->r[0] || !w->r[1];
}

static thread_fn *const mp[] = { mp_write, mp_read };

START_TEST(message_passing_by_scope)
{
	static const enum bf_scope scopes[] = { NO_FENCE, BF_SCOPE_CTA, BF_SCOPE_GPU, BF_SCOPE_SYS };
	struct config c = { .ordering = _i & 1 ? BF_ORDER_ADVERSARIAL : BF_ORDER_GPU,
			    .kind = _i & 2 ? BF_MEM_DRAM : BF_MEM_VRAM };

	for (unsigned release = 0; release < 2; release++) {
		for (unsigned s = release; s < BF_ARRAY_LEN(scopes); s++) {
			c.release = release != 0;
			c.scope = scopes[s];
			c.place[1] = BLOCK_A;
			expect("same block", &c, count(&c, mp, 2, mp_bad), s == 0);
			c.place[1] = BLOCK_B;
			expect("other block", &c, count(&c, mp, 2, mp_bad), s < 2);
			c.place[1] = CPU;
			expect("cpu", &c, count(&c, mp, 2, mp_bad), c.kind == BF_MEM_VRAM ? s < 2 : s < 3);
		}
	}
}
END_TEST

START_TEST(message_passing_in_order)
{
	struct config c = { .scope = NO_FENCE, .place = { CPU, CPU } };

	c.ordering = BF_ORDER_SC;
	expect("sc", &c, count(&c, mp, 2, mp_bad), false);
	c.ordering = BF_ORDER_TSO;
	expect("tso", &c, count(&c, mp, 2, mp_bad), false);
	c.place[0] = BLOCK_A;
	c.place[1] = BLOCK_B;
	expect("tso on a gpu", &c, count(&c, mp, 2, mp_bad), false);
}
END_TEST

/* Store buffering. */
static void sb(struct world *w, struct bf_agent *a, unsigned id)
{
	put(a, var(w, id), 1, BF_RELAXED, BF_SCOPE_SYS);
	fence(w, a);
	w->r[id] = get(a, var(w, 1 - id), BF_RELAXED, BF_SCOPE_SYS);
}

static bool sb_bad(struct world *w)
{
	return !w->r[0] && !w->r[1];
}

static thread_fn *const sb_threads[] = { sb, sb };

START_TEST(store_buffering)
{
	struct config c = { .ordering = (enum bf_ordering)_i, .scope = NO_FENCE };

	for (int cpu = 0; cpu < 2; cpu++) {
		c.place[0] = cpu ? CPU : BLOCK_A;
		c.place[1] = cpu ? CPU : BLOCK_B;
		c.scope = NO_FENCE;
		expect("store buffering", &c, count(&c, sb_threads, 2, sb_bad), c.ordering != BF_ORDER_SC);
		c.scope = BF_SCOPE_SYS;
		expect("store buffering", &c, count(&c, sb_threads, 2, sb_bad), false);
	}
}
END_TEST

/* One address: nobody may see it go backwards, the writer sees its last store, the last store wins. */
static void co_write(struct world *w, struct bf_agent *a, unsigned id)
{
	(void)id;
	for (uint64_t v = 1; v <= 12; v++) {
		/* Some stores cover only a part of the bytes of those before. */
		bf_store(a, var(w, 0), &v, v % 3 ? 8 : 2, BF_WEAK, BF_SCOPE_CTA);
		if (v == 9)
			bf_fence(a, BF_SCOPE_CTA);
		if (get(a, var(w, 0), BF_WEAK, BF_SCOPE_CTA) != v)
			w->r[0]++;
		bf_agent_delay(a, 300 * BF_NS);
	}
}

static void co_read(struct world *w, struct bf_agent *a, unsigned id)
{
	uint64_t last = 0;

	for (int i = 0; i < 40; i++) {
		const uint64_t v = get(a, var(w, 0), BF_RELAXED, BF_SCOPE_SYS);

		w->r[id] += v < last;
		last = v;
	}
}

static bool co_bad(struct world *w)
{
	ck_assert_uint_eq(*var(w, 0), 12);
	return w->r[0] || w->r[1] || w->r[2] || w->r[3];
}

static thread_fn *const co[] = { co_write, co_read, co_read, co_read };

START_TEST(coherence)
{
	struct config c = { .ordering = (enum bf_ordering)_i,
			    .scope = NO_FENCE,
			    .place = { BLOCK_A, BLOCK_A, BLOCK_B, CPU } };

	expect("coherence", &c, count(&c, co, 4, co_bad), false);
	c.kind = BF_MEM_VRAM;
	expect("coherence", &c, count(&c, co, 4, co_bad), false);
}
END_TEST

/* A fence covers what its thread has seen, not only what it wrote. */
static void wrc_relay(struct world *w, struct bf_agent *a, unsigned id)
{
	const void *line = flag(w, 0);

	(void)id;
	while (get(a, line, BF_RELAXED, BF_SCOPE_CTA) != 1)
		bf_agent_wait(a, &line, 1, BF_NEVER, 0, "flag 0");
	publish(w, a, flag(w, 1), 1);
}

static void wrc_write(struct world *w, struct bf_agent *a, unsigned id)
{
	(void)id;
	put(a, var(w, 0), 1, BF_WEAK, BF_SCOPE_CTA);
	bf_fence(a, BF_SCOPE_CTA);
	put(a, flag(w, 0), 1, BF_RELAXED, BF_SCOPE_CTA);
}

static void wrc_read(struct world *w, struct bf_agent *a, unsigned id)
{
	(void)id;
	get(a, var(w, 0), BF_WEAK, BF_SCOPE_CTA);
	await(w, a, flag(w, 1), 1);
	w->r[0] = get(a, var(w, 0), BF_WEAK, BF_SCOPE_CTA);
}

static bool wrc_bad(struct world *w)
{
	return !w->r[0];
}

static thread_fn *const wrc[] = { wrc_write, wrc_relay, wrc_read };

START_TEST(fences_are_cumulative)
{
	struct config c = { .ordering = _i & 1 ? BF_ORDER_ADVERSARIAL : BF_ORDER_GPU,
			    .kind = _i & 2 ? BF_MEM_DRAM : BF_MEM_VRAM,
			    .place = { BLOCK_A, BLOCK_A, BLOCK_B } };

	for (int release = 0; release < 2; release++) {
		c.release = release != 0;
		c.scope = BF_SCOPE_GPU;
		expect("relayed", &c, count(&c, wrc, 3, wrc_bad), false);
		c.scope = BF_SCOPE_CTA;
		expect("relayed", &c, count(&c, wrc, 3, wrc_bad), true);
	}
}
END_TEST

/* Atomic increments, and increments under a lock. */
static void add(struct world *w, struct bf_agent *a, unsigned id)
{
	(void)id;
	for (unsigned i = 0; i < ROUNDS; i++) {
		bf_atomic(a, var(w, 0), 8, BF_ATOMIC_ADD, 1, 0, BF_RELAXED, w->c.scope);
		bf_agent_delay(a, 100 * BF_NS);
	}
}

static bool sum_bad(struct world *w)
{
	return *var(w, 0) != THREADS * ROUNDS;
}

static thread_fn *const adders[] = { add, add, add, add };
static thread_fn *const lockers[] = { locked_add, locked_add, locked_add, locked_add };

START_TEST(atomics_and_locks)
{
	static const enum place places[][THREADS] = { { BLOCK_A, BLOCK_A, BLOCK_A, BLOCK_A },
						      { BLOCK_A, BLOCK_B, BLOCK_A, BLOCK_B },
						      { BLOCK_A, BLOCK_B, CPU, CPU } };
	const bool weak = _i >= BF_ORDER_GPU;

	for (unsigned p = 0; p < BF_ARRAY_LEN(places); p++) {
		for (unsigned s = BF_SCOPE_CTA; s <= BF_SCOPE_SYS; s++) {
			struct config c = { .ordering = (enum bf_ordering)_i, .scope = (enum bf_scope)s };

			memcpy(c.place, places[p], sizeof(c.place));
			expect("atomic adds", &c, count(&c, adders, 4, sum_bad), weak && s < p);
			expect("locked adds", &c, count(&c, lockers, 4, sum_bad), weak && s < p);
		}
	}
}
END_TEST

/* An atomic acts on what its thread and its block have stored before, wherever that waits. */
static void add_to_own(struct world *w, struct bf_agent *a, unsigned id)
{
	put(a, var(w, id), 5, BF_WEAK, BF_SCOPE_CTA);
	if (id == 1)
		bf_fence(a, BF_SCOPE_CTA);
	w->r[id] = bf_atomic(a, var(w, id), 8, BF_ATOMIC_ADD, 1, 0, BF_RELAXED, w->c.scope);
	w->r[id + 2] = get(a, var(w, id), BF_WEAK, BF_SCOPE_CTA);
}

static bool own_bad(struct world *w)
{
	for (unsigned i = 0; i < 2; i++) {
		if (w->r[i] != 5 || w->r[i + 2] != 6 || *var(w, i) != 6)
			return true;
	}
	return false;
}

static thread_fn *const own_adders[] = { add_to_own, add_to_own };

START_TEST(atomics_see_own_stores)
{
	for (unsigned s = BF_SCOPE_CTA; s <= BF_SCOPE_SYS; s++) {
		struct config c = { .ordering = (enum bf_ordering)_i, .scope = (enum bf_scope)s };

		expect("add after own store", &c, count(&c, own_adders, 2, own_bad), false);
		c.kind = BF_MEM_VRAM;
		expect("add after own store", &c, count(&c, own_adders, 2, own_bad), false);
	}
}
END_TEST

/* An operation of the caller's: 16 bytes at once, not below a limit. */
static bool take_pair(void *arg, const void *old, void *now)
{
	const uint64_t *limit = arg;
	uint64_t pair[2];

	memcpy(pair, old, sizeof(pair));
	if (pair[0] < *limit)
		return false;
	pair[0]--;
	pair[1] += pair[0];
	memcpy(now, pair, sizeof(pair));
	return true;
}

static void apply_pairs(struct world *w, struct bf_agent *a, unsigned id)
{
	uint64_t *p = var(w, 2), limit = 1, old[2], seen[2];

	(void)id;
	put(a, p, 2, BF_WEAK, BF_SCOPE_CTA);
	put(a, p + 1, 40, BF_WEAK, BF_SCOPE_CTA);
	bf_load_peek(a, p, seen, 16);
	ck_assert_uint_eq(seen[0] + seen[1], 42);
	for (uint64_t i = 0; i < 4; i++) {
		bf_atomic_apply(a, p, 16, take_pair, &limit, old, BF_ACQ_REL, BF_SCOPE_SYS);
		ck_assert_uint_eq(old[0], i < 2 ? 2 - i : 0);
		ck_assert_uint_eq(old[1], i ? 41 : 40);
	}
}

static bool pairs_bad(struct world *w)
{
	return var(w, 2)[0] != 0 || var(w, 2)[1] != 41;
}

static thread_fn *const pairs[] = { apply_pairs };

START_TEST(atomics_of_the_caller)
{
	struct config c = { .ordering = (enum bf_ordering)_i };

	expect("pairs", &c, count(&c, pairs, 1, pairs_bad), false);
}
END_TEST

/* All operations, on both widths. */
static void operate(struct world *w, struct bf_agent *a, unsigned id)
{
	uint64_t *p = var(w, 0);
	uint32_t *half = (uint32_t *)(void *)var(w, 1);

	(void)id;
	put(a, p, 10, BF_WEAK, BF_SCOPE_CTA);
#define OP(op, operand, compare) bf_atomic(a, p, 8, op, operand, compare, BF_ACQ_REL, BF_SCOPE_GPU)
	ck_assert_uint_eq(OP(BF_ATOMIC_ADD, 5, 0), 10);
	ck_assert_uint_eq(OP(BF_ATOMIC_MAX, 12, 0), 15);
	ck_assert_uint_eq(OP(BF_ATOMIC_MAX, 20, 0), 15);
	ck_assert_uint_eq(OP(BF_ATOMIC_CAS, 1, 19), 20);
	ck_assert_uint_eq(OP(BF_ATOMIC_CAS, 0xf0, 20), 20);
	ck_assert_uint_eq(OP(BF_ATOMIC_AND, 0x3f, 0), 0xf0);
	ck_assert_uint_eq(OP(BF_ATOMIC_OR, 1, 0), 0x30);
	ck_assert_uint_eq(OP(BF_ATOMIC_EXCH, 7, 0), 0x31);
#undef OP
	put(a, var(w, 1), 0xaaaaaaaaffffffff, BF_WEAK, BF_SCOPE_CTA);
	ck_assert_uint_eq(bf_atomic(a, half, 4, BF_ATOMIC_ADD, ~0ull, 0, BF_RELAXED, BF_SCOPE_CTA), 0xffffffff);
	ck_assert_uint_eq(
	    bf_atomic(a, half, 4, BF_ATOMIC_CAS, 3, 0xffffffff00000000 | 0xfffffffe, BF_RELAXED, BF_SCOPE_CTA),
	    0xfffffffe);
}

static bool operate_bad(struct world *w)
{
	return *var(w, 0) != 7 || *var(w, 1) != 0xaaaaaaaa00000003;
}

static thread_fn *const operator_[] = { operate };

START_TEST(atomic_operations)
{
	struct config c = { .ordering = (enum bf_ordering)_i };

	expect("operations", &c, count(&c, operator_, 1, operate_bad), false);
}
END_TEST

/* Who sleeps on a line wakes when the store reaches a level that he can see, not when it reaches memory. */
static void store_for_block(struct world *w, struct bf_agent *a, unsigned id)
{
	(void)id;
	bf_agent_delay(a, BF_US);
	put(a, flag(w, 0), 1, BF_WEAK, BF_SCOPE_CTA);
	bf_fence(a, BF_SCOPE_CTA);
}

static void sleep_in_block(struct world *w, struct bf_agent *a, unsigned id)
{
	w->c.scope = BF_SCOPE_CTA;
	await(w, a, flag(w, 0), 1);
	w->r[id] = bf_agent_now(a);
}

static bool woke_late(struct world *w)
{
	return w->r[1] > 3 * BF_US / 2;
}

static thread_fn *const sleepers[] = { store_for_block, sleep_in_block };

START_TEST(wakes_at_the_level_it_sees)
{
	struct config c = { .ordering = _i ? BF_ORDER_ADVERSARIAL : BF_ORDER_GPU };

	expect("woke late", &c, count(&c, sleepers, 2, woke_late), false);
}
END_TEST

static void lost_store(struct world *w, struct bf_agent *a, unsigned id)
{
	uint64_t local = 0;

	(void)id;
	bf_mmio_store(a, w->mem->bytes, &local, 8, BF_WEAK);
}

START_TEST(access_outside_stops_the_run)
{
	struct config c = { .ordering = BF_ORDER_GPU };
	struct world w;

	open_world(&w, &c, 1);
	start(&w, 0, lost_store);
	ck_assert_int_eq(bf_sim_run(w.sim, BF_NEVER), BF_RUN_STOPPED);
	ck_assert_int_eq(w.sim->error.code, -EFAULT);
	ck_assert_str_eq(w.sim->error.text, "agent 't0': 8 bytes at vars+0x0 are memory, not device registers");
	close_world(&w);
	free_world(&w);
}
END_TEST

#define MANY 40000u

/* All at one moment: no store's own delay is over when the last one is issued. */
static void store_many(struct world *w, struct bf_agent *a, unsigned id)
{
	struct bf_region_opts o = { .name = "many", .kind = w->c.kind, .size = MANY * 64u };
	struct bf_region *many;
	uint64_t got = 0;

	(void)id;
	ck_assert_int_eq(bf_region_create(&w->space, &o, &many), 0);
	for (uint64_t i = 0; i < MANY; i++) {
		uint64_t *p = (uint64_t *)(void *)(many->bytes + 64 * i);

		put(a, p, i + 1, BF_WEAK, BF_SCOPE_CTA);
		ck_assert_uint_eq(get(a, p, BF_WEAK, BF_SCOPE_CTA), i + 1);
		w->r[0] += !*p;
	}
	for (uint64_t i = 0; i < MANY; i++)
		got += *(uint64_t *)(void *)(many->bytes + 64 * i) == i + 1;
	w->r[1] = got;
}

/* Stores wait, and each thread sees its own, but a simulation does not hold any number of them back. */
START_TEST(what_waits_is_bounded)
{
	struct config c = { .ordering = BF_ORDER_GPU };
	struct world w;

	open_world(&w, &c, 1);
	start(&w, 0, store_many);
	close_world(&w);
	ck_assert_uint_ge(w.r[0], MANY / 4);
	ck_assert_uint_ge(w.r[1], MANY - 16384);
	free_world(&w);
}
END_TEST

START_TEST(names)
{
	enum bf_ordering o;

	for (int i = 0; i < 4; i++) {
		ck_assert_int_eq(bf_ordering_parse(bf_ordering_name((enum bf_ordering)i), &o), 0);
		ck_assert_int_eq(o, i);
	}
	ck_assert_int_eq(bf_ordering_parse("strong", &o), -EINVAL);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("view");
	TCase *t = tcase_create("litmus");
	SRunner *r;
	int failed;

	tcase_set_timeout(t, 240);
	tcase_add_loop_test(t, message_passing_by_scope, 0, 4);
	tcase_add_test(t, message_passing_in_order);
	tcase_add_loop_test(t, store_buffering, 0, 4);
	tcase_add_loop_test(t, coherence, 0, 4);
	tcase_add_loop_test(t, fences_are_cumulative, 0, 4);
	tcase_add_loop_test(t, atomics_and_locks, 0, 4);
	tcase_add_loop_test(t, atomics_see_own_stores, 0, 4);
	tcase_add_loop_test(t, atomic_operations, 0, 4);
	tcase_add_loop_test(t, atomics_of_the_caller, 0, 4);
	tcase_add_loop_test(t, wakes_at_the_level_it_sees, 0, 2);
	tcase_add_test(t, access_outside_stops_the_run);
	tcase_add_test(t, what_waits_is_bounded);
	tcase_add_test(t, names);
	suite_add_tcase(s, t);
	r = srunner_create(s);
	srunner_run_all(r, CK_NORMAL);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed ? 1 : 0;
}
