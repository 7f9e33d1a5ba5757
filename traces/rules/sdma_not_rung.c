#include <inttypes.h>

#include "traces/rules/sdma.h"

static void end_queue(struct bf_rule_run *r, struct bf_rule_queue *queue, bool complete)
{
	const struct bf_sdma_queue *q = bf_sdma_of(queue);
	const struct bf_sdma_span *s = &q->last_reserve;
	struct bf_finding *f;
	bool stale;

	/* A doorbell that the engine never saw is another matter; one that it saw for less is none for this. */
	if (!complete || q->stopped || !q->w || s->to <= q->published)
		return;
	stale = s->to <= q->last_publish.to;
	if (stale && q->doorbells < q->w->npublishes)
		return;
	f = bf_rule_find(r, NULL, queue);
	if (!f)
		return;
	s = stale ? &q->last_publish : s;
	f->found.at_ps = s->at_ps;
	bf_finding_since(f, s->at_ps, s->record);
	bf_finding_index(f, q->published);
	if (stale)
		bf_finding_say(f,
			       "%s rang for bytes of %s up to %" PRIu64 ", and the last of %" PRIu64
			       " doorbells covered those below %" PRIu64 ": it had an older index",
			       bf_rule_actor(r->rules, s->actor), bf_rule_queue_name(r->rules, queue), s->to,
			       q->doorbells, q->published);
	else
		bf_finding_say(f,
		       "%s reserved bytes of %s up to %" PRIu64
		       ", and nobody rang: the last doorbell covered those below %" PRIu64,
		       bf_rule_actor(r->rules, s->actor), bf_rule_queue_name(r->rules, queue), s->to, q->published);
}

const struct bf_rule bf_rule_sdma_not_rung = {
	.about = {
		.id = "SDMA-NOT-RUNG",
		.family = "sdma",
		.title = "packets that nobody rings for",
		.severity = BF_SEVERITY_ERROR,
		.hardware = "The engine looks at a ring only after a doorbell.",
		.wrong = "A submitter left its packets for a later submission to ring for, and no later one came: they "
"wait for ever, and so does whoever waits for them.",
		.fix = "The last submission of a batch always rings; whoever waits rings first for what is published.",
		.sources = "reference sdma; ROCR-Runtime amd_blit_sdma.cpp UpdateWriteAndDoorbellRegister (one "
"doorbell a submission)",
		.example = "run sdma-copy --limit 10ms --bug no-doorbell",
		.twin = "run sdma-copy --limit 10ms",
	},
	.rank = BF_RANK_STUCK,
	.records = (const uint8_t[]){ 0 },
	.needs = (const uint8_t[]){ BF_SEEN_sdma_reserve, 0 },
	.end_queue = end_queue,
};
