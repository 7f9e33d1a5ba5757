#include <inttypes.h>

#include "traces/rules/machine/machine.h"

#define SPINS (1000 * BF_US) /* so long without a store is no progress */

static void end(struct bf_rule_run *r, bool complete)
{
	const struct bf_machine *m = r->facts;
	const bool cut = bf_rules_cut(r->rules);
	struct bf_finding *f;
	uint64_t waits;

	if (m->failed)
		return;
	if (!cut && (!complete || m->started <= m->ended || bf_machine_waits(m, &waits) || !bf_rule_silent(r, NULL)))
		return;
	f = bf_rule_find(r, NULL, NULL);
	if (!f)
		return;
	if (!cut && bf_rule_now(r->rules) - bf_rules_moved(r->rules) > SPINS) {
		bf_finding_say(
		    f,
		    "%" PRIu64 " of %" PRIu64 " threads had not ended when the run did, none of them waits, and "
		    "nobody has stored anything for %s: a loop that looks at something again and again, and whose "
		    "end never comes true",
		    m->started - m->ended, m->started,
		    bf_span_of(bf_rule_now(r->rules) - bf_rules_moved(r->rules)).text);
		return;
	}
	bf_finding_say(
	    f,
	    "%" PRIu64 " of %" PRIu64 " threads had not ended when the records did, and the last store was %s "
	    "before: the run was still moving. What it had not done yet is held against nobody",
	    m->started - m->ended, m->started, bf_span_of(bf_rule_now(r->rules) - bf_rules_moved(r->rules)).text);
}

const struct bf_rule bf_rule_machine_cut = {
	.about = {
		.id = "MACHINE-CUT",
		.family = "machine",
		.title = "the run was cut short while it was still moving",
		.severity = BF_SEVERITY_WARNING,
		.hardware = "A time limit ends a run wherever it is.",
		.wrong = "The run was given less time than its work needs, or it loops forever: a poll without an "
			 "exit, retries that never succeed.",
		.fix = "Give it more time (--limit). If it is still moving then, look at what repeats: "
		       "belfry stats TRACE, belfry dump TRACE.",
		.sources = "docs/rules.md",
		.example = "run ibgda-put --messages 1000 --limit 20us",
		.twin = "run ibgda-put --messages 1000",
	},
	.rank = BF_RANK_NET + 1,
	.net = 3,
	.needs = BF_SEES(agent_start),
	.end = end,
};
