#include <inttypes.h>

#include "traces/rules/nvme/nvme.h"

static void on(struct bf_rule_run *r, const struct bf_seen *e)
{
	const struct bf_nvme_rule_run *run = r->facts;
	const struct bf_nvme_rule_slot *head = bf_nvme_rule_slot(bf_nvme_rule_of(e->queue), e->nvm_timeout.cq_head);
	struct bf_finding *f =
	    bf_nvme_rule_stuck_for(r, BF_NVME_RULE_STUCK_FLUSH_TYPE) ? bf_rule_find(r, e, e->queue) : NULL;

	if (!f || !head)
		return;
	bf_finding_since(f, head->posted_ps, head->posted_record);
	bf_finding_say(f,
		       "the completion in slot %" PRIu64 " of CQ %" PRIu64 " has been in VRAM since %" PRIu64
		       " ns; the invalidations had flush type %" PRIu64 " and VMID mask 0x%" PRIx64
		       " on engine %" PRIu64 ": only a heavyweight one (2) with a VMID on engine 17 makes it visible",
		       e->nvm_timeout.cq_head, e->nvm_timeout.qid, head->posted_ps / (uint64_t)BF_NS, run->flush_type,
		       run->vmids, run->engine);
}

const struct bf_rule bf_rule_nvme_flush_type = {
	.about = {
		.id = "NVME-FLUSH-TYPE",
		.family = "nvme",
		.title = "an invalidation that does not reach what DMA wrote",
		.severity = BF_SEVERITY_ERROR,
		.hardware = "Only a heavyweight flush (type 2), on engine 17 and for a VMID in the mask, makes DMA "
			    "writes visible.",
		.wrong = "The request was of another type, engine or VMID: it is acknowledged and changes nothing.",
		.fix = "flush_type 2, the VMID's bit in the mask, engine 17.",
		.sources = "docs/hardware/gpu.md#vram-3; Linux amdgpu gmc_v*_0_flush_gpu_tlb",
		.example = "run nvme-verify --queues-in vram-uc --commands 8 --size 512 --timeout 1ms --bug "
			   "wrong-flush-type",
		.twin = "run nvme-verify --queues-in vram-uc --commands 8 --size 512 --timeout 1ms",
	},
	.rank = BF_RANK_STUCK,
	.records = BF_SEES(nvm_timeout),
	.on = on,
};
