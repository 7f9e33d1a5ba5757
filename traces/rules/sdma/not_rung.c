#include <inttypes.h>
#include <string.h>

#include "traces/rules/sdma/sdma.h"

/* Threads that wait for their turn, forever. */
#define WAITERS 32u
struct state {
	struct waiter {
		uint32_t actor;
		uint64_t va, turn; /* the word that tells whose turn it is, and what it holds */
	} waiters[WAITERS];
	uint32_t n;
};

static void on(struct bf_rule_run *r, const struct bf_seen *e)
{
	struct state *s = r->state;
	char what[48];

	if (s->n < WAITERS && strstr(bf_seen_text(e, "what", what, sizeof(what)), "earlier submissions"))
		s->waiters[s->n++] = (struct waiter){ e->actor, e->deadlock.va, e->deadlock.value };
}

/* The turn that the thread waits behind, when no submission begins there: nobody will take it. */
static const struct waiter *lost_turn(const struct state *s, const struct bf_sdma_rule_queue *q, uint32_t actor)
{
	const struct waiter *w = NULL;

	for (uint32_t i = 0; i < s->n && !w; i++)
		w = s->waiters[i].actor == actor ? &s->waiters[i] : NULL;
	for (uint32_t i = 0; w && i < BF_SDMA_RULE_SPANS; i++)
		if (q->w->reserves[i].set && q->w->reserves[i].from == w->turn)
			return NULL;
	return w;
}

static void end_queue(struct bf_rule_run *r, struct bf_rule_queue *queue, bool complete)
{
	const struct bf_sdma_rule_queue *q = bf_sdma_rule_of(queue);
	const struct bf_rule_way *s = &q->reserved;
	const struct waiter *w;
	struct bf_finding *f;
	bool stale;

	/* A doorbell that the engine never saw is another matter; one that it saw for less is none for this. */
	if (!complete || q->stopped || !q->w || s->upto <= q->announced.upto)
		return;
	stale = s->upto <= q->published.upto;
	if (stale && q->doorbells < q->w->npublishes)
		return;
	f = bf_rule_find(r, NULL, queue);
	if (!f)
		return;
	s = stale ? &q->published : s;
	f->found.at_ps = s->at_ps;
	bf_finding_since(f, s->at_ps, s->record);
	bf_finding_index(f, q->announced.upto);
	w = stale ? NULL : lost_turn(r->state, q, s->actor);
	if (w)
		bf_finding_say(f,
			       "%s waits for the turn of its bytes of %s up to %" PRIu64 ": the word at 0x%" PRIx64
			       " gives it to a submission at %" PRIu64
			       ", and there is none; the last doorbell covered those below %" PRIu64,
			       bf_rule_actor(r->rules, s->actor), bf_rule_queue_name(r->rules, queue), s->upto, w->va,
			       w->turn, q->announced.upto);
	else if (stale)
		bf_finding_say(f,
			       "%s rang for bytes of %s up to %" PRIu64 ", and the last of %" PRIu64
			       " doorbells covered those below %" PRIu64 ": it had an older index",
			       bf_rule_actor(r->rules, s->actor), bf_rule_queue_name(r->rules, queue), s->upto,
			       q->doorbells, q->announced.upto);
	else
		bf_finding_say(f,
			       "%s reserved bytes of %s up to %" PRIu64
			       ", and nobody rang: the last doorbell covered those below %" PRIu64,
			       bf_rule_actor(r->rules, s->actor), bf_rule_queue_name(r->rules, queue), s->upto,
			       q->announced.upto);
}

const struct bf_rule bf_rule_sdma_not_rung = {
	.about = {
		.id = "SDMA-NOT-RUNG",
		.family = "sdma",
		.title = "packets that nobody rings for",
		.severity = BF_SEVERITY_ERROR,
		.hardware = "The engine looks at a ring only after a doorbell.",
		.wrong = "A submitter left its packets for a later submission to ring for, and no later one came, or "
			 "it waits for a turn that never comes. They wait forever, and so does every thread that waits "
			 "for them.",
		.fix = "The last submission of a batch always rings. A thread that waits first rings for what is "
		       "published.",
		.sources = "docs/hardware/sdma.md#submission-4; ROCR-Runtime amd_blit_sdma.cpp UpdateWriteAndDoorbellRegister (one doorbell a submission)",
		.example = "run sdma-copy --limit 10ms --bug no-doorbell",
		.twin = "run sdma-copy --limit 10ms",
	},
	.rank = BF_RANK_STUCK,
	.records = BF_SEES(deadlock),
	.needs = BF_SEES(sdma_reserve),
	.state_bytes = sizeof(struct state),
	.on = on,
	.end_queue = end_queue,
};
