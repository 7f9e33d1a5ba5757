#include <inttypes.h>

#include "traces/rules/sdma/sdma.h"

static void on(struct bf_rule_run *r, const struct bf_seen *e)
{
	const struct bf_sdma_rule_queue *q = bf_sdma_rule_of(e->queue);
	const struct bf_sdma_rule_span *s = bf_sdma_rule_reserve_of(q, e->sdma_fault.index);
	struct bf_finding *f;

	if (e->sdma_fault.reason != BF_SDMA_STRADDLES || !s || s->pad || bf_sdma_rule_unpadded(q, e->sdma_fault.index))
		return;
	f = bf_rule_find(r, e, e->queue);
	if (!f)
		return;
	bf_finding_since(f, s->at_ps, s->record);
	bf_finding_index(f, e->sdma_fault.index);
	bf_finding_say(f,
		       "%s reserved bytes %" PRIu64 " to %" PRIu64 " of %s, over the ring's end at %" PRIu64
		       ": the rest of the ring must be filled with NOPs, and the packet begin at offset 0",
		       bf_rule_actor(r->rules, s->actor), s->from, s->to - 1, bf_rule_queue_name(r->rules, e->queue),
		       (e->sdma_fault.index / q->bytes + 1) * q->bytes);
}

const struct bf_rule bf_rule_sdma_straddle = {
	.about = {
		.id = "SDMA-STRADDLE",
		.family = "sdma",
		.title = "packets run over the end of the ring",
		.severity = BF_SEVERITY_ERROR,
		.hardware = "A packet must not cross the ring's end: the engine does not wrap within one.",
		.wrong = "A reservation goes over the end, so a packet begins before it and ends at the ring's "
			 "start.",
		.fix = "When a submission does not fit before the end, fill the rest with NOPs and begin at offset "
		       "0.",
		.sources = "ROCm/rocm-systems#10667; docs/hardware/sdma.md#ring-6; ROCR-Runtime amd_blit_sdma.cpp WrapIntoRing",
		.example = "run sdma-wrap --limit 10ms --bug straddle",
		.twin = "run sdma-wrap --limit 10ms",
	},
	.rank = BF_RANK_ENTRY + 4,
	.records = BF_SEES(sdma_fault),
	.on = on,
};
