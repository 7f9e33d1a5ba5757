#include <inttypes.h>

#include "traces/rules/hopper/hopper.h"

static void end_queue(struct bf_rule_run *r, struct bf_rule_queue *q, bool complete)
{
	const struct bf_hopper_rule_barrier *b = bf_rule_facts(q);
	struct bf_finding *f;
	uint32_t block, warp;

	f = complete ? bf_hopper_rule_find_lack(r, q, BF_LACK_OWN_LANE, &block, &warp) : NULL;
	if (!f)
		return;
	bf_finding_say(
	    f,
	    "lanes 0x%08" PRIx32 " of warp %" PRIu32 " of block %" PRIu32
	    " wait on %s, which lacks an arrival of the same warp: its other lanes meet these before they arrive",
	    b->waiter_lanes, warp, block, bf_hopper_rule_bar_text(b).s);
}

const struct bf_rule bf_rule_hopper_elected = {
	.about = {
		.id = "HOPPER-ELECTED",
		.family = "hopper",
		.title = "a warp waits for what its elected lane does afterwards",
		.severity = BF_SEVERITY_ERROR,
		.hardware = "While lanes of a warp wait in one branch, the others cannot go beyond the point where the branches meet: an elected lane that should arrive there arrives too late.",
		.wrong = "Lanes of a warp wait for a phase that lacks the arrival of another lane of the same warp, which waits for them at a warp barrier.",
		.fix = "Let the elected lane arrive (and issue its copy) before any lane of its warp waits.",
		.sources = "docs/hardware/hopper.md#symptoms-21; triton-lang/triton#8285",
		.example = "run mbarrier-pipeline --bug elected-wait",
		.twin = "run mbarrier-pipeline --style guide",
	},
	.rank = BF_RANK_STUCK + 4,
	.end_queue = end_queue,
};
