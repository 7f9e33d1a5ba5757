#include <inttypes.h>

#include "traces/rules/nvme/nvme.h"

static void on_fetch(struct bf_rule_run *r, const struct bf_seen *e)
{
	const struct bf_nvme_rule_queue *q = bf_nvme_rule_of(e->queue);
	struct bf_finding *f;

	/* Exchanged they are only if each queue has the other one's size. */
	if (e->nvme_fetch.sqid || !q->entries || e->nvme_fetch.slot < q->entries || q->cq_size != q->entries)
		return;
	f = bf_rule_find(r, e, e->queue);
	if (f)
		bf_finding_say(f,
			       "the controller fetched slot %" PRIu64
			       " of the admin submission queue, which the driver gave %" PRIu32
			       " slots: the sizes in AQA are exchanged (ASQS is bits 11:0, ACQS bits 27:16)",
			       e->nvme_fetch.slot, q->entries);
}

static void on(struct bf_rule_run *r, const struct bf_seen *e)
{
	const struct bf_nvme_rule_queue *q = bf_nvme_rule_of(e->queue);
	struct bf_finding *f;

	if (e->kind == BF_SEEN_nvme_fetch) {
		on_fetch(r, e);
		return;
	}
	/* The controller has come round its admin completion queue and the driver has not. */
	if (e->nvm_timeout.qid || !q->entries || q->cq_size != q->entries ||
	    e->nvm_timeout.cq_head <= q->most_cq_slot || q->completions <= q->most_cq_slot + 1ull)
		return;
	f = bf_rule_find(r, e, e->queue);
	if (f)
		bf_finding_say(f,
			       "the driver waits at slot %" PRIu64
			       " of the admin completion queue, and the controller began again at 0 after slot %" PRIu32
			       ": the sizes in AQA are exchanged (ASQS is bits 11:0, ACQS bits 27:16)",
			       e->nvm_timeout.cq_head, q->most_cq_slot);
}

const struct bf_rule bf_rule_nvme_aqa_swapped = {
	.about = {
		.id = "NVME-AQA-SWAPPED",
		.family = "nvme",
		.title = "the sizes of the admin queues are exchanged",
		.severity = BF_SEVERITY_ERROR,
		.hardware = "AQA holds ASQS in bits 11:0 and ACQS in bits 27:16, both counted from 0. The "
			    "controller takes a ring's length from there and from nowhere else.",
		.wrong = "The controller goes on behind the ring that the driver gave it, or begins again before "
			 "its end: it fetches other memory as commands, or posts where nobody looks.",
		.fix = "AQA = (ACQ entries - 1) << 16 | (ASQ entries - 1).",
		.sources = "NVM Express Base 2.0, 3.1.3.8 AQA; docs/hardware/nvme.md#other-controllers-4",
		.example = "run nvme-admin --commands 100 --bug aqa-swapped",
		.twin = "run nvme-admin --commands 100",
	},
	.rank = BF_RANK_SET_UP,
	.records = BF_SEES(nvme_fetch, nvm_timeout),
	.on = on,
};
