#include <inttypes.h>

#include "traces/rules/sdma/sdma.h"

static void end_queue(struct bf_rule_run *r, struct bf_rule_queue *queue, bool complete)
{
	const struct bf_sdma_rule_queue *q = bf_sdma_rule_of(queue);
	const struct bf_rule_way *s = &q->published;
	struct bf_finding *f;

	if (!complete || q->stopped || !q->w || s->upto <= q->announced.upto || q->doorbells >= q->w->npublishes)
		return;
	f = bf_rule_find(r, NULL, queue);
	if (!f)
		return;
	f->found.at_ps = s->at_ps;
	bf_finding_since(f, s->at_ps, s->record);
	bf_finding_index(f, q->announced.upto);
	bf_finding_say(f,
		       "%s rang the doorbell of %s for bytes up to %" PRIu64
		       ", and the last one that reached the engine was for %" PRIu64,
		       bf_rule_actor(r->rules, s->actor), bf_rule_queue_name(r->rules, queue), s->upto,
		       q->announced.upto);
}

const struct bf_rule bf_rule_sdma_doorbell_lost = {
	.about = {
		.id = "SDMA-DOORBELL-LOST",
		.family = "sdma",
		.title = "a doorbell never reached the engine",
		.severity = BF_SEVERITY_ERROR,
		.hardware = "A doorbell is a posted write that nobody acknowledges, and the engine looks at a ring "
"only after one.",
		.wrong = "The driver rang for packets, but no doorbell arrived at the engine.",
		.fix = "Check that the doorbell page is mapped uncached from the offset that CREATE_QUEUE returned, "
"that the slot is the queue's (low 13 bits, 8 bytes each), and that the store is flushed.",
		.sources = "docs/hardware/sdma.md#ring-4; ROCm/rocm-systems libhsakmt src/queues.c; ROCm/mori#693 (doorbells of engines that are fused off)",
		.example = "run sdma-copy --limit 10ms --faults 'lost-doorbell prob=1'",
		.twin = "run sdma-copy --limit 10ms",
	},
	.rank = BF_RANK_STUCK - 2,
	.needs = BF_SEES(sdma_publish, sdma_doorbell),
	.end_queue = end_queue,
};
