#include <inttypes.h>

#include "traces/rules/sdma/sdma.h"

static void on(struct bf_rule_run *r, const struct bf_seen *e)
{
	const struct bf_sdma_rule_begun *k =
	    bf_sdma_rule_packet_in(bf_sdma_rule_of(e->queue), e->sdma_suspect.index, e->sdma_suspect.indirect);
	struct bf_finding *f;

	if (e->sdma_suspect.what != BF_SDMA_SUSPECT_RESERVED_BITS || !k ||
	    !((k->kind == BF_SDMA_KIND_COPY && e->sdma_suspect.dword == 1) ||
	      (k->kind == BF_SDMA_KIND_FILL && e->sdma_suspect.dword == 4)))
		return;
	f = bf_rule_find(r, e, e->queue);
	if (!f)
		return;
	bf_finding_index(f, k->index);
	bf_finding_say(f,
		       "the count of %s at byte %" PRIu64 " of %s is 0x%" PRIx64
		       ", and this engine has 22 bits for it: it moves %" PRIu64 " bytes, not %" PRIu64,
		       k->name, k->index, bf_rule_queue_name(r->rules, e->queue), e->sdma_suspect.value, k->bytes,
		       e->sdma_suspect.value + 1);
}

const struct bf_rule bf_rule_sdma_count_limit = {
	.about = {
		.id = "SDMA-COUNT-LIMIT",
		.family = "sdma",
		.title = "a count does not fit its field",
		.severity = BF_SEVERITY_ERROR,
		.hardware = "A copy's or fill's count has 22 bits on gfx9 and gfx10.0 to 10.2, 30 bits on gfx90a, "
"gfx10.3 and later.",
		.wrong = "The count is longer than the field. Its upper bits fall into reserved ones, and the engine " "moves only the size modulo 4 MiB.",
		.fix = "Cut at the part's own limit: 0x3fffff bytes, or 0x3fffffff where the field has 30 bits.",
		.sources = "docs/hardware/sdma.md#copy-1; ROCm/rocm-systems amd_gpu_agent.cpp CreateBlitSdma; Linux amdgpu *_sdma_pkt_open.h",
		.example = "run sdma-copy --part gfx908 --size 9000000 --commands 1 --limit 10ms --bug count-limit",
		.twin = "run sdma-copy --part gfx908 --size 9000000 --commands 1 --limit 10ms",
	},
	.rank = BF_RANK_ENTRY + 2,
	.records = BF_SEES(sdma_suspect),
	.on = on,
};
