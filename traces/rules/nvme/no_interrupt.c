#include <inttypes.h>

#include "traces/rules/nvme/nvme.h"

#define IEN 2u
#define VECTORS 64u

struct state {
	bool any;                   /* interrupts reach somebody in this run */
	uint64_t fired_ps[VECTORS]; /* the last one of a vector, plus one */
};

struct vector {
	uint64_t number;
	bool enabled;
};

static void on_timeout(struct bf_rule_run *r, const struct bf_seen *e)
{
	const struct state *s = r->state;
	const struct vector *v = bf_rule_queue_state(r, e->queue);
	const struct bf_nvme_rule_slot *head = bf_nvme_rule_slot(bf_nvme_rule_of(e->queue), e->nvm_timeout.cq_head);
	struct bf_finding *f;

	if (!s->any || !v->enabled || v->number >= VECTORS || !head ||
	    !bf_nvme_rule_stuck_for(r, BF_NVME_RULE_STUCK_UNSEEN) || s->fired_ps[v->number] > head->posted_ps)
		return;
	f = bf_rule_find(r, e, e->queue);
	if (!f)
		return;
	bf_finding_since(f, head->posted_ps, head->posted_record);
	bf_finding_say(f,
		       "%s gave up on CQ %" PRIu64 ", whose slot %" PRIu64
		       " has held a new completion for %s; vector %" PRIu64 " did not fire since",
		       bf_rule_actor(r->rules, e->actor), e->nvm_timeout.qid, e->nvm_timeout.cq_head,
		       bf_span_of(e->time_ps - head->posted_ps).text, v->number);
}

static void on(struct bf_rule_run *r, const struct bf_seen *e)
{
	struct state *s = r->state;

	if (e->kind == BF_SEEN_nvme_interrupt) {
		s->any = true;
		if (e->nvme_interrupt.vector < VECTORS)
			s->fired_ps[e->nvme_interrupt.vector] = e->time_ps + 1;
	} else if (e->kind == BF_SEEN_nvme_queue) {
		struct vector *v = bf_rule_queue_state(r, e->queue);

		if (e->nvme_queue.queue)
			*v = (struct vector){ e->nvme_queue.vector, e->nvme_queue.what == BF_NVME_QUEUE_CREATED &&
									e->nvme_queue.flags & IEN };
	} else {
		on_timeout(r, e);
	}
}

const struct bf_rule bf_rule_nvme_no_interrupt = {
	.about = {
		.id = "NVME-NO-INTERRUPT",
		.family = "nvme",
		.title = "a completion was posted, and its interrupt did not come",
		.severity = BF_SEVERITY_ERROR,
		.hardware = "An interrupt is a posted write after the completion. It comes when the queue has IEN "
			    "set, its vector is neither masked (MSI-X table, INTMS) nor held back by coalescing, and "
			    "the write is routed.",
		.wrong = "The completion has been in memory all the time while the driver slept. Linux prints "
			 "\"timeout, completion polled\".",
		.fix = "Unmask the vector after handling it, give each queue the vector that its handler is for, and "
		       "look at the queue once more after unmasking.",
		.sources = "NVM Express PCIe Transport 1.0, Interrupts; NVM Express Base 2.0, 3.1.3.3; "
			   "starfive-tech/linux#98; inindev/nanopi-r5#23",
		.test = "tests/traces/test_rules_nvme_more.c",
		.why = "The driver polls.",
	},
	.rank = BF_RANK_STUCK - 1,
	.records = BF_SEES(nvme_queue, nvme_interrupt, nvm_timeout),
	.on = on,
	.state_bytes = sizeof(struct state),
	.queue_bytes = sizeof(struct vector),
};
