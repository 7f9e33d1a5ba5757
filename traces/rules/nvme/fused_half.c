#include <inttypes.h>

#include "traces/rules/nvme/nvme.h"

static void on(struct bf_rule_run *r, const struct bf_seen *e)
{
	struct bf_finding *f = e->nvme_driver_error.wrong == BF_NVME_WRONG_FUSED ? bf_rule_find(r, e, e->queue) : NULL;

	if (f)
		bf_finding_say(
		    f,
		    "command 0x%" PRIx64 " on SQ %" PRIu64
		    " says that it is half of a fused pair, and the slot beside it does not hold the other half",
		    e->nvme_driver_error.value, e->nvme_driver_error.qid);
}

const struct bf_rule bf_rule_nvme_fused_half = {
	.about = {
		.id = "NVME-FUSED-HALF",
		.family = "nvme",
		.title = "half of a fused pair stands alone",
		.severity = BF_SEVERITY_ERROR,
		.hardware = "Two fused commands lie in neighbouring slots of one queue, FUSE 1 then 2, and one "
			    "doorbell announces both.",
		.wrong = "The partner is missing, is another command, or was announced later: both end with Command "
			 "Aborted due to Missing Fused Command.",
		.fix = "Reserve both slots at once, fill both, ring once. A pair may wrap from the last slot to slot "
		       "0.",
		.sources = "NVM Express Base 2.0, 3.4.2",
		.example = "run nvme-mixed --commands 60 --size 512 --bug fused-half",
		.twin = "run nvme-mixed --commands 60 --size 512",
	},
	.rank = BF_RANK_ENTRY + 6,
	.records = BF_SEES(nvme_driver_error),
	.on = on,
};
