#include <inttypes.h>

#include "traces/rules/sdma/sdma.h"

static void on(struct bf_rule_run *r, const struct bf_seen *e)
{
	const struct bf_sdma_rule_queue *q = bf_sdma_rule_of(e->queue);
	struct bf_sdma_dialect d = q->dialect;
	struct bf_sdma_packet p;
	struct bf_finding *f;
	uint32_t header;

	if (e->sdma_fault.reason != BF_SDMA_BAD_OPCODE || !bf_sdma_rule_fault_header(e, &header) ||
	    bf_sdma_rule_unpadded(q, e->sdma_fault.index))
		return;
	for (d.gen = BF_SDMA_V4; d.gen < BF_SDMA_GENS; d.gen++) {
		bf_sdma_decode(&d, &header, 1, &p);
		if (!p.form)
			continue;
		f = bf_sdma_rule_find_fault(r, e);
		if (f)
			bf_finding_say(f, ": it would be %s on %s, and this engine is %s", p.name,
				       bf_sdma_gen_name(d.gen), bf_sdma_gen_name(q->dialect.gen));
		return;
	}
}

const struct bf_rule bf_rule_sdma_opcode = {
	.about = {
		.id = "SDMA-OPCODE",
		.family = "sdma",
		.title = "a packet of another generation",
		.severity = BF_SEVERITY_ERROR,
		.hardware = "Generations have packets of their own: GCR_REQ came with gfx10, sub-window LARGE with "
"gfx11, opcode 16 is DUMMY_TRAP on gfx9 and GPUVM_INV later.",
		.wrong = "The engine does not know the packet; Linux has an illegal-instruction interrupt for it, and "
"the queue stops.",
		.fix = "Choose packets by the part's SDMA version, not by the newest header at hand.",
		.sources = "docs/hardware/sdma.md#opcodes; ROCR-Runtime amd_blit_sdma.cpp BlitSdmaV4, BlitSdmaV5; Linux amdgpu *_sdma_pkt_open.h",
		.example = "run sdma-copy --gen v4 --limit 10ms --bug foreign-gcr",
		.twin = "run sdma-copy --gen v4 --limit 10ms",
	},
	.rank = BF_RANK_ENTRY + 4,
	.records = BF_SEES(sdma_fault),
	.on = on,
};
