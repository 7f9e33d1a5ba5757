#include <inttypes.h>

#include "traces/rules/hopper/hopper.h"

static void on(struct bf_rule_run *r, const struct bf_seen *e)
{
	struct bf_hopper_rule_barrier *b;
	struct bf_rule_queue *q;
	struct bf_finding *f;
	uint32_t sm, address;

	if (e->hopper_fault.reason != BF_MBAR_FAULT_TX_COUNT && e->hopper_fault.reason != BF_MBAR_FAULT_TX_RANGE)
		return;
	q = bf_hopper_rule_fault_at(r, e, &sm, &address);
	f = q ? bf_rule_find(r, e, q) : NULL;
	if (!f)
		return;
	b = bf_hopper_rule_bar(q);
	bf_finding_index(f, b->address);
	bf_finding_say(f, "%s, with %" PRId32 " bytes outstanding, got a count of bytes that goes beyond 2^20 - 1",
		       bf_hopper_rule_bar_text(b).s, bf_mbar_tx(e->hopper_fault.word));
}

const struct bf_rule bf_rule_hopper_tx_range = {
	.about = {
		.id = "HOPPER-TX-RANGE",
		.family = "hopper",
		.title = "more bytes than a barrier can count",
		.severity = BF_SEVERITY_ERROR,
		.hardware = "The bytes outstanding are a signed 21-bit number, -(2^20-1) to 2^20-1. An H200 faults on a single count of 2^20 and on sums beyond.",
		.wrong = "expect_tx announces 2^20 bytes or more, or several copies on one barrier together do.",
		.fix = "Split the load over several barriers or phases.",
		.sources = "docs/hardware/hopper.md#word-3; PTX ISA 9.0, mbarrier.expect_tx",
		.example = "run mbarrier-pipeline --bug tx-range",
		.twin = "run mbarrier-pipeline",
	},
	.rank = BF_RANK_REFUSED,
	.records = BF_SEES(hopper_fault),
	.on = on,
};
