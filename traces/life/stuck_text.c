/* What shows that a step is missing, in sentences. */
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>

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
