#include <inttypes.h>

#include "traces/rules/hopper/hopper.h"

static void on(struct bf_rule_run *r, const struct bf_seen *e)
{
	const struct bf_hopper_rule_now *n = bf_hopper_rule_now(r);
	struct bf_finding *f;

	if (e->kind == BF_SEEN_hopper_label) {
		f = n->bar && n->was[0] ? bf_rule_find(r, e, n->queue) : NULL;
		if (f) {
			bf_finding_index(f, n->bar->address);
			bf_finding_say(f,
				       "%s lies where %s is, which is alive: two barriers in one place, and each one's "
				       "arrivals count for the other",
				       bf_hopper_rule_bar_text(n->bar).s, n->was);
		}
		return;
	}
	if (!n->bar || e->hopper_op.op != BF_SYNC_INIT || !n->was_alive || !n->was_other)
		return;
	f = bf_rule_find(r, e, n->queue);
	if (!f)
		return;
	bf_finding_index(f, n->bar->address);
	bf_finding_say(
	    f, "%s was initialised again by %s while it was alive: arrivals and bytes that had come to it are lost",
	    bf_hopper_rule_bar_text(n->bar).s, bf_hopper_rule_warp_text(bf_hopper_rule_run(r), n->sm, n->slot).s);
}

const struct bf_rule bf_rule_hopper_init_twice = {
	.about = {
		.id = "HOPPER-INIT-TWICE",
		.family = "hopper",
		.title = "a live barrier is initialised again",
		.severity = BF_SEVERITY_ERROR,
		.hardware = "An init over a live barrier resets it: phase 0, all arrivals pending, no bytes. The hardware does not object.",
		.wrong = "Two warps initialise the same barrier, or two barriers were given one place: arrivals and bytes that had come to it before the second init are lost, and waits see phases that did not happen.",
		.fix = "Let one thread initialise, and all others wait for it; before the bytes become another barrier, mbarrier.inval.",
		.sources = "docs/hardware/hopper.md#symptoms-17; triton-lang/triton#3858; facebookexperimental/triton#462; triton-lang/triton#11244",
		.example = "run mbarrier-pipeline --bug init-twice",
		.twin = "run mbarrier-pipeline",
	},
	.rank = BF_RANK_ENTRY,
	.records = BF_SEES(hopper_op, hopper_label),
	.on = on,
};
