#include <inttypes.h>

#include "traces/rules/nvme/nvme.h"

static void on(struct bf_rule_run *r, const struct bf_seen *e)
{
	struct bf_finding *f =
	    e->nvme_driver_error.wrong == BF_NVME_WRONG_NOT_READY ? bf_rule_find(r, e, e->queue) : NULL;

	if (f)
		bf_finding_say(f, "queue %" PRIu64 " got a doorbell (%" PRIu64 ") while CSTS.RDY was 0",
			       e->nvme_driver_error.qid, e->nvme_driver_error.value);
}

const struct bf_rule bf_rule_nvme_not_ready = {
	.about = {
		.id = "NVME-NOT-READY",
		.family = "nvme",
		.title = "a doorbell was rung before the controller was ready",
		.severity = BF_SEVERITY_ERROR,
		.hardware = "CC.EN = 1 begins an initialisation that takes up to CAP.TO; queues exist when CSTS.RDY "
			    "is 1 and until a reset or shutdown.",
		.wrong = "The command was announced to a controller that ignores doorbells, so it is never fetched.",
		.fix = "Poll CSTS until RDY is 1 (and CFS 0) before the first admin command.",
		.sources = "NVM Express Base 2.0, 3.5.1",
		.example = "run nvme-verify --commands 8 --size 512 --bug enable-no-wait",
		.twin = "run nvme-verify --commands 8 --size 512",
	},
	.rank = BF_RANK_SET_UP + 2,
	.records = BF_SEES(nvme_driver_error),
	.on = on,
};
