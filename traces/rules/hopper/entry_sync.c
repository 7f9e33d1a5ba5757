#include "traces/rules/hopper/hopper.h"

static void on(struct bf_rule_run *r, const struct bf_seen *e)
{
	uint32_t sm;
	struct bf_finding *f = bf_hopper_rule_find_early(r, e, BF_EARLY_CLUSTER, &sm);
	char op[32];

	if (!f)
		return;
	bf_finding_say(
	    f,
	    "%s was used (%s) by another block of the cluster before its init: a cluster barrier belongs between init "
	    "and use",
	    bf_hopper_rule_bar_text(bf_hopper_rule_bar(f->queue)).s, bf_seen_text(e, "op", op, sizeof(op)));
}

const struct bf_rule bf_rule_hopper_entry_sync = {
	.about = {
		.id = "HOPPER-ENTRY-SYNC",
		.family = "hopper",
		.title = "another block of the cluster is used before it has started",
		.severity = BF_SEVERITY_ERROR,
		.hardware = "Blocks of a cluster are resident together and do not start together. What reaches a block from outside before its first instructions meets memory that is not set up.",
		.wrong = "An operation or a copy of another block reached a barrier of a block that had not initialised it yet.",
		.fix = "Let all blocks meet at a cluster barrier (arrive.release, wait.acquire) after the inits and before anything remote.",
		.sources = "docs/hardware/hopper.md#symptoms-18; facebookexperimental/triton#2292",
		.example = "run mbarrier-cluster --bug no-entry-sync",
		.twin = "run mbarrier-cluster",
	},
	.rank = BF_RANK_SET_UP + 2,
	.records = BF_SEES(hopper_fault),
	.on = on,
};
