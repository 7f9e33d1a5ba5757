#include <inttypes.h>

#include "traces/rules/hopper/hopper.h"

static void on(struct bf_rule_run *r, const struct bf_seen *e)
{
	const struct bf_seen_hopper_hazard *h = &e->hopper_hazard;
	const struct bf_hopper_rule_now *n = bf_hopper_rule_now(r);
	struct bf_finding *f;

	if (h->event != BF_HAZARD_WENT_ON || !n->bar || !n->warp || n->warp->came_back == BF_HOPPER_REFUSED)
		return;
	f = bf_rule_find(r, e, n->queue);
	if (!f)
		return;
	bf_finding_index(f, h->address);
	bf_finding_say(f,
		       "warp %" PRIu64 " of block %" PRIu64
		       " went on although its wait on %s had come back false%s: try_wait may return "
		       "before the phase is over and belongs in a loop",
		       h->warp, h->block, bf_hopper_rule_bar_text(n->bar).s,
		       n->warp->came_back == BF_HOPPER_EXPIRED ? " at its time limit" : "");
}

const struct bf_rule bf_rule_hopper_try_once = {
	.about = {
		.id = "HOPPER-TRY-ONCE",
		.family = "hopper",
		.title = "a try_wait that returned is treated as success",
		.severity = BF_SEVERITY_ERROR,
		.hardware = "try_wait may return false before the phase is over: at its time limit (about 3.9 us on an H200), when not all lanes wait together, when the buffer is full.",
		.wrong = "A thread went on although its wait had come back false.",
		.fix = "Loop until try_wait returns true.",
		.sources = "docs/hardware/hopper.md#symptoms-20; NVIDIA/cccl#7538; llvm/llvm-project#171916",
		.example = "run mbarrier-pipeline --bug try-once",
		.twin = "run mbarrier-pipeline --pace 9us",
	},
	.rank = BF_RANK_INDEX,
	.records = BF_SEES(hopper_hazard),
	.on = on,
};
