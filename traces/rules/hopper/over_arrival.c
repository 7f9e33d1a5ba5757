#include <inttypes.h>

#include "traces/rules/hopper/hopper.h"

static void on(struct bf_rule_run *r, const struct bf_seen *e)
{
	struct bf_hopper_rule_barrier *b;
	struct bf_rule_queue *q;
	struct bf_finding *f;
	uint32_t sm, address;

	if ((e->hopper_fault.reason != BF_MBAR_FAULT_OVER_ARRIVAL &&
	     e->hopper_fault.reason != BF_MBAR_FAULT_ARRIVE_COUNT) ||
	    !bf_mbar_pending(e->hopper_fault.word))
		return;
	q = bf_hopper_rule_fault_at(r, e, &sm, &address);
	f = q ? bf_rule_find(r, e, q) : NULL;
	if (!f)
		return;
	b = bf_hopper_rule_bar(q);
	bf_finding_index(f, b->address);
	bf_finding_say(f,
		       "%s got more arrivals in a phase than it was initialised for (%" PRIu32 " of %" PRIu32
		       " were pending when too many came at once)",
		       bf_hopper_rule_bar_text(b).s, bf_mbar_pending(e->hopper_fault.word),
		       bf_mbar_expected(e->hopper_fault.word));
}

const struct bf_rule bf_rule_hopper_over_arrival = {
	.about = {
		.id = "HOPPER-OVER-ARRIVAL",
		.family = "hopper",
		.title = "more arrivals than a barrier counts",
		.severity = BF_SEVERITY_ERROR,
		.hardware = "An arrival beyond the pending count is undefined; an H200 ends the kernel with an unspecified launch failure.",
		.wrong = "In one phase more arrivals came than the init counts: all lanes of a warp arrive where one was counted, or somebody arrives twice.",
		.fix = "Let one elected lane arrive after a __syncwarp, or count all lanes in the init.",
		.sources = "docs/hardware/hopper.md#symptoms-8; triton-lang/triton#9498",
		.example = "run mbarrier-pipeline --bug count-arrive",
		.twin = "run mbarrier-pipeline",
	},
	.rank = BF_RANK_REFUSED,
	.records = BF_SEES(hopper_fault),
	.on = on,
};
