#include <inttypes.h>

#include "traces/rules/hopper/hopper.h"

static void end_queue(struct bf_rule_run *r, struct bf_rule_queue *q, bool complete)
{
	const struct bf_hopper_rule_barrier *b = bf_rule_facts(q);
	struct bf_finding *f;
	uint32_t block, warp;

	f = complete ? bf_hopper_rule_find_lack(r, q, BF_LACK_COMPLETE, &block, &warp) : NULL;
	if (!f)
		return;
	bf_finding_say(f,
		       "on %s %" PRIu64 " bytes were expected since its init and %" PRIu64 " completed by complete_tx",
		       bf_hopper_rule_bar_text(b).s, b->armed, b->completed);
}

const struct bf_rule bf_rule_hopper_complete_tx = {
	.about = {
		.id = "HOPPER-COMPLETE-TX",
		.family = "hopper",
		.title = "complete_tx and expect_tx disagree",
		.severity = BF_SEVERITY_ERROR,
		.hardware = "complete_tx lowers the bytes outstanding and moves no data. A phase ends at zero, not below.",
		.wrong = "Software completes other bytes than were expected, so the sum never comes to zero when the arrivals have.",
		.fix = "complete_tx the same bytes as expect_tx, in the same phase.",
		.sources = "docs/hardware/hopper.md#operations-2; PTX ISA 9.0, mbarrier.complete_tx",
		.example = "run mbarrier-stress --bug complete-more",
		.twin = "run mbarrier-stress",
	},
	.rank = BF_RANK_STUCK + 2,
	.end_queue = end_queue,
};
