#include <inttypes.h>

#include "traces/rules/hopper/hopper.h"

static void on(struct bf_rule_run *r, const struct bf_seen *e)
{
	const struct bf_hopper_rule_now *n = bf_hopper_rule_now(r);
	struct bf_finding *f = e->hopper_wait.event == BF_HOPPER_REFUSED && n->bar ? bf_rule_find(r, e, NULL) : NULL;

	if (f)
		bf_finding_say(f, "the wait of %s on %s found all entries of the try-wait buffer taken, and polls",
			       bf_hopper_rule_warp_text(bf_hopper_rule_run(r), n->sm, n->slot).s,
			       bf_hopper_rule_bar_text(n->bar).s);
}

const struct bf_rule bf_rule_hopper_wait_buffer = {
	.about = {
		.id = "HOPPER-WAIT-BUFFER",
		.family = "hopper",
		.title = "more warps wait than the try-wait buffer holds",
		.severity = BF_SEVERITY_NOTE,
		.hardware = "An SM parks 32 waiting warps. The wait of any other returns false at once, and its loop polls, which takes issue slots and slows the unit for all.",
		.wrong = "A try_wait found no free entry.",
		.fix = "Let fewer warps wait at a time: one for each group, the others at a block or named barrier after it.",
		.sources = "docs/hardware/hopper.md#try-wait-buffer-1",
		.example = "run mbarrier-pipeline --profile h200,pool_entries=2",
		.twin = "run mbarrier-pipeline",
	},
	.rank = BF_RANK_SPEED,
	.records = BF_SEES(hopper_wait),
	.on = on,
};
