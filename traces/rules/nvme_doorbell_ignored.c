#include <inttypes.h>

#include "traces/rules/nvme.h"

static void on(struct bf_rule_run *r, const struct bf_seen *e)
{
	struct bf_finding *f =
	    e->nvme_driver_error.wrong != 1 && e->nvme_driver_error.wrong != 2 && e->nvme_driver_error.wrong != 9
		? bf_rule_find(r, e, e->queue)
		: NULL;

	if (f)
		bf_finding_say(f,
			       "the driver wrote 0x%" PRIx64 " to a doorbell or register of queue %" PRIu64
			       ", which the controller ignores",
			       e->nvme_driver_error.value, e->nvme_driver_error.qid);
}

const struct bf_rule bf_rule_nvme_doorbell_ignored = {
	.about = {
		.id = "NVME-WRITE-IGNORED",
		.family = "nvme",
		.title = "the controller ignored a write to a doorbell or register",
		.severity = BF_SEVERITY_ERROR,
		.hardware = "Doorbells take slot numbers below the queue size, in dwords, for queues that exist, "
			    "while the controller is ready. Anything else is ignored or undefined.",
		.wrong = "The write had no effect, or one that differs from controller to controller.",
		.fix = "Look at the value and at the controller's state that the finding names.",
		.sources = "NVM Express Base 2.0, 3.3.1 and 5.2; reference nvme, section 14",
		.test = "tests/traces/test_rules_nvme.c",
	},
	.rank = BF_RANK_INDEX,
	.records = (const uint8_t[]){ BF_SEEN_nvme_driver_error, 0 },
	.on = on,
};
