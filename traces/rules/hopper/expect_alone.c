#include <inttypes.h>

#include "traces/rules/hopper/hopper.h"

static void end_queue(struct bf_rule_run *r, struct bf_rule_queue *q, bool complete)
{
	const struct bf_hopper_rule_barrier *b = bf_rule_facts(q);
	struct bf_finding *f;
	uint32_t block, warp;

	f = complete ? bf_hopper_rule_find_lack(r, q, BF_LACK_ARRIVAL, &block, &warp) : NULL;
	if (!f)
		return;
	bf_finding_say(f,
		       "%s got bytes by expect_tx without an arrival (%" PRIu32 " of %" PRIu32
		       " arrivals are missing): expect_tx arrives nowhere, mbarrier.arrive.expect_tx does",
		       bf_hopper_rule_bar_text(b).s, bf_mbar_pending(b->word), bf_mbar_expected(b->word));
}

const struct bf_rule bf_rule_hopper_expect_alone = {
	.about = {
		.id = "HOPPER-EXPECT-ALONE",
		.family = "hopper",
		.title = "expect_tx without an arrival",
		.severity = BF_SEVERITY_ERROR,
		.hardware = "mbarrier.expect_tx raises the bytes that a phase waits for and arrives nowhere; mbarrier.arrive.expect_tx does both.",
		.wrong = "Bytes were expected and came, but the arrival that the init counts never did, so the phase stays open.",
		.fix = "mbarrier.arrive.expect_tx, or an arrive after the expect_tx.",
		.sources = "docs/hardware/hopper.md#symptoms-6; tile-ai/tilelang#2566",
		.example = "run mbarrier-pipeline --bug expect-only",
		.twin = "run mbarrier-pipeline",
	},
	.rank = BF_RANK_STUCK,
	.end_queue = end_queue,
};
