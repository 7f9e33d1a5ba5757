/*
 * A litmus test on the views' buffers: threads take turns and stores move on, one step at a time, in every order.
 * Time stands still: it decides nothing.
 */
#include "drivers/trial/litmus_internal.h"
#include "sim/sim_internal.h"

/* Whose turn may come: not who waits at a barrier that others have not reached. */
static bool can_go(const struct bf_litmus_runner *r)
{
	return !r->done && !(r->waits && !bf_litmus_met(r));
}

/* Counts the steps that can be taken, up to number `which`, which is taken. */
static uint32_t steps(struct bf_litmus_world *w, uint32_t which)
{
	uint32_t n = 0, ready;

	for (uint32_t i = 0; i < w->t->nthreads; i++) {
		if (!can_go(&w->runner[i]))
			continue;
		if (n++ == which) {
			bf_agent_unpark(w->runner[i].agent);
			return n;
		}
	}
	for (uint32_t i = 0; i < w->t->nthreads; i++, n += ready) {
		ready = bf_view_ready(w->runner[i].view);
		if (which < n + ready) {
			bf_view_drain(w->runner[i].view, which - n);
			return n;
		}
	}
	for (uint32_t i = 0; i < w->ndomains; i++, n += ready) {
		ready = bf_domain_ready(w->domain[i].domain);
		if (which < n + ready) {
			bf_domain_drain(w->domain[i].domain, which - n);
			return n;
		}
	}
	return n;
}

bool bf_litmus_direct(struct bf_litmus_world *w)
{
	uint32_t n;

	for (;;) {
		bf_sim_fire_due(w->sim, 0);
		n = steps(w, UINT32_MAX);
		if (!n)
			break;
		steps(w, w->too_often ? 0 : bf_choose(w->sim, BF_CHOICE_SCHEDULE, n));
	}
	for (uint32_t i = 0; i < w->t->nthreads; i++)
		if (!w->runner[i].done)
			return false;
	return true;
}

void bf_litmus_settle(struct bf_litmus_world *w)
{
	while (steps(w, 0))
		;
	for (uint32_t i = 0; i < w->ndomains; i++)
		bf_domain_forget(w->domain[i].domain);
}
