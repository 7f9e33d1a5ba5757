#include <inttypes.h>

#include "traces/rules/sdma/sdma.h"

static void on(struct bf_rule_run *r, const struct bf_seen *e)
{
	const struct bf_sdma_rule_begun *k =
	    bf_sdma_rule_packet_in(bf_sdma_rule_of(e->queue), e->sdma_suspect.index, e->sdma_suspect.indirect);
	struct bf_finding *f;

	if (e->sdma_suspect.what != BF_SDMA_SUSPECT_RESERVED_BITS || e->sdma_suspect.dword || !k ||
	    k->kind != BF_SDMA_KIND_COPY || k->broadcast || !(k->dw[0] >> 28 & 1))
		return;
	f = bf_rule_find(r, e, e->queue);
	if (!f)
		return;
	bf_finding_index(f, k->index);
	bf_finding_say(f,
		       "the header of %s at byte %" PRIu64 " of %s is 0x%08" PRIx32
		       ": bit 28 is reserved and a broadcast is bit 27, so the packet has 7 dwords and one destination",
		       k->name, k->index, bf_rule_queue_name(r->rules, e->queue), k->dw[0]);
}

const struct bf_rule bf_rule_sdma_broadcast_bit = {
	.about = {
		.id = "SDMA-BROADCAST-BIT",
		.family = "sdma",
		.title = "a broadcast is flagged in the wrong bit",
		.severity = BF_SEVERITY_ERROR,
		.hardware = "Bit 27 of a linear copy's header makes it a broadcast, with a second destination in "
"dwords 7 and 8.",
		.wrong = "Bit 28 is set and bit 27 is not: the engine makes a plain copy of it, and reads the second "
"destination as the next packet.",
		.fix = "Set bit 27, as Linux's headers for v4, v5 and v6 and KFDTest have it.",
		.sources = "docs/hardware/sdma.md#copy-3; Linux *_sdma_pkt_open.h; ROCm/rocm-systems KFDTest SDMAPacket.hpp; ROCm/rocm-systems emulation/rocjitsu (bit 28)",
		.example = "run sdma-broadcast --limit 10ms --bug broadcast-bit",
		.twin = "run sdma-broadcast --limit 10ms",
	},
	.rank = BF_RANK_ENTRY + 1,
	.records = BF_SEES(sdma_suspect),
	.on = on,
};
