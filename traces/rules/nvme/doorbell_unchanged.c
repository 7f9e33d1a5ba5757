#include <inttypes.h>

#include "traces/rules/nvme/nvme.h"

static void on(struct bf_rule_run *r, const struct bf_seen *e)
{
	struct bf_finding *f =
	    e->nvme_driver_error.wrong == BF_NVME_WRONG_UNCHANGED ? bf_rule_find(r, e, e->queue) : NULL;

	if (f)
		bf_finding_say(f,
			       "doorbell of queue %" PRIu64 " was rung with %" PRIu64 ", the value that it had already",
			       e->nvme_driver_error.qid, e->nvme_driver_error.value);
}

const struct bf_rule bf_rule_nvme_doorbell_unchanged = {
	.about = {
		.id = "NVME-DOORBELL-UNCHANGED",
		.family = "nvme",
		.title = "a doorbell was rung with its old value",
		.severity = BF_SEVERITY_WARNING,
		.hardware = "A doorbell that changes nothing is an invalid write: the controller ignores it and "
			    "reports an asynchronous event (error, invalid doorbell value).",
		.wrong = "Either the doorbell was rung twice, or a whole lap of entries was announced at once, which "
			 "looks like none.",
		.fix = "Ring only when the tail has moved, and announce at most one entry less than the ring has.",
		.sources = "NVM Express Base 2.0, 5.2 (asynchronous event, invalid doorbell write value)",
		.example = "run nvme-verify --commands 8 --size 512 --bug doorbell-twice",
		.twin = "run nvme-verify --commands 8 --size 512",
	},
	.rank = BF_RANK_INDEX + 2,
	.records = BF_SEES(nvme_driver_error),
	.on = on,
};
