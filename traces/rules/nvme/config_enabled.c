#include <inttypes.h>

#include "traces/rules/nvme/nvme.h"

static void on(struct bf_rule_run *r, const struct bf_seen *e)
{
	struct bf_finding *f = e->nvme_driver_error.wrong == BF_NVME_WRONG_CONFIG ? bf_rule_find(r, e, e->queue) : NULL;

	if (f)
		bf_finding_say(f, "a register of the configuration was written while CC.EN was 1 (0x%" PRIx64 ")",
			       e->nvme_driver_error.value);
}

const struct bf_rule bf_rule_nvme_config_enabled = {
	.about = {
		.id = "NVME-CONFIG-ENABLED",
		.family = "nvme",
		.title = "the controller was configured after it had been enabled",
		.severity = BF_SEVERITY_ERROR,
		.hardware = "AQA, ASQ, ACQ and the fields CSS, MPS and AMS of CC are looked at when CC.EN goes to 1, "
			    "and must not change while it is 1.",
		.wrong = "The write came too late: the controller starts with what stood there before.",
		.fix = "Program AQA, ASQ, ACQ and CC first, set CC.EN last.",
		.sources = "NVM Express Base 2.0, 3.5.1; MoatLab/FEMU#96",
		.example = "run nvme-verify --commands 8 --size 512 --bug aqa-after-enable",
		.twin = "run nvme-verify --commands 8 --size 512",
	},
	.rank = BF_RANK_SET_UP,
	.records = BF_SEES(nvme_driver_error),
	.on = on,
};
