#include <inttypes.h>

#include "traces/rules/hopper/hopper.h"

static void on(struct bf_rule_run *r, const struct bf_seen *e)
{
	const struct bf_seen_hopper_hazard *h = &e->hopper_hazard;
	struct bf_finding *f;

	if (h->event != BF_HAZARD_READ)
		return;
	f = bf_rule_find(r, e, NULL);
	if (!f)
		return;
	bf_finding_say(
	    f,
	    "warp %" PRIu64 " of block %" PRIu64 " starts a copy to 0x%" PRIx64
	    ", which it has read since its last fence.proxy.async: the copy and the loads are of different proxies",
	    h->warp, h->block, h->address);
}

const struct bf_rule bf_rule_hopper_load_fence = {
	.about = {
		.id = "HOPPER-LOAD-FENCE",
		.family = "hopper",
		.title = "a copy overwrites what its warp has just read",
		.severity = BF_SEVERITY_WARNING,
		.hardware = "Plain accesses and copies go through different proxies. That a load was before the copy orders them formally by arrive and wait; races were seen in practice.",
		.wrong = "A warp started a bulk load into bytes that its own lanes had read since its last fence.proxy.async.",
		.fix = "fence.proxy.async.shared::cta after the reads and before the copy.",
		.sources = "docs/hardware/hopper.md#symptoms-13; deepseek-ai/DeepEP#642; deepseek-ai/DeepEP#621",
		.example = "run mbarrier-pipeline --bug read-again",
		.twin = "run mbarrier-pipeline --style guide",
	},
	.rank = BF_RANK_LUCK,
	.records = BF_SEES(hopper_hazard),
	.on = on,
};
