#include <inttypes.h>

#include "traces/rules/machine/machine.h"

static void end(struct bf_rule_run *r, bool complete)
{
	const struct bf_machine *m = r->facts;
	const struct bf_machine_thread *t;
	struct bf_finding *f;
	uint64_t n;

	if (!complete || m->started <= m->ended || !bf_rule_silent(r, NULL))
		return;
	t = bf_machine_waits(m, &n);
	f = t ? bf_rule_find(r, NULL, NULL) : NULL;
	if (!f)
		return;
	f->actor = t->actor;
	f->found.at_ps = t->since_ps;
	bf_finding_since(f, t->since_ps, t->record);
	bf_finding_say(
	    f,
	    "%s waits for %s since %" PRIu64 " ps, %s before the run ended, and nothing has come; %" PRIu64 " %s, %s",
	    bf_rule_actor(r->rules, t->actor), t->what[0] ? t->what : "something", t->since_ps,
	    bf_span_of(bf_rule_now(r->rules) - t->since_ps).text, n, n == 1 ? "thread waits" : "threads wait",
	    m->deadlocked ? "and nothing is under way that could wake any of them"
			  : "and nobody has stored anything for long: what they wait for needs more time "
			    "than the run had, or does not come");
}

const struct bf_rule bf_rule_machine_stuck = {
	.about = {
		.id = "MACHINE-STUCK",
		.family = "machine",
		.title = "a thread waited until the run ended, and no rule knows why",
		.severity = BF_SEVERITY_ERROR,
		.hardware = "A thread that polls memory goes on when somebody writes what it waits for, and not before.",
		.wrong = "What it waits for was not written. The thread or device that should write it waits as well, "
			 "has ended, or was never asked.",
		.fix = "belfry explain TRACE --stuck tells what is missing, step by step. If a device was about to try "
		       "again after a time-out, the run was too short.",
		.sources = "docs/explain.md",
		.test = "tests/tools/test_lint_net.sh",
		.why = "It speaks where none of the other rules does, and each example that we have is known to one.",
	},
	.rank = BF_RANK_NET,
	.net = 3,
	.needs = BF_SEES(agent_wait),
	.end = end,
};
