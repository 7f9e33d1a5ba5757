#include <inttypes.h>

#include "traces/rules/hopper/hopper.h"

static void end_queue(struct bf_rule_run *r, struct bf_rule_queue *q, bool complete)
{
	const struct bf_hopper_rule_barrier *b = bf_rule_facts(q);
	struct bf_finding *f;
	uint32_t block, warp;

	f = complete ? bf_hopper_rule_find_lack(r, q, BF_LACK_ENDED, &block, &warp) : NULL;
	if (!f)
		return;
	bf_finding_say(f,
		       "warp %" PRIu32 " of block %" PRIu32 " has finished its work after %" PRIu32
		       " arrivals on %s, where %" PRIu32 " are due: the parties run different numbers of iterations",
		       warp, block, (uint32_t)f->n[0], bf_hopper_rule_bar_text(b).s, b->each * (b->phases + 1));
}

const struct bf_rule bf_rule_hopper_trips = {
	.about = {
		.id = "HOPPER-TRIPS",
		.family = "hopper",
		.title = "parties run different numbers of iterations",
		.severity = BF_SEVERITY_ERROR,
		.hardware = "A phase needs the arrival of every party. One that has ended its loop makes none.",
		.wrong = "A warp has finished its work with fewer arrivals than the others wait for: loops of blocks of a cluster, or of producer and consumer, have different trip counts.",
		.fix = "Give all parties the same number of rounds, or let those with fewer go on arriving.",
		.sources = "docs/hardware/hopper.md#symptoms-9; deepseek-ai/DeepGEMM#429",
		.example = "run mbarrier-cluster --bug trips",
		.twin = "run mbarrier-cluster",
	},
	.rank = BF_RANK_STUCK + 5,
	.end_queue = end_queue,
};
