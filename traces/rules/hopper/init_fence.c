#include <inttypes.h>

#include "traces/rules/hopper/hopper.h"

static void on(struct bf_rule_run *r, const struct bf_seen *e)
{
	const struct bf_hopper_rule_now *n = bf_hopper_rule_now(r);
	struct bf_finding *f;

	if (!n->bar || !n->bar->inited || n->bar->fenced ||
	    (e->kind == BF_SEEN_hopper_op && (!e->hopper_op.remote || n->by_copy)))
		return;
	f = bf_rule_find(r, e, n->queue);
	if (!f)
		return;
	bf_finding_since(f, n->bar->init_ps, n->bar->init_record);
	bf_finding_index(f, n->bar->address);
	bf_finding_say(f, "%s, initialised by %s, is %s, and no fence.mbarrier_init of that warp came in between",
		       bf_hopper_rule_bar_text(n->bar).s,
		       bf_hopper_rule_warp_text(bf_hopper_rule_run(r), n->bar->sm, n->bar->init_slot).s,
		       e->kind == BF_SEEN_hopper_bulk ? "named by a bulk copy" : "reached from another block");
}

const struct bf_rule bf_rule_hopper_init_fence = {
	.about = {
		.id = "HOPPER-INIT-FENCE",
		.family = "hopper",
		.title = "a copy or another block uses a barrier whose init was not fenced",
		.severity = BF_SEVERITY_WARNING,
		.hardware = "An init is a weak operation of one thread. The copy engine and other blocks are guaranteed to " "see it only after fence.mbarrier_init (or fence.proxy.async), and the barrier of block or " "cluster behind it.",
		.wrong = "A bulk copy names a barrier, or another block reaches it, and its initialising thread has executed no fence since the init: a copy may signal what is not a barrier yet.",
		.fix = "Execute fence.mbarrier_init.release.cluster once, in the initialising thread, after the last init and before the block or cluster barrier.",
		.sources = "docs/hardware/hopper.md#symptoms-2; MoonshotAI/FlashKDA#24; MoonshotAI/FlashKDA#25; facebookexperimental/triton#1240",
		.example = "run mbarrier-pipeline --bug no-init-fence",
		.twin = "run mbarrier-pipeline",
	},
	.rank = BF_RANK_LUCK,
	.records = BF_SEES(hopper_op, hopper_bulk),
	.on = on,
};
