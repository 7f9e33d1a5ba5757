#include <inttypes.h>

#include "traces/rules/hopper/hopper.h"

static void end_queue(struct bf_rule_run *r, struct bf_rule_queue *q, bool complete)
{
	const struct bf_hopper_rule_barrier *b = bf_rule_facts(q);
	struct bf_finding *f;
	uint32_t block, warp;

	f = complete ? bf_hopper_rule_find_lack(r, q, BF_LACK_SECOND_WAIT, &block, &warp) : NULL;
	if (!f)
		return;
	bf_finding_say(f,
		       "warp %" PRIu32 " of block %" PRIu32 " waits on %s for the phase of parity %" PRIu32
		       " right after it has waited there for the one before, and has arrived nowhere in between: it "
		       "waits twice, or has left a release out",
		       warp, block, bf_hopper_rule_bar_text(b).s, b->waiter_parity);
}

const struct bf_rule bf_rule_hopper_double_wait = {
	.about = {
		.id = "HOPPER-DOUBLE-WAIT",
		.family = "hopper",
		.title = "a warp waits again before it has used what it waited for",
		.severity = BF_SEVERITY_ERROR,
		.hardware = "A phase ends once. The next one on the same barrier ends only after the warps that waited "
			    "have released what the first one gave.",
		.wrong = "A warp waits a second time on the same barrier, for the phase after the one it has seen, with no arrival in between: that phase needs what this warp has yet to release.",
		.fix = "One wait for each tile; flip the parity after the release, once.",
		.sources = "docs/hardware/hopper.md#completion-4; NVIDIA/cutlass#2404",
		.example = "run mbarrier-pipeline --bug double-wait",
		.twin = "run mbarrier-pipeline",
	},
	.rank = BF_RANK_STUCK + 3,
	.end_queue = end_queue,
};
