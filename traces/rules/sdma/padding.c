#include <inttypes.h>

#include "traces/rules/sdma/sdma.h"

static void on(struct bf_rule_run *r, const struct bf_seen *e)
{
	const bool fault = e->kind == BF_SEEN_sdma_fault;
	const uint64_t index = fault ? e->sdma_fault.index : e->sdma_packet.index;
	const struct bf_sdma_rule_queue *q = bf_sdma_rule_of(e->queue);
	const struct bf_sdma_rule_begun *k = fault ? NULL : bf_sdma_rule_packet_back(q, 0);
	const struct bf_sdma_rule_span *s;
	struct bf_finding *f;

	if ((k && (k->kind == BF_SDMA_KIND_NOP || k->indirect)) || !bf_sdma_rule_unpadded(q, index))
		return;
	f = bf_rule_find(r, e, e->queue);
	if (!f)
		return;
	s = bf_sdma_rule_reserve_of(q, index);
	bf_finding_since(f, s->at_ps, s->record);
	bf_finding_index(f, index);
	bf_finding_say(f,
		       "%s took bytes %" PRIu64 " to %" PRIu64
		       " of %s, up to the ring's end, as padding and stored no NOPs there: at %" PRIu64
		       " the engine found what an earlier lap had left",
		       bf_rule_actor(r->rules, s->actor), s->from, s->to - 1, bf_rule_queue_name(r->rules, e->queue),
		       index);
}

const struct bf_rule bf_rule_sdma_padding = {
	.about = {
		.id = "SDMA-PADDING",
		.family = "sdma",
		.title = "the rest of the ring is skipped, not filled with NOPs",
		.severity = BF_SEVERITY_ERROR,
		.hardware = "The engine executes every dword of the ring up to its end.",
		.wrong = "Bytes that were reserved as padding hold what an earlier lap left: the engine executes old "
			 "packets again.",
		.fix = "Fill the rest of the ring with NOPs (or one NOP with a count) before publishing past it.",
		.sources = "docs/hardware/sdma.md#ring-6; ROCR-Runtime amd_blit_sdma.cpp WrapIntoRing",
		.example = "run sdma-wrap --limit 10ms --bug no-nops",
		.twin = "run sdma-wrap --limit 10ms",
	},
	.rank = BF_RANK_ENTRY + 3,
	.records = BF_SEES(sdma_packet, sdma_fault),
	.on = on,
};
