/*
 * CUDA by source: what tools/plain/cuda.h calls. A thread of a kernel is a thread of a grid with shared memory
 * (bf_trial_launch_grid()); plain.c makes its loads and stores.
 *
 * __shared__ variables are thread-local ones of the program, so that they have an address, and agents of one thread of
 * the operating system share them. That is where the compiler's instructions go; what is meant lies at the same offset
 * of the block's own shared memory, and dynamic shared memory behind it.
 */
#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "drivers/platform/platform_mbarrier_sim.h"
#include "drivers/trial/trial.h"
#include "tools/plain/cuda_calls.h"
#include "tools/plain/plain_internal.h"

#define HERE __builtin_return_address(0)
#define DYNAMIC_ALIGN 1024u
#define SHARED_MAX (227u << 10)

/* Votes of the threads of a block. Two, since one may begin before all have seen the other's end. */
struct votes {
	uint32_t yes[2];
};

struct grid {
	dim3 blocks, threads;
	void (*run)(void *closure);
	void *closure;
	void (*drop)(void *closure);
	uint32_t variables;  /* bytes of them */
	size_t module;       /* the TLS module that they are in; 0: there are none */
	struct votes *votes; /* [blocks] */
};

/* The thread that runs: bf_agent.mine. */
struct mine {
	struct belfry_cuda_thread self; /* first: cuda.h reads it */
	struct bf_thread *t;
	const struct grid *grid;
	const uint8_t *variables; /* in the memory of this thread of the operating system */
	uint8_t *window;
	uint32_t voted;
};

static struct mine *mine(void)
{
	const struct bf_agent *a = bf_agent_here();

	if (a && a->mine)
		return a->mine;
	fprintf(stderr, "belfry: device code of CUDA was called outside of a kernel that belfry::launch() started\n");
	abort();
}

/* ---- launch ---- */

struct search {
	uintptr_t code;
	size_t module;
	uint32_t bytes;
};

/* dl_iterate_phdr(): the module that has the code, and how large its thread-local variables are. */
static int has_code(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct search *s = arg;
	uint32_t bytes = 0;
	bool here = false;

	(void)size;
	for (uint32_t i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *h = &info->dlpi_phdr[i];

		if (h->p_type == PT_LOAD && s->code - (info->dlpi_addr + h->p_vaddr) < h->p_memsz)
			here = true;
		if (h->p_type == PT_TLS)
			bytes = (uint32_t)h->p_memsz;
	}
	if (!here)
		return 0;
	s->module = bytes ? info->dlpi_tls_modid : 0;
	s->bytes = bytes;
	return 1;
}

/* The C library's: where a module's thread-local variables begin for the calling thread. */
struct tls_index {
	unsigned long module, offset;
};
void *__tls_get_addr(struct tls_index *at);

static void thread_main(struct bf_thread *t, void *arg)
{
	struct grid *g = arg;
	const uint32_t i = bf_warp(t) * BF_LANES + bf_lane(t), b = bf_block(t);
	struct mine me = {
		.self = { .thread = { i % g->threads.x, i / g->threads.x % g->threads.y,
				      i / g->threads.x / g->threads.y },
			  .block = { b % g->blocks.x, b / g->blocks.x % g->blocks.y, b / g->blocks.x / g->blocks.y },
			  .threads = g->threads,
			  .blocks = g->blocks },
		.t = t,
		.grid = g,
		.variables = g->module ? __tls_get_addr(&(struct tls_index){ g->module, 0 }) : NULL,
		.window = bf_shared_ptr(t, bf_shared_base(t)),
	};

	t->agent->mine = &me;
	g->run(g->closure);
	belfry_plain_settle();
	t->agent->mine = NULL;
}

static void drop_grid(void *arg)
{
	struct grid *g = arg;

	g->drop(g->closure);
	free(g->votes);
	free(g);
}

static uint64_t product(const unsigned n[3])
{
	return n[0] > 1u << 20 || n[1] > 1u << 20 || n[2] > 1u << 20 ? UINT64_MAX : (uint64_t)n[0] * n[1] * n[2];
}

int belfry_cuda_start(struct bf_trial *t, uint32_t pe, const unsigned blocks[3], const unsigned threads[3],
		      size_t shared, void (*run)(void *), void *closure, void (*drop)(void *), const void *code)
{
	struct search s = { .code = (uintptr_t)code };
	const uint64_t nblocks = product(blocks), nthreads = product(threads);
	struct bf_grid_opts grid = { 0 };
	struct grid *g = calloc(1, sizeof(*g));
	int rc;

	if (g)
		g->votes = calloc(nblocks <= BF_GRID_BLOCKS ? (size_t)nblocks + 1 : 1, sizeof(*g->votes));
	if (!g || !g->votes) {
		free(g);
		drop(closure);
		return bf_trial_fail(t, -ENOMEM, "no memory for a grid");
	}
	dl_iterate_phdr(has_code, &s);
	g->blocks = (dim3){ blocks[0], blocks[1], blocks[2] };
	g->threads = (dim3){ threads[0], threads[1], threads[2] };
	g->run = run;
	g->closure = closure;
	g->drop = drop;
	g->module = s.module;
	g->variables = (s.bytes + DYNAMIC_ALIGN - 1) / DYNAMIC_ALIGN * DYNAMIC_ALIGN;
	rc = bf_trial_keep(t, g, drop_grid);
	if (rc)
		return rc;
	if (shared > SHARED_MAX || g->variables > SHARED_MAX - shared)
		return bf_trial_fail(
		    t, -EINVAL,
		    "a block has at most %u bytes of shared memory: %u of variables and %zu of dynamic "
		    "memory are too many",
		    SHARED_MAX, g->variables, shared);
	grid.blocks = nblocks > UINT32_MAX ? UINT32_MAX : (uint32_t)nblocks;
	grid.threads = nthreads > UINT32_MAX ? UINT32_MAX : (uint32_t)nthreads;
	grid.shared_bytes = g->variables + (uint32_t)shared;
	return bf_trial_launch_grid(t, pe, &grid, thread_main, g);
}

const struct belfry_cuda_thread *belfry_cuda_self(void)
{
	return &mine()->self;
}

uint8_t *belfry_plain_shared(const void *of, const void *at)
{
	const struct mine *m = of;
	const uintptr_t offset = (uintptr_t)at - (uintptr_t)m->variables;

	return m->variables && offset < m->grid->variables ? m->window + offset : (uint8_t *)(uintptr_t)at;
}

void *belfry_cuda_dynamic(void)
{
	const struct mine *m = mine();

	return m->window + m->grid->variables;
}

/* ---- atomics ---- */

/* As cuda.h counts them. */
struct change {
	enum belfry_change what;
	uint32_t len;
	uint64_t operand, compare;
};

static int64_t as_signed(uint64_t v, uint32_t len)
{
	return (int64_t)(v << (64 - 8 * len)) >> (64 - 8 * len);
}

static uint64_t add_floats(const struct change *c, uint64_t was)
{
	union {
		uint64_t bits;
		float f;
		double d;
	} a = { .bits = was }, b = { .bits = c->operand };

	if (c->what == BELFRY_ADD_FLOAT)
		a.f += b.f;
	else
		a.d += b.d;
	return a.bits;
}

static bool apply(void *arg, const void *old, void *now)
{
	const struct change *c = arg;
	uint64_t was = 0, v = c->operand;

	memcpy(&was, old, c->len);
	switch (c->what) {
	case BELFRY_ADD:
		v = was + v;
		break;
	case BELFRY_SUB:
		v = was - v;
		break;
	case BELFRY_AND:
		v &= was;
		break;
	case BELFRY_OR:
		v |= was;
		break;
	case BELFRY_XOR:
		v ^= was;
		break;
	case BELFRY_CAS:
		if (was != c->compare)
			return false;
		break;
	case BELFRY_MIN:
		v = was < v ? was : v;
		break;
	case BELFRY_MAX:
		v = was > v ? was : v;
		break;
	case BELFRY_MIN_SIGNED:
		v = as_signed(was, c->len) < as_signed(v, c->len) ? was : v;
		break;
	case BELFRY_MAX_SIGNED:
		v = as_signed(was, c->len) > as_signed(v, c->len) ? was : v;
		break;
	case BELFRY_INC:
		v = was >= v ? 0 : was + 1;
		break;
	case BELFRY_DEC:
		v = was == 0 || was > v ? v : was - 1;
		break;
	case BELFRY_ADD_FLOAT:
	case BELFRY_ADD_DOUBLE:
		v = add_floats(c, was);
		break;
	default: /* BELFRY_EXCHANGE */
		break;
	}
	memcpy(now, &v, c->len);
	return true;
}

static enum bf_sem sem_of(int order)
{
	static const enum bf_sem sem[] = { BF_RELAXED, BF_ACQUIRE, BF_ACQUIRE, BF_RELEASE, BF_ACQ_REL, BF_ACQ_REL };

	return order >= 0 && order < 6 ? sem[order] : BF_ACQ_REL;
}

uint64_t belfry_cuda_change(volatile void *p, uint32_t len, enum belfry_change what, uint64_t operand, uint64_t compare,
			    int order, int scope)
{
	struct change c = { what, len, operand, compare };
	void *at = (void *)(uintptr_t)p;
	uint64_t old = 0, now = 0;

	if (belfry_plain_change(at, len, apply, &c, &old, sem_of(order), (enum bf_scope)scope, HERE))
		return old;
	memcpy(&old, at, len); /* the program's own memory, which one thread of it sees at a time */
	if (apply(&c, &old, &now))
		memcpy(at, &now, len);
	return old;
}

uint64_t belfry_cuda_load(const volatile void *p, uint32_t len, int order, int scope)
{
	const void *at = (const void *)(uintptr_t)p;
	uint64_t v = 0;

	if (!belfry_plain_load(at, &v, len, order ? BF_ACQUIRE : BF_RELAXED, (enum bf_scope)scope, HERE))
		memcpy(&v, at, len);
	return v;
}

void belfry_cuda_store(volatile void *p, uint32_t len, uint64_t value, int order, int scope)
{
	void *at = (void *)(uintptr_t)p;

	if (!belfry_plain_store(at, &value, len, order ? BF_RELEASE : BF_RELAXED, (enum bf_scope)scope, HERE))
		memcpy(at, &value, len);
	else if (order == __ATOMIC_SEQ_CST)
		belfry_cuda_fence(order, scope);
}

/* ---- fences and barriers ---- */

void belfry_cuda_fence(int order, int scope)
{
	struct bf_agent *a = mine()->t->agent;

	belfry_plain_settle();
	if (!order)
		return;
	a->from = HERE;
	if (order == __ATOMIC_SEQ_CST)
		bf_fence(a, (enum bf_scope)scope);
	else
		bf_fence_acq_rel(a, (enum bf_scope)scope);
	a->from = NULL;
}

void belfry_cuda_sync_block(void)
{
	struct bf_thread *t = mine()->t;

	belfry_plain_settle();
	bf_block_sync(t);
}

void belfry_cuda_sync_named(unsigned id, unsigned threads)
{
	struct bf_thread *t = mine()->t;

	belfry_plain_settle();
	bf_named_sync(t, id, threads);
}

int belfry_cuda_sync_count(int predicate, int *threads)
{
	struct mine *m = mine();
	uint32_t *yes = &m->grid->votes[bf_block(m->t)].yes[m->voted++ % 2];
	int count;

	belfry_plain_settle();
	*yes += predicate != 0;
	bf_block_sync(m->t);
	count = (int)*yes;
	if (threads)
		*threads = (int)(m->grid->threads.x * m->grid->threads.y * m->grid->threads.z);
	bf_block_sync(m->t);
	*yes = 0;
	return count;
}

/* ---- warps ---- */

/* Lanes that a mask may name but a block does not have are nobody: the last warp may be part of one. */
static uint32_t there(const struct mine *m, uint32_t mask)
{
	const uint32_t all = m->grid->threads.x * m->grid->threads.y * m->grid->threads.z;
	const uint32_t left = all - bf_warp(m->t) * BF_LANES;

	return left < BF_LANES ? mask & ((1u << left) - 1) : mask;
}

void belfry_cuda_sync_warp(unsigned mask)
{
	const struct mine *m = mine();

	belfry_plain_settle();
	bf_warp_sync(m->t, there(m, mask));
}

uint64_t belfry_cuda_shuffle(unsigned mask, uint64_t value, unsigned lane)
{
	const struct mine *m = mine();
	const uint32_t of = there(m, mask);

	belfry_plain_settle();
	return bf_shfl64(m->t, of, value, of >> lane & 1 ? lane : bf_lane(m->t));
}

unsigned belfry_cuda_ballot(unsigned mask, int predicate)
{
	const struct mine *m = mine();

	belfry_plain_settle();
	return bf_ballot(m->t, there(m, mask), predicate != 0);
}

unsigned belfry_cuda_match(unsigned mask, uint64_t value)
{
	const struct mine *m = mine();

	belfry_plain_settle();
	return bf_match64(m->t, there(m, mask), value);
}

unsigned belfry_cuda_active(void)
{
	const struct mine *m = mine();

	return bf_warp_alive(m->t);
}

unsigned belfry_cuda_lane(void)
{
	return bf_lane(mine()->t);
}

/* ---- time ---- */

uint64_t belfry_cuda_clock(void)
{
	struct bf_thread *t = mine()->t;

	belfry_plain_settle();
	return bf_clock_ns(t);
}

void belfry_cuda_sleep(unsigned ns)
{
	struct bf_thread *t = mine()->t;

	belfry_plain_settle();
	bf_pause(t, ns);
}
