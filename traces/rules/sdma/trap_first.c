#include <inttypes.h>

#include "traces/rules/sdma/sdma.h"

static void on(struct bf_rule_run *r, const struct bf_seen *e)
{
	const struct bf_sdma_rule_queue *q = bf_sdma_rule_of(e->queue);
	const struct bf_sdma_rule_begun *now = bf_sdma_rule_packet_back(q, 0), *k, *trap = NULL;
	const struct bf_sdma_rule_span *s;
	struct bf_finding *f;

	if (!now || now->indirect || now->kind != BF_SDMA_KIND_FENCE || !now->data)
		return;
	s = bf_sdma_rule_reserve_of(q, now->index);
	for (uint64_t back = 1; s && (k = bf_sdma_rule_packet_back(q, back)) != NULL && k->index >= s->from; back++) {
		if (k->kind == BF_SDMA_KIND_TRAP && k->data == now->data)
			trap = k;
		else if (trap && k->kind == BF_SDMA_KIND_FENCE && k->data == now->data)
			return;
	}
	f = trap ? bf_rule_find(r, e, e->queue) : NULL;
	if (!f)
		return;
	bf_finding_since(f, trap->at_ps, trap->record);
	bf_finding_index(f, trap->index);
	bf_finding_say(f,
		       "the TRAP of event 0x%" PRIx64 " at byte %" PRIu64
		       " of %s stands before the FENCE that stores the event's number at 0x%" PRIx64,
		       trap->data, trap->index, bf_rule_queue_name(r->rules, e->queue), now->dst);
}

const struct bf_rule bf_rule_sdma_trap_first = {
	.about = {
		.id = "SDMA-TRAP-FIRST",
		.family = "sdma",
		.title = "the interrupt is raised before its mailbox is stored",
		.severity = BF_SEVERITY_WARNING,
		.hardware = "TRAP raises the interrupt and stores nothing. The event's mailbox is a FENCE of its own; "
"the engine finishes it before a TRAP behind it.",
		.wrong = "The FENCE with the event's number stands behind the TRAP: the handler may look at the mailbox " "before the number is there, and then treats the interrupt as spurious.",
		.fix = "FENCE(mailbox, event), then TRAP(event).",
		.sources = "docs/hardware/sdma.md#other-packets-10; ROCR-Runtime amd_blit_sdma.cpp SubmitCommand; ROCm/rocm-systems KFDTest SdmaEventInterrupt",
		.example = "run sdma-fence --limit 10ms --bug trap-first",
		.twin = "run sdma-fence --limit 10ms",
	},
	.rank = BF_RANK_LUCK,
	.records = BF_SEES(sdma_packet),
	.when = BF_SDMA_RULE_SIGNAL,
	.whens = 1,
	.on = on,
};
