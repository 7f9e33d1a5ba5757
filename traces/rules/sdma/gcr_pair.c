#include <inttypes.h>

#include "traces/rules/sdma/sdma.h"

/* Bits of gcr_control: invalidate GLK, GLV, GL1, GL2; write back GL2. */
#define INVALIDATES 0x4380u
#define WRITES_BACK 0x8000u

/* At the first packet that can signal behind the body. */
static void on(struct bf_rule_run *r, const struct bf_seen *e)
{
	const struct bf_sdma_rule_queue *q = bf_sdma_rule_of(e->queue);
	const struct bf_sdma_rule_begun *now = bf_sdma_rule_packet_back(q, 0), *k, *data = NULL;
	const struct bf_sdma_rule_span *s;
	bool before = false, after = false;
	struct bf_finding *f;

	if (!now || now->indirect || (now->kind != BF_SDMA_KIND_ATOMIC && now->kind != BF_SDMA_KIND_FENCE))
		return;
	s = bf_sdma_rule_reserve_of(q, now->index);
	for (uint64_t back = 1; s && (k = bf_sdma_rule_packet_back(q, back)) != NULL && k->index >= s->from; back++) {
		if (bf_sdma_rule_is_data(k))
			data = k;
		else if (k->kind == BF_SDMA_KIND_GCR && !data)
			after |= (k->data & WRITES_BACK) && !(k->data & INVALIDATES);
		else if (k->kind == BF_SDMA_KIND_GCR)
			before |= (k->data & INVALIDATES) != 0;
	}
	if (!data || before == after)
		return;
	f = bf_rule_find(r, e, e->queue);
	if (!f)
		return;
	bf_finding_since(f, data->at_ps, data->record);
	bf_finding_index(f, data->index);
	bf_finding_say(
	    f, "the submission at bytes %" PRIu64 " to %" PRIu64 " of %s %s: no GCR_REQ stands %s at byte %" PRIu64,
	    s->from, s->to - 1, bf_rule_queue_name(r->rules, e->queue),
	    before ? "invalidates caches and does not write them back"
		   : "writes caches back and did not invalidate them",
	    before ? "between its body and the signal" : "before its body, which begins",
	    before ? now->index : data->index);
}

const struct bf_rule bf_rule_sdma_gcr_pair = {
	.about = {
		.id = "SDMA-GCR-PAIR",
		.family = "sdma",
		.title = "cache control is on only one side of the body",
		.severity = BF_SEVERITY_WARNING,
		.hardware = "From gfx10 on the engine works through caches that others do not share: ROCr invalidates "
"them before the body and writes them back before it signals.",
		.wrong = "One of the two is missing. Without the first a copy may read what a cache held before, "
"without the second whoever is told may read memory before the data are in it. This model has "
"no such caches, so the run looks right.",
		.fix = "GCR_REQ with 0xC3C00000 before the body and with 0x80400000 between the body and the signal.",
		.sources = "docs/hardware/sdma.md#other-packets-11; ROCR-Runtime amd_blit_sdma.cpp SubmitCommand (BuildGCRCommand); Linux sdma_v6_0.c ring_emit_mem_sync",
		.example = "run sdma-copy --limit 10ms --bug no-writeback",
		.twin = "run sdma-copy --limit 10ms",
	},
	.rank = BF_RANK_LUCK,
	.records = BF_SEES(sdma_packet),
	.when = BF_SDMA_RULE_SIGNAL,
	.whens = 1,
	.on = on,
};
