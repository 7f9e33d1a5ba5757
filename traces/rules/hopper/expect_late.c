#include <inttypes.h>

#include "traces/rules/hopper/hopper.h"

static void on(struct bf_rule_run *r, const struct bf_seen *e)
{
	const struct bf_hopper_rule_now *n = bf_hopper_rule_now(r);
	struct bf_finding *f;

	if (!n->late_expect)
		return;
	f = bf_rule_find(r, e, n->queue);
	if (!f)
		return;
	bf_finding_index(f, n->bar->address);
	bf_finding_say(f,
		       "%s expects %" PRIu64
		       " bytes on %s behind its arrival and the copy that brings them: the phase of that "
		       "arrival does not wait for them",
		       bf_hopper_rule_warp_text(bf_hopper_rule_run(r), n->sm, n->slot).s, e->hopper_op.tx,
		       bf_hopper_rule_bar_text(n->bar).s);
}

const struct bf_rule bf_rule_hopper_expect_late = {
	.about = {
		.id = "HOPPER-EXPECT-LATE",
		.family = "hopper",
		.title = "bytes are expected after the phase that they belong to",
		.severity = BF_SEVERITY_ERROR,
		.hardware = "A phase ends as soon as no arrival is pending and as many bytes have come as were expected: none, when nobody has said otherwise.",
		.wrong = "A thread arrived, started its copy, and expected the copy's bytes only then: the phase has ended without them.",
		.fix = "arrive.expect_tx before the copy, or expect_tx before the arrival.",
		.sources = "docs/hardware/hopper.md#copies-7; PTX ISA 9.0, mbarrier.expect_tx",
		.example = "run mbarrier-pipeline --bug late-expect",
		.twin = "run mbarrier-pipeline",
	},
	.rank = BF_RANK_INDEX + 1,
	.records = BF_SEES(hopper_op),
	.on = on,
};
