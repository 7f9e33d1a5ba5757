#include "traces/rules/sdma/sdma.h"

static void on(struct bf_rule_run *r, const struct bf_seen *e)
{
	const struct bf_sdma_rule_after *a = &bf_sdma_rule_run(r)->after;
	struct bf_finding *f;

	if (a->rang && a->rang->from != a->owner->from)
		return;
	f = bf_sdma_rule_find_after(r, e);
	if (f)
		bf_finding_say(f, "the doorbell was rung first");
}

const struct bf_rule bf_rule_sdma_doorbell_first = {
	.about = {
		.id = "SDMA-DOORBELL-FIRST",
		.family = "sdma",
		.title = "the doorbell is rung before the packets are stored",
		.severity = BF_SEVERITY_ERROR,
		.hardware = "A doorbell makes the engine fetch up to the published index at once.",
		.wrong = "The program order is wrong: the engine fetched ring bytes before their packets were there.",
		.fix = "Store the packets, fence, store the write pointer, then ring.",
		.sources = "docs/hardware/sdma.md#submission-1; ROCR-Runtime amd_blit_sdma.cpp UpdateWriteAndDoorbellRegister",
		.example = "run sdma-copy --ordering adversarial --limit 10ms --bug doorbell-first",
		.twin = "run sdma-copy --ordering adversarial --limit 10ms",
	},
	.rank = BF_RANK_ENTRY + 2,
	.records = BF_SEES(store),
	.when = BF_SDMA_RULE_STORED_AFTER,
	.whens = 1,
	.on = on,
};
