#include <inttypes.h>

#include "traces/rules/nvme/nvme.h"

static void on(struct bf_rule_run *r, const struct bf_seen *e)
{
	const struct bf_nvme_rule_slot *head = bf_nvme_rule_slot(bf_nvme_rule_of(e->queue), e->nvm_timeout.cq_head);
	struct bf_finding *f = bf_nvme_rule_stuck_for(r, BF_NVME_RULE_STUCK_L2) ? bf_rule_find(r, e, e->queue) : NULL;

	if (!f || !head)
		return;
	bf_finding_since(f, head->posted_ps, head->posted_record);
	bf_finding_say(f,
		       "the completion in slot %" PRIu64 " of CQ %" PRIu64 " has been in VRAM since %" PRIu64
		       " ns, and %s polls it with loads that the L2 serves from an old copy",
		       e->nvm_timeout.cq_head, e->nvm_timeout.qid, head->posted_ps / (uint64_t)BF_NS,
		       bf_rule_actor(r->rules, e->actor));
}

const struct bf_rule bf_rule_nvme_l2_poll = {
	.about = {
		.id = "NVME-L2-POLL",
		.family = "nvme",
		.title = "completions in VRAM are polled through the L2",
		.severity = BF_SEVERITY_ERROR,
		.hardware = "DMA from outside writes VRAM past the L2, which keeps serving its cached line.",
		.wrong = "The poller sees the old entry forever.",
		.fix = "Map completion queues uncached (MTYPE UC) and poll with loads of system scope.",
		.sources = "docs/hardware/gpu.md#vram-2",
		.example = "run nvme-verify --queues-in vram --commands 8 --size 512 --timeout 1ms --bug "
			   "plain-load-poll",
		.twin = "run nvme-verify --queues-in vram --commands 8 --size 512 --timeout 1ms",
	},
	.rank = BF_RANK_STUCK,
	.records = BF_SEES(nvm_timeout),
	.on = on,
};
