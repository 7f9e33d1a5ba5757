#include <inttypes.h>

#include "traces/rules/sdma/sdma.h"

static void on(struct bf_rule_run *r, const struct bf_seen *e)
{
	const struct bf_sdma_rule_begun *k =
	    bf_sdma_rule_packet_in(bf_sdma_rule_of(e->queue), e->sdma_suspect.index, e->sdma_suspect.indirect);
	struct bf_finding *f =
	    e->sdma_suspect.what == BF_SDMA_SUSPECT_OVERLAP && k ? bf_rule_find(r, e, e->queue) : NULL;

	if (!f)
		return;
	bf_finding_index(f, k->index);
	bf_finding_say(f,
		       "%s at byte %" PRIu64 " of %s moves %" PRIu64 " bytes from 0x%" PRIx64 " to 0x%" PRIx64
		       ", and the two meet",
		       k->name, k->index, bf_rule_queue_name(r->rules, e->queue), k->bytes, k->src, k->dst);
}

const struct bf_rule bf_rule_sdma_overlap = {
	.about = {
		.id = "SDMA-OVERLAP",
		.family = "sdma",
		.title = "source and destination of a copy overlap",
		.severity = BF_SEVERITY_ERROR,
		.hardware = "The engine moves bursts in an order of its own. Only a linear copy with the backwards bit "
"(v5 and later) says from which end.",
		.wrong = "Part of the source is overwritten before it is read, or not: no document says which, and the "
"API forbids it.",
		.fix = "Copy through another buffer, or backwards when the destination lies above the source.",
		.sources = "docs/hardware/sdma.md#copy-6; ROCR-Runtime hsa_ext_amd.h (hsa_amd_memory_async_copy_rect); Linux amdgpu *_sdma_pkt_open.h",
		.example = "run sdma-copy --limit 10ms --bug overlap",
		.twin = "run sdma-copy --limit 10ms",
	},
	.rank = BF_RANK_EFFECT - 10,
	.records = BF_SEES(sdma_suspect),
	.on = on,
};
