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

/* ---- send entries ---- */

/* The lowest entry of the queue that is not published: what later ones wait for. */
static const struct bf_stuck_entry *first_unpublished(const struct bf_stuck *s, const struct bf_stuck_entry *e)
{
	const struct bf_stuck_entry *first = NULL;

	for (size_t i = 0; i < s->nentries; i++) {
		const struct bf_stuck_entry *x = &s->entry[i];

		if (x->open && x->key[0] == e->key[0] &&
		    !(x->points & ~(BF_STUCK_BIT(BF_STUCK_RESERVE) | BF_STUCK_BIT(BF_STUCK_BUILD))) &&
		    x->index < e->index && (!first || x->index < first->index))
			first = x;
	}
	return first;
}

static void unpublished_text(const struct bf_stuck *s, const struct bf_stuck_entry *e, struct bf_stuck_group *g)
{
	const struct bf_stuck_entry *before = first_unpublished(s, e);

	bf_stuck_say(g, "reserved and built by %s, never published", name_of(s, e->who[BF_STUCK_BUILD]));
	if (before)
		bf_stuck_say(g, ": %s waits for slot %" PRIu64 ", which %s reserved and never %s",
			     name_of(s, e->who[BF_STUCK_BUILD]), before->index,
			     name_of(s, before->who[BF_STUCK_RESERVE]),
			     before->points & BF_STUCK_BIT(BF_STUCK_BUILD) ? "published" : "filled");
	else
		bf_stuck_say_thread(s, g, e->who[BF_STUCK_BUILD]);
}

static void unrung_text(const struct bf_stuck *s, const struct bf_stuck_queue *q, const struct bf_stuck_entry *e,
			struct bf_stuck_group *g)
{
	const uint32_t by = e->who[BF_STUCK_PUBLISH];

	bf_stuck_say(g, "entry %" PRIu64 " was published by %s, which %s; ", e->index, name_of(s, by),
		     e->posts ? "was to ring and did not" : "left it to a later submission to ring");
	if (q->ringer)
		bf_stuck_say(g, "the last doorbell, by %s, covered the entries below %" PRIu64, name_of(s, q->ringer),
			     q->rung);
	else
		bf_stuck_say(g, "nobody has ever rung this queue");
	bf_stuck_say_thread(s, g, by);
}

static void unheard_text(const struct bf_stuck *s, const struct bf_stuck_queue *q, const struct bf_stuck_entry *e,
			 struct bf_stuck_group *g)
{
	bf_stuck_say(g, "%s rang for it; ", name_of(s, e->who[BF_STUCK_RING] ? e->who[BF_STUCK_RING] : q->ringer));
	if (!q->doorbells)
		bf_stuck_say(g, "no doorbell of this queue has reached the device");
	else if (!q->known_dbrec)
		bf_stuck_say(g, "%" PRIu64 " doorbells arrived, and the device has not read the doorbell record",
			     q->doorbells);
	else
		bf_stuck_say(g,
			     "%" PRIu64 " doorbells arrived, and the doorbell record said %" PRIu64
			     " when the device read it last: entry %" PRIu64 " is not below that",
			     q->doorbells, q->dbrec, e->index);
	bf_stuck_say_thread(s, g, e->who[BF_STUCK_RING]);
}

static void mlx5_text(const struct bf_stuck *s, const struct bf_stuck_queue *q, const struct bf_stuck_entry *e,
		      enum bf_stuck_point missing, struct bf_stuck_group *g)
{
	static const char *const states[] = { "RST", "INIT", "RTR", "RTS", "SQER", "SQD", "ERR" };

	switch (missing) {
	case BF_STUCK_BUILD:
		if (e->early) {
			bf_stuck_say(g, "the device fetched entry %" PRIu64 " before %s had filled it", e->index,
				     name_of(s, e->who[BF_STUCK_RESERVE]));
			break;
		}
		bf_stuck_say(g, "slot %" PRIu64 " was reserved by %s and never filled", e->index,
			     name_of(s, e->who[BF_STUCK_RESERVE]));
		bf_stuck_say_thread(s, g, e->who[BF_STUCK_RESERVE]);
		break;
	case BF_STUCK_PUBLISH:
		unpublished_text(s, e, g);
		break;
	case BF_STUCK_RING:
		unrung_text(s, q, e, g);
		break;
	case BF_STUCK_DOORBELL:
		unheard_text(s, q, e, g);
		break;
	case BF_STUCK_FETCH:
		bf_stuck_say(g, "the device knows of entry %" PRIu64 " and has not fetched it; the queue pair is in %s",
			     e->index, q->state < BF_ARRAY_LEN(states) ? states[q->state] : "an unknown state");
		break;
	case BF_STUCK_START:
		bf_stuck_say(g,
			     "entry %" PRIu64
			     " was fetched and has not been started: it waits behind others, or for a connection",
			     e->index);
		break;
	case BF_STUCK_DONE:
		bf_stuck_say(g, "entry %" PRIu64 " was started%s and has not been acknowledged", e->index,
			     e->retried ? ", sent again" : "");
		break;
	case BF_STUCK_COMPLETION:
	default:
		bf_stuck_say(g, "entry %" PRIu64 " is done; its completion %s", e->index,
			     e->lost ? "was lost on the way to memory" : "has not been written");
		break;
	}
}

/* ---- peers ---- */

/* What is wrong at the other end of a connection. */
static void say_peer(const struct bf_stuck *s, const struct bf_stuck_queue *q, struct bf_stuck_group *g)
{
	for (size_t i = 0; q->remote_qpn && i < s->nqueues; i++) {
		const struct bf_stuck_queue *x = &s->queue[i];

		if (x->kind == BF_STUCK_MLX5 && x->number == q->remote_qpn && x->ipv4 == q->remote_ipv4 &&
		    x->trouble[0])
			bf_stuck_say(g, "; its peer %s: %s", x->name, x->trouble);
	}
}

void bf_stuck_entry_text(const struct bf_stuck *s, const struct bf_stuck_queue *q, const struct bf_stuck_entry *e,
			 enum bf_stuck_point missing, struct bf_stuck_group *g)
{
	switch (q->kind) {
	case BF_STUCK_MLX5:
		mlx5_text(s, q, e, missing, g);
		break;
	case BF_STUCK_CAPTURE:
		bf_stuck_say(g, "entry %" PRIu64 " (line %u) asks for a completion, and ", e->index, e->line);
		if (missing == BF_STUCK_RING)
			bf_stuck_say(g, "no doorbell covers it: the doorbell record said %" PRIu64 " last", q->dbrec);
		else
			bf_stuck_say(g, "the capture has none");
		break;
	case BF_STUCK_KINDS:
	default:
		break;
	}
	if (q->trouble[0])
		bf_stuck_say(g, "; %s", q->trouble);
	else if (q->kind == BF_STUCK_MLX5 && (BF_STUCK_BIT(missing) & BF_STUCK_DEVICE_POINTS))
		say_peer(s, q, g);
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
