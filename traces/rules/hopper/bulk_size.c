#include <inttypes.h>

#include "traces/rules/hopper/hopper.h"

void bf_hopper_rule_copy_refused(struct bf_rule_run *r, const struct bf_seen *e)
{
	struct bf_finding *f = bf_rule_find(r, e, NULL);
	char why[32];

	if (!f)
		return;
	bf_finding_index(f, e->hopper_bulk_fault.copy);
	bf_finding_say(f,
		       "the copy between global memory at 0x%" PRIx64 " and shared memory at 0x%" PRIx64
		       ", of warp slot %" PRIu64 ", was refused: %s",
		       e->hopper_bulk_fault.global, e->hopper_bulk_fault.shared, e->hopper_bulk_fault.warp,
		       bf_seen_text(e, "reason", why, sizeof(why)));
}

static void on(struct bf_rule_run *r, const struct bf_seen *e)
{
	if (e->hopper_bulk_fault.reason == BF_BULK_FAULT_SIZE)
		bf_hopper_rule_copy_refused(r, e);
}

const struct bf_rule bf_rule_hopper_bulk_size = {
	.about = {
		.id = "HOPPER-BULK-SIZE",
		.family = "hopper",
		.title = "a bulk copy whose size is not a multiple of 16",
		.severity = BF_SEVERITY_ERROR,
		.hardware = "Bulk copies move multiples of 16 bytes, at least 16.",
		.wrong = "A copy was issued with another size; the kernel ends with a fault.",
		.fix = "Round the size, or copy the rest with plain accesses.",
		.sources = "PTX ISA 9.0, cp.async.bulk; docs/hardware/hopper.md#copies-1",
		.example = "run mbarrier-pipeline --bug odd-size",
		.twin = "run mbarrier-pipeline",
	},
	.rank = BF_RANK_REFUSED,
	.records = BF_SEES(hopper_bulk_fault),
	.on = on,
};
