#include <inttypes.h>

#include "traces/rules/hopper/hopper.h"

static void on(struct bf_rule_run *r, const struct bf_seen *e)
{
	uint32_t sm;
	struct bf_finding *f = bf_hopper_rule_find_early(r, e, BF_EARLY_OWNER, &sm);
	char op[32];

	if (!f)
		return;
	bf_finding_say(f, "%s used %s (%s), which it has not initialised, as it did others: the word is 0x%" PRIx64,
		       bf_hopper_rule_warp_text(bf_hopper_rule_run(r), sm, (uint32_t)e->hopper_fault.warp).s,
		       bf_hopper_rule_bar_text(bf_hopper_rule_bar(f->queue)).s, bf_seen_text(e, "op", op, sizeof(op)),
		       e->hopper_fault.word);
}

const struct bf_rule bf_rule_hopper_not_initialised = {
	.about = {
		.id = "HOPPER-NOT-INITIALISED",
		.family = "hopper",
		.title = "a barrier is used that was never initialised",
		.severity = BF_SEVERITY_ERROR,
		.hardware = "Any operation but init on a word that is no barrier is undefined; an H200 ends the kernel with an unspecified launch failure.",
		.wrong = "The warp that initialises its block's barriers used a word that it had not initialised: an init was left out, or replaced by another operation.",
		.fix = "Initialise every barrier (mbarrier.init, count 1 to 2^20-1) before any other operation on it.",
		.sources = "docs/hardware/hopper.md#symptoms-3; NVIDIA/cutlass#2364",
		.example = "run mbarrier-pipeline --bug no-init",
		.twin = "run mbarrier-pipeline",
	},
	.rank = BF_RANK_SET_UP + 2,
	.records = BF_SEES(hopper_fault),
	.on = on,
};
