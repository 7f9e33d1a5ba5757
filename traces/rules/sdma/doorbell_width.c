#include <inttypes.h>

#include "traces/rules/sdma/sdma.h"

static void on(struct bf_rule_run *r, const struct bf_seen *e)
{
	const bool wrapped = bf_sdma_rule_of(e->queue)->wrapped;
	struct bf_finding *f;

	if (e->sdma_doorbell.verdict != BF_SDMA_BELL_WRONG_WIDTH)
		return;
	f = bf_rule_find(r, e, e->queue);
	if (f)
		bf_finding_say(f,
			       "the doorbell of %s got 0x%" PRIx64 " in %" PRIu64
			       " bytes and has %u: the engine did not take it",
			       bf_rule_queue_name(r->rules, e->queue), e->sdma_doorbell.value, e->sdma_doorbell.len,
			       wrapped ? 4u : 8u);
}

const struct bf_rule bf_rule_sdma_doorbell_width = {
	.about = {
		.id = "SDMA-DOORBELL-WIDTH",
		.family = "sdma",
		.title = "a doorbell is rung with a store of the wrong width",
		.severity = BF_SEVERITY_ERROR,
		.hardware = "From gfx9 on a doorbell is 8 bytes wide, before that 4. A store of another width is no "
"doorbell.",
		.wrong = "The engine ignored it, so the packets stay in the ring.",
		.fix = "One 64-bit store from gfx9 on, one 32-bit store before; never two halves.",
		.sources = "docs/hardware/sdma.md#ring-4; ROCm/rocm-systems libhsakmt src/queues.c, KFDTest SDMAQueue.cpp",
		.example = "run sdma-copy --limit 10ms --bug doorbell-width",
		.twin = "run sdma-copy --limit 10ms",
	},
	.rank = BF_RANK_ENTRY,
	.records = BF_SEES(sdma_doorbell),
	.on = on,
};
