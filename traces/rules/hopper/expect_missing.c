#include <inttypes.h>

#include "traces/rules/hopper/hopper.h"

static void end_queue(struct bf_rule_run *r, struct bf_rule_queue *q, bool complete)
{
	const struct bf_hopper_rule_barrier *b = bf_rule_facts(q);
	struct bf_finding *f;
	uint32_t block, warp;

	f = complete ? bf_hopper_rule_find_lack(r, q, BF_LACK_EXPECT, &block, &warp) : NULL;
	if (!f)
		return;
	bf_finding_say(f, "copies bring %" PRIu64 " bytes to %s, where nobody has expected any", b->brought,
		       bf_hopper_rule_bar_text(b).s);
}

const struct bf_rule bf_rule_hopper_expect_missing = {
	.about = {
		.id = "HOPPER-EXPECT-MISSING",
		.family = "hopper",
		.title = "copies bring bytes that nobody expects",
		.severity = BF_SEVERITY_ERROR,
		.hardware = "A phase waits for bytes only when expect_tx has announced them. Bytes that nobody announced make the count negative: the phase of the arrival has ended without them, and the next cannot end.",
		.wrong = "Bulk copies signal a barrier on which no bytes were ever expected: whoever waits goes on before the data are there.",
		.fix = "arrive.expect_tx with the bytes of all copies of the phase.",
		.sources = "docs/hardware/hopper.md#copies-4; PTX ISA 9.0, cp.async.bulk",
		.example = "run mbarrier-pipeline --bug no-expect",
		.twin = "run mbarrier-pipeline",
	},
	.rank = BF_RANK_STUCK + 2,
	.end_queue = end_queue,
};
