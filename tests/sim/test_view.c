/*
 * Litmus tests: small programs whose weak outcomes are counted over seeds. What the ordering forbids must never be
 * seen, what it allows must be seen at least once: a model that is too strong finds no bugs.
 */
#include <check.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/agent.h"
#include "sim/mem.h"
#include "sim/sim.h"
#include "sim/view.h"

#define SEEDS 500u
#define THREADS 4u
#define NO_FENCE ((enum bf_scope)9)

/* Where a thread runs. */
enum place { BLOCK_A, BLOCK_B, CPU };

struct world;
typedef void thread_fn(struct world *w, struct bf_agent *a, unsigned id);

/* What varies between runs of one program. */
struct config {
	enum bf_ordering ordering;
	enum bf_mem_kind kind; /* where x, y and z lie */
	enum bf_scope scope;   /* of fences and atomics; NO_FENCE: none */
	bool release;          /* release and acquire accesses in place of fences */
	enum place place[THREADS];
	uint32_t record_mask;
};

struct thread {
	struct world *w;
	thread_fn *fn;
	unsigned id;
};

struct world {
	struct config c;
	struct bf_sim *sim;
	struct bf_space space;
	struct bf_region *mem, *flags, *bar;
	struct bf_domain *gpu, *block[2];
	struct bf_view *view[THREADS];
	struct thread thread[THREADS];
	uint64_t r[8];   /* what the threads and the device noticed */
	uint8_t got[64]; /* bytes that reached the device's page */
	uint32_t writes, widest;
	uint64_t hash, end_ps;
};

/* Variables on lines of their own. */
static uint64_t *var(struct world *w, unsigned i)
{
	return (uint64_t *)(void *)(w->mem->bytes + 64u * i);
}

static uint64_t *flag(struct world *w, unsigned i)
{
	return (uint64_t *)(void *)(w->flags->bytes + 64u * i);
}

static void put(struct bf_agent *a, uint64_t *p, uint64_t v, enum bf_sem sem, enum bf_scope scope)
{
	bf_store(a, p, &v, sizeof(v), sem, scope);
}

static uint64_t get(struct bf_agent *a, const uint64_t *p, enum bf_sem sem, enum bf_scope scope)
{
	uint64_t v;

	bf_load(a, p, &v, sizeof(v), sem, scope);
	return v;
}

static void fence(struct world *w, struct bf_agent *a)
{
	if (w->c.scope != NO_FENCE && !w->c.release)
		bf_fence(a, w->c.scope);
}

/* Polls a flag as drivers do. */
static void await(struct world *w, struct bf_agent *a, const uint64_t *p, uint64_t v)
{
	const enum bf_sem sem = w->c.release ? BF_ACQUIRE : BF_RELAXED;
	const enum bf_scope scope = w->c.scope == NO_FENCE ? BF_SCOPE_SYS : w->c.scope;
	const void *line = p;

	while (get(a, p, sem, scope) != v)
		bf_agent_wait(a, &line, 1, BF_NEVER, 100 * BF_NS, "flag");
	fence(w, a);
}

static void publish(struct world *w, struct bf_agent *a, uint64_t *p, uint64_t v)
{
	fence(w, a);
	put(a, p, v, w->c.release ? BF_RELEASE : BF_RELAXED, w->c.scope == NO_FENCE ? BF_SCOPE_SYS : w->c.scope);
}

static void thread_main(struct bf_agent *a, void *arg)
{
	struct thread *t = arg;

	t->fn(t->w, a, t->id);
}

static void device_write(struct bf_region *r, uint64_t offset, const void *data, uint32_t len);

static const struct bf_mmio_ops device_ops = { .write = device_write };

static void region(struct world *w, const char *name, enum bf_mem_kind kind, struct bf_region **out)
{
	struct bf_region_opts o = { .name = name, .kind = kind, .size = 4096, .owner = w };

	if (kind == BF_MEM_MMIO)
		o.mmio = &device_ops;
	ck_assert_int_eq(bf_region_create(&w->space, &o, out), 0);
}

static void open_world(struct world *w, const struct config *c, uint64_t seed)
{
	*w = (struct world){ .c = *c };
	ck_assert_int_eq(bf_sim_create(seed, &w->sim), 0);
	if (c->record_mask)
		ck_assert_int_eq(bf_stream_open(&w->sim->rec, &w->sim->now_ps, c->record_mask, NULL), 0);
	ck_assert_int_eq(bf_space_init(&w->space, w->sim, "pe0", 0), 0);
	region(w, "vars", c->kind, &w->mem);
	region(w, "flags", c->kind, &w->flags);
	region(w, "bar", BF_MEM_MMIO, &w->bar);
	ck_assert_int_eq(bf_domain_create(w->sim, BF_SCOPE_GPU, NULL, &w->gpu), 0);
	for (int i = 0; i < 2; i++)
		ck_assert_int_eq(bf_domain_create(w->sim, BF_SCOPE_CTA, w->gpu, &w->block[i]), 0);
}

static void start(struct world *w, unsigned id, thread_fn *fn)
{
	char name[16];
	struct bf_view_opts vo = { .ordering = w->c.ordering, .space = &w->space, .name = name,
				   .cost = w->c.place[id] == CPU ? &bf_cost_cpu : &bf_cost_gpu };
	struct bf_agent_opts ao = { .name = name, .main = thread_main, .arg = &w->thread[id] };

	snprintf(name, sizeof(name), "t%u", id);
	if (w->c.place[id] != CPU)
		vo.domain = w->block[w->c.place[id] == BLOCK_B];
	ck_assert_int_eq(bf_view_create(w->sim, &vo, &w->view[id]), 0);
	w->thread[id] = (struct thread){ .w = w, .fn = fn, .id = id };
	ao.view = w->view[id];
	ck_assert_int_eq(bf_agent_create(w->sim, &ao, NULL), 0);
}

static void close_world(struct world *w)
{
	const enum bf_run_end end = bf_sim_run(w->sim, BF_NEVER);

	if (end != BF_RUN_IDLE)
		ck_abort_msg("run ended with %d: %s", (int)end, w->sim->error.text);
	w->end_ps = w->sim->now_ps;
	w->hash = bf_stream_hash(&w->sim->rec);
	for (unsigned i = 0; i < THREADS; i++)
		bf_view_destroy(w->view[i]);
	for (int i = 0; i < 2; i++)
		bf_domain_destroy(w->block[i]);
	bf_domain_destroy(w->gpu);
}

static void free_world(struct world *w)
{
	bf_space_fini(&w->space);
	bf_sim_destroy(w->sim);
}

/* Runs `n` threads under each seed; returns how often `bad` says yes. */
static unsigned count(const struct config *c, thread_fn *const *fn, unsigned n, bool (*bad)(struct world *w))
{
	unsigned hits = 0;

	for (uint64_t seed = 1; seed <= SEEDS; seed++) {
		struct world w;

		open_world(&w, c, seed);
		for (unsigned i = 0; i < n; i++)
			start(&w, i, fn[i]);
		close_world(&w);
		hits += bad(&w);
		free_world(&w);
	}
	return hits;
}

static void expect(const char *what, const struct config *c, unsigned hits, bool allowed)
{
	static const char *const scopes[] = { "cta", "gpu", "sys" };

	if (allowed == (hits > 0))
		return;
	ck_abort_msg("%s: %s, %s, scope %s%s: %u of %u runs weak, should be %s", what, bf_ordering_name(c->ordering),
		     c->kind == BF_MEM_VRAM ? "vram" : "dram", c->scope == NO_FENCE ? "none" : scopes[c->scope],
		     c->release ? " (release/acquire)" : "", hits, SEEDS, allowed ? "some" : "none");
}

/* Message passing: data, then flag; the reader has an old copy of the data at hand. */
static void mp_write(struct world *w, struct bf_agent *a, unsigned id)
{
	(void)id;
	bf_agent_delay(a, 2 * BF_US);
	put(a, var(w, 0), 1, BF_WEAK, BF_SCOPE_CTA);
	put(a, var(w, 1), 1, BF_WEAK, BF_SCOPE_CTA);
	publish(w, a, flag(w, 0), 1);
}

static void mp_read(struct world *w, struct bf_agent *a, unsigned id)
{
	(void)id;
	get(a, var(w, 0), BF_WEAK, BF_SCOPE_CTA);
	get(a, var(w, 1), BF_WEAK, BF_SCOPE_CTA);
	await(w, a, flag(w, 0), 1);
	w->r[0] = get(a, var(w, 0), BF_WEAK, BF_SCOPE_CTA);
	w->r[1] = get(a, var(w, 1), BF_WEAK, BF_SCOPE_CTA);
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
	struct config c = { .ordering = (enum bf_ordering)_i, .scope = NO_FENCE,
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
#define ROUNDS 10u

static void add(struct world *w, struct bf_agent *a, unsigned id)
{
	(void)id;
	for (unsigned i = 0; i < ROUNDS; i++) {
		bf_atomic(a, var(w, 0), 8, BF_ATOMIC_ADD, 1, 0, BF_RELAXED, w->c.scope);
		bf_agent_delay(a, 100 * BF_NS);
	}
}

static void locked_add(struct world *w, struct bf_agent *a, unsigned id)
{
	const void *line = flag(w, 0);

	(void)id;
	for (unsigned i = 0; i < ROUNDS; i++) {
		uint64_t v;

		while (bf_atomic(a, flag(w, 0), 4, BF_ATOMIC_CAS, 1, 0, BF_ACQUIRE, w->c.scope) != 0)
			bf_agent_wait(a, &line, 1, BF_US, 100 * BF_NS, "lock");
		v = get(a, var(w, 0), BF_WEAK, w->c.scope);
		bf_agent_delay(a, 200 * BF_NS);
		put(a, var(w, 0), v + 1, BF_WEAK, w->c.scope);
		bf_store(a, flag(w, 0), &(uint32_t){ 0 }, 4, BF_RELEASE, w->c.scope);
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
	ck_assert_uint_eq(bf_atomic(a, half, 4, BF_ATOMIC_CAS, 3, 0xffffffff00000000 | 0xfffffffe, BF_RELAXED,
				    BF_SCOPE_CTA), 0xfffffffe);
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

/* The driver's way to the device: entry, doorbell record, doorbell. The device looks when the doorbell arrives. */
static void device_write(struct bf_region *r, uint64_t offset, const void *data, uint32_t len)
{
	struct world *w = r->owner;

	ck_assert_uint_le(offset + len, sizeof(w->got));
	memcpy(w->got + offset, data, len);
	w->writes++;
	w->widest = len > w->widest ? len : w->widest;
	for (unsigned i = 0; i < 8; i++) {
		if (var(w, 0)[i] != 0x1111 * (i + 1))
			w->r[0]++; /* an entry with old bytes */
	}
	if (*flag(w, 0) != 7)
		w->r[1]++; /* an old doorbell record */
}

static void ring(struct world *w, struct bf_agent *a, unsigned id)
{
	(void)id;
	for (unsigned i = 0; i < 8; i += 2) {
		const uint64_t v[2] = { 0x1111 * (i + 1), 0x1111 * (i + 2) };

		bf_store(a, var(w, 0) + i, v, sizeof(v), BF_WEAK, BF_SCOPE_CTA);
	}
	publish(w, a, flag(w, 0), 7);
	fence(w, a);
	bf_mmio_store(a, w->bar->bytes, &(uint64_t){ 42 }, 8, w->c.release ? BF_RELEASE : BF_WEAK);
	if (w->c.release)
		ck_assert_uint_eq(w->writes, 1); /* a release does not linger */
}

static bool ring_bad(struct world *w)
{
	ck_assert_uint_eq(w->writes, 1);
	ck_assert_uint_eq(w->got[0], 42);
	return w->r[0] || w->r[1];
}

static bool entry_bad(struct world *w)
{
	return w->r[0] != 0;
}

static bool torn(struct world *w)
{
	return w->r[0] != 0 && w->r[0] != 8;
}

static bool record_bad(struct world *w)
{
	return w->r[1] != 0;
}

static thread_fn *const ringer[] = { ring };

START_TEST(doorbell_order)
{
	struct config c = { .ordering = _i & 1 ? BF_ORDER_ADVERSARIAL : BF_ORDER_GPU,
			    .kind = _i & 2 ? BF_MEM_DRAM : BF_MEM_VRAM };

	c.scope = NO_FENCE;
	expect("entry behind doorbell", &c, count(&c, ringer, 1, entry_bad), true);
	expect("half an entry", &c, count(&c, ringer, 1, torn), true);
	expect("record behind doorbell", &c, count(&c, ringer, 1, record_bad), true);
	c.scope = BF_SCOPE_CTA;
	expect("doorbell", &c, count(&c, ringer, 1, ring_bad), true);
	c.scope = BF_SCOPE_GPU;
	expect("doorbell", &c, count(&c, ringer, 1, ring_bad), c.kind == BF_MEM_DRAM);
	c.scope = BF_SCOPE_SYS;
	expect("doorbell", &c, count(&c, ringer, 1, ring_bad), false);
	c.release = true;
	expect("doorbell", &c, count(&c, ringer, 1, ring_bad), false);
}
END_TEST

START_TEST(doorbell_order_on_a_cpu)
{
	struct config c = { .place = { CPU }, .scope = NO_FENCE };

	c.ordering = BF_ORDER_SC;
	expect("doorbell", &c, count(&c, ringer, 1, ring_bad), false);
	c.ordering = BF_ORDER_TSO;
	expect("doorbell", &c, count(&c, ringer, 1, ring_bad), false);
	c.ordering = BF_ORDER_GPU;
	expect("doorbell", &c, count(&c, ringer, 1, ring_bad), true);
	c.scope = BF_SCOPE_SYS;
	expect("doorbell", &c, count(&c, ringer, 1, ring_bad), false);
}
END_TEST

/* BlueFlame: the entry itself goes through the write-combining page. */
static void blue_flame(struct world *w, struct bf_agent *a, unsigned id)
{
	(void)id;
	put(a, flag(w, 0), 7, BF_WEAK, BF_SCOPE_CTA);
	fence(w, a);
	for (unsigned i = 0; i < 8; i++) {
		var(w, 0)[i] = 0x1111 * (i + 1);
		bf_wc_store(a, w->bar->bytes + 8 * i, &(uint64_t){ i + 1 }, 8);
		bf_agent_delay(a, 20 * BF_NS);
	}
}

static void check_blue_flame(struct world *w)
{
	for (unsigned i = 0; i < 64; i++)
		ck_assert_uint_eq(w->got[i], i % 8 ? 0 : i / 8 + 1);
}

static bool in_pieces(struct world *w)
{
	check_blue_flame(w);
	ck_assert(w->writes > 1 || w->widest == 64);
	return w->writes > 1;
}

static bool in_one(struct world *w)
{
	return w->writes == 1 && w->widest == 64;
}

static thread_fn *const bf[] = { blue_flame };

START_TEST(write_combining)
{
	struct config c = { .ordering = (enum bf_ordering)_i, .scope = NO_FENCE, .place = { CPU } };
	const bool weak = c.ordering != BF_ORDER_SC;

	expect("blue flame in pieces", &c, count(&c, bf, 1, in_pieces), weak);
	expect("blue flame in one", &c, count(&c, bf, 1, in_one), true);
	expect("record behind blue flame", &c, count(&c, bf, 1, record_bad), weak);
	c.scope = BF_SCOPE_SYS;
	expect("record behind blue flame", &c, count(&c, bf, 1, record_bad), false);
}
END_TEST

static void half_blue_flame(struct world *w, struct bf_agent *a, unsigned id)
{
	(void)id;
	bf_wc_store(a, w->bar->bytes + 4, &(uint64_t){ 0x0807060504030201 }, 8);
	if (w->c.scope == BF_SCOPE_SYS)
		bf_fence(a, BF_SCOPE_SYS);
	else if (w->c.scope == BF_SCOPE_GPU)
		bf_wc_flush(a);
	w->r[4] = w->writes;
}

static bool half_bad(struct world *w)
{
	/* Pieces end at 8-byte boundaries: bytes 4 to 7 and 8 to 11. */
	ck_assert_uint_eq(w->writes, 2);
	ck_assert_uint_eq(w->widest, 4);
	for (unsigned i = 0; i < 12; i++)
		ck_assert_uint_eq(w->got[i], i < 4 ? 0 : i - 3);
	return w->r[4] != 2;
}

static thread_fn *const half[] = { half_blue_flame };

START_TEST(write_combining_flush)
{
	struct config c = { .ordering = (enum bf_ordering)_i, .scope = NO_FENCE, .place = { CPU } };

	expect("left alone", &c, count(&c, half, 1, half_bad), true);
	c.scope = BF_SCOPE_GPU;
	expect("flushed", &c, count(&c, half, 1, half_bad), false);
	c.scope = BF_SCOPE_SYS;
	expect("fenced", &c, count(&c, half, 1, half_bad), false);
}
END_TEST

/* A device writes behind a block's copy: weak loads may miss it, and a loop of weak loads sees it in the end. */
struct dma {
	struct bf_event ev;
	struct world *w;
};

static void dma_lands(struct bf_event *ev)
{
	struct world *w = BF_CONTAINER_OF(ev, struct dma, ev)->w;

	*var(w, 0) = 5;
	*flag(w, 0) = 1;
	bf_mem_touched(w->mem, var(w, 0), 8);
	bf_mem_touched(w->flags, flag(w, 0), 8);
}

static void poll_weakly(struct world *w, struct bf_agent *a, unsigned id)
{
	const void *line = var(w, 0);

	(void)id;
	while (get(a, var(w, 0), BF_WEAK, BF_SCOPE_CTA) != 5)
		bf_agent_wait(a, &line, 1, BF_NEVER, 0, "data");
}

static unsigned count_dma(const struct config *c, thread_fn *fn)
{
	unsigned hits = 0;

	for (uint64_t seed = 1; seed <= SEEDS; seed++) {
		struct world w;
		struct dma d = { .w = &w };

		open_world(&w, c, seed);
		start(&w, 0, fn);
		bf_event_init(&d.ev, dma_lands);
		bf_sim_at(w.sim, &d.ev, BF_US);
		close_world(&w);
		hits += fn == mp_read ? w.r[0] != 5 : w.end_ps > 2 * BF_US;
		free_world(&w);
	}
	return hits;
}

START_TEST(stale_copies)
{
	struct config c = { .ordering = _i ? BF_ORDER_ADVERSARIAL : BF_ORDER_GPU, .kind = BF_MEM_VRAM };

	c.scope = NO_FENCE;
	expect("copy older than a completion", &c, count_dma(&c, mp_read), true);
	c.scope = BF_SCOPE_CTA;
	expect("copy older than a completion", &c, count_dma(&c, mp_read), true);
	c.scope = BF_SCOPE_GPU;
	expect("copy older than a completion", &c, count_dma(&c, mp_read), false);
	c.release = true;
	expect("copy older than a completion", &c, count_dma(&c, mp_read), false);
	expect("late end of a weak loop", &c, count_dma(&c, poll_weakly), true);
}
END_TEST

/* A run is a function of its seed, and recording it changes nothing. */
START_TEST(deterministic)
{
	for (uint64_t seed = 1; seed <= 20; seed++) {
		static const uint32_t masks[] = { BF_CLASS_ALL, BF_CLASS_ALL, 0, BF_CLASS_MEM };
		struct config c = { .ordering = (enum bf_ordering)_i, .scope = BF_SCOPE_GPU,
				    .place = { BLOCK_A, BLOCK_B, BLOCK_A, CPU } };
		uint64_t hash[4], end[4];

		for (int i = 0; i < 4; i++) {
			struct world w;

			c.record_mask = masks[i];
			open_world(&w, &c, seed);
			for (unsigned t = 0; t < 4; t++)
				start(&w, t, t == 3 ? half_blue_flame : locked_add);
			close_world(&w);
			hash[i] = w.hash;
			end[i] = w.end_ps;
			free_world(&w);
		}
		ck_assert_uint_eq(hash[0], hash[1]);
		ck_assert_uint_ne(hash[0], hash[3]);
		for (int i = 1; i < 4; i++)
			ck_assert_uint_eq(end[0], end[i]);
	}
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
	tcase_add_loop_test(t, wakes_at_the_level_it_sees, 0, 2);
	tcase_add_loop_test(t, doorbell_order, 0, 4);
	tcase_add_test(t, doorbell_order_on_a_cpu);
	tcase_add_loop_test(t, write_combining, 0, 4);
	tcase_add_loop_test(t, write_combining_flush, 0, 4);
	tcase_add_loop_test(t, stale_copies, 0, 2);
	tcase_add_loop_test(t, deterministic, 0, 4);
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
