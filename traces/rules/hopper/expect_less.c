#include <inttypes.h>

#include "traces/rules/hopper/hopper.h"

static void end_queue(struct bf_rule_run *r, struct bf_rule_queue *q, bool complete)
{
	const struct bf_hopper_rule_barrier *b = bf_rule_facts(q);
	struct bf_finding *f;
	uint32_t block, warp;

	f = complete ? bf_hopper_rule_find_lack(r, q, BF_LACK_MORE, &block, &warp) : NULL;
	if (!f)
		return;
	bf_finding_say(f,
		       "copies bring %" PRIu64
		       " bytes more to %s than were expected: the count of expect_tx is too small, and a phase ends "
		       "at zero, not below",
		       b->brought - b->armed, bf_hopper_rule_bar_text(b).s);
}

const struct bf_rule bf_rule_hopper_expect_less = {
	.about = {
		.id = "HOPPER-EXPECT-LESS",
		.family = "hopper",
		.title = "fewer bytes are expected than copies bring",
		.severity = BF_SEVERITY_ERROR,
		.hardware = "A phase ends when exactly the expected bytes have come; bytes beyond make the count negative, and it is then no longer zero.",
		.wrong = "Copies bring more than expect_tx said: a multicast from all blocks where a block expects its own share, a box that counts its padding, a rounded size.",
		.fix = "Expect what lands: the whole box, out-of-bounds fill included, from all blocks that send here.",
		.sources = "docs/hardware/hopper.md#symptoms-7; docs/hardware/hopper.md#copies-4; tile-ai/tilelang#2644",
		.example = "run mbarrier-cluster --bug multicast-bytes",
		.twin = "run mbarrier-cluster",
	},
	.rank = BF_RANK_STUCK + 2,
	.end_queue = end_queue,
};
