#include <inttypes.h>

#include "traces/rules/hopper/hopper.h"

static void spoke(struct bf_rule_run *r, const struct bf_seen *e)
{
	const struct bf_seen_hopper_hazard *h = &e->hopper_hazard;
	struct bf_finding *f = bf_rule_find(r, e, NULL);

	if (f)
		bf_finding_say(f,
			       "one lane of warp %" PRIu64 " of block %" PRIu64 " speaks for its warp at 0x%" PRIx64
			       ", and lane %" PRIu64
			       " has touched shared memory since it met the others: nothing orders that before "
			       "(__syncwarp is missing)",
			       h->warp, h->block, h->address, h->by % 32);
}

static void on(struct bf_rule_run *r, const struct bf_seen *e)
{
	const struct bf_seen_hopper_hazard *h = &e->hopper_hazard;
	struct bf_finding *f;

	if (h->event == BF_HAZARD_FOR_OTHERS)
		spoke(r, e);
	if (h->event != BF_HAZARD_UNRELEASED || h->by_rank != h->rank)
		return;
	f = bf_rule_find(r, e, NULL);
	if (!f)
		return;
	bf_finding_say(f,
		       "warp %" PRIu64 " of block %" PRIu64 " read shared memory at 0x%" PRIx64
		       " before the store there by warp %" PRIu64 " lane %" PRIu64
		       " had been released to it: an arrival releases the stores of its own thread only (__syncwarp "
		       "is missing)",
		       h->warp, h->block, h->address, h->by / 32, h->by % 32);
}

const struct bf_rule bf_rule_hopper_release_lanes = {
	.about = {
		.id = "HOPPER-RELEASE-LANES",
		.family = "hopper",
		.title = "one lane arrives for stores of other lanes",
		.severity = BF_SEVERITY_ERROR,
		.hardware = "An arrival releases the stores of the thread that makes it, and no others.",
		.wrong = "A thread read shared memory before a store there of another lane had been released to it: one lane arrived for its warp without a warp barrier before.",
		.fix = "__syncwarp between the stores and the elected lane's arrival, or let every lane arrive.",
		.sources = "docs/hardware/hopper.md#symptoms-11; NVIDIA/cudnn-frontend#426",
		.example = "run mbarrier-ring --ordering adversarial --bug no-warp-sync",
		.twin = "run mbarrier-ring --ordering adversarial",
	},
	.rank = BF_RANK_DATA,
	.records = BF_SEES(hopper_hazard),
	.on = on,
};
