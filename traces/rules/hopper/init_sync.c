#include "traces/rules/hopper/hopper.h"

static void on(struct bf_rule_run *r, const struct bf_seen *e)
{
	uint32_t sm;
	struct bf_finding *f = bf_hopper_rule_find_early(r, e, BF_EARLY_OTHER, &sm);
	char op[32];

	if (!f)
		return;
	bf_finding_say(f, "%s was used (%s) by %s before its init: a block barrier belongs between init and use",
		       bf_hopper_rule_bar_text(bf_hopper_rule_bar(f->queue)).s, bf_seen_text(e, "op", op, sizeof(op)),
		       bf_hopper_rule_warp_text(bf_hopper_rule_run(r), sm, (uint32_t)e->hopper_fault.warp).s);
}

const struct bf_rule bf_rule_hopper_init_sync = {
	.about = {
		.id = "HOPPER-INIT-SYNC",
		.family = "hopper",
		.title = "a barrier is used before its init",
		.severity = BF_SEVERITY_ERROR,
		.hardware = "An init takes effect when the unit executes it. Any operation before that meets whatever the word held, and ends the kernel with a fault when that is 0.",
		.wrong = "A warp used a barrier that another warp of its block had not initialised yet: nothing makes the others wait for the inits.",
		.fix = "Put __syncthreads (or a cluster barrier) between the inits and the first use by another thread.",
		.sources = "docs/hardware/hopper.md#symptoms-1; NVIDIA/Fuser#1552",
		.example = "run mbarrier-ring --bug no-init-sync",
		.twin = "run mbarrier-ring",
	},
	.rank = BF_RANK_SET_UP + 2,
	.records = BF_SEES(hopper_fault),
	.on = on,
};
