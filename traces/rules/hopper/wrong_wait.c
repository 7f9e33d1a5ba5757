#include <inttypes.h>

#include "traces/rules/hopper/hopper.h"

static void end_queue(struct bf_rule_run *r, struct bf_rule_queue *q, bool complete)
{
	const struct bf_hopper_rule_barrier *b = bf_rule_facts(q);
	struct bf_finding *f;
	uint32_t block, warp;

	f = complete ? bf_hopper_rule_find_lack(r, q, BF_LACK_OWN, &block, &warp) : NULL;
	if (!f)
		return;
	bf_finding_say(f,
		       "warp %" PRIu32 " of block %" PRIu32
		       " waits on %s, on which it has to arrive itself before the phase can end: that is "
		       "not the barrier that tells it something",
		       warp, block, bf_hopper_rule_bar_text(b).s);
}

const struct bf_rule bf_rule_hopper_wrong_wait = {
	.about = {
		.id = "HOPPER-WRONG-WAIT",
		.family = "hopper",
		.title = "a warp waits on a barrier that it has to arrive on itself",
		.severity = BF_SEVERITY_ERROR,
		.hardware = "A phase ends by its arrivals. A warp that makes one of them cannot wait for the phase "
			    "first.",
		.wrong = "A warp waits for a phase that lacks its own arrival: it waits on the barrier that it signals, not on the one that it is signalled by.",
		.fix = "Consumers wait on full and arrive on empty, producers the other way round.",
		.sources = "docs/hardware/hopper.md#symptoms-22; NVIDIA/cutlass#2404",
		.example = "run mbarrier-pipeline --bug wrong-wait",
		.twin = "run mbarrier-pipeline",
	},
	.rank = BF_RANK_STUCK + 4,
	.end_queue = end_queue,
};
