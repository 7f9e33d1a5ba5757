#include <inttypes.h>

#include "traces/rules/sdma/sdma.h"

static void on(struct bf_rule_run *r, const struct bf_seen *e)
{
	struct bf_finding *f;

	if (e->sdma_doorbell.verdict != BF_SDMA_BELL_WPTR_BEHIND)
		return;
	f = bf_rule_find(r, e, e->queue);
	if (!f)
		return;
	bf_finding_index(f, e->sdma_doorbell.published);
	bf_finding_say(f,
		       "the doorbell of %s was rung with %" PRIu64 " while the write pointer in memory was at %" PRIu64
		       ": its store comes later, or is not visible yet",
		       bf_rule_queue_name(r->rules, e->queue), e->sdma_doorbell.published, e->sdma_doorbell.wptr);
}

const struct bf_rule bf_rule_sdma_wptr_order = {
	.about = {
		.id = "SDMA-WPTR-ORDER",
		.family = "sdma",
		.title = "the doorbell is rung before the write pointer is in memory",
		.severity = BF_SEVERITY_WARNING,
		.hardware = "The doorbell says how far the engine may go. The write pointer in memory repeats it: from "
			    "v12 of the queue descriptor on, the scheduler reads it when it puts a queue back on the "
			    "engine.",
		.wrong = "The doorbell named an index that the write pointer had not reached. A queue that is restored "
			 "at that moment continues from the old one, and the packets in between wait for the next "
			 "doorbell.",
		.fix = "Store the packets, then the write pointer, then a release fence, then the doorbell with the "
"same value.",
		.sources = "docs/hardware/sdma.md#submission-1; ROCR-Runtime amd_blit_sdma.cpp UpdateWriteAndDoorbellRegister; ROCm/rocm-systems#11544; Linux kfd_mqd_manager_v12.c",
		.example = "run sdma-copy --bug wptr-late",
		.twin = "run sdma-copy",
	},
	.rank = BF_RANK_LUCK,
	.records = BF_SEES(sdma_doorbell),
	.on = on,
};
