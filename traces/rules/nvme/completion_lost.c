#include <inttypes.h>

#include "traces/rules/nvme/nvme.h"

static void on(struct bf_rule_run *r, const struct bf_seen *e)
{
	const struct bf_nvme_rule_slot *head = bf_nvme_rule_slot(bf_nvme_rule_of(e->queue), e->nvm_timeout.cq_head);
	struct bf_finding *f = bf_nvme_rule_stuck_for(r, BF_NVME_RULE_STUCK_LOST) ? bf_rule_find(r, e, e->queue) : NULL;

	if (!f || !head)
		return;
	bf_finding_since(f, head->posted_ps, head->posted_record);
	bf_finding_say(f,
		       "the controller posted command %u to slot %" PRIu64 " of CQ %" PRIu64
		       " %s before %s gave up, and the "
		       "phase tag in memory is still the old one",
		       (unsigned)head->posted_cid, e->nvm_timeout.cq_head, e->nvm_timeout.qid,
		       bf_span_of(e->time_ps - head->posted_ps).text, bf_rule_actor(r->rules, e->actor));
}

const struct bf_rule bf_rule_nvme_completion_lost = {
	.about = {
		.id = "NVME-COMPLETION-LOST",
		.family = "nvme",
		.title = "a completion was posted, but is not in memory",
		.severity = BF_SEVERITY_ERROR,
		.hardware = "Completions are posted writes: neither the controller nor the driver learns when one "
			    "does not arrive.",
		.wrong = "The controller has answered, and the slot that it names holds what was there before: the "
			 "write was dropped, or went to other memory.",
		.fix = "Check the address of the completion queue and its mapping (IOMMU, peer-to-peer route). A "
		       "driver recovers by Abort, which is answered, too, and then by a reset.",
		.sources = "NVM Express Base 2.0, 3.3.3.2; PCI Express Base 4.0, 2.4; ZaidQureshi/bam#57",
		.example = "run nvme-read --commands 8 --timeout 1ms --faults 'lost-completion skip=20 count=1'",
		.twin = "run nvme-read --commands 8 --timeout 1ms",
	},
	.rank = BF_RANK_STUCK,
	.records = BF_SEES(nvm_timeout),
	.needs = BF_SEES(nvm_build, nvme_completion),
	.on = on,
};
