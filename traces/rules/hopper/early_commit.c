#include <inttypes.h>

#include "traces/rules/hopper/hopper.h"

static void on(struct bf_rule_run *r, const struct bf_seen *e)
{
	const struct bf_hopper_rule_now *n = bf_hopper_rule_now(r);
	uint32_t lanes = 0;
	struct bf_finding *f;

	if (e->kind == BF_SEEN_hopper_group && e->hopper_group.event && e->hopper_group.kind == BF_HOPPER_OF_ASYNC)
		lanes = (uint32_t)e->hopper_group.lanes;
	else if (e->kind == BF_SEEN_hopper_op && e->hopper_op.op >= BF_SYNC_TEST_PARITY && e->hopper_op.result)
		lanes = (uint32_t)e->hopper_op.lanes;
	lanes &= n->warp ? n->warp->open & n->warp->uncovered : 0;
	if (!lanes)
		return;
	f = bf_rule_find(r, e, NULL);
	if (!f)
		return;
	bf_finding_since(f, e->time_ps, n->warp->first_uncovered);
	bf_finding_say(f,
		       "%s waits with copies of lanes 0x%08" PRIx32
		       " in no group: those lanes had closed an empty one before they issued them",
		       bf_hopper_rule_warp_text(bf_hopper_rule_run(r), n->sm, n->slot).s, lanes);
}

const struct bf_rule bf_rule_hopper_early_commit = {
	.about = {
		.id = "HOPPER-EARLY-COMMIT",
		.family = "hopper",
		.title = "a group is closed before the copies that it should cover",
		.severity = BF_SEVERITY_ERROR,
		.hardware = "commit_group closes a group of the copies that the thread has issued so far; cp.async.mbarrier.arrive does the same. Copies behind it are in the next one.",
		.wrong = "A thread closed an empty group, issued copies after that, and waits while they are in no group: it goes on before they are done.",
		.fix = "Issue the copies first, then commit_group (or cp.async.mbarrier.arrive).",
		.sources = "docs/hardware/hopper.md#symptoms-19; NVIDIA/cutlass#2502; PTX ISA 9.0, cp.async.commit_group",
		.example = "run mbarrier-ampere --bug early-commit",
		.twin = "run mbarrier-ampere",
	},
	.rank = BF_RANK_INDEX,
	.records = BF_SEES(hopper_group, hopper_op),
	.on = on,
};
