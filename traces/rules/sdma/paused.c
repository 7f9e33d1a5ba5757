#include <inttypes.h>

#include "traces/rules/sdma/sdma.h"

static void end_queue(struct bf_rule_run *r, struct bf_rule_queue *queue, bool complete)
{
	const struct bf_sdma_rule_queue *q = bf_sdma_rule_of(queue);
	struct bf_finding *f;

	if (!complete || !q->paused || q->announced.upto <= q->decoded.upto)
		return;
	f = bf_rule_find(r, NULL, queue);
	if (!f)
		return;
	bf_finding_index(f, q->decoded.upto);
	bf_finding_say(f, "%s is paused, and bytes %" PRIu64 " to %" PRIu64 " of it were rung for and wait",
		       bf_rule_queue_name(r->rules, queue), q->decoded.upto, q->announced.upto - 1);
}

const struct bf_rule bf_rule_sdma_paused = {
	.about = {
		.id = "SDMA-PAUSED",
		.family = "sdma",
		.title = "packets wait in a queue that was paused and never resumed",
		.severity = BF_SEVERITY_ERROR,
		.hardware = "A queue whose ring address or size was updated to 0 stops and loses nothing: doorbells are kept " "until it is given its ring back.",
		.wrong = "Its ring was never restored.",
		.fix = "AMDKFD_IOC_UPDATE_QUEUE with the ring's address, size and a percentage above 0 ends the pause.",
		.sources = "docs/hardware/sdma.md#ring-8; ROCm/rocm-systems KFDQMTest.DisableSdmaQueueByUpdateWithNullAddress; Linux kfd_ioctl.h",
		.example = "run sdma-pause --limit 10ms --bug no-resume",
		.twin = "run sdma-pause --limit 10ms",
	},
	.rank = BF_RANK_STUCK - 2,
	.end_queue = end_queue,
};
