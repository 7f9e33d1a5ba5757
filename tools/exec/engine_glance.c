/*
 * Threads of the program that poll do the engine's work themselves.
 *
 * A program that waits for a completion asks for it again and again, and libmlx5 takes a spin lock each time. When it
 * gives that back is the time to look whether something was rung or has come: one processor is enough for the program
 * and its device then, and nobody has to be woken. Programs without that lock, or that look at their memory instead,
 * are served by the engine's thread (engine_thread.c), which sleeps longer while a program looks by itself.
 *
 * To wake a thread costs microseconds, on another processor of a virtual machine tens of them. So senders are told when
 * nobody needs to be woken: while a program looks again and again, and when it has rung after which it always looked.
 * That is taken back when it has found something: it may turn to its memory then, for what a peer writes there, as
 * ib_write_lat does.
 */
#include <sched.h>
#include <unistd.h>

#include "sim/clock.h"
#include "tools/exec/engine_internal.h"

#define FRAMES 256u

/* Glances that find a doorbell newly rung: a program that posts one request after the other polls soon. */
#define PATIENCE 64u

/* Not one that has waited: so many glances at which nothing had rung. Its next request goes at once. */
#define QUIET 2u

/* The pages whose doorbells have not rung lately are looked at so often. */
#define WHOLE_NS 100000u

/* Every so many glances the clock is read; when they took no longer than that, the program does nothing else. */
#define SAY_EVERY 8u
#define SAY_WITHIN_NS 4000u

/* Until then it looks again. */
#define LOOKS_NS 2000u

/* A program that has said nothing for so long does not look any more. */
#define GOES_ON_NS 1000000u

/* A program that found answers by glances looks for that of its next ring, too, which may take as long as this. */
#define ANSWER_NS 30000u

/*
 * Frames that lay there although the program should have looked: it waits in another way by now, and senders wake the
 * engine's thread as if nobody looked for some time.
 */
#define LATE_NS 20000u
#define DISTRUST_NS 10000000u

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

/* Left for a glance that comes later, as one does of a program that posts and then polls; but it may not. */
static void leave(struct bf_engine_glance *g)
{
	if (__atomic_load_n(&g->left, __ATOMIC_RELAXED))
		return;
	__atomic_store_n(&g->left, true, __ATOMIC_SEQ_CST); /* either this sees that it sleeps, or it sees this */
}

/* What has rung; `fresh`: since the last glance. */
static bool look_at_cells(struct bf_engine_glance *g, bool *fresh)
{
	bool any = false;

	for (uint32_t i = 0; i < BF_ENGINE_HOT; i++) {
		const uint64_t *cell = __atomic_load_n(&g->cell[i], __ATOMIC_RELAXED);
		const uint64_t value = cell ? __atomic_load_n(cell, __ATOMIC_RELAXED) : 0;

		if (!value)
			continue;
		any = true;
		if (value == __atomic_load_n(&g->seen[i], __ATOMIC_RELAXED))
			continue;
		__atomic_store_n(&g->seen[i], value, __ATOMIC_RELAXED);
		*fresh = true;
	}
	return any;
}

/* A doorbell has rung, and the thread that rings does not ring any more; or it is the first one after a pause. */
static bool rung(struct bf_engine *e, bool held)
{
	struct bf_engine_glance *g = &e->glance;
	bool fresh = false, later;

	if (!look_at_cells(g, &fresh)) {
		__atomic_store_n(&g->quiet, g->quiet + 1, __ATOMIC_RELAXED);
		return false;
	}
	later = fresh ? g->quiet < QUIET && ++g->patience < PATIENCE : held;
	if (later) {
		leave(g);
		if (BF_UNLIKELY(__atomic_load_n(&g->relied, __ATOMIC_SEQ_CST)))
			bf_outside_wake(e->outside);
	} else {
		g->patience = 0;
	}
	if (fresh || !held)
		__atomic_store_n(&g->quiet, 0, __ATOMIC_RELAXED);
	return !later;
}

/* Until `ns` senders need not wake the engine's thread, since one of the program's looks. */
static void promise(struct bf_engine *e, uint64_t ns)
{
	__atomic_store_n(&e->glance.promised, true, __ATOMIC_RELAXED);
	bf_outside_looking(e->outside, ns);
}

void bf_engine_glance_end_promise(struct bf_engine *e)
{
	__atomic_store_n(&e->glance.promised, false, __ATOMIC_RELAXED);
	bf_outside_looking(e->outside, 0);
}

/*
 * A thread of the program does nothing else. The engine's own has to look after it before anything is promised. True:
 * it is time to look at all pages.
 */
static bool say(struct bf_engine *e)
{
	struct bf_engine_glance *g = &e->glance;
	const uint64_t now = bf_monotonic_ns();
	const uint64_t before = __atomic_exchange_n(&g->eighth_ns, now, __ATOMIC_RELAXED);

	if (now - before > SAY_WITHIN_NS)
		return false;
	__atomic_store_n(&g->said_ns, now, __ATOMIC_RELAXED);
	__atomic_store_n(&g->cpu, sched_getcpu(), __ATOMIC_RELAXED);
	if (!__atomic_load_n(&g->guarded, __ATOMIC_RELAXED))
		bf_outside_wake(e->outside);
	else if (now >= __atomic_load_n(&g->distrust_ns, __ATOMIC_RELAXED))
		promise(e, now + LOOKS_NS);
	if (now - __atomic_load_n(&g->whole_ns, __ATOMIC_RELAXED) < WHOLE_NS)
		return false;
	__atomic_store_n(&g->whole_ns, now, __ATOMIC_RELAXED);
	return e->opts.doorbells == BF_EXEC_POLL;
}

/* The clock as it was on entering. */
static uint64_t now_ns(const struct bf_engine *e)
{
	return e->origin_ns + e->sim->now_ps / BF_NS;
}

bool bf_engine_glance_goes_on(const struct bf_engine *e)
{
	return now_ns(e) < __atomic_load_n(&e->glance.said_ns, __ATOMIC_RELAXED) + GOES_ON_NS;
}

void bf_engine_glance_late(struct bf_engine *e)
{
	struct bf_engine_glance *g = &e->glance;
	const uint64_t now = now_ns(e);

	if (!g->promised)
		return;
	if (now >= __atomic_load_n(&g->said_ns, __ATOMIC_RELAXED) + LATE_NS)
		__atomic_store_n(&g->distrust_ns, now + DISTRUST_NS, __ATOMIC_RELAXED);
	bf_engine_glance_end_promise(e); /* as a glance does that finds something */
}

void bf_engine_glance_rings(struct bf_engine *e, uint64_t offset)
{
	struct bf_engine_glance *g = &e->glance;
	const uint64_t now = now_ns(e);

	if (offset < BF_MLX5_UAR_BF) { /* it asks for an event, to sleep until then */
		g->answered = false;
		bf_engine_glance_end_promise(e);
		return;
	}
	if (!g->answered || now < g->distrust_ns)
		return;
	__atomic_store_n(&g->said_ns, now, __ATOMIC_RELAXED);
	if (g->guarded)
		promise(e, now + ANSWER_NS);
}

/* The program has something of what it looked for. What comes next it may look for in its memory. */
static void take_back(struct bf_engine *e)
{
	e->glance.answered = true;
	__atomic_store_n(&e->glance.count, 0, __ATOMIC_RELAXED);
	bf_engine_glance_end_promise(e);
}

/* True: there is something to do. Whoever is inside takes it, but rings perhaps not. */
static bool look(struct bf_engine *e)
{
	const bool poll = e->opts.doorbells == BF_EXEC_POLL, held = __atomic_load_n(&e->lock, __ATOMIC_RELAXED);
	bool whole = false;

	if (!held) {
		const uint32_t count = __atomic_load_n(&e->glance.count, __ATOMIC_RELAXED) + 1;

		__atomic_store_n(&e->glance.count, count, __ATOMIC_RELAXED);
		if (count % SAY_EVERY == 0 && (poll || bf_outside_has_sources(e->outside)))
			whole = say(e);
	}
	if (poll && rung(e, held))
		return true;
	return !held && (whole || bf_outside_has_news(e->outside));
}

bool bf_engine_glance_rely(struct bf_engine *e)
{
	struct bf_engine_glance *g = &e->glance;
	bool left;

	__atomic_store_n(&g->relied, true, __ATOMIC_SEQ_CST);
	left = __atomic_exchange_n(&g->left, false, __ATOMIC_SEQ_CST);
	if (left)
		bf_engine_glance_awake(e);
	return !left;
}

void bf_engine_glance_awake(struct bf_engine *e)
{
	__atomic_store_n(&e->glance.relied, false, __ATOMIC_RELAXED);
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
	if (e->opts.doorbells == BF_EXEC_POLL)
		e->count.rings += bf_engine_pages_poll(e);
	if (bf_outside_poll(e->outside, FRAMES))
		take_back(e);
	bf_engine_return(e, &c);
}
