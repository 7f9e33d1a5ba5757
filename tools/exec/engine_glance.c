/*
 * Threads of the program that poll do the engine's work themselves.
 *
 * A program that waits for a completion asks for it again and again, and libmlx5 takes a spin lock each time. When it
 * gives that back is the time to look whether something was rung or has come: one processor is enough for the program
 * and its device then, and nobody has to be woken. Programs without that lock, or that look at their memory instead,
 * are served by the engine's thread (engine_thread.c), which sleeps longer while a program looks by itself.
 */
#include <sched.h>
#include <time.h>
#include <unistd.h>

#include "tools/exec/engine_internal.h"

#define FRAMES 256u

/* Glances that find a doorbell newly rung: a program that posts one request after the other polls soon. */
#define PATIENCE 64u

/* Every so many glances the clock is read; when they took no longer than that, the program does nothing else. */
#define SAY_EVERY 8u
#define SAY_WITHIN_NS 4000u

/* How long the end waits for glances that are under way. */
#define END_YIELDS 10000u

void bf_engine_glance_note(struct bf_engine *e, uint64_t *cell)
{
	struct bf_engine_glance *g = &e->glance;

	if (BF_LIKELY(!__atomic_load_n(cell, __ATOMIC_RELAXED)))
		return;
	for (uint32_t i = 0; i < BF_ENGINE_HOT; i++)
		if (g->cell[i] == cell)
			return;
	__atomic_store_n(&g->cell[g->next++ % BF_ENGINE_HOT], cell, __ATOMIC_RELAXED);
}

/* A doorbell has rung, and the thread that rings does not ring any more. */
static bool rung(struct bf_engine *e)
{
	struct bf_engine_glance *g = &e->glance;
	bool any = false, fresh = false;

	for (uint32_t i = 0; i < BF_ENGINE_HOT; i++) {
		const uint64_t *cell = __atomic_load_n(&g->cell[i], __ATOMIC_RELAXED);
		const uint64_t value = cell ? __atomic_load_n(cell, __ATOMIC_RELAXED) : 0;

		if (!value)
			continue;
		any = true;
		if (value == __atomic_load_n(&g->seen[i], __ATOMIC_RELAXED))
			continue;
		__atomic_store_n(&g->seen[i], value, __ATOMIC_RELAXED);
		fresh = true;
	}
	if (!any || (fresh && ++g->patience < PATIENCE))
		return false;
	g->patience = 0;
	return true;
}

/* Others need not wake the engine's thread while one of the program's does nothing else, if that looks after it. */
static void say(struct bf_engine *e)
{
	struct bf_engine_glance *g = &e->glance;
	struct timespec t;
	uint64_t now, before;

	clock_gettime(CLOCK_MONOTONIC, &t);
	now = (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
	before = __atomic_exchange_n(&g->said_ns, now, __ATOMIC_RELAXED);
	if (now - before > SAY_WITHIN_NS)
		return;
	__atomic_store_n(&g->said, g->said + 1, __ATOMIC_RELAXED);
	if (__atomic_load_n(&g->guarded, __ATOMIC_RELAXED))
		bf_outside_looking(e->outside, now);
	else
		bf_outside_wake(e->outside);
}

/* True: there is something to do. */
static bool look(struct bf_engine *e)
{
	const uint32_t count = __atomic_load_n(&e->glance.count, __ATOMIC_RELAXED) + 1;

	if (__atomic_load_n(&e->lock, __ATOMIC_RELAXED))
		return false; /* whoever is inside takes it */
	__atomic_store_n(&e->glance.count, count, __ATOMIC_RELAXED);
	if (count % SAY_EVERY == 0 && (e->opts.doorbells == BF_EXEC_POLL || bf_outside_has_sources(e->outside)))
		say(e);
	return bf_outside_has_news(e->outside) || (e->opts.doorbells == BF_EXEC_POLL && rung(e));
}

/* A handler that ends the program may have interrupted one that will never end. */
void bf_engine_glance_end(struct bf_engine *e)
{
	for (uint32_t i = 0; i < END_YIELDS && __atomic_load_n(&e->glance.inside, __ATOMIC_SEQ_CST); i++)
		sched_yield();
}

void bf_engine_glance(struct bf_engine *e)
{
	struct bf_engine_caller c;
	bool work;

	__atomic_add_fetch(&e->glance.inside, 1, __ATOMIC_SEQ_CST);
	work = !__atomic_load_n(&e->dead, __ATOMIC_RELAXED) && look(e);
	__atomic_sub_fetch(&e->glance.inside, 1, __ATOMIC_RELEASE);
	if (BF_LIKELY(!work) || e->pid != getpid() || !bf_engine_call(e, &c))
		return;
	e->count.glances++;
	bf_outside_poll(e->outside, FRAMES);
	if (e->opts.doorbells == BF_EXEC_POLL)
		e->count.rings += bf_engine_pages_poll(e);
	bf_engine_return(e, &c);
}
