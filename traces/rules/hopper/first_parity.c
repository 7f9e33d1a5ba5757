#include <inttypes.h>

#include "traces/rules/hopper/hopper.h"

static void end_queue(struct bf_rule_run *r, struct bf_rule_queue *q, bool complete)
{
	const struct bf_hopper_rule_barrier *b = bf_rule_facts(q);
	struct bf_finding *f;
	uint32_t block, warp;

	f = complete ? bf_hopper_rule_find_lack(r, q, BF_LACK_FIRST_PHASE, &block, &warp) : NULL;
	if (!f)
		return;
	bf_finding_say(f,
		       "the first wait of warp %" PRIu32 " of block %" PRIu32
		       " on %s is for the phase of parity 0, which ends only when %s "
		       "have used what this warp has yet to give: what begins empty is waited for with parity 1 first",
		       warp, block, bf_hopper_rule_bar_text(b).s, b->who);
}

const struct bf_rule bf_rule_hopper_first_parity = {
	.about = {
		.id = "HOPPER-FIRST-PARITY",
		.family = "hopper",
		.title = "the first wait has the wrong parity",
		.severity = BF_SEVERITY_ERROR,
		.hardware = "A fresh barrier is in phase 0, so a wait with parity 1 is over at once and a wait with parity 0 waits for the first phase to end.",
		.wrong = "A producer waits for a stage to become empty, with the parity that consumers begin with. But "
			 "the stage is empty, and its first phase ends only when consumers have used what the producer "
			 "has not given yet.",
		.fix = "A producer begins with phase 1, a consumer with phase 0 (CUTLASS: make_producer_start_state).",
		.sources = "docs/hardware/hopper.md#symptoms-4; Dao-AILab/flash-attention#1317; NVIDIA/TensorRT-LLM#12835",
		.example = "run mbarrier-pipeline --bug first-phase",
		.twin = "run mbarrier-pipeline",
	},
	.rank = BF_RANK_STUCK,
	.end_queue = end_queue,
};
