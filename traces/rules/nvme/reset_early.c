#include <inttypes.h>

#include "traces/rules/nvme/nvme.h"

static void on(struct bf_rule_run *r, const struct bf_seen *e)
{
	struct bf_finding *f = e->nvme_driver_error.wrong == BF_NVME_WRONG_ENABLE ? bf_rule_find(r, e, e->queue) : NULL;

	if (f)
		bf_finding_say(f,
			       "CC was set to 0x%" PRIx64 " (EN = 1) while CSTS was 0x%" PRIx64
			       ": the reset was not waited for",
			       e->nvme_driver_error.value, e->nvme_driver_error.limit);
}

const struct bf_rule bf_rule_nvme_reset_early = {
	.about = {
		.id = "NVME-RESET-EARLY",
		.family = "nvme",
		.title = "the controller was enabled again before it had stopped",
		.severity = BF_SEVERITY_ERROR,
		.hardware = "After CC.EN = 0 a controller stops, and says so by CSTS.RDY = 0. Setting CC.EN before "
			    "that is undefined.",
		.wrong = "CSTS.RDY is still 1 from before: the driver takes the controller for ready, and it is not.",
		.fix = "After CC.EN = 0 wait until CSTS.RDY is 0, at most CAP.TO, then program AQA, ASQ, ACQ and CC.",
		.sources = "NVM Express Base 2.0, 3.1.3.5 and 3.5.1",
		.example = "run nvme-verify --commands 8 --size 512 --bug reset-no-wait",
		.twin = "run nvme-verify --commands 8 --size 512",
	},
	.rank = BF_RANK_SET_UP,
	.records = BF_SEES(nvme_driver_error),
	.on = on,
};
