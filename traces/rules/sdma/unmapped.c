#include <inttypes.h>

#include "traces/rules/sdma/sdma.h"

static void on(struct bf_rule_run *r, const struct bf_seen *e)
{
	const struct bf_sdma_rule_queue *q = bf_sdma_rule_of(e->queue);
	struct bf_finding *f = e->sdma_fault.reason == BF_SDMA_MEMORY ? bf_sdma_rule_find_fault(r, e) : NULL;

	if (f && !(e->sdma_fault.address >> 32) && q->address >> 32)
		bf_finding_say(f, ": the upper half of the address is 0, and that of the ring is not");
}

const struct bf_rule bf_rule_sdma_unmapped = {
	.about = {
		.id = "SDMA-UNMAPPED",
		.family = "sdma",
		.title = "a packet names an address that is not mapped for the engine",
		.severity = BF_SEVERITY_ERROR,
		.hardware = "An engine reads and writes through the process's GPU page tables. An unmapped page causes a VM " "fault: the queue stops, and an HSA memory event names the page.",
		.wrong = "The address is wrong, was never mapped to this GPU, or is no longer.",
		.fix = "Map memory to every GPU whose engine uses it (AMDKFD_IOC_MAP_MEMORY_TO_GPU), store both halves "
"of the address, and unmap only behind the completion.",
		.sources = "docs/hardware/sdma.md#other-packets-14; ROCm/rocm-systems KFDExceptionTest.SdmaQueueException; Linux kfd_ioctl.h",
		.example = "run sdma-copy --limit 10ms --bug short-address",
		.twin = "run sdma-copy --limit 10ms",
	},
	.rank = BF_RANK_ENTRY + 6,
	.records = BF_SEES(sdma_fault),
	.on = on,
};
