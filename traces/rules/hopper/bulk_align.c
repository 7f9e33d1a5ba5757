#include "traces/rules/hopper/hopper.h"

static void on(struct bf_rule_run *r, const struct bf_seen *e)
{
	if (e->hopper_bulk_fault.reason == BF_BULK_FAULT_ALIGN)
		bf_hopper_rule_copy_refused(r, e);
}

const struct bf_rule bf_rule_hopper_bulk_align = {
	.about = {
		.id = "HOPPER-BULK-ALIGN",
		.family = "hopper",
		.title = "a bulk copy at an address that is not aligned",
		.severity = BF_SEVERITY_ERROR,
		.hardware = "Both ends of a bulk copy are aligned to 16 bytes, those of a tensor copy in shared memory to 128, its barrier to 8.",
		.wrong = "A copy was issued with an address that is not; the kernel ends with a fault.",
		.fix = "Align stages (alignas(128)) and keep offsets multiples of 16.",
		.sources = "PTX ISA 9.0, cp.async.bulk; docs/hardware/hopper.md#copies-1",
		.example = "run mbarrier-pipeline --bug odd-address",
		.twin = "run mbarrier-pipeline",
	},
	.rank = BF_RANK_REFUSED,
	.records = BF_SEES(hopper_bulk_fault),
	.on = on,
};
