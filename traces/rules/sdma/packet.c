#include "traces/rules/sdma/sdma.h"

/* Rules of their own speak for the other reasons. */
static bool is_ours(const struct bf_seen *e)
{
	struct bf_sdma_dialect d = bf_sdma_rule_of(e->queue)->dialect;
	struct bf_sdma_packet p;
	uint32_t header;

	switch ((enum bf_sdma_reason)e->sdma_fault.reason) {
	case BF_SDMA_STRADDLES:
	case BF_SDMA_MEMORY:
	case BF_SDMA_PRIVILEGED:
	case BF_SDMA_TRUNCATED:
		return false;
	case BF_SDMA_MISALIGNED:
		return !bf_sdma_rule_fault_header(e, &header);
	case BF_SDMA_BAD_OPCODE:
		for (d.gen = BF_SDMA_V4; d.gen < BF_SDMA_GENS && bf_sdma_rule_fault_header(e, &header); d.gen++) {
			bf_sdma_decode(&d, &header, 1, &p);
			if (p.form)
				return false;
		}
		return true;
	default:
		return true;
	}
}

static void on(struct bf_rule_run *r, const struct bf_seen *e)
{
	if (is_ours(e) && !bf_sdma_rule_unpadded(bf_sdma_rule_of(e->queue), e->sdma_fault.index))
		bf_sdma_rule_find_fault(r, e);
}

const struct bf_rule bf_rule_sdma_packet = {
	.about = {
		.id = "SDMA-PACKET",
		.family = "sdma",
		.title = "a packet that the engine cannot execute",
		.severity = BF_SEVERITY_ERROR,
		.hardware = "The engine stops the queue at a packet with a wrong opcode, reserved value, alignment "
			    "or address.",
		.wrong = "The packet says something that this generation of the engine does not do.",
		.fix = "Look at the dword that the finding names: counts and pitches are stored minus one, extents "
		       "in elements.",
		.sources = "docs/hardware/sdma.md#opcodes; ROCR-Runtime amd_blit_sdma.cpp; Linux amdgpu *_sdma_pkt_open.h",
		.example = "run sdma-copy --limit 10ms --bug atomic-op",
		.twin = "run sdma-copy --limit 10ms",
	},
	.rank = BF_RANK_ENTRY + 4,
	.records = BF_SEES(sdma_fault),
	.on = on,
};
