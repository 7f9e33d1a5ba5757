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

/* Of a driver that says nothing: a thread waits at the next completion, which has come. */
static void end(struct bf_rule_run *r, bool complete)
{
	const struct bf_nvme_rule_poller *p;

	for (uint32_t i = 0; complete && (p = bf_nvme_rule_waiting(r->facts, &i)) != NULL;) {
		struct bf_rule_queue *queue = p->waits->queue;
		struct bf_nvme_rule_queue *q = bf_nvme_rule_of(queue);
		const uint32_t next = q->silent.cqes ? (uint32_t)(q->silent.freed % q->silent.cqes) : 0;
		const struct bf_nvme_rule_slot *s = bf_nvme_rule_slot(q, next);
		struct bf_finding *f;

		/* Where entries are under way, the one that it waits for may be another. */
		if (!bf_nvme_rule_is_silent(queue) || q->silent.posted <= q->silent.freed || p->slot / 4 != next / 4 ||
		    !s)
			continue;
		f = bf_rule_find(r, NULL, queue);
		if (!f)
			continue;
		f->actor = p->actor;
		f->found.at_ps = p->wait_ps;
		bf_finding_index(f, next);
		bf_finding_since(f, s->posted_ps, s->posted_record);
		bf_finding_say(f,
			       "%s waits at slot %" PRIu32 " of CQ %" PRIu64
			       ", where the completion of command 0x%x lies since %" PRIu64
			       " ns with phase %u, and does not take it: the phase, or where it looks for it, is wrong",
			       bf_rule_actor(r->rules, p->actor), next, queue->number, (unsigned)s->posted_cid,
			       s->posted_ps / (uint64_t)BF_NS, (unsigned)s->posted_phase);
	}
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
		.sources = "NVM Express Base 2.0, 3.3.3.2",
		.example = "run nvme-verify --commands 8 --size 512 --timeout 10ms --bug phase-bit-wrong",
		.twin = "run nvme-verify --commands 8 --size 512 --timeout 10ms",
	},
	.rank = BF_RANK_STUCK,
	.records = BF_SEES(nvm_timeout),
	.on = on,
	.end = end,
};
