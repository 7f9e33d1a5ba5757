#include <inttypes.h>

#include "traces/rules/hopper/hopper.h"

static void on(struct bf_rule_run *r, const struct bf_seen *e)
{
	const struct bf_seen_hopper_hazard *h = &e->hopper_hazard;
	const struct bf_hopper_rule_now *n = bf_hopper_rule_now(r);
	struct bf_finding *f;

	if (h->event != BF_HAZARD_WENT_ON || !n->bar || !n->warp || n->warp->came_back != BF_HOPPER_REFUSED)
		return;
	f = bf_rule_find(r, e, n->queue);
	if (!f)
		return;
	bf_finding_index(f, h->address);
	bf_finding_say(f,
		       "warp %" PRIu64 " of block %" PRIu64
		       " went on although its wait on %s had come back false at once, for lack of an "
		       "entry in the try-wait buffer",
		       h->warp, h->block, bf_hopper_rule_bar_text(n->bar).s);
}

const struct bf_rule bf_rule_hopper_wait_refused = {
	.about = {
		.id = "HOPPER-WAIT-REFUSED",
		.family = "hopper",
		.title = "a try_wait that found the buffer full is treated as success",
		.severity = BF_SEVERITY_ERROR,
		.hardware = "An SM parks 32 warps. A try_wait that finds no entry of the try-wait buffer free returns false at once.",
		.wrong = "A thread went on although its wait had come back false: with that many waiting warps, try_wait does not wait at all.",
		.fix = "Loop until try_wait returns true; do not take it for a wait that blocks.",
		.sources = "docs/hardware/hopper.md#try-wait-buffer-1; docs/hardware/hopper.md#symptoms-20; NVIDIA/cccl#7538",
		.example = "run mbarrier-pipeline --profile h200,pool_entries=1 --bug try-once",
		.twin = "run mbarrier-pipeline --profile h200,pool_entries=1",
	},
	.rank = BF_RANK_INDEX,
	.records = BF_SEES(hopper_hazard),
	.on = on,
};
