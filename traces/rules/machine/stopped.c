#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "traces/rules/machine/machine.h"

struct state {
	char text[256];
	uint64_t at_ps, record;
};

static void on(struct bf_rule_run *r, const struct bf_seen *e)
{
	struct state *s = r->state;

	if (e->run_failed.code == EFAULT)
		return; /* MACHINE-WILD */
	snprintf(s->text, sizeof(s->text), "%.*s", (int)e->tail_len, (const char *)e->tail);
	s->at_ps = e->time_ps;
	s->record = e->number;
}

static void end(struct bf_rule_run *r, bool complete)
{
	const struct state *s = r->state;
	struct bf_finding *f = s->text[0] ? bf_rule_find(r, NULL, NULL) : NULL;

	(void)complete;
	if (!f)
		return;
	f->found.at_ps = s->at_ps;
	bf_finding_since(f, s->at_ps, s->record);
	bf_finding_say(f, "%s", s->text);
}

const struct bf_rule bf_rule_machine_stopped = {
	.about = {
		.id = "MACHINE-STOPPED",
		.family = "machine",
		.title = "set-up was refused, or the run was stopped",
		.severity = BF_SEVERITY_ERROR,
		.hardware = "A device refuses what it cannot do.",
		.wrong = "A value that host code computes is outside what the device allows.",
		.fix = "The text names the call, the value and what was allowed. Compare that value with the place where it is "
		       "computed.",
		.sources = "docs/rules.md",
		.test = "tests/tools/test_lint_net.sh",
		.why = "No driver of ours does so; the test asks for more than a controller has.",
	},
	.rank = BF_RANK_NET + 2,
	.net = 3,
	.records = BF_SEES(run_failed),
	.state_bytes = sizeof(struct state),
	.on = on,
	.end = end,
};
