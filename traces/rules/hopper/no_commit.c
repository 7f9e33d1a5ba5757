#include <inttypes.h>

#include "traces/rules/hopper/hopper.h"

static void on(struct bf_rule_run *r, const struct bf_seen *e)
{
	const struct bf_hopper_rule_now *n = bf_hopper_rule_now(r);
	uint32_t lanes;
	struct bf_finding *f;

	if (!n->warp || !e->hopper_group.event || e->hopper_group.kind)
		return;
	lanes = n->warp->stores_open & (uint32_t)e->hopper_group.lanes;
	f = lanes ? bf_rule_find(r, e, NULL) : NULL;
	if (f)
		bf_finding_say(f, "%s waits for bulk stores while stores of lanes 0x%08" PRIx32 " are in no group",
			       bf_hopper_rule_warp_text(bf_hopper_rule_run(r), n->sm, n->slot).s, lanes);
}

const struct bf_rule bf_rule_hopper_no_commit = {
	.about = {
		.id = "HOPPER-NO-COMMIT",
		.family = "hopper",
		.title = "a wait for groups while bulk stores are in no group",
		.severity = BF_SEVERITY_ERROR,
		.hardware = "cp.async.bulk.wait_group waits for groups that commit_group has closed. A store that is in no group is not waited for.",
		.wrong = "A thread waits for its bulk stores, and the last of them were not committed: it goes on while they still read shared memory, or before they are written.",
		.fix = "cp.async.bulk.commit_group after the stores and before the wait.",
		.sources = "PTX ISA 9.0, cp.async.bulk.wait_group; docs/hardware/hopper.md#copies-6",
		.example = "run mbarrier-pipeline --bug no-commit",
		.twin = "run mbarrier-pipeline",
	},
	.rank = BF_RANK_INDEX,
	.records = BF_SEES(hopper_group),
	.on = on,
};
