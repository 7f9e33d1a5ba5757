#include <inttypes.h>

#include "traces/rules/sdma/sdma.h"

static void on(struct bf_rule_run *r, const struct bf_seen *e)
{
	const struct bf_sdma_rule_queue *q = bf_sdma_rule_of(e->queue);
	struct bf_finding *f;

	if (!q->bytes || e->sdma_reserve.to <= q->reserved_retired + q->bytes)
		return;
	f = bf_rule_find(r, e, e->queue);
	if (!f)
		return;
	bf_finding_index(f, e->sdma_reserve.from);
	bf_finding_say(f,
		       "%s reserved bytes %" PRIu64 " to %" PRIu64 " of %s when the engine was at %" PRIu64
		       ": the ring holds %" PRIu64
		       ", so packets that were not fetched yet are overwritten; nobody looked at the read pointer",
		       bf_rule_actor(r->rules, e->actor), e->sdma_reserve.from, e->sdma_reserve.to - 1,
		       bf_rule_queue_name(r->rules, e->queue), q->reserved_retired, q->bytes);
}

const struct bf_rule bf_rule_sdma_ring_overrun = {
	.about = {
		.id = "SDMA-RING-OVERRUN",
		.family = "sdma",
		.title = "packets were overwritten before the engine had fetched them",
		.severity = BF_SEVERITY_ERROR,
		.hardware = "The ring has a fixed size, and the engine's read pointer tells how far it has read. Nothing " "stops a driver from overwriting packets that are pending.",
		.wrong = "The reservation reaches further than a ring ahead of the read pointer.",
		.fix = "Wait in the reservation until index + bytes - read pointer fits the ring.",
		.sources = "docs/hardware/sdma.md#ring-5; ROCR-Runtime amd_blit_sdma.cpp AcquireWriteAddress",
		.example = "run sdma-wrap --producers 4 --limit 10ms --bug no-full-check",
		.twin = "run sdma-wrap --producers 4 --limit 10ms",
	},
	.rank = BF_RANK_ENTRY,
	.records = BF_SEES(sdma_reserve),
	.on = on,
};
