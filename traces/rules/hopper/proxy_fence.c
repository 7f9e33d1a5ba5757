#include <inttypes.h>

#include "traces/rules/hopper/hopper.h"

static void on(struct bf_rule_run *r, const struct bf_seen *e)
{
	struct bf_finding *f = bf_rule_find(r, e, NULL);

	if (!f)
		return;
	bf_finding_index(f, e->hopper_stale_read.copy);
	bf_finding_say(f,
		       "copy %" PRIu64 " read %" PRIu64 " bytes from 0x%" PRIx64
		       " as they were before the plain stores of warp slot %" PRIu64
		       ", which no fence.proxy.async had made visible to it",
		       e->hopper_stale_read.copy, e->hopper_stale_read.bytes, e->hopper_stale_read.address,
		       e->hopper_stale_read.warp);
}

const struct bf_rule bf_rule_hopper_proxy_fence = {
	.about = {
		.id = "HOPPER-PROXY-FENCE",
		.family = "hopper",
		.title = "a copy reads bytes whose plain stores were not fenced",
		.severity = BF_SEVERITY_ERROR,
		.hardware = "Copies read shared memory through the async proxy, which sees a thread's plain stores after that thread's fence.proxy.async. A barrier between threads does not help.",
		.wrong = "A bulk store (or wgmma) read shared memory as it was before plain stores that no fence.proxy.async had made visible to it.",
		.fix = "fence.proxy.async.shared::cta in every thread that stored, after its last store and before the barrier that the issuing thread waits at.",
		.sources = "docs/hardware/hopper.md#symptoms-12; MoonshotAI/FlashKDA#24; inclusionAI/cuLA#114; tile-ai/tilelang#2634",
		.example = "run mbarrier-pipeline --bug no-proxy-fence",
		.twin = "run mbarrier-pipeline",
	},
	.rank = BF_RANK_DATA,
	.records = BF_SEES(hopper_stale_read),
	.on = on,
};
