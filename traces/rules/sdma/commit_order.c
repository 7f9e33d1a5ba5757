#include <inttypes.h>

#include "traces/rules/sdma/sdma.h"

static void out_of_turn(struct bf_rule_run *r, const struct bf_seen *e)
{
	const struct bf_sdma_rule_queue *q = bf_sdma_rule_of(e->queue);
	const struct bf_sdma_rule_span *p = bf_sdma_rule_published_to(q, e->sdma_doorbell.value);
	const struct bf_sdma_rule_span *before = bf_sdma_rule_published_to(q, e->sdma_doorbell.before);
	struct bf_finding *f;

	if ((e->sdma_doorbell.verdict != BF_SDMA_BELL_BACK && e->sdma_doorbell.verdict != BF_SDMA_BELL_PAST_RING) ||
	    !p || !before)
		return;
	f = bf_rule_find(r, e, e->queue);
	if (!f)
		return;
	bf_finding_since(f, before->at_ps, before->record);
	bf_finding_index(f, p->from);
	bf_finding_say(f,
		       "%s rang the doorbell of %s for bytes up to %" PRIu64
		       " after %s had rung it for bytes up to %" PRIu64 ": submissions are published out of turn",
		       bf_rule_actor(r->rules, p->actor), bf_rule_queue_name(r->rules, e->queue), p->to,
		       bf_rule_actor(r->rules, before->actor), e->sdma_doorbell.before);
}

static void on(struct bf_rule_run *r, const struct bf_seen *e)
{
	const struct bf_sdma_rule_after *a = &bf_sdma_rule_run(r)->after;
	struct bf_finding *f;

	if (e->kind == BF_SEEN_sdma_doorbell) {
		out_of_turn(r, e);
		return;
	}
	if (!a->rang || a->rang->from == a->owner->from)
		return;
	f = bf_sdma_rule_find_after(r, e);
	if (f)
		bf_finding_say(f, "%s published what comes after it and did not wait for its turn",
			       bf_rule_actor(r->rules, a->rang->actor));
}

const struct bf_rule bf_rule_sdma_commit_order = {
	.about = {
		.id = "SDMA-COMMIT-ORDER",
		.family = "sdma",
		.title = "a submission is published before earlier ones are filled",
		.severity = BF_SEVERITY_ERROR,
		.hardware = "The engine takes ring bytes in order up to one index.",
		.wrong = "A thread published past bytes that another one had reserved and not filled, or out of "
			 "turn: the engine runs what was there before.",
		.fix = "Publish in the order of reservation: wait until everything in front has been published.",
		.sources = "docs/hardware/sdma.md#submission-3; ROCR-Runtime amd_blit_sdma.cpp ReleaseWriteAddress",
		.example = "run sdma-wrap --producers 4 --ordering adversarial --limit 10ms --bug commit-order",
		.twin = "run sdma-wrap --producers 4 --ordering adversarial --limit 10ms",
	},
	.rank = BF_RANK_ENTRY + 2,
	.records = BF_SEES(store, sdma_doorbell),
	.when = BF_SDMA_RULE_STORED_AFTER,
	.whens = 1,
	.on = on,
};
