#include "traces/rules/order/order.h"

static void on(struct bf_rule_run *r, const struct bf_seen *e)
{
	const struct bf_order_race *race = bf_order_race(r->facts);
	struct bf_finding *f = bf_order_find(r, e, race, false);

	if (!f)
		return;
	bf_finding_say(
	    f,
	    " by a plain store; %s looked there %s, and could have found the value from before for as long as it "
	    "likes, or parts of both: nothing orders the two. A relaxed store of a scope that holds both threads, "
	    "behind a fence where it announces something, or a release, would have",
	    bf_rule_actor(r->rules, e->actor), bf_order_when(e->time_ps, e->number).text);
}

const struct bf_rule bf_rule_order_weak_flag = {
	.about = {
		.id = "ORDER-WEAK-FLAG",
		.family = "order",
		.title = "a thread polls what another one stores plainly",
		.severity = BF_SEVERITY_WARNING,
		.hardware = "A plain store and another thread's load with nothing between them are a data race. It is "
			    "undefined when the store becomes visible, and whether in one piece. It orders nothing "
			    "before it either.",
		.wrong = "The word looks like a flag but is none: the thread that polls it learns nothing about "
			 "earlier stores.",
		.fix = "Store flags with relaxed or release semantics (volatile on a GPU is relaxed) and a scope that "
		       "includes both threads.",
		.sources = "PTX ISA, Memory Consistency Model, Data-races; docs/memory-model.md",
		.test = "tests/traces/test_rules_happens.c",
		.why = "No variant of our drivers stores a flag plainly.",
	},
	.rank = BF_RANK_LUCK + 7,
	.records = BF_SEES(load),
	.when = BF_ORDER_WEAK_FLAG,
	.whens = 1,
	.needs = BF_SEES(store),
	.on = on,
};
