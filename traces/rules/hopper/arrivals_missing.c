#include <inttypes.h>

#include "traces/rules/hopper/hopper.h"

static void end_queue(struct bf_rule_run *r, struct bf_rule_queue *q, bool complete)
{
	const struct bf_hopper_rule_barrier *b = bf_rule_facts(q);
	struct bf_finding *f;
	uint32_t block, warp;

	f = complete ? bf_hopper_rule_find_lack(r, q, BF_LACK_SOMETHING, &block, &warp) : NULL;
	if (!f)
		return;
	bf_finding_say(f,
		       "%s lacks %" PRIu32 " of %" PRIu32 " arrivals in phase %" PRIu32 " while warp %" PRIu32
		       " of block %" PRIu32 " waits for it, and whoever could make them waits, too",
		       bf_hopper_rule_bar_text(b).s, bf_mbar_pending(b->word), bf_mbar_expected(b->word), b->phases,
		       warp, block);
}

const struct bf_rule bf_rule_hopper_arrivals_missing = {
	.about = {
		.id = "HOPPER-ARRIVALS-MISSING",
		.family = "hopper",
		.title = "arrivals that nobody will make",
		.severity = BF_SEVERITY_ERROR,
		.hardware = "A phase stays open until every arrival of its count has come. A parked warp is woken by nothing else but its time limit, and tries again.",
		.wrong = "All warps wait, in a ring or for arrivals that no thread makes: the count of the init is too large for who arrives, or the order of waits is a cycle.",
		.fix = "Compare the arrivals that came with the count; then follow who should arrive to what it waits for itself.",
		.sources = "docs/hardware/hopper.md#symptoms-21; triton-lang/triton#8285",
		.example = "run mbarrier-pingpong --stages 1 --bug empty-count",
		.twin = "run mbarrier-pingpong --stages 1",
	},
	.rank = BF_RANK_EFFECT,
	.end_queue = end_queue,
};
