#include <inttypes.h>

#include "traces/rules/hopper/hopper.h"

static void end_queue(struct bf_rule_run *r, struct bf_rule_queue *q, bool complete)
{
	const struct bf_hopper_rule_barrier *b = bf_rule_facts(q);
	struct bf_finding *f;
	uint32_t block, warp;

	f = complete ? bf_hopper_rule_find_lack(r, q, BF_LACK_FEWER, &block, &warp) : NULL;
	if (!f)
		return;
	bf_finding_say(f, "%s expects %" PRIu64 " bytes that no copy brings: the count of expect_tx is too large",
		       bf_hopper_rule_bar_text(b).s, b->armed - b->brought);
}

const struct bf_rule bf_rule_hopper_expect_more = {
	.about = {
		.id = "HOPPER-EXPECT-MORE",
		.family = "hopper",
		.title = "more bytes are expected than copies bring",
		.severity = BF_SEVERITY_ERROR,
		.hardware = "A phase ends when exactly the expected bytes have come.",
		.wrong = "expect_tx announces bytes that no copy brings: a factor of the cluster's size too many, another element size, copies that were left out.",
		.fix = "Expect the bytes that land in this block, from all blocks that send here, and no more.",
		.sources = "docs/hardware/hopper.md#symptoms-7; tile-ai/tilelang#2644",
		.example = "run mbarrier-cluster --bug tx-ranks",
		.twin = "run mbarrier-cluster",
	},
	.rank = BF_RANK_STUCK + 2,
	.end_queue = end_queue,
};
