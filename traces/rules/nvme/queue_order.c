#include <inttypes.h>

#include "models/nvme/prm.h"
#include "traces/rules/nvme/nvme.h"

static void on(struct bf_rule_run *r, const struct bf_seen *e)
{
	const struct bf_nvme_rule_answer *a = bf_nvme_rule_refused(r, true);
	struct bf_finding *f;

	if (!a || !((a->entry[0] == BF_NVME_ADM_CREATE_SQ && a->code == BF_NVME_SC_CQ_INVALID) ||
		    (a->entry[0] == BF_NVME_ADM_DELETE_CQ && a->code == BF_NVME_SC_QUEUE_DELETION)))
		return;
	f = bf_nvme_rule_find_refused(r, e, a);
	if (f)
		bf_finding_say(f,
			       a->entry[0] == BF_NVME_ADM_CREATE_SQ
				   ? "SQ %" PRIu32 " was created before CQ %" PRIu32 ", which it names, was there"
				   : "CQ %" PRIu32 " was deleted while SQ %" PRIu32 " still used it",
			       bf_nvme_rule_dword(a, 10) & 0xffff,
			       a->entry[0] == BF_NVME_ADM_CREATE_SQ ? bf_nvme_rule_dword(a, 11) >> 16
								    : bf_nvme_rule_dword(a, 10) & 0xffff);
}

const struct bf_rule bf_rule_nvme_queue_order = {
	.about = {
		.id = "NVME-QUEUE-ORDER",
		.family = "nvme",
		.title = "queues of a pair are created or deleted in the wrong order",
		.severity = BF_SEVERITY_ERROR,
		.hardware = "A submission queue names its completion queue, which must exist when it is created and "
			    "must not be deleted before it.",
		.wrong = "The controller refused the command: Completion Queue Invalid, or Invalid Queue Deletion.",
		.fix = "Create the completion queue first and delete it last.",
		.sources = "NVM Express Base 2.0, 5.5 and 5.6; docs/hardware/nvme.md#other-controllers-3",
		.example = "run nvme-verify --commands 8 --size 512 --bug sq-before-cq",
		.twin = "run nvme-verify --commands 8 --size 512",
	},
	.rank = BF_RANK_SET_UP + 3,
	.records = BF_SEES(nvme_completion),
	.when = BF_NVME_RULE_REFUSED,
	.whens = 1,
	.on = on,
};
