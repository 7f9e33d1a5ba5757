#include <inttypes.h>

#include "models/nvme/prm.h"
#include "traces/rules/nvme/nvme.h"

static void on(struct bf_rule_run *r, const struct bf_seen *e)
{
	const struct bf_nvme_rule_answer *a = bf_nvme_rule_refused(r, true);
	struct bf_finding *f;

	if (!a || !((a->entry[0] == BF_NVME_ADM_CREATE_SQ || a->entry[0] == BF_NVME_ADM_CREATE_CQ) &&
		    bf_nvme_rule_prp1(a) % 4096 != 0))
		return;
	f = bf_nvme_rule_find_refused(r, e, a);
	if (f)
		bf_finding_say(f, "queue %" PRIu32 " was to be created at 0x%" PRIx64 ", which is inside a page",
			       bf_nvme_rule_dword(a, 10) & 0xffff, bf_nvme_rule_prp1(a));
}

const struct bf_rule bf_rule_nvme_queue_align = {
	.about = {
		.id = "NVME-QUEUE-ALIGN",
		.family = "nvme",
		.title = "a queue does not begin a page",
		.severity = BF_SEVERITY_ERROR,
		.hardware = "Queues in one piece of memory begin on a page of CC.MPS: PRP1 of the creating command "
			    "has no offset.",
		.wrong = "The controller refused the queue with PRP Offset Invalid (others: Invalid Field, or an "
			 "internal error when the mapping fails).",
		.fix = "Allocate queues in whole pages of CC.MPS.",
		.sources = "NVM Express Base 2.0, 5.4 and 5.5; docs/hardware/nvme.md#other-controllers-2",
		.example = "run nvme-verify --commands 8 --size 512 --bug queue-misaligned",
		.twin = "run nvme-verify --commands 8 --size 512",
	},
	.rank = BF_RANK_SET_UP + 3,
	.records = BF_SEES(nvme_completion),
	.when = BF_NVME_RULE_REFUSED,
	.whens = 1,
	.on = on,
};
