#include <inttypes.h>

#include "traces/rules/sdma/sdma.h"

static void on(struct bf_rule_run *r, const struct bf_seen *e)
{
	const struct bf_sdma_rule_queue *q = bf_sdma_rule_of(e->queue);
	struct bf_finding *f;

	if (e->sdma_doorbell.verdict != BF_SDMA_BELL_PAST_RING || !q->wrapped || e->sdma_doorbell.value < q->bytes)
		return;
	f = bf_rule_find(r, e, e->queue);
	if (!f)
		return;
	bf_finding_index(f, e->sdma_doorbell.value);
	bf_finding_say(f,
		       "the doorbell of %s, whose indices wrap at %" PRIu64 ", was rung with %" PRIu64
		       ": the index itself and not its place in the ring, %" PRIu64,
		       bf_rule_queue_name(r->rules, e->queue), q->bytes, e->sdma_doorbell.value,
		       e->sdma_doorbell.value % q->bytes);
}

const struct bf_rule bf_rule_sdma_index_grows = {
	.about = {
		.id = "SDMA-INDEX-GROWS",
		.family = "sdma",
		.title = "a queue with wrapping indices gets a growing one",
		.severity = BF_SEVERITY_ERROR,
		.hardware = "Before gfx9 read pointer, write pointer and doorbell have 32 bits and stay below the "
"ring's size.",
		.wrong = "The doorbell holds the growing index: from the second lap on it lies outside of the ring.",
		.fix = "Publish index & (size - 1) on those parts, and rebuild the growing read index from the "
"distance to the committed one.",
		.sources = "docs/hardware/sdma.md#ring-3; ROCR-Runtime amd_blit_sdma.cpp BlitSdmaV2V3; ROCm/rocm-systems KFDTest SDMAQueue.cpp SubmitPacket",
		.example = "run sdma-wrap --wrapped --limit 10ms --bug grow-index",
		.twin = "run sdma-wrap --wrapped --limit 10ms",
	},
	.rank = BF_RANK_ENTRY + 1,
	.records = BF_SEES(sdma_doorbell),
	.on = on,
};
