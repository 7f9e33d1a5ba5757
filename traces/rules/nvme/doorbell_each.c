#include <inttypes.h>

#include "traces/rules/nvme/nvme.h"

#define FEWEST 32u

struct counts {
	uint64_t rings;
};

static void on(struct bf_rule_run *r, const struct bf_seen *e)
{
	struct counts *c = bf_rule_queue_state(r, e->queue);

	c->rings += e->nvm_ring.queue == 0 && e->nvm_ring.mmio;
}

static void end_queue(struct bf_rule_run *r, struct bf_rule_queue *queue, bool complete)
{
	const struct bf_nvme_rule_queue *q = bf_nvme_rule_of(queue);
	const struct counts *c = bf_rule_queue_state(r, queue);
	struct bf_finding *f;

	(void)complete;
	/* With one command at a time there is nothing to put together. */
	if (!queue->number || q->built < FEWEST || q->most_in_flight < 4 || c->rings * 4 <= q->built * 3)
		return;
	f = bf_rule_find(r, NULL, queue);
	if (f)
		bf_finding_say(f, "%" PRIu64 " doorbells for %" PRIu64 " commands of SQ %" PRIu64, c->rings, q->built,
			       queue->number);
}

const struct bf_rule bf_rule_nvme_doorbell_each = {
	.about = {
		.id = "NVME-DOORBELL-EACH",
		.family = "nvme",
		.title = "a doorbell for each command",
		.severity = BF_SEVERITY_NOTE,
		.hardware = "A doorbell is a posted write of its own through PCIe and starts a fetch of its own.",
		.wrong = "Correct, but slower than necessary: one doorbell for many entries costs the same as one for " "one, and lets the controller fetch them together.",
		.fix = "Fill several slots and ring once; ring at the latest when somebody waits.",
		.sources = "ZaidQureshi/bam nvm_parallel_queue.h; docs/hardware/nvme.md#other-controllers-8",
		.example = "run nvme-write --size 512",
		.twin = "run nvme-write --size 512 --batch 16",
	},
	.rank = BF_RANK_SPEED,
	.records = BF_SEES(nvm_ring),
	.on = on,
	.end_queue = end_queue,
	.queue_bytes = sizeof(struct counts),
};
