#include <inttypes.h>

#include "traces/rules/hopper/hopper.h"

static void end_queue(struct bf_rule_run *r, struct bf_rule_queue *q, bool complete)
{
	const struct bf_hopper_rule_barrier *b = bf_rule_facts(q);
	struct bf_finding *f;
	uint32_t block, warp;

	f = complete ? bf_hopper_rule_find_lack(r, q, BF_LACK_COUNTED, &block, &warp) : NULL;
	if (!f)
		return;
	bf_finding_say(f,
		       "cp.async.mbarrier.arrive on %s counts itself, so the %" PRIu32
		       " arrivals of its init never come: the form that an init counts is .noinc",
		       bf_hopper_rule_bar_text(b).s, bf_mbar_expected(b->word));
}

const struct bf_rule bf_rule_hopper_counted_arrive = {
	.about = {
		.id = "HOPPER-COUNTED-ARRIVE",
		.family = "hopper",
		.title = "cp.async.mbarrier.arrive without .noinc where the init counts it",
		.severity = BF_SEVERITY_ERROR,
		.hardware = "cp.async.mbarrier.arrive raises the count before it arrives, so it is nobody's arrival; with .noinc it is one that the init has counted.",
		.wrong = "The barrier was initialised for arrivals of threads whose cp.async arrive count themselves: the arrivals of the init never come.",
		.fix = "cp.async.mbarrier.arrive.noinc, with the threads in the init's count.",
		.sources = "docs/hardware/hopper.md#symptoms-10; kekzl/imp#1958; PTX ISA 9.0, cp.async.mbarrier.arrive",
		.example = "run mbarrier-ampere --by-barrier --bug async-inc",
		.twin = "run mbarrier-ampere --by-barrier",
	},
	.rank = BF_RANK_STUCK,
	.end_queue = end_queue,
};
