#include <inttypes.h>

#include "traces/rules/hopper/hopper.h"

#define MANY 16u

struct arrivals {
	uint32_t phase[BF_HOPPER_SLOTS];
	uint32_t n[BF_HOPPER_SLOTS];
};

static void on(struct bf_rule_run *r, const struct bf_seen *e)
{
	const struct bf_hopper_rule_now *n = bf_hopper_rule_now(r);
	struct bf_finding *f;
	struct arrivals *a;

	if (!n->bar || e->hopper_op.op != BF_SYNC_ARRIVE || e->hopper_op.remote || n->slot >= BF_HOPPER_SLOTS)
		return;
	a = bf_rule_queue_state(r, n->queue);
	if (a->phase[n->slot] != n->bar->phases)
		a->n[n->slot] = 0;
	a->phase[n->slot] = n->bar->phases;
	f = ++a->n[n->slot] == MANY ? bf_rule_find(r, e, NULL) : NULL;
	if (f)
		bf_finding_say(f, "%s arrived on %s by %u instructions within one phase",
			       bf_hopper_rule_warp_text(bf_hopper_rule_run(r), n->sm, n->slot).s,
			       bf_hopper_rule_bar_text(n->bar).s, MANY);
}

const struct bf_rule bf_rule_hopper_split_arrive = {
	.about = {
		.id = "HOPPER-SPLIT-ARRIVE",
		.family = "hopper",
		.title = "lanes of a warp arrive one after the other",
		.severity = BF_SEVERITY_NOTE,
		.hardware = "Lanes that arrive on one barrier in the same instruction are one operation of the unit; each instruction of its own takes its turn (7.6 cycles on an H200).",
		.wrong = "Lanes of one warp arrived on one barrier in many instructions in a row.",
		.fix = "Arrive with the warp converged, or let one lane arrive with a count after a __syncwarp.",
		.sources = "docs/hardware/hopper.md#timing-3",
		.example = "run mbarrier-pipeline --bug split-arrive",
		.twin = "run mbarrier-pipeline --style guide",
	},
	.rank = BF_RANK_SPEED,
	.records = BF_SEES(hopper_op),
	.queue_bytes = sizeof(struct arrivals),
	.on = on,
};
