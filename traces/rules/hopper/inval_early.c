#include <inttypes.h>

#include "traces/rules/hopper/hopper.h"

static void on(struct bf_rule_run *r, const struct bf_seen *e)
{
	const struct bf_hopper_rule_now *n = bf_hopper_rule_now(r);
	struct bf_finding *f;

	if (!n->bar || e->hopper_op.op != BF_SYNC_INVAL || !n->in_flight)
		return;
	f = bf_rule_find(r, e, n->queue);
	if (!f)
		return;
	bf_finding_index(f, n->bar->address);
	bf_finding_say(f, "%s invalidated %s with %" PRIu64 " bytes of copies still on their way to it",
		       bf_hopper_rule_warp_text(bf_hopper_rule_run(r), n->sm, n->slot).s,
		       bf_hopper_rule_bar_text(n->bar).s, n->in_flight);
}

const struct bf_rule bf_rule_hopper_inval_early = {
	.about = {
		.id = "HOPPER-INVAL-EARLY",
		.family = "hopper",
		.title = "a barrier is invalidated while copies still signal it",
		.severity = BF_SEVERITY_ERROR,
		.hardware = "A copy keeps the address of its barrier and counts its bytes there as they land, whatever has become of the word.",
		.wrong = "mbarrier.inval ended a barrier to which bulk copies had bytes to bring: they land on whatever comes to life there next.",
		.fix = "Wait for the phase that the last copy completes before the barrier is invalidated or initialised anew.",
		.sources = "docs/hardware/hopper.md#symptoms-17; triton-lang/triton#3858; PTX ISA 9.0, mbarrier",
		.example = "run mbarrier-pipeline --bug early-inval",
		.twin = "run mbarrier-pipeline",
	},
	.rank = BF_RANK_ENTRY,
	.records = BF_SEES(hopper_op),
	.on = on,
};
