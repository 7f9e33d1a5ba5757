#include <inttypes.h>

#include "traces/rules/nvme/nvme.h"

static void on(struct bf_rule_run *r, const struct bf_seen *e)
{
	const struct bf_nvme_rule_slot *head = bf_nvme_rule_slot(bf_nvme_rule_of(e->queue), e->nvm_timeout.cq_head);
	struct bf_finding *f =
	    bf_nvme_rule_stuck_for(r, BF_NVME_RULE_STUCK_NO_INVALIDATE) ? bf_rule_find(r, e, e->queue) : NULL;

	if (!f || !head)
		return;
	bf_finding_since(f, head->posted_ps, head->posted_record);
	bf_finding_say(f,
		       "the completion in slot %" PRIu64 " of CQ %" PRIu64 " has been in VRAM since %" PRIu64
		       " ns, and nobody invalidated what stands between DMA and %s (GCVM_INVALIDATE_ENG17_REQ)",
		       e->nvm_timeout.cq_head, e->nvm_timeout.qid, head->posted_ps / (uint64_t)BF_NS,
		       bf_rule_actor(r->rules, e->actor));
}

const struct bf_rule bf_rule_nvme_no_invalidate = {
	.about = {
		.id = "NVME-NO-INVALIDATE",
		.family = "nvme",
		.title = "the GPU was not told to look at what DMA had written",
		.severity = BF_SEVERITY_ERROR,
		.hardware = "Something between the data fabric and VRAM keeps older bytes until a heavyweight invalidation " "(GCVM_INVALIDATE_ENG17_REQ) flushes it; until then the GPU may return them.",
		.wrong = "The completion is in VRAM, and the GPU was never told to look again.",
		.fix = "Write GCVM_INVALIDATE_ENG17_REQ with flush type 2 and wait for the acknowledgement before "
		       "polling again.",
		.sources = "docs/hardware/gpu.md#vram-3; Linux amdgpu gmc_v*_0_flush_gpu_tlb",
		.example = "run nvme-verify --queues-in vram-uc --commands 8 --size 512 --timeout 1ms --bug "
			   "no-invalidate",
		.twin = "run nvme-verify --queues-in vram-uc --commands 8 --size 512 --timeout 1ms",
	},
	.rank = BF_RANK_STUCK,
	.records = BF_SEES(nvm_timeout),
	.on = on,
};
