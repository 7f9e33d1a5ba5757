#include <inttypes.h>

#include "traces/rules/sdma/sdma.h"

static void on(struct bf_rule_run *r, const struct bf_seen *e)
{
	struct bf_finding *f;

	if (e->sdma_fault.reason != BF_SDMA_PRIVILEGED ||
	    bf_sdma_rule_unpadded(bf_sdma_rule_of(e->queue), e->sdma_fault.index))
		return;
	f = bf_sdma_rule_find_fault(r, e);
	if (f && (e->sdma_fault.value & BF_SDMA_HDR_OP) == BF_SDMA_OP_POLL_REGMEM)
		bf_finding_say(f, ": without bit 31 (mem_poll) the poll is one of a register");
}

const struct bf_rule bf_rule_sdma_privileged = {
	.about = {
		.id = "SDMA-PRIVILEGED",
		.family = "sdma",
		.title = "a user queue does what only the kernel may",
		.severity = BF_SEVERITY_ERROR,
		.hardware = "Registers, page tables and translation caches are the kernel's: POLL_REGMEM of a "
"register, SRBM_WRITE, PTEPDE and GPUVM_INV do not run on user queues. A poll of memory "
"has bit 31 of its header set.",
		.wrong = "The engine stops the queue at the packet.",
		.fix = "Set mem_poll (bit 31) for polls of memory; for an HDP flush submit ROCr's six fixed dwords, "
"which microcode knows.",
		.sources = "docs/hardware/sdma.md#opcodes-3; ROCR-Runtime amd_blit_sdma.cpp (hdp_flush_cmd); Linux sdma_v7_0.c",
		.example = "run sdma-fence --limit 10ms --bug poll-register",
		.twin = "run sdma-fence --limit 10ms",
	},
	.rank = BF_RANK_ENTRY + 4,
	.records = BF_SEES(sdma_fault),
	.on = on,
};
