#include <inttypes.h>

#include "traces/rules/sdma/sdma.h"

/* Nothing of this queue is known to name the word, and nothing is outstanding. */
static bool nothing_there(const struct bf_sdma_rule_queue *q, uint64_t va)
{
	const struct bf_sdma_rule_begun *k;

	/* A read pointer is the engine's own word (SDMA-ROOM). */
	if (!q->w || (q->rptr && va - q->rptr < 8) || q->w->npackets > BF_SDMA_RULE_PACKETS || q->stopped ||
	    q->reserved.upto > q->decoded.upto)
		return false;
	for (uint64_t back = 0; (k = bf_sdma_rule_packet_back(q, back)) != NULL; back++)
		if (k->dst <= va + 7 && va < k->dst + 8)
			return false;
	return true;
}

static void on(struct bf_rule_run *r, const struct bf_seen *e)
{
	struct bf_rule_queue *queue;
	struct bf_finding *f;
	bool any = false;

	for (uint32_t i = 0; (queue = bf_rule_queue_at(r->rules, i)) != NULL; i++) {
		if (queue->family != &bf_rules_sdma)
			continue;
		if (!nothing_there(bf_sdma_rule_of(queue), e->deadlock.va))
			return;
		any = true;
	}
	f = any ? bf_rule_find(r, e, NULL) : NULL;
	if (f)
		bf_finding_say(f,
			       "%s waits for the word at 0x%" PRIx64
			       ": the engines have run all packets, and none of them names it",
			       bf_rule_actor(r->rules, e->actor), e->deadlock.va);
}

const struct bf_rule bf_rule_sdma_signal_nobody = {
	.about = {
		.id = "SDMA-SIGNAL-NOBODY",
		.family = "sdma",
		.title = "a thread waits for a signal that no packet names",
		.severity = BF_SEVERITY_ERROR,
		.hardware = "Only packets change what they name. An empty rectangle has no packets: "
"hsa_amd_memory_async_copy_rect with a zero extent returns SUCCESS and does not touch the "
"completion signal.",
		.wrong = "Every packet has run, none stored to the word, and the thread waits forever.",
		.fix = "Decrement the signal yourself when there is nothing to submit, or do not wait.",
		.sources = "docs/hardware/sdma.md#signals-3; ROCR-Runtime hsa_ext_amd.cpp hsa_amd_memory_async_copy_rect",
		.example = "run sdma-tiles --limit 10ms --bug zero-extent",
		.twin = "run sdma-tiles --limit 10ms",
	},
	.rank = BF_RANK_STUCK + 2,
	.records = BF_SEES(deadlock),
	.on = on,
};
