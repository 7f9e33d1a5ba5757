/* The first missing step of what is left, and who misses the same one. */
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>

#include "sim/grow.h"
#include "traces/life/explain_internal.h"
#include "traces/life/stuck_internal.h"

/* ---- groups ---- */

struct bf_stuck_group *bf_stuck_new_group(struct bf_stuck *s)
{
	if (BF_GROW(s->groups, s->cap_groups, s->ngroups + 1))
		return NULL;
	s->groups[s->ngroups] = (struct bf_stuck_group){ .count = 0 };
	return &s->groups[s->ngroups++];
}

struct bf_stuck_group *bf_stuck_group_of(struct bf_stuck *s, struct bf_number_map *groups, const uint64_t key[3])
{
	const uint64_t at = bf_number_get(groups, key);
	struct bf_stuck_group *g = at ? &s->groups[at - 1] : bf_stuck_new_group(s);

	if (!g || (!at && bf_number_put(groups, key, s->ngroups)))
		return NULL;
	g->count++;
	return g;
}

/* ---- what a capture has: entries, doorbells and completions ---- */

enum { CAPTURED_WRITE, CAPTURED_RING, CAPTURED_COMPLETION };

static uint32_t captured_step(const struct bf_stuck *s, const struct bf_stuck_queue *q, const struct bf_stuck_entry *e)
{
	if (s->ran || !e->signalled)
		return BF_STUCK_NOTHING;
	return q->known_dbrec && (int16_t)(uint16_t)(q->dbrec - e->index) > 0 ? CAPTURED_COMPLETION : CAPTURED_RING;
}

static void captured_group(const struct bf_stuck_queue *q, const struct bf_stuck_entry *e, uint32_t missing,
			   struct bf_stuck_group *g)
{
	g->kind = "captured entry";
	g->missing = missing == CAPTURED_RING ? "ring" : "completion";
	bf_stuck_say(g, "entry %" PRIu64 " (line %u) asks for a completion, and ", e->index, e->line);
	if (missing == CAPTURED_RING)
		bf_stuck_say(g, "no doorbell covers it: the doorbell record said %" PRIu64 " last", q->dbrec);
	else
		bf_stuck_say(g, "the capture has none");
}

/* ---- entries ---- */

static int by_order(const void *a, const void *b)
{
	const struct bf_stuck_entry *const *x = a, *const *y = b;

	return (*x)->order < (*y)->order ? -1 : (*x)->order > (*y)->order;
}

/* The open entries, oldest first. NULL when there are none, or on lack of memory. */
static const struct bf_stuck_entry **open_entries(const struct bf_stuck *s, size_t *n)
{
	const struct bf_stuck_entry **list = s->nentries ? calloc(s->nentries, sizeof(*list)) : NULL;

	*n = 0;
	for (size_t i = 0; list && i < s->nentries; i++)
		if (s->entry[i].open)
			list[(*n)++] = &s->entry[i];
	if (*n)
		qsort(list, *n, sizeof(*list), by_order);
	return list;
}

/* The group of one entry: its queue's that miss the same step. 0 or -ENOMEM. */
static int group_entry(struct bf_stuck *s, struct bf_number_map *groups, const struct bf_stuck_entry *e,
		       uint32_t missing)
{
	const struct bf_stuck_queue *q = &s->queue[e->key[0]];
	const uint64_t key[3] = { e->key[0], missing, 0 };
	struct bf_stuck_group *g = bf_stuck_group_of(s, groups, key);

	if (!g)
		return bf_stuck_no_memory(s);
	if (g->count > 1)
		return 0;
	snprintf(g->where, sizeof(g->where), "%s", q->name);
	g->since_ps = e->last_ps;
	if (q->life.life)
		bf_stuck_life_group(s, q, e, missing, g);
	else
		captured_group(q, e, missing, g);
	return 0;
}

/* What is complete and has not been looked at comes last: it is nobody's cause. */
static int group_entries(struct bf_stuck *s)
{
	struct bf_number_map groups = { 0 }; /* queue and step: group plus one */
	size_t n;
	const struct bf_stuck_entry **list = open_entries(s, &n);
	int rc = s->nentries && !list ? bf_stuck_no_memory(s) : 0;

	for (unsigned pass = 0; pass < 2; pass++)
		for (size_t i = 0; !rc && i < n; i++) {
			const struct bf_stuck_queue *q = &s->queue[list[i]->key[0]];
			const struct bf_life *life = q->life.life;
			const uint32_t missing =
			    life ? bf_stuck_life_step(s, q, list[i]) : captured_step(s, q, list[i]);
			const bool left = life && bf_stuck_life_may_be_left(life, missing);

			if (missing != BF_STUCK_NOTHING && left == (pass == 1))
				rc = group_entry(s, &groups, list[i], missing);
		}
	bf_number_map_free(&groups);
	free(list);
	return rc;
}

/* ---- threads ---- */

/* Threads that wait for others of their own kind say nothing new, unless no thread waits for anything else. */
static bool is_follower(const struct bf_stuck *s, const struct bf_stuck_thread *t)
{
	return !s->meetings && (strcmp(t->what, "its team") == 0 || strncmp(t->what, "other threads", 13) == 0);
}

static void note_meetings(struct bf_stuck *s)
{
	bool other = false;

	for (size_t i = 0; i < s->nthreads; i++)
		other = other || (s->thread[i].waits && !is_follower(s, &s->thread[i]));
	s->meetings = !other;
}

/*
 * In a run that has not come to a halt a wait is worth a word beside something that is stuck; or where a queue has
 * stopped and a thread, who sleeps between its looks, looks at one place alone for longer than retries take.
 */
#define LONG_PS 50000000000ull

static bool is_worth_a_word(const struct bf_stuck *s, struct bf_stuck_thread *t, bool beside)
{
	if ((!t->waits && !t->looks) || is_follower(s, t))
		return false;
	if (s->failed && !t->deadlock && s->end_ps - t->polls_ps >= LONG_PS) {
		t->since_ps = t->polls_ps;
		return true;
	}
	return t->waits && (t->deadlock || (beside && !s->deadlock));
}

/* A group has the name of the thread that has waited longest. */
static void name_first(const struct bf_stuck *s, struct bf_stuck_group *g, const struct bf_stuck_thread *t)
{
	snprintf(g->where, sizeof(g->where), "%.60s", bf_trace_actor_name(s->trace, t->actor));
	g->since_ps = t->since_ps;
}

static int group_threads(struct bf_stuck *s)
{
	const uint32_t first = s->ngroups;

	note_meetings(s);
	for (size_t i = 0; i < s->nthreads; i++) {
		struct bf_stuck_thread *t = &s->thread[i];
		struct bf_stuck_group *g = NULL;

		if (!is_worth_a_word(s, t, first))
			continue;
		for (uint32_t n = first; n < s->ngroups && !g; n++)
			if (strncmp(s->groups[n].text, t->what, strlen(t->what)) == 0 &&
			    s->groups[n].oldest.index == t->va)
				g = &s->groups[n];
		if (g) {
			g->count++;
			if (t->since_ps < g->since_ps)
				name_first(s, g, t);
			continue;
		}
		g = bf_stuck_new_group(s);
		if (!g)
			return bf_stuck_no_memory(s);
		name_first(s, g, t);
		g->kind = "waiting thread";
		g->missing = "wake-up";
		g->count = 1;
		g->oldest.index = t->va;
		bf_stuck_say(g, "%s", t->what);
		if (t->va)
			bf_stuck_say(g, ", at 0x%" PRIx64, t->va);
		if (t->va && t->deadlock)
			bf_stuck_say(g, ", which holds 0x%" PRIx64, t->value);
	}
	return 0;
}

/* ---- what nobody can tell ---- */

static void unknown(struct bf_stuck *s, const char *fmt, ...) BF_PRINTF(2, 3);
static void unknown(struct bf_stuck *s, const char *fmt, ...)
{
	va_list ap;

	if (BF_GROW(s->unknown, s->unknown_cap, s->nunknown + 1))
		return;
	va_start(ap, fmt);
	vsnprintf(s->unknown[s->nunknown++], sizeof(*s->unknown), fmt, ap);
	va_end(ap);
}

/* Of a life that is told by rows, once: no records of its queues' software, or of any device. */
static void note_unknown_life(struct bf_stuck *s, size_t at)
{
	const struct bf_life *life = s->queue[at].life.life;
	bool driver = false, captured = false;
	char types[160];

	for (size_t i = 0; i < s->nqueues; i++) {
		if (s->queue[i].life.life == life && i < at)
			return;
		driver = driver || (s->queue[i].life.life == life && s->queue[i].driver);
		captured = captured || (s->queue[i].life.life == life && s->queue[i].captured);
	}
	if (!driver && bf_life_types(life, true, types, sizeof(types)))
		unknown(s, "entries that never reached a device: the trace has no records %s", types);
	if ((!s->device || captured) && bf_life_types(life, false, types, sizeof(types)))
		unknown(s, "what devices did with what was rung for: the trace has no records %s", types);
}

static void note_unknown(struct bf_stuck *s)
{
	bool capture = false;

	for (size_t i = 0; i < s->nqueues; i++) {
		if (s->queue[i].life.life)
			note_unknown_life(s, i);
		else
			capture = true;
	}
	if (capture && !s->ran)
		unknown(s, "who posted, what was visible, what the device read: a capture has entries, doorbells and "
			   "completions alone (capture_wqe, capture_doorbell, capture_cqe)");
	if (!bf_trace_type(s->trace, "agent_start") && !bf_trace_type(s->trace, "agent_wait"))
		unknown(s, "which threads wait: the trace has no records agent_start, agent_wait");
}

int bf_stuck_conclude(struct bf_stuck *s)
{
	int rc = group_entries(s);

	if (!rc)
		rc = bf_stuck_group_barriers(s);
	if (!rc)
		rc = bf_stuck_group_connections(s);
	if (!rc)
		rc = group_threads(s);
	if (!rc)
		note_unknown(s);
	return rc;
}
