#include <inttypes.h>

#include "traces/rules/hopper/hopper.h"

static void on(struct bf_rule_run *r, const struct bf_seen *e)
{
	const struct bf_hopper_rule_now *n = bf_hopper_rule_now(r);
	const struct bf_hopper_rule_barrier *b = n->bar;
	struct bf_finding *f;

	if (!n->extra)
		return;
	f = bf_rule_find(r, e, n->queue);
	if (!f)
		return;
	bf_finding_index(f, n->bar->address);
	bf_finding_say(
	    f, "%s has arrived %" PRIu32 " times on %s with no wait in between; its share of a phase is %" PRIu32,
	    bf_hopper_rule_warp_text(bf_hopper_rule_run(r), n->sm, n->slot).s, n->party->since_wait,
	    bf_hopper_rule_bar_text(n->bar).s, b->each);
}

const struct bf_rule bf_rule_hopper_extra_arrival = {
	.about = {
		.id = "HOPPER-EXTRA-ARRIVAL",
		.family = "hopper",
		.title = "a warp arrives more often than its share of a phase",
		.severity = BF_SEVERITY_ERROR,
		.hardware = "A barrier counts arrivals and does not know who made them: an extra arrival of one warp counts " "as one that another has yet to make.",
		.wrong = "A warp arrived on a barrier once more than it does in a phase, so the phase ends before everybody has come, or the count is exceeded.",
		.fix = "One arrival for each party and phase. Look for a second release on some path, and for a wrong barrier or stage.",
		.sources = "docs/hardware/hopper.md#symptoms-21; triton-lang/triton#8285",
		.example = "run mbarrier-pipeline --bug extra-arrive",
		.twin = "run mbarrier-pipeline",
	},
	.rank = BF_RANK_INDEX,
	.records = BF_SEES(hopper_op),
	.on = on,
};
