#include <inttypes.h>

#include "traces/rules/sdma/sdma.h"

static void on(struct bf_rule_run *r, const struct bf_seen *e)
{
	struct bf_sdma_packet p;
	uint32_t header;

	if (e->sdma_fault.reason != BF_SDMA_MISALIGNED || !bf_sdma_rule_fault_header(e, &header))
		return;
	bf_sdma_decode(&bf_sdma_rule_of(e->queue)->dialect, &header, 1, &p);
	if (p.kind != BF_SDMA_KIND_RECT)
		bf_sdma_rule_find_fault(r, e);
}

const struct bf_rule bf_rule_sdma_align = {
	.about = {
		.id = "SDMA-ALIGN",
		.family = "sdma",
		.title = "a packet's address is not aligned as its kind needs",
		.severity = BF_SEVERITY_ERROR,
		.hardware = "FENCE, WRITE, POLL_REGMEM and COND_EXE need 4-byte aligned addresses, a 64-bit ATOMIC and a " "TIMESTAMP 8, CONST_FILL its fill size.",
		.wrong = "The packet has no room for the low bits of the address, or the engine stops at them.",
		.fix = "Align signals to 8 bytes (HSA wants 64), and timestamps to 32.",
		.sources = "docs/hardware/sdma.md#alignment; ROCR-Runtime amd_blit_sdma.cpp; Linux amdgpu *_sdma_pkt_open.h",
		.example = "run sdma-copy --limit 10ms --bug signal-align",
		.twin = "run sdma-copy --limit 10ms",
	},
	.rank = BF_RANK_ENTRY + 4,
	.records = BF_SEES(sdma_fault),
	.on = on,
};
