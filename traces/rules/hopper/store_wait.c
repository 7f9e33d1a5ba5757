#include <inttypes.h>

#include "traces/rules/hopper/hopper.h"

static void on(struct bf_rule_run *r, const struct bf_seen *e)
{
	const struct bf_hopper_rule_copy *c = bf_hopper_rule_overwrites(r, e);
	struct bf_finding *f = c ? bf_rule_find(r, e, NULL) : NULL;

	if (!f)
		return;
	bf_finding_since(f, c->at_ps, c->record);
	bf_finding_index(f, c->rec.copy);
	bf_finding_say(f,
		       "%s stores into the source of bulk store %" PRIu64
		       ", issued %s before by %s, which has not been read yet",
		       bf_rule_actor(r->rules, e->actor), c->rec.copy, bf_span_of(e->time_ps - c->at_ps).text,
		       bf_hopper_rule_warp_text(bf_hopper_rule_run(r), c->sm, (uint32_t)c->rec.warp).s);
}

const struct bf_rule bf_rule_hopper_store_wait = {
	.about = {
		.id = "HOPPER-STORE-WAIT",
		.family = "hopper",
		.title = "shared memory is overwritten while a bulk store still reads it",
		.severity = BF_SEVERITY_ERROR,
		.hardware = "A bulk store reads its source some time after it was issued; cp.async.bulk.wait_group.read says when it has.",
		.wrong = "A thread stored into the source of a bulk store that had not read it yet: the store may write the new bytes.",
		.fix = "commit_group after the store, wait_group.read by the same thread before the buffer is filled again, and a barrier for the other threads.",
		.sources = "PTX ISA 9.0, cp.async.bulk.wait_group; docs/hardware/hopper.md#copies-6",
		.example = "run mbarrier-pipeline --bytes 64K --stages 2 --warps 1 --bug no-store-wait",
		.twin = "run mbarrier-pipeline --bytes 64K --stages 2 --warps 1",
	},
	.rank = BF_RANK_DATA + 2,
	.records = BF_SEES(store),
	.on = on,
};
