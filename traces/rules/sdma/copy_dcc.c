#include <inttypes.h>

#include "traces/rules/sdma/sdma.h"

static void on(struct bf_rule_run *r, const struct bf_seen *e)
{
	const struct bf_sdma_rule_queue *q = bf_sdma_rule_of(e->queue);
	const struct bf_sdma_rule_begun *k = bf_sdma_rule_packet_back(q, 0);
	struct bf_sdma_packet next;
	struct bf_finding *f;

	if (!k || k->kind != BF_SDMA_KIND_COPY || k->dwords != BF_SDMA_COPY_LINEAR_DCC_DWORDS || !k->last)
		return;
	bf_sdma_decode(&q->dialect, &k->last, 1, &next);
	f = next.form && next.kind != BF_SDMA_KIND_NOP ? bf_rule_find(r, e, e->queue) : NULL;
	if (!f)
		return;
	bf_finding_index(f, k->index);
	bf_finding_say(f,
		       "the header of %s at byte %" PRIu64 " of %s, 0x%08" PRIx32
		       ", has bit 19 set, so that the packet has 8 dwords; the eighth is 0x%08" PRIx32
		       ", the header of %s",
		       k->name, k->index, bf_rule_queue_name(r->rules, e->queue), k->dw[0], k->last, next.name);
}

const struct bf_rule bf_rule_sdma_copy_dcc = {
	.about = {
		.id = "SDMA-COPY-DCC",
		.family = "sdma",
		.title = "a copy swallows the header after it",
		.severity = BF_SEVERITY_ERROR,
		.hardware = "On gfx12 a linear copy whose header has bit 19 (cpv) has an eighth dword, for DCC, as the "
"kernel's driver emits it. ROCr's has 7 dwords and leaves the bit clear.",
		.wrong = "The bit is set and the packet has 7 dwords: the engine takes the next packet's header for "
"the eighth, and the dword behind it for a header.",
		.fix = "Seven dwords and cpv 0, or eight and cpv 1 with the last one 0.",
		.sources = "docs/hardware/sdma.md#copy-2; Linux sdma_v7_0.c emit_copy_buffer; ROCm/rocm-systems sdma_registers.h",
		.example = "run sdma-copy --gen v7 --limit 10ms --bug cpv-short",
		.twin = "run sdma-copy --gen v7 --limit 10ms",
	},
	.rank = BF_RANK_ENTRY + 2,
	.records = BF_SEES(sdma_packet),
	.when = BF_SDMA_RULE_COPY,
	.whens = 1,
	.on = on,
};
