/* What shows that a step is missing, in sentences. */
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>

#include "models/hopper/word.h"
#include "traces/life/explain_internal.h"
#include "traces/life/stuck_internal.h"
#include "traces/rules/rules.h"

/* ---- sentences ---- */

void bf_stuck_say(struct bf_stuck_group *g, const char *fmt, ...)
{
	const size_t used = strlen(g->text);
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(g->text + used, sizeof(g->text) - used, fmt, ap);
	va_end(ap);
}

/* The name of an actor that an entry keeps plus one. */
static const char *name_of(const struct bf_stuck *s, uint32_t actor)
{
	return actor ? bf_trace_actor_name(s->trace, actor - 1) : "nobody";
}

/* What a thread does now: "; pe0.b0.w0.l0 waits for a free slot since 3.5 us". */
void bf_stuck_say_thread(const struct bf_stuck *s, struct bf_stuck_group *g, uint32_t actor)
{
	const uint64_t key[3] = { actor - 1, 0, 0 };
	const uint64_t at = actor ? bf_number_get(&s->threads, key) : 0;
	const struct bf_stuck_thread *t = at ? &s->thread[at - 1] : NULL;

	if (t && t->waits)
		bf_stuck_say(g, "; %s waits for %s since %s", name_of(s, actor), t->what, bf_span_of(t->since_ps).text);
	else if (t && t->ended)
		bf_stuck_say(g, "; %s has ended", name_of(s, actor));
}

/* ---- barriers ---- */

/* "warp 5", "warps 1, 2" */
static void say_warps(struct bf_stuck_group *g, uint64_t mask)
{
	const char *comma = mask & (mask - 1) ? "warps " : "warp ";

	for (unsigned w = 0; w < 64; w++) {
		if (!(mask >> w & 1))
			continue;
		bf_stuck_say(g, "%s%u", comma, w);
		comma = ", ";
	}
}

/* Where warps wait that were to arrive here. */
static void say_elsewhere(const struct bf_stuck *s, const struct bf_stuck_barrier *b, uint64_t missing,
			  struct bf_stuck_group *g)
{
	for (size_t i = 0; i < s->nbarriers; i++) {
		const struct bf_stuck_barrier *x = &s->barrier[i];

		if (x == b || x->actor != b->actor || !((x->parked | x->asking) & missing))
			continue;
		bf_stuck_say(g, " (");
		say_warps(g, (x->parked | x->asking) & missing);
		bf_stuck_say(g, " at barrier 0x%" PRIx64 ")", x->address);
	}
}

void bf_stuck_barrier_text(const struct bf_stuck *s, const struct bf_stuck_barrier *b, struct bf_stuck_group *g)
{
	const uint32_t pending = bf_mbar_pending(b->word);
	const int32_t tx = bf_mbar_tx(b->word);
	const uint64_t missing = b->arrived_before & ~b->arrived;

	bf_stuck_say(g, "phase %" PRIu64 " of barrier 0x%" PRIx64 " does not end: ", b->phases, b->address);
	if (pending) {
		bf_stuck_say(g, "%u of %u arrivals are missing", pending, bf_mbar_expected(b->word));
		if (b->arrived) {
			bf_stuck_say(g, ", there have been those of ");
			say_warps(g, b->arrived);
		}
		if (missing) {
			bf_stuck_say(g, "; of those who arrived in the phase before, these have not: ");
			say_warps(g, missing);
			say_elsewhere(s, b, missing, g);
		}
	}
	if (tx)
		bf_stuck_say(g, "%s%u bytes %s", pending ? "; " : "", (unsigned int)(tx > 0 ? tx : -tx),
			     tx > 0 ? "are expected and have not come" : "have come that were not expected");
	if (!pending && !tx)
		bf_stuck_say(g, "all has come; the wait is for another phase");
	bf_stuck_say(g, "; waiting: ");
	say_warps(g, b->parked | b->asking);
}
