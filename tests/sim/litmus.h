/*
 * Litmus tests: small programs whose weak outcomes are counted over seeds. What the ordering forbids must never be
 * seen, what it allows must be seen at least once: a model that is too strong finds no bugs.
 */
#ifndef BELFRY_TESTS_LITMUS_H
#define BELFRY_TESTS_LITMUS_H

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

/* For what each of many runs does: Check writes every assertion of its own to a file. */
#define LITMUS_MUST(x)                                                                                                 \
	do {                                                                                                           \
		if (!(x))                                                                                              \
			ck_abort_msg("%s", #x);                                                                        \
	} while (0)
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
static inline uint64_t *var(struct world *w, unsigned i)
{
	return (uint64_t *)(void *)(w->mem->bytes + 64u * i);
}

static inline uint64_t *flag(struct world *w, unsigned i)
{
	return (uint64_t *)(void *)(w->flags->bytes + 64u * i);
}

static inline void put(struct bf_agent *a, uint64_t *p, uint64_t v, enum bf_sem sem, enum bf_scope scope)
{
	bf_store(a, p, &v, sizeof(v), sem, scope);
}

static inline uint64_t get(struct bf_agent *a, const uint64_t *p, enum bf_sem sem, enum bf_scope scope)
{
	uint64_t v;

	bf_load(a, p, &v, sizeof(v), sem, scope);
	return v;
}

static inline void fence(struct world *w, struct bf_agent *a)
{
	if (w->c.scope != NO_FENCE && !w->c.release)
		bf_fence(a, w->c.scope);
}

/* Polls a flag as drivers do. */
static inline void await(struct world *w, struct bf_agent *a, const uint64_t *p, uint64_t v)
{
	const enum bf_sem sem = w->c.release ? BF_ACQUIRE : BF_RELAXED;
	const enum bf_scope scope = w->c.scope == NO_FENCE ? BF_SCOPE_SYS : w->c.scope;
	const void *line = p;

	while (get(a, p, sem, scope) != v)
		bf_agent_wait(a, &line, 1, BF_NEVER, 100 * BF_NS, "flag");
	fence(w, a);
}

static inline void publish(struct world *w, struct bf_agent *a, uint64_t *p, uint64_t v)
{
	fence(w, a);
	put(a, p, v, w->c.release ? BF_RELEASE : BF_RELAXED, w->c.scope == NO_FENCE ? BF_SCOPE_SYS : w->c.scope);
}

static inline void thread_main(struct bf_agent *a, void *arg)
{
	struct thread *t = arg;

	t->fn(t->w, a, t->id);
}

/* The device's page: it looks at the entry and the doorbell record when the doorbell arrives. */
static inline void device_write(struct bf_region *r, uint64_t offset, const void *data, uint32_t len)
{
	struct world *w = r->owner;

	LITMUS_MUST(offset + len <= sizeof(w->got));
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

static const struct bf_mmio_ops device_ops = { .write = device_write };

static inline void region(struct world *w, const char *name, enum bf_mem_kind kind, struct bf_region **out)
{
	struct bf_region_opts o = { .name = name, .kind = kind, .size = 4096, .owner = w };

	if (kind == BF_MEM_MMIO)
		o.mmio = &device_ops;
	LITMUS_MUST(!bf_region_create(&w->space, &o, out));
}

static inline void open_world(struct world *w, const struct config *c, uint64_t seed)
{
	*w = (struct world){ .c = *c };
	LITMUS_MUST(!bf_sim_create(seed, &w->sim));
	if (c->record_mask)
		LITMUS_MUST(!bf_stream_open(&w->sim->rec, &w->sim->now_ps, c->record_mask, NULL));
	LITMUS_MUST(!bf_space_init(&w->space, w->sim, "pe0", 0));
	region(w, "vars", c->kind, &w->mem);
	region(w, "flags", c->kind, &w->flags);
	region(w, "bar", BF_MEM_MMIO, &w->bar);
	LITMUS_MUST(!bf_domain_create(w->sim, BF_SCOPE_GPU, NULL, &w->gpu));
	for (int i = 0; i < 2; i++)
		LITMUS_MUST(!bf_domain_create(w->sim, BF_SCOPE_CTA, w->gpu, &w->block[i]));
}

static inline void start(struct world *w, unsigned id, thread_fn *fn)
{
	char name[16];
	struct bf_view_opts vo = { .ordering = w->c.ordering,
				   .space = &w->space,
				   .name = name,
				   .cost = w->c.place[id] == CPU ? &bf_cost_cpu : &bf_cost_gpu };
	struct bf_agent_opts ao = { .name = name, .main = thread_main, .arg = &w->thread[id] };

	snprintf(name, sizeof(name), "t%u", id);
	if (w->c.place[id] != CPU)
		vo.domain = w->block[w->c.place[id] == BLOCK_B];
	LITMUS_MUST(!bf_view_create(w->sim, &vo, &w->view[id]));
	w->thread[id] = (struct thread){ .w = w, .fn = fn, .id = id };
	ao.view = w->view[id];
	LITMUS_MUST(!bf_agent_create(w->sim, &ao, NULL));
}

static inline void close_world(struct world *w)
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

static inline void free_world(struct world *w)
{
	bf_space_fini(&w->space);
	bf_sim_destroy(w->sim);
}

/* Runs `n` threads under each seed; returns how often `bad` says yes. */
static inline unsigned count(const struct config *c, thread_fn *const *fn, unsigned n, bool (*bad)(struct world *w))
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

static inline void expect(const char *what, const struct config *c, unsigned hits, bool allowed)
{
	static const char *const scopes[] = { "cta", "gpu", "sys" };

	if (allowed == (hits > 0))
		return;
	ck_abort_msg("%s: %s, %s, scope %s%s: %u of %u runs weak, should be %s", what, bf_ordering_name(c->ordering),
		     c->kind == BF_MEM_VRAM ? "vram" : "dram", c->scope == NO_FENCE ? "none" : scopes[c->scope],
		     c->release ? " (release/acquire)" : "", hits, SEEDS, allowed ? "some" : "none");
}

/* ---- threads of several programs ---- */

#define ROUNDS 10u

/* Waits for the flag and looks at what was stored before it, with old copies of both. */
static inline void mp_read(struct world *w, struct bf_agent *a, unsigned id)
{
	(void)id;
	get(a, var(w, 0), BF_WEAK, BF_SCOPE_CTA);
	get(a, var(w, 1), BF_WEAK, BF_SCOPE_CTA);
	await(w, a, flag(w, 0), 1);
	w->r[0] = get(a, var(w, 0), BF_WEAK, BF_SCOPE_CTA);
	w->r[1] = get(a, var(w, 1), BF_WEAK, BF_SCOPE_CTA);
}

/* Adds one under a lock, ROUNDS times. */
static inline void locked_add(struct world *w, struct bf_agent *a, unsigned id)
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

#endif
