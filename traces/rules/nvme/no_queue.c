#include <inttypes.h>

#include "traces/rules/nvme/nvme.h"

static void on(struct bf_rule_run *r, const struct bf_seen *e)
{
	struct bf_finding *f =
	    e->nvme_driver_error.wrong == BF_NVME_WRONG_NO_QUEUE ? bf_rule_find(r, e, e->queue) : NULL;

	if (f)
		bf_finding_say(f,
			       "queue %" PRIu64 " got a doorbell (%" PRIu64 "), and the controller has no such queue",
			       e->nvme_driver_error.qid, e->nvme_driver_error.value);
}

const struct bf_rule bf_rule_nvme_no_queue = {
	.about = {
		.id = "NVME-NO-QUEUE",
		.family = "nvme",
		.title = "a doorbell was rung for a queue that does not exist",
		.severity = BF_SEVERITY_ERROR,
		.hardware = "A queue exists from the completion of Create I/O Submission (or Completion) Queue to its "
			    "deletion or a reset. Doorbells of others are ignored.",
		.wrong = "The queue was never created, its creation failed or was not waited for, or its number is "
			 "another one.",
		.fix = "Ring only queues whose creation has completed with status 0.",
		.sources = "NVM Express Base 2.0, 3.3.1 and 5.2; docs/hardware/nvme.md#other-controllers-2",
		.example = "run nvme-verify --commands 8 --size 512 --bug queue-not-created",
		.twin = "run nvme-verify --commands 8 --size 512",
	},
	.rank = BF_RANK_SET_UP + 6,
	.records = BF_SEES(nvme_driver_error),
	.on = on,
};
