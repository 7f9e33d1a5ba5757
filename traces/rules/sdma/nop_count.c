#include <inttypes.h>

#include "traces/rules/sdma/sdma.h"

static void reaches_past(struct bf_rule_run *r, const struct bf_seen *e, const struct bf_sdma_rule_span *s,
			 uint64_t index, uint64_t dwords)
{
	struct bf_finding *f = bf_rule_find(r, e, e->queue);

	if (!f)
		return;
	bf_finding_since(f, s->at_ps, s->record);
	bf_finding_index(f, index);
	bf_finding_say(f,
		       "the NOP at byte %" PRIu64 " of %s skips %" PRIu64 " dwords and so ends at %" PRIu64
		       "; what %s reserved ends at %" PRIu64 ": the count includes the NOP's own dword",
		       index, bf_rule_queue_name(r->rules, e->queue), dwords - 1, index + dwords * 4,
		       bf_rule_actor(r->rules, s->actor), s->to);
}

static void on(struct bf_rule_run *r, const struct bf_seen *e)
{
	const struct bf_sdma_rule_queue *q = bf_sdma_rule_of(e->queue);
	const bool fault = e->kind == BF_SEEN_sdma_fault;
	const uint64_t index = fault ? e->sdma_fault.index : e->sdma_packet.index;
	const struct bf_sdma_rule_begun *k = fault ? NULL : bf_sdma_rule_packet_back(q, 0);
	const struct bf_sdma_rule_span *s;
	struct bf_sdma_packet p;
	uint32_t header;

	if (!fault && (!k || k->kind != BF_SDMA_KIND_NOP || k->indirect))
		return;
	s = bf_sdma_rule_reserve_of(q, index);
	if (k && s && index + k->dwords * 4ull > s->to)
		reaches_past(r, e, s, index, k->dwords);
	/* One that crosses the ring's end stops the queue. */
	if (!fault || !s || (e->sdma_fault.reason != BF_SDMA_STRADDLES && e->sdma_fault.reason != BF_SDMA_TRUNCATED) ||
	    !bf_sdma_rule_fault_header(e, &header) || bf_sdma_rule_unpadded(q, index))
		return;
	bf_sdma_decode(&q->dialect, &header, 1, &p);
	if (p.kind == BF_SDMA_KIND_NOP && s->from <= index && index + p.dwords * 4ull == s->to + 4)
		reaches_past(r, e, s, index, p.dwords);
}

const struct bf_rule bf_rule_sdma_nop_count = {
	.about = {
		.id = "SDMA-NOP-COUNT",
		.family = "sdma",
		.title = "a NOP's count reaches past its submission",
		.severity = BF_SEVERITY_ERROR,
		.hardware = "Bits 29:16 of a NOP count the dwords after it that are skipped; its own does not count.",
		.wrong = "The NOP skips the first dword of what comes next: the engine takes the second one for a "
"header, or stops because the packet crosses the ring's end.",
		.fix = "A pad of n dwords is one NOP with count n - 1, or n zero dwords.",
		.sources = "docs/hardware/sdma.md#opcodes-4; ROCR-Runtime amd_blit_sdma.cpp (min_submission_size_, PadRingWithNops); Linux sdma_v7_0.c ring_insert_nop",
		.example = "run sdma-wrap --limit 10ms --bug nop-count",
		.twin = "run sdma-wrap --limit 10ms",
	},
	.rank = BF_RANK_ENTRY + 3,
	.records = BF_SEES(sdma_packet, sdma_fault),
	.when = BF_SDMA_RULE_NOP,
	.whens = 1,
	.on = on,
};
