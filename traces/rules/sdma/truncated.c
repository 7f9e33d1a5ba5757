#include <inttypes.h>

#include "traces/rules/sdma/sdma.h"

static void on(struct bf_rule_run *r, const struct bf_seen *e)
{
	const struct bf_sdma_rule_queue *q = bf_sdma_rule_of(e->queue);
	struct bf_finding *f;

	if (e->kind == BF_SEEN_sdma_queue) {
		/* A queue that hung and was replaced: somebody saw to it. */
		f = e->sdma_queue.event == BF_SDMA_QUEUE_CREATED ? bf_rule_found(r, e->queue) : NULL;
		if (f)
			f->dropped = true;
		return;
	}
	if (e->sdma_fault.reason != BF_SDMA_TRUNCATED || bf_sdma_rule_unpadded(q, e->sdma_fault.index))
		return;
	f = bf_sdma_rule_find_fault(r, e);
	if (f)
		bf_finding_say(f, ": it goes on behind %" PRIu64 ", up to where the doorbell was rung",
			       q->announced.upto);
}

const struct bf_rule bf_rule_sdma_truncated = {
	.about = {
		.id = "SDMA-TRUNCATED",
		.family = "sdma",
		.title = "a packet ends beyond the published index",
		.severity = BF_SEVERITY_ERROR,
		.hardware = "The engine takes bytes up to the doorbell's value. A packet that needs more waits for "
"them, and the queue hangs: KFDTest does this on purpose.",
		.wrong = "A count is larger than what follows, or the published index lies before the submission's "
"end.",
		.fix = "Publish the index behind the last dword of the last packet, and store counts minus one.",
		.sources = "docs/hardware/sdma.md#other-packets-1; ROCm/rocm-systems KFDNegativeTest.BasicSDMAReset",
		.example = "run sdma-copy --limit 10ms --bug short-index",
		.twin = "run sdma-copy --limit 10ms",
	},
	.rank = BF_RANK_ENTRY + 5,
	.records = BF_SEES(sdma_fault, sdma_queue),
	.on = on,
};
