#include <inttypes.h>

#include "traces/rules/hopper/hopper.h"

static void on(struct bf_rule_run *r, const struct bf_seen *e)
{
	const uint64_t address =
	    e->kind == BF_SEEN_hopper_fault ? e->hopper_fault.address : e->hopper_hazard.rank << 24;
	struct bf_finding *f;

	if (e->kind == BF_SEEN_hopper_fault ? e->hopper_fault.kind != BF_HOPPER_FAULT_GONE
					    : e->hopper_hazard.event != BF_HAZARD_NOBODY)
		return;
	if (e->kind == BF_SEEN_hopper_hazard && bf_hopper_rule_beyond(bf_hopper_rule_run(r), e))
		return;
	f = bf_rule_find(r, e, NULL);
	if (f)
		bf_finding_say(
		    f,
		    "%s reaches into the block of rank %" PRIu64
		    ", which has exited: a block of a cluster may end only when nobody will reach it any more",
		    bf_rule_actor(r->rules, e->actor), address >> 24);
}

const struct bf_rule bf_rule_hopper_exited_block = {
	.about = {
		.id = "HOPPER-EXITED-BLOCK",
		.family = "hopper",
		.title = "a block is reached after it has exited",
		.severity = BF_SEVERITY_ERROR,
		.hardware = "Shared memory of a block is there until its last thread has exited; what reaches it later faults, or meets the next block.",
		.wrong = "A remote arrive, a copy or a store is still on its way to a block of the cluster that has ended.",
		.fix = "Wait for the last remote arrivals (the tail of the pipeline), or let all blocks meet at a cluster barrier before the first of them exits.",
		.sources = "docs/hardware/hopper.md#symptoms-16; facebookexperimental/triton#1105; facebookexperimental/triton#1108; rchardx/hopper-gemm#3",
		.example = "run mbarrier-cluster --bug early-exit",
		.twin = "run mbarrier-cluster",
	},
	.rank = BF_RANK_REFUSED,
	.records = BF_SEES(hopper_fault, hopper_hazard),
	.on = on,
};
