#include <inttypes.h>

#include "traces/rules/sdma/sdma.h"

static void on(struct bf_rule_run *r, const struct bf_seen *e)
{
	const struct bf_sdma_rule_queue *q = bf_sdma_rule_of(e->queue);
	const struct bf_sdma_rule_span *p;
	struct bf_finding *f;
	uint64_t lap;

	if ((e->sdma_doorbell.verdict != BF_SDMA_BELL_BACK && e->sdma_doorbell.verdict != BF_SDMA_BELL_PAST_RING) ||
	    !q->bytes || e->sdma_doorbell.before > q->bytes)
		return;
	lap = (e->sdma_doorbell.before + q->bytes - 1) / q->bytes * q->bytes;
	p = bf_sdma_rule_published_to(q, e->sdma_doorbell.value + lap);
	if (e->sdma_doorbell.value >= q->bytes || !p || p->to != e->sdma_doorbell.value + lap)
		return;
	f = bf_rule_find(r, e, e->queue);
	if (!f)
		return;
	bf_finding_since(f, p->at_ps, p->record);
	bf_finding_index(f, p->to);
	bf_finding_say(
	    f,
	    "%s rang the doorbell of %s with %" PRIu64 ", an offset in the ring, after bytes up to %" PRIu64
	    " had been published: this queue's indices grow forever, and the index of that place is %" PRIu64,
	    bf_rule_actor(r->rules, p->actor), bf_rule_queue_name(r->rules, e->queue), e->sdma_doorbell.value,
	    e->sdma_doorbell.before, p->to);
}

const struct bf_rule bf_rule_sdma_doorbell_wrap = {
	.about = {
		.id = "SDMA-DOORBELL-WRAP",
		.family = "sdma",
		.title = "growing indices are published as offsets in the ring",
		.severity = BF_SEVERITY_ERROR,
		.hardware = "Doorbell and write pointer of a user queue count bytes and never wrap; the engine "
			    "reduces them itself.",
		.wrong = "After the first lap the doorbell goes back to a small number, which looks old to the engine.",
		.fix = "Publish the 64-bit index itself, not index % ring size.",
		.sources = "docs/hardware/sdma.md#ring-3; ROCR-Runtime amd_blit_sdma.cpp UpdateWriteAndDoorbellRegister",
		.example = "run sdma-wrap --limit 10ms --bug wrap-index",
		.twin = "run sdma-wrap --limit 10ms",
	},
	.rank = BF_RANK_ENTRY + 1,
	.records = BF_SEES(sdma_doorbell),
	.on = on,
};
