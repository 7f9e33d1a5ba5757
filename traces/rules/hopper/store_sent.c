#include <inttypes.h>

#include "traces/rules/hopper/hopper.h"

static void on(struct bf_rule_run *r, const struct bf_seen *e)
{
	const struct bf_hopper_rule_copy *c = bf_hopper_rule_read_early(r, e);
	struct bf_finding *f = c ? bf_rule_find(r, e, NULL) : NULL;

	if (!f)
		return;
	bf_finding_since(f, c->at_ps, c->record);
	bf_finding_index(f, c->rec.copy);
	bf_finding_say(f,
		       "%s reads %" PRIu64 " bytes at 0x%" PRIx64 ", which bulk store %" PRIu64
		       " writes, issued %s before by %s: %s, and the thread has not waited for it",
		       bf_rule_actor(r->rules, e->actor), (uint64_t)e->dma_read.len, (uint64_t)e->dma_read.va,
		       c->rec.copy, bf_span_of(e->time_ps - c->at_ps).text,
		       bf_hopper_rule_warp_text(bf_hopper_rule_run(r), c->sm, (uint32_t)c->rec.warp).s,
		       c->ended ? "this time all bytes were there already" : "it has not written them yet");
}

const struct bf_rule bf_rule_hopper_store_sent = {
	.about = {
		.id = "HOPPER-STORE-SENT",
		.family = "hopper",
		.title = "a device reads what a bulk store writes before its thread has waited for it",
		.severity = BF_SEVERITY_ERROR,
		.hardware = "A bulk store writes global memory some time after it was issued. cp.async.bulk.wait_group says when it has; wait_group.read says no more than that the source may be used again, and no fence orders the store.",
		.wrong = "A device was told to send memory that a bulk store was still to write: it may send what was there before.",
		.fix = "cp.async.bulk.wait_group 0 (not .read) by the thread that issued the store, then the system fence, before the doorbell.",
		.sources = "PTX ISA 9.0, cp.async.bulk.wait_group; docs/hardware/hopper.md#copies-6",
		.test = "tests/drivers/test_trial_grid.c",
		.why = "no workload has bulk copies and a device that sends what they bring",
	},
	.rank = BF_RANK_DATA + 2,
	.records = BF_SEES(dma_read),
	.on = on,
};
