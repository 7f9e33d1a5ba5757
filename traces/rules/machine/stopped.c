#include <stdio.h>

#include "traces/rules/machine/machine.h"

static void on(struct bf_rule_run *r, const struct bf_seen *e)
{
	struct bf_finding *f = bf_rule_find(r, e, NULL);

	if (f)
		bf_finding_say(f, "%.*s", (int)e->tail_len, (const char *)e->tail);
}

const struct bf_rule bf_rule_machine_stopped = {
	.about = {
		.id = "MACHINE-STOPPED",
		.family = "machine",
		.title = "set-up was refused, or the run was stopped",
		.severity = BF_SEVERITY_ERROR,
		.hardware = "A device refuses what it cannot do, and a processor stops a thread that touches an address where "
			    "nothing lies.",
		.wrong = "A value that host code computes is outside what the device allows, or a thread went over the end of "
			 "its memory: sizes or bases of a ring, a table or a buffer differ between who made it and who uses it.",
		.fix = "The text names the call, the value and what was allowed, or the memory whose end was passed. Compare "
		       "that value with the place where it is computed.",
		.sources = "docs/rules.md",
		.test = "tests/tools/test_lint_net.sh",
		.why = "No driver of ours does so; the test asks for more than a controller has.",
	},
	.rank = BF_RANK_NET - 3,
	.records = BF_SEES(run_failed),
	.on = on,
};
