#include "traces/rules/hopper/hopper.h"

static void on(struct bf_rule_run *r, const struct bf_seen *e)
{
	if (e->hopper_bulk_fault.reason >= BF_BULK_FAULT_WINDOW && e->hopper_bulk_fault.reason != BF_BULK_FAULT_GONE)
		bf_hopper_rule_copy_refused(r, e);
}

const struct bf_rule bf_rule_hopper_bulk_address = {
	.about = {
		.id = "HOPPER-BULK-ADDRESS",
		.family = "hopper",
		.title = "a bulk copy to an address outside memory",
		.severity = BF_SEVERITY_ERROR,
		.hardware = "A copy's ends lie in the window of a block of the cluster and in mapped global memory; a tensor map describes the latter.",
		.wrong = "A copy was issued to an address outside of the block's shared memory, to a block that is not there, or with a tensor map that says nothing valid.",
		.fix = "Check the offset of the stage against the dynamic shared memory of the launch.",
		.sources = "PTX ISA 9.0, cp.async.bulk; docs/hardware/hopper.md#copies-1",
		.example = "run mbarrier-pipeline --bug far-stage",
		.twin = "run mbarrier-pipeline",
	},
	.rank = BF_RANK_REFUSED,
	.records = BF_SEES(hopper_bulk_fault),
	.on = on,
};
