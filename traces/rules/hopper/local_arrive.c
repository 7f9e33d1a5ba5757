#include <inttypes.h>

#include "traces/rules/hopper/hopper.h"

static void on(struct bf_rule_run *r, const struct bf_seen *e)
{
	const struct bf_hopper_rule_now *n = bf_hopper_rule_now(r);
	const struct bf_hopper_rule_barrier *b = n->bar;
	struct bf_finding *f;

	if (!n->foreign)
		return;
	f = bf_rule_find(r, e, n->queue);
	if (!f)
		return;
	bf_finding_index(f, n->bar->address);
	bf_finding_say(f,
		       "%s arrived on %s %" PRIu32 " times at once, where its share of a phase is %" PRIu32
		       ": the others are meant for other blocks of the cluster, whose addresses were not mapped",
		       bf_hopper_rule_warp_text(bf_hopper_rule_run(r), n->sm, n->slot).s,
		       bf_hopper_rule_bar_text(n->bar).s, n->arrivals, b->each);
}

const struct bf_rule bf_rule_hopper_local_arrive = {
	.about = {
		.id = "HOPPER-LOCAL-ARRIVE",
		.family = "hopper",
		.title = "an arrival for another block goes to the block's own barrier",
		.severity = BF_SEVERITY_ERROR,
		.hardware = "An address of shared memory means the executing block unless it was mapped (mapa) to a rank; " "the local form of an arrive reads it that way.",
		.wrong = "A warp of a cluster arrived on its own block's barrier once for every block. The peers' "
			 "barriers never get these arrivals.",
		.fix = "Map the address (mapa.shared::cluster) and use the .shared::cluster form of the arrive.",
		.sources = "docs/hardware/hopper.md#symptoms-15; apache/tvm#20074",
		.example = "run mbarrier-cluster --bug local-arrive",
		.twin = "run mbarrier-cluster",
	},
	.rank = BF_RANK_INDEX,
	.records = BF_SEES(hopper_op),
	.on = on,
};
