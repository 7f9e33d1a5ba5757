#include <inttypes.h>

#include "traces/rules/nvme/nvme.h"

static void on(struct bf_rule_run *r, const struct bf_seen *e)
{
	const struct bf_nvme_rule_queue *q = bf_nvme_rule_of(e->queue);
	struct bf_finding *f =
	    bf_nvme_rule_stuck_for(r, BF_NVME_RULE_STUCK_NOT_RUNG) ? bf_rule_find(r, e, e->queue) : NULL;

	if (!f)
		return;
	/* The driver itself may believe that it has rung. */
	if (e->nvm_timeout.sq_tail == e->nvm_timeout.sq_rung) {
		bf_finding_say(f,
			       "%s waits for commands that were never announced to the controller: %" PRIu64
			       " entries were built in SQ %" PRIu64 ", of which it has fetched %" PRIu64
			       ", and the last tail that was rung is %" PRIu32,
			       bf_rule_actor(r->rules, e->actor), q->built, e->nvm_timeout.qid, q->fetches,
			       q->last_rung);
		return;
	}
	bf_finding_say(f,
		       "%s waits for commands that were never announced to the controller: SQ %" PRIu64
		       " is filled up to tail %" PRIu64 ", and the last tail that was rung is %" PRIu64,
		       bf_rule_actor(r->rules, e->actor), e->nvm_timeout.qid, e->nvm_timeout.sq_tail,
		       e->nvm_timeout.sq_rung);
}

const struct bf_rule bf_rule_nvme_not_rung = {
	.about = {
		.id = "NVME-NOT-RUNG",
		.family = "nvme",
		.title = "commands that were never announced to the controller",
		.severity = BF_SEVERITY_ERROR,
		.hardware = "The controller looks at a submission queue only after a tail doorbell.",
		.wrong = "Slots were filled and the doorbell was left to a later submission, which did not come.",
		.fix = "Ring after the last command of a batch, whatever its number; a thread that waits rings "
		       "first.",
		.sources = "NVM Express Base 2.0, Queue Model; docs/hardware/nvme.md#queues",
		.example = "run nvme-verify --commands 30 --batch 4 --depth 8 --size 512 --bug doorbell-per-n",
		.twin = "run nvme-verify --commands 30 --batch 4 --depth 8 --size 512",
	},
	.rank = BF_RANK_STUCK,
	.records = BF_SEES(nvm_timeout),
	.on = on,
};
