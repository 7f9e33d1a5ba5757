#include <inttypes.h>

#include "traces/rules/sdma/sdma.h"

static void on(struct bf_rule_run *r, const struct bf_seen *e)
{
	struct bf_finding *f = e->sdma_queue.event == BF_SDMA_QUEUE_LEFT ? bf_rule_find(r, e, e->queue) : NULL;

	if (f)
		bf_finding_say(f, "%s was created and is still there when its engine goes away",
			       bf_rule_queue_name(r->rules, e->queue));
}

const struct bf_rule bf_rule_sdma_leak = {
	.about = {
		.id = "SDMA-LEAK",
		.family = "sdma",
		.title = "a queue is never destroyed",
		.severity = BF_SEVERITY_WARNING,
		.hardware = "A process has a limited number of queues on each engine, and the kernel's driver frees "
"what is left when the process ends.",
		.wrong = "The queue was still there when its device went away: a program that goes on like this runs "
"out of queues, and its rings and pages stay pinned.",
		.fix = "AMDKFD_IOC_DESTROY_QUEUE for each queue that was created, before its ring is freed.",
		.sources = "docs/hardware/sdma.md#queues-of-the-kernel-driver-1; ROCm/rocm-systems KFDQMTest.CreateDestroySdmaQueue; Linux kfd_ioctl.h",
		.example = "run sdma-copy --bug leak",
		.twin = "run sdma-copy",
	},
	.rank = BF_RANK_LUCK,
	.records = BF_SEES(sdma_queue),
	.on = on,
};
