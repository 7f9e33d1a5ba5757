#include <inttypes.h>

#include "traces/rules/hopper/hopper.h"

static void end_queue(struct bf_rule_run *r, struct bf_rule_queue *q, bool complete)
{
	const struct bf_hopper_rule_barrier *b = bf_rule_facts(q);
	struct bf_finding *f;
	uint32_t block, warp;

	f = complete ? bf_hopper_rule_find_lack(r, q, BF_LACK_SKIPPED, &block, &warp) : NULL;
	if (!f)
		return;
	bf_finding_say(f,
		       "%s lacks an arrival of warp %" PRIu32 " of block %" PRIu32
		       ", which has arrived on later ones of its kind: it has left this one out once",
		       bf_hopper_rule_bar_text(b).s, warp, block);
}

const struct bf_rule bf_rule_hopper_skipped_arrival = {
	.about = {
		.id = "HOPPER-SKIPPED-ARRIVAL",
		.family = "hopper",
		.title = "a party skipped an arrival",
		.severity = BF_SEVERITY_ERROR,
		.hardware = "A phase stays open until every arrival of its count has come.",
		.wrong = "A warp has arrived on the barriers of later stages and not on this one: on some path it goes on without releasing.",
		.fix = "Release every stage that was acquired, on every path (continue, early break, predicates).",
		.sources = "docs/hardware/hopper.md#symptoms-21; triton-lang/triton#8285",
		.example = "run mbarrier-pipeline --bug skip-arrive",
		.twin = "run mbarrier-pipeline",
	},
	.rank = BF_RANK_STUCK + 4,
	.end_queue = end_queue,
};
