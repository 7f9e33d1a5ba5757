#include <inttypes.h>

#include "traces/rules/hopper/hopper.h"

static void on(struct bf_rule_run *r, const struct bf_seen *e)
{
	const struct bf_hopper_rule_now *n = bf_hopper_rule_now(r);
	const uint32_t blocks = (uint32_t)__builtin_popcountll(e->hopper_label.ranks);
	const uint32_t warps = (uint32_t)__builtin_popcountll(e->hopper_label.warps);
	const uint32_t parties = blocks * warps * (uint32_t)e->hopper_label.each;
	struct bf_finding *f;

	if (!n->bar || !parties || parties == e->hopper_label.expected)
		return;
	f = bf_rule_find(r, e, n->queue);
	if (!f)
		return;
	bf_finding_since(f, n->bar->init_ps, n->bar->init_record);
	bf_finding_index(f, n->bar->address);
	bf_finding_say(f,
		       "%s was initialised for %" PRIu64 " arrivals a phase, but its parties (%s) make %" PRIu32
		       ": %" PRIu32 " block%s x %" PRIu32 " warp%s x %" PRIu64,
		       bf_hopper_rule_bar_text(n->bar).s, e->hopper_label.expected, n->bar->who, parties, blocks,
		       blocks == 1 ? "" : "s", warps, warps == 1 ? "" : "s", e->hopper_label.each);
}

const struct bf_rule bf_rule_hopper_arrive_count = {
	.about = {
		.id = "HOPPER-ARRIVE-COUNT",
		.family = "hopper",
		.title = "a barrier's arrival count differs from the arrivals that are made",
		.severity = BF_SEVERITY_ERROR,
		.hardware = "A phase is over when as many arrivals have come as the init said, and all bytes. Fewer leave it open forever; one more is a fault, or ends the next phase too early.",
		.wrong = "The count of the init is not that of the threads and blocks that arrive in a phase: lanes are counted where one of a warp arrives, or a block where all blocks of the cluster arrive.",
		.fix = "Count arrivals, not threads: warps that arrive, times the lanes of each that do, times the blocks of the cluster that reach the barrier.",
		.sources = "docs/hardware/hopper.md#symptoms-8; docs/hardware/hopper.md#symptoms-22; deepseek-ai/DeepGEMM#51; triton-lang/triton#9498; NVIDIA/cutlass#2404",
		.example = "run mbarrier-pipeline --bug empty-count",
		.twin = "run mbarrier-pipeline",
	},
	.rank = BF_RANK_SET_UP,
	.records = BF_SEES(hopper_label),
	.needs = BF_SEES(hopper_label),
	.on = on,
};
