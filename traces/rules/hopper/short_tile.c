#include <inttypes.h>

#include "traces/rules/hopper/hopper.h"

static void end_queue(struct bf_rule_run *r, struct bf_rule_queue *q, bool complete)
{
	const struct bf_hopper_rule_barrier *b = bf_rule_facts(q);
	struct bf_finding *f;
	uint32_t block, warp;

	f = complete ? bf_hopper_rule_find_lack(r, q, BF_LACK_TILE, &block, &warp) : NULL;
	if (!f)
		return;
	bf_finding_say(f,
		       "%s expects %" PRIu64 " bytes, as in the phase before, and its copies bring %" PRIu64
		       " this time: the tile is a partial one",
		       bf_hopper_rule_bar_text(b).s, b->armed - b->armed_before, b->brought - b->brought_before);
}

const struct bf_rule bf_rule_hopper_short_tile = {
	.about = {
		.id = "HOPPER-SHORT-TILE",
		.family = "hopper",
		.title = "the last tile brings fewer bytes than are expected",
		.severity = BF_SEVERITY_ERROR,
		.hardware = "A plain bulk copy brings the bytes that it names; only a tensor copy fills what lies outside and counts the whole box.",
		.wrong = "The last copy is shorter than those before (a partial tile), and expect_tx still announces a whole one.",
		.fix = "Expect the bytes of this tile's copy, or copy by tensor map.",
		.sources = "docs/hardware/hopper.md#copies-5",
		.example = "run mbarrier-pipeline --bug short-tile",
		.twin = "run mbarrier-pipeline",
	},
	.rank = BF_RANK_STUCK + 2,
	.end_queue = end_queue,
};
