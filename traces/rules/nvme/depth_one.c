#include <inttypes.h>

#include "traces/rules/nvme/nvme.h"

#define FEWEST 32u

static void end_queue(struct bf_rule_run *r, struct bf_rule_queue *queue, bool complete)
{
	const struct bf_nvme_rule_queue *q = bf_nvme_rule_of(queue);
	struct bf_finding *f;

	(void)complete;
	if (!queue->number || q->built < FEWEST || q->most_in_flight != 1)
		return;
	f = bf_rule_find(r, NULL, queue);
	if (f)
		bf_finding_say(f, "SQ %" PRIu64 " never had more than one of its %" PRIu64 " commands in flight",
			       queue->number, q->built);
}

const struct bf_rule bf_rule_nvme_depth_one = {
	.about = {
		.id = "NVME-DEPTH-ONE",
		.family = "nvme",
		.title = "one command at a time",
		.severity = BF_SEVERITY_NOTE,
		.hardware = "A command takes tens of microseconds, most of them in the medium, and a controller works "
			    "on many at once.",
		.wrong = "Correct, but slow: the queue is empty while each completion travels, and one of many flash " "channels works.",
		.fix = "Keep as many commands in flight as bandwidth times latency asks for, on one queue or on "
		       "several.",
		.sources = "Samsung 970 PRO data sheet 1.0 (random reads at depth 1 and 32)",
		.example = "run nvme-read --depth 1 --commands 40",
		.twin = "run nvme-read --depth 8 --commands 40",
	},
	.rank = BF_RANK_SPEED,
	.end_queue = end_queue,
};
