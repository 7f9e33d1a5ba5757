#include <inttypes.h>

#include "traces/rules/nvme/nvme.h"
#include "models/nvme/prm.h"

static void on(struct bf_rule_run *r, const struct bf_seen *e)
{
	struct bf_finding *f;

	if (e->nvme_driver_error.wrong == BF_NVME_WRONG_ACCESS && e->nvme_driver_error.value < BF_NVME_DOORBELLS) {
		f = bf_rule_find(r, e, NULL);
		if (f)
			bf_finding_say(
			    f, "an access of %" PRIu64 " bytes to register 0x%" PRIx64 ", which the controller ignores",
			    e->nvme_driver_error.limit, e->nvme_driver_error.value);
		return;
	}
	if (e->nvme_driver_error.wrong != BF_NVME_WRONG_DOORBELL_VALUE &&
	    e->nvme_driver_error.wrong != BF_NVME_WRONG_SHADOW)
		return;
	f = bf_rule_find(r, e, e->queue);
	if (f)
		bf_finding_say(f,
			       "the driver wrote 0x%" PRIx64 " to a %s of queue %" PRIu64
			       ", which must be below %" PRIu64 ": the controller ignores it",
			       e->nvme_driver_error.value,
			       e->nvme_driver_error.wrong == BF_NVME_WRONG_SHADOW ? "shadow doorbell" : "doorbell",
			       e->nvme_driver_error.qid, e->nvme_driver_error.limit);
}

const struct bf_rule bf_rule_nvme_doorbell_ignored = {
	.about = {
		.id = "NVME-WRITE-IGNORED",
		.family = "nvme",
		.title = "the controller ignored a write to a doorbell or register",
		.severity = BF_SEVERITY_ERROR,
		.hardware = "Doorbells accept slot numbers below the queue size, stored as 32 bits, for queues that exist, " "while the controller is ready. Anything else is ignored or undefined.",
		.wrong = "The write had no effect, or one that differs from controller to controller.",
		.fix = "Look at the value and at the controller's state that the finding names.",
		.sources = "NVM Express Base 2.0, Queue Model and Asynchronous Event Request; "
			   "docs/hardware/nvme.md#doorbells-2; spdk/spdk#2171",
		.example = "run nvme-verify --commands 60 --depth 8 --size 512 --timeout 10ms --bug tail-not-wrapped",
		.twin = "run nvme-verify --commands 60 --depth 8 --size 512 --timeout 10ms",
	},
	.rank = BF_RANK_INDEX,
	.records = BF_SEES(nvme_driver_error),
	.on = on,
};
