#include <inttypes.h>

#include "traces/rules/nvme/nvme.h"

#define MANY 8u

struct threads {
	uint32_t actors[MANY], n; /* the first ones that stored entries */
};

static void on(struct bf_rule_run *r, const struct bf_seen *e)
{
	struct threads *t = bf_rule_queue_state(r, e->queue);
	struct bf_finding *f;

	for (uint32_t i = 0; i < t->n; i++)
		if (t->actors[i] == e->actor)
			return;
	if (t->n < MANY)
		t->actors[t->n++] = e->actor;
	f = t->n == MANY && e->queue->number ? bf_rule_find(r, e, e->queue) : NULL;
	if (f)
		bf_finding_say(f, "at least %u threads submit to SQ %" PRIu64, MANY, e->queue->number);
}

const struct bf_rule bf_rule_nvme_shared_queue = {
	.about = {
		.id = "NVME-SHARED-QUEUE",
		.family = "nvme",
		.title = "many threads share one queue pair",
		.severity = BF_SEVERITY_NOTE,
		.hardware = "A queue pair has one tail, one head and one doorbell. Controllers have tens to thousands "
			    "of pairs.",
		.wrong = "Correct, but slower than necessary: threads wait for each other at the ticket, at the doorbell " "and at the completion queue.",
		.fix = "Spread threads over queue pairs, up to what Set Features, Number of Queues, grants.",
		.sources = "ZaidQureshi/bam nvm_parallel_queue.h",
		.example = "run nvme-read --threads 16 --share 16 --depth 4 --commands 8",
		.twin = "run nvme-read --threads 16 --share 2 --depth 4 --commands 8",
	},
	.rank = BF_RANK_SPEED,
	.records = BF_SEES(nvm_build),
	.on = on,
	.queue_bytes = sizeof(struct threads),
};
