#include <inttypes.h>

#include "traces/rules/sdma/sdma.h"

static void judge(struct bf_rule_run *r, const struct bf_seen *e, struct bf_rule_queue *queue,
		  const struct bf_sdma_rule_begun *second, uint64_t back)
{
	const struct bf_sdma_rule_queue *q = bf_sdma_rule_of(queue);
	const struct bf_sdma_rule_span *s = bf_sdma_rule_reserve_of(q, second->index);
	const struct bf_sdma_rule_begun *first;
	struct bf_finding *f;

	while (s && (first = bf_sdma_rule_packet_back(q, ++back)) != NULL) {
		if (first->kind != BF_SDMA_KIND_FENCE || first->dst != second->dst)
			continue;
		if (first->data != second->data || first->index >= s->from || first->record < s->record)
			return;
		f = bf_rule_find(r, e, queue);
		if (!f)
			return;
		f->found.at_ps = second->at_ps;
		bf_finding_since(f, s->at_ps, s->record);
		bf_finding_index(f, second->index);
		bf_finding_say(
		    f,
		    "the FENCEs at bytes %" PRIu64 " and %" PRIu64 " of %s store 0x%" PRIx64
		    " to the signal at 0x%" PRIx64
		    ": %s computed the second one before the first was done, and %s waits for a step that was lost",
		    first->index, second->index, bf_rule_queue_name(r->rules, queue), second->data, second->dst,
		    bf_rule_actor(r->rules, s->actor), bf_rule_actor(r->rules, e->actor));
		return;
	}
}

static void on(struct bf_rule_run *r, const struct bf_seen *e)
{
	const struct bf_sdma_rule_begun *k;
	struct bf_rule_queue *queue;

	for (uint32_t i = 0; (queue = bf_rule_queue_at(r->rules, i)) != NULL; i++)
		for (uint64_t back = 0;
		     queue->family == &bf_rules_sdma && (k = bf_sdma_rule_packet_back(bf_sdma_rule_of(queue), back));
		     back++)
			if (k->kind == BF_SDMA_KIND_FENCE && k->dst == e->deadlock.va)
				judge(r, e, queue, k, back);
}

const struct bf_rule bf_rule_sdma_fence_shared = {
	.about = {
		.id = "SDMA-FENCE-SHARED",
		.family = "sdma",
		.title = "two submissions store the same step of one signal",
		.severity = BF_SEVERITY_ERROR,
		.hardware = "A FENCE stores what was computed when it was submitted; an ATOMIC computes when it runs.",
		.wrong = "Two submissions that count on one signal were in flight together. Both store the same value, "
			 "one step is lost, and a thread that waits for the signal waits forever.",
		.fix = "Decrement by ATOMIC; where 64-bit PCIe atomics are missing, give each submission a signal of "
"its own.",
		.sources = "docs/hardware/sdma.md#other-packets-8; ROCR-Runtime amd_blit_sdma.cpp SubmitCommand (platform_atomic_support_)",
		.example = "run sdma-concurrent --fences --commands 64 --limit 10ms --bug shared-fence",
		.twin = "run sdma-concurrent --fences --commands 64 --limit 10ms",
	},
	.rank = BF_RANK_STUCK - 2,
	.records = BF_SEES(deadlock),
	.on = on,
};
