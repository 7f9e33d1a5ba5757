#include <inttypes.h>

#include "traces/rules/nvme/nvme.h"

static void on(struct bf_rule_run *r, const struct bf_seen *e)
{
	const struct bf_nvme_rule_slot *head = bf_nvme_rule_slot(bf_nvme_rule_of(e->queue), e->nvm_timeout.cq_head);
	struct bf_finding *f =
	    bf_nvme_rule_stuck_for(r, BF_NVME_RULE_STUCK_UNSEEN) ? bf_rule_find(r, e, e->queue) : NULL;

	if (!f || !head)
		return;
	bf_finding_since(f, head->posted_ps, head->posted_record);
	bf_finding_say(f,
		       "%s waits for slot %" PRIu64 " of CQ %" PRIu64 " to have phase %" PRIu64
		       ", and the controller has completed all that it was told of",
		       bf_rule_actor(r->rules, e->actor), e->nvm_timeout.cq_head, e->nvm_timeout.qid,
		       e->nvm_timeout.cq_phase);
	if (head->posted)
		bf_finding_say(
		    f,
		    ", there last at %" PRIu64
		    " ns with phase %u, and the driver does not take it: the slot, its address or the phase is "
		    "wrong",
		    head->posted_ps / (uint64_t)BF_NS, (unsigned)head->posted_phase);
	else
		bf_finding_say(f, " and has posted nothing there yet: the driver's head has gone too far");
}

const struct bf_rule bf_rule_nvme_unseen = {
	.about = {
		.id = "NVME-COMPLETION-UNSEEN",
		.family = "nvme",
		.title = "a completion is in memory, but nobody takes it",
		.severity = BF_SEVERITY_ERROR,
		.hardware = "The phase tag of the slot at the head tells whether an entry is new.",
		.wrong = "The controller has posted, and the driver looks for another phase tag, at another slot, "
			 "or at other memory.",
		.fix = "Compare head and phase with the controller's; check the queue's address.",
		.sources = "NVM Express Base 2.0, 3.3.3.2 and 4.2.4",
		.example = "run nvme-verify --commands 8 --size 512 --timeout 10ms --bug phase-bit-wrong",
		.twin = "run nvme-verify --commands 8 --size 512 --timeout 10ms",
	},
	.rank = BF_RANK_STUCK,
	.records = BF_SEES(nvm_timeout),
	.on = on,
};
