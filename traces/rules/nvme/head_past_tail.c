#include <inttypes.h>

#include "traces/rules/nvme/nvme.h"

static void on(struct bf_rule_run *r, const struct bf_seen *e)
{
	struct bf_finding *f =
	    e->nvme_driver_error.wrong == BF_NVME_WRONG_HEAD_PAST_TAIL ? bf_rule_find(r, e, e->queue) : NULL;

	if (f)
		bf_finding_say(
		    f,
		    "head %" PRIu64 " on CQ %" PRIu64
		    " gives back entries that were never posted: the driver took old entries for new ones, or "
		    "counts further than it took",
		    e->nvme_driver_error.value, e->nvme_driver_error.qid);
}

const struct bf_rule bf_rule_nvme_head_past_tail = {
	.about = {
		.id = "NVME-HEAD-PAST-TAIL",
		.family = "nvme",
		.title = "completion slots are freed that were never posted",
		.severity = BF_SEVERITY_ERROR,
		.hardware = "The head doorbell of a completion queue gives slots back to the controller.",
		.wrong = "It passes the last posted entry: the driver takes old entries for new ones, so its phase "
			 "is wrong.",
		.fix = "Advance the head only past entries whose phase tag is the one of this lap.",
		.sources = "NVM Express Base 2.0, 3.3.1 and 5.2; docs/hardware/nvme.md#doorbells-2; tianocore/edk2#6912",
		.example = "run nvme-verify --commands 60 --depth 8 --size 512 --timeout 10ms --bug cq-ring-ahead",
		.twin = "run nvme-verify --commands 60 --depth 8 --size 512 --timeout 10ms",
	},
	.rank = BF_RANK_INDEX,
	.records = BF_SEES(nvme_driver_error),
	.on = on,
};
