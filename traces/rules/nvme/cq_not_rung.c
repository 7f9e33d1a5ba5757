#include <inttypes.h>

#include "traces/rules/nvme/nvme.h"

static void on(struct bf_rule_run *r, const struct bf_seen *e)
{
	struct bf_finding *f =
	    bf_nvme_rule_stuck_for(r, BF_NVME_RULE_STUCK_CQ_NOT_RUNG) ? bf_rule_find(r, e, e->queue) : NULL;

	if (!f)
		return;
	bf_finding_say(f, "the controller holds completions back because CQ %" PRIu64 " is full: the driver %s",
		       e->nvm_timeout.qid,
		       bf_nvme_rule_of(e->queue)->cq_rung ? "has not rung its head doorbell for what it took"
							  : "never rang its head doorbell");
}

/* Of a driver that says nothing: the run is over, and a completion still waits for room. */
static void end_queue(struct bf_rule_run *r, struct bf_rule_queue *queue, bool complete)
{
	const struct bf_nvme_rule_queue *q = bf_nvme_rule_of(queue);
	struct bf_finding *f =
	    complete && q->held && bf_nvme_rule_is_silent(queue) ? bf_rule_find(r, NULL, queue) : NULL;

	if (f)
		bf_finding_say(f,
			       "the controller holds completions back because CQ %" PRIu64
			       " is full: it has posted %" PRIu64 ", and the head doorbell gave back %" PRIu64,
			       queue->number, q->silent.posted, q->silent.freed);
}

const struct bf_rule bf_rule_nvme_cq_not_rung = {
	.about = {
		.id = "NVME-CQ-NOT-RUNG",
		.family = "nvme",
		.title = "the controller never learns which completions were consumed",
		.severity = BF_SEVERITY_ERROR,
		.hardware = "A controller posts completions only into slots that the head doorbell has given back.",
		.wrong = "The completion queue is full, so completions are held back and everything stops after one "
			 "lap.",
		.fix = "Ring the completion queue's head doorbell after consuming entries, at the latest before the "
		       "queue is full.",
		.sources = "NVM Express Base 2.0, Queue Model; docs/hardware/nvme.md#queues-5",
		.example = "run nvme-verify --commands 60 --depth 8 --size 512 --bug cq-head-never-rung",
		.twin = "run nvme-verify --commands 60 --depth 8 --size 512",
	},
	.rank = BF_RANK_STUCK,
	.records = BF_SEES(nvm_timeout),
	.on = on,
	.end_queue = end_queue,
};
